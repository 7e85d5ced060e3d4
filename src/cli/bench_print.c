/* SPDX-License-Identifier: Apache-2.0 */
/* Results of benchmarks as JSON and as a table, with the machine they were taken on. */
#include <math.h>
#include <string.h>

#include <tilery/version.h>

#include "cli/bench_run.h"
#include "cli/json.h"
#include "cli/machine.h"
#include "cli/text.h"

void tly_bench_print_json(const tly_bench *bench, FILE *out) {
    tly_machine machine;
    tly_json json;
    tly_machine_init(&machine, bench->context);
    tly_json_init(&json, out);
    tly_json_object(&json, NULL);
    tly_machine_json(&machine, &json, "machine");
    tly_json_array(&json, "results");
    for (uint32_t i = 0; i < bench->num_results; i++) {
        const tly_bench_result *r = &bench->results[i];
        tly_json_object(&json, NULL);
        tly_json_string(&json, "name", r->name);
        tly_json_number(&json, "value", r->value);
        tly_json_string(&json, "unit", r->of->unit);
        tly_json_number(&json, "reference", r->reference);
        tly_json_number(&json, "ratio", r->value / r->reference);
        tly_json_string(&json, "better", r->of->better);
        tly_json_u64(&json, "runs", r->runs);
        tly_json_number(&json, "spread", r->spread);
        if (r->note[0] != '\0') {
            tly_json_string(&json, "note", r->note);
        }
        tly_json_end_object(&json);
    }
    tly_json_end_array(&json);
    tly_json_end_object(&json);
    tly_json_finish(&json);
}

#define TABLE_WIDTH 100

/* Four significant digits, without an exponent where that is readable. */
static const char *figure(char *text, size_t capacity, double value) {
    double size = fabs(value);
    if (size != 0 && (size < 0.001 || size >= 1e7)) {
        snprintf(text, capacity, "%.3e", value);
    } else {
        int digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : 3;
        snprintf(text, capacity, "%.*f", digits, value);
    }
    return text;
}

void tly_bench_print_table(const tly_bench *bench, FILE *out) {
    tly_machine machine;
    size_t width = strlen("name");
    tly_machine_init(&machine, bench->context);
    for (uint32_t i = 0; i < bench->num_results; i++) {
        size_t len = strlen(bench->results[i].name);
        width = len > width ? len : width;
    }
    fprintf(out, "%s, %u processors, %s, Linux %s, %s, tilery %s\n\n", machine.cpu, machine.cores,
            machine.simd, machine.kernel, machine.compiler, TLY_VERSION_STRING);
    fprintf(out, "%-*s %10s %10s  %-8s %6s  %-6s %7s %4s\n", (int)width, "name", "value",
            "reference", "unit", "ratio", "better", "spread", "runs");
    for (uint32_t i = 0; i < bench->num_results; i++) {
        const tly_bench_result *r = &bench->results[i];
        char value[32], reference[32];
        fprintf(out, "%-*s %10s %10s  %-8s %6.3f  %-6s %6.1f%% %4u\n", (int)width, r->name,
                figure(value, sizeof value, r->value),
                figure(reference, sizeof reference, r->reference), r->of->unit,
                r->value / r->reference, r->of->better, 100 * r->spread, r->runs);
        tly_text_wrap(out, 4, TABLE_WIDTH, r->note);
    }
}
