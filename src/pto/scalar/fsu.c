/* SPDX-License-Identifier: Apache-2.0 */
/* Scalar floating point: types and operands here, numbers in the profile
 * (asl/scalar/model/dispatch/fsu). */
#include "pto/fault.h"
#include "pto/profile/scalar.h"
#include "pto/scalar/scalar.h"

enum { FLAGS_SHIFT = 32, ROUNDING_SHIFT = 37 };

static tly_pto_rounding active_rounding(const tly_pto_machine *m) {
    return tly_pto_scalar_rounding(m->core.base.core_state >> ROUNDING_SHIFT & 7);
}

/* Flags stick: nothing here clears one. */
static void record(tly_pto_machine *m, uint8_t flags) {
    m->core.base.core_state |= (uint64_t)flags << FLAGS_SHIFT;
}

static uint64_t operand(const tly_pto_machine *m, uint32_t selector, uint32_t dtype) {
    return tly_pto_scalar_fp_source(tly_pto_read_source(m, selector), dtype);
}

static void finish(tly_pto_machine *m, const tly_pto_operands *o, uint64_t value, uint8_t flags) {
    record(m, flags);
    tly_pto_write_destination(m, o->destination, value);
}

/* The table of forms admits only types that there are, so nothing below is refused. */
bool tly_pto_fsu_unary(tly_pto_machine *m, const tly_pto_operands *o) {
    uint32_t dtype = tly_pto_scalar_type(o->modifier);
    uint8_t flags = 0;
    uint64_t value = operand(m, o->left, dtype);
    if (o->form == TLY_FORM_FABS) {
        value &= dtype == TLY_PTO_FP32 ? INT32_MAX : INT64_MAX;
    } else {
        tly_pto_float_unary op = o->form == TLY_FORM_FSQRT  ? TLY_PTO_FLOAT_SQRT
                                 : o->form == TLY_FORM_FEXP ? TLY_PTO_FLOAT_EXP
                                                            : TLY_PTO_FLOAT_RECIP;
        value = m->profile->scalar_unary(op, active_rounding(m), dtype, value, &flags);
    }
    finish(m, o, tly_pto_scalar_fp_result(value, dtype), flags);
    return true;
}

bool tly_pto_fsu_binary(tly_pto_machine *m, const tly_pto_operands *o) {
    uint32_t dtype = tly_pto_scalar_type(o->modifier);
    uint8_t flags = 0;
    uint64_t left = operand(m, o->left, dtype);
    uint64_t right = operand(m, o->right, dtype);
    uint64_t value;
    if (o->form == TLY_FORM_FMIN || o->form == TLY_FORM_FMAX) {
        value = tly_pto_scalar_min_max(o->form == TLY_FORM_FMAX, o->modifier, left, right);
        if (tly_pto_scalar_is_signaling_nan(left, o->modifier) ||
            tly_pto_scalar_is_signaling_nan(right, o->modifier)) {
            flags = TLY_PTO_FLAG_INVALID;
        }
    } else {
        tly_pto_float_binary op = o->form == TLY_FORM_FADD   ? TLY_PTO_FLOAT_ADD
                                  : o->form == TLY_FORM_FSUB ? TLY_PTO_FLOAT_SUB
                                  : o->form == TLY_FORM_FMUL ? TLY_PTO_FLOAT_MUL
                                                             : TLY_PTO_FLOAT_DIV;
        value = m->profile->scalar_binary(op, active_rounding(m), dtype, left, right, &flags);
    }
    finish(m, o, tly_pto_scalar_fp_result(value, dtype), flags);
    return true;
}

bool tly_pto_fsu_fused(tly_pto_machine *m, const tly_pto_operands *o) {
    uint32_t dtype = tly_pto_scalar_type(o->modifier);
    uint8_t flags = 0;
    tly_pto_float_fused op = o->form == TLY_FORM_FMADD    ? TLY_PTO_FLOAT_MADD
                             : o->form == TLY_FORM_FMSUB  ? TLY_PTO_FLOAT_MSUB
                             : o->form == TLY_FORM_FNMADD ? TLY_PTO_FLOAT_NMADD
                                                          : TLY_PTO_FLOAT_NMSUB;
    uint64_t value =
        m->profile->scalar_fused(op, active_rounding(m), dtype, operand(m, o->third, dtype),
                                 operand(m, o->left, dtype), operand(m, o->right, dtype), &flags);
    finish(m, o, tly_pto_scalar_fp_result(value, dtype), flags);
    return true;
}

