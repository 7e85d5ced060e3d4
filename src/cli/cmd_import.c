/* SPDX-License-Identifier: Apache-2.0 */
/* tilery import: other people's files into one container. */
#include <stdlib.h>
#include <string.h>

#include <tilery/import.h>
#include <tilery/store.h>

#include "base/error.h"
#include "cli/bench.h"
#include "cli/cli.h"
#include "cli/handlers.h"
#include "cli/json.h"
#include "cli/options_table.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/text.h"

typedef struct import_job {
    tly_cli *cli;
    const tly_context *context;
    tly_import **imports; /* one per file */
    tly_store_writer *writer;
    tly_progress progress;
    tly_kv *kv;
    size_t num_kv;
    uint64_t num_tensors;
    uint64_t total_len; /* bytes of all tensors */
    uint64_t done_len;
} import_job;

/* An error about one of several files names it, unless the message already does. */
static tly_status in_file(const char *file, tly_status status, tly_error *error) {
    char text[128];
    if (strstr(error->message, file) == NULL) {
        tly_error inner = *error;
        tly_base_fail(error, inner.status, inner.offset, inner.rule, "%s: %s",
                      tly_base_printable(text, sizeof text, file, strlen(file)), inner.message);
    }
    return status;
}

static uint64_t bytes_of(const tly_import *import) {
    uint64_t len = 0;
    for (uint64_t t = 0; t < tly_import_num_tensors(import); t++) {
        tly_import_tensor info;
        tly_import_info(import, t, &info);
        len += info.byte_len;
    }
    return len;
}

static tly_status open_files(import_job *job, tly_error *error) {
    tly_cli *cli = job->cli;
    tly_import_options options = {0};
    const char *format = tly_cli_value(cli, TLY_CLI_IMPORT_FORMAT, "auto");
    const char *output = tly_cli_value(cli, TLY_CLI_IMPORT_OUTPUT, "");
    options.size = sizeof options;
    options.unsupported =
        tly_cli_given(cli, TLY_CLI_IMPORT_SKIP_UNSUPPORTED) ? TLY_IMPORT_SKIP : TLY_IMPORT_REFUSE;
    options.follow_links = tly_cli_given(cli, TLY_CLI_IMPORT_FOLLOW_LINKS);
    for (int32_t f = TLY_IMPORT_ONNX; tly_import_format_name(f)[0] != '?'; f++) {
        if (strcmp(format, tly_import_format_name(f)) == 0) {
            options.format = f;
        }
    }
    for (uint32_t i = 0; i < cli->num_args; i++) {
        tly_status status;
        status = tly_import_open(job->context, cli->args[i], &options, &job->imports[i], error);
        if (status != TLY_OK) {
            return in_file(cli->args[i], status, error);
        }
        job->num_tensors += tly_import_num_tensors(job->imports[i]);
        job->total_len += bytes_of(job->imports[i]);
    }
    for (uint32_t i = 0; i < cli->num_args; i++) {
        tly_import_tensor info;
        int clash = tly_output_same_file(output, cli->args[i]);
        for (uint64_t t = 0; t < tly_import_num_tensors(job->imports[i]) && !clash; t++) {
            tly_import_info(job->imports[i], t, &info);
            clash = tly_output_same_file(output, info.file);
        }
        if (clash) {
            return tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "output-is-input",
                                 "the output is one of the files to be read; give -o another name");
        }
    }
    return TLY_OK;
}

typedef struct remark {
    tly_kv kv;
    uint64_t number; /* when it came */
} remark;

static int by_key(const void *a, const void *b) {
    const remark *x = a, *y = b;
    int order = strcmp(x->kv.key, y->kv.key);
    return order != 0 ? order : (x->number > y->number) - (x->number < y->number);
}

static size_t read_metadata(const import_job *job, remark *out) {
    size_t num = 0;
    for (uint32_t i = 0; i < job->cli->num_args; i++) {
        for (uint64_t m = 0; m < tly_import_num_metadata(job->imports[i]); m++) {
            tly_import_metadata(job->imports[i], m, &out[num].kv);
            out[num].number = num;
            num++;
        }
    }
    return num;
}

/* What stands beside the tensors is kept, in the order of its keys; where files disagree the first
 * one counts. Sorted, because a file may bring a million of them. */
static tly_status gather_metadata(import_job *job, tly_error *error) {
    size_t capacity = 1, num;
    remark *all;
    for (uint32_t i = 0; i < job->cli->num_args; i++) {
        capacity += (size_t)tly_import_num_metadata(job->imports[i]);
    }
    all = calloc(capacity, sizeof *all);
    job->kv = calloc(capacity, sizeof *job->kv);
    if (all == NULL || job->kv == NULL) {
        free(all);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for metadata");
    }
    num = read_metadata(job, all);
    qsort(all, num, sizeof *all, by_key);
    for (size_t i = 0; i < num; i++) {
        if (i == 0 || strcmp(all[i].kv.key, all[i - 1].kv.key) != 0) {
            job->kv[job->num_kv++] = all[i].kv;
        }
    }
    free(all);
    return TLY_OK;
}

static tly_status show_progress(void *user, uint64_t done_len, uint64_t total_len) {
    import_job *job = user;
    (void)total_len; /* of this file */
    tly_progress_update(&job->progress, job->done_len + done_len);
    return TLY_OK;
}

