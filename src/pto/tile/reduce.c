/* SPDX-License-Identifier: Apache-2.0 */
/* Reduction of rows or columns (asl/tile/model/execution/reduction). */
#include "pto/profile/element.h"
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"
#include "pto/tile/resolve.h"
#include "pto/tile/stored.h"

enum { LANES = TLY_PTO_LANES };

static bool gives_index(uint32_t op) {
    return op == TLY_PTO_REDUCE_ARGMIN || op == TLY_PTO_REDUCE_ARGMAX;
}

bool tly_pto_schema_reduction(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_source_legal(m, plan, 0) && tly_pto_check_source_numeric(m, plan, 0) &&
           tly_pto_check_source_type(m, plan, 0, plan->data_type) &&
           tly_pto_check_source_layout(m, plan, 0, TLY_PTO_LAYOUT_ROW_MAJOR) &&
           tly_pto_check_source_extent(m, plan, 0) && tly_pto_check_source_encodings(m, plan, 0);
}

bool tly_pto_check_reduction(const tly_pto_machine *m, tly_pto_plan *plan) {
    (void)m;
    return !gives_index(plan->row->variant) ||
           tly_pto_check_type(plan, plan->data_type, TLY_PTO_TYPES_NARROW);
}

/* One row or column, element by element, as it goes. Sums and products of a profile with lanes are
 * one for each lane until the end. */
typedef struct line {
    uint64_t value[TLY_PTO_MAX_REDUCE_LANES];
    uint32_t index; /* of the extreme */
} line;

/* Sums and products begin with their identity and take the first element too. */
static bool takes_first(uint32_t op) {
    return op == TLY_PTO_REDUCE_SUM || op == TLY_PTO_REDUCE_PRODUCT;
}

/* Lanes of a sum or a product of numbers; everything else is one. */
static uint32_t num_lanes(const tly_pto_machine *m, const tly_pto_plan *plan) {
    return takes_first(plan->row->variant) && tly_pto_dtype_is_floating(plan->data_type)
               ? m->profile->reduce_lanes
               : 1;
}

static uint32_t lane_of(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t index) {
    return index & (num_lanes(m, plan) - 1);
}

static void step(const tly_pto_machine *m, tly_pto_plan *plan, line *l, uint64_t word,
                 uint32_t index) {
    bool selected = false;
    uint64_t *value = &l->value[lane_of(m, plan, index)];
    *value = m->profile->reduce_step((tly_pto_reduction)plan->row->variant, plan->data_type, *value,
                                     word, &selected, &plan->flags);
    if (selected) {
        l->index = index;
    }
}

static line begin(const tly_pto_machine *m, const tly_pto_plan *plan, uint64_t first) {
    line l = {{0}, 0};
    for (uint32_t i = 0; i < num_lanes(m, plan); i++) {
        l.value[i] = m->profile->reduce_initial((tly_pto_reduction)plan->row->variant,
                                                plan->data_type, first);
    }
    return l;
}

/* The lanes are joined half by half. */
static uint64_t result_of(const tly_pto_machine *m, tly_pto_plan *plan, line *l) {
    bool selected = false;
    for (uint32_t half = num_lanes(m, plan) / 2; half > 0; half /= 2) {
        for (uint32_t i = 0; i < half; i++) {
            l->value[i] =
                m->profile->reduce_step((tly_pto_reduction)plan->row->variant, plan->data_type,
                                        l->value[i], l->value[i + half], &selected, &plan->flags);
        }
    }
    return gives_index(plan->row->variant) ? l->index : l->value[0];
}

/* Extremes of one element are copies of it. */
static bool is_stored(const tly_pto_machine *m, const tly_pto_plan *plan) {
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    return takes_first(plan->row->variant)
               ? tly_pto_stored_is_read(in, plan->data_type)
               : tly_pto_stored_is_whole(in, tly_pto_plan_source(m, plan, 0));
}

/* Rows of stored elements, from `row` on, as many as can be done at once; the row that is left goes
 * element by element. */
