/* SPDX-License-Identifier: Apache-2.0 */
/* Objects as files: written, read back, linked; identities; hostile files. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/asm.h>

#include "asm/elf.h"
#include "asm/note.h"
#include "asm/object.h"
#include "asm/reloc.h"
#include "base/bytes.h"

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

static tly_asm_object *assemble(const char *text, tly_isa_release release) {
    tly_asm_options options = {.size = sizeof options, .release = (int32_t)release};
    tly_asm_object *object;
    tly_error error;
    CHECK_OK(tly_asm_assemble(context, "a.s", text, strlen(text), &options, &object, &error),
             &error);
    return object;
}

static const char *const main_text = ".globl _start, helper\n"
                                     "_start: BSTART.CALL helper, back, ->ra\n"
                                     "back:   C.BSTOP\n"
                                     "        BSTART.STD DIRECT, helper\n"
                                     "        C.BSTOP\n"
                                     "        lw.pcr [table], ->a0\n"
                                     "        sw.pcr a0, [table]\n"
                                     "        hl.ld.pcr [table], ->a1\n"
                                     "        hl.sd.pcr a1, [table]\n"
                                     "        j helper\n"
                                     "        addtpc table, ->a2\n"
                                     "        addi a2, table, ->a2\n"
                                     ".data\n.balign 8\n"
                                     "table:  .quad helper, table + 8\n"
                                     "        .word table\n";
static const char *const helper_text = ".globl helper\n.zero 6\nhelper: C.BSTART.STD RET\nC.BSTOP\n"
                                       ".type helper, @function\n.size helper, . - helper\n"
                                       ".bss\n.zero 100\n";

/* Every relocation that the assembler makes puts the same bits as assembling with known addresses.
 */
static void linking_is_assembling_with_addresses(void **state) {
    tly_asm_object *objects[2], *program;
    const tly_obj_section *text;
    uint64_t at = 0;
    tly_error error;
    uint32_t helper, table;
    uint64_t helper_address, table_address;
    (void)state;
    objects[0] = assemble(main_text, TLY_ISA_0_58_3);
    objects[1] = assemble(helper_text, TLY_ISA_0_58_3);
    CHECK_OK(tly_asm_link(context, objects, 2, NULL, &program, &error), &error);
    text = tly_object_section(program, tly_object_find_section(program, ".text", 5));
    helper = tly_object_find_symbol(program, "helper", 6);
    helper_address = text->address + tly_object_symbol(program, helper)->value;
    table = tly_object_find_section(program, ".data", 5);
    table_address = tly_object_section(program, table)->address;
    assert_true(program->entry == 0x10000 && text->address == 0x10000);
    assert_true(table_address % 8 == 0);
    while (at + 6 < tly_object_symbol(program, helper)->value) {
        tly_isa_insn insn;
        char line[TLY_ASM_MAX_TEXT], wanted[32];
        CHECK_OK(
            tly_isa_decode_bytes(text->bytes + at, text->size - at, TLY_ISA_0_58_3, &insn, &error),
            &error);
        CHECK_OK(tly_asm_format(&insn, text->address + at, NULL, line, sizeof line, NULL), &error);
        if (strncmp(line, "C.BSTOP", 7) != 0 && strncmp(line, "add", 3) != 0) {
            int to_table = strstr(line, "pcr") != NULL;
            snprintf(wanted, sizeof wanted, "0x%llx",
                     (unsigned long long)(to_table ? table_address : helper_address));
            if (strstr(line, wanted) == NULL) {
                fail_msg("%s does not reach %s", line, wanted);
            }
        }
        at += insn.len;
    }
    {
        const uint8_t *data = tly_object_section(program, table)->bytes;
        assert_true(tly_base_load_u64(data) == helper_address);
        assert_true(tly_base_load_u64(data + 8) == table_address + 8);
        assert_true(tly_base_load_u32(data + 16) == table_address);
    }
    tly_asm_object_free(program);
    tly_asm_object_free(objects[0]);
    tly_asm_object_free(objects[1]);
}

static void objects_read_back_as_they_were(void **state) {
    for (uint32_t release = 0; release < TLY_ISA_NUM_RELEASES; release++) {
        tly_asm_object *object = assemble(
            "a: C.BSTOP\n C.BSTART COND, out\n.globl a\n.data\n.quad a", (tly_isa_release)release);
        tly_asm_object *back;
        uint8_t *bytes, *again;
        size_t len, again_len;
        tly_error error;
        (void)state;
        CHECK_OK(tly_asm_write_elf(object, &bytes, &len, &error), &error);
        CHECK_OK(tly_asm_read_elf(context, bytes, len, &back, &error), &error);
        assert_int_equal(tly_asm_object_release(back), release);
        assert_int_equal(back->num_sections, 2);
        assert_int_equal(tly_object_section(back, 1)->num_relocs, 1);
        CHECK_OK(tly_asm_write_elf(back, &again, &again_len, &error), &error);
        assert_int_equal(again_len, len);
        assert_memory_equal(again, bytes, len);
        tly_asm_bytes_free(context, bytes, len);
        tly_asm_bytes_free(context, again, again_len);
        tly_asm_object_free(back);
        tly_asm_object_free(object);
    }
}

