/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a profile: what is written, what comes back, and what is refused with which rule. */
#include "check.h"

#include <string.h>

#include <tilery/panel.h>

/* oneDNN's BA16a64b2a for bf16 as the specification prints it. */
static const uint8_t example[] = {
    'T',  'L',  'Y',  'P',  1,    2,    0x02, 2,    0,  1, 4, 6, 1,  0, 0, 0, /* head */
    64,   0,    0,    0,    7,    0,    0,    0,    /* alignment, version */
    0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01, /* probe hash */
    1,    1,    0,    0,    64,   0,    0,    0,    64, 0, 0, 0, 64, 0, 0, 0, /* N up 64 / 64 */
    0,    1,    0,    0,    2,    0,    0,    0,    32, 0, 0, 0, 2,  0, 0, 0, /* K up 32 / 2 */
    1,    0,    0,    0,    1,    0,    0,    0,    64, 0, 0, 0, 0,  0, 0, 0, /* N 64 */
    0,    0,    0,    0,    1,    0,    0,    0,    2,  0, 0, 0, 0,  0, 0, 0, /* K 2 */
    'o',  'n',  'e',  'd',  'n',  'n'};

static tly_panel_profile example_profile(void) {
    tly_panel_profile p;
    tly_error err;
    CHECK_OK(tly_panel_by_name("ba16a64b2a", TLY_BF16, 0, &p, &err), &err);
    strcpy(p.kernel, "onednn");
    p.kernel_version = 7;
    p.has_probe = 1;
    p.probe_hash = UINT64_C(0x0123456789ABCDEF);
    return p;
}

static void encodes_the_bytes_of_the_specification(void **state) {
    tly_panel_profile p = example_profile();
    uint8_t bytes[TLY_PANEL_MAX_LEN];
    size_t len;
    tly_error err;
    CHECK_OK(tly_panel_encode(&p, bytes, sizeof bytes, &len, &err), &err);
    assert_int_equal(len, sizeof example);
    assert_memory_equal(bytes, example, sizeof example);
}

static void decodes_what_it_encoded(void **state) {
    tly_panel_profile want = example_profile();
    tly_panel_profile got;
    tly_error err;
    memset(&got, 0xAA, sizeof got);
    CHECK_OK(tly_panel_decode(example, sizeof example, &got, &err), &err);
    assert_memory_equal(&got, &want, sizeof got);
}

static void every_built_in_survives_the_round_trip(void **state) {
    uint32_t num = 0;
    for (uint32_t i = 0; tly_panel_name(i) != NULL; i++) {
        assert_non_null(tly_panel_summary(i));
        for (uint32_t dtype = 0; dtype < 256; dtype++) {
            for (int transposed = 0; transposed < 2; transposed++) {
                tly_panel_profile p, q;
                uint8_t bytes[TLY_PANEL_MAX_LEN];
                size_t len;
                tly_error err;
                tly_status status =
                    tly_panel_by_name(tly_panel_name(i), (tly_dtype)dtype, transposed, &p, &err);
                if (status != TLY_OK) {
                    assert_int_equal(status, TLY_UNSUPPORTED);
                    continue;
                }
                num++;
                CHECK_OK(tly_panel_encode(&p, bytes, sizeof bytes, &len, &err), &err);
                CHECK_OK(tly_panel_decode(bytes, len, &q, &err), &err);
                assert_memory_equal(&p, &q, sizeof p);
                assert_true(tly_panel_same_layout(&p, &q));
            }
        }
    }
    assert_true(num > 400);
    assert_null(tly_panel_summary(1000));
}

