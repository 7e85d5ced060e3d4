/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_pto_rig.h"

#include <string.h>

#include <tilery/asm.h>

#include "base/error.h"
#include "pto/create.h"
#include "pto/memory.h"
#include "pto/run.h"
#include "pto/tile/allocate.h"

enum { MAX_STEPS = 512 };

tly_status tly_bench_rig_init(tly_bench_rig *r, tly_bench *bench, uint64_t memory_len,
                              tly_error *error) {
    tly_pto_config config = {.memory_bytes = memory_len,
                             .app_limit = memory_len,
                             .num_queues = 1,
                             .release = TLY_ISA_0_58_3};
    memset(r, 0, sizeof(*r));
    r->stop = TLY_BENCH_PTO_CODE;
    tly_status status = tly_pto_machine_new(tly_bench_context(bench), &config, &r->m, error);
    for (uint64_t i = TLY_BENCH_PTO_DATA; status == TLY_OK && i < memory_len; i++) {
        r->m->memory.bytes[i] = (uint8_t)(i * 37 + (i >> 8));
    }
    return status;
}

tly_status tly_bench_rig_add(tly_bench_rig *r, const char *text, tly_error *error) {
    tly_isa_insn insn;
    tly_status status =
        tly_asm_parse_insn(text, strlen(text), r->stop, TLY_ISA_0_58_3, &insn, error);
    if (status == TLY_OK) {
        for (uint32_t i = 0; i < insn.len; i++) {
            r->m->memory.bytes[r->stop + i] = (uint8_t)(insn.word >> (8 * i));
        }
        tly_pto_memory_changed(r->m, r->stop, insn.len);
        r->stop += insn.len;
    }
    return status;
}

tly_status tly_bench_rig_add_all(tly_bench_rig *r, const char *const *lines, uint32_t num_lines,
                                 tly_error *error) {
    tly_status status = TLY_OK;
    for (uint32_t i = 0; status == TLY_OK && i < num_lines; i++) {
        status = tly_bench_rig_add(r, lines[i], error);
    }
    return status;
}

static tly_status play(tly_bench_rig *r, tly_error *error) {
    tly_pto_run_options options = {
        .size = sizeof(options), .stop_pc = r->stop, .max_steps = MAX_STEPS};
    tly_pto_run_result result;
    r->m->core.context.tpc = TLY_BENCH_PTO_CODE;
    tly_pto_run(r->m, &options, &result);
    if (result.end != TLY_PTO_END_STOP) {
        char reason[256];
        tly_pto_reason_text(&r->m->reason, reason, sizeof(reason));
        return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-pto",
                             "the program ended before its end: %s", reason);
    }
    return TLY_OK;
}

tly_status tly_bench_rig_prepare(tly_bench_rig *r, tly_error *error) {
    tly_status status = play(r, error);
    r->results = 0;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        r->results |= r->m->core.tiles[i].allocated ? 0 : UINT64_C(1) << i;
    }
    r->stop = TLY_BENCH_PTO_CODE;
    return status;
}

tly_status tly_bench_rig_run(tly_bench_rig *r, tly_error *error) {
    tly_status status = play(r, error);
    uint64_t results = 0;
    for (uint64_t left = r->results; left != 0; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctzll(left);
        if (r->m->core.tiles[i].allocated) {
            tly_pto_release_tile(r->m, i);
            results |= UINT64_C(1) << i;
        }
    }
    r->results = results; /* the program takes the same ones each time */
    return status;
}
