/* SPDX-License-Identifier: Apache-2.0 */
/* Plans: what is refused, which path a form takes, units, threads, and sizes beyond 2^31. */
#include "pack_levels.h"

#include <pthread.h>
#include <sys/mman.h>

#include "guarded.h"

static tly_context *context_new(void) {
    tly_context *context;
    tly_error err;
    CHECK_OK(tly_context_new(NULL, &context, &err), &err);
    return context;
}

static tly_pack_plan *plan_of(const tly_context *context, const tly_nest *dst, const tly_nest *src,
                              uint32_t bits) {
    tly_pack_plan *plan;
    tly_error err;
    CHECK_OK(tly_pack_plan_new(context, dst, src, bits, NULL, &plan, &err), &err);
    return plan;
}

static void refused(void **state) {
    tly_context *context = context_new();
    const uint64_t shape[] = {4, 6}, other[] = {4, 7}, wide[] = {UINT64_C(1) << 61};
    const int64_t zero[] = {0, 1};
    tly_nest a, b, c, alias, row, huge;
    tly_pack_plan *plan = NULL;
    tly_pack_options options = {sizeof options, 0, 0, 0};
    tly_error err;
    assert_int_equal(tly_nest_row_major(&a, 2, shape), TLY_OK);
    assert_int_equal(tly_nest_col_major(&b, 2, shape), TLY_OK);
    assert_int_equal(tly_nest_row_major(&c, 2, other), TLY_OK);
    assert_int_equal(tly_nest_row_major(&row, 1, shape), TLY_OK);
    assert_int_equal(tly_nest_row_major(&huge, 1, wide), TLY_OK);
    assert_int_equal(tly_nest_strided(&alias, 2, shape, zero), TLY_OK);
    CHECK_RULE(tly_pack_plan_new(NULL, &a, &b, 32, NULL, &plan, &err), &err, TLY_INVALID_ARGUMENT,
               "null-argument");
    CHECK_RULE(tly_pack_plan_new(context, NULL, &b, 32, NULL, &plan, &err), &err,
               TLY_INVALID_ARGUMENT, "null-argument");
    CHECK_RULE(tly_pack_plan_new(context, &a, &b, 3, NULL, &plan, &err), &err, TLY_UNSUPPORTED,
               "pack-element");
    CHECK_RULE(tly_pack_plan_new(context, &a, &b, 256, NULL, &plan, &err), &err, TLY_UNSUPPORTED,
               "pack-element");
    options.padding = 1;
    CHECK_RULE(tly_pack_plan_new(context, &a, &b, 6, &options, &plan, &err), &err, TLY_UNSUPPORTED,
               "pack-padding");
    options.padding = 0;
    CHECK_RULE(tly_pack_plan_new(context, &a, &c, 32, NULL, &plan, &err), &err,
               TLY_INVALID_ARGUMENT, "pack-shape");
    CHECK_RULE(tly_pack_plan_new(context, &a, &row, 32, NULL, &plan, &err), &err,
               TLY_INVALID_ARGUMENT, "pack-shape");
    CHECK_RULE(tly_pack_plan_new(context, &alias, &a, 32, NULL, &plan, &err), &err,
               TLY_INVALID_ARGUMENT, "nest-overlap");
    CHECK_RULE(tly_pack_plan_new(context, &huge, &huge, 64, NULL, &plan, &err), &err, TLY_OVERFLOW,
               "pack-overflow");
    options.size--;
    CHECK_RULE(tly_pack_plan_new(context, &a, &b, 32, &options, &plan, &err), &err,
               TLY_INVALID_ARGUMENT, "options-size");
    options.size++;
    options.streaming = 3;
    CHECK_RULE(tly_pack_plan_new(context, &a, &b, 32, &options, &plan, &err), &err,
               TLY_INVALID_ARGUMENT, "options-size");
    assert_null(plan);
    tly_pack_plan_free(NULL);
    plan = plan_of(context, &a, &alias, 32); /* a source may repeat its elements */
    tly_pack_plan_free(plan);
    tly_context_free(context);
}

