/* SPDX-License-Identifier: Apache-2.0 */
/* tilery check hurray: descriptors, streams, files, element types and quantization. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/convert.h>
#include <tilery/quantize.h>
#include <tilery/store.h>
#include <tilery/stream.h>

#include "base/bytes.h"
#include "base/crc32c.h"
#include "cli/hurray_case.h"

#define GET(c, key) json_object_get((c)->recorded, key)

/* ---- Verdicts ---- */

/* Bytes that a stream reader takes. */
typedef struct given {
    const uint8_t *bytes;
    size_t len;
    size_t at;
} given;

static tly_status give(void *user, void *buffer, size_t capacity, size_t *out_len,
                       tly_error *error) {
    given *g = user;
    size_t len = g->len - g->at < capacity ? g->len - g->at : capacity;
    (void)error;
    memcpy(buffer, g->bytes + g->at, len);
    g->at += len;
    *out_len = len;
    return TLY_OK;
}

static tly_status judge_stream(const tly_context *context, const uint8_t *bytes, size_t len,
                               uint32_t flags, tly_error *error) {
    tly_stream_options options = {.size = sizeof options, .flags = flags};
    given from = {bytes, len, 0};
    tly_stream_reader *reader;
    const tly_descriptor *d;
    tly_status status = tly_stream_reader_new(context, give, &from, &options, &reader, error);
    if (status != TLY_OK) {
        return status;
    }
    do {
        status = tly_stream_reader_next(reader, &d, error);
    } while (status == TLY_OK && d != NULL);
    tly_stream_reader_free(reader);
    return status;
}

static tly_status judge_file(const tly_context *context, const uint8_t *bytes, size_t len,
                             tly_error *error) {
    tly_store *store;
    tly_status status = tly_store_open_memory(context, bytes, len, NULL, &store, error);
    if (status == TLY_OK) {
        status = tly_store_verify(store, error);
        tly_store_free(store);
    }
    return status;
}

const char *tly_hurray_judge(const tly_context *context, const char *mode, const uint8_t *bytes,
                             size_t len, tly_error *out_error) {
    tly_status status;
    if (strcmp(mode, "file") == 0) {
        status = judge_file(context, bytes, len, out_error);
    } else if (strncmp(mode, "stream", 6) == 0) {
        status =
            judge_stream(context, bytes, len,
                         strcmp(mode, "stream-x") == 0 ? TLY_STREAM_CROSS_MACHINE : 0, out_error);
    } else {
        uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
        tly_descriptor d;
        status = tly_descriptor_decode(bytes, len, work, sizeof work, &d, NULL, out_error);
    }
    return status == TLY_OK ? "" : out_error->rule[0] != '\0' ? out_error->rule : "?";
}

int tly_hurray_refusal(tly_hurray_case *c) {
    const char *mode = tly_hurray_text(c->recorded, "mode");
    const char *rule = tly_hurray_text(c->recorded, "rule"), *got;
    size_t len;
    uint8_t *bytes = tly_hurray_unhex(tly_hurray_text(c->recorded, "hex"), &len);
    tly_error error = {0};
    int same;
    if (bytes == NULL) {
        return tly_hurray_fail(c, "the case has no bytes");
    }
    got = tly_hurray_judge(c->context, mode, bytes, len, &error);
    /* A length of 2^64 - 1 leaves the file before it is compared with the descriptor. */
    same = strcmp(got, rule) == 0 ||
           (strcmp(got, "F-DATA-BOUNDS") == 0 && strcmp(rule, "F-DATA-LEN") == 0);
    free(bytes);
    return same ? 1
                : tly_hurray_fail(c, "refused by \"%s\" (%s), recorded \"%s\"", got, error.message,
                                  rule);
}

