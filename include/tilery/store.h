/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_STORE_H
#define TILERY_STORE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/status.h>
#include <tilery/tensor.h>

TLY_BEGIN_DECLS

/* Container files of the Hurray format 1.0 (file-format): named tensors with an index at the end.
 * Opening reads the index and nothing else. Every refusal names a rule of docs/internals/store.md
 * and the byte of the file at fault. */

/* What a reader takes. 0 in a field means the default in its comment. Nothing is ever allocated
 * that the file's own size does not back. */
typedef struct tly_store_limits {
    size_t size;                 /* sizeof(tly_store_limits) */
    uint64_t max_tensors;        /* 16,777,216 */
    uint64_t max_index_len;      /* bytes; 2 GiB */
    uint64_t max_kv_len;         /* bytes; 256 MiB */
    uint64_t max_kv_entries;     /* 1,048,576 */
    uint32_t max_name_len;       /* bytes; 65,535, which is also the most */
    uint32_t max_descriptor_len; /* bytes; 16 MiB */
} tly_store_limits;

typedef struct tly_store_open_options {
    size_t size;             /* sizeof(tly_store_open_options) */
    tly_store_limits limits; /* size 0: all defaults */
    uint32_t flags;          /* TLY_STORE_OPEN_* */
    uint32_t reserved;       /* 0 */
} tly_store_open_options;

/* The file is never mapped: no views, and no handler for SIGBUS is installed (see
 * tly_store_guard_begin). tly_store_read does everything. */
#define TLY_STORE_OPEN_NO_MAP 1u

/* An open container. Immutable, so any number of threads may use it. */
typedef struct tly_store tly_store;

/* Opens a file. `options` may be NULL. The time depends on the size of the index alone. Errors: IO,
 * TRUNCATED, MALFORMED, UNSUPPORTED (a later version), LIMIT, OUT_OF_MEMORY. */
TLY_API tly_status tly_store_open(const tly_context *context, const char *path,
                                  const tly_store_open_options *options, tly_store **out_store,
                                  tly_error *error);

/* The same on bytes in memory, which stay the caller's and must outlive the store. */
TLY_API tly_status tly_store_open_memory(const tly_context *context, const void *bytes, size_t len,
                                         const tly_store_open_options *options,
                                         tly_store **out_store, tly_error *error);

/* Closes a store; NULL is allowed. No guard on it may be open. */
TLY_API void tly_store_free(tly_store *store);

/* Number of tensors. Their indexes run from 0 in the order of the file's index. */
TLY_API uint64_t tly_store_num_tensors(const tly_store *store);

/* What the index says about a tensor. */
typedef struct tly_store_entry {
    const char *name; /* UTF-8, not NUL-terminated; lives as long as the store */
    size_t name_len;  /* bytes, >= 1 */
    uint64_t descriptor_offset;
    uint64_t data_offset; /* of buffer 0, in the file */
    uint64_t data_len;    /* of all buffers, padding between them included */
    uint32_t descriptor_len;
    uint32_t reserved;
} tly_store_entry;

/* Errors: INVALID_ARGUMENT (index). Thread-safe. */
TLY_API tly_status tly_store_entry_at(const tly_store *store, uint64_t index,
                                      tly_store_entry *out_entry);

/* Index of the tensor with exactly this name. Errors: NOT_FOUND. Thread-safe. */
TLY_API tly_status tly_store_find(const tly_store *store, const char *name, size_t name_len,
                                  uint64_t *out_index);

/* Reads and checks the descriptor of a tensor, and that its buffers are those that the index
 * announces and hold every element. `work` as in tly_descriptor_decode, but the descriptor's bytes
 * are placed there too: TLY_STORE_WORK_LEN is enough unless private data is large; twice the
 * descriptor's length plus 64 always is. Errors: as tly_descriptor_decode; IO; LIMIT (work).
 * Thread-safe. */
TLY_API tly_status tly_store_descriptor(const tly_store *store, uint64_t index, void *work,
                                        size_t work_len, tly_descriptor *out_descriptor,
                                        tly_error *error);
#define TLY_STORE_WORK_LEN 40960

