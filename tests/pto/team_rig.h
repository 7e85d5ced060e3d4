/* SPDX-License-Identifier: Apache-2.0 */
/* A team whose elements get programs as text, and the comparison of two teams. */
#ifndef TLY_TESTS_PTO_TEAM_RIG_H
#define TLY_TESTS_PTO_TEAM_RIG_H

#include "check.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <tilery/asm.h>
#include <tilery/context.h>
#include <tilery/pto_team.h>

#include "pto/fields.h"
#include "pto/memory.h"
#include "pto/reason.h"
#include "pto/team.h"
#include "pto/tile/store.h"

enum {
    RIG_MEMORY = 1 << 18,
    RIG_CODE = 0x10000, /* of element 0; the others' follow */
    RIG_CODE_LEN = 0x4000,
    RIG_STOP = 0x800,
    RIG_COMMON = 0x20000, /* data that all reach, from a register's value on */
    RIG_OWN = 0x24000,    /* data of element 0; the others' follow */
    RIG_OWN_LEN = 0x2000,
    RIG_MAX_STEPS = 400000
};

typedef struct rig {
    tly_context *context;
    tly_pto_team *team;
    uint32_t num_elements;
} rig;

static inline rig rig_make(uint32_t num_elements, const char *profile) {
    rig r = {.num_elements = num_elements};
    tly_error err = {0};
    const tly_pto_options machine = {.size = sizeof(machine),
                                     .memory_bytes = RIG_MEMORY,
                                     .app_limit = RIG_MEMORY,
                                     .num_queues = 4,
                                     .profile = profile};
    const tly_pto_team_options options = {
        .size = sizeof(options), .num_elements = num_elements, .machine = &machine};
    CHECK_OK(tly_context_new(NULL, &r.context, &err), &err);
    CHECK_OK(tly_pto_team_new(r.context, &options, &r.team, &err), &err);
    return r;
}

static inline void rig_free(rig *r) {
    tly_pto_team_free(r->team);
    tly_context_free(r->context);
}

static inline tly_pto_machine *rig_machine(const rig *r, uint32_t element) {
    return tly_pto_team_element(r->team, element);
}

/* Puts a program where it belongs and TPC at its start; its end goes to the stop address. a0 has
 * the element's number, a1 its own data, a2 the common data. */
static inline void rig_load(const rig *r, uint32_t element, const char *text) {
    static char whole[1 << 17];
    uint8_t code[RIG_CODE_LEN];
    size_t len = 0;
    tly_error err = {0};
    tly_pto_machine *m = rig_machine(r, element);
    uint64_t at = RIG_CODE + (uint64_t)element * RIG_CODE_LEN;
    int num = snprintf(whole, sizeof(whole), "%sBSTART DIRECT, 0x%x\nC.BSTOP\n", text, RIG_STOP);
    assert_true(num > 0 && (size_t)num < sizeof(whole));
    tly_status status = tly_asm_assemble_flat(r->context, whole, (size_t)num, at, TLY_ISA_0_58_3,
                                              code, sizeof(code), &len, &err);
    if (status != TLY_OK) {
        print_error("%s", whole);
        fail_msg("element %u: %s", element, err.message);
    }
    CHECK_OK(tly_pto_memory_write(m, at, code, len, &err), &err);
    m->core.context.tpc = at;
    m->core.gprs[element][2] = element;
    m->core.gprs[element][3] = RIG_OWN + (uint64_t)element * RIG_OWN_LEN;
    m->core.gprs[element][4] = RIG_COMMON;
}

typedef struct rig_run_how {
    uint32_t threads;
    uint32_t plain;
    uint64_t round_steps;
    uint64_t max_steps; /* 0: RIG_MAX_STEPS */
} rig_run_how;

static inline tly_pto_team_run_result rig_run(const rig *r, rig_run_how how) {
    tly_error err = {0};
    const tly_pto_team_run_options options = {.size = sizeof(options),
                                              .threads = how.threads,
                                              .plain = how.plain,
                                              .stop_pc = RIG_STOP,
                                              .round_steps = how.round_steps,
                                              .max_steps = how.max_steps != 0 ? how.max_steps
                                                                              : RIG_MAX_STEPS};
    tly_pto_team_run_result result = {.size = sizeof(result)};
    CHECK_OK(tly_pto_team_run(r->team, &options, &result, &err), &err);
    return result;
}

/* Runs to the end of every program, or fails with the reason. */
static inline void rig_finish(const rig *r, rig_run_how how) {
    tly_pto_team_run_result result = rig_run(r, how);
    for (uint32_t i = 0; i < r->num_elements; i++) {
        const tly_pto_machine *m = rig_machine(r, i);
        if (result.elements[i].end != TLY_PTO_END_STOP) {
            char reason[256];
            tly_pto_reason_text(&m->reason, reason, sizeof(reason));
            fail_msg("element %u ended with %d at 0x%" PRIx64 " after %" PRIu64 " steps: %s", i,
                     (int)result.elements[i].end, m->core.context.tpc, result.elements[i].num_steps,
                     reason);
        }
    }
}

static inline uint64_t rig_word(const rig *r, uint64_t address) {
    return tly_pto_peek(rig_machine(r, 0), address, 8);
}