/* Where two rules are broken either may be named: the verdict counts. */
int tly_hurray_verdict(tly_hurray_case *c) {
    const char *wanted = tly_hurray_text(c->recorded, "spec_verdict"), *got;
    size_t len;
    uint8_t *bytes = tly_hurray_unhex(tly_hurray_text(c->recorded, "hex"), &len);
    tly_error error = {0};
    if (bytes == NULL) {
        return tly_hurray_fail(c, "the case has no bytes");
    }
    got = tly_hurray_judge(c->context, "desc", bytes, len, &error);
    free(bytes);
    return (got[0] == '\0') == (strcmp(wanted, "accept") == 0)
               ? 1
               : tly_hurray_fail(c, "verdict \"%s\", recorded %s (%s)",
                                 got[0] != '\0' ? got : "accept", wanted,
                                 tly_hurray_text(c->recorded, "rule"));
}

/* ---- Tensors with their data ---- */

/* A tensor that was taken out of a stream. */
typedef struct taken {
    tly_tensor tensor;
    tly_descriptor descriptor;
    uint8_t *bytes; /* the descriptor's, then its work memory, then nothing */
    const void *buffers[TLY_MAX_BUFFERS];
    uint64_t tokens[256];
    tly_tensor members[16];
    struct taken *parts[16];
} taken;

static void drop(taken *t) {
    for (uint32_t i = 0; t != NULL && i < t->tensor.num_members; i++) {
        drop(t->parts[i]);
    }
    if (t != NULL) {
        free(t->bytes);
        free(t);
    }
}

/* The tensor at `*at`, with its members; steps behind it. The buffers stay where they are. */
static taken *take(tly_hurray_case *c, const uint8_t *bytes, size_t len, size_t *at) {
    taken *t = calloc(1, sizeof *t);
    uint32_t own = 0;
    tly_error error = {0};
    if (t == NULL || (t->bytes = malloc(TLY_DESCRIPTOR_WORK_LEN)) == NULL) {
        drop(t);
        tly_hurray_fail(c, "no memory");
        return NULL;
    }
    if (tly_descriptor_decode(bytes + *at, len - *at, t->bytes, TLY_DESCRIPTOR_WORK_LEN,
                              &t->descriptor, &own, &error) != TLY_OK) {
        tly_hurray_fail(c, "descriptor at byte %zu: %s", *at, error.message);
        drop(t);
        return NULL;
    }
    *at += own;
    for (uint32_t i = 0; i < t->descriptor.num_buffers; i++) {
        t->buffers[i] = bytes + *at;
        if (t->descriptor.buffers[i].byte_size > len - *at) {
            tly_hurray_fail(c, "the data of a tensor are missing");
            drop(t);
            return NULL;
        }
        *at += (size_t)t->descriptor.buffers[i].byte_size;
    }
    t->tensor = (tly_tensor){.descriptor = &t->descriptor, .buffers = t->buffers};
    if (t->descriptor.layout == TLY_LAYOUT_COMPOSITE) {
        uint32_t count = t->descriptor.composite.member_count;
        t->tensor.members = t->members;
        for (uint32_t i = 0; i < count; i++) {
            t->parts[i] = count <= 16 ? take(c, bytes, len, at) : NULL;
            if (t->parts[i] == NULL) {
                if (count > 16) {
                    tly_hurray_fail(c, "a composite of %u members", count);
                }
                drop(t);
                return NULL;
            }
            t->members[i] = t->parts[i]->tensor;
            t->tensor.num_members = i + 1;
        }
    }
    return t;
}

/* Steps through all indexes in row-major order; 0 behind the last one. */
static int next_index(const tly_descriptor *d, uint64_t *index) {
    for (uint32_t k = d->rank; k-- > 0;) {
        if (++index[k] < d->shape[k]) {
            return 1;
        }
        index[k] = 0;
    }
    return 0;
}

static int is_empty(const tly_descriptor *d) {
    for (uint32_t k = 0; k < d->rank; k++) {
        if (d->shape[k] == 0) {
            return 1;
        }
    }
    return 0;
}

