/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of random legal programs of each release, without their note: the diagnosis names the
 * release that they were made for, and none that refuses a word of them. */
#include "check.h"

#include <string.h>

#include <tilery/asm.h>

#include "isa/table.h"

#define MAX_WORDS 40

/* A legal word of a release. */
static tly_isa_insn pick(check_rng *rng, tly_isa_release release) {
    for (;;) {
        const tly_isa_form_row *form =
            tly_isa_form_at((uint32_t)check_below(rng, tly_isa_num_forms()));
        uint64_t word = (check_random(rng) >> (64 - form->bits) & ~form->mask) | form->match;
        tly_isa_insn insn;
        if ((form->releases >> release & 1) != 0 &&
            tly_isa_decode(word, form->bits / 8u, release, &insn, NULL) == TLY_OK) {
            return insn;
        }
    }
}

static void only_releases_that_admit_it_are_named(void **state) {
    uint64_t rounds = check_rounds(300), undecided = 0;
    check_rng rng = {check_seed(9)};
    (void)state;
    for (uint64_t round = 0; round < rounds * TLY_ISA_NUM_RELEASES; round++) {
        tly_isa_release made_for = (tly_isa_release)(round % TLY_ISA_NUM_RELEASES);
        uint64_t count = check_below(&rng, MAX_WORDS);
        uint8_t code[MAX_WORDS * TLY_ISA_MAX_LEN];
        size_t len = 0;
        uint32_t admitted = (1u << TLY_ISA_NUM_RELEASES) - 1;
        tly_asm_diagnosis found = {.legal = (1u << TLY_ISA_NUM_RELEASES) - 1};
        for (uint64_t i = 0; i < count; i++) {
            tly_isa_insn insn = pick(&rng, made_for);
            for (uint32_t k = 0; k < insn.len; k++) {
                code[len++] = (uint8_t)(insn.word >> 8 * k);
            }
        }
        /* Every release by itself. Words may run together differently than they were put: the
         * fused call is two halfwords. */
        for (uint32_t r = 0; r < TLY_ISA_NUM_RELEASES; r++) {
            for (size_t at = 0; at < len;) {
                tly_isa_insn insn;
                if (tly_isa_decode_bytes(code + at, len - at, (tly_isa_release)r, &insn, NULL) !=
                    TLY_OK) {
                    admitted &= ~(1u << r);
                    break;
                }
                at += insn.len;
            }
        }
        tly_asm_diagnose(code, len, 0x10000, &found);
        assert_int_equal(found.legal, admitted);
        assert_int_equal(found.legal >> made_for & 1, 1);
        undecided += (found.legal & (found.legal - 1)) != 0;
        for (uint32_t r = 0; r < TLY_ISA_NUM_RELEASES; r++) {
            if ((found.legal >> r & 1) == 0) {
                assert_true(found.refused[r].error.message[0] != '\0');
                assert_true(found.refused[r].address >= 0x10000 &&
                            found.refused[r].address < 0x10000 + len);
            }
        }
    }
    assert_true(undecided != 0 && undecided < rounds * TLY_ISA_NUM_RELEASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_releases_that_admit_it_are_named),
    };
    return cmocka_run_group_tests_name("asm/doctor", tests, NULL, NULL);
}
