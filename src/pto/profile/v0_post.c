/* SPDX-License-Identifier: Apache-2.0 */
/* What pto-v0 does with a matrix result before it is written: activation, requantization, maxima
 * (asl/arch/profile/matrix-postprocess, matrix-quantization). */
#include "pto/profile/element.h"
#include "pto/profile/quant_mode.h"
#include "pto/profile/real.h"
#include "pto/profile/v0.h"

enum { SHIFT_AT = 32, SCALE_AT = 13, OFFSET_AT = 37 };
enum { HIF8_SCALAR = 25, HIF8_VECTOR = 28 }; /* these round ties up whatever B.DATR says */

/* S32 to S16 by an arithmetic shift of 1 to 16 places. */
static uint64_t shift_to_s16(uint64_t value, uint64_t parameter, uint8_t *flags) {
    int64_t shifted = (int64_t)(int32_t)value >> ((parameter >> SHIFT_AT & 15) + 1);
    if (shifted < INT16_MIN || shifted > INT16_MAX) {
        *flags |= TLY_PTO_FLAG_OVERFLOW | TLY_PTO_FLAG_INEXACT;
        shifted = shifted < 0 ? INT16_MIN : INT16_MAX;
    }
    return (uint64_t)shifted;
}

/* NaN and infinity of an FP32 accumulator, which no scale changes. */
static uint64_t special_value(tly_pto_value_class class, uint32_t to, bool saturating,
                              uint8_t *flags) {
    bool integer = tly_pto_dtype_is_integer(to);
    if (tly_pto_class_is_nan(class)) {
        *flags |= integer || class == TLY_PTO_VALUE_SIGNALING_NAN ? TLY_PTO_FLAG_INVALID : 0;
        if (saturating) {
            return 0;
        }
        return integer ? tly_pto_integer_minimum(to) : tly_pto_formats[to].canonical_nan;
    }
    bool negative = class == TLY_PTO_VALUE_NEGATIVE_INFINITY;
    bool has_infinity = tly_pto_formats[to].has_infinity;
    if (saturating || (!integer && !has_infinity)) {
        *flags |= TLY_PTO_FLAG_OVERFLOW | TLY_PTO_FLAG_INEXACT;
    } else if (integer) {
        *flags |= TLY_PTO_FLAG_INVALID;
    }
    if (integer) {
        return negative || !saturating ? tly_pto_integer_minimum(to) : tly_pto_integer_maximum(to);
    }
    /* the largest finite number stands just below infinity, or below the NaN where there is none */
    uint64_t sign = negative ? tly_pto_sign_mask(to) : 0;
    if (saturating) {
        return sign | (tly_pto_infinity(to) - 1);
    }
    return has_infinity ? sign | tly_pto_infinity(to) : tly_pto_formats[to].canonical_nan;
}

/* The scaled value, first rounded into the width of the offset, then moved by it. */
static uint64_t encode_affine(double value, const tly_pto_post_process *how, uint32_t width,
                              tly_pto_rounding rounding, uint8_t *flags) {
    int64_t limit = INT64_C(1) << (width - 1);
    tly_pto_integer rounded = tly_pto_round_real(value, 0, rounding);
    int64_t whole = rounded.beyond != 0 ? rounded.beyond * limit * 2 : (int64_t)rounded.low;
    if (whole < -limit || whole >= limit) {
        *flags |= TLY_PTO_FLAG_OVERFLOW | TLY_PTO_FLAG_INEXACT;
        whole = whole < 0 ? -limit : limit - 1;
    } else if (!rounded.exact) {
        *flags |= TLY_PTO_FLAG_INEXACT;
    }
    int64_t offset = (int64_t)tly_pto_sign_extend(how->quant_param >> OFFSET_AT, width);
    tly_pto_integer sum = {(uint64_t)(whole + offset), 0, true};
    return tly_pto_encode_integer(&sum, how->output, how->control.saturating, flags);
}

