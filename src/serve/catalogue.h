/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_SERVE_CATALOGUE_H
#define TLY_SERVE_CATALOGUE_H

#include <tilery/serve.h>
#include <tilery/store.h>

/* One tensor on offer: in a container file, or in memory. */
typedef struct tly_catalogue_entry {
    const char *key; /* NUL-terminated; `key_len` is what counts */
    size_t key_len;
    const tly_store *store; /* NULL: in memory */
    uint64_t index;         /* in `store` */
    const uint8_t *descriptor;
    size_t descriptor_len;
    const void *data;
} tly_catalogue_entry;

/* Which bytes stand behind a tensor. As long as it stays the same, what was packed from them holds;
 * a file that was written to or replaced has another. Compared as memory. */
typedef struct tly_catalogue_source {
    uint64_t device, inode, file_len, changed_ns; /* of the file; all 0: in memory */
    uint64_t place;                               /* number in the file, or address */
} tly_catalogue_source;

/* Asks the system about the file as it is now. Returns 0 where it does not say. Thread-safe. */
int tly_catalogue_get_source(const tly_store *store, uint64_t place, tly_catalogue_source *out);

/* Grows with every tensor that is added: what was found before may look different now. */
uint64_t tly_catalogue_generation(const tly_catalogue *catalogue);

typedef struct tly_uploads tly_uploads;
struct tly_upload;

/* What has been put, or NULL where nothing can be. */
tly_uploads *tly_catalogue_uploads(const tly_catalogue *catalogue);

/* Is this the key of a tensor that stays as it is: of a file, or in memory? Thread-safe. */
int tly_catalogue_is_fixed(const tly_catalogue *catalogue, const char *key, size_t key_len);

/* Keys are compared byte by byte and never become file names. NULL if there is none. The entry
 * lives as long as the catalogue, or, if `out_hold` is set, as long as that reference
 * (serve/uploads.h): what has been put may be replaced. Thread-safe. */
const tly_catalogue_entry *tly_catalogue_find(const tly_catalogue *catalogue, const char *key,
                                              size_t key_len, struct tly_upload **out_hold);

/* Work memory for tly_catalogue_describe. */
#define TLY_CATALOGUE_WORK_LEN TLY_STORE_WORK_LEN

/* The checked descriptor of an entry; arrays are placed in `work`. Errors: those of
 * tly_store_descriptor. */
tly_status tly_catalogue_describe(const tly_catalogue_entry *entry, void *work, size_t work_len,
                                  tly_descriptor *out_descriptor, tly_error *error);

/* Does what is said of this tensor, or its data, come from another machine? Thread-safe. */
int tly_catalogue_waits(const tly_catalogue *catalogue, const char *key, size_t key_len);

/* A run of bytes of a tensor. Those of a file may be touched only as tly_store_view says, those of
 * an object elsewhere while they are held (store/blocks.h). */
typedef struct tly_catalogue_bytes {
    const uint8_t *at;
    uint64_t len;
    int fd;          /* the file that they also are in, at `offset`; -1: none */
    uint64_t offset; /* bytes, in the file or the object */
} tly_catalogue_bytes;

/* What lies in one piece of [offset, offset + len) of parts back to back. Returns 0 past the end.
 */
int tly_catalogue_run_at(const tly_catalogue_bytes *parts, uint32_t num_parts, uint64_t offset,
                         uint64_t len, tly_catalogue_bytes *out);

/* Where a buffer is. Errors: those of tly_store_view. */
tly_status tly_catalogue_buffer(const tly_catalogue_entry *entry, const tly_descriptor *descriptor,
                                uint32_t buffer, tly_catalogue_bytes *out, tly_error *error);

#endif
