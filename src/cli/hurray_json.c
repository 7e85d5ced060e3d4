/* SPDX-License-Identifier: Apache-2.0 */
/* What recordings of the tensor format are compared with: descriptors as JSON, and agreement. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/tensor.h>

#include "cli/hurray_case.h"

#define LARGEST                                                                                    \
    UINT64_C(999999999999999999) /* longer ones are strings, as tly_lines_quote has it */

int tly_hurray_fail(tly_hurray_case *c, const char *format, ...) {
    va_list args;
    va_start(args, format);
    vsnprintf(c->why, sizeof c->why, format, args);
    va_end(args);
    return 0;
}

static json_t *text(const char *format, ...) __attribute__((format(printf, 1, 2)));

static json_t *text(const char *format, ...) {
    char out[64];
    va_list args;
    va_start(args, format);
    vsnprintf(out, sizeof out, format, args);
    va_end(args);
    return json_string(out);
}

json_t *tly_hurray_u64(uint64_t v) {
    return v <= LARGEST ? json_integer((json_int_t)v) : text("%" PRIu64, v);
}

static json_t *i64(int64_t v) {
    return v >= 0                   ? tly_hurray_u64((uint64_t)v)
           : v >= -(int64_t)LARGEST ? json_integer((json_int_t)v)
                                    : text("%" PRId64, v);
}

json_t *tly_hurray_hex(const uint8_t *bytes, uint64_t len) {
    static const char digits[] = "0123456789abcdef";
    char *out = malloc((size_t)(2 * len + 1));
    json_t *result;
    for (uint64_t i = 0; i < len && out != NULL; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    result = out != NULL ? json_stringn(out, (size_t)(2 * len)) : NULL;
    free(out);
    return result;
}

static void put(json_t *object, const char *key, uint64_t v) {
    json_object_set_new(object, key, tly_hurray_u64(v));
}

static json_t *u64s(const uint64_t *v, uint32_t num) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < num; i++) {
        json_array_append_new(array, tly_hurray_u64(v[i]));
    }
    return array;
}

static json_t *i64s(const int64_t *v, uint32_t num) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < num; i++) {
        json_array_append_new(array, i64(v[i]));
    }
    return array;
}

static json_t *u32s(const uint32_t *v, uint32_t num) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < num; i++) {
        json_array_append_new(array, tly_hurray_u64(v[i]));
    }
    return array;
}

static json_t *level(const tly_descriptor *d, uint32_t n) {
    const tly_tile_level *l = &d->levels[n];
    json_t *o = json_object();
    json_object_set_new(o, "kind", json_string("tiled"));
    json_object_set_new(o, "tile_shape", u64s(l->tile_shape, d->rank));
    put(o, "outer_layout", l->outer);
    put(o, "inner_layout", l->inner);
    if (l->outer == TLY_TILE_STRIDED) {
        json_object_set_new(o, "outer_strides", i64s(l->outer_strides, d->rank));
    }
    if (l->inner == TLY_TILE_STRIDED) {
        json_object_set_new(o, "inner_strides", i64s(l->inner_strides, d->rank));
    }
    if (l->inner == TLY_TILE_NESTED) {
        json_object_set_new(o, "inner_tiled", level(d, n + 1));
    }
    return o;
}

