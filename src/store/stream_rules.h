/* SPDX-License-Identifier: Apache-2.0 */
/* What reader and writer of streams ask for alike. */
#ifndef TLY_STORE_STREAM_RULES_H
#define TLY_STORE_STREAM_RULES_H

#include <tilery/stream.h>

/* Options with every default filled in. `given` may be NULL. Errors: INVALID_ARGUMENT. */
tly_status tly_store_stream_options(const tly_stream_options *given, tly_stream_options *out,
                                    tly_error *error);

/* What a stream asks of a descriptor that keeps the rules of its own: buffers that hold every
 * element, and that are ready where nobody could wait for them. */
tly_status tly_store_stream_check(const tly_descriptor *d, uint32_t flags, tly_error *error);

/* Bytes of all buffers. Errors: OVERFLOW. */
tly_status tly_store_stream_data_len(const tly_descriptor *d, uint64_t *out_len, tly_error *error);

#endif
