/* SPDX-License-Identifier: Apache-2.0 */
/* Files that an importer reads: positioned reads that end in an error where the file ends, and a
 * mapping for those who want no copy. */
#ifndef TLY_IMPORT_FILE_H
#define TLY_IMPORT_FILE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/status.h>

typedef struct tly_import_file {
    const char *name;      /* for messages; owned by others */
    const uint8_t *memory; /* bytes given by the caller, or NULL */
    void *map;             /* the file mapped, or NULL */
    uint64_t len;
    int fd; /* -1: in memory */
} tly_import_file;

/* Bytes in memory. They must outlive the file. */
void tly_import_file_memory(tly_import_file *file, const void *bytes, size_t len, const char *name);

/* Opens a regular file by its path. Errors: NOT_FOUND, IO, INVALID_ARGUMENT (not a regular file).
 */
tly_status tly_import_file_open(tly_import_file *file, const char *path, tly_error *error);

/* Opens a file of external data, `location` below the folder `folder_fd`. Refused: absolute paths,
 * ".." components (rule "external-location"); and unless `follow_links`, symbolic links on the way
 * and files with more than one hard link (rule "external-link"). `offset` is where the model says
 * the location. */
tly_status tly_import_file_open_below(tly_import_file *file, int folder_fd, const char *location,
                                      int follow_links, uint64_t offset, tly_error *error);

void tly_import_file_close(tly_import_file *file);

/* Reads exactly `len` bytes. Errors: TRUNCATED, IO. Thread-safe. */
tly_status tly_import_file_read(const tly_import_file *file, uint64_t offset, void *buffer,
                                uint64_t len, tly_error *error);

#endif
