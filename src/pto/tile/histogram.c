/* SPDX-License-Identifier: Apache-2.0 */
/* Cumulative counts of one byte of the elements whose higher bytes are those of a filter
 * (asl/tile/model/execution/complex). */
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"

enum { LANES = TLY_PTO_LANES, NUM_BINS = 256 };

/* Which byte of an element is counted; B.DATR's pad field says it. */
static uint32_t byte_of(const tly_pto_machine *m) {
    return m->core.context.header.data.pad_value;
}

/* Bytes above the counted one, which the filter must match. */
static uint32_t bytes_above(const tly_pto_machine *m, uint32_t dtype) {
    return tly_pto_dtype_bits(dtype) / 8 - 1 - byte_of(m);
}

/* 16-bit elements have a filter for each row of theirs; 32-bit ones have one for all, whose rows
 * are their bytes from the highest. Each stands in column 0. */
static uint32_t filter_rows(const tly_pto_machine *m, const tly_pto_tile *source) {
    uint32_t above = bytes_above(m, source->data_type);
    return above == 0 || source->data_type == TLY_PTO_U32 ? above : source->valid_rows;
}

static bool check_filter(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *filter = tly_pto_plan_source(m, plan, 1);
    uint32_t rows = filter_rows(m, tly_pto_plan_source(m, plan, 0));
    if (rows == 0) {
        return true;
    }
    if (filter->valid_rows < rows || filter->valid_columns < 1) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_FILTER_ROWS, plan->sources[1],
                                   filter->valid_rows, rows, 0);
    }
    for (uint32_t row = 0; row < rows; row++) {
        if (!tly_pto_element_is_defined(tly_pto_plan_source_elements(m, plan, 1), filter,
                                        tly_pto_tile_index(filter, row, 0))) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_FILTER_UNDEFINED, plan->sources[1],
                                       row, 0, 0);
        }
    }
    return true;
}

bool tly_pto_schema_histogram(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    for (uint32_t i = 0; i < TLY_PTO_NUM_DIMENSIONS; i++) {
        if (header->dimension_present[i]) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DIMENSION_NOT_TAKEN, plan->operation,
                                       i, 0, 0);
        }
    }
    if (!header->data_attributes_present || header->data.data_type != TLY_PTO_U32) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_HISTOGRAM_TYPE, plan->operation,
                                   header->data.data_type, 0, 0);
    }
    if (!tly_pto_check_source_defined(m, plan, 0) || !tly_pto_check_source_legal(m, plan, 1) ||
        !tly_pto_check_source_numeric(m, plan, 0) || !tly_pto_check_source_numeric(m, plan, 1) ||
        !tly_pto_check_source_layout(m, plan, 0, TLY_PTO_LAYOUT_ROW_MAJOR) ||
        !tly_pto_check_source_type(m, plan, 1, TLY_PTO_U8)) {
        return false;
    }
    uint32_t dtype = tly_pto_plan_source(m, plan, 0)->data_type;
    if (dtype != TLY_PTO_U16 && dtype != TLY_PTO_U32) {
        return tly_pto_check_source_type(m, plan, 0, plan->data_type);
    }
    if (byte_of(m) >= tly_pto_dtype_bits(dtype) / 8) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_HISTOGRAM_BYTE, plan->operation,
                                   byte_of(m), dtype, 0);
    }
    return check_filter(m, plan);
}

/* The filter's bytes for a row, highest first, joined. */
static uint64_t filter_of(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t row) {
    const tly_pto_tile *filter = tly_pto_plan_source(m, plan, 1);
    uint32_t dtype = tly_pto_plan_source(m, plan, 0)->data_type;
    uint32_t above = bytes_above(m, dtype);
    uint64_t joined = 0;
    for (uint32_t i = 0; i < above; i++) {
        uint32_t filter_row = dtype == TLY_PTO_U32 ? i : row;
        uint64_t word = tly_pto_element_read(tly_pto_plan_source_elements(m, plan, 1), filter,
                                             tly_pto_tile_index(filter, filter_row, 0));
        joined = joined << 8 | (word & 0xff);
    }
    return joined;
}

bool tly_pto_run_histogram(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0], *source = tly_pto_plan_source(m, plan, 0);
    uint32_t shift = byte_of(m) * 8, bits = tly_pto_dtype_bits(source->data_type);
    uint64_t words[LANES], counts[NUM_BINS];
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    for (uint32_t row = 0; row < source->valid_rows; row++) {
        uint64_t filter = filter_of(m, plan, row), sum = 0;
        for (uint32_t bin = 0; bin < NUM_BINS; bin++) {
            counts[bin] = 0;
        }
        for (uint32_t column = 0; column < source->valid_columns; column += LANES) {
            uint32_t count = (uint32_t)source->valid_columns - column;
            count = count < LANES ? count : LANES;
            tly_pto_elements_read(tly_pto_plan_source_elements(m, plan, 0), source,
                                  row * source->columns + column, count, words);
            for (uint32_t i = 0; i < count; i++) {
                uint64_t value = tly_pto_low_bits(words[i], bits) >> shift;
                counts[value & 0xff] += value >> 8 == filter;
            }
        }
        for (uint32_t bin = 0; bin < NUM_BINS; bin++) {
            sum += counts[bin];
            counts[bin] = sum;
        }
        tly_pto_elements_write(out, tile, row * tile->columns, NUM_BINS, counts);
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}
