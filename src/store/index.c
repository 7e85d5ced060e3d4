/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a container (Hurray 1.0, file-format, Index Section). */
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/utf8.h"
#include "store/format.h"
#include "store/store.h"

static void decode_entry(const uint8_t *at, tly_store_entry *out) {
    const uint8_t *tail;
    out->name_len = tly_base_load_u16(at);
    out->name = (const char *)at + 2;
    tail = at + 2 + out->name_len;
    out->descriptor_offset = tly_base_load_u64(tail);
    out->descriptor_len = tly_base_load_u32(tail + 8);
    out->data_offset = tly_base_load_u64(tail + 12);
    out->data_len = tly_base_load_u64(tail + 20);
    out->reserved = tly_base_load_u32(tail + 28);
}

static const void *name_of(const void *owner, uint32_t number, size_t *out_len) {
    const tly_store *s = owner;
    const uint8_t *at = s->index + s->entries[number];
    *out_len = tly_base_load_u16(at);
    return at + 2;
}

/* Where an entry and its fields stand in the file. */
#define AT(s, offset) ((s)->index_offset + (offset))

static tly_status check_places(const tly_store *s, const tly_store_entry *e, uint64_t tail,
                               tly_error *error) {
    uint64_t end_of_tensors = s->len - TLY_STORE_TRAILER_LEN;
    uint64_t end;
    char shown[80];
#define NAME tly_base_printable(shown, sizeof shown, e->name, e->name_len)
    if (e->descriptor_offset % 8 != 0) {
        return tly_base_fail(error, TLY_MALFORMED, AT(s, tail), "F-DESC-ALIGN",
                             "\"%s\": descriptor at %llu, not a multiple of 8", NAME,
                             (unsigned long long)e->descriptor_offset);
    }
    if (tly_base_add_u64(e->descriptor_offset, e->descriptor_len, &end) || end > end_of_tensors ||
        e->descriptor_offset < s->first_descriptor) {
        return tly_base_fail(
            error, TLY_MALFORMED, AT(s, tail), "F-DESC-BOUNDS",
            "\"%s\": a descriptor of %u bytes at %llu does not lie inside the file", NAME,
            e->descriptor_len, (unsigned long long)e->descriptor_offset);
    }
    if (e->data_len != 0) {
        uint64_t data_end;
        if (e->data_offset % s->alignment != 0) {
            return tly_base_fail(error, TLY_MALFORMED, AT(s, tail + 12), "F-DATA-ALIGN",
                                 "\"%s\": data at %llu, not a multiple of %u", NAME,
                                 (unsigned long long)e->data_offset, s->alignment);
        }
        if (tly_base_add_u64(e->data_offset, e->data_len, &data_end) || data_end > end_of_tensors ||
            e->data_offset < end) {
            return tly_base_fail(
                error, TLY_MALFORMED, AT(s, tail + 12), "F-DATA-BOUNDS",
                "\"%s\": %llu bytes of data at %llu do not lie between descriptor and "
                "trailer",
                NAME, (unsigned long long)e->data_len, (unsigned long long)e->data_offset);
        }
    }
    if (e->reserved != 0) {
        return tly_base_fail(error, TLY_MALFORMED, AT(s, tail + 28), "F-ENTRY-FLAGS",
                             "\"%s\": flags 0x%08X of the index entry are not 0", NAME,
                             e->reserved);
    }
    if (e->descriptor_len > s->limits.max_descriptor_len) {
        return tly_base_fail(error, TLY_LIMIT, AT(s, tail + 8), "F-DESC-LIMIT",
                             "\"%s\": a descriptor of %u bytes is over the limit of %u", NAME,
                             e->descriptor_len, s->limits.max_descriptor_len);
    }
#undef NAME
    return TLY_OK;
}

