/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>
#include <stdint.h>

#define FAST_TABLE num_fast_avx2
#define F16_BLOCK  8

static inline void f32_from_f16(uint8_t *dst, const uint8_t *src) {
    __m128i half = _mm_loadu_si128((const __m128i *)(const void *)src);
    _mm256_storeu_ps((float *)(void *)dst, _mm256_cvtph_ps(half));
}

static inline void f16_from_f32(uint8_t *dst, const uint8_t *src, uint32_t saturate) {
    __m256 wide = _mm256_loadu_ps((const float *)(const void *)src);
    __m128i half = _mm256_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    if (saturate) { /* infinity is the code behind the largest number */
        __m128i size = _mm_and_si128(half, _mm_set1_epi16(0x7FFF));
        half = _mm_add_epi16(half, _mm_cmpeq_epi16(size, _mm_set1_epi16(0x7C00)));
    }
    _mm_storeu_si128((__m128i *)(void *)dst, half);
}

#include "num/fast_template.h"
