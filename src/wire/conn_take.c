/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to events: what each may be, where it may stand, and what it does to its stream. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "wire/conn.h"

tly_wire_event *tly_wire_raise(tly_wire *w, tly_wire_event_kind kind, uint32_t stream) {
    const wire_stream *s = tly_wire_find_stream(w, stream);
    memset(&w->event, 0, sizeof w->event);
    w->event.kind = kind;
    w->event.stream = stream;
    w->event.origin = s != NULL ? s->origin : stream;
    w->has_event = 1;
    return &w->event;
}

/* The peer broke a rule, which stands in event_error: ERROR to the peer, event to the caller. */
tly_status tly_wire_reject(tly_wire *w, uint32_t code) {
    uint32_t stream = w->head.stream;
    tly_wire_event *event = tly_wire_raise(w, TLY_WIRE_EVENT_REJECTED, stream);
    tly_status status = TLY_OK;
    event->code = code;
    event->error = &w->event_error;
    if (tly_wire_find_stream(w, stream) != NULL) {
        status = tly_wire_give_up_origin(w, event->origin, stream, TLY_WIRE_SHARD_MISMATCH,
                                         "another shard of this tensor was refused");
    }
    if (status != TLY_OK) {
        return status;
    }
    tly_wire_drop_frames(w, stream);
    tly_wire_close_stream(w, stream);
    if (stream != 0) {
        tly_wire_remember_refused(w, stream);
    } else {
        stream = w->hello_stream != 0 ? w->hello_stream : 1; /* 0 cannot be answered on */
    }
    return tly_wire_queue_error(w, stream, code, w->event_error.message);
}

