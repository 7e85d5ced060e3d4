/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/own.h"

#include "base/context.h"
#include "base/error.h"

tly_status tly_own_descriptor_init(tly_own_descriptor *own, const tly_context *context,
                                   const tly_descriptor *d, tly_error *error) {
    size_t len;
    tly_status status = tly_descriptor_encode(d, NULL, 0, &len, error);
    own->memory = NULL;
    if (status != TLY_OK) {
        return status;
    }
    own->memory_len = 2 * len + 32; /* the bytes, and as much work memory as they may need */
    own->memory = tly_base_alloc(context, own->memory_len, 64);
    if (own->memory == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a descriptor of %zu bytes", len);
    }
    status = tly_descriptor_encode(d, own->memory, len, &len, error);
    if (status == TLY_OK) {
        status = tly_descriptor_decode(own->memory, len, own->memory + len, own->memory_len - len,
                                       &own->d, NULL, error);
    }
    if (status == TLY_OK) {
        status = tly_descriptor_check_buffers(&own->d, error);
    }
    if (status != TLY_OK) {
        tly_own_descriptor_cleanup(own, context);
    }
    return status;
}

void tly_own_descriptor_cleanup(tly_own_descriptor *own, const tly_context *context) {
    tly_base_free(context, own->memory, own->memory_len, 64);
    own->memory = NULL;
}
