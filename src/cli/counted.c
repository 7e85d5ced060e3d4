/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/counted.h"

#include <stdlib.h>
#include <string.h>

void tly_counted_init(tly_counted *counted) {
    atomic_init(&counted->now, 0);
    atomic_init(&counted->peak, 0);
}

static void taken(tly_counted *counted, uint64_t len) {
    uint64_t now = atomic_fetch_add(&counted->now, len) + len;
    uint64_t peak = atomic_load(&counted->peak);
    while (now > peak && !atomic_compare_exchange_weak(&counted->peak, &peak, now)) {
    }
}

static void *resize(void *user, void *old, size_t old_size, size_t new_size, size_t alignment) {
    tly_counted *counted = user;
    void *block = NULL;
    if (new_size != 0) {
        if (alignment < sizeof(void *)) {
            alignment = sizeof(void *);
        }
        if (posix_memalign(&block, alignment, new_size) != 0) {
            return NULL;
        }
        taken(counted, new_size);
        if (old != NULL) {
            memcpy(block, old, old_size < new_size ? old_size : new_size);
        }
    }
    if (old != NULL) {
        free(old);
        atomic_fetch_sub(&counted->now, old_size);
    }
    return block;
}

tly_allocator tly_counted_allocator(tly_counted *counted) {
    return (tly_allocator){resize, counted};
}
