/* SPDX-License-Identifier: Apache-2.0 */
/* tilery inspect: everything that a file says about its tensors. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/describe.h"
#include "cli/details.h"
#include "cli/fields.h"
#include "cli/handlers.h"
#include "cli/options_table.h"
#include "cli/source.h"
#include "cli/text.h"
#include "cli/url.h"
#include "store/store.h"

#define PER_LINE 8 /* bytes of a dump */

typedef struct inspection {
    FILE *out;
    tly_json json;
    int as_json;
    int hex;
    uint64_t fault;       /* byte of the descriptor that an error names; UINT64_MAX: none */
    const uint8_t *bytes; /* of the descriptor that is dumped */
    uint64_t base;        /* where they begin in the file */
} inspection;

static void metadata_value(const tly_kv *kv, char *out, size_t capacity) {
    char shown[200];
    double number;
    switch (kv->type) {
    case TLY_KV_STRING:
        snprintf(out, capacity, "\"%s\"%s",
                 tly_text_safe(shown, sizeof shown, kv->data, (size_t)kv->data_len),
                 kv->data_len >= sizeof shown ? "..." : "");
        break;
    case TLY_KV_I64:
        snprintf(out, capacity, "%" PRId64, (int64_t)kv->number);
        break;
    case TLY_KV_U64:
        snprintf(out, capacity, "%" PRIu64, kv->number);
        break;
    case TLY_KV_F64:
        memcpy(&number, &kv->number, sizeof number);
        snprintf(out, capacity, "%.17g", number);
        break;
    case TLY_KV_BOOL:
        snprintf(out, capacity, "%s", kv->number != 0 ? "true" : "false");
        break;
    case TLY_KV_BYTES:
        snprintf(out, capacity, "%" PRIu64 " bytes", kv->data_len);
        break;
    default:
        snprintf(out, capacity, "%" PRIu32 " elements", kv->count);
    }
}

static void metadata_json(tly_json *json, const tly_kv *kv, const char *key) {
    static const char digits[] = "0123456789abcdef";
    uint64_t position = 0;
    tly_kv element;
    double number;
    switch (kv->type) {
    case TLY_KV_STRING:
        tly_json_string_len(json, key, kv->data, (size_t)kv->data_len);
        break;
    case TLY_KV_I64:
        tly_json_i64(json, key, (int64_t)kv->number);
        break;
    case TLY_KV_U64:
        tly_json_u64(json, key, kv->number);
        break;
    case TLY_KV_F64:
        memcpy(&number, &kv->number, sizeof number);
        tly_json_number(json, key, number);
        break;
    case TLY_KV_BOOL:
        tly_json_bool(json, key, kv->number != 0);
        break;
    case TLY_KV_BYTES: {
        char *hex = malloc((size_t)kv->data_len * 2 + 1);
        for (uint64_t i = 0; hex != NULL && i < kv->data_len; i++) {
            uint8_t byte = ((const uint8_t *)kv->data)[i];
            hex[2 * i] = digits[byte >> 4];
            hex[2 * i + 1] = digits[byte & 15];
        }
        tly_json_string_len(json, key, hex != NULL ? hex : "",
                            hex != NULL ? (size_t)kv->data_len * 2 : 0);
        free(hex);
        break;
    }
    default:
        tly_json_row(json, key);
        while (tly_kv_next(kv, &position, &element) == TLY_OK) {
            metadata_json(json, &element, NULL);
        }
        tly_json_end_array(json);
    }
}

static tly_status show_metadata(inspection *in, tly_source *source, tly_error *error) {
    const tly_kv *kv;
    size_t num;
    tly_status status = tly_source_metadata(source, &kv, &num, error);
    if (status != TLY_OK) {
        return status;
    }
    if (in->as_json) {
        tly_json_array(&in->json, "metadata");
    }
    for (size_t i = 0; i < num; i++) {
        if (in->as_json) {
            tly_json_object(&in->json, NULL);
            tly_json_string_len(&in->json, "key", kv[i].key, kv[i].key_len);
            metadata_json(&in->json, &kv[i], "value");
            tly_json_end_object(&in->json);
        } else {
            char key[128], value[256];
            metadata_value(&kv[i], value, sizeof value);
            fprintf(in->out, "%s = %s\n", tly_text_safe(key, sizeof key, kv[i].key, kv[i].key_len),
                    value);
        }
    }
    if (in->as_json) {
        tly_json_end_array(&in->json);
    }
    return TLY_OK;
}