tly_status tly_wire_broken(tly_wire *w, const char *rule, const char *format, ...) {
    char text[sizeof w->event_error.message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tly_base_fail(&w->event_error, TLY_PROTOCOL, TLY_NO_OFFSET, rule, "%s", text);
    return tly_wire_reject(w, TLY_WIRE_INVALID_MESSAGE);
}

static tly_status broken_and_close(tly_wire *w, uint32_t code) {
    w->closing = 1;
    return tly_wire_reject(w, code);
}

/* ---- payloads of control messages ---- */

static tly_status take_hello(tly_wire *w) {
    tly_wire_hello hello;
    int answer = w->role == TLY_WIRE_SERVER;
    uint32_t version;
    if (tly_wire_hello_get(w->control, w->control_len, &hello, &w->event_error) != TLY_OK) {
        return broken_and_close(w, TLY_WIRE_INVALID_MESSAGE);
    }
    version = hello.protocol_version;
    if (version == 0 || (!answer && version > TLY_WIRE_VERSION)) {
        tly_base_fail(&w->event_error, TLY_PROTOCOL, 0, answer ? "version" : "server-version",
                      "the peer speaks version %u of the protocol, we speak %d", version,
                      TLY_WIRE_VERSION);
        return broken_and_close(w, TLY_WIRE_VERSION_MISMATCH);
    }
    /* The payload itself becomes the memory of the peer's HELLO. */
    w->peer = hello;
    w->peer_bytes = w->control;
    w->peer_len = w->control_capacity;
    w->control = NULL;
    w->control_capacity = 0;
    w->has_peer = 1;
    w->hello_stream = w->head.stream;
    if (answer) {
        uint8_t *out =
            tly_wire_queue(w, TLY_WIRE_SERVER_HELLO, w->head.stream, (uint32_t)w->ours_len);
        if (out == NULL) {
            return TLY_OUT_OF_MEMORY;
        }
        memcpy(out, w->ours_bytes, w->ours_len);
    }
    tly_wire_raise(w, TLY_WIRE_EVENT_HELLO, w->head.stream)->hello = w->peer;
    return TLY_OK;
}

/* May the peer open a stream? Returns 0 when it was refused. */
static int may_open(tly_wire *w, tly_status *out_status) {
    if (tly_wire_find_stream(w, w->head.stream) != NULL) {
        *out_status = tly_wire_broken(w, "stream-busy",
                                      "message type 0x%X on stream %u, which carries a tensor",
                                      w->head.type, w->head.stream);
        return 0;
    }
    if (w->num_streams == w->max_streams) {
        tly_base_fail(&w->event_error, TLY_LIMIT, TLY_NO_OFFSET, "max-streams",
                      "%u streams are open, which is the limit", w->num_streams);
        *out_status = tly_wire_reject(w, TLY_WIRE_BUSY);
        return 0;
    }
    return 1;
}

static tly_status take_request(tly_wire *w) {
    tly_wire_request request;
    tly_status status;
    if (tly_wire_request_get(w->control, w->control_len, &request, &w->event_error) != TLY_OK) {
        return tly_wire_reject(w, TLY_WIRE_INVALID_MESSAGE);
    }
    if (!may_open(w, &status)) {
        return status;
    }
    tly_wire_open_stream(w, w->head.stream, STREAM_ANSWER)->parallel_ok =
        (request.request_flags & TLY_WIRE_PARALLEL_OK) != 0;
    tly_wire_raise(w, TLY_WIRE_EVENT_REQUEST, w->head.stream)->request = request;
    return TLY_OK;
}

/* Decodes a descriptor into w->tensor and judges it. What is wrong stands in event_error. */
static tly_status accept(tly_wire *w, const uint8_t *bytes, uint64_t len, uint64_t total,
                         uint32_t *out_code) {
    size_t need = (size_t)len + 32;
    if (need > w->work_len) {
        tly_base_free(w->context, w->work, w->work_len, 1);
        w->work_len = 0;
        w->work = tly_base_alloc(w->context, need, 1);
        if (w->work == NULL) {
            return TLY_OUT_OF_MEMORY;
        }
        w->work_len = need;
    }
    return tly_wire_accept(bytes, (size_t)len, total, &w->ours, w->work, w->work_len, &w->tensor,
                           out_code, &w->event_error);
}

static tly_status take_put(tly_wire *w) {
    tly_wire_put put;
    wire_stream *s;
    uint32_t code;
    tly_status status;
    if (tly_wire_put_get(w->control, w->control_len, &put, &w->event_error) != TLY_OK) {
        return tly_wire_reject(w, TLY_WIRE_INVALID_MESSAGE);
    }
    if (!may_open(w, &status)) {
        return status;
    }
    status = accept(w, put.descriptor, put.descriptor_len, put.total_data_bytes, &code);
    if (status != TLY_OK) {
        return status == TLY_OUT_OF_MEMORY ? status : tly_wire_reject(w, code);
    }
    if (w->tensor.layout == TLY_LAYOUT_COMPOSITE) {
        return tly_wire_broken(w, "put-composite",
                               "a composite cannot be put: its members have no message for it");
    }
    s = tly_wire_open_stream(w, w->head.stream, STREAM_RECEIVE);
    s->total = put.total_data_bytes;
    tly_wire_raise(w, TLY_WIRE_EVENT_PUT, s->id)->put = put;
    w->event.tensor = &w->tensor;
    return TLY_OK;
}

/* Counts the tensors of an answer: the head of a composite promises its members, which follow on
 * the same stream (interchange, Composite Tensor Streaming). Returns 0 when a rule is broken or
 * there is no memory. */
static int take_member(tly_wire *w, wire_stream *s, tly_status *out_status) {
    tly_status status;
    if (w->tensor.layout != TLY_LAYOUT_COMPOSITE && s->composite == NULL) {
        return 1;
    }
    if (s->composite == NULL) {
        status = tly_composite_check_new(w->context, &s->composite, NULL);
        if (status != TLY_OK) {
            *out_status = status;
            return 0;
        }
    }
    status = tly_composite_check_add(s->composite, &w->tensor, &w->event_error);
    if (status != TLY_OK) {
        *out_status =
            status == TLY_OUT_OF_MEMORY ? status : tly_wire_reject(w, TLY_WIRE_INVALID_MESSAGE);
        return 0;
    }
    s->pending += w->tensor.layout == TLY_LAYOUT_COMPOSITE ? w->tensor.composite.member_count : 0;
    return 1;
}

static tly_status take_descriptor(tly_wire *w) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    tly_wire_descriptor d;
    uint32_t code;
    tly_status status;
    if (s != NULL && s->state != STREAM_ANSWER) {
        return tly_wire_broken(w, "desc-twice", "a second descriptor on stream %u before its end",
                               s->id);
    }
    if (tly_wire_descriptor_get(w->control, w->control_len, &d, &w->event_error) != TLY_OK) {
        return tly_wire_reject(w, TLY_WIRE_INVALID_MESSAGE);
    }
    status = accept(w, d.bytes, d.len, d.total_data_bytes, &code);
    if (status == TLY_OUT_OF_MEMORY) {
        return status;
    }
    if (status != TLY_OK) {
        return d.total_shards != 1 ? tly_wire_refuse_shard(w, code) : tly_wire_reject(w, code);
    }
    if (s == NULL || d.total_shards != 1 || tly_wire_find_group(w, s->origin) != NULL) {
        s = tly_wire_take_shard(w, &d, &w->tensor, &status);
        if (s == NULL) {
            return status;
        }
    } else if (s->parallel_ok) { /* the answer comes in one: no shard can be of it */
        s->parallel_ok = 0;
        if (w->parallel_origin == s->id) {
            w->parallel_origin = 0;
        }
    }
    if (!take_member(w, s, &status)) {
        return status;
    }
    s->state = STREAM_RECEIVE;
    s->total = d.total_data_bytes;
    s->shard_index = d.shard_index;
    s->total_shards = d.total_shards;
    tly_wire_raise(w, TLY_WIRE_EVENT_DESCRIPTOR, s->id)->descriptor = d;
    w->event.tensor = &w->tensor;
    return TLY_OK;
}

