/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/layouts.h"

static tly_status read_strided(tly_tensor_reader *reader) {
    return tly_tensor_read_i64s(reader, reader->out->rank, &reader->out->strides, "strides");
}

static void write_strided(tly_tensor_writer *writer, const tly_descriptor *d) {
    tly_tensor_put_i64s(writer, d->strides, d->rank);
}

/* One level of tiling: tile shape, how tiles follow each other, how elements do inside a tile. */
static tly_status read_level(tly_tensor_reader *reader, tly_tile_level *level, uint32_t number) {
    uint32_t rank = reader->out->rank;
    uint64_t at = tly_cursor_offset(&reader->in);
    const uint8_t *tags;
    tly_status status;
    level->outer_strides = NULL;
    level->inner_strides = NULL;
    status = tly_tensor_read_u64s(reader, rank, &level->tile_shape, "tile shape");
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t k = 0; k < rank; k++) {
        if (level->tile_shape[k] == 0) {
            return tly_base_fail(reader->error, TLY_MALFORMED, at + (uint64_t)k * 8,
                                 "L-TILED-SHAPE0", "level %u: the tile has extent 0 on axis %u",
                                 number, k);
        }
    }
    at = tly_cursor_offset(&reader->in);
    if (!tly_cursor_take(&reader->in, 4, &tags)) {
        return tly_tensor_short(reader, "tile orders");
    }
    level->outer = tags[0];
    level->inner = tags[1];
    if (level->outer < TLY_TILE_ROW || level->outer > TLY_TILE_STRIDED) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at, "L-TILED-OUTER",
                             "level %u: order 0x%02X of the tiles is not 1, 2 or 3", number,
                             level->outer);
    }
    if (level->inner < TLY_TILE_ROW || level->inner > TLY_TILE_NESTED) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at + 1, "L-TILED-INNER",
                             "level %u: order 0x%02X inside a tile is not 1, 2, 3 or 4", number,
                             level->inner);
    }
    if (tags[2] != 0 || tags[3] != 0) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at + (tags[2] != 0 ? 2 : 3),
                             "L-TILED-RSV", "level %u: reserved bytes are not 0", number);
    }
    if (level->outer == TLY_TILE_STRIDED) {
        status = tly_tensor_read_i64s(reader, rank, &level->outer_strides, "outer strides");
        if (status != TLY_OK) {
            return status;
        }
    }
    if (level->inner == TLY_TILE_STRIDED) {
        status = tly_tensor_read_i64s(reader, rank, &level->inner_strides, "inner strides");
    }
    return status;
}

static tly_status read_tiled(tly_tensor_reader *reader) {
    for (uint32_t number = 0;; number++) {
        tly_tile_level *level = &reader->out->levels[number];
        tly_status status = read_level(reader, level, number);
        if (status != TLY_OK) {
            return status;
        }
        if (level->inner != TLY_TILE_NESTED) {
            reader->out->num_levels = number + 1;
            return TLY_OK;
        }
        if (number + 1 == TLY_TILE_MAX_LEVELS) {
            return tly_base_fail(reader->error, TLY_MALFORMED, tly_cursor_offset(&reader->in),
                                 "L-TILED-DEPTH", "tiles are nested more than %d levels deep",
                                 TLY_TILE_MAX_LEVELS);
        }
    }
}

static void write_tiled(tly_tensor_writer *writer, const tly_descriptor *d) {
    for (uint32_t i = 0; i < d->num_levels; i++) {
        const tly_tile_level *level = &d->levels[i];
        tly_tensor_put_u64s(writer, level->tile_shape, d->rank);
        tly_tensor_put_u8(writer, level->outer);
        tly_tensor_put_u8(writer, level->inner);
        tly_tensor_put(writer, "\0\0", 2);
        if (level->outer == TLY_TILE_STRIDED) {
            tly_tensor_put_i64s(writer, level->outer_strides, d->rank);
        }
        if (level->inner == TLY_TILE_STRIDED) {
            tly_tensor_put_i64s(writer, level->inner_strides, d->rank);
        }
    }
}

static tly_status read_morton(tly_tensor_reader *reader) {
    const tly_descriptor *d = reader->out;
    uint64_t at = tly_cursor_offset(&reader->in);
    tly_status status =
        tly_tensor_read_u32s(reader, d->rank, &reader->out->morton_bits, "Morton bits");
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t k = 0; k < d->rank; k++, at += 4) {
        uint32_t bits = d->morton_bits[k];
        if (bits == 0) {
            return tly_base_fail(reader->error, TLY_MALFORMED, at, "L-MORTON-BITS0",
                                 "axis %u has 0 Morton bits", k);
        }
        if (d->shape[k] != TLY_DYNAMIC && bits < 64 && d->shape[k] > UINT64_C(1) << bits) {
            return tly_base_fail(reader->error, TLY_MALFORMED, at, "L-MORTON-SHAPE",
                                 "axis %u: extent %llu does not fit in %u Morton bits", k,
                                 (unsigned long long)d->shape[k], bits);
        }
    }
    return TLY_OK;
}