/* The elements in the order of their indexes are these codes, in hexadecimal. */
static int check_codes(tly_hurray_case *c, const taken *t, const json_t *codes) {
    const tly_descriptor *d = &t->descriptor;
    uint64_t index[TLY_MAX_RANK] = {0};
    tly_error error = {0};
    tly_view *view;
    size_t n = 0;
    if (codes == NULL || is_empty(d)) {
        return 1;
    }
    if (tly_view_new(c->context, &t->tensor, NULL, &view, &error) != TLY_OK) {
        return tly_hurray_fail(c, "%s", error.message);
    }
    do {
        const char *wanted = json_string_value(json_array_get(codes, n));
        tly_code code;
        char got[40], *end;
        uint64_t low, high = 0;
        size_t digits = wanted != NULL ? strlen(wanted) : 0;
        if (wanted == NULL || tly_view_get(view, index, &code) != TLY_OK) {
            tly_view_free(view);
            return tly_hurray_fail(c, "element %zu is missing", n);
        }
        snprintf(got, sizeof got, "%s", digits > 16 ? wanted + (digits - 16) : wanted);
        low = strtoull(got, &end, 16);
        if (digits > 16) {
            snprintf(got, sizeof got, "%.*s", (int)(digits - 16), wanted);
            high = strtoull(got, &end, 16);
        }
        if (code.low != low || code.high != high) {
            tly_view_free(view);
            return tly_hurray_fail(c, "element %zu has code %" PRIx64 ", recorded %s", n, code.low,
                                   wanted);
        }
        n++;
    } while (next_index(d, index));
    tly_view_free(view);
    return n == json_array_size(codes)
               ? 1
               : tly_hurray_fail(c, "%zu elements, recorded %zu", n, json_array_size(codes));
}

/* Where elements lie, or that a sparse tensor does not store them. */
static int check_lookup(tly_hurray_case *c, const taken *t) {
    const json_t *queries = json_object_get(GET(c, "lookup"), "queries");
    const json_t *expect = json_object_get(GET(c, "lookup"), "expect");
    const uint64_t unit = tly_descriptor_element_bits(&t->descriptor);
    const int paged = t->descriptor.layout == TLY_LAYOUT_BLOCK_PAGED;
    tly_error error = {0};
    tly_view *view;
    if (queries == NULL) {
        return 1;
    }
    if (tly_view_new(c->context, &t->tensor, NULL, &view, &error) != TLY_OK) {
        return tly_hurray_fail(c, "%s", error.message);
    }
    for (size_t i = 0; i < json_array_size(queries); i++) {
        const json_t *query = json_array_get(queries, i), *wanted = json_array_get(expect, i);
        uint64_t index[TLY_MAX_RANK] = {0}, bit = 0;
        int32_t found = 1;
        tly_status status;
        for (size_t k = 0; k < json_array_size(query) && k < TLY_MAX_RANK; k++) {
            index[k] = tly_hurray_number(json_array_get(query, k));
        }
        status = paged ? tly_view_find_paged(view, index[0], index[1], index[2], index[3], &bit)
                       : tly_view_find(view, index, &bit, &found);
        if (status != TLY_OK || found == json_is_null(wanted) ||
            (found && bit / unit != tly_hurray_number(wanted))) {
            tly_view_free(view);
            return tly_hurray_fail(c, "look-up %zu finds element %" PRIu64 "%s", i, bit / unit,
                                   found ? "" : " not stored");
        }
    }
    tly_view_free(view);
    return 1;
}

static int check_description(tly_hurray_case *c, const tly_descriptor *d, uint32_t own_len,
                             const json_t *wanted) {
    char path[300] = "";
    json_t *got = tly_hurray_describe(d, own_len);
    int same = tly_hurray_agrees(wanted, got, path, sizeof path);
    json_decref(got);
    return same ? 1 : tly_hurray_fail(c, "descriptor: %s", path);
}

static int check_sums(tly_hurray_case *c, const tly_tensor *t, const json_t *buffers) {
    for (size_t i = 0; i < json_array_size(buffers); i++) {
        const json_t *b = json_array_get(buffers, i);
        uint64_t len = tly_hurray_number(json_object_get(b, "length"));
        char sum[16];
        if (i >= t->descriptor->num_buffers || t->descriptor->buffers[i].byte_size != len) {
            return tly_hurray_fail(c, "buffer %zu has another length", i);
        }
        snprintf(sum, sizeof sum, "%08" PRIx32, tly_base_crc32c(0, t->buffers[i], (size_t)len));
        if (strcmp(sum, tly_hurray_text(b, "crc32c")) != 0) {
            return tly_hurray_fail(c, "buffer %zu has check sum %s", i, sum);
        }
    }
    return 1;
}