static void scalars_and_empty(void **state) {
    tly_context *context = context_new();
    const uint64_t none[] = {3, 0}, one[] = {1, 1, 1};
    const int64_t strides[] = {-7, 5, 100};
    const uint32_t from[] = {0x01020304, 0x05060708};
    tly_nest nest, other;
    tly_pack_plan *plan;
    uint32_t to[2] = {7, 7};
    assert_int_equal(tly_nest_row_major(&nest, 0, NULL), TLY_OK);
    plan = plan_of(context, &nest, &nest, 32);
    assert_int_equal(tly_pack_dst_len(plan), 4);
    assert_int_equal(tly_pack_num_units(plan), 1);
    tly_pack_run(plan, to, from);
    assert_int_equal(to[0], from[0]);
    assert_int_equal(to[1], 7);
    tly_pack_plan_free(plan);
    /* Axes of extent 1 have no strides worth the name. */
    assert_int_equal(tly_nest_strided(&nest, 3, one, strides), TLY_OK);
    assert_int_equal(tly_nest_col_major(&other, 3, one), TLY_OK);
    plan = plan_of(context, &other, &nest, 64);
    tly_pack_run(plan, to, from);
    assert_memory_equal(to, from, 8);
    tly_pack_plan_free(plan);
    assert_int_equal(tly_nest_row_major(&nest, 2, none), TLY_OK);
    plan = plan_of(context, &nest, &nest, 32);
    assert_int_equal(tly_pack_dst_len(plan), 0);
    assert_int_equal(tly_pack_num_units(plan), 0);
    tly_pack_run(plan, NULL, NULL);
    tly_pack_run_units(plan, 0, 1, NULL, NULL);
    tly_pack_plan_free(plan);
    tly_context_free(context);
}

/* The form decides, whatever made it. */
static void paths(void **state) {
    tly_context *context = context_new();
    const uint64_t shape[] = {64, 128}, odd[] = {96, 128}, tile[] = {6, 8}, other[] = {4, 8};
    const template_loop vnni[] = {{'N', 64, 2}, {'K', 2, 32}, {'N', 1, 64}, {'K', 1, 2}};
    const uint32_t bits[] = {6, 7};
    tly_tile_level six = {tile, NULL, NULL, TLY_TILE_ROW, TLY_TILE_ROW};
    tly_nest row, col, tiled, morton, panel, sixes, fours;
    struct {
        const tly_nest *dst, *src;
        uint32_t bits;
        const char *path;
    } wanted[] = {
        {&row, &row, 32, "copy"},        {&col, &col, 16, "copy"},      {&tiled, &row, 32, "rows"},
        {&row, &tiled, 32, "rows"},      {&col, &row, 64, "transpose"}, {&panel, &row, 16, "zip"},
        {&panel, &col, 16, "transpose"}, {&morton, &row, 32, "table"},
    };
    tly_pack_plan *plan;
    tly_tile_level four = {other, NULL, NULL, TLY_TILE_COL, TLY_TILE_COL};
    assert_int_equal(tly_nest_row_major(&row, 2, shape), TLY_OK);
    assert_int_equal(tly_nest_col_major(&col, 2, shape), TLY_OK);
    assert_int_equal(tly_nest_tiled(&tiled, 2, shape, &six, 1), TLY_OK);
    assert_int_equal(tly_nest_morton(&morton, 2, shape, bits), TLY_OK);
    nest_from_loops(&panel, 64, 128, 0, vnni, 4);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        plan = plan_of(context, wanted[i].dst, wanted[i].src, wanted[i].bits);
        assert_string_equal(tly_pack_path(plan), wanted[i].path);
        tly_pack_plan_free(plan);
    }
    /* Tiles of 6 into tiles of 4 rows: no common loops above 2 rows, still right. */
    assert_int_equal(tly_nest_tiled(&sixes, 2, odd, &six, 1), TLY_OK);
    assert_int_equal(tly_nest_tiled(&fours, 2, odd, &four, 1), TLY_OK);
    {
        uint16_t *from = malloc(96 * 128 * 2), *want = malloc(96 * 128 * 2);
        uint16_t *got = malloc(96 * 128 * 2);
        for (uint32_t i = 0; i < 96 * 128; i++) {
            from[i] = (uint16_t)i;
        }
        plan = plan_of(context, &fours, &sixes, 16);
        model_pack(&fours, &sixes, 16, 0, want, from);
        tly_pack_run(plan, got, from);
        assert_memory_equal(got, want, 96 * 128 * 2);
        tly_pack_plan_free(plan);
        free(from);
        free(want);
        free(got);
    }
    tly_context_free(context);
}

