/* SPDX-License-Identifier: Apache-2.0 */
/* A decoded descriptor as the text that the vectors use for it. */
#ifndef TLY_TESTS_TENSOR_TEXT_H
#define TLY_TESTS_TENSOR_TEXT_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    case TLY_LAYOUT_COO:
        text_add(t, "\"kind\":\"coo\",\"nnz\":%llu,\"is_sorted\":%u", (unsigned long long)d->nnz,
                 d->is_sorted);
        break;
    case TLY_LAYOUT_CSR:
    case TLY_LAYOUT_CSC:
        text_add(t, "\"kind\":\"%s\",\"nnz\":%llu", d->layout == TLY_LAYOUT_CSR ? "csr" : "csc",
                 (unsigned long long)d->nnz);
        break;
    case TLY_LAYOUT_CSF:
        text_add(t, "\"kind\":\"csf\",\"nnz\":%llu,\"mode_order\":[", (unsigned long long)d->nnz);
        for (uint32_t k = 0; k < d->rank; k++) {
            text_add(t, "%s%u", k != 0 ? "," : "", d->mode_order[k]);
        }
        text_add(t, "]");
        break;
    case TLY_LAYOUT_BLOCK_PAGED:
        text_add(t,
                 "\"kind\":\"block_paged\",\"page_size\":%u,\"num_pages\":%llu,\"paged_axis\":%u,"
                 "\"num_seqs\":%u,\"kv_role\":%u,\"layer_index\":%u,\"block_table_index_type\":%u",
                 d->paged->page_size, (unsigned long long)d->paged->num_pages, d->paged->paged_axis,
                 d->paged->num_seqs, d->paged->kv_role, d->paged->layer_index,
                 d->paged->index_type);
        break;
    case TLY_LAYOUT_COMPOSITE:
        text_add(t,
                 "\"kind\":\"composite\",\"composition_rule\":%u,\"combine_op\":%u,"
                 "\"member_count\":%u",
                 d->composite.rule, d->composite.operation, d->composite.member_count);
        break;
    case TLY_LAYOUT_HILBERT:
        text_add(t, "\"kind\":\"hilbert\",\"hilbert_order\":%u,\"hilbert_rank\":%u",
                 d->hilbert_order, d->rank);
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

static inline void text_f64(text_buffer *t, const char *name, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    text_add(t, ",\"%s\":\"0x%016llx\"", name, (unsigned long long)bits);
}

/* A number as the hexadecimal digits of its little-endian bytes. */
static inline void text_bytes(text_buffer *t, uint64_t v, int num_bytes) {
    for (int i = 0; i < num_bytes; i++) {
        text_add(t, "%02x", (unsigned)(v >> (8 * i) & 0xFF));
    }
}

static inline void text_quantization(text_buffer *t, const tly_quantization *q) {
    uint32_t len = q->scheme == 2 ? 20 : q->scheme == 3 ? 24 : 16;
    uint32_t scale;
    memcpy(&scale, &q->scale, sizeof scale);
    text_add(t, ",\"quantization\":{\"scheme_tag\":%u,\"flags\":%u", q->scheme, q->flags);
    if (q->scheme == 1) {
        text_add(t, ",\"scale\":\"0x%08x\",\"zero_point\":%d", scale, q->zero_point);
    } else {
        text_add(t, ",\"axis\":%u", q->axis);
        if (q->scheme != 2) {
            text_add(t, ",\"block_size\":%u", q->block_size);
        }
        text_add(t, ",\"scale_buffer_index\":%u", q->scale_buffer);
        if (q->scheme < 4) {
            text_add(t, ",\"zero_point_buffer_index\":%u,\"scale_type_tag\":%u",
                     q->zero_point_buffer, q->scale_type);
        }
    }
    text_add(t, ",\"scheme_version\":%u,\"quantization_length\":%u,\"raw_hex\":\"", q->version,
             len + q->trailing_len);
    text_bytes(t, q->scheme, 1);
    text_bytes(t, q->version, 1);
    text_bytes(t, q->flags, 2);
    if (q->scheme == 1) {
        text_bytes(t, scale, 4);
        text_bytes(t, (uint32_t)q->zero_point, 4);
        text_bytes(t, 0, 4);
    } else {
        text_bytes(t, q->axis, 4);
        text_bytes(t, q->block_size, q->scheme != 2 ? 4 : 0);
        text_bytes(t, q->scale_buffer, 4);
        text_bytes(t, q->zero_point_buffer, q->scheme < 4 ? 4 : 0);
        text_bytes(t, q->scale_type, q->scheme < 4 ? 4 : 0);
    }
    for (uint32_t i = 0; i < q->trailing_len; i++) {
        text_bytes(t, q->trailing[i], 1);
    }
    text_add(t, "\"}");
}

static inline void text_sections(text_buffer *t, const tly_descriptor *d) {
    if (d->extension_type != NULL) {
        const tly_extension_type *x = d->extension_type;
        text_add(t,
                 ",\"extension_type\":{\"bit_width\":%u,\"packing_factor\":%u,\"is_float\":%u,"
                 "\"is_signed\":%u,\"sign_bits\":%u,\"exponent_bits\":%u,\"mantissa_bits\":%u,"
                 "\"exponent_bias\":%u,\"has_nan\":%u,\"has_inf\":%u}",
                 x->bit_width, x->packing, x->is_float, x->is_signed, x->sign_bits,
                 x->exponent_bits, x->mantissa_bits, x->exponent_bias, x->has_nan, x->has_inf);
    }
    if (d->quantization != NULL) {
        text_quantization(t, d->quantization);
    }
    if (d->shard != NULL) {
        text_add(t, ",\"shard\":{");
        text_u64s(t, "parent_shape", d->shard->parent_shape, d->rank);
        text_add(t, ",");
        text_u64s(t, "shard_offset", d->shard->offset, d->rank);
        text_add(t, "}");
    }
    if (d->statistics != NULL) {
        const tly_statistics *s = d->statistics;
        text_add(t, ",\"statistics\":{\"computed_mask\":%u,\"nnz\":%llu", s->mask,
                 (unsigned long long)s->nnz);
        text_f64(t, "sparsity_ratio", s->sparsity);
        text_f64(t, "value_min", s->minimum);
        text_f64(t, "value_max", s->maximum);
        text_f64(t, "value_abs_max", s->absolute_maximum);
        text_f64(t, "value_mean", s->mean);
        text_f64(t, "value_stddev", s->deviation);
        text_add(t, ",\"nm_n\":%u,\"nm_m\":%u,\"has_nan\":%u,\"has_inf\":%u}", s->n, s->m,
                 s->has_nan, s->has_inf);
    }
    if ((d->flags & TLY_FLAG_COMPOSITE_MEMBER) != 0) {
        text_add(t, ",\"member_role\":%u", d->member_role);
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
    text_add(&t, "]");
    text_sections(&t, d);
    text_add(&t, ",\"flags\":%u,\"rank\":%u", d->flags, d->rank);
    return t.bytes;
}

#endif
