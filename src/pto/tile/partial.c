/* SPDX-License-Identifier: Apache-2.0 */
/* Combination of two tiles of which one may cover only a corner of the result: there the other's
 * elements stand alone (asl/tile/model/execution/complex). */
#include <string.h>

#include "pto/profile/element.h"
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"
#include "pto/tile/stored.h"

enum { LANES = TLY_PTO_LANES };

static bool covers(const tly_pto_tile *tile, const tly_pto_extent *extent) {
    return tile->valid_rows == extent->valid_rows && tile->valid_columns == extent->valid_columns;
}

static bool check_part(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal,
                       const tly_pto_extent *extent) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    if (!tly_pto_check_source_defined(m, plan, ordinal) ||
        !tly_pto_check_source_numeric(m, plan, ordinal) ||
        !tly_pto_check_source_type(m, plan, ordinal, plan->data_type) ||
        !tly_pto_check_source_layout(m, plan, ordinal, TLY_PTO_LAYOUT_ROW_MAJOR)) {
        return false;
    }
    if (tile->valid_rows == 0 || tile->valid_columns == 0 ||
        tile->valid_rows > extent->valid_rows || tile->valid_columns > extent->valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_PART_OUTSIDE, tile->valid_rows,
                                   tile->valid_columns, extent->valid_rows, extent->valid_columns);
    }
    return tly_pto_check_source_encodings(m, plan, ordinal);
}

bool tly_pto_schema_partial(const tly_pto_machine *m, tly_pto_plan *plan) {
    tly_pto_extent extent = tly_pto_header_extent(&m->core.context.header);
    if (extent.columns < extent.valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_RESULT_REGION, plan->operation,
                                   extent.valid_columns, extent.columns, 0);
    }
    if (!check_part(m, plan, 0, &extent) || !check_part(m, plan, 1, &extent)) {
        return false;
    }
    return covers(tly_pto_plan_source(m, plan, 0), &extent) ||
           covers(tly_pto_plan_source(m, plan, 1), &extent) ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_PARTS_COVER, plan->operation,
                               extent.valid_rows, extent.valid_columns, 0);
}

/* Elements of a row that a source has. */
static uint32_t reach(const tly_pto_tile *tile, uint32_t row, uint32_t column, uint32_t count) {
    if (row >= tile->valid_rows || column >= tile->valid_columns) {
        return 0;
    }
    uint32_t left = tile->valid_columns - column;
    return left < count ? left : count;
}

/* Stored elements, where there is a loop for the case. */
static bool partial_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    const tly_pto_tile *from[2] = {tly_pto_plan_source(m, plan, 0),
                                   tly_pto_plan_source(m, plan, 1)};
    const tly_pto_elements *in[2] = {tly_pto_plan_source_elements(m, plan, 0),
                                     tly_pto_plan_source_elements(m, plan, 1)};
    tly_pto_tile_binary op = (tly_pto_tile_binary)plan->row->variant;
    uint32_t dtype = tile->data_type, columns = tile->valid_columns;
    size_t width = tly_pto_dtype_bits(dtype) / 8;
    if (!tly_pto_stored_is_whole(in[0], from[0]) || !tly_pto_stored_is_whole(in[1], from[1]) ||
        !tly_pto_stored_binary(m, op, dtype, &(tly_pto_binary_rows){0}, &plan->flags)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = (uint8_t)tly_pto_stored_extension(dtype);
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        uint32_t have[2] = {reach(from[0], row, 0, columns), reach(from[1], row, 0, columns)};
        uint32_t longer = have[1] > have[0] ? 1 : 0, both = have[1 - longer];
        uint8_t *to = out->bytes + (size_t)row * tile->columns * width;
        const uint8_t *rest = in[longer]->bytes + (size_t)row * from[longer]->columns * width;
        const tly_pto_binary_rows rows = {.left = in[0]->bytes + row * from[0]->columns * width,
                                          .right = in[1]->bytes + row * from[1]->columns * width,
                                          .out = to,
                                          .num_rows = 1,
                                          .count = both};
        tly_pto_stored_binary(m, op, dtype, &rows, &plan->flags);
        memcpy(to + both * width, rest + both * width, (columns - both) * width);
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}

bool tly_pto_run_partial(tly_pto_machine *m, tly_pto_plan *plan) {
    if (partial_rows(m, plan)) {
        return true;
    }
    const tly_pto_tile *tile = &plan->results[0];
    const tly_pto_tile *left = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *right = tly_pto_plan_source(m, plan, 1);
    uint64_t a[LANES], b[LANES];
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column += LANES) {
            uint32_t count = (uint32_t)tile->valid_columns - column;
            count = count < LANES ? count : LANES;
            uint32_t of_left = reach(left, row, column, count);
            uint32_t of_right = reach(right, row, column, count);
            tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 0), left,
                                  row * left->columns + column, of_left, a);
            tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 1), right,
                                  row * right->columns + column, of_right, b);
            for (uint32_t i = 0; i < of_right; i++) {
                a[i] = i >= of_left
                           ? b[i]
                           : tly_pto_element_binary(m->profile,
                                                    (tly_pto_tile_binary)plan->row->variant,
                                                    tile->data_type, a[i], b[i], &plan->flags);
            }
            tly_pto_elements_write(out, tile, row * tile->columns + column, count, a);
        }
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}
