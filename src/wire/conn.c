/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/conn.h"

#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"

#define DEFAULT_SERVER_MESSAGE (1u << 20)
#define DEFAULT_CLIENT_MESSAGE (16u << 20)
#define DEFAULT_CONTROL_LEN    (1u << 20)
#define DEFAULT_STREAMS        16u
#define DEFAULT_QUEUED_LEN     (8u << 20)
#define CLIENT_HELLO_STREAM    1u
/* Clients count their streams upwards from 1; those that a server opens are far from there. */
#define FIRST_SHARD_STREAM 0x80000001u

const char *tly_wire_code_name(uint32_t code) {
    switch (code) {
    case TLY_WIRE_VERSION_MISMATCH:
        return "PROTOCOL_VERSION_MISMATCH";
    case TLY_WIRE_UNKNOWN_TENSOR:
        return "UNKNOWN_TENSOR";
    case TLY_WIRE_LAYOUT_UNAVAILABLE:
        return "LAYOUT_UNAVAILABLE";
    case TLY_WIRE_TRANSCODE_LIMIT:
        return "TRANSCODE_LIMIT_EXCEEDED";
    case TLY_WIRE_DEVICE_UNAVAILABLE:
        return "DEVICE_UNAVAILABLE";
    case TLY_WIRE_INVALID_MESSAGE:
        return "INVALID_MESSAGE";
    case TLY_WIRE_TOO_LARGE:
        return "MESSAGE_TOO_LARGE";
    case TLY_WIRE_SHARD_MISMATCH:
        return "SHARD_MISMATCH";
    case TLY_WIRE_SERVER_FAILED:
        return "SERVER_FAILED";
    case TLY_WIRE_BUSY:
        return "BUSY";
    case TLY_WIRE_REFUSED:
        return "REFUSED";
    default:
        return "?";
    }
}

/* Keeps a private copy of a serialised HELLO and reads it: our own has to pass the same rules as a
 * peer's. */
static tly_status keep_hello(tly_wire *w, const tly_wire_options *options, tly_error *error) {
    tly_wire_hello hello = {TLY_WIRE_VERSION,          w->max_message_size,
                            options->capability_flags, options->layouts,
                            options->devices,          options->memory_classes,
                            options->num_devices,      options->num_memory_classes};
    uint64_t len = tly_wire_hello_len(&hello);
    if (hello.num_devices > UINT16_MAX || hello.num_memory_classes > UINT16_MAX ||
        hello.layouts.num > UINT16_MAX || len > UINT32_MAX) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "hello-lists",
                             "a list in our HELLO has more than 65535 entries");
    }
    w->ours_bytes = tly_base_alloc(w->context, (size_t)len, 1);
    if (w->ours_bytes == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a HELLO");
    }
    w->ours_len = (size_t)len;
    tly_wire_hello_put(w->ours_bytes, &hello);
    return tly_wire_hello_get(w->ours_bytes, w->ours_len, &w->ours, error);
}

static tly_status start(tly_wire *w, const tly_wire_options *options, tly_error *error) {
    tly_status status = keep_hello(w, options, error);
    uint8_t *out;
    if (status != TLY_OK) {
        return status;
    }
    w->streams = tly_base_calloc(w->context, (w->max_streams + 1) * sizeof *w->streams,
                                 _Alignof(wire_stream)); /* one more: see tly_wire_take_shard */
    if (w->streams == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for %u streams", w->max_streams);
    }
    if (w->role == TLY_WIRE_CLIENT) {
        w->hello_stream = CLIENT_HELLO_STREAM;
        w->next_stream = CLIENT_HELLO_STREAM + 1;
        out = tly_wire_queue(w, TLY_WIRE_CLIENT_HELLO, w->hello_stream, (uint32_t)w->ours_len);
        if (out == NULL) {
            return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for a HELLO");
        }
        memcpy(out, w->ours_bytes, w->ours_len);
    }
    return TLY_OK;
}