static json_t *layout(const tly_descriptor *d) {
    static const char *const kinds[] = {NULL,  "row_major", "col_major",   "strided",
                                        NULL,  "morton",    "coo",         "csr",
                                        "csc", "csf",       "block_paged", "composite"};
    json_t *o;
    if (d->layout == TLY_LAYOUT_TILED) {
        return level(d, 0);
    }
    o = json_object();
    json_object_set_new(o, "kind",
                        json_string(d->layout == TLY_LAYOUT_HILBERT         ? "hilbert"
                                    : d->layout >= TLY_LAYOUT_PRIVATE_FIRST ? "private"
                                                                            : kinds[d->layout]));
    if (d->strides != NULL) {
        json_object_set_new(o, "strides", i64s(d->strides, d->rank));
    }
    if (d->morton_bits != NULL) {
        json_object_set_new(o, "morton_bits", u32s(d->morton_bits, d->rank));
    }
    if (d->layout >= TLY_LAYOUT_COO && d->layout <= TLY_LAYOUT_CSF) {
        put(o, "nnz", d->nnz);
    }
    if (d->layout == TLY_LAYOUT_COO) {
        put(o, "is_sorted", d->is_sorted);
    }
    if (d->mode_order != NULL) {
        json_object_set_new(o, "mode_order", u32s(d->mode_order, d->rank));
    }
    if (d->paged != NULL) {
        put(o, "page_size", d->paged->page_size);
        put(o, "num_pages", d->paged->num_pages);
        put(o, "paged_axis", d->paged->paged_axis);
        put(o, "num_seqs", d->paged->num_seqs);
        put(o, "kv_role", d->paged->kv_role);
        put(o, "layer_index", d->paged->layer_index);
        put(o, "block_table_index_type", d->paged->index_type);
    }
    if (d->layout == TLY_LAYOUT_COMPOSITE) {
        put(o, "composition_rule", d->composite.rule);
        put(o, "combine_op", d->composite.operation);
        put(o, "member_count", d->composite.member_count);
    }
    if (d->layout == TLY_LAYOUT_HILBERT) {
        put(o, "hilbert_order", d->hilbert_order);
        put(o, "hilbert_rank", d->rank);
    }
    if (d->layout >= TLY_LAYOUT_PRIVATE_FIRST) {
        put(o, "extension_layout_id", d->private_id);
        json_object_set_new(o, "extension_data", tly_hurray_hex(d->private_data, d->private_len));
    }
    return o;
}

static json_t *quantization(const tly_quantization *q) {
    json_t *o = json_object();
    uint32_t scale;
    memcpy(&scale, &q->scale, sizeof scale);
    put(o, "scheme_tag", q->scheme);
    put(o, "scheme_version", q->version);
    put(o, "flags", q->flags);
    if (q->scheme == TLY_QUANT_PER_TENSOR) {
        json_object_set_new(o, "scale", text("0x%08" PRIx32, scale));
        json_object_set_new(o, "zero_point", i64(q->zero_point));
        return o;
    }
    put(o, "axis", q->axis);
    if (q->scheme != TLY_QUANT_PER_CHANNEL) {
        put(o, "block_size", q->block_size);
    }
    put(o, "scale_buffer_index", q->scale_buffer);
    if (q->scheme <= TLY_QUANT_PER_BLOCK) {
        put(o, "zero_point_buffer_index", q->zero_point_buffer);
        put(o, "scale_type_tag", q->scale_type);
    }
    return o;
}

static json_t *f64(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return text("0x%016" PRIx64, bits);
}

static json_t *statistics(const tly_statistics *s) {
    json_t *o = json_object();
    put(o, "computed_mask", s->mask);
    put(o, "nnz", s->nnz);
    json_object_set_new(o, "sparsity_ratio", f64(s->sparsity));
    json_object_set_new(o, "value_min", f64(s->minimum));
    json_object_set_new(o, "value_max", f64(s->maximum));
    json_object_set_new(o, "value_abs_max", f64(s->absolute_maximum));
    json_object_set_new(o, "value_mean", f64(s->mean));
    json_object_set_new(o, "value_stddev", f64(s->deviation));
    put(o, "nm_n", s->n);
    put(o, "nm_m", s->m);
    put(o, "has_nan", s->has_nan);
    put(o, "has_inf", s->has_inf);
    return o;
}

static json_t *extension(const tly_extension_type *x) {
    json_t *o = json_object();
    put(o, "bit_width", x->bit_width);
    put(o, "packing_factor", x->packing);
    put(o, "is_float", x->is_float);
    put(o, "is_signed", x->is_signed);
    put(o, "sign_bits", x->sign_bits);
    put(o, "exponent_bits", x->exponent_bits);
    put(o, "mantissa_bits", x->mantissa_bits);
    put(o, "exponent_bias", x->exponent_bias);
    put(o, "has_nan", x->has_nan);
    put(o, "has_inf", x->has_inf);
    return o;
}

