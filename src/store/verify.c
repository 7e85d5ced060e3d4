/* SPDX-License-Identifier: Apache-2.0 */
/* Everything about a container that opening leaves out, but the data itself. */
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "store/format.h"
#include "store/store.h"

/* A part of the file that belongs to somebody: descriptor, data, metadata or index. */
typedef struct part {
    uint64_t start;
    uint64_t end;
} part;

static void sift(part *parts, uint64_t root, uint64_t count) {
    part moved = parts[root];
    for (;;) {
        uint64_t child = 2 * root + 1;
        if (child >= count) {
            break;
        }
        child += child + 1 < count && parts[child].start < parts[child + 1].start;
        if (moved.start >= parts[child].start) {
            break;
        }
        parts[root] = parts[child];
        root = child;
    }
    parts[root] = moved;
}

static void sort(part *parts, uint64_t count) {
    for (uint64_t i = count / 2; i-- > 0;) {
        sift(parts, i, count);
    }
    for (uint64_t n = count; n-- > 1;) {
        part first = parts[0];
        parts[0] = parts[n];
        parts[n] = first;
        sift(parts, 0, n);
    }
}

static tly_status check_zeros(const tly_store *s, uint64_t from, uint64_t to, tly_error *error) {
    uint8_t block[4096];
    while (from < to) {
        uint64_t len = to - from < sizeof block ? to - from : sizeof block;
        tly_status status = tly_store_fetch(s, from, block, len, error);
        if (status != TLY_OK) {
            return status;
        }
        for (uint64_t i = 0; i < len; i++) {
            if (block[i] != 0) {
                return tly_base_fail(error, TLY_MALFORMED, from + i, "F-PADDING",
                                     "a byte of padding is %u, not 0", block[i]);
            }
        }
        from += len;
    }
    return TLY_OK;
}

/* No two parts share a byte; between them is padding, and nothing but zeros. */
static tly_status check_parts(const tly_store *s, tly_error *error) {
    uint64_t room = 2 * s->num_entries + 2;
    size_t len = (size_t)room * sizeof(part);
    part *parts = tly_base_alloc(s->context, len, _Alignof(part));
    uint64_t count = 0;
    uint64_t end = TLY_STORE_HEADER_LEN;
    tly_status status = TLY_OK;
    if (parts == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory to compare the places of %llu tensors",
                             (unsigned long long)s->num_entries);
    }
    for (uint64_t i = 0; i < s->num_entries; i++) {
        tly_store_entry e;
        (void)tly_store_entry_at(s, i, &e);
        parts[count++] = (part){e.descriptor_offset, e.descriptor_offset + e.descriptor_len};
        if (e.data_len != 0) {
            parts[count++] = (part){e.data_offset, e.data_offset + e.data_len};
        }
    }
    if (s->kv_len != 0) {
        parts[count++] = (part){s->kv_offset, s->kv_offset + s->kv_len};
    }
    parts[count++] = (part){s->index_offset, s->index_offset + s->index_len};
    sort(parts, count);
    for (uint64_t i = 0; i < count && status == TLY_OK; i++) {
        if (parts[i].start < end) {
            status = tly_base_fail(error, TLY_MALFORMED, parts[i].start, "F-OVERLAP",
                                   "what begins at %llu overlaps what ends at %llu",
                                   (unsigned long long)parts[i].start, (unsigned long long)end);
            break;
        }
        status = check_zeros(s, end, parts[i].start, error);
        end = parts[i].end;
    }
    tly_base_free(s->context, parts, len, _Alignof(part));
    return status == TLY_OK ? check_zeros(s, end, s->len - TLY_STORE_TRAILER_LEN, error) : status;
}

/* Descriptors in the order in which they stand in the file, which is how composites bind their
 * members. */
static tly_status check_descriptors(const tly_store *s, const part *order,
                                    tly_composite_check *check, tly_error *error) {
    uint8_t *work = NULL;
    size_t work_len = 0;
    tly_status status = TLY_OK;
    for (uint64_t i = 0; i < s->num_entries && status == TLY_OK; i++) {
        tly_store_entry e;
        size_t need;
        tly_descriptor d;
        (void)tly_store_entry_at(s, order[i].end, &e);
        need = 2 * (size_t)e.descriptor_len + 64;
        if (need > work_len) {
            tly_base_free(s->context, work, work_len, 8);
            work = tly_base_alloc(s->context, need, 8);
            work_len = work != NULL ? need : 0;
            if (work == NULL) {
                status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                       "no memory for a descriptor of %u bytes", e.descriptor_len);
                break;
            }
        }
        status = tly_store_descriptor(s, order[i].end, work, work_len, &d, error);
        if (status == TLY_OK) {
            status = tly_composite_check_add(check, &d, error);
            if (status != TLY_OK && error != NULL) {
                error->offset = e.descriptor_offset;
            }
        }
    }
    tly_base_free(s->context, work, work_len, 8);
    return status == TLY_OK ? tly_composite_check_end(check, error) : status;
}

static tly_status check_tensors(const tly_store *s, tly_error *error) {
    size_t len = (size_t)s->num_entries * sizeof(part);
    part *order = tly_base_alloc(s->context, len, _Alignof(part)); /* start, number of the entry */
    tly_composite_check *check = NULL;
    tly_status status = TLY_OK;
    if (order == NULL && len != 0) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory to order %llu tensors", (unsigned long long)s->num_entries);
    }
    for (uint64_t i = 0; i < s->num_entries; i++) {
        tly_store_entry e;
        (void)tly_store_entry_at(s, i, &e);
        order[i] = (part){e.descriptor_offset, i};
    }
    sort(order, s->num_entries);
    status = tly_composite_check_new(s->context, &check, error);
    if (status == TLY_OK) {
        status = check_descriptors(s, order, check, error);
    }
    tly_composite_check_free(check);
    tly_base_free(s->context, order, len, _Alignof(part));
    return status;
}

tly_status tly_store_verify(const tly_store *store, tly_error *error) {
    tly_kv_list *kv;
    tly_status status = tly_store_kv(store, &kv, error);
    if (status != TLY_OK) {
        return status;
    }
    tly_kv_list_free(kv);
    status = check_tensors(store, error);
    return status == TLY_OK ? check_parts(store, error) : status;
}
