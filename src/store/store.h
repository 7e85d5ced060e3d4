/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of an open container. */
#ifndef TLY_STORE_STORE_H
#define TLY_STORE_STORE_H

#include <tilery/store.h>

#include "store/blocks.h"
#include "store/names.h"

struct tly_store {
    const tly_context *context;
    tly_store_limits limits; /* every field set */
    tly_blocks *blocks;      /* bytes come from there; NULL: file or memory */
    int fd;                  /* -1: bytes in memory, or blocks */
    int shortened;           /* atomic: a guard met a hole in the map */
    const uint8_t *map;      /* the file, or the caller's bytes; NULL: not mapped */
    uint64_t len;            /* of the file when it was opened */
    uint64_t page_len;

    uint32_t flags;
    uint32_t alignment;
    uint64_t first_descriptor;
    uint64_t index_offset;
    uint64_t index_len;
    uint64_t kv_offset;
    uint64_t kv_len;
    uint32_t index_crc;

    uint8_t *index_copy;  /* NULL when the bytes are the caller's */
    const uint8_t *index; /* index_len bytes */
    uint64_t *entries;    /* where each entry begins in `index` */
    uint64_t num_entries;
    tly_store_names names;
};

/* Reads bytes of the file; [offset, offset + len) lies inside it. */
tly_status tly_store_fetch(const tly_store *store, uint64_t offset, void *buffer, uint64_t len,
                           tly_error *error);

/* Reads and checks header and trailer. */
tly_status tly_store_read_frame(tly_store *store, tly_error *error);

/* Reads and checks the index, and makes names findable. */
tly_status tly_store_read_index(tly_store *store, tly_error *error);

#endif
