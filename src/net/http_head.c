/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_head.h"

#include <string.h>

#include "base/text.h"

void tly_http_head_init(tly_http_head *head) {
    memset(head, 0, sizeof *head);
    head->retry_after_s = UINT32_MAX;
}

/* A piece of a line. */
typedef struct piece {
    const char *at;
    size_t len;
} piece;

static int is_space(char c) {
    return c == ' ' || c == '\t';
}

static piece trim(piece p) {
    while (p.len != 0 && is_space(p.at[0])) {
        p.at++;
        p.len--;
    }
    while (p.len != 0 &&
           (is_space(p.at[p.len - 1]) || p.at[p.len - 1] == '\r' || p.at[p.len - 1] == '\n')) {
        p.len--;
    }
    return p;
}

static int is_word(piece p, const char *word) {
    return tly_text_equal(p.at, p.len, word);
}

/* Digits from the front; 0 where there are none or too many. */
static int take_number(piece *p, uint64_t *out) {
    uint64_t value = 0;
    size_t n = 0;
    while (n < p->len && p->at[n] >= '0' && p->at[n] <= '9') {
        if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
            __builtin_add_overflow(value, (uint64_t)(p->at[n] - '0'), &value)) {
            return 0;
        }
        n++;
    }
    p->at += n;
    p->len -= n;
    *out = value;
    return n != 0;
}

static int take_char(piece *p, char c) {
    if (p->len == 0 || p->at[0] != c) {
        return 0;
    }
    p->at++;
    p->len--;
    return 1;
}

/* bytes FIRST-LAST/TOTAL; an unknown total (*) is of no use. */
static void read_range(tly_http_head *h, piece p) {
    uint64_t first, last, total;
    int ok = p.len > 5 && tly_text_equal(p.at, 5, "bytes") && is_space(p.at[5]);
    if (ok) {
        p = trim((piece){p.at + 6, p.len - 6});
    }
    ok = ok && take_number(&p, &first) && take_char(&p, '-') && take_number(&p, &last) &&
         take_char(&p, '/') && take_number(&p, &total) && p.len == 0;
    if (!ok || h->has_range || first > last || last >= total) {
        h->bad_range = 1;
        return;
    }
    h->has_range = 1;
    h->first = first;
    h->last = last;
    h->total = total;
}

static void read_len(tly_http_head *h, piece p) {
    uint64_t len;
    if (take_number(&p, &len) && p.len == 0) {
        h->has_len = 1;
        h->len = len;
    }
}

/* It is sent back as it came, so nothing but printable ASCII gets in. */
static void keep_text(char *out, size_t capacity, piece p) {
    out[0] = '\0';
    for (size_t i = 0; i < p.len; i++) {
        if (p.at[i] < 0x20 || p.at[i] > 0x7E) {
            return;
        }
    }
    if (p.len < capacity) {
        memcpy(out, p.at, p.len);
        out[p.len] = '\0';
    }
}

static int is_etag(piece p) {
    if (p.len >= 2 && p.at[0] == 'W' && p.at[1] == '/') {
        p.at += 2;
        p.len -= 2;
    }
    return p.len >= 2 && p.at[0] == '"' && memchr(p.at + 1, '"', p.len - 1) == p.at + p.len - 1;
}

/* HTTP/1.1 206 Partial Content; HTTP/2 206 */
static int read_status(tly_http_head *h, piece p) {
    const char *space =
        p.len > 5 && tly_text_equal(p.at, 5, "HTTP/") ? memchr(p.at, ' ', p.len) : NULL;
    uint64_t status;
    if (space == NULL) {
        return 0;
    }
    tly_http_head_init(h);
    p = trim((piece){space, p.len - (size_t)(space - p.at)});
    if (take_number(&p, &status) && status >= 100 && status <= 999) {
        h->status = (uint32_t)status;
    }
    return 1;
}

void tly_http_head_line(tly_http_head *head, const char *line, size_t len) {
    const char *colon;
    piece name, value;
    uint64_t number;
    if (read_status(head, (piece){line, len})) {
        return;
    }
    colon = len != 0 ? memchr(line, ':', len) : NULL;
    if (colon == NULL) {
        return;
    }
    name = (piece){line, (size_t)(colon - line)};
    value = trim((piece){colon + 1, len - name.len - 1});
    if (is_word(name, "content-range")) {
        read_range(head, value);
    } else if (is_word(name, "content-length")) {
        read_len(head, value);
    } else if (is_word(name, "content-encoding")) {
        head->is_encoded |= !is_word(value, "identity");
    } else if (is_word(name, "etag") && is_etag(value)) {
        keep_text(head->etag, sizeof head->etag, value);
    } else if (is_word(name, "last-modified")) {
        keep_text(head->modified, sizeof head->modified, value);
    } else if (is_word(name, "retry-after") && take_number(&value, &number) && value.len == 0) {
        head->retry_after_s = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX - 1;
    }
}

int tly_http_etag_is_strong(const char *etag) {
    return etag[0] == '"';
}
