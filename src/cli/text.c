/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"

/* Bytes of the character at the front: 0 if it is no UTF-8. */
static size_t character_len(const char *text, size_t len) {
    unsigned char c = (unsigned char)text[0];
    size_t bytes = c < 0x80 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    return bytes <= len && tly_base_utf8_check(text, bytes) == bytes ? bytes : 0;
}

/* C0, DEL and C1 (as UTF-8, 0xC2 0x80 .. 0x9F) are what a terminal might obey. */
const char *tly_text_safe(char *out, size_t capacity, const char *text, size_t len) {
    size_t used = 0;
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)text[i];
        size_t bytes = character_len(text + i, len - i);
        int control =
            c < 0x20 || c == 0x7F || (bytes == 2 && c == 0xC2 && (unsigned char)text[i + 1] < 0xA0);
        size_t need = bytes == 0 ? 4 : control ? 1 : bytes;
        if (used + need + 1 > capacity) {
            break;
        }
        if (bytes == 0) {
            snprintf(out + used, 5, "\\x%02X", c);
        } else if (control) {
            out[used] = '?';
        } else {
            memcpy(out + used, text + i, bytes);
        }
        used += need;
        i += bytes == 0 ? 1 : bytes;
    }
    out[used] = '\0';
    return out;
}

#define TEXT_MAX 31

static uint32_t min3(uint32_t a, uint32_t b, uint32_t c) {
    uint32_t least = a < b ? a : b;
    return least < c ? least : c;
}

uint32_t tly_text_distance(const char *a, const char *b) {
    uint32_t rows[3][TEXT_MAX + 1];
    size_t a_len = strnlen(a, TEXT_MAX), b_len = strnlen(b, TEXT_MAX);
    for (uint32_t j = 0; j <= b_len; j++) {
        rows[0][j] = j;
    }
    for (uint32_t i = 1; i <= a_len; i++) {
        uint32_t *now = rows[i % 3], *before = rows[(i + 2) % 3], *earlier = rows[(i + 1) % 3];
        now[0] = i;
        for (uint32_t j = 1; j <= b_len; j++) {
            uint32_t cost = a[i - 1] != b[j - 1];
            now[j] = min3(now[j - 1] + 1, before[j] + 1, before[j - 1] + cost);
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                earlier[j - 2] + 1 < now[j]) {
                now[j] = earlier[j - 2] + 1;
            }
        }
    }
    return rows[a_len % 3][b_len];
}

const char *tly_text_bytes(char *out, size_t capacity, uint64_t bytes) {
    static const char units[][4] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = (double)bytes;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < sizeof units / sizeof units[0]) {
        value /= 1024;
        unit++;
    }
    snprintf(out, capacity, unit == 0 || value >= 100 ? "%.0f %s" : "%.3g %s", value, units[unit]);
    return out;
}

void tly_text_wrap(FILE *out, size_t indent, size_t width, const char *text) {
    size_t column = 0;
    while (*text != '\0') {
        size_t word = strcspn(text, " ");
        if (column != 0 && column + 1 + word > width) {
            fputc('\n', out);
            column = 0;
        }
        if (column == 0) {
            column = (size_t)fprintf(out, "%*s", (int)indent, "");
        } else {
            fputc(' ', out);
            column++;
        }
        fwrite(text, 1, word, out);
        column += word;
        text += word;
        text += strspn(text, " ");
    }
    if (column != 0) {
        fputc('\n', out);
    }
}

const char *tly_text_s(uint64_t num) {
    return num == 1 ? "" : "s";
}

uint32_t tly_text_extents(const char *text, uint64_t min, uint64_t max, uint64_t *out_extents,
                          uint32_t room) {
    uint32_t num = 0;
    while (num < room && *text >= '0' && *text <= '9') {
        char *end;
        errno = 0;
        uint64_t extent = strtoull(text, &end, 10);
        if (errno != 0 || extent < min || extent > max) {
            return 0;
        }
        out_extents[num++] = extent;
        if (*end == '\0') {
            return num;
        }
        if (*end != 'x') {
            return 0;
        }
        text = end + 1;
    }
    return 0;
}