/* Client: a tensor of an answer is whole. */
static void end_answer(tly_wire *w, wire_stream *s) {
    tly_wire_event *event = tly_wire_raise(w, TLY_WIRE_EVENT_END, s->id);
    wire_group *group = tly_wire_find_group(w, s->origin);
    event->len = s->total;
    if (s->pending != 0) { /* the next member comes on the same stream */
        event->left = s->pending--;
        s->state = STREAM_ANSWER;
        s->total = s->done = s->told = s->began = 0;
        s->dest = NULL;
        s->has_dest = 0;
        s->elsewhere = 0;
        s->rdma = 0;
        return;
    }
    if (group != NULL) {
        event->left = --group->left;
    }
    if (event->left == 0 && s->origin == w->parallel_origin) {
        tly_wire_free_group(w);
        w->parallel_origin = 0;
    }
    tly_wire_close_stream(w, s->id);
}

static tly_status take_end(tly_wire *w) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    if (s->state != STREAM_RECEIVE) {
        return tly_wire_broken(w, "end-first", "TENSOR_DATA_END on stream %u before its descriptor",
                               s->id);
    }
    if (s->rdma != 0 && (s->rdma & RDMA_READY) == 0) {
        return tly_wire_broken(w, "rdma-order", "stream %u ends before we were ready for RDMA",
                               s->id);
    }
    if (s->done != s->total && !s->elsewhere) {
        return tly_wire_broken(w, s->done == 0 ? "data-none" : "data-short",
                               "stream %u ends after %llu of %llu bytes", s->id,
                               (unsigned long long)s->done, (unsigned long long)s->total);
    }
    if (w->role == TLY_WIRE_CLIENT) {
        end_answer(w, s);
    } else {
        s->state = STREAM_REPLY;
        tly_wire_raise(w, TLY_WIRE_EVENT_END, s->id)->len = s->total;
    }
    return TLY_OK;
}

static tly_status take_ack(tly_wire *w) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    if (s->state != STREAM_ACK) {
        return tly_wire_broken(w, "ack-early",
                               "TENSOR_PUT_ACK on stream %u, which is not put whole", s->id);
    }
    tly_wire_raise(w, TLY_WIRE_EVENT_ACK, s->id);
    tly_wire_close_stream(w, w->head.stream);
    return TLY_OK;
}

/* ---- RDMA ---- */

static int announced(const tly_wire *w, uint64_t capability) {
    return (w->ours.capability_flags & w->peer.capability_flags & capability) != 0;
}

