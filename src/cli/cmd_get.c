/* SPDX-License-Identifier: Apache-2.0 */
/* tilery get: fetches one tensor in the layout that is wanted, into a file. */
#include <string.h>

#include <tilery/net.h>
#include <tilery/store.h>
#include <tilery/wire.h>

#include "base/error.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/describe.h"
#include "cli/families.h"
#include "cli/fetch.h"
#include "cli/handlers.h"
#include "cli/layouts.h"
#include "cli/options_table.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/text.h"

#define DEFAULT_M       8
#define DEFAULT_RETRIES 2

typedef struct get_job {
    tly_cli *cli;
    const char *address;
    const char *key;
    const char *output;
    tly_layouts layouts;
    tly_families *families; /* of --family; NULL: none */
    tly_fetched *fetched;
    tly_progress progress;
    double seconds;
} get_job;

/* What the kernel libraries of this machine want for a product with this matrix. */
static tly_status ask_kernels(get_job *job, const tly_context *context, int stored_nk,
                              tly_error *error) {
    const tly_cli *cli = job->cli;
    tly_tensor_facts facts;
    tly_status status = tly_fetch_facts(context, job->address, job->key, &facts, error);
    if (status != TLY_OK) {
        return status;
    }
    return tly_layouts_add_auto(&job->layouts, context, &facts, stored_nk,
                                tly_cli_number(cli, TLY_CLI_GET_M, DEFAULT_M),
                                tly_cli_value(cli, TLY_CLI_GET_KERNEL, NULL), error);
}

static tly_status read_layouts(get_job *job, const tly_context *context, tly_error *error) {
    const tly_cli *cli = job->cli;
    int transposed = strcmp(tly_cli_value(cli, TLY_CLI_GET_STORED, "kn"), "nk") == 0;
    tly_status status = tly_families_from(cli, TLY_CLI_GET_FAMILY, context, &job->families, error);
    tly_layouts_init(&job->layouts);
    job->layouts.families = job->families;
    for (uint32_t i = 0; i < cli->num_repeats && status == TLY_OK; i++) {
        if (cli->repeats[i].option != TLY_CLI_GET_LAYOUT) {
            continue;
        }
        if (strcmp(cli->repeats[i].value, "auto") == 0) {
            status = ask_kernels(job, context, transposed, error);
            if (status == TLY_NO_PANEL && cli->num_repeats > 1) {
                status = TLY_OK; /* what else was asked for counts */
            }
        } else {
            status = tly_layouts_add(&job->layouts, cli->repeats[i].value, transposed, error);
        }
    }
    return status;
}

static int show_progress(void *user, uint64_t done, uint64_t total) {
    get_job *job = user;
    job->progress.total = total;
    tly_progress_update(&job->progress, done);
    return 0;
}

static void say_retry(void *user, uint32_t attempt, uint32_t delay_ms, uint64_t received,
                      const tly_error *why) {
    char bytes[32], text[1024];
    (void)user;
    fprintf(stderr, "tilery: get: %s; attempt %u in %u ms, %s are here\n",
            tly_text_safe(text, sizeof text, why->message, strlen(why->message)), attempt, delay_ms,
            tly_text_bytes(bytes, sizeof bytes, received));
}

