/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with adapters and products, and what the message then says. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tilery/context.h>
#include <tilery/gemm.h>

static tly_context *context;
static char good_path[4096]; /* TILERY_MODULE_PATH as the test was started */
static char folder[] = "/tmp/tilery-modules-XXXXXX";

static tly_gemm_problem f32_problem(uint64_t m, uint64_t n, uint64_t k) {
    const tly_gemm_problem p = {.size = sizeof p,
                                .m = m,
                                .n = n,
                                .k = k,
                                .a_dtype = TLY_F32,
                                .b_dtype = TLY_F32,
                                .c_dtype = TLY_F32};
    return p;
}

static tly_gemm_adapter *open_own(void) {
    tly_gemm_adapter *adapter;
    tly_error error;
    CHECK_OK(tly_gemm_open(context, "own", &adapter, &error), &error);
    return adapter;
}

static void write_file(const char *name, const void *bytes, size_t len) {
    char path[256];
    FILE *file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    fclose(file);
}

static void remove_file(const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    unlink(path);
}

/* ---- Modules ---- */

static void a_missing_module_says_where_it_was_looked_for(void **state) {
    tly_gemm_adapter *adapter = (tly_gemm_adapter *)&context;
    tly_error error;
    (void)state;
    setenv("TILERY_MODULE_PATH", "/nowhere/one::/nowhere/two", 1);
    CHECK_RULE(tly_gemm_open(context, "absent", &adapter, &error), &error, TLY_MODULE,
               "module-missing");
    assert_null(adapter);
    assert_non_null(strstr(error.message, "tilery-gemm-absent.so"));
    assert_non_null(strstr(error.message, "/nowhere/one, /nowhere/two, "));
    assert_non_null(strstr(error.message, "/modules"));
    assert_non_null(strstr(error.message, "TILERY_MODULE_PATH"));
}

static void names_cannot_leave_the_search_path(void **state) {
    static const char *const names[] = {"",
                                        "../x",
                                        "a/b",
                                        "own.so",
                                        "Own",
                                        "own ",
                                        "a\nb",
                                        "%s",
                                        "\xC3\xA9",
                                        "/own",
                                        "a-name-of-more-than-thirty-one-characters"};
    tly_gemm_adapter *adapter;
    tly_error error;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK_RULE(tly_gemm_open(context, names[i], &adapter, &error), &error, TLY_INVALID_ARGUMENT,
                   "adapter-name");
        assert_null(adapter);
    }
    CHECK_RULE(tly_gemm_open(context, NULL, &adapter, &error), &error, TLY_INVALID_ARGUMENT,
               "adapter-name");
}

static void a_file_that_is_no_module_is_refused(void **state) {
    tly_gemm_adapter *adapter;
    tly_error error;
    (void)state;
    setenv("TILERY_MODULE_PATH", folder, 1);
    write_file("tilery-gemm-text.so", "not a library", 13);
    CHECK_RULE(tly_gemm_open(context, "text", &adapter, &error), &error, TLY_MODULE, "module-load");
    assert_non_null(strstr(error.message, "tilery-gemm-text.so"));
    remove_file("tilery-gemm-text.so");
    setenv("TILERY_MODULE_PATH", TLY_TEST_MODULES, 1);
    CHECK_RULE(tly_gemm_open(context, "nosymbol", &adapter, &error), &error, TLY_MODULE,
               "module-symbol");
    CHECK_RULE(tly_gemm_open(context, "oldabi", &adapter, &error), &error, TLY_MODULE,
               "module-abi");
    assert_non_null(strstr(error.message, "version 999"));
    assert_null(adapter);
}

