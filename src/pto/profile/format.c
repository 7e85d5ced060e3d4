/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/format.h"

#define BINARY(code, storage, exp, frac, bias_, low, high, sub, inf, nan, order, canonical)        \
    [code] = {.kind = TLY_PTO_FORMAT_BINARY,                                                       \
              .bits = storage,                                                                     \
              .exponent_bits = exp,                                                                \
              .fraction_bits = frac,                                                               \
              .bias = bias_,                                                                       \
              .low_zero_bits = low,                                                                \
              .high_zero_bits = high,                                                              \
              .has_subnormal = sub,                                                                \
              .has_infinity = inf,                                                                 \
              .has_nan = nan,                                                                      \
              .has_signed_zero = true,                                                             \
              .has_order = order,                                                                  \
              .canonical_nan = canonical}
#define INTEGER(code, kind_, width) [code] = {.kind = kind_, .bits = width}

const tly_pto_format tly_pto_formats[TLY_PTO_NUM_DTYPES] = {
    /*     type            bits exp frac bias low high sub inf nan order canonical NaN */
    BINARY(TLY_PTO_FP64, 64, 11, 52, 1023, 0, 0, 1, 1, 1, 1, UINT64_C(0x7ff8000000000000)),
    BINARY(TLY_PTO_FP32, 32, 8, 23, 127, 0, 0, 1, 1, 1, 1, 0x7fc00000),
    BINARY(TLY_PTO_TF32, 32, 8, 10, 127, 13, 0, 1, 1, 1, 1, 0x7fc00000),
    BINARY(TLY_PTO_HF32, 32, 8, 11, 127, 12, 0, 1, 1, 1, 1, 0x7fc00000),
    BINARY(TLY_PTO_FP16, 16, 5, 10, 15, 0, 0, 1, 1, 1, 1, 0x7e00),
    BINARY(TLY_PTO_BF16, 16, 8, 7, 127, 0, 0, 1, 1, 1, 1, 0x7fc0),
    [TLY_PTO_HIF8] = {.kind = TLY_PTO_FORMAT_HIF8,
                      .bits = 8,
                      .exponent_bits = 4,
                      .fraction_bits = 3,
                      .has_subnormal = true,
                      .has_infinity = true,
                      .has_nan = true,
                      .canonical_nan = 0x80},
    BINARY(TLY_PTO_E4M3, 8, 4, 3, 7, 0, 0, 1, 0, 1, 1, 0x7f),
    BINARY(TLY_PTO_E5M2, 8, 5, 2, 15, 0, 0, 1, 1, 1, 1, 0x7e),
    BINARY(TLY_PTO_E3M2, 8, 3, 2, 3, 0, 2, 1, 0, 0, 0, 0),
    BINARY(TLY_PTO_E2M3, 8, 2, 3, 1, 0, 2, 1, 0, 0, 0, 0),
    BINARY(TLY_PTO_E2M1X2, 4, 2, 1, 1, 0, 0, 0, 0, 0, 0, 0),
    BINARY(TLY_PTO_E1M2X2, 4, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0),
    [TLY_PTO_E8M0] = {.kind = TLY_PTO_FORMAT_E8M0,
                      .bits = 8,
                      .exponent_bits = 8,
                      .bias = 127,
                      .has_nan = true,
                      .canonical_nan = 0xff},
    BINARY(TLY_PTO_HIF4X2, 4, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0),
    INTEGER(TLY_PTO_S64, TLY_PTO_FORMAT_SIGNED, 64),
    INTEGER(TLY_PTO_S32, TLY_PTO_FORMAT_SIGNED, 32),
    INTEGER(TLY_PTO_S16, TLY_PTO_FORMAT_SIGNED, 16),
    INTEGER(TLY_PTO_S8, TLY_PTO_FORMAT_SIGNED, 8),
    INTEGER(TLY_PTO_S4X2, TLY_PTO_FORMAT_SIGNED, 4),
    INTEGER(TLY_PTO_U64, TLY_PTO_FORMAT_UNSIGNED, 64),
    INTEGER(TLY_PTO_U32, TLY_PTO_FORMAT_UNSIGNED, 32),
    INTEGER(TLY_PTO_U16, TLY_PTO_FORMAT_UNSIGNED, 16),
    INTEGER(TLY_PTO_U8, TLY_PTO_FORMAT_UNSIGNED, 8),
    INTEGER(TLY_PTO_U4X2, TLY_PTO_FORMAT_UNSIGNED, 4),
};

