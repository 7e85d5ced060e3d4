/* SPDX-License-Identifier: Apache-2.0 */
/* How runs of a team end, who may look on meanwhile, and what is refused. */
#include <signal.h>
#include <unistd.h>

#include "pto/team_rig.h"

static const char odd_load[] = "C.BSTART.STD FALL\n"
                               "ldi [a0, 8], ->a3\n"
                               "C.BSTOP\n";
static const char for_ever[] = "around: C.BSTART DIRECT, around\n"
                               "C.BSTOP\n";

/* Elements 1 and 3 fault in the same round, 2 never ends. */
static void the_first_trap_ends_the_run(void **state) {
    (void)state;
    rig r = rig_make(4, NULL);
    for (uint32_t threads = 1; threads <= 4; threads++) {
        tly_pto_team_reset(r.team);
        rig_load(&r, 0, rig_count_in);
        rig_load(&r, 1, odd_load);
        rig_load(&r, 2, for_ever);
        rig_load(&r, 3, odd_load);
        tly_pto_team_run_result result =
            rig_run(&r, (rig_run_how){.threads = threads, .round_steps = 100});
        assert_int_equal(result.first, 1);
        assert_int_equal(result.num_elements, 4);
        assert_int_equal(result.num_rounds, 1);
        assert_int_equal(result.elements[0].end, TLY_PTO_END_OTHER);
        assert_int_equal(result.elements[1].end, TLY_PTO_END_FAULT);
        assert_int_equal(result.elements[2].end, TLY_PTO_END_OTHER);
        assert_int_equal(result.elements[2].num_steps, 100);
        assert_int_equal(result.elements[3].end, TLY_PTO_END_FAULT);
        assert_int_equal(rig_machine(&r, 1)->core.last_fault, TLY_PTO_FAULT_DATA_ALIGNMENT);
        assert_int_equal(rig_machine(&r, 2)->core.last_fault, TLY_PTO_FAULT_NONE);
    }
    rig_free(&r);
}

/* A trap with a handler is the element's own affair. */
static void a_trap_that_is_handled_ends_nothing(void **state) {
    (void)state;
    rig r = rig_make(2, NULL);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        tly_pto_team_reset(r.team);
        rig_load(&r, 0, rig_count_in);
        rig_load(&r, 1, odd_load);
        for (uint32_t ring = 0; ring < TLY_PTO_NUM_RINGS; ring++) {
            rig_machine(&r, 1)->core.context_registers[ring][1] = RIG_STOP;
        }
        tly_pto_team_run_result result = rig_run(&r, (rig_run_how){.threads = threads});
        assert_int_equal(result.first, -1);
        assert_int_equal(result.elements[0].end, TLY_PTO_END_STOP);
        assert_int_equal(result.elements[1].end, TLY_PTO_END_STOP);
        assert_int_equal(rig_machine(&r, 1)->core.last_fault, TLY_PTO_FAULT_DATA_ALIGNMENT);
    }
    rig_free(&r);
}

static void every_element_has_its_limit(void **state) {
    (void)state;
    rig r = rig_make(3, NULL);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        tly_pto_team_reset(r.team);
        rig_load(&r, 0, for_ever);
        rig_load(&r, 1, rig_count_in);
        rig_load(&r, 2, for_ever);
        tly_pto_team_run_result result =
            rig_run(&r, (rig_run_how){.threads = threads, .round_steps = 64, .max_steps = 1001});
        assert_int_equal(result.first, -1);
        assert_int_equal(result.elements[0].end, TLY_PTO_END_LIMIT);
        assert_int_equal(result.elements[0].num_steps, 1001);
        assert_int_equal(result.elements[1].end, TLY_PTO_END_STOP);
        assert_int_equal(result.elements[2].num_steps, 1001);
    }
    rig_free(&r);
}

/* A flag that is read without a turn is a race; one thread still comes to an end, every time after
 * the same steps. */
