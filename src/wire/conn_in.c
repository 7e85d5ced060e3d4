/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes to events. One parser for every way in: it says where the next bytes belong, and goes on
 * when they are there. Nothing is allocated on a header's word: a control payload grows as it
 * arrives, a frame lands in the destination that the caller gave, refused payloads land in a
 * scratch. */
#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "wire/conn.h"

#define CONTROL_STEP 4096u

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

/* `n` bytes of a frame have been put into their place. */
static void data_placed(tly_wire *w, uint64_t n) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    s->done += n;
    if (s->has_dest) {
        s->dest += n;
        s->room -= n;
    }
    if (n != 0 && w->left != 0 && s->has_dest && s->room == 0) { /* the caller's turn */
        tly_wire_event *e = tly_wire_raise(w, TLY_WIRE_EVENT_DATA, s->id);
        e->offset = s->told;
        e->len = s->done - s->told;
        s->told = s->done;
    }
}

/* A whole frame is there. */
static void frame_done(tly_wire *w) {
    wire_stream *s = tly_wire_find_stream(w, w->head.stream);
    tly_wire_event *e = tly_wire_raise(w, TLY_WIRE_EVENT_DATA, s->id);
    e->offset = s->told;
    e->len = s->done - s->told;
    s->told = s->done;
}

/* Takes staged bytes that belong to the payload. Returns 0 when they have no place yet. */
static int take_staged(tly_wire *w, tly_status *status) {
    uint32_t n = w->left < w->stage_len ? (uint32_t)w->left : w->stage_len;
    wire_stream *s = NULL;
    if (w->in == IN_CONTROL) {
        *status = grow_control(w);
        if (*status != TLY_OK) {
            return 0;
        }
        if (n > w->control_capacity - w->control_len) {
            n = (uint32_t)(w->control_capacity - w->control_len);
        }
        memcpy(w->control + w->control_len, w->stage, n);
        w->control_len += n;
    } else if (w->in == IN_DATA) {
        s = tly_wire_find_stream(w, w->head.stream);
        if (s->has_dest) {
            n = n < s->room ? n : (uint32_t)s->room;
            if (n != 0) {
                memcpy(s->dest, w->stage, n);
            }
        }
    }
    w->left -= n;
    unstage(w, n);
    if (s != NULL) {
        data_placed(w, n);
    }
    return n != 0;
}

/* Goes on with what is staged until an event stands or bytes are missing. */
static tly_status advance(tly_wire *w) {
    tly_status status = TLY_OK;
    while (status == TLY_OK && !w->has_event && !w->closing) {
        if (w->in == IN_HEAD) {
            if (!header_ready(w)) {
                return TLY_OK;
            }
            status = w->head.type == TLY_WIRE_TENSOR_DATA && w->has_peer && w->head.stream != 0 &&
                             w->head.payload_len < TLY_WIRE_OFFSET_LEN
                         ? tly_wire_take_short_frame(w)
                         : tly_wire_take_header(w);
            continue;
        }
        if (w->left == 0) {
            in_state was = w->in;
            w->in = IN_HEAD;
            if (was == IN_CONTROL) {
                status = tly_wire_take_control(w);
            } else if (was == IN_DATA) {
                frame_done(w);
            }
            continue;
        }
        if (w->stage_len == 0) {
            return w->in == IN_CONTROL ? grow_control(w) : TLY_OK;
        }
        if (!take_staged(w, &status)) {
            return status;
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
        if (s != NULL && s->has_dest) {
            t[num].at = s->dest;
            t[num].len = (size_t)(wire->left < s->room ? wire->left : s->room);
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
            } else if (wire->in == IN_DATA) {
                data_placed(wire, n);
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
