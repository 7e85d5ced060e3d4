/* SPDX-License-Identifier: Apache-2.0 */
/* The decoder against a plain scan of all forms, the encoder against the decoder. */
#include "check.h"

#include <string.h>

#include "isa/scan.h"

static void every_halfword(void **state) {
    (void)state;
    for (uint32_t word = 0; word < 0x10000; word++) {
        for (uint32_t release = 0; release < TLY_ISA_NUM_RELEASES; release++) {
            compare(word, 2, (tly_isa_release)release);
        }
    }
}

/* Every form with every field at its corners, and with random fillings. */
static void every_form_encodes_and_decodes(void **state) {
    check_rng rng = {check_seed(2)};
    uint64_t fillings = check_rounds(40);
    (void)state;
    for (uint32_t number = 0; number < tly_isa_num_forms(); number++) {
        const tly_isa_form_row *form = tly_isa_form_at(number);
        tly_isa_release release = (tly_isa_release)(31 - __builtin_clz(form->releases));
        for (uint64_t filling = 0; filling < 5 + fillings; filling++) {
            int64_t fields[TLY_ISA_MAX_FIELDS] = {0};
            uint64_t word;
            tly_isa_insn insn;
            tly_error error;
            for (uint32_t i = 0; i < form->num_fields; i++) {
                const tly_isa_field_row *field = tly_isa_field_at(form, i);
                const tly_isa_piece *last = tly_isa_piece_at(field, field->num_pieces - 1u);
                int64_t span = (INT64_C(1) << field->width) - 1;
                int64_t value = filling == 0   ? 0
                                : filling == 1 ? 1
                                : filling == 2 ? span
                                : filling == 3 ? span >> 1
                                : filling == 4 ? (span >> 1) + 1
                                               : (int64_t)(check_random(&rng) & (uint64_t)span);
                value &= ~((INT64_C(1) << last->value_lsb) - 1);
                if (field->is_signed && value > span >> 1) {
                    value -= span + 1;
                }
                fields[i] = value;
            }
            if (tly_isa_encode(number, fields, &word, &error) != TLY_OK) {
                assert_string_equal(error.rule, "isa-field");
                continue;
            }
            CHECK_OK(tly_isa_decode(word, form->bits / 8u, release, &insn, &error), &error);
            assert_int_equal(insn.form, number);
            assert_memory_equal(insn.fields, fields, sizeof fields);
        }
    }
}

static void refusals_say_why(void **state) {
    tly_isa_insn insn;
    tly_error error;
    (void)state;
    CHECK_RULE(tly_isa_decode(0x00021181, 4, TLY_ISA_0_58_3, &insn, &error), &error, TLY_MALFORMED,
               "isa-reserved");
    assert_non_null(strstr(error.message, "BSTART.VPAR is reserved for the vector extension"));
    CHECK_RULE(tly_isa_decode(0x4001000E, 6, TLY_ISA_0_58_3, &insn, &error), &error, TLY_MALFORMED,
               "isa-reserved");
    assert_non_null(strstr(error.message, "HL.BSTART.STD.CALL"));
    assert_non_null(strstr(error.message, "last accepted by 0.58.0"));
    CHECK_OK(tly_isa_decode(0x4001000E, 6, TLY_ISA_0_58_0, &insn, &error), &error);
    CHECK_RULE(tly_isa_decode(0x4001, 4, TLY_ISA_0_58_3, &insn, &error), &error, TLY_MALFORMED,
               "isa-retired");
    assert_non_null(strstr(error.message, "BSTART.STD was retired after 0.58.0"));
    CHECK_RULE(tly_isa_decode(0x78011181, 4, TLY_ISA_0_58_3, &insn, &error), &error, TLY_MALFORMED,
               "isa-field");
    assert_non_null(strstr(error.message, "BSTART.TLOAD does not admit DataType = 15"));
    CHECK_RULE(tly_isa_decode(0xFFFFFFFB, 4, TLY_ISA_0_58_3, &insn, &error), &error, TLY_MALFORMED,
               "isa-unknown");
    CHECK_RULE(tly_isa_decode(0x10000, 2, TLY_ISA_0_58_3, &insn, &error), &error,
               TLY_INVALID_ARGUMENT, "isa-argument");
}

