/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that clients have put: a folder with one container for each. A tensor appears, or takes
 * the place of an older one, when its container is whole and durable, all at once. Keys never
 * become file names: the files are numbered, and each knows its key. */
#ifndef TLY_SERVE_UPLOADS_H
#define TLY_SERVE_UPLOADS_H

#include "serve/catalogue.h"

/* One tensor. Immutable; alive as long as somebody holds it, also after it has been replaced. */
typedef struct tly_upload {
    const tly_context *context;
    struct tly_upload *next; /* among those that are being put */
    tly_store *store;
    char *key; /* NUL-terminated */
    size_t key_len;
    uint64_t number; /* of its file */
    int refs;        /* atomic */
    tly_catalogue_entry entry;
} tly_upload;

/* Opens a folder, which must exist, and locks it against other servers; takes in what is there, and
 * removes what a server that was killed left unfinished. Errors: IO, EXISTS (another server has it,
 * or two files hold the same key), MALFORMED and the like of a file, OUT_OF_MEMORY. */
tly_status tly_uploads_open(const tly_context *context, const char *folder,
                            tly_uploads **out_uploads, tly_error *error);
/* One more that will call tly_uploads_free. Thread-safe. */
tly_uploads *tly_uploads_hold(tly_uploads *uploads);
void tly_uploads_free(tly_uploads *uploads);

uint64_t tly_uploads_num(const tly_uploads *uploads);

/* Grows with every tensor that is put. Thread-safe. */
uint64_t tly_uploads_generation(const tly_uploads *uploads);

/* The tensor with this key, with a reference for the caller; NULL if there is none. Thread-safe. */
tly_upload *tly_uploads_find(tly_uploads *uploads, const char *key, size_t key_len);
void tly_upload_drop(tly_upload *upload); /* NULL is allowed. Thread-safe */

/* A tensor on its way in. Single-owner. */
typedef struct tly_uploads_writer {
    tly_uploads *uploads;
    tly_upload *upload;  /* what it will be */
    uint8_t *descriptor; /* serialised */
    size_t descriptor_len;
    tly_store_writer *writer; /* NULL before the first byte */
    int committed;
} tly_uploads_writer;

/* Reserves the key. Touches no disk. `descriptor` is copied. Errors: INVALID_ARGUMENT (a key that
 * no container can hold), EXISTS (somebody is putting this key just now), OUT_OF_MEMORY.
 * Thread-safe.
 */
tly_status tly_uploads_begin(tly_uploads *uploads, const char *key, size_t key_len,
                             const void *descriptor, size_t descriptor_len,
                             tly_uploads_writer *out_writer, tly_error *error);

/* Bytes of all buffers back to back. Errors: IO, OUT_OF_MEMORY. */
tly_status tly_uploads_append(tly_uploads_writer *writer, const void *bytes, uint64_t len,
                              tly_error *error);

/* Makes everything durable, opens the file as a reader does, checks the contents of its buffers,
 * and only then puts it in its place and shows it. After an error the older tensor, if there was
 * one, is still the one on offer. Errors: IO, OUT_OF_MEMORY, MALFORMED (rules V-...). */
tly_status tly_uploads_commit(tly_uploads_writer *writer, tly_error *error);

/* Ends a writer, with or without a commit. */
void tly_uploads_end(tly_uploads_writer *writer);

#endif
