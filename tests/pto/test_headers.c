/* SPDX-License-Identifier: Apache-2.0 */
/* The header of a block: clearing it by the short way leaves what the long way leaves, and both
 * encodings of binders say the same. */
#include "check.h"

#include <stdbool.h>
#include <string.h>

#include <tilery/context.h>
#include <tilery/isa.h>

#include "isa/table.h"
#include "pto/block/command.h"
#include "pto/create.h"
#include "pto/exec.h"
#include "pto/fields.h"

static tly_context *context;

static tly_pto_machine *make(tly_isa_release release) {
    tly_pto_machine *m = NULL;
    tly_error err = {0};
    const tly_pto_config config = {
        .memory_bytes = 4096, .app_limit = 3072, .num_queues = 1, .release = release};
    CHECK_OK(tly_pto_machine_new(context, &config, &m, &err), &err);
    return m;
}

static int set_up(void **state) {
    (void)state;
    return tly_context_new(NULL, &context, NULL) == TLY_OK ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    tly_context_free(context);
    return 0;
}

/* Fields of what a trap would save, which is where headers are. */
static void compare_contexts(const tly_pto_machine *a, const tly_pto_machine *b) {
    tly_pto_place place = {0};
    char name[128];
    while (tly_pto_place_next(a, &place) && place.field->in_saved != 0 && place.saved_ring < 0) {
        if (tly_pto_place_read(a, &place) != tly_pto_place_read(b, &place)) {
            tly_pto_place_name(&place, name, sizeof(name));
            fail_msg("%s is 0x%llx and 0x%llx", name,
                     (unsigned long long)tly_pto_place_read(a, &place),
                     (unsigned long long)tly_pto_place_read(b, &place));
        }
    }
}

/* A word of a random command that an ordinary block or its header may have. */
static uint64_t random_command(check_rng *rng, uint32_t *out_bits) {
    static const uint16_t forms[] = {
        TLY_FORM_B_CATR,          TLY_FORM_B_DATR,   TLY_FORM_B_DIM_LB0,
        TLY_FORM_B_DIM_LB2,       TLY_FORM_C_B_DIMI, TLY_FORM_B_HINT,
        TLY_FORM_B_HINT_TRACE,    TLY_FORM_B_IOR,    TLY_FORM_B_IOT_1S,
        TLY_FORM_B_IOT_2S_D,      TLY_FORM_B_IOT_D,  TLY_FORM_B_IOS,
        TLY_FORM_BSTART_STD_FALL, TLY_FORM_C_BSTOP,  TLY_FORM_BSTART_TEPL,
        TLY_FORM_BSTART_TMATMUL,  TLY_FORM_B_FPATR,  TLY_FORM_BSTART_SYS,
        TLY_FORM_BSTART_TLOAD,    TLY_FORM_BSTOP};
    tly_isa_form info = {.size = sizeof(info)};
    const uint32_t form = forms[check_below(rng, sizeof(forms) / sizeof(forms[0]))];
    tly_error err = {0};
    CHECK_OK(tly_isa_form_info(form, &info), &err);
    *out_bits = info.bits;
    return (check_random(rng) & ~info.mask & ((UINT64_C(2) << (info.bits - 1)) - 1)) | info.match;
}

static void a_short_clear_leaves_what_a_long_one_does(void **state) {
    (void)state;
    tly_pto_machine *quick = make(TLY_ISA_0_58_3);
    tly_pto_machine *thorough = make(TLY_ISA_0_58_3);
    const uint64_t seed = check_seed(12);
    check_rng rng = {seed};
    uint32_t num_executed = 0;
    uint32_t num_short = 0;
    print_message("seed %llu\n", (unsigned long long)seed);
    for (uint64_t step = 0; step < check_rounds(40000); step++) {
        uint32_t bits = 0;
        const uint64_t word = random_command(&rng, &bits);
        num_short += quick->core.context.header.untouched;
        thorough->core.context.header.untouched = false;
        thorough->core.context.header.in_order = false;
        const bool executed = tly_pto_execute(quick, word, bits);
        assert_int_equal(tly_pto_execute(thorough, word, bits), executed);
        num_executed += executed;
        compare_contexts(quick, thorough);
        if (check_below(&rng, 12) == 0) {
            tly_pto_machine_reset(quick);
            tly_pto_machine_reset(thorough);
        }
    }
    assert_true(num_executed > 1000 && num_short > 1000);
    tly_pto_machine_free(quick);
    tly_pto_machine_free(thorough);
}

static uint64_t encode(uint32_t form, const char *const *names, const int64_t *values,
                       uint32_t num_names) {
    tly_isa_form info = {.size = sizeof(info)};
    int64_t fields[TLY_ISA_MAX_FIELDS] = {0};
    uint64_t word = 0;
    tly_error err = {0};
    CHECK_OK(tly_isa_form_info(form, &info), &err);
    for (uint32_t i = 0; i < info.num_fields; i++) {
        for (uint32_t k = 0; k < num_names; k++) {
            if (strcmp(info.fields[i].name, names[k]) == 0) {
                fields[i] = values[k];
            }
        }
    }
    CHECK_OK(tly_isa_encode(form, fields, &word, &err), &err);
    return word;
}

