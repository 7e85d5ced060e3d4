/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>
#include <stdint.h>

#define FAST_TABLE num_fast_avx512
#define F16_BLOCK  16

static inline void f32_from_f16(uint8_t *dst, const uint8_t *src) {
    __m256i half = _mm256_loadu_si256((const __m256i *)(const void *)src);
    _mm512_storeu_ps(dst, _mm512_cvtph_ps(half));
}

static inline void f16_from_f32(uint8_t *dst, const uint8_t *src, uint32_t saturate) {
    __m512 wide = _mm512_loadu_ps(src);
    __m256i half = _mm512_cvtps_ph(wide, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    if (saturate) { /* infinity is the code behind the largest number */
        __m256i size = _mm256_and_si256(half, _mm256_set1_epi16(0x7FFF));
        half = _mm256_add_epi16(half, _mm256_cmpeq_epi16(size, _mm256_set1_epi16(0x7C00)));
    }
    _mm256_storeu_si256((__m256i *)(void *)dst, half);
}

#include "num/fast_template.h"