/* One item of a stream or file, with its members. */
static int check_item(tly_hurray_case *c, taken *t, const json_t *item, int depth) {
    const json_t *members = json_object_get(item, "members");
    const json_t *tokens = json_object_get(item, "seq_tokens");
    if (json_object_get(item, "head") != NULL) {
        if (!check_description(c, &t->descriptor, 0, json_object_get(item, "head")) ||
            json_array_size(members) != t->tensor.num_members) {
            return c->why[0] != '\0' ? 0 : tly_hurray_fail(c, "another number of members");
        }
        for (uint32_t i = 0; i < t->tensor.num_members; i++) {
            if (!check_item(c, t->parts[i], json_array_get(members, i), depth + 1)) {
                return 0;
            }
        }
        return check_codes(c, t, json_object_get(item, "merged_codes"));
    }
    for (size_t i = 0; i < json_array_size(tokens) && i < 256; i++) {
        t->tokens[i] = tly_hurray_number(json_array_get(tokens, i));
        t->tensor.seq_tokens = t->tokens;
    }
    return check_description(c, &t->descriptor, 0, json_object_get(item, "descriptor")) &&
           check_sums(c, &t->tensor, json_object_get(item, "buffers")) &&
           check_codes(c, t, json_object_get(item, "logical_codes_row_major")) &&
           (depth > 0 || check_lookup(c, t));
}

/* The contents keep every rule; codes of a type that has reserved ones may be any in recordings. */
static int check_contents(tly_hurray_case *c, const taken *t) {
    tly_error error = {0};
    tly_status status = tly_tensor_check_data(c->context, &t->tensor, &error);
    return status == TLY_OK || status == TLY_UNSUPPORTED || strcmp(error.rule, "V-E8M0") == 0
               ? 1
               : tly_hurray_fail(c, "%s (%s)", error.message, error.rule);
}

int tly_hurray_stream(tly_hurray_case *c) {
    const json_t *items = GET(c, "items");
    size_t len, at = 0;
    const char *row = tly_hurray_text(c->rows, tly_hurray_text(c->recorded, "id"));
    uint8_t *bytes = json_object_get(c->rows, tly_hurray_text(c->recorded, "id")) != NULL
                         ? tly_hurray_unhex(row, &len)
                         : tly_hurray_read_file(c, tly_hurray_text(c->recorded, "file"), &len);
    tly_error error = {0};
    int good = bytes != NULL;
    if (good && judge_stream(c->context, bytes, len, 0, &error) != TLY_OK) {
        good = tly_hurray_fail(c, "%s (%s)", error.message, error.rule);
    }
    for (size_t i = 0; i < json_array_size(items) && good; i++) {
        taken *t = take(c, bytes, len, &at);
        good = t != NULL && check_item(c, t, json_array_get(items, i), 0) && check_contents(c, t);
        drop(t);
    }
    if (good && at != len) {
        good = tly_hurray_fail(c, "%zu bytes behind the last tensor", len - at);
    }
    free(bytes);
    return good;
}

int tly_hurray_contents(tly_hurray_case *c) {
    const char *rule = tly_hurray_text(c->recorded, "rule");
    size_t len, at = 0;
    uint8_t *bytes = tly_hurray_unhex(tly_hurray_text(c->recorded, "hex"), &len);
    tly_error error = {0};
    tly_status status;
    taken *t;
    if (bytes == NULL) {
        return tly_hurray_fail(c, "the case has no bytes");
    }
    t = take(c, bytes, len, &at);
    if (t == NULL) { /* the descriptor or the length of the data is refused already */
        free(bytes);
        return 1;
    }
    status = tly_tensor_check_data(c->context, &t->tensor, &error);
    drop(t);
    free(bytes);
    if (status == TLY_OK) {
        return tly_hurray_fail(c, "accepted, recorded as breaking %s", rule);
    }
    /* A buffer of the wrong size is found before anything that it holds. */
    return strcmp(error.rule, rule) == 0 || strcmp(error.rule, "B-SIZE") == 0 ||
                   strstr(rule, "SIZE") != NULL
               ? 1
               : tly_hurray_fail(c, "refused by \"%s\" (%s), recorded \"%s\"", error.rule,
                                 error.message, rule);
}

