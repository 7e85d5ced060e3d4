/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of an object lie in a memory file as long as the object, each at its own place; a
 * block that goes leaves a hole. So bytes never move, a range is one run of memory, and what is
 * there is bounded by the cache and not by the object. */
#include "store/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/populate.h"
#include "base/use_order.h"

#define LEAST_BLOCKS  4
#define FETCH_LEN     (UINT64_C(4) << 20) /* most that is asked of a source at a time, bytes */
#define LOOK_EVERY_MS 50                  /* whoever waits looks whether it was cancelled */

typedef enum block_state { BLOCK_EMPTY = 0, BLOCK_FETCHING = 1, BLOCK_PRESENT = 2 } block_state;

/* Exists while it is there, on its way, or held. */
typedef struct block {
    tly_use_link use; /* present and not held: in the order of use */
    struct block *chained;
    tly_blocks *owner;
    uint64_t number; /* in the object */
    uint32_t num_holds;
    block_state state;
} block;

/* Somebody who waits for room, on its own stack. */
typedef struct waiter {
    struct waiter *next;
} waiter;

struct tly_block_cache {
    const tly_context *context;
    uint64_t limit;     /* blocks */
    uint32_t block_len; /* bytes */
    pthread_mutex_t mutex;
    pthread_cond_t moved; /* a block came, or room, or somebody left the line */
    block **buckets;
    uint64_t num_buckets; /* a power of two */
    tly_use_order unheld;
    uint64_t num_blocks, num_held;
    waiter *line; /* the first one takes the next room */
    tly_block_stats stats;
};

struct tly_blocks {
    const tly_context *context;
    tly_block_cache *cache;
    tly_byte_source source;
    int fd;
    uint8_t *map;
    int32_t changed; /* atomic */
};

/* ---- life ---- */

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for blocks");
}

tly_status tly_block_cache_new(const tly_context *context, uint64_t limit_len, uint32_t block_len,
                               tly_block_cache **out_cache, tly_error *error) {
    tly_block_cache *c = tly_base_calloc(context, sizeof *c, _Alignof(tly_block_cache));
    pthread_condattr_t by_clock;
    *out_cache = NULL;
    if (c == NULL) {
        return no_memory(error);
    }
    c->context = context;
    c->block_len = block_len;
    c->limit = limit_len / block_len > LEAST_BLOCKS ? limit_len / block_len : LEAST_BLOCKS;
    c->num_buckets = 64;
    while (c->num_buckets < c->limit && c->num_buckets < (1u << 20)) {
        c->num_buckets *= 2;
    }
    c->buckets =
        tly_base_calloc(context, (size_t)c->num_buckets * sizeof *c->buckets, _Alignof(block *));
    if (c->buckets == NULL) {
        tly_base_free(context, c, sizeof *c, _Alignof(tly_block_cache));
        return no_memory(error);
    }
    pthread_mutex_init(&c->mutex, NULL);
    pthread_condattr_init(&by_clock);
    pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    pthread_cond_init(&c->moved, &by_clock);
    pthread_condattr_destroy(&by_clock);
    *out_cache = c;
    return TLY_OK;
}

void tly_block_cache_free(tly_block_cache *cache) {
    if (cache == NULL) {
        return;
    }
    pthread_cond_destroy(&cache->moved);
    pthread_mutex_destroy(&cache->mutex);
    tly_base_free(cache->context, cache->buckets,
                  (size_t)cache->num_buckets * sizeof *cache->buckets, _Alignof(block *));
    tly_base_free(cache->context, cache, sizeof *cache, _Alignof(tly_block_cache));
}

void tly_block_cache_stats(tly_block_cache *cache, tly_block_stats *out) {
    pthread_mutex_lock(&cache->mutex);
    *out = cache->stats;
    out->used_len = cache->num_blocks * cache->block_len;
    out->limit_len = cache->limit * cache->block_len;
    pthread_mutex_unlock(&cache->mutex);
}

