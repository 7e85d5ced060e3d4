/* SPDX-License-Identifier: Apache-2.0 */
#include "net/memory.h"

#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/context.h"

#define MAP_FROM_LEN (1u << 20) /* smaller blocks come from the context's allocator */
#define HUGE_LEN     (2u << 20)

int tly_net_block_init(const tly_context *context, uint64_t len, uint64_t alignment,
                       tly_net_block *out) {
    uint64_t whole;
    uintptr_t at;
    void *base;
    memset(out, 0, sizeof *out);
    if (len < MAP_FROM_LEN && alignment < MAP_FROM_LEN) {
        out->at = tly_base_alloc(context, (size_t)len, (size_t)alignment);
        out->base = out->at;
        out->base_len = (size_t)len;
        out->alignment = (size_t)alignment;
        out->len = len;
        return out->at != NULL;
    }
    if (alignment < HUGE_LEN) {
        alignment = HUGE_LEN;
    }
    if (tly_base_add_u64(len, alignment, &whole) || whole > SIZE_MAX) {
        return 0;
    }
    base = mmap(NULL, (size_t)whole, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return 0;
    }
    at = ((uintptr_t)base + (uintptr_t)alignment - 1) & ~((uintptr_t)alignment - 1);
    out->at = (void *)at;
#ifdef MADV_HUGEPAGE
    madvise(out->at, (size_t)len, MADV_HUGEPAGE); /* only a wish */
#endif
    out->len = len;
    out->base = base;
    out->base_len = (size_t)whole;
    out->mapped = 1;
    return 1;
}

int tly_net_block_map(int fd, uint64_t offset, uint64_t len, uint64_t alignment,
                      tly_net_block *out) {
    uint64_t whole;
    uintptr_t at;
    void *base;
    memset(out, 0, sizeof *out);
    if (tly_base_add_u64(len, alignment, &whole) || whole > SIZE_MAX) {
        return 0;
    }
    /* At least a page behind the file can be read: kernels load the next row before they see that
     * there is none. */
    base = mmap(NULL, (size_t)whole, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return 0;
    }
    at = ((uintptr_t)base + (uintptr_t)alignment - 1) & ~((uintptr_t)alignment - 1);
    out->at = mmap((void *)at, (size_t)len, PROT_READ, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
    if (out->at == MAP_FAILED) {
        munmap(base, (size_t)whole);
        memset(out, 0, sizeof *out);
        return 0;
    }
    out->len = len;
    out->base = base;
    out->base_len = (size_t)whole;
    out->mapped = 1;
    return 1;
}

void tly_net_block_cleanup(const tly_context *context, tly_net_block *block) {
    if (block->mapped) {
        munmap(block->base, block->base_len);
    } else {
        tly_base_free(context, block->base, block->base_len, block->alignment);
    }
    memset(block, 0, sizeof *block);
}