static void programs_keep_their_addresses(void **state) {
    tly_asm_object *objects[2], *program, *back;
    tly_asm_link_options options = {
        .size = sizeof options, .has_text_address = 1, .text_address = 0x400000, .entry = "helper"};
    uint8_t *bytes, *flat, *flat_again;
    size_t len, flat_len, flat_again_len;
    uint64_t address, address_again;
    tly_error error;
    (void)state;
    objects[0] = assemble(main_text, TLY_ISA_0_58_3);
    objects[1] = assemble(helper_text, TLY_ISA_0_58_3);
    CHECK_OK(tly_asm_link(context, objects, 2, &options, &program, &error), &error);
    CHECK_OK(tly_asm_write_elf(program, &bytes, &len, &error), &error);
    CHECK_OK(tly_asm_read_elf(context, bytes, len, &back, &error), &error);
    assert_true(back->is_executable && back->entry == program->entry && back->entry > 0x400000);
    CHECK_OK(tly_asm_write_flat(program, 1 << 20, &flat, &flat_len, &address, &error), &error);
    CHECK_OK(
        tly_asm_write_flat(back, 1 << 20, &flat_again, &flat_again_len, &address_again, &error),
        &error);
    assert_true(address == 0x400000 && address_again == address && flat_len == flat_again_len);
    assert_memory_equal(flat, flat_again, flat_len);
    tly_asm_bytes_free(context, flat_again, flat_again_len);
    assert_int_equal(
        tly_asm_write_flat(program, 16, &flat_again, &flat_again_len, &address, &error), TLY_LIMIT);
    assert_null(flat_again);
    tly_asm_bytes_free(context, flat, flat_len);
    tly_asm_bytes_free(context, bytes, len);
    tly_asm_object_free(back);
    tly_asm_object_free(program);
    tly_asm_object_free(objects[0]);
    tly_asm_object_free(objects[1]);
}

static void link_refusals(const char *first, const char *second, const char *rule,
                          const char *says) {
    tly_asm_object *objects[2] = {assemble(first, TLY_ISA_0_58_3),
                                  assemble(second, TLY_ISA_0_58_3)};
    tly_asm_object *program;
    tly_error error;
    CHECK_RULE(tly_asm_link(context, objects, 2, NULL, &program, &error), &error, TLY_MALFORMED,
               rule);
    assert_null(program);
    if (strstr(error.message, says) == NULL) {
        fail_msg("%s", error.message);
    }
    tly_asm_object_free(objects[0]);
    tly_asm_object_free(objects[1]);
}

static void the_linker_refuses(void **state) {
    (void)state;
    link_refusals("C.BSTART COND, there", "C.BSTOP", "link-undefined", "there is used in object 1");
    link_refusals(".globl a\na: C.BSTOP", ".globl a\na: C.BSTOP", "link-duplicate", "a is defined");
    link_refusals("C.BSTART COND, far", ".globl far\n.zero 8000\nfar: C.BSTOP", "reloc-range",
                  "out of reach");
    link_refusals(".section .x, \"a\"\n.byte 1", ".section .x, \"aw\"\n.byte 1", "link-section",
                  "other flags");
    link_refusals("C.BSTART COND, odd", ".globl odd\n.byte 1\nodd: .byte 1", "reloc-align",
                  "multiple of 2 bytes");
}

static void weak_and_local_names(void **state) {
    tly_asm_object *objects[2], *program;
    tly_error error;
    uint32_t a;
    (void)state;
    objects[0] = assemble(".weak a\na: C.BSTOP\nlocal: C.BSTART COND, local\n.data\n.quad missing\n"
                          ".weak missing\n",
                          TLY_ISA_0_58_3);
    objects[1] = assemble(".globl a\nlocal: C.BSTOP\na: C.BSTART COND, local\n", TLY_ISA_0_58_3);
    CHECK_OK(tly_asm_link(context, objects, 2, NULL, &program, &error), &error);
    a = tly_object_find_symbol(program, "a", 1);
    assert_int_equal(tly_object_symbol(program, a)->value, 6); /* the strong one */
    tly_asm_object_free(program);
    tly_asm_object_free(objects[0]);
    tly_asm_object_free(objects[1]);
}