tly_status tly_wire_new(const tly_context *context, const tly_wire_options *options,
                        tly_wire **out_wire, tly_error *error) {
    tly_wire *w;
    tly_status status;
    *out_wire = NULL;
    if (options->size != sizeof *options ||
        (options->role != TLY_WIRE_CLIENT && options->role != TLY_WIRE_SERVER) ||
        options->max_streams > UINT16_MAX) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options",
                             "tly_wire_options: wrong size, role or number of streams");
    }
    w = tly_base_calloc(context, sizeof *w, _Alignof(tly_wire));
    if (w == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a connection");
    }
    w->context = context;
    w->role = options->role;
    w->max_message_size = options->max_message_size != 0 ? options->max_message_size
                          : w->role == TLY_WIRE_SERVER   ? DEFAULT_SERVER_MESSAGE
                                                         : DEFAULT_CLIENT_MESSAGE;
    w->max_control_len =
        options->max_control_len != 0 ? options->max_control_len : DEFAULT_CONTROL_LEN;
    w->max_streams = options->max_streams != 0 ? options->max_streams : DEFAULT_STREAMS;
    w->max_queued_len = options->max_queued_len != 0 ? options->max_queued_len : DEFAULT_QUEUED_LEN;
    w->private_types = options->private_types;
    w->next_shard = FIRST_SHARD_STREAM;
    status = start(w, options, error);
    if (status != TLY_OK) {
        tly_wire_free(w);
        return status;
    }
    *out_wire = w;
    return TLY_OK;
}

void tly_wire_free(tly_wire *wire) {
    if (wire == NULL) {
        return;
    }
    tly_wire_free_output(wire);
    tly_wire_free_group(wire);
    for (uint32_t i = 0; i < wire->num_streams; i++) {
        tly_composite_check_free(wire->streams[i].composite);
    }
    tly_base_free(wire->context, wire->work, wire->work_len, 1);
    tly_base_free(wire->context, wire->streams, (wire->max_streams + 1) * sizeof *wire->streams,
                  _Alignof(wire_stream));
    tly_base_free(wire->context, wire->control, wire->control_capacity, 1);
    tly_base_free(wire->context, wire->ours_bytes, wire->ours_len, 1);
    tly_base_free(wire->context, wire->peer_bytes, wire->peer_len, 1);
    tly_base_free(wire->context, wire, sizeof *wire, _Alignof(tly_wire));
}

wire_stream *tly_wire_find_stream(tly_wire *w, uint32_t id) {
    for (uint32_t i = 0; i < w->num_streams; i++) {
        if (w->streams[i].id == id) {
            return &w->streams[i];
        }
    }
    return NULL;
}

/* The caller has made sure that there is room. */
wire_stream *tly_wire_open_stream(tly_wire *w, uint32_t id, stream_state state) {
    wire_stream *s = &w->streams[w->num_streams++];
    memset(s, 0, sizeof *s);
    s->id = id;
    s->origin = id;
    s->state = state;
    s->total_shards = 1;
    for (uint32_t i = 0; i < NUM_REFUSED; i++) {
        if (w->refused[i] == id) {
            w->refused[i] = 0; /* the number has a new meaning */
        }
    }
    return s;
}

void tly_wire_remember_refused(tly_wire *w, uint32_t stream) {
    w->refused[w->next_refused] = stream;
    w->next_refused = (w->next_refused + 1) % NUM_REFUSED;
}

int tly_wire_was_refused(const tly_wire *w, uint32_t stream) {
    for (uint32_t i = 0; i < NUM_REFUSED; i++) {
        if (w->refused[i] == stream) {
            return 1;
        }
    }
    return 0;
}

int tly_wire_num_receiving(const tly_wire *w) {
    int num = 0;
    for (uint32_t i = 0; i < w->num_streams; i++) {
        num += w->streams[i].state == STREAM_RECEIVE;
    }
    return num;
}

/* Does the message that is being read need its stream? */
static int needs_stream(const tly_wire *w) {
    switch (w->head.type) {
    case TLY_WIRE_TENSOR_DESCRIPTOR:
    case TLY_WIRE_TENSOR_DATA_END:
    case TLY_WIRE_TENSOR_PUT_ACK:
    case TLY_WIRE_RDMA_REGISTER:
    case TLY_WIRE_RDMA_READY:
        return 1;
    default:
        return 0;
    }
}

