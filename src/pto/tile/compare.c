/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison into predicates, and selection by them (asl/tile/model/execution/comparison). */
#include "base/bytes.h"
#include "pto/profile/element.h"
#include "pto/profile/order_rows.h"
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"
#include "pto/tile/stored.h"

enum { LANES = TLY_PTO_LANES, ROW_MAJOR = TLY_PTO_LAYOUT_ROW_MAJOR, NUM_COMPARISONS = 6 };

/* Orders of the comparison field of B.DATR. */
static tly_pto_comparison comparison_of(const tly_pto_machine *m) {
    static const tly_pto_comparison codes[NUM_COMPARISONS] = {
        TLY_PTO_COMPARE_EQ, TLY_PTO_COMPARE_NE, TLY_PTO_COMPARE_LT,
        TLY_PTO_COMPARE_GT, TLY_PTO_COMPARE_LE, TLY_PTO_COMPARE_GE};
    return codes[m->core.context.header.data.comparison_mode];
}

static bool check_comparison(const tly_pto_machine *m, tly_pto_plan *plan) {
    uint32_t code = m->core.context.header.data.comparison_mode;
    return code < NUM_COMPARISONS ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_COMPARISON, plan->operation, code, 0, 0);
}

bool tly_pto_schema_compare(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_comparison(m, plan) && tly_pto_check_source_encodings(m, plan, 0) &&
           tly_pto_check_source_encodings(m, plan, 1) &&
           tly_pto_check_sources_match(m, plan, 0, 1) && tly_pto_check_source_numeric(m, plan, 0) &&
           tly_pto_check_source_type(m, plan, 0, plan->data_type) &&
           tly_pto_check_source_layout(m, plan, 0, ROW_MAJOR) &&
           tly_pto_check_source_extent(m, plan, 0);
}

bool tly_pto_schema_compare_scalar(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_comparison(m, plan) && tly_pto_check_scalar_source(m, plan, 0) &&
           tly_pto_check_scalar_value(plan, plan->data_type);
}

bool tly_pto_check_compare(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_result_matches(m, plan, 0, 0, false);
}

bool tly_pto_check_compare_scalar(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_result_matches(m, plan, 0, 0, false);
}

/* Predicates of the padding: as the pad code says, the smallest is false. */
static void pad_predicates(tly_pto_elements *e, const tly_pto_tile *tile, uint32_t pad) {
    e->defined = TLY_PTO_DEFINED_VALID;
    if (pad == TLY_PTO_PAD_NULL) {
        return;
    }
    e->defined = TLY_PTO_DEFINED_ALL;
    for (uint32_t row = 0; pad == TLY_PTO_PAD_MAX && row < tile->rows; row++) {
        uint32_t column = row < tile->valid_rows ? tile->valid_columns : 0;
        for (; column < tile->columns; column++) {
            tly_pto_predicate_write(e, tile, row * tile->columns + column, true);
        }
    }
}

/* Bit i of the result: whether byte i of `orders` has a bit of `holds`. */
static void put_predicates(uint8_t *out, uint32_t first, const uint8_t *orders, uint32_t count,
                           uint32_t holds) {
    uint32_t i = 0;
    if (first % 8 == 0) {
        for (; i + 8 <= count; i += 8) {
            uint32_t byte = 0;
            for (uint32_t k = 0; k < 8; k++) {
                byte |= (uint32_t)((orders[i + k] & holds) != 0) << k;
            }
            out[(first + i) / 8] = (uint8_t)byte;
        }
    }
    for (; i < count; i++) {
        uint32_t at = first + i;
        out[at / 8] |= (uint8_t)((uint32_t)((orders[i] & holds) != 0) << at % 8);
    }
}

/* Stored elements, where there is a loop for them. */
static bool compare_rows(tly_pto_machine *m, tly_pto_plan *plan, tly_pto_elements *out) {
    static const uint8_t holds[] = {
        [TLY_PTO_COMPARE_EQ] = TLY_PTO_ORDER_EQUAL,
        [TLY_PTO_COMPARE_NE] = TLY_PTO_ORDER_LESS | TLY_PTO_ORDER_GREATER | TLY_PTO_ORDER_NONE,
        [TLY_PTO_COMPARE_LT] = TLY_PTO_ORDER_LESS,
        [TLY_PTO_COMPARE_LE] = TLY_PTO_ORDER_LESS | TLY_PTO_ORDER_EQUAL,
        [TLY_PTO_COMPARE_GT] = TLY_PTO_ORDER_GREATER,
        [TLY_PTO_COMPARE_GE] = TLY_PTO_ORDER_GREATER | TLY_PTO_ORDER_EQUAL};
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *left = tly_pto_plan_source_elements(m, plan, 0);
    const tly_pto_elements *right =
        plan->num_sources > 1 ? tly_pto_plan_source_elements(m, plan, 1) : NULL;
    uint32_t dtype = source->data_type, first, count;
    size_t width = tly_pto_dtype_bits(dtype) / 8;
    uint64_t scalar = TLY_BASE_LE64(tly_pto_raw(plan->scalar0, dtype));
    uint8_t orders[LANES];
    if (!tly_pto_stored_is_read(left, dtype) ||
        (right != NULL && !tly_pto_stored_is_read(right, dtype)) ||
        !tly_pto_stored_compare(m, dtype, NULL, NULL, false, NULL, 0, &plan->flags)) {
        return false;
    }
    tly_pto_walk walk = tly_pto_walk_rows(&plan->results[0]);
    while (tly_pto_walk_next(&walk, LANES, &first, &count)) {
        size_t at = first * width;
        tly_pto_stored_compare(m, dtype, left->bytes + at,
                               right != NULL ? (const void *)(right->bytes + at) : &scalar,
                               right == NULL, orders, count, &plan->flags);
        put_predicates(out->bytes, first, orders, count, holds[comparison_of(m)]);
    }
    return true;
}

