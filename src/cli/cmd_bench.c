/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench */
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/handlers.h"
#include "cli/json.h"
#include "cli/options_table.h"

enum { MAX_GROUPS = 16 };

static void list_cases(FILE *out) {
    for (uint32_t g = 0; tly_bench_groups[g] != NULL; g++) {
        const tly_bench_group *group = tly_bench_groups[g];
        fprintf(out, "%s%s: %s\n", g == 0 ? "" : "\n", group->name, group->summary);
        for (uint32_t i = 0; i < group->num_cases; i++) {
            fprintf(out, "  %-28s %s\n", group->cases[i].name, group->cases[i].summary);
        }
    }
}

static void list_json(FILE *out) {
    tly_json json;
    tly_json_init(&json, out);
    tly_json_array(&json, NULL);
    for (uint32_t g = 0; tly_bench_groups[g] != NULL; g++) {
        const tly_bench_group *group = tly_bench_groups[g];
        tly_json_object(&json, NULL);
        tly_json_string(&json, "group", group->name);
        tly_json_string(&json, "summary", group->summary);
        tly_json_array(&json, "benchmarks");
        for (uint32_t i = 0; i < group->num_cases; i++) {
            tly_json_object(&json, NULL);
            tly_json_string(&json, "name", group->cases[i].name);
            tly_json_string(&json, "unit", group->cases[i].unit);
            tly_json_string(&json, "better", group->cases[i].better);
            tly_json_string(&json, "summary", group->cases[i].summary);
            tly_json_end_object(&json);
        }
        tly_json_end_array(&json);
        tly_json_end_object(&json);
    }
    tly_json_end_array(&json);
    tly_json_finish(&json);
}

/* The groups of the command line; `pto` is that of the numeric profile. */
static const char *const *groups_of(const tly_cli *cli, const char **groups) {
    const char *profile = tly_cli_value(cli, TLY_CLI_BENCH_PROFILE, "pto-v0");
    for (uint32_t i = 0; i < cli->num_args; i++) {
        bool is_other = strcmp(cli->args[i], "pto") == 0 && strcmp(profile, "ieee") == 0;
        groups[i] = is_other ? "pto-ieee" : cli->args[i];
    }
    return groups;
}

tly_status tly_cli_run_bench(tly_cli *cli, tly_error *error) {
    tly_bench_options options = {0};
    const char *groups[MAX_GROUPS];
    const tly_context *context;
    tly_status status;
    if (tly_cli_given(cli, TLY_CLI_BENCH_LIST)) {
        (tly_cli_given(cli, TLY_CLI_BENCH_JSON) ? list_json : list_cases)(cli->out);
        return TLY_OK;
    }
    if (cli->num_args == 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-arguments",
                             "a group is missing; `tilery bench --list` shows them all");
    }
    status = tly_cli_context(cli, &context, error);
    if (status != TLY_OK) {
        return status;
    }
    options.runs = (uint32_t)tly_cli_number(cli, TLY_CLI_BENCH_RUNS, 0);
    options.filter = tly_cli_value(cli, TLY_CLI_BENCH_FILTER, NULL);
    options.json = tly_cli_given(cli, TLY_CLI_BENCH_JSON);
    options.out = cli->out;
    options.progress = isatty(STDERR_FILENO) ? stderr : NULL;
    return tly_bench_main(context, groups_of(cli, groups), cli->num_args, &options, error);
}
