/* SPDX-License-Identifier: Apache-2.0 */
/* tilery ls: what is in a container, or in a file that could be imported. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilery/import.h>
#include <tilery/store.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/describe.h"
#include "cli/handlers.h"
#include "cli/options_table.h"
#include "cli/text.h"
#include "cli/url.h"

#define CONTAINER_MAGIC "HRRYFILE"

/* Rows go out as they are read: a container may have millions of tensors. */
typedef struct listing {
    tly_cli *cli;
    tly_json json;
    int as_json;
    uint64_t num;
    uint64_t len; /* bytes */
} listing;

static void begin(listing *list, const char *file, const char *format) {
    if (list->as_json) {
        tly_json_init(&list->json, list->cli->out);
        tly_json_object(&list->json, NULL);
        tly_json_string(&list->json, "file", file);
        tly_json_string(&list->json, "format", format);
        tly_json_array(&list->json, "tensors");
    }
}

static void row(listing *list, const char *name, size_t name_len, const tly_descriptor *descriptor,
                uint64_t len) {
    list->num++;
    list->len += len;
    if (list->as_json) {
        tly_json_object(&list->json, NULL);
        tly_json_string_len(&list->json, "name", name, name_len);
        tly_describe_json(&list->json, descriptor);
        tly_json_u64(&list->json, "bytes", len);
        tly_json_end_object(&list->json);
    } else {
        char dtype[16], shape[128], layout[320], bytes[32], text[1024];
        fprintf(list->cli->out, "%-6s %-18s %9s  %-12s  %s\n",
                tly_describe_dtype(dtype, sizeof dtype, descriptor->dtype),
                tly_describe_shape(shape, sizeof shape, descriptor->shape, descriptor->rank),
                tly_text_bytes(bytes, sizeof bytes, len),
                tly_describe_layout(layout, sizeof layout, descriptor),
                tly_text_safe(text, sizeof text, name, name_len));
    }
}

static void end(listing *list) {
    if (list->as_json) {
        tly_json_end_array(&list->json);
        tly_json_u64(&list->json, "num", list->num);
        tly_json_u64(&list->json, "bytes", list->len);
        tly_json_end_object(&list->json);
        tly_json_finish(&list->json);
    } else {
        char bytes[32];
        fprintf(list->cli->out, "%llu tensor%s, %s\n", (unsigned long long)list->num,
                tly_text_s(list->num), tly_text_bytes(bytes, sizeof bytes, list->len));
    }
}

/* Memory for one descriptor at a time, grown to what the index announces, which the size of the
 * file bounds. */
typedef struct work_memory {
    uint8_t *bytes;
    size_t len;
} work_memory;

static tly_status make_room(work_memory *work, uint32_t descriptor_len, tly_error *error) {
    size_t need = 2 * (size_t)descriptor_len + 64;
    if (need > work->len) {
        free(work->bytes);
        work->bytes = malloc(need);
        work->len = work->bytes != NULL ? need : 0;
    }
    return work->bytes != NULL ? TLY_OK
                               : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                               "no memory for a descriptor");
}

/* Reads every descriptor; prints each if `list` is given. */
static tly_status walk(const tly_store *store, listing *list, tly_error *error) {
    work_memory work = {NULL, 0};
    tly_status status = TLY_OK;
    for (uint64_t i = 0; i < tly_store_num_tensors(store) && status == TLY_OK; i++) {
        tly_store_entry entry;
        tly_descriptor descriptor;
        tly_store_entry_at(store, i, &entry);
        status = make_room(&work, entry.descriptor_len, error);
        if (status == TLY_OK) {
            status = tly_store_descriptor(store, i, work.bytes, work.len, &descriptor, error);
        }
        if (status == TLY_OK && list != NULL) {
            row(list, entry.name, entry.name_len, &descriptor, entry.data_len);
        }
    }
    free(work.bytes);
    return status;
}

/* Everything is read once before anything is printed: half a list would be no list. */
static tly_status list_container(listing *list, const tly_context *context, const char *path,
                                 tly_error *error) {
    char shown[TLY_CLI_SHOWN_LEN];
    tly_http *http = NULL;
    tly_store *store = NULL;
    tly_status status;
    if (tly_http_is_url(path)) {
        status = tly_cli_http_new(context, 0, &http, error);
        status = status == TLY_OK ? tly_http_open(http, path, NULL, &store, error) : status;
    } else {
        status = tly_store_open(context, path, NULL, &store, error);
    }
    if (status != TLY_OK) {
        tly_http_free(http);
        return status;
    }
    status = tly_cli_given(list->cli, TLY_CLI_LS_VERIFY) ? tly_store_verify(store, error)
                                                         : walk(store, NULL, error);
    if (status == TLY_OK) {
        begin(list, tly_cli_shown(path, shown), "hurray");
        status = walk(store, list, error);
        end(list);
    }
    tly_store_free(store);
    tly_http_free(http);
    return status;
}

static tly_status list_import(listing *list, const tly_context *context, const char *path,
                              tly_error *error) {
    tly_import_options options = {0};
    tly_import *import;
    tly_status status;
    options.size = sizeof options;
    options.unsupported = TLY_IMPORT_SKIP;
    status = tly_import_open(context, path, &options, &import, error);
    if (status != TLY_OK) {
        return status;
    }
    begin(list, path, tly_import_format_name(tly_import_format_of(import)));
    for (uint64_t i = 0; i < tly_import_num_tensors(import); i++) {
        tly_import_tensor info;
        tly_buffer_info buffer;
        tly_descriptor descriptor;
        tly_import_info(import, i, &info);
        tly_import_descriptor(import, i, &descriptor, &buffer);
        row(list, info.name, info.name_len, &descriptor, info.byte_len);
    }
    end(list);
    for (uint64_t s = 0; s < tly_import_num_skipped(import); s++) {
        tly_import_skip skip;
        tly_import_skipped(import, s, &skip);
        fprintf(stderr, "tilery: ls: cannot carry %s: %s\n", skip.name, skip.reason);
    }
    tly_import_free(import);
    return TLY_OK;
}

/* Does the file begin like a container? A file that cannot be read is left to whoever opens it. */
static int is_container(const char *path) {
    char head[sizeof CONTAINER_MAGIC - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int same = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head &&
               memcmp(head, CONTAINER_MAGIC, sizeof head) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return same;
}

tly_status tly_cli_run_ls(tly_cli *cli, tly_error *error) {
    listing list = {0};
    const tly_context *context;
    tly_status status = tly_cli_context(cli, &context, error);
    if (status != TLY_OK) {
        return status;
    }
    list.cli = cli;
    list.as_json = tly_cli_given(cli, TLY_CLI_LS_JSON);
    if (tly_http_is_url(cli->args[0]) || is_container(cli->args[0])) {
        return list_container(&list, context, cli->args[0], error);
    }
    return list_import(&list, context, cli->args[0], error);
}
