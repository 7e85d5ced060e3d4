/* SPDX-License-Identifier: Apache-2.0 */
/* From descriptors to nests, and the short ways to make a descriptor. */
#include <tilery/tensor.h>

#include <string.h>

#include "base/error.h"
#include "tensor/layouts.h"

tly_status tly_descriptor_nest(const tly_descriptor *descriptor, tly_nest *out_nest,
                               tly_error *error) {
    const tly_descriptor *d = descriptor;
    tly_status status;
    for (uint32_t k = 0; k < d->rank; k++) {
        if (d->shape[k] == TLY_DYNAMIC) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                                 "axis %u has no extent yet", k);
        }
    }
    switch (d->layout) {
    case TLY_LAYOUT_ROW_MAJOR:
        status = tly_nest_row_major(out_nest, d->rank, d->shape);
        break;
    case TLY_LAYOUT_COL_MAJOR:
        status = tly_nest_col_major(out_nest, d->rank, d->shape);
        break;
    case TLY_LAYOUT_STRIDED:
        status = tly_nest_strided(out_nest, d->rank, d->shape, d->strides);
        break;
    case TLY_LAYOUT_TILED:
        status = tly_nest_tiled(out_nest, d->rank, d->shape, d->levels, d->num_levels);
        break;
    case TLY_LAYOUT_MORTON:
        status = tly_nest_morton(out_nest, d->rank, d->shape, d->morton_bits);
        break;
    default:
        return tly_base_fail(error, TLY_LAYOUT_UNAVAILABLE, TLY_NO_OFFSET, "",
                             "layout 0x%02X is not a loop nest", d->layout);
    }
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "",
                             "layout 0x%02X (%s) of rank %u cannot be made a loop nest: %s",
                             d->layout, tly_layout_name(d->layout), d->rank,
                             tly_status_text(status));
    }
    return TLY_OK;
}

static tly_status init_common(tly_descriptor *d, tly_buffer_info *buffer, tly_dtype dtype,
                              uint32_t rank, const uint64_t *shape) {
    if (rank > TLY_MAX_RANK || (rank != 0 && shape == NULL)) {
        return TLY_INVALID_ARGUMENT;
    }
    memset(d, 0, sizeof *d);
    memset(buffer, 0, sizeof *buffer);
    buffer->alignment = 64;
    d->dtype = dtype;
    d->rank = rank;
    d->shape = shape;
    d->num_buffers = 1;
    d->buffers = buffer;
    return TLY_OK;
}

tly_status tly_descriptor_init_row_major(tly_descriptor *out_descriptor,
                                         tly_buffer_info *out_buffer, tly_dtype dtype,
                                         uint32_t rank, const uint64_t *shape) {
    uint64_t before;
    tly_status status = init_common(out_descriptor, out_buffer, dtype, rank, shape);
    if (status != TLY_OK) {
        return status;
    }
    if (tly_dtype_find(dtype) == NULL) {
        return TLY_UNSUPPORTED;
    }
    out_descriptor->layout = TLY_LAYOUT_ROW_MAJOR;
    return tly_descriptor_span(out_descriptor, &before, &out_buffer->byte_size);
}

tly_status tly_descriptor_init_private(tly_descriptor *out_descriptor, tly_buffer_info *out_buffer,
                                       tly_dtype dtype, uint32_t rank, const uint64_t *shape,
                                       uint8_t layout, uint64_t private_id,
                                       const void *private_data, uint32_t private_len,
                                       uint64_t byte_size, uint32_t alignment) {
    tly_status status = init_common(out_descriptor, out_buffer, dtype, rank, shape);
    if (status != TLY_OK) {
        return status;
    }
    if (layout < TLY_LAYOUT_PRIVATE_FIRST || layout > TLY_LAYOUT_PRIVATE_LAST ||
        (private_len != 0 && private_data == NULL) || alignment < 64 ||
        (alignment & (alignment - 1)) != 0) {
        return TLY_INVALID_ARGUMENT;
    }
    out_descriptor->layout = layout;
    out_descriptor->private_id = private_id;
    out_descriptor->private_data = private_data;
    out_descriptor->private_len = private_len;
    out_buffer->byte_size = byte_size;
    out_buffer->alignment = alignment;
    return TLY_OK;
}
