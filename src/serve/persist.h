/* SPDX-License-Identifier: Apache-2.0 */
/* A folder that keeps packed variants over restarts: one file for each, named by the hash of what
 * it is a variant of. A file holds the whole name, so one of another source, or of the same source
 * before it changed, is never taken for it. Bounded in bytes; the file that was used longest ago
 * goes first. One server at a time. */
#ifndef TLY_SERVE_PERSIST_H
#define TLY_SERVE_PERSIST_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/status.h>

#define TLY_PERSIST_DATA_OFFSET                                                                    \
    4096 /* of the data in a file: what stands before it is the name                               \
          */

typedef struct tly_persist tly_persist;

/* Opens a folder, which must exist, belong to us and be closed to others' writing; removes what is
 * unfinished. Errors: IO, EXISTS (another server has it), INVALID_ARGUMENT (rule "persist-folder"),
 * OUT_OF_MEMORY. */
tly_status tly_persist_open(const tly_context *context, const char *folder, uint64_t limit,
                            tly_persist **out_persist, tly_error *error);
void tly_persist_free(tly_persist *persist); /* NULL is allowed */

/* The file with this variant of `len` bytes, open for reading; -1 if there is none. What stands in
 * its place and is damaged or of an older source is removed. */
int tly_persist_load(tly_persist *persist, const void *name, size_t name_len, uint64_t len);

/* Keeps a variant: whole and durable, or not at all. Makes room first. Errors: IO, LIMIT. One call
 * at a time, on any thread, also beside tly_persist_load. */
tly_status tly_persist_save(tly_persist *persist, const void *name, size_t name_len,
                            const void *data, uint64_t len, tly_error *error);

#endif
