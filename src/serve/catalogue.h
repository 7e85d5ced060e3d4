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

/* Keys are compared byte by byte and never become file names. NULL if there is none. */
const tly_catalogue_entry *tly_catalogue_find(const tly_catalogue *catalogue, const char *key,
                                              size_t key_len);

/* Work memory for tly_catalogue_describe. */
#define TLY_CATALOGUE_WORK_LEN TLY_STORE_WORK_LEN

/* The checked descriptor of an entry; arrays are placed in `work`. Errors: those of
 * tly_store_descriptor. */
tly_status tly_catalogue_describe(const tly_catalogue_entry *entry, void *work, size_t work_len,
                                  tly_descriptor *out_descriptor, tly_error *error);

/* Where a buffer is. Bytes of a file may be touched only as tly_store_view says. */
tly_status tly_catalogue_buffer(const tly_catalogue_entry *entry, const tly_descriptor *descriptor,
                                uint32_t buffer, const void **out_data, uint64_t *out_len,
                                tly_error *error);

#endif
