/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/cells.h"
#include "pto/profile/cells_sums_avx2.h"

enum { GROUP = 16, ROWS = 4 };

static inline __m256i load(const int16_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}

void tly_pto_dot_block_avx2(const int16_t *left, size_t left_stride, const int16_t *right,
                            size_t right_stride, size_t count, int32_t *out_sums) {
    const int16_t *left1 = left + left_stride, *left2 = left1 + left_stride;
    const int16_t *left3 = left2 + left_stride;
    __m256i a0 = _mm256_setzero_si256(), a1 = a0, a2 = a0, a3 = a0;
    __m256i b0 = a0, b1 = a0, b2 = a0, b3 = a0;
    for (size_t at = 0; at < count; at += GROUP) {
        const __m256i a = load(right), b = load(right + GROUP);
        __m256i l = load(left + at);
        a0 = _mm256_add_epi32(a0, _mm256_madd_epi16(l, a));
        b0 = _mm256_add_epi32(b0, _mm256_madd_epi16(l, b));
        l = load(left1 + at);
        a1 = _mm256_add_epi32(a1, _mm256_madd_epi16(l, a));
        b1 = _mm256_add_epi32(b1, _mm256_madd_epi16(l, b));
        l = load(left2 + at);
        a2 = _mm256_add_epi32(a2, _mm256_madd_epi16(l, a));
        b2 = _mm256_add_epi32(b2, _mm256_madd_epi16(l, b));
        l = load(left3 + at);
        a3 = _mm256_add_epi32(a3, _mm256_madd_epi16(l, a));
        b3 = _mm256_add_epi32(b3, _mm256_madd_epi16(l, b));
        right += right_stride;
    }
    _mm_storeu_si128((__m128i *)(void *)out_sums, sums(a0, a1, a2, a3));
    _mm_storeu_si128((__m128i *)(void *)(out_sums + ROWS), sums(b0, b1, b2, b3));
}
