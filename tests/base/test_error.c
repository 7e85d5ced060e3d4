/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <errno.h>
#include <string.h>

#include "base/error.h"

static void message_is_formatted_and_cut(void **state) {
    tly_error error;
    char big[2000];
    (void)state;
    memset(big, 'x', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    assert_int_equal(tly_base_fail(&error, TLY_MALFORMED, 7, "a-rule", "got %d", 3), TLY_MALFORMED);
    assert_string_equal(error.message, "got 3");
    assert_string_equal(error.rule, "a-rule");
    assert_true(error.offset == 7);
    tly_base_fail(&error, TLY_MALFORMED, TLY_NO_OFFSET, big, "%s", big);
    assert_int_equal(strlen(error.message), sizeof error.message - 1);
    assert_int_equal(strlen(error.rule), sizeof error.rule - 1);
    assert_int_equal(tly_base_fail(NULL, TLY_LIMIT, 0, "", "nobody listens"), TLY_LIMIT);
}

static void errno_text_is_appended(void **state) {
    tly_error error;
    (void)state;
    assert_int_equal(tly_base_fail_errno(&error, ENOENT, "cannot open %s", "x"), TLY_IO);
    assert_string_equal(error.message, "cannot open x: No such file or directory");
}

static void outside_text_is_made_printable(void **state) {
    char out[16];
    (void)state;
    assert_string_equal(tly_base_printable(out, sizeof out, "a\nb", 3), "a\\x0Ab");
    assert_string_equal(tly_base_printable(out, sizeof out, "0123456789abcdefgh", 18),
                        "0123456789ab...");
    assert_string_equal(tly_base_printable(out, sizeof out, "", 0), "");
}

static void every_status_has_a_name_and_a_text(void **state) {
    (void)state;
    for (tly_status s = TLY_OK; s <= TLY_STEP_LIMIT; s++) {
        assert_string_not_equal(tly_status_name(s), "?");
        assert_true(strlen(tly_status_text(s)) > 5 || s == TLY_OK);
    }
    assert_string_equal(tly_status_name(-1), "?");
    assert_string_equal(tly_status_name(TLY_STEP_LIMIT + 1), "?");
    assert_int_equal(tly_status_exit_code(TLY_OK), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(message_is_formatted_and_cut),
        cmocka_unit_test(errno_text_is_appended),
        cmocka_unit_test(outside_text_is_made_printable),
        cmocka_unit_test(every_status_has_a_name_and_a_text),
    };
    return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
