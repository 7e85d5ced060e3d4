/* SPDX-License-Identifier: Apache-2.0 */
/* State of a run of benchmarks, shared by the files of the frame; cases see cli/bench.h only. */
#ifndef TLY_CLI_BENCH_RUN_H
#define TLY_CLI_BENCH_RUN_H

#include "cli/bench.h"

typedef struct tly_bench_result {
    char name[96];
    const tly_bench_case *of;
    double value;
    double reference;
    double spread;
    uint32_t runs;
    char note[320];
} tly_bench_result;

struct tly_bench {
    const tly_context *context;
    uint32_t runs;
    uint32_t processor_time; /* as the group that runs says */
    FILE *progress;
    const char *current; /* name of the case that runs */
    tly_bench_result *results;
    uint32_t num_results;
    uint32_t capacity;
    uint32_t num_skipped;
    int out_of_memory;
};

/* Shows how far the current case is. */
void tly_bench_tick(tly_bench *bench, uint32_t done, uint32_t all);

/* Prints results as JSON or as a table. */
void tly_bench_print_json(const tly_bench *bench, FILE *out);
void tly_bench_print_table(const tly_bench *bench, FILE *out);

#endif
