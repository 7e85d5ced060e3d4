/* SPDX-License-Identifier: Apache-2.0 */
/* How much of buffer 0 a dense layout needs. Computed from the formulas of the layouts, without a
 * nest: a nest has a limit on its loops, a descriptor has not. */
#include <tilery/tensor.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/try.h"
#include "num/bits.h"
#include "tensor/layouts.h"

/* Element offsets that a layout reaches: low <= 0, high one past the highest. */
typedef struct span {
    int64_t low;
    int64_t high; /* as "one past" only at the very end; the highest offset until then */
} span;

uint32_t tly_descriptor_element_bits(const tly_descriptor *descriptor) {
    const tly_extension_type *x = descriptor->extension_type;
    return x != NULL ? x->bit_width : tly_dtype_bits(descriptor->dtype);
}

/* Elements of whole bytes, or such as are packed into bytes. */
static int has_storage(uint32_t bits) {
    return bits != 0 && (bits < 8 || bits % 8 == 0);
}

static int has_dynamic(const tly_descriptor *d) {
    for (uint32_t k = 0; k < d->rank; k++) {
        if (d->shape[k] == TLY_DYNAMIC) {
            return 1;
        }
    }
    return 0;
}

static int is_empty(const tly_descriptor *d) {
    for (uint32_t k = 0; k < d->rank; k++) {
        if (d->shape[k] == 0) {
            return 1;
        }
    }
    return 0;
}

static int product(const uint64_t *extents, uint32_t rank, int64_t *out) {
    int64_t p = 1;
    for (uint32_t k = 0; k < rank; k++) {
        if (tly_base_mul_u64_i64(extents[k], p, &p)) {
            return 1;
        }
    }
    *out = p;
    return 0;
}

/* Adds what `strides` (times `unit`) reach over extents that are all > 0. */
static int add_strided(span *s, const uint64_t *extents, const int64_t *strides, uint32_t rank,
                       int64_t unit) {
    for (uint32_t k = 0; k < rank; k++) {
        int64_t reach;
        int64_t *end = strides[k] < 0 ? &s->low : &s->high;
        if (tly_base_mul_u64_i64(extents[k] - 1, strides[k], &reach) ||
            __builtin_mul_overflow(reach, unit, &reach) || tly_base_add_i64(*end, reach, end)) {
            return 1;
        }
    }
    return 0;
}

/* Adds a grid that is filled without gaps. */
static int add_packed(span *s, const uint64_t *extents, uint32_t rank, int64_t unit) {
    int64_t places;
    return product(extents, rank, &places) || __builtin_mul_overflow(places - 1, unit, &places) ||
           tly_base_add_i64(s->high, places, &s->high);
}

static tly_status tiled_span(const tly_descriptor *d, span *s) {
    uint64_t grid[TLY_MAX_RANK];
    const uint64_t *inside = d->shape;
    for (uint32_t n = 0; n < d->num_levels; n++) {
        const tly_tile_level *level = &d->levels[n];
        int64_t tile_len;
        for (uint32_t k = 0; k < d->rank; k++) {
            uint64_t rest = inside[k] % level->tile_shape[k];
            if (n > 0 && rest != 0) {
                return TLY_INVALID_ARGUMENT;
            }
            grid[k] = inside[k] / level->tile_shape[k] + (rest != 0);
        }
        if (product(level->tile_shape, d->rank, &tile_len) ||
            (level->outer == TLY_TILE_STRIDED
                 ? add_strided(s, grid, level->outer_strides, d->rank, tile_len)
                 : add_packed(s, grid, d->rank, tile_len))) {
            return TLY_OVERFLOW;
        }
        inside = level->tile_shape;
        if (level->inner == TLY_TILE_STRIDED
                ? add_strided(s, inside, level->inner_strides, d->rank, 1)
                : level->inner != TLY_TILE_NESTED && add_packed(s, inside, d->rank, 1)) {
            return TLY_OVERFLOW;
        }
    }
    return TLY_OK;
}

/* All codes of the given bits. With unequal bits they have gaps, and their number (which the format
 * asks for) may be larger or smaller than the highest code: both must fit. */
static tly_status morton_span(const tly_descriptor *d, span *s) {
    uint64_t highest = 0;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < d->rank; k++) {
        for (uint32_t b = 0; b < d->morton_bits[k]; b++) {
            uint64_t place = (uint64_t)b * d->rank + k;
            if (place >= 62) {
                return TLY_OVERFLOW;
            }
            highest |= UINT64_C(1) << place;
        }
        sum += d->morton_bits[k];
    }
    if (sum >= 62) {
        return TLY_OVERFLOW;
    }
    if (highest < (UINT64_C(1) << sum) - 1) {
        highest = (UINT64_C(1) << sum) - 1;
    }
    s->high = (int64_t)highest;
    return TLY_OK;
}

