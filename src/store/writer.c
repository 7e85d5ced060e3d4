/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a container in one forward pass (Hurray 1.0, file-format, Writer Protocol). */
#include "store/writer.h"

#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/crc32c.h"
#include "base/error.h"
#include "base/utf8.h"
#include "store/format.h"
#include "store/kv.h"
#include "store/names.h"

/* The tensor that is being written. */
typedef struct open_tensor {
    int is_open;
    tly_descriptor descriptor; /* its arrays live in `work` */
    uint8_t *work;             /* the descriptor's bytes, then work memory */
    size_t work_len;
    uint64_t entry;      /* where its index entry begins */
    uint32_t buffer;     /* buffer that the next byte belongs to */
    uint64_t filled;     /* bytes of that buffer */
    uint64_t data_start; /* in the file */
} open_tensor;

struct tly_store_writer {
    const tly_context *context;
    tly_atomic_file *file;
    uint32_t alignment;
    uint32_t flags; /* of the file */
    uint64_t expected;
    uint8_t *kv;
    uint32_t kv_len;
    uint8_t *index; /* encoded entries, in the order of writing */
    uint64_t index_len;
    uint64_t index_capacity;
    uint64_t *entries; /* where each begins in `index` */
    uint64_t num_entries;
    uint64_t entries_capacity;
    tly_store_names names;
    open_tensor tensor;
    int committed;
    tly_error broken; /* status other than OK: what broke the writer */
};

/* Remembers an error after which the file cannot be continued. */
static tly_status broken(tly_store_writer *w, tly_status status, const tly_error *seen,
                         tly_error *error) {
    w->broken = *seen;
    if (error != NULL) {
        *error = *seen;
    }
    return status;
}

static tly_status check_alive(const tly_store_writer *w, tly_error *error) {
    if (w->broken.status != TLY_OK) {
        if (error != NULL) {
            *error = w->broken;
        }
        return w->broken.status;
    }
    if (w->committed) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "the container is committed already");
    }
    return TLY_OK;
}

static tly_status put(tly_store_writer *w, const void *bytes, uint64_t len, tly_error *error) {
    tly_error seen;
    tly_status status = tly_atomic_file_write(w->file, bytes, len, &seen);
    return status == TLY_OK ? status : broken(w, status, &seen, error);
}

static tly_status pad(tly_store_writer *w, uint64_t unit, tly_error *error) {
    uint64_t at = tly_atomic_file_len(w->file);
    uint64_t rest = at % unit;
    tly_error seen;
    tly_status status = tly_atomic_file_write_zeros(w->file, rest != 0 ? unit - rest : 0, &seen);
    return status == TLY_OK ? status : broken(w, status, &seen, error);
}

static tly_status no_memory(tly_store_writer *w, tly_error *error) {
    tly_error seen;
    tly_status status = tly_base_fail(&seen, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                      "no memory for the index of a container");
    return broken(w, status, &seen, error);
}

static tly_status write_header(tly_store_writer *w, tly_error *error) {
    uint8_t h[TLY_STORE_HEADER_LEN] = {'H', 'R', 'R', 'Y', 'F', 'I', 'L', 'E', 1, 0};
    tly_base_store_u32(h + 12, w->flags);
    tly_base_store_u32(h + 16, w->alignment);
    tly_base_store_u64(h + 20, TLY_STORE_HEADER_LEN);
    tly_base_store_u64(h + 28, w->expected != 0 ? w->expected : TLY_STORE_UNKNOWN_COUNT);
    return put(w, h, sizeof h, error);
}

