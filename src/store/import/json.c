/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/json.h"

#include <string.h>

#include "base/error.h"
#include "base/utf8.h"

void tly_import_json_init(tly_import_json *json, const void *bytes, size_t len, uint64_t origin,
                          uint32_t max_depth, tly_arena *arena, tly_error *error) {
    memset(json, 0, sizeof *json);
    json->base = bytes;
    json->at = bytes;
    json->end = json->base + len;
    json->origin = origin;
    json->max_depth = max_depth;
    json->arena = arena;
    json->error = error;
}

static uint64_t offset_of(const tly_import_json *json, const uint8_t *at) {
    return json->origin + (uint64_t)(at - json->base);
}

static tly_status syntax(const tly_import_json *json, const uint8_t *at, const char *wanted) {
    char shown[16];
    if (at >= json->end) {
        return tly_base_fail(json->error, TLY_MALFORMED, offset_of(json, json->end), "json-syntax",
                             "the JSON text ends where %s should be", wanted);
    }
    return tly_base_fail(json->error, TLY_MALFORMED, offset_of(json, at), "json-syntax",
                         "the JSON text has \"%s\" where %s should be",
                         tly_base_printable(shown, sizeof shown, at, 1), wanted);
}

static void skip_space(tly_import_json *json) {
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\t' || *json->at == '\n' || *json->at == '\r')) {
        json->at++;
    }
}

uint64_t tly_import_json_offset(tly_import_json *json) {
    skip_space(json);
    return offset_of(json, json->at);
}

static int take(tly_import_json *json, char c) {
    skip_space(json);
    if (json->at < json->end && *json->at == (uint8_t)c) {
        json->at++;
        return 1;
    }
    return 0;
}

tly_status tly_import_json_enter(tly_import_json *json, char open) {
    if (!take(json, open)) {
        return syntax(json, json->at, open == '{' ? "\"{\"" : "\"[\"");
    }
    if (++json->depth > json->max_depth) {
        return tly_base_fail(json->error, TLY_LIMIT, offset_of(json, json->at - 1), "json-depth",
                             "the JSON text is nested more than %u deep, the limit",
                             json->max_depth);
    }
    return TLY_OK;
}

tly_status tly_import_json_next(tly_import_json *json, char open, int *first, int *out_more) {
    char close = open == '{' ? '}' : ']';
    int was_first = *first;
    *first = 0;
    *out_more = 0;
    if (take(json, close)) {
        json->depth--;
        return TLY_OK;
    }
    if (!was_first && !take(json, ',')) {
        return syntax(json, json->at, open == '{' ? "\",\" or \"}\"" : "\",\" or \"]\"");
    }
    *out_more = 1;
    return TLY_OK;
}

static int hex4(const uint8_t *p, const uint8_t *end, uint32_t *out) {
    uint32_t value = 0;
    if (end - p < 4) {
        return 0;
    }
    for (int i = 0; i < 4; i++) {
        uint8_t c = p[i];
        uint32_t digit;
        if (c >= '0' && c <= '9') {
            digit = c - (uint32_t)'0';
        } else if ((c | 0x20) >= 'a' && (c | 0x20) <= 'f') {
            digit = (c | 0x20u) - 'a' + 10u;
        } else {
            return 0;
        }
        value = value * 16 + digit;
    }
    *out = value;
    return 1;
}