json_t *tly_hurray_describe(const tly_descriptor *d, uint32_t own_len) {
    json_t *o = json_object(), *buffers = json_array();
    const tly_dtype_info *type = tly_dtype_find(d->dtype);
    if (own_len != 0) {
        put(o, "descriptor_length", own_len);
    }
    json_object_set_new(o, "type_name",
                        json_string(type == NULL           ? "extension"
                                    : d->dtype == TLY_BOOL ? type->name
                                                           : type->long_name));
    put(o, "version_major", 1);
    put(o, "version_minor", d->version_minor);
    put(o, "flags", d->flags);
    put(o, "type_tag", d->dtype);
    put(o, "layout_tag", d->layout);
    put(o, "rank", d->rank);
    json_object_set_new(o, "shape", u64s(d->shape, d->rank));
    put(o, "byte_offset", d->byte_offset);
    json_object_set_new(o, "layout", layout(d));
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        json_t *b = json_object();
        put(b, "byte_size", d->buffers[i].byte_size);
        put(b, "alignment", d->buffers[i].alignment);
        put(b, "device_tag", d->buffers[i].device);
        put(b, "sync_mode", d->buffers[i].sync_mode);
        put(b, "memory_class", d->buffers[i].memory_class);
        json_array_append_new(buffers, b);
    }
    json_object_set_new(o, "buffers", buffers);
    if (d->quantization != NULL) {
        json_object_set_new(o, "quantization", quantization(d->quantization));
    }
    if (d->shard != NULL) {
        json_t *s = json_object();
        json_object_set_new(s, "parent_shape", u64s(d->shard->parent_shape, d->rank));
        json_object_set_new(s, "shard_offset", u64s(d->shard->offset, d->rank));
        json_object_set_new(o, "shard", s);
    }
    if (d->statistics != NULL) {
        json_object_set_new(o, "statistics", statistics(d->statistics));
    }
    if (d->extension_type != NULL) {
        json_object_set_new(o, "extension_type", extension(d->extension_type));
    }
    if ((d->flags & TLY_FLAG_COMPOSITE_MEMBER) != 0) {
        put(o, "member_role", d->member_role);
    }
    return o;
}

static int differs(const json_t *wanted, const json_t *got, char *path, size_t capacity) {
    char *w = wanted != NULL ? json_dumps(wanted, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    char *g = got != NULL ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    snprintf(path, capacity, ": %.60s, recorded %.60s", g != NULL ? g : "nothing",
             w != NULL ? w : "nothing");
    free(w);
    free(g);
    return 0;
}

/* Puts a step in front of a path. */
static void in_front(char *path, size_t capacity, const char *step) {
    char inner[300];
    snprintf(inner, sizeof inner, "%s", path);
    snprintf(path, capacity, "%.80s%s%s", step, inner[0] == ':' ? "" : ".", inner);
}

int tly_hurray_agrees(const json_t *wanted, const json_t *got, char *path, size_t capacity) {
    const char *key;
    json_t *value;
    if (wanted == NULL || json_is_null(wanted)) {
        return 1;
    }
    if (json_is_object(wanted) && json_is_object(got)) {
        json_object_foreach((json_t *)(uintptr_t)wanted, key, value) {
            /* The bytes of a section say again what its fields do. */
            if (strcmp(key, "raw_hex") == 0 || strcmp(key, "quantization_length") == 0) {
                continue;
            }
            if (!tly_hurray_agrees(value, json_object_get(got, key), path, capacity)) {
                in_front(path, capacity, key);
                return 0;
            }
        }
        return 1;
    }
    if (json_is_array(wanted) && json_is_array(got) &&
        json_array_size(wanted) == json_array_size(got)) {
        for (size_t i = 0; i < json_array_size(wanted); i++) {
            if (!tly_hurray_agrees(json_array_get(wanted, i), json_array_get(got, i), path,
                                   capacity)) {
                char step[24];
                snprintf(step, sizeof step, "[%zu]", i);
                in_front(path, capacity, step);
                return 0;
            }
        }
        return 1;
    }
    return got != NULL && json_equal(wanted, got) ? 1 : differs(wanted, got, path, capacity);
}

static int digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

uint8_t *tly_hurray_unhex(const char *hex_text, size_t *out_len) {
    size_t len = hex_text != NULL ? strlen(hex_text) : 1;
    uint8_t *bytes = len % 2 == 0 ? malloc(len / 2 + 1) : NULL;
    for (size_t i = 0; i < len && bytes != NULL; i += 2) {
        int high = digit(hex_text[i]), low = digit(hex_text[i + 1]);
        if (high < 0 || low < 0) {
            free(bytes);
            return NULL;
        }
        bytes[i / 2] = (uint8_t)(high << 4 | low);
    }
    *out_len = len / 2;
    return bytes;
}

uint64_t tly_hurray_number(const json_t *value) {
    return json_is_string(value) ? strtoull(json_string_value(value), NULL, 10)
                                 : (uint64_t)json_integer_value(value);
}

const char *tly_hurray_text(const json_t *object, const char *key) {
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL ? value : "";
}
