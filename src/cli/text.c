/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/text.h"

#include <stdio.h>
#include <string.h>

static int continuation(unsigned char c) {
    return (c & 0xC0) == 0x80;
}

int tly_text_is_utf8(const char *text, size_t len) {
    const unsigned char *s = (const unsigned char *)text;
    size_t i = 0;
    while (i < len) {
        uint32_t code = s[i], more = 0, least = 0;
        if (code < 0x80) {
            i++;
            continue;
        }
        if ((code & 0xE0) == 0xC0) {
            code &= 0x1F;
            more = 1;
            least = 0x80;
        } else if ((code & 0xF0) == 0xE0) {
            code &= 0x0F;
            more = 2;
            least = 0x800;
        } else if ((code & 0xF8) == 0xF0) {
            code &= 0x07;
            more = 3;
            least = 0x10000;
        } else {
            return 0;
        }
        if (len - i <= more) {
            return 0;
        }
        for (uint32_t k = 1; k <= more; k++) {
            if (!continuation(s[i + k])) {
                return 0;
            }
            code = code << 6 | (s[i + k] & 0x3F);
        }
        if (code < least || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
            return 0;
        }
        i += more + 1;
    }
    return 1;
}

/* C0, DEL and, as UTF-8, C1 (0xC2 0x80 .. 0x9F): what a terminal might obey. */
const char *tly_text_safe(char *out, size_t capacity, const char *text, size_t len) {
    size_t used = 0;
    for (size_t i = 0; i < len;) {
        unsigned char c = (unsigned char)text[i];
        size_t bytes = c < 0xC0 ? 1 : c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
        int control = c < 0x20 || c == 0x7F ||
                      (c == 0xC2 && i + 1 < len && (unsigned char)text[i + 1] < 0xA0);
        if (bytes > len - i || used + bytes + 1 > capacity) {
            break;
        }
        if (control) {
            out[used++] = '?';
        } else {
            memcpy(out + used, text + i, bytes);
            used += bytes;
        }
        i += bytes;
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