static size_t put_utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 0x3F));
    out[2] = (char)(0x80 | (code >> 6 & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

/* Reads the escape that starts at `*p` (a backslash) as a code point. */
static tly_status read_escape(const tly_import_json *json, const uint8_t **p, uint32_t *out_code) {
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    const uint8_t *start = *p;
    const char *found;
    uint32_t code, low;
    if (json->end - start < 2) {
        return syntax(json, json->end, "the rest of a string");
    }
    if (start[1] != 'u') {
        found = start[1] != '\0' ? strchr(names, start[1]) : NULL;
        if (found == NULL) {
            return syntax(json, start + 1, "an escape character");
        }
        *out_code = (uint8_t)values[found - names];
        *p = start + 2;
        return TLY_OK;
    }
    if (!hex4(start + 2, json->end, &code)) {
        return syntax(json, start + 2, "four hexadecimal digits");
    }
    *p = start + 6;
    if (code >= 0xD800 && code <= 0xDFFF) {
        if (code >= 0xDC00 || json->end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u' ||
            !hex4(*p + 2, json->end, &low) || low < 0xDC00 || low > 0xDFFF) {
            return tly_base_fail(json->error, TLY_MALFORMED, offset_of(json, start),
                                 "json-surrogate", "half of a surrogate pair stands alone");
        }
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        *p += 6;
    }
    *out_code = code;
    return TLY_OK;
}

tly_status tly_import_json_read_string(tly_import_json *json, tly_import_json_string *out_string) {
    const uint8_t *start, *p;
    size_t good;
    int escapes = 0;
    char *copy;
    if (!take(json, '"')) {
        return syntax(json, json->at, "a string");
    }
    start = p = json->at;
    while (p < json->end && *p != '"') {
        if (*p < 0x20) {
            return syntax(json, p, "a character of a string");
        }
        if (*p == '\\') {
            uint32_t code;
            tly_status status = read_escape(json, &p, &code);
            if (status != TLY_OK) {
                return status;
            }
            escapes = 1;
        } else {
            p++;
        }
    }
    if (p >= json->end) {
        return syntax(json, p, "the end of a string");
    }
    good = tly_base_utf8_check(start, (size_t)(p - start));
    if (good != (size_t)(p - start)) {
        return tly_base_fail(json->error, TLY_MALFORMED, offset_of(json, start + good), "utf-8",
                             "a string is not UTF-8");
    }
    json->at = p + 1;
    out_string->offset = offset_of(json, start);
    out_string->text = (const char *)start;
    out_string->len = (size_t)(p - start);
    if (!escapes) {
        return TLY_OK;
    }
    /* No escape is shorter than what it stands for. */
    copy = tly_arena_alloc(json->arena, (size_t)(p - start), 1);
    if (copy == NULL) {
        return tly_base_fail(json->error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a string");
    }
    out_string->text = copy;
    out_string->len = 0;
    while (start < p) {
        uint32_t code = *start;
        if (code == '\\') {
            (void)read_escape(json, &start, &code); /* read well above */
            out_string->len += put_utf8(copy + out_string->len, code);
        } else {
            copy[out_string->len++] = (char)code;
            start++;
        }
    }
    return TLY_OK;
}

tly_status tly_import_json_key(tly_import_json *json, tly_import_json_string *out_key) {
    tly_status status = tly_import_json_read_string(json, out_key);
    if (status == TLY_OK && !take(json, ':')) {
        return syntax(json, json->at, "\":\"");
    }
    return status;
}

tly_status tly_import_json_read_u64(tly_import_json *json, uint64_t *out_value) {
    const uint8_t *start;
    uint64_t value = 0;
    skip_space(json);
    start = json->at;
    while (json->at < json->end && *json->at >= '0' && *json->at <= '9') {
        if (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
            __builtin_add_overflow(value, (uint64_t)(*json->at - '0'), &value)) {
            return tly_base_fail(json->error, TLY_OVERFLOW, offset_of(json, start), "json-integer",
                                 "an integer does not fit in 64 bits");
        }
        json->at++;
    }
    if (json->at == start) {
        return syntax(json, json->at, "an integer that is not negative");
    }
    if (*start == '0' && json->at - start > 1) {
        return syntax(json, start, "an integer without leading zeroes");
    }
    if (json->at < json->end && (*json->at == '.' || (*json->at | 0x20) == 'e')) {
        return syntax(json, json->at, "the end of an integer");
    }
    *out_value = value;
    return TLY_OK;
}

static void skip_digits(tly_import_json *json) {
    while (json->at < json->end && *json->at >= '0' && *json->at <= '9') {
        json->at++;
    }
}

static tly_status skip_number(tly_import_json *json) {
    const uint8_t *digits;
    if (json->at < json->end && *json->at == '-') {
        json->at++;
    }
    digits = json->at;
    skip_digits(json);
    if (json->at == digits) {
        return syntax(json, json->at, "a value");
    }
    if (*digits == '0' && json->at - digits > 1) {
        return syntax(json, digits, "a number without leading zeroes");
    }
    if (json->at < json->end && *json->at == '.') {
        digits = ++json->at;
        skip_digits(json);
        if (json->at == digits) {
            return syntax(json, json->at, "a digit");
        }
    }
    if (json->at < json->end && (*json->at | 0x20) == 'e') {
        json->at++;
        if (json->at < json->end && (*json->at == '+' || *json->at == '-')) {
            json->at++;
        }
        digits = json->at;
        skip_digits(json);
        if (json->at == digits) {
            return syntax(json, json->at, "a digit");
        }
    }
    return TLY_OK;
}

static int take_word(tly_import_json *json, const char *word) {
    size_t len = strlen(word);
    if ((size_t)(json->end - json->at) >= len && memcmp(json->at, word, len) == 0) {
        json->at += len;
        return 1;
    }
    return 0;
}

tly_status tly_import_json_skip(tly_import_json *json) {
    tly_import_json_string string;
    tly_status status;
    char open;
    int first = 1, more = 1;
    skip_space(json);
    if (json->at >= json->end) {
        return syntax(json, json->at, "a value");
    }
    open = (char)*json->at;
    if (open == '"') {
        return tly_import_json_read_string(json, &string);
    }
    if (open != '{' && open != '[') {
        if (take_word(json, "true") || take_word(json, "false") || take_word(json, "null")) {
            return TLY_OK;
        }
        return skip_number(json);
    }
    status = tly_import_json_enter(json, open);
    while (status == TLY_OK) {
        status = tly_import_json_next(json, open, &first, &more);
        if (status != TLY_OK || !more) {
            return status;
        }
        if (open == '{') {
            status = tly_import_json_key(json, &string);
        }
        if (status == TLY_OK) {
            status = tly_import_json_skip(json); /* as deep as max_depth allows */
        }
    }
    return status;
}

tly_status tly_import_json_end(tly_import_json *json) {
    skip_space(json);
    return json->at == json->end ? TLY_OK : syntax(json, json->at, "the end");
}

int tly_import_json_is(const tly_import_json_string *string, const char *text) {
    return string->len == strlen(text) && memcmp(string->text, text, string->len) == 0;
}