typedef struct slice {
    const tly_pack_plan *plan;
    uint64_t first, count;
    uint8_t *dst;
    const uint8_t *src;
} slice;

static void *run_slice(void *user) {
    const slice *s = user;
    tly_pack_run_units(s->plan, s->first, s->count, s->dst + s->first * tly_pack_unit_len(s->plan),
                       s->src);
    return NULL;
}

/* Units of a panel of some megabytes: not tiny, not everything; whole, piecewise and by threads. */
static void units_and_threads(void **state) {
    tly_context *context = context_new();
    const uint64_t k = 3000, n = 1000;
    const uint64_t shapes[2][2] = {{k, n}, {n, k}};
    const template_loop loops[] = {{'N', 64, 16}, {'K', 1, round_up(3000, 16)}, {'N', 1, 64}};
    check_rng rng = {3};
    uint8_t *from = malloc(k * n * 4);
    fill_random(&rng, from, k * n * 4);
    for (uint32_t k_axis = 0; k_axis < 2; k_axis++) {
        tly_nest dst, src;
        tly_pack_plan *plan;
        uint8_t *want, *got;
        uint64_t len, units;
        nest_from_loops(&dst, k, n, k_axis, loops, 3);
        assert_int_equal(tly_nest_row_major(&src, 2, shapes[k_axis]), TLY_OK);
        plan = plan_of(context, &dst, &src, 32);
        len = tly_pack_dst_len(plan);
        units = tly_pack_num_units(plan);
        assert_int_equal(len, 16 * 3008 * 64 * 4);
        assert_true(tly_pack_unit_len(plan) >= 1 << 16);
        assert_true(tly_pack_unit_len(plan) <= 1 << 20);
        assert_false(tly_pack_has_gaps(plan));
        want = malloc(len);
        got = aligned_alloc(64, len);
        model_pack(&dst, &src, 32, 0, want, from);
        tly_pack_run(plan, got, from);
        assert_memory_equal(got, want, len);
        for (uint64_t step = 1; step <= 5; step += 2) {
            memset(got, 0xA5, len);
            for (uint64_t u = 0; u < units; u += step) {
                tly_pack_run_units(plan, u, step, got + u * tly_pack_unit_len(plan), from);
            }
            assert_memory_equal(got, want, len);
        }
        for (uint64_t num_threads = 2; num_threads <= 3; num_threads++) {
            pthread_t threads[3];
            slice slices[3];
            memset(got, 0xA5, len);
            for (uint64_t t = 0; t < num_threads; t++) {
                uint64_t first = units * t / num_threads;
                slices[t] = (slice){plan, first, units * (t + 1) / num_threads - first, got, from};
                assert_int_equal(pthread_create(&threads[t], NULL, run_slice, &slices[t]), 0);
            }
            for (uint64_t t = 0; t < num_threads; t++) {
                pthread_join(threads[t], NULL);
            }
            assert_memory_equal(got, want, len);
        }
        free(want);
        free(got);
        tly_pack_plan_free(plan);
    }
    free(from);
    tly_context_free(context);
}

