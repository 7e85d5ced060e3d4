/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of tensors in other layouts: what comes out, and which way each pair of layouts takes. */
#include <tilery/pack.h>

#include <inttypes.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/try.h"
#include "num/bits.h"
#include "tensor/compose.h"
#include "tensor/layouts.h"
#include "tensor/own.h"
#include "tensor/sparse_out.h"

struct tly_transcode {
    const tly_context *context;
    tly_tensor_budget budget;
    tly_view from;
    tly_pack_plan *plan;    /* from nest to nest */
    uint64_t *tokens;       /* paged destination: of each sequence */
    uint64_t tokens_len;    /* bytes */
    uint32_t num_params;    /* buffers of the quantization, the last ones */
    tly_own_descriptor own; /* what comes out */
};

static int is_sparse(uint8_t layout) {
    return layout >= TLY_LAYOUT_COO && layout <= TLY_LAYOUT_CSF;
}

/* ---- a composite as one dense tensor ------------------------------------------------------------
 */

typedef struct full_out {
    const tly_view *to;
    uint8_t *bytes;
    const tly_view *from;
} full_out;

static tly_status put_code(void *user, const uint64_t *index, tly_code code, int replace) {
    const full_out *out = user;
    int64_t bit = tly_tensor_view_bit(out->to, index);
    if (!replace) {
        code = tly_tensor_add_codes(out->to->d->dtype,
                                    tly_tensor_load(out->bytes, bit, out->to->bits), code);
    }
    tly_tensor_store(out->bytes, bit, out->to->bits, code);
    return TLY_OK;
}

static tly_status put_element(void *user, const uint64_t *index, int64_t bit) {
    const full_out *out = user;
    tly_num_copy_element(out->bytes, tly_tensor_view_bit(out->to, index), out->from->bytes, bit,
                         out->to->bits);
    return TLY_OK;
}

/* Member after member, each in one piece where that is possible. */
static tly_status put_composite(full_out *out, const tly_view *head, tly_error *error) {
    tly_status status = TLY_OK;
    for (uint32_t i = 0; i < head->num_members && status == TLY_OK; i++) {
        int done;
        status = tly_tensor_copy_box(out->to, out->bytes, head, i, &done, error);
        if (status == TLY_OK && !done) {
            status = tly_tensor_compose_member(head, i, put_code, out);
        }
    }
    return status;
}

/* A row-major tensor with the elements of a composite, in memory of the budget. */
typedef struct whole {
    tly_descriptor d;
    tly_buffer_info info;
    const void *buffers[1];
    uint8_t *bytes;
    tly_view view;
} whole;

static void whole_cleanup(whole *w, tly_tensor_budget *budget) {
    tly_tensor_view_cleanup(&w->view, budget);
    tly_tensor_give(budget, w->bytes, w->info.byte_size);
}

static tly_status whole_init(whole *w, const tly_view *head, tly_tensor_budget *budget,
                             tly_error *error) {
    tly_tensor tensor = {.descriptor = &w->d, .buffers = w->buffers};
    full_out out = {&w->view, NULL, NULL};
    tly_status status;
    memset(w, 0, sizeof *w);
    status =
        tly_descriptor_init_row_major(&w->d, &w->info, head->d->dtype, head->rank, head->d->shape);
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "", "the composite is too large");
    }
    if (w->info.byte_size > 0) {
        w->bytes = tly_tensor_take(budget, w->info.byte_size, &status, error);
        if (w->bytes == NULL) {
            return status;
        }
        memset(w->bytes, 0, w->info.byte_size);
    }
    w->buffers[0] = w->bytes;
    status = tly_tensor_view_init(&w->view, budget, &tensor, error);
    if (status == TLY_OK) {
        out.bytes = w->bytes;
        status = put_composite(&out, head, error);
        if (status != TLY_OK) {
            tly_tensor_view_cleanup(&w->view, budget);
        }
    }
    if (status != TLY_OK) {
        tly_tensor_give(budget, w->bytes, w->info.byte_size);
    }
    return status;
}

/* ---- what comes out -----------------------------------------------------------------------------
 */

/* Strides may name few places as more elements than anyone can walk over. */
#define MAX_NAMED (UINT64_C(1) << 32)

