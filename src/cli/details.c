/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/details.h"

#include <inttypes.h>
#include <string.h>

#include "cli/describe.h"
#include "cli/text.h"

static const char *const schemes[] = {"", "per tensor", "per channel", "per block", "NF4", "MXFP"};
static const char *const rules[] = {"", "partition", "overlay", "group"};
static const char *const operations[] = {"", "replace", "add"};
static const char *const orders[] = {"", "row-major", "column-major", "strided", "nested"};
static const char *const roles[] = {"key", "value", "other"};
static const char *const devices[] = {"CPU",    "CUDA",    "ROCm",       "Metal", "Vulkan",
                                      "WebGPU", "Hexagon", "Level Zero", "OpenCL"};

static const char *device_name(uint8_t device) {
    return device < sizeof devices / sizeof devices[0] ? devices[device] : "private device";
}

/* ---- For people ---- */

typedef struct page {
    FILE *out;
    int indent;
} page;

static void line(const page *p, const char *label) {
    fprintf(p->out, "%*s%-13s ", p->indent, "", label);
}

static void put_u64s(FILE *out, const uint64_t *values, uint32_t num) {
    char text[512];
    fputs(tly_describe_shape(text, sizeof text, values, num), out);
}

static void put_i64s(FILE *out, const int64_t *values, uint32_t num) {
    for (uint32_t k = 0; k < num; k++) {
        fprintf(out, "%s%" PRId64, k == 0 ? "[" : ", ", values[k]);
    }
    fputs(num != 0 ? "]" : "[]", out);
}

static void put_u32s(FILE *out, const uint32_t *values, uint32_t num) {
    for (uint32_t k = 0; k < num; k++) {
        fprintf(out, "%s%" PRIu32, k == 0 ? "[" : ", ", values[k]);
    }
    fputs(num != 0 ? "]" : "[]", out);
}

static void layout_text(const page *p, const tly_descriptor *d) {
    FILE *out = p->out;
    switch (d->layout) {
    case TLY_LAYOUT_STRIDED:
        line(p, "strides");
        put_i64s(out, d->strides, d->rank);
        fputs(" elements\n", out);
        break;
    case TLY_LAYOUT_TILED:
        for (uint32_t i = 0; i < d->num_levels; i++) {
            const tly_tile_level *level = &d->levels[i];
            line(p, i == 0 ? "tiles" : "tiles inside");
            put_u64s(out, level->tile_shape, d->rank);
            fprintf(out, ", tiles %s, inside %s", orders[level->outer], orders[level->inner]);
            if (level->outer_strides != NULL) {
                fputs(", strides of tiles ", out);
                put_i64s(out, level->outer_strides, d->rank);
            }
            if (level->inner_strides != NULL) {
                fputs(", strides inside ", out);
                put_i64s(out, level->inner_strides, d->rank);
            }
            fputc('\n', out);
        }
        break;
    case TLY_LAYOUT_MORTON:
        line(p, "Morton bits");
        put_u32s(out, d->morton_bits, d->rank);
        fputc('\n', out);
        break;
    case TLY_LAYOUT_HILBERT:
        line(p, "Hilbert");
        fprintf(out, "order %" PRIu32 "\n", d->hilbert_order);
        break;
    case TLY_LAYOUT_COO:
    case TLY_LAYOUT_CSR:
    case TLY_LAYOUT_CSC:
    case TLY_LAYOUT_CSF:
        line(p, "stored");
        fprintf(out, "%" PRIu64 " element%s", d->nnz, tly_text_s(d->nnz));
        if (d->layout == TLY_LAYOUT_COO) {
            fputs(d->is_sorted ? ", sorted" : ", not sorted", out);
        } else if (d->layout == TLY_LAYOUT_CSF) {
            fputs(", axes by level ", out);
            put_u32s(out, d->mode_order, d->rank);
        }
        fputc('\n', out);
        break;
    case TLY_LAYOUT_BLOCK_PAGED:
        line(p, "pages");
        fprintf(out, "%" PRIu64 " of %" PRIu32 " tokens, %" PRIu32 " sequence%s, role %s",
                d->paged->num_pages, d->paged->page_size, d->paged->num_seqs,
                tly_text_s(d->paged->num_seqs), roles[d->paged->kv_role % 3]);
        if (d->paged->layer_index != UINT32_MAX) {
            fprintf(out, ", layer %" PRIu32, d->paged->layer_index);
        }
        fputc('\n', out);
        break;
    case TLY_LAYOUT_COMPOSITE:
        line(p, "composite");
        fprintf(out, "%s of %" PRIu32 " member%s%s%s\n", rules[d->composite.rule % 4],
                d->composite.member_count, tly_text_s(d->composite.member_count),
                d->composite.operation != 0 ? ", operation " : "",
                operations[d->composite.operation % 3]);
        break;
    default:
        break;
    }
}

