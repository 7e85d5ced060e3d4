/* SPDX-License-Identifier: Apache-2.0 */
#include "base/utf8.h"

#include <stdint.h>

/* Continuation bytes that a first byte asks for, and the range of the first of them: the table of
 * well-formed sequences of the Unicode standard. Returns -1 for a byte that begins nothing. */
static int sequence(uint8_t first, uint8_t *low, uint8_t *high) {
    *low = 0x80;
    *high = 0xBF;
    if (first < 0x80) {
        return 0;
    }
    if (first < 0xC2 || first > 0xF4) {
        return -1;
    }
    if (first < 0xE0) {
        return 1;
    }
    if (first < 0xF0) {
        *low = first == 0xE0 ? 0xA0 : 0x80;
        *high = first == 0xED ? 0x9F : 0xBF;
        return 2;
    }
    *low = first == 0xF0 ? 0x90 : 0x80;
    *high = first == 0xF4 ? 0x8F : 0xBF;
    return 3;
}

size_t tly_base_utf8_check(const void *text, size_t len) {
    const uint8_t *bytes = text;
    size_t at = 0;
    while (at < len) {
        uint8_t low, high;
        int more = sequence(bytes[at], &low, &high);
        if (more < 0 || (size_t)more >= len - at) {
            return at;
        }
        for (int i = 1; i <= more; i++) {
            uint8_t b = bytes[at + (size_t)i];
            if (b < low || b > high) {
                return at;
            }
            low = 0x80;
            high = 0xBF;
        }
        at += (size_t)more + 1;
    }
    return len;
}
