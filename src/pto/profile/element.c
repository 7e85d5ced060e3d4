/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/element.h"

/* Quotient and remainder with the sign of the divisor; the divisor is not zero. */
static uint64_t signed_divide(uint64_t dividend, uint64_t divisor) {
    bool negative = (dividend >> 63) != (divisor >> 63);
    uint64_t magnitude = (dividend >> 63 != 0 ? 0 - dividend : dividend) /
                         (divisor >> 63 != 0 ? 0 - divisor : divisor);
    return negative ? 0 - magnitude : magnitude;
}

static uint64_t signed_modulo(uint64_t dividend, uint64_t divisor) {
    uint64_t remainder = dividend - signed_divide(dividend, divisor) * divisor;
    return remainder == 0 || remainder >> 63 == divisor >> 63 ? remainder : remainder + divisor;
}

static bool integer_less(bool is_signed, uint64_t left, uint64_t right) {
    return is_signed ? (int64_t)left < (int64_t)right : left < right;
}

uint64_t tly_pto_integer_binary(tly_pto_tile_binary op, uint32_t dtype, uint64_t left,
                                uint64_t right) {
    bool is_signed = tly_pto_dtype_is_signed(dtype);
    uint64_t l = tly_pto_canonical(left, dtype);
    uint64_t r = tly_pto_canonical(right, dtype);
    uint32_t shift = (uint32_t)r & (tly_pto_dtype_bits(dtype) - 1);
    switch (op) {
    case TLY_PTO_TILE_ADD:
        return tly_pto_canonical(l + r, dtype);
    case TLY_PTO_TILE_SUB:
        return tly_pto_canonical(l - r, dtype);
    case TLY_PTO_TILE_MUL:
        return tly_pto_canonical(l * r, dtype);
    case TLY_PTO_TILE_MAX:
        return integer_less(is_signed, l, r) ? r : l;
    case TLY_PTO_TILE_MIN:
        return integer_less(is_signed, r, l) ? r : l;
    case TLY_PTO_TILE_AND:
        return tly_pto_raw(l & r, dtype);
    case TLY_PTO_TILE_OR:
        return tly_pto_raw(l | r, dtype);
    case TLY_PTO_TILE_XOR:
        return tly_pto_raw(l ^ r, dtype);
    case TLY_PTO_TILE_SHL:
        return tly_pto_raw(l << shift, dtype);
    case TLY_PTO_TILE_SHR:
        return tly_pto_raw(is_signed ? (uint64_t)((int64_t)l >> shift) : l >> shift, dtype);
    case TLY_PTO_TILE_DIV:
        return is_signed ? signed_divide(l, r) : l / r;
    case TLY_PTO_TILE_REM:
        return is_signed ? signed_modulo(l, r) : l % r;
    }
    return 0;
}

static bool is_carrier_operation(tly_pto_tile_binary op, uint32_t dtype) {
    uint32_t bits = tly_pto_dtype_bits(dtype);
    return (op == TLY_PTO_TILE_AND || op == TLY_PTO_TILE_OR || op == TLY_PTO_TILE_XOR) &&
           bits != 4 && bits <= 32;
}

static uint64_t carrier_operation(tly_pto_tile_binary op, uint32_t dtype, uint64_t left,
                                  uint64_t right) {
    uint64_t value = op == TLY_PTO_TILE_AND  ? left & right
                     : op == TLY_PTO_TILE_OR ? left | right
                                             : left ^ right;
    return tly_pto_raw(value, dtype);
}

uint64_t tly_pto_element_binary(const tly_pto_profile *profile, tly_pto_tile_binary op,
                                uint32_t dtype, uint64_t left, uint64_t right, uint8_t *flags) {
    if (is_carrier_operation(op, dtype)) {
        return carrier_operation(op, dtype, left, right);
    }
    if (tly_pto_dtype_is_integer(dtype)) {
        return tly_pto_integer_binary(op, dtype, left, right);
    }
    tly_pto_float_binary float_op = TLY_PTO_FLOAT_ADD;
    switch (op) {
    case TLY_PTO_TILE_MIN:
    case TLY_PTO_TILE_MAX: {
        bool invalid = false;
        uint64_t value =
            tly_pto_floating_min_max(op == TLY_PTO_TILE_MAX, dtype, left, right, &invalid);
        *flags |= invalid ? TLY_PTO_FLAG_INVALID : 0;
        return value;
    }
    case TLY_PTO_TILE_REM:
        return profile->modulo(dtype, left, right, flags);
    case TLY_PTO_TILE_SUB:
        float_op = TLY_PTO_FLOAT_SUB;
        break;
    case TLY_PTO_TILE_MUL:
        float_op = TLY_PTO_FLOAT_MUL;
        break;
    case TLY_PTO_TILE_DIV:
        float_op = TLY_PTO_FLOAT_DIV;
        break;
    default:
        break;
    }
    return profile->scalar_binary(float_op, TLY_PTO_ROUND_NEAREST_EVEN, dtype, left, right, flags);
}

