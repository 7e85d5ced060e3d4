/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/maker.h"

#include <pthread.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"

#define TILE_EXTENT   16u /* of a bare "tiled", along the last two axes */
#define TOKENS_A_PAGE 16u /* of a bare "block-paged" */

/* What a transcoding reads. */
typedef struct maker_source {
    tly_tensor tensor;
    tly_descriptor stored;
    const void *buffers[TLY_MAX_BUFFERS];
    uint8_t work[TLY_CATALOGUE_WORK_LEN];
} maker_source;

struct tly_maker {
    const tly_context *context;
    uint64_t len;
    tly_pack_plan *plan; /* by nests */
    const uint8_t *src;
    const tly_family *family; /* by a plug-in */
    tly_family_tensor tensor; /* views into `question` */
    uint8_t *question;        /* shape and metadata */
    size_t question_len;
    tly_pack_plan *rows; /* makes the row-major order; NULL: the source has it */
    tly_blocks *blocks;  /* a copy of what is there */
    tly_catalogue_bytes *parts;
    uint32_t num_parts;
    tly_transcode *transcode; /* otherwise */
    maker_source *source;
    pthread_mutex_t mutex; /* one transcoding runs at a time */
};

static tly_maker *new_maker(const tly_context *context) {
    tly_maker *m = tly_base_calloc(context, sizeof *m, _Alignof(tly_maker));
    if (m != NULL) {
        m->context = context;
        pthread_mutex_init(&m->mutex, NULL);
    }
    return m;
}

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for an answer");
}

tly_status tly_maker_new_pack(const tly_context *context, const tly_nest *to, const tly_nest *from,
                              uint32_t element_bits, tly_maker **out_maker, tly_error *error) {
    /* The packed bytes are sent at once: they had better be in the cache. */
    static const tly_pack_options options = {.size = sizeof options, .streaming = 1};
    tly_maker *m = new_maker(context);
    tly_status status;
    *out_maker = NULL;
    if (m == NULL) {
        return no_memory(error);
    }
    status = tly_pack_plan_new(context, to, from, element_bits, &options, &m->plan, error);
    if (status != TLY_OK) {
        tly_maker_free(m);
        return status;
    }
    m->len = tly_pack_dst_len(m->plan);
    *out_maker = m;
    return TLY_OK;
}

void tly_maker_set_source(tly_maker *maker, const uint8_t *src) {
    maker->src = src;
}

void tly_maker_free(tly_maker *maker) {
    if (maker == NULL) {
        return;
    }
    tly_pack_plan_free(maker->plan);
    tly_pack_plan_free(maker->rows);
    tly_base_free(maker->context, maker->question, maker->question_len, 8);
    tly_base_free(maker->context, maker->parts, maker->num_parts * sizeof *maker->parts,
                  _Alignof(tly_catalogue_bytes));
    tly_transcode_free(maker->transcode);
    tly_base_free(maker->context, maker->source, sizeof *maker->source, _Alignof(maker_source));
    pthread_mutex_destroy(&maker->mutex);
    tly_base_free(maker->context, maker, sizeof *maker, _Alignof(tly_maker));
}

/* ---- copies ---- */

#define COPY_UNIT_LEN (UINT64_C(1) << 20)

tly_status tly_maker_new_copy(const tly_context *context, tly_blocks *blocks,
                              const tly_catalogue_bytes *parts, uint32_t num_parts,
                              tly_maker **out_maker, tly_error *error) {
    tly_maker *m = new_maker(context);
    size_t len = num_parts * sizeof *parts;
    *out_maker = NULL;
    if (m != NULL) {
        m->parts = tly_base_alloc(context, len, _Alignof(tly_catalogue_bytes));
    }
    if (m == NULL || m->parts == NULL) {
        tly_maker_free(m);
        return no_memory(error);
    }
    m->blocks = blocks;
    m->num_parts = num_parts;
    memcpy(m->parts, parts, len);
    for (uint32_t i = 0; i < num_parts; i++) {
        m->len += parts[i].len;
    }
    *out_maker = m;
    return TLY_OK;
}

