/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between formats, and with integers, of the profile `ieee`. */
#include "pto/profile/ieee.h"
#include "pto/profile/v0.h"

enum { SCALAR_SIGNED = 8, NUM_SCALAR_INTEGERS = 8 };

/* Scalar codes of integers: 0 U64, 1 U32, 2 U16, 3 U8, 4 U4 and so on; 8 more for signed ones.
 * Those below a byte have no tile type. */
static const uint8_t scalar_bits[NUM_SCALAR_INTEGERS] = {64, 32, 16, 8, 4, 2, 1, 1};

static tly_format integer_format(uint32_t code) {
    return (tly_format){.klass = code >= SCALAR_SIGNED ? TLY_CLASS_INT : TLY_CLASS_UINT,
                        .bits = scalar_bits[code % NUM_SCALAR_INTEGERS],
                        .sign_bits = code >= SCALAR_SIGNED};
}

uint64_t tly_pto_ieee_convert(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                              uint64_t value, uint8_t *flags) {
    if (to == TLY_PTO_E8M0) {
        return tly_pto_v0_to_e8m0(from, control, value, flags);
    }
    return tly_pto_ieee_encode(to, tly_pto_ieee_number(from, value), control, flags);
}

uint64_t tly_pto_ieee_scalar_convert(tly_pto_rounding rounding, uint32_t to, uint32_t from,
                                     uint64_t value, uint8_t *flags) {
    const tly_pto_numeric_control control = {(uint8_t)rounding, false};
    return tly_pto_ieee_encode(to, tly_pto_ieee_number(from, value), &control, flags);
}

/* The nearest integer of the type, and INVALID, where the number has none; NaN gives 0. */
uint64_t tly_pto_ieee_scalar_to_integer(tly_pto_rounding rounding, uint32_t to, uint32_t from,
                                        uint64_t value, uint8_t *flags) {
    const tly_num_control control = {.rounding = tly_pto_ieee_direction(rounding), .saturate = 1};
    const tly_format format = integer_format(to);
    uint32_t raised = 0;
    tly_number number = tly_pto_ieee_number(from, value);
    uint64_t bits = (uint64_t)tly_num_round(&format, number, control, &raised);
    bool invalid = (raised & (TLY_FLAG_INVALID | TLY_FLAG_OVERFLOW)) != 0;
    *flags |= invalid                            ? TLY_PTO_FLAG_INVALID
              : (raised & TLY_FLAG_INEXACT) != 0 ? TLY_PTO_FLAG_INEXACT
                                                 : 0;
    return format.sign_bits != 0 ? tly_pto_sign_extend(bits, format.bits) : bits;
}

uint64_t tly_pto_ieee_scalar_from_integer(tly_pto_rounding rounding, uint32_t from, uint32_t to,
                                          uint64_t value, uint8_t *flags) {
    const tly_pto_numeric_control control = {(uint8_t)rounding, false};
    const tly_format format = integer_format(from);
    return tly_pto_ieee_encode(to, tly_num_unpack(&format, value), &control, flags);
}
