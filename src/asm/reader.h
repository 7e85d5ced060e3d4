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

/* Skips blanks. Returns the next character without taking it, 0 at the end. */
char tly_asm_peek(tly_asm_reader *r);

/* The same without skipping blanks. */
char tly_asm_next(const tly_asm_reader *r);

/* Takes `text` if it comes next (after blanks; letters in either case). A word must not go on
 * behind a final letter or digit of `text`. */
int tly_asm_accept(tly_asm_reader *r, const char *text);

/* Takes a word: letters, digits, `_`, `.`, `$`; not starting with a digit. Returns its length, 0 if
 * none comes next. */
size_t tly_asm_word(tly_asm_reader *r, const char **out_word);

/* Takes an unsigned number: decimal, 0x, 0b, 0 octal is not octal but decimal. Returns 0 where none
 * comes next, -1 where it does not fit in 64 bits. */
int tly_asm_number(tly_asm_reader *r, uint64_t *out_value);

/* Is nothing left but blanks? */
int tly_asm_at_end(tly_asm_reader *r);

/* Fails at the place where the reader stands: "expected WHAT, found X". */
tly_status tly_asm_expected(tly_asm_reader *r, const char *what, tly_error *error);

#endif