static void write_morton(tly_tensor_writer *writer, const tly_descriptor *d) {
    for (uint32_t k = 0; k < d->rank; k++) {
        tly_tensor_put_u32(writer, d->morton_bits[k]);
    }
}

static tly_status read_private(tly_tensor_reader *reader) {
    tly_descriptor *d = reader->out;
    if (!tly_cursor_u64(&reader->in, &d->private_id) ||
        !tly_cursor_u32(&reader->in, &d->private_len) ||
        !tly_cursor_take(&reader->in, d->private_len, &d->private_data)) {
        return tly_tensor_short(reader, "private layout data");
    }
    return TLY_OK;
}

static void write_private(tly_tensor_writer *writer, const tly_descriptor *d) {
    tly_tensor_put_u64(writer, d->private_id);
    tly_tensor_put_u32(writer, d->private_len);
    tly_tensor_put(writer, d->private_data, d->private_len);
}

static const tly_tensor_layout layouts[] = {
    {TLY_LAYOUT_ROW_MAJOR, TLY_KIND_DENSE, 1, "row-major", NULL, NULL},
    {TLY_LAYOUT_COL_MAJOR, TLY_KIND_DENSE, 1, "column-major", NULL, NULL},
    {TLY_LAYOUT_STRIDED, TLY_KIND_DENSE, 1, "strided", read_strided, write_strided},
    {TLY_LAYOUT_TILED, TLY_KIND_DENSE, 1, "tiled", read_tiled, write_tiled},
    {TLY_LAYOUT_MORTON, TLY_KIND_DENSE, 1, "Morton", read_morton, write_morton},
    {TLY_LAYOUT_COO, TLY_KIND_INDEXED, 2, "COO", tly_tensor_read_coo, tly_tensor_write_coo},
    {TLY_LAYOUT_CSR, TLY_KIND_INDEXED, 3, "CSR", tly_tensor_read_csr, tly_tensor_write_compressed},
    {TLY_LAYOUT_CSC, TLY_KIND_INDEXED, 3, "CSC", tly_tensor_read_csc, tly_tensor_write_compressed},
    {TLY_LAYOUT_CSF, TLY_KIND_INDEXED, 0, "CSF", tly_tensor_read_csf, tly_tensor_write_csf},
    {TLY_LAYOUT_BLOCK_PAGED, TLY_KIND_INDEXED, 3, "block-paged", tly_tensor_read_paged,
     tly_tensor_write_paged},
    {TLY_LAYOUT_COMPOSITE, TLY_KIND_VIRTUAL, 0, "composite", tly_tensor_read_composite,
     tly_tensor_write_composite},
    {TLY_LAYOUT_HILBERT, TLY_KIND_DENSE, 1, "Hilbert", tly_tensor_read_hilbert,
     tly_tensor_write_hilbert},
    {TLY_LAYOUT_PRIVATE_FIRST, TLY_KIND_PRIVATE, 0, "private", read_private, write_private},
};

/* Row of each tag plus one. */
static const uint8_t row_of_tag[256] = {
    [0x01] = 1,  [0x02] = 2,  [0x03] = 3,  [0x04] = 4,  [0x05] = 5,  [0x06] = 6,  [0x07] = 7,
    [0x08] = 8,  [0x09] = 9,  [0x0A] = 10, [0x0B] = 11, [0x40] = 12, [0xF0] = 13, [0xF1] = 13,
    [0xF2] = 13, [0xF3] = 13, [0xF4] = 13, [0xF5] = 13, [0xF6] = 13, [0xF7] = 13, [0xF8] = 13,
    [0xF9] = 13, [0xFA] = 13, [0xFB] = 13, [0xFC] = 13, [0xFD] = 13, [0xFE] = 13,
};

const tly_tensor_layout *tly_tensor_layout_find(uint8_t tag) {
    uint8_t row = row_of_tag[tag];
    return row != 0 ? &layouts[row - 1] : NULL;
}

uint32_t tly_tensor_layout_buffers(const tly_descriptor *descriptor) {
    const tly_tensor_layout *row = tly_tensor_layout_find(descriptor->layout);
    if (descriptor->layout == TLY_LAYOUT_CSF) {
        return 2 * descriptor->rank + 1; /* values, then pointers and coordinates of each level */
    }
    return row != NULL ? row->num_buffers : 0;
}

const char *tly_layout_name(uint8_t layout) {
    const tly_tensor_layout *row = tly_tensor_layout_find(layout);
    return row != NULL ? row->name : NULL;
}