/* ---- Descriptors ---- */

/* Element offset, byte and bit of one index; for six-bit types the byte of the group of three. */
static int check_address(tly_hurray_case *c, const tly_descriptor *d, const json_t *address) {
    const json_t *at = json_array_get(address, 0);
    uint64_t index[TLY_MAX_RANK] = {0};
    int64_t bits = tly_descriptor_element_bits(d), offset = 0, byte, bit;
    int64_t unit = bits == 6 ? 3 : bits >= 8 ? bits / 8 : 1, per_unit, which;
    tly_error error = {0};
    for (size_t k = 0; k < json_array_size(at) && k < TLY_MAX_RANK; k++) {
        index[k] = tly_hurray_number(json_array_get(at, k));
    }
    if (d->layout == TLY_LAYOUT_HILBERT) {
        uint64_t place = 0;
        if (tly_hilbert_offset(d->rank, d->hilbert_order, index, &place) != TLY_OK) {
            return tly_hurray_fail(c, "an index has no place on the curve");
        }
        offset = (int64_t)place;
    } else {
        tly_nest nest;
        if (tly_descriptor_nest(d, &nest, &error) != TLY_OK ||
            tly_nest_offset(&nest, index, &offset) != TLY_OK) {
            return tly_hurray_fail(c, "an index has no place (%s)", error.message);
        }
    }
    per_unit = unit * 8 / bits;
    which = offset / per_unit - (offset % per_unit < 0);
    byte = (int64_t)d->byte_offset + which * unit;
    bit = (offset - which * per_unit) * bits;
    if (offset != json_integer_value(json_array_get(address, 1)) ||
        byte != json_integer_value(json_array_get(address, 2)) ||
        bit != json_integer_value(json_array_get(address, 3))) {
        return tly_hurray_fail(c, "an element lies at offset %" PRId64 ", byte %" PRId64, offset,
                               byte);
    }
    return 1;
}

int tly_hurray_descriptor(tly_hurray_case *c) {
    uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    const json_t *addresses = GET(c, "addresses");
    size_t len, again_len = 0;
    uint8_t *bytes = tly_hurray_unhex(tly_hurray_text(c->recorded, "hex"), &len), *again;
    tly_descriptor d;
    tly_error error = {0};
    uint32_t own_len = 0;
    int good = 1;
    if (bytes == NULL) {
        return tly_hurray_fail(c, "the case has no bytes");
    }
    again = malloc(len + 1);
    if (again == NULL) {
        good = tly_hurray_fail(c, "no memory");
    } else if (tly_descriptor_decode(bytes, len, work, sizeof work, &d, &own_len, &error) !=
               TLY_OK) {
        good = tly_hurray_fail(c, "%s (%s)", error.message, error.rule);
    }
    good = good && check_description(c, &d, own_len, GET(c, "descriptor"));
    if (good && d.version_minor == 0 &&
        (tly_descriptor_encode(&d, again, len, &again_len, &error) != TLY_OK || again_len != len ||
         memcmp(again, bytes, len) != 0)) {
        good = tly_hurray_fail(c, "written again it is not the same");
    }
    for (size_t i = 0; i < json_array_size(addresses) && good; i++) {
        good = check_address(c, &d, json_array_get(addresses, i));
    }
    free(again);
    free(bytes);
    return good;
}

/* ---- Files ---- */

