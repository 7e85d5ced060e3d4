/* SPDX-License-Identifier: Apache-2.0 */
/* The product, and what follows it: bias, maxima, post-processing
 * (asl/tile/model/execution/cube, postprocess). Sums stand in a buffer of words, column after
 * column, until the whole result is written. */
#include "pto/tile/matrix.h"

#include <string.h>

/* Buffers of TLY_PTO_WIDE_ELEMENTS words each: those of the store's scratch tiles. */
enum { SUMS, LEFT_WORDS = TLY_PTO_MATRIX_LEFT, RIGHT_WORDS = TLY_PTO_MATRIX_RIGHT };

static uint64_t *buffer(const tly_pto_machine *m, uint32_t which) {
    return m->tiles->scratch[which].words;
}

/* ---- operands ------------------------------------------------------------------------------- */

static uint64_t element(const tly_pto_matrix_operand *o, uint32_t row, uint32_t column) {
    uint32_t index = o->transposed ? tly_pto_tile_index(o->tile, column, row)
                                   : tly_pto_tile_index(o->tile, row, column);
    return tly_pto_element_read(o->elements, o->tile, index);
}

/* Where several elements of a tile by rows share a carrier, the carrier profile takes the carrier
 * with the element's number for the element: `index` counts in the operand as the product sees it,
 * and lanes beyond its rows keep what the tile holds there. */
static uint64_t carrier(const tly_pto_matrix_operand *o, uint32_t index) {
    uint32_t bits = tly_pto_dtype_bits(o->tile->data_type);
    uint32_t lanes = 64 / bits;
    uint64_t word = 0;
    for (uint32_t lane = 0; lane < lanes; lane++) {
        uint64_t at = (uint64_t)index * lanes + lane;
        if (at >= tly_pto_tile_elements(o->tile)) {
            break;
        }
        uint32_t row = (uint32_t)(at / o->columns), column = (uint32_t)(at % o->columns);
        bool inside = o->is_shared && row < o->rows;
        uint64_t value = inside ? element(o, row, column)
                                : tly_pto_element_read(o->elements, o->tile, (uint32_t)at);
        word |= tly_pto_low_bits(value, bits) << (lane * bits);
    }
    return word;
}

/* The reference does so for operands of up to 32768 elements, and has no larger ones. */
static bool by_carriers(const tly_pto_machine *m, const tly_pto_matrix_operand *o) {
    return m->profile->keeps_carriers && tly_pto_tile_is_packed(o->tile) &&
           (uint64_t)o->rows * o->columns <= TLY_PTO_WIDE_ELEMENTS;
}

uint64_t tly_pto_matrix_read(const tly_pto_machine *m, const tly_pto_matrix_operand *o,
                             uint32_t row, uint32_t column) {
    if (by_carriers(m, o)) {
        uint32_t stride = o->is_shared ? o->columns : o->tile->columns;
        return carrier(o, row * stride + column);
    }
    return element(o, row, column);
}

/* ---- product -------------------------------------------------------------------------------- */

/* Elements of a cell, and its columns. */
static uint32_t cell_elements(const tly_pto_tile *tile) {
    return TLY_PTO_CELL_BYTES * 8 / tly_pto_dtype_bits(tile->data_type);
}

static void begin_sums(const tly_pto_matrix *x, uint64_t *sums) {
    uint64_t words[TLY_PTO_CELL_BYTES * 8 / 32]; /* sums have 32 bits */
    const tly_pto_tile *tile = x->accumulator.tile;
    if (!x->accumulator.present) {
        memset(sums, 0, sizeof(*sums) * x->m * x->n);
        return;
    }
    uint32_t count = cell_elements(tile), columns = count / tile->rows;
    for (uint32_t cell = 0; cell < tile->cube_cell_count; cell++) {
        tly_pto_elements_read(x->accumulator.elements, tile, cell * count, count, words);
        for (uint32_t column = cell * columns; column < (cell + 1) * columns && column < x->n;
             column++) {
            for (uint32_t row = 0; row < x->m; row++) {
                sums[column * x->m + row] = words[row * columns + column % columns];
            }
        }
    }
}

static tly_pto_matrix_types types_of(const tly_pto_plan *plan, const tly_pto_matrix *x) {
    return (tly_pto_matrix_types){.accumulator = x->accumulator_type,
                                  .left = x->left_type,
                                  .right = x->right_type,
                                  .left_scale = TLY_PTO_E8M0,
                                  .right_scale = TLY_PTO_E8M0,
                                  .left_scaled = x->left_scale.present,
                                  .right_scaled = x->right_scale.present,
                                  .control = plan->control};
}

