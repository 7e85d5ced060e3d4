/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization and powers of two in pto-v0: real numbers, rounded once. */
#include <string.h>

#include "base/bytes.h"
#include "pto/profile/real.h"
#include "pto/profile/v0.h"

/* The zero point counts in the type of the quantized side. */
static int64_t zero_value(uint64_t zero_point, uint32_t dtype) {
    return (int64_t)tly_pto_canonical(zero_point, dtype);
}

uint64_t tly_pto_v0_quantize(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                             uint64_t scale, uint64_t zero_point, uint64_t value, uint8_t *flags) {
    tly_pto_value_class class = tly_pto_classify(from, value);
    if (tly_pto_class_is_nan(class)) {
        *flags |= TLY_PTO_FLAG_INVALID;
        return 0;
    }
    if (tly_pto_class_is_infinity(class)) {
        *flags |= TLY_PTO_FLAG_OVERFLOW | TLY_PTO_FLAG_INEXACT;
        return tly_pto_class_is_negative(class) ? tly_pto_integer_minimum(to)
                                                : tly_pto_integer_maximum(to);
    }
    double product = tly_pto_real_of(from, value) * tly_pto_real_of(TLY_PTO_FP32, scale);
    tly_pto_integer rounded = tly_pto_round_real(product, zero_value(zero_point, to),
                                                 (tly_pto_rounding)control->rounding);
    uint8_t range_flags = 0; /* here, unlike in a matrix result, the range raises nothing */
    *flags |= rounded.exact ? 0 : TLY_PTO_FLAG_INEXACT;
    return tly_pto_encode_integer(&rounded, to, control->saturating, &range_flags);
}

/* Whether a number between `lower` and the next integer goes up (1) or not (0). `rest` is what it
 * has above lower or, if that is negative, below the next. */
static inline int32_t rounded_up(tly_pto_rounding rounding, int32_t lower, double rest) {
    int above = rest < 0 ? rest > -0.5 : rest > 0.5; /* half way */
    int half = (rest == 0.5) | (rest == -0.5), some = rest != 0;
    switch (rounding) {
    case TLY_PTO_ROUND_DOWN:
        return 0;
    case TLY_PTO_ROUND_UP:
        return some;
    case TLY_PTO_ROUND_ZERO:
        return some & (lower < 0);
    case TLY_PTO_ROUND_NEAREST_AWAY:
        return above | (half & (lower >= 0));
    case TLY_PTO_ROUND_HALF_UP:
        return above | half;
    case TLY_PTO_ROUND_ODD:
        return some & ((lower & 1) == 0);
    default:
        return above | (half & lower & 1);
    }
}

void tly_pto_v0_quantize_row(uint32_t to, const tly_pto_numeric_control *control, uint64_t scale,
                             uint64_t zero_point, const void *value, void *out, size_t count,
                             uint8_t *flags) {
    const uint8_t *in = value;
    uint8_t *codes = out;
    double factor = tly_pto_real_of(TLY_PTO_FP32, scale);
    int32_t zero = (int32_t)zero_value(zero_point, to), inexact = 0;
    int32_t lowest = (int32_t)(int64_t)tly_pto_integer_minimum(to);
    int32_t highest = (int32_t)(int64_t)tly_pto_integer_maximum(to);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits = tly_base_load_u32(in + i * sizeof bits);
        float number;
        memcpy(&number, &bits, sizeof number);
        double product = (double)number * factor; /* exact */
        if (!(product > -0x1p30 && product < 0x1p30)) {
            codes[i] = (uint8_t)tly_pto_v0_quantize(TLY_PTO_FP32, to, control, scale, zero_point,
                                                    bits, flags);
            continue;
        }
        int32_t cut = (int32_t)product;
        double rest = product - cut;
        int32_t lower = cut + zero - (rest < 0);
        int32_t code = lower + rounded_up((tly_pto_rounding)control->rounding, lower, rest);
        inexact |= rest != 0;
        if (control->saturating) {
            code = code < lowest ? lowest : code > highest ? highest : code;
        }
        codes[i] = (uint8_t)code;
    }
    *flags |= inexact != 0 ? TLY_PTO_FLAG_INEXACT : 0;
}

uint64_t tly_pto_v0_dequantize(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                               uint64_t scale, uint64_t zero_point, uint64_t value,
                               uint8_t *flags) {
    tly_pto_numeric_control unbounded = {control->rounding, false};
    int64_t difference = (int64_t)tly_pto_canonical(value, from) - zero_value(zero_point, from);
    return tly_pto_encode_real((double)difference * tly_pto_real_of(TLY_PTO_FP32, scale), to,
                               &unbounded, flags);
}

enum { E8M0_NAN = 0xff, E8M0_MAX = 0xfe, E8M0_BIAS = 127 };

/* Whether significand * 2^exponent with its leading bit at `highest` goes to the next power, by
 * its distance in the exponent: half way is the square root of two. */
static bool power_goes_up(uint64_t significand, uint32_t highest, int32_t floor_exponent,
                          tly_pto_rounding rounding) {
    switch (rounding) {
    case TLY_PTO_ROUND_DOWN:
        return false;
    case TLY_PTO_ROUND_UP:
        return true;
    case TLY_PTO_ROUND_ZERO: /* of the exponent */
        return floor_exponent < 0;
    case TLY_PTO_ROUND_ODD:
        return (floor_exponent & 1) == 0;
    default: /* a square is never twice a power of four: there are no ties */
        return significand * significand > UINT64_C(1) << (2 * highest + 1);
    }
}

uint64_t tly_pto_v0_to_e8m0(uint32_t from, const tly_pto_numeric_control *control, uint64_t value,
                            uint8_t *flags) {
    tly_pto_value_class class = tly_pto_classify(from, value);
    if (class == TLY_PTO_VALUE_INFINITY) {
        *flags |= TLY_PTO_FLAG_OVERFLOW | TLY_PTO_FLAG_INEXACT;
        return control->saturating ? E8M0_MAX : E8M0_NAN;
    }
    if (class != TLY_PTO_VALUE_NORMAL && class != TLY_PTO_VALUE_SUBNORMAL) {
        *flags |= TLY_PTO_FLAG_INVALID;
        return E8M0_NAN;
    }
    bool negative = false;
    uint64_t significand = 1;
    int32_t exponent = 0;
    tly_pto_decompose(from, value, &negative, &significand, &exponent);
    uint32_t highest = 63 - (uint32_t)__builtin_clzll(significand);
    int32_t rounded = exponent + (int32_t)highest;
    bool exact = (significand & (significand - 1)) == 0;
    if (rounded < -E8M0_BIAS) {
        *flags |= TLY_PTO_FLAG_UNDERFLOW | TLY_PTO_FLAG_INEXACT;
        return control->saturating ? 0 : E8M0_NAN;
    }
    if (rounded == E8M0_BIAS && !exact) {
        *flags |= TLY_PTO_FLAG_OVERFLOW | TLY_PTO_FLAG_INEXACT;
        return control->saturating ? E8M0_MAX : E8M0_NAN;
    }
    if (!exact) {
        *flags |= TLY_PTO_FLAG_INEXACT;
        rounded +=
            power_goes_up(significand, highest, rounded, (tly_pto_rounding)control->rounding);
    }
    return (uint64_t)(rounded + E8M0_BIAS);
}
