/* SPDX-License-Identifier: Apache-2.0 */
/* Four-bit elements: the CUBE cells that have them, transposes, and borders inside a byte; every
 * shape from 1 x 1 on, against packing bit by bit. Buffers end at a page that may not be touched.
 */
#include "pack_levels.h"

#include "guarded.h"

/* CUBE_M16 of four-bit elements (DESIGN, PTO): the steps of K are 16, 4, 8, 1. */
static const template_loop m16[] = {
    {'K', 16, 0}, {'N', 1, 16}, {'K', 4, 2}, {'K', 8, 2}, {'K', 1, 4}};
static const template_loop n8[] = {{'N', 8, 0}, {'K', 32, 0}, {'N', 1, 8}, {'K', 1, 32}};

static void cell_nest(tly_nest *out, int which, uint64_t k, uint64_t n, uint32_t k_axis) {
    template_loop loops[5];
    uint32_t num = which == 0 ? 5 : 4;
    memcpy(loops, which == 0 ? m16 : n8, num * sizeof *loops);
    if (which == 0) {
        loops[0].count = round_up(k, 16) / 16;
    } else {
        loops[0].count = round_up(n, 8) / 8;
        loops[1].count = round_up(k, 32) / 32;
    }
    nest_from_loops(out, k, n, k_axis, loops, num);
}

static void one_pair(const level *levels, uint32_t num_levels, const tly_nest *dst,
                     const tly_nest *src, check_rng *rng) {
    int64_t low, high, src_low, src_high;
    size_t dst_len, src_len;
    guarded from;
    uint8_t *want;
    assert_int_equal(tly_nest_extent(dst, &low, &high), TLY_OK);
    assert_int_equal(tly_nest_extent(src, &src_low, &src_high), TLY_OK);
    dst_len = (size_t)(high + 1) / 2;
    src_len = (size_t)(src_high + 1) / 2;
    from = guarded_new(src_len, 1);
    fill_random(rng, from.bytes, src_len);
    want = calloc(1, dst_len);
    model_pack(dst, src, 4, 5, want, from.bytes);
    for (uint32_t l = 0; l < num_levels; l++) {
        guarded got = guarded_new(dst_len, 1);
        tly_pack_plan *plan = level_plan(&levels[l], dst, src, 4, 5, 1);
        tly_pack_run(plan, got.bytes, from.bytes);
        assert_memory_equal(got.bytes, want, dst_len);
        tly_pack_plan_free(plan);
        guarded_free(&got);
    }
    free(want);
    guarded_free(&from);
}

static void cells_and_transposes(void **state) {
    level levels[MAX_LEVELS];
    uint32_t num_levels = levels_new(levels);
    check_rng rng = {check_seed(41)};
    (void)state;
    for (uint64_t k = 1; k <= 37; k += k < 9 ? 1 : 4) {
        for (uint64_t n = 1; n <= 21; n += n < 9 ? 1 : 3) {
            for (uint32_t k_axis = 0; k_axis < 2; k_axis++) {
                uint64_t shape[2];
                tly_nest rows, columns, cells;
                shape[k_axis] = k;
                shape[1 - k_axis] = n;
                assert_int_equal(tly_nest_row_major(&rows, 2, shape), TLY_OK);
                assert_int_equal(tly_nest_col_major(&columns, 2, shape), TLY_OK);
                one_pair(levels, num_levels, &columns, &rows, &rng);
                for (int which = 0; which < 2; which++) {
                    cell_nest(&cells, which, k, which == 0 && n > 16 ? 16 : n, k_axis);
                    if (cells.shape[1 - k_axis] == n) {
                        one_pair(levels, num_levels, &cells, &rows, &rng);
                        one_pair(levels, num_levels, &rows, &cells, &rng);
                    }
                }
            }
        }
    }
    levels_free(levels, num_levels);
}

/* Cells of a matrix whose K is contiguous are moved as bytes, not as nibbles. */
static void whole_bytes_take_the_fast_paths(void **state) {
    level levels[MAX_LEVELS];
    uint32_t num_levels = levels_new(levels);
    uint64_t shape[2] = {16, 64};
    tly_nest rows, cells;
    (void)state;
    assert_int_equal(tly_nest_row_major(&rows, 2, shape), TLY_OK);
    for (int which = 0; which < 2; which++) {
        tly_pack_plan *plan;
        cell_nest(&cells, which, 64, 16, 1);
        plan = level_plan(&levels[0], &cells, &rows, 4, 0, 1);
        assert_string_not_equal(tly_pack_path(plan), "bits");
        tly_pack_plan_free(plan);
    }
    levels_free(levels, num_levels);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_and_transposes),
        cmocka_unit_test(whole_bytes_take_the_fast_paths),
    };
    return cmocka_run_group_tests_name("pack/nibbles", tests, NULL, NULL);
}
