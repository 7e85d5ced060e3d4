/* SPDX-License-Identifier: Apache-2.0 */
/* Comparing names that are plain ASCII and may be in either case, whatever the locale. */
#ifndef TLY_BASE_TEXT_H
#define TLY_BASE_TEXT_H

#include <stddef.h>
#include <string.h>

static inline char tly_text_upper(char ch) {
    return ch >= 'a' && ch <= 'z' ? (char)(ch - 32) : ch;
}

static inline char tly_text_lower(char ch) {
    return ch >= 'A' && ch <= 'Z' ? (char)(ch + 32) : ch;
}

/* Order of two texts without regard to case: negative, 0 or positive. */
static inline int tly_text_compare(const char *a, size_t a_len, const char *b, size_t b_len) {
    size_t common = a_len < b_len ? a_len : b_len;
    for (size_t i = 0; i < common; i++) {
        int order = (unsigned char)tly_text_upper(a[i]) - (unsigned char)tly_text_upper(b[i]);
        if (order != 0) {
            return order;
        }
    }
    return a_len < b_len ? -1 : a_len > b_len;
}

static inline int tly_text_equal(const char *a, size_t len, const char *b) {
    return tly_text_compare(a, len, b, strlen(b)) == 0;
}

#endif