/* One field of a dump: its bytes in lines of eight, its name and meaning beside the first. */
static void dump_field(void *user, size_t offset, size_t len, const char *label,
                       const char *value) {
    inspection *in = user;
    if (in->as_json) {
        tly_json_object(&in->json, NULL);
        tly_json_u64(&in->json, "offset", offset);
        tly_json_u64(&in->json, "length", len);
        tly_json_string(&in->json, "label", label);
        tly_json_string(&in->json, "value", value);
        tly_json_end_object(&in->json);
        return;
    }
    for (size_t at = 0; at < len; at += PER_LINE) {
        size_t num = len - at < PER_LINE ? len - at : PER_LINE;
        fprintf(in->out, "    %08" PRIx64 " ", in->base + offset + at);
        for (size_t i = 0; i < PER_LINE; i++) {
            if (i < num) {
                fprintf(in->out, " %02x", in->bytes[offset + at + i]);
            } else {
                fputs("   ", in->out);
            }
        }
        if (at == 0) {
            fprintf(in->out, "  %s%s%s", label, value[0] != '\0' ? ": " : "", value);
        }
        if (in->fault >= offset + at && in->fault < offset + at + num) {
            fprintf(in->out, "   <-- byte %" PRIu64, in->base + in->fault);
        }
        fputc('\n', in->out);
    }
}

static void dump(inspection *in, const uint8_t *bytes, size_t len, uint64_t base) {
    in->bytes = bytes;
    in->base = base;
    if (in->as_json) {
        tly_json_array(&in->json, "fields");
    }
    tly_fields_walk(bytes, len, dump_field, in);
    if (in->as_json) {
        tly_json_end_array(&in->json);
    }
}

/* Bytes of the file itself. Returns how many there are; 0 where the source cannot be asked again.
 */
static size_t read_file(const tly_source *source, const char *path, uint64_t offset, void *bytes,
                        size_t len) {
    ssize_t got;
    int fd;
    if (tly_http_is_url(path)) {
        const tly_store *store = tly_source_store(source);
        uint64_t left = offset < store->len ? store->len - offset : 0;
        len = len < left ? len : (size_t)left;
        return tly_store_fetch(store, offset, bytes, len, NULL) == TLY_OK ? len : 0;
    }
    fd = strcmp(path, "-") != 0 ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    got = fd >= 0 ? pread(fd, bytes, len, (off_t)offset) : 0;
    if (fd >= 0) {
        close(fd);
    }
    return got > 0 ? (size_t)got : 0;
}

/* The descriptor as it stands in the file; that of an import as it would in a container. */
static tly_status dump_item(inspection *in, tly_source *source, const char *path,
                            const tly_source_item *item, tly_error *error) {
    uint8_t *bytes = NULL;
    size_t len = 0;
    tly_status status = tly_descriptor_encode(item->descriptor, NULL, 0, &len, error);
    uint8_t prefix[TLY_DESCRIPTOR_PREFIX_LEN];
    int stands_there =
        status == TLY_OK && tly_source_import(source) == NULL &&
        read_file(source, path, item->offset, prefix, sizeof prefix) == sizeof prefix;
    if (status != TLY_OK) {
        return status;
    }
    if (stands_there) {
        len = tly_base_load_u32(prefix + 6);
    }
    bytes = malloc(len);
    if (bytes == NULL) {
        status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    } else if (stands_there && read_file(source, path, item->offset, bytes, len) == len) {
        dump(in, bytes, len, item->offset);
    } else {
        status = tly_descriptor_encode(item->descriptor, bytes, len, &len, error);
        if (status == TLY_OK) {
            dump(in, bytes, len, 0);
        }
    }
    free(bytes);
    return status;
}

static tly_status show_item(inspection *in, tly_source *source, const char *path,
                            const tly_source_item *item, tly_error *error) {
    const tly_descriptor *d = item->descriptor;
    tly_status status = TLY_OK;
    if (in->as_json) {
        tly_json_object(&in->json, NULL);
        tly_json_string_len(&in->json, "name", item->name, item->name_len);
        tly_json_u64(&in->json, "offset", item->offset);
        tly_json_u64(&in->json, "bytes", item->data_len);
        tly_details_json(&in->json, d);
    } else {
        char name[300], type[16], shape[512], bytes[32];
        fprintf(in->out, "%s\n", tly_text_safe(name, sizeof name, item->name, item->name_len));
        fprintf(in->out, "    %-13s %s %s, %s, at byte %" PRIu64 "\n", "tensor",
                tly_describe_dtype(type, sizeof type, d->dtype),
                tly_describe_shape(shape, sizeof shape, d->shape, d->rank),
                tly_text_bytes(bytes, sizeof bytes, item->data_len), item->offset);
        tly_details_text(in->out, 4, d);
    }
    if (in->hex) {
        status = dump_item(in, source, path, item, error);
    }
    if (in->as_json) {
        tly_json_end_object(&in->json);
    }
    return status;
}

static tly_status show_all(inspection *in, tly_source *source, const char *path, const char *only,
                           uint64_t *out_num, tly_error *error) {
    tly_source_item item;
    tly_status status = TLY_OK;
    int more = 1;
    while (status == TLY_OK) {
        status = tly_source_next(source, &item, &more, error);
        if (status != TLY_OK || !more) {
            break;
        }
        if (only == NULL || strcmp(only, item.name) == 0) {
            status = show_item(in, source, path, &item, error);
            *out_num += 1;
        }
    }
    return status;
}

