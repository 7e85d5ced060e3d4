/* SPDX-License-Identifier: Apache-2.0 */
/* Element types of tiles: one row each, and what the architecture says about every bit pattern,
 * whatever the numeric profile (asl/arch/data-types, asl/arch/features/mx-formats). A value is a
 * 64-bit carrier: the element's bits, signed integers sign-extended, all others zero-extended. */
#ifndef TLY_PTO_PROFILE_FORMAT_H
#define TLY_PTO_PROFILE_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

/* Codes of the architecture. */
typedef enum tly_pto_dtype {
    TLY_PTO_FP64 = 0,
    TLY_PTO_FP32 = 1,
    TLY_PTO_TF32 = 2,
    TLY_PTO_HF32 = 3,
    TLY_PTO_FP16 = 4,
    TLY_PTO_BF16 = 5,
    TLY_PTO_HIF8 = 6,
    TLY_PTO_E4M3 = 7,
    TLY_PTO_E5M2 = 8,
    TLY_PTO_E3M2 = 9,
    TLY_PTO_E2M3 = 10,
    TLY_PTO_E2M1X2 = 11,
    TLY_PTO_E1M2X2 = 12,
    TLY_PTO_E8M0 = 13,
    TLY_PTO_HIF4X2 = 14,
    TLY_PTO_S64 = 16,
    TLY_PTO_S32 = 17,
    TLY_PTO_S16 = 18,
    TLY_PTO_S8 = 19,
    TLY_PTO_S4X2 = 20,
    TLY_PTO_U64 = 24,
    TLY_PTO_U32 = 25,
    TLY_PTO_U16 = 26,
    TLY_PTO_U8 = 27,
    TLY_PTO_U4X2 = 28,
    TLY_PTO_NUM_DTYPES = 32 /* size of tables by code; 15, 21 to 23 and 29 to 31 are no types */
} tly_pto_dtype;

typedef enum tly_pto_format_kind {
    TLY_PTO_FORMAT_NONE,
    TLY_PTO_FORMAT_BINARY, /* sign, exponent, fraction */
    TLY_PTO_FORMAT_HIF8,
    TLY_PTO_FORMAT_E8M0,
    TLY_PTO_FORMAT_SIGNED,
    TLY_PTO_FORMAT_UNSIGNED
} tly_pto_format_kind;

typedef struct tly_pto_format {
    uint8_t kind; /* tly_pto_format_kind */
    uint8_t bits; /* of an element in storage: 4, 8, 16, 32, 64; 0: no such type */
    uint8_t exponent_bits;
    uint8_t fraction_bits;
    int16_t bias;
    uint8_t low_zero_bits;  /* bits below the fraction, zero in a valid encoding */
    uint8_t high_zero_bits; /* bits above the sign, zero in a valid encoding */
    bool has_subnormal;     /* where not, small values are classified as normal */
    bool has_infinity;      /* of FORMAT_BINARY: all-ones exponents are special */
    bool has_nan;
    bool has_signed_zero;
    bool has_order; /* minimum, maximum and comparison are defined on its bits */
    uint64_t canonical_nan;
} tly_pto_format;

/* By code; every code below TLY_PTO_NUM_DTYPES has a row. */
extern const tly_pto_format tly_pto_formats[TLY_PTO_NUM_DTYPES];

static inline bool tly_pto_dtype_valid(uint32_t dtype) {
    return dtype < TLY_PTO_NUM_DTYPES && tly_pto_formats[dtype].bits != 0;
}

static inline uint32_t tly_pto_dtype_bits(uint32_t dtype) {
    return tly_pto_formats[dtype].bits;
}

static inline bool tly_pto_dtype_is_signed(uint32_t dtype) {
    return tly_pto_formats[dtype].kind == TLY_PTO_FORMAT_SIGNED;
}

static inline bool tly_pto_dtype_is_integer(uint32_t dtype) {
    return tly_pto_formats[dtype].kind >= TLY_PTO_FORMAT_SIGNED;
}

static inline bool tly_pto_dtype_is_floating(uint32_t dtype) {
    return tly_pto_dtype_valid(dtype) && !tly_pto_dtype_is_integer(dtype);
}

/* Two lanes in a byte. */
static inline bool tly_pto_dtype_is_four_bit(uint32_t dtype) {
    return tly_pto_formats[dtype].bits == 4;
}

