/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that give an element of the result for each element of their sources
 * (asl/tile/model/execution/elementwise, unary, fused-multiply-add). */
#include "base/bytes.h"
#include "pto/profile/element.h"
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"
#include "pto/tile/stored.h"

enum { LANES = TLY_PTO_LANES, ROW_MAJOR = TLY_PTO_LAYOUT_ROW_MAJOR };

/* Bytes of an element where it has whole ones. */
static size_t width_of(uint32_t dtype) {
    return tly_pto_dtype_bits(dtype) / 8;
}

static bool divides(uint32_t op) {
    return op == TLY_PTO_TILE_DIV || op == TLY_PTO_TILE_REM;
}

static bool orders(uint32_t op) {
    return op == TLY_PTO_TILE_MIN || op == TLY_PTO_TILE_MAX;
}

static bool logical(uint32_t op) {
    return op == TLY_PTO_TILE_AND || op == TLY_PTO_TILE_OR || op == TLY_PTO_TILE_XOR;
}

static uint32_t types_of(uint32_t op) {
    return logical(op) || op == TLY_PTO_TILE_SHL || op == TLY_PTO_TILE_SHR
               ? TLY_PTO_TYPES_BYTE_INTEGER
               : TLY_PTO_TYPES_ARITHMETIC;
}

/* How the words of an integer result extend its bits: sums and extremes by their sign, bit patterns
 * by zeros. */
static uint32_t extension_of(uint32_t op, uint32_t dtype) {
    bool pattern = logical(op) || op == TLY_PTO_TILE_SHL || op == TLY_PTO_TILE_SHR;
    return tly_pto_dtype_is_signed(dtype) && !pattern ? TLY_PTO_BY_SIGN : TLY_PTO_BY_ZEROS;
}

/* Whether an element of an integer tile's valid region is zero. */
static bool has_zero(const tly_pto_tile *tile, const tly_pto_elements *e) {
    uint64_t words[LANES];
    uint32_t first, count;
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, LANES, &first, &count)) {
        bool zero = false;
        tly_pto_elements_read(e, tile, first, count, words);
        for (uint32_t i = 0; i < count; i++) {
            zero |= words[i] == 0;
        }
        if (zero) {
            return true;
        }
    }
    return false;
}

/* ------------------------------------------------------------------------------------------ */

bool tly_pto_check_binary(const tly_pto_machine *m, tly_pto_plan *plan) {
    uint32_t op = plan->row->variant;
    if (!tly_pto_check_source_defined(m, plan, 0) || !tly_pto_check_source_defined(m, plan, 1) ||
        !tly_pto_check_sources_match(m, plan, 0, 1) ||
        !tly_pto_check_result_matches(m, plan, 0, 0, true)) {
        return false;
    }
    uint32_t dtype = plan->results[0].data_type;
    if (!tly_pto_check_type(plan, dtype, types_of(op)) ||
        !tly_pto_check_source_layout(m, plan, 0, ROW_MAJOR)) {
        return false;
    }
    if (orders(op) && tly_pto_dtype_is_floating(dtype) &&
        (!tly_pto_check_source_encodings(m, plan, 0) ||
         !tly_pto_check_source_encodings(m, plan, 1))) {
        return false;
    }
    if (divides(op) && tly_pto_dtype_is_integer(dtype) &&
        has_zero(tly_pto_plan_source(m, plan, 1), tly_pto_plan_source_elements(m, plan, 1))) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DIVISOR_ZERO, plan->operation,
                                   plan->sources[1], 0, 0);
    }
    return true;
}

/* Stored elements, run by run, where there is a loop for the case. */
static bool run_binary_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    const tly_pto_elements *left = tly_pto_plan_source_elements(m, plan, 0);
    const tly_pto_elements *right = tly_pto_plan_source_elements(m, plan, 1);
    tly_pto_tile_binary op = (tly_pto_tile_binary)plan->row->variant;
    uint32_t first, count;
    size_t width = width_of(tile->data_type);
    if (!tly_pto_stored_is_read(left, tile->data_type) ||
        !tly_pto_stored_is_read(right, tile->data_type) ||
        !tly_pto_stored_binary(m, op, tile->data_type, &(tly_pto_binary_rows){0}, NULL)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = (uint8_t)extension_of(op, tile->data_type);
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, UINT32_MAX, &first, &count)) {
        size_t at = first * width;
        const tly_pto_binary_rows rows = {.left = left->bytes + at,
                                          .right = right->bytes + at,
                                          .out = out->bytes + at,
                                          .num_rows = 1,
                                          .count = count};
        tly_pto_stored_binary(m, op, tile->data_type, &rows, NULL);
    }
    return true;
}