/* Address space, and a file that takes memory only where something is written. */
static tly_status map_object(tly_blocks *b, tly_error *error) {
    uint64_t len = b->source.len;
    void *map;
    b->fd = memfd_create("tilery-blocks", MFD_CLOEXEC);
    if (b->fd < 0) {
        return tly_base_fail_errno(error, errno, "cannot make a memory file");
    }
    if (len == 0) {
        return TLY_OK;
    }
    if (len > SIZE_MAX || len > INT64_MAX || ftruncate(b->fd, (off_t)len) != 0) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "object-len",
                             "an object of %llu bytes is more than this machine can address",
                             (unsigned long long)len);
    }
    map = mmap(NULL, (size_t)len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, b->fd, 0);
    if (map == MAP_FAILED) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "object-len",
                             "no room for the addresses of an object of %llu bytes",
                             (unsigned long long)len);
    }
    b->map = map;
    return TLY_OK;
}

tly_status tly_blocks_new(const tly_context *context, tly_block_cache *cache,
                          const tly_byte_source *source, tly_blocks **out_blocks,
                          tly_error *error) {
    tly_blocks *b = tly_base_calloc(context, sizeof *b, _Alignof(tly_blocks));
    tly_status status;
    *out_blocks = NULL;
    if (b == NULL) {
        source->close(source->user);
        return no_memory(error);
    }
    b->context = context;
    b->cache = cache;
    b->source = *source;
    status = map_object(b, error);
    if (status != TLY_OK) {
        tly_blocks_free(b);
        return status;
    }
    *out_blocks = b;
    return TLY_OK;
}

static block **bucket(tly_block_cache *c, const tly_blocks *owner, uint64_t number) {
    uint64_t hash = ((uint64_t)(uintptr_t)owner >> 4) * UINT64_C(0x9E3779B97F4A7C15) + number;
    hash *= UINT64_C(0xD1342543DE82EF95);
    return &c->buckets[(hash >> 32) & (c->num_buckets - 1)];
}

static block *find(tly_block_cache *c, const tly_blocks *owner, uint64_t number) {
    block *at = *bucket(c, owner, number);
    while (at != NULL && (at->owner != owner || at->number != number)) {
        at = at->chained;
    }
    return at;
}

static block *block_of(tly_use_link *use) {
    return (block *)(void *)use;
}

/* Its bytes, the last block's end at the object's. */
static uint64_t bytes_of(const tly_blocks *b, uint64_t first, uint64_t num) {
    uint64_t start = first * b->cache->block_len, len = num * b->cache->block_len;
    return len < b->source.len - start ? len : b->source.len - start;
}

/* A block that nobody holds goes, and leaves a hole. */
static void drop(tly_block_cache *c, block *at) {
    block **link = bucket(c, at->owner, at->number);
    while (*link != at) {
        link = &(*link)->chained;
    }
    *link = at->chained;
    (void)fallocate(at->owner->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    (off_t)(at->number * c->block_len), (off_t)c->block_len);
    c->num_blocks--;
    tly_base_free(c->context, at, sizeof *at, _Alignof(block));
}

void tly_blocks_free(tly_blocks *blocks) {
    tly_blocks *b = blocks;
    tly_block_cache *c;
    tly_use_link *next;
    if (b == NULL) {
        return;
    }
    c = b->cache;
    pthread_mutex_lock(&c->mutex);
    for (tly_use_link *at = c->unheld.newest; at != NULL; at = next) {
        next = at->older;
        if (block_of(at)->owner == b) {
            tly_use_remove(&c->unheld, at);
            drop(c, block_of(at));
        }
    }
    pthread_cond_broadcast(&c->moved);
    pthread_mutex_unlock(&c->mutex);
    if (b->map != NULL) {
        munmap(b->map, (size_t)b->source.len);
    }
    if (b->fd >= 0) {
        close(b->fd);
    }
    b->source.close(b->source.user);
    tly_base_free(b->context, b, sizeof *b, _Alignof(tly_blocks));
}

