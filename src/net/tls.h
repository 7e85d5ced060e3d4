/* SPDX-License-Identifier: Apache-2.0 */
/* TLS for channels: the module, loaded when it is needed, and the sessions that it gives. */
#ifndef TLY_NET_TLS_H
#define TLY_NET_TLS_H

#include "net/tls_module.h"

/* Certificates and keys, read once for all sessions. Single-owner but for the sessions. */
typedef struct tly_net_tls_library {
    const tly_tls_module *module;
    void *at;
} tly_net_tls_library;

#define TLY_NET_TLS_STAGE_LEN 16384 /* a record */

/* One session. Output is copied to `stage` and counts as sent then: what a record that waits has
 * been made of must not change. */
typedef struct tly_net_tls {
    const tly_tls_module *module;
    void *at;
    int wants_write;       /* the session itself has to write before it can go on */
    int output_wants_read; /* the last output waits for input: the handshake is not over */
    int failed_errno;
    size_t staged, stage_sent; /* bytes */
    uint8_t stage[TLY_NET_TLS_STAGE_LEN];
} tly_net_tls;

/* Errors: MODULE (there is none), those of the module. */
tly_status tly_net_tls_library_init(tly_net_tls_library *library, const tly_tls_options *options,
                                    int is_server, tly_error *error);
void tly_net_tls_library_cleanup(tly_net_tls_library *library);

/* NULL without memory. */
tly_net_tls *tly_net_tls_new(const tly_context *context, const tly_net_tls_library *library, int fd,
                             const char *host);
void tly_net_tls_free(const tly_context *context, tly_net_tls *tls);

#endif
