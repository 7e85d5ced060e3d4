/* SPDX-License-Identifier: Apache-2.0 */
/* tilery convert: tensors of any file into a container, a stream, safetensors or npy, in another
 * layout or type if that is wanted. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/save.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/convert.h"
#include "cli/handlers.h"
#include "cli/json.h"
#include "cli/options_table.h"
#include "cli/output.h"
#include "cli/source.h"
#include "cli/text.h"
#include "cli/whole.h"

typedef enum target { TO_CONTAINER, TO_STREAM, TO_SAFETENSORS, TO_NPY } target;

static const char *const targets[] = {"hurray", "hurray-stream", "safetensors", "npy"};

typedef struct job {
    tly_cli *cli;
    const tly_context *context;
    tly_convert_wish wish;
    target to;
    const char *output;
    tly_source *source;
    const tly_kv *kv;
    size_t num_kv;
    uint64_t num_tensors; /* written, members too */
    uint64_t data_len;
    uint64_t left_out; /* entries of the metadata */
} job;

static int ends_with(const char *text, const char *end) {
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* By --to, or by the name of the output. */
static tly_status find_target(job *j, tly_error *error) {
    const char *to = tly_cli_value(j->cli, TLY_CLI_CONVERT_TO, NULL);
    for (size_t i = 0; i < sizeof targets / sizeof targets[0] && to != NULL; i++) {
        if (strcmp(to, targets[i]) == 0) {
            j->to = (target)i;
            return TLY_OK;
        }
    }
    j->to = ends_with(j->output, ".safetensors")                            ? TO_SAFETENSORS
            : ends_with(j->output, ".npy")                                  ? TO_NPY
            : ends_with(j->output, ".hrrys") || strcmp(j->output, "-") == 0 ? TO_STREAM
                                                                            : TO_CONTAINER;
    if (j->to == TO_CONTAINER && !ends_with(j->output, ".hrry")) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-output",
                             "the ending of %s does not say what it shall be: .hrry, .hrrys, "
                             ".safetensors or .npy; --to does",
                             j->output);
    }
    return TLY_OK;
}

/* An error about one tensor names it. */
static tly_status about(const char *name, size_t len, tly_status status, tly_error *error) {
    char shown[120];
    tly_error inner = *error;
    if (status == TLY_OK || strstr(inner.message, "tensor \"") == inner.message) {
        return status;
    }
    return tly_base_fail(error, inner.status, inner.offset, inner.rule, "tensor \"%s\": %s",
                         tly_base_printable(shown, sizeof shown, name, len), inner.message);
}

/* Was this tensor asked for? */
static int is_wanted(const job *j, const char *name) {
    int any = 0;
    for (uint32_t i = 0; i < j->cli->num_repeats; i++) {
        if (j->cli->repeats[i].option == TLY_CLI_CONVERT_TENSOR) {
            any = 1;
            if (strcmp(j->cli->repeats[i].value, name) == 0) {
                return 1;
            }
        }
    }
    return !any;
}

/* ---- Containers and streams ---- */

typedef struct sink {
    tly_store_writer *container;
    tly_stream_writer *stream;
    tly_output output; /* of the stream */
    int has_output;
} sink;

static tly_status put_stream(void *user, const void *bytes, size_t len, tly_error *error) {
    return tly_output_write(user, bytes, len, error);
}

static tly_status open_sink(job *j, sink *s, tly_error *error) {
    tly_status status;
    memset(s, 0, sizeof *s);
    if (j->to == TO_CONTAINER) {
        tly_store_writer_options options = {
            .size = sizeof options, .kv = j->kv, .num_kv = j->num_kv};
        return tly_store_writer_new(j->context, j->output, &options, &s->container, error);
    }
    j->left_out = j->num_kv;
    status = tly_output_init(&s->output, j->context, j->output, error);
    s->has_output = status == TLY_OK;
    return status == TLY_OK
               ? tly_stream_writer_new(j->context, put_stream, &s->output, NULL, &s->stream, error)
               : status;
}

