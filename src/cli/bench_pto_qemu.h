/* SPDX-License-Identifier: Apache-2.0 */
/* Five algorithms, written for both machines: what pto.vs_qemu runs. Each works on 64 KiB of data
 * and is repeated; a repetition does the same work every time. */
#ifndef TLY_CLI_BENCH_PTO_QEMU_H
#define TLY_CLI_BENCH_PTO_QEMU_H

#include <stdint.h>

typedef struct tly_bench_algorithm {
    const char *name;
    /* a1: data, a2: repetitions left; it ends at its last instruction */
    const char *pto;
    uint32_t pto_times; /* repetitions that are timed */
    uint32_t riscv_times;
} tly_bench_algorithm;

enum { TLY_BENCH_NUM_ALGORITHMS = 5 };
extern const tly_bench_algorithm tly_bench_algorithms[TLY_BENCH_NUM_ALGORITHMS];

/* All of them in C for the other machine: arguments are the number of the algorithm and that of
 * repetitions. */
extern const char tly_bench_riscv_source[];

#endif
