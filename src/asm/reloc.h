/* SPDX-License-Identifier: Apache-2.0 */
/* Relocations of PTO objects: which number patches which bits, and how. */
#ifndef TLY_ASM_RELOC_H
#define TLY_ASM_RELOC_H

#include <stdint.h>

#include <tilery/status.h>

#include "isa/table.h"

/* What is put into the bits; S + A is the target, P the patched place. */
typedef enum tly_reloc_value {
    TLY_RELOC_NONE,
    TLY_RELOC_HALFWORDS, /* (S + A - P) / 2 */
    TLY_RELOC_BYTES,     /* S + A - P, even */
    TLY_RELOC_WORDS,     /* (S + A - (P & ~3)) / 4: how PC-relative loads and stores count */
    TLY_RELOC_PAGES,     /* page of S + A minus page of P */
    TLY_RELOC_LOW12,     /* low 12 bits of S + A */
    TLY_RELOC_ABSOLUTE,  /* S + A */
    TLY_RELOC_DISTANCE,  /* S + A - P */
    TLY_RELOC_DYNAMIC    /* only a dynamic linker could do it */
} tly_reloc_value;

typedef struct tly_reloc_row {
    uint8_t type;
    uint8_t len; /* bytes that are read and written */
    uint8_t value;
    uint8_t width; /* bits of the value */
    uint8_t is_signed;
    uint8_t num_pieces;
    tly_isa_piece pieces[3];
    const char *name;
} tly_reloc_row;

/* NULL for a number that is none. */
const tly_reloc_row *tly_reloc_find(uint32_t type);

/* Relocation for a field of a form whose operand is of `kind`; NULL if there is none. `out_offset`
 * gets where the patched place lies from the start of the instruction. */
const tly_reloc_row *tly_reloc_for(const tly_isa_form_row *form, uint32_t field, uint32_t kind,
                                   uint32_t *out_offset);

/* Relocation for a datum of 4 or 8 bytes; NULL for other lengths. */
const tly_reloc_row *tly_reloc_for_data(uint32_t len, int relative);

/* Patches `bytes` (row->len of them). Errors: MALFORMED with the rule "reloc-range", "reloc-align"
 * or "reloc-dynamic". */
tly_status tly_reloc_apply(const tly_reloc_row *row, uint8_t *bytes, uint64_t target,
                           uint64_t place, tly_error *error);

#endif
