/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "cli/text.h"

static void terminals_are_not_commanded(void **state) {
    char out[16];
    (void)state;
    assert_string_equal(tly_text_safe(out, sizeof out, "caf\xC3\xA9", 5), "caf\xC3\xA9");
    assert_string_equal(tly_text_safe(out, sizeof out, "a\x1B[31m\n\x7F", 8), "a?[31m??");
    assert_string_equal(tly_text_safe(out, sizeof out,
                                      "\xC2\x9B"
                                      "31m",
                                      5),
                        "?31m");
    assert_string_equal(tly_text_safe(out, 5, "ab\xE2\x82\xAC", 5), "ab");
    assert_string_equal(tly_text_safe(out, 6, "ab\xE2\x82\xAC", 5), "ab\xE2\x82\xAC");
    assert_string_equal(tly_text_safe(out, 1, "abc", 3), "");
    assert_string_equal(tly_text_safe(out, sizeof out, "a\xE9z\xC2", 4), "a\\xE9z\\xC2");
    assert_string_equal(tly_text_safe(out, sizeof out, "\xED\xA0\x80", 3), "\\xED\\xA0\\x80");
    assert_string_equal(tly_text_safe(out, 5, "\xE9\xE9", 2), "\\xE9");
}

static void distance_counts_edits_and_swaps(void **state) {
    (void)state;
    assert_int_equal(tly_text_distance("", ""), 0);
    assert_int_equal(tly_text_distance("", "abc"), 3);
    assert_int_equal(tly_text_distance("abc", ""), 3);
    assert_int_equal(tly_text_distance("serve", "serve"), 0);
    assert_int_equal(tly_text_distance("sevre", "serve"), 1);
    assert_int_equal(tly_text_distance("serv", "serve"), 1);
    assert_int_equal(tly_text_distance("import", "imports"), 1);
    assert_int_equal(tly_text_distance("kitten", "sitting"), 3);
    assert_int_equal(tly_text_distance("ab", "ba"), 1);
}

/* The textbook recursion, over every pair of short words. */
static uint32_t slow(const char *a, size_t n, const char *b, size_t m) {
    uint32_t best, other;
    if (n == 0 || m == 0) {
        return (uint32_t)(n + m);
    }
    best = slow(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]);
    other = slow(a, n - 1, b, m) + 1;
    best = other < best ? other : best;
    other = slow(a, n, b, m - 1) + 1;
    best = other < best ? other : best;
    if (n > 1 && m > 1 && a[n - 1] == b[m - 2] && a[n - 2] == b[m - 1]) {
        other = slow(a, n - 2, b, m - 2) + 1;
        best = other < best ? other : best;
    }
    return best;
}

static void distance_agrees_with_the_recursion(void **state) {
    check_rng rng = {7};
    (void)state;
    for (int i = 0; i < 400; i++) {
        char a[8] = "", b[8] = "";
        size_t n = check_below(&rng, 7), m = check_below(&rng, 7);
        for (size_t k = 0; k < n; k++) {
            a[k] = (char)('a' + check_below(&rng, 3));
        }
        for (size_t k = 0; k < m; k++) {
            b[k] = (char)('a' + check_below(&rng, 3));
        }
        assert_int_equal(tly_text_distance(a, b), slow(a, n, b, m));
    }
}

static void long_text_is_compared_by_its_head(void **state) {
    char a[100], b[100];
    (void)state;
    memset(a, 'x', sizeof a);
    memset(b, 'x', sizeof b);
    a[99] = b[99] = '\0';
    b[50] = 'y';
    assert_int_equal(tly_text_distance(a, b), 0);
}

static void wrapped(const char *text, const char *wanted) {
    char *got = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&got, &len);
    assert_non_null(out);
    tly_text_wrap(out, 2, 10, text);
    fclose(out);
    assert_string_equal(got, wanted);
    free(got);
}

static void text_is_wrapped(void **state) {
    (void)state;
    wrapped("", "");
    wrapped("one", "  one\n");
    wrapped("one two", "  one two\n");
    wrapped("one  two three", "  one two\n  three\n");
    wrapped("a verylongword b", "  a\n  verylongword\n  b\n");
}

static void sizes_are_readable(void **state) {
    char out[32];
    (void)state;
    assert_string_equal(tly_text_s(0), "s");
    assert_string_equal(tly_text_s(1), "");
    assert_string_equal(tly_text_s(2), "s");
    assert_string_equal(tly_text_bytes(out, sizeof out, 0), "0 B");
    assert_string_equal(tly_text_bytes(out, sizeof out, 1023), "1023 B");
    assert_string_equal(tly_text_bytes(out, sizeof out, 1536), "1.5 KiB");
    assert_string_equal(tly_text_bytes(out, sizeof out, 262144), "256 KiB");
    assert_string_equal(tly_text_bytes(out, sizeof out, UINT64_MAX), "16 EiB");
}

static void extents_are_read(void **state) {
    uint64_t got[3];
    (void)state;
    assert_int_equal(tly_text_extents("64", 0, UINT64_MAX, got, 3), 1);
    assert_int_equal(got[0], 64);
    assert_int_equal(tly_text_extents("0x7x18446744073709551615", 0, UINT64_MAX, got, 3), 3);
    assert_int_equal(got[0], 0);
    assert_int_equal(got[1], 7);
    assert_true(got[2] == UINT64_MAX);
    static const char *const wrong[] = {"",   "x",  "1x", "x1",      "1xx2",
                                        "-1", " 1", "1 ", "1x2x3x4", "18446744073709551616"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(tly_text_extents(wrong[i], 0, UINT64_MAX, got, 3), 0);
    }
    assert_int_equal(tly_text_extents("1x8", 1, 8, got, 3), 2);
    assert_int_equal(tly_text_extents("0x8", 1, 8, got, 3), 0);
    assert_int_equal(tly_text_extents("1x9", 1, 8, got, 3), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(terminals_are_not_commanded),
        cmocka_unit_test(distance_counts_edits_and_swaps),
        cmocka_unit_test(distance_agrees_with_the_recursion),
        cmocka_unit_test(long_text_is_compared_by_its_head),
        cmocka_unit_test(text_is_wrapped),
        cmocka_unit_test(sizes_are_readable),
        cmocka_unit_test(extents_are_read),
    };
    return cmocka_run_group_tests_name("cli/text", tests, NULL, NULL);
}
