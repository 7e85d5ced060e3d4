/* SPDX-License-Identifier: Apache-2.0 */
/* Exact products of bytes in cells of the matrix unit, for any profile: sums of K products of two
 * bytes never leave 32 bits. Every level of vector code gives the same sums. */
#ifndef TLY_PTO_PROFILE_CELLS_H
#define TLY_PTO_PROFILE_CELLS_H

#include "pto/profile/profile.h"

/* S8 by S8 or U8 by U8; false for other types. */
bool tly_pto_byte_cells(const tly_pto_matrix_cells *job);

/* Sums of 4 rows of `left` times 2 columns of `right`, `count` 16-bit numbers each (a multiple of
 * 16); rows of `left` are `left_stride` numbers apart, groups of 16 numbers of a column
 * `right_stride`. out_sums[column * 4 + row]. */
typedef void tly_pto_dot_block(const int16_t *left, size_t left_stride, const int16_t *right,
                               size_t right_stride, size_t count, int32_t *out_sums);

tly_pto_dot_block tly_pto_dot_block_portable;
#if defined(__x86_64__)
tly_pto_dot_block tly_pto_dot_block_avx2, tly_pto_dot_block_avx512, tly_pto_dot_block_avx512vnni;
#endif

#endif