int tly_maker_copies(const tly_maker *maker) {
    return maker != NULL && maker->blocks != NULL;
}

static tly_status run_copy(const tly_maker *m, uint64_t offset, uint64_t len, uint8_t *out,
                           const int32_t *cancel) {
    tly_catalogue_bytes run;
    tly_status status = TLY_OK;
    while (status == TLY_OK && tly_catalogue_run_at(m->parts, m->num_parts, offset, len, &run)) {
        status = tly_blocks_read(m->blocks, run.offset, out, run.len, cancel, NULL);
        out += run.len;
        offset += run.len;
        len -= run.len;
    }
    return status;
}

/* ---- plug-ins ---- */

/* The tensor and the entry, kept for as long as the maker. */
static int keep_question(tly_maker *m, const tly_descriptor *stored, const tly_wire_layout *entry) {
    size_t shape_len = stored->rank * sizeof *stored->shape;
    m->question_len = shape_len + entry->metadata_len + 1;
    m->question = tly_base_alloc(m->context, m->question_len, 8);
    if (m->question == NULL) {
        return 0;
    }
    if (shape_len != 0) {
        memcpy(m->question, stored->shape, shape_len);
    }
    if (entry->metadata_len != 0) {
        memcpy(m->question + shape_len, entry->metadata, entry->metadata_len);
    }
    m->tensor.size = sizeof m->tensor;
    m->tensor.shape = (const uint64_t *)(const void *)m->question;
    m->tensor.metadata = m->question + shape_len;
    m->tensor.metadata_len = entry->metadata_len;
    m->tensor.rank = stored->rank;
    m->tensor.dtype = (uint8_t)stored->dtype;
    m->tensor.element_bits = tly_dtype_bits(stored->dtype);
    return 1;
}

/* A plan for the row-major order, where the source has another. */
static tly_status plan_rows(tly_maker *m, const tly_descriptor *stored, const tly_nest *native,
                            uint64_t memory_limit, tly_error *error) {
    tly_nest rows;
    tly_status status = tly_nest_row_major(&rows, stored->rank, stored->shape);
    if (status != TLY_OK || stored->layout == TLY_LAYOUT_ROW_MAJOR) {
        return status;
    }
    status =
        tly_pack_plan_new(m->context, &rows, native, m->tensor.element_bits, NULL, &m->rows, error);
    if (status == TLY_OK && tly_pack_dst_len(m->rows) > memory_limit) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "", "over the transcoding limit");
    }
    return status;
}

static tly_status family_fail(const tly_family *family, int32_t status, const char *why,
                              tly_error *error) {
    char shown[160];
    return tly_base_fail(error, (tly_status)status, TLY_NO_OFFSET, "family", "%s: %s", family->name,
                         tly_base_printable(shown, sizeof shown, why, strnlen(why, 120)));
}

tly_status tly_maker_new_family(const tly_context *context, const tly_family *family,
                                const tly_descriptor *stored, const tly_nest *native,
                                const tly_wire_layout *entry, uint64_t memory_limit,
                                tly_maker **out_maker, uint32_t *out_alignment, tly_error *error) {
    tly_maker *m = new_maker(context);
    char why[160] = "";
    int32_t said;
    tly_status status;
    *out_maker = NULL;
    if (m == NULL || !keep_question(m, stored, entry)) {
        tly_maker_free(m);
        return no_memory(error);
    }
    m->family = family;
    said = family->plan(&m->tensor, &m->len, out_alignment, why, sizeof why);
    status = said == TLY_OK ? plan_rows(m, stored, native, memory_limit, error)
                            : family_fail(family, said, why, error);
    if (status == TLY_OK && (*out_alignment == 0 || (*out_alignment & (*out_alignment - 1)) != 0)) {
        status =
            family_fail(family, TLY_INVALID_ARGUMENT, "the alignment is no power of two", error);
    }
    if (status != TLY_OK) {
        tly_maker_free(m);
        return status;
    }
    *out_maker = m;
    return TLY_OK;
}

