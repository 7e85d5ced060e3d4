/* SPDX-License-Identifier: Apache-2.0 */
/* Key-value metadata (Hurray 1.0, file-format, KV Metadata Section). */
#include "store/kv.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "base/utf8.h"
#include "store/names.h"

struct tly_kv_list {
    const tly_context *context;
    uint8_t *bytes; /* the section; entries point into it */
    uint64_t len;
    tly_kv *entries;
    uint64_t capacity;
    uint64_t count;
    tly_store_names names;
};

typedef struct kv_reader {
    tly_cursor in;
    uint64_t offset; /* of the section in its file */
    tly_error *error;
} kv_reader;

static uint64_t here(const kv_reader *r) {
    return r->offset + tly_cursor_offset(&r->in);
}

static tly_status cut_off(const kv_reader *r) {
    return tly_base_fail(r->error, TLY_MALFORMED, here(r), "F-KV-TRUNC",
                         "the metadata ends in the middle of an entry");
}

/* Reads one value that is no array. `type` is 1 .. 6. */
static tly_status read_scalar(kv_reader *r, uint8_t type, tly_kv *out) {
    const uint8_t *bytes = NULL;
    uint32_t len = 0;
    uint8_t byte = 0;
    out->type = type;
    switch (type) {
    case TLY_KV_STRING:
    case TLY_KV_BYTES:
        if (!tly_cursor_u32(&r->in, &len) || !tly_cursor_take(&r->in, len, &bytes)) {
            return cut_off(r);
        }
        if (type == TLY_KV_STRING && tly_base_utf8_check(bytes, len) != len) {
            return tly_base_fail(r->error, TLY_MALFORMED, here(r) - len, "F-KV-STR-UTF8",
                                 "a text in the metadata is not UTF-8");
        }
        out->data = bytes;
        out->data_len = len;
        return TLY_OK;
    case TLY_KV_BOOL:
        if (!tly_cursor_u8(&r->in, &byte)) {
            return cut_off(r);
        }
        if (byte > 1) {
            return tly_base_fail(r->error, TLY_MALFORMED, here(r) - 1, "F-KV-BOOL",
                                 "a truth value in the metadata is %u, not 0 or 1", byte);
        }
        out->number = byte;
        return TLY_OK;
    default:
        return tly_cursor_u64(&r->in, &out->number) ? TLY_OK : cut_off(r);
    }
}

static tly_status read_array(kv_reader *r, tly_kv *out) {
    const uint8_t *start;
    tly_kv element;
    if (!tly_cursor_u8(&r->in, &out->element_type)) {
        return cut_off(r);
    }
    if (out->element_type < TLY_KV_STRING || out->element_type > TLY_KV_BYTES) {
        return tly_base_fail(r->error, TLY_MALFORMED, here(r) - 1, "F-KV-ARRAY",
                             "an array in the metadata has element type 0x%02X, not 1 to 6",
                             out->element_type);
    }
    if (!tly_cursor_u32(&r->in, &out->count)) {
        return cut_off(r);
    }
    start = r->in.at;
    for (uint32_t i = 0; i < out->count; i++) {
        tly_status status = read_scalar(r, out->element_type, &element);
        if (status != TLY_OK) {
            return status;
        }
    }
    out->type = TLY_KV_ARRAY;
    out->data = start;
    out->data_len = (uint64_t)(r->in.at - start);
    return TLY_OK;
}

static tly_status read_entry(kv_reader *r, tly_kv *out) {
    const uint8_t *key;
    uint16_t key_len;
    uint8_t type;
    memset(out, 0, sizeof *out);
    if (!tly_cursor_u16(&r->in, &key_len)) {
        return cut_off(r);
    }
    if (key_len == 0) {
        return tly_base_fail(r->error, TLY_MALFORMED, here(r) - 2, "F-KV-KEY-EMPTY",
                             "a key in the metadata is empty");
    }
    if (!tly_cursor_take(&r->in, key_len, &key)) {
        return cut_off(r);
    }
    if (tly_base_utf8_check(key, key_len) != key_len) {
        return tly_base_fail(r->error, TLY_MALFORMED, here(r) - key_len, "F-KV-KEY-UTF8",
                             "a key in the metadata is not UTF-8");
    }
    out->key = (const char *)key;
    out->key_len = key_len;
    if (!tly_cursor_u8(&r->in, &type)) {
        return cut_off(r);
    }
    if (type == TLY_KV_ARRAY) {
        return read_array(r, out);
    }
    if (type == 0 || type > TLY_KV_ARRAY) {
        int is_private = type >= 0xF0 && type != 0xFF;
        return tly_base_fail(r->error, is_private ? TLY_UNSUPPORTED : TLY_MALFORMED, here(r) - 1,
                             "F-KV-TAG", "value type 0x%02X in the metadata is %s", type,
                             is_private ? "private" : "reserved");
    }
    return read_scalar(r, type, out);
}