static tly_status fetch(get_job *job, const tly_context *context, tly_error *error) {
    tly_fetch_request request = {0};
    tly_retry_options retry = {.size = sizeof retry, .on_retry = say_retry, .user = job};
    tly_cli_link link;
    double started = tly_bench_now();
    tly_status status = tly_cli_link_init(&link, error);
    if (status != TLY_OK) {
        return status;
    }
    /* On this machine a variant that the server has made need not be copied. What is native leaves
     * faster from the server's file. */
    link.options.flags = job->layouts.num != 0 ? TLY_CLIENT_SHARED : 0;
    retry.max_attempts =
        1 + (uint32_t)tly_cli_number(job->cli, TLY_CLI_GET_RETRIES, DEFAULT_RETRIES);
    request.size = sizeof request;
    request.key = job->key;
    request.layouts = job->layouts.entries;
    request.num_layouts = job->layouts.num;
    request.request_flags = job->layouts.num != 0 ? TLY_WIRE_ALLOW_TRANSCODE : 0;
    if (tly_cli_given(job->cli, TLY_CLI_GET_SHARDS)) {
        request.request_flags |= TLY_WIRE_PARALLEL_OK;
    }
    request.progress = show_progress;
    request.progress_user = job;
    tly_progress_init(&job->progress, "get", 0);
    status = tly_fetch_with_retries(context, job->address, &link.options, &retry, &request,
                                    &job->fetched, error);
    tly_progress_finish(&job->progress);
    tly_cli_link_cleanup(&link);
    job->seconds = tly_bench_now() - started;
    if (status == TLY_OK && tly_fetched_choice(job->fetched) == job->layouts.num &&
        !tly_layouts_takes_native(&job->layouts)) {
        char layout[320];
        return tly_base_fail(
            error, TLY_LAYOUT_UNAVAILABLE, TLY_NO_OFFSET, "layout-native",
            "the server has %s only as %s, in none of the layouts asked for; add "
            "--layout native to take that",
            job->key,
            tly_describe_layout(layout, sizeof layout, tly_fetched_descriptor(job->fetched)));
    }
    return status;
}

/* Where the tensor goes, opened before it is fetched: a place that cannot be written is told at
 * once. Exactly one of the two is in use. */
typedef struct target {
    tly_store_writer *writer;
    tly_output raw;
} target;

static tly_status open_target(target *to, const get_job *job, const tly_context *context,
                              tly_error *error) {
    to->writer = NULL;
    if (tly_cli_given(job->cli, TLY_CLI_GET_RAW)) {
        return tly_output_init(&to->raw, context, job->output, error);
    }
    return tly_store_writer_new(context, job->output, NULL, &to->writer, error);
}

static void close_target(target *to) {
    if (to->writer != NULL) {
        tly_store_writer_free(to->writer);
    } else {
        tly_output_cleanup(&to->raw);
    }
}

/* One tensor; the data of all its buffers stands back to back, as the writer takes it. */
static tly_status write_tensor(tly_store_writer *writer, const char *name, tly_fetched *fetched,
                               tly_error *error) {
    tly_status status =
        tly_store_writer_begin(writer, name, strlen(name), tly_fetched_descriptor(fetched), error);
    if (status == TLY_OK) {
        status = tly_store_writer_append(writer, tly_fetched_data(fetched),
                                         tly_fetched_len(fetched), error);
    }
    return status == TLY_OK ? tly_store_writer_end(writer, error) : status;
}

/* The members of a composite get the name of its head and their number. */
static tly_status write_members(tly_store_writer *writer, const get_job *job, tly_error *error) {
    char name[4096];
    tly_status status = TLY_OK;
    for (uint32_t i = 0; i < tly_fetched_num_members(job->fetched) && status == TLY_OK; i++) {
        snprintf(name, sizeof name, "%.4000s/%u", job->key, i);
        status = write_tensor(writer, name, tly_fetched_member(job->fetched, i), error);
    }
    return status;
}

static tly_status write_target(target *to, const get_job *job, tly_error *error) {
    tly_status status;
    if (to->writer == NULL) {
        if (tly_fetched_num_members(job->fetched) != 0) {
            return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "raw-composite",
                                 "%s is a composite of %u tensors: --raw writes one", job->key,
                                 tly_fetched_num_members(job->fetched));
        }
        status = tly_output_write(&to->raw, tly_fetched_data(job->fetched),
                                  tly_fetched_len(job->fetched), error);
        return status == TLY_OK ? tly_output_commit(&to->raw, error) : status;
    }
    status = write_tensor(to->writer, job->key, job->fetched, error);
    if (status == TLY_OK) {
        status = write_members(to->writer, job, error);
    }
    return status == TLY_OK ? tly_store_writer_commit(to->writer, error) : status;
}

