/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of element types (asl/tile/model/numeric/formats). */
#include "base/bytes.h"
#include "pto/profile/element.h"
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"
#include "pto/tile/plan.h"
#include "pto/tile/rows.h"
#include "pto/tile/stored.h"

enum { ROW_MAJOR = TLY_PTO_LAYOUT_ROW_MAJOR };

#define E8M0_SOURCES                                                                               \
    (TLY_PTO_TYPE(TLY_PTO_FP16) | TLY_PTO_TYPE(TLY_PTO_BF16) | TLY_PTO_TYPE(TLY_PTO_FP32))

bool tly_pto_schema_convert(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_data_attributes *data = &m->core.context.header.data;
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    uint32_t to;
    if (!tly_pto_check_source_encodings(m, plan, 0) ||
        !tly_pto_check_source_type(m, plan, 0, plan->data_type)) {
        return false;
    }
    if (!tly_pto_effective_type(m, plan, &to) ||
        (to == TLY_PTO_E8M0 && !tly_pto_dtype_in(plan->data_type, E8M0_SOURCES))) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_CONVERSION, plan->operation,
                                   plan->data_type, to, 0);
    }
    bool matrix = source->location == TLY_PTO_LOCATION_MATRIX;
    if (matrix != data->canonicalize) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_CANONICALIZE, plan->operation,
                                   plan->sources[0], data->canonicalize, 0);
    }
    if (matrix && data->data_layout != 0) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DATR_LAYOUT, plan->operation,
                                   data->data_layout, 0, 0);
    }
    return tly_pto_check_source_layout(
        m, plan, 0, matrix ? ROW_MAJOR : tly_pto_source_layout(data->data_layout));
}

/* Rows, columns and valid region agree; layouts may differ. */
static bool check_same_extent(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *a = &plan->results[0], *b = tly_pto_plan_source(m, plan, 0);
    if (!tly_pto_check_result_legal(m, plan, 0)) {
        return false;
    }
    if (a->valid_rows != b->valid_rows || a->valid_columns != b->valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_VALID_REGIONS_DIFFER, a->valid_rows,
                                   a->valid_columns, b->valid_rows, b->valid_columns);
    }
    return (a->rows == b->rows && a->columns == b->columns) ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SHAPES_DIFFER, a->rows, a->columns, b->rows,
                               b->columns);
}

bool tly_pto_check_convert(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_same_extent(m, plan);
}

typedef uint64_t (*convert_element)(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t from,
                                    uint32_t to, uint64_t word);

/* One element of the result for each of the source, in whatever layouts. */
static void convert_tile(tly_pto_machine *m, tly_pto_plan *plan, convert_element convert,
                         uint32_t pad) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    bool by_rows = from->layout == ROW_MAJOR && to->layout == ROW_MAJOR;
    uint64_t words[TLY_PTO_LANES];
    for (uint32_t row = 0; row < to->valid_rows; row++) {
        for (uint32_t column = 0; column < to->valid_columns; column += TLY_PTO_LANES) {
            uint32_t count = (uint32_t)to->valid_columns - column;
            count = count < TLY_PTO_LANES ? count : TLY_PTO_LANES;
            if (by_rows) {
                tly_pto_elements_read(in, from, row * from->columns + column, count, words);
            } else {
                for (uint32_t i = 0; i < count; i++) {
                    words[i] =
                        tly_pto_element_read(in, from, tly_pto_tile_index(from, row, column + i));
                }
            }
            for (uint32_t i = 0; i < count; i++) {
                words[i] = convert(m, plan, from->data_type, to->data_type, words[i]);
            }
            if (by_rows) {
                tly_pto_elements_write(out, to, row * to->columns + column, count, words);
            } else {
                for (uint32_t i = 0; i < count; i++) {
                    tly_pto_element_write(out, to, tly_pto_tile_index(to, row, column + i),
                                          words[i]);
                }
            }
        }
    }
    tly_pto_finish_result(m, plan, 0, pad);
}

/* Rows of stored elements: integers into integers, or through the profile's row function. */
static bool convert_row(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t from, uint32_t to,
                        const void *value, void *out, size_t count) {
    if (tly_pto_dtype_is_integer(from) && tly_pto_dtype_is_integer(to)) {
        return tly_pto_integer_convert_row(from, to, plan->control.saturating, value, out, count);
    }
    return m->profile->convert_row != NULL &&
           m->profile->convert_row(tly_context_simd(m->context), from, to, &plan->control, value,
                                   out, count, &plan->flags);
}

static bool convert_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    uint32_t from_bits = tly_pto_dtype_bits(from->data_type);
    uint32_t to_bits = tly_pto_dtype_bits(to->data_type);
    if (from->layout != ROW_MAJOR || to->layout != ROW_MAJOR ||
        !tly_pto_stored_is_read(in, from->data_type) ||
        !convert_row(m, plan, from->data_type, to->data_type, NULL, NULL, 0)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = (uint8_t)tly_pto_stored_extension(to->data_type);
    /* rows without gaps are one */
    bool whole = to->valid_columns == to->columns && to->columns == from->columns;
    uint32_t num_rows = whole ? 1 : to->valid_rows;
    size_t count = (size_t)to->valid_columns * (whole ? to->valid_rows : 1);
    for (uint32_t row = 0; row < num_rows; row++) {
        convert_row(m, plan, from->data_type, to->data_type,
                    in->bytes + (size_t)row * from->columns * from_bits / 8,
                    out->bytes + (size_t)row * to->columns * to_bits / 8, count);
    }
    tly_pto_finish_result(m, plan, 0, plan->pad);
    return true;
}