uint64_t tly_pto_integer_minimum(uint32_t dtype) {
    const tly_pto_format *format = &tly_pto_formats[dtype];
    return format->kind == TLY_PTO_FORMAT_SIGNED
               ? tly_pto_sign_extend(UINT64_C(1) << (format->bits - 1), format->bits)
               : 0;
}

uint64_t tly_pto_integer_maximum(uint32_t dtype) {
    const tly_pto_format *format = &tly_pto_formats[dtype];
    return tly_pto_low_bits(UINT64_MAX,
                            format->bits - (format->kind == TLY_PTO_FORMAT_SIGNED ? 1U : 0U));
}

/* Where the fields of a FORMAT_BINARY number stand. */
typedef struct fields {
    bool negative;
    uint64_t exponent;
    uint64_t exponent_max;
    uint64_t fraction;
} fields;

static fields split(const tly_pto_format *f, uint64_t value) {
    uint32_t exponent_at = (uint32_t)f->low_zero_bits + f->fraction_bits;
    fields out;
    out.fraction = tly_pto_low_bits(value >> f->low_zero_bits, f->fraction_bits);
    out.exponent_max = tly_pto_low_bits(UINT64_MAX, f->exponent_bits);
    out.exponent = value >> exponent_at & out.exponent_max;
    out.negative = (value >> (exponent_at + f->exponent_bits) & 1) != 0;
    return out;
}

bool tly_pto_encoding_valid(uint32_t dtype, uint64_t value) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    uint64_t bits = tly_pto_low_bits(value, f->bits);
    return tly_pto_low_bits(bits, f->low_zero_bits) == 0 &&
           (f->high_zero_bits == 0 || bits >> (f->bits - f->high_zero_bits) == 0);
}

static tly_pto_value_class with_sign(tly_pto_value_class positive, bool negative) {
    return (tly_pto_value_class)(positive + (negative ? 1 : 0));
}

static tly_pto_value_class classify_binary(const tly_pto_format *f, uint64_t value) {
    fields v = split(f, value);
    if (f->has_infinity && v.exponent == v.exponent_max) {
        if (v.fraction == 0) {
            return with_sign(TLY_PTO_VALUE_INFINITY, v.negative);
        }
        return v.fraction >> (f->fraction_bits - 1) != 0 ? TLY_PTO_VALUE_QUIET_NAN
                                                         : TLY_PTO_VALUE_SIGNALING_NAN;
    }
    if (f->has_nan && !f->has_infinity && v.exponent == v.exponent_max &&
        v.fraction == tly_pto_low_bits(UINT64_MAX, f->fraction_bits)) {
        return TLY_PTO_VALUE_QUIET_NAN;
    }
    if (v.exponent == 0 && v.fraction == 0) {
        return with_sign(TLY_PTO_VALUE_ZERO, v.negative);
    }
    bool subnormal = v.exponent == 0 && f->has_subnormal;
    return with_sign(subnormal ? TLY_PTO_VALUE_SUBNORMAL : TLY_PTO_VALUE_NORMAL, v.negative);
}

enum { HIF8_NAN = 0x80, HIF8_INFINITY = 0x6f, HIF8_LAST_DENORMAL = 7 };

static tly_pto_value_class classify_hif8(uint64_t value) {
    uint64_t code = value & 0xff;
    bool negative = code >> 7 != 0;
    if (code == HIF8_NAN) {
        return TLY_PTO_VALUE_QUIET_NAN;
    }
    if (code == 0) {
        return TLY_PTO_VALUE_ZERO;
    }
    if ((code & 0x7f) == HIF8_INFINITY) {
        return with_sign(TLY_PTO_VALUE_INFINITY, negative);
    }
    return with_sign((code & 0x7f) <= HIF8_LAST_DENORMAL ? TLY_PTO_VALUE_SUBNORMAL
                                                         : TLY_PTO_VALUE_NORMAL,
                     negative);
}