static tly_status write_profile(get_job *job, const tly_context *context, const char *path,
                                tly_error *error) {
    tly_panel_profile profile;
    const tly_descriptor *descriptor = tly_fetched_descriptor(job->fetched);
    if (!tly_describe_panel(descriptor, &profile)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-profile",
                             "--save-profile needs a panel, and the tensor came without one");
    }
    return tly_output_put(context, path, descriptor->private_data, descriptor->private_len, error);
}

static void report(const get_job *job) {
    const tly_descriptor *descriptor = tly_fetched_descriptor(job->fetched);
    FILE *out = strcmp(job->output, "-") == 0 ? stderr : job->cli->out;
    tly_panel_profile profile;
    if (tly_cli_given(job->cli, TLY_CLI_GET_JSON)) {
        tly_json json;
        tly_json_init(&json, out);
        tly_json_object(&json, NULL);
        tly_json_string(&json, "key", job->key);
        tly_describe_json(&json, descriptor);
        if (tly_describe_panel(descriptor, &profile)) {
            tly_json_string(&json, "kernel", profile.kernel);
        }
        tly_json_u64(&json, "bytes", tly_fetched_len(job->fetched));
        tly_json_string(&json, "output", job->output);
        tly_json_number(&json, "seconds", job->seconds);
        tly_json_u64(&json, "peak_memory", tly_bench_peak_memory());
        tly_json_end_object(&json);
        tly_json_finish(&json);
    } else {
        char dtype[16], shape[128], layout[320], bytes[32];
        int panel = tly_describe_panel(descriptor, &profile) && profile.kernel[0] != '\0';
        fprintf(out, "%s: %s %s, %s, %s%s%s\n", job->output,
                tly_describe_dtype(dtype, sizeof dtype, descriptor->dtype),
                tly_describe_shape(shape, sizeof shape, descriptor->shape, descriptor->rank),
                tly_text_bytes(bytes, sizeof bytes, tly_fetched_len(job->fetched)),
                tly_describe_layout(layout, sizeof layout, descriptor), panel ? ", for " : "",
                panel ? profile.kernel : "");
    }
}

static tly_status check_usage(const get_job *job, tly_error *error) {
    const tly_cli *cli = job->cli;
    int raw = tly_cli_given(cli, TLY_CLI_GET_RAW);
    tly_status status = tly_fetch_check_arguments(cli, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_cli_given(cli, TLY_CLI_GET_OUTPUT)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-output",
                             "-o FILE says where the tensor goes, and is missing");
    }
    if (!raw && strcmp(cli->values[TLY_CLI_GET_OUTPUT], "-") == 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-output",
                             "only --raw can write to standard output (-o -)");
    }
    return TLY_OK;
}

static tly_status get(get_job *job, const tly_context *context, tly_error *error) {
    const char *profile = tly_cli_value(job->cli, TLY_CLI_GET_SAVE_PROFILE, NULL);
    target to;
    tly_status status = open_target(&to, job, context, error);
    if (status != TLY_OK) {
        return status;
    }
    status = fetch(job, context, error);
    if (status == TLY_OK && profile != NULL) {
        status = write_profile(job, context, profile, error);
    }
    if (status == TLY_OK) {
        status = write_target(&to, job, error);
    }
    if (status == TLY_OK) {
        report(job);
    }
    tly_fetched_free(job->fetched);
    close_target(&to);
    return status;
}

tly_status tly_cli_run_get(tly_cli *cli, tly_error *error) {
    get_job job;
    const tly_context *context;
    tly_status status;
    if (tly_cli_given(cli, TLY_CLI_GET_LIST_LAYOUTS)) {
        tly_layouts_print(cli->out, tly_cli_given(cli, TLY_CLI_GET_JSON));
        return TLY_OK;
    }
    memset(&job, 0, sizeof job);
    job.cli = cli;
    status = check_usage(&job, error);
    if (status != TLY_OK) {
        return status;
    }
    job.address = cli->args[0];
    job.key = cli->args[1];
    job.output = cli->values[TLY_CLI_GET_OUTPUT];
    status = tly_cli_context(cli, &context, error);
    if (status == TLY_OK) {
        status = read_layouts(&job, context, error);
    }
    if (status == TLY_OK) {
        status = get(&job, context, error);
    }
    tly_families_free(job.families);
    return status;
}