static tly_status take_register(tly_wire *w) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    tly_wire_region region;
    int is_source = s->state == STREAM_RECEIVE; /* the peer owns the data */
    if (tly_wire_region_get(w->control, w->control_len, &region, &w->event_error) != TLY_OK) {
        return tly_wire_reject(w, TLY_WIRE_INVALID_MESSAGE);
    }
    if (!announced(w, is_source ? TLY_WIRE_CAP_RDMA : TLY_WIRE_CAP_GPUDIRECT)) {
        return tly_wire_broken(w, "rdma-unnegotiated",
                               "RDMA_REGISTER, which both sides did not announce");
    }
    if (is_source ? (s->rdma != 0 || s->done != 0)
                  : (s->state != STREAM_SEND || s->rdma != RDMA_SOURCE)) {
        return tly_wire_broken(w, "rdma-order", "RDMA_REGISTER on stream %u out of its turn",
                               s->id);
    }
    if (region.len != s->total) {
        return tly_wire_broken(w, "rdma-length",
                               "a region of %llu bytes for a tensor of %llu bytes",
                               (unsigned long long)region.len, (unsigned long long)s->total);
    }
    s->rdma |= is_source ? RDMA_SOURCE : RDMA_DESTINATION;
    s->elsewhere = 1;
    tly_wire_raise(w, TLY_WIRE_EVENT_REGISTER, s->id)->region = region;
    return TLY_OK;
}

static tly_status take_ready(tly_wire *w) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    if (s->state != STREAM_SEND || (s->rdma & RDMA_SOURCE) == 0 || (s->rdma & RDMA_READY) != 0) {
        return tly_wire_broken(w, "rdma-order", "RDMA_READY on stream %u out of its turn", s->id);
    }
    s->rdma |= RDMA_READY;
    tly_wire_raise(w, TLY_WIRE_EVENT_READY, s->id);
    return TLY_OK;
}

static tly_status take_private(tly_wire *w) {
    tly_wire_event *event = tly_wire_raise(w, TLY_WIRE_EVENT_PRIVATE, w->head.stream);
    event->type = w->head.type;
    event->bytes = w->control;
    event->len = w->control_len;
    return TLY_OK;
}

/* Was this stream open once? A client numbers its own upwards; what comes on one that is closed
 * crossed its ERROR on the way. */
static int was_open(const tly_wire *w, uint32_t id) {
    return tly_wire_was_refused(w, id) ||
           (w->role == TLY_WIRE_CLIENT && id > w->hello_stream && id < w->next_stream);
}

static tly_status take_error(tly_wire *w) {
    uint32_t id = w->head.stream;
    int known = tly_wire_find_stream(w, id) != NULL;
    wire_group *torn = known || was_open(w, id) ? NULL : tly_wire_torn_group(w);
    tly_wire_event *event;
    tly_status status = TLY_OK;
    if (!known && w->has_peer) {
        int late = torn == NULL && w->gave_up_shards && !was_open(w, id);
        if (late || tly_wire_was_refused(w, id)) { /* it crossed ours on the way */
            return TLY_OK;
        }
    }
    event = tly_wire_raise(w, TLY_WIRE_EVENT_ERROR, id);
    tly_wire_error_get(w->control, w->control_len, &event->code, &event->text, &event->text_len);
    if (torn != NULL) {
        event->origin = torn->origin; /* a shard that failed before its descriptor */
    }
    if (w->role == TLY_WIRE_CLIENT) {
        status = tly_wire_give_up_origin(w, event->origin, id, TLY_WIRE_SHARD_MISMATCH,
                                         "another shard of this tensor failed");
    }
    tly_wire_drop_frames(w, id);
    tly_wire_close_stream(w, id);
    if (!w->has_peer) {
        w->closing = 1; /* the session was refused */
    }
    return status;
}

tly_status tly_wire_take_control(tly_wire *w) {
    switch (w->head.type) {
    case TLY_WIRE_CLIENT_HELLO:
    case TLY_WIRE_SERVER_HELLO:
        return take_hello(w);
    case TLY_WIRE_TENSOR_REQUEST:
        return take_request(w);
    case TLY_WIRE_TENSOR_DESCRIPTOR:
        return take_descriptor(w);
    case TLY_WIRE_TENSOR_DATA_END:
        return take_end(w);
    case TLY_WIRE_TENSOR_PUT:
        return take_put(w);
    case TLY_WIRE_TENSOR_PUT_ACK:
        return take_ack(w);
    case TLY_WIRE_RDMA_REGISTER:
        return take_register(w);
    case TLY_WIRE_RDMA_READY:
        return take_ready(w);
    case TLY_WIRE_ERROR:
        return take_error(w);
    case TLY_WIRE_PING:
        tly_wire_raise(w, TLY_WIRE_EVENT_PING, w->head.stream);
        return tly_wire_queue(w, TLY_WIRE_PONG, w->head.stream, 0) != NULL ? TLY_OK
                                                                           : TLY_OUT_OF_MEMORY;
    case TLY_WIRE_PONG:
        tly_wire_raise(w, TLY_WIRE_EVENT_PONG, w->head.stream);
        return TLY_OK;
    default: /* nothing else passes the checks of the header */
        return take_private(w);
    }
}

