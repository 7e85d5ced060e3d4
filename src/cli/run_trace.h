/* SPDX-License-Identifier: Apache-2.0 */
/* What a run shows while it runs: a line for each instruction, and counts. */
#ifndef TLY_CLI_RUN_TRACE_H
#define TLY_CLI_RUN_TRACE_H

#include <stdio.h>

#include "cli/run_load.h"
#include "pto/machine.h"
#include "pto/run.h"

typedef enum tly_trace_form { TLY_TRACE_NONE, TLY_TRACE_TEXT, TLY_TRACE_JSONL } tly_trace_form;

enum { TLY_TRACE_MAX_ACCESSES = 64 };

/* Counts of executed instructions by the group of their form. */
typedef struct tly_run_stats {
    uint64_t num_instructions;
    uint64_t num_refused;
    uint64_t num_bodies;
    uint64_t num_blocks; /* block starts that were executed */
    uint64_t by_fault[TLY_PTO_NUM_FAULTS];
    uint64_t by_group[64];
} tly_run_stats;

typedef struct tly_tracer {
    FILE *out;
    tly_trace_form form;
    tly_run_stats *stats; /* NULL: not counted */
    const tly_loaded *loaded;
    tly_isa_release release;
    bool of_team; /* lines of text begin with the element's number */
    uint64_t gprs[TLY_PTO_NUM_PES][TLY_PTO_NUM_GPRS]; /* before the step */
    uint64_t t_queue[TLY_PTO_QUEUE_DEPTH];
    uint64_t u_queue[TLY_PTO_QUEUE_DEPTH];
    uint32_t num_accesses; /* of the step; those beyond the array are counted only */
    tly_pto_access accesses[TLY_TRACE_MAX_ACCESSES];
} tly_tracer;

/* Begins to trace a machine: call before the run. */
void tly_tracer_start(tly_tracer *tracer, tly_pto_machine *machine);

/* The observer of the run; `user` is the tracer. */
int tly_tracer_observe(void *user, tly_pto_machine *machine, const tly_pto_step *step);

/* The text of the instruction in a step; "" if no form has its word. */
const char *tly_tracer_insn(const tly_tracer *tracer, const tly_pto_step *step, char *out_text,
                            size_t capacity);

void tly_run_stats_print(FILE *out, const tly_run_stats *stats);

#endif
