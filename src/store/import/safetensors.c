/* SPDX-License-Identifier: Apache-2.0 */
/* safetensors: a length of 8 bytes, a JSON object, and the bytes of the tensors, which tile the
 * rest of the file. */
#include <string.h>

#include <tilery/tensor.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"
#include "store/import/importer.h"
#include "store/import/json.h"
#include "store/import/safetensors_types.h"
#include "store/import/shards.h"

#define PREFIX_LEN 8

/* What every key of the header says, carried or not. */
typedef struct span {
    const char *name;
    uint64_t begin, end; /* in the data section */
    uint64_t offset;     /* of the entry in the file */
} span;

typedef struct reader {
    tly_import *import;
    tly_error *error;
    tly_import_json json;
    uint64_t data_start;
    uint64_t data_len;
    span *spans;
    size_t num_spans, cap_spans;
    uint32_t file; /* in import->files */
    int has_metadata;
} reader;

/* One entry of the header as it stands. */
typedef struct declared {
    tly_import_json_string dtype;
    uint64_t shape[TLY_MAX_RANK];
    uint64_t begin, end;
    uint64_t offset;         /* of the entry in the file */
    uint64_t offsets_offset; /* of the value of data_offsets */
    uint32_t rank;
    uint8_t has_dtype, has_shape, has_offsets;
} declared;

static tly_status malformed(reader *r, uint64_t offset, const char *rule, const char *name,
                            const char *problem) {
    char shown[160];
    return tly_base_fail(r->error, TLY_MALFORMED, offset, rule, "tensor \"%s\": %s",
                         tly_base_printable(shown, sizeof shown, name, strlen(name)), problem);
}

static tly_status read_shape(reader *r, const char *name, declared *d) {
    int first = 1, more;
    tly_status status = tly_import_json_enter(&r->json, '[');
    while (status == TLY_OK) {
        status = tly_import_json_next(&r->json, '[', &first, &more);
        if (status != TLY_OK || !more) {
            break;
        }
        if (d->rank == r->import->options.rank) {
            char shown[160];
            return tly_base_fail(r->error, TLY_LIMIT, tly_import_json_offset(&r->json), "rank",
                                 "tensor \"%s\" has more than %u axes, the limit",
                                 tly_base_printable(shown, sizeof shown, name, strlen(name)),
                                 r->import->options.rank);
        }
        status = tly_import_json_read_u64(&r->json, &d->shape[d->rank++]);
    }
    return status;
}

static tly_status read_offsets(reader *r, const char *name, declared *d) {
    uint64_t *values[2] = {&d->begin, &d->end};
    int first = 1, more, num = 0;
    tly_status status;
    d->offsets_offset = tly_import_json_offset(&r->json);
    status = tly_import_json_enter(&r->json, '[');
    while (status == TLY_OK) {
        status = tly_import_json_next(&r->json, '[', &first, &more);
        if (status != TLY_OK) {
            break;
        }
        if (!more && num == 2) {
            return TLY_OK;
        }
        if (!more || num == 2) {
            return malformed(r, d->offsets_offset, "data-offsets", name,
                             "data_offsets must be two integers");
        }
        status = tly_import_json_read_u64(&r->json, values[num++]);
    }
    return status;
}

/* The object behind a tensor's name. Keys that the format does not have are checked and left. */
static tly_status read_object(reader *r, const char *name, declared *d) {
    int first = 1, more;
    tly_status status = tly_import_json_enter(&r->json, '{');
    while (status == TLY_OK) {
        tly_import_json_string key;
        uint8_t *seen = NULL;
        status = tly_import_json_next(&r->json, '{', &first, &more);
        if (status != TLY_OK || !more) {
            break;
        }
        status = tly_import_json_key(&r->json, &key);
        if (status != TLY_OK) {
            break;
        }
        seen = tly_import_json_is(&key, "dtype")          ? &d->has_dtype
               : tly_import_json_is(&key, "shape")        ? &d->has_shape
               : tly_import_json_is(&key, "data_offsets") ? &d->has_offsets
                                                          : NULL;
        if (seen != NULL && *seen) {
            return malformed(r, key.offset, "duplicate-key", name, "a key stands twice");
        }
        if (seen != NULL) {
            *seen = 1;
        }
        status = seen == &d->has_dtype     ? tly_import_json_read_string(&r->json, &d->dtype)
                 : seen == &d->has_shape   ? read_shape(r, name, d)
                 : seen == &d->has_offsets ? read_offsets(r, name, d)
                                           : tly_import_json_skip(&r->json);
    }
    if (status == TLY_OK && !(d->has_dtype && d->has_shape && d->has_offsets)) {
        return malformed(r, d->offset, "missing-key", name,
                         "dtype, shape and data_offsets must all be there");
    }
    return status;
}