/* Where buffer `buffer` of a tensor lies in the file, and how long it is. `descriptor` comes from
 * tly_store_descriptor for the same index. Errors: INVALID_ARGUMENT. Thread-safe. */
TLY_API tly_status tly_store_buffer_range(const tly_store *store, uint64_t index,
                                          const tly_descriptor *descriptor, uint32_t buffer,
                                          uint64_t *out_offset, uint64_t *out_len);

/* Copies `len` bytes at `offset` of the file, which must lie in the data of the tensor `index`
 * (take them from tly_store_buffer_range). Errors: INVALID_ARGUMENT (outside), IO, TRUNCATED (the
 * file has become shorter since it was opened). Thread-safe. */
TLY_API tly_status tly_store_read(const tly_store *store, uint64_t index, uint64_t offset,
                                  void *buffer, uint64_t len, tly_error *error);

/* The same bytes in place, without a copy. A file on disk may be cut short by somebody else while
 * it is mapped, and the system then answers a read with SIGBUS: so the bytes may be touched only
 * between tly_store_guard_begin and tly_store_guard_end on the thread that touches them, and what
 * was made of them counts only if tly_store_guard_end says OK. Errors: INVALID_ARGUMENT (outside),
 * UNSUPPORTED (TLY_STORE_OPEN_NO_MAP), TRUNCATED (found short before). Thread-safe. */
TLY_API tly_status tly_store_view(const tly_store *store, uint64_t index, uint64_t offset,
                                  uint64_t len, const void **out_data, tly_error *error);

/* Memory for one guard; the caller's, on the stack as a rule. No field is public. */
typedef struct tly_store_guard {
    struct tly_store_guard *next;
    struct tly_store_guard *previous;
    const tly_store *store;
    void *reserved;
} tly_store_guard;

/* From here on this thread may touch views of `store`. Where the file has lost bytes the thread
 * reads zeros instead of dying. This needs a handler for SIGBUS: it is installed by the first guard
 * (and again when another was put over it), and passes everything else on to the handler that it
 * found (docs/adr/0005-truncated-maps.md). Guards nest, on one store or several. Cannot fail. */
TLY_API void tly_store_guard_begin(const tly_store *store, tly_store_guard *guard);

/* Closes a guard, on the thread that opened it. TRUNCATED: the file is shorter than it was, and
 * what was read since tly_store_guard_begin may be zeros. */
TLY_API tly_status tly_store_guard_end(tly_store_guard *guard, tly_error *error);

/* 0 once any guard has met a hole in the file; such a store gives no more views. Thread-safe. */
TLY_API int tly_store_intact(const tly_store *store);

/* Checks everything that opening leaves out: the metadata, every descriptor and its buffers, that
 * composites are whole, that nothing overlaps, and that padding is zero. Reads no tensor's data.
 * Errors: as the functions above, LIMIT and OVERFLOW for composites. Thread-safe. */
TLY_API tly_status tly_store_verify(const tly_store *store, tly_error *error);

/* --- key-value metadata (Hurray 1.0, file-format, KV metadata) --- */

typedef enum tly_kv_type {
    TLY_KV_STRING = 1,
    TLY_KV_I64 = 2,
    TLY_KV_U64 = 3,
    TLY_KV_F64 = 4,
    TLY_KV_BOOL = 5,
    TLY_KV_BYTES = 6,
    TLY_KV_ARRAY = 7
} tly_kv_type;

/* One entry, or one element of an array (then without a key). */
typedef struct tly_kv {
    const char *key;      /* UTF-8, not NUL-terminated */
    size_t key_len;       /* bytes, >= 1 */
    const void *data;     /* string (UTF-8), bytes; array: its elements as they stand in the file */
    uint64_t data_len;    /* bytes */
    uint64_t number;      /* i64 and f64 by their bits, u64, bool 0 or 1 */
    uint32_t count;       /* array: elements */
    uint8_t type;         /* tly_kv_type */
    uint8_t element_type; /* array: tly_kv_type, not TLY_KV_ARRAY */
    uint16_t reserved;    /* 0 */
} tly_kv;

/* All entries of a file, read and checked. Immutable. Lives on its own, after the store too. */
typedef struct tly_kv_list tly_kv_list;

