/* SPDX-License-Identifier: Apache-2.0 */
/* Sorting of groups, and merging of sorted rows (asl/tile/model/execution/sorting). */
#include <string.h>

#include "pto/profile/element.h"
#include "pto/profile/order_rows.h"
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"
#include "pto/tile/stored.h"

enum { MAX_GROUP = 64, DEFAULT_GROUP = 32, MAX_MERGED = 32768 };

/* Whether `left` may stand before `right` (TileSortLeftBefore): NaNs last, zeros equal. Words that
 * have the same bits but differ above them are in no order, either way. */
static bool left_before(uint32_t dtype, bool descending, uint64_t left, uint64_t right) {
    tly_pto_value_class left_class = tly_pto_classify(dtype, left);
    tly_pto_value_class right_class = tly_pto_classify(dtype, right);
    if (tly_pto_class_is_nan(left_class)) {
        return tly_pto_class_is_nan(right_class);
    }
    if (tly_pto_class_is_nan(right_class) || left == right ||
        (tly_pto_class_is_zero(left_class) && tly_pto_class_is_zero(right_class))) {
        return true;
    }
    uint64_t left_key = tly_pto_order_key(dtype, left), right_key = tly_pto_order_key(dtype, right);
    return descending ? left_key > right_key : left_key < right_key;
}

static bool has_signaling_nan(const tly_pto_tile *tile, const tly_pto_elements *e) {
    uint64_t words[TLY_PTO_LANES];
    uint32_t first, count;
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, TLY_PTO_LANES, &first, &count)) {
        tly_pto_elements_read(e, tile, first, count, words);
        for (uint32_t i = 0; i < count; i++) {
            if (tly_pto_classify(tile->data_type, words[i]) == TLY_PTO_VALUE_SIGNALING_NAN) {
                return true;
            }
        }
    }
    return false;
}

/* The same of stored numbers. */
static bool has_stored_signaling_nan(const tly_pto_tile *tile, const tly_pto_elements *e) {
    size_t width = tly_pto_dtype_bits(tile->data_type) / 8;
    uint8_t orders[TLY_PTO_LANES], flags = 0;
    uint32_t first, count;
    tly_pto_walk walk = tly_pto_walk_rows(tile);
    while (tly_pto_walk_next(&walk, TLY_PTO_LANES, &first, &count)) {
        const uint8_t *at = e->bytes + first * width; /* compared with themselves */
        tly_pto_order_compare_row(tile->data_type, at, at, false, orders, count, &flags);
    }
    return flags != 0;
}

static bool check_sorted_source(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    return tly_pto_check_source_legal(m, plan, ordinal) &&
           tly_pto_check_source_numeric(m, plan, ordinal) &&
           tly_pto_check_source_type(m, plan, ordinal, plan->data_type) &&
           tly_pto_check_source_layout(m, plan, ordinal, TLY_PTO_LAYOUT_ROW_MAJOR) &&
           tly_pto_check_source_encodings(m, plan, ordinal);
}

static bool refuse_dimension(tly_pto_plan *plan, uint32_t dimension) {
    return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DIMENSION_NOT_TAKEN, plan->operation,
                               dimension, 0, 0);
}

bool tly_pto_schema_sort(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    if (header->dimension_present[1] || header->dimension_present[2]) {
        return refuse_dimension(plan, header->dimension_present[1] ? 1 : 2);
    }
    if (header->dimension_present[0] && header->dimensions[0] > MAX_GROUP) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SORT_GROUP, plan->operation,
                                   header->dimensions[0], MAX_GROUP, 0);
    }
    return check_sorted_source(m, plan, 0);
}

bool tly_pto_check_sort(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_result_matches(m, plan, 0, 0, false) &&
           tly_pto_check_result_matches(m, plan, 1, 0, false);
}

/* Exchanges neighbours pass by pass, as the reference does: words in no order are exchanged in
 * every pass, so a faster method would end elsewhere. For tiles that keep words. */
static void sort_group(uint32_t dtype, bool descending, uint64_t *words, uint64_t *indices,
                       uint32_t count) {
    bool exchanged = true;
    for (uint32_t pass = 0; pass < MAX_GROUP && exchanged; pass++) {
        exchanged = false;
        for (uint32_t i = 0; i + 1 < count; i++) {
            if (!left_before(dtype, descending, words[i], words[i + 1])) {
                uint64_t word = words[i], index = indices[i];
                words[i] = words[i + 1];
                indices[i] = indices[i + 1];
                words[i + 1] = word;
                indices[i + 1] = index;
                exchanged = true;
            }
        }
    }
}

/* What a number is sorted by, and its place in the group: no two are equal. FP32 at most. */
static uint64_t sort_key(uint32_t dtype, bool descending, uint64_t word, uint32_t place) {
    tly_pto_value_class class = tly_pto_classify(dtype, word);
    uint64_t key = tly_pto_order_key(dtype, tly_pto_class_is_zero(class) ? 0 : word);
    key = descending ? UINT32_MAX - key : key;
    return (tly_pto_class_is_nan(class) ? UINT64_C(1) << 32 : key) << 8 | place;
}