static void a_race_on_one_thread_is_the_same_every_time(void **state) {
    (void)state;
    static const char wait[] = "around: C.BSTART COND, around\n"
                               "ldi [a2, 0], ->a3\n"
                               "setc.eq a3, zero\n"
                               "C.BSTOP\n";
    static const char tell[] = "C.BSTART.STD FALL\n"
                               "hl.addi zero, 1000, ->a3\n"
                               "C.BSTOP\n"
                               "around: C.BSTART COND, around\n"
                               "subi a3, 1, ->a3\n"
                               "setc.ne a3, zero\n"
                               "C.BSTOP\n"
                               "C.BSTART.STD FALL\n"
                               "sdi a2, [a2, 0]\n"
                               "C.BSTOP\n";
    rig r = rig_make(2, NULL);
    uint64_t steps = 0;
    for (uint32_t i = 0; i < 3; i++) {
        tly_pto_team_reset(r.team);
        rig_load(&r, 0, wait);
        rig_load(&r, 1, tell);
        tly_pto_team_run_result result =
            rig_run(&r, (rig_run_how){.threads = 1, .round_steps = 500});
        assert_int_equal(result.elements[0].end, TLY_PTO_END_STOP);
        steps = i == 0 ? result.elements[0].num_steps : steps;
        assert_int_equal(result.elements[0].num_steps, steps);
    }
    rig_free(&r);
}

/* ------------------------------------------------------------------------------------------ */

static int note_element(void *user, tly_pto_machine *m, const tly_pto_step *step) {
    char *text = user;
    (void)step;
    size_t len = strlen(text);
    text[len] = (char)('0' + m->core.current_pe);
    return len + 1 < 30;
}

static void an_observer_sees_them_in_order(void **state) {
    (void)state;
    rig r = rig_make(3, NULL);
    char seen[64] = {0};
    tly_error err = {0};
    for (uint32_t i = 0; i < 3; i++) {
        rig_load(&r, i, for_ever);
    }
    const tly_pto_team_run_options options = {.size = sizeof(options),
                                              .threads = 3,
                                              .stop_pc = RIG_STOP,
                                              .round_steps = 4,
                                              .max_steps = 1000,
                                              .observer = note_element,
                                              .user = seen};
    tly_pto_team_run_result result = {.size = sizeof(result)};
    CHECK_OK(tly_pto_team_run(r.team, &options, &result, &err), &err);
    assert_string_equal(seen, "000011112222000011112222000011");
    assert_int_equal(result.first, 1);
    assert_int_equal(result.elements[1].end, TLY_PTO_END_ASKED);
    assert_int_equal(result.elements[0].num_steps, 12);
    assert_int_equal(result.elements[1].num_steps, 10);
    assert_int_equal(result.elements[2].num_steps, 8);
    rig_free(&r);
}

static void note_access(void *user, const tly_pto_access *access) {
    char *text = user;
    size_t len = strlen(text);
    text[len] = (char)('0' + access->pe);
    text[len + 1] = access->is_write ? 'w' : 'r';
}

/* What is watched goes by number, whatever was asked for. */
static void watchers_see_elements_in_order(void **state) {
    (void)state;
    rig r = rig_make(3, NULL);
    for (uint32_t threads = 1; threads <= 3; threads++) {
        char seen[64] = {0};
        tly_pto_team_reset(r.team);
        for (uint32_t i = 0; i < 3; i++) {
            rig_load(&r, i, rig_count_in);
            tly_pto_watch_memory(rig_machine(&r, i), i != 1 ? note_access : NULL, seen);
        }
        rig_finish(&r, (rig_run_how){.threads = threads});
        /* the additions are turns, and the two stores behind each are of one part */
        assert_string_equal(seen, "0w0r2w2r0w0w2w2w");
    }
    rig_free(&r);
}

