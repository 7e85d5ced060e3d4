/* SPDX-License-Identifier: Apache-2.0 */
#include "net/http_url.h"

#include <stdio.h>
#include <string.h>

#include <tilery/http.h>

#include "base/error.h"
#include "base/text.h"
#include "net/http_module.h"

#define LEAST_SECRET_LEN 4 /* of a query: less is in any text */

/* Length of "http://" or "https://" in front; 0: neither. */
static size_t scheme_len(const char *text) {
    size_t len = strnlen(text, 8);
    if (len >= 7 && tly_text_equal(text, 7, "http://")) {
        return 7;
    }
    return len == 8 && tly_text_equal(text, 8, "https://") ? 8 : 0;
}

int tly_http_is_url(const char *text) {
    return scheme_len(text) != 0;
}

/* The pieces of a text with a scheme; does not judge them. */
static void split(const char *text, tly_http_url *out) {
    const char *at = text + scheme_len(text), *user = NULL;
    size_t len = strcspn(at, "/?#");
    memset(out, 0, sizeof *out);
    out->is_secure = scheme_len(text) == 8;
    for (size_t i = 0; i < len; i++) { /* a password may have an @ of its own */
        user = at[i] == '@' ? at + i : user;
    }
    if (user != NULL) {
        out->user = at;
        out->user_len = (size_t)(user - at);
        len -= out->user_len + 1;
        at = user + 1;
    }
    out->host = at;
    out->host_len = len;
    out->path = at + len;
    out->path_len = strcspn(out->path, "?#");
    if (out->path[out->path_len] == '?') {
        out->query = out->path + out->path_len + 1;
        out->query_len = strcspn(out->query, "#");
    }
}

tly_status tly_http_url_parse(const char *text, tly_http_url *out, tly_error *error) {
    size_t len = strnlen(text, TLY_HTTP_URL_LEN);
    int ok = len < TLY_HTTP_URL_LEN && scheme_len(text) != 0;
    for (size_t i = 0; i < len && ok; i++) {
        ok = text[i] > 0x20 && text[i] < 0x7F;
    }
    if (ok) {
        split(text, out);
        ok = out->host_len != 0;
    }
    return ok ? TLY_OK
              : tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "url",
                              "a URL is http://HOST/... or https://HOST/..., in printable ASCII "
                              "without spaces, and shorter than %d bytes",
                              TLY_HTTP_URL_LEN);
}

int tly_http_url_same_server(const tly_http_url *a, const tly_http_url *b) {
    return a->is_secure == b->is_secure &&
           tly_text_compare(a->host, a->host_len, b->host, b->host_len) == 0;
}

void tly_http_url_drop_user(char *text) {
    tly_http_url url;
    split(text, &url);
    if (url.user != NULL) {
        char *at = text + (url.user - text);
        memmove(at, url.host, strlen(url.host) + 1);
    }
}

const char *tly_http_show(const char *url, char *out, size_t capacity) {
    char host[300], path[600];
    tly_http_url u;
    split(url, &u);
    snprintf(out, capacity, "%s://%s%s%s", u.is_secure ? "https" : "http",
             tly_base_printable(host, sizeof host, u.host, u.host_len),
             tly_base_printable(path, sizeof path, u.path, u.path_len),
             u.query != NULL ? "?..." : "");
    return out;
}

static void hide(const char *secret, size_t len, char *message) {
    char *at = len >= LEAST_SECRET_LEN ? message : NULL;
    while (at != NULL && (at = memmem(at, strlen(at), secret, len)) != NULL) {
        memset(at, '*', len);
    }
}

void tly_http_url_hide(const char *url, char *message) {
    tly_http_url u;
    split(url, &u);
    hide(u.user, u.user_len, message);
    hide(u.query, u.query_len, message);
}
