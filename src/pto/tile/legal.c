/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/legal.h"

#include "pto/tile/allocate.h"

enum { CHUNK = 256 };

bool tly_pto_local_capacity_legal(const tly_pto_machine *m, uint32_t bytes) {
    return bytes >= TLY_PTO_CELL_BYTES && bytes % TLY_PTO_CELL_BYTES == 0 &&
           bytes <= TLY_PTO_LOCAL_TILE_MAX && bytes <= m->core.base.tile_capacity;
}

bool tly_pto_tile_configured(const tly_pto_machine *m, const tly_pto_tile *tile) {
    if (!tile->allocated || !tly_pto_local_capacity_legal(m, tile->capacity_bytes) ||
        tile->valid_rows > tile->rows || tile->valid_columns > tile->columns) {
        return false;
    }
    if (tile->storage_kind == TLY_PTO_PREDICATE) {
        return tile->rows > 0 && tile->columns > 0 &&
               tly_pto_tile_bytes(tile) <= tile->capacity_bytes &&
               tly_pto_tile_elements(tile) <=
                   tly_pto_element_capacity(tile->capacity_bytes, tile->data_type);
    }
    uint32_t rows = tly_pto_derived_rows(tile->capacity_bytes, tile->columns, tile->data_type);
    return rows != 0 && rows == tile->rows;
}

bool tly_pto_tile_legal(const tly_pto_machine *m, const tly_pto_tile *tile) {
    return tly_pto_tile_configured(m, tile) &&
           (tile->storage_kind == TLY_PTO_PREDICATE || tly_pto_generic_indexing(tile));
}

bool tly_pto_find_legal(const tly_pto_machine *m, uint32_t index) {
    if (!tly_pto_tile_legal(m, &m->core.tiles[index])) {
        return false;
    }
    tly_pto_summed(m)->legal |= UINT64_C(1) << index;
    return true;
}

bool tly_pto_tile_defined(const tly_pto_machine *m, const tly_pto_tile *tile) {
    return tile->contents_defined && tly_pto_tile_legal(m, tile);
}

bool tly_pto_shapes_match(const tly_pto_tile *left, const tly_pto_tile *right) {
    return left->rows == right->rows && left->columns == right->columns &&
           left->valid_rows == right->valid_rows && left->valid_columns == right->valid_columns &&
           left->layout == right->layout;
}

bool tly_pto_shapes_and_types_match(const tly_pto_tile *left, const tly_pto_tile *right) {
    return tly_pto_shapes_match(left, right) && left->storage_kind == right->storage_kind &&
           left->data_type == right->data_type;
}

bool tly_pto_every_encoding_valid(uint32_t dtype) {
    return tly_pto_formats[dtype].low_zero_bits == 0 && tly_pto_formats[dtype].high_zero_bits == 0;
}

bool tly_pto_find_invalid_encoding(const tly_pto_tile *tile, const tly_pto_elements *elements,
                                   uint64_t *out_word) {
    uint64_t words[CHUNK];
    if (tly_pto_every_encoding_valid(tile->data_type)) {
        return false;
    }
    if (tile->layout != TLY_PTO_LAYOUT_ROW_MAJOR) {
        for (uint32_t row = 0; row < tile->valid_rows; row++) {
            for (uint32_t column = 0; column < tile->valid_columns; column++) {
                uint64_t word =
                    tly_pto_element_read(elements, tile, tly_pto_tile_index(tile, row, column));
                if (!tly_pto_encoding_valid(tile->data_type, word)) {
                    *out_word = word;
                    return true;
                }
            }
        }
        return false;
    }
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column += CHUNK) {
            uint32_t count = tile->valid_columns - column;
            count = count < CHUNK ? count : CHUNK;
            tly_pto_elements_read(elements, tile, row * tile->columns + column, count, words);
            for (uint32_t i = 0; i < count; i++) {
                if (!tly_pto_encoding_valid(tile->data_type, words[i])) {
                    *out_word = words[i];
                    return true;
                }
            }
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------------------ */

bool tly_pto_check_source_legal(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    if (tly_pto_local_legal(m, plan->sources[ordinal])) {
        return true;
    }
    if (!tile->allocated) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_FREE, plan->operation,
                                   plan->sources[ordinal], 0, 0);
    }
    return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_DESCRIPTOR, plan->operation,
                               plan->sources[ordinal], tile->layout, tile->capacity_bytes);
}

