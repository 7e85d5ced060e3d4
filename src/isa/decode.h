/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_ISA_DECODE_H
#define TLY_ISA_DECODE_H

#include "isa/table.h"

/* A look-up by two runs of bits of a word, the lower one first: the place is
 * first + (word >> shift_a & mask_a) + ((word >> shift_b & mask_b) << width_a). */
typedef struct tly_isa_node {
    uint64_t bits; /* both runs, in place */
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

enum { TLY_ISA_NUM_CHECKS = 3, TLY_ISA_NUM_SLOTS = TLY_ISA_MAX_FIELDS, TLY_ISA_NUM_PIECES = 3 };

/* What the decoder needs of a form, in two cache lines and without loops or branches for nearly all
 * forms; `releases` is 0 for the others. */
typedef struct tly_isa_quick {
    uint64_t mask;
    uint64_t match;
    /* field rules: (word >> shift) & mask may be v if bit v of `allowed` is set */
    uint64_t allowed[TLY_ISA_NUM_CHECKS];
    /* one field may be split, signed or wide: its pieces, each turned to its place */
    uint64_t piece_masks[TLY_ISA_NUM_PIECES];
    uint16_t field_masks[TLY_ISA_NUM_SLOTS]; /* the other fields */
    uint8_t field_shifts[TLY_ISA_NUM_SLOTS];
    uint8_t check_shifts[TLY_ISA_NUM_CHECKS];
    uint8_t check_masks[TLY_ISA_NUM_CHECKS];
    uint8_t piece_turns[TLY_ISA_NUM_PIECES]; /* to the right */
    uint8_t special;                         /* index of that field */
    uint8_t extend;                          /* shifting it up and down by this extends its sign */
    uint8_t releases;
    uint16_t form; /* these four as in tly_isa_insn */
    uint8_t len;
    uint8_t num_fields;
    uint32_t reserved;
} __attribute__((aligned(64))) tly_isa_quick;

/* Generated. Two look-ups lead from a word to a row of tly_isa_quicks: roots by half the length
 * less one, buckets, nodes, children. */
#pragma GCC visibility push(hidden)
extern const tly_isa_node tly_isa_roots[4];
extern const uint16_t tly_isa_buckets[];
extern const tly_isa_node tly_isa_nodes[];
extern const uint16_t tly_isa_children[];
extern const tly_isa_quick tly_isa_quicks[];
#pragma GCC visibility pop

/* Whether the word is the form of its row, and one of the release that keeps its first rules. */
static inline uint64_t tly_isa_fits(uint64_t word, const tly_isa_quick *quick, uint32_t release) {
    uint64_t good =
        (uint64_t)((word & quick->mask) == quick->match) & (uint64_t)quick->releases >> release;
    for (int i = 0; i < TLY_ISA_NUM_CHECKS; i++) {
        good &= quick->allowed[i] >> (word >> quick->check_shifts[i] & quick->check_masks[i]);
    }
    return good & 1;
}

static inline void tly_isa_put_head(uint64_t word, const tly_isa_quick *quick,
                                    tly_isa_insn *out_insn) {
    out_insn->word = word;
    out_insn->form = quick->form;
    out_insn->len = quick->len;
    out_insn->num_fields = quick->num_fields;
    out_insn->reserved = quick->reserved;
}

/* The field that is split, signed or wide; the caller has put the others. */
static inline void tly_isa_put_special(uint64_t word, const tly_isa_quick *quick,
                                       tly_isa_insn *out_insn) {
    uint64_t value = 0;
    for (int i = 0; i < TLY_ISA_NUM_PIECES; i++) {
        uint32_t turn = quick->piece_turns[i];
        value |= (word >> turn | word << (-turn & 63)) & quick->piece_masks[i];
    }
    out_insn->fields[quick->special] = (int64_t)(value << quick->extend) >> quick->extend;
}

/* The decoder, one implementation a level: the arguments are checked, the rest is that of
 * tly_isa_decode. All hand over to tly_isa_decode_slowly what the quick way does not settle. */
tly_status tly_isa_decode_portable(uint64_t word, uint32_t len, tly_isa_release release,
                                   tly_isa_insn *out_insn, tly_error *error);
tly_status tly_isa_decode_avx2(uint64_t word, uint32_t len, tly_isa_release release,
                               tly_isa_insn *out_insn, tly_error *error);
tly_status tly_isa_decode_slowly(uint64_t word, uint32_t len, tly_isa_release release,
                                 tly_isa_insn *out_insn, tly_error *error);

/* Whether tly_isa_decode_avx2 runs here: AVX2, and BMI2 that is not microcode. */
int tly_isa_has_avx2(void);

/* Value of one field of a word, sign-extended where the field is signed. */
int64_t tly_isa_extract(uint64_t word, const tly_isa_field_row *field);

#endif
