/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_ASM_SUGGEST_H
#define TLY_ASM_SUGGEST_H

#include <stddef.h>

/* The mnemonic that is nearest to a misspelt one, NULL if none is near. */
const char *tly_asm_suggest_mnemonic(const char *name, size_t len);

/* Number of letters to insert, drop or change to turn one text into the other, in any case;
 * anything above `limit` comes back as limit + 1. Texts of up to 63 letters. */
unsigned tly_asm_distance(const char *a, size_t a_len, const char *b, size_t b_len, unsigned limit);

#endif
