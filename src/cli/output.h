/* SPDX-License-Identifier: Apache-2.0 */
/* A file that is written beside its place and appears there whole, or not at all. */
#ifndef TLY_CLI_OUTPUT_H
#define TLY_CLI_OUTPUT_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/status.h>

/* Plain memory. Single-owner. */
typedef struct tly_output {
    int fd;
    char *path;
    char *beside; /* NULL: `path` is a device or a pipe, and is written directly */
} tly_output;

/* Opens `path` for writing; "-" is standard output. A device, a pipe or a socket is written in
 * place; a regular file, or none, is replaced by tly_output_commit. Errors: IO, OUT_OF_MEMORY. */
tly_status tly_output_init(tly_output *output, const char *path, tly_error *error);

/* Errors: IO. */
tly_status tly_output_write(tly_output *output, const void *bytes, uint64_t len, tly_error *error);

/* Makes what was written durable and puts it in its place. Errors: IO. */
tly_status tly_output_commit(tly_output *output, tly_error *error);

/* Ends it; without a commit nothing stays. May be called twice. */
void tly_output_cleanup(tly_output *output);

/* 1 if both names lead to the same existing file. */
int tly_output_same_file(const char *a, const char *b);

#endif
