/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "pto/profile/cells.h"

enum { GROUP = 16, ROWS = 4 };

static inline __m256i load(const int16_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

/* The sums of the lanes of four vectors. */
static inline __m128i sums(const __m256i v[ROWS]) {
    __m256i low = _mm256_hadd_epi32(v[0], v[1]), high = _mm256_hadd_epi32(v[2], v[3]);
    __m256i all = _mm256_hadd_epi32(low, high);
    return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}

void tly_pto_dot_block_avx2(const int16_t *left, size_t left_stride, const int16_t *right,
                            size_t right_stride, size_t count, int32_t *out_sums) {
    __m256i first[ROWS], second[ROWS];
    for (size_t row = 0; row < ROWS; row++) {
        first[row] = _mm256_setzero_si256();
        second[row] = _mm256_setzero_si256();
    }
    for (size_t at = 0; at < count; at += GROUP) {
        const __m256i a = load(right), b = load(right + GROUP);
        for (size_t row = 0; row < ROWS; row++) {
            const __m256i l = load(left + row * left_stride + at);
            first[row] = _mm256_add_epi32(first[row], _mm256_madd_epi16(l, a));
            second[row] = _mm256_add_epi32(second[row], _mm256_madd_epi16(l, b));
        }
        right += right_stride;
    }
    _mm_storeu_si128((__m128i *)(void *)out_sums, sums(first));
    _mm_storeu_si128((__m128i *)(void *)(out_sums + ROWS), sums(second));
}
