/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to events. One parser for every way in: it says where the next bytes belong, and goes on
 * when they are there. Nothing is allocated on a header's word: a control payload grows as it
 * arrives, a frame lands in the destination that the caller gave, refused payloads land in a
 * scratch. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"
#include "wire/conn.h"

#define CONTROL_STEP 4096u

static tly_wire_event *raise_event(tly_wire *w, tly_wire_event_kind kind, uint32_t stream) {
    memset(&w->event, 0, sizeof w->event);
    w->event.kind = kind;
    w->event.stream = stream;
    w->has_event = 1;
    return &w->event;
}

static void remember_refused(tly_wire *w, uint32_t stream) {
    w->refused[w->next_refused] = stream;
    w->next_refused = (w->next_refused + 1) % NUM_REFUSED;
}

static int was_refused(const tly_wire *w, uint32_t stream) {
    for (uint32_t i = 0; i < NUM_REFUSED; i++) {
        if (w->refused[i] == stream) {
            return 1;
        }
    }
    return 0;
}

/* The peer broke a rule, which stands in event_error: ERROR to the peer, event to the caller. */
static tly_status reject(tly_wire *w, uint32_t code) {
    uint32_t stream = w->head.stream;
    tly_wire_event *event = raise_event(w, TLY_WIRE_EVENT_REJECTED, stream);
    event->code = code;
    event->error = &w->event_error;
    tly_wire_drop_frames(w, stream);
    tly_wire_close_stream(w, stream);
    if (stream != 0) {
        remember_refused(w, stream);
    } else {
        stream = w->hello_stream != 0 ? w->hello_stream : 1; /* 0 cannot be answered on */
    }
    return tly_wire_queue_error(w, stream, code, w->event_error.message);
}

static tly_status broken(tly_wire *w, const char *rule, const char *format, ...)
    __attribute__((format(printf, 3, 4), cold));

static tly_status broken(tly_wire *w, const char *rule, const char *format, ...) {
    char text[sizeof w->event_error.message];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tly_base_fail(&w->event_error, TLY_PROTOCOL, TLY_NO_OFFSET, rule, "%s", text);
    return reject(w, TLY_WIRE_INVALID_MESSAGE);
}

static tly_status broken_and_close(tly_wire *w, uint32_t code) {
    w->closing = 1;
    return reject(w, code);
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
    raise_event(w, TLY_WIRE_EVENT_HELLO, w->head.stream)->hello = w->peer;
    return TLY_OK;
}

static tly_status take_request(tly_wire *w) {
    tly_wire_request request;
    if (tly_wire_request_get(w->control, w->control_len, &request, &w->event_error) != TLY_OK) {
        return reject(w, TLY_WIRE_INVALID_MESSAGE);
    }
    if (tly_wire_find_stream(w, w->head.stream) != NULL) {
        return broken(w, "stream-busy", "stream %u is asked for a tensor while it carries one",
                      w->head.stream);
    }
    if (w->num_streams == w->max_streams) {
        tly_base_fail(&w->event_error, TLY_LIMIT, TLY_NO_OFFSET, "max-streams",
                      "%u streams are open, which is the limit", w->num_streams);
        return reject(w, TLY_WIRE_BUSY);
    }
    tly_wire_open_stream(w, w->head.stream, STREAM_ANSWER);
    raise_event(w, TLY_WIRE_EVENT_REQUEST, w->head.stream)->request = request;
    return TLY_OK;
}

static tly_status take_descriptor(tly_wire *w) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    tly_wire_descriptor d;
    if (s->state != STREAM_ANSWER) {
        return broken(w, "desc-twice", "a second descriptor on stream %u before its end", s->id);
    }
    if (tly_wire_descriptor_get(w->control, w->control_len, &d, &w->event_error) != TLY_OK) {
        return reject(w, TLY_WIRE_INVALID_MESSAGE);
    }
    if (d.total_shards != 1) {
        return broken(w, "shard-unasked", "the answer comes in %u shards, which was not asked for",
                      d.total_shards);
    }
    s->state = STREAM_DATA;
    s->total = d.total_data_bytes;
    raise_event(w, TLY_WIRE_EVENT_DESCRIPTOR, s->id)->descriptor = d;
    return TLY_OK;
}

static tly_status take_end(tly_wire *w) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    if (s->state != STREAM_DATA) {
        return broken(w, "end-first", "TENSOR_DATA_END on stream %u before its descriptor", s->id);
    }
    if (s->done != s->total) {
        return broken(w, s->done == 0 ? "data-none" : "data-short",
                      "stream %u ends after %llu of %llu bytes", s->id, (unsigned long long)s->done,
                      (unsigned long long)s->total);
    }
    raise_event(w, TLY_WIRE_EVENT_END, s->id)->len = s->total;
    tly_wire_close_stream(w, w->head.stream);
    return TLY_OK;
}

