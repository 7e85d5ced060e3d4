/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles made of nothing: a sequence of integers, a triangle of ones
 * (asl/tile/model/execution/generation). */
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"

enum { LANES = TLY_PTO_LANES, MAX_EXTENT = TLY_PTO_TILE_MAX_EXTENT };

static bool check_extent(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t max_rows) {
    const tly_pto_header *header = &m->core.context.header;
    uint64_t columns = header->dimensions[0], rows = header->dimensions[1];
    if (!tly_pto_check_dimensions(m, plan)) {
        return false;
    }
    if (header->dimension_present[2] && header->dimensions[2] < columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_RESULT_REGION, plan->operation, columns,
                                   header->dimensions[2], 0);
    }
    return !header->dimension_present[1] || rows <= max_rows ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DIMENSION_RANGE, plan->operation, 1, rows,
                               max_rows);
}

bool tly_pto_schema_sequence(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_extent(m, plan, 1);
}

bool tly_pto_schema_triangle(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_extent(m, plan, MAX_EXTENT);
}

/* B.DATR, if there is one, makes the result's type FP64. */
static bool check_result_type(tly_pto_plan *plan) {
    return tly_pto_check_type(plan, plan->results[0].data_type, plan->row->types);
}

bool tly_pto_check_sequence(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_result_type(plan);
}

bool tly_pto_check_triangle(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_result_type(plan);
}

bool tly_pto_run_sequence(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    uint64_t words[LANES], step = plan->flag ? UINT64_MAX : 1, value = plan->scalar0;
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    for (uint32_t column = 0; column < tile->valid_columns; column += LANES) {
        uint32_t count = (uint32_t)tile->valid_columns - column;
        count = count < LANES ? count : LANES;
        for (uint32_t i = 0; i < count; i++, value += step) {
            words[i] = tly_pto_raw(value, tile->data_type);
        }
        tly_pto_elements_write(out, tile, column, count, words);
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}

bool tly_pto_run_triangle(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    uint64_t words[LANES], one = tly_pto_one(tile->data_type);
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        int64_t boundary = (int64_t)row + plan->diagonal;
        for (uint32_t column = 0; column < tile->valid_columns; column += LANES) {
            uint32_t count = (uint32_t)tile->valid_columns - column;
            count = count < LANES ? count : LANES;
            for (uint32_t i = 0; i < count; i++) {
                int64_t at = (int64_t)column + i;
                words[i] = (plan->flag ? at >= boundary : at <= boundary) ? one : 0;
            }
            tly_pto_elements_write(out, tile, row * tile->columns + column, count, words);
        }
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}
