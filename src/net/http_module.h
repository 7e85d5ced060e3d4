/* SPDX-License-Identifier: Apache-2.0 */
/* What a module for HTTP implements. tilery-http-curl.so exports one function,
 *
 *     const void *tly_http_module_get(void);     a tly_http_module
 *
 * and is loaded when the first URL is opened. It carries one request at a time and decides nothing:
 * it follows no redirect, tries nothing twice and believes no header. */
#ifndef TLY_NET_HTTP_MODULE_H
#define TLY_NET_HTTP_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/status.h>

#define TLY_HTTP_MODULE_ABI    1
#define TLY_HTTP_MODULE_NAME   "tilery-http-curl"
#define TLY_HTTP_MODULE_SYMBOL "tly_http_module_get"

#define TLY_HTTP_URL_LEN 8192 /* with the final NUL */

/* What a request came to. */
typedef enum tly_http_result {
    TLY_HTTP_DONE = 0,    /* the answer is there, whatever it says */
    TLY_HTTP_LOST = 1,    /* no connection, broken off, silent: may pass */
    TLY_HTTP_STOPPED = 2, /* one of the functions returned 0 */
    TLY_HTTP_FAILED = 3   /* does not pass: a certificate, a URL that is none */
} tly_http_result;

/* GET of a range. */
typedef struct tly_http_call {
    const char *url;
    uint64_t first, last;   /* bytes */
    const char *match;      /* If-Match; NULL: without */
    const char *unmodified; /* If-Unmodified-Since; NULL: without */
    uint32_t connect_timeout_ms;
    uint32_t stall_timeout_ms; /* not a byte for so long, once one has come or we are connected */
    uint32_t total_timeout_ms;
    void *user;
    int (*line)(void *user, const char *line, size_t len); /* of the head; an empty one ends it */
    int (*body)(void *user, const void *bytes, size_t len);
    int (*goes_on)(void *user);      /* asked again and again */
    char message[256];               /* out: why, where it is not DONE */
    char redirect[TLY_HTTP_URL_LEN]; /* out: where the answer sends us; "": nowhere */
} tly_http_call;

typedef struct tly_http_module {
    uint32_t abi;  /* TLY_HTTP_MODULE_ABI */
    uint32_t size; /* sizeof(tly_http_module) */

    /* `ca`: authorities that servers' certificates are checked against, a PEM file; NULL: those of
     * the system. Errors: OUT_OF_MEMORY, MODULE. */
    tly_status (*open)(const char *ca, void **out_library, tly_error *error);
    void (*close)(void *library);

    /* A handle keeps its connection for the next request. Single-owner. NULL without memory. */
    void *(*start)(void *library);
    void (*end)(void *handle);
    tly_http_result (*get)(void *handle, tly_http_call *call);
} tly_http_module;

#endif