/* An interrupt of one element is its own; the run begins with it. */
static void an_interrupt_is_for_one_element(void **state) {
    (void)state;
    rig r = rig_make(2, NULL);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        tly_pto_team_reset(r.team);
        rig_load(&r, 0, rig_count_in);
        rig_load(&r, 1, rig_count_in);
        tly_pto_interrupt(rig_machine(&r, 1), 5, 1);
        rig_finish(&r, (rig_run_how){.threads = threads});
        assert_memory_not_equal(rig_machine(&r, 0)->core.context_registers,
                                rig_machine(&r, 1)->core.context_registers,
                                sizeof(rig_machine(&r, 0)->core.context_registers));
    }
    rig_free(&r);
}

static int count_steps(void *user, tly_pto_machine *m, const tly_pto_step *step) {
    uint64_t *counts = user;
    (void)step;
    counts[m->core.current_pe]++;
    return m->core.current_pe != 2 || counts[2] < 70;
}

/* Every element has a number of its own to count, so several may at once. */
static void an_observer_may_be_on_several_threads(void **state) {
    (void)state;
    rig r = rig_make(3, NULL);
    tly_error err = {0};
    for (uint32_t threads = 1; threads <= 3; threads++) {
        uint64_t counts[3] = {0};
        tly_pto_team_reset(r.team);
        for (uint32_t i = 0; i < 3; i++) {
            rig_load(&r, i, for_ever);
        }
        const tly_pto_team_run_options options = {.size = sizeof(options),
                                                  .threads = threads,
                                                  .stop_pc = RIG_STOP,
                                                  .round_steps = 50,
                                                  .max_steps = 1000,
                                                  .observer = count_steps,
                                                  .user = counts,
                                                  .observe_apart = 1};
        tly_pto_team_run_result result = {.size = sizeof(result)};
        CHECK_OK(tly_pto_team_run(r.team, &options, &result, &err), &err);
        assert_int_equal(result.first, 2);
        assert_int_equal(result.elements[2].end, TLY_PTO_END_ASKED);
        assert_int_equal(counts[2], 70);
        assert_int_equal(counts[0], 100);
        assert_int_equal(result.elements[1].num_steps, 100);
    }
    rig_free(&r);
}

/* One element by itself, then all: what was done stays. */
static void an_element_can_run_alone(void **state) {
    (void)state;
    rig r = rig_make(2, NULL);
    const tly_pto_run_options options = {
        .size = sizeof(options), .stop_pc = RIG_STOP, .max_steps = 1000};
    tly_pto_run_result result;
    rig_load(&r, 0, rig_count_in);
    rig_load(&r, 1, rig_count_in);
    tly_pto_run(rig_machine(&r, 1), &options, &result);
    assert_int_equal(result.end, TLY_PTO_END_STOP);
    rig_finish(&r, (rig_run_how){.threads = 2});
    assert_int_equal(rig_word(&r, RIG_COMMON), 2);
    assert_int_equal(rig_word(&r, RIG_OWN), 1);
    rig_free(&r);
}

static void what_is_no_team_is_refused(void **state) {
    (void)state;
    rig r = rig_make(2, NULL);
    tly_error err = {0};
    tly_pto_team *team = NULL;
    tly_pto_options machine = {.size = sizeof(machine), .memory_bytes = 4096};
    tly_pto_team_options options = {.size = sizeof(options), .num_elements = 5};
    assert_int_equal(tly_pto_team_new(r.context, &options, &team, &err), TLY_INVALID_ARGUMENT);
    assert_string_equal(err.rule, "pto-team");
    options = (tly_pto_team_options){.size = 1};
    assert_int_equal(tly_pto_team_new(r.context, &options, &team, &err), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_pto_team_new(NULL, NULL, &team, &err), TLY_INVALID_ARGUMENT);
    options = (tly_pto_team_options){.size = sizeof(options), .machine = &machine};
    machine.app_limit = 8192; /* beyond memory */
    assert_int_equal(tly_pto_team_new(r.context, &options, &team, &err), TLY_INVALID_ARGUMENT);
    machine.profile = "none";
    assert_int_equal(tly_pto_team_new(r.context, &options, &team, &err), TLY_NOT_FOUND);
    assert_null(team);

    tly_pto_team_run_options run = {.size = sizeof(run), .threads = 5};
    tly_pto_team_run_result result = {.size = sizeof(result)};
    assert_int_equal(tly_pto_team_run(r.team, &run, &result, &err), TLY_INVALID_ARGUMENT);
    assert_string_equal(err.rule, "pto-threads");
    run.threads = 1;
    result.size = 8;
    assert_int_equal(tly_pto_team_run(r.team, &run, &result, &err), TLY_INVALID_ARGUMENT);
    assert_null(tly_pto_team_element(r.team, 2));
    tly_pto_team_free(NULL);
    rig_free(&r);
}

