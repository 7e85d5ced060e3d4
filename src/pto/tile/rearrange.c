/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that move elements and compute nothing (asl/tile/model/execution/rearrangement,
 * generation, indexed-rearrangement). Source and result may be stored in different layouts. */
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"

#define INDEX_TYPES                                                                                \
    (TLY_PTO_TYPE(TLY_PTO_S16) | TLY_PTO_TYPE(TLY_PTO_U16) | TLY_PTO_TYPE(TLY_PTO_S32) |           \
     TLY_PTO_TYPE(TLY_PTO_U32) | TLY_PTO_TYPE(TLY_PTO_S64) | TLY_PTO_TYPE(TLY_PTO_U64))

/* A corner of a region in a tile. */
typedef struct place {
    const tly_pto_tile *tile;
    const tly_pto_elements *elements;
    uint32_t row;
    uint32_t column;
} place;

static place source_place(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t ordinal,
                          uint32_t row, uint32_t column) {
    return (place){tly_pto_plan_source(m, plan, ordinal),
                   tly_pto_plan_source_elements(m, plan, ordinal), row, column};
}

/* Copies the words of a region. */
static void copy_region(tly_pto_elements *out, const tly_pto_tile *tile, uint32_t to_row,
                        uint32_t to_column, place from, uint32_t rows, uint32_t columns) {
    uint64_t words[TLY_PTO_LANES];
    bool by_rows =
        tile->layout == TLY_PTO_LAYOUT_ROW_MAJOR && from.tile->layout == TLY_PTO_LAYOUT_ROW_MAJOR;
    for (uint32_t row = 0; row < rows; row++) {
        if (!by_rows) {
            for (uint32_t column = 0; column < columns; column++) {
                uint32_t at = tly_pto_tile_index(from.tile, from.row + row, from.column + column);
                tly_pto_element_write(out, tile,
                                      tly_pto_tile_index(tile, to_row + row, to_column + column),
                                      tly_pto_element_read(from.elements, from.tile, at));
            }
            continue;
        }
        uint32_t at = (from.row + row) * from.tile->columns + from.column;
        uint32_t to = (to_row + row) * tile->columns + to_column;
        for (uint32_t done = 0; done < columns; done += TLY_PTO_LANES) {
            uint32_t count = columns - done < TLY_PTO_LANES ? columns - done : TLY_PTO_LANES;
            tly_pto_elements_read(from.elements, from.tile, at + done, count, words);
            tly_pto_elements_write(out, tile, to + done, count, words);
        }
    }
}

/* A source that is moved as it is: defined, and valid where its type is not just carried. */
static bool check_moved(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    if (!tly_pto_check_source_defined(m, plan, ordinal)) {
        return false;
    }
    if (!tly_pto_dtype_in(tile->data_type, TLY_PTO_TYPES_CARRIED) &&
        !tly_pto_check_source_encodings(m, plan, ordinal)) {
        return false;
    }
    return tly_pto_check_source_numeric(m, plan, ordinal) &&
           tly_pto_check_source_type(m, plan, ordinal, plan->results[0].data_type);
}

static bool check_moved_result(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t types) {
    return tly_pto_check_result_legal(m, plan, 0) &&
           tly_pto_check_type(plan, plan->results[0].data_type, types);
}

/* A region of `inner` at an offset must lie in the valid region of `outer`. */
static bool check_inside(tly_pto_plan *plan, const tly_pto_tile *inner, const tly_pto_tile *outer,
                         uint64_t row, uint64_t column) {
    if (row + inner->valid_rows > outer->valid_rows) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_ROWS_OUTSIDE, plan->operation, row,
                                   inner->valid_rows, outer->valid_rows);
    }
    return column + inner->valid_columns <= outer->valid_columns ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_COLUMNS_OUTSIDE, plan->operation, column,
                               inner->valid_columns, outer->valid_columns);
}

/* Offsets stand in LB0 (rows) and LB1 (columns); beyond 65535 they count as 0. */
static uint32_t offset_of(const tly_pto_machine *m, uint32_t dimension) {
    uint64_t offset = m->core.context.header.dimensions[dimension];
    return offset <= TLY_PTO_TILE_MAX_EXTENT ? (uint32_t)offset : 0;
}

