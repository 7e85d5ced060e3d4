/* SPDX-License-Identifier: Apache-2.0 */
/* The public interface of the machine: options, memory, state by name, runs, watches, snapshots. */
#include <string.h>

#include <tilery/asm.h>
#include <tilery/pto.h>

#include "check.h"

static tly_context *context;

static int set_up(void **state) {
    tly_error err;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &err), &err);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tly_context_free(context);
    return 0;
}

enum { TEXT_ADDRESS = 0x1000 };

/* Sums 1 .. a0 into a1, stores it at 0x2000 and returns. */
static const char PROGRAM[] = "    BSTART.STD FALL\n"
                              "    addi zero, 0, ->a1\n"
                              "loop:\n"
                              "    BSTART.STD COND, loop\n"
                              "    add a1, a0, ->a1\n"
                              "    subi a0, 1, ->a0\n"
                              "    setc.ne a0, zero\n"
                              "    C.BSTOP\n"
                              "    BSTART.STD RET\n"
                              "    sdi a1, [a2, 0]\n"
                              "    C.BSTOP\n";

static tly_pto_machine *new_machine(uint64_t memory_bytes) {
    tly_error err;
    tly_pto_options options = {.size = sizeof options, .memory_bytes = memory_bytes};
    tly_pto_machine *m = NULL;
    CHECK_OK(tly_pto_new(context, &options, &m, &err), &err);
    return m;
}

static void load(tly_pto_machine *m, const char *text) {
    uint8_t code[256];
    size_t len = 0;
    tly_error err;
    CHECK_OK(tly_asm_assemble_flat(context, text, strlen(text), TEXT_ADDRESS, TLY_ISA_0_58_3, code,
                                   sizeof code, &len, &err),
             &err);
    CHECK_OK(tly_pto_memory_write(m, TEXT_ADDRESS, code, len, &err), &err);
    CHECK_OK(tly_pto_set(m, "tpc", TEXT_ADDRESS, &err), &err);
    CHECK_OK(tly_pto_set(m, "gpr[0][2]", 10, &err), &err);
    CHECK_OK(tly_pto_set(m, "gpr[0][4]", 0x2000, &err), &err);
}

static uint64_t get(const tly_pto_machine *m, const char *name) {
    tly_error err;
    uint64_t value = 0;
    CHECK_OK(tly_pto_get(m, name, &value, &err), &err);
    return value;
}

static void a_program_runs(void **state) {
    tly_pto_machine *m = new_machine(1 << 20);
    tly_pto_run_options options = {.size = sizeof options, .max_steps = 1000};
    tly_pto_run_result result;
    tly_error err;
    uint8_t bytes[8];
    (void)state;
    load(m, PROGRAM);
    tly_pto_run(m, &options, &result);
    assert_int_equal(result.end, TLY_PTO_END_STOP);
    assert_int_equal(get(m, "gpr[0][3]"), 55);
    CHECK_OK(tly_pto_memory_read(m, 0x2000, bytes, sizeof bytes, &err), &err);
    assert_memory_equal(bytes, ((uint8_t[8]){55}), 8);
    assert_int_equal(get(m, "cycle"), result.num_steps);
    tly_pto_reset(m);
    assert_int_equal(get(m, "gpr[0][3]"), 0);
    CHECK_OK(tly_pto_memory_read(m, 0x2000, bytes, sizeof bytes, &err), &err);
    assert_memory_equal(bytes, ((uint8_t[8]){0}), 8);
    tly_pto_free(m);
}

