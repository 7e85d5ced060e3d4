/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of stored elements of the profile `ieee`. Every function returns false, with nothing done,
 * for what it does not cover; with count 0 it only says whether it does. All levels of vector code,
 * and the functions on single elements, give the same bits and flags. */
#ifndef TLY_PTO_PROFILE_IEEE_ROWS_H
#define TLY_PTO_PROFILE_IEEE_ROWS_H

#include "pto/profile/profile.h"

bool tly_pto_ieee_binary_rows(tly_simd simd, tly_pto_tile_binary op, uint32_t dtype,
                              const tly_pto_binary_rows *rows, uint8_t *flags);
bool tly_pto_ieee_unary_row(tly_simd simd, tly_pto_tile_unary op, uint32_t dtype, const void *value,
                            void *out, size_t count, uint8_t *flags);
bool tly_pto_ieee_fused_row(tly_simd simd, uint32_t dtype, const tly_pto_fused_row *row,
                            uint8_t *flags);
bool tly_pto_ieee_convert_row(tly_simd simd, uint32_t from, uint32_t to,
                              const tly_pto_numeric_control *control, const void *value, void *out,
                              size_t count, uint8_t *flags);

size_t tly_pto_ieee_reduce_rows(tly_simd simd, tly_pto_reduction op, uint32_t dtype,
                                const void *value, size_t stride, size_t num_rows, size_t count,
                                uint64_t *out_values, uint8_t *flags);

/* One of them by itself, for what vector code leaves. */
float tly_pto_ieee_unary_f32(tly_pto_tile_unary op, float value, uint8_t *flags);

/* The same for FP16, BF16 and E5M2 by way of FP32; of binary operations ADD, SUB, MUL and DIV. */
bool tly_pto_ieee_narrow_binary_rows(tly_simd simd, tly_pto_tile_binary op, uint32_t dtype,
                                     const tly_pto_binary_rows *rows, uint8_t *flags);
bool tly_pto_ieee_narrow_unary_row(tly_simd simd, tly_pto_tile_unary op, uint32_t dtype,
                                   const void *value, void *out, size_t count, uint8_t *flags);
bool tly_pto_ieee_narrow_fused_row(tly_simd simd, uint32_t dtype, const tly_pto_fused_row *row,
                                   uint8_t *flags);

/* Between FP32, FP16, BF16, E5M2 and E4M3, to nearest even, with the loops of num for this level.
 */
bool tly_pto_ieee_convert_loops(tly_simd simd, uint32_t from, uint32_t to,
                                const tly_pto_numeric_control *control, const void *value,
                                void *out, size_t count, uint8_t *flags);

/* Between these and integers of 8 and 16 bits and S32. */
bool tly_pto_ieee_integer_row(tly_simd simd, uint32_t from, uint32_t to,
                              const tly_pto_numeric_control *control, const void *value, void *out,
                              size_t count, uint8_t *flags);

/* SQRT, LOG, RECIP, EXP and RSQRT; `out` may be `value`. */
void tly_pto_ieee_unary_f32_portable(tly_pto_tile_unary op, const float *value, float *out,
                                     size_t count, uint8_t *flags);

/* ADD, SUB, MUL, DIV, MAX and MIN of FP32 and FP64. */
typedef void tly_pto_ieee_binary_loop(tly_pto_tile_binary op, const tly_pto_binary_rows *rows);

tly_pto_ieee_binary_loop tly_pto_ieee_binary_f32_portable;
tly_pto_ieee_binary_loop tly_pto_ieee_binary_f64_portable;

/* A function of FP32; `out` may be `value`. */
typedef void tly_pto_ieee_function(const float *value, float *out, size_t count, uint8_t *flags);

typedef void tly_pto_ieee_conversion(const void *value, void *out, size_t count, uint8_t *flags);

#if defined(__x86_64__)
/* The loops of one vector level. */
typedef struct tly_pto_ieee_row_kernels {
    tly_pto_ieee_binary_loop *binary_f32, *binary_f64;
    tly_pto_ieee_binary_loop *binary_f16; /* ADD, SUB, MUL, DIV */
    /* What a loop raises on the way. */
    void (*flagged)(tly_pto_ieee_binary_loop *loop, tly_pto_tile_binary op,
                    const tly_pto_binary_rows *rows, uint8_t *flags);
    /* Rows of FP32: bits of their sums in sixteen lanes, and of their largest or smallest numbers;
     * the latter returns the number of rows in front of the first one with a NaN. */
    void (*sums)(const void *value, size_t stride, size_t num_rows, size_t count,
                 uint64_t *out_values, uint8_t *flags);
    size_t (*extremes)(bool maximum, const void *value, size_t stride, size_t num_rows,
                       size_t count, uint64_t *out_values);
    tly_pto_ieee_function *exp, *log, *rsqrt;
    /* SQRT or RECIP; flags as the processor raises them. */
    void (*roots)(bool reciprocal, const float *value, float *out, size_t count, uint8_t *flags);
    /* left * right + addend; flags as the processor raises them. */
    void (*fused_f32)(const tly_pto_fused_row *row, uint8_t *flags);
    void (*fused_f64)(const tly_pto_fused_row *row, uint8_t *flags);
    /* Conversions to nearest even. */
    tly_pto_ieee_conversion *f32_to_f16, *f16_to_f32, *f32_to_bf16, *bf16_to_f32;
} tly_pto_ieee_row_kernels;

extern const tly_pto_ieee_row_kernels tly_pto_ieee_rows_avx2, tly_pto_ieee_rows_avx512;

/* What these tables have that is no static function of theirs. */
tly_pto_ieee_function tly_pto_ieee_exp_f32_avx2, tly_pto_ieee_exp_f32_avx512;
tly_pto_ieee_function tly_pto_ieee_log_f32_avx2, tly_pto_ieee_log_f32_avx512;
tly_pto_ieee_function tly_pto_ieee_rsqrt_f32_avx2, tly_pto_ieee_rsqrt_f32_avx512;
tly_pto_ieee_binary_loop tly_pto_ieee_binary_f32_avx2, tly_pto_ieee_binary_f32_avx512;
tly_pto_ieee_binary_loop tly_pto_ieee_binary_f16_avx512fp16;
tly_pto_ieee_binary_loop tly_pto_ieee_binary_f64_avx2, tly_pto_ieee_binary_f64_avx512;
#endif

#endif