static void quantization_text(const page *p, const tly_quantization *q) {
    char type[16];
    line(p, "quantization");
    fprintf(p->out, "%s", schemes[q->scheme % 6]);
    if (q->scheme == TLY_QUANT_PER_TENSOR) {
        fprintf(p->out, ", scale %.9g, zero point %" PRId32 "\n", (double)q->scale, q->zero_point);
        return;
    }
    fprintf(p->out, ", axis %" PRIu32, q->axis);
    if (q->block_size != 0) {
        fprintf(p->out, ", blocks of %" PRIu32, q->block_size);
    }
    fprintf(p->out, ", scales %s in buffer %" PRIu32,
            tly_describe_dtype(type, sizeof type, q->scale_type), q->scale_buffer);
    if (q->zero_point_buffer != UINT32_MAX) {
        fprintf(p->out, ", zero points in buffer %" PRIu32, q->zero_point_buffer);
    }
    fputc('\n', p->out);
}

static void statistics_text(const page *p, const tly_statistics *s) {
    line(p, "statistics");
    if (s->mask == 0) {
        fputs("none known", p->out);
    }
    if ((s->mask & TLY_STATISTICS_NNZ) != 0) {
        fprintf(p->out, "%" PRIu64 " not zero  ", s->nnz);
    }
    if ((s->mask & TLY_STATISTICS_SPARSITY) != 0) {
        fprintf(p->out, "%.4g of all zero  ", s->sparsity);
    }
    if ((s->mask & TLY_STATISTICS_RANGE) != 0) {
        fprintf(p->out, "%.9g to %.9g, magnitude at most %.9g  ", s->minimum, s->maximum,
                s->absolute_maximum);
    }
    if ((s->mask & TLY_STATISTICS_MOMENTS) != 0) {
        fprintf(p->out, "mean %.9g, deviation %.9g  ", s->mean, s->deviation);
    }
    if ((s->mask & TLY_STATISTICS_N_OF_M) != 0) {
        fprintf(p->out, "%u of every %u not zero  ", s->n, s->m);
    }
    if ((s->mask & TLY_STATISTICS_SPECIALS) != 0) {
        fprintf(p->out, "%s NaN, %s infinity", s->has_nan ? "has" : "no",
                s->has_inf ? "has" : "no");
    }
    fputc('\n', p->out);
}

void tly_details_text(FILE *out, int indent, const tly_descriptor *d) {
    page p = {out, indent};
    char text[320], bytes[32];
    line(&p, "layout");
    fprintf(out, "%s\n", tly_describe_layout(text, sizeof text, d));
    layout_text(&p, d);
    if (d->byte_offset != 0) {
        line(&p, "byte offset");
        fprintf(out, "%" PRIu64 "\n", d->byte_offset);
    }
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        const tly_buffer_info *b = &d->buffers[i];
        char label[32];
        snprintf(label, sizeof label, "buffer %u", i);
        line(&p, label);
        fprintf(out, "%s, alignment %" PRIu32 ", %s",
                tly_text_bytes(bytes, sizeof bytes, b->byte_size), b->alignment,
                device_name(b->device));
        if (b->memory_class != 0 || b->sync_mode != 0) {
            fprintf(out, ", memory class %u, synchronisation %u", b->memory_class, b->sync_mode);
        }
        fputc('\n', out);
    }
    if (d->quantization != NULL) {
        quantization_text(&p, d->quantization);
    }
    if (d->shard != NULL) {
        line(&p, "shard");
        fputs("at ", out);
        put_u64s(out, d->shard->offset, d->rank);
        fputs(" of ", out);
        put_u64s(out, d->shard->parent_shape, d->rank);
        fputc('\n', out);
    }
    if (d->statistics != NULL) {
        statistics_text(&p, d->statistics);
    }
    if (d->extension_type != NULL) {
        const tly_extension_type *x = d->extension_type;
        line(&p, "own type");
        fprintf(out, "%s of %" PRIu32 " bits\n",
                x->is_float    ? "float"
                : x->is_signed ? "integer"
                               : "unsigned integer",
                x->bit_width);
    }
    if ((d->flags & TLY_FLAG_COMPOSITE_MEMBER) != 0) {
        line(&p, "role");
        fprintf(out, "%s of an overlay\n", d->member_role != 0 ? "base" : "correction");
    }
}