static void unknown_names_and_types(void **state) {
    tly_panel_profile p;
    tly_error err;
    CHECK_RULE(tly_panel_by_name("ba16a64", TLY_F32, 0, &p, &err), &err, TLY_NOT_FOUND,
               "panel-name");
    CHECK_RULE(tly_panel_by_name("", TLY_F32, 0, &p, &err), &err, TLY_NOT_FOUND, "panel-name");
    CHECK_RULE(tly_panel_by_name("ba16a64b", TLY_BF16, 0, &p, &err), &err, TLY_UNSUPPORTED,
               "panel-dtype");
    CHECK_RULE(tly_panel_by_name("nr16", 0, 0, &p, &err), &err, TLY_UNSUPPORTED, "panel-dtype");
    CHECK_RULE(tly_panel_by_name("cube_n8", TLY_F64, 0, &p, &err), &err, TLY_UNSUPPORTED,
               "panel-dtype");
}

static void every_prefix_is_truncated(void **state) {
    for (size_t len = 0; len < sizeof example; len++) {
        tly_panel_profile p;
        tly_error err;
        CHECK_RULE(tly_panel_decode(example, len, &p, &err), &err, TLY_TRUNCATED,
                   "panel-truncated");
        assert_int_equal(err.offset, len);
    }
}

/* One change to the example, the rule that it breaks and the byte that is blamed. */
struct broken {
    size_t at;
    uint8_t value;
    tly_status status;
    const char *rule;
    uint64_t offset;
};

static void broken_bytes_name_rule_and_place(void **state) {
    static const struct broken cases[] = {
        {0, 't', TLY_MALFORMED, "panel-magic", 0},
        {4, 0, TLY_UNSUPPORTED, "panel-version", 4},
        {4, 2, TLY_UNSUPPORTED, "panel-version", 4},
        {5, 0, TLY_MALFORMED, "panel-role", 5},
        {5, 3, TLY_MALFORMED, "panel-role", 5},
        {6, 0x00, TLY_UNSUPPORTED, "panel-dtype", 6},
        {6, 0xF0, TLY_UNSUPPORTED, "panel-dtype", 6},
        {7, 1, TLY_MALFORMED, "panel-rank", 7},
        {7, 9, TLY_MALFORMED, "panel-rank", 7},
        {8, 2, TLY_MALFORMED, "panel-axes", 8},
        {8, 1, TLY_MALFORMED, "panel-axes", 9},
        {9, 2, TLY_MALFORMED, "panel-axes", 9},
        {10, 0, TLY_MALFORMED, "panel-loops", 10},
        {10, 1, TLY_MALFORMED, "panel-loops", 10},
        {10, 9, TLY_MALFORMED, "panel-loops", 10},
        {11, 48, TLY_MALFORMED, "panel-kernel-length", 11},
        {11, 7, TLY_TRUNCATED, "panel-truncated", 102},
        {11, 5, TLY_MALFORMED, "panel-trailing", 101},
        {12, 3, TLY_MALFORMED, "panel-reserved", 12},
        {12, 0, TLY_MALFORMED, "panel-probe", 24},
        {13, 1, TLY_MALFORMED, "panel-reserved", 13},
        {15, 1, TLY_MALFORMED, "panel-reserved", 15},
        {16, 0, TLY_MALFORMED, "panel-alignment", 16},
        {16, 65, TLY_MALFORMED, "panel-alignment", 16},
        {19, 0x80, TLY_MALFORMED, "panel-alignment", 16},
        {32, 2, TLY_MALFORMED, "panel-loop-axis", 32},
        {33, 2, TLY_MALFORMED, "panel-loop-kind", 33},
        {34, 1, TLY_MALFORMED, "panel-reserved", 34},
        {36, 0, TLY_MALFORMED, "panel-loop-step", 36},
        {36, 32, TLY_MALFORMED, "panel-loop-over", 44},
        {40, 0, TLY_MALFORMED, "panel-loop-round", 40},
        {40, 96, TLY_MALFORMED, "panel-loop-round", 40},
        {44, 32, TLY_MALFORMED, "panel-loop-over", 44},
        {49, 0, TLY_MALFORMED, "panel-reserved", 60},
        {68, 2, TLY_MALFORMED, "panel-loop-chain", 68},
        {72, 1, TLY_MALFORMED, "panel-loop-count", 72},
        {72, 0, TLY_MALFORMED, "panel-loop-count", 72},
        {72, 63, TLY_MALFORMED, "panel-loop-chain", 36},
        {72, 65, TLY_MALFORMED, "panel-loop-chain", 36},
        {76, 1, TLY_MALFORMED, "panel-reserved", 76},
        {80, 1, TLY_MALFORMED, "panel-loop-chain", 52},
        {96, 0x1F, TLY_MALFORMED, "panel-kernel-name", 96},
        {101, 0x7F, TLY_MALFORMED, "panel-kernel-name", 101},
        {98, 0, TLY_MALFORMED, "panel-kernel-name", 98},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t bytes[sizeof example];
        tly_panel_profile p;
        tly_error err = {0};
        tly_status status;
        memcpy(bytes, example, sizeof bytes);
        bytes[cases[i].at] = cases[i].value;
        status = tly_panel_decode(bytes, sizeof bytes, &p, &err);
        if (status != cases[i].status || strcmp(err.rule, cases[i].rule) != 0 ||
            err.offset != cases[i].offset) {
            fail_msg("byte %zu = 0x%02X: %s %s at %llu (%s), wanted %s %s at %llu", cases[i].at,
                     cases[i].value, tly_status_name(status), err.rule,
                     (unsigned long long)err.offset, err.message, tly_status_name(cases[i].status),
                     cases[i].rule, (unsigned long long)cases[i].offset);
        }
        assert_int_equal(tly_panel_decode(bytes, sizeof bytes, &p, NULL), cases[i].status);
    }
}

