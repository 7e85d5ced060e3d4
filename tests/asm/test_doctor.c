/* SPDX-License-Identifier: Apache-2.0 */
/* Objects of random legal programs of each release, without their note: the diagnosis names the
 * release that they were made for, and none that refuses a word of them. */
#include "check.h"

#include <string.h>

#include <tilery/asm.h>
#include <tilery/context.h>

#include "isa/table.h"

#define MAX_WORDS 40
#define ADDRESS   0x10000

static tly_context *context;

static int set_up(void **state) {
    (void)state;
    return tly_context_new(NULL, &context, NULL);
}

static int tear_down(void **state) {
    (void)state;
    tly_context_free(context);
    return 0;
}

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

/* A random program of a release, written as text and assembled for it, without any note. */
static void make(check_rng *rng, tly_isa_release release, uint64_t count, uint8_t *code,
                 size_t capacity, size_t *out_len) {
    static char text[MAX_WORDS * (TLY_ASM_MAX_TEXT + 1) + 1];
    uint8_t words[MAX_WORDS * TLY_ISA_MAX_LEN];
    size_t used = 0, len = 0;
    tly_error error;
    for (uint64_t i = 0; i < count; i++) {
        tly_isa_insn insn = pick(rng, release);
        size_t more;
        assert_int_equal(
            tly_asm_format(&insn, ADDRESS + len, NULL, text + used, sizeof text - used, &more),
            TLY_OK);
        used += more;
        text[used++] = '\n';
        for (uint32_t k = 0; k < insn.len; k++) {
            words[len++] = (uint8_t)(insn.word >> 8 * k);
        }
    }
    CHECK_OK(tly_asm_assemble_flat(context, text, used, ADDRESS, release, code, capacity, out_len,
                                   &error),
             &error);
    assert_int_equal(*out_len, len);
    assert_memory_equal(code, words, len);
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
        make(&rng, made_for, count, code, sizeof code, &len);
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
        tly_asm_diagnose(code, len, ADDRESS, &found);
        assert_int_equal(found.legal, admitted);
        assert_int_equal(found.legal >> made_for & 1, 1);
        undecided += (found.legal & (found.legal - 1)) != 0;
        for (uint32_t r = 0; r < TLY_ISA_NUM_RELEASES; r++) {
            if ((found.legal >> r & 1) == 0) {
                assert_true(found.refused[r].error.message[0] != '\0');
                assert_true(found.refused[r].address >= ADDRESS &&
                            found.refused[r].address < ADDRESS + len);
            }
        }
    }
    assert_true(undecided != 0 && undecided < rounds * TLY_ISA_NUM_RELEASES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_releases_that_admit_it_are_named),
    };
    return cmocka_run_group_tests_name("asm/doctor", tests, set_up, tear_down);
}