static tly_status check_named(const tly_view *from, tly_error *error) {
    uint64_t count, places;
    if (from->kind != TLY_VIEW_NEST) {
        return TLY_OK;
    }
    places = from->d->buffers[0].byte_size * 8 / from->bits;
    if (tly_descriptor_num_elements(from->d, &count) != TLY_OK ||
        (count > places && count > MAX_NAMED)) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "too-many-elements",
                             "the strides name %" PRIu64 " places as too many elements", places);
    }
    return TLY_OK;
}

/* Counts what a sparse layout stores, or writes it. */
static tly_status run_sparse(tly_transcode *t, tly_sparse_out *out, tly_error *error) {
    whole w;
    tly_status status;
    if (t->from.kind != TLY_VIEW_COMPOSITE) {
        return tly_sparse_out_fill(out, &t->from, &t->budget, error);
    }
    TRY(whole_init(&w, &t->from, &t->budget, error));
    status = tly_sparse_out_fill(out, &w.view, &t->budget, error);
    whole_cleanup(&w, &t->budget);
    return status;
}

static tly_status too_large(tly_error *error) {
    return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "",
                         "the tensor has no size in this layout that fits in 64 bits");
}

static tly_status set_len(tly_buffer_info *info, uint64_t count, uint64_t each, uint32_t bits,
                          tly_error *error) {
    return tly_base_mul_u64(count, each, &count) ||
                   tly_num_storage_len(count, bits, &info->byte_size)
               ? too_large(error)
               : TLY_OK;
}

static int mode_order_ok(const tly_descriptor *layout, uint32_t rank) {
    uint64_t seen = 0;
    for (uint32_t k = 0; layout->mode_order != NULL && k < rank; k++) {
        seen |= layout->mode_order[k] < rank ? UINT64_C(1) << layout->mode_order[k] : 0;
    }
    return rank >= 3 && __builtin_popcountll(seen) == (int)rank;
}

static tly_status plan_sparse(tly_transcode *t, tly_descriptor *d, tly_buffer_info *info,
                              tly_statistics *statistics, tly_error *error) {
    tly_sparse_out count;
    uint32_t bits = t->from.bits;
    if ((d->layout == TLY_LAYOUT_CSF && !mode_order_ok(d, d->rank)) ||
        ((d->layout == TLY_LAYOUT_CSR || d->layout == TLY_LAYOUT_CSC) && d->rank != 2) ||
        d->rank == 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout-fields",
                             "layout 0x%02X (%s) cannot hold a tensor of rank %u, or its order of "
                             "modes is none",
                             d->layout, tly_layout_name(d->layout), d->rank);
    }
    tly_sparse_out_init(&count, d, d->rank, d->shape, bits, NULL);
    TRY(run_sparse(t, &count, error));
    d->nnz = count.nnz;
    if (d->statistics != NULL && (d->statistics->mask & TLY_STATISTICS_NNZ) != 0) {
        *statistics = *d->statistics; /* stored elements, as the layout counts them */
        statistics->nnz = count.nnz;
        d->statistics = statistics;
    }
    d->is_sorted = d->layout == TLY_LAYOUT_COO;
    TRY(set_len(&info[0], count.nnz, 1, bits, error));
    if (d->layout == TLY_LAYOUT_COO) {
        return set_len(&info[1], count.nnz, d->rank, 64, error);
    }
    if (d->layout == TLY_LAYOUT_CSF) {
        for (uint32_t level = 0; level < d->rank; level++) {
            uint64_t parents = level == 0 ? 1 : count.num[level - 1];
            TRY(set_len(&info[2 * level + 1], parents + 1, 1, 64, error));
            TRY(set_len(&info[2 * level + 2], count.num[level], 1, 64, error));
        }
        return TLY_OK;
    }
    TRY(set_len(&info[1], count.nnz, 1, 64, error));
    return count.num_major == UINT64_MAX ? too_large(error)
                                         : set_len(&info[2], count.num_major + 1, 1, 64, error);
}

