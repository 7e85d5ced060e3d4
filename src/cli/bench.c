/* SPDX-License-Identifier: Apache-2.0 */
/* Runs groups of benchmarks and gathers what they report. */
#include "cli/bench.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/bench_run.h"

#define DEFAULT_RUNS 15

const tly_context *tly_bench_context(const tly_bench *bench) {
    return bench->context;
}

uint32_t tly_bench_runs(const tly_bench *bench) {
    return bench->runs;
}

void tly_bench_tick(tly_bench *bench, uint32_t done, uint32_t all) {
    if (bench->progress != NULL) {
        fprintf(bench->progress, "\r\033[K%s: run %u of %u", bench->current, done, all);
        fflush(bench->progress);
    }
}

static void clear_progress(tly_bench *bench) {
    if (bench->progress != NULL) {
        fputs("\r\033[K", bench->progress);
        fflush(bench->progress);
    }
}

void tly_bench_report(tly_bench *bench, const tly_bench_case *self, const char *name, double value,
                      double reference, uint32_t runs, double spread, const char *note) {
    tly_bench_result *result;
    if (bench->num_results == bench->capacity) {
        uint32_t capacity = bench->capacity == 0 ? 16 : 2 * bench->capacity;
        tly_bench_result *grown = realloc(bench->results, capacity * sizeof *grown);
        if (grown == NULL) {
            bench->out_of_memory = 1;
            return;
        }
        bench->results = grown;
        bench->capacity = capacity;
    }
    result = &bench->results[bench->num_results++];
    memset(result, 0, sizeof *result);
    snprintf(result->name, sizeof result->name, "%s", name);
    snprintf(result->note, sizeof result->note, "%s", note);
    result->of = self;
    result->value = value;
    result->reference = reference;
    result->runs = runs;
    result->spread = spread;
}

void tly_bench_report_rate(tly_bench *bench, const tly_bench_case *self, const char *name,
                           double amount, const tly_bench_times *value,
                           const tly_bench_times *reference, const char *note) {
    tly_bench_report(bench, self, name, amount / value->median, amount / reference->median,
                     value->runs, value->spread, note);
}

void tly_bench_report_time(tly_bench *bench, const tly_bench_case *self, const char *name,
                           double scale, const tly_bench_times *value,
                           const tly_bench_times *reference, const char *note) {
    tly_bench_report(bench, self, name, scale * value->median, scale * reference->median,
                     value->runs, value->spread, note);
}

void tly_bench_skip(tly_bench *bench, const tly_bench_case *self, const char *format, ...) {
    va_list args;
    clear_progress(bench);
    fprintf(stderr, "tilery: bench: %s skipped: ", self->name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    bench->num_skipped++;
}

static const tly_bench_group *find_group(const char *name) {
    for (uint32_t i = 0; tly_bench_groups[i] != NULL; i++) {
        if (strcmp(tly_bench_groups[i]->name, name) == 0) {
            return tly_bench_groups[i];
        }
    }
    return NULL;
}

static tly_status unknown_group(const char *name, tly_error *error) {
    char shown[64], list[256] = "";
    for (uint32_t i = 0; tly_bench_groups[i] != NULL; i++) {
        size_t used = strlen(list);
        snprintf(list + used, sizeof list - used, "%s, ", tly_bench_groups[i]->name);
    }
    return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "bench-group",
                         "there is no group of benchmarks \"%s\"; there are %sand \"all\"",
                         tly_base_printable(shown, sizeof shown, name, strlen(name)), list);
}

static tly_status run_group(tly_bench *bench, const tly_bench_group *group, const char *filter,
                            uint32_t *num_run, tly_error *error) {
    tly_status status = TLY_OK;
    bench->processor_time = group->one_thread == TLY_BENCH_PROCESSOR_TIME;
    if (group->one_thread) {
        tly_bench_pin();
    }
    for (uint32_t i = 0; i < group->num_cases && status == TLY_OK; i++) {
        const tly_bench_case *one = &group->cases[i];
        if (filter != NULL && strstr(one->name, filter) == NULL) {
            continue;
        }
        ++*num_run;
        bench->current = one->name;
        if (bench->progress != NULL) {
            fprintf(bench->progress, "\r\033[K%s", one->name);
            fflush(bench->progress);
        }
        status = one->run(bench, one, error);
        clear_progress(bench);
    }
    if (group->one_thread) {
        tly_bench_unpin();
    }
    return status;
}

tly_status tly_bench_main(const tly_context *context, const char *const *names, uint32_t num_names,
                          const tly_bench_options *options, tly_error *error) {
    tly_bench bench = {0};
    uint32_t num_run = 0;
    tly_status status = TLY_OK;

    bench.context = context;
    bench.runs = options->runs != 0 ? options->runs : DEFAULT_RUNS;
    bench.progress = options->progress;
    for (uint32_t n = 0; n < num_names; n++) {
        if (strcmp(names[n], "all") != 0 && find_group(names[n]) == NULL) {
            return unknown_group(names[n], error);
        }
    }
    for (uint32_t n = 0; n < num_names && status == TLY_OK; n++) {
        for (uint32_t i = 0; tly_bench_groups[i] != NULL && status == TLY_OK; i++) {
            if (strcmp(names[n], "all") == 0 || strcmp(names[n], tly_bench_groups[i]->name) == 0) {
                status = run_group(&bench, tly_bench_groups[i], options->filter, &num_run, error);
            }
        }
    }
    if (status == TLY_OK && num_run == 0) {
        status = tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "bench-filter",
                               "no benchmark of the groups named contains \"%s\"; `tilery bench "
                               "--list` shows their names",
                               options->filter != NULL ? options->filter : "");
    }
    if (status == TLY_OK && bench.out_of_memory) {
        status =
            tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for results");
    }
    if (status == TLY_OK && options->json) {
        tly_bench_print_json(&bench, options->out);
    } else if (status == TLY_OK) {
        tly_bench_print_table(&bench, options->out);
    }
    free(bench.results);
    return status;
}