/* ---- headers ---- */

static int is_private(uint32_t type) {
    return type >= TLY_WIRE_PRIVATE_FIRST && type <= TLY_WIRE_PRIVATE_LAST;
}

static int is_known(const tly_wire *w, uint32_t type) {
    if (is_private(type)) {
        return (w->private_types >> (type - TLY_WIRE_PRIVATE_FIRST) & 1) != 0;
    }
    return type >= TLY_WIRE_CLIENT_HELLO && type <= TLY_WIRE_RDMA_READY;
}

static int comes_from(uint32_t type, int32_t role) {
    switch (type) {
    case TLY_WIRE_CLIENT_HELLO:
    case TLY_WIRE_TENSOR_REQUEST:
    case TLY_WIRE_TENSOR_PUT:
        return role == TLY_WIRE_CLIENT;
    case TLY_WIRE_SERVER_HELLO:
    case TLY_WIRE_TENSOR_DESCRIPTOR:
    case TLY_WIRE_TENSOR_PUT_ACK:
        return role == TLY_WIRE_SERVER;
    default:
        return 1;
    }
}

static int must_be_empty(uint32_t type) {
    return type == TLY_WIRE_TENSOR_DATA_END || type == TLY_WIRE_TENSOR_PUT_ACK ||
           type == TLY_WIRE_PING || type == TLY_WIRE_PONG || type == TLY_WIRE_RDMA_READY;
}

/* Does it belong to a tensor under way? The descriptor of a further shard opens its stream. */
static int needs_stream(uint32_t type) {
    return type == TLY_WIRE_TENSOR_DATA_END || type == TLY_WIRE_TENSOR_DESCRIPTOR ||
           type == TLY_WIRE_TENSOR_PUT_ACK || type == TLY_WIRE_RDMA_REGISTER ||
           type == TLY_WIRE_RDMA_READY;
}

static tly_status skip(tly_wire *w) {
    w->in = w->left != 0 ? IN_SKIP : IN_HEAD;
    return TLY_OK;
}

static tly_status skip_after(tly_wire *w, tly_status status) {
    skip(w);
    return status;
}

static tly_status take_unknown_type(tly_wire *w) {
    uint32_t type = w->head.type;
    if (type == 0xFF) {
        return tly_wire_broken(w, "type-ff", "message type 0xFF is invalid");
    }
    if (is_private(type)) {
        return tly_wire_broken(w, "type-private", "private message type 0x%X was never agreed on",
                               type);
    }
    return tly_wire_broken(w, "type-unknown", "message type 0x%X is not supported here", type);
}

/* A message that belongs to a stream: is that stream there? Returns 1 if so; otherwise the payload
 * is skipped, with an ERROR unless the stream is one that was closed before. */
static int has_stream(tly_wire *w, tly_status *out_status) {
    uint32_t id = w->head.stream, type = w->head.type;
    const char *what = type == TLY_WIRE_TENSOR_DATA         ? "data-first"
                       : type == TLY_WIRE_TENSOR_DATA_END   ? "end-first"
                       : type == TLY_WIRE_TENSOR_DESCRIPTOR ? "desc-unasked"
                       : type == TLY_WIRE_TENSOR_PUT_ACK    ? "ack-unasked"
                                                            : "rdma-order";
    if (tly_wire_find_stream(w, id) != NULL) {
        return 1;
    }
    if (was_open(w, id)) {
        *out_status = skip(w);
        return 0;
    }
    *out_status = skip_after(
        w, tly_wire_broken(w, what, "message type 0x%X on stream %u, which carries no tensor", type,
                           id));
    return 0;
}

/* A descriptor on a stream that we did not open: the payload tells. */
static int may_be_shard(const tly_wire *w) {
    return w->role == TLY_WIRE_CLIENT && !was_open(w, w->head.stream) && tly_wire_expects_shard(w);
}