/* ------------------------------------------------------------------------------------------ */

bool tly_pto_check_extract(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_moved_result(m, plan, TLY_PTO_TYPES_MOVED) && check_moved(m, plan, 0) &&
           check_inside(plan, &plan->results[0], tly_pto_plan_source(m, plan, 0), offset_of(m, 0),
                        offset_of(m, 1));
}

bool tly_pto_run_extract(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    copy_region(out, tile, 0, 0, source_place(m, plan, 0, offset_of(m, 0), offset_of(m, 1)),
                tile->valid_rows, tile->valid_columns);
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}

bool tly_pto_check_insert(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_moved_result(m, plan, TLY_PTO_TYPES_MOVED) && check_moved(m, plan, 0) &&
           check_moved(m, plan, 1) && tly_pto_check_result_matches(m, plan, 0, 0, true) &&
           check_inside(plan, tly_pto_plan_source(m, plan, 1), &plan->results[0], offset_of(m, 0),
                        offset_of(m, 1));
}

bool tly_pto_run_insert(tly_pto_machine *m, tly_pto_plan *plan) {
    tly_pto_tile *tile = &plan->results[0];
    const tly_pto_tile *old = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *patch = tly_pto_plan_source(m, plan, 1);
    tly_pto_elements *out = tly_pto_plan_result_elements(m, plan, 0);
    tly_pto_elements_copy(out, tly_pto_plan_source_elements(m, plan, 0), tile);
    copy_region(out, tile, offset_of(m, 0), offset_of(m, 1), source_place(m, plan, 1, 0, 0),
                patch->valid_rows, patch->valid_columns);
    tile->contents_defined = true;
    tile->defined_valid_elements = (uint32_t)old->valid_rows * old->valid_columns;
    return true;
}

bool tly_pto_check_transpose(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    if (!check_moved_result(m, plan, TLY_PTO_TYPES_MOVED) || !check_moved(m, plan, 0)) {
        return false;
    }
    return (to->valid_rows == from->valid_columns && to->valid_columns == from->valid_rows) ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_TRANSPOSE_SHAPE, to->valid_rows,
                               to->valid_columns, from->valid_rows, from->valid_columns);
}

bool tly_pto_run_transpose(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    uint64_t words[TLY_PTO_LANES];
    for (uint32_t row = 0; row < to->valid_rows; row++) {
        for (uint32_t column = 0; column < to->valid_columns; column += TLY_PTO_LANES) {
            uint32_t count = (uint32_t)to->valid_columns - column;
            count = count < TLY_PTO_LANES ? count : TLY_PTO_LANES;
            for (uint32_t i = 0; i < count; i++) {
                words[i] =
                    tly_pto_element_read(in, from, tly_pto_tile_index(from, column + i, row));
            }
            if (to->layout == TLY_PTO_LAYOUT_ROW_MAJOR) {
                tly_pto_elements_write(out, to, row * to->columns + column, count, words);
                continue;
            }
            for (uint32_t i = 0; i < count; i++) {
                tly_pto_element_write(out, to, tly_pto_tile_index(to, row, column + i), words[i]);
            }
        }
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}

bool tly_pto_check_concat(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0];
    const tly_pto_tile *left = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *right = tly_pto_plan_source(m, plan, 1);
    if (!check_moved_result(m, plan, TLY_PTO_TYPES_MOVED) || !check_moved(m, plan, 0) ||
        !check_moved(m, plan, 1)) {
        return false;
    }
    if (left->valid_rows == 0 || left->valid_rows != right->valid_rows ||
        to->valid_rows != left->valid_rows) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_CONCAT_ROWS, left->valid_rows,
                                   right->valid_rows, to->valid_rows, 0);
    }
    return to->valid_columns == (uint32_t)left->valid_columns + right->valid_columns ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_CONCAT_COLUMNS, left->valid_columns,
                               right->valid_columns, to->valid_columns, 0);
}

bool tly_pto_run_concat(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    const tly_pto_tile *left = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *right = tly_pto_plan_source(m, plan, 1);
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    copy_region(out, tile, 0, 0, source_place(m, plan, 0, 0, 0), left->valid_rows,
                left->valid_columns);
    copy_region(out, tile, 0, left->valid_columns, source_place(m, plan, 1, 0, 0),
                right->valid_rows, right->valid_columns);
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}