static tly_status begin(sink *s, const char *name, size_t len, const tly_descriptor *d,
                        tly_error *error) {
    return s->container != NULL ? tly_store_writer_begin(s->container, name, len, d, error)
                                : tly_stream_writer_begin(s->stream, d, error);
}

static tly_status append(void *user, const void *bytes, size_t len, tly_error *error) {
    sink *s = user;
    return s->container != NULL ? tly_store_writer_append(s->container, bytes, len, error)
                                : tly_stream_writer_append(s->stream, bytes, len, error);
}

static tly_status end_tensor(sink *s, tly_error *error) {
    return s->container != NULL ? tly_store_writer_end(s->container, error) : TLY_OK;
}

static tly_status close_sink(sink *s, tly_status status, tly_error *error) {
    if (status == TLY_OK && s->container != NULL) {
        status = tly_store_writer_commit(s->container, error);
    } else if (status == TLY_OK) {
        status = tly_stream_writer_end(s->stream, error);
        status = status == TLY_OK ? tly_output_commit(&s->output, error) : status;
    }
    tly_store_writer_free(s->container);
    tly_stream_writer_free(s->stream);
    if (s->has_output) {
        tly_output_cleanup(&s->output);
    }
    return status;
}

/* Everything as it is, piece by piece: memory does not depend on the tensors. Members follow their
 * head, wanted or not like it. */
static tly_status copy_all(job *j, sink *s, tly_error *error) {
    uint64_t members = 0; /* that are still to come */
    int wanted = 1;
    for (;;) {
        tly_source_item item;
        int more = 0;
        tly_status status = tly_source_next(j->source, &item, &more, error);
        if (status != TLY_OK || !more) {
            return status;
        }
        if (members == 0) {
            wanted = is_wanted(j, item.name);
        } else {
            members--;
        }
        if (item.descriptor->layout == TLY_LAYOUT_COMPOSITE) {
            members += item.descriptor->composite.member_count;
        }
        if (!wanted) {
            continue;
        }
        status = begin(s, item.name, item.name_len, item.descriptor, error);
        status = status == TLY_OK ? tly_source_data(j->source, append, s, error) : status;
        status = status == TLY_OK ? end_tensor(s, error) : status;
        if (status != TLY_OK) {
            return about(item.name, item.name_len, status, error);
        }
        j->num_tensors++;
        j->data_len += item.data_len;
    }
}

static tly_status put_whole(job *j, sink *s, const tly_whole *w, tly_error *error) {
    const tly_descriptor *d = w->tensor.descriptor;
    tly_status status = begin(s, w->name, w->name_len, d, error);
    for (uint32_t i = 0; i < d->num_buffers && status == TLY_OK; i++) {
        status = append(s, w->tensor.buffers[i], (size_t)d->buffers[i].byte_size, error);
        j->data_len += d->buffers[i].byte_size;
    }
    j->num_tensors++;
    return status == TLY_OK ? end_tensor(s, error) : status;
}

static tly_status change_all(job *j, sink *s, tly_error *error) {
    for (;;) {
        tly_whole w;
        int more = 0;
        tly_status status = tly_whole_init(&w, j->context, j->source, &more, error);
        if (status != TLY_OK || !more) {
            return status;
        }
        if (is_wanted(j, w.name)) {
            status = tly_convert_whole(j->context, &j->wish, &w, error);
            status = status == TLY_OK ? put_whole(j, s, &w, error) : status;
            status = about(w.name, w.name_len, status, error);
        }
        tly_whole_cleanup(&w);
        if (status != TLY_OK) {
            return status;
        }
    }
}

static tly_status write_hurray(job *j, tly_error *error) {
    sink s;
    tly_status status = open_sink(j, &s, error);
    if (status == TLY_OK) {
        status = tly_convert_changes(&j->wish) ? change_all(j, &s, error) : copy_all(j, &s, error);
    }
    return close_sink(&s, status, error);
}

/* ---- Other people's files ---- */

/* The tensors that are written, changed and in memory: what such a file says about them stands in
 * front of all data. */
