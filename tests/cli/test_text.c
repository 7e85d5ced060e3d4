/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <string.h>

#include "cli/text.h"

static int valid(const char *text) {
    return tly_text_is_utf8(text, strlen(text));
}

static void utf8_is_told_from_other_bytes(void **state) {
    (void)state;
    assert_true(valid(""));
    assert_true(valid("plain"));
    assert_true(valid("\xC3\xA9"));
    assert_true(valid("\xE2\x82\xAC"));
    assert_true(valid("\xF0\x9F\x98\x80"));
    assert_false(valid("\x80"));
    assert_false(valid("\xC3"));
    assert_false(valid("\xC0\xAF"));
    assert_false(valid("\xE0\x80\x80"));
    assert_false(valid("\xED\xA0\x80"));
    assert_false(valid("\xF4\x90\x80\x80"));
    assert_false(valid("\xFF"));
    assert_false(valid("\xE2\x82"));
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

static void sizes_are_readable(void **state) {
    char out[32];
    (void)state;
    assert_string_equal(tly_text_bytes(out, sizeof out, 0), "0 B");
    assert_string_equal(tly_text_bytes(out, sizeof out, 1023), "1023 B");
    assert_string_equal(tly_text_bytes(out, sizeof out, 1536), "1.5 KiB");
    assert_string_equal(tly_text_bytes(out, sizeof out, 262144), "256 KiB");
    assert_string_equal(tly_text_bytes(out, sizeof out, UINT64_MAX), "16 EiB");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test(distance_counts_edits_and_swaps),
        cmocka_unit_test(distance_agrees_with_the_recursion),
        cmocka_unit_test(long_text_is_compared_by_its_head),
        cmocka_unit_test(sizes_are_readable),
    };
    return cmocka_run_group_tests_name("cli/text", tests, NULL, NULL);
}
