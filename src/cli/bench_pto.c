/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto: the machine. */
#include "cli/bench_pto.h"

static const tly_bench_case cases[] = {
    {"tile.bundle", "ticks", TLY_BENCH_BETTER_LOWER,
     "time-stamp ticks of the smallest tile bundle (a move of 128 bytes), against its copy alone",
     tly_bench_run_tile_bundle},
    {"tile.tadd_s32", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "sums of 32-bit integers in tiles of 32 KiB, against the loop in C over as much data",
     tly_bench_run_tile_tadd},
};

const tly_bench_group tly_bench_pto = {"pto", "the PTO machine: instructions and tile operations",
                                       cases, sizeof cases / sizeof cases[0], TLY_BENCH_PINNED};
