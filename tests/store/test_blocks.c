/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of objects that are elsewhere: bounded, fetched once, never mixed. The source is a pattern
 * with faults on demand. */
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tilery/store.h>

#include "check.h"
#include "failing.h"
#include "store/blocks.h"
#include "store/scratch.h"

#define BLOCK 4096u

typedef struct origin {
    const uint8_t *bytes; /* NULL: the pattern */
    uint64_t len;
    int reads; /* atomic, as the rest */
    int fail;  /* tly_status of the next reads */
    int num_fail;
    int slow_ms;
    int running, most_running;
    int closed;
    uint64_t largest;
} origin;

static uint8_t pattern(uint64_t at) {
    return (uint8_t)(at * 31 + (at >> 8) * 7 + (at >> 16));
}

static void doze(int ms) {
    struct timespec t = {ms / 1000, (ms % 1000) * 1000000L};
    nanosleep(&t, NULL);
}

static tly_status origin_read(void *user, uint64_t offset, void *buffer, uint64_t len,
                              const int32_t *cancel, tly_error *error) {
    origin *o = user;
    int running = __atomic_add_fetch(&o->running, 1, __ATOMIC_SEQ_CST);
    int fails = __atomic_load_n(&o->fail, __ATOMIC_SEQ_CST) != 0 &&
                __atomic_sub_fetch(&o->num_fail, 1, __ATOMIC_SEQ_CST) >= 0;
    __atomic_add_fetch(&o->reads, 1, __ATOMIC_SEQ_CST);
    if (running > __atomic_load_n(&o->most_running, __ATOMIC_SEQ_CST)) {
        __atomic_store_n(&o->most_running, running, __ATOMIC_SEQ_CST);
    }
    assert_true(len != 0 && offset <= o->len && len <= o->len - offset);
    for (int slept = 0; slept < o->slow_ms; slept += 5) {
        if (cancel != NULL && __atomic_load_n(cancel, __ATOMIC_ACQUIRE)) {
            break;
        }
        doze(5);
    }
    for (uint64_t i = 0; i < len; i++) {
        ((uint8_t *)buffer)[i] = o->bytes != NULL ? o->bytes[offset + i] : pattern(offset + i);
    }
    __atomic_sub_fetch(&o->running, 1, __ATOMIC_SEQ_CST);
    if (cancel != NULL && __atomic_load_n(cancel, __ATOMIC_ACQUIRE)) {
        return TLY_CANCELLED;
    }
    if (fails) {
        memset(buffer, 0xEE, (size_t)len); /* half of an answer, say */
        if (error != NULL) {
            memset(error, 0, sizeof *error);
            error->status = o->fail;
            strcpy(error->message, "the origin failed");
        }
        return (tly_status)o->fail;
    }
    return TLY_OK;
}

static void origin_close(void *user) {
    ((origin *)user)->closed++;
}

typedef struct rig {
    tly_context *context;
    tly_block_cache *cache;
    tly_blocks *blocks;
    origin origin;
} rig;

static tly_blocks *add(rig *r, origin *o) {
    const tly_byte_source source = {o->len, {1}, o, origin_read, origin_close};
    tly_blocks *blocks;
    tly_error error;
    CHECK_OK(tly_blocks_new(r->context, r->cache, &source, &blocks, &error), &error);
    return blocks;
}

static void make(rig *r, uint64_t len, uint64_t limit_blocks) {
    tly_error error;
    memset(r, 0, sizeof *r);
    r->origin.len = len;
    CHECK_OK(tly_context_new(NULL, &r->context, &error), &error);
    CHECK_OK(tly_block_cache_new(r->context, limit_blocks * BLOCK, BLOCK, &r->cache, &error),
             &error);
    r->blocks = add(r, &r->origin);
}

static void clean(rig *r) {
    tly_block_stats stats;
    tly_blocks_free(r->blocks);
    assert_int_equal(r->origin.closed, 1);
    tly_block_cache_stats(r->cache, &stats);
    assert_int_equal(stats.used_len, 0);
    tly_block_cache_free(r->cache);
    tly_context_free(r->context);
}

