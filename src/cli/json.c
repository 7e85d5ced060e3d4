/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/utf8.h"

void tly_json_init(tly_json *json, FILE *out) {
    json->out = out;
    json->depth = 0;
    json->first = 1;
    json->line_depth = UINT32_MAX;
}

void tly_json_init_line(tly_json *json, FILE *out) {
    tly_json_init(json, out);
    json->line_depth = 0;
}

static void escaped(FILE *out, const char *text, size_t len) {
    int utf8 = tly_base_utf8_check(text, len) == len;
    fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') {
            fputc('\\', out);
            fputc(c, out);
        } else if (c < 0x20 || c == 0x7F || (c >= 0x80 && !utf8)) {
            fprintf(out, "\\u%04x", c);
        } else {
            fputc(c, out);
        }
    }
    fputc('"', out);
}

static int on_one_line(const tly_json *json) {
    return json->depth > json->line_depth;
}

/* What stands before a value: comma, newline, indentation, key. */
static void lead(tly_json *json, const char *key) {
    if (!json->first) {
        fputs(on_one_line(json) ? ", " : ",", json->out);
    }
    if (json->depth != 0 && !on_one_line(json)) {
        fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
    }
    json->first = 0;
    if (key != NULL) {
        escaped(json->out, key, strlen(key));
        fputs(": ", json->out);
    }
}

static void open_with(tly_json *json, const char *key, char bracket) {
    lead(json, key);
    fputc(bracket, json->out);
    json->depth++;
    json->first = 1;
}

static void close_with(tly_json *json, char bracket) {
    int line = on_one_line(json);
    json->depth--;
    if (!json->first && !line) {
        fprintf(json->out, "\n%*s", (int)(2 * json->depth), "");
    }
    if (json->depth == json->line_depth && json->depth != 0) {
        json->line_depth = UINT32_MAX;
    }
    fputc(bracket, json->out);
    json->first = 0;
}

void tly_json_object(tly_json *json, const char *key) {
    open_with(json, key, '{');
}
void tly_json_row(tly_json *json, const char *key) {
    uint32_t depth = json->depth;
    tly_json_array(json, key);
    if (depth < json->line_depth) {
        json->line_depth = depth;
    }
}
void tly_json_array(tly_json *json, const char *key) {
    open_with(json, key, '[');
}
void tly_json_end_object(tly_json *json) {
    close_with(json, '}');
}
void tly_json_end_array(tly_json *json) {
    close_with(json, ']');
}

void tly_json_string_len(tly_json *json, const char *key, const char *text, size_t len) {
    lead(json, key);
    escaped(json->out, text, len);
}

void tly_json_string(tly_json *json, const char *key, const char *text) {
    tly_json_string_len(json, key, text, strlen(text));
}

void tly_json_u64(tly_json *json, const char *key, uint64_t value) {
    lead(json, key);
    fprintf(json->out, "%" PRIu64, value);
}

void tly_json_i64(tly_json *json, const char *key, int64_t value) {
    lead(json, key);
    fprintf(json->out, "%" PRId64, value);
}

void tly_json_number(tly_json *json, const char *key, double value) {
    lead(json, key);
    if (isfinite(value)) {
        fprintf(json->out, "%.9g", value);
    } else {
        fputs("null", json->out);
    }
}

void tly_json_bool(tly_json *json, const char *key, int value) {
    lead(json, key);
    fputs(value ? "true" : "false", json->out);
}

void tly_json_finish(tly_json *json) {
    fputc('\n', json->out);
}