tly_pto_value_class tly_pto_classify(uint32_t dtype, uint64_t value) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    uint64_t bits = tly_pto_low_bits(value, f->bits);
    switch (f->kind) {
    case TLY_PTO_FORMAT_BINARY:
        return tly_pto_encoding_valid(dtype, value) ? classify_binary(f, value)
                                                    : TLY_PTO_VALUE_INVALID;
    case TLY_PTO_FORMAT_HIF8:
        return classify_hif8(value);
    case TLY_PTO_FORMAT_E8M0:
        return bits == 0xff ? TLY_PTO_VALUE_QUIET_NAN : TLY_PTO_VALUE_NORMAL;
    case TLY_PTO_FORMAT_SIGNED:
        return bits == 0 ? TLY_PTO_VALUE_ZERO
                         : with_sign(TLY_PTO_VALUE_NORMAL, bits >> (f->bits - 1) != 0);
    case TLY_PTO_FORMAT_UNSIGNED:
        return bits == 0 ? TLY_PTO_VALUE_ZERO : TLY_PTO_VALUE_NORMAL;
    default:
        return TLY_PTO_VALUE_INVALID;
    }
}

/* The prefix of a HiF8 code says how many bits the exponent has; its first bit is its sign, and a
 * one stands before what is left of it. */
static void decompose_hif8(uint64_t code, uint64_t *out_significand, int32_t *out_exponent) {
    uint32_t body = (uint32_t)(code & 0x7f);
    if (body <= HIF8_LAST_DENORMAL) {
        *out_significand = body == 0 ? 0 : 1;
        *out_exponent = body == 0 ? 0 : (int32_t)body - 23;
        return;
    }
    uint32_t exponent_bits = body >= 96 ? 4 : body >= 64 ? 3 : body >= 32 ? 2 : body >= 16 ? 1 : 0;
    uint32_t fraction_bits = exponent_bits == 4 ? 1 : exponent_bits == 3 ? 2 : 3;
    int32_t exponent = 0;
    if (exponent_bits != 0) {
        uint32_t field = body >> fraction_bits & ((1U << exponent_bits) - 1);
        uint32_t top = 1U << (exponent_bits - 1);
        int32_t magnitude = (int32_t)(top | (field & (top - 1)));
        exponent = (field & top) != 0 ? -magnitude : magnitude;
    }
    *out_significand = (1U << fraction_bits) | (body & ((1U << fraction_bits) - 1));
    *out_exponent = exponent - (int32_t)fraction_bits;
}

bool tly_pto_decompose(uint32_t dtype, uint64_t value, bool *out_negative,
                       uint64_t *out_significand, int32_t *out_exponent) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    tly_pto_value_class class = tly_pto_classify(dtype, value);
    if (class == TLY_PTO_VALUE_INVALID || tly_pto_class_is_nan(class) ||
        tly_pto_class_is_infinity(class) || f->kind >= TLY_PTO_FORMAT_SIGNED) {
        return false;
    }
    *out_negative = tly_pto_class_is_negative(class);
    if (f->kind == TLY_PTO_FORMAT_HIF8) {
        decompose_hif8(value, out_significand, out_exponent);
    } else if (f->kind == TLY_PTO_FORMAT_E8M0) {
        *out_significand = 1;
        *out_exponent = (int32_t)(value & 0xff) - f->bias;
    } else {
        fields v = split(f, value);
        int32_t exponent = v.exponent == 0 ? 1 : (int32_t)v.exponent;
        *out_significand = v.fraction | (v.exponent == 0 ? 0 : UINT64_C(1) << f->fraction_bits);
        *out_exponent = *out_significand == 0 ? 0 : exponent - f->bias - f->fraction_bits;
    }
    return true;
}

uint64_t tly_pto_sign_mask(uint32_t dtype) {
    return UINT64_C(1) << (tly_pto_formats[dtype].bits - 1);
}

uint64_t tly_pto_one(uint32_t dtype) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    return f->kind == TLY_PTO_FORMAT_BINARY
               ? (uint64_t)f->bias << (f->fraction_bits + f->low_zero_bits)
               : 1;
}

uint64_t tly_pto_infinity(uint32_t dtype) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    if (f->kind == TLY_PTO_FORMAT_HIF8) {
        return HIF8_INFINITY;
    }
    return f->has_infinity ? tly_pto_low_bits(UINT64_MAX, f->exponent_bits)
                                 << (f->fraction_bits + f->low_zero_bits)
                           : f->canonical_nan;
}