typedef struct kept {
    tly_whole *all;
    size_t num, room;
    uint64_t *lens; /* bytes, to be summed up */
} kept;

static tly_status keep_next(job *j, kept *k, int *out_more, tly_error *error) {
    tly_whole *w;
    tly_status status;
    if (k->num == k->room) {
        size_t room = k->room == 0 ? 16 : 2 * k->room;
        tly_whole *grown = realloc(k->all, room * sizeof *grown);
        if (grown == NULL) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
        }
        k->all = grown;
        k->room = room;
    }
    w = &k->all[k->num];
    status = tly_whole_init(w, j->context, j->source, out_more, error);
    if (status != TLY_OK || !*out_more) {
        return status;
    }
    if (!is_wanted(j, w->name)) {
        tly_whole_cleanup(w);
        return TLY_OK;
    }
    k->num++;
    status = tly_convert_whole(j->context, &j->wish, w, error);
    if (status == TLY_OK && w->tensor.descriptor->quantization != NULL) {
        status = tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "quantized",
                               "its elements are codes of a quantization, which %s cannot say; "
                               "--dequantize writes their values",
                               targets[j->to]);
    }
    j->num_tensors++;
    j->data_len +=
        w->tensor.descriptor->num_buffers != 0 ? w->tensor.descriptor->buffers[0].byte_size : 0;
    return about(w->name, w->name_len, status, error);
}

static tly_status give_kept(void *user, uint64_t index, tly_save_sink save_sink, void *sink_user,
                            tly_error *error) {
    const kept *k = user;
    const tly_tensor *t = &k->all[index].tensor;
    return save_sink(sink_user, t->buffers[0], (size_t)t->descriptor->buffers[0].byte_size, error);
}

static tly_status save_kept(job *j, kept *k, tly_error *error) {
    tly_save_tensor *list = calloc(k->num + 1, sizeof *list);
    tly_status status;
    if (list == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    for (size_t i = 0; i < k->num; i++) {
        const tly_descriptor *d = k->all[i].tensor.descriptor;
        list[i] = (tly_save_tensor){.name = k->all[i].name,
                                    .name_len = k->all[i].name_len,
                                    .shape = d->shape,
                                    .rank = d->rank,
                                    .dtype = d->dtype,
                                    .layout = d->layout};
    }
    if (j->to == TO_NPY) {
        j->left_out = j->num_kv;
        status = k->num == 1
                     ? tly_save_npy(j->context, j->output, &list[0], give_kept, k, error)
                     : tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "one-tensor",
                                     "npy holds one tensor, and these are %zu; --tensor "
                                     "picks one",
                                     k->num);
    } else {
        status = tly_save_safetensors(j->context, j->output, list, k->num, j->kv, j->num_kv,
                                      give_kept, k, &j->left_out, error);
    }
    free(list);
    return status;
}

static tly_status write_others(job *j, tly_error *error) {
    kept k = {0};
    int more = 1;
    tly_status status = TLY_OK;
    j->wish.plain = j->to == TO_NPY ? TLY_CONVERT_EITHER_ORDER : TLY_CONVERT_ROW_MAJOR;
    while (status == TLY_OK && more) {
        status = keep_next(j, &k, &more, error);
    }
    status = status == TLY_OK ? save_kept(j, &k, error) : status;
    for (size_t i = 0; i < k.num; i++) {
        tly_whole_cleanup(&k.all[i]);
    }
    free(k.all);
    return status;
}

/* ---- The command ---- */