/* Compares with the second source, or with the scalar where there is none. */
static void compare_words(tly_pto_machine *m, tly_pto_plan *plan, tly_pto_elements *out) {
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    tly_pto_comparison comparison = comparison_of(m);
    uint64_t left[LANES], right[LANES];
    uint32_t first, count;
    for (uint32_t i = 0; i < LANES; i++) {
        right[i] = tly_pto_raw(plan->scalar0, source->data_type);
    }
    tly_pto_walk walk = tly_pto_walk_rows(&plan->results[0]);
    while (tly_pto_walk_next(&walk, LANES, &first, &count)) {
        tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 0), source, first, count, left);
        if (plan->num_sources > 1) {
            tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 1), source, first, count,
                                  right);
        }
        for (uint32_t i = 0; i < count; i++) {
            uint32_t at = first + i;
            bool holds = tly_pto_element_compare(m->profile, comparison, source->data_type, left[i],
                                                 right[i], &plan->flags);
            out->bytes[at / 8] |= (uint8_t)(holds << at % 8);
        }
    }
}

static void run_comparison(tly_pto_machine *m, tly_pto_plan *plan) {
    tly_pto_tile *tile = &plan->results[0];
    tly_pto_elements *out = tly_pto_plan_result_elements(m, plan, 0);
    tly_pto_elements_clear(out);
    tly_pto_elements_prepare(out, tile);
    if (!compare_rows(m, plan, out)) {
        compare_words(m, plan, out);
    }
    tly_pto_result_defined(tile);
    pad_predicates(out, tile, plan->pad);
}

bool tly_pto_run_compare(tly_pto_machine *m, tly_pto_plan *plan) {
    run_comparison(m, plan);
    return true;
}

bool tly_pto_run_compare_scalar(tly_pto_machine *m, tly_pto_plan *plan) {
    run_comparison(m, plan);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

/* The mask is source 0. */
static bool check_mask(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *mask = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *values = tly_pto_plan_source(m, plan, 1);
    if (!tly_pto_check_source_defined(m, plan, 0) || !tly_pto_check_source_predicate(m, plan, 0)) {
        return false;
    }
    return tly_pto_shapes_match(mask, values) ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_MASK_SHAPE, plan->sources[0], mask->rows,
                               mask->columns, plan->sources[1]);
}

bool tly_pto_schema_select(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_source_defined(m, plan, 1) && tly_pto_check_source_defined(m, plan, 2) &&
           tly_pto_check_source_numeric(m, plan, 1) && tly_pto_check_sources_match(m, plan, 1, 2) &&
           tly_pto_check_source_type(m, plan, 1, plan->data_type) &&
           tly_pto_check_source_layout(m, plan, 1, ROW_MAJOR) && check_mask(m, plan) &&
           tly_pto_check_source_extent(m, plan, 1);
}

bool tly_pto_schema_select_scalar(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_scalar_source(m, plan, 1) && check_mask(m, plan);
}

bool tly_pto_check_select(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_result_matches(m, plan, 0, 1, true);
}

bool tly_pto_check_select_scalar(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_result_matches(m, plan, 0, 1, true);
}

static void run_selection(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    const tly_pto_elements *mask = tly_pto_plan_source_elements(m, plan, 0);
    uint64_t yes[LANES], no[LANES];
    uint32_t first, count;
    for (uint32_t i = 0; i < LANES; i++) {
        no[i] = tly_pto_raw(plan->scalar0, tile->data_type);
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, LANES, &first, &count)) {
        tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 1), tile, first, count, yes);
        if (plan->num_sources > 2) {
            tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 2), tile, first, count, no);
        }
        for (uint32_t i = 0; i < count; i++) {
            yes[i] = tly_pto_predicate_read(mask, first + i) ? yes[i] : no[i];
        }
        tly_pto_elements_write(out, tile, first, count, yes);
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
}

bool tly_pto_run_select(tly_pto_machine *m, tly_pto_plan *plan) {
    run_selection(m, plan);
    return true;
}

bool tly_pto_run_select_scalar(tly_pto_machine *m, tly_pto_plan *plan) {
    run_selection(m, plan);
    return true;
}