static void the_list_takes_modules_and_nothing_else(void **state) {
    tly_gemm_list *list;
    tly_error error;
    int seen_b = 0, seen_a = 0;
    char twice[600];
    (void)state;
    write_file("tilery-gemm-bb.so", "", 0);
    write_file("tilery-gemm-aa.so", "", 0);
    write_file("tilery-gemm-.so", "", 0);
    write_file("tilery-gemm-Upper.so", "", 0);
    write_file("tilery-gemm-own.so", "", 0); /* the built-in one wins */
    write_file("tilery-other-x.so", "", 0);
    write_file("tilery-gemm-cc.txt", "", 0);
    snprintf(twice, sizeof twice, "/nowhere:%s:%s/.", folder, folder);
    setenv("TILERY_MODULE_PATH", twice, 1);
    CHECK_OK(tly_gemm_list_new(context, &list, &error), &error);
    assert_string_equal(tly_gemm_list_name(list, 0), "own");
    assert_string_equal(tly_gemm_list_path(list, 0), "");
    for (uint32_t i = 1; i < tly_gemm_list_num(list); i++) {
        const char *name = tly_gemm_list_name(list, i);
        assert_string_not_equal(name, "own");
        assert_string_not_equal(name, "");
        assert_string_not_equal(name, "Upper");
        assert_string_not_equal(name, "cc");
        if (i > 1) {
            assert_true(strcmp(tly_gemm_list_name(list, i - 1), name) < 0); /* sorted, once each */
        }
        if (strcmp(name, "bb") == 0) {
            char path[300];
            snprintf(path, sizeof path, "%s/tilery-gemm-bb.so", folder);
            assert_string_equal(tly_gemm_list_path(list, i), path);
            seen_b++;
        }
        seen_a += strcmp(name, "aa") == 0;
    }
    assert_int_equal(seen_a, 1);
    assert_int_equal(seen_b, 1);
    assert_null(tly_gemm_list_name(list, tly_gemm_list_num(list)));
    assert_null(tly_gemm_list_path(list, tly_gemm_list_num(list)));
    tly_gemm_list_free(list);
    tly_gemm_list_free(NULL);
    remove_file("tilery-gemm-bb.so");
    remove_file("tilery-gemm-aa.so");
    remove_file("tilery-gemm-.so");
    remove_file("tilery-gemm-Upper.so");
    remove_file("tilery-gemm-own.so");
    remove_file("tilery-other-x.so");
    remove_file("tilery-gemm-cc.txt");
}

/* ---- Products ---- */

static void problems_that_make_no_sense_are_refused(void **state) {
    tly_gemm_adapter *adapter = open_own();
    tly_panel_profile profile;
    tly_gemm *gemm;
    tly_error error;
    tly_gemm_problem p = f32_problem(2, 3, 4);
    (void)state;
    p.size--;
    CHECK_RULE(tly_gemm_query(adapter, &p, &profile, &error), &error, TLY_INVALID_ARGUMENT,
               "options-size");
    p = f32_problem(2, 3, 4);
    p.stored_nk = 2;
    CHECK_RULE(tly_gemm_query(adapter, &p, &profile, &error), &error, TLY_INVALID_ARGUMENT,
               "problem-fields");
    p = f32_problem(2, 3, 4);
    p.b_dtype = 0;
    CHECK_RULE(tly_gemm_query(adapter, &p, &profile, &error), &error, TLY_UNSUPPORTED,
               "element-type");
    p = f32_problem(2, 3, 4);
    p.c_dtype = TLY_F64;
    CHECK_RULE(tly_gemm_query(adapter, &p, &profile, &error), &error, TLY_UNSUPPORTED,
               "element-type");
    p = f32_problem(UINT64_MAX / 2, 3, 4);
    CHECK_RULE(tly_gemm_prepare(adapter, &p, NULL, &gemm, &error), &error, TLY_OVERFLOW,
               "product-size");
    assert_null(gemm);
    p = f32_problem(1, UINT64_C(1) << 31, UINT64_C(1) << 31);
    CHECK_RULE(tly_gemm_prepare(adapter, &p, NULL, &gemm, &error), &error, TLY_OVERFLOW,
               "product-size");
    tly_gemm_close(adapter);
    tly_gemm_close(NULL);
    tly_gemm_free(NULL);
}

