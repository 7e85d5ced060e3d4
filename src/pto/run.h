/* SPDX-License-Identifier: Apache-2.0 */
/* Running programs: fetch, entry of bodies, and why a run ends. */
#ifndef TLY_PTO_RUN_H
#define TLY_PTO_RUN_H

#include "pto/machine.h"

typedef enum tly_pto_end {
    TLY_PTO_END_STOP,  /* TPC reached the stop address */
    TLY_PTO_END_FAULT, /* a step was refused, and the ring that took the trap has no vector */
    TLY_PTO_END_LIMIT, /* the number of steps is used up */
    TLY_PTO_END_FETCH, /* TPC is odd, or the instruction does not lie in memory */
    TLY_PTO_END_ASKED  /* the observer said so */
} tly_pto_end;

/* One step, as the observer sees it when it is over. */
typedef struct tly_pto_step {
    uint64_t pc;
    uint64_t word;
    uint8_t bits;      /* of the word */
    bool entered_body; /* the body was entered just before this step */
    bool executed;     /* false: refused; core.last_fault and reason say why */
} tly_pto_step;

/* Returns false to end the run after this step. */
typedef bool (*tly_pto_observer)(void *user, tly_pto_machine *machine, const tly_pto_step *step);

typedef struct tly_pto_run_options {
    uint64_t stop_pc;
    uint64_t max_steps;
    tly_pto_observer observer; /* NULL: the fast path may run */
    void *user;
    bool plain; /* never the fast path; the results are the same */
} tly_pto_run_options;

typedef struct tly_pto_run_result {
    tly_pto_end end;
    uint64_t num_steps;
} tly_pto_run_result;

void tly_pto_run(tly_pto_machine *machine, const tly_pto_run_options *options,
                 tly_pto_run_result *out_result);

#endif