/* Step by step in ascending K, every operand from its tile. */
static uint64_t sum_steps(const tly_pto_machine *m, const tly_pto_matrix *x,
                          const tly_pto_matrix_types *types, uint64_t sum, uint32_t row,
                          uint32_t column) {
    uint64_t left_scale = 0, right_scale = 0;
    for (uint32_t inner = 0; inner < x->k; inner++) {
        if (inner % TLY_PTO_MX_BLOCK == 0) {
            uint32_t block = inner / TLY_PTO_MX_BLOCK;
            left_scale =
                types->left_scaled ? tly_pto_matrix_read(m, &x->left_scale, row, block) : 0;
            right_scale =
                types->right_scaled ? tly_pto_matrix_read(m, &x->right_scale, block, column) : 0;
        }
        sum = m->profile->matrix_step(types, sum, tly_pto_matrix_read(m, &x->left, row, inner),
                                      tly_pto_matrix_read(m, &x->right, inner, column), left_scale,
                                      right_scale);
    }
    return sum;
}

/* The same with whole rows and columns of words, where they fit the buffers. */
static void multiply_words(const tly_pto_machine *m, const tly_pto_matrix *x,
                           const tly_pto_matrix_types *types, uint64_t *sums) {
    uint64_t *left = buffer(m, LEFT_WORDS), *right = buffer(m, RIGHT_WORDS);
    for (uint32_t row = 0; row < x->m; row++) {
        for (uint32_t inner = 0; inner < x->k; inner++) {
            left[row * x->k + inner] = tly_pto_matrix_read(m, &x->left, row, inner);
        }
    }
    for (uint32_t column = 0; column < x->n; column++) {
        for (uint32_t inner = 0; inner < x->k; inner++) {
            right[inner] = tly_pto_matrix_read(m, &x->right, inner, column);
        }
        for (uint32_t row = 0; row < x->m; row++) {
            uint64_t *sum = &sums[column * x->m + row];
            *sum = m->profile->matrix_dot(types, *sum, left + row * x->k, right, x->k);
        }
    }
}

static bool words_are(const tly_pto_matrix_operand *o, uint32_t extension) {
    return !o->is_shared && o->elements->stale == 0 && (o->elements->extensions & extension) != 0;
}

/* Straight from the cells, where the profile has a loop for them and their bytes are their words;
 * into the buffer or into cells. */
static bool multiply_cells(const tly_pto_machine *m, const tly_pto_matrix *x,
                           const tly_pto_matrix_types *types, uint64_t *sums, uint32_t *cells) {
    uint32_t left = tly_pto_dtype_is_signed(x->left_type) ? TLY_PTO_BY_SIGN : TLY_PTO_BY_ZEROS;
    uint32_t right = tly_pto_dtype_is_signed(x->right_type) ? TLY_PTO_BY_SIGN : TLY_PTO_BY_ZEROS;
    if (m->profile->matrix_cells == NULL || types->left_scaled || types->right_scaled ||
        !words_are(&x->left, left) || !words_are(&x->right, right)) {
        return false;
    }
    const tly_pto_matrix_cells job = {.types = types,
                                      .m = x->m,
                                      .n = x->n,
                                      .k = x->k,
                                      .left_rows = x->left.tile->rows,
                                      .left = x->left.elements->bytes,
                                      .right = x->right.elements->bytes,
                                      .simd = tly_context_simd(m->context),
                                      .sums = sums,
                                      .cells = cells,
                                      .scratch = m->tiles->scratch[LEFT_WORDS].bytes,
                                      .scratch_len = TLY_PTO_SHARED_TILE_MAX};
    return m->profile->matrix_cells(&job);
}

static void multiply(const tly_pto_machine *m, const tly_pto_plan *plan, const tly_pto_matrix *x,
                     uint64_t *sums) {
    const tly_pto_matrix_types types = types_of(plan, x);
    if (multiply_cells(m, x, &types, sums, NULL) || tly_pto_multiply_values(m, x, &types, sums)) {
        return;
    }
    if (m->profile->matrix_dot != NULL && !types.left_scaled && !types.right_scaled &&
        (uint64_t)x->m * x->k <= TLY_PTO_WIDE_ELEMENTS && x->k <= TLY_PTO_WIDE_ELEMENTS) {
        multiply_words(m, x, &types, sums);
        return;
    }
    for (uint32_t column = 0; column < x->n; column++) {
        for (uint32_t row = 0; row < x->m; row++) {
            uint64_t *sum = &sums[column * x->m + row];
            *sum = sum_steps(m, x, &types, *sum, row, column);
        }
    }
}

