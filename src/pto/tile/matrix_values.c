/* SPDX-License-Identifier: Apache-2.0 */
/* Products of real numbers of any type, with scales or without, from tiles of any layout and shared
 * ones: where FP32 holds the values exactly, they become cells of FP32, for which the profile has
 * its loops. */
#include <string.h>

#include "pto/profile/format.h"
#include "pto/tile/matrix.h"

enum {
    DEPTH = 1024, /* steps of K at once */
    ROWS = 32,    /* of a cell of A, which has one step */
    PANEL = 8,    /* columns of a cell of B, which has CELL steps */
    CELL = 4
};

/* An operand with the values of its codes, where they are few. */
typedef struct source {
    const tly_pto_machine *m;
    const tly_pto_matrix_operand *operand, *scale;
    uint32_t dtype;
    bool is_narrow, is_scaled;
    float values[256], scales[256];
} source;

static bool find_values(const tly_pto_machine *m, uint32_t dtype, float *values) {
    for (uint32_t code = 0; code < 1U << tly_pto_dtype_bits(dtype); code++) {
        if (!m->profile->exact_f32(dtype, code, &values[code])) {
            return false;
        }
    }
    return true;
}

static bool init_source(source *s, const tly_pto_machine *m, const tly_pto_matrix_operand *operand,
                        const tly_pto_matrix_operand *scale, uint32_t dtype) {
    s->m = m;
    s->operand = operand;
    s->scale = scale;
    s->dtype = dtype;
    s->is_narrow = tly_pto_dtype_bits(dtype) <= 8;
    s->is_scaled = scale->present;
    return (!s->is_narrow || find_values(m, dtype, s->values)) &&
           (!s->is_scaled || find_values(m, TLY_PTO_E8M0, s->scales));
}

/* The value of an element, times its scale. A product with a power of two is exact if it can be
 * undone. */
static bool value_of(const source *s, uint64_t word, float scale, float *out) {
    float value;
    if (s->is_narrow) {
        value = s->values[tly_pto_raw(word, s->dtype)];
    } else if (!s->m->profile->exact_f32(s->dtype, word, &value)) {
        return false;
    }
    *out = s->is_scaled ? value * scale : value;
    return !s->is_scaled || *out != *out || *out / scale == value;
}

/* Steps first .. first+depth-1 of A, as cells of 32 rows. */
static bool put_left(const source *s, uint32_t m, uint32_t first, uint32_t depth, float *out) {
    memset(out, 0, (size_t)depth * ROWS * sizeof *out);
    for (uint32_t row = 0; row < m; row++) {
        float scale = 1;
        for (uint32_t k = 0; k < depth; k++) {
            uint32_t inner = first + k;
            if (s->is_scaled && (k == 0 || inner % TLY_PTO_MX_BLOCK == 0)) {
                scale =
                    s->scales[tly_pto_matrix_read(s->m, s->scale, row, inner / TLY_PTO_MX_BLOCK) &
                              0xff];
            }
            if (!value_of(s, tly_pto_matrix_read(s->m, s->operand, row, inner), scale,
                          &out[(size_t)k * ROWS + row])) {
                return false;
            }
        }
    }
    return true;
}

/* The same of a panel of B. */
static bool put_right(const source *s, uint32_t column, uint32_t columns, uint32_t first,
                      uint32_t depth, float *out) {
    memset(out, 0, (size_t)(depth + CELL) * PANEL * sizeof *out);
    for (uint32_t c = 0; c < columns; c++) {
        float scale = 1;
        for (uint32_t k = 0; k < depth; k++) {
            uint32_t inner = first + k;
            if (s->is_scaled && (k == 0 || inner % TLY_PTO_MX_BLOCK == 0)) {
                scale = s->scales[tly_pto_matrix_read(s->m, s->scale, inner / TLY_PTO_MX_BLOCK,
                                                      column + c) &
                                  0xff];
            }
            if (!value_of(s, tly_pto_matrix_read(s->m, s->operand, inner, column + c), scale,
                          &out[(size_t)(k / CELL) * CELL * PANEL + c * CELL + k % CELL])) {
                return false;
            }
        }
    }
    return true;
}

/* Whether all values are exact, and, with `sums`, the product as well. */
static bool go_through(const tly_pto_machine *m, const tly_pto_matrix *x, const source *left,
                       const source *right, uint64_t *sums) {
    static const tly_pto_matrix_types singles = {
        .accumulator = TLY_PTO_FP32, .left = TLY_PTO_FP32, .right = TLY_PTO_FP32};
    float *a = (float *)m->tiles->scratch[TLY_PTO_MATRIX_LEFT].words;
    float *b = (float *)m->tiles->scratch[TLY_PTO_MATRIX_RIGHT].words;
    for (uint32_t first = 0; first < x->k; first += DEPTH) {
        uint32_t depth = x->k - first < DEPTH ? x->k - first : DEPTH;
        if (!put_left(left, x->m, first, depth, a)) {
            return false;
        }
        for (uint32_t column = 0; column < x->n; column += PANEL) {
            uint32_t columns = x->n - column < PANEL ? x->n - column : PANEL;
            if (!put_right(right, column, columns, first, depth, b)) {
                return false;
            }
            if (sums == NULL) {
                continue;
            }
            const tly_pto_matrix_cells job = {.types = &singles,
                                              .m = x->m,
                                              .n = columns,
                                              .k = depth,
                                              .left_rows = ROWS,
                                              .left = (const uint8_t *)a,
                                              .right = (const uint8_t *)b,
                                              .simd = tly_context_simd(m->context),
                                              .sums = sums + (size_t)column * x->m,
                                              .scratch = b}; /* of which it needs none */
            if (!m->profile->matrix_cells(&job)) {
                return false;
            }
        }
    }
    return true;
}

bool tly_pto_multiply_values(const tly_pto_machine *m, const tly_pto_matrix *x,
                             const tly_pto_matrix_types *types, uint64_t *sums) {
    source left, right;
    if (m->profile->exact_f32 == NULL || types->accumulator != TLY_PTO_FP32 || x->m > ROWS ||
        !tly_pto_dtype_is_floating(types->left) || !tly_pto_dtype_is_floating(types->right) ||
        !init_source(&left, m, &x->left, &x->left_scale, types->left) ||
        !init_source(&right, m, &x->right, &x->right_scale, types->right)) {
        return false;
    }
    /* scales may carry values out of FP32's range, which is known only at the end */
    if ((left.is_scaled || right.is_scaled || !left.is_narrow || !right.is_narrow) &&
        !go_through(m, x, &left, &right, NULL)) {
        return false;
    }
    return go_through(m, x, &left, &right, sums);
}
