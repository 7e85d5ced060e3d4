/* SPDX-License-Identifier: Apache-2.0 */
/* pto.scalar.*: ticks for each instruction of loops that run from predecoded code, against one
 * instruction at a time; pto.reset. */
#include <string.h>

#include <tilery/asm.h>
#include <tilery/pto.h>

#include "base/error.h"
#include "cli/bench_pto.h"
#include "cli/bench_pto_program.h"

enum { STEPS = 400000, PLAIN_STEPS = 40000, CHAIN_LEN = 512, DATA = 0x20000, WARM = 1 << 16 };

/* Arithmetic, shifts, comparisons and choices, about a third of them through the queues; a block of
 * nine instructions inside a block of six. */
static const char loop_text[] = "_start: C.BSTART.STD FALL\n"
                                "        c.movi 1, ->a4\n"
                                "        c.movi 0, ->a5\n"
                                "        C.BSTOP\n"
                                "outer:  C.BSTART.STD FALL\n"
                                "        addi zero, 100, ->a3\n"
                                "        addi a5, 1, ->a5\n"
                                "        xor a4, a5, ->a4\n"
                                "        C.BSTOP\n"
                                "inner:  C.BSTART COND, inner\n"
                                "        xor a4, a4<<13, ->a4\n"
                                "        srli a4, 7, ->t\n"
                                "        xor a4, t#1, ->a4\n"
                                "        add a5, a4, ->t\n"
                                "        andi t#1, 255, ->t\n"
                                "        cmp.ltu t#1, a3, ->t\n"
                                "        csel t#1, t#2, a3, ->a6\n"
                                "        mul a6, a3, ->a7\n"
                                "        sub a7, a5, ->a5\n"
                                "        subi a3, 1, ->a3\n"
                                "        setc.ne a3, zero\n"
                                "        C.BSTOP\n"
                                "        C.BSTART DIRECT, outer\n"
                                "        C.BSTOP\n";

/* A chain of pointers, an array that is read, changed and written, bytes and halfwords; all of it
 * in the first-level cache. */
static const char memory_text[] = "_start: C.BSTART COND, _start\n"
                                  "        ldi [a1, 0], ->a1\n"
                                  "        lwi [a2, 0], ->t\n"
                                  "        addi t#1, 3, ->t\n"
                                  "        swi t#1, [a2, 0]\n"
                                  "        lbui [a2, 5], ->t\n"
                                  "        lhui [a2, 6], ->u\n"
                                  "        add t#1, u#1, ->a5\n"
                                  "        sdi a5, [a3, 0]\n"
                                  "        ldi [a1, 0], ->a1\n"
                                  "        hl.ldip [a2, 0], ->a6, a7\n"
                                  "        sbi a6, [a3, 9]\n"
                                  "        addi a2, 8, ->a2\n"
                                  "        andi a2, 0x7ff, ->a2\n"
                                  "        add a2, a4, ->a2\n"
                                  "        setc.ne a4, zero\n"
                                  "        C.BSTOP\n";

typedef struct job {
    tly_pto_machine *m;
    uint64_t steps;
    uint32_t plain;
} job;

static tly_status run_steps(void *user, uint64_t turn, tly_error *error) {
    const job *j = user;
    (void)turn;
    return tly_bench_program_run(j->m, UINT64_MAX - 1, j->steps, j->plain, TLY_PTO_END_LIMIT,
                                 error);
}

/* A chain that visits its places in an order that no prefetcher guesses, and what the registers of
 * memory_text point to. */
static tly_status prepare_memory(tly_pto_machine *m, tly_error *error) {
    uint64_t chain[CHAIN_LEN];
    for (uint64_t i = 0; i < CHAIN_LEN; i++) {
        chain[i] = DATA + 8 * ((i * 205 + 77) % CHAIN_LEN);
    }
    tly_status status = tly_pto_memory_write(m, DATA, chain, sizeof(chain), error);
    const struct {
        const char *name;
        uint64_t value;
    } registers[] = {{"gpr[0][3]", DATA},
                     {"gpr[0][4]", DATA + 0x1000},
                     {"gpr[0][5]", DATA + 0x2000},
                     {"gpr[0][6]", DATA + 0x1000}};
    for (size_t i = 0; status == TLY_OK && i < sizeof(registers) / sizeof(registers[0]); i++) {
        status = tly_pto_set(m, registers[i].name, registers[i].value, error);
    }
    return status;
}

static tly_status measure(tly_bench *bench, const tly_bench_case *self, const char *text,
                          tly_status (*prepare)(tly_pto_machine *, tly_error *), tly_error *error) {
    double ticks = tly_bench_ticks_per_second();
    job fast = {NULL, STEPS, 0}, plain = {NULL, PLAIN_STEPS, 1};
    tly_bench_side sides[] = {{"predecoded", run_steps, &fast}, {"plain", run_steps, &plain}};
    tly_bench_times times[2];
    if (ticks == 0) {
        tly_bench_skip(bench, self, "there is no time-stamp counter");
        return TLY_OK;
    }
    tly_status status = tly_bench_program_new(bench, text, &fast.m, error);
    if (status == TLY_OK && prepare != NULL) {
        status = prepare(fast.m, error);
    }
    plain.m = fast.m;
    if (status == TLY_OK) {
        status = tly_bench_compare_work(bench, sides, 2, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report(bench, self, self->name, times[0].median * ticks / STEPS,
                         times[1].median * ticks / PLAIN_STEPS, times[0].runs, times[0].spread,
                         "ticks for an instruction");
    }
    tly_pto_free(fast.m);
    return status;
}

tly_status tly_bench_run_scalar_loop(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error) {
    return measure(bench, self, loop_text, NULL, error);
}

tly_status tly_bench_run_scalar_memory(tly_bench *bench, const tly_bench_case *self,
                                       tly_error *error) {
    return measure(bench, self, memory_text, prepare_memory, error);
}

/* Runs a little, so that there is something to reset; only the reset is timed. */
tly_status tly_bench_run_reset(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    double samples[64];
    tly_bench_times times;
    tly_pto_machine *m = NULL;
    tly_status status = tly_bench_program_new(bench, memory_text, &m, error);
    const uint32_t runs = tly_bench_runs(bench) < 64 ? tly_bench_runs(bench) : 64;
    for (uint32_t i = 0; status == TLY_OK && i < runs; i++) {
        status = tly_bench_program_load(m, memory_text, error);
        if (status == TLY_OK) {
            status = prepare_memory(m, error);
        }
        if (status == TLY_OK) {
            status = tly_bench_program_run(m, UINT64_MAX - 1, WARM, 0, TLY_PTO_END_LIMIT, error);
        }
        double begin = tly_bench_now();
        tly_pto_reset(m);
        samples[i] = tly_bench_now() - begin;
    }
    if (status == TLY_OK) {
        tly_bench_summarise(samples, runs, &times);
        tly_bench_report(
            bench, self, self->name, times.median * 1e6, 50, times.runs, times.spread,
            "after a run of 65536 instructions; the reference is the most it may take");
    }
    tly_pto_free(m);
    return status;
}