/* Numbers whose bits are all that they have are in order: any stable way ends alike. */
static void sort_stored_group(uint32_t dtype, bool descending, uint64_t *words, uint64_t *indices,
                              uint32_t count) {
    uint64_t keys[MAX_GROUP], sorted[MAX_GROUP];
    for (uint32_t i = 0; i < count; i++) {
        uint64_t key = sort_key(dtype, descending, words[i], i);
        uint32_t at = i;
        for (; at > 0 && keys[at - 1] > key; at--) {
            keys[at] = keys[at - 1];
        }
        keys[at] = key;
    }
    for (uint32_t i = 0; i < count; i++) {
        indices[i] = keys[i] & 0xff;
        sorted[i] = words[indices[i]];
    }
    memcpy(words, sorted, count * sizeof words[0]);
}

bool tly_pto_run_sort(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    uint64_t given = m->core.context.header.dimensions[0];
    uint32_t group = given >= 1 && given <= MAX_GROUP ? (uint32_t)given : DEFAULT_GROUP;
    uint64_t words[MAX_GROUP], indices[MAX_GROUP];
    bool stored = tly_pto_stored_is_whole(in, source) &&
                  tly_pto_order_compare_row(source->data_type, NULL, NULL, false, NULL, 0, NULL);
    if (stored ? has_stored_signaling_nan(source, in) : has_signaling_nan(source, in)) {
        plan->flags |= TLY_PTO_FLAG_INVALID;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    tly_pto_elements *out_indices = tly_pto_begin_result(m, plan, 1);
    for (uint32_t row = 0; row < source->valid_rows; row++) {
        for (uint32_t column = 0; column < source->valid_columns; column += group) {
            uint32_t left = (uint32_t)source->valid_columns - column;
            uint32_t count = left < group ? left : group, at = row * source->columns + column;
            tly_pto_elements_read(in, source, at, count, words);
            for (uint32_t i = 0; i < count; i++) {
                indices[i] = i;
            }
            (stored ? sort_stored_group : sort_group)(source->data_type, plan->flag, words, indices,
                                                      count);
            tly_pto_elements_write(out, &plan->results[0], at, count, words);
            tly_pto_elements_write(out_indices, &plan->results[1], at, count, indices);
        }
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    tly_pto_finish_result(m, plan, 1, TLY_PTO_PAD_NULL);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

static uint64_t word_at(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t ordinal,
                        uint32_t column) {
    return tly_pto_element_read(tly_pto_plan_source_elements(m, plan, ordinal),
                                tly_pto_plan_source(m, plan, ordinal), column);
}

static bool check_ordered(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    for (uint32_t column = 0; column + 1 < tile->valid_columns; column++) {
        if (!left_before(tile->data_type, plan->flag, word_at(m, plan, ordinal, column),
                         word_at(m, plan, ordinal, column + 1))) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_MERGE_ORDER, plan->sources[ordinal],
                                       column, plan->flag, 0);
        }
    }
    return true;
}

bool tly_pto_schema_merge_sort(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    const tly_pto_tile *left = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *right = tly_pto_plan_source(m, plan, 1);
    for (uint32_t i = 0; i < TLY_PTO_NUM_DIMENSIONS; i++) {
        if (header->dimension_present[i]) {
            return refuse_dimension(plan, i);
        }
    }
    if (!check_sorted_source(m, plan, 0) || !check_sorted_source(m, plan, 1)) {
        return false;
    }
    if (left->valid_rows != 1 || right->valid_rows != 1) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_MERGE_ROWS, plan->operation,
                                   left->valid_rows, right->valid_rows, 0);
    }
    if ((uint32_t)left->valid_columns + right->valid_columns > MAX_MERGED) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_MERGE_COLUMNS, plan->operation,
                                   left->valid_columns, right->valid_columns, MAX_MERGED);
    }
    return check_ordered(m, plan, 0) && check_ordered(m, plan, 1);
}

bool tly_pto_run_merge_sort(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *left = tly_pto_plan_source(m, plan, 0);
    const tly_pto_tile *right = tly_pto_plan_source(m, plan, 1);
    uint32_t a = 0, b = 0, total = (uint32_t)left->valid_columns + right->valid_columns;
    if (has_signaling_nan(left, tly_pto_plan_source_elements(m, plan, 0)) ||
        has_signaling_nan(right, tly_pto_plan_source_elements(m, plan, 1))) {
        plan->flags |= TLY_PTO_FLAG_INVALID;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    for (uint32_t column = 0; column < total; column++) {
        bool take_left = b >= right->valid_columns;
        if (a < left->valid_columns && b < right->valid_columns) {
            take_left = left_before(left->data_type, plan->flag, word_at(m, plan, 0, a),
                                    word_at(m, plan, 1, b));
        }
        uint64_t word = take_left ? word_at(m, plan, 0, a++) : word_at(m, plan, 1, b++);
        tly_pto_element_write(out, &plan->results[0], column, word);
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}