static uint64_t integer_unary(tly_pto_tile_unary op, uint32_t dtype, uint64_t value) {
    uint64_t raw = tly_pto_raw(value, dtype);
    bool negative = tly_pto_dtype_is_signed(dtype) && (int64_t)tly_pto_canonical(value, dtype) < 0;
    switch (op) {
    case TLY_PTO_TILE_NOT:
        return tly_pto_raw(~raw, dtype);
    case TLY_PTO_TILE_NEG:
        return tly_pto_raw(0 - raw, dtype);
    case TLY_PTO_TILE_RELU:
        return negative ? 0 : raw;
    default:
        return negative ? tly_pto_raw(0 - raw, dtype) : raw;
    }
}

uint64_t tly_pto_element_fixed_unary(tly_pto_tile_unary op, uint32_t dtype, uint64_t value,
                                     uint8_t *flags) {
    if (tly_pto_dtype_is_integer(dtype)) {
        return integer_unary(op, dtype, value);
    }
    uint64_t carrier = tly_pto_raw(value, dtype);
    if (op == TLY_PTO_TILE_ABS) {
        return carrier & ~tly_pto_sign_mask(dtype);
    }
    if (op == TLY_PTO_TILE_NEG) {
        return carrier ^ tly_pto_sign_mask(dtype);
    }
    tly_pto_value_class class = tly_pto_classify(dtype, carrier);
    if (tly_pto_class_is_nan(class)) {
        *flags |= class == TLY_PTO_VALUE_SIGNALING_NAN ? TLY_PTO_FLAG_INVALID : 0;
        return tly_pto_formats[dtype].canonical_nan;
    }
    return tly_pto_class_is_negative(class) ? 0 : carrier;
}

static uint64_t infinity(uint32_t dtype, bool negative) {
    /* where there is no infinity, the canonical NaN has no sign to give */
    return tly_pto_infinity(dtype) |
           (negative && tly_pto_formats[dtype].has_infinity ? tly_pto_sign_mask(dtype) : 0);
}

/* TileSFUUnarySpecialValue: true if the architecture fixes the result. */
static bool special_value(tly_pto_tile_unary op, uint32_t dtype, uint64_t value,
                          uint64_t *out_result, uint8_t *flags) {
    uint64_t carrier = tly_pto_raw(value, dtype);
    tly_pto_value_class class = tly_pto_classify(dtype, carrier);
    bool zero = tly_pto_class_is_zero(class);
    bool negative = tly_pto_class_is_negative(class);
    if (tly_pto_class_is_nan(class)) {
        *flags |= class == TLY_PTO_VALUE_SIGNALING_NAN ? TLY_PTO_FLAG_INVALID : 0;
        *out_result = tly_pto_formats[dtype].canonical_nan;
        return true;
    }
    if (op == TLY_PTO_TILE_EXP) {
        if (zero || class == TLY_PTO_VALUE_INFINITY || class == TLY_PTO_VALUE_NEGATIVE_INFINITY) {
            *out_result = zero ? tly_pto_one(dtype) : negative ? 0 : carrier;
            return true;
        }
        return false;
    }
    if (op == TLY_PTO_TILE_RECIP) {
        if (zero) {
            *flags |= TLY_PTO_FLAG_DIVIDE_BY_ZERO;
            *out_result = infinity(dtype, negative);
            return true;
        }
        if (tly_pto_class_is_infinity(class)) {
            *out_result = negative ? tly_pto_sign_mask(dtype) : 0;
            return true;
        }
        return false;
    }
    if (op == TLY_PTO_TILE_LOG && carrier == tly_pto_one(dtype)) {
        *out_result = 0;
        return true;
    }
    if (zero) {
        if (op == TLY_PTO_TILE_SQRT) {
            *out_result = carrier;
        } else {
            *flags |= TLY_PTO_FLAG_DIVIDE_BY_ZERO;
            *out_result = infinity(dtype, op == TLY_PTO_TILE_LOG || negative);
        }
        return true;
    }
    if (class == TLY_PTO_VALUE_INFINITY) {
        *out_result = op == TLY_PTO_TILE_RSQRT ? 0 : carrier;
        return true;
    }
    if (negative) {
        *flags |= TLY_PTO_FLAG_INVALID;
        *out_result = tly_pto_formats[dtype].canonical_nan;
        return true;
    }
    return false;
}

