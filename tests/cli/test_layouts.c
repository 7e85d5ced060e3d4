/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/layouts.h"

static tly_layouts layouts;
static tly_error error;

static void nothing_asked_takes_native(void **state) {
    (void)state;
    tly_layouts_init(&layouts);
    assert_true(tly_layouts_takes_native(&layouts));
    assert_int_equal(layouts.num, 0);
}

static void core_names_and_native_end_the_list(void **state) {
    (void)state;
    tly_layouts_init(&layouts);
    CHECK_OK(tly_layouts_add(&layouts, "col-major", 0, &error), &error);
    assert_false(tly_layouts_takes_native(&layouts));
    CHECK_OK(tly_layouts_add(&layouts, "native", 0, &error), &error);
    CHECK_OK(tly_layouts_add(&layouts, "row-major", 0, &error), &error);
    assert_true(tly_layouts_takes_native(&layouts));
    assert_int_equal(layouts.num, 1);
    assert_int_equal(layouts.entries[0].tag, TLY_LAYOUT_COL_MAJOR);
    assert_null(layouts.entries[0].profile);
}

static void core_names_are_those_of_the_format(void **state) {
    static const char *const names[] = {"row-major", "column-major", "col-major"};
    (void)state;
    tly_layouts_init(&layouts);
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(tly_layouts_add(&layouts, names[i], 0, &error), &error);
    }
    assert_string_equal(tly_layout_name(layouts.entries[0].tag), names[0]);
    assert_string_equal(tly_layout_name(layouts.entries[1].tag), names[1]);
    assert_int_equal(layouts.entries[2].tag, layouts.entries[1].tag);
    CHECK_RULE(tly_layouts_add(&layouts, "", 0, &error), &error, TLY_NOT_FOUND, "layout-name");
}

static void a_panel_comes_in_every_type_it_has(void **state) {
    const char *name;
    (void)state;
    for (uint32_t i = 0; (name = tly_panel_name(i)) != NULL; i++) {
        for (int transposed = 0; transposed < 2; transposed++) {
            uint8_t seen[256] = {0};
            tly_layouts_init(&layouts);
            CHECK_OK(tly_layouts_add(&layouts, name, transposed, &error), &error);
            assert_true(layouts.num > 0);
            for (uint32_t e = 0; e < layouts.num; e++) {
                const tly_panel_profile *profile = layouts.entries[e].profile;
                tly_panel_profile wanted;
                assert_ptr_equal(profile, &layouts.profiles[e]);
                assert_false(seen[profile->dtype]);
                seen[profile->dtype] = 1;
                CHECK_OK(tly_panel_by_name(name, profile->dtype, transposed, &wanted, &error),
                         &error);
                assert_memory_equal(profile, &wanted, sizeof wanted);
            }
        }
    }
}

static void case_does_not_matter(void **state) {
    tly_panel_profile wanted;
    (void)state;
    tly_layouts_init(&layouts);
    CHECK_OK(tly_layouts_add(&layouts, "Row-Major", 0, &error), &error);
    CHECK_OK(tly_layouts_add(&layouts, "BA16a64b", 0, &error), &error);
    assert_int_equal(layouts.entries[0].tag, TLY_LAYOUT_ROW_MAJOR);
    CHECK_OK(tly_panel_by_name("ba16a64b", layouts.profiles[1].dtype, 0, &wanted, &error), &error);
    assert_memory_equal(layouts.entries[1].profile, &wanted, sizeof wanted);
    CHECK_OK(tly_layouts_add(&layouts, "NATIVE", 0, &error), &error);
    assert_true(tly_layouts_takes_native(&layouts));
}

/* All core layouts that a server makes can be asked for; two of them are also names for places of
 * programs, where a tag alone has to say everything. */
static void core_layouts(void **state) {
    static const struct {
        const char *name;
        uint8_t tag;
        int is_plain;
    } all[] = {{"row-major", TLY_LAYOUT_ROW_MAJOR, 1},
               {"column-major", TLY_LAYOUT_COL_MAJOR, 1},
               {"strided", TLY_LAYOUT_STRIDED, 0},
               {"tiled", TLY_LAYOUT_TILED, 0},
               {"morton", TLY_LAYOUT_MORTON, 0},
               {"hilbert", TLY_LAYOUT_HILBERT, 0},
               {"coo", TLY_LAYOUT_COO, 0},
               {"csr", TLY_LAYOUT_CSR, 0},
               {"csc", TLY_LAYOUT_CSC, 0},
               {"csf", TLY_LAYOUT_CSF, 0},
               {"block-paged", TLY_LAYOUT_BLOCK_PAGED, 0}};
    (void)state;
    tly_layouts_init(&layouts);
    for (uint32_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        CHECK_OK(tly_layouts_add(&layouts, all[i].name, 0, &error), &error);
        assert_int_equal(layouts.num, i + 1);
        assert_int_equal(layouts.entries[i].tag, all[i].tag);
        assert_int_equal(tly_layouts_core_tag(all[i].name), all[i].is_plain ? all[i].tag : 0);
    }
}

