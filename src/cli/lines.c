/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/error.h"

tly_status tly_lines_init(tly_lines *lines, const char *path, tly_error *error) {
    memset(lines, 0, sizeof(*lines));
    lines->path = path;
    errno = 0;
    lines->file = gzopen(path, "rbe");
    if (lines->file == NULL) {
        return tly_base_fail_errno(error, errno != 0 ? errno : ENOMEM, "cannot open %s", path);
    }
    return TLY_OK;
}

static tly_status grow(tly_lines *lines, tly_error *error) {
    size_t capacity = lines->capacity == 0 ? 1 << 16 : lines->capacity * 2;
    if (capacity > TLY_LINES_MAX) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "line-length",
                             "%s: line %llu is longer than %zu bytes", lines->path,
                             (unsigned long long)lines->number, TLY_LINES_MAX);
    }
    char *buffer = realloc(lines->buffer, capacity);
    if (buffer == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "out of memory");
    }
    lines->buffer = buffer;
    lines->capacity = capacity;
    return TLY_OK;
}

tly_status tly_lines_next(tly_lines *lines, const char **out_line, size_t *out_len,
                          tly_error *error) {
    size_t len = 0;
    *out_line = NULL;
    *out_len = 0;
    lines->number++;
    for (;;) {
        int errnum = 0;
        if (lines->capacity - len < 2) {
            tly_status status = grow(lines, error);
            if (status != TLY_OK) {
                return status;
            }
        }
        size_t room = lines->capacity - len;
        if (gzgets(lines->file, lines->buffer + len, (int)(room > INT32_MAX ? INT32_MAX : room)) ==
            NULL) {
            const char *why = gzerror(lines->file, &errnum);
            if (errnum != Z_OK && errnum != Z_STREAM_END) {
                return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "gzip",
                                     "%s: line %llu cannot be read: %s", lines->path,
                                     (unsigned long long)lines->number, why);
            }
            if (len == 0) {
                return TLY_OK;
            }
            break;
        }
        len += strlen(lines->buffer + len);
        if (lines->buffer[len - 1] == '\n') {
            lines->buffer[--len] = '\0';
            break;
        }
    }
    *out_line = lines->buffer;
    *out_len = len;
    return TLY_OK;
}

void tly_lines_cleanup(tly_lines *lines) {
    if (lines->file != NULL) {
        gzclose(lines->file);
    }
    free(lines->buffer);
    memset(lines, 0, sizeof(*lines));
}

size_t tly_lines_quote(const char *line, size_t len, char *out) {
    enum { LARGE = 19 };
    size_t used = 0;
    int in_string = 0;
    for (size_t i = 0; i < len;) {
        size_t sign = !in_string && line[i] == '-', digits = 0, run = 1;
        while (!in_string && i + sign + digits < len && line[i + sign + digits] >= '0' &&
               line[i + sign + digits] <= '9') {
            digits++;
        }
        if (digits >= LARGE) {
            out[used++] = '"';
        }
        if (digits != 0) {
            run = sign + digits;
        } else if (in_string && line[i] == '\\' && i + 1 < len) {
            run = 2;
        } else if (line[i] == '"') {
            in_string = !in_string;
        }
        memcpy(out + used, line + i, run);
        used += run;
        i += run;
        if (digits >= LARGE) {
            out[used++] = '"';
        }
    }
    return used;
}
