/* SPDX-License-Identifier: Apache-2.0 */
/* tilery check: run published vectors against this build. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/check_vectors.h"
#include "cli/cli.h"
#include "cli/handlers.h"
#include "cli/options_table.h"

typedef struct kind {
    const char *name;
    tly_status (*run)(const tly_context *context, const char *path,
                      const tly_check_options *options, tly_check_counts *counts, tly_error *error);
} kind;

static const kind kinds[] = {{"hurray", tly_check_hurray}, {"pto", tly_check_pto}};

enum { MAX_SHOWN = 20 };

static uint32_t default_jobs(void) {
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 1 ? (uint32_t)online : 1;
}

tly_status tly_cli_run_check(tly_cli *cli, tly_error *error) {
    const tly_context *context = NULL;
    const kind *chosen = NULL;
    tly_check_counts counts = {0};
    tly_check_options options = {
        .only = tly_cli_value(cli, TLY_CLI_CHECK_ONLY, NULL),
        .num_jobs = (uint32_t)tly_cli_number(cli, TLY_CLI_CHECK_JOBS, default_jobs()),
        .max_shown = (uint32_t)tly_cli_number(cli, TLY_CLI_CHECK_SHOW, MAX_SHOWN),
        .out = cli->out};
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        chosen = strcmp(cli->args[0], kinds[i].name) == 0 ? &kinds[i] : chosen;
    }
    if (chosen == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-argument",
                             "there are no vectors of the kind \"%s\"", cli->args[0]);
    }
    tly_status status = tly_cli_context(cli, &context, error);
    for (uint32_t i = 1; i < cli->num_args && status == TLY_OK; i++) {
        status = chosen->run(context, cli->args[i], &options, &counts, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (counts.failed > options.max_shown) {
        fprintf(cli->out, "and %" PRIu64 " more\n", counts.failed - options.max_shown);
    }
    fprintf(cli->out, "%" PRIu64 " passed, %" PRIu64 " failed\n", counts.passed, counts.failed);
    if (counts.failed > 0 || counts.passed == 0) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "check-failed",
                             counts.failed > 0 ? "some vectors do not come out as recorded"
                                               : "no vector was run");
    }
    return TLY_OK;
}
