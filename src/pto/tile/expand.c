/* SPDX-License-Identifier: Apache-2.0 */
/* Combination of a tile with a column or a row of another one, element for element
 * (asl/tile/model/execution/expansion). */
#include "base/bytes.h"
#include "pto/profile/element.h"
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"
#include "pto/tile/stored.h"

enum { LANES = TLY_PTO_LANES, ROW_MAJOR = TLY_PTO_LAYOUT_ROW_MAJOR };

static tly_pto_expand operation_of(const tly_pto_plan *plan) {
    return (tly_pto_expand)(plan->row->variant & ~TLY_PTO_BY_COLUMN);
}

static bool by_column(const tly_pto_plan *plan) {
    return (plan->row->variant & TLY_PTO_BY_COLUMN) != 0;
}

/* The broadcast is the last source. */
static uint32_t broadcast_of(const tly_pto_plan *plan) {
    return operation_of(plan) == TLY_PTO_EXPAND_COPY ? 0 : 1;
}

static bool exponential_types_legal(uint32_t from, uint32_t to) {
    return (from == TLY_PTO_FP32 || from == TLY_PTO_FP16 || from == TLY_PTO_BF16) &&
           (to == from || to == TLY_PTO_FP32);
}

/* The result's type: that of B.DATR, where that is given and says one. */
static bool check_exponential_types(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    uint32_t to = header->data_attributes_present && header->data.data_type != TLY_PTO_DTYPE_NONE
                      ? header->data.data_type
                      : plan->data_type;
    return exponential_types_legal(plan->data_type, to) ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_EXPONENTIAL_TYPES, plan->operation,
                               plan->data_type, to, 0);
}

static bool check_broadcast_extent(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    tly_pto_extent extent = tly_pto_header_extent(&m->core.context.header);
    uint32_t rows = by_column(plan) ? 1 : extent.valid_rows;
    uint32_t valid_columns = by_column(plan) ? extent.valid_columns : 1;
    uint32_t columns = by_column(plan) ? extent.columns : 1;
    if (tile->valid_rows != rows || tile->valid_columns != valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_REGION, tile->valid_rows,
                                   tile->valid_columns, rows, valid_columns);
    }
    return tile->columns == columns ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_COLUMNS, plan->operation,
                               plan->sources[ordinal], tile->columns, columns);
}

static bool check_operand(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    return tly_pto_check_source_legal(m, plan, ordinal) &&
           tly_pto_check_source_numeric(m, plan, ordinal) &&
           tly_pto_check_source_type(m, plan, ordinal, plan->data_type) &&
           tly_pto_check_source_layout(m, plan, ordinal, ROW_MAJOR) &&
           tly_pto_check_source_encodings(m, plan, ordinal);
}

static bool broadcast_has_zero(const tly_pto_machine *m, const tly_pto_plan *plan) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, 1);
    const tly_pto_elements *e = tly_pto_plan_source_elements(m, plan, 1);
    uint32_t count = by_column(plan) ? tile->valid_columns : tile->valid_rows;
    for (uint32_t i = 0; i < count; i++) {
        if (tly_pto_element_read(e, tile, i) == 0) {
            return true;
        }
    }
    return false;
}

bool tly_pto_schema_expand(const tly_pto_machine *m, tly_pto_plan *plan) {
    tly_pto_expand op = operation_of(plan);
    uint32_t broadcast = broadcast_of(plan);
    if (op == TLY_PTO_EXPAND_EXPDIF && !check_exponential_types(m, plan)) {
        return false;
    }
    if (!check_operand(m, plan, broadcast) || !check_broadcast_extent(m, plan, broadcast)) {
        return false;
    }
    if (op == TLY_PTO_EXPAND_COPY) {
        return true;
    }
    if (!check_operand(m, plan, 0) || !tly_pto_check_source_extent(m, plan, 0)) {
        return false;
    }
    if (op == TLY_PTO_EXPAND_DIV && tly_pto_dtype_is_integer(plan->data_type) &&
        broadcast_has_zero(m, plan)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DIVISOR_ZERO, plan->operation,
                                   plan->sources[1], 0, 0);
    }
    return true;
}

/* B.DATR, which is needed for a pad value, makes the result's type FP64. */
bool tly_pto_check_expand(const tly_pto_machine *m, tly_pto_plan *plan) {
    switch (operation_of(plan)) {
    case TLY_PTO_EXPAND_COPY:
        return tly_pto_check_source_type(m, plan, 0, plan->results[0].data_type);
    case TLY_PTO_EXPAND_EXPDIF:
        return tly_pto_check_result_matches(m, plan, 0, 0, false);
    default:
        return tly_pto_check_result_matches(m, plan, 0, 0, true);
    }
}

