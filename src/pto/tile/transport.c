/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/transport.h"

#include <stddef.h>
#include <string.h>

#include "base/bytes.h"
#include "pto/events.h"
#include "pto/memory.h"
#include "pto/tile/copies.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"

uint64_t tly_pto_decode_element(uint64_t raw, uint32_t dtype, bool high_nibble) {
    if (tly_pto_dtype_is_four_bit(dtype)) {
        return (high_nibble ? raw >> 4 : raw) & 15;
    }
    return tly_pto_canonical(raw, dtype);
}

uint32_t tly_pto_loaded_extension(uint32_t dtype) {
    return tly_pto_dtype_is_signed(dtype) && !tly_pto_dtype_is_four_bit(dtype) ? TLY_PTO_BY_SIGN
                                                                               : TLY_PTO_BY_ZEROS;
}

static bool high_nibble(uint32_t dtype, uint32_t column) {
    return tly_pto_dtype_is_four_bit(dtype) && column % 2 == 1;
}

bool tly_pto_check_rows(tly_pto_machine *m, const tly_pto_rows *rows) {
    uint64_t limit = tly_pto_memory_limit(m);
    uint32_t size = tly_pto_access_len(rows->dtype);
    uint64_t row_len = tly_pto_dense_stride(rows->num_columns, rows->dtype);
    /* rows that ascend, all of them aligned: the last one decides */
    if (((rows->base | rows->stride) & (size - 1)) == 0 && rows->base <= limit &&
        rows->stride <= limit &&
        (rows->num_rows - 1) * rows->stride + row_len <= limit - rows->base) {
        return true;
    }
    for (uint32_t row = 0; row < rows->num_rows; row++) {
        uint64_t address = rows->base + row * rows->stride;
        bool aligned = (address & (size - 1)) == 0;
        if (aligned && address <= limit && row_len <= limit - address) {
            continue;
        }
        /* of an aligned row, the first element that does not end inside of the limit */
        uint64_t fit = aligned && address <= limit ? (limit - address) / size * size : 0;
        return tly_pto_check_access(m, address + fit, size, size);
    }
    return true;
}

/* While a capture runs, every element is an access of its own. */
static void record(tly_pto_machine *m, const tly_pto_rows *rows, bool store) {
    tly_pto_order order = tly_pto_bundle_order(m);
    uint32_t size = tly_pto_access_len(rows->dtype);
    for (uint32_t row = 0; row < rows->num_rows; row++) {
        for (uint32_t column = 0; column < rows->num_columns; column++) {
            uint64_t address = tly_pto_rows_address(rows, row, column);
            uint64_t value = tly_pto_peek(m, address, size);
            if (store) {
                tly_pto_record_store(m, address, size, value, order);
            } else {
                tly_pto_record_load(m, address, size, value, order);
            }
        }
    }
}

/* Whether a row of the tile lies in it as it lies in memory. */
static bool rows_match(const tly_pto_tile *tile) {
    return tile->layout == TLY_PTO_LAYOUT_ROW_MAJOR &&
           (!tly_pto_dtype_is_four_bit(tile->data_type) ||
            (tile->columns % 2 == 0 && tile->valid_columns % 2 == 0));
}

static bool is_whole(const tly_pto_tile *tile) {
    return tile->valid_rows == tile->rows && tile->valid_columns == tile->columns;
}

/* Rows side by side: runs of equal length at two strides. */
static void copy_runs(uint8_t *dst, uint64_t dst_stride, const uint8_t *src, uint64_t src_stride,
                      uint32_t count, uint64_t len) {
    if (dst_stride == len && src_stride == len) {
        len *= count;
        count = 1;
    }
    /* No step behind the last row: the stride of a single row is any number. */
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) {
            dst += (ptrdiff_t)dst_stride;
            src += (ptrdiff_t)src_stride;
        }
        memcpy(dst, src, len);
    }
}

static void load_one_by_one(tly_pto_machine *m, const tly_pto_rows *rows, const tly_pto_tile *tile,
                            tly_pto_elements *e) {
    uint32_t size = tly_pto_access_len(rows->dtype);
    for (uint32_t row = 0; row < rows->num_rows; row++) {
        for (uint32_t column = 0; column < rows->num_columns; column++) {
            uint64_t raw = tly_pto_peek(m, tly_pto_rows_address(rows, row, column), size);
            tly_pto_element_write(
                e, tile, tly_pto_tile_index(tile, row, column),
                tly_pto_decode_element(raw, rows->dtype, high_nibble(rows->dtype, column)));
        }
    }
}

/* Padding whose words are not what their bits stand for. */
static void write_padding(const tly_pto_tile *tile, tly_pto_elements *e, uint64_t word) {
    for (uint32_t row = 0; row < tile->rows; row++) {
        uint32_t first = row < tile->valid_rows ? tile->valid_columns : 0;
        for (uint32_t column = first; column < tile->columns; column++) {
            tly_pto_element_write(e, tile, tly_pto_tile_index(tile, row, column), word);
        }
    }
}

