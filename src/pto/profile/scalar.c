/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/scalar.h"

#include "pto/profile/element.h"

/* Scalar type codes: the floating ones are those of tiles, but HiF4X2 shows nine bits; an integer
 * code is its width, and 8 more for signed. */
static const uint8_t float_bits[15] = {64, 32, 19, 32, 16, 16, 8, 8, 8, 6, 6, 4, 4, 8, 9};
static const uint8_t integer_bits[8] = {64, 32, 16, 8, 4, 2, 1, 1};

enum { SCALAR_U32 = 1, SCALAR_SIGNED = 8, SCALAR_S32 = 9 };

uint64_t tly_pto_scalar_fp_source(uint64_t value, uint32_t dtype) {
    return dtype == TLY_PTO_FP32 ? (uint32_t)value : value;
}

uint64_t tly_pto_scalar_integer_source(uint64_t value, uint32_t dtype) {
    return dtype == SCALAR_U32   ? (uint32_t)value
           : dtype == SCALAR_S32 ? tly_pto_sign_extend(value, 32)
                                 : value;
}

uint64_t tly_pto_scalar_fp_result(uint64_t value, uint32_t dtype) {
    return tly_pto_low_bits(value, float_bits[dtype]);
}

uint64_t tly_pto_scalar_integer_result(uint64_t value, uint32_t dtype) {
    return dtype >= SCALAR_SIGNED ? tly_pto_sign_extend(value, integer_bits[dtype - SCALAR_SIGNED])
                                  : tly_pto_low_bits(value, integer_bits[dtype]);
}

static uint32_t tile_type(uint32_t source) {
    return source == 1 ? TLY_PTO_FP32 : TLY_PTO_FP64;
}

bool tly_pto_scalar_is_nan(uint64_t value, uint32_t source) {
    return tly_pto_class_is_nan(tly_pto_classify(tile_type(source), value));
}

bool tly_pto_scalar_is_signaling_nan(uint64_t value, uint32_t source) {
    return tly_pto_classify(tile_type(source), value) == TLY_PTO_VALUE_SIGNALING_NAN;
}

bool tly_pto_scalar_carrier_is_zero(uint64_t value, uint32_t dtype) {
    return tly_pto_class_is_zero(tly_pto_classify(tile_type(dtype), value));
}

static bool both_zero(uint32_t dtype, uint64_t left, uint64_t right) {
    return tly_pto_class_is_zero(tly_pto_classify(dtype, left)) &&
           tly_pto_class_is_zero(tly_pto_classify(dtype, right));
}

bool tly_pto_scalar_compare(tly_pto_comparison op, uint32_t source, uint64_t left, uint64_t right) {
    uint32_t dtype = tile_type(source);
    if (tly_pto_scalar_is_nan(left, source) || tly_pto_scalar_is_nan(right, source)) {
        return false;
    }
    bool zero = both_zero(dtype, left, right);
    uint64_t l = tly_pto_order_key(dtype, left);
    uint64_t r = tly_pto_order_key(dtype, right);
    return tly_pto_comparison_holds(op, !zero && l < r, zero || l == r);
}

uint64_t tly_pto_scalar_min_max(bool maximum, uint32_t source, uint64_t left, uint64_t right) {
    uint32_t dtype = tile_type(source);
    bool left_nan = tly_pto_scalar_is_nan(left, source);
    bool right_nan = tly_pto_scalar_is_nan(right, source);
    if (left_nan || right_nan) {
        return left_nan && right_nan
                   ? tly_pto_formats[dtype].canonical_nan
                   : tly_pto_scalar_fp_source(left_nan ? right : left, tly_pto_scalar_type(source));
    }
    if (both_zero(dtype, left, right)) {
        uint64_t sign = tly_pto_sign_mask(dtype);
        return maximum ? left & right & sign : (left | right) & sign;
    }
    bool less = tly_pto_order_key(dtype, left) < tly_pto_order_key(dtype, right);
    return less == maximum ? right : left;
}
