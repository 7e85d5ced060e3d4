/* SPDX-License-Identifier: Apache-2.0 */
/* Words print as text that assembles back to them; text as people write it; what is wrong is said.
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <tilery/asm.h>

#include "isa/table.h"
#include "isa/words.h"

static void round_trip(const tly_isa_insn *insn, uint64_t address, tly_isa_release release) {
    char text[TLY_ASM_MAX_TEXT], again[TLY_ASM_MAX_TEXT];
    tly_isa_insn back;
    tly_error error;
    size_t len;
    CHECK_OK(tly_asm_format(insn, address, NULL, text, sizeof text, &len), &error);
    if (tly_asm_parse_insn(text, len, address, release, &back, &error) != TLY_OK) {
        fail_msg("0x%llX printed as \"%s\": %s (at %llu)", (unsigned long long)insn->word, text,
                 error.message, (unsigned long long)error.offset);
    }
    if (back.word != insn->word || back.form != insn->form) {
        fail_msg("0x%llX (form %u) printed as \"%s\" comes back as 0x%llX (form %u)",
                 (unsigned long long)insn->word, insn->form, text, (unsigned long long)back.word,
                 back.form);
    }
    CHECK_OK(tly_asm_format(&back, address, NULL, again, sizeof again, NULL), &error);
    assert_string_equal(text, again);
}

static void every_form_round_trips(void **state) {
    check_rng rng = {check_seed(3)};
    uint64_t fillings = check_rounds(60);
    (void)state;
    for (uint32_t number = 0; number < tly_isa_num_forms(); number++) {
        const tly_isa_form_row *form = tly_isa_form_at(number);
        uint32_t seen = 0;
        for (uint32_t release = 0; release < TLY_ISA_NUM_RELEASES; release++) {
            if ((form->releases >> release & 1) == 0) {
                continue;
            }
            for (uint64_t i = 0; i < fillings; i++) {
                uint64_t free = i == 0 ? 0 : i == 1 ? UINT64_MAX : check_random(&rng);
                uint64_t word =
                    (free & (UINT64_MAX >> (64 - form->bits)) & ~form->mask) | form->match;
                tly_isa_insn insn;
                if (tly_isa_decode(word, form->bits / 8u, (tly_isa_release)release, &insn, NULL) !=
                    TLY_OK) {
                    continue;
                }
                seen++;
                round_trip(&insn, UINT64_C(0x40001000) + 2 * check_below(&rng, 1000),
                           (tly_isa_release)release);
            }
        }
        if (seen == 0) {
            fail_msg("no legal word of %s was tried", tly_isa_mnemonic_of(number));
        }
    }
}

static void every_legal_halfword_round_trips(void **state) {
    (void)state;
    for (uint32_t word = 0; word < 0x10000; word++) {
        tly_isa_insn insn;
        if (tly_isa_decode(word, 2, TLY_ISA_0_58_3, &insn, NULL) == TLY_OK) {
            round_trip(&insn, 0x8000, TLY_ISA_0_58_3);
        }
    }
}

/* Text that people and other tools write, and what we print for it. */
static void text_in_the_wild(void **state) {
    static const struct {
        const char *text, *printed;
    } cases[] = {
        {"addi zero, 64, ->t", NULL},
        {"hl.lwip [s0, 4], ->s1, s2", NULL},
        {"hl.sw.po s1, [s0, s2.uw<<2], ->s3", NULL},
        {"ldi [s1, 16], ->s1", NULL},
        {"hl.rem a0, a1, ->a2, a3", NULL},
        {"sdi a2, [s0, 8]", NULL},
        {"c.movr s1, ->a0", NULL},
        {"c.setc.tgt t#1", NULL},
        {"setc.nei t#1, 64", NULL},
        {"ADDI R0, 0x40, -> T", "addi zero, 64, ->t"},
        {"BSTART.TLOAD U32", NULL},
        {"BSTART.VEC TADD, FP16", NULL},
        {"BSTART.SFU TROWSUM, U32", NULL},
        {"BSTART.TEPL 3, 31, FP32", NULL},
        {"bstart.tepl TADD, fp16", "BSTART.VEC TADD, FP16"},
        {"BSTART.TMATMUL FP16", NULL},
        {"C.BSTART.STD COND, 0x8010", "C.BSTART COND, 0x8010"},
        {"BSTART.CALL 0x8010, 0x8006, ->ra", NULL},
        {"B.DATR ND2M16, DTYPE_NONE, Zero", NULL},
        {"B.DATR ND2NZ.normal, FP16, Max, cmode5, rmode6, sat, canonicalize",
         "B.DATR ND2NZ, FP16, Max, cmode5, rmode6, sat, canonicalize"},
        {"B.CATR trap, atomic, aqrl, far, dr", NULL},
        {"C.B.DIMI 2, ->lb0", NULL},
        {"B.DIM a0, 5, ->lb2", NULL},
        {"B.IOR [a0, zero, zero], ->zero", NULL},
        {"B.IOT t#1, u#2, mask=1111, last, ->m<8KB>", NULL},
        {"B.IOT m#3, mask=1100, last", NULL},
        {"B.IOT mask=1111, last, ->n<128B>", NULL},
        {"B.IOS S1, mask=0001", NULL},
        {"B.IOS mask=1111, ->S255<8KB>", NULL},
        {"HL.QPUSH.her a0, a1, ->a2", NULL},
        {"hl.qmt.ies a0, a1, ->a2", "HL.QMT.ies a0, a1, ->a2"},
        {"FENTRY [ra ~ s2], sp!, 256", NULL},
        {"C.BSTOP", NULL},
        {"fcvtz.fd2sd a0, ->a1", NULL},
        {"scvtf.sw2fd t#1, ->t", NULL},
        {"fadd.fd t#1, a1, ->a0", NULL},
        {"hl.casb.aqrlf [a0], a1, a2, ->a3", NULL},
        {"sd.add.rlf [a0], a1", NULL},
        {"add a0, a1.neg<<3, ->a2", NULL},
        {"add a0, a1, ->a2", NULL},
        {"lw.pcr [0x8100], ->a0", NULL},
        {"ssrget CORE_STATE, ->a0", NULL},
        {"hl.ssrset a0, EVBASE_ACR1", NULL},
        {"csel a0, a1, a2.neg, ->a3", NULL},
        {"bcnt a0, 3, 64, ->a1", NULL},
        {"B.HINT BR.likely, TEMP.hot, 12", NULL},
        {"B.HINT TRACE.end", NULL},
        {"hl.prf.l2 [a0, a1<<2]", NULL},
        {"addi a0, (1 << 4) + 2 * 3 - 1, ->a0", "addi a0, 21, ->a0"},
        {"addi a0, 'A', ->a0", "addi a0, 65, ->a0"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char printed[TLY_ASM_MAX_TEXT];
        tly_isa_insn insn;
        tly_error error;
        if (tly_asm_parse_insn(cases[i].text, strlen(cases[i].text), 0x8000, TLY_ISA_0_58_3, &insn,
                               &error) != TLY_OK) {
            fail_msg("%s: %s", cases[i].text, error.message);
        }
        CHECK_OK(tly_asm_format(&insn, 0x8000, NULL, printed, sizeof printed, NULL), &error);
        assert_string_equal(printed, cases[i].printed != NULL ? cases[i].printed : cases[i].text);
    }
}

static void mistakes_are_explained(void **state) {
    static const struct {
        const char *text, *rule, *says;
        uint64_t offset;
    } cases[] = {
        {"addii a0, 1, ->a0", "asm-mnemonic", "did you mean ADDI?", 0},
        {"addi a0, 4096, ->a0", "asm-range", "4096 is outside 0 .. 4095", 9},
        {"addi a0, 1", "asm-operand", "expected a comma, but the line ends", 10},
        {"addi a0, 1, ->a0 a1", "asm-operand", "expected the end of the line, found \"a1\"", 17},
        {"addi q9, 1, ->a0", "asm-operand", "expected a register", 5},
        {"ldi [a0, 12], ->a0", "asm-range", "12 is not a multiple of 8 bytes", 9},
        {"C.BSTART COND, 0x9000", "asm-range", "4096 bytes away", 15},
        {"BSTART.VEC TADDX, FP32", "asm-operation", "did you mean TADD?", 11},
        {"BSTART.VEC TDIV, FP32", "asm-operation", "BSTART.SFU", 11},
        {"BSTART.VEC TLOAD, FP32", "asm-operation", "BSTART.TLOAD", 11},
        {"BSTART.TLOAD FP31", "asm-operand", "an element type", 13},
        {"BSTART.STD CALL, 0x8000", "asm-release", "0.58.0 takes this line", 11},
        {"BSTART.STD SOMETIMES, 0x8000", "asm-operand", "found \"SOMETIMES\"", 11},
        {"B.TEXT 0x9000", "asm-release", "retired after 0.58.0", 0},
        {"B.IOT t#17, mask=1111", "asm-operand", "a tile", 6},
        {"B.IOT t#1, mask=0110", "asm-release", "1110 or 1111, found \"0110\" (0.58.2 takes", 16},
        {"B.IOT t#1, mask=0120", "asm-operand", "1110 or 1111", 16},
        {"addi a0, label, ->a0", "asm-symbol", "no symbols", 9},
        {"addi a0, 1/0, ->a0", "asm-expression", "division by zero", 12},
        {"addi a0, 99999999999999999999, ->a0", "asm-expression", "64 bits", 29},
        {"", "asm-operand", "an instruction", 0},
        {"fadd.fx a0, a1, ->a2", "asm-operand", "fd or fs", 5},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tly_isa_insn insn;
        tly_error error;
        tly_status status = tly_asm_parse_insn(cases[i].text, strlen(cases[i].text), 0x8000,
                                               TLY_ISA_0_58_3, &insn, &error);
        if (status != TLY_MALFORMED || strcmp(error.rule, cases[i].rule) != 0 ||
            strstr(error.message, cases[i].says) == NULL || error.offset != cases[i].offset) {
            fail_msg("\"%s\": %s at %llu: %s (%s)", cases[i].text, tly_status_name(status),
                     (unsigned long long)error.offset, error.message, error.rule);
        }
    }
}

/* The example of every form in the documentation is a line of that form. */
static void examples_assemble(void **state) {
    (void)state;
    for (uint32_t form = 0; form < tly_isa_num_forms(); form++) {
        const char *line = tly_isa_example_of(form);
        uint32_t releases = tly_isa_form_at(form)->releases;
        tly_isa_release release = (tly_isa_release)(31 - __builtin_clz(releases));
        tly_isa_insn insn;
        tly_error error;
        if (tly_asm_parse_insn(line, strlen(line), TLY_ISA_EXAMPLE_ADDRESS, release, &insn,
                               &error) != TLY_OK) {
            fail_msg("%s: %s", line, error.message);
        }
        if (insn.form != form) {
            fail_msg("%s is a line of form %u, not of %u", line, insn.form, form);
        }
        assert_true(strlen(tly_isa_words_of(form)) > 10);
    }
}

static const char *find_symbol(void *user, uint64_t address, uint64_t *out_offset) {
    (void)user;
    *out_offset = address - 0x8000;
    return address >= 0x8000 ? "loop" : NULL;
}

static void targets_carry_their_symbol(void **state) {
    static const tly_asm_symbols symbols = {find_symbol, NULL};
    char text[TLY_ASM_MAX_TEXT];
    tly_isa_insn insn, back;
    tly_error error;
    size_t len;
    (void)state;
    CHECK_OK(tly_asm_parse_insn("C.BSTART COND, 0x8004", 21, 0x8000, TLY_ISA_0_58_3, &insn, &error),
             &error);
    CHECK_OK(tly_asm_format(&insn, 0x8000, &symbols, text, sizeof text, &len), &error);
    assert_string_equal(text, "C.BSTART COND, 0x8004 <loop+0x4>");
    CHECK_OK(tly_asm_parse_insn(text, len, 0x8000, TLY_ISA_0_58_3, &back, &error), &error);
    assert_true(back.word == insn.word);
    assert_int_equal(tly_asm_format(&insn, 0x8000, &symbols, text, 8, &len), TLY_LIMIT);
    assert_string_equal(text, "C.BSTAR");
    assert_int_equal(len, 32);
}

/* No text makes the parser read outside it; the buffer ends at a page of its own under the
 * sanitizers. */
static void random_text_is_survived(void **state) {
    static const char letters[] =
        "addi.bstr BSTART.TEPL,->[]<>#0123456789xXtumnSa'\\()+-*/%&|^~ \t";
    check_rng rng = {check_seed(4)};
    (void)state;
    for (int i = 0; i < 20000; i++) {
        size_t len = check_below(&rng, 40);
        char *text = malloc(len + 1);
        tly_isa_insn insn;
        tly_error error;
        for (size_t k = 0; k < len; k++) {
            text[k] = check_below(&rng, 30) == 0 ? (char)check_below(&rng, 256)
                                                 : letters[check_below(&rng, sizeof letters - 1)];
        }
        if (i % 2 == 0) { /* begin with a mnemonic, so that operands are reached */
            const char *name =
                tly_isa_mnemonic_at((uint32_t)check_below(&rng, tly_isa_num_mnemonics()));
            if (strlen(name) < len) {
                memcpy(text, name, strlen(name));
                text[strlen(name)] = ' ';
            }
        }
        tly_asm_parse_insn(text, len, 0, TLY_ISA_0_58_3, &insn, &error);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_round_trips),
        cmocka_unit_test(every_legal_halfword_round_trips),
        cmocka_unit_test(text_in_the_wild),
        cmocka_unit_test(mistakes_are_explained),
        cmocka_unit_test(examples_assemble),
        cmocka_unit_test(targets_carry_their_symbol),
        cmocka_unit_test(random_text_is_survived),
    };
    return cmocka_run_group_tests_name("asm/text", tests, NULL, NULL);
}