static tly_status take_options(tly_store_writer *w, const tly_store_writer_options *o,
                               tly_error *error) {
    w->alignment = TLY_STORE_MIN_ALIGNMENT;
    w->flags = TLY_STORE_FLAG_CRC | TLY_STORE_FLAG_SORTED;
    if (o == NULL) {
        return TLY_OK;
    }
    if (o->size < sizeof *o || (o->flags & ~TLY_STORE_WRITE_UNSORTED) != 0 ||
        (o->num_kv != 0 && o->kv == NULL)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "size, flags or kv of tly_store_writer_options are not set correctly");
    }
    if (o->data_alignment != 0) {
        w->alignment = o->data_alignment;
    }
    if (!tly_base_is_power_of_two(w->alignment) || w->alignment < TLY_STORE_MIN_ALIGNMENT ||
        w->alignment > TLY_STORE_MAX_ALIGNMENT) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "F-ALIGN",
                             "data alignment %u is not a power of two from %u to %u", w->alignment,
                             TLY_STORE_MIN_ALIGNMENT, TLY_STORE_MAX_ALIGNMENT);
    }
    if ((o->flags & TLY_STORE_WRITE_UNSORTED) != 0) {
        w->flags &= ~TLY_STORE_FLAG_SORTED;
    }
    w->expected = o->tensor_count;
    if (o->num_kv != 0) {
        w->flags |= TLY_STORE_FLAG_KV;
        return tly_store_kv_encode(w->context, o->kv, o->num_kv, &w->kv, &w->kv_len, error);
    }
    return TLY_OK;
}

tly_status tly_store_writer_new_with(const tly_context *context, const char *path,
                                     const tly_store_writer_options *options,
                                     const tly_file_calls *calls, tly_store_writer **out_writer,
                                     tly_error *error) {
    tly_store_writer *w = tly_base_calloc(context, sizeof *w, _Alignof(tly_store_writer));
    tly_status status;
    if (w == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a writer");
    }
    w->context = context;
    status = take_options(w, options, error);
    if (status == TLY_OK && !tly_store_names_init(&w->names, context, 16)) {
        status = no_memory(w, error);
    }
    if (status == TLY_OK) {
        status = tly_atomic_file_new(context, path, calls, &w->file, error);
    }
    if (status == TLY_OK) {
        status = write_header(w, error);
    }
    if (status != TLY_OK) {
        tly_store_writer_free(w);
        return status;
    }
    *out_writer = w;
    return TLY_OK;
}

tly_status tly_store_writer_new(const tly_context *context, const char *path,
                                const tly_store_writer_options *options,
                                tly_store_writer **out_writer, tly_error *error) {
    return tly_store_writer_new_with(context, path, options, &tly_file_system_calls, out_writer,
                                     error);
}

static const void *name_of(const void *owner, uint32_t number, size_t *out_len) {
    const tly_store_writer *w = owner;
    const uint8_t *at = w->index + w->entries[number];
    *out_len = tly_base_load_u16(at);
    return at + 2;
}

/* Doubles a block until it holds `need` bytes. 0: no memory. */
static int reserve(const tly_context *context, void **block, uint64_t *capacity, uint64_t need,
                   size_t alignment) {
    uint64_t wanted = *capacity != 0 ? *capacity : 1024;
    void *grown;
    if (need <= *capacity) {
        return 1;
    }
    while (wanted < need) {
        wanted *= 2;
    }
    grown = tly_base_grow(context, *block, (size_t)*capacity, (size_t)wanted, alignment);
    if (grown == NULL) {
        return 0;
    }
    *block = grown;
    *capacity = wanted;
    return 1;
}

/* The descriptor as bytes, and decoded from them: from here on the caller's arrays are not needed.
 */
