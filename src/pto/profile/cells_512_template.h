/* SPDX-License-Identifier: Apache-2.0 */
/* tly_pto_dot_block with vectors of 512 bits. The including file defines LEVEL(name), and
 * DOT(sums, a, b): sums plus the products of 16-bit numbers, of two neighbours together. */
#include "pto/profile/cells.h"
#include "pto/profile/cells_sums_avx2.h"

enum { GROUP = 16, ROWS = 4 };

/* A group of a row, once for each of the two columns. */
static inline __m512i twice(const int16_t *p) {
    return _mm512_broadcast_i64x4(_mm256_loadu_si256((const __m256i *)(const void *)p));
}

static inline void step(const int16_t *left, size_t left_stride, const int16_t *right,
                        __m512i rows[ROWS]) {
    const __m512i columns = _mm512_loadu_si512(right);
    for (size_t i = 0; i < ROWS; i++) {
        rows[i] = DOT(rows[i], twice(left + i * left_stride), columns);
    }
}

void LEVEL(tly_pto_dot_block)(const int16_t *left, size_t left_stride, const int16_t *right,
                              size_t right_stride, size_t count, int32_t *out_sums) {
    __m512i even[ROWS] = {0}, odd[ROWS] = {0}; /* two sums wait half as long for each other */
    size_t at = 0;
    for (; at + 2 * GROUP <= count; at += 2 * GROUP, right += 2 * right_stride) {
        step(left + at, left_stride, right, even);
        step(left + at + GROUP, left_stride, right + right_stride, odd);
    }
    if (at < count) {
        step(left + at, left_stride, right, even);
    }
    __m256i first[ROWS], second[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        const __m512i row = _mm512_add_epi32(even[i], odd[i]);
        first[i] = _mm512_castsi512_si256(row);
        second[i] = _mm512_extracti64x4_epi64(row, 1);
    }
    __m128i *out = (__m128i *)(void *)out_sums;
    _mm_storeu_si128(out, sums(first[0], first[1], first[2], first[3]));
    _mm_storeu_si128(out + 1, sums(second[0], second[1], second[2], second[3]));
}
