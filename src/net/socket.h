/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets, and how a connection's bytes go through one. Used by the blocking client and, with the
 * descriptor set to non-blocking, by the server. */
#ifndef TLY_NET_SOCKET_H
#define TLY_NET_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/wire.h>

#include "net/address.h"

/* What one step of input or output came to. */
typedef enum tly_net_result {
    TLY_NET_OK = 0,    /* bytes moved */
    TLY_NET_AGAIN = 1, /* nothing now: not ready, or (blocking) the time is over */
    TLY_NET_IDLE = 2,  /* there is nothing to do: no output, or no input wanted */
    TLY_NET_EOF = 3,   /* the peer closed its end */
    TLY_NET_FAULT = 4, /* output: a payload cannot be read any more (its file was cut short) */
    TLY_NET_ERROR = 5  /* the connection is broken; errno is set */
} tly_net_result;

/* Connects within `timeout_ms`. The socket is blocking. `buffer_len` is SO_RCVBUF, 0 for the
 * system's. Errors: IO, TIMEOUT, INVALID_ARGUMENT. */
tly_status tly_net_connect(const char *address, uint32_t timeout_ms, uint32_t buffer_len,
                           int *out_fd, tly_error *error);

/* Listens; the socket is non-blocking. `out_text` gets the address with the port that it got. TCP
 * takes loopback addresses only. Errors: INVALID_ARGUMENT, IO, EXISTS, UNSUPPORTED. */
tly_status tly_net_listen(const char *address, char *out_text, size_t capacity, int *out_fd,
                          tly_error *error);

/* Longest silence in a blocking read or write. */
void tly_net_set_timeout(int fd, uint32_t timeout_ms);

/* The way that a connection's bytes take. Plain memory. */
typedef struct tly_net_channel {
    int fd;
    /* Are these bytes of the output also in a file, so that the kernel can send them from there?
     * NULL: never. */
    int (*in_file)(const tly_wire_span *span, int *out_fd, uint64_t *out_offset);
} tly_net_channel;

/* Sends once what the connection has to send. */
tly_net_result tly_net_send(tly_net_channel *channel, tly_wire *wire, uint64_t *out_len);

/* Receives once, straight into the places that the connection names. OUT_OF_MEMORY comes as ERROR
 * with errno ENOMEM. */
tly_net_result tly_net_receive(tly_net_channel *channel, tly_wire *wire, uint64_t *out_len);

/* Reads and drops what has come. The end of a connection needs it: a socket that is closed with
 * unread input takes back output that the peer has not read. */
tly_net_result tly_net_drain(int fd);

#endif