bool tly_pto_check_fill_pad(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    if (!check_moved_result(m, plan, TLY_PTO_TYPES_CARRIED) || !check_moved(m, plan, 0)) {
        return false;
    }
    if (to->rows < from->rows || to->columns < from->columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_FILL_SHAPE, to->rows, to->columns,
                                   from->rows, from->columns);
    }
    return (to->valid_rows >= from->valid_rows && to->valid_columns >= from->valid_columns) ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_FILL_REGION, to->valid_rows,
                               to->valid_columns, from->valid_rows, from->valid_columns);
}

bool tly_pto_run_fill_pad(tly_pto_machine *m, tly_pto_plan *plan) {
    tly_pto_tile *tile = &plan->results[0];
    const tly_pto_tile *from = tly_pto_plan_source(m, plan, 0);
    uint64_t words[TLY_PTO_LANES];
    tly_pto_elements *out = tly_pto_plan_result_elements(m, plan, 0);
    for (uint32_t i = 0; i < TLY_PTO_LANES; i++) {
        words[i] = tly_pto_raw(plan->scalar0, tile->data_type);
    }
    tly_pto_elements_clear(out);
    tly_pto_elements_overwrite(out, tile, TLY_PTO_BY_EITHER);
    /* every element gets the padding first, so the order of the layout does not matter */
    for (uint32_t done = 0; done < tly_pto_tile_elements(tile); done += TLY_PTO_LANES) {
        uint32_t left = tly_pto_tile_elements(tile) - done;
        tly_pto_elements_write(out, tile, done, left < TLY_PTO_LANES ? left : TLY_PTO_LANES, words);
    }
    copy_region(out, tile, 0, 0, source_place(m, plan, 0, 0, 0), from->valid_rows,
                from->valid_columns);
    out->defined = TLY_PTO_DEFINED_ALL;
    tly_pto_result_defined(tile);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

/* Row that an index names; negative ones are larger than any. */
static uint64_t row_of(uint64_t word, uint32_t dtype) {
    return tly_pto_canonical(word, dtype);
}

static uint64_t index_at(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t row,
                         uint32_t column) {
    const tly_pto_tile *indices = tly_pto_plan_source(m, plan, 1);
    uint64_t word = tly_pto_element_read(tly_pto_plan_source_elements(m, plan, 1), indices,
                                         tly_pto_tile_index(indices, row, column));
    return row_of(word, indices->data_type);
}

static bool check_indices(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *indices = tly_pto_plan_source(m, plan, 1);
    return tly_pto_check_source_encodings(m, plan, 1) && tly_pto_check_source_numeric(m, plan, 1) &&
           (tly_pto_dtype_in(indices->data_type, INDEX_TYPES) ||
            tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_INDEX_TYPE, plan->operation,
                                plan->sources[1], indices->data_type, 0));
}

static bool refuse_index(tly_pto_plan *plan, uint32_t row, uint32_t column, uint64_t index,
                         uint32_t rows) {
    return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_INDEX_RANGE, row, column, index, rows);
}

/* Types that are moved one by one: bytes at least. */
#define INDEXED_TYPES (TLY_PTO_TYPES_ALL & ~TLY_PTO_TYPES_FOUR_BIT)

bool tly_pto_check_gather_rows(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0];
    const tly_pto_tile *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *indices = tly_pto_plan_source(m, plan, 1);
    if (!check_moved_result(m, plan, INDEXED_TYPES) || !tly_pto_check_source_legal(m, plan, 0) ||
        !tly_pto_check_source_numeric(m, plan, 0) ||
        !tly_pto_check_source_type(m, plan, 0, to->data_type) || !check_indices(m, plan)) {
        return false;
    }
    if (to->valid_rows != indices->valid_rows || to->valid_columns != indices->valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_VALID_REGIONS_DIFFER, to->valid_rows,
                                   to->valid_columns, indices->valid_rows, indices->valid_columns);
    }
    if (from->valid_columns < to->valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_COLUMNS_OUTSIDE, plan->operation, 0,
                                   to->valid_columns, from->valid_columns);
    }
    for (uint32_t row = 0; row < indices->valid_rows; row++) {
        for (uint32_t column = 0; column < indices->valid_columns; column++) {
            uint64_t index = index_at(m, plan, row, column);
            if (index >= from->valid_rows) {
                return refuse_index(plan, row, column, index, from->valid_rows);
            }
            if (!tly_pto_element_is_defined(tly_pto_plan_source_elements(m, plan, 0), from,
                                            tly_pto_tile_index(from, (uint32_t)index, column))) {
                return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_GATHER_UNDEFINED, index, column,
                                           plan->sources[0], 0);
            }
        }
    }
    return true;
}

