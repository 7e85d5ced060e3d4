/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to bytes. A message is a node in a queue; a frame's payload stays where the caller has
 * it. */
#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"
#include "wire/conn.h"

/* What stands in for bytes that can no longer be read; see tly_wire_spoil_head. */
static const uint8_t zeros[64 * 1024];

static out_node *new_node(tly_wire *w, uint32_t head_len) {
    out_node *node = NULL;
    if (head_len == STAGE_LEN && w->free_nodes != NULL) {
        node = w->free_nodes;
        w->free_nodes = node->next;
    } else {
        node = tly_base_alloc(w->context, sizeof *node + head_len, _Alignof(out_node));
        if (node == NULL) {
            return NULL;
        }
        node->capacity = head_len;
    }
    node->next = NULL;
    node->payload = NULL;
    node->payload_len = 0;
    node->token = NULL;
    node->kind = NODE_CONTROL;
    node->attachment = -1;
    node->head_len = head_len;
    return node;
}

static void free_node(tly_wire *w, out_node *node) {
    tly_base_free(w->context, node, sizeof *node + node->capacity, _Alignof(out_node));
}

static void free_list(tly_wire *w, out_node *node) {
    while (node != NULL) {
        out_node *next = node->next;
        free_node(w, node);
        node = next;
    }
}

void tly_wire_free_output(tly_wire *w) {
    free_list(w, w->out_first);
    free_list(w, w->free_nodes);
    free_list(w, w->released);
}

/* A node that has left the queue. */
static void retire(tly_wire *w, out_node *node) {
    if (node->kind == NODE_DATA || (node->kind == NODE_PRIVATE && node->token != NULL)) {
        node->next = w->released;
        w->released = node;
    } else {
        free_node(w, node);
    }
}

static void append(tly_wire *w, out_node *node) {
    if (w->out_last != NULL) {
        w->out_last->next = node;
    } else {
        w->out_first = node;
    }
    w->out_last = node;
    w->queued += node->head_len + node->payload_len;
}

uint8_t *tly_wire_queue(tly_wire *w, uint32_t type, uint32_t stream, uint32_t payload_len) {
    out_node *node;
    if (payload_len > UINT32_MAX - TLY_WIRE_HEADER_LEN) {
        return NULL;
    }
    node = new_node(w, TLY_WIRE_HEADER_LEN + payload_len);
    if (node == NULL) {
        return NULL;
    }
    node->stream = stream;
    tly_wire_header_put(node->head, type, stream, payload_len);
    append(w, node);
    return node->head + TLY_WIRE_HEADER_LEN;
}

/* Takes the message that was queued last back. Nothing of it may have left. */
void tly_wire_unqueue_last(tly_wire *w) {
    out_node **link = &w->out_first;
    out_node *node = w->out_last, *last = NULL;
    while (*link != node) {
        last = *link;
        link = &last->next;
    }
    *link = NULL;
    w->out_last = last;
    w->queued -= node->head_len + node->payload_len;
    free_node(w, node);
}

tly_status tly_wire_queue_frame(tly_wire *w, wire_stream *s, const void *payload, uint64_t len,
                                void *token) {
    out_node *node = new_node(w, STAGE_LEN);
    if (node == NULL) {
        return TLY_OUT_OF_MEMORY;
    }
    tly_wire_header_put(node->head, TLY_WIRE_TENSOR_DATA, s->id,
                        (uint32_t)len + TLY_WIRE_OFFSET_LEN);
    tly_base_store_u64(node->head + TLY_WIRE_HEADER_LEN, s->done);
    node->payload = payload;
    node->payload_len = len;
    node->token = token;
    node->stream = s->id;
    node->kind = NODE_DATA;
    append(w, node);
    s->done += len;
    return TLY_OK;
}

tly_status tly_wire_queue_error(tly_wire *w, uint32_t stream, uint32_t code, const char *text) {
    size_t len = strlen(text);
    size_t room = w->has_peer ? w->peer.max_message_size : 1024;
    uint8_t *out;
    room = room > 8 ? room - 8 : 0;
    if (len > room) {
        len = room;
        while (len > 0 && ((uint8_t)text[len] & 0xC0) == 0x80) {
            len--; /* not inside a character */
        }
    }
    out = tly_wire_queue(w, TLY_WIRE_ERROR, stream, (uint32_t)len + 8);
    if (out == NULL) {
        return TLY_OUT_OF_MEMORY;
    }
    tly_wire_error_put(out, code, text, (uint32_t)len);
    return TLY_OK;
}

