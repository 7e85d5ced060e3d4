/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

#include "pto/profile/ieee_cells.h"

enum { STRIDE = TLY_PTO_IEEE_STRIDE, PANEL = 8, HALF = 16 };

static inline void store(float *to, __m512 sums) {
    const int32_t nan = (int32_t)tly_pto_formats[TLY_PTO_FP32].canonical_nan;
    const __m512 canonical = _mm512_castsi512_ps(_mm512_set1_epi32(nan));
    _mm512_storeu_ps(
        to, _mm512_mask_blend_ps(_mm512_cmp_ps_mask(sums, sums, _CMP_UNORD_Q), sums, canonical));
}

/* All loops over columns and halves are unrolled: the sums, `halves` times 16 rows and a panel of
 * columns, stay in registers. */
#define EACH(i, count) _Pragma("GCC unroll 8") for (uint32_t i = 0; i < (count); i++)

static inline __attribute__((always_inline)) void step(const float *left, const float *right,
                                                       const uint32_t cell, const uint32_t halves,
                                                       __m512 sums[PANEL][2]) {
    __m512 rows[2];
    EACH(h, halves) {
        rows[h] = _mm512_loadu_ps(left + h * HALF);
    }
    EACH(c, PANEL) {
        const __m512 b = _mm512_set1_ps(right[c * cell]);
        EACH(h, halves) {
            sums[c][h] = _mm512_fmadd_ps(rows[h], b, sums[c][h]);
        }
    }
}

static inline __attribute__((always_inline)) void block_of(const float *left, const float *right,
                                                           const uint32_t cell,
                                                           const uint32_t halves, uint32_t depth,
                                                           float *out) {
    __m512 sums[PANEL][2];
    EACH(c, PANEL) {
        EACH(h, halves) {
            sums[c][h] = _mm512_loadu_ps(out + c * STRIDE + h * HALF);
        }
    }
    uint32_t k = 0;
    for (; k + cell <= depth; k += cell) {
        EACH(i, cell) {
            step(left + (size_t)i * STRIDE, right + i, cell, halves, sums);
        }
        left += (size_t)cell * STRIDE;
        right += (size_t)cell * PANEL;
    }
    for (; k < depth; k++) {
        step(left, right, cell, halves, sums);
        left += STRIDE;
        right++;
    }
    EACH(c, PANEL) {
        EACH(h, halves) {
            store(out + c * STRIDE + h * HALF, sums[c][h]);
        }
    }
}

static void block(const float *left, const float *right, uint32_t cell, uint32_t depth,
                  uint32_t rows, float *sums) {
    if (rows > HALF && cell == 4) {
        block_of(left, right, 4, 2, depth, sums);
    } else if (rows > HALF) {
        block_of(left, right, 8, 2, depth, sums);
    } else if (cell == 4) {
        block_of(left, right, 4, 1, depth, sums);
    } else {
        block_of(left, right, 8, 1, depth, sums);
    }
}

static inline __m512 widen16(__m256i halves, bool is_bf16) {
    return is_bf16 ? _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16))
                   : _mm512_cvtph_ps(halves);
}

static void widen(const uint8_t *halves, size_t count, bool is_bf16, float *out) {
    for (size_t i = 0; i < count; i += 16) {
        const __m256i some = _mm256_loadu_si256((const __m256i *)(const void *)(halves + i * 2));
        _mm512_storeu_ps(out + i, widen16(some, is_bf16));
    }
}

/* Sixteen rows of two at a time: the first ones are the even halves, the second ones the odd. */
static void widen_pairs(const uint8_t *cells, size_t num_cells, bool is_bf16, float *out) {
    for (size_t i = 0; i < num_cells; i++, out += 2 * STRIDE) {
        EACH(h, 2) {
            const __m512i pairs = _mm512_loadu_si512(cells + i * 128 + h * 64);
            const __m256i first = _mm512_cvtepi32_epi16(pairs);
            const __m256i second = _mm512_cvtepi32_epi16(_mm512_srli_epi32(pairs, 16));
            _mm512_storeu_ps(out + h * HALF, widen16(first, is_bf16));
            _mm512_storeu_ps(out + STRIDE + h * HALF, widen16(second, is_bf16));
        }
    }
}

const tly_pto_ieee_kernels tly_pto_ieee_kernels_avx512 = {2 * HALF, PANEL, block, widen,
                                                          widen_pairs};
