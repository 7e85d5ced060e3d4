/* SPDX-License-Identifier: Apache-2.0 */
/* Programs given as text, for the scalar cases of tilery bench pto. */
#ifndef TLY_CLI_BENCH_PTO_PROGRAM_H
#define TLY_CLI_BENCH_PTO_PROGRAM_H

#include <tilery/pto.h>

#include "cli/bench.h"

/* A machine of 1 GiB with the program at TLY_BENCH_PROGRAM_START, where TPC stands. */
enum { TLY_BENCH_PROGRAM_START = 0x1000 };
tly_status tly_bench_program_new(tly_bench *bench, const char *text, tly_pto_machine **out_machine,
                                 tly_error *error);

/* Puts the program there again and TPC at its start. */
tly_status tly_bench_program_load(tly_pto_machine *machine, const char *text, tly_error *error);

/* The address behind the program, 0 if its text is none. */
uint64_t tly_bench_program_end(tly_pto_machine *machine, const char *text);

/* Runs from TPC. Errors: INTERNAL when the run does not end as wanted (tly_pto_end). */
tly_status tly_bench_program_run(tly_pto_machine *machine, uint64_t stop_pc, uint64_t max_steps,
                                 uint32_t plain, int32_t wanted, tly_error *error);

#endif
