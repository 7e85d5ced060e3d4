/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/ieee_cells.h"

#include <math.h>
#include <string.h>

#include "pto/profile/cells.h"

enum {
    ROWS = TLY_PTO_IEEE_ROWS,
    COLUMNS = TLY_PTO_IEEE_COLUMNS,
    STRIDE = TLY_PTO_IEEE_STRIDE,
    PANEL = 8, /* columns of a cell of B */
    CELL_BYTES = 128,
    DEPTH = 128 /* steps of K that stay in the first-level cache */
};

void tly_pto_ieee_block_portable(const float *left, const float *right, uint32_t cell,
                                 uint32_t depth, float *sums) {
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
}

static tly_pto_ieee_block *choose(tly_simd simd) {
#if defined(__x86_64__)
    if (simd >= TLY_SIMD_AVX2) {
        return tly_pto_ieee_block_avx2;
    }
#endif
    (void)simd;
    return tly_pto_ieee_block_portable;
}

static bool is_single(uint32_t dtype) {
    return dtype == TLY_PTO_FP32 || dtype == TLY_PTO_TF32 || dtype == TLY_PTO_HF32;
}

static bool is_half(uint32_t dtype) {
    return dtype == TLY_PTO_FP16 || dtype == TLY_PTO_BF16;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
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

static float widen(uint32_t dtype, uint16_t bits) {
    return dtype == TLY_PTO_BF16 ? float_of((uint32_t)bits << 16) : widen_half(bits);
}

/* Where an operand's numbers are: in the tile itself, or widened in the scratch memory. */
typedef struct operand {
    const float *numbers;
    uint32_t cell; /* steps of K that stand together */
} operand;

/* A as [K][32]; rows that it has not are left alone, and nobody looks at their sums. */
static const float *prepare_left(const tly_pto_matrix_cells *job, float *scratch) {
    uint32_t dtype = job->types->left, rows = job->left_rows;
    uint32_t width = is_single(dtype) ? 4 : 2, cell = CELL_BYTES / (rows * width);
    if (is_single(dtype) && cell == 1) {
        return (const float *)(const void *)job->left;
    }
    for (uint32_t k = 0; k < job->k; k++) {
        const uint8_t *from = job->left + ((size_t)(k / cell) * rows * cell + k % cell) * width;
        float *to = scratch + (size_t)k * STRIDE;
        for (uint32_t row = 0; row < rows; row++) {
            uint32_t single = 0;
            uint16_t half = 0;
            if (width == 4) {
                memcpy(&single, from + (size_t)row * cell * 4, 4);
                to[row] = float_of(single);
            } else {
                memcpy(&half, from + (size_t)row * cell * 2, 2);
                to[row] = widen(dtype, half);
            }
        }
    }
    return scratch;
}

static operand prepare_right(const tly_pto_matrix_cells *job, float *scratch) {
    uint32_t dtype = job->types->right, width = is_single(dtype) ? 4 : 2;
    uint32_t cell = CELL_BYTES / (PANEL * width);
    uint32_t panels = (job->n + PANEL - 1) / PANEL, cells = (job->k + cell - 1) / cell;
    if (is_single(dtype)) {
        return (operand){(const float *)(const void *)job->right, cell};
    }
    size_t count = (size_t)panels * cells * cell * PANEL;
    for (size_t i = 0; i < count; i++) {
        uint16_t half = 0;
        memcpy(&half, job->right + i * 2, 2);
        scratch[i] = widen(dtype, half);
    }
    return (operand){scratch, cell};
}

/* Sums of one panel, in and out of the words of the job. */
static void load_sums(const tly_pto_matrix_cells *job, uint32_t first, float *sums) {
    memset(sums, 0, sizeof(float) * STRIDE * PANEL);
    for (uint32_t c = 0; c < PANEL && first + c < job->n; c++) {
        const uint64_t *words = job->sums + (size_t)(first + c) * job->m;
        for (uint32_t row = 0; row < job->m; row++) {
            sums[c * STRIDE + row] = float_of((uint32_t)words[row]);
        }
    }
}

static void store_sums(const tly_pto_matrix_cells *job, uint32_t first, const float *sums) {
    const uint32_t nan = (uint32_t)tly_pto_formats[TLY_PTO_FP32].canonical_nan;
    for (uint32_t c = 0; c < PANEL && first + c < job->n; c++) {
        uint64_t *words = job->sums + (size_t)(first + c) * job->m;
        for (uint32_t row = 0; row < job->m; row++) {
            float value = sums[c * STRIDE + row];
            uint32_t bits = 0;
            memcpy(&bits, &value, sizeof bits);
            words[row] = value != value ? nan : bits;
        }
    }
}

static void multiply(const tly_pto_matrix_cells *job, const float *left, const operand *right) {
    tly_pto_ieee_block *block = choose(job->simd);
    uint32_t cells = (job->k + right->cell - 1) / right->cell;
    float sums[STRIDE * PANEL];
    for (uint32_t first = 0; first < job->n; first += PANEL) {
        const float *panel = right->numbers + (size_t)first * cells * right->cell;
        load_sums(job, first, sums);
        for (uint32_t k = 0; k < job->k; k += DEPTH) {
            uint32_t depth = job->k - k < DEPTH ? job->k - k : DEPTH;
            for (uint32_t row = 0; row < job->m; row += ROWS) {
                for (uint32_t c = 0; c < PANEL && first + c < job->n; c += COLUMNS) {
                    block(left + (size_t)k * STRIDE + row,
                          panel + (size_t)k * PANEL + (size_t)c * right->cell, right->cell, depth,
                          sums + (size_t)c * STRIDE + row);
                }
            }
        }
        store_sums(job, first, sums);
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
    uint32_t panels = (job->n + PANEL - 1) / PANEL;
    size_t left_len = (size_t)job->k * STRIDE * sizeof(float);
    size_t right_len = (size_t)panels * PANEL * (job->k + 8) * sizeof(float);
    if (types->accumulator != TLY_PTO_FP32 || (!is_single(types->left) && !is_half(types->left)) ||
        (!is_single(types->right) && !is_half(types->right)) ||
        __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || left_len + right_len > job->scratch_len) {
        return false;
    }
    float *scratch = job->scratch;
    const float *left = prepare_left(job, scratch);
    operand right = prepare_right(job, scratch + (size_t)job->k * STRIDE);
    multiply(job, left, &right);
    return true;
}
