/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

typedef struct counter {
    size_t live;    /* bytes */
    size_t calls;   /* allocations so far */
    size_t fail_at; /* the call that fails; 0: none */
} counter;

static void *counting_resize(void *user, void *old, size_t old_size, size_t new_size,
                             size_t alignment) {
    counter *c = user;
    void *block;
    (void)alignment;
    if (new_size == 0) {
        c->live -= old_size;
        free(old);
        return NULL;
    }
    if (++c->calls == c->fail_at) {
        return NULL;
    }
    block = realloc(old, new_size);
    assert_non_null(block);
    c->live += new_size - old_size;
    return block;
}

static tly_context *counting_context(counter *c) {
    tly_context_options options = {
        .size = sizeof options, .allocator = {counting_resize, c}, .simd = TLY_SIMD_PORTABLE};
    tly_context *context;
    tly_error error;
    CHECK_OK(tly_context_new(&options, &context, &error), &error);
    return context;
}

static void blocks_are_aligned_apart_and_freed(void **state) {
    counter c = {0};
    tly_context *context = counting_context(&c);
    check_rng rng = {7};
    unsigned char *blocks[500];
    size_t lens[500];
    size_t before = c.live;
    tly_arena arena;
    (void)state;
    tly_arena_init(&arena, context);
    for (int i = 0; i < 500; i++) {
        size_t alignment = (size_t)1 << check_below(&rng, 5);
        lens[i] = i == 250 ? 3000000 : check_below(&rng, 200);
        blocks[i] = tly_arena_alloc(&arena, lens[i], alignment);
        assert_non_null(blocks[i]);
        assert_int_equal((uintptr_t)blocks[i] % alignment, 0);
        memset(blocks[i], i & 0xFF, lens[i]);
    }
    for (int i = 0; i < 500; i++) {
        for (size_t k = 0; k < lens[i]; k++) {
            assert_int_equal(blocks[i][k], i & 0xFF);
        }
    }
    assert_string_equal(tly_arena_string(&arena, "abcdef", 3), "abc");
    assert_string_equal(tly_arena_string(&arena, NULL, 0), "");
    tly_arena_cleanup(&arena);
    assert_int_equal(c.live, before);
    tly_context_free(context);
    assert_int_equal(c.live, 0);
}

static void a_failed_chunk_leaves_the_others(void **state) {
    counter c = {0};
    tly_context *context = counting_context(&c);
    tly_arena arena;
    char *kept;
    (void)state;
    tly_arena_init(&arena, context);
    kept = tly_arena_string(&arena, "kept", 4);
    c.fail_at = c.calls + 1;
    assert_null(tly_arena_alloc(&arena, 100000, 16));
    assert_null(tly_arena_alloc(&arena, SIZE_MAX - 8, 16));
    assert_string_equal(kept, "kept");
    assert_non_null(tly_arena_alloc(&arena, 100000, 16));
    assert_string_equal(kept, "kept");
    tly_arena_cleanup(&arena);
    tly_context_free(context);
    assert_int_equal(c.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_aligned_apart_and_freed),
        cmocka_unit_test(a_failed_chunk_leaves_the_others),
    };
    return cmocka_run_group_tests_name("base/arena", tests, NULL, NULL);
}
