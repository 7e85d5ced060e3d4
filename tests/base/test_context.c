/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/context.h"

static void level_comes_from_options_then_environment(void **state) {
    tly_context *context;
    tly_error error;
    tly_context_options options = {.size = sizeof options, .simd = TLY_SIMD_PORTABLE};
    (void)state;
    setenv("TILERY_SIMD", "portable", 1);
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    assert_int_equal(tly_context_simd(context), TLY_SIMD_PORTABLE);
    tly_context_free(context);
    setenv("TILERY_SIMD", "mmx", 1);
    CHECK_RULE(tly_context_new(NULL, &context, &error), &error, TLY_INVALID_ARGUMENT, "simd-level");
    assert_null(context);
    CHECK_OK(tly_context_new(&options, &context, &error), &error);
    assert_int_equal(tly_context_simd(context), TLY_SIMD_PORTABLE);
    tly_context_free(context);
    unsetenv("TILERY_SIMD");
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    assert_int_equal(tly_context_simd(context), tly_simd_available());
    tly_context_free(context);
    tly_context_free(NULL);
}

static void options_of_another_size_are_refused(void **state) {
    tly_context *context;
    tly_error error;
    tly_context_options options = {.size = sizeof options - 1};
    (void)state;
    CHECK_RULE(tly_context_new(&options, &context, &error), &error, TLY_INVALID_ARGUMENT,
               "options-size");
}

static void *no_memory(void *user, void *old, size_t old_size, size_t new_size, size_t alignment) {
    (void)user, (void)old, (void)old_size, (void)new_size, (void)alignment;
    return NULL;
}

static void a_failing_allocator_is_reported(void **state) {
    tly_context *context;
    tly_error error;
    tly_context_options options = {.size = sizeof options, .allocator = {no_memory, NULL}};
    (void)state;
    assert_int_equal(tly_context_new(&options, &context, &error), TLY_OUT_OF_MEMORY);
    assert_null(context);
}

static void blocks_keep_alignment_when_they_grow(void **state) {
    tly_context *context;
    tly_error error;
    char *block;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    block = tly_base_alloc(context, 100, 64);
    assert_int_equal((uintptr_t)block % 64, 0);
    memset(block, 7, 100);
    block = tly_base_grow(context, block, 100, 100000, 64);
    assert_int_equal((uintptr_t)block % 64, 0);
    assert_int_equal(block[99], 7);
    tly_base_free(context, block, 100000, 64);
    assert_null(tly_base_alloc(context, 0, 1));
    tly_context_free(context);
}

static void catch_line(void *user, tly_log_level level, const char *line) {
    snprintf(user, 64, "%d %s", (int)level, line);
}

static void log_lines_below_the_level_are_dropped(void **state) {
    tly_context *context;
    tly_error error;
    char line[64] = "";
    tly_context_options options = {
        .size = sizeof options, .log_level = TLY_LOG_WARNING, .log = catch_line, .log_user = line};
    (void)state;
    CHECK_OK(tly_context_new(&options, &context, &error), &error);
    tly_base_log(context, TLY_LOG_INFO, "no");
    assert_string_equal(line, "");
    tly_base_log(context, TLY_LOG_WARNING, "yes %d", 5);
    assert_string_equal(line, "2 yes 5");
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(level_comes_from_options_then_environment),
        cmocka_unit_test(options_of_another_size_are_refused),
        cmocka_unit_test(a_failing_allocator_is_reported),
        cmocka_unit_test(blocks_keep_alignment_when_they_grow),
        cmocka_unit_test(log_lines_below_the_level_are_dropped),
    };
    return cmocka_run_group_tests_name("base/context", tests, NULL, NULL);
}
