/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/shards.h"

#include <string.h>

#include "base/error.h"
#include "tensor/composite.h"

#define FAIL(error, rule, ...) tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, rule, __VA_ARGS__)

tly_status tly_wire_shards_init(const tly_context *context, const tly_descriptor *first,
                                uint32_t total_shards, tly_wire_shards *out_shards,
                                tly_error *error) {
    tly_descriptor head = {0};
    tly_status status;
    out_shards->context = context;
    if (first->shard == NULL) {
        return FAIL(error, "shard-section", "a shard does not say where it lies in its parent");
    }
    if (total_shards > TLY_WIRE_MAX_SHARDS) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "max-shards",
                             "a tensor in %u shards; at most %d are taken", total_shards,
                             TLY_WIRE_MAX_SHARDS);
    }
    status = tly_composite_check_new(context, &out_shards->cover, error);
    if (status != TLY_OK) {
        return status;
    }
    out_shards->total = total_shards;
    out_shards->dtype = first->dtype;
    out_shards->layout = first->layout;
    memcpy(out_shards->parent, first->shard->parent_shape,
           first->rank * sizeof *out_shards->parent);
    /* Shards are to their parent what the members of a partition are to its head. */
    head.layout = TLY_LAYOUT_COMPOSITE;
    head.dtype = first->quantization == NULL ? first->dtype : TLY_F32; /* what they stand for */
    head.rank = first->rank;
    head.shape = out_shards->parent;
    head.composite.rule = TLY_RULE_PARTITION;
    head.composite.member_count = total_shards;
    return tly_composite_check_add(out_shards->cover, &head, error);
}

void tly_wire_shards_cleanup(tly_wire_shards *shards) {
    tly_composite_check_free(shards->cover);
    shards->cover = NULL;
}

tly_status tly_wire_shards_add(tly_wire_shards *shards, const tly_descriptor *descriptor,
                               uint32_t shard_index, uint32_t total_shards, tly_error *error) {
    uint64_t bit = UINT64_C(1) << shard_index % 64;
    if (total_shards != shards->total || shard_index >= total_shards) {
        return FAIL(error, "shard-total", "shard %u of %u among shards of a tensor in %u",
                    shard_index, total_shards, shards->total);
    }
    if ((shards->indexes[shard_index / 64] & bit) != 0) {
        return FAIL(error, "shard-twice", "shard %u comes a second time", shard_index);
    }
    if (descriptor->shard == NULL) {
        return FAIL(error, "shard-section", "shard %u does not say where it lies in its parent",
                    shard_index);
    }
    if (descriptor->dtype != shards->dtype) {
        return FAIL(error, "shard-type", "shard %u has element type 0x%02X, the others 0x%02X",
                    shard_index, descriptor->dtype, shards->dtype);
    }
    if (descriptor->layout != shards->layout) {
        return FAIL(error, "shard-layout", "shard %u has layout 0x%02X, the others 0x%02X",
                    shard_index, descriptor->layout, shards->layout);
    }
    shards->indexes[shard_index / 64] |= bit;
    shards->seen++;
    return tly_composite_check_add(shards->cover, descriptor, error);
}