static tly_status plan_paged(tly_transcode *t, tly_descriptor *d, tly_block_paged *paged,
                             tly_buffer_info *info, const uint64_t *tokens, tly_error *error) {
    uint64_t total = 0, pages = 0, slots;
    uint32_t entry;
    tly_status status = TLY_OK;
    if (d->paged == NULL || d->paged->page_size == 0 || d->rank != 3 ||
        (tokens == NULL && d->paged->num_seqs > 1)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout-fields",
                             "a paged layout holds tensors of rank 3 and needs a page size, and "
                             "the tokens of each sequence where there are several");
    }
    *paged = *d->paged;
    if (tokens == NULL) {
        paged->num_seqs = d->shape[0] > 0 ? 1 : paged->num_seqs;
    }
    t->tokens_len = ((uint64_t)paged->num_seqs + 1) * 8;
    t->tokens = tly_tensor_take(&t->budget, t->tokens_len, &status, error);
    if (t->tokens == NULL) {
        return status;
    }
    for (uint32_t s = 0; s < paged->num_seqs; s++) {
        t->tokens[s] = tokens != NULL ? tokens[s] : d->shape[0];
        if (tly_base_add_u64(total, t->tokens[s], &total)) {
            return too_large(error);
        }
        pages += t->tokens[s] / paged->page_size + (t->tokens[s] % paged->page_size != 0);
    }
    if (total != d->shape[0]) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "tokens",
                             "the sequences have %" PRIu64 " tokens, the tensor %" PRIu64, total,
                             d->shape[0]);
    }
    paged->num_pages = pages;
    paged->paged_axis = 0;
    d->paged = paged;
    entry = paged->index_type != 0 ? 64 : 32;
    if ((entry == 32 && pages > UINT32_MAX) || tly_base_mul_u64(pages, paged->page_size, &slots) ||
        tly_base_mul_u64(slots, d->shape[1], &slots)) {
        return too_large(error);
    }
    TRY(set_len(&info[0], slots, d->shape[2], t->from.bits, error));
    TRY(set_len(&info[1], pages, 1, entry, error));
    return set_len(&info[2], (uint64_t)paged->num_seqs + 1, 1, entry, error);
}

static tly_status plan_dense(tly_descriptor *d, tly_buffer_info *info, tly_error *error) {
    uint64_t before, after;
    tly_status status;
    if ((d->layout == TLY_LAYOUT_STRIDED && d->strides == NULL && d->rank > 0) ||
        (d->layout == TLY_LAYOUT_MORTON && d->morton_bits == NULL) ||
        (d->layout == TLY_LAYOUT_TILED &&
         (d->num_levels == 0 || d->levels[0].tile_shape == NULL))) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout-fields",
                             "fields of layout 0x%02X (%s) are missing", d->layout,
                             tly_layout_name(d->layout));
    }
    for (uint32_t n = 0; d->layout == TLY_LAYOUT_TILED && n < d->num_levels; n++) {
        for (uint32_t k = 0; k < d->rank; k++) {
            if (d->levels[n].tile_shape == NULL || d->levels[n].tile_shape[k] == 0) {
                return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout-fields",
                                     "a tile has no extent on axis %u", k);
            }
        }
    }
    status = tly_descriptor_span(d, &before, &after);
    if (status != TLY_OK || tly_base_add_u64(before, after, &info->byte_size)) {
        return tly_base_fail(error, status != TLY_OK ? status : TLY_OVERFLOW, TLY_NO_OFFSET, "",
                             "layout 0x%02X (%s) cannot hold this tensor", d->layout,
                             tly_layout_name(d->layout));
    }
    d->byte_offset = before;
    return TLY_OK;
}

/* The fields of the layout, of `layout`; everything else, of the source. */
static void merge_fields(tly_descriptor *out, const tly_descriptor *src,
                         const tly_descriptor *layout) {
    *out = *src;
    out->layout = layout->layout;
    out->byte_offset = 0;
    out->strides = layout->strides;
    out->morton_bits = layout->morton_bits;
    out->hilbert_order = layout->hilbert_order;
    out->mode_order = layout->mode_order;
    out->paged = layout->paged;
    out->private_id = layout->private_id;
    out->private_data = layout->private_data;
    out->private_len = layout->private_len;
    out->num_levels = layout->num_levels;
    memcpy(out->levels, layout->levels, sizeof out->levels);
    out->composite = (tly_composite){0, 0, 0, 0};
    out->nnz = 0;
    out->is_sorted = 0;
}

