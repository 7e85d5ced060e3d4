/* SPDX-License-Identifier: Apache-2.0 */
/* A numeric profile: everything that the architecture leaves to a profile, as one table of
 * functions. `pto-v0` is the deterministic reference on raw carriers; a profile with real
 * arithmetic is another table. Nothing outside this folder knows which one runs.
 *
 * Values are 64-bit carriers (profile/format.h). A hook adds the status flags that it raises to
 * *flags (tly_pto_flag) and never clears one. Types are codes of the architecture; the caller has
 * checked that the operation admits them. */
#ifndef TLY_PTO_PROFILE_PROFILE_H
#define TLY_PTO_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>

#include "pto/profile/format.h"

/* Status flags as CORE_STATE has them. */
enum {
    TLY_PTO_FLAG_INVALID = 1,
    TLY_PTO_FLAG_DIVIDE_BY_ZERO = 2,
    TLY_PTO_FLAG_OVERFLOW = 4,
    TLY_PTO_FLAG_UNDERFLOW = 8,
    TLY_PTO_FLAG_INEXACT = 16
};

typedef enum tly_pto_rounding {
    TLY_PTO_ROUND_NEAREST_EVEN, /* RNE */
    TLY_PTO_ROUND_DOWN,         /* RTM */
    TLY_PTO_ROUND_UP,           /* RTP */
    TLY_PTO_ROUND_ZERO,         /* RTZ */
    TLY_PTO_ROUND_NEAREST_AWAY, /* RNA */
    TLY_PTO_ROUND_ODD,          /* RTO */
    TLY_PTO_ROUND_HALF_UP       /* RHB: ties towards plus infinity */
} tly_pto_rounding;

typedef struct tly_pto_numeric_control {
    uint8_t rounding; /* tly_pto_rounding */
    bool saturating;
} tly_pto_numeric_control;

/* Rounding of scalar instructions: CORE_STATE[39:37] (ResolveScalarFPActiveRoundingMode). */
tly_pto_rounding tly_pto_scalar_rounding(uint32_t code);

/* Rounding field of B.DATR (DecodeBundleRoundingSelection); code 0 is the operation's default and
 * gives RNE. */
tly_pto_rounding tly_pto_bundle_rounding(uint32_t code);

/* The same field in public conversions. False: the code is reserved. */
bool tly_pto_conversion_rounding(uint32_t code, tly_pto_rounding *out_rounding);

typedef enum tly_pto_float_binary {
    TLY_PTO_FLOAT_ADD,
    TLY_PTO_FLOAT_SUB,
    TLY_PTO_FLOAT_MUL,
    TLY_PTO_FLOAT_DIV,
    TLY_PTO_FLOAT_MIN,
    TLY_PTO_FLOAT_MAX
} tly_pto_float_binary;

typedef enum tly_pto_float_unary {
    TLY_PTO_FLOAT_ABS,
    TLY_PTO_FLOAT_SQRT,
    TLY_PTO_FLOAT_EXP,
    TLY_PTO_FLOAT_RECIP
} tly_pto_float_unary;

typedef enum tly_pto_float_fused {
    TLY_PTO_FLOAT_MADD,
    TLY_PTO_FLOAT_MSUB,
    TLY_PTO_FLOAT_NMADD,
    TLY_PTO_FLOAT_NMSUB
} tly_pto_float_fused;

typedef enum tly_pto_tile_binary {
    TLY_PTO_TILE_ADD,
    TLY_PTO_TILE_SUB,
    TLY_PTO_TILE_MUL,
    TLY_PTO_TILE_MAX,
    TLY_PTO_TILE_MIN,
    TLY_PTO_TILE_AND,
    TLY_PTO_TILE_OR,
    TLY_PTO_TILE_XOR,
    TLY_PTO_TILE_SHL,
    TLY_PTO_TILE_SHR,
    TLY_PTO_TILE_DIV,
    TLY_PTO_TILE_REM
} tly_pto_tile_binary;

typedef enum tly_pto_tile_unary {
    TLY_PTO_TILE_ABS,
    TLY_PTO_TILE_NOT,
    TLY_PTO_TILE_NEG,
    TLY_PTO_TILE_RELU,
    TLY_PTO_TILE_SQRT, /* from here on the profile computes what is no special value */
    TLY_PTO_TILE_LOG,
    TLY_PTO_TILE_RECIP,
    TLY_PTO_TILE_EXP,
    TLY_PTO_TILE_RSQRT
} tly_pto_tile_unary;

typedef enum tly_pto_comparison {
    TLY_PTO_COMPARE_EQ,
    TLY_PTO_COMPARE_NE,
    TLY_PTO_COMPARE_LT,
    TLY_PTO_COMPARE_LE,
    TLY_PTO_COMPARE_GT,
    TLY_PTO_COMPARE_GE
} tly_pto_comparison;