static tly_status take_error(tly_wire *w) {
    tly_wire_event *event = raise_event(w, TLY_WIRE_EVENT_ERROR, w->head.stream);
    tly_wire_error_get(w->control, w->control_len, &event->code, &event->text, &event->text_len);
    tly_wire_drop_frames(w, w->head.stream);
    tly_wire_close_stream(w, w->head.stream);
    if (!w->has_peer) {
        w->closing = 1; /* the session was refused */
    }
    return TLY_OK;
}

/* A whole control message is there. */
static tly_status take_control(tly_wire *w) {
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
    case TLY_WIRE_ERROR:
        return take_error(w);
    case TLY_WIRE_PING:
        raise_event(w, TLY_WIRE_EVENT_PING, w->head.stream);
        return tly_wire_queue(w, TLY_WIRE_PONG, w->head.stream, 0) != NULL ? TLY_OK
                                                                           : TLY_OUT_OF_MEMORY;
    default: /* PONG: nothing else passes the checks of the header */
        raise_event(w, TLY_WIRE_EVENT_PONG, w->head.stream);
        return TLY_OK;
    }
}

/* ---- headers ---- */

static int is_known(uint32_t type) {
    return (type >= TLY_WIRE_CLIENT_HELLO && type <= TLY_WIRE_TENSOR_DATA_END) ||
           (type >= TLY_WIRE_ERROR && type <= TLY_WIRE_PONG);
}

static int comes_from(uint32_t type, int32_t role) {
    switch (type) {
    case TLY_WIRE_CLIENT_HELLO:
    case TLY_WIRE_TENSOR_REQUEST:
        return role == TLY_WIRE_CLIENT;
    case TLY_WIRE_SERVER_HELLO:
    case TLY_WIRE_TENSOR_DESCRIPTOR:
        return role == TLY_WIRE_SERVER;
    default:
        return 1;
    }
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
        return broken(w, "type-ff", "message type 0xFF is invalid");
    }
    if (type >= 0xF0 && type <= 0xFE) {
        return broken(w, "type-private", "private message type 0x%X was never agreed on", type);
    }
    return broken(w, "type-unknown", "message type 0x%X is not supported here", type);
}

/* A message that belongs to a stream of ours: is that stream there? Returns 1 if so; otherwise the
 * payload is skipped, with an ERROR unless the stream is one that was closed before. */
static int has_stream(tly_wire *w, tly_status *out_status) {
    uint32_t id = w->head.stream;
    const char *what = w->head.type == TLY_WIRE_TENSOR_DATA       ? "data-first"
                       : w->head.type == TLY_WIRE_TENSOR_DATA_END ? "end-first"
                                                                  : "desc-unasked";
    if (tly_wire_find_stream(w, id) != NULL && w->role == TLY_WIRE_CLIENT) {
        return 1;
    }
    /* A client numbers its streams upwards, so it knows which were closed: bytes on them crossed
     * its own ERROR on the way. */
    if (was_refused(w, id) ||
        (w->role == TLY_WIRE_CLIENT && id > w->hello_stream && id < w->next_stream)) {
        *out_status = skip(w);
        return 0;
    }
    *out_status =
        skip_after(w, broken(w, what, "message type 0x%X on stream %u, which carries no tensor",
                             w->head.type, id));
    return 0;
}

static tly_status take_frame(tly_wire *w) {
    wire_stream *s;
    uint64_t len = w->left;
    tly_status status;
    if (!has_stream(w, &status)) {
        return status;
    }
    s = tly_wire_find_stream(w, w->head.stream);
    if (s->state != STREAM_DATA) {
        return skip_after(
            w, broken(w, "data-first", "TENSOR_DATA on stream %u before its descriptor", s->id));
    }
    if (w->offset != s->done) {
        return skip_after(w, broken(w, w->offset > s->done ? "data-gap" : "data-overlap",
                                    "a frame begins at byte %llu, but %llu have come",
                                    (unsigned long long)w->offset, (unsigned long long)s->done));
    }
    if (len > s->total - s->done || s->total == 0) {
        return skip_after(w, broken(w, "data-excess",
                                    "a frame of %llu bytes at byte %llu, but the tensor has %llu",
                                    (unsigned long long)len, (unsigned long long)s->done,
                                    (unsigned long long)s->total));
    }
    w->in = IN_DATA;
    return TLY_OK;
}

/* The header is complete (and with it the offset, for a frame). Everything that it alone decides.
 */