static tly_status hilbert_span(const tly_descriptor *d, span *s) {
    uint64_t bits = (uint64_t)d->hilbert_order * d->rank;
    if (bits >= 62) {
        return TLY_OVERFLOW;
    }
    s->high = (int64_t)((UINT64_C(1) << bits) - 1);
    return TLY_OK;
}

static tly_status element_span(const tly_descriptor *d, span *s) {
    tly_status status = TLY_OK;
    s->low = 0;
    s->high = 0;
    if (d->layout == TLY_LAYOUT_MORTON) {
        status = morton_span(d, s);
    } else if (d->layout == TLY_LAYOUT_HILBERT) {
        status = hilbert_span(d, s);
    } else if (is_empty(d)) {
        return TLY_OK;
    } else if (d->layout == TLY_LAYOUT_TILED) {
        status = tiled_span(d, s);
    } else if (d->layout == TLY_LAYOUT_STRIDED ? add_strided(s, d->shape, d->strides, d->rank, 1)
                                               : add_packed(s, d->shape, d->rank, 1)) {
        status = TLY_OVERFLOW;
    }
    if (status == TLY_OK && tly_base_add_i64(s->high, 1, &s->high)) {
        status = TLY_OVERFLOW;
    }
    return status;
}

tly_status tly_descriptor_span(const tly_descriptor *descriptor, uint64_t *out_before,
                               uint64_t *out_after) {
    const tly_tensor_layout *layout = tly_tensor_layout_find(descriptor->layout);
    uint32_t bits = tly_descriptor_element_bits(descriptor);
    tly_status status;
    span s;
    if (layout == NULL || layout->kind != TLY_KIND_DENSE) {
        return TLY_LAYOUT_UNAVAILABLE;
    }
    if (!has_storage(bits)) {
        return TLY_UNSUPPORTED;
    }
    if (has_dynamic(descriptor)) {
        return TLY_INVALID_ARGUMENT;
    }
    status = element_span(descriptor, &s);
    if (status != TLY_OK) {
        return status;
    }
    if (tly_num_storage_len((uint64_t)0 - (uint64_t)s.low, bits, out_before) ||
        tly_num_storage_len((uint64_t)s.high, bits, out_after)) {
        return TLY_OVERFLOW;
    }
    return TLY_OK;
}

/* Bytes of a descriptor in front of its layout fields, and in front of the handle of a buffer: so
 * that an error about decoded fields can name the byte that they came from. */
#define TYPE_AT 14

static uint64_t layout_fields_at(const tly_descriptor *d) {
    return 28 + 8 * (uint64_t)d->rank;
}

static uint64_t buffer_at(const tly_descriptor *d, uint32_t number) {
    const tly_tensor_layout *layout = tly_tensor_layout_find(d->layout);
    tly_tensor_writer fields = {NULL, 0, 0};
    if (layout != NULL && layout->write != NULL) {
        layout->write(&fields, d);
    }
    return layout_fields_at(d) + fields.len + 1 + 16 * (uint64_t)number;
}

static tly_status too_large(const tly_descriptor *d, tly_error *error) {
    return tly_base_fail(error, TLY_OVERFLOW, buffer_at(d, 0), "B-SIZE",
                         "layout 0x%02X (%s) needs more than 2^63 bytes", d->layout,
                         tly_layout_name(d->layout));
}

static tly_status check_dense(const tly_descriptor *d, tly_error *error) {
    uint64_t before = 0;
    uint64_t after = 0;
    uint64_t end = 0;
    tly_status status = tly_descriptor_span(d, &before, &after);
    if (status == TLY_INVALID_ARGUMENT) {
        return tly_base_fail(error, TLY_MALFORMED, layout_fields_at(d), "L-TILED-DIVIDE",
                             "the tiles of one level do not divide those of the level around it");
    }
    if (status == TLY_OVERFLOW ||
        (status == TLY_OK && tly_base_add_u64(d->byte_offset, after, &end))) {
        return too_large(d, error);
    }
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TYPE_AT, "U-WIDTH",
                             "elements of %u bits are not handled by this version",
                             tly_descriptor_element_bits(d));
    }
    if (before > d->byte_offset || end > d->buffers[0].byte_size) {
        return tly_base_fail(
            error, TLY_MALFORMED, buffer_at(d, 0), "B-SIZE",
            "buffer 0 has %llu bytes; the layout needs %llu in front of byte offset "
            "%llu and %llu behind it",
            (unsigned long long)d->buffers[0].byte_size, (unsigned long long)before,
            (unsigned long long)d->byte_offset, (unsigned long long)after);
    }
    return TLY_OK;
}

