/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <string.h>

#include <tilery/nest.h>

#define LEN(a) (sizeof(a) / sizeof(a)[0])

static int64_t offset_of(const tly_nest *nest, const uint64_t *index) {
    int64_t offset = INT64_MIN;
    assert_int_equal(tly_nest_offset(nest, index, &offset), TLY_OK);
    return offset;
}

static void check_extent(const tly_nest *nest, int64_t want_low, int64_t want_high) {
    int64_t low, high;
    assert_int_equal(tly_nest_extent(nest, &low, &high), TLY_OK);
    assert_int_equal(low, want_low);
    assert_int_equal(high, want_high);
}

/* Runs the loops as the header says, and compares with the checker's verdict and the addresses. */
static void walk(const tly_nest *nest, uint32_t depth, uint64_t *index, int64_t offset,
                 uint32_t *visits, const uint64_t *pitch) {
    if (depth == nest->num_loops) {
        uint64_t at = 0;
        for (uint32_t d = 0; d < nest->rank; d++) {
            if (index[d] >= nest->shape[d]) {
                return;
            }
            at += index[d] * pitch[d];
        }
        visits[at]++;
        assert_int_equal(offset_of(nest, index), offset);
        return;
    }
    const tly_loop *loop = &nest->loops[depth];
    for (uint64_t i = 0; i < loop->count; i++) {
        index[loop->axis] += i * loop->step;
        walk(nest, depth + 1, index, offset + (int64_t)i * loop->stride, visits, pitch);
        index[loop->axis] -= i * loop->step;
    }
}

static void check_visits(const tly_nest *nest) {
    uint32_t visits[4096] = {0};
    uint64_t index[TLY_NEST_MAX_RANK] = {0}, pitch[TLY_NEST_MAX_RANK], total = 1;
    tly_error err;
    CHECK_OK(tly_nest_check(nest, 0, &err), &err);
    for (uint32_t d = 0; d < nest->rank; d++) {
        pitch[d] = total;
        total *= nest->shape[d];
    }
    assert_true(total <= LEN(visits));
    walk(nest, 0, index, 0, visits, pitch);
    for (uint64_t i = 0; i < total; i++) {
        assert_int_equal(visits[i], 1);
    }
}

static void simple_orders(void **state) {
    const uint64_t shape[] = {3, 4, 5}, index[] = {2, 1, 3};
    const int64_t strides[] = {-4, 40, 1};
    tly_nest nest;
    assert_int_equal(tly_nest_row_major(&nest, 3, shape), TLY_OK);
    assert_int_equal(offset_of(&nest, index), 2 * 20 + 5 + 3);
    check_extent(&nest, 0, 60);
    check_visits(&nest);
    assert_int_equal(tly_nest_col_major(&nest, 3, shape), TLY_OK);
    assert_int_equal(offset_of(&nest, index), 2 + 3 + 3 * 12);
    check_visits(&nest);
    assert_int_equal(tly_nest_strided(&nest, 3, shape, strides), TLY_OK);
    assert_int_equal(offset_of(&nest, index), -8 + 40 + 3);
    check_extent(&nest, -8, 125);
}

static void scalars_and_empty(void **state) {
    const uint64_t none[] = {4, 0, 7}, wide[] = {UINT64_C(1) << 62, UINT64_C(1) << 62, 0};
    tly_nest nest;
    tly_error err;
    int64_t offset;
    assert_int_equal(tly_nest_row_major(&nest, 0, NULL), TLY_OK);
    assert_int_equal(nest.num_loops, 0);
    check_extent(&nest, 0, 1);
    check_visits(&nest);
    assert_int_equal(tly_nest_offset(&nest, NULL, &offset), TLY_OK);
    assert_int_equal(offset, 0);
    assert_int_equal(tly_nest_col_major(&nest, 3, none), TLY_OK);
    check_extent(&nest, 0, 0);
    CHECK_OK(tly_nest_check(&nest, 0, &err), &err);
    assert_int_equal(tly_nest_offset(&nest, none, &offset), TLY_INVALID_ARGUMENT);
    /* No element, hence no address: the product of the other extents does not matter. */
    assert_int_equal(tly_nest_row_major(&nest, 3, wide), TLY_OK);
    check_extent(&nest, 0, 0);
    CHECK_OK(tly_nest_check(&nest, 0, &err), &err);
}

