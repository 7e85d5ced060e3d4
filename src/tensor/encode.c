/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a descriptor. What was written is then read by the decoder: one set of rules. */
#include <tilery/tensor.h>

#include "base/error.h"
#include "tensor/layouts.h"
#include "tensor/sections.h"
#include "tensor/writer.h"

#define LENGTH_AT 6

/* The arrays that writing will follow are there. */
static tly_status check_arrays(const tly_descriptor *d, tly_error *error) {
    const char *missing = NULL;
    if (d->rank > TLY_MAX_RANK) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "D-RANK",
                             "rank %u is over %d", d->rank, TLY_MAX_RANK);
    }
    if (d->rank != 0 && d->shape == NULL) {
        missing = "shape";
    } else if (d->num_buffers != 0 && d->buffers == NULL) {
        missing = "buffers";
    } else if (d->layout == TLY_LAYOUT_STRIDED && d->rank != 0 && d->strides == NULL) {
        missing = "strides";
    } else if (d->layout == TLY_LAYOUT_MORTON && d->rank != 0 && d->morton_bits == NULL) {
        missing = "morton_bits";
    } else if (d->layout == TLY_LAYOUT_CSF && d->rank != 0 && d->mode_order == NULL) {
        missing = "mode_order";
    } else if (d->layout == TLY_LAYOUT_BLOCK_PAGED && d->paged == NULL) {
        missing = "paged";
    } else if (d->quantization != NULL && d->quantization->trailing_len != 0 &&
               d->quantization->trailing == NULL) {
        missing = "trailing of the quantization";
    } else if (d->shard != NULL && d->rank != 0 &&
               (d->shard->parent_shape == NULL || d->shard->offset == NULL)) {
        missing = "an array of the shard";
    } else if (d->layout >= TLY_LAYOUT_PRIVATE_FIRST && d->private_len != 0 &&
               d->private_data == NULL) {
        missing = "private_data";
    } else if (d->layout == TLY_LAYOUT_TILED) {
        if (d->num_levels == 0 || d->num_levels > TLY_TILE_MAX_LEVELS) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "L-TILED-DEPTH",
                                 "%u levels of tiles: there are 1 to %d", d->num_levels,
                                 TLY_TILE_MAX_LEVELS);
        }
        for (uint32_t i = 0; i < d->num_levels; i++) {
            const tly_tile_level *level = &d->levels[i];
            int last = i + 1 == d->num_levels;
            if ((level->inner == TLY_TILE_NESTED) == last) {
                return tly_base_fail(
                    error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "L-TILED-INNER",
                    "level %u of %u: the last level, and no other, ends the nesting", i,
                    d->num_levels);
            }
            if (level->tile_shape == NULL ||
                (level->outer == TLY_TILE_STRIDED && level->outer_strides == NULL) ||
                (level->inner == TLY_TILE_STRIDED && level->inner_strides == NULL)) {
                missing = "an array of a tile level";
            }
        }
    }
    if (missing != NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "", "%s is NULL", missing);
    }
    return TLY_OK;
}

static void write_all(tly_tensor_writer *w, const tly_descriptor *d) {
    const tly_tensor_layout *layout = tly_tensor_layout_find(d->layout);
    tly_tensor_put(w, "HRRY\x01\x00", 6);
    tly_tensor_put_u32(w, 0); /* length: known at the end */
    tly_tensor_put_u32(w, tly_tensor_section_flags(d));
    tly_tensor_put_u8(w, d->dtype);
    tly_tensor_put_u8(w, d->layout);
    tly_tensor_put_u32(w, d->rank);
    tly_tensor_put_u64s(w, d->shape, d->rank);
    tly_tensor_put_u64(w, d->byte_offset);
    if (layout != NULL && layout->write != NULL) {
        layout->write(w, d);
    }
    tly_tensor_put_u8(w, d->num_buffers);
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        const tly_buffer_info *b = &d->buffers[i];
        tly_tensor_put_u64(w, b->byte_size);
        tly_tensor_put_u32(w, b->alignment);
        tly_tensor_put_u8(w, b->device);
        tly_tensor_put_u8(w, b->sync_mode);
        tly_tensor_put_u8(w, b->memory_class);
        tly_tensor_put_u8(w, b->reserved);
    }
    tly_tensor_write_sections(w, d);
}

tly_status tly_descriptor_encode(const tly_descriptor *descriptor, void *buffer, size_t capacity,
                                 size_t *out_len, tly_error *error) {
    tly_tensor_writer w = {buffer, buffer != NULL ? capacity : 0, 0};
    uint64_t work[TLY_DESCRIPTOR_WORK_LEN / sizeof(uint64_t)];
    tly_descriptor again;
    tly_status status = check_arrays(descriptor, error);
    if (status != TLY_OK) {
        return status;
    }
    write_all(&w, descriptor);
    if (w.len > UINT32_MAX) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "D-LEN-MAX",
                             "the descriptor would have %zu bytes: over the format's %u", w.len,
                             UINT32_MAX);
    }
    if (buffer != NULL) {
        if (w.len > capacity) {
            return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "",
                                 "the descriptor has %zu bytes, there is room for %zu", w.len,
                                 capacity);
        }
        tly_base_store_u32(w.bytes + LENGTH_AT, (uint32_t)w.len);
        status = tly_descriptor_decode(buffer, w.len, work, sizeof work, &again, NULL, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    *out_len = w.len;
    return TLY_OK;
}
