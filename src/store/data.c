/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors and data of the tensors in a container. */
#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"
#include "store/format.h"
#include "store/store.h"

static const char *shown_name(const tly_store_entry *e, char *out, size_t capacity) {
    return tly_base_printable(out, capacity, e->name, e->name_len);
}

/* An error inside a descriptor, said of the file: the offset counts from its start. */
static tly_status in_file(tly_status status, const tly_store_entry *e, tly_error *error) {
    if (error != NULL && status != TLY_OK && error->offset != TLY_NO_OFFSET) {
        error->offset += e->descriptor_offset;
    }
    return status;
}

/* Offset of buffer `number` and end of the whole data; the buffers are where the format puts them.
 * Returns 0, or 1 when an offset does not fit. */
static int place_buffers(uint64_t data_offset, uint32_t alignment, const tly_descriptor *d,
                         uint32_t number, uint64_t *out_offset, uint64_t *out_end) {
    uint64_t end = data_offset;
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        uint64_t start = end;
        if (i > 0 && tly_store_next_buffer(end, alignment, &start)) {
            return 1;
        }
        if (i == number) {
            *out_offset = start;
        }
        if (tly_base_add_u64(start, d->buffers[i].byte_size, &end)) {
            return 1;
        }
    }
    *out_end = end;
    return 0;
}

/* The index and the descriptor agree about lengths. */
static tly_status check_lengths(const tly_store *s, const tly_store_entry *e,
                                const tly_descriptor *d, tly_error *error) {
    uint64_t start;
    uint64_t end;
    char shown[80];
    if (place_buffers(e->data_offset, s->alignment, d, UINT32_MAX, &start, &end) ||
        end - e->data_offset != e->data_len) {
        return tly_base_fail(
            error, TLY_MALFORMED, e->descriptor_offset, "F-DATA-LEN",
            "\"%s\": the buffers of the descriptor do not take the %llu bytes of the "
            "index",
            shown_name(e, shown, sizeof shown), (unsigned long long)e->data_len);
    }
    return TLY_OK;
}

static tly_status read_descriptor(const tly_store *s, const tly_store_entry *e, uint8_t *bytes,
                                  void *work, size_t work_len, tly_descriptor *out,
                                  tly_error *error) {
    uint32_t own_len;
    char shown[80];
    tly_status status = tly_store_fetch(s, e->descriptor_offset, bytes, e->descriptor_len, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_descriptor_len(bytes, e->descriptor_len, &own_len, error);
    if (status != TLY_OK) {
        return in_file(status, e, error);
    }
    if (own_len != e->descriptor_len) {
        return tly_base_fail(error, TLY_MALFORMED, e->descriptor_offset + 6, "F-DESC-LEN",
                             "\"%s\": the descriptor has %u bytes, the index says %u",
                             shown_name(e, shown, sizeof shown), own_len, e->descriptor_len);
    }
    status = tly_descriptor_decode(bytes, own_len, work, work_len, out, NULL, error);
    if (status == TLY_OK) {
        status = check_lengths(s, e, out, error);
        return status == TLY_OK ? in_file(tly_descriptor_check_buffers(out, error), e, error)
                                : status;
    }
    return in_file(status, e, error);
}

tly_status tly_store_descriptor(const tly_store *store, uint64_t index, void *work, size_t work_len,
                                tly_descriptor *out_descriptor, tly_error *error) {
    tly_store_entry e;
    uint8_t *bytes = work;
    if (tly_store_entry_at(store, index, &e) != TLY_OK) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "there is no tensor %llu", (unsigned long long)index);
    }
    if (e.descriptor_len > work_len) {
        return tly_base_fail(error, TLY_LIMIT, e.descriptor_offset, "",
                             "a descriptor of %u bytes does not fit in %zu bytes of work memory",
                             e.descriptor_len, work_len);
    }
    return read_descriptor(store, &e, bytes, bytes + e.descriptor_len, work_len - e.descriptor_len,
                           out_descriptor, error);
}

tly_status tly_store_buffer_range(const tly_store *store, uint64_t index,
                                  const tly_descriptor *descriptor, uint32_t buffer,
                                  uint64_t *out_offset, uint64_t *out_len) {
    tly_store_entry e;
    uint64_t end;
    if (tly_store_entry_at(store, index, &e) != TLY_OK || buffer >= descriptor->num_buffers ||
        place_buffers(e.data_offset, store->alignment, descriptor, buffer, out_offset, &end)) {
        return TLY_INVALID_ARGUMENT;
    }
    *out_len = descriptor->buffers[buffer].byte_size;
    return TLY_OK;
}

static tly_status check_range(const tly_store *store, uint64_t index, uint64_t offset, uint64_t len,
                              tly_error *error) {
    tly_store_entry e;
    if (tly_store_entry_at(store, index, &e) != TLY_OK ||
        (len != 0 && (offset < e.data_offset || offset - e.data_offset > e.data_len ||
                      len > e.data_len - (offset - e.data_offset)))) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "%llu bytes at %llu are not data of tensor %llu",
                             (unsigned long long)len, (unsigned long long)offset,
                             (unsigned long long)index);
    }
    return TLY_OK;
}

tly_status tly_store_read(const tly_store *store, uint64_t index, uint64_t offset, void *buffer,
                          uint64_t len, tly_error *error) {
    tly_status status = check_range(store, index, offset, len, error);
    return status == TLY_OK ? tly_store_fetch(store, offset, buffer, len, error) : status;
}

tly_status tly_store_view(const tly_store *store, uint64_t index, uint64_t offset, uint64_t len,
                          const void **out_data, tly_error *error) {
    tly_status status = check_range(store, index, offset, len, error);
    if (status != TLY_OK) {
        return status;
    }
    if (store->map == NULL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "",
                             "the file is not mapped into memory: read it with tly_store_read");
    }
    if (!tly_store_intact(store)) {
        return tly_base_fail(error, TLY_TRUNCATED, TLY_NO_OFFSET, "F-SHRUNK",
                             "the file has become shorter since it was opened");
    }
    *out_data = len != 0 ? store->map + offset : store->map;
    return TLY_OK;
}
