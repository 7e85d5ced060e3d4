/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor that comes in shards, put together (interchange, Parallel Transfers): a shard that is a
 * run of the whole is received in its place, any other into memory of its own and copied when it is
 * there. That the shards belong together and cover the whole is the connection's to check. */
#ifndef TLY_NET_GATHER_H
#define TLY_NET_GATHER_H

#include <tilery/net.h>

#include "net/memory.h"

typedef struct gather_shard {
    struct gather_shard *next;
    uint32_t stream;
    uint64_t len;         /* bytes */
    int is_empty;         /* no elements; the buffer may have bytes all the same */
    uint8_t *place;       /* in the whole: the element with index 0 of the shard */
    uint8_t *at;          /* where it is received: `place`, or in `block` */
    uint64_t byte_offset; /* of that element in the shard's buffer */
    tly_net_block block;
    tly_nest from, to; /* to copy; only with a block */
} gather_shard;

typedef struct tly_gather {
    const tly_context *context;
    gather_shard *shards;
    uint64_t done; /* bytes */
} tly_gather;

/* The whole as a descriptor: type and layout of the first shard, shape of its parent, one buffer.
 * Layouts that are not row- or column-major come out as row-major. `out_bytes` gets memory of the
 * context, `out_len` bytes. Errors: UNSUPPORTED (not one buffer of a dense layout with elements of
 * whole bytes and no other sections), OVERFLOW, OUT_OF_MEMORY. */
tly_status tly_gather_whole(const tly_context *context, const tly_descriptor *shard,
                            uint8_t **out_bytes, size_t *out_len, uint64_t *out_total,
                            tly_error *error);

/* Where a shard is to be received, in or beside `whole` (descriptor `d`, data `data`). Errors: as
 * above. */
tly_status tly_gather_add(tly_gather *gather, uint32_t stream, const tly_descriptor *d, void *data,
                          const tly_descriptor *shard, uint64_t len, void **out_at,
                          tly_error *error);

/* A shard is there. Errors: OUT_OF_MEMORY. */
tly_status tly_gather_end(tly_gather *gather, uint32_t stream, uint32_t element_bits,
                          tly_error *error);
void tly_gather_cleanup(tly_gather *gather);

#endif