static tly_status take_header(tly_wire *w) {
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
        return skip_after(w, reject(w, TLY_WIRE_TOO_LARGE));
    }
    if (h->stream == 0) {
        return skip_after(w, broken(w, "stream0", "stream 0 is reserved"));
    }
    if (!is_known(h->type)) {
        if (was_refused(w, h->stream)) {
            return skip(w);
        }
        return skip_after(w, take_unknown_type(w));
    }
    if (!comes_from(h->type, w->role == TLY_WIRE_SERVER ? TLY_WIRE_CLIENT : TLY_WIRE_SERVER)) {
        return skip_after(
            w, broken(w, "wrong-direction", "message type 0x%X from this side", h->type));
    }
    if (w->has_peer && h->type == hello) {
        return skip_after(w, broken(w, "hello-twice", "a second HELLO"));
    }
    if (is_data) {
        return take_frame(w);
    }
    if ((h->type == TLY_WIRE_TENSOR_DATA_END || h->type == TLY_WIRE_TENSOR_DESCRIPTOR) &&
        !has_stream(w, &status)) {
        return status;
    }
    if (h->payload_len != 0 && (h->type == TLY_WIRE_TENSOR_DATA_END || h->type == TLY_WIRE_PING ||
                                h->type == TLY_WIRE_PONG)) {
        return skip_after(w, broken(w, "end-payload",
                                    "message type 0x%X carries %u bytes, but must be empty",
                                    h->type, h->payload_len));
    }
    w->control_len = 0;
    w->in = IN_CONTROL;
    return TLY_OK;
}

/* ---- the parser ---- */

/* Takes `len` bytes off the front of the stage. */
static void unstage(tly_wire *w, uint32_t len) {
    w->stage_len -= len;
    memmove(w->stage, w->stage + len, w->stage_len);
}

static tly_status grow_control(tly_wire *w) {
    size_t want = w->control_capacity < CONTROL_STEP ? CONTROL_STEP : 2 * w->control_capacity;
    uint64_t whole = w->control_len + w->left;
    uint8_t *grown;
    if (want > whole) {
        want = (size_t)whole;
    }
    if (w->control_len < w->control_capacity || want <= w->control_capacity) {
        return TLY_OK;
    }
    grown = tly_base_grow(w->context, w->control, w->control_capacity, want, 1);
    if (grown == NULL) {
        return TLY_OUT_OF_MEMORY;
    }
    w->control = grown;
    w->control_capacity = want;
    return TLY_OK;
}

/* Parses a header from the stage. Returns 0 if it is not complete. */
static int header_ready(tly_wire *w) {
    uint32_t need = TLY_WIRE_HEADER_LEN;
    if (w->stage_len < need) {
        return 0;
    }
    w->head = tly_wire_header_get(w->stage);
    w->left = w->head.payload_len;
    if (w->head.type == TLY_WIRE_TENSOR_DATA && w->left >= TLY_WIRE_OFFSET_LEN && w->has_peer &&
        w->left <= w->max_message_size && w->head.stream != 0) {
        need += TLY_WIRE_OFFSET_LEN;
        if (w->stage_len < need) {
            return 0;
        }
        w->offset = tly_base_load_u64(w->stage + TLY_WIRE_HEADER_LEN);
        w->left -= TLY_WIRE_OFFSET_LEN;
    }
    unstage(w, need);
    return 1;
}

/* Goes on with what is staged until an event stands or bytes are missing. */
static tly_status advance(tly_wire *w) {
    tly_status status = TLY_OK;
    while (status == TLY_OK && !w->has_event && !w->closing) {
        if (w->in == IN_HEAD) {
            if (!header_ready(w)) {
                return TLY_OK;
            }
            if (w->head.type == TLY_WIRE_TENSOR_DATA && w->has_peer && w->head.stream != 0 &&
                w->head.payload_len < TLY_WIRE_OFFSET_LEN) {
                status = skip_after(w, broken(w, "data-hdr",
                                              "a frame of %u bytes has no room for its offset",
                                              w->head.payload_len));
                continue;
            }
            status = take_header(w);
            continue;
        }
        if (w->left == 0) {
            in_state was = w->in;
            w->in = IN_HEAD;
            if (was == IN_CONTROL) {
                status = take_control(w);
            } else if (was == IN_DATA) {
                uint64_t len = w->head.payload_len - TLY_WIRE_OFFSET_LEN;
                tly_wire_event *e = raise_event(w, TLY_WIRE_EVENT_DATA, w->head.stream);
                e->offset = w->offset;
                e->len = len;
                tly_wire_find_stream(w, w->head.stream)->done += len;
            }
            continue;
        }
        if (w->stage_len == 0) {
            return w->in == IN_CONTROL ? grow_control(w) : TLY_OK;
        }
        { /* staged bytes that belong to this payload */
            uint32_t n = w->left < w->stage_len ? (uint32_t)w->left : w->stage_len;
            if (w->in == IN_CONTROL) {
                status = grow_control(w);
                if (status != TLY_OK) {
                    return status;
                }
                if (n > w->control_capacity - w->control_len) {
                    n = (uint32_t)(w->control_capacity - w->control_len);
                }
                memcpy(w->control + w->control_len, w->stage, n);
                w->control_len += n;
            } else if (w->in == IN_DATA) {
                wire_stream *s = tly_wire_find_stream(w, w->head.stream);
                uint64_t at = w->head.payload_len - TLY_WIRE_OFFSET_LEN - w->left;
                if (s->dest != NULL) {
                    memcpy(s->dest + s->done + at, w->stage, n);
                }
            }
            w->left -= n;
            unstage(w, n);
        }
    }
    return status;
}