static tly_status plan_params(tly_transcode *t, tly_descriptor *d, tly_quantization *q,
                              tly_buffer_info *info, uint32_t base, tly_error *error) {
    const tly_descriptor *src = t->from.d;
    int paged = d->layout == TLY_LAYOUT_BLOCK_PAGED || src->layout == TLY_LAYOUT_BLOCK_PAGED;
    uint32_t src_base = tly_tensor_layout_buffers(src);
    d->num_buffers = (uint8_t)base;
    if (src->quantization == NULL) {
        return TLY_OK;
    }
    if (src_base == 0 || base == 0) { /* panels have no quantization (docs/spec/panel-profile.md) */
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "panel-quantization",
                             "quantized tensors cannot be brought into panels or out of them");
    }
    *q = *src->quantization;
    d->quantization = q;
    if (paged && q->scheme == TLY_QUANT_PER_BLOCK) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "paged-quantization",
                             "pages have a scale for each slot, other layouts one for each block: "
                             "dequantize the tensor first");
    }
    if (q->scheme == TLY_QUANT_PER_TENSOR) {
        return TLY_OK;
    }
    t->num_params = src->num_buffers - src_base;
    if (base + t->num_params > TLY_MAX_BUFFERS) {
        return too_large(error);
    }
    for (uint32_t i = 0; i < t->num_params; i++) {
        info[base + i].byte_size = src->buffers[src_base + i].byte_size;
    }
    q->scale_buffer += base - src_base;
    q->zero_point_buffer += q->zero_point_buffer != UINT32_MAX ? base - src_base : 0;
    d->num_buffers = (uint8_t)(base + t->num_params);
    return TLY_OK;
}

static tly_status plan_all(tly_transcode *t, const tly_descriptor *layout,
                           const tly_transcode_options *options, tly_nest *nest, tly_error *error) {
    const tly_tensor_layout *row = tly_tensor_layout_find(layout->layout);
    tly_buffer_info info[TLY_MAX_BUFFERS + 1];
    tly_quantization q;
    tly_block_paged paged;
    tly_statistics statistics;
    tly_descriptor d;
    uint64_t len;
    uint32_t base, alignment;
    if (row == NULL || row->kind == TLY_KIND_VIRTUAL ||
        (row->kind == TLY_KIND_PRIVATE && !tly_tensor_is_panel(layout))) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "private-layout",
                             "no tensor can be brought into layout 0x%02X (%s)", layout->layout,
                             row != NULL ? row->name : "unknown");
    }
    TRY(check_named(&t->from, error));
    merge_fields(&d, t->from.d, layout);
    memset(info, 0, sizeof info);
    for (uint32_t i = 0; i <= TLY_MAX_BUFFERS; i++) {
        info[i].alignment = 64;
    }
    d.buffers = info;
    base = row->kind == TLY_KIND_PRIVATE ? 1 : tly_tensor_layout_buffers(&d);
    TRY(plan_params(t, &d, &q, info, base, error));
    if (is_sparse(d.layout)) {
        TRY(plan_sparse(t, &d, info, &statistics, error));
    } else if (d.layout == TLY_LAYOUT_BLOCK_PAGED) {
        TRY(plan_paged(t, &d, &paged, info, options != NULL ? options->seq_tokens : NULL, error));
    } else if (row->kind == TLY_KIND_PRIVATE) {
        TRY(tly_tensor_nest(&d, nest, &info[0].byte_size, &info[0].alignment, error));
    } else {
        TRY(plan_dense(&d, info, error));
    }
    TRY(tly_own_descriptor_init(&t->own, t->context, &d, error));
    if ((row->kind != TLY_KIND_DENSE && row->kind != TLY_KIND_PRIVATE) ||
        d.layout == TLY_LAYOUT_HILBERT) {
        return TLY_OK;
    }
    TRY(tly_tensor_nest(&t->own.d, nest, &len, &alignment, error));
    TRY(tly_nest_check(nest, 0, error)); /* no two elements in one place */
    if (t->from.kind == TLY_VIEW_NEST &&
        (t->from.bits < 8 || (t->from.bits & (t->from.bits - 1)) == 0)) {
        return tly_pack_plan_new(t->context, nest, t->from.nest, t->from.bits, NULL, &t->plan,
                                 error);
    }
    return TLY_OK;
}