static int check_named(tly_hurray_case *c, const tly_store *store, const json_t *t) {
    uint64_t work[TLY_STORE_WORK_LEN / 8], index;
    const char *name = tly_hurray_text(t, "name");
    const json_t *head = json_object_get(t, "head"), *members = json_object_get(t, "members");
    const json_t *buffers = json_object_get(t, "buffers");
    tly_error error = {0};
    tly_descriptor d;
    if (tly_store_find(store, name, strlen(name), &index) != TLY_OK ||
        tly_store_descriptor(store, index, work, sizeof work, &d, &error) != TLY_OK) {
        return tly_hurray_fail(c, "%.60s: %s", name, error.message);
    }
    if (!check_description(c, &d, 0, head != NULL ? head : json_object_get(t, "descriptor"))) {
        return 0;
    }
    for (size_t i = 0; i < json_array_size(buffers); i++) {
        const json_t *b = json_array_get(buffers, i);
        uint64_t offset, len;
        uint8_t *data;
        char sum[16] = "";
        if (tly_store_buffer_range(store, index, &d, (uint32_t)i, &offset, &len) != TLY_OK ||
            len != tly_hurray_number(json_object_get(b, "length"))) {
            return tly_hurray_fail(c, "%.60s: buffer %zu has another length", name, i);
        }
        data = malloc((size_t)len + 1);
        if (data != NULL && tly_store_read(store, index, offset, data, len, &error) == TLY_OK) {
            snprintf(sum, sizeof sum, "%08" PRIx32, tly_base_crc32c(0, data, (size_t)len));
        }
        free(data);
        if (strcmp(sum, tly_hurray_text(b, "crc32c")) != 0) {
            return tly_hurray_fail(c, "%.60s: buffer %zu has check sum %s", name, i, sum);
        }
    }
    for (size_t i = 0; i < json_array_size(members); i++) {
        if (!check_named(c, store, json_array_get(members, i))) {
            return 0;
        }
    }
    return 1;
}

static int check_index(tly_hurray_case *c, const tly_store *store, const json_t *index) {
    if (json_array_size(index) != tly_store_num_tensors(store)) {
        return tly_hurray_fail(c, "another number of tensors");
    }
    for (size_t i = 0; i < json_array_size(index); i++) {
        const json_t *wanted = json_array_get(index, i);
        const char *name = tly_hurray_text(wanted, "name");
        tly_store_entry e;
        tly_store_entry_at(store, i, &e);
        if (e.name_len != strlen(name) || memcmp(e.name, name, e.name_len) != 0 ||
            e.descriptor_offset !=
                tly_hurray_number(json_object_get(wanted, "descriptor_offset")) ||
            e.descriptor_len != tly_hurray_number(json_object_get(wanted, "descriptor_length")) ||
            e.data_offset != tly_hurray_number(json_object_get(wanted, "data_offset")) ||
            e.data_len != tly_hurray_number(json_object_get(wanted, "data_length"))) {
            return tly_hurray_fail(c, "entry %zu of the index differs", i);
        }
    }
    return 1;
}

static int check_kv(tly_hurray_case *c, const tly_store *store, const json_t *kv) {
    tly_kv_list *list;
    tly_error error = {0};
    int good = 1;
    if (tly_store_kv(store, &list, &error) != TLY_OK) {
        return tly_hurray_fail(c, "%s", error.message);
    }
    if (tly_kv_list_count(list) != json_array_size(kv)) {
        good = tly_hurray_fail(c, "another number of metadata");
    }
    for (size_t i = 0; i < json_array_size(kv) && good; i++) {
        const json_t *wanted = json_array_get(kv, i);
        const char *key = tly_hurray_text(wanted, "key"), *type = tly_hurray_text(wanted, "type");
        const json_t *value = json_object_get(wanted, "value");
        tly_kv got;
        good = tly_kv_list_at(list, i, &got) == TLY_OK && got.key_len == strlen(key) &&
               memcmp(got.key, key, got.key_len) == 0;
        if (good && strcmp(type, "string") == 0) {
            good = got.data_len == json_string_length(value) &&
                   memcmp(got.data, json_string_value(value), (size_t)got.data_len) == 0;
        } else if (good && strcmp(type, "array") == 0) {
            good = got.count == json_array_size(value);
        } else if (good && strcmp(type, "float64") == 0) {
            good = got.number == strtoull(json_string_value(value), NULL, 16);
        } else if (good && strcmp(type, "int64") == 0 && json_is_integer(value)) {
            good = (int64_t)got.number == json_integer_value(value);
        } else if (good && strcmp(type, "uint64") == 0) {
            good = got.number == tly_hurray_number(value);
        }
        if (!good) {
            tly_hurray_fail(c, "metadata %.60s differ", key);
        }
    }
    tly_kv_list_free(list);
    return good;
}

