/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a connection, shared by the files that implement it: conn.c (life, streams, events),
 * conn_in.c (bytes to events) and conn_out.c (messages to bytes). */
#ifndef TLY_WIRE_CONN_H
#define TLY_WIRE_CONN_H

#include "wire/message.h"

#define STAGE_LEN   (TLY_WIRE_HEADER_LEN + TLY_WIRE_OFFSET_LEN)
#define SCRATCH_LEN 4096
#define NUM_REFUSED 16

/* What a stream waits for. */
typedef enum stream_state {
    STREAM_ANSWER = 1, /* client: for the descriptor; server: for our answer */
    STREAM_DATA = 2    /* descriptor gone or come; frames follow */
} stream_state;

typedef struct wire_stream {
    uint32_t id;
    uint32_t state;
    uint64_t total; /* bytes of data */
    uint64_t done;  /* bytes received, or queued to be sent */
    uint8_t *dest;  /* client only; NULL: the bytes are dropped */
} wire_stream;

typedef enum node_kind {
    NODE_CONTROL = 0, /* leaves whatever happens */
    NODE_DATA = 1,    /* a frame: dropped with its stream; its token is handed back */
    NODE_END = 2      /* TENSOR_DATA_END: dropped with its stream */
} node_kind;

/* One message on its way out: `head_len` bytes of our own and then the caller's payload. */
typedef struct out_node {
    struct out_node *next;
    const uint8_t *payload;
    uint64_t payload_len;
    void *token;
    uint32_t stream;
    uint32_t head_len;
    uint32_t capacity; /* of head */
    uint32_t kind;     /* node_kind */
    uint8_t head[];
} out_node;

/* What the next bytes of input are. */
typedef enum in_state {
    IN_HEAD = 0,    /* a message header, and the offset behind it if it heads a frame */
    IN_CONTROL = 1, /* payload of a message to be read whole */
    IN_DATA = 2,    /* payload of a frame */
    IN_SKIP = 3     /* payload of a message that has been refused */
} in_state;

struct tly_wire {
    const tly_context *context;
    int32_t role;
    uint32_t max_message_size;
    uint32_t max_control_len;
    uint32_t max_streams;
    uint64_t max_queued_len;

    tly_wire_hello ours; /* views into ours_bytes */
    uint8_t *ours_bytes;
    size_t ours_len;
    tly_wire_hello peer; /* views into peer_bytes */
    uint8_t *peer_bytes;
    size_t peer_len;
    int has_peer;
    int closing;
    uint32_t hello_stream;
    uint32_t next_stream; /* client: id of the next request */

    wire_stream *streams;
    uint32_t num_streams;
    uint32_t
        refused[NUM_REFUSED]; /* server: streams given up lately; what still comes is dropped */
    uint32_t next_refused;

    /* input */
    in_state in;
    uint8_t stage[STAGE_LEN];
    uint32_t stage_len;
    tly_wire_header head;
    uint64_t left;   /* bytes of the payload that have not come */
    uint64_t offset; /* frame: byte_offset_in_buffer */
    uint8_t *control;
    size_t control_capacity;
    size_t control_len;
    uint8_t scratch[SCRATCH_LEN];
    tly_wire_span targets[2]; /* what tly_wire_recv_targets gave last */
    uint32_t num_targets;

    /* events */
    int has_event;
    tly_wire_event event;
    tly_error event_error;

    /* output */
    out_node *out_first;
    out_node *out_last;
    out_node *free_nodes; /* data nodes kept for reuse */
    out_node *released;   /* data nodes whose token has not been asked for */
    uint64_t out_sent;    /* bytes of out_first that are gone */
    uint64_t queued;
};

wire_stream *tly_wire_find_stream(tly_wire *w, uint32_t id);
wire_stream *tly_wire_open_stream(tly_wire *w, uint32_t id, stream_state state);
void tly_wire_close_stream(tly_wire *w, uint32_t id);

/* Queues a message with an empty payload of `payload_len` bytes to be written by the caller.
 * Returns where, or NULL without memory. */
uint8_t *tly_wire_queue(tly_wire *w, uint32_t type, uint32_t stream, uint32_t payload_len);
tly_status tly_wire_queue_error(tly_wire *w, uint32_t stream, uint32_t code, const char *text);
void tly_wire_drop_frames(tly_wire *w, uint32_t stream);
void tly_wire_free_output(tly_wire *w);

#endif