static tly_status plan(tly_transcode *t, const tly_descriptor *layout,
                       const tly_transcode_options *options, tly_error *error) {
    tly_nest *nest = tly_base_alloc(t->context, sizeof *nest, 64);
    tly_status status;
    if (nest == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a nest");
    }
    status = plan_all(t, layout, options, nest, error);
    tly_base_free(t->context, nest, sizeof *nest, 64);
    return status;
}

tly_status tly_transcode_new(const tly_context *context, const tly_tensor *src,
                             const tly_descriptor *layout, const tly_transcode_options *options,
                             tly_transcode **out_transcode, tly_error *error) {
    tly_transcode *t;
    tly_status status;
    if (context == NULL || src == NULL || src->descriptor == NULL || layout == NULL ||
        out_transcode == NULL || (options != NULL && options->size != sizeof *options)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "null-argument",
                             "an argument is NULL, or the options have another size");
    }
    *out_transcode = NULL;
    status = tly_tensor_check_composite(context, src, error);
    if (status != TLY_OK) {
        return status;
    }
    t = tly_base_calloc(context, sizeof *t, 64);
    if (t == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a plan");
    }
    t->context = context;
    t->budget = (tly_tensor_budget){context, options != NULL && options->memory_limit != 0
                                                 ? options->memory_limit
                                                 : TLY_TENSOR_DEFAULT_LIMIT};
    status = tly_tensor_view_init(&t->from, &t->budget, src, error);
    if (status == TLY_OK) {
        status = tly_tensor_compose_check(&t->from, error);
        if (status == TLY_OK) {
            status = plan(t, layout, options, error);
        }
        if (status != TLY_OK) {
            tly_transcode_free(t);
            return status;
        }
        *out_transcode = t;
        return TLY_OK;
    }
    tly_base_free(context, t, sizeof *t, 64);
    return status;
}

void tly_transcode_free(tly_transcode *transcode) {
    if (transcode != NULL) {
        const tly_context *context = transcode->context;
        tly_pack_plan_free(transcode->plan);
        tly_tensor_view_cleanup(&transcode->from, &transcode->budget);
        tly_tensor_give(&transcode->budget, transcode->tokens, transcode->tokens_len);
        tly_own_descriptor_cleanup(&transcode->own, context);
        tly_base_free(context, transcode, sizeof *transcode, 64);
    }
}

const tly_descriptor *tly_transcode_descriptor(const tly_transcode *transcode) {
    return &transcode->own.d;
}

/* ---- the copy -----------------------------------------------------------------------------------
 */

static void put_entry(void *words, uint64_t number, uint64_t value, int wide) {
    if (wide) {
        tly_base_store_u64((uint8_t *)words + number * 8, value);
    } else {
        tly_base_store_u32((uint8_t *)words + number * 4, (uint32_t)value);
    }
}

/* Pages follow each other in the order of the tokens. */
static void write_tables(const tly_transcode *t, void *const *buffers) {
    const tly_block_paged *p = t->own.d.paged;
    uint64_t pages = 0;
    int wide = p->index_type != 0;
    put_entry(buffers[2], 0, 0, wide);
    for (uint32_t s = 0; s < p->num_seqs; s++) {
        pages += t->tokens[s] / p->page_size + (t->tokens[s] % p->page_size != 0);
        put_entry(buffers[2], (uint64_t)s + 1, pages, wide);
    }
    for (uint64_t i = 0; i < pages; i++) {
        put_entry(buffers[1], i, i, wide);
    }
}

/* Whole tokens between pages and a row-major tensor: they lie side by side in both. Returns 0 where
 * that is not so. */
