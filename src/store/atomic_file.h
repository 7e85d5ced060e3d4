/* SPDX-License-Identifier: Apache-2.0 */
/* A file that appears under its name all at once, or not at all. Its bytes go to an unnamed file in
 * the same folder (or a hidden one, where the system knows no unnamed files); commit makes them
 * durable and gives them the name, replacing an older file in one step. */
#ifndef TLY_STORE_ATOMIC_FILE_H
#define TLY_STORE_ATOMIC_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include <tilery/context.h>
#include <tilery/status.h>

/* The calls that can fail once a file is begun; tests put failing ones here. */
typedef struct tly_file_calls {
    ssize_t (*write)(int fd, const void *bytes, size_t len);
    int (*fsync)(int fd);
    int (*linkat)(int old_folder, const char *old_name, int new_folder, const char *new_name,
                  int flags);
    int (*renameat)(int old_folder, const char *old_name, int new_folder, const char *new_name);
    int no_unnamed; /* 1: as if the system knew no unnamed files */
} tly_file_calls;

extern const tly_file_calls tly_file_system_calls;

typedef struct tly_atomic_file tly_atomic_file;

/* Begins a file. A symbolic link at `path` is followed; what stands there may only be a regular
 * file, whose permissions the new one takes over. Errors: IO, OUT_OF_MEMORY. */
tly_status tly_atomic_file_new(const tly_context *context, const char *path,
                               const tly_file_calls *calls, tly_atomic_file **out_file,
                               tly_error *error);

/* Bytes written so far. */
uint64_t tly_atomic_file_len(const tly_atomic_file *file);

/* Adds bytes, or zeros. Errors: IO; the file can then only be freed. */
tly_status tly_atomic_file_write(tly_atomic_file *file, const void *bytes, uint64_t len,
                                 tly_error *error);
tly_status tly_atomic_file_write_zeros(tly_atomic_file *file, uint64_t len, tly_error *error);

/* Makes the bytes durable and gives the file its name. Errors: IO; then the older file, if any, is
 * still in place, unless it was only the folder that could not be synchronised. */
tly_status tly_atomic_file_commit(tly_atomic_file *file, tly_error *error);

/* Frees it; NULL is allowed. Without a commit nothing stays on disk. */
void tly_atomic_file_free(tly_atomic_file *file);

#endif