static void too_long_and_too_large(void **state) {
    uint8_t bytes[TLY_PANEL_MAX_LEN + 1] = {0};
    tly_panel_profile p = example_profile();
    tly_error err;
    size_t len;

    memcpy(bytes, example, sizeof example);
    CHECK_RULE(tly_panel_decode(bytes, sizeof bytes, &p, &err), &err, TLY_LIMIT, "panel-length");
    CHECK_RULE(tly_panel_decode(bytes, sizeof example + 1, &p, &err), &err, TLY_MALFORMED,
               "panel-trailing");

    p = example_profile();
    p.loops[0].round = 65536 + 64;
    CHECK_RULE(tly_panel_check(&p, &err), &err, TLY_LIMIT, "panel-granule");
    p.loops[0].round = 65536;
    CHECK_OK(tly_panel_check(&p, &err), &err);
    p.loops[1].round = 128; /* 65536 * 128 * 2 bytes: exactly the limit */
    CHECK_OK(tly_panel_check(&p, &err), &err);
    p.loops[1].round = 130;
    CHECK_RULE(tly_panel_check(&p, &err), &err, TLY_LIMIT, "panel-cell");

    p = example_profile();
    CHECK_RULE(tly_panel_encode(&p, bytes, sizeof example - 1, &len, &err), &err, TLY_LIMIT,
               "panel-capacity");
    p.size = 3;
    CHECK_RULE(tly_panel_encode(&p, bytes, sizeof bytes, &len, &err), &err, TLY_INVALID_ARGUMENT,
               "options-size");
}

static void no_loop_over_an_axis(void **state) {
    tly_panel_profile p = example_profile();
    tly_error err;
    p.loops[1] = (tly_panel_loop){TLY_PANEL_MN, 1, 0, 64, 0, 64, 64};
    p.loops[0] = (tly_panel_loop){TLY_PANEL_MN, 0, 0, 1, 64, 0, 0};
    p.num_loops = 2;
    CHECK_RULE(tly_panel_check(&p, &err), &err, TLY_MALFORMED, "panel-loop-missing");
}

/* Two rounded loops on an axis, and a constant loop above the rounded one, meet for some extent. */
static void loops_that_meet(void **state) {
    tly_panel_profile p = example_profile();
    tly_error err;
    p.loops[3] = (tly_panel_loop){TLY_PANEL_K, 1, 0, 4, 0, 32, 4};
    CHECK_RULE(tly_panel_check(&p, &err), &err, TLY_MALFORMED, "panel-loop-chain");
    p = example_profile();
    p.loops[3] = (tly_panel_loop){TLY_PANEL_K, 0, 0, 32, 2, 0, 0};
    CHECK_RULE(tly_panel_check(&p, &err), &err, TLY_MALFORMED, "panel-loop-chain");
}

