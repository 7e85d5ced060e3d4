/* SPDX-License-Identifier: Apache-2.0 */
/* The panels of GEMM kernels and matrix engines, from K x N and from N x K, over shapes from
 * nothing to a little more than two tiles; source and destination between pages that nobody may
 * touch. */
#include "pack_levels.h"

#include "guarded.h"

typedef struct panel_loop {
    char axis; /* 'K', or 'N' for the other axis */
    uint64_t step;
    uint64_t count; /* 0: up(extent, round) / over */
    uint64_t round, over;
} panel_loop;

typedef struct panel {
    const char *name;
    uint32_t size; /* bytes of an element */
    uint64_t tile_k, tile_n;
    uint64_t most_n; /* rows that one panel holds; 0: any number */
    uint32_t num_loops;
    panel_loop loops[6];
} panel;

static const panel panels[] = {
    {"ba16a64b f32",
     4,
     16,
     64,
     0,
     3,
     {{'N', 64, 0, 64, 64}, {'K', 1, 0, 16, 1}, {'N', 1, 64, 0, 0}}},
    {"ba16a64b2a bf16",
     2,
     32,
     64,
     0,
     4,
     {{'N', 64, 0, 64, 64}, {'K', 2, 0, 32, 2}, {'N', 1, 64, 0, 0}, {'K', 1, 2, 0, 0}}},
    {"ba16a64b4a u8",
     1,
     64,
     64,
     0,
     4,
     {{'N', 64, 0, 64, 64}, {'K', 4, 0, 64, 4}, {'N', 1, 64, 0, 0}, {'K', 1, 4, 0, 0}}},
    {"8x8 f32",
     4,
     8,
     8,
     0,
     4,
     {{'N', 8, 0, 8, 8}, {'K', 8, 0, 8, 8}, {'K', 1, 8, 0, 0}, {'N', 1, 8, 0, 0}}},
    {"16 columns f64",
     8,
     1,
     16,
     0,
     3,
     {{'N', 16, 0, 16, 16}, {'K', 1, 0, 1, 1}, {'N', 1, 16, 0, 0}}},
    {"cube_n8 8-bit",
     1,
     16,
     8,
     0,
     4,
     {{'N', 8, 0, 8, 8}, {'K', 16, 0, 16, 16}, {'N', 1, 8, 0, 0}, {'K', 1, 16, 0, 0}}},
    {"cube_n8 16-bit",
     2,
     8,
     8,
     0,
     4,
     {{'N', 8, 0, 8, 8}, {'K', 8, 0, 8, 8}, {'N', 1, 8, 0, 0}, {'K', 1, 8, 0, 0}}},
    {"cube_n8 32-bit",
     4,
     4,
     8,
     0,
     4,
     {{'N', 8, 0, 8, 8}, {'K', 4, 0, 4, 4}, {'N', 1, 8, 0, 0}, {'K', 1, 4, 0, 0}}},
    {"cube_m16 8-bit", 1, 8, 16, 16, 3, {{'K', 8, 0, 8, 8}, {'N', 1, 16, 0, 0}, {'K', 1, 8, 0, 0}}},
    {"cube_m16 16-bit",
     2,
     4,
     16,
     16,
     3,
     {{'K', 4, 0, 4, 4}, {'N', 1, 16, 0, 0}, {'K', 1, 4, 0, 0}}},
    {"cube_m16 32-bit",
     4,
     2,
     16,
     16,
     3,
     {{'K', 2, 0, 2, 2}, {'N', 1, 16, 0, 0}, {'K', 1, 2, 0, 0}}},
    {"cube_m32 8-bit", 1, 4, 32, 32, 3, {{'K', 4, 0, 4, 4}, {'N', 1, 32, 0, 0}, {'K', 1, 4, 0, 0}}},
    {"cube_m32 32-bit", 4, 1, 32, 32, 2, {{'K', 1, 0, 1, 1}, {'N', 1, 32, 0, 0}}},
    /* The steps of K do not fall: 16, 4, 8, 1. */
    {"cube_m16 four-bit",
     1,
     16,
     16,
     16,
     5,
     {{'K', 16, 0, 16, 16},
      {'N', 1, 16, 0, 0},
      {'K', 4, 2, 0, 0},
      {'K', 8, 2, 0, 0},
      {'K', 1, 4, 0, 0}}},
};

static void bind(const panel *p, uint64_t k, uint64_t n, uint32_t k_axis, tly_nest *nest) {
    int64_t stride = 1;
    memset(nest, 0, sizeof *nest);
    nest->rank = 2;
    nest->num_loops = p->num_loops;
    nest->shape[k_axis] = k;
    nest->shape[1 - k_axis] = n;
    for (uint32_t i = p->num_loops; i-- > 0;) {
        const panel_loop *loop = &p->loops[i];
        uint64_t extent = loop->axis == 'K' ? k : n;
        uint64_t count = loop->count > 0
                             ? loop->count
                             : (extent + loop->round - 1) / loop->round * loop->round / loop->over;
        nest->loops[i] =
            (tly_loop){loop->axis == 'K' ? k_axis : 1 - k_axis, 0, loop->step, count, stride};
        stride *= (int64_t)count;
    }
}

