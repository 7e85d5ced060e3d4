/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/ieee_cells.h"

#include <math.h>
#include <string.h>

#include "pto/profile/cells.h"

enum {
    ROWS = 16, /* of a block without vectors */
    COLUMNS = 4,
    STRIDE = TLY_PTO_IEEE_STRIDE,
    PANEL = 8, /* columns of a cell of B */
    CELL_BYTES = 128,
    DEPTH = 128 /* steps of K that stay in the first-level cache */
};

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void block_portable(const float *left, const float *right, uint32_t cell, uint32_t depth,
                           uint32_t num_rows, float *sums) {
    (void)num_rows;
    const float nan = float_of((uint32_t)tly_pto_formats[TLY_PTO_FP32].canonical_nan);
    for (uint32_t k = 0; k < depth; k++) {
        const float *l = left + (size_t)k * STRIDE;
        const float *r = right + (size_t)(k / cell) * cell * PANEL + k % cell;
        for (uint32_t c = 0; c < COLUMNS; c++) {
            for (uint32_t row = 0; row < ROWS; row++) {
                float *sum = &sums[c * STRIDE + row];
                *sum = fmaf(l[row], r[c * cell], *sum);
            }
        }
    }
    for (uint32_t c = 0; c < COLUMNS; c++) {
        for (uint32_t row = 0; row < ROWS; row++) {
            float *sum = &sums[c * STRIDE + row];
            *sum = *sum != *sum ? nan : *sum;
        }
    }
}