/* ---- As JSON ---- */

static void u64_row(tly_json *json, const char *key, const uint64_t *values, uint32_t num) {
    tly_json_row(json, key);
    for (uint32_t k = 0; k < num; k++) {
        tly_json_u64(json, NULL, values[k]);
    }
    tly_json_end_array(json);
}

static void i64_row(tly_json *json, const char *key, const int64_t *values, uint32_t num) {
    tly_json_row(json, key);
    for (uint32_t k = 0; k < num; k++) {
        tly_json_i64(json, NULL, values[k]);
    }
    tly_json_end_array(json);
}

static void u32_row(tly_json *json, const char *key, const uint32_t *values, uint32_t num) {
    tly_json_row(json, key);
    for (uint32_t k = 0; k < num; k++) {
        tly_json_u64(json, NULL, values[k]);
    }
    tly_json_end_array(json);
}

static void layout_json(tly_json *json, const tly_descriptor *d) {
    if (d->strides != NULL) {
        i64_row(json, "strides", d->strides, d->rank);
    }
    if (d->num_levels != 0) {
        tly_json_array(json, "tiles");
        for (uint32_t i = 0; i < d->num_levels; i++) {
            const tly_tile_level *level = &d->levels[i];
            tly_json_object(json, NULL);
            u64_row(json, "shape", level->tile_shape, d->rank);
            tly_json_string(json, "tiles", orders[level->outer]);
            tly_json_string(json, "inside", orders[level->inner]);
            if (level->outer_strides != NULL) {
                i64_row(json, "strides_of_tiles", level->outer_strides, d->rank);
            }
            if (level->inner_strides != NULL) {
                i64_row(json, "strides_inside", level->inner_strides, d->rank);
            }
            tly_json_end_object(json);
        }
        tly_json_end_array(json);
    }
    if (d->morton_bits != NULL) {
        u32_row(json, "morton_bits", d->morton_bits, d->rank);
    }
    if (d->layout == TLY_LAYOUT_HILBERT) {
        tly_json_u64(json, "hilbert_order", d->hilbert_order);
    }
    if (d->layout >= TLY_LAYOUT_COO && d->layout <= TLY_LAYOUT_CSF) {
        tly_json_u64(json, "stored", d->nnz);
        if (d->layout == TLY_LAYOUT_COO) {
            tly_json_bool(json, "sorted", d->is_sorted);
        }
        if (d->mode_order != NULL) {
            u32_row(json, "axis_of_level", d->mode_order, d->rank);
        }
    }
    if (d->paged != NULL) {
        tly_json_object(json, "paged");
        tly_json_u64(json, "num_pages", d->paged->num_pages);
        tly_json_u64(json, "page_size", d->paged->page_size);
        tly_json_u64(json, "num_seqs", d->paged->num_seqs);
        tly_json_string(json, "role", roles[d->paged->kv_role % 3]);
        if (d->paged->layer_index != UINT32_MAX) {
            tly_json_u64(json, "layer", d->paged->layer_index);
        }
        tly_json_u64(json, "index_bits", d->paged->index_type != 0 ? 64 : 32);
        tly_json_end_object(json);
    }
    if (d->layout == TLY_LAYOUT_COMPOSITE) {
        tly_json_object(json, "composite");
        tly_json_string(json, "rule", rules[d->composite.rule % 4]);
        tly_json_string(json, "operation", operations[d->composite.operation % 3]);
        tly_json_u64(json, "members", d->composite.member_count);
        tly_json_end_object(json);
    }
}

