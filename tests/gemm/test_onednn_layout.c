/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's memory descriptors as profiles: the layouts that it can name, and what must be refused.
 */
#include "check.h"

#include <string.h>

#include "gemm/onednn_layout.h"

static tly_gemm_problem problem_of(tly_dtype dtype, uint64_t n, uint64_t k) {
    const tly_gemm_problem p = {.size = sizeof p,
                                .m = 8,
                                .n = n,
                                .k = k,
                                .a_dtype = dtype,
                                .b_dtype = dtype,
                                .c_dtype = TLY_F32};
    return p;
}

static dnnl_memory_desc_t weights(uint64_t k, uint64_t n, dnnl_data_type_t type,
                                  dnnl_format_tag_t tag) {
    const dnnl_dims_t dims = {(dnnl_dim_t)k, (dnnl_dim_t)n};
    dnnl_memory_desc_t md;
    assert_int_equal(dnnl_memory_desc_init_by_tag(&md, 2, dims, type, tag), dnnl_success);
    return md;
}

/* Every extent, so also those where a loop has one turn and its stride says nothing. */
static void named_weights_are_the_named_panels(void **state) {
    static const struct {
        dnnl_format_tag_t tag;
        dnnl_data_type_t type;
        tly_dtype dtype;
        const char *name;
    } rows[] = {
        {dnnl_BA16a64b, dnnl_f32, TLY_F32, "ba16a64b"},
        {dnnl_BA16a64b2a, dnnl_bf16, TLY_BF16, "ba16a64b2a"},
        {dnnl_BA16a64b4a, dnnl_s8, TLY_I8, "ba16a64b4a"},
    };
    static const uint64_t extents[] = {1, 2, 15, 16, 17, 63, 64, 65, 128, 200};
    (void)state;
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++) {
        tly_panel_profile wanted;
        tly_error error;
        CHECK_OK(tly_panel_by_name(rows[r].name, rows[r].dtype, 0, &wanted, &error), &error);
        for (size_t i = 0; i < 100; i++) {
            const uint64_t k = extents[i / 10], n = extents[i % 10], shape[2] = {k, n};
            const dnnl_memory_desc_t md = weights(k, n, rows[r].type, rows[r].tag);
            const tly_gemm_problem p = problem_of(rows[r].dtype, n, k);
            tly_panel_profile got;
            const char *why = "";
            uint64_t len;
            if (tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why) != TLY_OK) {
                fail_msg("%s, %d x %d: %s", rows[r].name, (int)k, (int)n, why);
            }
            CHECK_OK(tly_panel_check(&got, &error), &error);
            assert_true(tly_panel_same_layout(&got, &wanted));
            CHECK_OK(tly_panel_bind(&got, 2, shape, NULL, &len, &error), &error);
            assert_int_equal(len, dnnl_memory_desc_get_size(&md));
        }
    }
}

/* Weights of a convolution, with two more dimensions of extent 1. */
static void weights_of_a_convolution_are_panels_too(void **state) {
    const dnnl_dims_t dims = {40, 70, 1, 1};
    const tly_gemm_problem p = problem_of(TLY_F32, 40, 70);
    tly_panel_profile got;
    tly_error error;
    dnnl_memory_desc_t md;
    char text[256];
    const char *why;
    (void)state;
    assert_int_equal(dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_f32, dnnl_OIhw8i8o),
                     dnnl_success);
    assert_int_equal(tly_gemm_onednn_profile(&md, 1, 0, &p, &got, &why), TLY_OK);
    CHECK_OK(tly_panel_check(&got, &error), &error);
    assert_string_equal(tly_panel_describe(&got, text, sizeof text),
                        "B f32 [N:up(N,8)/8 step 8][K:up(K,8)][N:8] from K x N");
}

static void what_loops_cannot_say_is_refused(void **state) {
    const tly_gemm_problem p = problem_of(TLY_F32, 200, 200);
    const dnnl_memory_desc_t good = weights(200, 200, dnnl_f32, dnnl_BA16a64b);
    dnnl_memory_desc_t md = good;
    tly_panel_profile got;
    const char *why;
    (void)state;
    md = weights(200, 200, dnnl_f32, dnnl_ab);
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_NO_PANEL);
    assert_non_null(strstr(why, "no panel wanted"));
    md = weights(200, 200, dnnl_f32, dnnl_ba);
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_NO_PANEL);
    md = good;
    md.extra.flags = dnnl_memory_extra_flag_compensation_conv_s8s8;
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_UNSUPPORTED);
    assert_non_null(strstr(why, "compensation"));
    md = good;
    md.offset0 = 16;
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_UNSUPPORTED);
    md = good;
    md.padded_offsets[1] = 1;
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_UNSUPPORTED);
    md = good;
    md.format_kind = dnnl_format_kind_wino;
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_UNSUPPORTED);
    md = good;
    md.format_desc.blocking.strides[1] += 64; /* a gap between panels */
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_UNSUPPORTED);
    md = good;
    md.padded_dims[0] += 16; /* more padding than a block */
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_UNSUPPORTED);
    md = good;
    md.format_desc.blocking.inner_idxs[0] = 2; /* a block of a third dimension */
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_UNSUPPORTED);
    md = good;
    md.format_desc.blocking.inner_nblks = 7; /* with the two outer loops one more than fits */
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_UNSUPPORTED);
    assert_int_equal(tly_gemm_onednn_profile(&good, 0, 1, &p, &got, &why), TLY_OK);
}

/* K outside N: a layout that oneDNN can name and a profile can say. */
static void the_order_of_the_outer_loops_follows_the_strides(void **state) {
    const tly_gemm_problem p = problem_of(TLY_F32, 64, 48);
    dnnl_memory_desc_t md = weights(48, 64, dnnl_f32, dnnl_BA16a16b);
    tly_panel_profile got;
    tly_error error;
    const char *why;
    (void)state;
    md.format_desc.blocking.strides[0] = 16 * 16 * 4; /* K: over all blocks of N */
    md.format_desc.blocking.strides[1] = 16 * 16;
    assert_int_equal(tly_gemm_onednn_profile(&md, 0, 1, &p, &got, &why), TLY_OK);
    CHECK_OK(tly_panel_check(&got, &error), &error);
    assert_int_equal(got.loops[0].axis, TLY_PANEL_K);
    assert_int_equal(got.loops[0].step, 16);
    assert_int_equal(got.loops[1].axis, TLY_PANEL_MN);
}

static void blocks_of_channels_are_recognised(void **state) {
    const dnnl_dims_t dims = {1, 20, 1, 5};
    dnnl_memory_desc_t md;
    (void)state;
    dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_f32, dnnl_acdb);
    assert_int_equal(tly_gemm_onednn_channel_block(&md), 0);
    dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_f32, dnnl_aBcd8b);
    assert_int_equal(tly_gemm_onednn_channel_block(&md), 8);
    dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_f32, dnnl_aBcd16b);
    assert_int_equal(tly_gemm_onednn_channel_block(&md), 16);
    dnnl_memory_desc_init_by_tag(&md, 4, dims, dnnl_f32, dnnl_abcd);
    assert_int_equal(tly_gemm_onednn_channel_block(&md), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(named_weights_are_the_named_panels),
        cmocka_unit_test(weights_of_a_convolution_are_panels_too),
        cmocka_unit_test(what_loops_cannot_say_is_refused),
        cmocka_unit_test(the_order_of_the_outer_loops_follows_the_strides),
        cmocka_unit_test(blocks_of_channels_are_recognised),
    };
    return cmocka_run_group_tests_name("gemm/onednn_layout", tests, NULL, NULL);
}