static tly_status keep_descriptor(tly_store_writer *w, const tly_descriptor *descriptor,
                                  size_t *out_len, tly_error *error) {
    open_tensor *t = &w->tensor;
    size_t len;
    tly_status status = tly_descriptor_encode(descriptor, NULL, 0, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    t->work_len = 2 * len + 64;
    t->work = tly_base_alloc(w->context, t->work_len, 8);
    if (t->work == NULL) {
        t->work_len = 0;
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a descriptor of %zu bytes", len);
    }
    status = tly_descriptor_encode(descriptor, t->work, len, &len, error);
    if (status == TLY_OK) {
        status = tly_descriptor_decode(t->work, len, t->work + len, t->work_len - len,
                                       &t->descriptor, NULL, error);
    }
    if (status == TLY_OK) {
        status = tly_descriptor_check_buffers(&t->descriptor, error);
    }
    *out_len = len;
    return status;
}

static void drop_descriptor(tly_store_writer *w) {
    tly_base_free(w->context, w->tensor.work, w->tensor.work_len, 8);
    w->tensor.work = NULL;
    w->tensor.work_len = 0;
}

static tly_status check_name(const char *name, size_t len, tly_error *error) {
    char shown[80];
    if (len == 0 || len > UINT16_MAX || name == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET,
                             len == 0 ? "F-NAME-EMPTY" : "F-NAME-LEN",
                             "a tensor name of %zu bytes: it takes 1 to %d", len, UINT16_MAX);
    }
    if (tly_base_utf8_check(name, len) != len) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "F-NAME-UTF8",
                             "the name \"%s\" is not UTF-8",
                             tly_base_printable(shown, sizeof shown, name, len));
    }
    return TLY_OK;
}

/* Puts name and descriptor place into the index; data place and length follow at the end. */
static tly_status add_entry(tly_store_writer *w, const char *name, size_t name_len,
                            size_t descriptor_len, tly_error *error) {
    uint64_t entry_len = 2 + name_len + TLY_STORE_ENTRY_TAIL_LEN;
    void *index = w->index;
    void *entries = w->entries;
    uint8_t *at;
    char shown[80];
    int ok = reserve(w->context, &index, &w->index_capacity, w->index_len + entry_len, 1);
    w->index = index;
    ok = ok && reserve(w->context, &entries, &w->entries_capacity,
                       (w->num_entries + 1) * sizeof *w->entries, _Alignof(uint64_t));
    w->entries = entries;
    if (!ok) {
        return no_memory(w, error);
    }
    at = w->index + w->index_len;
    memset(at, 0, (size_t)entry_len);
    tly_base_store_u16(at, (uint16_t)name_len);
    memcpy(at + 2, name, name_len);
    tly_base_store_u64(at + 2 + name_len, tly_atomic_file_len(w->file));
    tly_base_store_u32(at + 2 + name_len + 8, (uint32_t)descriptor_len);
    w->entries[w->num_entries] = w->index_len;
    switch (tly_store_names_add(&w->names, name, name_len, (uint32_t)w->num_entries, name_of, w)) {
    case TLY_STORE_NAMES_TAKEN:
        return tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "F-NAME-DUP",
                             "the container has a tensor \"%s\" already",
                             tly_base_printable(shown, sizeof shown, name, name_len));
    case TLY_STORE_NAMES_NO_MEMORY:
        return no_memory(w, error);
    case TLY_STORE_NAMES_ADDED:
        break;
    }
    w->tensor.entry = w->index_len;
    w->index_len += entry_len;
    w->num_entries++;
    return TLY_OK;
}

/* Bytes that the buffer still takes; the head of a composite has none. */
static uint64_t left_of_buffer(const open_tensor *t) {
    return t->descriptor.num_buffers != 0 ? t->descriptor.buffers[t->buffer].byte_size - t->filled
                                          : 0;
}

/* Goes on to the next buffer that takes bytes; pads in front of every buffer that begins. */
static tly_status next_buffer(tly_store_writer *w, tly_error *error) {
    open_tensor *t = &w->tensor;
    while (t->buffer + 1 < t->descriptor.num_buffers &&
           t->filled == t->descriptor.buffers[t->buffer].byte_size) {
        tly_status status = pad(w, w->alignment, error);
        if (status != TLY_OK) {
            return status;
        }
        t->buffer++;
        t->filled = 0;
    }
    return TLY_OK;
}