/* Replaces bytes of the identity note in a written object. */
static tly_asm_object *with_identity(const char *from, const char *to) {
    tly_asm_object *object = assemble("C.BSTOP", TLY_ISA_0_58_3), *back;
    uint8_t *bytes, *found;
    size_t len;
    tly_error error;
    CHECK_OK(tly_asm_write_elf(object, &bytes, &len, &error), &error);
    tly_asm_object_free(object);
    if (from != NULL) {
        found = memmem(bytes, len, from, strlen(from));
        assert_non_null(found);
        memcpy(found, to, strlen(from));
    }
    CHECK_OK(tly_asm_read_elf(context, bytes, len, &back, &error), &error);
    tly_asm_bytes_free(context, bytes, len);
    return back;
}

/* The cases of the public specification's ABI evidence: what is accepted at link and at load. */
static void identities_are_accepted_and_refused(void **state) {
    static const struct {
        const char *from, *to, *rule;
    } cases[] = {
        {NULL, NULL, NULL},
        {".note.pto.isa", ".note.pto.xxx", "identity-missing"},
        {"\"release\":\"0.58.3\"", "\"release\":\"0.58.0\"", "identity-abi"},
        {"\"release\":\"0.58.3\"", "\"release\":\"0.58.6\"", "identity-release"},
        {"pto-isa-0.58.3-mode", "pto-isa-0.58.0-mode", "identity-abi"},
        {"8a48b80e0448", "000000000000", "identity-hash"},
        {"{\"encoding_abi\"", "{\"encoding_abx\"", "identity-malformed"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tly_asm_object *objects[2] = {with_identity(NULL, NULL),
                                      with_identity(cases[i].from, cases[i].to)};
        tly_asm_object *program;
        tly_asm_link_options options = {.size = sizeof options};
        tly_error error;
        tly_status status = tly_asm_link(context, objects, 2, NULL, &program, &error);
        if (cases[i].rule == NULL) {
            CHECK_OK(status, &error);
            tly_asm_object_free(program);
            CHECK_OK(tly_asm_check_identity(objects[1], TLY_ISA_0_58_3, &error), &error);
            CHECK_RULE(tly_asm_check_identity(objects[1], TLY_ISA_0_58_2, &error), &error,
                       TLY_MALFORMED, "identity-release");
        } else {
            CHECK_RULE(status, &error, TLY_MALFORMED, cases[i].rule);
            assert_non_null(strstr(error.message, "object 2:"));
            CHECK_RULE(tly_asm_check_identity(objects[1], TLY_ISA_0_58_3, &error), &error,
                       TLY_MALFORMED, cases[i].rule);
            options.ignore_identity = 1;
            CHECK_OK(tly_asm_link(context, objects, 2, &options, &program, &error), &error);
            tly_asm_object_free(program);
        }
        tly_asm_object_free(objects[0]);
        tly_asm_object_free(objects[1]);
    }
}

static void other_files_are_named(void **state) {
    static const struct {
        size_t at;
        uint8_t value;
        const char *rule;
    } cases[] = {
        {0, 0, "elf-magic"},       {4, 1, "elf-class"}, {5, 2, "elf-class"},
        {18, 0x3E, "elf-machine"}, {16, 3, "elf-type"}, {40, 255, "elf-headers"},
        {62, 99, "elf-headers"},
    };
    tly_asm_object *object = assemble("C.BSTOP", TLY_ISA_0_58_3), *back;
    uint8_t *bytes;
    size_t len;
    tly_error error;
    (void)state;
    CHECK_OK(tly_asm_write_elf(object, &bytes, &len, &error), &error);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint8_t kept = bytes[cases[i].at];
        bytes[cases[i].at] = cases[i].value;
        assert_int_not_equal(tly_asm_read_elf(context, bytes, len, &back, &error), TLY_OK);
        assert_string_equal(error.rule, cases[i].rule);
        bytes[cases[i].at] = kept;
    }
    tly_base_store_u16(bytes + 18, ELF_MACHINE_RETIRED);
    CHECK_RULE(tly_asm_read_elf(context, bytes, len, &back, &error), &error, TLY_UNSUPPORTED,
               "elf-machine");
    assert_non_null(strstr(error.message, "0x105"));
    tly_asm_bytes_free(context, bytes, len);
    tly_asm_object_free(object);
}