uint64_t tly_pto_element_unary(const tly_pto_profile *profile, tly_pto_tile_unary op,
                               uint32_t dtype, uint64_t value, uint8_t *flags) {
    if (op < TLY_PTO_TILE_SQRT) {
        return tly_pto_element_fixed_unary(op, dtype, value, flags);
    }
    uint64_t result;
    return special_value(op, dtype, value, &result, flags)
               ? result
               : profile->unary(op, dtype, value, flags);
}

bool tly_pto_comparison_holds(tly_pto_comparison comparison, bool less, bool equal) {
    switch (comparison) {
    case TLY_PTO_COMPARE_EQ:
        return equal;
    case TLY_PTO_COMPARE_NE:
        return !equal;
    case TLY_PTO_COMPARE_LT:
        return less;
    case TLY_PTO_COMPARE_LE:
        return less || equal;
    case TLY_PTO_COMPARE_GT:
        return !less && !equal;
    case TLY_PTO_COMPARE_GE:
        return !less || equal;
    }
    return false;
}

bool tly_pto_floating_compare(tly_pto_comparison comparison, uint32_t dtype, uint64_t left,
                              uint64_t right, uint8_t *flags) {
    tly_pto_value_class l = tly_pto_classify(dtype, left);
    tly_pto_value_class r = tly_pto_classify(dtype, right);
    if (tly_pto_class_is_nan(l) || tly_pto_class_is_nan(r)) {
        if (l == TLY_PTO_VALUE_SIGNALING_NAN || r == TLY_PTO_VALUE_SIGNALING_NAN) {
            *flags |= TLY_PTO_FLAG_INVALID;
        }
        return comparison == TLY_PTO_COMPARE_NE;
    }
    bool zero = tly_pto_class_is_zero(l) && tly_pto_class_is_zero(r);
    bool less = !zero && tly_pto_order_key(dtype, left) < tly_pto_order_key(dtype, right);
    return tly_pto_comparison_holds(comparison, less, zero || left == right);
}

bool tly_pto_element_compare(const tly_pto_profile *profile, tly_pto_comparison comparison,
                             uint32_t dtype, uint64_t left, uint64_t right, uint8_t *flags) {
    if (!tly_pto_dtype_is_integer(dtype)) {
        return profile->compare(comparison, dtype, left, right, flags);
    }
    uint64_t l = tly_pto_canonical(left, dtype);
    uint64_t r = tly_pto_canonical(right, dtype);
    return tly_pto_comparison_holds(comparison, integer_less(tly_pto_dtype_is_signed(dtype), l, r),
                                    l == r);
}

uint64_t tly_pto_element_expand(const tly_pto_profile *profile, tly_pto_expand op, uint32_t from,
                                uint32_t to, uint64_t left, uint64_t broadcast, uint8_t *flags) {
    static const tly_pto_tile_binary binary[] = {
        [TLY_PTO_EXPAND_ADD] = TLY_PTO_TILE_ADD,   [TLY_PTO_EXPAND_SUB] = TLY_PTO_TILE_SUB,
        [TLY_PTO_EXPAND_MUL] = TLY_PTO_TILE_MUL,   [TLY_PTO_EXPAND_DIV] = TLY_PTO_TILE_DIV,
        [TLY_PTO_EXPAND_MAX] = TLY_PTO_TILE_MAX,   [TLY_PTO_EXPAND_MIN] = TLY_PTO_TILE_MIN,
        [TLY_PTO_EXPAND_EXPDIF] = TLY_PTO_TILE_SUB};
    if (op == TLY_PTO_EXPAND_COPY) {
        return broadcast;
    }
    if (op != TLY_PTO_EXPAND_EXPDIF) {
        return tly_pto_element_binary(profile, binary[op], to, left, broadcast, flags);
    }
    if (from != to) {
        bool half = from == TLY_PTO_FP16;
        return profile->mixed_expdif(
            from, half ? tly_pto_widen_fp16(left) : tly_pto_widen_bf16(left),
            half ? tly_pto_widen_fp16(broadcast) : tly_pto_widen_bf16(broadcast), flags);
    }
    uint64_t difference =
        tly_pto_element_binary(profile, TLY_PTO_TILE_SUB, to, left, broadcast, flags);
    return tly_pto_element_unary(profile, TLY_PTO_TILE_EXP, to, difference, flags);
}