static inline void rig_on_every_number_of_threads(rig *r, const char *const *programs,
                                                  void (*check)(const rig *r, void *user),
                                                  void *user) {
    for (uint32_t threads = 1; threads <= TLY_PTO_TEAM_MAX; threads++) {
        for (uint32_t plain = 0; plain < 2; plain++) {
            tly_pto_team_reset(r->team);
            for (uint32_t i = 0; i < r->num_elements; i++) {
                rig_load(r, i, programs[i]);
            }
            rig_finish(r, (rig_run_how){.threads = threads, .plain = plain});
            check(r, user);
        }
    }
}

/* Every element with its number: the same program for all. */
static inline void rig_on_all(rig *r, const char *program, void (*check)(const rig *r, void *user),
                              void *user) {
    const char *programs[TLY_PTO_TEAM_MAX] = {program, program, program, program};
    rig_on_every_number_of_threads(r, programs, check, user);
}

/* A counter that all elements add to; what each got is where it came in. */
static const char rig_count_in[] __attribute__((unused)) = "C.BSTART.STD FALL\n"
                                                           "c.movi 1, ->a3\n"
                                                           "ld.add [a2], a3, ->a4\n"
                                                           "sdi a4, [a1, 0]\n"
                                                           "C.BSTOP\n"
                                                           "C.BSTART.SYS FALL\n"
                                                           "ssrget THREAD_ID, ->a5\n"
                                                           "C.BSTOP\n"
                                                           "C.BSTART.STD FALL\n"
                                                           "sdi a5, [a1, 8]\n"
                                                           "C.BSTOP\n";

static inline void rig_check_count(const rig *r, void *user) {
    (void)user;
    assert_int_equal(rig_word(r, RIG_COMMON), r->num_elements);
    for (uint32_t i = 0; i < r->num_elements; i++) {
        assert_int_equal(rig_word(r, RIG_OWN + i * RIG_OWN_LEN), i);
        assert_int_equal(rig_word(r, RIG_OWN + i * RIG_OWN_LEN + 8), i);
    }
}

/* ------------------------------------------------------------------------------------------ */

static inline void rig_compare_elements(const tly_pto_elements *a, const tly_pto_elements *b,
                                        const tly_pto_tile *tile, uint32_t element,
                                        uint32_t number) {
    for (uint32_t i = 0; tile->allocated && i < tly_pto_tile_elements(tile); i++) {
        bool defined = tly_pto_element_is_defined(a, tile, i);
        bool predicate = tile->storage_kind == TLY_PTO_PREDICATE;
        if (defined != tly_pto_element_is_defined(b, tile, i) ||
            (predicate ? tly_pto_predicate_read(a, i) != tly_pto_predicate_read(b, i)
                       : tly_pto_element_read(a, tile, i) != tly_pto_element_read(b, tile, i))) {
            fail_msg("element %u: tile %u differs at %u", element, number, i);
        }
    }
}

static inline void rig_compare_machines(const tly_pto_machine *a, const tly_pto_machine *b,
                                        uint32_t element) {
    tly_pto_place place = {0};
    char name[128];
    bool same = memcmp(&a->core, &b->core, sizeof(a->core)) == 0;
    while (!same && tly_pto_place_next(a, &place)) { /* bytes between members may differ */
        uint64_t left = tly_pto_place_read(a, &place);
        uint64_t right = tly_pto_place_read(b, &place);
        if (left != right) {
            tly_pto_place_name(&place, name, sizeof(name));
            fail_msg("element %u: %s is 0x%" PRIx64 " and 0x%" PRIx64, element, name, left, right);
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        rig_compare_elements(&a->tiles->local[i], &b->tiles->local[i], &a->core.tiles[i], element,
                             i);
    }
}

/* Everything that can be seen of two teams is the same. */
static inline void rig_compare(const rig *a, const rig *b) {
    const tly_pto_machine *x = rig_machine(a, 0);
    const tly_pto_machine *y = rig_machine(b, 0);
    for (uint32_t i = 0; i < a->num_elements; i++) {
        rig_compare_machines(rig_machine(a, i), rig_machine(b, i), i);
    }
    for (uint64_t i = 0; i < RIG_MEMORY; i += 4096) {
        if (memcmp(x->memory.bytes + i, y->memory.bytes + i, 4096) != 0) {
            fail_msg("memory from 0x%" PRIx64 " differs", i);
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        rig_compare_elements(&x->tiles->shared[i], &y->tiles->shared[i],
                             &x->core.shared_tiles[i].tile, 0, 1000 + i);
    }
    assert_memory_equal(x->queue_entries, y->queue_entries,
                        sizeof(*x->queue_entries) * TLY_PTO_GQM_MAX_CAPACITY * x->num_queues);
    for (uint32_t i = 0; i < x->num_queues; i++) {
        const tly_pto_gqm_queue *left = &x->queues[i], *right = &y->queues[i];
        assert_true(left->valid == right->valid && left->suspended == right->suspended &&
                    left->corrupt == right->corrupt && left->capacity == right->capacity &&
                    left->count == right->count && left->head == right->head &&
                    left->address == right->address);
    }
}

#endif