static volatile sig_atomic_t num_signals;

static void count_signal(int number) {
    (void)number;
    num_signals++;
}

/* Signals are for the program's threads: where those hold one back, it waits. */
static void threads_take_no_signals(void **state) {
    (void)state;
    rig r = rig_make(4, NULL);
    sigset_t one, pending;
    struct sigaction before, counting = {.sa_handler = count_signal};
    rig_on_all(&r, rig_count_in, rig_check_count, NULL);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    assert_int_equal(sigaction(SIGUSR1, &counting, &before), 0);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, NULL), 0);
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    rig_on_all(&r, rig_count_in, rig_check_count, NULL);
    assert_int_equal(sigpending(&pending), 0);
    assert_true(sigismember(&pending, SIGUSR1));
    assert_int_equal(num_signals, 0);
    assert_int_equal(pthread_sigmask(SIG_UNBLOCK, &one, NULL), 0);
    assert_int_equal(num_signals, 1);
    sigaction(SIGUSR1, &before, NULL);
    rig_free(&r);
}

/* A reset and a restore of one element leave it the element that it is. */
static void an_element_stays_the_one_it_is(void **state) {
    (void)state;
    rig r = rig_make(2, NULL);
    tly_error err = {0};
    tly_pto_snapshot *snapshot = NULL;
    tly_pto_machine *m = rig_machine(&r, 1);
    CHECK_OK(tly_pto_save(m, &snapshot, &err), &err);
    rig_load(&r, 0, rig_count_in);
    rig_load(&r, 1, rig_count_in);
    rig_finish(&r, (rig_run_how){.threads = 2});
    tly_pto_reset(m);
    assert_int_equal(m->core.current_pe, 1);
    assert_int_equal(m->core.base.thread_id, 1);
    assert_int_equal(rig_word(&r, RIG_COMMON), 0);
    CHECK_OK(tly_pto_restore(m, snapshot, &err), &err);
    assert_int_equal(m->core.base.thread_id, 1);
    rig_load(&r, 0, rig_count_in);
    rig_load(&r, 1, rig_count_in);
    rig_finish(&r, (rig_run_how){.threads = 2});
    rig_check_count(&r, NULL);
    tly_pto_snapshot_free(snapshot);
    rig_free(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_trap_ends_the_run),
        cmocka_unit_test(a_trap_that_is_handled_ends_nothing),
        cmocka_unit_test(every_element_has_its_limit),
        cmocka_unit_test(a_race_on_one_thread_is_the_same_every_time),
        cmocka_unit_test(an_observer_sees_them_in_order),
        cmocka_unit_test(watchers_see_elements_in_order),
        cmocka_unit_test(an_interrupt_is_for_one_element),
        cmocka_unit_test(an_observer_may_be_on_several_threads),
        cmocka_unit_test(an_element_can_run_alone),
        cmocka_unit_test(what_is_no_team_is_refused),
        cmocka_unit_test(threads_take_no_signals),
        cmocka_unit_test(an_element_stays_the_one_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