static void length_comes_from_the_first_halfwords(void **state) {
    static const uint8_t fused[] = {0x02, 0x00, 0x16, 0x50, 0};
    static const uint8_t plain[] = {0x02, 0x00, 0x16, 0x51 + 0x08};
    tly_isa_insn insn;
    tly_error error;
    (void)state;
    assert_int_equal(tly_isa_length(0x0000, 0), 2);
    assert_int_equal(tly_isa_length(0x0001, 0), 4);
    assert_int_equal(tly_isa_length(0x000E, 0), 6);
    assert_int_equal(tly_isa_length(0x000F, 0), 8);
    CHECK_OK(tly_isa_decode_bytes(fused, 4, TLY_ISA_0_58_3, &insn, &error), &error);
    assert_string_equal(tly_isa_mnemonic_of(insn.form), "BSTART.CALL");
    CHECK_OK(tly_isa_decode_bytes(plain, 4, TLY_ISA_0_58_3, &insn, &error), &error);
    assert_string_equal(tly_isa_mnemonic_of(insn.form), "C.BSTART");
    CHECK_OK(tly_isa_decode_bytes(fused, 2, TLY_ISA_0_58_3, &insn, &error), &error);
    assert_int_equal(insn.len, 2);
    CHECK_RULE(tly_isa_decode_bytes(fused + 2, 1, TLY_ISA_0_58_3, &insn, &error), &error,
               TLY_TRUNCATED, "isa-truncated");
}

static void old_and_new_binders_differ(void **state) {
    tly_isa_insn insn;
    tly_error error;
    uint64_t word = 0x0008EE13; /* B.IOT mask, last, ->hand<size> in 0.58.3 */
    (void)state;
    CHECK_OK(tly_isa_decode(word, 4, TLY_ISA_0_58_3, &insn, &error), &error);
    assert_string_equal(tly_isa_mnemonic_of(insn.form), "B.IOT");
    assert_string_equal(tly_isa_field_name(tly_isa_form_at(insn.form), 1), "SizeCode");
    CHECK_OK(tly_isa_decode(word, 4, TLY_ISA_0_58_2, &insn, &error), &error);
    assert_string_equal(tly_isa_field_name(tly_isa_form_at(insn.form), 1), "PE_MASK");
}

static void tile_operations_are_found_by_selector(void **state) {
    uint32_t by_engine[4] = {0};
    (void)state;
    assert_int_equal(tly_isa_num_tileops(), 109);
    for (uint32_t i = 0; i < tly_isa_num_tileops(); i++) {
        const tly_isa_tileop *op = tly_isa_tileop_at(i);
        by_engine[op->engine[0] == 'V'   ? 0
                  : op->engine[0] == 'S' ? 1
                  : op->engine[0] == 'T' ? 2
                                         : 3]++;
        if (op->mode != 0xFF) {
            assert_ptr_equal(tly_isa_tileop_find(op->mode, op->function), op);
        }
    }
    assert_int_equal(by_engine[0], 31);
    assert_int_equal(by_engine[1], 56);
    assert_int_equal(by_engine[2], 10);
    assert_int_equal(by_engine[3], 12);
    assert_null(tly_isa_tileop_find(0, 5));
    assert_null(tly_isa_tileop_find(4, 0));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_halfword),
        cmocka_unit_test(every_form_encodes_and_decodes),
        cmocka_unit_test(refusals_say_why),
        cmocka_unit_test(length_comes_from_the_first_halfwords),
        cmocka_unit_test(old_and_new_binders_differ),
        cmocka_unit_test(tile_operations_are_found_by_selector),
    };
    return cmocka_run_group_tests_name("isa/decode", tests, NULL, NULL);
}