static void misspelt_names_are_answered(void **state) {
    (void)state;
    tly_layouts_init(&layouts);
    CHECK_RULE(tly_layouts_add(&layouts, "row-magor", 0, &error), &error, TLY_NOT_FOUND,
               "layout-name");
    assert_non_null(strstr(error.message, "did you mean \"row-major\"?"));
    CHECK_RULE(tly_layouts_add(&layouts, "zzzzzzzz\n", 0, &error), &error, TLY_NOT_FOUND,
               "layout-name");
    assert_non_null(strstr(error.message, "zzzzzzzz\\x0A"));
    assert_non_null(strstr(error.message, "--list-layouts"));
}

static void profiles_come_from_files(void **state) {
    char path[] = "/tmp/tilery-profile-XXXXXX";
    int fd = mkstemp(path);
    uint8_t bytes[TLY_PANEL_MAX_LEN];
    tly_panel_profile profile;
    size_t len;
    (void)state;
    assert_true(fd >= 0);
    CHECK_OK(tly_panel_by_name(tly_panel_name(0), TLY_F32, 1, &profile, &error), &error);
    CHECK_OK(tly_panel_encode(&profile, bytes, sizeof bytes, &len, &error), &error);
    assert_int_equal(write(fd, bytes, len), len);
    tly_layouts_init(&layouts);
    CHECK_OK(tly_layouts_add(&layouts, path, 0, &error), &error);
    assert_int_equal(layouts.num, 1);
    assert_memory_equal(layouts.entries[0].profile, &profile, sizeof profile);

    assert_int_equal(ftruncate(fd, (off_t)len - 1), 0);
    assert_true(tly_layouts_add(&layouts, path, 0, &error) != TLY_OK);
    assert_non_null(strstr(error.message, path));
    assert_int_equal(ftruncate(fd, 100000), 0);
    assert_true(tly_layouts_add(&layouts, path, 0, &error) != TLY_OK);
    assert_int_equal(ftruncate(fd, 0), 0);
    assert_true(tly_layouts_add(&layouts, path, 0, &error) != TLY_OK);
    assert_int_equal(layouts.num, 1);
    close(fd);
    unlink(path);
    CHECK_RULE(tly_layouts_add(&layouts, "/tmp", 0, &error), &error, TLY_IO, "");
}

static void too_many_are_refused(void **state) {
    tly_status status = TLY_OK;
    (void)state;
    tly_layouts_init(&layouts);
    for (int i = 0; i < TLY_LAYOUTS_MAX; i++) {
        CHECK_OK(tly_layouts_add(&layouts, "row-major", 0, &error), &error);
    }
    status = tly_layouts_add(&layouts, "row-major", 0, &error);
    assert_int_equal(status, TLY_LIMIT);
}

static void auto_asks_what_is_here(void **state) {
    tly_tensor_facts facts = {.dtype = TLY_F32, .rank = 2, .shape = {512, 128}};
    tly_context *context;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    tly_layouts_init(&layouts);
    CHECK_OK(tly_layouts_add_auto(&layouts, context, &facts, 1, 8, "own", &error), &error);
    assert_int_equal(layouts.num, 1);
    assert_int_equal(layouts.entries[0].profile->k_axis, 1);
    tly_layouts_init(&layouts);
    CHECK_OK(tly_layouts_add_auto(&layouts, context, &facts, 0, 8, NULL, &error), &error);
    assert_true(layouts.num >= 1);
    assert_non_null(strstr(layouts.entries[layouts.num - 1].profile->kernel, "tilery"));
    assert_int_equal(layouts.entries[0].profile->k_axis, 0);
    assert_int_equal(
        tly_layouts_add_auto(&layouts, context, &facts, 0, 8, "no_such_kernel", &error),
        TLY_MODULE);
    facts.rank = 3;
    CHECK_RULE(tly_layouts_add_auto(&layouts, context, &facts, 0, 8, NULL, &error), &error,
               TLY_UNSUPPORTED, "layout-auto");
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_asked_takes_native),
        cmocka_unit_test(core_names_and_native_end_the_list),
        cmocka_unit_test(core_names_are_those_of_the_format),
        cmocka_unit_test(a_panel_comes_in_every_type_it_has),
        cmocka_unit_test(case_does_not_matter),
        cmocka_unit_test(core_layouts),
        cmocka_unit_test(misspelt_names_are_answered),
        cmocka_unit_test(profiles_come_from_files),
        cmocka_unit_test(too_many_are_refused),
        cmocka_unit_test(auto_asks_what_is_here),
    };
    return cmocka_run_group_tests_name("cli/layouts", tests, NULL, NULL);
}
