/* SPDX-License-Identifier: Apache-2.0 */
/* What `tilery serve` reads: containers, folders of them, access rules. Read once at the start, and
 * again at each SIGHUP. */
#ifndef TLY_CLI_SERVE_OFFER_H
#define TLY_CLI_SERVE_OFFER_H

#include <tilery/serve.h>

#include "cli/cli.h"

typedef struct tly_serve_input {
    tly_catalogue *catalogue;
    tly_access *access; /* NULL: no rules */
} tly_serve_input;

/* `is_first`: the folder for uploads is opened, too; later it is shared with what is served then.
 * `*http` is made where there are URLs, and the caller's; it outlives the input. After an error
 * nothing else needs freeing. */
tly_status tly_serve_input_read(const tly_cli *cli, const tly_context *context, int is_first,
                                tly_http **http, tly_serve_input *out, tly_error *error);
void tly_serve_input_cleanup(tly_serve_input *input);

/* Tells the service manager how we are ("READY=1" and so on), where there is one (NOTIFY_SOCKET).
 */
void tly_serve_notify(const char *state);

#endif