void tly_pto_load_rows(tly_pto_machine *m, const tly_pto_rows *rows, const tly_pto_tile *tile,
                       tly_pto_elements *e, uint32_t pad) {
    uint32_t bits = tly_pto_dtype_bits(tile->data_type);
    uint32_t extension = tly_pto_loaded_extension(tile->data_type);
    bool cells = tly_pto_layout_is_cube(tile->layout);
    uint64_t word = cells ? tly_pto_pad_value(pad, tile->data_type) : 0;
    bool plain_padding = tly_pto_decode_element(word, tile->data_type, false) == word;
    tly_pto_elements_clear(e);
    if (rows_match(tile)) {
        if (is_whole(tile)) {
            tly_pto_elements_overwrite(e, tile, extension);
        } else {
            tly_pto_elements_prepare(e, tile);
            e->extensions = (uint8_t)extension;
        }
        copy_runs(e->bytes, (uint64_t)tile->columns * bits / 8, m->memory.bytes + rows->base,
                  rows->stride, rows->num_rows, (uint64_t)rows->num_columns * bits / 8);
    } else {
        const tly_pack_plan *plan = tly_pto_copy_plan(m->transport, tile, rows, TLY_PTO_COPY_LOAD,
                                                      plain_padding ? word : 0);
        if (plan != NULL) {
            tly_pto_elements_overwrite(e, tile, extension);
            tly_pack_run(plan, e->bytes, m->memory.bytes + rows->base);
        } else {
            load_one_by_one(m, rows, tile, e);
            plain_padding = plain_padding && word == 0;
        }
    }
    if (!plain_padding) {
        write_padding(tile, e, word);
    }
    e->defined = cells && pad != TLY_PTO_PAD_NULL ? TLY_PTO_DEFINED_ALL : TLY_PTO_DEFINED_VALID;
    if (m->capture_enabled) {
        record(m, rows, false);
    }
}

static void store_one_by_one(tly_pto_machine *m, const tly_pto_rows *rows, const tly_pto_tile *tile,
                             const tly_pto_elements *e) {
    uint32_t size = tly_pto_access_len(rows->dtype);
    for (uint32_t row = 0; row < rows->num_rows; row++) {
        for (uint32_t column = 0; column < rows->num_columns; column++) {
            uint64_t address = tly_pto_rows_address(rows, row, column);
            uint64_t word = tly_pto_element_read(e, tile, tly_pto_tile_index(tile, row, column));
            if (tly_pto_dtype_is_four_bit(rows->dtype)) {
                uint32_t shift = column % 2 * 4;
                word = (tly_pto_peek(m, address, 1) & ~(UINT64_C(15) << shift)) | (word & 15)
                                                                                      << shift;
            }
            tly_pto_poke(m, address, size, word);
        }
    }
}

static bool rows_overlap(const tly_pto_rows *rows, uint64_t row_len) {
    uint64_t distance = (int64_t)rows->stride < 0 ? 0 - rows->stride : rows->stride;
    return rows->num_rows > 1 && distance < row_len;
}

static void wrote_rows(tly_pto_machine *m, const tly_pto_rows *rows, uint64_t row_len) {
    if (rows->stride == row_len) {
        tly_pto_memory_wrote(m, rows->base, row_len * rows->num_rows);
        return;
    }
    for (uint32_t row = 0; row < rows->num_rows; row++) {
        tly_pto_memory_wrote(m, rows->base + row * rows->stride, row_len);
    }
}

void tly_pto_store_rows(tly_pto_machine *m, const tly_pto_rows *rows, const tly_pto_tile *tile,
                        tly_pto_elements *e) {
    uint32_t bits = tly_pto_dtype_bits(tile->data_type);
    uint64_t row_len = tly_pto_dense_stride(rows->num_columns, rows->dtype);
    uint8_t *memory = m->memory.bytes + rows->base;
    tly_pto_elements_prepare(e, tile);
    if (rows_match(tile)) {
        copy_runs(memory, rows->stride, e->bytes, (uint64_t)tile->columns * bits / 8,
                  rows->num_rows, row_len);
        wrote_rows(m, rows, row_len);
    } else {
        const tly_pack_plan *plan =
            rows_overlap(rows, row_len)
                ? NULL
                : tly_pto_copy_plan(m->transport, tile, rows, TLY_PTO_COPY_STORE, 0);
        if (plan != NULL) {
            tly_pack_run(plan, memory, e->bytes);
            wrote_rows(m, rows, row_len);
        } else {
            store_one_by_one(m, rows, tile, e);
        }
    }
    if (m->capture_enabled) {
        record(m, rows, true);
    }
}