tly_status tly_store_writer_begin(tly_store_writer *writer, const char *name, size_t name_len,
                                  const tly_descriptor *descriptor, tly_error *error) {
    tly_store_writer *w = writer;
    size_t len = 0;
    tly_status status = check_alive(w, error);
    if (status != TLY_OK) {
        return status;
    }
    if (w->tensor.is_open || w->num_entries == UINT32_MAX / 2) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "the tensor before is not ended, or there are too many");
    }
    status = check_name(name, name_len, error);
    if (status == TLY_OK) {
        status = keep_descriptor(w, descriptor, &len, error);
    }
    if (status == TLY_OK) {
        status = add_entry(w, name, name_len, len, error);
    }
    if (status != TLY_OK) {
        drop_descriptor(w);
        return status == TLY_OUT_OF_MEMORY ? no_memory(w, error) : status;
    }
    w->tensor.is_open = 1;
    w->tensor.buffer = 0;
    w->tensor.filled = 0;
    status = put(w, w->tensor.work, len, error);
    if (status == TLY_OK && w->tensor.descriptor.num_buffers != 0) { /* a head has no data */
        status = pad(w, w->alignment, error);
    }
    w->tensor.data_start = tly_atomic_file_len(w->file);
    return status == TLY_OK ? next_buffer(w, error) : status;
}

tly_status tly_store_writer_append(tly_store_writer *writer, const void *bytes, uint64_t len,
                                   tly_error *error) {
    tly_store_writer *w = writer;
    open_tensor *t = &w->tensor;
    const uint8_t *from = bytes;
    tly_status status = check_alive(w, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!t->is_open) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "no tensor is begun: these bytes belong to none");
    }
    while (len > 0) {
        uint64_t piece = left_of_buffer(t);
        if (piece == 0) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                                 "%llu bytes more than the buffers of the tensor have",
                                 (unsigned long long)len);
        }
        piece = piece < len ? piece : len;
        status = put(w, from, piece, error);
        if (status != TLY_OK) {
            return status;
        }
        from += piece;
        len -= piece;
        t->filled += piece;
        status = next_buffer(w, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

tly_status tly_store_writer_end(tly_store_writer *writer, tly_error *error) {
    tly_store_writer *w = writer;
    open_tensor *t = &w->tensor;
    uint8_t *tail;
    tly_status status = check_alive(w, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!t->is_open || t->buffer + 1u < t->descriptor.num_buffers || left_of_buffer(t) != 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "the tensor has not got all bytes of its buffers yet");
    }
    tail = w->index + t->entry + 2 + tly_base_load_u16(w->index + t->entry);
    tly_base_store_u64(tail + 12, t->data_start);
    tly_base_store_u64(tail + 20, tly_atomic_file_len(w->file) - t->data_start);
    t->is_open = 0;
    drop_descriptor(w);
    return pad(w, 8, error);
}

tly_status tly_store_writer_add(tly_store_writer *writer, const char *name, size_t name_len,
                                const tly_descriptor *descriptor, const void *const *buffers,
                                tly_error *error) {
    tly_status status;
    for (uint32_t i = 0; i < descriptor->num_buffers; i++) {
        if (buffers == NULL || (buffers[i] == NULL && descriptor->buffers[i].byte_size != 0)) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                                 "the bytes of buffer %u are not given", i);
        }
    }
    status = tly_store_writer_begin(writer, name, name_len, descriptor, error);
    for (uint32_t i = 0; i < descriptor->num_buffers && status == TLY_OK; i++) {
        status =
            tly_store_writer_append(writer, buffers[i], descriptor->buffers[i].byte_size, error);
    }
    return status == TLY_OK ? tly_store_writer_end(writer, error) : status;
}

static int in_order(const tly_store_writer *w, uint64_t a, uint64_t b) {
    const uint8_t *x = w->index + a;
    const uint8_t *y = w->index + b;
    size_t x_len = tly_base_load_u16(x);
    size_t y_len = tly_base_load_u16(y);
    int order = memcmp(x + 2, y + 2, x_len < y_len ? x_len : y_len);
    return order != 0 ? order < 0 : x_len < y_len;
}

static void sift(const tly_store_writer *w, uint64_t *entries, uint64_t root, uint64_t count) {
    uint64_t moved = entries[root];
    for (;;) {
        uint64_t child = 2 * root + 1;
        if (child >= count) {
            break;
        }
        child += child + 1 < count && in_order(w, entries[child], entries[child + 1]);
        if (!in_order(w, moved, entries[child])) {
            break;
        }
        entries[root] = entries[child];
        root = child;
    }
    entries[root] = moved;
}

