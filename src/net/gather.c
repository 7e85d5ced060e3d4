/* SPDX-License-Identifier: Apache-2.0 */
#include "net/gather.h"

#include <string.h>

#include <tilery/pack.h>

#include "base/context.h"
#include "base/error.h"

static tly_status unsupported(tly_error *error) {
    return tly_base_fail(
        error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "shard-form",
        "only dense tensors of one buffer, with elements of whole bytes and without "
        "quantization, are put together from shards");
}

static int is_simple(const tly_descriptor *d) {
    tly_nest nest;
    return d->num_buffers == 1 && d->flags == TLY_FLAG_SHARD && tly_dtype_bits(d->dtype) != 0 &&
           tly_dtype_bits(d->dtype) % 8 == 0 && tly_descriptor_nest(d, &nest, NULL) == TLY_OK;
}

tly_status tly_gather_whole(const tly_context *context, const tly_descriptor *shard,
                            uint8_t **out_bytes, size_t *out_len, uint64_t *out_total,
                            tly_error *error) {
    tly_descriptor d;
    tly_buffer_info buffer;
    tly_status status;
    *out_bytes = NULL;
    if (!is_simple(shard)) {
        return unsupported(error);
    }
    status = tly_descriptor_init_row_major(&d, &buffer, shard->dtype, shard->rank,
                                           shard->shard->parent_shape);
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "shard-parent",
                             "the parent of a shard is no tensor that can be held");
    }
    if (shard->layout == TLY_LAYOUT_COL_MAJOR) {
        d.layout = TLY_LAYOUT_COL_MAJOR;
    }
    if (buffer.byte_size != 0) {
        buffer.alignment = shard->buffers[0].alignment > 64 ? shard->buffers[0].alignment : 64;
    }
    *out_total = buffer.byte_size;
    status = tly_descriptor_encode(&d, NULL, 0, out_len, error);
    if (status != TLY_OK) {
        return status;
    }
    *out_bytes = tly_base_alloc(context, *out_len, 1);
    if (*out_bytes == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a descriptor");
    }
    return tly_descriptor_encode(&d, *out_bytes, *out_len, out_len, error);
}

/* Strides of the whole, in elements, and where a shard begins in it. */
static uint64_t strides_of(const tly_descriptor *whole, const tly_descriptor *shard,
                           int64_t *strides) {
    uint64_t stride = 1, begin = 0;
    for (uint32_t i = 0; i < whole->rank; i++) {
        uint32_t axis = whole->layout == TLY_LAYOUT_ROW_MAJOR ? whole->rank - 1 - i : i;
        strides[axis] = (int64_t)stride;
        begin += stride * shard->shard->offset[axis];
        stride *= whole->shape[axis]; /* the whole fits in memory */
    }
    return begin;
}

/* Bytes of a shard's elements; it lies in the whole, which fits in memory. */
static uint64_t elements_len(const tly_descriptor *shard) {
    uint64_t len = tly_dtype_bits(shard->dtype) / 8;
    for (uint32_t i = 0; i < shard->rank; i++) {
        if (shard->shape[i] == 0) {
            return 0;
        }
    }
    for (uint32_t i = 0; i < shard->rank; i++) {
        len *= shard->shape[i];
    }
    return len;
}

/* Is the shard, as it is stored, a run of the whole? A buffer may be longer than its elements: then
 * it is none, or what comes behind them would overwrite its neighbours. */
static int is_run(const tly_descriptor *whole, const tly_descriptor *shard, uint64_t len) {
    int inside = 0;
    if (shard->layout != whole->layout || shard->byte_offset != 0 || len != elements_len(shard)) {
        return 0;
    }
    for (uint32_t i = 0; i < whole->rank; i++) { /* from the slowest axis */
        uint32_t axis = whole->layout == TLY_LAYOUT_ROW_MAJOR ? i : whole->rank - 1 - i;
        if (inside && shard->shape[axis] != whole->shape[axis]) {
            return 0;
        }
        inside |= shard->shape[axis] != 1;
    }
    return 1;
}

/* How it gets from its own memory into the whole. */
static tly_status find_copy(gather_shard *g, const tly_descriptor *whole,
                            const tly_descriptor *shard, const int64_t *strides, tly_error *error) {
    tly_status status = tly_descriptor_nest(shard, &g->from, error);
    if (status == TLY_OK) {
        status = tly_nest_strided(&g->to, whole->rank, shard->shape, strides);
    }
    return status == TLY_OK ? TLY_OK
                            : tly_base_fail(error, status, TLY_NO_OFFSET, "shard-form",
                                            "a shard has no place in its parent");
}

tly_status tly_gather_add(tly_gather *gather, uint32_t stream, const tly_descriptor *d, void *data,
                          const tly_descriptor *shard, uint64_t len, void **out_at,
                          tly_error *error) {
    gather_shard *g;
    int64_t strides[TLY_MAX_RANK];
    uint64_t begin;
    tly_status status;
    if (!is_simple(shard)) {
        return unsupported(error);
    }
    g = tly_base_calloc(gather->context, sizeof *g, _Alignof(gather_shard));
    if (g == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a shard");
    }
    g->next = gather->shards;
    gather->shards = g;
    g->stream = stream;
    g->len = len;
    g->byte_offset = shard->byte_offset;
    g->is_empty = elements_len(shard) == 0;
    if (!g->is_empty) {
        begin = strides_of(d, shard, strides);
        g->place = (uint8_t *)data + begin * (tly_dtype_bits(d->dtype) / 8);
        g->at = g->place;
    }
    if (len != 0 && (g->is_empty || !is_run(d, shard, len))) {
        status = g->is_empty ? TLY_OK : find_copy(g, d, shard, strides, error);
        if (status != TLY_OK) {
            return status;
        }
        if (!tly_net_block_init(gather->context, len, 64, &g->block)) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for a shard of %llu bytes", (unsigned long long)len);
        }
        g->at = g->block.at;
    }
    *out_at = g->at;
    return TLY_OK;
}

tly_status tly_gather_end(tly_gather *gather, uint32_t stream, uint32_t element_bits,
                          tly_error *error) {
    gather_shard *g = gather->shards;
    tly_pack_plan *plan;
    tly_status status;
    while (g->stream != stream) {
        g = g->next;
    }
    if (g->block.at == NULL || g->is_empty) {
        return TLY_OK;
    }
    status = tly_pack_plan_new(gather->context, &g->to, &g->from, element_bits, NULL, &plan, error);
    if (status != TLY_OK) {
        return status;
    }
    tly_pack_run(plan, g->place, g->at + g->byte_offset);
    tly_pack_plan_free(plan);
    tly_net_block_cleanup(gather->context, &g->block);
    memset(&g->block, 0, sizeof g->block);
    return TLY_OK;
}

void tly_gather_cleanup(tly_gather *gather) {
    while (gather->shards != NULL) {
        gather_shard *g = gather->shards;
        gather->shards = g->next;
        tly_net_block_cleanup(gather->context, &g->block);
        tly_base_free(gather->context, g, sizeof *g, _Alignof(gather_shard));
    }
}
