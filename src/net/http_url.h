/* SPDX-License-Identifier: Apache-2.0 */
/* URLs, as far as it takes to keep their secrets and to know one server from another. */
#ifndef TLY_NET_HTTP_URL_H
#define TLY_NET_HTTP_URL_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/status.h>

/* Pieces of a URL, as views. */
typedef struct tly_http_url {
    int is_secure;    /* https: */
    const char *user; /* with the password; NULL: none */
    size_t user_len;
    const char *host; /* with the port, if one is given */
    size_t host_len;
    const char *path; /* "/..."; may be empty */
    size_t path_len;
    const char *query; /* what follows "?"; NULL: none */
    size_t query_len;
} tly_http_url;

/* Errors: INVALID_ARGUMENT (rule "url"), whose message does not show the URL. */
tly_status tly_http_url_parse(const char *text, tly_http_url *out, tly_error *error);

/* The same scheme, host and port. */
int tly_http_url_same_server(const tly_http_url *a, const tly_http_url *b);

/* Takes user and password out of a URL. */
void tly_http_url_drop_user(char *text);

/* Overwrites every secret of `url` that stands in `message`. */
void tly_http_url_hide(const char *url, char *message);

#endif