static void holes_are_left_alone(void **state) {
    tly_context *context = context_new();
    const uint64_t shape[] = {2, 8};
    const uint32_t bits[] = {1, 3};
    const uint8_t from[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
    uint8_t got[44], want[44];
    tly_nest dst, src;
    tly_pack_plan *plan;
    assert_int_equal(tly_nest_morton(&dst, 2, shape, bits), TLY_OK);
    assert_int_equal(tly_nest_row_major(&src, 2, shape), TLY_OK);
    plan = plan_of(context, &dst, &src, 8);
    assert_true(tly_pack_has_gaps(plan));
    assert_int_equal(tly_pack_num_units(plan), 1);
    assert_int_equal(tly_pack_dst_len(plan), 44);
    memset(got, 0xEE, sizeof got);
    memset(want, 0xEE, sizeof want);
    model_pack(&dst, &src, 8, 0, want, from);
    tly_pack_run(plan, got, from);
    assert_memory_equal(got, want, sizeof got);
    tly_pack_plan_free(plan);
    tly_context_free(context);
}

/* A matrix of 2^31 + more elements of which only a far corner is real: the rows are 2^31 + 5 apart,
 * forwards and backwards. */
static void beyond_two_gib(void **state) {
    tly_context *context = context_new();
    const uint64_t shape[] = {3, 70};
    const int64_t pitch = (INT64_C(1) << 31) + 5;
    const size_t len = (size_t)(2 * pitch + 70) * 2;
    uint8_t *map =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    check_rng rng = {5};
    if (map == MAP_FAILED) {
        print_message("# skip: no %zu bytes of address space\n", len);
        skip();
    }
    for (int64_t row = 0; row < 3; row++) {
        fill_random(&rng, map + row * pitch * 2, 140);
    }
    for (int direction = 0; direction < 2; direction++) {
        for (int order = 0; order < 2; order++) {
            const int64_t strides[] = {direction ? -pitch : pitch, 1};
            const uint8_t *from = direction ? map + 2 * pitch * 2 : map;
            uint8_t got[420], want[420];
            tly_nest dst, src;
            tly_pack_plan *plan;
            assert_int_equal(tly_nest_strided(&src, 2, shape, strides), TLY_OK);
            assert_int_equal(order ? tly_nest_col_major(&dst, 2, shape)
                                   : tly_nest_row_major(&dst, 2, shape),
                             TLY_OK);
            plan = plan_of(context, &dst, &src, 16);
            model_pack(&dst, &src, 16, 0, want, from);
            tly_pack_run(plan, got, from);
            assert_memory_equal(got, want, sizeof got);
            tly_pack_plan_free(plan);
            /* And out again, into a fresh far corner. */
            plan = plan_of(context, &src, &dst, 16);
            assert_true(tly_pack_has_gaps(plan));
            for (int64_t row = 0; row < 3; row++) {
                memset(map + row * pitch * 2, 0, 140);
            }
            tly_pack_run(plan, map + (from - map), got);
            tly_pack_plan_free(plan);
            plan = plan_of(context, &dst, &src, 16);
            tly_pack_run(plan, got, from);
            assert_memory_equal(got, want, sizeof got);
            tly_pack_plan_free(plan);
        }
    }
    munmap(map, len);
    tly_context_free(context);
}

/* Large enough to be streamed, at addresses that are aligned and at some that are not. */
static void streamed(void **state) {
    level levels[MAX_LEVELS];
    uint32_t num_levels = levels_new(levels);
    static const struct {
        uint32_t size;
        uint32_t num_loops;
        template_loop loops[4];
    } cases[] = {
        {4, 3, {{'N', 64, 5}, {'K', 1, 528}, {'N', 1, 64}}},
        {2, 4, {{'N', 64, 5}, {'K', 2, 272}, {'N', 1, 64}, {'K', 1, 2}}},
        {1, 4, {{'N', 64, 5}, {'K', 4, 144}, {'N', 1, 64}, {'K', 1, 4}}},
        {8, 2, {{'N', 1, 300}, {'K', 1, 520}}},
        {1, 2, {{'N', 1, 300}, {'K', 1, 520}}},
        {2, 2, {{'N', 1, 300}, {'K', 1, 520}}},
        {4, 2, {{'N', 1, 300}, {'K', 1, 520}}},
        {4, 2, {{'K', 1, 520}, {'N', 1, 300}}},
        {4, 4, {{'N', 8, 38}, {'K', 8, 65}, {'K', 1, 8}, {'N', 1, 8}}},
        {1, 4, {{'N', 8, 38}, {'K', 16, 33}, {'N', 1, 8}, {'K', 1, 16}}},
    };
    const uint64_t k = 520, n = 300;
    check_rng rng = {17};
    uint8_t *from = malloc(k * n * 8 + 64), *got = aligned_alloc(64, 1 << 21);
    uint8_t *want = malloc(1 << 21);
    fill_random(&rng, from, k * n * 8 + 64);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint32_t k_axis = 0; k_axis < 2; k_axis++) {
            const uint64_t shape[2] = {k_axis ? n : k, k_axis ? k : n};
            tly_nest dst, src;
            int64_t low, high;
            nest_from_loops(&dst, k, n, k_axis, cases[i].loops, cases[i].num_loops);
            assert_int_equal(tly_nest_row_major(&src, 2, shape), TLY_OK);
            assert_int_equal(tly_nest_extent(&dst, &low, &high), TLY_OK);
            model_pack(&dst, &src, cases[i].size * 8, 0, want, from + 4);
            for (uint32_t l = 0; l < num_levels; l++) {
                tly_pack_plan *plan = level_plan(&levels[l], &dst, &src, cases[i].size * 8, 0, 2);
                for (size_t skew = 0; skew < 64; skew += skew == 0 ? 1 : 31) {
                    size_t len = (size_t)high * cases[i].size;
                    memset(got, 0xEE, len + skew + 1);
                    tly_pack_run(plan, got + skew, from + 4);
                    assert_memory_equal(got + skew, want, len);
                    assert_int_equal(got[skew + len], 0xEE);
                }
                tly_pack_plan_free(plan);
            }
        }
    }
    free(from);
    free(got);
    free(want);
    levels_free(levels, num_levels);
}