static tly_status take_wish(job *j, tly_error *error) {
    const char *layout = tly_cli_value(j->cli, TLY_CLI_CONVERT_LAYOUT, NULL);
    const char *dtype = tly_cli_value(j->cli, TLY_CLI_CONVERT_DTYPE, NULL);
    const char *round = tly_cli_value(j->cli, TLY_CLI_CONVERT_ROUND, "nearest");
    j->wish.dequantize = tly_cli_given(j->cli, TLY_CLI_CONVERT_DEQUANTIZE);
    j->wish.saturate = tly_cli_given(j->cli, TLY_CLI_CONVERT_SATURATE);
    j->wish.rounding = strcmp(round, "zero") == 0   ? TLY_ROUND_TO_ZERO
                       : strcmp(round, "down") == 0 ? TLY_ROUND_DOWN
                       : strcmp(round, "up") == 0   ? TLY_ROUND_UP
                                                    : TLY_ROUND_NEAREST_EVEN;
    if (dtype != NULL) {
        j->wish.dtype = tly_dtype_by_name(dtype);
        if (j->wish.dtype == 0) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-value",
                                 "\"%s\" is no element type (f32, bf16, f8e4m3, i4, ...)", dtype);
        }
    }
    return layout != NULL ? tly_convert_layout_parse(layout, &j->wish.layout, error) : TLY_OK;
}

static void report(const job *j) {
    if (tly_cli_given(j->cli, TLY_CLI_CONVERT_JSON)) {
        tly_json json;
        tly_json_init(&json, j->cli->out);
        tly_json_object(&json, NULL);
        tly_json_string(&json, "output", j->output);
        tly_json_string(&json, "format", targets[j->to]);
        tly_json_u64(&json, "tensors", j->num_tensors);
        tly_json_u64(&json, "bytes", j->data_len);
        tly_json_u64(&json, "metadata_left_out", j->left_out);
        tly_json_end_object(&json);
        tly_json_finish(&json);
    } else if (strcmp(j->output, "-") != 0) {
        char bytes[32];
        fprintf(j->cli->out, "%s: %" PRIu64 " tensor%s, %s\n", j->output, j->num_tensors,
                tly_text_s(j->num_tensors), tly_text_bytes(bytes, sizeof bytes, j->data_len));
    }
    if (j->left_out != 0) {
        fprintf(stderr,
                "tilery: convert: %" PRIu64 " entr%s of the metadata %s left out: %s has "
                "no place for %s\n",
                j->left_out, j->left_out == 1 ? "y" : "ies", j->left_out == 1 ? "is" : "are",
                targets[j->to], j->left_out == 1 ? "it" : "them");
    }
}

/* What the source cannot carry is said, not swallowed. */
static void report_skipped(const job *j) {
    const tly_import *import = tly_source_import(j->source);
    for (uint64_t i = 0; import != NULL && i < tly_import_num_skipped(import); i++) {
        tly_import_skip skip;
        tly_import_skipped(import, i, &skip);
        fprintf(stderr, "tilery: convert: left out %s: %s\n", skip.name, skip.reason);
    }
}

tly_status tly_cli_run_convert(tly_cli *cli, tly_error *error) {
    job j = {.cli = cli, .output = tly_cli_value(cli, TLY_CLI_CONVERT_OUTPUT, NULL)};
    tly_status status;
    if (j.output == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-output",
                             "-o OUT says where the tensors go, and is missing");
    }
    if (strcmp(j.output, "-") == 0 && tly_cli_given(cli, TLY_CLI_CONVERT_JSON)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-output",
                             "standard output takes the stream or the report, not both");
    }
    status = find_target(&j, error);
    status = status == TLY_OK ? take_wish(&j, error) : status;
    status = status == TLY_OK ? tly_cli_context(cli, &j.context, error) : status;
    if (status == TLY_OK && tly_output_same_file(cli->args[0], j.output)) {
        status = tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "output-is-input",
                               "the output is the file to be read; give -o another name");
    }
    if (status == TLY_OK) {
        status =
            tly_source_open(j.context, cli->args[0],
                            tly_cli_given(cli, TLY_CLI_CONVERT_SKIP_UNSUPPORTED), &j.source, error);
    }
    status = status == TLY_OK ? tly_source_metadata(j.source, &j.kv, &j.num_kv, error) : status;
    if (status == TLY_OK) {
        status = j.to == TO_CONTAINER || j.to == TO_STREAM ? write_hurray(&j, error)
                                                           : write_others(&j, error);
    }
    if (status == TLY_OK) {
        report(&j);
        report_skipped(&j);
    }
    tly_source_free(j.source);
    return status;
}