static void overflow_is_refused(void **state) {
    const uint64_t wide[] = {UINT64_C(1) << 40, UINT64_C(1) << 40}, dynamic[] = {UINT64_MAX};
    const uint64_t two[] = {3, 3};
    const int64_t far[] = {INT64_MAX / 2, INT64_MAX / 2}, back[] = {INT64_MIN, 1};
    const uint32_t many_bits[] = {40, 40};
    tly_nest nest;
    assert_int_equal(tly_nest_row_major(&nest, 2, wide), TLY_OVERFLOW);
    assert_int_equal(tly_nest_col_major(&nest, 1, dynamic), TLY_OVERFLOW);
    assert_int_equal(tly_nest_strided(&nest, 2, two, far), TLY_OVERFLOW);
    assert_int_equal(tly_nest_strided(&nest, 2, two, back), TLY_OVERFLOW);
    assert_int_equal(tly_nest_morton(&nest, 2, two, many_bits), TLY_OVERFLOW);
    assert_int_equal(tly_nest_row_major(&nest, 65, wide), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_nest_row_major(&nest, 2, NULL), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_nest_row_major(NULL, 2, two), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_nest_strided(&nest, 2, two, NULL), TLY_INVALID_ARGUMENT);
}

static void tiles(void **state) {
    const uint64_t shape[] = {6, 8}, tile[] = {2, 4}, index[] = {3, 5}, inner_tile[] = {1, 2};
    const uint64_t odd[] = {7, 9};
    const int64_t outer_strides[] = {1, 3}, inner_strides[] = {1, 2};
    tly_tile_level level = {tile, NULL, NULL, TLY_TILE_ROW, TLY_TILE_ROW};
    tly_tile_level two[] = {{tile, NULL, NULL, TLY_TILE_COL, TLY_TILE_NESTED},
                            {inner_tile, NULL, NULL, TLY_TILE_ROW, TLY_TILE_COL}};
    tly_nest nest;
    assert_int_equal(tly_nest_tiled(&nest, 2, shape, &level, 1), TLY_OK);
    assert_int_equal(offset_of(&nest, index), 29); /* the example of the specification */
    check_visits(&nest);
    for (uint8_t outer = TLY_TILE_ROW; outer <= TLY_TILE_STRIDED; outer++) {
        for (uint8_t inner = TLY_TILE_ROW; inner <= TLY_TILE_STRIDED; inner++) {
            level = (tly_tile_level){tile, outer_strides, inner_strides, outer, inner};
            assert_int_equal(tly_nest_tiled(&nest, 2, shape, &level, 1), TLY_OK);
            check_visits(&nest);
            check_extent(&nest, 0, 48);
        }
    }
    assert_int_equal(tly_nest_tiled(&nest, 2, odd, two, 2), TLY_OK);
    check_visits(&nest);
    check_extent(&nest, 0, 4 * 3 * 8); /* whole tiles */
}

static void bad_tiles(void **state) {
    const uint64_t shape[] = {8, 4}, tile[] = {4, 4}, three[] = {3, 3}, zero[] = {0, 1};
    tly_tile_level spill[] = {{tile, NULL, NULL, TLY_TILE_ROW, TLY_TILE_NESTED},
                              {three, NULL, NULL, TLY_TILE_ROW, TLY_TILE_ROW}};
    tly_tile_level level = {zero, NULL, NULL, TLY_TILE_ROW, TLY_TILE_ROW};
    tly_tile_level many[TLY_TILE_MAX_LEVELS + 1];
    tly_nest nest;
    assert_int_equal(tly_nest_tiled(&nest, 2, shape, spill, 2), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_nest_tiled(&nest, 2, shape, &level, 1), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_nest_tiled(&nest, 2, shape, &level, 0), TLY_INVALID_ARGUMENT);
    level = (tly_tile_level){tile, NULL, NULL, TLY_TILE_NESTED, TLY_TILE_ROW};
    assert_int_equal(tly_nest_tiled(&nest, 2, shape, &level, 1), TLY_INVALID_ARGUMENT);
    level = (tly_tile_level){tile, NULL, NULL, TLY_TILE_ROW, TLY_TILE_NESTED};
    assert_int_equal(tly_nest_tiled(&nest, 2, shape, &level, 1), TLY_INVALID_ARGUMENT);
    level = (tly_tile_level){tile, NULL, NULL, TLY_TILE_STRIDED, TLY_TILE_ROW};
    assert_int_equal(tly_nest_tiled(&nest, 2, shape, &level, 1), TLY_INVALID_ARGUMENT);
    for (size_t i = 0; i < LEN(many); i++) {
        many[i] = (tly_tile_level){tile, NULL, NULL, TLY_TILE_ROW,
                                   i + 1 < LEN(many) ? TLY_TILE_NESTED : TLY_TILE_ROW};
    }
    assert_int_equal(tly_nest_tiled(&nest, 2, shape, many, LEN(many)), TLY_LIMIT);
    many[LEN(many) - 2].inner = TLY_TILE_ROW;
    assert_int_equal(tly_nest_tiled(&nest, 2, shape, many, LEN(many) - 1), TLY_OK);
}