uint64_t tly_pto_order_key(uint32_t dtype, uint64_t value) {
    uint32_t bits = tly_pto_formats[dtype].bits;
    uint64_t raw = tly_pto_low_bits(value, bits);
    uint64_t sign = tly_pto_sign_mask(dtype);
    return (raw & sign) != 0 ? tly_pto_low_bits(~raw, bits) : raw | sign;
}

uint64_t tly_pto_floating_min_max(bool maximum, uint32_t dtype, uint64_t left, uint64_t right,
                                  bool *out_invalid) {
    tly_pto_value_class l = tly_pto_classify(dtype, left);
    tly_pto_value_class r = tly_pto_classify(dtype, right);
    *out_invalid = l == TLY_PTO_VALUE_SIGNALING_NAN || r == TLY_PTO_VALUE_SIGNALING_NAN;
    if (tly_pto_class_is_nan(l)) {
        return tly_pto_class_is_nan(r) ? tly_pto_formats[dtype].canonical_nan : right;
    }
    if (tly_pto_class_is_nan(r)) {
        return left;
    }
    if (tly_pto_class_is_zero(l) && tly_pto_class_is_zero(r)) {
        bool left_negative = l == TLY_PTO_VALUE_NEGATIVE_ZERO;
        bool right_negative = r == TLY_PTO_VALUE_NEGATIVE_ZERO;
        if (maximum) {
            return left_negative && right_negative ? left : 0;
        }
        return left_negative ? left : right_negative ? right : 0;
    }
    uint64_t left_key = tly_pto_order_key(dtype, left);
    uint64_t right_key = tly_pto_order_key(dtype, right);
    return (maximum ? left_key >= right_key : left_key <= right_key) ? left : right;
}

bool tly_pto_quantization_scale_legal(uint64_t scale) {
    tly_pto_value_class class = tly_pto_classify(TLY_PTO_FP32, scale);
    return class == TLY_PTO_VALUE_NORMAL || class == TLY_PTO_VALUE_SUBNORMAL;
}

bool tly_pto_zero_point_legal(uint64_t zero_point, uint32_t dtype) {
    return (dtype == TLY_PTO_S8 || dtype == TLY_PTO_U8) &&
           tly_pto_canonical(zero_point, dtype) == zero_point;
}

tly_pto_value_class tly_pto_fp19_classify(uint32_t value) {
    /* FP19 is TF32 without the bits that are zero there */
    return tly_pto_classify(TLY_PTO_TF32, (uint64_t)(value & 0x7ffff) << 13);
}

bool tly_pto_fp19_scale_legal(uint32_t value) {
    return tly_pto_fp19_classify(value) == TLY_PTO_VALUE_NORMAL;
}

bool tly_pto_fp19_activation_legal(uint32_t value) {
    tly_pto_value_class class = tly_pto_fp19_classify(value);
    return class == TLY_PTO_VALUE_NORMAL || class == TLY_PTO_VALUE_ZERO;
}

uint32_t tly_pto_fp19_from_fp32(uint64_t value) {
    if (tly_pto_class_is_nan(tly_pto_classify(TLY_PTO_FP32, value))) {
        return 0x3ff00;
    }
    uint32_t bits = (uint32_t)value;
    uint32_t kept = bits >> 13;
    uint32_t dropped = bits & 0x1fff;
    uint32_t up = dropped > 0x1000 || (dropped == 0x1000 && (kept & 1) != 0) ? 1 : 0;
    /* a carry out of the fraction goes into the exponent, and infinity at the most */
    return kept + up;
}

uint64_t tly_pto_widen_bf16(uint64_t value) {
    return (value & 0xffff) << 16;
}

uint64_t tly_pto_widen_fp16(uint64_t value) {
    fields v = split(&tly_pto_formats[TLY_PTO_FP16], value);
    uint64_t sign = v.negative ? UINT64_C(0x80000000) : 0;
    if (v.exponent == v.exponent_max) {
        return v.fraction != 0 ? 0x7fc00000 : sign | 0x7f800000;
    }
    if (v.exponent != 0) {
        return sign | (v.exponent + 112) << 23 | v.fraction << 13;
    }
    if (v.fraction == 0) {
        return sign;
    }
    /* The specification puts the nine bits below the leading one a place too low; so do we. */
    uint32_t shift = (uint32_t)__builtin_clzll(v.fraction) - 54; /* leading zeros of ten bits */
    return sign | (uint64_t)(112 - shift) << 23 | (v.fraction << shift & 0x1ff) << 13;
}
