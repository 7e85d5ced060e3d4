/* SPDX-License-Identifier: Apache-2.0 */
/* A decoded descriptor as the text that the vectors use for it. */
#ifndef TLY_TESTS_TENSOR_TEXT_H
#define TLY_TESTS_TENSOR_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <tilery/tensor.h>

typedef struct text_buffer {
    char *bytes;
    size_t len;
    size_t capacity;
} text_buffer;

__attribute__((format(printf, 2, 3))) static inline void text_add(text_buffer *t,
                                                                  const char *format, ...) {
    va_list args;
    int need;
    va_start(args, format);
    need = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (t->len + (size_t)need + 1 > t->capacity) {
        t->capacity = (t->len + (size_t)need + 1) * 2;
        t->bytes = realloc(t->bytes, t->capacity);
    }
    va_start(args, format);
    vsnprintf(t->bytes + t->len, (size_t)need + 1, format, args);
    va_end(args);
    t->len += (size_t)need;
}

static inline void text_u64s(text_buffer *t, const char *name, const uint64_t *v, uint32_t n) {
    text_add(t, "\"%s\":[", name);
    for (uint32_t i = 0; i < n; i++) {
        text_add(t, "%s%llu", i != 0 ? "," : "", (unsigned long long)v[i]);
    }
    text_add(t, "]");
}

static inline void text_i64s(text_buffer *t, const char *name, const int64_t *v, uint32_t n) {
    text_add(t, "\"%s\":[", name);
    for (uint32_t i = 0; i < n; i++) {
        text_add(t, "%s%lld", i != 0 ? "," : "", (long long)v[i]);
    }
    text_add(t, "]");
}

static inline void text_levels(text_buffer *t, const tly_descriptor *d, uint32_t n) {
    const tly_tile_level *level = &d->levels[n];
    text_add(t, "\"kind\":\"tiled\",");
    text_u64s(t, "tile_shape", level->tile_shape, d->rank);
    text_add(t, ",\"outer_layout\":%u,\"inner_layout\":%u", level->outer, level->inner);
    if (level->outer == TLY_TILE_STRIDED) {
        text_add(t, ",");
        text_i64s(t, "outer_strides", level->outer_strides, d->rank);
    }
    if (level->inner == TLY_TILE_STRIDED) {
        text_add(t, ",");
        text_i64s(t, "inner_strides", level->inner_strides, d->rank);
    }
    if (level->inner == TLY_TILE_NESTED) {
        text_add(t, ",\"inner_tiled\":{");
        text_levels(t, d, n + 1);
        text_add(t, "}");
    }
}

static inline void text_layout(text_buffer *t, const tly_descriptor *d) {
    switch (d->layout) {
    case TLY_LAYOUT_ROW_MAJOR:
        text_add(t, "\"kind\":\"row_major\"");
        break;
    case TLY_LAYOUT_COL_MAJOR:
        text_add(t, "\"kind\":\"col_major\"");
        break;
    case TLY_LAYOUT_STRIDED:
        text_add(t, "\"kind\":\"strided\",");
        text_i64s(t, "strides", d->strides, d->rank);
        break;
    case TLY_LAYOUT_TILED:
        text_levels(t, d, 0);
        break;
    case TLY_LAYOUT_MORTON:
        text_add(t, "\"kind\":\"morton\",\"morton_bits\":[");
        for (uint32_t k = 0; k < d->rank; k++) {
            text_add(t, "%s%u", k != 0 ? "," : "", d->morton_bits[k]);
        }
        text_add(t, "]");
        break;
    default:
        text_add(t, "\"kind\":\"private\",\"extension_layout_id\":%llu,\"extension_data\":\"",
                 (unsigned long long)d->private_id);
        for (uint32_t i = 0; i < d->private_len; i++) {
            text_add(t, "%02x", d->private_data[i]);
        }
        text_add(t, "\"");
    }
}

/* The caller frees the text. */
static inline char *text_of(const tly_descriptor *d) {
    text_buffer t = {NULL, 0, 0};
    text_add(&t, "{\"version_major\":1,\"version_minor\":%u,\"type_tag\":%u,\"layout_tag\":%u,",
             d->version_minor, d->dtype, d->layout);
    text_u64s(&t, "shape", d->shape, d->rank);
    text_add(&t, ",\"byte_offset\":%llu,\"layout\":{", (unsigned long long)d->byte_offset);
    text_layout(&t, d);
    text_add(&t, "},\"buffers\":[");
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        const tly_buffer_info *b = &d->buffers[i];
        text_add(&t,
                 "%s{\"byte_size\":%llu,\"alignment\":%u,\"device_tag\":%u,\"sync_mode\":%u,"
                 "\"memory_class\":%u}",
                 i != 0 ? "," : "", (unsigned long long)b->byte_size, b->alignment, b->device,
                 b->sync_mode, b->memory_class);
    }
    text_add(&t, "],\"flags\":%u,\"rank\":%u", d->flags, d->rank);
    return t.bytes;
}

#endif