uint64_t tly_blocks_len(const tly_blocks *blocks) {
    return blocks->source.len;
}

const uint8_t *tly_blocks_version(const tly_blocks *blocks) {
    return blocks->source.version;
}

int tly_blocks_intact(const tly_blocks *blocks) {
    return !__atomic_load_n(&blocks->changed, __ATOMIC_ACQUIRE);
}

const uint8_t *tly_blocks_map(const tly_blocks *blocks) {
    return blocks->map;
}

static tly_status fail_changed(tly_error *error) {
    return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "object-changed",
                         "the object has changed since it was opened: open it anew");
}

/* ---- holding; everything here has the mutex ---- */

static void unhold(tly_block_cache *c, block *at) {
    if (--at->num_holds != 0) {
        return;
    }
    c->num_held--;
    if (at->state == BLOCK_PRESENT) {
        tly_use_add(&c->unheld, &at->use);
    } else {
        drop(c, at);
    }
}

static void unhold_range(tly_blocks *b, uint64_t first, uint64_t num) {
    for (uint64_t i = 0; i < num; i++) {
        unhold(b->cache, find(b->cache, b, first + i));
    }
    pthread_cond_broadcast(&b->cache->moved);
}

/* How many blocks of a range would be held that nobody holds now. */
static uint64_t count_more(tly_blocks *b, uint64_t first, uint64_t num) {
    uint64_t more = 0;
    for (uint64_t i = 0; i < num; i++) {
        const block *at = find(b->cache, b, first + i);
        more += at == NULL || at->num_holds == 0;
    }
    return more;
}

/* Holds a block that exists, or a new one. Returns 0 without memory. */
static int hold_one(tly_blocks *b, uint64_t number) {
    tly_block_cache *c = b->cache;
    block *at = find(c, b, number);
    if (at == NULL) {
        block **link = bucket(c, b, number);
        at = tly_base_calloc(c->context, sizeof *at, _Alignof(block));
        if (at == NULL) {
            return 0;
        }
        at->owner = b;
        at->number = number;
        at->chained = *link;
        *link = at;
        c->num_blocks++;
    } else {
        c->stats.num_hits++;
        if (at->num_holds == 0) {
            tly_use_remove(&c->unheld, &at->use);
        }
    }
    c->num_held += at->num_holds++ == 0;
    return 1;
}

/* Holds a range, for which there is room once blocks that nobody holds have gone. */
static int hold_all(tly_blocks *b, uint64_t first, uint64_t num) {
    tly_block_cache *c = b->cache;
    for (uint64_t i = 0; i < num; i++) {
        if (!hold_one(b, first + i)) {
            unhold_range(b, first, i);
            return 0;
        }
    }
    while (c->num_blocks > c->limit && c->unheld.oldest != NULL) {
        tly_use_link *oldest = c->unheld.oldest;
        tly_use_remove(&c->unheld, oldest);
        drop(c, block_of(oldest));
        c->stats.num_dropped++;
    }
    return 1;
}

static struct timespec in_ms(uint64_t ms) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

static int is_past(const struct timespec *when) {
    struct timespec now = in_ms(0);
    return now.tv_sec > when->tv_sec ||
           (now.tv_sec == when->tv_sec && now.tv_nsec >= when->tv_nsec);
}

static int is_cancelled(const int32_t *cancel) {
    return cancel != NULL && __atomic_load_n(cancel, __ATOMIC_ACQUIRE) != 0;
}

/* Until something moves, for a short time at most. */
static void wait_a_little(tly_block_cache *c) {
    struct timespec until = in_ms(LOOK_EVERY_MS);
    pthread_cond_timedwait(&c->moved, &c->mutex, &until);
}

static tly_status fail_cancelled(tly_error *error) {
    return tly_base_fail(error, TLY_CANCELLED, TLY_NO_OFFSET, "", "nobody wants it any more");
}