bool tly_pto_check_source_defined(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    if (!tly_pto_check_source_legal(m, plan, ordinal)) {
        return false;
    }
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    if (!tile->contents_defined) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_UNDEFINED, plan->operation,
                                   plan->sources[ordinal], tile->defined_valid_elements,
                                   (uint64_t)tile->valid_rows * tile->valid_columns);
    }
    return true;
}

bool tly_pto_check_source_encodings(const tly_pto_machine *m, tly_pto_plan *plan,
                                    uint32_t ordinal) {
    uint64_t word;
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    if (!tly_pto_check_source_defined(m, plan, ordinal)) {
        return false;
    }
    if (tly_pto_find_invalid_encoding(tile, tly_pto_plan_source_elements(m, plan, ordinal),
                                      &word)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_ENCODING, plan->operation,
                                   plan->sources[ordinal], word, tile->data_type);
    }
    return true;
}

bool tly_pto_check_source_numeric(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    return tly_pto_plan_source(m, plan, ordinal)->storage_kind == TLY_PTO_NUMERIC ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_PREDICATES, plan->operation,
                               plan->sources[ordinal], 0, 0);
}

bool tly_pto_check_source_predicate(const tly_pto_machine *m, tly_pto_plan *plan,
                                    uint32_t ordinal) {
    return tly_pto_plan_source(m, plan, ordinal)->storage_kind == TLY_PTO_PREDICATE ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_NUMBERS, plan->operation,
                               plan->sources[ordinal], 0, 0);
}

bool tly_pto_check_source_type(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal,
                               uint32_t dtype) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    return tile->data_type == dtype ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_TYPE, plan->operation,
                               plan->sources[ordinal], tile->data_type, dtype);
}

bool tly_pto_check_source_layout(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal,
                                 uint32_t layout) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    return tile->layout == layout ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_LAYOUT, plan->operation,
                               plan->sources[ordinal], tile->layout, layout);
}

bool tly_pto_check_type(tly_pto_plan *plan, uint32_t dtype, uint32_t types) {
    return tly_pto_dtype_in(dtype, types) ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_TYPE, plan->operation, dtype, 0, 0);
}

/* Says first where two tiles differ. */
static bool refuse_difference(tly_pto_plan *plan, const tly_pto_tile *left, uint32_t left_index,
                              const tly_pto_tile *right, uint32_t right_index) {
    if (left->valid_rows != right->valid_rows || left->valid_columns != right->valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_VALID_REGIONS_DIFFER, left->valid_rows,
                                   left->valid_columns, right->valid_rows, right->valid_columns);
    }
    if (left->rows != right->rows || left->columns != right->columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SHAPES_DIFFER, left->rows, left->columns,
                                   right->rows, right->columns);
    }
    if (left->layout != right->layout) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_LAYOUTS_DIFFER, left_index, left->layout,
                                   right_index, right->layout);
    }
    if (left->storage_kind != right->storage_kind) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_KINDS_DIFFER, left_index, right_index, 0,
                                   0);
    }
    return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_TYPES_DIFFER, left_index, left->data_type,
                               right_index, right->data_type);
}

bool tly_pto_check_sources_match(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t left,
                                 uint32_t right) {
    const tly_pto_tile *a = tly_pto_plan_source(m, plan, left);
    const tly_pto_tile *b = tly_pto_plan_source(m, plan, right);
    return tly_pto_shapes_and_types_match(a, b) ||
           refuse_difference(plan, a, plan->sources[left], b, plan->sources[right]);
}

/* A resolved descriptor of numbers has the shape that its capacity gives. */
static bool resolved_legal(const tly_pto_machine *m, const tly_pto_tile *tile) {
    return tile->storage_kind == TLY_PTO_NUMERIC
               ? tly_pto_local_capacity_legal(m, tile->capacity_bytes) &&
                     tly_pto_generic_indexing(tile)
               : tly_pto_tile_legal(m, tile);
}

bool tly_pto_check_result_legal(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t result) {
    const tly_pto_tile *tile = &plan->results[result];
    return resolved_legal(m, tile) ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_RESULT_FRACTALS, tile->layout, tile->rows,
                               tile->columns, tile->data_type);
}

bool tly_pto_check_result_matches(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t result,
                                  uint32_t source, bool and_type) {
    const tly_pto_tile *a = &plan->results[result];
    const tly_pto_tile *b = tly_pto_plan_source(m, plan, source);
    if (!tly_pto_check_source_legal(m, plan, source) ||
        !tly_pto_check_result_legal(m, plan, result)) {
        return false;
    }
    return (and_type ? tly_pto_shapes_and_types_match(a, b) : tly_pto_shapes_match(a, b)) ||
           refuse_difference(plan, a, plan->destinations[result], b, plan->sources[source]);
}