/* A descriptor that was refused, dumped as far as it goes, with the byte at fault. */
static void show_fault(inspection *in, const tly_source *source, const char *path, uint64_t start,
                       const tly_error *error) {
    uint8_t prefix[TLY_DESCRIPTOR_PREFIX_LEN];
    uint8_t *bytes;
    size_t got, len = 65536;
    if (read_file(source, path, start, prefix, sizeof prefix) == sizeof prefix &&
        tly_base_load_u32(prefix + 6) < len) {
        len = tly_base_load_u32(prefix + 6);
    }
    len = len < 20 ? 20 : len;
    bytes = malloc(len);
    got = bytes != NULL ? read_file(source, path, start, bytes, len) : 0;
    if (got != 0) {
        in->out = stderr; /* it is no result: the file was refused */
        in->fault = error->offset >= start ? error->offset - start : UINT64_MAX;
        fprintf(in->out, "descriptor at byte %" PRIu64 ", refused by %s\n", start, error->rule);
        dump(in, bytes, got, start);
        in->fault = UINT64_MAX;
    }
    free(bytes);
}

/* Where the descriptor begins that an error is about: of a container, the entry around its byte; of
 * a stream, behind the tensor that was shown last. */
static int find_fault(const tly_source *source, uint64_t behind, const tly_error *error,
                      uint64_t *out_start) {
    const tly_store *store = tly_source_store(source);
    if (tly_source_import(source) != NULL || error->offset == TLY_NO_OFFSET) {
        return 0;
    }
    if (store == NULL) {
        *out_start = behind;
        return 1;
    }
    for (uint64_t i = 0; i < tly_store_num_tensors(store); i++) {
        tly_store_entry entry;
        tly_store_entry_at(store, i, &entry);
        if (error->offset >= entry.descriptor_offset &&
            error->offset - entry.descriptor_offset < entry.descriptor_len) {
            *out_start = entry.descriptor_offset;
            return 1;
        }
    }
    return 0;
}

/* Everything is read once before anything is printed: half an answer would be none. */
static tly_status check_first(const tly_context *context, inspection *in, const char *path,
                              tly_error *error) {
    tly_source *source;
    tly_source_item item;
    uint64_t behind = 0, start = 0;
    int more = 1;
    tly_status status = tly_source_open(context, path, 1, &source, error);
    if (status != TLY_OK) {
        return status;
    }
    while (status == TLY_OK && more) {
        status = tly_source_next(source, &item, &more, error);
        if (status == TLY_OK && more) {
            size_t len = 0;
            (void)tly_descriptor_encode(item.descriptor, NULL, 0, &len, NULL);
            behind = item.offset + len + item.data_len;
        }
    }
    if (status != TLY_OK && in->hex && !in->as_json && find_fault(source, behind, error, &start)) {
        show_fault(in, source, path, start, error);
    }
    tly_source_free(source);
    return status;
}

static tly_status show_file(inspection *in, const tly_context *context, const char *path,
                            const char *only, tly_error *error) {
    char shown[TLY_CLI_SHOWN_LEN];
    tly_source *source;
    uint64_t num = 0;
    tly_status status = tly_source_open(context, path, 1, &source, error);
    if (status != TLY_OK) {
        return status;
    }
    if (in->as_json) {
        tly_json_object(&in->json, NULL);
        tly_json_string(&in->json, "file", tly_cli_shown(path, shown));
        tly_json_string(&in->json, "format", tly_source_format(source));
    } else {
        fprintf(in->out, "%s: %s\n", tly_cli_shown(path, shown), tly_source_format(source));
    }
    status = show_metadata(in, source, error);
    if (in->as_json && status == TLY_OK) {
        tly_json_array(&in->json, "tensors");
    }
    status = status == TLY_OK ? show_all(in, source, path, only, &num, error) : status;
    if (in->as_json && status == TLY_OK) {
        tly_json_end_array(&in->json);
        tly_json_end_object(&in->json);
        tly_json_finish(&in->json);
    }
    if (status == TLY_OK && only != NULL && num == 0) {
        status =
            tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "", "there is no tensor %s", only);
    }
    tly_source_free(source);
    return status;
}

tly_status tly_cli_run_inspect(tly_cli *cli, tly_error *error) {
    inspection in = {.out = cli->out,
                     .as_json = tly_cli_given(cli, TLY_CLI_INSPECT_JSON),
                     .hex = tly_cli_given(cli, TLY_CLI_INSPECT_HEX),
                     .fault = UINT64_MAX};
    const char *path = cli->args[0];
    const char *only = tly_cli_value(cli, TLY_CLI_INSPECT_TENSOR, NULL);
    const tly_context *context;
    tly_status status = tly_cli_context(cli, &context, error);
    tly_json_init(&in.json, cli->out);
    if (status == TLY_OK && strcmp(path, "-") != 0) {
        status = check_first(context, &in, path, error);
    }
    return status == TLY_OK ? show_file(&in, context, path, only, error) : status;
}
