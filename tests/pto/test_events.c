/* SPDX-License-Identifier: Apache-2.0 */
/* Memory events and total store order: the well-known litmus tests, every order that restores what
 * a store buffer relaxes, and candidates that are no executions. */
#include "check.h"

#include "pto/create.h"
#include "pto/events.h"

enum { INITIAL, LOAD, STORE, ATOMIC, FENCE };
enum { X = 0x100, Y = 0x200 };

typedef struct fixture {
    tly_context *context;
    tly_pto_machine *m;
} fixture;

static int setup(void **state) {
    static fixture f;
    tly_pto_config config = {
        .memory_bytes = 65536, .app_limit = 65536, .num_queues = 1, .release = TLY_ISA_0_58_3};
    tly_error error;
    CHECK_OK(tly_context_new(NULL, &f.context, &error), &error);
    CHECK_OK(tly_pto_machine_new(f.context, &config, &f.m, &error), &error);
    *state = &f;
    return 0;
}

static int teardown(void **state) {
    fixture *f = *state;
    tly_pto_machine_free(f->m);
    tly_context_free(f->context);
    return 0;
}

static void begin(tly_pto_machine *m) {
    m->num_events = 0;
    m->capture_enabled = false;
}

static void initial(tly_pto_machine *m, uint64_t address) {
    assert_true(tly_pto_add_event(
        m,
        &(tly_pto_event){.kind = INITIAL, .size = 8, .write_performed = true, .address = address}));
}

static void load(tly_pto_machine *m, uint32_t agent, uint64_t address, uint64_t value,
                 uint32_t from, tly_pto_order order) {
    assert_true(tly_pto_add_event(m, &(tly_pto_event){.kind = LOAD,
                                                      .agent = (uint8_t)agent,
                                                      .size = 8,
                                                      .order = (uint8_t)order,
                                                      .address = address,
                                                      .read_from = from,
                                                      .read_value = value}));
}

static void store(tly_pto_machine *m, uint32_t agent, uint64_t address, uint64_t value,
                  uint32_t rank, tly_pto_order order) {
    assert_true(tly_pto_add_event(m, &(tly_pto_event){.kind = STORE,
                                                      .agent = (uint8_t)agent,
                                                      .size = 8,
                                                      .order = (uint8_t)order,
                                                      .write_performed = true,
                                                      .coherence_rank = rank,
                                                      .address = address,
                                                      .write_value = value}));
}

static void fence(tly_pto_machine *m, uint32_t agent, uint32_t before, uint32_t after) {
    assert_true(tly_pto_add_event(m, &(tly_pto_event){.kind = FENCE,
                                                      .agent = (uint8_t)agent,
                                                      .size = 1,
                                                      .fence_predecessor = (uint8_t)before,
                                                      .fence_successor = (uint8_t)after}));
}

static tly_pto_verdict judge(const tly_pto_machine *m) {
    tly_pto_verdict verdict;
    tly_pto_judge_events(m, &verdict);
    assert_int_equal(verdict.allowed,
                     verdict.valid && verdict.acyclic_uniproc && verdict.acyclic_tso);
    return verdict;
}

/* Two stores, each before a load of the other's place; both loads see the old value. */
static void store_buffering(tly_pto_machine *m, tly_pto_order of_stores, tly_pto_order of_loads,
                            bool fences, uint32_t before, uint32_t after) {
    begin(m);
    initial(m, X);
    initial(m, Y);
    for (uint32_t agent = 0; agent < 2; agent++) {
        store(m, agent, agent == 0 ? X : Y, 1, 1, of_stores);
        if (fences) {
            fence(m, agent, before, after);
        }
        load(m, agent, agent == 0 ? Y : X, 0, agent == 0 ? 1 : 0, of_loads);
    }
}

static void test_a_store_may_pass_a_later_load(void **state) {
    tly_pto_machine *m = ((fixture *)*state)->m;
    const tly_pto_order relaxed = TLY_PTO_ORDER_RELAXED;
    store_buffering(m, relaxed, relaxed, false, 0, 0);
    assert_true(judge(m).allowed);
    /* these orders are on the wrong side */
    store_buffering(m, TLY_PTO_ORDER_RELEASE, TLY_PTO_ORDER_ACQUIRE, false, 0, 0);
    assert_true(judge(m).allowed);
    /* these restore it */
    store_buffering(m, TLY_PTO_ORDER_ACQUIRE, relaxed, false, 0, 0);
    assert_false(judge(m).allowed);
    store_buffering(m, relaxed, TLY_PTO_ORDER_RELEASE, false, 0, 0);
    assert_false(judge(m).allowed);
    store_buffering(m, relaxed, relaxed, true, 2, 1);
    assert_false(judge(m).allowed);
    assert_true(judge(m).acyclic_uniproc);
    /* a fence of other classes does not */
    store_buffering(m, relaxed, relaxed, true, 1, 1);
    assert_true(judge(m).allowed);
    store_buffering(m, relaxed, relaxed, true, 2, 2);
    assert_true(judge(m).allowed);
    store_buffering(m, relaxed, relaxed, true, 12, 12);
    assert_true(judge(m).allowed);
}

