/* SPDX-License-Identifier: Apache-2.0 */
/* tilery put: puts tensors of a container on a server. */
#include <string.h>

#include <tilery/net.h>
#include <tilery/store.h>

#include "base/context.h"
#include "base/error.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/handlers.h"
#include "cli/json.h"
#include "cli/options_table.h"
#include "cli/progress.h"
#include "cli/text.h"

#define DEFAULT_RETRIES 2

typedef struct put_job {
    tly_cli *cli;
    tly_client *client;
    const tly_context *context;
    const tly_client_options *options;
    const tly_store *store;
    tly_progress progress;
    uint64_t num, len;
} put_job;

static int show_progress(void *user, uint64_t done, uint64_t total) {
    put_job *job = user;
    job->progress.total = job->len + total;
    tly_progress_update(&job->progress, job->len + done);
    return 0;
}

static void say_retry(void *user, uint32_t attempt, uint32_t delay_ms, uint64_t received,
                      const tly_error *why) {
    char text[1024];
    (void)user, (void)received;
    fprintf(stderr, "tilery: put: %s; attempt %u in %u ms\n",
            tly_text_safe(text, sizeof text, why->message, strlen(why->message)), attempt,
            delay_ms);
}

/* Views of the buffers; the file may be cut short by somebody else, so a guard is open. */
static tly_status put_views(put_job *job, uint64_t index, const tly_descriptor *descriptor,
                            const char *key, tly_error *error) {
    const void *buffers[TLY_MAX_BUFFERS] = {0};
    tly_put_request request = {.size = sizeof request,
                               .key = key,
                               .descriptor = descriptor,
                               .buffers = buffers,
                               .progress = show_progress,
                               .progress_user = job};
    uint64_t total = 0;
    for (uint32_t i = 0; i < descriptor->num_buffers; i++) {
        uint64_t offset, len;
        tly_status status = tly_store_buffer_range(job->store, index, descriptor, i, &offset, &len);
        if (status == TLY_OK && len != 0) {
            status = tly_store_view(job->store, index, offset, len, &buffers[i], error);
        }
        if (status != TLY_OK) {
            return status;
        }
        total += len;
    }
    const tly_retry_options retry = {
        .size = sizeof retry,
        .max_attempts =
            1 + (uint32_t)tly_cli_number(job->cli, TLY_CLI_PUT_RETRIES, DEFAULT_RETRIES),
        .on_retry = say_retry};
    tly_status status = tly_put_with_retries(job->context, job->cli->args[0], job->options, &retry,
                                             &job->client, &request, error);
    job->num += status == TLY_OK;
    job->len += status == TLY_OK ? total : 0;
    return status;
}

static tly_status put_one(put_job *job, const tly_context *context, uint64_t index, const char *as,
                          tly_error *error) {
    size_t work_len = TLY_STORE_WORK_LEN, key_len;
    uint8_t *work;
    char *key;
    tly_descriptor descriptor;
    tly_store_entry entry;
    tly_store_guard guard;
    tly_status status = tly_store_entry_at(job->store, index, &entry);
    if (status != TLY_OK) {
        return status;
    }
    key_len = as != NULL ? strlen(as) : entry.name_len;
    if (2 * (size_t)entry.descriptor_len + 64 > work_len) {
        work_len = 2 * (size_t)entry.descriptor_len + 64;
    }
    work = tly_base_alloc(context, work_len + key_len + 1, 16);
    if (work == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a descriptor");
    }
    key = (char *)work + work_len;
    memcpy(key, as != NULL ? as : entry.name, key_len);
    key[key_len] = '\0';
    status = tly_store_descriptor(job->store, index, work, work_len, &descriptor, error);
    if (status == TLY_OK) {
        tly_store_guard_begin(job->store, &guard);
        status = put_views(job, index, &descriptor, key, error);
        if (tly_store_guard_end(&guard, status == TLY_OK ? error : NULL) != TLY_OK &&
            status == TLY_OK) {
            status = TLY_TRUNCATED;
        }
    }
    tly_base_free(context, work, work_len + key_len + 1, 16);
    return status;
}

/* The tensors that were named, or all of them. */
static tly_status put_all(put_job *job, const tly_context *context, tly_error *error) {
    const tly_cli *cli = job->cli;
    const char *as = tly_cli_value(cli, TLY_CLI_PUT_AS, NULL);
    uint64_t num = tly_store_num_tensors(job->store);
    tly_status status = TLY_OK;
    if (cli->num_args == 2) {
        if (as != NULL && num != 1) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-as",
                                 "--as names one tensor, and %s holds %llu: say which",
                                 cli->args[1], (unsigned long long)num);
        }
        for (uint64_t i = 0; i < num && status == TLY_OK; i++) {
            status = put_one(job, context, i, as, error);
        }
        return status;
    }
    for (uint32_t i = 2; i < cli->num_args && status == TLY_OK; i++) {
        uint64_t index;
        status = tly_store_find(job->store, cli->args[i], strlen(cli->args[i]), &index);
        if (status != TLY_OK) {
            char shown[160];
            return tly_base_fail(
                error, status, TLY_NO_OFFSET, "tensor", "%s holds no tensor called \"%s\"",
                cli->args[1],
                tly_base_printable(shown, sizeof shown, cli->args[i], strlen(cli->args[i])));
        }
        status = put_one(job, context, index, as, error);
    }
    return status;
}

static void report(const put_job *job, double seconds) {
    const tly_cli *cli = job->cli;
    if (tly_cli_given(cli, TLY_CLI_PUT_JSON)) {
        tly_json json;
        tly_json_init(&json, cli->out);
        tly_json_object(&json, NULL);
        tly_json_string(&json, "address", cli->args[0]);
        tly_json_u64(&json, "tensors", job->num);
        tly_json_u64(&json, "bytes", job->len);
        tly_json_number(&json, "seconds", seconds);
        tly_json_end_object(&json);
        tly_json_finish(&json);
    } else {
        char bytes[32];
        fprintf(cli->out, "%s: %llu tensor%s, %s, acknowledged\n", cli->args[0],
                (unsigned long long)job->num, tly_text_s(job->num),
                tly_text_bytes(bytes, sizeof bytes, job->len));
    }
}

tly_status tly_cli_run_put(tly_cli *cli, tly_error *error) {
    put_job job = {.cli = cli};
    const tly_context *context;
    tly_cli_link link;
    tly_store *store;
    double started = tly_bench_now();
    tly_status status = tly_address_check(cli->args[0], error);
    if (status == TLY_OK && tly_cli_given(cli, TLY_CLI_PUT_AS) && cli->num_args > 3) {
        status = tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-as",
                               "--as names one tensor, and several are to be put");
    }
    if (status == TLY_OK) {
        status = tly_cli_context(cli, &context, error);
    }
    if (status == TLY_OK) {
        status = tly_store_open(context, cli->args[1], NULL, &store, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    job.store = store;
    status = tly_cli_link_init(&link, error);
    if (status == TLY_OK) {
        job.context = context;
        job.options = &link.options;
        tly_progress_init(&job.progress, "put", 0);
        status = put_all(&job, context, error);
        tly_progress_finish(&job.progress);
        tly_client_free(job.client);
        tly_cli_link_cleanup(&link);
    }
    if (status == TLY_OK) {
        report(&job, tly_bench_now() - started);
    } else if (job.num != 0) {
        fprintf(stderr, "tilery: put: acknowledged before that: %llu tensor%s\n",
                (unsigned long long)job.num, tly_text_s(job.num));
    }
    tly_store_free(store);
    return status;
}
