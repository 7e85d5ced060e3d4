/* SPDX-License-Identifier: Apache-2.0 */
/* How every command of ours connects: what the environment says about certificates counts. */
#ifndef TLY_CLI_CONNECT_H
#define TLY_CLI_CONNECT_H

#include <tilery/net.h>

/* Errors: those of tly_client_connect. */
tly_status tly_cli_connect(const tly_context *context, const char *address, tly_client **out_client,
                           tly_error *error);

#endif