static inline uint64_t tly_pto_low_bits(uint64_t value, uint32_t bits) {
    return bits >= 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static inline uint64_t tly_pto_sign_extend(uint64_t value, uint32_t bits) {
    return bits >= 64 ? value : (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

/* The carrier that the element's bits alone stand for (what a load from storage gives). */
static inline uint64_t tly_pto_canonical(uint64_t value, uint32_t dtype) {
    const tly_pto_format *format = &tly_pto_formats[dtype];
    return format->kind == TLY_PTO_FORMAT_SIGNED ? tly_pto_sign_extend(value, format->bits)
                                                 : tly_pto_low_bits(value, format->bits);
}

/* NormalizeTileInteger: integers cut to their width and extended, other types untouched. */
static inline uint64_t tly_pto_normalize_integer(uint64_t value, uint32_t dtype) {
    return tly_pto_dtype_is_integer(dtype) ? tly_pto_canonical(value, dtype) : value;
}

/* TileRawElementValue: the element's bits, zero-extended. */
static inline uint64_t tly_pto_raw(uint64_t value, uint32_t dtype) {
    return tly_pto_low_bits(value, tly_pto_formats[dtype].bits);
}

uint64_t tly_pto_integer_minimum(uint32_t dtype);
uint64_t tly_pto_integer_maximum(uint32_t dtype);

typedef enum tly_pto_value_class {
    TLY_PTO_VALUE_INVALID,
    TLY_PTO_VALUE_ZERO,
    TLY_PTO_VALUE_NEGATIVE_ZERO,
    TLY_PTO_VALUE_SUBNORMAL,
    TLY_PTO_VALUE_NEGATIVE_SUBNORMAL,
    TLY_PTO_VALUE_NORMAL,
    TLY_PTO_VALUE_NEGATIVE_NORMAL,
    TLY_PTO_VALUE_INFINITY,
    TLY_PTO_VALUE_NEGATIVE_INFINITY,
    TLY_PTO_VALUE_QUIET_NAN,
    TLY_PTO_VALUE_SIGNALING_NAN
} tly_pto_value_class;

/* TileNumericEncodingValid: reserved bits are zero. */
bool tly_pto_encoding_valid(uint32_t dtype, uint64_t value);

/* TileNumericValueClass, of integers too. */
tly_pto_value_class tly_pto_classify(uint32_t dtype, uint64_t value);

static inline bool tly_pto_class_is_nan(tly_pto_value_class c) {
    return c >= TLY_PTO_VALUE_QUIET_NAN;
}

static inline bool tly_pto_class_is_infinity(tly_pto_value_class c) {
    return c == TLY_PTO_VALUE_INFINITY || c == TLY_PTO_VALUE_NEGATIVE_INFINITY;
}

static inline bool tly_pto_class_is_zero(tly_pto_value_class c) {
    return c == TLY_PTO_VALUE_ZERO || c == TLY_PTO_VALUE_NEGATIVE_ZERO;
}

static inline bool tly_pto_class_is_negative(tly_pto_value_class c) {
    return c >= TLY_PTO_VALUE_ZERO && c <= TLY_PTO_VALUE_NEGATIVE_INFINITY && (c & 1) == 0;
}

/* The finite value is (negative ? -1 : 1) * significand * 2^exponent. False: not finite, or not a
 * valid encoding, or an integer. */
bool tly_pto_decompose(uint32_t dtype, uint64_t value, bool *out_negative,
                       uint64_t *out_significand, int32_t *out_exponent);

/* Encodings of floating types that have an order: FP64 to BF16, E4M3, E5M2. */
uint64_t tly_pto_sign_mask(uint32_t dtype);
uint64_t tly_pto_one(uint32_t dtype);      /* of integers as well */
uint64_t tly_pto_infinity(uint32_t dtype); /* positive; the canonical NaN where there is none */

/* TileFloatingOrderKey: unsigned order of keys is the order of values. */
uint64_t tly_pto_order_key(uint32_t dtype, uint64_t value);

/* HardwareNumericFloatingMinMax; *out_invalid is set for a signaling NaN. */
uint64_t tly_pto_floating_min_max(bool maximum, uint32_t dtype, uint64_t left, uint64_t right,
                                  bool *out_invalid);

/* A positive finite FP32 number (quantization). */
bool tly_pto_quantization_scale_legal(uint64_t scale);
bool tly_pto_zero_point_legal(uint64_t zero_point, uint32_t dtype);

/* 19-bit parameters of matrix post-processing: sign, eight exponent bits, ten fraction bits. */
tly_pto_value_class tly_pto_fp19_classify(uint32_t value);
bool tly_pto_fp19_scale_legal(uint32_t value);
bool tly_pto_fp19_activation_legal(uint32_t value);
uint32_t tly_pto_fp19_from_fp32(uint64_t value);

/* FP16 or BF16 into FP32 (ExactWiden...). NaNs of FP16 become the canonical one; subnormals of FP16
 * come out as the specification has them, which is not their value. */
uint64_t tly_pto_widen_fp16(uint64_t value);
uint64_t tly_pto_widen_bf16(uint64_t value);

#endif
