/* SPDX-License-Identifier: Apache-2.0 */
/* What a TLS module implements. tilery-tls-openssl.so exports one function,
 *
 *     const void *tly_tls_module_get(void);     a tly_tls_module
 *
 * and is loaded when the first address with tls: is used. Sessions work on a socket, blocking or
 * not. TLS 1.3 only, with the application protocol TLY_TLS_ALPN on both sides. */
#ifndef TLY_NET_TLS_MODULE_H
#define TLY_NET_TLS_MODULE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/net.h>

#define TLY_TLS_MODULE_ABI    1
#define TLY_TLS_MODULE_NAME   "tilery-tls-openssl"
#define TLY_TLS_MODULE_SYMBOL "tly_tls_module_get"
#define TLY_TLS_ALPN          "hurray/1"

/* What a call on a session came to. */
typedef enum tly_tls_result {
    TLY_TLS_OK = 0,
    TLY_TLS_WANT_READ = 1, /* again when the socket is readable (or, blocking, the time is over) */
    TLY_TLS_WANT_WRITE = 2,
    TLY_TLS_END = 3,   /* the peer closed */
    TLY_TLS_FAILED = 4 /* `explain` says why, or errno where that is empty */
} tly_tls_result;

typedef struct tly_tls_module {
    uint32_t abi;  /* TLY_TLS_MODULE_ABI */
    uint32_t size; /* sizeof(tly_tls_module) */

    /* Reads certificates and keys. `options` may be NULL for a client. Errors: IO, MALFORMED,
     * OUT_OF_MEMORY. */
    tly_status (*open)(const tly_tls_options *options, int is_server, void **out_library,
                       tly_error *error);
    void (*close)(void *library);

    /* A session on a connected socket, which stays the caller's. `host` (client): whom the server's
     * certificate must name. NULL without memory. */
    void *(*start)(void *library, int fd, const char *host);
    void (*end)(void *session);

    /* The handshake happens by itself with the first of these. */
    int (*read)(void *session, void *bytes, size_t len, size_t *out_len);
    int (*write)(void *session, const void *bytes, size_t len, size_t *out_len);
    int (*has_pending)(const void *session); /* input that the socket no longer tells of */
    void (*say_end)(void *session);          /* close_notify */

    /* SHA-256 of the peer's certificate, which has been verified. 0: it has none. */
    int (*fingerprint)(void *session, uint8_t out[32]);
    void (*explain)(void *session, char *out, size_t capacity);
} tly_tls_module;

#endif
