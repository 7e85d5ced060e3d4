/* SPDX-License-Identifier: Apache-2.0 */
/* Benchmarks of the command itself. */
#include "cli/bench.h"

extern const tly_bench_group tly_bench_cli;

static tly_status spawn_once(void *user, uint64_t turn, tly_error *error) {
    (void)turn;
    return tly_bench_spawn(user, NULL, error);
}

static tly_status run_start(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    const char *ours[] = {"/proc/self/exe", "--version", NULL};
    const char *plain[] = {"/bin/true", NULL};
    tly_bench_side sides[] = {{"tilery --version", spawn_once, ours}, {"true", spawn_once, plain}};
    tly_bench_times times[2];
    tly_status status = tly_bench_compare(bench, sides, 2, times, error);
    if (status == TLY_OK) {
        tly_bench_report_time(bench, self, self->name, 1e3, &times[0], &times[1], "");
    }
    return status;
}

static const tly_bench_case cases[] = {
    {"cli.start", "ms", TLY_BENCH_BETTER_LOWER, "tilery --version against /bin/true", run_start},
};

const tly_bench_group tly_bench_cli = {"cli", "the command itself", cases, 1, 1};