/* An FP16 number as FP32: exact. */
static float widen_half(uint32_t half) {
    uint32_t sign = (half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 0x3FF;
    if (exponent == 31) {
        return float_of(sign | 0x7F800000 | fraction << 13);
    }
    if (exponent == 0) {
        float value = (float)fraction * 0x1p-24f;
        return sign != 0 ? -value : value;
    }
    return float_of(sign | (exponent + 112) << 23 | fraction << 13);
}

static uint32_t half_at(const uint8_t *bytes) {
    uint16_t half;
    memcpy(&half, bytes, sizeof half);
    return half;
}

static void widen_portable(const uint8_t *halves, size_t count, bool is_bf16, float *out) {
    for (size_t i = 0; i < count; i++) {
        uint32_t half = half_at(halves + i * 2);
        out[i] = is_bf16 ? float_of(half << 16) : widen_half(half);
    }
}

static void widen_pairs_portable(const uint8_t *cells, size_t num_cells, bool is_bf16, float *out) {
    for (size_t i = 0; i < num_cells; i++) {
        float widened[2 * STRIDE];
        widen_portable(cells + i * CELL_BYTES, 2 * STRIDE, is_bf16, widened);
        for (uint32_t row = 0; row < STRIDE; row++) {
            out[i * 2 * STRIDE + row] = widened[2 * row];
            out[(i * 2 + 1) * STRIDE + row] = widened[2 * row + 1];
        }
    }
}

static const tly_pto_ieee_kernels portable = {ROWS, COLUMNS, block_portable, widen_portable,
                                              widen_pairs_portable};

static const tly_pto_ieee_kernels *choose(tly_simd simd) {
#if defined(__x86_64__)
    if (simd >= TLY_SIMD_AVX512) {
        return &tly_pto_ieee_kernels_avx512;
    }
    if (simd >= TLY_SIMD_AVX2) {
        return &tly_pto_ieee_kernels_avx2;
    }
#endif
    (void)simd;
    return &portable;
}

static bool is_single(uint32_t dtype) {
    return dtype == TLY_PTO_FP32 || dtype == TLY_PTO_TF32 || dtype == TLY_PTO_HF32;
}

static bool is_half(uint32_t dtype) {
    return dtype == TLY_PTO_FP16 || dtype == TLY_PTO_BF16;
}

static uint32_t width_of(uint32_t dtype) {
    return is_single(dtype) ? 4 : 2;
}

/* A stands in its tile as the kernels want it: [K][32]. */
static bool left_is_ready(const tly_pto_matrix_cells *job) {
    return is_single(job->types->left) && job->left_rows == STRIDE;
}

/* A as [K][32]; rows that it has not are left alone, and nobody looks at their sums. */
static const float *prepare_left(const tly_pto_matrix_cells *job,
                                 const tly_pto_ieee_kernels *kernels, float *scratch) {
    uint32_t dtype = job->types->left, rows = job->left_rows, width = width_of(dtype);
    uint32_t cell = CELL_BYTES / (rows * width);
    if (left_is_ready(job)) {
        return (const float *)(const void *)job->left;
    }
    if (width == 2 && rows == STRIDE) {
        kernels->widen_pairs(job->left, (job->k + 1) / 2, dtype == TLY_PTO_BF16, scratch);
        return scratch;
    }
    for (uint32_t k = 0; k < job->k; k++) {
        const uint8_t *from = job->left + ((size_t)(k / cell) * rows * cell + k % cell) * width;
        float *to = scratch + (size_t)k * STRIDE;
        for (uint32_t row = 0; row < rows; row++) {
            if (width == 4) {
                memcpy(&to[row], from + (size_t)row * cell * 4, 4);
            } else {
                widen_portable(from + (size_t)row * cell * 2, 1, dtype == TLY_PTO_BF16, &to[row]);
            }
        }
    }
    return scratch;
}

/* Sums of one panel, in and out of the words of the job, or of its last few cells. */
static void load_sums(const tly_pto_matrix_cells *job, uint32_t first, float *sums) {
    memset(sums, 0, sizeof(float) * STRIDE * PANEL);
    for (uint32_t c = 0; c < PANEL && first + c < job->n; c++) {
        if (job->cells != NULL) {
            memcpy(sums + c * STRIDE, job->cells + (size_t)(first + c) * STRIDE, CELL_BYTES);
            continue;
        }
        const uint64_t *words = job->sums + (size_t)(first + c) * job->m;
        for (uint32_t row = 0; row < job->m; row++) {
            sums[c * STRIDE + row] = float_of((uint32_t)words[row]);
        }
    }
}

static void store_sums(const tly_pto_matrix_cells *job, uint32_t first, const float *sums) {
    for (uint32_t c = 0; c < PANEL && first + c < job->n; c++) {
        if (job->cells != NULL) {
            memcpy(job->cells + (size_t)(first + c) * STRIDE, sums + c * STRIDE, CELL_BYTES);
            continue;
        }
        uint64_t *words = job->sums + (size_t)(first + c) * job->m;
        for (uint32_t row = 0; row < job->m; row++) {
            uint32_t bits = 0;
            memcpy(&bits, &sums[c * STRIDE + row], sizeof bits);
            words[row] = bits;
        }
    }
}

/* `columns` columns of a panel, all of K. */
static void multiply_panel(const tly_pto_matrix_cells *job, const tly_pto_ieee_kernels *kernels,
                           const float *left, const float *panel, uint32_t columns, float *sums) {
    uint32_t cell = CELL_BYTES / (PANEL * width_of(job->types->right));
    for (uint32_t k = 0; k < job->k; k += DEPTH) {
        uint32_t depth = job->k - k < DEPTH ? job->k - k : DEPTH;
        for (uint32_t row = 0; row < job->m; row += kernels->rows) {
            for (uint32_t c = 0; c < columns; c += kernels->columns) {
                kernels->block(left + (size_t)k * STRIDE + row,
                               panel + (size_t)k * PANEL + (size_t)c * cell, cell, depth,
                               job->m - row, sums + (size_t)c * STRIDE + row);
            }
        }
    }
}

/* `widened` has room for a panel. */
static void multiply(const tly_pto_matrix_cells *job, const tly_pto_ieee_kernels *kernels,
                     const float *left, float *widened) {
    uint32_t dtype = job->types->right, width = width_of(dtype);
    uint32_t cell = CELL_BYTES / (PANEL * width);
    size_t panel_len = (size_t)(job->k + cell - 1) / cell * CELL_BYTES;
    for (uint32_t first = 0; first < job->n; first += PANEL) {
        const uint8_t *bytes = job->right + first / PANEL * panel_len;
        const float *panel = (const float *)(const void *)bytes;
        uint32_t columns = job->n - first < PANEL ? job->n - first : PANEL;
        if (width == 2) {
            kernels->widen(bytes, panel_len / 2, dtype == TLY_PTO_BF16, widened);
            panel = widened;
        }
        if (job->cells != NULL && columns == PANEL) {
            multiply_panel(job, kernels, left, panel, columns,
                           (float *)(void *)(job->cells + (size_t)first * STRIDE));
        } else {
            float sums[STRIDE * PANEL];
            load_sums(job, first, sums);
            multiply_panel(job, kernels, left, panel, columns, sums);
            store_sums(job, first, sums);
        }
    }
}

bool tly_pto_ieee_cells(const tly_pto_matrix_cells *job) {
    const tly_pto_matrix_types *types = job->types;
    if (tly_pto_dtype_is_integer(types->accumulator)) {
        if (!tly_pto_byte_cells(job)) {
            return false;
        }
        for (size_t i = 0; i < (size_t)job->m * job->n; i++) {
            job->sums[i] = tly_pto_canonical(job->sums[i], types->accumulator);
        }
        return true;
    }
    /* whole cells of A and of a panel of B, however they are widened */
    size_t left_len = left_is_ready(job) ? 0 : ((size_t)job->k + 4) * STRIDE * sizeof(float);
    size_t right_len = is_single(types->right) ? 0 : ((size_t)job->k + 8) * PANEL * sizeof(float);
    if (types->accumulator != TLY_PTO_FP32 || (!is_single(types->left) && !is_half(types->left)) ||
        (!is_single(types->right) && !is_half(types->right)) ||
        __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || left_len + right_len > job->scratch_len) {
        return false;
    }
    const tly_pto_ieee_kernels *kernels = choose(job->simd);
    float *scratch = job->scratch;
    const float *left = prepare_left(job, kernels, scratch);
    multiply(job, kernels, left, scratch + left_len / sizeof(float));
    return true;
}