static void profiles_of_another_product_are_refused(void **state) {
    tly_gemm_adapter *adapter = open_own();
    const tly_gemm_problem p = f32_problem(2, 3, 4);
    tly_panel_profile profile;
    tly_gemm *gemm;
    tly_error error;
    (void)state;
    CHECK_OK(tly_panel_by_name("nr8", TLY_F32, 1, &profile, &error), &error); /* N x K */
    CHECK_RULE(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error, TLY_INVALID_ARGUMENT,
               "profile-problem");
    CHECK_OK(tly_panel_by_name("nr8", TLY_F64, 0, &profile, &error), &error);
    CHECK_RULE(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error, TLY_INVALID_ARGUMENT,
               "profile-problem");
    CHECK_OK(tly_panel_by_name("cube_m16", TLY_F32, 0, &profile, &error), &error); /* operand A */
    CHECK_RULE(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error, TLY_INVALID_ARGUMENT,
               "profile-problem");
    CHECK_OK(tly_panel_by_name("cube_n8", TLY_F32, 0, &profile, &error), &error); /* 4 along K */
    CHECK_RULE(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error, TLY_NO_PANEL,
               "panel-form");
    profile.loops[0].step = 0;
    assert_int_not_equal(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), TLY_OK);
    assert_null(gemm);
    tly_gemm_close(adapter);
}

/* Panels that were made for other kernels are welcome as long as they are made of rows. */
static void own_multiplies_from_panels_of_other_widths(void **state) {
    static const char *const names[] = {"nr8", "nr16", "nr6", "ba16a64b", "ba16a16b"};
    tly_gemm_adapter *adapter = open_own();
    unsigned taken = 0;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const tly_gemm_problem p = f32_problem(3, 20, 5);
        tly_panel_profile profile;
        tly_error error;
        tly_gemm *gemm;
        if (tly_panel_by_name(names[i], TLY_F32, 0, &profile, &error) == TLY_OK) {
            CHECK_OK(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error);
            assert_true(tly_gemm_panel_len(gemm) >= 20 * 5 * 4);
            tly_gemm_free(gemm);
            taken++;
        }
    }
    assert_true(taken >= 3);
    tly_gemm_close(adapter);
}

static void matrices_that_do_not_fit_are_refused(void **state) {
    tly_gemm_adapter *adapter = open_own();
    const tly_gemm_problem p = f32_problem(2, 3, 4);
    float a[8] = {1, 2, 3, 4, 5, 6, 7, 8}, b[12] = {0}, c[6];
    _Alignas(64) float panel[64] = {0};
    tly_panel_profile profile;
    tly_gemm *gemm, *plain;
    tly_error error;
    uint64_t len;
    (void)state;
    CHECK_OK(tly_gemm_query(adapter, &p, &profile, &error), &error);
    CHECK_OK(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error);
    CHECK_OK(tly_gemm_prepare(adapter, &p, NULL, &plain, &error), &error);
    len = tly_gemm_panel_len(gemm);
    assert_true(len <= sizeof panel);
    CHECK_RULE(tly_gemm_run(gemm, a, 3, panel, len, c, 3, &error), &error, TLY_INVALID_ARGUMENT,
               "leading-dimension");
    CHECK_RULE(tly_gemm_run(gemm, a, 4, panel, len, c, 2, &error), &error, TLY_INVALID_ARGUMENT,
               "leading-dimension");
    CHECK_RULE(tly_gemm_run(gemm, a, UINT64_MAX, panel, len, c, 3, &error), &error,
               TLY_INVALID_ARGUMENT, "leading-dimension");
    CHECK_RULE(tly_gemm_run(gemm, NULL, 4, panel, len, c, 3, &error), &error, TLY_INVALID_ARGUMENT,
               "matrix-alignment");
    CHECK_RULE(tly_gemm_run(gemm, (char *)a + 1, 4, panel, len, c, 3, &error), &error,
               TLY_INVALID_ARGUMENT, "matrix-alignment");
    CHECK_RULE(tly_gemm_run(gemm, a, 4, panel, len, NULL, 3, &error), &error, TLY_INVALID_ARGUMENT,
               "matrix-alignment");
    CHECK_RULE(tly_gemm_run(gemm, a, 4, panel, len - 1, c, 3, &error), &error, TLY_MISMATCH,
               "panel-length");
    CHECK_RULE(tly_gemm_run(gemm, a, 4, panel, len + 4, c, 3, &error), &error, TLY_MISMATCH,
               "panel-length");
    CHECK_RULE(tly_gemm_run(gemm, a, 4, NULL, len, c, 3, &error), &error, TLY_INVALID_ARGUMENT,
               "panel-alignment");
    CHECK_RULE(tly_gemm_run(plain, a, 4, panel, len, c, 3, &error), &error, TLY_INVALID_ARGUMENT,
               "no-panel");
    CHECK_RULE(tly_gemm_plain(plain, a, 4, b, 2, c, 3, &error), &error, TLY_INVALID_ARGUMENT,
               "leading-dimension");
    CHECK_RULE(tly_gemm_plain(plain, a, 4, NULL, 3, c, 3, &error), &error, TLY_INVALID_ARGUMENT,
               "matrix-alignment");
    CHECK_RULE(tly_gemm_pack(gemm, b, 3, panel, len, &error), &error, TLY_UNSUPPORTED, "no-packer");
    CHECK_RULE(tly_gemm_probe(adapter, &p, &profile, &error), &error, TLY_UNSUPPORTED, "no-packer");
    assert_int_equal(profile.has_probe, 0);
    /* Errors are optional everywhere. */
    assert_int_equal(tly_gemm_run(gemm, a, 3, panel, len, c, 3, NULL), TLY_INVALID_ARGUMENT);
    CHECK_OK(tly_gemm_run(gemm, a, 4, panel, len, c, 3, NULL), &error);
    tly_gemm_free(gemm);
    tly_gemm_free(plain);
    tly_gemm_close(adapter);
}