static uint64_t encode(double value, uint32_t to, const tly_pto_numeric_control *control,
                       uint8_t *flags) {
    if (!tly_pto_dtype_is_integer(to)) {
        return tly_pto_encode_real(value, to, control, flags);
    }
    tly_pto_integer rounded = tly_pto_round_real(value, 0, (tly_pto_rounding)control->rounding);
    return tly_pto_encode_integer(&rounded, to, control->saturating, flags);
}

uint64_t tly_pto_v0_post_process(const tly_pto_post_process *how, uint64_t value, uint8_t *flags) {
    uint32_t mode = how->pre_quant_mode;
    const tly_pto_quant_mode *row = &tly_pto_quant_modes[mode];
    if (mode == 0 && how->relu_mode == TLY_PTO_RELU_NONE) {
        return value;
    }
    if (row->is_shift) {
        return shift_to_s16(value, how->quant_param, flags);
    }
    tly_pto_numeric_control control = how->control;
    if (mode == HIF8_SCALAR || mode == HIF8_VECTOR) {
        control.rounding = TLY_PTO_ROUND_HALF_UP;
    } else if (row->fixed_rounding) {
        control.rounding = TLY_PTO_ROUND_NEAREST_EVEN;
    }
    uint32_t from = mode == 0 ? how->output : row->from_s32 ? TLY_PTO_S32 : TLY_PTO_FP32;
    tly_pto_value_class class =
        from == TLY_PTO_FP32 ? tly_pto_classify(from, value) : TLY_PTO_VALUE_NORMAL;
    bool negative = from == TLY_PTO_S32 ? (int32_t)value < 0 : tly_pto_class_is_negative(class);
    double multiplier = row->parameter == TLY_PTO_QUANT_NONE
                            ? 1.0
                            : tly_pto_real_of_fp19((uint32_t)(how->quant_param >> SCALE_AT));
    if (negative && how->relu_mode != TLY_PTO_RELU_NONE) {
        multiplier = how->relu_mode == TLY_PTO_RELU_ZERO
                         ? 0.0
                         : tly_pto_real_of_fp19((uint32_t)how->relu_param);
    }
    if (tly_pto_class_is_nan(class) || tly_pto_class_is_infinity(class)) {
        if (class != TLY_PTO_VALUE_NEGATIVE_INFINITY || multiplier != 0.0) {
            return special_value(class, how->output, control.saturating, flags);
        }
    }
    double source = from == TLY_PTO_S32                        ? (double)(int32_t)value
                    : from == TLY_PTO_U32                      ? (double)(uint32_t)value
                    : class == TLY_PTO_VALUE_NEGATIVE_INFINITY ? 0.0
                                                               : tly_pto_real_of(from, value);
    double activated = source * multiplier;
    if (row->offset_width != 0) {
        return encode_affine(activated, how, row->offset_width, (tly_pto_rounding)control.rounding,
                             flags);
    }
    if (class == TLY_PTO_VALUE_NEGATIVE_ZERO && multiplier != 0.0 &&
        tly_pto_dtype_is_floating(how->output)) {
        return tly_pto_formats[how->output].has_signed_zero ? tly_pto_sign_mask(how->output) : 0;
    }
    return encode(activated, how->output, &control, flags);
}

static uint64_t absolute_value(uint32_t dtype, uint64_t value, uint8_t *flags) {
    if (dtype == TLY_PTO_S32 && (uint32_t)value == UINT32_C(0x80000000)) {
        *flags |= TLY_PTO_FLAG_OVERFLOW;
        return INT32_MAX;
    }
    return tly_pto_element_fixed_unary(TLY_PTO_TILE_ABS, dtype, value, flags);
}

uint64_t tly_pto_v0_matrix_max(bool absolute, uint32_t dtype, uint64_t current, uint64_t candidate,
                               uint8_t *flags) {
    uint64_t left = absolute ? absolute_value(dtype, current, flags) : current;
    uint64_t right = absolute ? absolute_value(dtype, candidate, flags) : candidate;
    return tly_pto_element_binary(&tly_pto_profile_v0, TLY_PTO_TILE_MAX, dtype, left, right, flags);
}