static tly_status run_family(const tly_maker *m, uint8_t *out) {
    tly_family_tensor tensor = m->tensor;
    uint64_t rows_len = m->rows != NULL ? tly_pack_dst_len(m->rows) : 0;
    uint8_t *rows = NULL;
    char why[160] = "";
    int32_t said;
    tensor.data = m->src;
    if (rows_len != 0) {
        rows = tly_base_alloc(m->context, (size_t)rows_len, 64);
        if (rows == NULL) {
            return TLY_OUT_OF_MEMORY;
        }
        tly_pack_run(m->rows, rows, m->src);
        tensor.data = rows;
    }
    said = m->family->pack(&tensor, out, m->len, why, sizeof why);
    tly_base_free(m->context, rows, (size_t)rows_len, 64);
    if (said != TLY_OK) {
        tly_base_log(m->context, TLY_LOG_WARNING, "layout family %s: %.150s", m->family->name, why);
    }
    return (tly_status)said;
}

/* ---- transcoding ---- */

/* Arrays of the layout that is wanted. */
typedef struct wanted {
    tly_descriptor layout;
    int64_t strides[TLY_MAX_RANK];
    uint32_t morton_bits[TLY_MAX_RANK];
    uint32_t mode_order[TLY_MAX_RANK];
    uint64_t tile_shape[TLY_MAX_RANK];
    tly_block_paged paged;
} wanted;

static uint32_t bits_for(uint64_t extent) {
    uint32_t bits = 1;
    while (bits < 63 && (UINT64_C(1) << bits) < extent) {
        bits++;
    }
    return bits;
}

static int fill_strides(wanted *w, const tly_descriptor *s) {
    uint64_t stride = 1;
    for (uint32_t i = s->rank; i-- > 0;) {
        uint64_t extent = s->shape[i] != 0 ? s->shape[i] : 1;
        if (stride > INT64_MAX) {
            return 0;
        }
        w->strides[i] = (int64_t)stride;
        if (__builtin_mul_overflow(stride, extent, &stride)) {
            return 0;
        }
    }
    return 1;
}

/* The parameters that a bare tag stands for. */
static tly_status fill_wanted(wanted *w, uint8_t tag, const tly_descriptor *s, tly_error *error) {
    tly_descriptor *l = &w->layout;
    memset(w, 0, sizeof *w);
    l->layout = tag;
    l->strides = w->strides;
    l->morton_bits = w->morton_bits;
    l->mode_order = w->mode_order;
    l->paged = &w->paged;
    if (!fill_strides(w, s)) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "strides",
                             "the strides do not fit in 64 bits");
    }
    l->num_levels = 1;
    l->levels[0].tile_shape = w->tile_shape;
    l->levels[0].outer = TLY_TILE_ROW;
    l->levels[0].inner = TLY_TILE_ROW;
    for (uint32_t i = 0; i < s->rank; i++) {
        w->morton_bits[i] = bits_for(s->shape[i]);
        w->mode_order[i] = i;
        w->tile_shape[i] = i + 2 >= s->rank ? TILE_EXTENT : 1;
    }
    l->hilbert_order = s->rank != 0 ? bits_for(s->shape[0]) : 1;
    l->is_sorted = 1;
    w->paged.page_size = TOKENS_A_PAGE;
    w->paged.num_seqs = 1;
    w->paged.layer_index = UINT32_MAX;
    w->paged.kv_role = 2;
    return TLY_OK;
}

static tly_status view_source(maker_source *source, const tly_catalogue_entry *entry,
                              tly_error *error) {
    tly_status status =
        tly_catalogue_describe(entry, source->work, sizeof source->work, &source->stored, error);
    for (uint32_t i = 0; i < source->stored.num_buffers && status == TLY_OK; i++) {
        tly_catalogue_bytes bytes = {0};
        if (source->stored.buffers[i].byte_size != 0) {
            status = tly_catalogue_buffer(entry, &source->stored, i, &bytes, error);
        }
        source->buffers[i] = bytes.at;
    }
    source->tensor.descriptor = &source->stored;
    source->tensor.buffers = source->buffers;
    return status;
}