static tly_status fail_room(const tly_block_cache *c, tly_error *error) {
    return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "block-cache",
                         "no room among the blocks in use: the block cache has %llu bytes",
                         (unsigned long long)(c->limit * c->block_len));
}

static void leave_line(tly_block_cache *c, const waiter *self) {
    waiter **link = &c->line;
    while (*link != self) {
        link = &(*link)->next;
    }
    *link = self->next;
    pthread_cond_broadcast(&c->moved);
}

/* Holds the blocks of a range, all or none: whoever had some and waited for others could wait for
 * ever. What is held already needs no room and no waiting. */
static tly_status reserve(tly_blocks *b, uint64_t first, uint64_t num, uint32_t room_ms,
                          const int32_t *cancel, tly_error *error) {
    tly_block_cache *c = b->cache;
    struct timespec until;
    waiter self = {NULL};
    waiter **link = &c->line;
    uint64_t more;
    tly_status status = TLY_OK;
    if (num > c->limit) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "block-cache",
                             "%llu bytes are wanted at once, and the block cache has %llu",
                             (unsigned long long)bytes_of(b, first, num),
                             (unsigned long long)(c->limit * c->block_len));
    }
    more = count_more(b, first, num);
    if (more == 0 || (c->line == NULL && c->num_held + more <= c->limit)) {
        return hold_all(b, first, num) ? TLY_OK : no_memory(error);
    }
    if (room_ms == 0) {
        return fail_room(c, error);
    }
    while (*link != NULL) {
        link = &(*link)->next;
    }
    *link = &self;
    until = in_ms(room_ms);
    while (status == TLY_OK && (c->line != &self || c->num_held + more > c->limit)) {
        if (is_cancelled(cancel)) {
            status = fail_cancelled(error);
        } else if (is_past(&until)) {
            status = fail_room(c, error);
        } else {
            wait_a_little(c);
            more = count_more(b, first, num);
        }
    }
    leave_line(c, &self);
    if (status == TLY_OK && !hold_all(b, first, num)) {
        status = no_memory(error);
    }
    return status;
}

/* ---- fetching ---- */