/* Heap sort: no memory, and no input on which it is slow. */
static void sort_entries(tly_store_writer *w) {
    for (uint64_t i = w->num_entries / 2; i-- > 0;) {
        sift(w, w->entries, i, w->num_entries);
    }
    for (uint64_t n = w->num_entries; n-- > 1;) {
        uint64_t first = w->entries[0];
        w->entries[0] = w->entries[n];
        w->entries[n] = first;
        sift(w, w->entries, 0, n);
    }
}

static tly_status put_summed(tly_store_writer *w, const void *bytes, uint64_t len, uint32_t *sum,
                             tly_error *error) {
    *sum = tly_base_crc32c(*sum, bytes, (size_t)len);
    return put(w, bytes, len, error);
}

static tly_status write_index(tly_store_writer *w, uint32_t *out_sum, tly_error *error) {
    uint8_t count[8];
    tly_status status;
    tly_base_store_u64(count, w->num_entries);
    *out_sum = 0;
    status = put_summed(w, count, sizeof count, out_sum, error);
    for (uint64_t i = 0; i < w->num_entries && status == TLY_OK; i++) {
        const uint8_t *at = w->index + w->entries[i];
        status = put_summed(w, at, 2u + tly_base_load_u16(at) + TLY_STORE_ENTRY_TAIL_LEN, out_sum,
                            error);
    }
    return status;
}

static tly_status write_end(tly_store_writer *w, tly_error *error) {
    uint8_t t[TLY_STORE_TRAILER_LEN] = {0};
    uint64_t index_at;
    uint32_t sum;
    tly_status status = pad(w, 8, error);
    if (status == TLY_OK && w->kv_len != 0) {
        tly_base_store_u64(t + 16, tly_atomic_file_len(w->file));
        tly_base_store_u32(t + 24, w->kv_len);
        status = put(w, w->kv, w->kv_len, error);
        status = status == TLY_OK ? pad(w, 8, error) : status;
    }
    if (status != TLY_OK) {
        return status;
    }
    index_at = tly_atomic_file_len(w->file);
    status = write_index(w, &sum, error);
    if (status != TLY_OK) {
        return status;
    }
    tly_base_store_u64(t, index_at);
    tly_base_store_u64(t + 8, tly_atomic_file_len(w->file) - index_at);
    tly_base_store_u32(t + 28, sum);
    memcpy(t + 36, "HRRY", 4);
    return put(w, t, sizeof t, error);
}

tly_status tly_store_writer_commit(tly_store_writer *writer, tly_error *error) {
    tly_store_writer *w = writer;
    tly_error seen;
    tly_status status = check_alive(w, error);
    if (status != TLY_OK) {
        return status;
    }
    if (w->tensor.is_open) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "the last tensor is not ended");
    }
    if (w->expected != 0 && w->expected != w->num_entries) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "",
                             "%llu tensors were announced, %llu written",
                             (unsigned long long)w->expected, (unsigned long long)w->num_entries);
    }
    if ((w->flags & TLY_STORE_FLAG_SORTED) != 0) {
        sort_entries(w);
    }
    status = write_end(w, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_atomic_file_commit(w->file, &seen);
    if (status != TLY_OK) {
        return broken(w, status, &seen, error);
    }
    w->committed = 1;
    return TLY_OK;
}

void tly_store_writer_free(tly_store_writer *writer) {
    tly_store_writer *w = writer;
    if (w == NULL) {
        return;
    }
    drop_descriptor(w);
    tly_atomic_file_free(w->file);
    tly_store_names_cleanup(&w->names);
    tly_base_free(w->context, w->kv, w->kv_len, 1);
    tly_base_free(w->context, w->index, (size_t)w->index_capacity, 1);
    tly_base_free(w->context, w->entries, (size_t)w->entries_capacity, _Alignof(uint64_t));
    tly_base_free(w->context, w, sizeof *w, _Alignof(tly_store_writer));
}
