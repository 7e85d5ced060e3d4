/* SPDX-License-Identifier: Apache-2.0 */
/* One object behind a URL, as a source of bytes. */
#ifndef TLY_NET_HTTP_OBJECT_H
#define TLY_NET_HTTP_OBJECT_H

#include <tilery/http.h>

#include "net/http_module.h"
#include "store/blocks.h"

struct tly_http {
    const tly_context *context;
    tly_http_options options; /* defaults filled in; `ca` is the module's */
    const tly_http_module *module;
    void *library; /* of the module */
    tly_block_cache *cache;
    int32_t stopped;                    /* atomic */
    uint64_t num_requests, num_retries; /* atomic */
};

/* Asks for the first bytes, and learns length and version from the answer. Errors: as
 * tly_http_open. */
tly_status tly_http_object_new(tly_http *http, const char *url, tly_byte_source *out_source,
                               tly_error *error);

#endif