typedef enum tly_pto_reduction {
    TLY_PTO_REDUCE_SUM,
    TLY_PTO_REDUCE_PRODUCT,
    TLY_PTO_REDUCE_MIN,
    TLY_PTO_REDUCE_MAX,
    TLY_PTO_REDUCE_ARGMIN,
    TLY_PTO_REDUCE_ARGMAX
} tly_pto_reduction;

typedef enum tly_pto_expand {
    TLY_PTO_EXPAND_COPY,
    TLY_PTO_EXPAND_ADD,
    TLY_PTO_EXPAND_SUB,
    TLY_PTO_EXPAND_MUL,
    TLY_PTO_EXPAND_DIV,
    TLY_PTO_EXPAND_MAX,
    TLY_PTO_EXPAND_MIN,
    TLY_PTO_EXPAND_EXPDIF
} tly_pto_expand;

/* What one step of a matrix product multiplies. */
typedef struct tly_pto_matrix_types {
    uint8_t accumulator; /* type of sums */
    uint8_t left;
    uint8_t right;
    uint8_t left_scale;
    uint8_t right_scale;
    bool left_scaled; /* MX: elements are multiplied by the scale of their block of K */
    bool right_scaled;
    tly_pto_numeric_control control;
} tly_pto_matrix_types;

/* A product of operands in cells of the matrix unit, as they are stored: A in cells of left_rows
 * rows (16 or 32), B in cells of 8 columns. Elements outside of m x k and k x n count for nothing,
 * whatever they hold. */
typedef struct tly_pto_matrix_cells {
    const tly_pto_matrix_types *types;
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t left_rows;
    const uint8_t *left;
    const uint8_t *right;
    tly_simd simd;
    uint64_t *sums; /* in and out, column after column, m words each */
    /* instead of them where it is not NULL: 32 bits each, column c at c * 32, as cells of 32 rows
     * have them. What stands in rows from m on is anything afterwards. */
    uint32_t *cells;
    void *scratch;
    size_t scratch_len;
} tly_pto_matrix_cells;

/* How a matrix result is written (B.FPATR). */
typedef struct tly_pto_post_process {
    uint8_t pre_quant_mode;
    uint8_t relu_mode;
    uint8_t group_n_code;
    uint8_t output; /* type */
    uint64_t quant_param;
    uint64_t relu_param;
    tly_pto_numeric_control control;
} tly_pto_post_process;

enum { TLY_PTO_MAX_REDUCE_LANES = 16 };

/* Rows of two operands and a result. Strides are in bytes; 0 for a row that serves all. */
typedef struct tly_pto_binary_rows {
    const void *left;
    const void *right;
    void *out;
    size_t left_stride;
    size_t right_stride;
    size_t out_stride;
    size_t num_rows;
    size_t count;   /* elements of a row */
    bool broadcast; /* the right operand has one element for a row */
} tly_pto_binary_rows;

/* left * right + addend; `out` overlaps none of them. */
typedef struct tly_pto_fused_row {
    const void *left;
    const void *right;
    const void *addend;
    void *out;
    size_t count;
} tly_pto_fused_row;

typedef struct tly_pto_profile tly_pto_profile;

struct tly_pto_profile {
    const char *name;
    const char *identity;

    /* True: a floating result may need more than the element's bits, and a tile keeps it whole
     * until the element is stored. False: every result is canonical. */
    bool keeps_carriers;

    /* Sums and products of numbers: element i of a row or column goes to lane i mod reduce_lanes,
     * in ascending order; then lane i takes lane i + n/2, i + n/4, ... (n lanes), until one is
     * left. A power of two up to TLY_PTO_MAX_REDUCE_LANES. */
    uint32_t reduce_lanes;

    /* scalar */
    uint64_t (*scalar_binary)(tly_pto_float_binary op, tly_pto_rounding rounding, uint32_t dtype,
                              uint64_t left, uint64_t right, uint8_t *flags);
    uint64_t (*scalar_unary)(tly_pto_float_unary op, tly_pto_rounding rounding, uint32_t dtype,
                             uint64_t value, uint8_t *flags);
    uint64_t (*scalar_fused)(tly_pto_float_fused op, tly_pto_rounding rounding, uint32_t dtype,
                             uint64_t addend, uint64_t left, uint64_t right, uint8_t *flags);
    /* the type codes of integers are the scalar ones: 0 U64, 1 U32, 8 S64, 9 S32 ... */
    uint64_t (*scalar_to_integer)(tly_pto_rounding rounding, uint32_t to, uint32_t from,
                                  uint64_t value, uint8_t *flags);
    uint64_t (*scalar_convert)(tly_pto_rounding rounding, uint32_t to, uint32_t from,
                               uint64_t value, uint8_t *flags);
    uint64_t (*scalar_from_integer)(tly_pto_rounding rounding, uint32_t from, uint32_t to,
                                    uint64_t value, uint8_t *flags);