static uint64_t convert_one(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t from,
                            uint32_t to, uint64_t word) {
    return tly_pto_element_convert(m->profile, from, to, &plan->control, word, &plan->flags);
}

bool tly_pto_run_convert(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_data_attributes *data = &m->core.context.header.data;
    /* without a rounding mode, numbers become integers by truncation */
    if (data->rounding_mode == 0 &&
        tly_pto_dtype_is_floating(tly_pto_plan_source(m, plan, 0)->data_type) &&
        !tly_pto_dtype_is_floating(plan->results[0].data_type)) {
        plan->control.rounding = TLY_PTO_ROUND_ZERO;
    }
    if (!convert_rows(m, plan)) {
        convert_tile(m, plan, convert_one, plan->pad);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ */

static bool is_byte(uint32_t dtype) {
    return dtype == TLY_PTO_S8 || dtype == TLY_PTO_U8;
}

static bool check_quantization(const tly_pto_machine *m, tly_pto_plan *plan, bool types_legal) {
    const tly_pto_header *header = &m->core.context.header;
    if (!header->data_attributes_present || !header->data.data_type_present || !types_legal) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_QUANTIZATION, plan->operation,
                                   plan->data_type, header->data.data_type, 0);
    }
    return tly_pto_check_source_encodings(m, plan, 0) &&
           tly_pto_check_source_type(m, plan, 0, plan->data_type) &&
           tly_pto_check_source_layout(m, plan, 0, ROW_MAJOR) &&
           tly_pto_check_source_extent(m, plan, 0);
}

bool tly_pto_schema_quantize(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_quantization(
        m, plan, plan->data_type == TLY_PTO_FP32 && is_byte(m->core.context.header.data.data_type));
}

bool tly_pto_schema_dequantize(const tly_pto_machine *m, tly_pto_plan *plan) {
    return check_quantization(
        m, plan, is_byte(plan->data_type) && m->core.context.header.data.data_type == TLY_PTO_FP32);
}

bool tly_pto_check_quantize(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_source_numeric(m, plan, 0);
}

/* Bytes may be predicates. */
bool tly_pto_check_dequantize(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_source_numeric(m, plan, 0);
}

static uint64_t quantize_one(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t from,
                             uint32_t to, uint64_t word) {
    return m->profile->quantize(from, to, &plan->control, plan->scalar0, plan->scalar1, word,
                                &plan->flags);
}

static uint64_t dequantize_one(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t from,
                               uint32_t to, uint64_t word) {
    return m->profile->dequantize(from, to, &plan->control, plan->scalar0, plan->scalar1, word,
                                  &plan->flags);
}

static bool quantize_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    if (m->profile->quantize_row == NULL || from->data_type != TLY_PTO_FP32 ||
        to->layout != ROW_MAJOR || !tly_pto_stored_is_read(in, from->data_type)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = (uint8_t)tly_pto_stored_extension(to->data_type);
    for (uint32_t row = 0; row < to->valid_rows; row++) {
        m->profile->quantize_row(to->data_type, &plan->control, plan->scalar0, plan->scalar1,
                                 in->bytes + (size_t)row * from->columns * 4,
                                 out->bytes + (size_t)row * to->columns, to->valid_columns,
                                 &plan->flags);
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}

/* Each of the 256 codes once. */
static bool dequantize_rows(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *to = &plan->results[0], *from = tly_pto_plan_source(m, plan, 0);
    const tly_pto_elements *in = tly_pto_plan_source_elements(m, plan, 0);
    uint32_t numbers[256];
    bool known[256] = {false};
    if (to->data_type != TLY_PTO_FP32 || to->layout != ROW_MAJOR ||
        !tly_pto_stored_is_read(in, from->data_type)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    out->extensions = TLY_PTO_BY_ZEROS;
    for (uint32_t row = 0; row < to->valid_rows; row++) {
        const uint8_t *codes = in->bytes + (size_t)row * from->columns;
        uint8_t *bytes = out->bytes + (size_t)row * to->columns * 4;
        for (uint32_t i = 0; i < to->valid_columns; i++) {
            uint8_t code = codes[i];
            if (!known[code]) {
                numbers[code] = (uint32_t)m->profile->dequantize(from->data_type, to->data_type,
                                                                 &plan->control, plan->scalar0,
                                                                 plan->scalar1, code, &plan->flags);
                known[code] = true;
            }
            tly_base_store_u32(bytes + (size_t)i * 4, numbers[code]);
        }
    }
    tly_pto_finish_result(m, plan, 0, TLY_PTO_PAD_NULL);
    return true;
}

bool tly_pto_run_quantize(tly_pto_machine *m, tly_pto_plan *plan) {
    if (quantize_rows(m, plan)) {
        return true;
    }
    convert_tile(m, plan, quantize_one, TLY_PTO_PAD_NULL);
    return true;
}

bool tly_pto_run_dequantize(tly_pto_machine *m, tly_pto_plan *plan) {
    if (dequantize_rows(m, plan)) {
        return true;
    }
    convert_tile(m, plan, dequantize_one, TLY_PTO_PAD_NULL);
    return true;
}