static void expect(const uint8_t *bytes, uint64_t offset, uint64_t len) {
    for (uint64_t i = 0; i < len; i++) {
        if (bytes[i] != pattern(offset + i)) {
            fail_msg("byte %llu is wrong", (unsigned long long)(offset + i));
        }
    }
}

static void any_range_reads_right_and_memory_stays_bounded(void **state) {
    check_rng rng = {check_seed(11)};
    static uint8_t buffer[64 * BLOCK];
    tly_block_stats stats;
    rig r;
    (void)state;
    make(&r, 200 * BLOCK + 77, 16);
    for (int i = 0; i < 400; i++) {
        uint64_t offset = check_random(&rng) % (r.origin.len + 1);
        uint64_t len = check_random(&rng) % (i % 8 == 0 ? sizeof buffer : 3 * BLOCK);
        tly_error error;
        len = len < r.origin.len - offset ? len : r.origin.len - offset;
        CHECK_OK(tly_blocks_read(r.blocks, offset, buffer, len, NULL, &error), &error);
        expect(buffer, offset, len);
        tly_block_cache_stats(r.cache, &stats);
        assert_in_range(stats.used_len, 0, 16 * BLOCK);
    }
    assert_true(stats.num_hits != 0 && stats.num_dropped != 0);
    assert_int_equal(stats.num_fetches, r.origin.reads);
    clean(&r);
}

static void the_least_recently_used_block_goes_and_a_held_one_stays(void **state) {
    uint8_t byte;
    tly_block_hold hold, more;
    tly_error error;
    rig r;
    (void)state;
    make(&r, 100 * BLOCK, 4);
    CHECK_OK(tly_blocks_hold(r.blocks, 5, BLOCK, 0, NULL, &hold, &error), &error); /* 0 and 1 */
    for (uint64_t i = 10; i < 40; i++) {
        CHECK_OK(tly_blocks_read(r.blocks, i * BLOCK, &byte, 1, NULL, &error), &error);
    }
    expect(tly_blocks_map(r.blocks) + 5, 5, BLOCK);
    r.origin.reads = 0;
    CHECK_OK(tly_blocks_read(r.blocks, 39 * BLOCK, &byte, 1, NULL, &error), &error);
    CHECK_OK(tly_blocks_read(r.blocks, 38 * BLOCK + 9, &byte, 1, NULL, &error), &error);
    CHECK_OK(tly_blocks_read(r.blocks, BLOCK + 9, &byte, 1, NULL, &error), &error);
    assert_int_equal(r.origin.reads, 0);
    CHECK_OK(tly_blocks_read(r.blocks, 37 * BLOCK, &byte, 1, NULL, &error), &error); /* 39 goes */
    CHECK_OK(tly_blocks_read(r.blocks, 38 * BLOCK, &byte, 1, NULL, &error), &error);
    assert_int_equal(r.origin.reads, 1);
    /* What is held leaves no room for more; a part of what is held needs none. */
    CHECK_RULE(tly_blocks_hold(r.blocks, 50 * BLOCK, 3 * BLOCK, 0, NULL, &more, &error), &error,
               TLY_LIMIT, "block-cache");
    CHECK_RULE(tly_blocks_hold(r.blocks, 50 * BLOCK, 3 * BLOCK, 30, NULL, &more, &error), &error,
               TLY_LIMIT, "block-cache");
    CHECK_RULE(tly_blocks_hold(r.blocks, 0, 5 * BLOCK, 1000, NULL, &more, &error), &error,
               TLY_LIMIT, "block-cache");
    CHECK_OK(tly_blocks_hold(r.blocks, BLOCK, BLOCK, 0, NULL, &more, &error), &error);
    tly_blocks_release(&hold);
    tly_blocks_release(&more);
    tly_blocks_release(&more);
    clean(&r);
}

