/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of the profile `ieee` on cells of the matrix unit, as they are stored: FP32,
 * TF32, HF32, FP16 and BF16 into FP32. */
#ifndef TLY_PTO_PROFILE_IEEE_CELLS_H
#define TLY_PTO_PROFILE_IEEE_CELLS_H

#include "pto/profile/profile.h"

bool tly_pto_ieee_cells(const tly_pto_matrix_cells *job);

enum { TLY_PTO_IEEE_STRIDE = 32 };

/* The loops of one vector level. */
typedef struct tly_pto_ieee_kernels {
    /* A block of `rows` rows (that divide 32) and `columns` columns (that divide 8) of sums, column
     * after column, TLY_PTO_IEEE_STRIDE floats apart: sum[c][r] = fma(left[k][r], right[k][c],
     * sum[c][r]) for k = 0 .. depth-1, one after the other; a NaN becomes the canonical one.
     * left[k] stands at k * TLY_PTO_IEEE_STRIDE; right[k][c] at
     * (k / cell) * cell * 8 + c * cell + k % cell. Rows from `num_rows` on may be left alone. */
    uint32_t rows, columns;
    void (*block)(const float *left, const float *right, uint32_t cell, uint32_t depth,
                  uint32_t num_rows, float *sums);
    /* FP16 or BF16 into FP32; `count` is a multiple of 64. */
    void (*widen)(const uint8_t *halves, size_t count, bool is_bf16, float *out);
    /* Cells of 32 rows and 2 columns of those types into columns of 32. */
    void (*widen_pairs)(const uint8_t *cells, size_t num_cells, bool is_bf16, float *out);
} tly_pto_ieee_kernels;

#if defined(__x86_64__)
extern const tly_pto_ieee_kernels tly_pto_ieee_kernels_avx2, tly_pto_ieee_kernels_avx512;
#endif

#endif
