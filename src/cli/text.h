/* SPDX-License-Identifier: Apache-2.0 */
/* Small questions about text that the command needs in several places. */
#ifndef TLY_CLI_TEXT_H
#define TLY_CLI_TEXT_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Copies text for a terminal: control characters become "?", bytes that are no UTF-8 become \xNN,
 * and what does not fit is cut between characters. Returns `out`. */
const char *tly_text_safe(char *out, size_t capacity, const char *text, size_t len);

/* Number of insertions, deletions, replacements and swaps of neighbours that turn `a` into `b`,
 * looking at the first 31 bytes of each. */
uint32_t tly_text_distance(const char *a, const char *b);

/* "1 tensor", "2 tensors": for `fprintf(out, "%llu tensor%s", num, tly_text_s(num))`. */
const char *tly_text_s(uint64_t num);

/* Prints text in lines of at most `width` bytes, broken at spaces, each behind `indent` spaces. A
 * word that is too long stands alone. */
void tly_text_wrap(FILE *out, size_t indent, size_t width, const char *text);

/* "1.5 MiB": three significant digits and a binary unit. Returns `out`. */
const char *tly_text_bytes(char *out, size_t capacity, uint64_t bytes);

/* Reads extents as in "64x128". Returns how many there are; 0 for what is no list of 1 to `room`
 * extents, each from `min` to `max`. */
uint32_t tly_text_extents(const char *text, uint64_t min, uint64_t max, uint64_t *out_extents,
                          uint32_t room);

#endif
