/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_NET_MEMORY_H
#define TLY_NET_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>

/* Fresh memory for one tensor. Large blocks are mapped, on huge pages where the system has them:
 * the address range is reserved, and memory taken only where bytes arrive. Single-owner. */
typedef struct tly_net_block {
    void *at;        /* NULL: none */
    uint64_t len;    /* bytes asked for */
    void *base;      /* of the mapping or the allocation */
    size_t base_len; /* bytes */
    size_t alignment;
    int mapped;
} tly_net_block;

/* Returns 1, or 0 without memory. `len` > 0; `alignment` is a power of two. */
int tly_net_block_init(const tly_context *context, uint64_t len, uint64_t alignment,
                       tly_net_block *out);

/* Maps a part of a file for reading instead; `offset` is a multiple of 4096. The descriptor may be
 * closed afterwards. */
int tly_net_block_map(int fd, uint64_t offset, uint64_t len, uint64_t alignment,
                      tly_net_block *out);
void tly_net_block_cleanup(const tly_context *context, tly_net_block *block);

#endif