/* All of a small matrix' elements lie against a forbidden page, and so do the gaps between rows. */
static void gaps_of_the_source_are_not_read(void **state) {
    level levels[MAX_LEVELS];
    uint32_t num_levels = levels_new(levels);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uint64_t rows_here = 20;
    check_rng rng = {23};
    uint8_t *map = mmap(NULL, rows_here * 2 * page, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(map != MAP_FAILED);
    fill_random(&rng, map, rows_here * 2 * page);
    for (uint64_t r = 0; r < rows_here; r++) { /* every second page is forbidden */
        assert_int_equal(mprotect(map + (2 * r + 1) * page, page, PROT_NONE), 0);
    }
    for (uint32_t size = 1; size <= 8; size *= 2) {
        for (uint64_t columns = 1; columns < 70; columns += 1 + check_below(&rng, 3)) {
            const uint64_t shape[] = {rows_here, columns};
            const int64_t strides[] = {(int64_t)(2 * page / size), 1};
            /* Each row ends where its page ends. */
            const uint8_t *from = map + page - columns * size;
            const template_loop panels[3][4] = {
                {{'N', 16, (columns + 15) / 16}, {'K', 1, 32}, {'N', 1, 16}},
                {{'N', 16, (columns + 15) / 16}, {'K', 2, 16}, {'N', 1, 16}, {'K', 1, 2}},
                {{'N', 16, (columns + 15) / 16}, {'K', 4, 8}, {'N', 1, 16}, {'K', 1, 4}},
            };
            tly_nest src, dst[5];
            assert_int_equal(tly_nest_strided(&src, 2, shape, strides), TLY_OK);
            nest_from_loops(&dst[0], rows_here, columns, 0, panels[0], 3);
            nest_from_loops(&dst[1], rows_here, columns, 0, panels[1], 4);
            nest_from_loops(&dst[2], rows_here, columns, 0, panels[2], 4);
            assert_int_equal(tly_nest_col_major(&dst[3], 2, shape), TLY_OK);
            assert_int_equal(tly_nest_row_major(&dst[4], 2, shape), TLY_OK);
            for (size_t i = 0; i < 5; i++) {
                uint8_t want[5 * 16 * 32 * 8], got[5 * 16 * 32 * 8];
                model_pack(&dst[i], &src, size * 8, 0, want, from);
                for (uint32_t l = 0; l < num_levels; l++) {
                    tly_pack_plan *plan =
                        level_plan(&levels[l], &dst[i], &src, size * 8, 0, 1 + (l & 1));
                    assert_true(tly_pack_dst_len(plan) <= sizeof got);
                    tly_pack_run(plan, got, from);
                    assert_memory_equal(got, want, tly_pack_dst_len(plan));
                    tly_pack_plan_free(plan);
                }
            }
        }
    }
    munmap(map, rows_here * 2 * page);
    levels_free(levels, num_levels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused),
        cmocka_unit_test(scalars_and_empty),
        cmocka_unit_test(paths),
        cmocka_unit_test(units_and_threads),
        cmocka_unit_test(holes_are_left_alone),
        cmocka_unit_test(beyond_two_gib),
        cmocka_unit_test(streamed),
        cmocka_unit_test(gaps_of_the_source_are_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
