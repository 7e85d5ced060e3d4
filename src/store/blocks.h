/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that are somewhere else and are read in ranges: their bytes come in blocks, which a cache
 * keeps within its limit, the least recently used going first. An object looks like a mapped file,
 * with holes where no block is: bytes may be touched in place while they are held. Every function
 * but the makers is thread-safe, and waits for the source where it says so. */
#ifndef TLY_STORE_BLOCKS_H
#define TLY_STORE_BLOCKS_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/status.h>
#include <tilery/store.h>

/* Where the bytes of an object come from. */
typedef struct tly_byte_source {
    uint64_t len;        /* bytes of the object */
    uint8_t version[16]; /* other bytes have another; never all 0 */
    void *user;

    /* Fills all of `buffer` with [offset, offset + len), which lies inside the object, or fails.
     * Several threads call it at a time. `cancel` may be NULL; once another thread has made it
     * anything but 0 (atomically), the function returns CANCELLED soon. MISMATCH means that the
     * object is not what it was, and stays that way. It does not return LIMIT. */
    tly_status (*read)(void *user, uint64_t offset, void *buffer, uint64_t len,
                       const int32_t *cancel, tly_error *error);
    void (*close)(void *user); /* nobody reads any more */
} tly_byte_source;

/* Blocks of any number of objects. Outlives them. */
typedef struct tly_block_cache tly_block_cache;

/* What a cache has and what has happened; read while others change it. */
typedef struct tly_block_stats {
    uint64_t num_fetches; /* reads of a source */
    uint64_t fetched_len; /* bytes that they gave */
    uint64_t num_failed;  /* of them */
    uint64_t num_hits;    /* blocks that were there, or on their way, when they were wanted */
    uint64_t num_dropped; /* blocks that made room for others */
    uint64_t used_len;    /* bytes of blocks */
    uint64_t limit_len;
} tly_block_stats;

/* `limit_len` and `block_len` in bytes; a block is a power of two and at least a page. A limit
 * below four blocks is four. Errors: OUT_OF_MEMORY. */
tly_status tly_block_cache_new(const tly_context *context, uint64_t limit_len, uint32_t block_len,
                               tly_block_cache **out_cache, tly_error *error);
void tly_block_cache_free(tly_block_cache *cache); /* NULL is allowed */
void tly_block_cache_stats(tly_block_cache *cache, tly_block_stats *out);

/* One object of a cache. */
typedef struct tly_blocks tly_blocks;

/* Takes a source over, which is closed with the object, and also when this fails. Reserves address
 * space, and no memory. Errors: LIMIT (no room for addresses), OUT_OF_MEMORY, IO. */
tly_status tly_blocks_new(const tly_context *context, tly_block_cache *cache,
                          const tly_byte_source *source, tly_blocks **out_blocks, tly_error *error);
void tly_blocks_free(tly_blocks *blocks); /* NULL is allowed; nothing is held or being read */

/* Of the source. */
uint64_t tly_blocks_len(const tly_blocks *blocks);
const uint8_t *tly_blocks_version(const tly_blocks *blocks);

/* 0 once the source has said that the object is not what it was; no byte comes out any more. */
int tly_blocks_intact(const tly_blocks *blocks);

/* Where the object is mapped. [offset, offset + len) may be touched while it is held. */
const uint8_t *tly_blocks_map(const tly_blocks *blocks);

/* A range that is held: its blocks stay. */
typedef struct tly_block_hold {
    tly_blocks *blocks; /* NULL: nothing is held */
    uint64_t first, num;
} tly_block_hold;

/* Has all blocks of a range fetched, as far as they are not there, and holds them. Whoever wants a
 * block that another is fetching waits for it. Where holds of others leave no room it waits for at
 * most `room_ms`, in turn with others who wait. Errors: LIMIT (more than the cache takes, or no
 * room in time), MISMATCH, CANCELLED, OUT_OF_MEMORY, those of the source; `out_hold` is empty then.
 */
tly_status tly_blocks_hold(tly_blocks *blocks, uint64_t offset, uint64_t len, uint32_t room_ms,
                           const int32_t *cancel, tly_block_hold *out_hold, tly_error *error);
void tly_blocks_release(tly_block_hold *hold); /* an empty one is allowed */

/* Copies a range; by way of blocks where there is room for them, straight from the source where
 * there is none. So it never waits for room. Errors: as above. */
tly_status tly_blocks_read(tly_blocks *blocks, uint64_t offset, void *buffer, uint64_t len,
                           const int32_t *cancel, tly_error *error);

/* A container in such an object, which the store takes over, also when this fails. It has no views
 * (tly_store_view); its data are read, or held. Errors: as tly_store_open. */
tly_status tly_store_open_blocks(const tly_context *context, tly_blocks *blocks,
                                 const tly_store_open_options *options, tly_store **out_store,
                                 tly_error *error);

/* The object behind a store; NULL for files and memory. */
tly_blocks *tly_store_blocks(const tly_store *store);

#endif
