/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix steps of the profile `ieee`: K ascending, one fused multiply-add in the type of the
 * accumulator for each. */
#include <string.h>

#include "pto/profile/ieee.h"

static const tly_pto_numeric_control nearest = {TLY_PTO_ROUND_NEAREST_EVEN, false};

/* An element times its scale, a power of two: exact. */
static tly_number scaled(uint32_t dtype, uint64_t value, bool is_scaled, uint32_t scale_dtype,
                         uint64_t scale) {
    tly_number x = tly_pto_ieee_number(dtype, value);
    return is_scaled ? tly_num_multiply(x, tly_pto_ieee_number(scale_dtype, scale)) : x;
}

uint64_t tly_pto_ieee_matrix_step(const tly_pto_matrix_types *types, uint64_t accumulator,
                                  uint64_t left, uint64_t right, uint64_t left_scale,
                                  uint64_t right_scale) {
    uint8_t flags = 0;
    if (tly_pto_dtype_is_integer(types->accumulator)) {
        return tly_pto_canonical(accumulator + left * right, types->accumulator);
    }
    tly_number sum = tly_pto_ieee_number(types->accumulator, accumulator);
    tly_number a = scaled(types->left, left, types->left_scaled, types->left_scale, left_scale);
    tly_number b =
        scaled(types->right, right, types->right_scaled, types->right_scale, right_scale);
    return tly_pto_ieee_encode(types->accumulator, tly_num_fused(a, b, sum), &nearest, &flags);
}

uint64_t tly_pto_ieee_matrix_bias(uint32_t dtype, uint32_t bias_dtype, uint64_t value,
                                  uint64_t bias) {
    uint8_t flags = 0;
    if (tly_pto_dtype_is_integer(dtype)) {
        return tly_pto_canonical(value + bias, dtype);
    }
    return tly_pto_ieee_encode(
        dtype,
        tly_num_add(tly_pto_ieee_number(dtype, value), tly_pto_ieee_number(bias_dtype, bias)),
        &nearest, &flags);
}

bool tly_pto_ieee_exact_f32(uint32_t dtype, uint64_t value, float *out) {
    uint8_t flags = 0;
    uint32_t bits = (uint32_t)tly_pto_ieee_encode(TLY_PTO_FP32, tly_pto_ieee_number(dtype, value),
                                                  &nearest, &flags);
    memcpy(out, &bits, sizeof bits);
    return (flags & (TLY_PTO_FLAG_INEXACT | TLY_PTO_FLAG_OVERFLOW)) == 0;
}
