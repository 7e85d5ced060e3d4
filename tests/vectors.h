/* SPDX-License-Identifier: Apache-2.0 */
/* Compressed files of test vectors, line by line. */
#ifndef TLY_TESTS_VECTORS_H
#define TLY_TESTS_VECTORS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "check.h"

/* A whole file, unpacked, with a NUL behind it. `line` walks over it. */
typedef struct check_vectors {
    char *text;
    size_t len;
    char *next;
} check_vectors;

/* Path of a file of the source tree; the tests run in its root. */
static inline const char *check_path(char *out, size_t capacity, const char *name) {
    const char *root = getenv("TILERY_ROOT");
    snprintf(out, capacity, "%s/%s", root != NULL ? root : ".", name);
    return out;
}

static inline check_vectors check_vectors_open(const char *name) {
    char path[4096];
    check_vectors v = {NULL, 0, NULL};
    size_t capacity = (size_t)1 << 16;
    gzFile file = gzopen(check_path(path, sizeof path, name), "rb");
    if (file == NULL) {
        fail_msg("cannot open %s", path);
    }
    v.text = malloc(capacity + 1);
    for (;;) {
        int got = gzread(file, v.text + v.len, (unsigned)(capacity - v.len));
        assert_true(got >= 0);
        v.len += (size_t)got;
        if (got == 0) {
            break;
        }
        if (v.len == capacity) {
            capacity *= 2;
            v.text = realloc(v.text, capacity + 1);
        }
    }
    gzclose(file);
    v.text[v.len] = '\0';
    v.next = v.text;
    return v;
}

static inline void check_vectors_close(check_vectors *v) {
    free(v->text);
}

/* Next line without its newline, or NULL. */
static inline char *check_vectors_line(check_vectors *v) {
    char *line = v->next;
    char *end;
    if (line == NULL || *line == '\0') {
        return NULL;
    }
    end = strchr(line, '\n');
    if (end != NULL) {
        *end = '\0';
    }
    v->next = end != NULL ? end + 1 : NULL;
    return line;
}

/* Splits a line at its tabs. Returns the number of fields. */
static inline int check_fields(char *line, char **out, int most) {
    int n = 0;
    while (n < most) {
        out[n++] = line;
        line = strchr(line, '\t');
        if (line == NULL) {
            break;
        }
        *line++ = '\0';
    }
    return n;
}

/* Value of a text field of a line of JSON that has no escapes in it; "" when it is null or missing.
 */
static inline const char *check_json_text(const char *line, const char *key, char *out,
                                          size_t capacity) {
    char pattern[64];
    const char *at;
    size_t len;
    snprintf(pattern, sizeof pattern, "\"%s\":\"", key);
    out[0] = '\0';
    at = strstr(line, pattern);
    if (at != NULL) {
        at += strlen(pattern);
        len = strcspn(at, "\"");
        assert_true(len < capacity);
        memcpy(out, at, len);
        out[len] = '\0';
    }
    return out;
}

static inline int check_hex_digit(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Bytes of a hexadecimal text, exactly as many as there are (so that sanitizers see an over-read).
 * The caller frees them. */
static inline uint8_t *check_unhex(const char *hex, size_t *out_len) {
    size_t len = strlen(hex) / 2;
    uint8_t *bytes = malloc(len != 0 ? len : 1);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)(check_hex_digit(hex[2 * i]) << 4 | check_hex_digit(hex[2 * i + 1]));
    }
    *out_len = len;
    return bytes;
}

#endif
