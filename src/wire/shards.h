/* SPDX-License-Identifier: Apache-2.0 */
/* Shards of one tensor (Hurray 1.0, interchange, Shard Consistency): the same parent, type and
 * layout, and boxes that cover the parent without overlap. Only what has come is remembered. */
#ifndef TLY_WIRE_SHARDS_H
#define TLY_WIRE_SHARDS_H

#include <tilery/tensor.h>

/* Shards of one tensor that are taken; more is refused. */
#define TLY_WIRE_MAX_SHARDS 1024

typedef struct tly_wire_shards {
    const tly_context *context;
    tly_composite_check *cover;
    uint32_t total;
    uint32_t seen;
    tly_dtype dtype;
    uint8_t layout;
    uint64_t parent[TLY_MAX_RANK];
    uint64_t indexes[TLY_WIRE_MAX_SHARDS / 64]; /* which have come */
} tly_wire_shards;

/* Starts with the first shard that came, which tells what the others must be like; `out_shards` is
 * zeroed memory, to be cleaned up in any case. Then tly_wire_shards_add for each, the first too.
 * Errors: MALFORMED (rule shard-...), LIMIT, OUT_OF_MEMORY. */
tly_status tly_wire_shards_init(const tly_context *context, const tly_descriptor *first,
                                uint32_t total_shards, tly_wire_shards *out_shards,
                                tly_error *error);
void tly_wire_shards_cleanup(tly_wire_shards *shards);

/* One more; with the last one cover and overlap are decided. Errors: as above, OVERFLOW. */
tly_status tly_wire_shards_add(tly_wire_shards *shards, const tly_descriptor *descriptor,
                               uint32_t shard_index, uint32_t total_shards, tly_error *error);

#endif
