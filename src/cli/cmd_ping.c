/* SPDX-License-Identifier: Apache-2.0 */
/* tilery ping: is the server there, and how long does it take to answer? */
#include <stdlib.h>

#include <tilery/net.h>

#include "base/context.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/handlers.h"
#include "cli/json.h"
#include "cli/options_table.h"

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print_json(const tly_cli *cli, const double *sorted, uint64_t count) {
    tly_json json;
    tly_json_init(&json, cli->out);
    tly_json_object(&json, NULL);
    tly_json_string(&json, "address", cli->args[0]);
    tly_json_u64(&json, "pings", count);
    tly_json_number(&json, "min_seconds", sorted[0]);
    tly_json_number(&json, "median_seconds", sorted[count / 2]);
    tly_json_number(&json, "max_seconds", sorted[count - 1]);
    tly_json_end_object(&json);
    tly_json_finish(&json);
}

static tly_status ping(const tly_cli *cli, const tly_context *context, double *seconds,
                       uint64_t count, tly_error *error) {
    tly_client *client;
    tly_status status = tly_cli_connect(context, cli->args[0], 0, &client, error);
    if (status != TLY_OK) {
        return status;
    }
    for (uint64_t i = 0; i < count && status == TLY_OK; i++) {
        status = tly_client_ping(client, &seconds[i], error);
    }
    tly_client_free(client);
    return status;
}

tly_status tly_cli_run_ping(tly_cli *cli, tly_error *error) {
    const uint64_t count = tly_cli_number(cli, TLY_CLI_PING_COUNT, 1);
    const tly_context *context;
    double *seconds;
    tly_status status = tly_address_check(cli->args[0], error);
    if (status == TLY_OK) {
        status = tly_cli_context(cli, &context, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    seconds = tly_base_calloc(context, (size_t)count * sizeof *seconds, _Alignof(double));
    if (seconds == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for times");
    }
    status = ping(cli, context, seconds, count, error);
    if (status == TLY_OK) {
        qsort(seconds, (size_t)count, sizeof *seconds, by_size);
        if (tly_cli_given(cli, TLY_CLI_PING_JSON)) {
            print_json(cli, seconds, count);
        } else if (count == 1) {
            fprintf(cli->out, "%s answers in %.0f us\n", cli->args[0], seconds[0] * 1e6);
        } else {
            fprintf(cli->out, "%s answers %llu times in %.0f us (median), %.0f to %.0f us\n",
                    cli->args[0], (unsigned long long)count, seconds[count / 2] * 1e6,
                    seconds[0] * 1e6, seconds[count - 1] * 1e6);
        }
    }
    tly_base_free(context, seconds, (size_t)count * sizeof *seconds, _Alignof(double));
    return status;
}
