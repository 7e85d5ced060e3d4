/* SPDX-License-Identifier: Apache-2.0 */
/* A machine that tests give instructions as text. */
#ifndef TLY_TESTS_PTO_GUEST_H
#define TLY_TESTS_PTO_GUEST_H

#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <tilery/asm.h>
#include <tilery/context.h>

#include "pto/create.h"
#include "pto/exec.h"
#include "pto/reason.h"
#include "pto/tile/allocate.h"
#include "pto/tile/store.h"

typedef struct guest {
    tly_context *context;
    tly_pto_machine *m;
    uint64_t len;
} guest;

static inline guest guest_make(uint64_t memory_len, tly_simd simd) {
    guest g = {.len = memory_len};
    tly_error err = {0};
    tly_context_options options = {.size = sizeof(options), .simd = (int32_t)simd};
    const tly_pto_config config = {.memory_bytes = memory_len,
                                   .app_limit = memory_len,
                                   .num_queues = 1,
                                   .release = TLY_ISA_0_58_3};
    CHECK_OK(tly_context_new(&options, &g.context, &err), &err);
    CHECK_OK(tly_pto_machine_new(g.context, &config, &g.m, &err), &err);
    return g;
}

static inline void guest_free(guest *g) {
    tly_pto_machine_free(g->m);
    tly_context_free(g->context);
}

/* One instruction at TPC; whether it was executed. */
static inline bool guest_step(guest *g, const char *text) {
    tly_isa_insn insn;
    tly_error err = {0};
    CHECK_OK(
        tly_asm_parse_insn(text, strlen(text), g->m->core.context.tpc, TLY_ISA_0_58_3, &insn, &err),
        &err);
    return tly_pto_execute(g->m, insn.word, insn.len * 8u);
}

/* Instructions, one a line; all of them are executed, or the test fails with the reason. */
static inline void guest_run(guest *g, const char *lines) {
    char text[160];
    while (*lines != '\0') {
        size_t len = strcspn(lines, "\n");
        assert_true(len < sizeof(text));
        memcpy(text, lines, len);
        text[len] = '\0';
        lines += len + (lines[len] == '\n' ? 1 : 0);
        if (len != 0 && !guest_step(g, text)) {
            char reason[256];
            tly_pto_reason_text(&g->m->reason, reason, sizeof(reason));
            fail_msg("%s: %s", text, reason);
        }
    }
}

static inline void guest_set(guest *g, uint32_t gpr, uint64_t value) {
    for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
        g->m->core.gprs[pe][gpr] = value;
    }
}

static inline void guest_release_tiles(guest *g) {
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        tly_pto_release_tile(g->m, i);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        g->m->core.shared_tiles[i].descriptor_valid = false;
        tly_pto_elements_clear(&g->m->tiles->shared[i]);
    }
    tly_pto_capacity_changed(g->m);
}

static inline void guest_fill(guest *g, check_rng *rng, uint64_t at, uint64_t len) {
    for (uint64_t i = 0; i < len; i++) {
        g->m->memory.bytes[at + i] = (uint8_t)check_random(rng);
    }
}

#endif
