/* SPDX-License-Identifier: Apache-2.0 */
/* An allocator that counts, and fails at the call asked for. */
#ifndef TLY_TESTS_FAILING_H
#define TLY_TESTS_FAILING_H

#include <stdlib.h>
#include <string.h>

#include <tilery/context.h>

#include "check.h"

typedef struct failing {
    size_t live;    /* bytes */
    size_t calls;   /* allocations so far */
    size_t fail_at; /* 0: none fails */
    size_t largest; /* bytes of one call */
} failing;

static inline void *failing_resize(void *user, void *old, size_t old_size, size_t new_size,
                                   size_t alignment) {
    failing *f = user;
    void *block = NULL;
    if (new_size == 0) {
        f->live -= old_size;
        free(old);
        return NULL;
    }
    if (++f->calls == f->fail_at) {
        return NULL;
    }
    f->largest = new_size > f->largest ? new_size : f->largest;
    assert_int_equal(posix_memalign(&block, alignment < 16 ? 16 : alignment, new_size), 0);
    if (old != NULL) {
        memcpy(block, old, old_size < new_size ? old_size : new_size);
    }
    free(old);
    f->live += new_size - old_size;
    return block;
}

static inline tly_context *failing_context(failing *f) {
    tly_context_options options = {
        .size = sizeof options, .allocator = {failing_resize, f}, .simd = TLY_SIMD_PORTABLE};
    tly_context *context;
    tly_error error;
    memset(f, 0, sizeof *f);
    CHECK_OK(tly_context_new(&options, &context, &error), &error);
    return context;
}

#endif
