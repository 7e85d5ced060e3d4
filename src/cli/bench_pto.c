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

static const tly_bench_case ieee_cases[] = {
    {"ieee.gemm.f32", "Gflop/s", TLY_BENCH_BETTER_HIGHER,
     "1024 x 1024 x 1024 in blocks by TLOAD, TMATMUL and TSTORE, against oneDNN on one core",
     tly_bench_run_ieee_gemm_f32},
    {"ieee.gemm.bf16", "Gflop/s", TLY_BENCH_BETTER_HIGHER,
     "the same of BF16 into FP32, against oneDNN's f32", tly_bench_run_ieee_gemm_bf16},
    {"ieee.gemm.threads", "Gflop/s", TLY_BENCH_BETTER_HIGHER,
     "the product in FP32 by four elements on two threads, against the same on one",
     tly_bench_run_ieee_gemm_threads},
    {"ieee.tadd", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "sums in tiles of 32 KiB of FP32, against the loop in C over as much data",
     tly_bench_run_ieee_tadd},
    {"ieee.tmul", "GB/s", TLY_BENCH_BETTER_HIGHER, "products in such tiles, against the loop in C",
     tly_bench_run_ieee_tmul},
    {"ieee.tcvt", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "FP32 to FP16 in such tiles, against a loop of the processor's conversion",
     tly_bench_run_ieee_tcvt},
    {"ieee.texp", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "exponentials in such tiles, against the vector exponential of the C library",
     tly_bench_run_ieee_texp},
    {"ieee.softmax", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "softmax over rows by four tile operations, against plain C with that exponential",
     tly_bench_run_ieee_softmax},
    {"ieee.types", "ns", TLY_BENCH_BETTER_LOWER,
     "an element of many operations and types, against each element by itself",
     tly_bench_run_ieee_types},
};

const tly_bench_group tly_bench_pto_ieee = {
    "pto-ieee", "the PTO machine with real arithmetic (pto --profile ieee)", ieee_cases,
    sizeof ieee_cases / sizeof ieee_cases[0], TLY_BENCH_PINNED};
