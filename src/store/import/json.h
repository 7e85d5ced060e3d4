/* SPDX-License-Identifier: Apache-2.0 */
/* A strict JSON reader (RFC 8259) for outside bytes: the caller pulls what it expects, nothing is
 * built, and the only memory is that of strings with escapes. Every error names the byte. */
#ifndef TLY_IMPORT_JSON_H
#define TLY_IMPORT_JSON_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/status.h>

#include "base/arena.h"

typedef struct tly_import_json {
    const uint8_t *base;
    const uint8_t *at;
    const uint8_t *end;
    uint64_t origin; /* offset of `base` in the file, for errors */
    uint32_t depth;
    uint32_t max_depth;
    tly_arena *arena; /* for strings with escapes */
    tly_error *error; /* may be NULL */
} tly_import_json;

/* A string's content: UTF-8, checked. In the text itself or in the arena. */
typedef struct tly_import_json_string {
    const char *text;
    size_t len;
    uint64_t offset; /* in the file */
} tly_import_json_string;

void tly_import_json_init(tly_import_json *json, const void *bytes, size_t len, uint64_t origin,
                          uint32_t max_depth, tly_arena *arena, tly_error *error);

/* Offset in the file of the next byte that is not white space. */
uint64_t tly_import_json_offset(tly_import_json *json);

/* Enters an object or an array; `open` is '{' or '['. */
tly_status tly_import_json_enter(tly_import_json *json, char open);

/* Steps to the next member or element, or out of the object or array (`*out_more` = 0). `*first` is
 * 1 before the first step and kept by the caller. */
tly_status tly_import_json_next(tly_import_json *json, char open, int *first, int *out_more);

/* The key of a member, and the colon behind it. */
tly_status tly_import_json_key(tly_import_json *json, tly_import_json_string *out_key);

tly_status tly_import_json_read_string(tly_import_json *json, tly_import_json_string *out_string);

/* An integer 0 .. 2^64-1 without fraction, exponent or leading zeroes. */
tly_status tly_import_json_read_u64(tly_import_json *json, uint64_t *out_value);

/* Any value, checked but not kept. */
tly_status tly_import_json_skip(tly_import_json *json);

/* Only white space may follow. */
tly_status tly_import_json_end(tly_import_json *json);

/* Is a string equal to a C string? */
int tly_import_json_is(const tly_import_json_string *string, const char *text);

#endif
