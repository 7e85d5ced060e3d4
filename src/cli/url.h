/* SPDX-License-Identifier: Apache-2.0 */
/* Containers behind URLs, as every command of ours opens them: what the environment says about
 * certificates counts. */
#ifndef TLY_CLI_URL_H
#define TLY_CLI_URL_H

#include <tilery/http.h>

/* `cache_len` as in tly_http_options. Errors: those of tly_http_new. */
tly_status tly_cli_http_new(const tly_context *context, uint64_t cache_len, tly_http **out_http,
                            tly_error *error);

/* A path, or a URL without its secrets: what may be shown of an argument. */
#define TLY_CLI_SHOWN_LEN 512
const char *tly_cli_shown(const char *argument, char out[TLY_CLI_SHOWN_LEN]);

#endif