/* One step at a time comes to the same state as a run, and says where each step was. */
static void steps_are_a_run(void **state) {
    tly_pto_machine *m = new_machine(1 << 20), *other = new_machine(1 << 20);
    tly_pto_run_options options = {.size = sizeof options, .max_steps = 17};
    tly_pto_run_result result;
    tly_pto_step step;
    (void)state;
    load(m, PROGRAM);
    load(other, PROGRAM);
    tly_pto_run(m, &options, &result);
    assert_int_equal(result.end, TLY_PTO_END_LIMIT);
    for (uint32_t i = 0; i < 17; i++) {
        uint64_t pc = get(other, "tpc");
        assert_int_equal(tly_pto_step_once(other, i % 2 == 0 ? &step : NULL), TLY_PTO_END_LIMIT);
        if (i % 2 == 0) {
            assert_int_equal(step.pc, pc);
            assert_int_equal(step.executed, 1);
        }
    }
    assert_int_equal(get(m, "tpc"), get(other, "tpc"));
    assert_int_equal(get(m, "gpr[0][3]"), get(other, "gpr[0][3]"));
    assert_int_equal(get(m, "cycle"), get(other, "cycle"));
    tly_pto_free(m);
    tly_pto_free(other);
}

typedef struct watched {
    uint32_t num_reads;
    uint32_t num_writes;
    uint32_t num_traps;
    tly_pto_access last;
} watched;

static void on_access(void *user, const tly_pto_access *access) {
    watched *w = user;
    w->num_reads += access->is_write == 0;
    w->num_writes += access->is_write != 0;
    w->last = *access;
}

static void on_trap(void *user, const tly_pto_machine *m, uint32_t ring) {
    (void)m;
    assert_int_equal(ring, 0);
    ((watched *)user)->num_traps++;
}

static void watches_see_accesses_and_traps(void **state) {
    tly_pto_machine *m = new_machine(1 << 20);
    tly_pto_run_options options = {.size = sizeof options, .max_steps = 1000};
    tly_pto_run_result result;
    tly_pto_refusal why = {.size = sizeof why};
    watched w = {0};
    tly_error err;
    (void)state;
    load(m, PROGRAM);
    tly_pto_watch_memory(m, on_access, &w);
    tly_pto_watch_traps(m, on_trap, &w);
    tly_pto_run(m, &options, &result);
    assert_int_equal(w.num_writes, 1);
    assert_int_equal(w.num_reads, 0);
    assert_int_equal(w.num_traps, 0);
    assert_int_equal(w.last.address, 0x2000);
    assert_int_equal(w.last.len, 8);
    assert_int_equal(w.last.value, 55);
    load(m, PROGRAM);
    CHECK_OK(tly_pto_set(m, "gpr[0][4]", 0x7FFFFFFF0, &err), &err);
    tly_pto_run(m, &options, &result);
    assert_int_equal(result.end, TLY_PTO_END_FAULT);
    assert_int_equal(w.num_traps, 1);
    assert_int_equal(w.num_writes, 1);
    tly_pto_refusal_get(m, &why);
    assert_string_equal(why.name, "DataPage");
    assert_string_equal(why.rule, "memory-range");
    assert_int_equal(why.address, 0x7FFFFFFF0);
    assert_non_null(strstr(why.text, "0x7fffffff0"));
    tly_pto_free(m);
}

static void a_snapshot_brings_everything_back(void **state) {
    tly_pto_machine *m = new_machine(1 << 20), *small = new_machine(1 << 16);
    tly_pto_snapshot *snapshot = NULL;
    tly_pto_run_options options = {.size = sizeof options, .max_steps = 20};
    tly_pto_run_result result;
    tly_error err;
    uint64_t sum = 0, cycle = 0;
    uint8_t bytes[8] = {1, 2, 3, 4, 5, 6, 7, 8}, back[8];
    (void)state;
    load(m, PROGRAM);
    CHECK_OK(tly_pto_memory_write(m, (1 << 20) - 8, bytes, 8, &err), &err);
    tly_pto_run(m, &options, &result);
    CHECK_OK(tly_pto_save(m, &snapshot, &err), &err);
    options.max_steps = 1000;
    tly_pto_run(m, &options, &result);
    sum = get(m, "gpr[0][3]");
    cycle = get(m, "cycle");
    tly_pto_reset(m);
    CHECK_OK(tly_pto_memory_write(m, 0x5000, bytes, 8, &err), &err);
    CHECK_OK(tly_pto_restore(m, snapshot, &err), &err);
    CHECK_OK(tly_pto_memory_read(m, 0x5000, back, 8, &err), &err);
    assert_memory_equal(back, ((uint8_t[8]){0}), 8);
    CHECK_OK(tly_pto_memory_read(m, (1 << 20) - 8, back, 8, &err), &err);
    assert_memory_equal(back, bytes, 8);
    tly_pto_run(m, &options, &result);
    assert_int_equal(result.end, TLY_PTO_END_STOP);
    assert_int_equal(get(m, "gpr[0][3]"), sum);
    assert_int_equal(get(m, "cycle"), cycle);
    CHECK_RULE(tly_pto_restore(small, snapshot, &err), &err, TLY_INVALID_ARGUMENT, "pto-snapshot");
    tly_pto_snapshot_free(snapshot);
    tly_pto_snapshot_free(NULL);
    tly_pto_free(m);
    tly_pto_free(small);
}