static void check_shape(const panel *p, uint64_t k, uint64_t n, const level *levels,
                        uint32_t num_levels, check_rng *rng) {
    for (uint32_t k_axis = 0; k_axis < 2; k_axis++) {
        uint64_t shape[2], padding = check_below(rng, 2) ? 0 : check_random(rng);
        int at_end = (int)check_below(rng, 2);
        size_t src_len = (size_t)(k * n * p->size), dst_len;
        tly_nest dst, src;
        int64_t low, high;
        guarded from;
        uint8_t *want;
        bind(p, k, n, k_axis, &dst);
        shape[k_axis] = k;
        shape[1 - k_axis] = n;
        assert_int_equal(tly_nest_row_major(&src, 2, shape), TLY_OK);
        assert_int_equal(tly_nest_extent(&dst, &low, &high), TLY_OK);
        assert_int_equal(low, 0);
        dst_len = (size_t)high * p->size;
        from = guarded_new(src_len, at_end);
        fill_random(rng, from.bytes, src_len);
        want = malloc(dst_len + 1);
        model_pack(&dst, &src, p->size * 8, padding, want, from.bytes);
        for (uint32_t i = 0; i < num_levels; i++) {
            uint32_t streaming = 1 + (uint32_t)check_below(rng, 2);
            tly_pack_plan *plan =
                level_plan(&levels[i], &dst, &src, p->size * 8, padding, streaming);
            guarded got = guarded_new(dst_len, (int)check_below(rng, 2));
            uint64_t unit_len = tly_pack_unit_len(plan);
            assert_int_equal(tly_pack_dst_len(plan), dst_len);
            tly_pack_run(plan, got.bytes, from.bytes);
            if (memcmp(got.bytes, want, dst_len) != 0) {
                fail_msg("%s, K %u, N %u, K is axis %u: %s on level %u differs", p->name,
                         (unsigned)k, (unsigned)n, k_axis, tly_pack_path(plan), i);
            }
            memset(got.bytes, 0xA5, dst_len);
            for (uint64_t u = 0; u < tly_pack_num_units(plan); u++) {
                tly_pack_run_units(plan, u, 1, got.bytes + u * unit_len, from.bytes);
            }
            assert_memory_equal(got.bytes, want, dst_len);
            guarded_free(&got);
            tly_pack_plan_free(plan);
        }
        free(want);
        guarded_free(&from);
    }
}

static void small_shapes(void **state) {
    level levels[MAX_LEVELS];
    uint32_t num_levels = levels_new(levels);
    check_rng rng = {11};
    for (size_t i = 0; i < sizeof panels / sizeof *panels; i++) {
        const panel *p = &panels[i];
        uint64_t most_n = p->most_n > 0 ? p->most_n : 2 * p->tile_n + 1;
        const uint64_t ks[] = {0, 1, p->tile_k - 1, p->tile_k, p->tile_k + 1, 2 * p->tile_k + 1};
        const uint64_t ns[] = {0, 1, p->tile_n - 1, p->tile_n, p->tile_n + 1, 2 * p->tile_n + 1};
        for (size_t a = 0; a < 6; a++) {
            for (size_t b = 0; b < 6; b++) {
                if (ns[b] <= most_n) {
                    check_shape(p, ks[a], ns[b], levels, num_levels, &rng);
                }
            }
        }
        for (int turn = 0; turn < 60; turn++) {
            check_shape(p, check_below(&rng, 2 * p->tile_k + 2), check_below(&rng, most_n + 1),
                        levels, num_levels, &rng);
        }
        for (int turn = 0; turn < 4; turn++) { /* long enough for whole vectors and blocks */
            check_shape(p, 100 + check_below(&rng, 200),
                        p->most_n > 0 ? p->most_n : 100 + check_below(&rng, 200), levels,
                        num_levels, &rng);
        }
    }
    levels_free(levels, num_levels);
}

/* A panel holds so many rows; more do not fit into its nest. */
static void too_many_rows(void **state) {
    level levels[MAX_LEVELS];
    uint32_t num_levels = levels_new(levels);
    tly_nest dst, src;
    tly_pack_plan *plan;
    tly_error err;
    const uint64_t shape[] = {17, 8};
    bind(&panels[8], 8, 17, 1, &dst);
    assert_int_equal(tly_nest_row_major(&src, 2, shape), TLY_OK);
    CHECK_RULE(tly_pack_plan_new(levels[0].context, &dst, &src, 8, NULL, &plan, &err), &err,
               TLY_INVALID_ARGUMENT, "nest-cover");
    assert_null(plan);
    levels_free(levels, num_levels);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(small_shapes),
                                       cmocka_unit_test(too_many_rows)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
