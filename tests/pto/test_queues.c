/* SPDX-License-Identifier: Apache-2.0 */
/* General queues against a model that moves all its entries at every step. */
#include "check.h"

#include <stdbool.h>
#include <string.h>

#include <tilery/context.h>
#include <tilery/isa.h>

#include "isa/fields.h"
#include "isa/forms.h"
#include "pto/block/queue.h"
#include "pto/create.h"
#include "pto/exec.h"

enum { NUM_SLOTS = 5, NUM_ADDRESSES = 7, STEPS = 20000, MAX_CAPACITY = 1023 };
enum { DONE = 0, NOT_NOW = 1, NO_QUEUE = 2 };
enum { R_ADDRESS = 5, R_VALUE = 6, R_RESULT = 7, R_DATA = 8 };

typedef struct model_queue {
    bool there;
    bool suspended;
    bool corrupt;
    uint32_t capacity;
    uint32_t count;
    uint64_t values[MAX_CAPACITY];
    uint64_t epochs[MAX_CAPACITY];
} model_queue;

typedef struct model {
    model_queue queues[NUM_ADDRESSES];
    uint32_t num_queues;
    uint64_t release;
    uint64_t acquire;
    uint64_t event;
} model;

typedef struct flags {
    bool initialize;
    bool event;
    bool suspend;
    bool restore; /* and relaxed */
    bool head;
} flags;

static uint64_t result_of(uint64_t primary, uint64_t status) {
    return primary | status << 62;
}

static uint64_t model_move(model *t, uint32_t q, uint64_t capacity, flags f) {
    model_queue *queue = &t->queues[q];
    uint64_t result = 0;
    if (f.initialize) {
        if (!queue->there && t->num_queues == NUM_SLOTS) {
            return result_of(0, NOT_NOW);
        }
        t->num_queues += !queue->there;
        memset(queue, 0, sizeof(*queue));
        queue->there = true;
        queue->capacity = capacity & 1023;
        result = result_of(8 * (uint64_t)queue->capacity, DONE);
    } else if (!queue->there || queue->corrupt) {
        return result_of(0, NOT_NOW);
    } else {
        result = result_of(queue->capacity - queue->count, DONE);
    }
    t->event += f.event;
    queue->suspended = f.suspend || (queue->suspended && !f.restore);
    return result;
}

static uint64_t model_push(model *t, uint32_t q, uint64_t value, flags f) {
    model_queue *queue = &t->queues[q];
    if (!queue->there || queue->corrupt) {
        return result_of(0, NO_QUEUE);
    }
    if (queue->suspended || queue->count == queue->capacity) {
        return result_of(queue->capacity - queue->count, NOT_NOW);
    }
    const uint32_t at = f.head ? 0 : queue->count;
    memmove(queue->values + at + 1, queue->values + at, (queue->count - at) * sizeof(uint64_t));
    memmove(queue->epochs + at + 1, queue->epochs + at, (queue->count - at) * sizeof(uint64_t));
    queue->values[at] = value;
    queue->epochs[at] = f.restore ? 0 : ++t->release;
    queue->count++;
    t->event += f.event;
    return result_of(queue->capacity - queue->count, DONE);
}

static uint64_t model_pop(model *t, uint32_t q, flags f, uint64_t *out_value) {
    model_queue *queue = &t->queues[q];
    *out_value = 0;
    if (!queue->there || queue->corrupt) {
        return result_of(0, NO_QUEUE);
    }
    if (queue->count == 0) {
        return result_of(0, NOT_NOW);
    }
    *out_value = queue->values[0];
    if (!f.restore && queue->epochs[0] != 0) {
        t->acquire = queue->epochs[0];
    }
    queue->count--;
    memmove(queue->values, queue->values + 1, queue->count * sizeof(uint64_t));
    memmove(queue->epochs, queue->epochs + 1, queue->count * sizeof(uint64_t));
    t->event += f.event;
    return result_of(queue->count, DONE);
}

static void execute(tly_pto_machine *m, uint32_t form, const int64_t *fields) {
    uint64_t word = 0;
    tly_error err = {0};
    CHECK_OK(tly_isa_encode(form, fields, &word, &err), &err);
    assert_true(tly_pto_execute(m, word, 48));
}

static void move(tly_pto_machine *m, flags f) {
    int64_t fields[TLY_ISA_MAX_FIELDS] = {0};
    fields[TLY_FIELD_HL_QMT_I] = f.initialize;
    fields[TLY_FIELD_HL_QMT_S] = f.suspend;
    fields[TLY_FIELD_HL_QMT_R] = f.restore;
    fields[TLY_FIELD_HL_QMT_E] = f.event;
    fields[TLY_FIELD_HL_QMT_SRC_R] = R_VALUE;
    fields[TLY_FIELD_HL_QMT_SRC_L] = R_ADDRESS;
    fields[TLY_FIELD_HL_QMT_REG_DST] = R_RESULT;
    execute(m, TLY_FORM_HL_QMT, fields);
}