    /* tile, one element */
    uint64_t (*unary)(tly_pto_tile_unary op, uint32_t dtype, uint64_t value, uint8_t *flags);
    bool (*compare)(tly_pto_comparison comparison, uint32_t dtype, uint64_t left, uint64_t right,
                    uint8_t *flags);
    uint64_t (*modulo)(uint32_t dtype, uint64_t left, uint64_t right, uint8_t *flags);
    uint64_t (*reduce_initial)(tly_pto_reduction op, uint32_t dtype, uint64_t first);
    uint64_t (*reduce_step)(tly_pto_reduction op, uint32_t dtype, uint64_t accumulator,
                            uint64_t value, bool *out_selected, uint8_t *flags);
    /* exp(left - broadcast) in FP32; the operands were widened from `source`. With rows of SUB and
     * EXP of FP32: one after the other */
    uint64_t (*mixed_expdif)(uint32_t source, uint64_t left, uint64_t broadcast, uint8_t *flags);
    /* whether left may stand before right */
    bool (*order_left)(uint32_t dtype, bool descending, uint64_t left, uint64_t right);
    bool (*is_nan)(uint32_t dtype, uint64_t value);
    uint64_t (*convert)(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                        uint64_t value, uint8_t *flags);
    uint64_t (*quantize)(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                         uint64_t scale, uint64_t zero_point, uint64_t value, uint8_t *flags);
    /* The same of a row of FP32 into S8 or U8; NULL: one by one. */
    void (*quantize_row)(uint32_t to, const tly_pto_numeric_control *control, uint64_t scale,
                         uint64_t zero_point, const void *value, void *out, size_t count,
                         uint8_t *flags);
    uint64_t (*dequantize)(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                           uint64_t scale, uint64_t zero_point, uint64_t value, uint8_t *flags);
    uint64_t (*fused)(uint32_t dtype, uint64_t addend, uint64_t left, uint64_t right,
                      uint8_t *flags);
    uint64_t (*fused_invalid)(uint32_t dtype, uint64_t left, uint64_t right, uint64_t addend,
                              uint8_t *flags);

    /* matrix */
    uint64_t (*matrix_step)(const tly_pto_matrix_types *types, uint64_t accumulator, uint64_t left,
                            uint64_t right, uint64_t left_scale, uint64_t right_scale);
    /* `count` steps in ascending order, without scales; NULL: step by step */
    uint64_t (*matrix_dot)(const tly_pto_matrix_types *types, uint64_t accumulator,
                           const uint64_t *left, const uint64_t *right, size_t count);
    /* NULL, or false for types that it does not cover, with nothing done */
    bool (*matrix_cells)(const tly_pto_matrix_cells *job);
    /* Where it is not NULL, a product into FP32 is that of the elements' exact values, if FP32
     * holds them, in matrix_cells. The value of an element; false: FP32 does not hold it. */
    bool (*exact_f32)(uint32_t dtype, uint64_t value, float *out);
    uint64_t (*matrix_bias)(uint32_t dtype, uint32_t bias_dtype, uint64_t value, uint64_t bias);
    uint64_t (*post_process)(const tly_pto_post_process *how, uint64_t value, uint8_t *flags);
    uint64_t (*matrix_max)(bool absolute, uint32_t dtype, uint64_t current, uint64_t candidate,
                           uint8_t *flags);

    /* Whole rows, over elements as they are stored (packed, canonical, contiguous). NULL, or false
     * for a case that they do not cover: the functions above are used one by one, and give the
     * same bits. A count of 0 asks whether they do. binary_rows: flags are not wanted where `flags`
     * is NULL; a row may go into itself. fused_row: as fused and fused_invalid. reduce_rows: SUM,
     * MIN or MAX of `count` elements from each of `num_rows` rows, which begin `stride` bytes
     * apart; the number of rows done, in front of the first one that is left to the functions
     * above. */
    bool (*binary_rows)(tly_simd simd, tly_pto_tile_binary op, uint32_t dtype,
                        const tly_pto_binary_rows *rows, uint8_t *flags);
    bool (*fused_row)(tly_simd simd, uint32_t dtype, const tly_pto_fused_row *row, uint8_t *flags);
    bool (*unary_row)(tly_simd simd, tly_pto_tile_unary op, uint32_t dtype, const void *value,
                      void *out, size_t count, uint8_t *flags);
    bool (*convert_row)(tly_simd simd, uint32_t from, uint32_t to,
                        const tly_pto_numeric_control *control, const void *value, void *out,
                        size_t count, uint8_t *flags);
    size_t (*reduce_rows)(tly_simd simd, tly_pto_reduction op, uint32_t dtype, const void *value,
                          size_t stride, size_t num_rows, size_t count, uint64_t *out_values,
                          uint8_t *flags);
};

extern const tly_pto_profile tly_pto_profile_v0;
extern const tly_pto_profile tly_pto_profile_ieee; /* docs/spec/ieee-profile.md */

/* By name or identity; NULL if there is none. */
const tly_pto_profile *tly_pto_profile_find(const char *name);

#endif
