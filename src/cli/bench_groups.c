/* SPDX-License-Identifier: Apache-2.0 */
/* Every group of benchmarks. A group lives in src/cli/bench_<name>.c. */
#include <stddef.h>

#include "cli/bench.h"

extern const tly_bench_group tly_bench_cli;
extern const tly_bench_group tly_bench_format;
extern const tly_bench_group tly_bench_gemm;
extern const tly_bench_group tly_bench_isa;
extern const tly_bench_group tly_bench_pack;
extern const tly_bench_group tly_bench_pto;
extern const tly_bench_group tly_bench_pto_ieee;
extern const tly_bench_group tly_bench_serve;

const tly_bench_group *const tly_bench_groups[] = {
    &tly_bench_cli, &tly_bench_format,   &tly_bench_gemm,  &tly_bench_isa, &tly_bench_pack,
    &tly_bench_pto, &tly_bench_pto_ieee, &tly_bench_serve, NULL,
};