static void add_bias(const tly_pto_machine *m, const tly_pto_matrix *x, uint64_t *sums) {
    for (uint32_t column = 0; x->bias.present && column < x->n; column++) {
        uint64_t bias = element(&x->bias, 0, column);
        for (uint32_t row = 0; row < x->m; row++) {
            uint64_t *sum = &sums[column * x->m + row];
            *sum =
                m->profile->matrix_bias(x->accumulator_type, x->bias.tile->data_type, *sum, bias);
        }
    }
}

/* ---- maxima --------------------------------------------------------------------------------- */

/* Of columns first .. last-1 of a row, from left to right. */
static uint64_t row_maximum(const tly_pto_machine *m, const tly_pto_matrix *x, const uint64_t *sums,
                            uint32_t row, uint32_t first, uint32_t last, uint8_t *flags) {
    bool absolute = m->core.context.header.fixed_point.max_abs_en;
    uint64_t best = sums[first * x->m + row];
    if (absolute) {
        best = m->profile->matrix_max(true, x->accumulator_type, best, best, flags);
    }
    for (uint32_t column = first + 1; column < last; column++) {
        best = m->profile->matrix_max(absolute, x->accumulator_type, best,
                                      sums[column * x->m + row], flags);
    }
    return best;
}

static void finish(tly_pto_tile *tile, tly_pto_elements *e) {
    tly_pto_result_defined(tile);
    e->defined = TLY_PTO_DEFINED_VALID;
}

static void find_row_maxima(const tly_pto_machine *m, tly_pto_plan *plan, const tly_pto_matrix *x,
                            const uint64_t *sums, uint32_t result) {
    bool absolute = m->core.context.header.fixed_point.max_abs_en;
    tly_pto_tile *tile = &plan->results[result];
    tly_pto_elements *e = tly_pto_plan_result_elements(m, plan, result);
    tly_pto_elements_clear(e);
    for (uint32_t row = 0; row < x->m; row++) {
        uint64_t best = row_maximum(m, x, sums, row, 0, x->n, &plan->flags);
        if (x->row_max.present) {
            best = m->profile->matrix_max(absolute, x->accumulator_type,
                                          element(&x->row_max, row, 0), best, &plan->flags);
        }
        tly_pto_element_write(e, tile, tly_pto_tile_index(tile, row, 0), best);
    }
    finish(tile, e);
}

static void find_group_maxima(const tly_pto_machine *m, tly_pto_plan *plan, const tly_pto_matrix *x,
                              const uint64_t *sums, uint32_t result) {
    uint32_t group = tly_pto_group_columns[m->core.context.header.fixed_point.group_n_code];
    tly_pto_tile *tile = &plan->results[result];
    tly_pto_elements *e = tly_pto_plan_result_elements(m, plan, result);
    tly_pto_elements_clear(e);
    for (uint32_t row = 0; row < x->m; row++) {
        for (uint32_t i = 0; i < tile->valid_columns; i++) {
            uint32_t last = (i + 1) * group < x->n ? (i + 1) * group : x->n;
            uint64_t best = row_maximum(m, x, sums, row, i * group, last, &plan->flags);
            tly_pto_element_write(e, tile, tly_pto_tile_index(tile, row, i), best);
        }
    }
    finish(tile, e);
}

/* ---- result --------------------------------------------------------------------------------- */

static void post_process(const tly_pto_machine *m, tly_pto_plan *plan, const tly_pto_matrix *x,
                         uint64_t *sums) {
    const tly_pto_fixed_point *a = &m->core.context.header.fixed_point;
    tly_pto_post_process how = {.pre_quant_mode = a->pre_quant_mode,
                                .relu_mode = a->relu_mode,
                                .group_n_code = a->group_n_code,
                                .output = plan->results[0].data_type,
                                .quant_param = x->quant_param,
                                .relu_param = x->relu_param,
                                .control = plan->control};
    if (a->pre_quant_mode == 0 && a->relu_mode == TLY_PTO_RELU_NONE) {
        return;
    }
    for (uint32_t column = 0; column < x->n; column++) {
        if (x->quant_vector.present) {
            how.quant_param = element(&x->quant_vector, 0, column);
        }
        if (x->relu_vector.present) {
            how.relu_param = element(&x->relu_vector, 0, column);
        }
        for (uint32_t row = 0; row < x->m; row++) {
            uint64_t *sum = &sums[column * x->m + row];
            *sum = m->profile->post_process(&how, *sum, &plan->flags);
        }
    }
}

