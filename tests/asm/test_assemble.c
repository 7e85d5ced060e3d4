/* SPDX-License-Identifier: Apache-2.0 */
/* Whole texts: labels, directives, sections, diagnostics, and what comes out as bytes. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/asm.h>

#include "asm/object.h"
#include "isa/table.h"

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

typedef struct said {
    char text[2048];
    uint32_t errors, warnings;
} said;

static void listen(void *user, const tly_asm_diagnostic *d) {
    said *s = user;
    size_t used = strlen(s->text);
    snprintf(s->text + used, sizeof s->text - used, "%u:%u %s %s\n", d->line, d->column, d->rule,
             d->message);
    *(d->severity == TLY_ASM_ERROR ? &s->errors : &s->warnings) += 1;
}

static tly_asm_object *assemble(const char *text, said *s, tly_status *out_status) {
    tly_asm_options options = {.size = sizeof options,
                               .release = TLY_ISA_0_58_3,
                               .diagnostic = listen,
                               .diagnostic_user = s};
    tly_asm_object *object;
    tly_error error;
    memset(s, 0, sizeof *s);
    *out_status = tly_asm_assemble(context, "a.s", text, strlen(text), &options, &object, &error);
    return object;
}

static tly_asm_object *assemble_ok(const char *text) {
    said s;
    tly_status status;
    tly_asm_object *object = assemble(text, &s, &status);
    if (status != TLY_OK) {
        fail_msg("%s", s.text);
    }
    return object;
}

static void section_is(const tly_asm_object *object, const char *name, const char *hex) {
    uint32_t number = tly_object_find_section(object, name, strlen(name));
    const tly_obj_section *s;
    char shown[1024] = "";
    assert_int_not_equal(number, 0);
    s = tly_object_section(object, number);
    for (uint64_t i = 0; i < s->size && i < 500; i++) {
        snprintf(shown + 2 * i, 3, "%02x", s->bytes[i]);
    }
    assert_string_equal(shown, hex);
}

static void labels_reach_both_ways(void **state) {
    tly_asm_object *o = assemble_ok("_start: C.BSTART COND, 1f\n"
                                    "loop:   c.movi 3, ->t   # comment\n"
                                    "1:      C.BSTART DIRECT, loop; C.BSTOP // end\n"
                                    "        C.BSTART COND, 1b\n"
                                    "1:      C.BSTART COND, 1b\n");
    (void)state;
    section_is(o, ".text", "2400d6f8f2ff0000e4ff0400");
    tly_asm_object_free(o);
}

static void data_directives_make_bytes(void **state) {
    tly_asm_object *o = assemble_ok(".data\n"
                                    " .byte 1, -1, 'A', 0xff\n"
                                    " .half 0x1234\n .balign 4\n .word 0x11223344, -2\n"
                                    " .quad end - start\n"
                                    "start: .ascii \"a\\n\\x41\\101\\\"\"\n"
                                    " .asciz \"hi\", \"\"\n"
                                    "end: .zero 3\n .fill 2, 2, 0xabcd\n .set ten, 10\n"
                                    " .byte ten * 2 + (1 << 3), ten / 3, ~0 & 0xf\n"
                                    "five = 5\n .byte five\n .org 64\n .byte 7\n");
    (void)state;
    section_is(o, ".data",
               "01ff41ff3412000044332211feffffff0900000000000000"
               "610a41412268690000000000cdabcdab1c030f05"
               "0000000000000000000000000000000000000000"
               "07");
    tly_asm_object_free(o);
}

static void every_error_is_reported_with_its_place(void **state) {
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"addi a0, 1\nfoo\n", "1:11 asm-operand expected a comma, but the line ends\n"
                              "2:1 asm-mnemonic no instruction is called \"foo\"\n"},
        {"x: x: C.BSTOP\n", "1:4 asm-duplicate x is defined a second time\n"},
        {".ballign 4\n",
         "1:1 asm-directive there is no directive .ballign; did you mean .balign?\n"},
        {".byte 256\n", "1:7 asm-range 256 does not fit in 1 byte\n"},
        {".balign 3\n", "1:9 asm-align an alignment is a power of two up to 65536 bytes\n"},
        {".ascii \"abc\n", "1:12 asm-string the closing quote is missing\n"},
        {".zero later\nlater=4\n", "1:7 asm-expression this must be a number that is known here\n"},
        {"C.BSTART COND, far\n.zero 5000\nfar:\n",
         "1:16 asm-range the target is 5002 bytes away; 12 bits of halfwords reach it not\n"},
        {".bss\nC.BSTOP\n",
         "2:0 asm-section an instruction cannot stand in a section without bytes\n"},
        {"C.BSTART COND, 2f\n2:C.BSTART COND,3b\n", "2:17 asm-symbol there is no label 3 above\n"},
        {".byte outside\n", "1:7 asm-operand an address takes .word or .quad\n"},
        {".section .x, \"aq\"\n",
         "1:16 asm-operand expected the flags a, w and x, found \"q\"\"\n"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        said s;
        tly_status status;
        tly_asm_object *o = assemble(cases[i].text, &s, &status);
        assert_int_equal(status, TLY_MALFORMED);
        assert_null(o);
        assert_string_equal(s.text, cases[i].says);
    }
}

static void bundles_are_checked_as_wholes(void **state) {
    static const struct {
        const char *text, *rule;
    } cases[] = {
        {"BSTART.VEC TADD, FP32\nB.IOT t#1, u#1, mask=1111, last, ->m<8KB>\nBSTOP\n", NULL},
        {"BSTART.VEC TADD, FP32\nB.IOT t#1, mask=1111, last, ->m<8KB>\nBSTOP\n", "bundle-sources"},
        {"BSTART.VEC TADD, FP32\nB.IOT t#1, u#1, mask=1111, last\nBSTOP\n", "bundle-destinations"},
        {"BSTART.VEC TADD, FP32\nB.IOT t#1, u#1, mask=1111, ->m<8KB>\nBSTOP\n", "bundle-last"},
        {"BSTART.VEC TADD, U4X2\nB.IOT t#1, u#1, mask=1111, last, ->m<8KB>\nBSTOP\n",
         "bundle-dtype"},
        {"BSTART.VEC TADD, FP32\nB.IOT t#1, u#1, mask=1111, last, ->m<8KB>\n", "bundle-terminator"},
        {"BSTART.VEC TADD, FP32\nB.DATR NORM, FP64, Zero, rmode1\n"
         "B.IOT t#1, u#1, mask=1111, last, ->m<8KB>\nBSTOP\n",
         "bundle-attribute"},
        {"B.DATR NORM, FP64, Zero\n", "bundle-header"},
        {"BSTART.TEPL 3, 31, FP32\nBSTOP\n", "bundle-operation"},
        {"BSTART.TLOAD FP32\nB.IOT mask=1111, last, ->m<8KB>\nBSTART.TSTORE FP32\n"
         "B.IOT m#1, mask=1111, last\nBSTOP\n",
         NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        said s;
        tly_status status;
        tly_asm_object *o = assemble(cases[i].text, &s, &status);
        assert_int_equal(status, TLY_OK);
        if (cases[i].rule == NULL ? s.warnings != 0 : strstr(s.text, cases[i].rule) == NULL) {
            fail_msg("%s: %s", cases[i].text, s.text);
        }
        tly_asm_object_free(o);
    }
}

static void warnings_can_be_errors(void **state) {
    tly_asm_options options = {
        .size = sizeof options, .release = TLY_ISA_0_58_3, .warnings_as_errors = 1};
    const char *text = "B.DATR NORM, FP64, Zero\n";
    tly_asm_object *object;
    tly_error error;
    (void)state;
    CHECK_RULE(tly_asm_assemble(context, "a.s", text, strlen(text), &options, &object, &error),
               &error, TLY_MALFORMED, "bundle-header");
    assert_non_null(strstr(error.message, "a.s:1:"));
}

static void flat_code_goes_into_a_buffer(void **state) {
    const char *text = "C.BSTART COND, 0x2004\nc.movi 1, ->t\nend: C.BSTART DIRECT, end\n";
    uint8_t buffer[8];
    size_t len;
    tly_error error;
    (void)state;
    CHECK_OK(tly_asm_assemble_flat(context, text, strlen(text), 0x2000, TLY_ISA_0_58_3, buffer,
                                   sizeof buffer, &len, &error),
             &error);
    assert_int_equal(len, 6);
    assert_memory_equal(buffer, "\x24\x00\x56\xf8\x02\x00", 6);
    assert_int_equal(tly_asm_assemble_flat(context, text, strlen(text), 0x2000, TLY_ISA_0_58_3,
                                           buffer, 5, &len, &error),
                     TLY_LIMIT);
    assert_int_equal(len, 6);
    text = "lw.pcr [nowhere], ->a0\n";
    CHECK_RULE(tly_asm_assemble_flat(context, text, strlen(text), 0, TLY_ISA_0_58_3, buffer,
                                     sizeof buffer, &len, &error),
               &error, TLY_MALFORMED, "link-undefined");
}

static void older_releases_have_their_own_binders(void **state) {
    tly_asm_object *o = assemble_ok(".isa 0.58.2\nB.IOT mask=0110, last, ->n<128B>\n"
                                    ".isa 0.58.3\nB.IOT mask=1111, last, ->n<128B>\n");
    const tly_obj_section *s;
    tly_isa_insn insn;
    tly_error error;
    (void)state;
    s = tly_object_section(o, 1);
    CHECK_OK(tly_isa_decode_bytes(s->bytes, 4, TLY_ISA_0_58_2, &insn, &error), &error);
    assert_int_equal(insn.fields[1], 6); /* L, PE_MASK, TSize, DstTile */
    tly_asm_object_free(o);
}