/* Takes frames of a stream that have not begun to leave, and its end, out of the queue. */
void tly_wire_drop_frames(tly_wire *w, uint32_t stream) {
    out_node **link = &w->out_first;
    out_node *last = NULL;
    while (*link != NULL) {
        out_node *node = *link;
        int begun = node == w->out_first && w->out_sent != 0;
        if (node->kind != NODE_CONTROL && node->stream == stream && !begun) {
            *link = node->next;
            w->queued -= node->head_len + node->payload_len;
            retire(w, node);
        } else {
            last = node;
            link = &node->next;
        }
    }
    w->out_last = last;
}

uint32_t tly_wire_output(const tly_wire *wire, tly_wire_span *out_spans, uint32_t max_spans) {
    uint64_t skip = wire->out_sent;
    uint32_t num = 0;
    for (out_node *node = wire->out_first; node != NULL && num < max_spans; node = node->next) {
        if (node->attachment >= 0 && node != wire->out_first) {
            break; /* it has to go alone */
        }
        if (node->attachment >= 0 && skip == 0) {
            max_spans = 1;
        }
        if (skip < node->head_len) {
            out_spans[num].at = node->head + skip;
            out_spans[num].len = (size_t)(node->head_len - skip);
            out_spans[num].token = NULL;
            num++;
            skip = 0;
        } else {
            skip -= node->head_len;
        }
        if (num < max_spans && skip < node->payload_len) {
            const uint8_t *at = node->payload + (node->payload == zeros ? 0 : skip);
            uint64_t len = node->payload_len - skip;
            if (node->payload == zeros && len > sizeof zeros) {
                len = sizeof zeros;
                max_spans = num + 1; /* the rest of the zeros comes next time */
            }
            out_spans[num].at = (void *)(uintptr_t)at;
            out_spans[num].len = (size_t)len;
            out_spans[num].token = node->token;
            num++;
        }
        skip = 0;
    }
    return num;
}

void tly_wire_sent(tly_wire *wire, uint64_t len) {
    wire->queued -= len;
    len += wire->out_sent;
    while (wire->out_first != NULL &&
           len >= wire->out_first->head_len + wire->out_first->payload_len) {
        out_node *node = wire->out_first;
        len -= node->head_len + node->payload_len;
        wire->out_first = node->next;
        if (wire->out_first == NULL) {
            wire->out_last = NULL;
        }
        retire(wire, node);
    }
    wire->out_sent = len;
}

int32_t tly_wire_attachment(const tly_wire *wire) {
    return wire->out_first != NULL && wire->out_sent == 0 ? wire->out_first->attachment : -1;
}

uint64_t tly_wire_queued(const tly_wire *wire) {
    return wire->queued;
}

int tly_wire_next_released(tly_wire *wire, void **out_token) {
    out_node *node = wire->released;
    if (node == NULL) {
        return 0;
    }
    wire->released = node->next;
    *out_token = node->token;
    if (node->kind == NODE_DATA) {
        node->next = wire->free_nodes;
        wire->free_nodes = node;
    } else {
        free_node(wire, node);
    }
    return 1;
}

tly_status tly_wire_spoil_head(tly_wire *wire, uint32_t code, const char *text,
                               uint32_t *out_stream) {
    out_node *node = wire->out_first;
    uint32_t stream;
    if (node == NULL || node->kind != NODE_DATA || node->payload == zeros) {
        return TLY_INVALID_ARGUMENT;
    }
    stream = node->stream;
    *out_stream = stream;
    if (wire->out_sent == 0) {
        /* Nothing of it is announced yet. */
        tly_wire_drop_frames(wire, stream);
    } else {
        out_node *spent = new_node(wire, STAGE_LEN); /* carries the token out */
        if (spent == NULL) {
            return TLY_OUT_OF_MEMORY;
        }
        spent->token = node->token;
        spent->kind = NODE_DATA;
        retire(wire, spent);
        node->kind = NODE_CONTROL; /* it has no token any more and must go out whole */
        node->token = NULL;
        node->payload = zeros;
        tly_wire_drop_frames(wire, stream);
    }
    tly_wire_close_stream(wire, stream);
    return tly_wire_queue_error(wire, stream, code, text);
}