static tly_status add_span(reader *r, const char *name, const declared *d) {
    void *array = r->spans;
    tly_status status = tly_import_reserve(r->import, &array, r->num_spans, &r->cap_spans,
                                           sizeof *r->spans, r->error);
    r->spans = array;
    if (status == TLY_OK) {
        span s = {name, d->begin, d->end, d->offset};
        r->spans[r->num_spans++] = s;
    }
    return status;
}

/* Bytes in the file of a tensor of this type and shape. */
static tly_status file_len(reader *r, const char *name, const declared *d, uint32_t bits,
                           uint64_t *out_count, uint64_t *out_len) {
    tly_status status = tly_import_count(d->rank, d->shape, d->offset, out_count, r->error);
    if (status == TLY_OK && (*out_count % 8 * bits) % 8 != 0) {
        return malformed(r, d->offset, "partial-byte", name,
                         "the elements do not fill a whole number of bytes");
    }
    return status == TLY_OK ? tly_import_packed_len(*out_count, bits, d->offset, out_len, r->error)
                            : status;
}

static tly_status refuse_dtype(reader *r, const char *name, const declared *d) {
    const char *reason;
    char text[96], shown[48];
    size_t len;
    tly_base_printable(shown, sizeof shown, d->dtype.text, d->dtype.len);
    memcpy(text, "its element type is ", 20);
    len = strlen(shown);
    memcpy(text + 20, shown, len);
    {
        tly_status status =
            tly_import_text(r->import, text, 20 + len, d->dtype.offset, &reason, r->error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return tly_import_refuse(r->import, name, d->dtype.offset, "dtype", reason, r->error);
}

static tly_status take_tensor(reader *r, const char *name, const declared *d) {
    const tly_safetensors_type *row = tly_safetensors_type_find(d->dtype.text, d->dtype.len);
    tly_import_entry entry = {.name = name,
                              .offset = r->data_start + d->begin,
                              .extent = d->end - d->begin,
                              .file = r->file,
                              .rank = d->rank,
                              .layout = TLY_LAYOUT_ROW_MAJOR,
                              .fixed_name = 1};
    uint64_t count, len;
    uint64_t *shape;
    tly_status status;
    if (d->begin > d->end || d->end > r->data_len) {
        char shown[160];
        return tly_base_fail(r->error, TLY_MALFORMED, d->offsets_offset, "data-offsets",
                             "tensor \"%s\" has data_offsets [%llu,%llu], but the data section has "
                             "%llu bytes",
                             tly_base_printable(shown, sizeof shown, name, strlen(name)),
                             (unsigned long long)d->begin, (unsigned long long)d->end,
                             (unsigned long long)r->data_len);
    }
    status = add_span(r, name, d);
    if (status != TLY_OK || row == NULL) {
        return status != TLY_OK ? status : refuse_dtype(r, name, d);
    }
    status = file_len(r, name, d, row->bits, &count, &len);
    if (status != TLY_OK) {
        return status;
    }
    if (len != entry.extent) {
        char shown[160];
        return tly_base_fail(r->error, TLY_MALFORMED, d->offsets_offset, "data-len",
                             "tensor \"%s\" has %llu bytes by its shape, but %llu by its offsets",
                             tly_base_printable(shown, sizeof shown, name, strlen(name)),
                             (unsigned long long)len, (unsigned long long)entry.extent);
    }
    if (row->dtype == 0) {
        return refuse_dtype(r, name, d);
    }
    shape = tly_arena_alloc(&r->import->arena, d->rank * sizeof *shape, sizeof *shape);
    if (shape == NULL) {
        return tly_base_fail(r->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a shape");
    }
    memcpy(shape, d->shape, d->rank * sizeof *shape);
    entry.shape = shape;
    entry.dtype = row->dtype;
    entry.coding = row->bool_bytes ? TLY_CODING_BOOL_BYTES : TLY_CODING_PLAIN;
    status = tly_import_packed_len(count, tly_dtype_bits(row->dtype), d->offset, &entry.byte_len,
                                   r->error);
    return status == TLY_OK ? tly_import_add(r->import, &entry, r->error) : status;
}

static tly_status read_metadata(reader *r) {
    int first = 1, more;
    tly_status status;
    if (r->has_metadata) {
        return tly_base_fail(r->error, TLY_MALFORMED, tly_import_json_offset(&r->json),
                             "duplicate-key", "__metadata__ stands twice");
    }
    r->has_metadata = 1;
    status = tly_import_json_enter(&r->json, '{');
    while (status == TLY_OK) {
        tly_import_json_string key, value;
        const char *key_text, *value_text;
        status = tly_import_json_next(&r->json, '{', &first, &more);
        if (status != TLY_OK || !more) {
            break;
        }
        status = tly_import_json_key(&r->json, &key);
        if (status == TLY_OK) {
            status = tly_import_json_read_string(&r->json, &value);
        }
        if (status == TLY_OK) {
            status = tly_import_text(r->import, key.text, key.len, key.offset, &key_text, r->error);
        }
        if (status == TLY_OK) {
            status = tly_import_text(r->import, value.text, value.len, value.offset, &value_text,
                                     r->error);
        }
        if (status == TLY_OK && r->file <= 1) { /* all shards say the same; the first counts */
            status = tly_import_add_pair(r->import, key_text, value_text, key.offset, r->error);
        }
    }
    return status;
}

static tly_status read_entries(reader *r) {
    int first = 1, more;
    tly_status status = tly_import_json_enter(&r->json, '{');
    while (status == TLY_OK) {
        tly_import_json_string key;
        const char *name;
        status = tly_import_json_next(&r->json, '{', &first, &more);
        if (status != TLY_OK || !more) {
            break;
        }
        status = tly_import_json_key(&r->json, &key);
        if (status == TLY_OK && tly_import_json_is(&key, "__metadata__")) {
            status = read_metadata(r);
            continue;
        }
        if (status == TLY_OK && key.len == 0) {
            return tly_base_fail(r->error, TLY_MALFORMED, key.offset, "empty-name",
                                 "a tensor has an empty name");
        }
        if (status == TLY_OK) {
            status = tly_import_name(r->import, key.text, key.len, key.offset, &name, r->error);
        }
        if (status == TLY_OK) {
            declared d = {.offset = key.offset};
            status = read_object(r, name, &d);
            if (status == TLY_OK) {
                status = take_tensor(r, name, &d);
            }
        }
    }
    return status == TLY_OK ? tly_import_json_end(&r->json) : status;
}

static int compare_span_names(const void *user, uint32_t a, uint32_t b) {
    const span *spans = user;
    int order = strcmp(spans[a].name, spans[b].name);
    return order != 0 ? order : (a > b) - (a < b);
}

static int compare_span_places(const void *user, uint32_t a, uint32_t b) {
    const span *x = (const span *)user + a, *y = (const span *)user + b;
    if (x->begin != y->begin) {
        return x->begin < y->begin ? -1 : 1;
    }
    if (x->end != y->end) {
        return x->end < y->end ? -1 : 1;
    }
    return (a > b) - (a < b);
}

/* The tensors that have bytes tile the data section: no hole, no overlap, nothing behind. */
static tly_status check_tiling(reader *r, const uint32_t *order) {
    uint64_t at = 0;
    for (size_t i = 0; i < r->num_spans; i++) {
        const span *s = &r->spans[order[i]];
        if (s->begin == s->end) {
            continue;
        }
        if (s->begin != at) {
            return malformed(r, s->offset, s->begin < at ? "overlap" : "hole", s->name,
                             s->begin < at ? "its bytes overlap those of another tensor"
                                           : "there are bytes of no tensor before its own");
        }
        at = s->end;
    }
    if (at != r->data_len) {
        return tly_base_fail(r->error, TLY_MALFORMED, r->data_start + at, "trailing-bytes",
                             "%llu bytes behind the last tensor belong to none",
                             (unsigned long long)(r->data_len - at));
    }
    return TLY_OK;
}

static tly_status check_names(reader *r, const uint32_t *order) {
    for (size_t i = 1; i < r->num_spans; i++) {
        const span *s = &r->spans[order[i]];
        if (strcmp(r->spans[order[i - 1]].name, s->name) == 0) {
            return malformed(r, s->offset, "duplicate-name", s->name, "the name stands twice");
        }
    }
    return TLY_OK;
}

static void number(uint32_t *order, size_t num) {
    for (size_t i = 0; i < num; i++) {
        order[i] = (uint32_t)i;
    }
}

static tly_status check_whole(reader *r) {
    size_t num = r->num_spans;
    uint32_t *order;
    tly_status status;
    if (num == 0) {
        return check_tiling(r, NULL);
    }
    order = num <= UINT32_MAX
                ? tly_base_alloc(r->import->context, num * sizeof *order, sizeof *order)
                : NULL;
    if (order == NULL) {
        return tly_base_fail(r->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for checking the header");
    }
    number(order, num);
    tly_import_sort(order, num, compare_span_names, r->spans);
    status = check_names(r, order);
    if (status == TLY_OK) {
        number(order, num);
        tly_import_sort(order, num, compare_span_places, r->spans);
        status = check_tiling(r, order);
    }
    tly_base_free(r->import->context, order, num * sizeof *order, sizeof *order);
    return status;
}

/* Length of the header, checked against the limit and the file before anything believes it. */
static tly_status read_prefix(const tly_import *import, const tly_import_file *file,
                              uint64_t *out_len, tly_error *error) {
    uint8_t prefix[PREFIX_LEN];
    uint64_t len;
    tly_status status = tly_import_file_read(file, 0, prefix, sizeof prefix, error);
    if (status != TLY_OK) {
        return status;
    }
    len = tly_base_load_u64(prefix);
    if (len > import->options.header_len) {
        return tly_base_fail(error, TLY_LIMIT, 0, "header-len",
                             "the header has %llu bytes by its prefix, the limit is %llu",
                             (unsigned long long)len,
                             (unsigned long long)import->options.header_len);
    }
    if (len > file->len - PREFIX_LEN) {
        return tly_base_fail(error, TLY_TRUNCATED, 0, "header-len",
                             "the header has %llu bytes by its prefix, but only %llu follow",
                             (unsigned long long)len, (unsigned long long)(file->len - PREFIX_LEN));
    }
    *out_len = len;
    return TLY_OK;
}

/* Reads one file; the caller frees r->spans. */
static tly_status read_file(reader *r) {
    tly_import *import = r->import;
    const tly_import_file *file = &import->files[r->file];
    uint64_t len = 0;
    uint8_t *header;
    tly_status status = read_prefix(import, file, &len, r->error);
    if (status != TLY_OK) {
        return status;
    }
    if (len == 0) {
        return tly_base_fail(r->error, TLY_MALFORMED, 0, "header-start", "the header is empty");
    }
    header = tly_base_alloc(import->context, (size_t)len, 1);
    if (header == NULL) {
        return tly_base_fail(r->error, TLY_OUT_OF_MEMORY, 0, "", "no memory for the header");
    }
    status = tly_import_file_read(file, PREFIX_LEN, header, len, r->error);
    if (status == TLY_OK && header[0] != '{') {
        char shown[16];
        status = tly_base_fail(r->error, TLY_MALFORMED, PREFIX_LEN, "header-start",
                               "the header begins with \"%s\", not with \"{\"",
                               tly_base_printable(shown, sizeof shown, header, 1));
    }
    if (status == TLY_OK) {
        r->data_start = PREFIX_LEN + len;
        r->data_len = file->len - r->data_start;
        tly_import_json_init(&r->json, header, (size_t)len, PREFIX_LEN, import->options.json_depth,
                             &import->arena, r->error);
        status = read_entries(r);
    }
    if (status == TLY_OK) {
        status = check_whole(r);
    }
    tly_base_free(import->context, header, (size_t)len, 1);
    return status;
}

tly_status tly_import_read_safetensors(tly_import *import, tly_error *error) {
    reader r = {.import = import, .error = error};
    tly_status status =
        tly_import_looks_like_index(import) ? tly_import_read_index(import, error) : read_file(&r);
    tly_base_free(import->context, r.spans, r.cap_spans * sizeof *r.spans, 16);
    return status;
}

tly_status tly_import_read_shard(tly_import *import, uint32_t file, tly_import_shard_check check,
                                 void *user, tly_error *error) {
    reader r = {.import = import, .error = error, .file = file};
    tly_status status = read_file(&r);
    for (size_t i = 0; i < r.num_spans && status == TLY_OK; i++) {
        status = check(user, r.spans[i].name, error);
    }
    tly_base_free(import->context, r.spans, r.cap_spans * sizeof *r.spans, 16);
    return status;
}
