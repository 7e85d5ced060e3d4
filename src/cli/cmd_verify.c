/* SPDX-License-Identifier: Apache-2.0 */
/* tilery verify: does a file keep every rule of its format, its contents too? */
#include <inttypes.h>
#include <string.h>

#include <tilery/transcode.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/handlers.h"
#include "cli/json.h"
#include "cli/whole.h"
#include "cli/options_table.h"
#include "cli/source.h"
#include "cli/text.h"
#include "cli/url.h"

/* What was found in a file. */
typedef struct finding {
    const char *format;
    uint64_t tensors; /* members of composites too */
    uint64_t bytes;
    uint64_t opaque;  /* tensors whose contents only their owner can judge */
    uint64_t skipped; /* what the importer cannot carry, and so cannot judge */
} finding;

/* Are there no rules about the elements? Then their bytes only have to be there, and a large
 * tensor, or a small file that unpacks to one, takes no memory. */
static int is_plain(const tly_descriptor *d) {
    return (d->layout == TLY_LAYOUT_ROW_MAJOR || d->layout == TLY_LAYOUT_COL_MAJOR) &&
           d->quantization == NULL && d->extension_type == NULL && d->dtype != TLY_F8E8M0 &&
           tly_dtype_bits(d->dtype) >= 8;
}

static tly_status take_nothing(void *user, const void *bytes, size_t len, tly_error *error) {
    (void)user, (void)bytes, (void)len, (void)error;
    return TLY_OK;
}

/* The rules of the contents of one tensor, with the members that follow it. What has a private
 * layout or type is as good as its owner says. */
static tly_status check_tensor(const tly_context *context, tly_source *source,
                               const tly_source_item *item, finding *f, tly_error *error) {
    tly_whole whole;
    tly_status status;
    if (is_plain(item->descriptor)) {
        f->tensors++;
        f->bytes += item->data_len;
        return tly_source_data(source, take_nothing, NULL, error);
    }
    status = tly_whole_init_item(&whole, context, source, item, error);
    if (status != TLY_OK) {
        return status;
    }
    f->tensors += whole.num_tensors;
    f->bytes += whole.data_len;
    status = tly_tensor_check_data(context, &whole.tensor, error);
    if (status == TLY_UNSUPPORTED) {
        f->opaque++;
        status = TLY_OK;
    } else if (status != TLY_OK) {
        tly_error inner = *error;
        char name[120];
        (void)tly_base_fail(error, inner.status, inner.offset, inner.rule, "tensor \"%s\": %s",
                            tly_base_printable(name, sizeof name, whole.name, whole.name_len),
                            inner.message);
    }
    tly_whole_cleanup(&whole);
    return status;
}

static tly_status check_contents(const tly_context *context, tly_source *source, finding *f,
                                 tly_error *error) {
    for (;;) {
        tly_source_item item;
        int more = 0;
        tly_status status = tly_source_next(source, &item, &more, error);
        if (status != TLY_OK || !more) {
            return status;
        }
        status = check_tensor(context, source, &item, f, error);
        if (status != TLY_OK) {
            return status;
        }
    }
}

static tly_status check_file(const tly_context *context, const char *path, finding *f,
                             tly_error *error) {
    tly_source *source;
    tly_status status = tly_source_open(context, path, 1, &source, error);
    if (status != TLY_OK) {
        return status;
    }
    f->format = tly_source_format(source);
    if (tly_source_store(source) != NULL) {
        status = tly_store_verify(tly_source_store(source), error);
    }
    if (tly_source_import(source) != NULL) {
        f->skipped = tly_import_num_skipped(tly_source_import(source));
    }
    status = status == TLY_OK ? check_contents(context, source, f, error) : status;
    tly_source_free(source);
    return status;
}

/* The file was read and is wrong; anything else is no verdict. */
static int is_refusal(tly_status status) {
    return status == TLY_MALFORMED || status == TLY_TRUNCATED || status == TLY_UNSUPPORTED ||
           status == TLY_LIMIT || status == TLY_OVERFLOW;
}

static void report_text(const tly_cli *cli, const char *path, const finding *f, int valid) {
    char bytes[32];
    if (!valid) {
        return; /* the error says it all */
    }
    fprintf(cli->out, "%s: valid (%s), %" PRIu64 " tensor%s, %s", path, f->format, f->tensors,
            tly_text_s(f->tensors), tly_text_bytes(bytes, sizeof bytes, f->bytes));
    if (f->opaque != 0) {
        fprintf(cli->out, "; the contents of %" PRIu64 " are private", f->opaque);
    }
    if (f->skipped != 0) {
        fprintf(cli->out, "; %" PRIu64 " cannot be carried and %s not looked at", f->skipped,
                f->skipped == 1 ? "was" : "were");
    }
    fputc('\n', cli->out);
}

static void report_json(tly_json *json, const char *path, const finding *f, tly_status status,
                        const tly_error *error) {
    tly_json_object(json, NULL);
    tly_json_string(json, "file", path);
    tly_json_bool(json, "valid", status == TLY_OK);
    if (status == TLY_OK) {
        tly_json_string(json, "format", f->format);
        tly_json_u64(json, "tensors", f->tensors);
        tly_json_u64(json, "bytes", f->bytes);
        tly_json_u64(json, "private", f->opaque);
        tly_json_u64(json, "not_carried", f->skipped);
    } else {
        tly_json_string(json, "rule", error->rule);
        tly_json_string(json, "message", error->message);
        if (error->offset != TLY_NO_OFFSET) {
            tly_json_u64(json, "offset", error->offset);
        }
    }
    tly_json_end_object(json);
}

tly_status tly_cli_run_verify(tly_cli *cli, tly_error *error) {
    const int as_json = tly_cli_given(cli, TLY_CLI_VERIFY_JSON);
    const tly_context *context;
    tly_json json;
    uint32_t refused = 0;
    char room[TLY_CLI_SHOWN_LEN];
    tly_error first = {0};
    tly_status status = tly_cli_context(cli, &context, error);
    tly_json_init(&json, cli->out);
    if (as_json && status == TLY_OK) {
        tly_json_array(&json, NULL);
    }
    for (uint32_t i = 0; i < cli->num_args && status == TLY_OK; i++) {
        finding f = {0};
        const char *shown = tly_cli_shown(cli->args[i], room);
        tly_status verdict = check_file(context, cli->args[i], &f, error);
        if (verdict != TLY_OK && !is_refusal(verdict)) {
            return verdict;
        }
        if (as_json) {
            report_json(&json, shown, &f, verdict, error);
        } else {
            report_text(cli, shown, &f, verdict == TLY_OK);
            if (verdict != TLY_OK && cli->num_args > 1) {
                fprintf(stderr, "tilery: verify: %s: %s [%s]\n", shown, error->message,
                        error->rule);
            }
        }
        if (verdict != TLY_OK && refused++ == 0) {
            first = *error;
        }
    }
    if (as_json && status == TLY_OK) {
        tly_json_end_array(&json);
        tly_json_finish(&json);
    }
    if (status == TLY_OK && refused != 0) {
        if (cli->num_args > 1) {
            return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "verify",
                                 "%u of %u files are refused", refused, cli->num_args);
        }
        return tly_base_fail(error, TLY_MISMATCH, first.offset, first.rule, "%s: %s",
                             tly_cli_shown(cli->args[0], room), first.message);
    }
    return status;
}
