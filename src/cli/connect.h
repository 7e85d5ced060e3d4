/* SPDX-License-Identifier: Apache-2.0 */
/* How every command of ours connects: what the environment says about certificates counts. */
#ifndef TLY_CLI_CONNECT_H
#define TLY_CLI_CONNECT_H

#include <tilery/net.h>

/* A variable of the environment; NULL where it is not set, or empty. */
const char *tly_cli_setting(const char *name);

/* What the environment says, as options; `options` points into it. */
typedef struct tly_cli_link {
    tly_tls_options tls;
    tly_client_options options;
    char token[1026];
} tly_cli_link;

/* Errors: IO and INVALID_ARGUMENT (the file with the token). */
tly_status tly_cli_link_init(tly_cli_link *link, tly_error *error);
void tly_cli_link_cleanup(tly_cli_link *link);

/* `flags`: of tly_client_options. Errors: those of tly_client_connect. */
tly_status tly_cli_connect(const tly_context *context, const char *address, uint32_t flags,
                           tly_client **out_client, tly_error *error);

#endif