tly_status tly_maker_new_transcode(const tly_context *context, const tly_catalogue_entry *entry,
                                   uint8_t tag, uint64_t memory_limit, tly_maker **out_maker,
                                   tly_error *error) {
    const tly_transcode_options options = {.size = sizeof options, .memory_limit = memory_limit};
    tly_maker *m = new_maker(context);
    wanted w;
    tly_status status;
    *out_maker = NULL;
    if (m != NULL) {
        m->source = tly_base_calloc(context, sizeof *m->source, _Alignof(maker_source));
    }
    if (m == NULL || m->source == NULL) {
        tly_maker_free(m);
        return no_memory(error);
    }
    status = view_source(m->source, entry, error);
    if (status == TLY_OK) {
        status = fill_wanted(&w, tag, &m->source->stored, error);
    }
    if (status == TLY_OK) {
        status = tly_transcode_new(context, &m->source->tensor, &w.layout, &options, &m->transcode,
                                   error);
    }
    if (status == TLY_OK) {
        status = tly_descriptor_data_len(tly_transcode_descriptor(m->transcode), &m->len);
    }
    if (status != TLY_OK) {
        tly_maker_free(m);
        return status;
    }
    *out_maker = m;
    return TLY_OK;
}

const tly_descriptor *tly_maker_descriptor(const tly_maker *maker) {
    return maker->transcode != NULL ? tly_transcode_descriptor(maker->transcode) : NULL;
}

/* ---- making ---- */

uint64_t tly_maker_len(const tly_maker *maker) {
    return maker->len;
}

uint64_t tly_maker_unit_len(const tly_maker *maker) {
    return maker->plan != NULL     ? tly_pack_unit_len(maker->plan)
           : maker->blocks != NULL ? COPY_UNIT_LEN
                                   : maker->len;
}

uint64_t tly_maker_num_units(const tly_maker *maker) {
    if (maker->plan != NULL) {
        return tly_pack_num_units(maker->plan);
    }
    return maker->blocks != NULL ? (maker->len + COPY_UNIT_LEN - 1) / COPY_UNIT_LEN
                                 : maker->len != 0;
}

const char *tly_maker_path(const tly_maker *maker) {
    return maker->plan != NULL     ? tly_pack_path(maker->plan)
           : maker->blocks != NULL ? "ranges"
           : maker->family != NULL ? maker->family->name
                                   : "transcoding";
}

int tly_maker_has_gaps(const tly_maker *maker) {
    return maker->plan != NULL && tly_pack_has_gaps(maker->plan);
}

tly_status tly_maker_run(const tly_maker *maker, uint64_t first_unit, uint64_t num_units,
                         uint8_t *out, const int32_t *cancel) {
    tly_maker *m = (tly_maker *)(uintptr_t)maker;
    const tly_descriptor *made;
    void *buffers[TLY_MAX_BUFFERS];
    tly_status status;
    if (maker->plan != NULL) {
        tly_pack_run_units(maker->plan, first_unit, num_units, out, maker->src);
        return TLY_OK;
    }
    if (maker->family != NULL) {
        return run_family(maker, out);
    }
    if (maker->blocks != NULL) {
        uint64_t offset = first_unit * COPY_UNIT_LEN, len = num_units * COPY_UNIT_LEN;
        return run_copy(maker, offset, len < maker->len - offset ? len : maker->len - offset, out,
                        cancel);
    }
    made = tly_transcode_descriptor(maker->transcode);
    for (uint32_t i = 0; i < made->num_buffers; i++) {
        buffers[i] = out;
        out += made->buffers[i].byte_size;
    }
    pthread_mutex_lock(&m->mutex);
    status = tly_transcode_run(m->transcode, buffers, NULL);
    pthread_mutex_unlock(&m->mutex);
    return status;
}
