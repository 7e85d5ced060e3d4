/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions do, in words; kept out of table.c so that decoding does not carry the text. */
#ifndef TLY_ISA_WORDS_H
#define TLY_ISA_WORDS_H

#include <stdint.h>

#include <tilery/isa.h>

enum { TLY_ISA_EXAMPLE_ADDRESS = 0x1000 }; /* where the examples are assembled */

const char *tly_isa_words_of(uint32_t form);
const char *tly_isa_example_of(uint32_t form);
const char *tly_isa_tileop_words(const tly_isa_tileop *op);

#endif