/* The flag is seen, the message is not. */
static void test_stores_stay_in_order(void **state) {
    tly_pto_machine *m = ((fixture *)*state)->m;
    begin(m);
    initial(m, X);
    initial(m, Y);
    store(m, 0, X, 1, 1, TLY_PTO_ORDER_RELAXED);
    store(m, 0, Y, 1, 1, TLY_PTO_ORDER_RELAXED);
    load(m, 1, Y, 1, 3, TLY_PTO_ORDER_RELAXED);
    load(m, 1, X, 0, 0, TLY_PTO_ORDER_RELAXED);
    assert_true(judge(m).valid);
    assert_false(judge(m).acyclic_tso);
}

/* Two readers disagree about which of two independent stores came first. */
static void test_all_see_one_order_of_stores(void **state) {
    tly_pto_machine *m = ((fixture *)*state)->m;
    begin(m);
    initial(m, X);
    initial(m, Y);
    store(m, 0, X, 1, 1, TLY_PTO_ORDER_RELAXED);
    store(m, 1, Y, 1, 1, TLY_PTO_ORDER_RELAXED);
    load(m, 2, X, 1, 2, TLY_PTO_ORDER_RELAXED);
    load(m, 2, Y, 0, 1, TLY_PTO_ORDER_RELAXED);
    load(m, 3, Y, 1, 3, TLY_PTO_ORDER_RELAXED);
    load(m, 3, X, 0, 0, TLY_PTO_ORDER_RELAXED);
    assert_true(judge(m).valid);
    assert_false(judge(m).allowed);
}

static void test_a_place_is_coherent(void **state) {
    tly_pto_machine *m = ((fixture *)*state)->m;
    begin(m); /* a new value, then the old one */
    initial(m, X);
    store(m, 0, X, 1, 1, TLY_PTO_ORDER_RELAXED);
    load(m, 1, X, 1, 1, TLY_PTO_ORDER_RELAXED);
    load(m, 1, X, 0, 0, TLY_PTO_ORDER_RELAXED);
    assert_true(judge(m).valid);
    assert_false(judge(m).acyclic_uniproc);
    begin(m); /* its own store forwarded: fine */
    initial(m, X);
    store(m, 0, X, 1, 1, TLY_PTO_ORDER_RELAXED);
    load(m, 0, X, 1, 1, TLY_PTO_ORDER_RELAXED);
    assert_true(judge(m).allowed);
}

static void test_what_is_no_execution_is_refused(void **state) {
    tly_pto_machine *m = ((fixture *)*state)->m;
    begin(m); /* nothing */
    assert_false(judge(m).valid);
    begin(m); /* no initial write */
    store(m, 0, X, 1, 1, TLY_PTO_ORDER_RELAXED);
    assert_false(judge(m).valid);
    begin(m); /* two of one place */
    initial(m, X);
    initial(m, X);
    load(m, 0, X, 0, 0, TLY_PTO_ORDER_RELAXED);
    assert_false(judge(m).valid);
    begin(m); /* two stores at one rank */
    initial(m, X);
    store(m, 0, X, 1, 1, TLY_PTO_ORDER_RELAXED);
    store(m, 1, X, 2, 1, TLY_PTO_ORDER_RELAXED);
    assert_false(judge(m).valid);
    begin(m); /* a rank left out */
    initial(m, X);
    store(m, 0, X, 1, 2, TLY_PTO_ORDER_RELAXED);
    assert_false(judge(m).valid);
    begin(m); /* a value that nobody wrote */
    initial(m, X);
    load(m, 0, X, 7, 0, TLY_PTO_ORDER_RELAXED);
    assert_false(judge(m).valid);
    begin(m); /* a source elsewhere */
    initial(m, X);
    initial(m, Y);
    load(m, 0, X, 0, 1, TLY_PTO_ORDER_RELAXED);
    assert_false(judge(m).valid);
    begin(m); /* half of another access */
    initial(m, X);
    assert_true(tly_pto_add_event(
        m,
        &(tly_pto_event){.kind = INITIAL, .size = 4, .write_performed = true, .address = X + 4}));
    assert_false(judge(m).valid);
}

/* An atomic event changes what it read, and nothing comes in between. */
static void test_atomics_are_whole(void **state) {
    tly_pto_machine *m = ((fixture *)*state)->m;
    for (uint32_t rank = 1; rank <= 2; rank++) {
        begin(m);
        initial(m, X);
        store(m, 1, X, 5, rank == 1 ? 2 : 1, TLY_PTO_ORDER_RELAXED);
        assert_true(tly_pto_add_event(m, &(tly_pto_event){.kind = ATOMIC,
                                                          .size = 8,
                                                          .write_performed = true,
                                                          .coherence_rank = rank,
                                                          .address = X,
                                                          .read_value = 0,
                                                          .write_value = 1}));
        assert_int_equal(judge(m).allowed, rank == 1);
    }
}