/* Cell by cell; what lies outside of the valid region stays 0 and undefined. */
static void write_cells(const tly_pto_matrix *x, const tly_pto_tile *tile, tly_pto_elements *e,
                        const uint64_t *sums) {
    uint64_t words[TLY_PTO_CELL_BYTES * 2];
    uint32_t elements = cell_elements(tile), cell_columns = elements / tile->rows;
    tly_pto_elements_clear(e);
    for (uint32_t cell = 0; cell < tile->cube_cell_count; cell++) {
        uint32_t first = cell * cell_columns;
        uint32_t count = x->n - first < cell_columns ? x->n - first : cell_columns;
        if (cell_columns == 1 && x->m == tile->rows) {
            tly_pto_elements_write(e, tile, cell * elements, elements, sums + first * x->m);
            continue;
        }
        memset(words, 0, sizeof(*words) * elements);
        for (uint32_t column = 0; column < count; column++) {
            for (uint32_t row = 0; row < x->m; row++) {
                words[tly_pto_tile_index(tile, row, column)] = sums[(first + column) * x->m + row];
            }
        }
        tly_pto_elements_write(e, tile, cell * elements, elements, words);
    }
}

/* Cells of 32 rows of FP32 hold sums as they come: column after column. */
static bool sums_are_cells(const tly_pto_tile *tile, const tly_pto_elements *e) {
    return tile->layout == TLY_PTO_LAYOUT_CUBE_M32 && tile->data_type == TLY_PTO_FP32 &&
           (e == NULL || (e->stale == 0 && (e->extensions & TLY_PTO_BY_ZEROS) != 0));
}

/* The product where nothing follows it, without a buffer. The result is no operand: it was free. */
static bool multiply_in_place(tly_pto_machine *m, tly_pto_plan *plan, const tly_pto_matrix *x) {
    const tly_pto_fixed_point *a = &m->core.context.header.fixed_point;
    const tly_pto_matrix_types types = types_of(plan, x);
    tly_pto_tile *tile = &plan->results[0];
    tly_pto_elements *e = tly_pto_plan_result_elements(m, plan, 0);
    const size_t column_len = TLY_PTO_CELL_BYTES;
    if (a->row_max_en || a->group_max_en || a->pre_quant_mode != 0 ||
        a->relu_mode != TLY_PTO_RELU_NONE || x->bias.present ||
        x->accumulator_type != TLY_PTO_FP32 || !sums_are_cells(tile, NULL) ||
        (x->accumulator.present && !sums_are_cells(x->accumulator.tile, x->accumulator.elements))) {
        return false;
    }
    if (x->accumulator.present) {
        memcpy(e->bytes, x->accumulator.elements->bytes, x->n * column_len);
    } else {
        memset(e->bytes, 0, x->n * column_len);
    }
    tly_pto_elements_overwrite(e, tile, TLY_PTO_BY_ZEROS);
    if (!multiply_cells(m, x, &types, NULL, (uint32_t *)(void *)e->bytes)) {
        return false;
    }
    for (uint32_t column = 0; x->m < tile->rows && column < tile->columns; column++) {
        memset(e->bytes + column * column_len + x->m * sizeof(uint32_t), 0,
               (tile->rows - x->m) * sizeof(uint32_t));
    }
    finish(tile, e);
    return true;
}

void tly_pto_run_matrix(tly_pto_machine *m, tly_pto_plan *plan, const tly_pto_matrix *x) {
    const tly_pto_fixed_point *a = &m->core.context.header.fixed_point;
    uint64_t *sums = buffer(m, SUMS);
    uint32_t result = 1;
    if (multiply_in_place(m, plan, x)) {
        return;
    }
    begin_sums(x, sums);
    multiply(m, plan, x, sums);
    add_bias(m, x, sums);
    if (a->row_max_en) {
        find_row_maxima(m, plan, x, sums, result++);
    }
    if (a->group_max_en) {
        find_group_maxima(m, plan, x, sums, result);
    }
    post_process(m, plan, x, sums);
    tly_pto_elements *e = tly_pto_plan_result_elements(m, plan, 0);
    write_cells(x, &plan->results[0], e, sums);
    finish(&plan->results[0], e);
}
