/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the blocking client: client.c (connection), fetch.c (one tensor). */
#ifndef TLY_NET_CLIENT_H
#define TLY_NET_CLIENT_H

#include <tilery/net.h>

#include "net/channel.h"
#include "net/gather.h"
#include "net/handover.h"
#include "net/memory.h"
#include "net/range.h"
#include "net/socket.h"

struct tly_client {
    const tly_context *context;
    tly_wire *wire;
    tly_net_channel channel;
    tly_net_tls_library tls;
    int broken;
    int steps;                    /* between tly_client_begin and the last answer: nothing waits */
    struct client_fetch *fetches; /* begun and not done */
    int shares;                   /* TLY_CLIENT_SHARED, on a Unix socket */
    uint32_t progress_timeout_ms;
    uint64_t max_tensor_len;
    char address[sizeof((struct sockaddr_un *)0)->sun_path + 16];
};

struct tly_fetched {
    const tly_context *context;
    tly_descriptor descriptor;
    uint8_t *descriptor_bytes;
    size_t descriptor_len;
    uint8_t *work; /* arrays of the descriptor */
    size_t work_len;
    void *data;
    uint64_t len;
    uint32_t choice;
    tly_net_block block;          /* data, unless it is the caller's */
    struct tly_fetched **members; /* of a composite, in the order in which they came */
    uint32_t num_members;
    uint32_t members_capacity;
    /* handed over: what came before the descriptor */
    tly_handover handover;
    int fd; /* -1: none */
    int shared;
    /* in a range: what the server said, and how far the data is there */
    int has_range;
    tly_range range;
    uint64_t received; /* bytes, of whole frames */
};

/* tly_client_fetch for one of several attempts: asks for a range, and goes on where `before` (may
 * be NULL) ended, if the server has the same bytes still. After a failure `*out_fetched` holds what
 * has come, if it is worth going on with; the caller frees it, and `before`, which has given away
 * its memory if that was used. */
tly_status tly_client_fetch_on(tly_client *client, const tly_fetch_request *request,
                               tly_fetched *before, tly_fetched **out_fetched, tly_error *error);

/* The parts of a fetch, for those who wait (fetch.c) and those who do not (step.c). */
tly_fetched *tly_fetched_new(const tly_context *context);
tly_status tly_client_check_request(const tly_client *client, const tly_fetch_request *request,
                                    tly_error *error);

/* Queues the request; `range` may be NULL. */
tly_status tly_client_send_request(tly_client *client, const tly_fetch_request *request,
                                   const tly_range *range, uint32_t *out_stream, tly_error *error);

/* An event of the fetch on `stream`; `before` as in tly_client_fetch_on. `out_whole` becomes 1 when
 * everything is there. */
tly_status tly_client_on_event(tly_client *client, const tly_fetch_request *request,
                               const tly_wire_event *event, uint32_t stream, tly_fetched *f,
                               tly_fetched *before, tly_gather *gather, int *out_whole,
                               tly_error *error);

/* Status and message for a step of input or output that failed; the client is broken then. */
tly_status tly_client_fail_io(tly_client *client, tly_net_result result, const char *verb,
                              tly_error *error);

/* Tells every fetch that was begun that it is cancelled. */
void tly_client_give_up(tly_client *client);

/* Sends everything queued, then waits for the next event. Errors: IO, CLOSED, TIMEOUT,
 * OUT_OF_MEMORY; the client is broken then. */
tly_status tly_client_event(tly_client *client, tly_wire_event *out_event, tly_error *error);

/* Sends everything queued; between steps nothing, which the next step does. Errors as above. */
tly_status tly_client_flush(tly_client *client, tly_error *error);

/* Status and message for an ERROR or REJECTED event. */
tly_status tly_client_refusal(tly_client *client, const tly_wire_event *event, tly_error *error);

#endif