/* No elements, no pointers; leading dimensions matter only from the second row on. */
static void empty_products_touch_nothing(void **state) {
    tly_gemm_adapter *adapter = open_own();
    tly_panel_profile profile;
    tly_gemm *gemm;
    tly_error error;
    float c[6] = {1, 2, 3, 4, 5, 6}, a[4] = {1, 1, 1, 1}, b[4] = {2, 3, 4, 5};
    tly_gemm_problem p = f32_problem(0, 5, 7);
    (void)state;
    CHECK_OK(tly_gemm_query(adapter, &p, &profile, &error), &error);
    CHECK_OK(tly_gemm_prepare(adapter, &p, NULL, &gemm, &error), &error);
    CHECK_OK(tly_gemm_plain(gemm, NULL, 0, NULL, 0, NULL, 0, &error), &error);
    tly_gemm_free(gemm);
    p = f32_problem(2, 0, 7);
    CHECK_OK(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error);
    assert_int_equal(tly_gemm_panel_len(gemm), 0);
    CHECK_OK(tly_gemm_run(gemm, NULL, 0, NULL, 0, NULL, 0, &error), &error);
    tly_gemm_free(gemm);
    p = f32_problem(2, 2, 0); /* nothing to add up: zero, and nothing beside it */
    CHECK_OK(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error);
    assert_int_equal(tly_gemm_panel_len(gemm), 0);
    CHECK_OK(tly_gemm_run(gemm, NULL, 0, NULL, 0, c, 3, &error), &error);
    assert_true(c[0] == 0 && c[1] == 0 && c[2] == 3 && c[3] == 0 && c[4] == 0 && c[5] == 6);
    CHECK_RULE(tly_gemm_run(gemm, NULL, 0, NULL, 0, c, 1, &error), &error, TLY_INVALID_ARGUMENT,
               "leading-dimension");
    tly_gemm_free(gemm);
    p = f32_problem(1, 1, 4);
    CHECK_OK(tly_gemm_prepare(adapter, &p, NULL, &gemm, &error), &error);
    CHECK_OK(tly_gemm_plain(gemm, a, 0, b, 1, c, 0, &error), &error);
    assert_true(c[0] == 14);
    tly_gemm_free(gemm);
    tly_gemm_close(adapter);
}

