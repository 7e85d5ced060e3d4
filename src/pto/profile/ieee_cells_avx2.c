/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/ieee_cells.h"

#include <immintrin.h>

enum { STRIDE = TLY_PTO_IEEE_STRIDE, PANEL = 8, HALF = 8 };

/* One step of K for a block of 16 x 4: the sums stay in eight registers. */
#define STEP(l, r, cell)                                                                           \
    do {                                                                                           \
        __m256 low = _mm256_loadu_ps(l), high = _mm256_loadu_ps((l) + HALF);                       \
        __m256 b0 = _mm256_broadcast_ss(r), b1 = _mm256_broadcast_ss((r) + (cell));                \
        s00 = _mm256_fmadd_ps(low, b0, s00);                                                       \
        s01 = _mm256_fmadd_ps(high, b0, s01);                                                      \
        s10 = _mm256_fmadd_ps(low, b1, s10);                                                       \
        s11 = _mm256_fmadd_ps(high, b1, s11);                                                      \
        __m256 b2 = _mm256_broadcast_ss((r) + 2 * (cell));                                         \
        __m256 b3 = _mm256_broadcast_ss((r) + 3 * (cell));                                         \
        s20 = _mm256_fmadd_ps(low, b2, s20);                                                       \
        s21 = _mm256_fmadd_ps(high, b2, s21);                                                      \
        s30 = _mm256_fmadd_ps(low, b3, s30);                                                       \
        s31 = _mm256_fmadd_ps(high, b3, s31);                                                      \
    } while (0)

static inline __attribute__((always_inline)) void
block_of(const float *left, const float *right, const uint32_t cell, uint32_t depth, float *sums) {
    __m256 s00 = _mm256_loadu_ps(sums), s01 = _mm256_loadu_ps(sums + HALF);
    __m256 s10 = _mm256_loadu_ps(sums + STRIDE), s11 = _mm256_loadu_ps(sums + STRIDE + HALF);
    __m256 s20 = _mm256_loadu_ps(sums + 2 * STRIDE);
    __m256 s21 = _mm256_loadu_ps(sums + 2 * STRIDE + HALF);
    __m256 s30 = _mm256_loadu_ps(sums + 3 * STRIDE);
    __m256 s31 = _mm256_loadu_ps(sums + 3 * STRIDE + HALF);
    uint32_t k = 0;
    for (; k + cell <= depth; k += cell) {
        for (uint32_t i = 0; i < cell; i++) { /* unrolled: cell is a constant */
            STEP(left + (size_t)i * STRIDE, right + i, cell);
        }
        left += (size_t)cell * STRIDE;
        right += (size_t)cell * PANEL;
    }
    for (; k < depth; k++) {
        STEP(left, right, cell);
        left += STRIDE;
        right++;
    }
    _mm256_storeu_ps(sums, s00);
    _mm256_storeu_ps(sums + HALF, s01);
    _mm256_storeu_ps(sums + STRIDE, s10);
    _mm256_storeu_ps(sums + STRIDE + HALF, s11);
    _mm256_storeu_ps(sums + 2 * STRIDE, s20);
    _mm256_storeu_ps(sums + 2 * STRIDE + HALF, s21);
    _mm256_storeu_ps(sums + 3 * STRIDE, s30);
    _mm256_storeu_ps(sums + 3 * STRIDE + HALF, s31);
}

void tly_pto_ieee_block_avx2(const float *left, const float *right, uint32_t cell, uint32_t depth,
                             float *sums) {
    if (cell == 4) {
        block_of(left, right, 4, depth, sums);
    } else {
        block_of(left, right, 8, depth, sums);
    }
}