static void push(tly_pto_machine *m, flags f) {
    int64_t fields[TLY_ISA_MAX_FIELDS] = {0};
    fields[TLY_FIELD_HL_QPUSH_H] = f.head;
    fields[TLY_FIELD_HL_QPUSH_R] = f.restore;
    fields[TLY_FIELD_HL_QPUSH_E] = f.event;
    fields[TLY_FIELD_HL_QPUSH_SRC_R] = R_VALUE;
    fields[TLY_FIELD_HL_QPUSH_SRC_L] = R_ADDRESS;
    fields[TLY_FIELD_HL_QPUSH_REG_DST] = R_RESULT;
    execute(m, TLY_FORM_HL_QPUSH, fields);
}

static void pop(tly_pto_machine *m, flags f) {
    int64_t fields[TLY_ISA_MAX_FIELDS] = {0};
    fields[TLY_FIELD_HL_QPOP_R] = f.restore;
    fields[TLY_FIELD_HL_QPOP_E] = f.event;
    fields[TLY_FIELD_HL_QPOP_SRC_L] = R_ADDRESS;
    fields[TLY_FIELD_HL_QPOP_REG_DST0] = R_DATA;
    fields[TLY_FIELD_HL_QPOP_REG_DST1] = R_RESULT;
    execute(m, TLY_FORM_HL_QPOP, fields);
}

static uint64_t random_capacity(check_rng *rng) {
    switch (check_below(rng, 4)) {
    case 0:
        return check_below(rng, 4); /* none, one, two, three */
    case 1:
        return MAX_CAPACITY;
    default:
        return (check_random(rng) & ~UINT64_C(1023)) | check_below(rng, 20);
    }
}

static void queues_keep_order_epochs_and_status(void **state) {
    (void)state;
    static model t;
    tly_context *context = NULL;
    tly_pto_machine *m = NULL;
    tly_error err = {0};
    const uint64_t seed = check_seed(11);
    check_rng rng = {seed};
    uint32_t num_status[3] = {0};
    const tly_pto_config config = {.memory_bytes = 4096,
                                   .app_limit = 3072,
                                   .num_queues = NUM_SLOTS,
                                   .release = TLY_ISA_0_58_3};
    print_message("seed %llu\n", (unsigned long long)seed);
    CHECK_OK(tly_context_new(NULL, &context, &err), &err);
    CHECK_OK(tly_pto_machine_new(context, &config, &m, &err), &err);
    for (uint64_t step = 0; step < check_rounds(STEPS); step++) {
        const uint32_t q = (uint32_t)check_below(&rng, NUM_ADDRESSES);
        const uint64_t what = check_below(&rng, 100);
        const uint64_t bits = check_random(&rng);
        flags f = {false, (bits & 1) != 0, false, (bits & 2) != 0, (bits & 4) != 0};
        uint64_t value = check_random(&rng);
        uint64_t wanted = 0;
        uint64_t data = 0;
        if (what < 3) {
            f.initialize = check_below(&rng, 3) == 0;
            f.suspend = (bits & 8) != 0;
            f.restore = !f.suspend && f.restore;
            value = random_capacity(&rng);
        }
        m->core.gprs[0][R_ADDRESS] = 64 * (uint64_t)q;
        m->core.gprs[0][R_VALUE] = value;
        if (what == 3) {
            t.queues[q].corrupt = t.queues[q].there && (bits & 8) != 0;
            tly_pto_set_queue_corrupt(m, 64 * (uint64_t)q, (bits & 8) != 0);
            continue;
        }
        if (what < 3) {
            wanted = model_move(&t, q, value, f);
            move(m, f);
        } else if (what < 55) {
            wanted = model_push(&t, q, value, f);
            push(m, f);
        } else {
            wanted = model_pop(&t, q, f, &data);
            pop(m, f);
            assert_true(m->core.gprs[0][R_DATA] == data);
        }
        assert_true(m->core.gprs[0][R_RESULT] == wanted);
        assert_true(m->core.gqm.release == t.release && m->core.gqm.last_acquire == t.acquire &&
                    m->core.gqm.event == t.event);
        num_status[wanted >> 62]++;
    }
    for (uint32_t i = 0; i < 3; i++) {
        assert_true(num_status[i] > 100);
    }
    tly_pto_machine_free(m);
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(queues_keep_order_epochs_and_status),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