static void run_binary_words(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    uint64_t left[LANES], right[LANES];
    uint32_t first, count;
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, LANES, &first, &count)) {
        tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 0), tile, first, count, left);
        tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 1), tile, first, count, right);
        for (uint32_t i = 0; i < count; i++) {
            left[i] = tly_pto_element_binary(m->profile, (tly_pto_tile_binary)plan->row->variant,
                                             tile->data_type, left[i], right[i], &plan->flags);
        }
        tly_pto_elements_write(out, tile, first, count, left);
    }
}

bool tly_pto_run_binary(tly_pto_machine *m, tly_pto_plan *plan) {
    if (!run_binary_rows(m, plan)) {
        run_binary_words(m, plan);
    }
    /* the reference keeps no status flags of two-tile operations */
    plan->flags = 0;
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

/* What all operations with a scalar ask of their source (SelectedBundleTileScalarSourceLegal). */
bool tly_pto_check_scalar_source(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    return tly_pto_check_source_legal(m, plan, ordinal) &&
           tly_pto_check_source_numeric(m, plan, ordinal) &&
           tly_pto_check_source_type(m, plan, ordinal, plan->data_type) &&
           tly_pto_check_source_layout(m, plan, ordinal, ROW_MAJOR) &&
           tly_pto_check_source_encodings(m, plan, ordinal) &&
           tly_pto_check_source_extent(m, plan, ordinal);
}

bool tly_pto_check_scalar_value(tly_pto_plan *plan, uint32_t dtype) {
    uint64_t scalar = tly_pto_raw(plan->scalar0, dtype);
    return tly_pto_encoding_valid(dtype, scalar) ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SCALAR_ENCODING, plan->operation, scalar,
                               dtype, 0);
}

bool tly_pto_schema_scalar(const tly_pto_machine *m, tly_pto_plan *plan) {
    if (!tly_pto_check_scalar_source(m, plan, 0) ||
        !tly_pto_check_scalar_value(plan, plan->data_type)) {
        return false;
    }
    if (divides(plan->row->variant) && tly_pto_dtype_is_integer(plan->data_type) &&
        tly_pto_raw(plan->scalar0, plan->data_type) == 0) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SCALAR_ZERO, plan->operation, 0, 0, 0);
    }
    return true;
}

bool tly_pto_check_scalar(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_result_matches(m, plan, 0, 0, true);
}

/* As for two tiles; these raise flags. */
static bool run_scalar_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0], *source = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *left = tly_pto_plan_source_elements(m, plan, 0);
    tly_pto_tile_binary op = (tly_pto_tile_binary)plan->row->variant;
    uint64_t scalar = TLY_BASE_LE64(tly_pto_raw(plan->scalar0, tile->data_type));
    size_t width = width_of(tile->data_type);
    if (!tly_pto_stored_is_read(left, tile->data_type) ||
        !tly_pto_stored_binary(m, op, tile->data_type, &(tly_pto_binary_rows){0}, &plan->flags)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = (uint8_t)extension_of(op, tile->data_type);
    const tly_pto_binary_rows rows = {.left = left->bytes,
                                      .right = &scalar,
                                      .out = out->bytes,
                                      .left_stride = source->columns * width,
                                      .out_stride = tile->columns * width,
                                      .num_rows = tile->valid_rows,
                                      .count = tile->valid_columns,
                                      .broadcast = true};
    tly_pto_stored_binary(m, op, tile->data_type, &rows, &plan->flags);
    return true;
}

bool tly_pto_run_scalar(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    if (!run_scalar_rows(m, plan)) {
        uint64_t words[LANES], scalar = tly_pto_raw(plan->scalar0, tile->data_type);
        uint32_t first, count;
        tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
        tly_pto_walk walk = tly_pto_walk_rows(tile);
        while (tly_pto_walk_next(&walk, LANES, &first, &count)) {
            tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 0), tile, first, count,
                                  words);
            for (uint32_t i = 0; i < count; i++) {
                words[i] =
                    tly_pto_element_binary(m->profile, (tly_pto_tile_binary)plan->row->variant,
                                           tile->data_type, words[i], scalar, &plan->flags);
            }
            tly_pto_elements_write(out, tile, first, count, words);
        }
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

