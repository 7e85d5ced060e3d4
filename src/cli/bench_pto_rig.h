/* SPDX-License-Identifier: Apache-2.0 */
/* A machine with a short program, for the cases of tilery bench pto. */
#ifndef TLY_CLI_BENCH_PTO_RIG_H
#define TLY_CLI_BENCH_PTO_RIG_H

#include "cli/bench.h"
#include "pto/create.h"

enum {
    TLY_BENCH_PTO_CODE = 0x1000,
    TLY_BENCH_PTO_DATA = 0x10000,
    TLY_BENCH_PTO_TILE_LEN = 32768,
    TLY_BENCH_PTO_HAND = 16
};

typedef struct tly_bench_rig {
    tly_pto_machine *m;
    uint64_t stop;    /* behind the program */
    uint64_t results; /* bit i: tile i is a result, given back after each run */
} tly_bench_rig;

/* A machine of `memory_len` bytes, whose data are bytes of many values. The caller frees `m`. */
tly_status tly_bench_rig_init(tly_bench_rig *rig, tly_bench *bench, uint64_t memory_len,
                              tly_error *error);

/* Appends an instruction, given as text. */
tly_status tly_bench_rig_add(tly_bench_rig *rig, const char *text, tly_error *error);
tly_status tly_bench_rig_add_all(tly_bench_rig *rig, const char *const *lines, uint32_t num_lines,
                                 tly_error *error);

/* Runs the program once; its tiles stay. The program is empty afterwards, and what it left free is
 * a result from now on. */
tly_status tly_bench_rig_prepare(tly_bench_rig *rig, tly_error *error);

/* Runs the program and gives the results back, as a program itself cannot. */
tly_status tly_bench_rig_run(tly_bench_rig *rig, tly_error *error);

#endif
