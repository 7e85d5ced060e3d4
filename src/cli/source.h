/* SPDX-License-Identifier: Apache-2.0 */
/* A file of tensors, whatever its format: a container, a stream, or what can be imported. Its
 * tensors come one after the other, in the order in which they stand in the file, which is how the
 * members of a composite follow their head. Single-owner. */
#ifndef TLY_CLI_SOURCE_H
#define TLY_CLI_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/import.h>
#include <tilery/store.h>
#include <tilery/stream.h>
#include <tilery/tensor.h>

typedef struct tly_source tly_source;

/* One tensor. Everything lives until the next one. */
typedef struct tly_source_item {
    const char *name; /* of a tensor in a stream: its number from 0. NUL-terminated */
    size_t name_len;  /* bytes */
    const tly_descriptor *descriptor;
    uint64_t offset;   /* in the file: of the descriptor; of imports: of the data */
    uint64_t data_len; /* bytes of all buffers, without padding between */
} tly_source_item;

/* Opens a file; "-" is a stream from standard input, and a URL a container that is read by ranges.
 * Formats of files are found by their content.
 * `skip_unsupported`: imports leave out what they cannot carry. Errors: those of opening. */
tly_status tly_source_open(const tly_context *context, const char *path, int skip_unsupported,
                           tly_source **out_source, tly_error *error);
void tly_source_free(tly_source *source);

/* "hurray" for a container, "hurray-stream", or the importer's name. */
const char *tly_source_format(const tly_source *source);

/* What it is; NULL where it is another. */
const tly_store *tly_source_store(const tly_source *source);
const tly_import *tly_source_import(const tly_source *source);

/* The next tensor; `*out_more` 0 at the end. */
tly_status tly_source_next(tly_source *source, tly_source_item *out_item, int *out_more,
                           tly_error *error);

/* The data of the tensor that came last, those of all buffers back to back. */
tly_status tly_source_data(tly_source *source, tly_import_sink sink, void *user, tly_error *error);

/* Goes to the tensor of that name, which tly_source_next then gives. Not for streams. Errors:
 * NOT_FOUND. */
tly_status tly_source_seek(tly_source *source, const char *name, size_t name_len);

/* Metadata beside the tensors. Live as long as the source. Errors: those of tly_store_kv. */
tly_status tly_source_metadata(tly_source *source, const tly_kv **out_kv, size_t *out_num,
                               tly_error *error);

#endif
