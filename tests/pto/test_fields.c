/* SPDX-License-Identifier: Apache-2.0 */
/* State by name: every field can be found, read, written, and is a place of its own. */
#include <string.h>

#include "check.h"
#include "pto/create.h"
#include "pto/fields.h"

typedef struct fixture {
    tly_context *context;
    tly_pto_machine *machine;
} fixture;

static int set_up(void **state) {
    static fixture f;
    tly_error err;
    tly_pto_config config = {
        .memory_bytes = 4096, .app_limit = 3072, .num_queues = 2, .release = TLY_ISA_0_58_3};
    CHECK_OK(tly_context_new(NULL, &f.context, &err), &err);
    CHECK_OK(tly_pto_machine_new(f.context, &config, &f.machine, &err), &err);
    *state = &f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    tly_pto_machine_free(f->machine);
    tly_context_free(f->context);
    return 0;
}

static uint64_t limit_of(const tly_pto_field *field) {
    return field->kind == TLY_PTO_FIELD_FLAG ? 1
           : field->len == 8                 ? UINT64_MAX
                                             : (UINT64_C(1) << (8 * field->len)) - 1;
}

/* Writes a value of its own to each place, and reads all of them back afterwards. */
static void every_place_is_its_own(void **state) {
    fixture *f = *state;
    tly_pto_place place = {0};
    check_rng rng = {1};
    uint64_t num_places = 0;
    while (tly_pto_place_next(f->machine, &place)) {
        tly_pto_place_write(f->machine, &place, check_random(&rng) & limit_of(place.field));
        num_places++;
    }
    assert_true(num_places > 10000);
    memset(&place, 0, sizeof place);
    rng.state = 1;
    while (tly_pto_place_next(f->machine, &place)) {
        uint64_t wanted = check_random(&rng) & limit_of(place.field);
        if (strcmp(place.field->name, "gpr[][]") == 0 && place.indexes[1] == 0) {
            wanted = 0; /* R0 of each element */
        }
        if (tly_pto_place_read(f->machine, &place) != wanted) {
            char name[128];
            tly_pto_place_name(&place, name, sizeof name);
            fail_msg("%s does not keep its value", name);
        }
    }
    tly_pto_machine_reset(f->machine);
}

static void every_name_leads_back(void **state) {
    fixture *f = *state;
    tly_pto_place place = {0}, found;
    char name[128];
    uint32_t step = 0;
    while (tly_pto_place_next(f->machine, &place)) {
        if (step++ % 7 != 0) { /* a part of them: looking up walks the list */
            continue;
        }
        size_t len = tly_pto_place_name(&place, name, sizeof name);
        assert_int_equal(len, strlen(name));
        assert_true(tly_pto_place_find(f->machine, name, len, &found));
        assert_ptr_equal(found.field, place.field);
        assert_int_equal(found.saved_ring, place.saved_ring);
        assert_memory_equal(found.indexes, place.indexes, sizeof found.indexes);
    }
}

static void wrong_names_are_refused(void **state) {
    static const char *const names[] = {"",
                                        "tp",
                                        "tpcc",
                                        "gpr[0]",
                                        "gpr[0][24]",
                                        "gpr[4][0]",
                                        "gpr[0][1][2]",
                                        "gpr[-1][0]",
                                        "gpr[0x1][0]",
                                        "gpr[99999999999999999999][0]",
                                        "t_queue",
                                        "t_queue[",
                                        "t_queue[]",
                                        "t_queue[4]",
                                        "trap_context[16].tpc",
                                        "trap_context[1]",
                                        "trap_context[1].gpr[0][1]",
                                        "valid",
                                        "gqm_queue_valid[2]",
                                        "gqm_queue_entries[0][1023].value"};
    fixture *f = *state;
    tly_pto_place place;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        assert_false(tly_pto_place_find(f->machine, names[i], strlen(names[i]), &place));
    }
}

static void values_have_names(void **state) {
    fixture *f = *state;
    tly_pto_place place;
    uint64_t value = 0;
    assert_true(tly_pto_place_find(f->machine, "barg.block_type", 15, &place));
    assert_string_equal(tly_pto_field_value_name(place.field, TLY_PTO_KIND_TILE_MATRIX),
                        "TileMatrix");
    assert_null(tly_pto_field_value_name(place.field, 99));
    assert_true(tly_pto_field_value_find(place.field, "system", 6, &value));
    assert_int_equal(value, TLY_PTO_KIND_SYSTEM);
    assert_false(tly_pto_field_value_find(place.field, "syste", 5, &value));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_is_its_own),
        cmocka_unit_test(every_name_leads_back),
        cmocka_unit_test(wrong_names_are_refused),
        cmocka_unit_test(values_have_names),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
