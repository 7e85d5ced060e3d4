/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of a file that may be compressed with gzip. */
#ifndef TLY_CLI_LINES_H
#define TLY_CLI_LINES_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/status.h>

/* Longest line that is read; a longer one is an error, not a longer buffer. */
#define TLY_LINES_MAX ((size_t)64 << 20)

/* Single-owner. */
typedef struct tly_lines {
    void *file; /* gzFile */
    char *buffer;
    size_t capacity;
    uint64_t number; /* of the line that was read last, from 1 */
    const char *path;
} tly_lines;

/* Errors: IO, OUT_OF_MEMORY. `path` outlives the object. */
tly_status tly_lines_init(tly_lines *lines, const char *path, tly_error *error);

/* The next line without its newline, valid until the next call; NULL at the end. Errors: IO (also
 * for a damaged gzip file), LIMIT, OUT_OF_MEMORY. */
tly_status tly_lines_next(tly_lines *lines, const char **out_line, size_t *out_len,
                          tly_error *error);

void tly_lines_cleanup(tly_lines *lines);

/* Copies a line of JSON and puts integers of 19 digits and more in quotation marks, with their
 * sign: the JSON library refuses those that need 64 bits without one. `out` has room for twice the
 * line. Returns the new length. */
size_t tly_lines_quote(const char *line, size_t len, char *out);

#endif