static void test_room_ends_and_bad_events_are_refused(void **state) {
    tly_pto_machine *m = ((fixture *)*state)->m;
    begin(m);
    for (uint32_t i = 0; i < TLY_PTO_NUM_EVENTS; i++) {
        initial(m, X + 8 * i);
    }
    assert_false(tly_pto_add_event(m, &(tly_pto_event){.kind = LOAD, .size = 8, .address = X}));
    assert_int_equal(m->num_events, TLY_PTO_NUM_EVENTS);
    begin(m);
    assert_false(tly_pto_add_event(m, &(tly_pto_event){.kind = FENCE + 1, .size = 8}));
    assert_false(tly_pto_add_event(m, &(tly_pto_event){.kind = LOAD, .size = 8, .read_from = 99}));
    assert_false(tly_pto_set_read_from(m, 0, 0));
}

/* What instructions do is captured with its ranks and sources; beyond the room it is not, and the
 * program goes on. */
static void test_a_capture_follows_instructions(void **state) {
    tly_pto_machine *m = ((fixture *)*state)->m;
    tly_pto_machine_reset(m);
    tly_pto_capture_start(m, 0);
    for (uint64_t i = 0; i < TLY_PTO_NUM_EVENTS + 4; i++) {
        tly_pto_record_store(m, X, 8, i, TLY_PTO_ORDER_RELAXED);
    }
    assert_int_equal(m->num_events, TLY_PTO_NUM_EVENTS);
    for (uint32_t i = 0; i < TLY_PTO_NUM_EVENTS; i++) {
        assert_int_equal(m->events[i].coherence_rank, i + 1);
        assert_int_equal(m->events[i].write_value, i);
    }
    tly_pto_capture_start(m, 2);
    assert_int_equal(m->num_events, 0);
    initial(m, Y);
    tly_pto_record_atomic(m, Y, 8, 0, 9, true, TLY_PTO_ORDER_BOTH);
    tly_pto_record_load(m, Y, 8, 9, TLY_PTO_ORDER_ACQUIRE);
    tly_pto_record_atomic(m, Y, 8, 9, 4, false, TLY_PTO_ORDER_RELAXED);
    assert_int_equal(m->events[1].agent, 2);
    assert_int_equal(m->events[1].coherence_rank, 1);
    assert_int_equal(m->events[2].read_from, 1);
    assert_int_equal(m->events[3].coherence_rank, 0);
    assert_int_equal(m->events[3].read_from, 1);
    assert_true(judge(m).allowed);
    tly_pto_capture_stop(m);
    tly_pto_record_load(m, Y, 8, 9, TLY_PTO_ORDER_ACQUIRE);
    assert_int_equal(m->num_events, 4);
}

/* More events than the reference's checker holds: a chain of hand-overs that closes, or does not.
 */
static void test_long_chains_are_judged(void **state) {
    enum { LINKS = 20 };
    tly_pto_machine *m = ((fixture *)*state)->m;
    for (uint32_t closed = 0; closed < 2; closed++) {
        begin(m);
        for (uint32_t i = 0; i <= LINKS; i++) {
            initial(m, X + 8 * i);
        }
        store(m, 0, X, 1, 1, TLY_PTO_ORDER_RELAXED);
        store(m, 0, X + 8, 1, 1, TLY_PTO_ORDER_RELAXED);
        for (uint32_t i = 1; i < LINKS; i++) { /* agents pass the news on */
            load(m, i % 4, X + 8 * i, 1, m->num_events - 1, TLY_PTO_ORDER_RELAXED);
            store(m, i % 4, X + 8 * (i + 1), 1, 1, TLY_PTO_ORDER_RELAXED);
        }
        load(m, LINKS % 4 + 1, X + 8 * LINKS, 1, m->num_events - 1, TLY_PTO_ORDER_RELAXED);
        load(m, LINKS % 4 + 1, X, closed == 1 ? 0 : 1, closed == 1 ? 0 : LINKS + 1,
             TLY_PTO_ORDER_RELAXED);
        assert_true(m->num_events > 60);
        assert_true(judge(m).valid);
        assert_int_equal(judge(m).allowed, closed == 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_store_may_pass_a_later_load),
        cmocka_unit_test(test_stores_stay_in_order),
        cmocka_unit_test(test_all_see_one_order_of_stores),
        cmocka_unit_test(test_a_place_is_coherent),
        cmocka_unit_test(test_what_is_no_execution_is_refused),
        cmocka_unit_test(test_atomics_are_whole),
        cmocka_unit_test(test_room_ends_and_bad_events_are_refused),
        cmocka_unit_test(test_long_chains_are_judged),
        cmocka_unit_test(test_a_capture_follows_instructions),
    };
    return cmocka_run_group_tests_name("pto/events", tests, setup, teardown);
}
