/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto: the machine. */
#include "cli/bench_pto.h"

static const tly_bench_case cases[] = {
    {"pto.tile.bundle", "ticks", TLY_BENCH_BETTER_LOWER,
     "time-stamp ticks of the smallest tile bundle (a move of 128 bytes), against its copy alone",
     tly_bench_run_tile_bundle},
    {"pto.tile.tadd_s32", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "sums of 32-bit integers in tiles of 32 KiB, against the loop in C over as much data",
     tly_bench_run_tile_tadd},
    {"pto.tile.tload", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "loads of tiles of 32 KiB, against memcpy over the same addresses", tly_bench_run_tile_tload},
    {"pto.tile.tstore", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "stores of tiles of 32 KiB, against memcpy over the same addresses",
     tly_bench_run_tile_tstore},
    {"pto.tile.tload_nd2n8", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "loads into cells of the matrix unit, against memcpy over the same addresses",
     tly_bench_run_tile_tload_nd2n8},
    {"pto.tile.tmatmul_s8", "Gop/s", TLY_BENCH_BETTER_HIGHER,
     "TMATMUL of bytes, 32 x 512 x 128, against oneDNN on one core", tly_bench_run_tile_tmatmul},
};

const tly_bench_group tly_bench_pto = {"pto", "the PTO machine: instructions and tile operations",
                                       cases, sizeof cases / sizeof cases[0], TLY_BENCH_PINNED};