static void wrong_arguments_are_refused(void **state) {
    tly_pto_machine *m = NULL;
    tly_error err;
    uint64_t value = 0;
    uint8_t bytes[16] = {0};
    tly_pto_options options = {.size = sizeof options, .profile = "no such"};
    (void)state;
    CHECK_RULE(tly_pto_new(context, &options, &m, &err), &err, TLY_NOT_FOUND, "pto-profile");
    options = (tly_pto_options){.size = 3};
    CHECK_RULE(tly_pto_new(context, &options, &m, &err), &err, TLY_INVALID_ARGUMENT,
               "options-size");
    options = (tly_pto_options){.size = sizeof options, .memory_bytes = 4096, .app_limit = 4097};
    CHECK_RULE(tly_pto_new(context, &options, &m, &err), &err, TLY_INVALID_ARGUMENT, "pto-config");
    options = (tly_pto_options){.size = sizeof options, .use_release = 1, .release = 99};
    CHECK_RULE(tly_pto_new(context, &options, &m, &err), &err, TLY_INVALID_ARGUMENT, "pto-config");
    m = new_machine(4096);
    CHECK_RULE(tly_pto_get(m, "gpr[0]", &value, &err), &err, TLY_NOT_FOUND, "pto-field");
    CHECK_RULE(tly_pto_set(m, "current_acr", 16, &err), &err, TLY_INVALID_ARGUMENT, "pto-value");
    CHECK_RULE(tly_pto_set(m, "tile[0].data_type", 15, &err), &err, TLY_INVALID_ARGUMENT,
               "pto-value");
    CHECK_RULE(tly_pto_memory_write(m, 4090, bytes, 7, &err), &err, TLY_INVALID_ARGUMENT,
               "memory-range");
    CHECK_RULE(tly_pto_memory_read(m, UINT64_MAX, bytes, 2, &err), &err, TLY_INVALID_ARGUMENT,
               "memory-range");
    tly_pto_free(m);
    tly_pto_free(NULL);
}

static void fields_describe_themselves(void **state) {
    tly_pto_machine *m = new_machine(4096);
    tly_pto_field_description d = {.size = sizeof d};
    uint32_t number = 0, num_gpr = 0;
    (void)state;
    for (; tly_pto_field_info(m, number, &d) == TLY_OK; number++) {
        assert_non_null(d.name);
        if (strcmp(d.name, "gpr[][]") == 0) {
            assert_int_equal(d.num_indexes, 2);
            assert_int_equal(d.counts[0], 4);
            assert_int_equal(d.counts[1], 24);
            assert_int_equal(d.len, 8);
            num_gpr++;
        }
        if (strcmp(d.name, "barg.block_type") == 0) {
            assert_string_equal(tly_pto_value_name(number, 2), "System");
            assert_int_equal(d.is_saved, 1);
        }
    }
    assert_true(number > 100);
    assert_int_equal(num_gpr, 1);
    assert_int_equal(tly_pto_field_info(m, number, &d), TLY_NOT_FOUND);
    tly_pto_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_program_runs),
        cmocka_unit_test(steps_are_a_run),
        cmocka_unit_test(watches_see_accesses_and_traps),
        cmocka_unit_test(a_snapshot_brings_everything_back),
        cmocka_unit_test(wrong_arguments_are_refused),
        cmocka_unit_test(fields_describe_themselves),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