typedef struct compare_row {
    uint16_t form;
    uint8_t comparison;
    bool signaling; /* any NaN is invalid, not only a signaling one */
} compare_row;

static const compare_row compare_rows[] = {
    {TLY_FORM_FEQ, TLY_PTO_COMPARE_EQ, false}, {TLY_FORM_FEQS, TLY_PTO_COMPARE_EQ, true},
    {TLY_FORM_FNE, TLY_PTO_COMPARE_NE, false}, {TLY_FORM_FNES, TLY_PTO_COMPARE_NE, true},
    {TLY_FORM_FLT, TLY_PTO_COMPARE_LT, false}, {TLY_FORM_FLTS, TLY_PTO_COMPARE_LT, true},
    {TLY_FORM_FGE, TLY_PTO_COMPARE_GE, false}, {TLY_FORM_FGES, TLY_PTO_COMPARE_GE, true},
};

bool tly_pto_fsu_compare(tly_pto_machine *m, const tly_pto_operands *o) {
    uint32_t dtype = tly_pto_scalar_type(o->modifier);
    const compare_row *row = compare_rows;
    while (row->form != o->form) {
        row++;
    }
    uint64_t left = operand(m, o->left, dtype);
    uint64_t right = operand(m, o->right, dtype);
    bool any_nan =
        tly_pto_scalar_is_nan(left, o->modifier) || tly_pto_scalar_is_nan(right, o->modifier);
    bool any_signaling = tly_pto_scalar_is_signaling_nan(left, o->modifier) ||
                         tly_pto_scalar_is_signaling_nan(right, o->modifier);
    bool holds =
        tly_pto_scalar_compare((tly_pto_comparison)row->comparison, o->modifier, left, right);
    finish(m, o, holds, (row->signaling && any_nan) || any_signaling ? TLY_PTO_FLAG_INVALID : 0);
    return true;
}

/* Conversions: between formats, from integers, and to integers with a rounding of their own. */
bool tly_pto_fsu_convert(tly_pto_machine *m, const tly_pto_operands *o) {
    bool from_signed = o->form == TLY_FORM_SCVTF;
    bool from_integer = from_signed || o->form == TLY_FORM_UCVTF;
    uint32_t from =
        from_signed ? tly_pto_scalar_signed_type(o->modifier) : tly_pto_scalar_type(o->modifier);
    uint32_t to = o->extra;
    uint8_t flags = 0;
    uint64_t source = tly_pto_read_source(m, o->left);
    uint64_t value;
    if (from_integer) {
        value = m->profile->scalar_from_integer(
            active_rounding(m), from, to, tly_pto_scalar_integer_source(source, from), &flags);
        value = tly_pto_scalar_fp_result(value, to);
    } else if (o->form == TLY_FORM_FCVT) {
        value = m->profile->scalar_convert(active_rounding(m), to, from,
                                           tly_pto_scalar_fp_source(source, from), &flags);
        value = tly_pto_scalar_fp_result(value, to);
    } else {
        tly_pto_rounding rounding = o->form == TLY_FORM_FCVTA   ? TLY_PTO_ROUND_NEAREST_AWAY
                                    : o->form == TLY_FORM_FCVTM ? TLY_PTO_ROUND_DOWN
                                    : o->form == TLY_FORM_FCVTN ? TLY_PTO_ROUND_NEAREST_EVEN
                                    : o->form == TLY_FORM_FCVTP ? TLY_PTO_ROUND_UP
                                                                : TLY_PTO_ROUND_ZERO;
        value = m->profile->scalar_to_integer(rounding, to, from,
                                              tly_pto_scalar_fp_source(source, from), &flags);
        value = tly_pto_scalar_integer_result(value, to);
    }
    finish(m, o, value, flags);
    return true;
}