uint64_t tly_pto_element_fused(const tly_pto_profile *profile, uint32_t dtype, uint64_t left,
                               uint64_t right, uint64_t addend, uint8_t *flags) {
    if (tly_pto_dtype_is_integer(dtype)) {
        return tly_pto_raw(tly_pto_raw(left, dtype) * tly_pto_raw(right, dtype) +
                               tly_pto_raw(addend, dtype),
                           dtype);
    }
    tly_pto_value_class l = tly_pto_classify(dtype, left);
    tly_pto_value_class r = tly_pto_classify(dtype, right);
    tly_pto_value_class a = tly_pto_classify(dtype, addend);
    bool infinite = tly_pto_class_is_infinity(l) || tly_pto_class_is_infinity(r);
    bool negative = tly_pto_class_is_negative(l) != tly_pto_class_is_negative(r);
    bool signaling = l == TLY_PTO_VALUE_SIGNALING_NAN || r == TLY_PTO_VALUE_SIGNALING_NAN ||
                     a == TLY_PTO_VALUE_SIGNALING_NAN;
    bool zero_times_infinity = infinite && (tly_pto_class_is_zero(l) || tly_pto_class_is_zero(r));
    bool opposite =
        infinite && tly_pto_class_is_infinity(a) && negative != tly_pto_class_is_negative(a);
    return signaling || zero_times_infinity || opposite
               ? profile->fused_invalid(dtype, left, right, addend, flags)
               : profile->fused(dtype, addend, left, right, flags);
}

/* TileConvertIntegerSaturating, of a canonical source. */
static uint64_t saturate(uint64_t source, uint32_t from, uint32_t to) {
    uint64_t minimum = tly_pto_integer_minimum(to);
    uint64_t maximum = tly_pto_integer_maximum(to);
    if (tly_pto_dtype_is_signed(from)) {
        if (!tly_pto_dtype_is_signed(to) && (int64_t)source < 0) {
            return minimum;
        }
        if (tly_pto_dtype_is_signed(to)) {
            return (int64_t)source < (int64_t)minimum   ? minimum
                   : (int64_t)source > (int64_t)maximum ? maximum
                                                        : source;
        }
    }
    return source > maximum ? maximum : tly_pto_canonical(source, to);
}

uint64_t tly_pto_element_convert(const tly_pto_profile *profile, uint32_t from, uint32_t to,
                                 const tly_pto_numeric_control *control, uint64_t value,
                                 uint8_t *flags) {
    if (!tly_pto_dtype_is_integer(from) || !tly_pto_dtype_is_integer(to)) {
        return profile->convert(from, to, control, value, flags);
    }
    uint64_t source = tly_pto_canonical(value, from);
    return control->saturating ? saturate(source, from, to) : tly_pto_canonical(source, to);
}

uint64_t tly_pto_reduce_initial(tly_pto_reduction op, uint32_t dtype, uint64_t first) {
    return op == TLY_PTO_REDUCE_SUM ? 0 : op == TLY_PTO_REDUCE_PRODUCT ? tly_pto_one(dtype) : first;
}

uint64_t tly_pto_element_reduce(const tly_pto_profile *profile, tly_pto_reduction op,
                                uint32_t dtype, uint64_t accumulator, uint64_t value,
                                bool *out_selected, uint8_t *flags) {
    static const uint8_t binary[] = {
        [TLY_PTO_REDUCE_SUM] = TLY_PTO_TILE_ADD,    [TLY_PTO_REDUCE_PRODUCT] = TLY_PTO_TILE_MUL,
        [TLY_PTO_REDUCE_MIN] = TLY_PTO_TILE_MIN,    [TLY_PTO_REDUCE_MAX] = TLY_PTO_TILE_MAX,
        [TLY_PTO_REDUCE_ARGMIN] = TLY_PTO_TILE_MIN, [TLY_PTO_REDUCE_ARGMAX] = TLY_PTO_TILE_MAX};
    uint64_t result = tly_pto_element_binary(profile, (tly_pto_tile_binary)binary[op], dtype,
                                             accumulator, value, flags);
    *out_selected = result == value && result != accumulator;
    return result;
}