static int name_order(const char *a, size_t a_len, const char *b, size_t b_len) {
    int order = memcmp(a, b, a_len < b_len ? a_len : b_len);
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static tly_status read_entry(tly_store *s, tly_cursor *in, uint32_t number, tly_error *error) {
    uint64_t start = tly_cursor_offset(in);
    const uint8_t *at = in->at;
    const uint8_t *rest;
    tly_store_entry e;
    tly_status status;
    uint16_t name_len;
    char shown[80];
    if (!tly_cursor_u16(in, &name_len) ||
        !tly_cursor_take(in, (uint64_t)name_len + TLY_STORE_ENTRY_TAIL_LEN, &rest)) {
        return tly_base_fail(error, TLY_MALFORMED, AT(s, start), "F-INDEX-TRUNC",
                             "the index ends in the middle of entry %u of %llu", number,
                             (unsigned long long)s->num_entries);
    }
    if (name_len == 0) {
        return tly_base_fail(error, TLY_MALFORMED, AT(s, start), "F-NAME-EMPTY",
                             "entry %u of the index has an empty name", number);
    }
    decode_entry(at, &e);
    if (name_len > s->limits.max_name_len) {
        return tly_base_fail(error, TLY_LIMIT, AT(s, start), "F-NAME-LEN",
                             "a name of %u bytes is over the limit of %u", name_len,
                             s->limits.max_name_len);
    }
    if (tly_base_utf8_check(e.name, name_len) != name_len) {
        return tly_base_fail(error, TLY_MALFORMED, AT(s, start + 2), "F-NAME-UTF8",
                             "the name \"%s\" is not UTF-8",
                             tly_base_printable(shown, sizeof shown, e.name, name_len));
    }
    status = check_places(s, &e, start + 2 + name_len, error);
    if (status != TLY_OK) {
        return status;
    }
    s->entries[number] = start;
    switch (tly_store_names_add(&s->names, e.name, name_len, number, name_of, s)) {
    case TLY_STORE_NAMES_TAKEN:
        return tly_base_fail(error, TLY_MALFORMED, AT(s, start), "F-NAME-DUP",
                             "the name \"%s\" stands in the index twice",
                             tly_base_printable(shown, sizeof shown, e.name, name_len));
    case TLY_STORE_NAMES_NO_MEMORY:
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for the names of the index");
    case TLY_STORE_NAMES_ADDED:
        break;
    }
    if ((s->flags & TLY_STORE_FLAG_SORTED) != 0 && number > 0) {
        size_t last_len;
        const char *last = name_of(s, number - 1, &last_len);
        if (name_order(last, last_len, e.name, name_len) >= 0) {
            return tly_base_fail(error, TLY_MALFORMED, AT(s, start), "F-SORTED",
                                 "the index is said to be sorted, but \"%s\" is out of order",
                                 tly_base_printable(shown, sizeof shown, e.name, name_len));
        }
    }
    return TLY_OK;
}

static tly_status load_index(tly_store *s, tly_error *error) {
    tly_status status;
    if (s->fd < 0 && s->blocks == NULL) {
        s->index = s->map + s->index_offset;
    } else {
        s->index_copy = tly_base_alloc(s->context, (size_t)s->index_len, 1);
        if (s->index_copy == NULL) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for an index of %llu bytes",
                                 (unsigned long long)s->index_len);
        }
        s->index = s->index_copy;
        status = tly_store_fetch(s, s->index_offset, s->index_copy, s->index_len, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    if ((s->flags & TLY_STORE_FLAG_CRC) != 0) {
        uint32_t sum = tly_base_crc32c(0, s->index, (size_t)s->index_len);
        if (sum != s->index_crc) {
            return tly_base_fail(error, TLY_MALFORMED, s->len - TLY_STORE_TRAILER_LEN + 28, "F-CRC",
                                 "the index is damaged: its check sum is %08X, not %08X", sum,
                                 s->index_crc);
        }
    }
    return TLY_OK;
}

tly_status tly_store_read_index(tly_store *store, tly_error *error) {
    tly_store *s = store;
    tly_cursor in;
    uint64_t count = 0;
    tly_status status = load_index(s, error);
    if (status != TLY_OK) {
        return status;
    }
    in = tly_cursor_make(s->index, (size_t)s->index_len);
    (void)tly_cursor_u64(&in, &count); /* 8 bytes are there: the frame is checked */
    if (count > tly_cursor_left(&in) / TLY_STORE_MIN_ENTRY_LEN) {
        return tly_base_fail(error, TLY_MALFORMED, s->index_offset, "F-INDEX-TRUNC",
                             "%llu tensors cannot stand in an index of %llu bytes",
                             (unsigned long long)count, (unsigned long long)s->index_len);
    }
    if (count > s->limits.max_tensors || count >= UINT32_MAX / 2) {
        return tly_base_fail(error, TLY_LIMIT, s->index_offset, "F-INDEX-COUNT",
                             "%llu tensors are over the limit of %llu", (unsigned long long)count,
                             (unsigned long long)s->limits.max_tensors);
    }
    s->num_entries = count;
    s->entries = tly_base_alloc(s->context, (size_t)count * sizeof *s->entries, _Alignof(uint64_t));
    if ((s->entries == NULL && count != 0) || !tly_store_names_init(&s->names, s->context, count)) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for %llu index entries", (unsigned long long)count);
    }
    for (uint32_t i = 0; i < count; i++) {
        status = read_entry(s, &in, i, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    if (tly_cursor_left(&in) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, s->index_offset + tly_cursor_offset(&in),
                             "F-INDEX-TRAIL", "%zu bytes follow the last entry of the index",
                             tly_cursor_left(&in));
    }
    return TLY_OK;
}

uint64_t tly_store_num_tensors(const tly_store *store) {
    return store->num_entries;
}

tly_status tly_store_entry_at(const tly_store *store, uint64_t index, tly_store_entry *out_entry) {
    if (index >= store->num_entries) {
        return TLY_INVALID_ARGUMENT;
    }
    decode_entry(store->index + store->entries[index], out_entry);
    return TLY_OK;
}

tly_status tly_store_find(const tly_store *store, const char *name, size_t name_len,
                          uint64_t *out_index) {
    uint32_t number = tly_store_names_find(&store->names, name, name_len, name_of, store);
    if (number == UINT32_MAX) {
        return TLY_NOT_FOUND;
    }
    *out_index = number;
    return TLY_OK;
}