/* Failing allocations, one by one: an error each time, no leak, no crash. */
typedef struct ration {
    uint64_t left;
    int64_t blocks;
} ration;

static void *rationed(void *user, void *old, size_t old_size, size_t new_size, size_t alignment) {
    ration *r = user;
    (void)old_size;
    if (new_size == 0) {
        r->blocks -= old != NULL;
        free(old);
        return NULL;
    }
    if (r->left == 0) {
        return NULL;
    }
    r->left--;
    r->blocks += old == NULL;
    assert_true(alignment <= 16);
    return realloc(old, new_size);
}

static void failing_allocations_are_survived(void **state) {
    const char *text =
        "_start: C.BSTART COND, x\n lw.pcr [y], ->a0\n1: C.BSTOP\n.data\n.quad y\nx:";
    (void)state;
    for (uint64_t count = 1;; count++) {
        ration r = {count, 0};
        tly_context_options options = {.size = sizeof options, .allocator = {rationed, &r}};
        tly_context *tight;
        tly_asm_object *object = NULL, *program = NULL;
        tly_error error;
        uint8_t *bytes = NULL;
        size_t len = 0;
        tly_status status = tly_context_new(&options, &tight, &error);
        if (status != TLY_OK) {
            continue;
        }
        status = tly_asm_assemble(tight, "a.s", text, strlen(text), NULL, &object, &error);
        if (status == TLY_OK) {
            status = tly_asm_write_elf(object, &bytes, &len, &error);
            if (status == TLY_OK) {
                tly_asm_object *back;
                status = tly_asm_read_elf(tight, bytes, len, &back, &error);
                if (status == TLY_OK) {
                    tly_asm_object_free(back);
                }
                tly_asm_bytes_free(tight, bytes, len);
            }
        }
        if (status == TLY_OK) {
            assert_int_equal(tly_asm_link(tight, &object, 1, NULL, &program, &error) == TLY_OK, 0);
            status = error.status == TLY_OUT_OF_MEMORY ? TLY_OUT_OF_MEMORY : TLY_OK;
        }
        tly_asm_object_free(object);
        tly_context_free(tight);
        assert_int_equal(r.blocks, 0);
        if (status == TLY_OK) {
            break;
        }
        assert_int_equal(status, TLY_OUT_OF_MEMORY);
        assert_true(count < 1000);
    }
}

