/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/connect.h"

#include <stdlib.h>

/* NULL where it is not set, or empty. */
static const char *setting(const char *name) {
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

tly_status tly_cli_connect(const tly_context *context, const char *address, tly_client **out_client,
                           tly_error *error) {
    tly_tls_options tls = {.size = sizeof tls,
                           .certificate = setting("TILERY_TLS_CERT"),
                           .key = setting("TILERY_TLS_KEY"),
                           .ca = setting("TILERY_TLS_CA")};
    tly_client_options options = {.size = sizeof options, .tls = &tls};
    if (tls.key == NULL) {
        tls.key = tls.certificate; /* both in one file */
    }
    return tly_client_connect(context, address, &options, out_client, error);
}