uint32_t tly_wire_recv_targets(tly_wire *wire, tly_wire_span out_spans[2]) {
    uint32_t num = 0;
    tly_wire_span *t = wire->targets;
    wire->num_targets = 0;
    if (wire->has_event || wire->closing || !tly_wire_wants_input(wire)) {
        return 0;
    }
    if (wire->in == IN_CONTROL) {
        size_t room = wire->control_capacity - wire->control_len;
        t[num].at = wire->control + wire->control_len;
        t[num].len = wire->left < room ? (size_t)wire->left : room;
        num++;
    } else if (wire->in == IN_DATA || wire->in == IN_SKIP) {
        wire_stream *s = wire->in == IN_DATA ? tly_wire_find_stream(wire, wire->head.stream) : NULL;
        if (s != NULL && s->dest != NULL) {
            uint64_t at = wire->head.payload_len - TLY_WIRE_OFFSET_LEN - wire->left;
            t[num].at = s->dest + s->done + at;
            t[num].len = (size_t)wire->left;
        } else {
            t[num].at = wire->scratch;
            t[num].len = wire->left < SCRATCH_LEN ? (size_t)wire->left : SCRATCH_LEN;
        }
        num++;
    }
    /* The next header may come in the same read, but only where nothing is missing before it. */
    if (wire->in == IN_HEAD || (wire->in == IN_DATA && t[0].len == wire->left)) {
        t[num].at = wire->stage + wire->stage_len;
        t[num].len = STAGE_LEN - wire->stage_len;
        num++;
    }
    memcpy(out_spans, t, num * sizeof *t);
    wire->num_targets = num;
    return num;
}

tly_status tly_wire_received(tly_wire *wire, size_t len) {
    size_t room = 0;
    for (uint32_t i = 0; i < wire->num_targets; i++) {
        room += wire->targets[i].len;
    }
    if (len > room) {
        return TLY_INVALID_ARGUMENT;
    }
    for (uint32_t i = 0; i < wire->num_targets; i++) {
        size_t n = len < wire->targets[i].len ? len : wire->targets[i].len;
        int staged = (uint8_t *)wire->targets[i].at == wire->stage + wire->stage_len;
        if (staged) {
            wire->stage_len += (uint32_t)n;
        } else {
            wire->left -= n;
            if (wire->in == IN_CONTROL) {
                wire->control_len += n;
            }
        }
        len -= n;
    }
    wire->num_targets = 0;
    return advance(wire);
}

tly_status tly_wire_feed(tly_wire *wire, const void *bytes, size_t len, size_t *out_used) {
    const uint8_t *at = bytes;
    size_t used = 0;
    tly_status status = TLY_OK;
    if (wire->closing) { /* nothing that still comes counts */
        *out_used = len;
        return TLY_OK;
    }
    while (used < len && status == TLY_OK) {
        tly_wire_span spans[2];
        uint32_t num = tly_wire_recv_targets(wire, spans);
        size_t got = 0;
        if (num == 0) {
            break;
        }
        for (uint32_t i = 0; i < num; i++) {
            size_t n = len - used < spans[i].len ? len - used : spans[i].len;
            memcpy(spans[i].at, at + used, n);
            used += n;
            got += n;
        }
        status = tly_wire_received(wire, got);
    }
    *out_used = used;
    return status;
}

void tly_wire_next(tly_wire *wire, tly_wire_event *out_event) {
    if (!wire->has_event && wire->stage_len != 0) {
        if (advance(wire) != TLY_OK) { /* the next message may be staged already */
            wire->closing = 1;         /* no memory to go on with */
        }
    }
    if (wire->has_event) {
        *out_event = wire->event;
        wire->has_event = 0;
    } else {
        memset(out_event, 0, sizeof *out_event);
    }
}