static void morton(void **state) {
    const uint64_t shape[] = {4, 4}, index[] = {2, 3}, oblong[] = {2, 8}, last[] = {1, 7};
    const uint32_t bits[] = {2, 2}, unequal[] = {1, 3}, none[] = {0, 2};
    const uint64_t cube[] = {5, 3, 7};
    const uint32_t cube_bits[] = {3, 2, 3};
    tly_nest nest;
    assert_int_equal(tly_nest_morton(&nest, 2, shape, bits), TLY_OK);
    assert_int_equal(offset_of(&nest, index), 14);
    check_visits(&nest);
    check_extent(&nest, 0, 16);
    assert_int_equal(tly_nest_morton(&nest, 2, oblong, unequal), TLY_OK);
    assert_int_equal(offset_of(&nest, last), 43); /* beyond 2^(1+3): the offset has holes */
    check_extent(&nest, 0, 44);
    check_visits(&nest);
    assert_int_equal(tly_nest_morton(&nest, 3, cube, cube_bits), TLY_OK);
    check_visits(&nest);
    assert_int_equal(tly_nest_morton(&nest, 2, shape, none), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_nest_morton(&nest, 2, cube, bits), TLY_INVALID_ARGUMENT);
}

/* CUBE_M16 with four-bit elements: the steps of K do not fall monotonically. */
static void steps_need_not_fall(void **state) {
    tly_nest nest = {
        2,
        5,
        {16, 30},
        {{1, 0, 16, 2, 256}, {0, 0, 1, 16, 16}, {1, 0, 4, 2, 8}, {1, 0, 8, 2, 4}, {1, 0, 1, 4, 1}}};
    const uint64_t index[] = {3, 16 + 8 + 2};
    check_visits(&nest);
    assert_int_equal(offset_of(&nest, index), 256 + 48 + 4 + 2);
    check_extent(&nest, 0, 512);
}

static void refused_nests(void **state) {
    tly_nest good = {1, 2, {12}, {{0, 0, 4, 3, 4}, {0, 0, 1, 4, 1}}}, nest = good;
    tly_error err;
    CHECK_OK(tly_nest_check(&nest, 0, &err), &err);
    nest.loops[0].step = 5; /* index 4 is never visited */
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_INVALID_ARGUMENT, "nest-chain");
    nest.loops[0].step = 3; /* index 3 twice */
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_INVALID_ARGUMENT, "nest-chain");
    nest = good, nest.loops[0].count = 2;
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_INVALID_ARGUMENT, "nest-cover");
    nest = good, nest.loops[1].count = 0;
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_INVALID_ARGUMENT, "nest-cover");
    nest = good, nest.loops[0].stride = 3; /* two places at offset 3 */
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_INVALID_ARGUMENT, "nest-overlap");
    CHECK_OK(tly_nest_check(&nest, 1, &err), &err);
    nest = good, nest.loops[0].stride = 0;
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_INVALID_ARGUMENT, "nest-overlap");
    nest = good, nest.loops[0].axis = 1;
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_INVALID_ARGUMENT, "nest-loop");
    nest = good, nest.loops[0].step = 0;
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_INVALID_ARGUMENT, "nest-loop");
    nest = good, nest.num_loops = TLY_NEST_MAX_LOOPS + 1;
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_INVALID_ARGUMENT, "nest-limits");
    nest = good, nest.loops[0].stride = INT64_MAX;
    CHECK_RULE(tly_nest_check(&nest, 0, &err), &err, TLY_OVERFLOW, "nest-overflow");
    nest = good, nest.loops[0].count = UINT64_MAX / 2, nest.loops[0].stride = 0;
    CHECK_RULE(tly_nest_check(&nest, 1, &err), &err, TLY_OVERFLOW, "nest-overflow");
    nest = good, nest.loops[0].stride = -4; /* backwards is as good as forwards */
    CHECK_OK(tly_nest_check(&nest, 0, &err), &err);
    check_extent(&nest, -8, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_orders),       cmocka_unit_test(scalars_and_empty),
        cmocka_unit_test(overflow_is_refused), cmocka_unit_test(tiles),
        cmocka_unit_test(bad_tiles),           cmocka_unit_test(morton),
        cmocka_unit_test(steps_need_not_fall), cmocka_unit_test(refused_nests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