/* Cut at every length, and with bytes changed: refused or read, never a step outside. */
static void hostile_files_are_survived(void **state) {
    tly_asm_object *object = assemble(main_text, TLY_ISA_0_58_3), *back;
    check_rng rng = {5};
    uint8_t *bytes;
    size_t len;
    tly_error error;
    (void)state;
    CHECK_OK(tly_asm_write_elf(object, &bytes, &len, &error), &error);
    for (size_t cut = 0; cut < len; cut++) {
        uint8_t *copy = malloc(cut + 1);
        memcpy(copy, bytes, cut);
        assert_int_not_equal(tly_asm_read_elf(context, copy, cut, &back, &error), TLY_OK);
        free(copy);
    }
    for (int round = 0; round < 5000; round++) {
        uint8_t *copy = malloc(len);
        memcpy(copy, bytes, len);
        for (uint64_t k = check_below(&rng, 4) + 1; k != 0; k--) {
            copy[check_below(&rng, 4) == 0 ? check_below(&rng, 64) : check_below(&rng, len)] =
                check_below(&rng, 3) == 0 ? 0xFF : (uint8_t)check_random(&rng);
        }
        if (tly_asm_read_elf(context, copy, len, &back, &error) == TLY_OK) {
            tly_asm_object *program;
            tly_asm_link_options options = {.size = sizeof options, .ignore_identity = 1};
            if (tly_asm_link(context, &back, 1, &options, &program, &error) == TLY_OK) {
                tly_asm_object_free(program);
            }
            tly_asm_object_free(back);
        }
        free(copy);
    }
    tly_asm_bytes_free(context, bytes, len);
    tly_asm_object_free(object);
}

/* Numbers, placement and ranges of every relocation against a plain reading of its definition. */
static void relocations_place_their_bits(void **state) {
    check_rng rng = {6};
    (void)state;
    for (uint32_t type = 0; type < 40; type++) {
        const tly_reloc_row *row = tly_reloc_find(type);
        if (row == NULL || row->value == TLY_RELOC_NONE) {
            continue;
        }
        for (int round = 0; round < 200; round++) {
            uint8_t bytes[8];
            uint64_t before, after, place = (check_random(&rng) >> 20) & ~UINT64_C(1), mask = 0;
            uint64_t unit = row->value == TLY_RELOC_HALFWORDS ? 2
                            : row->value == TLY_RELOC_WORDS   ? 4
                            : row->value == TLY_RELOC_PAGES   ? 4096
                            : row->value == TLY_RELOC_BYTES   ? 2
                                                              : 1;
            uint64_t base = row->value == TLY_RELOC_WORDS ? place & ~UINT64_C(3) : place;
            int64_t count =
                        (int64_t)(row->width == 0 ? 0
                                                  : check_random(&rng) >> (64 - row->width) >> 2),
                    field = 0;
            tly_error error;
            for (int i = 0; i < 8; i++) {
                bytes[i] = (uint8_t)check_random(&rng);
            }
            before = tly_base_load_u64(bytes);
            if (row->value == TLY_RELOC_DYNAMIC) { /* has no width */
                CHECK_RULE(tly_reloc_apply(row, bytes, 0, place, &error), &error, TLY_MALFORMED,
                           "reloc-dynamic");
                continue;
            }
            if (row->value == TLY_RELOC_LOW12 || row->value == TLY_RELOC_ABSOLUTE) {
                base = 0;
                count &= row->value == TLY_RELOC_LOW12 ? 0xFFF : INT64_MAX;
            }
            CHECK_OK(tly_reloc_apply(row, bytes, base + (uint64_t)count * unit, place, &error),
                     &error);
            after = tly_base_load_u64(bytes);
            for (uint32_t i = 0; i < row->num_pieces; i++) {
                const tly_isa_piece *p = &row->pieces[i];
                uint64_t span = p->width == 64 ? UINT64_MAX : (UINT64_C(1) << p->width) - 1;
                field |= (int64_t)((after >> p->insn_lsb & span) << p->value_lsb);
                mask |= span << p->insn_lsb;
            }
            assert_true(field == (row->value == TLY_RELOC_BYTES ? count * 2 : count));
            assert_true((before & ~mask) == (after & ~mask));
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linking_is_assembling_with_addresses),
        cmocka_unit_test(objects_read_back_as_they_were),
        cmocka_unit_test(programs_keep_their_addresses),
        cmocka_unit_test(the_linker_refuses),
        cmocka_unit_test(weak_and_local_names),
        cmocka_unit_test(identities_are_accepted_and_refused),
        cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(hostile_files_are_survived),
        cmocka_unit_test(relocations_place_their_bits),
    };
    return cmocka_run_group_tests_name("asm/elf", tests, set_up, tear_down);
}
