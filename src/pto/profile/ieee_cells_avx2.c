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

static inline void store(float *to, __m256 sums) {
    const int32_t nan = (int32_t)tly_pto_formats[TLY_PTO_FP32].canonical_nan;
    const __m256 canonical = _mm256_castsi256_ps(_mm256_set1_epi32(nan));
    _mm256_storeu_ps(to,
                     _mm256_blendv_ps(sums, canonical, _mm256_cmp_ps(sums, sums, _CMP_UNORD_Q)));
}

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
    store(sums, s00);
    store(sums + HALF, s01);
    store(sums + STRIDE, s10);
    store(sums + STRIDE + HALF, s11);
    store(sums + 2 * STRIDE, s20);
    store(sums + 2 * STRIDE + HALF, s21);
    store(sums + 3 * STRIDE, s30);
    store(sums + 3 * STRIDE + HALF, s31);
}

static void block(const float *left, const float *right, uint32_t cell, uint32_t depth,
                  uint32_t rows, float *sums) {
    (void)rows; /* all of them, always */
    if (cell == 4) {
        block_of(left, right, 4, depth, sums);
    } else {
        block_of(left, right, 8, depth, sums);
    }
}

static inline __m256 widen8(__m128i halves, bool is_bf16) {
    return is_bf16 ? _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16))
                   : _mm256_cvtph_ps(halves);
}

static void widen(const uint8_t *halves, size_t count, bool is_bf16, float *out) {
    for (size_t i = 0; i < count; i += 8) {
        __m128i eight = _mm_loadu_si128((const __m128i *)(halves + i * 2));
        _mm256_storeu_ps(out + i, widen8(eight, is_bf16));
    }
}

/* Eight rows of two: first the first of each, then the second of each. */
static inline __m256i part_pairs(__m256i pairs) {
    const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15, 0,
                                           1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    return _mm256_permute4x64_epi64(_mm256_shuffle_epi8(pairs, order), 0xD8);
}

static void widen_pairs(const uint8_t *cells, size_t num_cells, bool is_bf16, float *out) {
    for (size_t i = 0; i < num_cells; i++, out += 2 * STRIDE) {
        for (uint32_t row = 0; row < STRIDE; row += 8, cells += 32) {
            __m256i parted = part_pairs(_mm256_loadu_si256((const __m256i *)cells));
            _mm256_storeu_ps(out + row, widen8(_mm256_castsi256_si128(parted), is_bf16));
            _mm256_storeu_ps(out + STRIDE + row,
                             widen8(_mm256_extracti128_si256(parted, 1), is_bf16));
        }
    }
}

const tly_pto_ieee_kernels tly_pto_ieee_kernels_avx2 = {16, 4, block, widen, widen_pairs};
