/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON piece by piece to a stdio stream. Commas, indentation and escapes are its business;
 * that objects and arrays are closed in order is the caller's. */
#ifndef TLY_CLI_JSON_H
#define TLY_CLI_JSON_H

#include <stdint.h>
#include <stdio.h>

/* Plain memory, nothing to free. Single-owner. */
typedef struct tly_json {
    FILE *out;
    uint32_t depth;
    int first;           /* nothing stands in the open object or array yet */
    uint32_t line_depth; /* no newlines inside what was opened at this depth; UINT32_MAX: nowhere */
} tly_json;

void tly_json_init(tly_json *json, FILE *out);

/* The same, everything on one line. */
void tly_json_init_line(tly_json *json, FILE *out);

/* `key` is NULL inside an array and at the top. Text that is not UTF-8 keeps its bytes as U+0080 to
 * U+00FF, so the output is always valid JSON. A number that is not finite becomes null. */
void tly_json_object(tly_json *json, const char *key);
void tly_json_array(tly_json *json, const char *key);
void tly_json_row(tly_json *json, const char *key); /* an array on one line; ends like one */
void tly_json_end_object(tly_json *json);
void tly_json_end_array(tly_json *json);
void tly_json_string(tly_json *json, const char *key, const char *text);
void tly_json_string_len(tly_json *json, const char *key, const char *text, size_t len);
void tly_json_u64(tly_json *json, const char *key, uint64_t value);
void tly_json_i64(tly_json *json, const char *key, int64_t value);
void tly_json_number(tly_json *json, const char *key, double value);
void tly_json_bool(tly_json *json, const char *key, int value);

/* The newline after the outermost value. */
void tly_json_finish(tly_json *json);

#endif