typedef struct reader {
    rig *rig;
    int32_t cancel;
    tly_status status;
    uint64_t offset, len;
} reader;

static void *hold_and_look(void *user) {
    reader *me = user;
    tly_block_hold hold;
    tly_error error;
    me->status =
        tly_blocks_hold(me->rig->blocks, me->offset, me->len, 5000, &me->cancel, &hold, &error);
    if (me->status == TLY_OK) {
        expect(tly_blocks_map(me->rig->blocks) + me->offset, me->offset, me->len);
        tly_blocks_release(&hold);
    }
    return NULL;
}

static void one_fetch_serves_all_who_wait(void **state) {
    reader readers[8];
    pthread_t threads[8];
    rig r;
    (void)state;
    make(&r, 100 * BLOCK, 16);
    r.origin.slow_ms = 40;
    for (int i = 0; i < 8; i++) {
        readers[i] = (reader){&r, 0, TLY_OK, 3 * BLOCK + (uint64_t)i, 2 * BLOCK};
        pthread_create(&threads[i], NULL, hold_and_look, &readers[i]);
    }
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(readers[i].status, TLY_OK);
    }
    assert_in_range(r.origin.reads, 1, 2); /* the third block may be asked for alone */
    clean(&r);
}

static void a_fetch_that_fails_leaves_nothing_and_others_try_again(void **state) {
    reader readers[4];
    pthread_t threads[4];
    uint8_t bytes[BLOCK];
    int failed = 0;
    tly_error error;
    rig r;
    (void)state;
    make(&r, 100 * BLOCK, 16);
    r.origin.slow_ms = 20;
    r.origin.fail = TLY_IO;
    r.origin.num_fail = 1;
    for (int i = 0; i < 4; i++) {
        readers[i] = (reader){&r, 0, TLY_OK, 0, BLOCK};
        pthread_create(&threads[i], NULL, hold_and_look, &readers[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        failed += readers[i].status == TLY_IO;
        assert_true(readers[i].status == TLY_OK || readers[i].status == TLY_IO);
    }
    assert_int_equal(failed, 1);
    CHECK_OK(tly_blocks_read(r.blocks, 0, bytes, BLOCK, NULL, &error), &error);
    expect(bytes, 0, BLOCK);
    clean(&r);
}

static void whoever_is_cancelled_leaves_at_once(void **state) {
    reader first, second;
    pthread_t threads[2];
    rig r;
    (void)state;
    make(&r, 100 * BLOCK, 16);
    r.origin.slow_ms = 3000;
    first = (reader){&r, 0, TLY_OK, 0, BLOCK};
    second = (reader){&r, 0, TLY_OK, 0, BLOCK};
    pthread_create(&threads[0], NULL, hold_and_look, &first);
    while (__atomic_load_n(&r.origin.running, __ATOMIC_SEQ_CST) == 0) {
        doze(1);
    }
    pthread_create(&threads[1], NULL, hold_and_look, &second);
    doze(20);
    __atomic_store_n(&second.cancel, 1, __ATOMIC_RELEASE);
    pthread_join(threads[1], NULL);
    assert_int_equal(second.status, TLY_CANCELLED);
    __atomic_store_n(&first.cancel, 1, __ATOMIC_RELEASE);
    pthread_join(threads[0], NULL);
    assert_int_equal(first.status, TLY_CANCELLED);
    clean(&r);
}

/* The large one waits for room; small ones that come later do not overtake it for ever. */
static void room_is_given_in_turn(void **state) {
    tly_block_hold hold;
    reader large, small;
    pthread_t threads[2];
    tly_error error;
    rig r;
    (void)state;
    make(&r, 100 * BLOCK, 4);
    CHECK_OK(tly_blocks_hold(r.blocks, 0, 2 * BLOCK, 0, NULL, &hold, &error), &error);
    large = (reader){&r, 0, TLY_OK, 10 * BLOCK, 4 * BLOCK};
    small = (reader){&r, 0, TLY_OK, 20 * BLOCK, BLOCK};
    pthread_create(&threads[0], NULL, hold_and_look, &large);
    doze(20);
    pthread_create(&threads[1], NULL, hold_and_look, &small);
    doze(20);
    assert_int_equal(r.origin.reads, 1);
    tly_blocks_release(&hold);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
    assert_int_equal(large.status, TLY_OK);
    assert_int_equal(small.status, TLY_OK);
    clean(&r);
}

static void an_object_that_changed_gives_nothing_any_more(void **state) {
    uint8_t byte;
    tly_error error;
    rig r;
    (void)state;
    make(&r, 100 * BLOCK, 8);
    CHECK_OK(tly_blocks_read(r.blocks, 0, &byte, 1, NULL, &error), &error);
    assert_true(tly_blocks_intact(r.blocks));
    r.origin.fail = TLY_MISMATCH;
    r.origin.num_fail = 1;
    assert_int_equal(tly_blocks_read(r.blocks, 9 * BLOCK, &byte, 1, NULL, &error), TLY_MISMATCH);
    assert_false(tly_blocks_intact(r.blocks));
    CHECK_RULE(tly_blocks_read(r.blocks, 0, &byte, 1, NULL, &error), &error, TLY_MISMATCH,
               "object-changed");
    clean(&r);
}

static void objects_share_a_cache_and_do_not_mix(void **state) {
    origin other = {.len = 50 * BLOCK, .bytes = malloc(50 * BLOCK)};
    tly_blocks *blocks;
    uint8_t bytes[2];
    tly_error error;
    rig r;
    (void)state;
    memset((uint8_t *)(uintptr_t)other.bytes, 0x55, 50 * BLOCK);
    make(&r, 50 * BLOCK, 8);
    blocks = add(&r, &other);
    for (uint64_t i = 0; i < 50; i++) {
        CHECK_OK(tly_blocks_read(r.blocks, i * BLOCK, &bytes[0], 1, NULL, &error), &error);
        CHECK_OK(tly_blocks_read(blocks, i * BLOCK, &bytes[1], 1, NULL, &error), &error);
        assert_int_equal(bytes[0], pattern(i * BLOCK));
        assert_int_equal(bytes[1], 0x55);
    }
    tly_blocks_free(blocks);
    assert_int_equal(other.closed, 1);
    free((void *)(uintptr_t)other.bytes);
    clean(&r);
}

static void an_object_too_large_to_address_is_refused(void **state) {
    origin o = {.len = UINT64_C(1) << 62};
    const tly_byte_source source = {o.len, {1}, &o, origin_read, origin_close};
    tly_blocks *blocks;
    tly_error error;
    rig r;
    (void)state;
    make(&r, BLOCK, 4);
    CHECK_RULE(tly_blocks_new(r.context, r.cache, &source, &blocks, &error), &error, TLY_LIMIT,
               "object-len");
    assert_int_equal(o.closed, 1);
    assert_null(blocks);
    clean(&r);
}

/* Wherever memory ends: an error, nothing lost, and what is there is right. */
static void every_failing_allocation_is_an_error(void **state) {
    uint64_t fail_at = 1;
    tly_status status = TLY_OUT_OF_MEMORY;
    (void)state;
    for (; status != TLY_OK; fail_at++) {
        failing f;
        origin o = {.len = 20 * BLOCK};
        const tly_byte_source source = {o.len, {1}, &o, origin_read, origin_close};
        tly_context *context = failing_context(&f);
        size_t before = f.live;
        tly_block_cache *cache = NULL;
        tly_blocks *blocks = NULL;
        tly_block_hold hold = {0};
        tly_error error;
        f.fail_at = f.calls + fail_at;
        status = tly_block_cache_new(context, 8 * BLOCK, BLOCK, &cache, &error);
        if (status == TLY_OK) {
            status = tly_blocks_new(context, cache, &source, &blocks, &error);
            assert_int_equal(o.closed, status != TLY_OK);
        }
        if (status == TLY_OK) {
            status = tly_blocks_hold(blocks, BLOCK, 5 * BLOCK, 0, NULL, &hold, &error);
        }
        if (status == TLY_OK) {
            expect(tly_blocks_map(blocks) + BLOCK, BLOCK, 5 * BLOCK);
        } else {
            assert_int_equal(status, TLY_OUT_OF_MEMORY);
            assert_int_equal(error.status, TLY_OUT_OF_MEMORY);
        }
        tly_blocks_release(&hold);
        tly_blocks_free(blocks);
        tly_block_cache_free(cache);
        assert_int_equal(f.live, before);
        tly_context_free(context);
    }
    assert_true(fail_at > 8);
}

/* A container behind a source: found and read like a file, but without views. */
static void a_container_is_read_by_ranges(void **state) {
    const uint64_t shape[] = {100, 300};
    uint8_t *data = malloc(100 * 300 * 4), *got = malloc(100 * 300 * 4);
    const void *view, *const buffers[] = {data};
    uint8_t work[TLY_STORE_WORK_LEN];
    tly_store_writer *writer;
    tly_buffer_info info;
    tly_descriptor d;
    tly_store *store;
    uint64_t index, offset, len;
    size_t file_len = 0;
    tly_error error;
    scratch s;
    rig r;
    (void)state;
    scratch_make(&s);
    make(&r, 1, 4);
    for (uint32_t i = 0; i < 100 * 300 * 4; i++) {
        data[i] = (uint8_t)(i * 7 + (i >> 9));
    }
    CHECK_OK(tly_store_writer_new(r.context, s.path, NULL, &writer, &error), &error);
    tly_descriptor_init_row_major(&d, &info, TLY_F32, 2, shape);
    CHECK_OK(tly_store_writer_add(writer, "a", 1, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_add(writer, "b", 1, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_commit(writer, &error), &error);
    tly_store_writer_free(writer);
    {
        origin o = {.bytes = scratch_read(s.path, &file_len)};
        o.len = file_len;
        CHECK_OK(tly_store_open_blocks(r.context, add(&r, &o), NULL, &store, &error), &error);
        assert_non_null(tly_store_blocks(store));
        CHECK_OK(tly_store_find(store, "b", 1, &index), &error);
        CHECK_OK(tly_store_descriptor(store, index, work, sizeof work, &d, &error), &error);
        CHECK_OK(tly_store_buffer_range(store, index, &d, 0, &offset, &len), &error);
        CHECK_OK(tly_store_read(store, index, offset, got, len, &error), &error);
        assert_memory_equal(got, data, len);
        assert_int_equal(tly_store_view(store, index, offset, len, &view, &error), TLY_UNSUPPORTED);
        CHECK_OK(tly_store_verify(store, &error), &error);
        tly_store_free(store);
        assert_int_equal(o.closed, 1);
        o.len = file_len - 1; /* cut off: the source is closed all the same */
        assert_int_equal(tly_store_open_blocks(r.context, add(&r, &o), NULL, &store, &error),
                         TLY_MALFORMED);
        assert_int_equal(o.closed, 2);
        free((void *)(uintptr_t)o.bytes);
    }
    free(data);
    free(got);
    scratch_remove(&s);
    clean(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_range_reads_right_and_memory_stays_bounded),
        cmocka_unit_test(the_least_recently_used_block_goes_and_a_held_one_stays),
        cmocka_unit_test(one_fetch_serves_all_who_wait),
        cmocka_unit_test(a_fetch_that_fails_leaves_nothing_and_others_try_again),
        cmocka_unit_test(whoever_is_cancelled_leaves_at_once),
        cmocka_unit_test(room_is_given_in_turn),
        cmocka_unit_test(an_object_that_changed_gives_nothing_any_more),
        cmocka_unit_test(objects_share_a_cache_and_do_not_mix),
        cmocka_unit_test(an_object_too_large_to_address_is_refused),
        cmocka_unit_test(every_failing_allocation_is_an_error),
        cmocka_unit_test(a_container_is_read_by_ranges),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