bool tly_pto_run_gather_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0];
    const tly_pto_tile *from = tly_pto_plan_source(m, plan, 0);
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    for (uint32_t row = 0; row < to->valid_rows; row++) {
        for (uint32_t column = 0; column < to->valid_columns; column++) {
            uint32_t index = (uint32_t)index_at(m, plan, row, column);
            uint64_t word = tly_pto_element_read(tly_pto_plan_source_elements(m, plan, 0), from,
                                                 tly_pto_tile_index(from, index, column));
            tly_pto_element_write(out, to, tly_pto_tile_index(to, row, column), word);
        }
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}

/* Whether two rows of a column go to one place; the result's own map, which is nobody's before the
 * run, remembers the places taken. */
static bool check_places(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0], *indices = tly_pto_plan_source(m, plan, 1);
    uint64_t *taken = tly_pto_plan_result_elements(m, plan, 0)->map;
    for (uint32_t i = 0; i < (tly_pto_tile_elements(to) + 63) / 64; i++) {
        taken[i] = 0;
    }
    for (uint32_t row = 0; row < indices->valid_rows; row++) {
        for (uint32_t column = 0; column < indices->valid_columns; column++) {
            uint64_t index = index_at(m, plan, row, column);
            if (index >= to->valid_rows) {
                return refuse_index(plan, row, column, index, to->valid_rows);
            }
            uint32_t at = tly_pto_tile_index(to, (uint32_t)index, column);
            if ((taken[at / 64] >> at % 64 & 1) != 0) {
                return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SCATTER_TWICE, index, column, 0,
                                           0);
            }
            taken[at / 64] |= UINT64_C(1) << at % 64;
        }
    }
    return true;
}

bool tly_pto_check_scatter_rows(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0];
    const tly_pto_tile *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *indices = tly_pto_plan_source(m, plan, 1);
    if (!check_moved_result(m, plan, INDEXED_TYPES) || !tly_pto_check_source_defined(m, plan, 0) ||
        !tly_pto_check_source_numeric(m, plan, 0) ||
        !tly_pto_check_source_type(m, plan, 0, to->data_type) || !check_indices(m, plan)) {
        return false;
    }
    if (from->valid_rows != indices->valid_rows || from->valid_columns != indices->valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_VALID_REGIONS_DIFFER, from->valid_rows,
                                   from->valid_columns, indices->valid_rows,
                                   indices->valid_columns);
    }
    if (to->valid_columns != from->valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SCATTER_COLUMNS, to->valid_columns,
                                   from->valid_columns, 0, 0);
    }
    return check_places(m, plan);
}

bool tly_pto_run_scatter_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    tly_pto_tile *to = &plan->results[0];
    const tly_pto_tile *from = tly_pto_plan_source(m, plan, 0);
    tly_pto_elements *out = tly_pto_plan_result_elements(m, plan, 0);
    tly_pto_elements_clear(out);
    tly_pto_elements_prepare(out, to);
    for (uint32_t row = 0; row < from->valid_rows; row++) {
        for (uint32_t column = 0; column < from->valid_columns; column++) {
            uint32_t index = (uint32_t)index_at(m, plan, row, column);
            uint64_t word = tly_pto_element_read(tly_pto_plan_source_elements(m, plan, 0), from,
                                                 tly_pto_tile_index(from, row, column));
            tly_pto_element_write(out, to, tly_pto_tile_index(to, index, column), word);
        }
    }
    out->defined = TLY_PTO_DEFINED_ALL;
    tly_pto_result_defined(to);
    return true;
}