/* Rows of stored elements, where there are loops for the case. */
static bool expand_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    static const uint8_t operations[] = {
        [TLY_PTO_EXPAND_ADD] = TLY_PTO_TILE_ADD,   [TLY_PTO_EXPAND_SUB] = TLY_PTO_TILE_SUB,
        [TLY_PTO_EXPAND_MUL] = TLY_PTO_TILE_MUL,   [TLY_PTO_EXPAND_DIV] = TLY_PTO_TILE_DIV,
        [TLY_PTO_EXPAND_MAX] = TLY_PTO_TILE_MAX,   [TLY_PTO_EXPAND_MIN] = TLY_PTO_TILE_MIN,
        [TLY_PTO_EXPAND_EXPDIF] = TLY_PTO_TILE_SUB};
    const tly_pto_tile *tile = &plan->results[0], *source = tly_pto_plan_source(m, plan, 0);
    tly_pto_expand op = operation_of(plan);
    uint32_t dtype = tile->data_type, width = tly_pto_dtype_bits(dtype) / 8;
    bool exponential = op == TLY_PTO_EXPAND_EXPDIF;
    if (op == TLY_PTO_EXPAND_COPY || source->data_type != dtype ||
        !tly_pto_stored_binary(m, (tly_pto_tile_binary)operations[op], dtype,
                               &(tly_pto_binary_rows){0}, &plan->flags) ||
        (exponential &&
         !tly_pto_stored_unary(m, TLY_PTO_TILE_EXP, dtype, NULL, NULL, 0, &plan->flags))) {
        return false;
    }
    const tly_pto_tile *broadcast = tly_pto_plan_source(m, plan, 1);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    const tly_pto_elements *other = tly_pto_plan_source_elements(m, plan, 1);
    if (!tly_pto_stored_is_read(in, dtype) || !tly_pto_stored_is_read(other, dtype)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = (uint8_t)tly_pto_stored_extension(dtype);
    const tly_pto_binary_rows rows = {.left = in->bytes,
                                      .right = other->bytes,
                                      .out = out->bytes,
                                      .left_stride = (size_t)source->columns * width,
                                      .right_stride =
                                          by_column(plan) ? 0 : (size_t)broadcast->columns * width,
                                      .out_stride = (size_t)tile->columns * width,
                                      .num_rows = tile->valid_rows,
                                      .count = tile->valid_columns,
                                      .broadcast = !by_column(plan)};
    tly_pto_stored_binary(m, (tly_pto_tile_binary)operations[op], dtype, &rows, &plan->flags);
    if (exponential) {
        uint32_t first, count;
        tly_pto_walk walk = tly_pto_walk_rows(tile);
        while (tly_pto_walk_next(&walk, UINT32_MAX, &first, &count)) {
            uint8_t *row = out->bytes + (size_t)first * width;
            tly_pto_stored_unary(m, TLY_PTO_TILE_EXP, dtype, row, row, count, &plan->flags);
        }
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}

/* Words of FP16 or BF16 as numbers of FP32, stored. */
static void widen(uint32_t from, const uint64_t *words, uint32_t count, uint32_t *out) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t wide =
            from == TLY_PTO_FP16 ? tly_pto_widen_fp16(words[i]) : tly_pto_widen_bf16(words[i]);
        out[i] = TLY_BASE_LE32((uint32_t)wide);
    }
}

/* Exponentials in FP32 of differences of narrower numbers, for a profile with rows of both. */
static bool mixed_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0], *source = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *broadcast = tly_pto_plan_source(m, plan, 1);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    const tly_pto_elements *other = tly_pto_plan_source_elements(m, plan, 1);
    uint32_t dtype = tile->data_type, from = source->data_type;
    if (operation_of(plan) != TLY_PTO_EXPAND_EXPDIF || from == dtype ||
        !tly_pto_stored_binary(m, TLY_PTO_TILE_SUB, dtype, &(tly_pto_binary_rows){0},
                               &plan->flags) ||
        !tly_pto_stored_unary(m, TLY_PTO_TILE_EXP, dtype, NULL, NULL, 0, &plan->flags)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = TLY_PTO_BY_ZEROS;
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column += LANES) {
            uint32_t left[LANES], right[LANES], count = (uint32_t)tile->valid_columns - column;
            uint64_t words[LANES];
            count = count < LANES ? count : LANES;
            tly_pto_elements_read(in, source, row * source->columns + column, count, words);
            widen(from, words, count, left);
            if (by_column(plan)) {
                tly_pto_elements_read(other, broadcast, column, count, words);
            } else {
                words[0] = tly_pto_element_read(other, broadcast, row * broadcast->columns);
            }
            widen(from, words, by_column(plan) ? count : 1, right);
            uint8_t *to = out->bytes + ((size_t)row * tile->columns + column) * sizeof left[0];
            const tly_pto_binary_rows rows = {.left = left,
                                              .right = right,
                                              .out = to,
                                              .num_rows = 1,
                                              .count = count,
                                              .broadcast = !by_column(plan)};
            tly_pto_stored_binary(m, TLY_PTO_TILE_SUB, dtype, &rows, &plan->flags);
            tly_pto_stored_unary(m, TLY_PTO_TILE_EXP, dtype, to, to, count, &plan->flags);
        }
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}

bool tly_pto_run_expand(tly_pto_machine *m, tly_pto_plan *plan) {
    if (expand_rows(m, plan) || mixed_rows(m, plan)) {
        return true;
    }
    const tly_pto_tile *tile = &plan->results[0], *source = tly_pto_plan_source(m, plan, 0);
    uint32_t ordinal = broadcast_of(plan);
    const tly_pto_tile *broadcast = tly_pto_plan_source(m, plan, ordinal);
    const tly_pto_elements *broadcast_elements = tly_pto_plan_source_elements(m, plan, ordinal);
    uint64_t left[LANES], right[LANES];
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column += LANES) {
            uint32_t count = (uint32_t)tile->valid_columns - column;
            count = count < LANES ? count : LANES;
            if (by_column(plan)) {
                tly_pto_elements_read(broadcast_elements, broadcast, column, count, right);
            } else {
                uint64_t word = tly_pto_element_read(broadcast_elements, broadcast, row);
                for (uint32_t i = 0; i < count; i++) {
                    right[i] = word;
                }
            }
            if (ordinal != 0) {
                tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 0), source,
                                      row * source->columns + column, count, left);
                for (uint32_t i = 0; i < count; i++) {
                    right[i] =
                        tly_pto_element_expand(m->profile, operation_of(plan), source->data_type,
                                               tile->data_type, left[i], right[i], &plan->flags);
                }
            }
            tly_pto_elements_write(out, tile, row * tile->columns + column, count, right);
        }
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}
