/* SPDX-License-Identifier: Apache-2.0 */
/* Timing of benchmarks: interleaved samples, medians, quartiles. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/error.h"
#include "cli/bench.h"
#include "cli/bench_run.h"

#define SAMPLE_SECONDS    2e-3
#define CALIBRATION_CALLS 3
#define MAX_RUNS          1001

static double seconds_on(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double tly_bench_now(void) {
    return seconds_on(CLOCK_MONOTONIC);
}

void tly_bench_keep(const void *memory) {
    __asm__ volatile("" : : "r"(memory) : "memory");
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The sample at a fraction of the sorted list, interpolated. */
static double quantile(const double *sorted, uint32_t num, double fraction) {
    double place = fraction * (double)(num - 1);
    uint32_t low = (uint32_t)place;
    uint32_t high = low + 1 < num ? low + 1 : low;
    return sorted[low] + (place - (double)low) * (sorted[high] - sorted[low]);
}

void tly_bench_summarise(double *samples, uint32_t num, tly_bench_times *out_times) {
    qsort(samples, num, sizeof *samples, ascending);
    out_times->median = quantile(samples, num, 0.5);
    out_times->spread =
        out_times->median > 0
            ? (quantile(samples, num, 0.75) - quantile(samples, num, 0.25)) / out_times->median
            : 0;
    out_times->best = samples[0];
    out_times->runs = num;
    out_times->calls = 1;
}

/* One sample: `calls` calls, the mean of their times. */
static tly_status sample(clockid_t clock, const tly_bench_side *side, uint32_t calls,
                         uint64_t *turn, double *out_seconds, tly_error *error) {
    double start = seconds_on(clock);
    for (uint32_t i = 0; i < calls; i++) {
        tly_status status = side->run(side->user, (*turn)++, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    *out_seconds = (seconds_on(clock) - start) / calls;
    return TLY_OK;
}

/* Warms up, and finds how many calls make a sample: by the best of a few, because one may be
 * interrupted. */
static tly_status calls_per_sample(clockid_t clock, const tly_bench_side *side, uint64_t *turn,
                                   uint32_t *out_calls, tly_error *error) {
    double once = 0, best = INFINITY;
    tly_status status = sample(clock, side, 1, turn, &once, error);
    for (int i = 0; i < CALIBRATION_CALLS && status == TLY_OK; i++) {
        status = sample(clock, side, 1, turn, &once, error);
        best = fmin(best, once);
    }
    *out_calls = best >= SAMPLE_SECONDS ? 1 : (uint32_t)ceil(SAMPLE_SECONDS / (best + 1e-9));
    return status;
}

tly_status tly_bench_compare(tly_bench *bench, const tly_bench_side *sides, uint32_t num_sides,
                             tly_bench_times *out_times, tly_error *error) {
    const clockid_t clock = bench->processor_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
    uint32_t runs = bench->runs, calls[TLY_BENCH_MAX_SIDES];
    uint64_t turns[TLY_BENCH_MAX_SIDES] = {0};
    double *samples;
    tly_status status = TLY_OK;

    if (num_sides == 0 || num_sides > TLY_BENCH_MAX_SIDES || runs == 0 || runs > MAX_RUNS) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "bench-range",
                             "a comparison takes 1 to %d sides and 1 to %d runs",
                             TLY_BENCH_MAX_SIDES, MAX_RUNS);
    }
    samples = malloc(sizeof *samples * num_sides * runs);
    if (samples == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for samples");
    }
    for (uint32_t s = 0; s < num_sides && status == TLY_OK; s++) {
        status = calls_per_sample(clock, &sides[s], &turns[s], &calls[s], error);
    }
    for (uint32_t round = 0; round < runs && status == TLY_OK; round++) {
        for (uint32_t i = 0; i < num_sides && status == TLY_OK; i++) {
            uint32_t s = round % 2 == 0 ? i : num_sides - 1 - i;
            status =
                sample(clock, &sides[s], calls[s], &turns[s], &samples[s * runs + round], error);
        }
        tly_bench_tick(bench, round + 1, runs);
    }
    for (uint32_t s = 0; s < num_sides && status == TLY_OK; s++) {
        tly_bench_summarise(samples + (size_t)s * runs, runs, &out_times[s]);
        out_times[s].calls = calls[s];
    }
    free(samples);
    return status;
}

tly_status tly_bench_compare_work(tly_bench *bench, const tly_bench_side *sides, uint32_t num_sides,
                                  tly_bench_times *out_times, tly_error *error) {
    const uint32_t of_group = bench->processor_time;
    bench->processor_time = 1;
    tly_status status = tly_bench_compare(bench, sides, num_sides, out_times, error);
    bench->processor_time = of_group;
    return status;
}

double tly_bench_ticks_per_second(void) {
#if defined(__x86_64__)
    double start = tly_bench_now(), stop;
    uint64_t first = __builtin_ia32_rdtsc(), last;
    do {
        stop = tly_bench_now();
        last = __builtin_ia32_rdtsc();
    } while (stop - start < 0.05);
    return (double)(last - first) / (stop - start);
#else
    return 0;
#endif
}