static const void *key_of(const void *owner, uint32_t number, size_t *out_len) {
    const tly_kv_list *list = owner;
    *out_len = list->entries[number].key_len;
    return list->entries[number].key;
}

#define MIN_ENTRY_LEN                                                                              \
    4 /* key length, type, one byte of value; an empty key has an error of its own */

static tly_status read_all(tly_kv_list *list, kv_reader *r, uint64_t max_entries) {
    uint32_t count;
    if (!tly_cursor_u32(&r->in, &count)) {
        return cut_off(r);
    }
    if (count > tly_cursor_left(&r->in) / MIN_ENTRY_LEN) {
        return tly_base_fail(r->error, TLY_MALFORMED, r->offset, "F-KV-TRUNC",
                             "%u entries cannot stand in %llu bytes of metadata", count,
                             (unsigned long long)list->len);
    }
    if (count > max_entries) {
        return tly_base_fail(r->error, TLY_LIMIT, r->offset, "F-KV-COUNT",
                             "%u entries of metadata are over the limit of %llu", count,
                             (unsigned long long)max_entries);
    }
    list->capacity = count;
    list->entries = tly_base_alloc(list->context, count * sizeof(tly_kv), _Alignof(tly_kv));
    if ((list->entries == NULL && count != 0) ||
        !tly_store_names_init(&list->names, list->context, count)) {
        return tly_base_fail(r->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for %u entries of metadata", count);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = here(r);
        tly_kv *entry = &list->entries[i];
        char shown[80];
        tly_status status = read_entry(r, entry);
        if (status != TLY_OK) {
            return status;
        }
        list->count++;
        switch (tly_store_names_add(&list->names, entry->key, entry->key_len, i, key_of, list)) {
        case TLY_STORE_NAMES_TAKEN:
            return tly_base_fail(
                r->error, TLY_MALFORMED, at, "F-KV-DUP",
                "the key \"%s\" stands in the metadata twice",
                tly_base_printable(shown, sizeof shown, entry->key, entry->key_len));
        case TLY_STORE_NAMES_NO_MEMORY:
            return tly_base_fail(r->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for the keys of the metadata");
        case TLY_STORE_NAMES_ADDED:
            break;
        }
    }
    if (tly_cursor_left(&r->in) != 0) {
        return tly_base_fail(r->error, TLY_MALFORMED, here(r), "F-KV-TRAIL",
                             "%zu bytes follow the last entry of the metadata",
                             tly_cursor_left(&r->in));
    }
    return TLY_OK;
}

tly_status tly_store_kv_parse(const tly_context *context, uint8_t *bytes, uint64_t len,
                              uint64_t offset, uint64_t max_entries, tly_kv_list **out_list,
                              tly_error *error) {
    kv_reader r = {tly_cursor_make(bytes, (size_t)len), offset, error};
    tly_kv_list *list = tly_base_calloc(context, sizeof *list, _Alignof(tly_kv_list));
    tly_status status = TLY_OK;
    if (list == NULL) {
        tly_base_free(context, bytes, (size_t)len, 1);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the metadata");
    }
    list->context = context;
    list->bytes = bytes;
    list->len = len;
    if (len != 0) {
        status = read_all(list, &r, max_entries);
    }
    if (status != TLY_OK) {
        tly_kv_list_free(list);
        return status;
    }
    *out_list = list;
    return TLY_OK;
}

void tly_kv_list_free(tly_kv_list *list) {
    if (list != NULL) {
        tly_store_names_cleanup(&list->names);
        tly_base_free(list->context, list->entries, (size_t)list->capacity * sizeof(tly_kv),
                      _Alignof(tly_kv));
        tly_base_free(list->context, list->bytes, (size_t)list->len, 1);
        tly_base_free(list->context, list, sizeof *list, _Alignof(tly_kv_list));
    }
}

uint64_t tly_kv_list_count(const tly_kv_list *list) {
    return list->count;
}

tly_status tly_kv_list_at(const tly_kv_list *list, uint64_t index, tly_kv *out_kv) {
    if (index >= list->count) {
        return TLY_INVALID_ARGUMENT;
    }
    *out_kv = list->entries[index];
    return TLY_OK;
}

tly_status tly_kv_list_find(const tly_kv_list *list, const char *key, size_t key_len,
                            tly_kv *out_kv) {
    uint32_t number = list->count != 0
                          ? tly_store_names_find(&list->names, key, key_len, key_of, list)
                          : UINT32_MAX;
    if (number == UINT32_MAX) {
        return TLY_NOT_FOUND;
    }
    *out_kv = list->entries[number];
    return TLY_OK;
}

tly_status tly_kv_next(const tly_kv *array, uint64_t *position, tly_kv *out_element) {
    kv_reader r = {{NULL, NULL, NULL}, 0, NULL};
    tly_status status;
    if (array->type != TLY_KV_ARRAY || array->element_type < TLY_KV_STRING ||
        array->element_type > TLY_KV_BYTES || *position > array->data_len) {
        return TLY_INVALID_ARGUMENT;
    }
    if (*position == array->data_len) {
        return TLY_NOT_FOUND;
    }
    r.in = tly_cursor_make(array->data, (size_t)array->data_len);
    r.in.at += *position;
    memset(out_element, 0, sizeof *out_element);
    status = read_scalar(&r, array->element_type, out_element);
    if (status == TLY_OK) {
        *position = tly_cursor_offset(&r.in);
    }
    return status;
}

/* Bytes of one value, without its type. */
static int value_len(const tly_kv *kv, uint64_t *out) {
    switch (kv->type) {
    case TLY_KV_STRING:
    case TLY_KV_BYTES:
        return tly_base_add_u64(kv->data_len, 4, out);
    case TLY_KV_ARRAY:
        return tly_base_add_u64(kv->data_len, 5, out);
    case TLY_KV_BOOL:
        *out = 1;
        return 0;
    default:
        *out = 8;
        return 0;
    }
}

static uint8_t *put_value(uint8_t *p, const tly_kv *kv) {
    switch (kv->type) {
    case TLY_KV_STRING:
    case TLY_KV_BYTES:
        tly_base_store_u32(p, (uint32_t)kv->data_len);
        p += 4;
        break;
    case TLY_KV_ARRAY:
        *p++ = kv->element_type;
        tly_base_store_u32(p, kv->count);
        p += 4;
        break;
    case TLY_KV_BOOL:
        *p = kv->number > 1 ? 2 : (uint8_t)kv->number;
        return p + 1;
    default:
        tly_base_store_u64(p, kv->number);
        return p + 8;
    }
    if (kv->data_len != 0) {
        memcpy(p, kv->data, (size_t)kv->data_len);
    }
    return p + kv->data_len;
}

tly_status tly_store_kv_encode(const tly_context *context, const tly_kv *kv, size_t num_kv,
                               uint8_t **out_bytes, uint32_t *out_len, tly_error *error) {
    uint64_t len = 4;
    uint8_t *bytes;
    uint8_t *copy;
    uint8_t *p;
    tly_kv_list *list;
    tly_status status;
    for (size_t i = 0; i < num_kv; i++) {
        uint64_t value;
        if (kv[i].key_len > UINT16_MAX || (kv[i].data_len != 0 && kv[i].data == NULL)) {
            return tly_base_fail(
                error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                "metadata entry %zu: the key is longer than 65535 bytes, or the data "
                "is NULL",
                i);
        }
        if (value_len(&kv[i], &value) || tly_base_add_u64(value, kv[i].key_len + 3, &value) ||
            tly_base_add_u64(len, value, &len) || len > UINT32_MAX) {
            return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "F-KV-BOUNDS",
                                 "the metadata is over 4 GiB, which the format cannot hold");
        }
    }
    bytes = tly_base_alloc(context, (size_t)len, 1);
    copy = tly_base_alloc(context, (size_t)len, 1);
    if (bytes == NULL || copy == NULL) {
        tly_base_free(context, bytes, (size_t)len, 1);
        tly_base_free(context, copy, (size_t)len, 1);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the metadata");
    }
    tly_base_store_u32(bytes, (uint32_t)num_kv);
    p = bytes + 4;
    for (size_t i = 0; i < num_kv; i++) {
        tly_base_store_u16(p, (uint16_t)kv[i].key_len);
        p += 2;
        if (kv[i].key_len != 0) {
            memcpy(p, kv[i].key, kv[i].key_len);
        }
        p += kv[i].key_len;
        *p++ = kv[i].type;
        p = put_value(p, &kv[i]);
    }
    memcpy(copy, bytes, (size_t)len);
    status = tly_store_kv_parse(context, copy, len, 0, UINT32_MAX, &list, error);
    if (status != TLY_OK) {
        tly_base_free(context, bytes, (size_t)len, 1);
        return status;
    }
    tly_kv_list_free(list);
    *out_bytes = bytes;
    *out_len = (uint32_t)len;
    return TLY_OK;
}
