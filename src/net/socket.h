/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting and listening. */
#ifndef TLY_NET_SOCKET_H
#define TLY_NET_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#include "net/address.h"

/* Connects within `timeout_ms`. The socket is blocking. `buffer_len` is SO_RCVBUF, 0 for the
 * system's. Errors: IO, TIMEOUT, INVALID_ARGUMENT. */
tly_status tly_net_connect(const char *address, uint32_t timeout_ms, uint32_t buffer_len,
                           int *out_fd, tly_error *error);

/* Listens; the socket is non-blocking. `out_text` gets the address with the port that it got,
 * `out_kind` its tly_net_kind. `remote` says for each kind of address (bit 1 << tly_net_kind)
 * whether other machines may reach it. Errors: INVALID_ARGUMENT, IO, EXISTS, UNSUPPORTED (rule
 * "loopback-only"). */
tly_status tly_net_listen(const char *address, uint32_t remote, char *out_text, size_t capacity,
                          int *out_kind, int *out_fd, tly_error *error);

/* The same without taking the address. */
tly_status tly_net_check_listen(const char *address, uint32_t remote, int *out_kind,
                                tly_error *error);

/* Longest silence in a blocking read or write. */
void tly_net_set_timeout(int fd, uint32_t timeout_ms);

#endif
