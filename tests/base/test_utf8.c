/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <string.h>

#include "base/utf8.h"

/* Encodes a number as UTF-8 would, whether or not it may. */
static size_t encode(uint32_t c, int bytes, uint8_t *out) {
    static const uint8_t first[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    for (int i = bytes - 1; i > 0; i--) {
        out[i] = (uint8_t)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (uint8_t)(first[bytes] | c);
    return (size_t)bytes;
}

/* Every number in every length that can hold it: exactly the shortest form of a character passes.
 */
static void every_character(void **state) {
    static const uint32_t limit[] = {0, 0x80, 0x800, 0x10000, 0x200000};
    (void)state;
    for (int bytes = 1; bytes <= 4; bytes++) {
        for (uint32_t c = 0; c < limit[bytes]; c++) {
            uint8_t text[4];
            size_t len = encode(c, bytes, text);
            int good = c >= limit[bytes - 1] && c <= 0x10FFFF && !(c >= 0xD800 && c < 0xE000);
            if ((tly_base_utf8_check(text, len) == len) != good) {
                fail_msg("U+%X in %d bytes", c, bytes);
            }
        }
    }
}

static void names_the_first_bad_byte(void **state) {
    static const struct {
        const char *text;
        size_t bad;
    } cases[] = {{"", 0},
                 {"abc", 3},
                 {"ab\x80", 2},
                 {"a\xC3", 1},
                 {"a\xC3\xA9", 3},
                 {"a\xE2\x82", 1},
                 {"\xF5\x80\x80\x80", 0},
                 {"x\xFF", 1},
                 {"\xC3\xA9\xC3(", 2}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(tly_base_utf8_check(cases[i].text, strlen(cases[i].text)), cases[i].bad);
    }
    assert_int_equal(tly_base_utf8_check("a\0b", 3), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_character),
        cmocka_unit_test(names_the_first_bad_byte),
    };
    return cmocka_run_group_tests_name("base/utf8", tests, NULL, NULL);
}