static void an_answer_in_another_layout_is_not_accepted(void **state) {
    tly_gemm_adapter *adapter = open_own();
    const tly_gemm_problem p = f32_problem(2, 3, 4);
    uint8_t bytes[TLY_PANEL_MAX_LEN];
    tly_panel_profile profile, other;
    tly_gemm *gemm, *plain;
    tly_error error;
    size_t len;
    (void)state;
    CHECK_OK(tly_gemm_query(adapter, &p, &profile, &error), &error);
    CHECK_OK(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error);
    CHECK_OK(tly_gemm_prepare(adapter, &p, NULL, &plain, &error), &error);
    other = profile;
    snprintf(other.kernel, sizeof other.kernel, "someone else's name for it");
    other.kernel_version++;
    CHECK_OK(tly_panel_encode(&other, bytes, sizeof bytes, &len, &error), &error);
    CHECK_OK(tly_gemm_accepts(gemm, bytes, len, &error), &error);
    CHECK_RULE(tly_gemm_accepts(plain, bytes, len, &error), &error, TLY_MISMATCH, "panel-layout");
    CHECK_OK(tly_panel_by_name("ba16a64b", TLY_F32, 0, &other, &error), &error);
    CHECK_OK(tly_panel_encode(&other, bytes, sizeof bytes, &len, &error), &error);
    CHECK_RULE(tly_gemm_accepts(gemm, bytes, len, &error), &error, TLY_MISMATCH, "panel-layout");
    assert_non_null(strstr(error.message, "wanted"));
    for (size_t cut = 0; cut < len; cut++) {
        assert_int_not_equal(tly_gemm_accepts(gemm, bytes, cut, &error), TLY_OK);
    }
    tly_gemm_free(gemm);
    tly_gemm_free(plain);
    tly_gemm_close(adapter);
}

/* oneDNN has a packer of its own; the hash of its panels must be what our packer gives. */
static void the_probe_of_onednn_agrees_with_our_packer(void **state) {
    tly_gemm_adapter *adapter;
    tly_error error;
    (void)state;
    setenv("TILERY_MODULE_PATH", good_path, 1);
    if (tly_gemm_open(context, "onednn", &adapter, &error) != TLY_OK) {
        print_message("# skip: %s\n", error.message);
        skip();
    }
    for (int nk = 0; nk < 2; nk++) {
        tly_gemm_problem p = f32_problem(8, 512, 128);
        tly_panel_profile profile;
        uint64_t expected;
        p.stored_nk = (uint8_t)nk;
        CHECK_OK(tly_gemm_query(adapter, &p, &profile, &error), &error);
        CHECK_OK(tly_gemm_probe(adapter, &p, &profile, &error), &error);
        assert_int_equal(profile.has_probe, 1);
        CHECK_OK(tly_panel_probe_expected(context, &profile, 0, &expected, &error), &error);
        assert_true(expected == profile.probe_hash);
    }
    tly_gemm_close(adapter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_missing_module_says_where_it_was_looked_for),
        cmocka_unit_test(names_cannot_leave_the_search_path),
        cmocka_unit_test(a_file_that_is_no_module_is_refused),
        cmocka_unit_test(the_list_takes_modules_and_nothing_else),
        cmocka_unit_test(problems_that_make_no_sense_are_refused),
        cmocka_unit_test(profiles_of_another_product_are_refused),
        cmocka_unit_test(own_multiplies_from_panels_of_other_widths),
        cmocka_unit_test(matrices_that_do_not_fit_are_refused),
        cmocka_unit_test(empty_products_touch_nothing),
        cmocka_unit_test(an_answer_in_another_layout_is_not_accepted),
        cmocka_unit_test(the_probe_of_onednn_agrees_with_our_packer),
    };
    const char *path = getenv("TILERY_MODULE_PATH");
    tly_error error;
    int failed;
    snprintf(good_path, sizeof good_path, "%s", path != NULL ? path : "");
    if (tly_context_new(NULL, &context, &error) != TLY_OK || mkdtemp(folder) == NULL) {
        fprintf(stderr, "no context or no folder for the test\n");
        return 1;
    }
    failed = cmocka_run_group_tests_name("gemm/refusals", tests, NULL, NULL);
    rmdir(folder);
    tly_context_free(context);
    return failed;
}
