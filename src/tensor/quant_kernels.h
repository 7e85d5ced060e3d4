/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of quantization, made for each vector level from one template. Every level gives
 * the same bytes: one product, one quotient or one sum an element, and no fused operations. */
#ifndef TLY_TENSOR_QUANT_KERNELS_H
#define TLY_TENSOR_QUANT_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>

#define QUANT_CHUNK 1024 /* elements that a kernel takes at most */

typedef struct quant_kernels {
    /* Packed codes of 1 byte or less, from a byte on, to integers; `is_signed`: two's complement.
     */
    void (*expand8)(int32_t *out, const uint8_t *codes, size_t n, int is_signed);
    void (*expand4)(int32_t *out, const uint8_t *codes, size_t n, int is_signed);
    void (*expand2)(int32_t *out, const uint8_t *codes, size_t n, int is_signed);
    /* out = scale * (code - zero), with one scale or with one for each element. */
    void (*affine)(float *out, const int32_t *codes, size_t n, float scale, int32_t zero);
    void (*affine_each)(float *out, const int32_t *codes, size_t n, const float *scales,
                        const int32_t *zeros);
    /* out = scale * value. */
    void (*scale)(float *out, const float *values, size_t n, float scale);
    void (*scale_each)(float *out, const float *values, size_t n, const float *scales);
    /* Smallest and largest; an infinity or NaN makes `*out_bad` other than 0. */
    void (*range)(const float *values, size_t n, float *low, float *high, uint32_t *out_bad);
    /* The nearest integer to value / scale + zero, within [low, high]; fits in 24 bits. */
    void (*quantize)(int32_t *out, const float *values, size_t n, float scale, int32_t zero,
                     int32_t low, int32_t high);
    void (*quantize_each)(int32_t *out, const float *values, size_t n, const float *scales,
                          const int32_t *zeros, int32_t low, int32_t high);
    /* values /= scales in place; scales are powers of two. */
    void (*divide)(float *values, size_t n, const float *scales);
    /* Codes of a float type of up to 8 bits with so many exponent and mantissa bits, to nearest
     * even, beyond its range the largest: e4m3, e5m2, e2m1, e2m3 or e3m2. Finite values. */
    void (*minifloat)(int32_t *out, const float *values, size_t n, int exponent_bits,
                      int mantissa_bits);
    /* The nearest of 16 rising levels to value / scale (0 where the scale is 0), of two the lower.
     */
    void (*levels)(int32_t *out, const float *values, size_t n, const float *scales,
                   const float *levels);
} quant_kernels;

extern const quant_kernels quant_kernels_portable;
#if defined(__x86_64__)
extern const quant_kernels quant_kernels_avx2;
extern const quant_kernels quant_kernels_avx512;
#endif

static inline const quant_kernels *quant_kernels_for(tly_simd simd) {
#if defined(__x86_64__)
    if (simd >= TLY_SIMD_AVX512) {
        return &quant_kernels_avx512;
    }
    if (simd == TLY_SIMD_AVX2) {
        return &quant_kernels_avx2;
    }
#endif
    (void)simd;
    return &quant_kernels_portable;
}

#endif
