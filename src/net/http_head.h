/* SPDX-License-Identifier: Apache-2.0 */
/* The head of an HTTP answer, line by line, as far as ranges need it (RFC 9110). */
#ifndef TLY_NET_HTTP_HEAD_H
#define TLY_NET_HTTP_HEAD_H

#include <stddef.h>
#include <stdint.h>

#define TLY_HTTP_ETAG_LEN 256 /* with the final NUL; a longer one counts as none */
#define TLY_HTTP_DATE_LEN 64

typedef struct tly_http_head {
    uint32_t status;        /* 0: no status line yet */
    uint32_t retry_after_s; /* UINT32_MAX: not said in seconds */
    int has_range;          /* Content-Range: bytes first-last/total */
    int bad_range;          /* there is one, and it is not of that form, or there are two */
    uint64_t first, last, total;
    int has_len;
    uint64_t len;                     /* Content-Length, bytes */
    int is_encoded;                   /* Content-Encoding, and not "identity" */
    char etag[TLY_HTTP_ETAG_LEN];     /* with its quotes; "": none */
    char modified[TLY_HTTP_DATE_LEN]; /* Last-Modified, as it stands there; "": none */
} tly_http_head;

void tly_http_head_init(tly_http_head *head);

/* Takes the next line, with or without its end. A status line begins a new head: interim answers
 * (1xx) come before the real one. What is not understood is ignored, as the protocol wants it. */
void tly_http_head_line(tly_http_head *head, const char *line, size_t len);

/* A strong entity tag: the same one means the same bytes. */
int tly_http_etag_is_strong(const char *etag);

#endif
