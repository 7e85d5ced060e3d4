/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/reader.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

const uint8_t tly_asm_classes[256] = {
    ['0' ... '9'] = 3, ['A' ... 'Z'] = 1, ['a' ... 'z'] = 1, ['_'] = 1, ['.'] = 1, ['$'] = 1};

int tly_asm_accept(tly_asm_reader *r, const char *text) {
    size_t len;
    if (tly_text_upper(tly_asm_peek(r)) != tly_text_upper(text[0])) {
        return 0;
    }
    len = strlen(text);
    if (len > r->len - r->at || tly_text_compare(r->text + r->at, len, text, len) != 0) {
        return 0;
    }
    if (tly_asm_is_word(text[len - 1]) && text[len - 1] != '.' && r->at + len < r->len &&
        tly_asm_is_word(r->text[r->at + len]) && r->text[r->at + len] != '.') {
        return 0;
    }
    r->at += len;
    return 1;
}

size_t tly_asm_word(tly_asm_reader *r, const char **out_word) {
    size_t start;
    if (!tly_asm_is_word(tly_asm_peek(r)) || tly_asm_is_digit(tly_asm_next(r))) {
        return 0;
    }
    start = r->at;
    while (r->at < r->len && tly_asm_is_word(r->text[r->at])) {
        r->at++;
    }
    *out_word = r->text + start;
    return r->at - start;
}

static int digit_value(char ch) {
    if (tly_asm_is_digit(ch)) {
        return ch - '0';
    }
    ch = tly_text_lower(ch);
    return ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : 99;
}

int tly_asm_number(tly_asm_reader *r, uint64_t *out_value) {
    uint64_t value = 0;
    int base = 10, fits = 1;
    size_t start;
    if (!tly_asm_is_digit(tly_asm_peek(r))) {
        return 0;
    }
    if (tly_asm_next(r) == '0' && r->at + 2 < r->len + 1) {
        char kind = r->at + 1 < r->len ? tly_text_lower(r->text[r->at + 1]) : '\0';
        char digit = r->at + 2 < r->len ? r->text[r->at + 2] : '\0';
        if (kind == 'x' && digit_value(digit) < 16) {
            base = 16;
            r->at += 2;
        } else if (kind == 'b' && (digit == '0' || digit == '1')) {
            base = 2;
            r->at += 2;
        }
    }
    start = r->at;
    if (base == 10) { /* what cannot overflow, quickly */
        for (; tly_asm_is_digit(tly_asm_next(r)) && r->at - start < 18; r->at++) {
            value = value * 10 + (uint64_t)(tly_asm_next(r) - '0');
        }
    }
    for (; digit_value(tly_asm_next(r)) < base; r->at++) {
        if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
            __builtin_add_overflow(value, (uint64_t)digit_value(tly_asm_next(r)), &value)) {
            fits = 0;
        }
    }
    *out_value = value;
    return r->at == start ? 0 : fits ? 1 : -1;
}

int tly_asm_at_end(tly_asm_reader *r) {
    return tly_asm_peek(r) == '\0';
}

tly_status tly_asm_expected(tly_asm_reader *r, const char *what, tly_error *error) {
    char shown[48];
    size_t end;
    tly_asm_peek(r);
    if (error == NULL) {
        return TLY_MALFORMED;
    }
    end = r->at;
    while (end < r->len && end - r->at < 24 && r->text[end] != ' ' && r->text[end] != ',') {
        end++;
    }
    if (end == r->at) {
        end = r->at < r->len ? r->at + 1 : r->at;
    }
    if (end == r->at) {
        return tly_base_fail(error, TLY_MALFORMED, r->at, "asm-operand",
                             "expected %s, but the line ends", what);
    }
    tly_base_printable(shown, sizeof shown, r->text + r->at, end - r->at);
    return tly_base_fail(error, TLY_MALFORMED, r->at, "asm-operand", "expected %s, found \"%s\"",
                         what, shown);
}
