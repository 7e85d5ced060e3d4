/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_ISA_DECODE_H
#define TLY_ISA_DECODE_H

#include <stdbool.h>
#include <string.h>

#include "isa/table.h"

/* A look-up by bits of a word, drawn together: the place is first + PEXT(word, bits). */
typedef struct tly_isa_node {
    uint64_t bits;
    uint64_t first;
} tly_isa_node;

/* The same without PEXT: the bits are two runs, the lower one first, and the place is
 * first + (word >> shift_a & mask_a) + ((word >> shift_b & mask_b) << width_a). */
typedef struct tly_isa_runs {
    uint16_t first;
    uint8_t mask_a;
    uint8_t mask_b;
    uint8_t shift_a;
    uint8_t shift_b;
    uint8_t width_a;
} tly_isa_runs;

typedef struct tly_isa_leaf {
    uint16_t first; /* in tly_isa_leaf_forms */
    uint16_t count;
} tly_isa_leaf;

enum { TLY_ISA_NUM_CHECKS = 4, TLY_ISA_NUM_SLOTS = 8, TLY_ISA_NUM_PIECES = 3 };

/* What the decoder needs of a form, in two cache lines and without loops or branches for nearly all
 * forms; `releases` is 0 for the others. */
typedef struct tly_isa_quick {
    uint64_t mask; /* has all bits above the word */
    uint64_t match;
    /* field rules: (word >> shift) & mask may be v if bit v of `allowed` is set */
    uint64_t allowed[TLY_ISA_NUM_CHECKS];
    /* one field may be split, signed or wide: its bits in the word, as two runs that rise with the
     * value; the second goes `run_width` bits above the first */
    uint64_t runs[2];
    uint16_t field_masks[TLY_ISA_NUM_SLOTS]; /* the other fields */
    uint8_t field_shifts[TLY_ISA_NUM_SLOTS];
    uint8_t check_shifts[TLY_ISA_NUM_CHECKS];
    uint8_t check_masks[TLY_ISA_NUM_CHECKS];
    uint16_t form; /* these four as in tly_isa_insn */
    uint8_t len;
    uint8_t num_fields;
    uint32_t reserved;
    uint8_t special; /* index of that field */
    uint8_t run_width;
    uint8_t up; /* shifting it up and down by these puts it in its place and extends its sign */
    uint8_t down;
    uint8_t releases;
    uint8_t pext_releases; /* 0 where that field takes more than two runs */
} __attribute__((aligned(64))) tly_isa_quick;

/* The special field by its pieces, each turned to its place. */
typedef struct tly_isa_special {
    uint64_t masks[TLY_ISA_NUM_PIECES];
    uint8_t turns[TLY_ISA_NUM_PIECES]; /* to the right */
    uint8_t extend;
} tly_isa_special;

/* Generated. Two look-ups lead from a word to a row of tly_isa_quicks: roots by length, buckets,
 * nodes, children. Buckets and children hold numbers times TLY_ISA_SCALE, which is what a node
 * takes, so that an address is an addition away. */
enum { TLY_ISA_SCALE = 16 };
#pragma GCC visibility push(hidden)
extern const tly_isa_node tly_isa_roots[TLY_ISA_MAX_LEN + 1];
extern const uint16_t tly_isa_buckets[];
extern const tly_isa_node tly_isa_nodes[];
extern const uint16_t tly_isa_children[];
extern const tly_isa_quick tly_isa_quicks[];
#pragma GCC visibility pop

/* The word and the four members behind it. */
static inline void tly_isa_put_head(uint64_t word, const tly_isa_quick *quick,
                                    tly_isa_insn *out_insn) {
    enum { HEAD = offsetof(tly_isa_insn, fields) - offsetof(tly_isa_insn, form) };
    out_insn->word = word;
    memcpy((char *)out_insn + offsetof(tly_isa_insn, form),
           (const char *)quick + offsetof(tly_isa_quick, form), HEAD);
}

/* The decoder at three speeds; arguments and result are those of tly_isa_decode, the length is at
 * most
 * 8. AVX2 hands over to portable what it does not settle, portable to the obvious loop, which
 * refuses wrong arguments too. */
tly_status tly_isa_decode_portable(uint64_t word, uint32_t len, tly_isa_release release,
                                   tly_isa_insn *out_insn, tly_error *error);
tly_status tly_isa_decode_avx2(uint64_t word, uint32_t len, tly_isa_release release,
                               tly_isa_insn *out_insn, tly_error *error);
tly_status tly_isa_decode_slowly(uint64_t word, uint32_t len, tly_isa_release release,
                                 tly_isa_insn *out_insn, tly_error *error);

/* Decodes by the pattern alone, whatever the field rules say: what a machine needs that has checks
 * of its own before them. `len` is 2, 4, 6 or 8 and the word not longer. Returns whether a form of
 * the release has this pattern. */
bool tly_isa_decode_pattern(uint64_t word, uint32_t len, tly_isa_release release,
                            tly_isa_insn *out_insn);

/* Whether tly_isa_decode_avx2 runs here: AVX2, and BMI2 that is not microcode. */
int tly_isa_has_avx2(void);

/* Value of one field of a word, sign-extended where the field is signed. */
int64_t tly_isa_extract(uint64_t word, const tly_isa_field_row *field);

#endif
