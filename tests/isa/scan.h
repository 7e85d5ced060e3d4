/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder against a plain scan of every form. */
#ifndef TLY_TESTS_ISA_SCAN_H
#define TLY_TESTS_ISA_SCAN_H

#include <string.h>

#include "check.h"

#include "isa/decode.h"

/* Which form owns a word, the slow way: every form of the release, command forms before scalar
 * ones, more fixed bits first. Returns -1 if none; `out_legal` says whether its field rules hold.
 */
static inline int32_t scan(uint64_t word, uint32_t bits, tly_isa_release release, int *out_legal) {
    int32_t best = -1;
    int best_rank = -1;
    *out_legal = 0;
    for (uint32_t i = 0; i < tly_isa_num_forms(); i++) {
        const tly_isa_form_row *form = tly_isa_form_at(i);
        int rank = (form->surface == TLY_ISA_COMMAND ? 100 : 0) + __builtin_popcountll(form->mask);
        if (form->bits == bits && (form->releases >> release & 1) != 0 &&
            (word & form->mask) == form->match && rank > best_rank) {
            best = (int32_t)i;
            best_rank = rank;
        }
    }
    if (best >= 0) {
        const tly_isa_form_row *form = tly_isa_form_at((uint32_t)best);
        const tly_isa_rule *rules = tly_isa_rules_of(form);
        *out_legal = 1;
        for (uint32_t i = 0; i < form->num_rules; i++) {
            uint64_t value = word >> rules[i].insn_lsb & ((UINT64_C(1) << rules[i].width) - 1);
            *out_legal &= (int)(rules[i].allowed >> value & 1);
        }
    }
    return best;
}

/* Every implementation gives the same bytes for a legal word; `wanted` is what this machine's best
 * one gave. */
static inline void compare_ways(const tly_isa_insn *wanted, tly_isa_release release) {
    static tly_status (*const ways[])(uint64_t word, uint32_t len, tly_isa_release,
                                      tly_isa_insn * out_insn, tly_error *) = {
        tly_isa_decode_slowly,
        tly_isa_decode_portable,
#if defined(__x86_64__)
        tly_isa_decode_avx2,
#endif
    };
    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        tly_isa_insn insn;
        tly_error error;
        if (i == 2 && !tly_isa_has_avx2()) {
            continue;
        }
        memset(&insn, 0xA5, sizeof insn);
        CHECK_OK(ways[i](wanted->word, wanted->len, release, &insn, &error), &error);
        assert_memory_equal(&insn, wanted, sizeof insn);
    }
}

/* Decoder and scan agree on a word, and what is legal encodes back to it. */
static inline void compare(uint64_t word, uint32_t len, tly_isa_release release) {
    int legal;
    tly_isa_insn insn;
    tly_error error;
    int32_t wanted = scan(word, len * 8, release, &legal);
    tly_status status = tly_isa_decode(word, len, release, &insn, &error);
    if (wanted < 0 || !legal) {
        if (status != TLY_MALFORMED) {
            fail_msg("0x%llX decodes as %s", (unsigned long long)word,
                     tly_isa_mnemonic_of(insn.form));
        }
        assert_true(error.message[0] != '\0');
        return;
    }
    if (status != TLY_OK || insn.form != wanted) {
        fail_msg("0x%llX: wanted %s: %s", (unsigned long long)word,
                 tly_isa_mnemonic_of((uint32_t)wanted), error.message);
    }
    compare_ways(&insn, release);
    uint64_t again;
    CHECK_OK(tly_isa_encode(insn.form, insn.fields, &again, &error), &error);
    assert_true(again == word);
}

#endif