static tly_status take_frame(tly_wire *w) {
    wire_stream *s;
    uint64_t len = w->left;
    tly_status status;
    if (!has_stream(w, &status)) {
        return status;
    }
    s = tly_wire_find_stream(w, w->head.stream);
    if (s->state != STREAM_RECEIVE) {
        return skip_after(w,
                          tly_wire_broken(w, "data-first",
                                          "TENSOR_DATA on stream %u before its descriptor", s->id));
    }
    if (s->elsewhere) {
        return skip_after(w, tly_wire_broken(w, "data-elsewhere",
                                             "a frame on stream %u, whose data comes otherwise",
                                             s->id));
    }
    if (w->offset != s->done) {
        return skip_after(w, tly_wire_broken(w, w->offset > s->done ? "data-gap" : "data-overlap",
                                             "a frame begins at byte %llu, but %llu have come",
                                             (unsigned long long)w->offset,
                                             (unsigned long long)s->done));
    }
    if (len > s->total - s->done || s->total == 0) {
        return skip_after(
            w, tly_wire_broken(w, "data-excess",
                               "a frame of %llu bytes at byte %llu, but the tensor has %llu",
                               (unsigned long long)len, (unsigned long long)s->done,
                               (unsigned long long)s->total));
    }
    w->in = IN_DATA;
    return TLY_OK;
}

/* Everything that the header alone decides. */
tly_status tly_wire_take_header(tly_wire *w) {
    const tly_wire_header *h = &w->head;
    uint32_t hello = w->role == TLY_WIRE_SERVER ? TLY_WIRE_CLIENT_HELLO : TLY_WIRE_SERVER_HELLO;
    int is_data = h->type == TLY_WIRE_TENSOR_DATA;
    tly_status status;
    if (!w->has_peer && h->type != hello && h->type != TLY_WIRE_ERROR) {
        tly_base_fail(&w->event_error, TLY_PROTOCOL, TLY_NO_OFFSET, "first-hello",
                      "the first message has type 0x%X and is no HELLO", h->type);
        return broken_and_close(w, TLY_WIRE_INVALID_MESSAGE);
    }
    if (h->payload_len > (is_data
                              ? w->max_message_size
                              : (w->max_control_len < w->max_message_size ? w->max_control_len
                                                                          : w->max_message_size))) {
        tly_base_fail(&w->event_error, TLY_PROTOCOL, 8, "too-large",
                      "a message of %u bytes; at most %u are accepted", h->payload_len,
                      is_data ? w->max_message_size : w->max_control_len);
        if (!w->has_peer) {
            w->closing = 1;
        }
        return skip_after(w, tly_wire_reject(w, TLY_WIRE_TOO_LARGE));
    }
    if (h->stream == 0) {
        return skip_after(w, tly_wire_broken(w, "stream0", "stream 0 is reserved"));
    }
    if (!is_known(w, h->type)) {
        if (tly_wire_was_refused(w, h->stream)) {
            return skip(w);
        }
        return skip_after(w, take_unknown_type(w));
    }
    if (!comes_from(h->type, w->role == TLY_WIRE_SERVER ? TLY_WIRE_CLIENT : TLY_WIRE_SERVER)) {
        return skip_after(
            w, tly_wire_broken(w, "wrong-direction", "message type 0x%X from this side", h->type));
    }
    if (w->has_peer && h->type == hello) {
        return skip_after(w, tly_wire_broken(w, "hello-twice", "a second HELLO"));
    }
    if (is_data) {
        return take_frame(w);
    }
    if (needs_stream(h->type) && !(h->type == TLY_WIRE_TENSOR_DESCRIPTOR && may_be_shard(w)) &&
        !has_stream(w, &status)) {
        return status;
    }
    if (h->payload_len != 0 && must_be_empty(h->type)) {
        return skip_after(w,
                          tly_wire_broken(w, "end-payload",
                                          "message type 0x%X carries %u bytes, but must be empty",
                                          h->type, h->payload_len));
    }
    w->control_len = 0;
    w->in = IN_CONTROL;
    return TLY_OK;
}

tly_status tly_wire_take_short_frame(tly_wire *w) {
    return skip_after(w, tly_wire_broken(w, "data-hdr",
                                         "a frame of %u bytes has no room for its offset",
                                         w->head.payload_len));
}
