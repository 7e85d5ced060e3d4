/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/context.h"

#define FIRST_LEN   1024
#define LARGEST_LEN ((size_t)1 << 20)

struct tly_arena_chunk {
    tly_arena_chunk *older;
    size_t len; /* of the payload */
    _Alignas(16) unsigned char payload[];
};

void tly_arena_init(tly_arena *arena, const tly_context *context) {
    memset(arena, 0, sizeof *arena);
    arena->context = context;
    arena->next_len = FIRST_LEN;
}

void tly_arena_cleanup(tly_arena *arena) {
    while (arena->chunks != NULL) {
        tly_arena_chunk *older = arena->chunks->older;
        tly_base_free(arena->context, arena->chunks, sizeof(tly_arena_chunk) + arena->chunks->len,
                      _Alignof(tly_arena_chunk));
        arena->chunks = older;
    }
    arena->used = 0;
}

static int add_chunk(tly_arena *arena, size_t at_least) {
    size_t len = arena->next_len > at_least ? arena->next_len : at_least;
    tly_arena_chunk *chunk;
    if (len > SIZE_MAX - sizeof *chunk) {
        return 0;
    }
    chunk = tly_base_alloc(arena->context, sizeof *chunk + len, _Alignof(tly_arena_chunk));
    if (chunk == NULL) {
        return 0;
    }
    chunk->older = arena->chunks;
    chunk->len = len;
    arena->chunks = chunk;
    arena->used = 0;
    if (arena->next_len < LARGEST_LEN) {
        arena->next_len *= 2;
    }
    return 1;
}

void *tly_arena_alloc(tly_arena *arena, size_t len, size_t alignment) {
    size_t start = (arena->used + alignment - 1) & ~(alignment - 1);
    if (arena->chunks == NULL || start > arena->chunks->len || len > arena->chunks->len - start) {
        if (!add_chunk(arena, len)) {
            return NULL;
        }
        start = 0;
    }
    arena->used = start + len;
    return arena->chunks->payload + start;
}

char *tly_arena_string(tly_arena *arena, const void *bytes, size_t len) {
    char *copy = len < SIZE_MAX ? tly_arena_alloc(arena, len + 1, 1) : NULL;
    if (copy != NULL) {
        if (len != 0) {
            memcpy(copy, bytes, len);
        }
        copy[len] = '\0';
    }
    return copy;
}
