/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/cells.h"

#include <string.h>

enum { GROUP = 16, COLUMNS = 8, BLOCK_ROWS = 4, BLOCK_COLUMNS = 2, CELL_BYTES = 128 };

void tly_pto_dot_block_portable(const int16_t *left, size_t left_stride, const int16_t *right,
                                size_t right_stride, size_t count, int32_t *out_sums) {
    for (size_t column = 0; column < BLOCK_COLUMNS; column++) {
        for (size_t row = 0; row < BLOCK_ROWS; row++) {
            const int16_t *l = left + row * left_stride;
            const int16_t *r = right + column * GROUP;
            uint32_t sum = 0; /* U8 sums may pass 2^31 */
            for (size_t at = 0; at < count; at += GROUP) {
                for (size_t i = 0; i < GROUP; i++) {
                    sum += (uint32_t)(l[at + i] * r[i]);
                }
                r += right_stride;
            }
            out_sums[column * BLOCK_ROWS + row] = (int32_t)sum;
        }
    }
}

static tly_pto_dot_block *choose(tly_simd simd) {
#if defined(__x86_64__)
    if (simd >= TLY_SIMD_AVX512_VNNI) {
        return tly_pto_dot_block_avx512vnni;
    }
    if (simd >= TLY_SIMD_AVX512) {
        return tly_pto_dot_block_avx512;
    }
    if (simd >= TLY_SIMD_AVX2) {
        return tly_pto_dot_block_avx2;
    }
#endif
    (void)simd;
    return tly_pto_dot_block_portable;
}

/* Bytes as 16-bit numbers. */
static void widen(const uint8_t *bytes, size_t len, bool is_signed, int16_t *out) {
    if (is_signed) {
        for (size_t i = 0; i < len; i++) {
            out[i] = (int8_t)bytes[i];
        }
    } else {
        for (size_t i = 0; i < len; i++) {
            out[i] = bytes[i];
        }
    }
}

/* One row of A, put together from its cells; `len` is a constant where this is inlined. */
static inline void collect_row(const uint8_t *cells, uint32_t num_cells, size_t len, uint8_t *row) {
    for (uint32_t cell = 0; cell < num_cells; cell++) {
        memcpy(row + cell * len, cells + (size_t)cell * CELL_BYTES, len);
    }
}

/* A as rows of `stride` 16-bit numbers, zero beyond k. `row` has room for stride bytes. */
static void widen_left(const tly_pto_matrix_cells *job, bool is_signed, size_t stride, uint8_t *row,
                       int16_t *out) {
    uint32_t cell_columns = CELL_BYTES / job->left_rows;
    uint32_t num_cells = (job->k + cell_columns - 1) / cell_columns;
    for (uint32_t i = 0; i < job->left_rows; i++) {
        const uint8_t *cells = job->left + (size_t)i * cell_columns;
        if (cell_columns == 4) {
            collect_row(cells, num_cells, 4, row);
        } else {
            collect_row(cells, num_cells, 8, row);
        }
        memset(row + job->k, 0, stride - job->k);
        widen(row, stride, is_signed, out + i * stride);
    }
}

/* Adds the sums of a block where they belong to the result. */
static void add_block(const tly_pto_matrix_cells *job, bool is_signed, uint32_t row,
                      uint32_t column, const int32_t *block) {
    for (uint32_t c = 0; c < BLOCK_COLUMNS && column + c < job->n; c++) {
        for (uint32_t r = 0; r < BLOCK_ROWS && row + r < job->m; r++) {
            int32_t sum = block[c * BLOCK_ROWS + r];
            job->sums[(size_t)(column + c) * job->m + row + r] +=
                is_signed ? (uint64_t)(int64_t)sum : (uint32_t)sum;
        }
    }
}

bool tly_pto_byte_cells(const tly_pto_matrix_cells *job) {
    bool is_signed = job->types->left == TLY_PTO_S8 && job->types->right == TLY_PTO_S8;
    bool is_unsigned = job->types->left == TLY_PTO_U8 && job->types->right == TLY_PTO_U8;
    size_t stride = ((size_t)job->k + GROUP - 1) / GROUP * GROUP;
    size_t panel_len = stride * COLUMNS;
    size_t needed = (stride * job->left_rows + panel_len) * sizeof(int16_t) + stride;
    if (job->cells != NULL || (!is_signed && !is_unsigned) || needed > job->scratch_len) {
        return false;
    }
    tly_pto_dot_block *dot = choose(job->simd);
    int16_t *left = job->scratch;
    int16_t *right = left + stride * job->left_rows;
    int32_t block[BLOCK_ROWS * BLOCK_COLUMNS];
    widen_left(job, is_signed, stride, (uint8_t *)(right + panel_len), left);
    for (uint32_t first = 0; first < job->n; first += COLUMNS) {
        widen(job->right + (size_t)first * stride, panel_len, is_signed, right);
        for (uint32_t row = 0; row < job->m; row += BLOCK_ROWS) {
            for (uint32_t c = 0; c < COLUMNS && first + c < job->n; c += BLOCK_COLUMNS) {
                dot(left + row * stride, stride, right + (size_t)c * GROUP, (size_t)COLUMNS * GROUP,
                    stride, block);
                add_block(job, is_signed, row, first + c, block);
            }
        }
    }
    return true;
}
