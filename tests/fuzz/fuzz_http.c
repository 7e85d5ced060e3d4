/* SPDX-License-Identifier: Apache-2.0 */
/* Heads of HTTP answers, and URLs. What is taken from a head is safe to send back and to compute
 * with; a URL is shown without what stands behind its question mark or in front of its host. */
#include <stdlib.h>
#include <string.h>

#include <tilery/http.h>

#include "net/http_head.h"
#include "net/http_url.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t capacity) {
    size_t len = strnlen(text, capacity);
    if (len == capacity) {
        abort();
    }
    for (size_t i = 0; i < len; i++) {
        if (text[i] < 0x20 || text[i] > 0x7E) {
            abort();
        }
    }
}

static void read_head(const char *bytes, size_t len) {
    tly_http_head h;
    tly_http_head_init(&h);
    while (len != 0) {
        const char *end = memchr(bytes, '\n', len);
        size_t n = end != NULL ? (size_t)(end - bytes) + 1 : len;
        tly_http_head_line(&h, bytes, n);
        bytes += n;
        len -= n;
        if (h.has_range && (h.first > h.last || h.last >= h.total)) {
            abort();
        }
        check_text(h.etag, sizeof h.etag);
        check_text(h.modified, sizeof h.modified);
        if (h.etag[0] != '\0' && h.etag[strlen(h.etag) - 1] != '"') {
            abort();
        }
    }
}

static void read_url(const char *bytes, size_t len) {
    char *text = calloc(1, len + 1);
    char shown[128];
    tly_http_url url;
    tly_error error;
    memcpy(text, bytes, len);
    if (tly_http_url_parse(text, &url, &error) == TLY_OK) {
        tly_http_show(text, shown, sizeof shown);
        check_text(shown, sizeof shown);
        if (url.host_len == 0 || memchr(url.host, '@', url.host_len) != NULL ||
            strchr(shown, '#') != NULL || (strchr(shown, '?') != NULL && url.query == NULL)) {
            abort();
        }
        tly_http_url_drop_user(text);
        if (tly_http_url_parse(text, &url, &error) != TLY_OK || url.user != NULL) {
            abort();
        }
    } else if (strcmp(error.rule, "url") != 0) {
        abort();
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    read_head((const char *)data, size);
    read_url((const char *)data, size);
    return 0;
}
