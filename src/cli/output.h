/* SPDX-License-Identifier: Apache-2.0 */
/* Where a command writes: a file that appears whole or not at all (store/atomic_file.h), or a
 * device or a pipe, which is written as it is. */
#ifndef TLY_CLI_OUTPUT_H
#define TLY_CLI_OUTPUT_H

#include <tilery/context.h>
#include <tilery/status.h>

#include "store/atomic_file.h"

/* Plain memory. Single-owner. */
typedef struct tly_output {
    tly_atomic_file *file; /* NULL: `fd` is written directly */
    int fd;
    char shown[128]; /* the name for messages */
} tly_output;

/* Opens `path` for writing; "-" is standard output. Errors: IO, OUT_OF_MEMORY. */
tly_status tly_output_init(tly_output *output, const tly_context *context, const char *path,
                           tly_error *error);

/* Errors: IO. */
tly_status tly_output_write(tly_output *output, const void *bytes, uint64_t len, tly_error *error);

/* Makes what was written durable and puts it in its place. Errors: IO. */
tly_status tly_output_commit(tly_output *output, tly_error *error);

/* Ends it; without a commit nothing stays. May be called twice. */
void tly_output_cleanup(tly_output *output);

/* All of the above for bytes that are there already. */
tly_status tly_output_put(const tly_context *context, const char *path, const void *bytes,
                          uint64_t len, tly_error *error);

/* 1 if both names lead to the same existing file. */
int tly_output_same_file(const char *a, const char *b);

#endif
