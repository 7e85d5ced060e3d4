/* SPDX-License-Identifier: Apache-2.0 */
/* A file descriptor as source and sink of a stream. */
#ifndef TLY_STORE_STREAM_FD_H
#define TLY_STORE_STREAM_FD_H

#include <stddef.h>

#include <tilery/status.h>

/* `user` points to the descriptor, an int. */
tly_status tly_store_fd_source(void *user, void *buffer, size_t capacity, size_t *out_len,
                               tly_error *error);
tly_status tly_store_fd_sink(void *user, const void *bytes, size_t len, tly_error *error);

#endif