/* Random programs: what is assembled, printed with absolute targets and assembled again is the
 * same. */
static void programs_survive_the_disassembler(void **state) {
    check_rng rng = {11};
    (void)state;
    for (int round = 0; round < 60; round++) {
        static char text[1 << 16];
        uint8_t first[4096], second[4096];
        size_t used = 0, len = 0, again;
        uint64_t address = 0x10000 + 4 * check_below(&rng, 100);
        tly_error error;
        for (int i = 0; i < 100; i++) {
            uint32_t number = (uint32_t)check_below(&rng, tly_isa_num_forms());
            const tly_isa_form_row *form = tly_isa_form_at(number);
            uint64_t word = (check_random(&rng) >> (64 - form->bits) & ~form->mask) | form->match;
            tly_isa_insn insn;
            if ((form->releases >> TLY_ISA_0_58_3 & 1) == 0 || len + 8 > sizeof first ||
                tly_isa_decode(word, form->bits / 8u, TLY_ISA_0_58_3, &insn, NULL) != TLY_OK) {
                continue;
            }
            CHECK_OK(
                tly_asm_format(&insn, address + len, NULL, text + used, sizeof text - used, NULL),
                &error);
            used += strlen(text + used);
            text[used++] = '\n';
            for (uint32_t k = 0; k < insn.len; k++) {
                first[len++] = (uint8_t)(word >> 8 * k);
            }
        }
        if (tly_asm_assemble_flat(context, text, used, address, TLY_ISA_0_58_3, second,
                                  sizeof second, &again, &error) != TLY_OK) {
            fail_msg("%s", error.message);
        }
        assert_int_equal(again, len);
        assert_memory_equal(first, second, len);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(labels_reach_both_ways),
        cmocka_unit_test(data_directives_make_bytes),
        cmocka_unit_test(every_error_is_reported_with_its_place),
        cmocka_unit_test(bundles_are_checked_as_wholes),
        cmocka_unit_test(warnings_can_be_errors),
        cmocka_unit_test(flat_code_goes_into_a_buffer),
        cmocka_unit_test(older_releases_have_their_own_binders),
        cmocka_unit_test(failing_allocations_are_survived),
        cmocka_unit_test(programs_survive_the_disassembler),
    };
    return cmocka_run_group_tests_name("asm/assemble", tests, set_up, tear_down);
}