static tly_status copy_file(import_job *job, uint32_t index, tly_error *error) {
    const tly_import *import = job->imports[index];
    tly_import_save_options options = {
        .size = sizeof options, .progress = show_progress, .progress_user = job};
    tly_status status = tly_import_append(import, job->writer, &options, error);
    job->done_len += bytes_of(import);
    if (status == TLY_EXISTS) {
        tly_error inner = *error;
        char text[128];
        const char *file = job->cli->args[index];
        return tly_base_fail(error, status, TLY_NO_OFFSET, inner.rule,
                             "%s: %s; import the files into two containers",
                             tly_base_printable(text, sizeof text, file, strlen(file)),
                             inner.message);
    }
    return status == TLY_OK || status == TLY_IO ? status
                                                : in_file(job->cli->args[index], status, error);
}

static tly_status write_container(import_job *job, tly_error *error) {
    tly_store_writer_options options = {0};
    const char *output = tly_cli_value(job->cli, TLY_CLI_IMPORT_OUTPUT, "");
    tly_status status;
    options.size = sizeof options;
    options.kv = job->kv;
    options.num_kv = job->num_kv;
    status = tly_store_writer_new(job->context, output, &options, &job->writer, error);
    tly_progress_init(&job->progress, "import", job->total_len);
    for (uint32_t i = 0; i < job->cli->num_args && status == TLY_OK; i++) {
        status = copy_file(job, i, error);
    }
    tly_progress_finish(&job->progress);
    if (status == TLY_OK) {
        status = tly_store_writer_commit(job->writer, error);
    }
    tly_store_writer_free(job->writer);
    return status;
}

static void report_json(const import_job *job, double seconds) {
    tly_json json;
    tly_json_init(&json, job->cli->out);
    tly_json_object(&json, NULL);
    tly_json_string(&json, "output", tly_cli_value(job->cli, TLY_CLI_IMPORT_OUTPUT, ""));
    tly_json_u64(&json, "tensors", job->num_tensors);
    tly_json_u64(&json, "bytes", job->total_len);
    tly_json_number(&json, "seconds", seconds);
    tly_json_array(&json, "files");
    for (uint32_t i = 0; i < job->cli->num_args; i++) {
        const tly_import *import = job->imports[i];
        tly_json_object(&json, NULL);
        tly_json_string(&json, "file", job->cli->args[i]);
        tly_json_string(&json, "format", tly_import_format_name(tly_import_format_of(import)));
        tly_json_u64(&json, "tensors", tly_import_num_tensors(import));
        tly_json_u64(&json, "bytes", bytes_of(import));
        tly_json_array(&json, "skipped");
        for (uint64_t s = 0; s < tly_import_num_skipped(import); s++) {
            tly_import_skip skip;
            tly_import_skipped(import, s, &skip);
            tly_json_object(&json, NULL);
            tly_json_string(&json, "name", skip.name);
            tly_json_string(&json, "reason", skip.reason);
            tly_json_end_object(&json);
        }
        tly_json_end_array(&json);
        tly_json_end_object(&json);
    }
    tly_json_end_array(&json);
    tly_json_end_object(&json);
    tly_json_finish(&json);
}

static void report_text(const import_job *job) {
    char bytes[32];
    for (uint32_t i = 0; i < job->cli->num_args; i++) {
        const tly_import *import = job->imports[i];
        for (uint64_t s = 0; s < tly_import_num_skipped(import); s++) {
            tly_import_skip skip;
            tly_import_skipped(import, s, &skip);
            fprintf(stderr, "tilery: import: %s: left out %s: %s\n", job->cli->args[i], skip.name,
                    skip.reason);
        }
    }
    fprintf(job->cli->out, "%s: %llu tensor%s, %s, from %u file%s\n",
            tly_cli_value(job->cli, TLY_CLI_IMPORT_OUTPUT, ""),
            (unsigned long long)job->num_tensors, tly_text_s(job->num_tensors),
            tly_text_bytes(bytes, sizeof bytes, job->total_len), job->cli->num_args,
            tly_text_s(job->cli->num_args));
}

tly_status tly_cli_run_import(tly_cli *cli, tly_error *error) {
    double started = tly_bench_now();
    import_job job = {0};
    tly_status status;
    job.cli = cli;
    if (!tly_cli_given(cli, TLY_CLI_IMPORT_OUTPUT)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-output",
                             "-o OUT says where the container goes, and is missing");
    }
    status = tly_cli_context(cli, &job.context, error);
    if (status != TLY_OK) {
        return status;
    }
    job.imports = calloc(cli->num_args, sizeof *job.imports);
    if (job.imports == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for files");
    }
    status = open_files(&job, error);
    if (status == TLY_OK) {
        status = gather_metadata(&job, error);
    }
    if (status == TLY_OK) {
        status = write_container(&job, error);
    }
    if (status == TLY_OK && tly_cli_given(cli, TLY_CLI_IMPORT_JSON)) {
        report_json(&job, tly_bench_now() - started);
    } else if (status == TLY_OK) {
        report_text(&job);
    }
    for (uint32_t i = 0; i < cli->num_args; i++) {
        tly_import_free(job.imports[i]);
    }
    free(job.imports);
    free(job.kv);
    return status;
}