typedef struct binder {
    uint32_t now;
    uint32_t before;
    uint32_t has_size;
} binder;

static const binder binders[] = {
    {TLY_FORM_B_IOT_1S, TLY_FORM_B_IOT_1S_R0580, 0},
    {TLY_FORM_B_IOT_2S, TLY_FORM_B_IOT_2S_R0580, 0},
    {TLY_FORM_B_IOT_D, TLY_FORM_B_IOT_D_R0580, 1},
    {TLY_FORM_B_IOT_1S_D, TLY_FORM_B_IOT_1S_D_R0580, 1},
    {TLY_FORM_B_IOT_2S_D, TLY_FORM_B_IOT_2S_D_R0580, 1},
    {TLY_FORM_B_IOS, TLY_FORM_B_IOS_R0580, 1},
};

/* Modes of 0.58.3 by the masks that they stand for; other masks only the old encoding has. */
static int64_t mode_of_mask(uint32_t mask) {
    static const uint8_t masks[] = {0x0, 0x8, 0x4, 0x2, 0x1, 0xC, 0xE, 0xF};
    for (int64_t mode = 0; mode < 8; mode++) {
        if (masks[mode] == mask) {
            return mode;
        }
    }
    return -1;
}

static void both_encodings_of_binders_say_the_same(void **state) {
    (void)state;
    static const char *const names[] = {"SrcTile0", "SrcTile1", "L",       "DstTile", "SharedTID",
                                        "PEMode",   "SizeCode", "PE_MASK", "TSize"};
    tly_pto_machine *now = make(TLY_ISA_0_58_3);
    check_rng rng = {check_seed(13)};
    for (uint32_t release = TLY_ISA_0_58_0; release <= TLY_ISA_0_58_2; release++) {
        tly_pto_machine *before = make((tly_isa_release)release);
        for (uint32_t i = 0; i < sizeof(binders) / sizeof(binders[0]); i++) {
            for (uint32_t mask = 0; mask < 16; mask++) {
                const int64_t size = binders[i].has_size ? 1 + (int64_t)check_below(&rng, 7) : 0;
                const int64_t mode = mode_of_mask(mask);
                const int64_t values[] = {(int64_t)check_below(&rng, 64),
                                          (int64_t)check_below(&rng, 64),
                                          (int64_t)check_below(&rng, 2),
                                          (int64_t)check_below(&rng, 4),
                                          (int64_t)check_below(&rng, 256),
                                          mode < 0 ? 7 : mode,
                                          size,
                                          mask,
                                          size};
                const uint64_t start = encode(TLY_FORM_BSTART_TEPL, names, values, 0);
                const uint64_t new_word = encode(binders[i].now, names, values, 9);
                const uint64_t old_word = encode(binders[i].before, names, values, 9);
                tly_pto_machine_reset(now);
                tly_pto_machine_reset(before);
                assert_true(tly_pto_execute(now, start, 32));
                assert_true(tly_pto_execute(before, start, 32));
                assert_true(tly_pto_execute(now, new_word, 32));
                assert_true(tly_pto_execute(before, old_word, 32));
                tly_pto_header *header = &before->core.context.header;
                if (mode < 0) { /* compare all but the mask */
                    uint8_t *got = binders[i].now == TLY_FORM_B_IOS
                                       ? &header->shared_bindings[0].pe_mask
                                       : &header->tile_bindings[0].pe_mask;
                    assert_int_equal(*got, mask);
                    *got = 0xF;
                }
                compare_contexts(now, before);
            }
        }
        tly_pto_machine_free(before);
    }
    tly_pto_machine_free(now);
}

static void every_command_has_a_row_and_scalar_forms_have_none(void **state) {
    (void)state;
    uint32_t num_commands = 0;
    for (uint32_t form = 0; form < TLY_NUM_FORMS; form++) {
        const tly_isa_form_row *row = tly_isa_form_at(form);
        const bool here = (row->releases >> TLY_ISA_0_58_3 & 1) != 0;
        const bool is_command = row->surface == TLY_ISA_COMMAND;
        if (is_command ? here && tly_pto_command_of(form)->execute == NULL
                       : tly_pto_command_of(form)->execute != NULL) {
            fail_msg("%s (form %u) has the wrong row in block/command.c", tly_isa_mnemonic_of(form),
                     form);
        }
        num_commands += is_command && here;
    }
    assert_int_equal(num_commands, 74 + 5); /* moves and stores have names for their variants */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_command_has_a_row_and_scalar_forms_have_none),
        cmocka_unit_test(a_short_clear_leaves_what_a_long_one_does),
        cmocka_unit_test(both_encodings_of_binders_say_the_same),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