static uint32_t stored_rows(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t row,
                            tly_pto_elements *out) {
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    size_t stride = (size_t)source->columns * tly_pto_dtype_bits(plan->data_type) / 8;
    uint32_t left = source->valid_rows - row;
    uint64_t words[LANES];
    if (!is_stored(m, plan)) {
        return 0;
    }
    uint32_t done = (uint32_t)tly_pto_stored_reduce_rows(
        m, (tly_pto_reduction)plan->row->variant, plan->data_type, in->bytes + row * stride, stride,
        left < LANES ? left : LANES, source->valid_columns, words, &plan->flags);
    for (uint32_t i = 0; i < done; i++) {
        tly_pto_element_write(out, &plan->results[0], row + i, words[i]);
    }
    return done;
}

/* Columns of stored elements. */
static bool stored_columns(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_elements *out) {
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    size_t width = tly_pto_dtype_bits(plan->data_type) / 8, stride = source->columns * width;
    uint64_t words[LANES];
    if (!is_stored(m, plan)) {
        return false;
    }
    for (uint32_t column = 0; column < source->valid_columns; column += LANES) {
        uint32_t count = (uint32_t)source->valid_columns - column;
        count = count < LANES ? count : LANES;
        if (!tly_pto_stored_reduce_columns(m, (tly_pto_reduction)plan->row->variant,
                                           plan->data_type, in->bytes + column * width, stride,
                                           source->valid_rows, count, words, &plan->flags)) {
            return false; /* at the first */
        }
        tly_pto_elements_write(out, &plan->results[0], column, count, words);
    }
    return true;
}

static uint64_t reduce_row(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t row) {
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    uint32_t skipped = takes_first(plan->row->variant) ? 0 : 1;
    uint64_t words[LANES];
    line l = {{0}, 0};
    for (uint32_t column = 0; column < source->valid_columns; column += LANES) {
        uint32_t count = (uint32_t)source->valid_columns - column;
        count = count < LANES ? count : LANES;
        tly_pto_elements_read(in, source, row * source->columns + column, count, words);
        if (column == 0) {
            l = begin(m, plan, words[0]);
        }
        for (uint32_t i = column == 0 ? skipped : 0; i < count; i++) {
            step(m, plan, &l, words[i], column + i);
        }
    }
    return result_of(m, plan, &l);
}

static void reduce_rows(tly_pto_machine *m, tly_pto_plan *plan, tly_pto_elements *out) {
    uint32_t row = 0, num_rows = tly_pto_plan_source(m, plan, 0)->valid_rows;
    while (row < num_rows) {
        uint32_t done = stored_rows(m, plan, row, out);
        row += done;
        if (done == 0) {
            tly_pto_element_write(out, &plan->results[0], row, reduce_row(m, plan, row));
            row++;
        }
    }
}

/* A strip of columns at a time, so that the source is read in its own order. */
static void reduce_columns(tly_pto_machine *m, tly_pto_plan *plan, tly_pto_elements *out) {
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    bool first_too = takes_first(plan->row->variant);
    uint64_t words[LANES];
    line lines[LANES];
    for (uint32_t column = 0; column < source->valid_columns; column += LANES) {
        uint32_t count = (uint32_t)source->valid_columns - column;
        count = count < LANES ? count : LANES;
        for (uint32_t row = 0; row < source->valid_rows; row++) {
            tly_pto_elements_read(in, source, row * source->columns + column, count, words);
            for (uint32_t i = 0; i < count; i++) {
                if (row == 0) {
                    lines[i] = begin(m, plan, words[i]);
                }
                if (row != 0 || first_too) {
                    step(m, plan, &lines[i], words[i], row);
                }
            }
        }
        for (uint32_t i = 0; i < count; i++) {
            words[i] = result_of(m, plan, &lines[i]);
        }
        tly_pto_elements_write(out, &plan->results[0], column, count, words);
    }
}

bool tly_pto_run_reduction(tly_pto_machine *m, tly_pto_plan *plan) {
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    if (plan->row->resolve == TLY_PTO_RESOLVE_ROW_REDUCTION) {
        reduce_rows(m, plan, out);
    } else if (!stored_columns(m, plan, out)) {
        reduce_columns(m, plan, out);
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}