bool tly_pto_run_fill(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    uint64_t words[LANES], scalar = tly_pto_raw(plan->scalar0, tile->data_type);
    uint32_t first, count;
    for (uint32_t i = 0; i < LANES; i++) {
        words[i] = scalar;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, LANES, &first, &count)) {
        tly_pto_elements_write(out, tile, first, count, words);
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

static uint32_t unary_types(uint32_t op) {
    return op == TLY_PTO_TILE_NOT   ? TLY_PTO_TYPES_BYTE_INTEGER
           : op < TLY_PTO_TILE_SQRT ? TLY_PTO_TYPES_ARITHMETIC
                                    : TLY_PTO_TYPES_ORDERED_FLOATING;
}

bool tly_pto_check_unary(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_source_defined(m, plan, 0) &&
           tly_pto_check_result_matches(m, plan, 0, 0, true) &&
           tly_pto_check_type(plan, plan->results[0].data_type, unary_types(plan->row->variant)) &&
           tly_pto_check_source_layout(m, plan, 0, ROW_MAJOR) &&
           tly_pto_check_source_encodings(m, plan, 0);
}

static bool run_unary_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    const tly_pto_elements *value = tly_pto_plan_source_elements(m, plan, 0);
    tly_pto_tile_unary op = (tly_pto_tile_unary)plan->row->variant;
    uint32_t first, count;
    size_t width = width_of(tile->data_type);
    if (!tly_pto_stored_is_read(value, tile->data_type) ||
        !tly_pto_stored_unary(m, op, tile->data_type, value->bytes, NULL, 0, &plan->flags)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = TLY_PTO_BY_ZEROS;
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, UINT32_MAX, &first, &count)) {
        size_t at = first * width;
        tly_pto_stored_unary(m, op, tile->data_type, value->bytes + at, out->bytes + at, count,
                             &plan->flags);
    }
    return true;
}

bool tly_pto_run_unary(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    if (!run_unary_rows(m, plan)) {
        uint64_t words[LANES];
        uint32_t first, count;
        tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
        tly_pto_walk walk = tly_pto_walk_rows(tile);
        while (tly_pto_walk_next(&walk, LANES, &first, &count)) {
            tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 0), tile, first, count,
                                  words);
            for (uint32_t i = 0; i < count; i++) {
                words[i] = tly_pto_element_unary(m->profile, (tly_pto_tile_unary)plan->row->variant,
                                                 tile->data_type, words[i], &plan->flags);
            }
            tly_pto_elements_write(out, tile, first, count, words);
        }
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

bool tly_pto_check_fma(const tly_pto_machine *m, tly_pto_plan *plan) {
    for (uint32_t i = 0; i < plan->num_sources; i++) {
        if (!tly_pto_check_source_defined(m, plan, i) ||
            !tly_pto_check_result_matches(m, plan, 0, i, false) ||
            !tly_pto_check_source_type(m, plan, i, plan->results[0].data_type) ||
            (tly_pto_dtype_is_floating(plan->results[0].data_type) &&
             !tly_pto_check_source_encodings(m, plan, i))) {
            return false;
        }
    }
    return true;
}

static bool run_fused_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    const tly_pto_elements *from[3];
    uint32_t first, count;
    size_t width = width_of(tile->data_type);
    for (uint32_t i = 0; i < 3; i++) {
        from[i] = tly_pto_plan_source_elements(m, plan, i);
        if (!tly_pto_stored_is_read(from[i], tile->data_type)) {
            return false;
        }
    }
    if (!tly_pto_stored_fused(m, tile->data_type, &(tly_pto_fused_row){0}, &plan->flags)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = TLY_PTO_BY_ZEROS;
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, UINT32_MAX, &first, &count)) {
        size_t at = first * width;
        const tly_pto_fused_row row = {from[0]->bytes + at, from[1]->bytes + at,
                                       from[2]->bytes + at, out->bytes + at, count};
        tly_pto_stored_fused(m, tile->data_type, &row, &plan->flags);
    }
    return true;
}

static void run_fused_words(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    uint64_t left[LANES], right[LANES], addend[LANES];
    uint32_t first, count;
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, LANES, &first, &count)) {
        tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 0), tile, first, count, left);
        tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 1), tile, first, count, right);
        tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 2), tile, first, count, addend);
        for (uint32_t i = 0; i < count; i++) {
            left[i] = tly_pto_element_fused(m->profile, tile->data_type, left[i], right[i],
                                            addend[i], &plan->flags);
        }
        tly_pto_elements_write(out, tile, first, count, left);
    }
}

bool tly_pto_run_fma(tly_pto_machine *m, tly_pto_plan *plan) {
    if (!run_fused_rows(m, plan)) {
        run_fused_words(m, plan);
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}
