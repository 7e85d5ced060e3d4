/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/url.h"

#include "cli/connect.h"

tly_status tly_cli_http_new(const tly_context *context, uint64_t cache_len, tly_http **out_http,
                            tly_error *error) {
    const tly_http_options options = {
        .size = sizeof options, .cache_len = cache_len, .ca = tly_cli_setting("TILERY_TLS_CA")};
    return tly_http_new(context, &options, out_http, error);
}

const char *tly_cli_shown(const char *argument, char out[TLY_CLI_SHOWN_LEN]) {
    return tly_http_is_url(argument) ? tly_http_show(argument, out, TLY_CLI_SHOWN_LEN) : argument;
}
