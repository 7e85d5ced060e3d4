/* SPDX-License-Identifier: Apache-2.0 */
/* From a template to places: every element of a bound panel against the loops run one by one. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <tilery/panel.h>

#include "panel/random_profile.h"
#include "panel/reference.h"

static void to_reference(const tly_panel_profile *p, reference_profile *out) {
    uint8_t bytes[TLY_PANEL_MAX_LEN];
    size_t len;
    tly_error err;
    CHECK_OK(tly_panel_encode(p, bytes, sizeof bytes, &len, &err), &err);
    if (!reference_decode(bytes, len, out)) {
        char text[256];
        fail_msg("the second reader refuses %s", tly_panel_describe(p, text, sizeof text));
    }
}

/* Offsets of all elements of the nest against the second packer, whose matrix holds element numbers
 * (32-bit profiles only). */
static void compare_places(const tly_panel_profile *p, const uint64_t *shape) {
    reference_profile reference;
    uint64_t len, places, k = shape[p->k_axis], mn = shape[p->mn_axis];
    uint64_t matrices = 1, matrix = 0;
    uint64_t index[8] = {0};
    tly_nest nest;
    tly_error err;
    uint32_t *numbers, *panel;

    to_reference(p, &reference);
    places = reference_places(&reference, k, mn);
    numbers = malloc(k * mn * 4);
    panel = malloc(places * 4);
    for (uint64_t i = 0; i < k * mn; i++) {
        numbers[i] = (uint32_t)i + 1;
    }
    reference_pack(&reference, k, mn, (const uint8_t *)numbers, mn * 4, 4, (uint8_t *)panel);

    CHECK_OK(tly_panel_bind(p, p->rank, shape, &nest, &len, &err), &err);
    CHECK_OK(tly_nest_check(&nest, 0, &err), &err);
    for (uint32_t axis = 0; axis < p->rank; axis++) {
        assert_int_equal(nest.shape[axis], shape[axis]);
        if (axis != p->k_axis && axis != p->mn_axis) {
            matrices *= shape[axis];
        }
    }
    assert_int_equal(len, matrices * places * 4);
    for (;;) {
        int64_t offset, want = -1;
        uint32_t axis;
        uint32_t number = (uint32_t)(index[p->k_axis] * mn + index[p->mn_axis]) + 1;
        assert_int_equal(tly_nest_offset(&nest, index, &offset), TLY_OK);
        matrix = 0;
        for (axis = 0; axis < p->rank; axis++) {
            if (axis != p->k_axis && axis != p->mn_axis) {
                matrix = matrix * shape[axis] + index[axis];
            }
        }
        if ((uint64_t)offset >= matrix * places && (uint64_t)offset < (matrix + 1) * places) {
            want = panel[(uint64_t)offset - matrix * places];
        }
        if (want != (int64_t)number) {
            char text[256];
            fail_msg("%s: element %u of matrix %u at %lld", tly_panel_describe(p, text, 256),
                     number - 1, (unsigned)matrix, (long long)offset);
        }
        for (axis = p->rank; axis-- > 0;) {
            if (++index[axis] < shape[axis]) {
                break;
            }
            index[axis] = 0;
        }
        if (axis == UINT32_MAX) {
            break;
        }
    }
    free(panel);
    free(numbers);
}

static void every_built_in_puts_elements_in_their_place(void **state) {
    check_rng rng = {1};
    for (uint32_t i = 0; tly_panel_name(i) != NULL; i++) {
        tly_panel_profile p;
        tly_error err;
        for (int round = 0; round < 6; round++) {
            uint64_t shape[2];
            if (tly_panel_by_name(tly_panel_name(i), TLY_F32, round & 1, &p, &err) != TLY_OK) {
                continue;
            }
            shape[p.k_axis] = random_extent(&rng, &p, TLY_PANEL_K);
            shape[p.mn_axis] = random_extent(&rng, &p, TLY_PANEL_MN);
            compare_places(&p, shape);
        }
    }
}

static void random_templates_put_elements_in_their_place(void **state) {
    const uint64_t seed = 20240611;
    check_rng rng = {seed};
    for (int round = 0; round < 400; round++) {
        tly_panel_profile p = random_profile(&rng, TLY_F32, 5);
        uint64_t shape[8];
        for (uint32_t axis = 0; axis < p.rank; axis++) {
            shape[axis] = 1 + check_below(&rng, 3);
        }
        shape[p.k_axis] = random_extent(&rng, &p, TLY_PANEL_K);
        shape[p.mn_axis] = random_extent(&rng, &p, TLY_PANEL_MN);
        compare_places(&p, shape);
    }
}

