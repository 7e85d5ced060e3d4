/* SPDX-License-Identifier: Apache-2.0 */
/* The way that a connection's bytes take: a socket, with or without TLS. Used by the blocking
 * client and, with the descriptor set to non-blocking, by the server. */
#ifndef TLY_NET_CHANNEL_H
#define TLY_NET_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/wire.h>

#include "net/tls.h"

/* What one step of input or output came to. */
typedef enum tly_net_result {
    TLY_NET_OK = 0,    /* bytes moved */
    TLY_NET_AGAIN = 1, /* nothing now: not ready, or (blocking) the time is over */
    TLY_NET_IDLE = 2,  /* there is nothing to do: no output, or no input wanted */
    TLY_NET_EOF = 3,   /* the peer closed its end */
    TLY_NET_FAULT = 4, /* output: a payload cannot be read any more (its file was cut short) */
    TLY_NET_ERROR = 5  /* the connection is broken; errno is set */
} tly_net_result;

#define TLY_NET_MAX_FDS   8
#define TLY_NET_AHEAD_LEN 4096 /* bytes; a whole request, or an answer up to its data */

/* Plain memory. */
typedef struct tly_net_channel {
    int fd;
    int takes_fds;    /* descriptors that come along are kept (Unix sockets) */
    tly_net_tls *tls; /* NULL: plain */
    /* Are these bytes of the output also in a file, so that the kernel can send them from there?
     * NULL: never. */
    int (*in_file)(const tly_wire_span *span, int *out_fd, uint64_t *out_offset);
    int more_follows; /* the end of the output is about to be followed by more */
    uint32_t num_fds; /* that have come and were not taken */
    int fds[TLY_NET_MAX_FDS];
    int is_empty;                     /* the last read brought less than it might have */
    uint32_t ahead_len, ahead_used;   /* bytes */
    uint8_t ahead[TLY_NET_AHEAD_LEN]; /* read and not given out: small messages come in one read */
} tly_net_channel;

/* Sends once what the connection has to send, and the descriptors attached to it. */
tly_net_result tly_net_send(tly_net_channel *channel, tly_wire *wire, uint64_t *out_len);

/* Receives once, straight into the places that the connection names. OUT_OF_MEMORY comes as ERROR
 * with errno ENOMEM. */
tly_net_result tly_net_receive(tly_net_channel *channel, tly_wire *wire, uint64_t *out_len);

/* Input that the socket no longer tells of, because it has been read and not given out yet. */
int tly_net_has_pending(const tly_net_channel *channel);

/* The channel cannot go on reading before it has written, though there may be no output. */
int tly_net_wants_write(const tly_net_channel *channel);

/* Output cannot leave before something has come: a handshake is not over. */
int tly_net_output_wants_read(const tly_net_channel *channel);

/* Output that the connection thinks has left. */
int tly_net_has_staged(const tly_net_channel *channel);

/* The oldest descriptor that came, which is the caller's now; -1: there is none. */
int tly_net_take_fd(tly_net_channel *channel);

/* SHA-256 of the certificate that the peer has shown and that was verified. 0: there is none. */
int tly_net_peer_certificate(const tly_net_channel *channel, uint8_t out[32]);

/* Why the channel failed, for people. */
void tly_net_explain(const tly_net_channel *channel, char *out, size_t capacity);

/* Says that nothing more will be sent. */
void tly_net_end_output(tly_net_channel *channel);

/* Reads and drops what has come. The end of a connection needs it: a socket that is closed with
 * unread input takes back output that the peer has not read. */
tly_net_result tly_net_drain(int fd);

/* Ends the session and closes what came along; the socket stays the caller's. */
void tly_net_channel_cleanup(const tly_context *context, tly_net_channel *channel);

#endif