void tly_wire_close_stream(tly_wire *w, uint32_t id) {
    wire_stream *s = tly_wire_find_stream(w, id);
    if (s == NULL) {
        return;
    }
    tly_composite_check_free(s->composite);
    *s = w->streams[--w->num_streams];
    if (w->head.stream == id && (w->in == IN_DATA || (w->in == IN_CONTROL && needs_stream(w)))) {
        w->in = w->left != 0 ? IN_SKIP : IN_HEAD; /* the rest of the message has nowhere to go */
    }
}

tly_status tly_wire_set_destination(tly_wire *wire, uint32_t stream, void *at, uint64_t len) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    if (s == NULL || s->state != STREAM_RECEIVE || len > s->total - s->done || s->room != 0 ||
        (!s->has_dest && s->done != s->began) || (at == NULL && len != 0)) {
        return TLY_INVALID_ARGUMENT;
    }
    s->has_dest = 1;
    s->dest = at;
    s->room = len;
    return TLY_OK;
}

tly_status tly_wire_begin_at(tly_wire *wire, uint32_t stream, uint64_t first) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    if (s == NULL || (s->state != STREAM_RECEIVE && s->state != STREAM_SEND) || s->done != 0 ||
        s->has_dest || s->elsewhere || first > s->total) {
        return TLY_INVALID_ARGUMENT;
    }
    s->done = s->told = s->began = first;
    return TLY_OK;
}

tly_status tly_wire_data_elsewhere(tly_wire *wire, uint32_t stream) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    if (s == NULL || (s->state != STREAM_RECEIVE && s->state != STREAM_SEND) || s->done != 0) {
        return TLY_INVALID_ARGUMENT;
    }
    s->elsewhere = 1;
    return TLY_OK;
}

void tly_wire_agree_private(tly_wire *wire, uint32_t types) {
    wire->private_types |= types;
}

const tly_wire_hello *tly_wire_peer(const tly_wire *wire) {
    return wire->has_peer ? &wire->peer : NULL;
}

uint32_t tly_wire_num_streams(const tly_wire *wire) {
    return wire->num_streams;
}

int tly_wire_is_closing(const tly_wire *wire) {
    return wire->closing;
}

int tly_wire_wants_input(const tly_wire *wire) {
    if (wire->queued >= wire->max_queued_len) {
        return 0;
    }
    if (wire->in == IN_DATA) {
        const wire_stream *s = tly_wire_find_stream((tly_wire *)(uintptr_t)wire, wire->head.stream);
        return s == NULL || !s->has_dest || s->room != 0;
    }
    /* A server reads no further request while it has no stream to put it in: whoever sends requests
     * faster than they can be answered waits in the kernel's buffers, not in ours. */
    return !(wire->role == TLY_WIRE_SERVER && wire->in == IN_HEAD &&
             wire->num_streams == wire->max_streams && tly_wire_num_receiving(wire) == 0);
}

tly_status tly_wire_eof(const tly_wire *wire, tly_error *error) {
    if (wire->closing) {
        return TLY_OK;
    }
    if (wire->in == IN_DATA) {
        return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "eof-in-frame",
                             "the peer closed the connection %llu bytes before the end of a frame",
                             (unsigned long long)wire->left);
    }
    if (wire->in != IN_HEAD || wire->stage_len != 0) {
        return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "eof-in-message",
                             "the peer closed the connection in the middle of a message");
    }
    if (wire->role == TLY_WIRE_CLIENT && !wire->has_peer) {
        return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "eof-before-hello",
                             "the peer closed the connection without saying HELLO");
    }
    for (uint32_t i = 0; i < wire->num_streams; i++) {
        const wire_stream *s = &wire->streams[i];
        if (wire->role == TLY_WIRE_CLIENT || s->state == STREAM_RECEIVE) {
            return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "eof-in-stream",
                                 "the peer closed the connection with stream %u after %llu of %llu "
                                 "bytes",
                                 s->id, (unsigned long long)s->done, (unsigned long long)s->total);
        }
    }
    return TLY_OK;
}
