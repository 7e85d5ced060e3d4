/* SPDX-License-Identifier: Apache-2.0 */
/* Many small blocks that live and die together. A block is never moved, so pointers into an arena
 * stay good until tly_arena_cleanup. Single-owner. */
#ifndef TLY_BASE_ARENA_H
#define TLY_BASE_ARENA_H

#include <stddef.h>

#include <tilery/context.h>

typedef struct tly_arena_chunk tly_arena_chunk;

typedef struct tly_arena {
    const tly_context *context;
    tly_arena_chunk *chunks; /* the newest first */
    size_t used;             /* bytes of the newest */
    size_t next_len;         /* payload of the chunk to come */
} tly_arena;

void tly_arena_init(tly_arena *arena, const tly_context *context);
void tly_arena_cleanup(tly_arena *arena);

/* `len` bytes on a multiple of `alignment` (a power of two, at most 16), not initialised. NULL when
 * there is no memory; a block of 0 bytes is a valid pointer too. */
void *tly_arena_alloc(tly_arena *arena, size_t len, size_t alignment);

/* A copy of `len` bytes with a NUL behind them. NULL when there is no memory. */
char *tly_arena_string(tly_arena *arena, const void *bytes, size_t len);

#endif
