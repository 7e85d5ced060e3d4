/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_ISA_DECODE_H
#define TLY_ISA_DECODE_H

#include "isa/table.h"

/* A look-up by two runs of bits of a word: the place is
 * first + (word >> shift_a & mask_a) + ((word >> shift_b & mask_b) << width_a). */
typedef struct tly_isa_node {
    uint16_t first;
    uint8_t mask_a;
    uint8_t mask_b;
    uint8_t shift_a;
    uint8_t shift_b;
    uint8_t width_a;
} tly_isa_node;

typedef struct tly_isa_leaf {
    uint16_t first; /* in tly_isa_leaf_forms */
    uint16_t count;
} tly_isa_leaf;

/* A field rule: value `(word >> shift) & mask` may be v if bit v of `allowed` is set. */
typedef struct tly_isa_check {
    uint64_t allowed;
    uint8_t shift;
    uint8_t mask;
} tly_isa_check;

/* A further piece of a split field. */
typedef struct tly_isa_extra {
    uint32_t mask;
    uint8_t right;
    uint8_t left;
    uint8_t field;
} tly_isa_extra;

enum { TLY_ISA_NUM_CHECKS = 2, TLY_ISA_NUM_SLOTS = 6, TLY_ISA_NUM_EXTRAS = 2 };

/* What the decoder needs of a form, in one place and without loops or branches for nearly all
 * forms; `releases` is 0 for the others. */
typedef struct tly_isa_quick {
    uint64_t mask;
    uint64_t match;
    tly_isa_check checks[TLY_ISA_NUM_CHECKS];
    uint32_t field_masks[TLY_ISA_NUM_SLOTS]; /* lowest piece of each field */
    tly_isa_extra extras[TLY_ISA_NUM_EXTRAS];
    uint8_t field_shifts[TLY_ISA_NUM_SLOTS];
    uint8_t signed_field;
    uint8_t extend; /* shifting the signed field up and down by this extends its sign */
    uint16_t form;
    uint8_t releases;
    uint8_t num_fields;
} tly_isa_quick;

/* Value of one field of a word, sign-extended where the field is signed. */
int64_t tly_isa_extract(uint64_t word, const tly_isa_field_row *field);

#endif