static int copy_tokens(const tly_view *paged, const tly_view *rows, const uint8_t *paged_bytes,
                       uint8_t *rows_out, uint8_t *paged_out) {
    const tly_paged_map *map = &paged->paged;
    uint64_t token_bits = paged->d->shape[1] * paged->d->shape[2] * paged->bits, len;
    if (rows->d->layout != TLY_LAYOUT_ROW_MAJOR || token_bits % 8 != 0) {
        return 0;
    }
    len = token_bits / 8;
    for (uint64_t s = 0; s < map->num_seqs; s++) {
        uint64_t tokens = paged->first_token[s + 1] - paged->first_token[s];
        for (uint64_t at = 0; at < tokens; at += map->page_size) {
            uint64_t run = tokens - at < map->page_size ? tokens - at : map->page_size;
            uint64_t slot = tly_layout_paged_find(map, s, at) * len;
            uint64_t row = rows->d->byte_offset + (paged->first_token[s] + at) * len;
            if (rows_out != NULL) {
                memcpy(rows_out + row, paged_bytes + slot, run * len);
            } else {
                memcpy(paged_out + slot, rows->bytes + row, run * len);
            }
        }
    }
    return 1;
}

/* Any destination with a place for every element, one element after the other. */
static tly_status run_full(tly_transcode *t, void *const *buffers, tly_error *error) {
    tly_tensor tensor = {
        .descriptor = &t->own.d, .buffers = (const void *const *)buffers, .seq_tokens = t->tokens};
    tly_view to;
    full_out out = {&to, buffers[0], &t->from};
    tly_status status;
    if (t->own.d.layout == TLY_LAYOUT_BLOCK_PAGED) {
        write_tables(t, buffers);
    }
    TRY(tly_tensor_view_init(&to, &t->budget, &tensor, error));
    if (t->from.kind == TLY_VIEW_COMPOSITE) {
        status = put_composite(&out, &t->from, error);
    } else if ((t->from.kind == TLY_VIEW_PAGED && to.kind == TLY_VIEW_NEST &&
                copy_tokens(&t->from, &to, t->from.bytes, buffers[0], NULL)) ||
               (t->from.kind == TLY_VIEW_NEST && to.kind == TLY_VIEW_PAGED &&
                copy_tokens(&to, &t->from, NULL, NULL, buffers[0]))) {
        status = TLY_OK;
    } else {
        status = tly_tensor_view_each(&t->from, put_element, &out);
    }
    tly_tensor_view_cleanup(&to, &t->budget);
    return status;
}

tly_status tly_transcode_run(tly_transcode *transcode, void *const *buffers, tly_error *error) {
    tly_transcode *t = transcode;
    uint32_t base = t->own.d.num_buffers - t->num_params;
    uint32_t src_base = t->from.d->num_buffers - t->num_params;
    tly_status status = TLY_OK;
    for (uint32_t i = 0; i < t->own.d.num_buffers; i++) {
        if (buffers == NULL || (buffers[i] == NULL && t->own.d.buffers[i].byte_size != 0)) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "null-argument",
                                 "buffer %u is NULL", i);
        }
    }
    if (t->own.d.buffers[0].byte_size != 0 &&
        (t->plan == NULL || t->from.bits < 8 || tly_pack_has_gaps(t->plan) ||
         tly_pack_dst_len(t->plan) != t->own.d.buffers[0].byte_size)) {
        memset(buffers[0], 0, t->own.d.buffers[0].byte_size);
    }
    if (t->plan != NULL) {
        if (t->own.d.buffers[0].byte_size != 0 && t->from.bytes != NULL) {
            tly_pack_run(t->plan, (uint8_t *)buffers[0] + t->own.d.byte_offset,
                         t->from.bytes + t->from.d->byte_offset);
        }
    } else if (is_sparse(t->own.d.layout)) {
        tly_sparse_out out;
        tly_sparse_out_init(&out, &t->own.d, t->own.d.rank, t->own.d.shape, t->from.bits, buffers);
        status = run_sparse(t, &out, error);
    } else {
        status = run_full(t, buffers, error);
    }
    for (uint32_t i = 0; i < t->num_params && status == TLY_OK; i++) {
        uint64_t len = t->own.d.buffers[base + i].byte_size;
        if (len != 0) {
            memcpy(buffers[base + i], t->from.tensor.buffers[src_base + i], len);
        }
    }
    return status;
}