/* The table of DESIGN's layouts in numbers: where a few elements of a 70 x 100 matrix lie. */
static void onednn_places_by_hand(void **state) {
    static const struct {
        const char *name;
        tly_dtype dtype;
        uint64_t k, n, len;
        int64_t offset;
    } cases[] = {
        {"ba16a64b", TLY_F32, 0, 1, 2 * 64 * 80 * 4, 1},
        {"ba16a64b", TLY_F32, 1, 0, 2 * 64 * 80 * 4, 64},
        {"ba16a64b", TLY_F32, 69, 99, 2 * 64 * 80 * 4, 80 * 64 + 69 * 64 + 35},
        {"ba16a64b2a", TLY_BF16, 1, 0, 2 * 64 * 96 * 2, 1},
        {"ba16a64b2a", TLY_BF16, 69, 99, 2 * 64 * 96 * 2, 96 * 64 + 34 * 128 + 35 * 2 + 1},
        {"ba16a64b4a", TLY_I8, 69, 99, 2 * 64 * 128, 128 * 64 + 17 * 256 + 35 * 4 + 1},
        {"oi8i8o", TLY_F32, 69, 99, 104 * 72 * 4, 12 * 72 * 8 + 69 * 8 + 3},
        {"nr16", TLY_F64, 69, 99, 112 * 70 * 8, 6 * 70 * 16 + 69 * 16 + 3},
        {"cube_n8", TLY_I8, 69, 99, 104 * 80, 12 * 80 * 8 + 4 * 128 + 3 * 16 + 5},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (int transposed = 0; transposed < 2; transposed++) {
            tly_panel_profile p;
            tly_error err;
            tly_nest nest;
            uint64_t shape[2], index[2], len;
            int64_t offset;
            CHECK_OK(tly_panel_by_name(cases[i].name, cases[i].dtype, transposed, &p, &err), &err);
            shape[p.k_axis] = 70;
            shape[p.mn_axis] = 100;
            index[p.k_axis] = cases[i].k;
            index[p.mn_axis] = cases[i].n;
            CHECK_OK(tly_panel_bind(&p, 2, shape, &nest, &len, &err), &err);
            assert_int_equal(len, cases[i].len);
            assert_int_equal(tly_nest_offset(&nest, index, &offset), TLY_OK);
            assert_int_equal(offset, cases[i].offset);
        }
    }
}

static void cube_cells_hold_so_many_rows(void **state) {
    static const struct {
        const char *name;
        uint64_t rows;
    } cells[] = {{"cube_m16", 16}, {"cube_m32", 32}};
    for (size_t i = 0; i < 2; i++) {
        for (uint32_t type = 0; type < 3; type++) {
            static const tly_dtype types[] = {TLY_I8, TLY_BF16, TLY_F32};
            tly_panel_profile p;
            tly_error err;
            uint64_t shape[2] = {cells[i].rows, 5}, len;
            CHECK_OK(tly_panel_by_name(cells[i].name, types[type], 0, &p, &err), &err);
            CHECK_OK(tly_panel_bind(&p, 2, shape, NULL, &len, &err), &err);
            shape[0]++;
            CHECK_RULE(tly_panel_bind(&p, 2, shape, NULL, &len, &err), &err, TLY_LAYOUT_UNAVAILABLE,
                       "panel-bounded");
            shape[0] = 1;
            CHECK_OK(tly_panel_bind(&p, 2, shape, NULL, &len, &err), &err);
            assert_true(len >= cells[i].rows * 5);
        }
    }
}

static void shapes_that_do_not_fit(void **state) {
    tly_panel_profile p;
    tly_error err;
    tly_nest nest;
    uint64_t len;
    uint64_t shape[3] = {10, 10, 10};

    CHECK_OK(tly_panel_by_name("ba16a64b", TLY_F32, 0, &p, &err), &err);
    CHECK_RULE(tly_panel_bind(&p, 3, shape, &nest, &len, &err), &err, TLY_INVALID_ARGUMENT,
               "panel-rank");
    CHECK_RULE(tly_panel_bind(&p, 1, shape, &nest, &len, &err), &err, TLY_INVALID_ARGUMENT,
               "panel-rank");
    shape[0] = UINT64_MAX;
    CHECK_RULE(tly_panel_bind(&p, 2, shape, &nest, &len, &err), &err, TLY_OVERFLOW,
               "panel-overflow");
    shape[0] = UINT64_C(1) << 32;
    shape[1] = UINT64_C(1) << 32;
    CHECK_RULE(tly_panel_bind(&p, 2, shape, &nest, &len, &err), &err, TLY_OVERFLOW,
               "panel-overflow");
    shape[1] = UINT64_C(1) << 29; /* 2^61 elements of 4 bytes */
    CHECK_RULE(tly_panel_bind(&p, 2, shape, &nest, &len, &err), &err, TLY_OVERFLOW,
               "panel-overflow");
    shape[1] = UINT64_C(1) << 28;
    CHECK_OK(tly_panel_bind(&p, 2, shape, &nest, &len, &err), &err);
    assert_int_equal(len, UINT64_C(1) << 62);
    shape[0] = UINT64_MAX - 14; /* rounds up to 2^64 */
    shape[1] = 1;
    CHECK_RULE(tly_panel_bind(&p, 2, shape, &nest, &len, &err), &err, TLY_OVERFLOW,
               "panel-overflow");
    p.loops[0].over = 32;
    shape[0] = 1;
    CHECK_RULE(tly_panel_bind(&p, 2, shape, &nest, &len, &err), &err, TLY_MALFORMED,
               "panel-loop-over");
}

static void an_empty_tensor_has_an_empty_panel(void **state) {
    check_rng rng = {7};
    for (int round = 0; round < 200; round++) {
        tly_panel_profile p = random_profile(&rng, TLY_U16, 4);
        uint64_t shape[8], len = 1;
        tly_nest nest;
        tly_error err;
        for (uint32_t axis = 0; axis < p.rank; axis++) {
            shape[axis] = 1;
        }
        shape[check_below(&rng, p.rank)] = 0;
        CHECK_OK(tly_panel_bind(&p, p.rank, shape, &nest, &len, &err), &err);
        assert_int_equal(len, 0);
        CHECK_OK(tly_nest_check(&nest, 0, &err), &err);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_built_in_puts_elements_in_their_place),
        cmocka_unit_test(random_templates_put_elements_in_their_place),
        cmocka_unit_test(onednn_places_by_hand),
        cmocka_unit_test(cube_cells_hold_so_many_rows),
        cmocka_unit_test(shapes_that_do_not_fit),
        cmocka_unit_test(an_empty_tensor_has_an_empty_panel),
    };
    return cmocka_run_group_tests_name("panel/bind", tests, NULL, NULL);
}