int tly_hurray_file(tly_hurray_case *c) {
    const json_t *tensors = GET(c, "tensors");
    size_t len;
    uint8_t *bytes = tly_hurray_read_file(c, tly_hurray_text(c->recorded, "file"), &len);
    tly_error error = {0};
    tly_store *store;
    int good;
    if (bytes == NULL) {
        return 0;
    }
    if (tly_store_open_memory(c->context, bytes, len, NULL, &store, &error) != TLY_OK) {
        free(bytes);
        return tly_hurray_fail(c, "%s (%s)", error.message, error.rule);
    }
    good = tly_store_verify(store, &error) == TLY_OK
               ? 1
               : tly_hurray_fail(c, "%s (%s)", error.message, error.rule);
    good = good && check_index(c, store, GET(c, "index")) && check_kv(c, store, GET(c, "kv"));
    for (size_t i = 0; i < json_array_size(tensors) && good; i++) {
        good = check_named(c, store, json_array_get(tensors, i));
    }
    tly_store_free(store);
    free(bytes);
    return good;
}

/* ---- Quantization ---- */

int tly_hurray_quant(tly_hurray_case *c) {
    uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8], count = 0;
    const json_t *buffers = GET(c, "buffers"), *values = GET(c, "dequantized_f32");
    const void *data[TLY_MAX_BUFFERS] = {0};
    uint8_t *owned[TLY_MAX_BUFFERS] = {0};
    size_t len;
    uint8_t *bytes = tly_hurray_unhex(tly_hurray_text(c->recorded, "descriptor_hex"), &len);
    tly_error error = {0};
    tly_descriptor d;
    float *out = NULL;
    int good = bytes != NULL;
    if (!good || tly_descriptor_decode(bytes, len, work, sizeof work, &d, NULL, &error) != TLY_OK) {
        free(bytes);
        return tly_hurray_fail(c, "%s (%s)", error.message, error.rule);
    }
    good = check_description(c, &d, 0, GET(c, "descriptor"));
    for (size_t i = 0; i < json_array_size(buffers) && i < TLY_MAX_BUFFERS && good; i++) {
        size_t buffer_len;
        owned[i] = tly_hurray_unhex(json_string_value(json_array_get(buffers, i)), &buffer_len);
        data[i] = owned[i];
        if (owned[i] == NULL || i >= d.num_buffers || d.buffers[i].byte_size != buffer_len) {
            good = tly_hurray_fail(c, "buffer %zu has another length", i);
        }
    }
    if (good) {
        tly_tensor tensor = {.descriptor = &d, .buffers = data};
        tly_descriptor_num_elements(&d, &count);
        out = malloc((size_t)count * sizeof *out + 1);
        if (out == NULL) {
            good = tly_hurray_fail(c, "no memory");
        } else if (tly_dequantize(c->context, &tensor, TLY_F32, out, NULL, &error) != TLY_OK) {
            good = tly_hurray_fail(c, "%s (%s)", error.message, error.rule);
        } else if (count != json_array_size(values)) {
            good = tly_hurray_fail(c, "another number of values");
        }
    }
    for (uint64_t i = 0; i < count && good; i++) {
        const char *wanted = json_string_value(json_array_get(values, (size_t)i));
        uint32_t bits = tly_base_load_u32(&out[i]); /* stored little-endian */
        if (wanted == NULL || bits != (uint32_t)strtoul(wanted, NULL, 16)) {
            good = tly_hurray_fail(c, "value %" PRIu64 " is %08" PRIx32 ", recorded %s", i, bits,
                                   wanted != NULL ? wanted : "none");
        }
    }
    for (size_t i = 0; i < TLY_MAX_BUFFERS; i++) {
        free(owned[i]);
    }
    free(out);
    free(bytes);
    return good;
}
