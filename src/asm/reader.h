/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor over one line of assembly text. */
#ifndef TLY_ASM_READER_H
#define TLY_ASM_READER_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/status.h>

typedef struct tly_asm_reader {
    const char *text;
    size_t len;
    size_t at;
} tly_asm_reader;

/* Bit 0: part of a word; bit 1: a digit. */
extern const uint8_t tly_asm_classes[256] __attribute__((visibility("hidden")));

static inline int tly_asm_is_word(char ch) {
    return (tly_asm_classes[(unsigned char)ch] & 1) != 0;
}

static inline int tly_asm_is_digit(char ch) {
    return (tly_asm_classes[(unsigned char)ch] & 2) != 0;
}

/* The next character without taking it, 0 at the end. */
static inline char tly_asm_next(const tly_asm_reader *r) {
    return r->at < r->len ? r->text[r->at] : '\0';
}

/* The same after skipping blanks. */
static inline char tly_asm_peek(tly_asm_reader *r) {
    while (r->at < r->len && (r->text[r->at] == ' ' || r->text[r->at] == '\t')) {
        r->at++;
    }
    return tly_asm_next(r);
}

/* Takes `text` if it comes next (after blanks; letters in either case). A word must not go on
 * behind a final letter or digit of `text`. */
int tly_asm_accept(tly_asm_reader *r, const char *text);

/* Takes a word: letters, digits, `_`, `.`, `$`; not starting with a digit. Returns its length, 0 if
 * none comes next. */
size_t tly_asm_word(tly_asm_reader *r, const char **out_word);

/* Takes an unsigned number: decimal, 0x, 0b, 0 octal is not octal but decimal. Returns 0 where none
 * comes next, -1 where it does not fit in 64 bits. */
int tly_asm_number(tly_asm_reader *r, uint64_t *out_value);

/* One of the letters that name a queue or a hand, behind which `#` begins a distance. */
static inline int tly_asm_is_hand(char ch) {
    switch (ch | 32) {
    case 't':
    case 'u':
    case 'm':
    case 'n':
        return 1;
    default:
        return 0;
    }
}

/* Is nothing left but blanks? */
int tly_asm_at_end(tly_asm_reader *r);

/* Fails at the place where the reader stands: "expected WHAT, found X". */
tly_status tly_asm_expected(tly_asm_reader *r, const char *what, tly_error *error);

#endif