/* Straight from the source; the mutex is free. */
static tly_status read_source(tly_blocks *b, uint64_t offset, void *buffer, uint64_t len,
                              const int32_t *cancel, tly_error *error) {
    tly_block_cache *c = b->cache;
    tly_status status = tly_blocks_intact(b)
                            ? b->source.read(b->source.user, offset, buffer, len, cancel, error)
                            : fail_changed(error);
    if (status == TLY_MISMATCH) {
        __atomic_store_n(&b->changed, 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_lock(&c->mutex);
    c->stats.num_fetches++;
    c->stats.num_failed += status != TLY_OK && status != TLY_CANCELLED;
    c->stats.fetched_len += status == TLY_OK ? len : 0;
    pthread_mutex_unlock(&c->mutex);
    return status;
}

static tly_status fetch(tly_blocks *b, uint64_t first, uint64_t num, const int32_t *cancel,
                        tly_error *error) {
    uint64_t offset = first * b->cache->block_len, len = bytes_of(b, first, num);
    if (!tly_base_populate(b->map + offset, (size_t)len, b->fd, (off_t)offset)) {
        return no_memory(error);
    }
    return read_source(b, offset, b->map + offset, len, cancel, error);
}

/* The blocks from `first` on that nobody fetches yet, as many as are asked for at a time. */
static uint64_t claim(tly_blocks *b, uint64_t first, uint64_t end) {
    uint64_t most = FETCH_LEN / b->cache->block_len, num = 0;
    while (first + num < end && num < (most != 0 ? most : 1)) {
        block *at = find(b->cache, b, first + num);
        if (at->state != BLOCK_EMPTY) {
            break;
        }
        at->state = BLOCK_FETCHING;
        num++;
    }
    return num;
}

/* Has the blocks of a range, which are held, fetched: those that nobody fetches by this thread. */
static tly_status fill(tly_blocks *b, uint64_t first, uint64_t num, const int32_t *cancel,
                       tly_error *error) {
    tly_block_cache *c = b->cache;
    tly_status status = TLY_OK;
    for (;;) {
        uint64_t at = first, waiting = 0, claimed = 0;
        for (; at < first + num && claimed == 0; at += claimed == 0) {
            waiting += find(c, b, at)->state == BLOCK_FETCHING;
            claimed = claim(b, at, first + num);
        }
        if (claimed != 0) {
            pthread_mutex_unlock(&c->mutex);
            status = fetch(b, at, claimed, cancel, error);
            pthread_mutex_lock(&c->mutex);
            for (uint64_t i = 0; i < claimed; i++) {
                find(c, b, at + i)->state = status == TLY_OK ? BLOCK_PRESENT : BLOCK_EMPTY;
            }
            pthread_cond_broadcast(&c->moved);
        } else if (waiting == 0) {
            return TLY_OK;
        } else if (is_cancelled(cancel)) {
            status = fail_cancelled(error);
        } else {
            wait_a_little(c);
        }
        if (status != TLY_OK) {
            return status;
        }
    }
}

tly_status tly_blocks_hold(tly_blocks *blocks, uint64_t offset, uint64_t len, uint32_t room_ms,
                           const int32_t *cancel, tly_block_hold *out_hold, tly_error *error) {
    tly_blocks *b = blocks;
    tly_block_cache *c = b->cache;
    uint64_t first = offset / c->block_len;
    uint64_t num = len != 0 ? (offset + len - 1) / c->block_len - first + 1 : 0;
    tly_status status;
    memset(out_hold, 0, sizeof *out_hold);
    if (!tly_blocks_intact(b)) {
        return fail_changed(error);
    }
    pthread_mutex_lock(&c->mutex);
    status = reserve(b, first, num, room_ms, cancel, error);
    if (status == TLY_OK) {
        status = fill(b, first, num, cancel, error);
        if (status != TLY_OK) {
            unhold_range(b, first, num);
        }
    }
    pthread_mutex_unlock(&c->mutex);
    if (status == TLY_OK) {
        *out_hold = (tly_block_hold){b, first, num};
    }
    return status;
}

void tly_blocks_release(tly_block_hold *hold) {
    tly_blocks *b = hold->blocks;
    if (b != NULL) {
        hold->blocks = NULL;
        pthread_mutex_lock(&b->cache->mutex);
        unhold_range(b, hold->first, hold->num);
        pthread_mutex_unlock(&b->cache->mutex);
    }
}

/* Through the cache, or past it where it has no room. */
static tly_status read_piece(tly_blocks *b, uint64_t offset, uint8_t *out, uint64_t len,
                             const int32_t *cancel, tly_error *error) {
    tly_block_hold hold;
    tly_error why;
    tly_status status = tly_blocks_hold(b, offset, len, 0, cancel, &hold, &why);
    if (status == TLY_LIMIT) {
        return read_source(b, offset, out, len, cancel, error);
    }
    if (status != TLY_OK) {
        if (error != NULL) {
            *error = why;
        }
        return status;
    }
    memcpy(out, b->map + offset, (size_t)len);
    tly_blocks_release(&hold);
    return TLY_OK;
}

tly_status tly_blocks_read(tly_blocks *blocks, uint64_t offset, void *buffer, uint64_t len,
                           const int32_t *cancel, tly_error *error) {
    uint8_t *out = buffer;
    while (len != 0) {
        uint64_t piece = len < FETCH_LEN / 2 ? len : FETCH_LEN / 2;
        tly_status status = read_piece(blocks, offset, out, piece, cancel, error);
        if (status != TLY_OK) {
            return status;
        }
        out += piece;
        offset += piece;
        len -= piece;
    }
    return TLY_OK;
}