/* Buffer `number` has room for `count` times `factor` elements of `bits` bits. */
static tly_status check_room(const tly_descriptor *d, uint32_t number, uint64_t count,
                             uint64_t factor, uint32_t bits, tly_error *error) {
    uint64_t elements;
    uint64_t len;
    if (!has_storage(bits)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TYPE_AT, "U-WIDTH",
                             "elements of %u bits are not handled by this version", bits);
    }
    if (tly_base_mul_u64(count, factor, &elements) || tly_num_storage_len(elements, bits, &len)) {
        return too_large(d, error);
    }
    if (len > d->buffers[number].byte_size) {
        return tly_base_fail(error, TLY_MALFORMED, buffer_at(d, number), "B-SIZE",
                             "buffer %u has %llu bytes; layout 0x%02X (%s) needs %llu", number,
                             (unsigned long long)d->buffers[number].byte_size, d->layout,
                             tly_layout_name(d->layout), (unsigned long long)len);
    }
    return TLY_OK;
}

static tly_status check_pointers(const tly_descriptor *d, uint32_t number, uint64_t extent,
                                 tly_error *error) {
    return extent == UINT64_MAX ? too_large(d, error)
                                : check_room(d, number, extent + 1, 1, 64, error);
}

static tly_status check_indexed(const tly_descriptor *d, uint32_t bits, tly_error *error) {
    if (d->layout == TLY_LAYOUT_BLOCK_PAGED) {
        const tly_block_paged *p = d->paged;
        uint64_t slots;
        uint64_t rows;
        if (tly_base_mul_u64(p->num_pages, p->page_size, &slots) ||
            tly_base_mul_u64(slots, d->shape[1], &rows)) {
            return too_large(d, error);
        }
        TRY(check_room(d, 0, rows, d->shape[2], bits, error));
        return check_room(d, 2, (uint64_t)p->num_seqs + 1, 1, p->index_type != 0 ? 64 : 32, error);
    }
    TRY(check_room(d, 0, d->nnz, 1, bits, error));
    switch (d->layout) {
    case TLY_LAYOUT_COO:
        return check_room(d, 1, d->nnz, d->rank, 64, error);
    case TLY_LAYOUT_CSR:
    case TLY_LAYOUT_CSC:
        TRY(check_room(d, 1, d->nnz, 1, 64, error));
        return check_pointers(d, 2, d->shape[d->layout == TLY_LAYOUT_CSR ? 0 : 1], error);
    default: /* CSF: the first pointers are two, the last coordinates one for each element */
        TRY(check_room(d, 1, 2, 1, 64, error));
        return check_room(d, 2 * d->rank, d->nnz, 1, 64, error);
    }
}

tly_status tly_descriptor_check_buffers(const tly_descriptor *descriptor, tly_error *error) {
    const tly_tensor_layout *layout = tly_tensor_layout_find(descriptor->layout);
    if (layout == NULL || has_dynamic(descriptor)) {
        return TLY_OK;
    }
    switch (layout->kind) {
    case TLY_KIND_DENSE:
        return check_dense(descriptor, error);
    case TLY_KIND_INDEXED:
        return check_indexed(descriptor, tly_descriptor_element_bits(descriptor), error);
    default:
        return TLY_OK;
    }
}

tly_status tly_descriptor_num_elements(const tly_descriptor *descriptor, uint64_t *out_count) {
    uint64_t count = 1;
    if (has_dynamic(descriptor)) {
        return TLY_INVALID_ARGUMENT;
    }
    if (is_empty(descriptor)) {
        *out_count = 0;
        return TLY_OK;
    }
    for (uint32_t k = 0; k < descriptor->rank; k++) {
        if (tly_base_mul_u64(count, descriptor->shape[k], &count)) {
            return TLY_OVERFLOW;
        }
    }
    *out_count = count;
    return TLY_OK;
}

tly_status tly_descriptor_data_len(const tly_descriptor *descriptor, uint64_t *out_len) {
    uint64_t len = 0;
    for (uint32_t i = 0; i < descriptor->num_buffers; i++) {
        if (tly_base_add_u64(len, descriptor->buffers[i].byte_size, &len)) {
            return TLY_OVERFLOW;
        }
    }
    *out_len = len;
    return TLY_OK;
}
