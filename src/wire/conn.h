/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of a connection, shared by the files that implement it: conn.c (life, streams, events),
 * conn_in.c (bytes to messages), conn_take.c (messages to events), conn_send.c (calls to messages),
 * conn_out.c (messages to bytes), conn_group.c (answers in shards). */
#ifndef TLY_WIRE_CONN_H
#define TLY_WIRE_CONN_H

#include "wire/message.h"
#include "wire/shards.h"

#define STAGE_LEN   (TLY_WIRE_HEADER_LEN + TLY_WIRE_OFFSET_LEN)
#define SCRATCH_LEN 4096
#define NUM_REFUSED 64

typedef enum stream_state {
    STREAM_ANSWER = 1,  /* client: for the descriptor; server: for our answer */
    STREAM_RECEIVE = 2, /* the descriptor has come; frames follow */
    STREAM_SEND = 3,    /* the descriptor is gone; frames follow */
    STREAM_REPLY = 4,   /* server: an upload is whole; our word is due */
    STREAM_ACK = 5      /* client: an upload is gone; the server's word is due */
} stream_state;

/* How far an RDMA handshake has come. */
#define RDMA_SOURCE      1u /* the owner of the data has sent its region */
#define RDMA_DESTINATION 2u /* and the receiver its own */
#define RDMA_READY       4u

typedef struct wire_stream {
    uint32_t id;
    uint32_t state;
    uint32_t origin; /* stream of the request; another one for shards of an answer */
    uint32_t shard_index;
    uint32_t total_shards; /* 1 unless the answer comes in shards */
    uint8_t parallel_ok;   /* the request allows shards */
    uint8_t has_dest;
    uint8_t elsewhere; /* the data does not come, or go, in frames */
    uint8_t rdma;      /* RDMA_* */
    uint64_t total;    /* bytes of data */
    uint64_t done;     /* bytes received, or queued to be sent */
    uint64_t began;    /* the byte that the first frame began with: see tly_wire_begin_at */
    uint64_t told;     /* received: as far as events have said */
    uint8_t *dest;     /* where the next byte goes */
    uint64_t room;     /* bytes left there */
    uint64_t pending;  /* tensors of this answer after the current one: members of composites */
    tly_composite_check *composite;
} wire_stream;

/* Client: an answer in shards, of which some have come. */
typedef struct wire_group {
    uint32_t origin;
    uint32_t left; /* shards whose END is missing */
    tly_wire_shards shards;
} wire_group;

typedef enum node_kind {
    NODE_CONTROL = 0, /* leaves whatever happens */
    NODE_DATA = 1,    /* a frame: dropped with its stream; its token is handed back */
    NODE_END = 2,     /* TENSOR_DATA_END, descriptors of a composite: dropped with its stream */
    NODE_PRIVATE = 3  /* a private message: the same as NODE_DATA */
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
    int32_t attachment;
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
    uint32_t next_shard;  /* server: id of the next stream that it opens itself */
    uint32_t private_types;

    wire_stream *streams;
    uint32_t num_streams;
    uint32_t refused[NUM_REFUSED]; /* streams given up lately; what still comes is dropped */
    uint32_t next_refused;
    uint32_t parallel_origin; /* client: the request that may be answered in shards; 0: none */
    wire_group *group;        /* and is; NULL: not yet */
    int gave_up_shards;       /* an answer was given up whose further shards may still come */

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
    uint8_t *work; /* arrays of the descriptor in the event */
    size_t work_len;
    tly_descriptor tensor;
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

/* conn.c */
wire_stream *tly_wire_find_stream(tly_wire *w, uint32_t id);
wire_stream *tly_wire_open_stream(tly_wire *w, uint32_t id, stream_state state);
void tly_wire_close_stream(tly_wire *w, uint32_t id);
void tly_wire_remember_refused(tly_wire *w, uint32_t stream);
int tly_wire_was_refused(const tly_wire *w, uint32_t stream);
int tly_wire_num_receiving(const tly_wire *w);

/* An error's memory for events that say it. */
tly_wire_event *tly_wire_raise(tly_wire *w, tly_wire_event_kind kind, uint32_t stream);

/* conn_take.c: the header is complete (and with it the offset, for a frame); a whole control
 * message is there; a frame too short for its offset. */
tly_status tly_wire_take_header(tly_wire *w);
tly_status tly_wire_take_control(tly_wire *w);
tly_status tly_wire_take_short_frame(tly_wire *w);
tly_status tly_wire_reject(tly_wire *w, uint32_t code);
tly_status tly_wire_broken(tly_wire *w, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

/* conn_group.c: answers in shards. */
wire_group *tly_wire_find_group(tly_wire *w, uint32_t origin);
/* Client: opens a shard's stream if it has none, and checks the shard against the others. Returns
 * NULL when it has been refused; `out_status` then is what came of that. */
wire_stream *tly_wire_take_shard(tly_wire *w, const tly_wire_descriptor *d,
                                 const tly_descriptor *tensor, tly_status *out_status);
/* Client: the descriptor of a shard is not even one by itself (event_error): its answer, where that
 * can be told, goes with it. */
tly_status tly_wire_refuse_shard(tly_wire *w, uint32_t code);
/* Client: may a descriptor on a stream that we did not open belong to an answer in shards? */
int tly_wire_expects_shard(const tly_wire *w);
/* Client: the answer whose further shards an ERROR on an unknown stream can only be about, or NULL.
 */
wire_group *tly_wire_torn_group(tly_wire *w);
/* Closes every other stream of the same request as stream `id`, which may be 0: the peer gets an
 * ERROR on each. */
tly_status tly_wire_give_up_origin(tly_wire *w, uint32_t origin, uint32_t id, uint32_t code,
                                   const char *text);
void tly_wire_free_group(tly_wire *w);

/* conn_out.c. Queues a message with a payload of `payload_len` bytes to be written by the caller.
 * Returns where, or NULL without memory. */
uint8_t *tly_wire_queue(tly_wire *w, uint32_t type, uint32_t stream, uint32_t payload_len);
void tly_wire_unqueue_last(tly_wire *w);
tly_status tly_wire_queue_error(tly_wire *w, uint32_t stream, uint32_t code, const char *text);
tly_status tly_wire_queue_frame(tly_wire *w, wire_stream *s, const void *payload, uint64_t len,
                                void *token);
void tly_wire_drop_frames(tly_wire *w, uint32_t stream);
void tly_wire_free_output(tly_wire *w);

#endif