/* Reads the metadata of a store; a file without any gives an empty list. Errors: IO, TRUNCATED,
 * MALFORMED, LIMIT, OUT_OF_MEMORY. */
TLY_API tly_status tly_store_kv(const tly_store *store, tly_kv_list **out_list, tly_error *error);
TLY_API void tly_kv_list_free(tly_kv_list *list);
TLY_API uint64_t tly_kv_list_count(const tly_kv_list *list);

/* Errors: INVALID_ARGUMENT (index). Thread-safe. */
TLY_API tly_status tly_kv_list_at(const tly_kv_list *list, uint64_t index, tly_kv *out_kv);

/* Errors: NOT_FOUND. Thread-safe. */
TLY_API tly_status tly_kv_list_find(const tly_kv_list *list, const char *key, size_t key_len,
                                    tly_kv *out_kv);

/* Next element of an array. `position` is 0 at first and belongs to the caller. Errors: NOT_FOUND
 * (no more), INVALID_ARGUMENT (not an array). Thread-safe. */
TLY_API tly_status tly_kv_next(const tly_kv *array, uint64_t *position, tly_kv *out_element);

/* --- writing --- */

/* A file being written. It is not visible under its name before tly_store_writer_commit, and then
 * all at once, in place of an older file of that name. Single-owner. */
typedef struct tly_store_writer tly_store_writer;

#define TLY_STORE_WRITE_UNSORTED 1u /* index in the order of writing; sorted by name otherwise */

typedef struct tly_store_writer_options {
    size_t size;             /* sizeof(tly_store_writer_options) */
    uint32_t data_alignment; /* bytes, a power of two, 4096 .. 2 MiB; 0: 4096 */
    uint32_t flags;          /* TLY_STORE_WRITE_* */
    uint64_t tensor_count;   /* number of tensors if known; 0: not known. commit checks it */
    const tly_kv *kv;        /* metadata, copied; array data as it stands in the file */
    size_t num_kv;
} tly_store_writer_options;

/* Starts a file. `options` may be NULL. The folder must be writable; `path` may exist as a regular
 * file. Errors: INVALID_ARGUMENT, MALFORMED (metadata), IO, OUT_OF_MEMORY. */
TLY_API tly_status tly_store_writer_new(const tly_context *context, const char *path,
                                        const tly_store_writer_options *options,
                                        tly_store_writer **out_writer, tly_error *error);

/* Writes one tensor. `buffers` has descriptor->num_buffers pointers, each to the byte_size bytes of
 * that buffer. Errors: EXISTS (name), INVALID_ARGUMENT (name empty, over 65,535 bytes or not
 * UTF-8), MALFORMED (descriptor), IO, OUT_OF_MEMORY. After IO or OUT_OF_MEMORY the writer is
 * broken: every further call but free gives that status again. */
TLY_API tly_status tly_store_writer_add(tly_store_writer *writer, const char *name, size_t name_len,
                                        const tly_descriptor *descriptor,
                                        const void *const *buffers, tly_error *error);

/* The same piece by piece: begin, any number of appends that together are the bytes of all buffers
 * back to back (tly_descriptor_data_len; the padding between is the writer's affair), end. Errors
 * as above; INVALID_ARGUMENT for too many or too few bytes, or another tensor begun meanwhile. */
TLY_API tly_status tly_store_writer_begin(tly_store_writer *writer, const char *name,
                                          size_t name_len, const tly_descriptor *descriptor,
                                          tly_error *error);
TLY_API tly_status tly_store_writer_append(tly_store_writer *writer, const void *bytes,
                                           uint64_t len, tly_error *error);
TLY_API tly_status tly_store_writer_end(tly_store_writer *writer, tly_error *error);

/* Writes the index, makes everything durable and puts the file in its place. On success, and only
 * then, the new file is there. Errors: IO, INVALID_ARGUMENT (a tensor not ended, tensor_count). The
 * writer still has to be freed. */
TLY_API tly_status tly_store_writer_commit(tly_store_writer *writer, tly_error *error);

/* Frees a writer; NULL is allowed. Without a commit nothing of it stays on disk. */
TLY_API void tly_store_writer_free(tly_store_writer *writer);

TLY_END_DECLS

#endif