static void sections_json(tly_json *json, const tly_descriptor *d) {
    char type[16];
    if (d->quantization != NULL) {
        const tly_quantization *q = d->quantization;
        tly_json_object(json, "quantization");
        tly_json_string(json, "scheme", schemes[q->scheme % 6]);
        if (q->scheme == TLY_QUANT_PER_TENSOR) {
            tly_json_number(json, "scale", (double)q->scale);
            tly_json_i64(json, "zero_point", q->zero_point);
        } else {
            tly_json_u64(json, "axis", q->axis);
            if (q->block_size != 0) {
                tly_json_u64(json, "block_size", q->block_size);
            }
            tly_json_u64(json, "scale_buffer", q->scale_buffer);
            tly_json_string(json, "scale_type",
                            tly_describe_dtype(type, sizeof type, q->scale_type));
            if (q->zero_point_buffer != UINT32_MAX) {
                tly_json_u64(json, "zero_point_buffer", q->zero_point_buffer);
            }
        }
        tly_json_end_object(json);
    }
    if (d->shard != NULL) {
        tly_json_object(json, "shard");
        u64_row(json, "parent_shape", d->shard->parent_shape, d->rank);
        u64_row(json, "offset", d->shard->offset, d->rank);
        tly_json_end_object(json);
    }
    if (d->statistics != NULL) {
        const tly_statistics *s = d->statistics;
        tly_json_object(json, "statistics");
        if ((s->mask & TLY_STATISTICS_NNZ) != 0) {
            tly_json_u64(json, "nnz", s->nnz);
        }
        if ((s->mask & TLY_STATISTICS_SPARSITY) != 0) {
            tly_json_number(json, "sparsity", s->sparsity);
        }
        if ((s->mask & TLY_STATISTICS_RANGE) != 0) {
            tly_json_number(json, "minimum", s->minimum);
            tly_json_number(json, "maximum", s->maximum);
            tly_json_number(json, "absolute_maximum", s->absolute_maximum);
        }
        if ((s->mask & TLY_STATISTICS_MOMENTS) != 0) {
            tly_json_number(json, "mean", s->mean);
            tly_json_number(json, "deviation", s->deviation);
        }
        if ((s->mask & TLY_STATISTICS_N_OF_M) != 0) {
            tly_json_u64(json, "n", s->n);
            tly_json_u64(json, "m", s->m);
        }
        if ((s->mask & TLY_STATISTICS_SPECIALS) != 0) {
            tly_json_bool(json, "has_nan", s->has_nan);
            tly_json_bool(json, "has_inf", s->has_inf);
        }
        tly_json_end_object(json);
    }
    if (d->extension_type != NULL) {
        tly_json_object(json, "extension_type");
        tly_json_u64(json, "bits", d->extension_type->bit_width);
        tly_json_bool(json, "is_float", d->extension_type->is_float);
        tly_json_bool(json, "is_signed", d->extension_type->is_signed);
        tly_json_end_object(json);
    }
    if ((d->flags & TLY_FLAG_COMPOSITE_MEMBER) != 0) {
        tly_json_string(json, "member_role", d->member_role != 0 ? "base" : "correction");
    }
}

void tly_details_json(tly_json *json, const tly_descriptor *d) {
    tly_describe_json(json, d);
    layout_json(json, d);
    tly_json_u64(json, "byte_offset", d->byte_offset);
    tly_json_array(json, "buffers");
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        const tly_buffer_info *b = &d->buffers[i];
        tly_json_object(json, NULL);
        tly_json_u64(json, "bytes", b->byte_size);
        tly_json_u64(json, "alignment", b->alignment);
        tly_json_string(json, "device", device_name(b->device));
        tly_json_u64(json, "memory_class", b->memory_class);
        tly_json_u64(json, "sync_mode", b->sync_mode);
        tly_json_end_object(json);
    }
    tly_json_end_array(json);
    sections_json(json, d);
}