static void split_loops_are_refused_and_normalized(void **state) {
    tly_panel_profile p = example_profile();
    tly_error err;
    p.num_loops = 6;
    p.loops[1] = (tly_panel_loop){TLY_PANEL_K, 1, 0, 32, 0, 32, 32};
    p.loops[2] = (tly_panel_loop){TLY_PANEL_K, 0, 0, 2, 16, 0, 0};
    p.loops[3] = (tly_panel_loop){TLY_PANEL_MN, 0, 0, 4, 16, 0, 0};
    p.loops[4] = (tly_panel_loop){TLY_PANEL_MN, 0, 0, 1, 4, 0, 0};
    p.loops[5] = (tly_panel_loop){TLY_PANEL_K, 0, 0, 1, 2, 0, 0};
    CHECK_RULE(tly_panel_check(&p, &err), &err, TLY_MALFORMED, "panel-loop-split");
    assert_int_equal(err.offset, 32 + 2 * 16 + 4);
    tly_panel_normalize(&p);
    CHECK_OK(tly_panel_check(&p, &err), &err);
    {
        tly_panel_profile want = example_profile();
        assert_memory_equal(&p, &want, sizeof p);
    }
    /* A loop of one turn goes away wherever it stands. */
    p.num_loops = 5;
    p.loops[4] = (tly_panel_loop){TLY_PANEL_K, 0, 0, 17, 1, 0, 0};
    tly_panel_normalize(&p);
    CHECK_OK(tly_panel_check(&p, &err), &err);
    assert_int_equal(p.num_loops, 4);
}

static void layouts_compare_without_names(void **state) {
    tly_panel_profile a = example_profile();
    tly_panel_profile b = example_profile();
    b.has_probe = 0;
    b.probe_hash = 0;
    b.alignment = 4096;
    b.kernel_version = 9;
    strcpy(b.kernel, "another");
    assert_true(tly_panel_same_layout(&a, &b));
    b.loops[1].round = 34;
    assert_false(tly_panel_same_layout(&a, &b));
    b = a;
    b.k_axis = 1;
    b.mn_axis = 0;
    assert_false(tly_panel_same_layout(&a, &b));
    b = a;
    b.dtype = TLY_F16;
    assert_false(tly_panel_same_layout(&a, &b));
}

static void describes_itself(void **state) {
    tly_panel_profile p = example_profile();
    char text[256];
    char cut[9];
    assert_string_equal(
        tly_panel_describe(&p, text, sizeof text),
        "B bf16 [N:up(N,64)/64 step 64][K:up(K,32)/2 step 2][N:64][K:2] from K x N");
    assert_string_equal(tly_panel_describe(&p, cut, sizeof cut), "B bf16 [");
    p.rank = 3;
    p.k_axis = 2;
    p.role = TLY_PANEL_A;
    assert_string_equal(tly_panel_describe(&p, text, sizeof text),
                        "A bf16 [M:up(M,64)/64 step 64][K:up(K,32)/2 step 2][M:64][K:2] from rank "
                        "3, K axis 2, M axis 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(encodes_the_bytes_of_the_specification),
        cmocka_unit_test(decodes_what_it_encoded),
        cmocka_unit_test(every_built_in_survives_the_round_trip),
        cmocka_unit_test(unknown_names_and_types),
        cmocka_unit_test(every_prefix_is_truncated),
        cmocka_unit_test(broken_bytes_name_rule_and_place),
        cmocka_unit_test(too_long_and_too_large),
        cmocka_unit_test(no_loop_over_an_axis),
        cmocka_unit_test(loops_that_meet),
        cmocka_unit_test(split_loops_are_refused_and_normalized),
        cmocka_unit_test(layouts_compare_without_names),
        cmocka_unit_test(describes_itself),
    };
    return cmocka_run_group_tests_name("panel/codec", tests, NULL, NULL);
}
