/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto: the machine. */
#include "cli/bench_pto.h"

static const tly_bench_case cases[] = {
    {"pto.scalar.loop", "ticks", TLY_BENCH_BETTER_LOWER,
     "time-stamp ticks for an instruction of an integer loop, against one instruction at a time",
     tly_bench_run_scalar_loop},
    {"pto.scalar.memory", "ticks", TLY_BENCH_BETTER_LOWER,
     "the same of loads, stores and pointer chasing in the first-level cache",
     tly_bench_run_scalar_memory},
    {"pto.vs_qemu", "times", TLY_BENCH_BETTER_HIGHER,
     "instructions per second of five algorithms, as a part of qemu-riscv64's (geometric mean)",
     tly_bench_run_vs_qemu},
    {"pto.reset", "us", TLY_BENCH_BETTER_LOWER,
     "a reset behind a run, against the 50 microseconds that it may take", tly_bench_run_reset},
    {"pto.start", "ms", TLY_BENCH_BETTER_LOWER, "tilery run of ten instructions, against /bin/true",
     tly_bench_run_start},
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
