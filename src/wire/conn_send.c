/* SPDX-License-Identifier: Apache-2.0 */
/* Calls to messages: what may be said when, and what it does to the stream. */
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "wire/conn.h"

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a message");
}

static tly_status no_stream(uint32_t stream, tly_error *error) {
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "stream-state",
                         "stream %u does not wait for this", stream);
}

/* Does the peer take a payload of this length? */
static tly_status check_len(const tly_wire *wire, uint64_t len, const char *what,
                            tly_error *error) {
    if (len > UINT32_MAX - TLY_WIRE_HEADER_LEN ||
        (wire->has_peer && len > wire->peer.max_message_size)) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "peer-message-size",
                             "%s takes %llu bytes, the peer accepts %u", what,
                             (unsigned long long)len,
                             wire->has_peer ? wire->peer.max_message_size : UINT32_MAX);
    }
    return TLY_OK;
}

uint64_t tly_wire_max_frame(const tly_wire *wire) {
    if (!wire->has_peer || wire->peer.max_message_size <= TLY_WIRE_OFFSET_LEN) {
        return 0;
    }
    return wire->peer.max_message_size - TLY_WIRE_OFFSET_LEN;
}

/* ---- client ---- */

/* The id of the next stream, which a server's own may have taken. */
static tly_status new_stream(tly_wire *wire, tly_error *error) {
    if (wire->role != TLY_WIRE_CLIENT || wire->closing) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "request",
                             "this connection cannot send a request");
    }
    while (tly_wire_find_stream(wire, wire->next_stream) != NULL) {
        wire->next_stream++;
    }
    if (wire->num_streams >= wire->max_streams || wire->next_stream == 0) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "max-streams",
                             "%u streams are open already", wire->num_streams);
    }
    return TLY_OK;
}

tly_status tly_wire_request_tensor(tly_wire *wire, const tly_wire_request *request,
                                   uint32_t *out_stream, tly_error *error) {
    uint64_t len = tly_wire_request_len(request);
    tly_wire_request check;
    uint8_t *out;
    int parallel;
    tly_status status = new_stream(wire, error);
    if (status == TLY_OK) {
        status = check_len(wire, len, "the request", error);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (request->layouts.num > UINT16_MAX) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "request",
                             "%u layout entries, but a list holds at most 65535",
                             request->layouts.num);
    }
    parallel = (request->request_flags & TLY_WIRE_PARALLEL_OK) != 0;
    if (parallel && (wire->parallel_origin != 0 || wire->gave_up_shards)) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "parallel-busy",
                             "one answer in shards at a time, and none after one was given up: "
                             "nobody could tell whose shards come");
    }
    out = tly_wire_queue(wire, TLY_WIRE_TENSOR_REQUEST, wire->next_stream, (uint32_t)len);
    if (out == NULL) {
        return no_memory(error);
    }
    tly_wire_request_put(out, request);
    status = tly_wire_request_get(out, (size_t)len, &check, error);
    if (status != TLY_OK) { /* what a peer would refuse does not leave */
        tly_wire_unqueue_last(wire);
        return TLY_INVALID_ARGUMENT;
    }
    *out_stream = wire->next_stream++;
    tly_wire_open_stream(wire, *out_stream, STREAM_ANSWER)->parallel_ok = (uint8_t)parallel;
    if (parallel) {
        wire->parallel_origin = *out_stream;
    }
    return TLY_OK;
}

/* Would a server on the other side accept this tensor? It may live anywhere: the peer's HELLO says
 * which devices it takes, if it has come. */
static tly_status check_put(const tly_wire *wire, const tly_wire_put *put, tly_error *error) {
    size_t work_len = (size_t)put->descriptor_len + 32;
    uint8_t *work = tly_base_alloc(wire->context, work_len, 1);
    tly_descriptor descriptor;
    uint32_t code;
    tly_status status;
    if (work == NULL) {
        return no_memory(error);
    }
    status = tly_wire_accept(put->descriptor, put->descriptor_len, put->total_data_bytes,
                             wire->has_peer ? &wire->peer : &wire->ours, work, work_len,
                             &descriptor, &code, error);
    if (status == TLY_OK && descriptor.layout == TLY_LAYOUT_COMPOSITE) {
        status = tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "put-composite",
                               "a composite cannot be put: its members have no message for it");
    }
    tly_base_free(wire->context, work, work_len, 1);
    return status;
}

tly_status tly_wire_put_tensor(tly_wire *wire, const tly_wire_put *put, uint32_t *out_stream,
                               tly_error *error) {
    uint64_t len = tly_wire_put_len(put);
    tly_wire_put check;
    uint8_t *out;
    wire_stream *s;
    tly_status status = new_stream(wire, error);
    if (status == TLY_OK) {
        status = check_len(wire, len, "the TENSOR_PUT", error);
    }
    if (status == TLY_OK) {
        status = check_put(wire, put, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    out = tly_wire_queue(wire, TLY_WIRE_TENSOR_PUT, wire->next_stream, (uint32_t)len);
    if (out == NULL) {
        return no_memory(error);
    }
    tly_wire_put_put(out, put);
    status = tly_wire_put_get(out, (size_t)len, &check, error);
    if (status != TLY_OK) {
        tly_wire_unqueue_last(wire);
        return TLY_INVALID_ARGUMENT;
    }
    *out_stream = wire->next_stream++;
    s = tly_wire_open_stream(wire, *out_stream, STREAM_SEND);
    s->total = put->total_data_bytes;
    return TLY_OK;
}

tly_status tly_wire_ping(tly_wire *wire) {
    uint32_t id = wire->hello_stream != 0 ? wire->hello_stream : 1;
    return tly_wire_queue(wire, TLY_WIRE_PING, id, 0) != NULL ? TLY_OK : TLY_OUT_OF_MEMORY;
}

/* ---- server ---- */

tly_status tly_wire_open_shards(tly_wire *wire, uint32_t stream, uint32_t num_shards,
                                uint32_t *out_streams, tly_error *error) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    if (s == NULL || wire->role != TLY_WIRE_SERVER || s->state != STREAM_ANSWER ||
        s->total_shards != 1 || s->composite != NULL) {
        return no_stream(stream, error);
    }
    if (!s->parallel_ok || (wire->ours.capability_flags & TLY_WIRE_CAP_PARALLEL) == 0 ||
        num_shards == 0 || num_shards > TLY_WIRE_MAX_SHARDS) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "shard-unasked",
                             "the answer may not go out in %u shards", num_shards);
    }
    if (num_shards - 1 > wire->max_streams - wire->num_streams) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "max-streams",
                             "no room for %u streams more", num_shards - 1);
    }
    s->total_shards = num_shards;
    out_streams[0] = stream;
    for (uint32_t i = 1; i < num_shards; i++) {
        while (wire->next_shard == 0 || tly_wire_find_stream(wire, wire->next_shard) != NULL) {
            wire->next_shard++;
        }
        out_streams[i] = wire->next_shard++;
        s = tly_wire_open_stream(wire, out_streams[i], STREAM_ANSWER);
        s->origin = stream;
        s->shard_index = i;
        s->total_shards = num_shards;
    }
    return TLY_OK;
}

/* Counts the tensors of an answer; see take_member in conn_take.c. */
static tly_status count_members(tly_wire *wire, wire_stream *s, const void *bytes, uint64_t len,
                                uint64_t *out_members, tly_error *error) {
    size_t work_len = (size_t)len + 32;
    uint8_t *work;
    tly_descriptor d;
    tly_status status;
    *out_members = 0;
    /* The layout tag of the fixed head says whether it is worth a closer look. */
    if (s->composite == NULL &&
        (len < 16 || ((const uint8_t *)bytes)[15] != TLY_LAYOUT_COMPOSITE)) {
        return TLY_OK;
    }
    work = tly_base_alloc(wire->context, work_len, 1);
    if (work == NULL) {
        return no_memory(error);
    }
    status = tly_descriptor_decode(bytes, (size_t)len, work, work_len, &d, NULL, error);
    if (status == TLY_OK && s->composite == NULL) {
        status = tly_composite_check_new(wire->context, &s->composite, error);
    }
    if (status == TLY_OK) {
        status = tly_composite_check_add(s->composite, &d, error);
    }
    if (status == TLY_OK && d.layout == TLY_LAYOUT_COMPOSITE) {
        *out_members = d.composite.member_count;
    }
    tly_base_free(wire->context, work, work_len, 1);
    return status;
}

tly_status tly_wire_send_descriptor(tly_wire *wire, uint32_t stream, const void *descriptor,
                                    uint64_t len, uint64_t total_data_bytes, tly_error *error) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    uint64_t payload_len = tly_wire_descriptor_len(len), members;
    uint8_t *out;
    tly_status status;
    if (s == NULL || wire->role != TLY_WIRE_SERVER || s->state != STREAM_ANSWER) {
        return no_stream(stream, error);
    }
    status = check_len(wire, payload_len, "the descriptor", error);
    if (status != TLY_OK) {
        return status;
    }
    if (total_data_bytes != 0 && tly_wire_max_frame(wire) == 0) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "peer-message-size",
                             "the peer accepts messages of %u bytes, too few for any frame",
                             wire->peer.max_message_size);
    }
    status = count_members(wire, s, descriptor, len, &members, error);
    if (status != TLY_OK) {
        return status;
    }
    out = tly_wire_queue(wire, TLY_WIRE_TENSOR_DESCRIPTOR, stream, (uint32_t)payload_len);
    if (out == NULL) {
        return no_memory(error);
    }
    tly_wire_descriptor_put(out, descriptor, len, total_data_bytes, s->shard_index,
                            s->total_shards);
    if (s->composite != NULL) {
        wire->out_last->kind = NODE_END; /* behind an END that is dropped it would make no sense */
    }
    s->pending += members;
    s->state = STREAM_SEND;
    s->total = total_data_bytes;
    return TLY_OK;
}

tly_status tly_wire_send_ack(tly_wire *wire, uint32_t stream, tly_error *error) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    if (s == NULL || s->state != STREAM_REPLY) {
        return no_stream(stream, error);
    }
    if (tly_wire_queue(wire, TLY_WIRE_TENSOR_PUT_ACK, stream, 0) == NULL) {
        return no_memory(error);
    }
    tly_wire_close_stream(wire, stream);
    return TLY_OK;
}

/* ---- data, in both directions ---- */

tly_status tly_wire_send_data(tly_wire *wire, uint32_t stream, const void *payload, uint64_t len,
                              void *token, tly_error *error) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    if (s == NULL || s->state != STREAM_SEND || s->elsewhere) {
        return no_stream(stream, error);
    }
    if (len == 0 || len > s->total - s->done || len > tly_wire_max_frame(wire)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "frame-len",
                             "a frame of %llu bytes does not fit", (unsigned long long)len);
    }
    return tly_wire_queue_frame(wire, s, payload, len, token) == TLY_OK ? TLY_OK : no_memory(error);
}

tly_status tly_wire_send_end(tly_wire *wire, uint32_t stream, tly_error *error) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    if (s == NULL || s->state != STREAM_SEND || (s->done != s->total && !s->elsewhere) ||
        (s->rdma != 0 && (s->rdma & RDMA_READY) == 0)) {
        return no_stream(stream, error);
    }
    if (tly_wire_queue(wire, TLY_WIRE_TENSOR_DATA_END, stream, 0) == NULL) {
        return no_memory(error);
    }
    wire->out_last->kind = NODE_END;
    if (wire->role == TLY_WIRE_CLIENT) {
        s->state = STREAM_ACK;
    } else if (s->pending != 0) { /* the next member follows on the same stream */
        s->pending--;
        s->state = STREAM_ANSWER;
        s->total = s->done = s->began = 0;
        s->elsewhere = 0;
        s->rdma = 0;
    } else {
        tly_wire_close_stream(wire, stream);
    }
    return TLY_OK;
}

tly_status tly_wire_fail_stream(tly_wire *wire, uint32_t stream, uint32_t code, const char *text) {
    const wire_stream *s = tly_wire_find_stream(wire, stream);
    tly_status status;
    if (s == NULL) {
        return TLY_INVALID_ARGUMENT;
    }
    status = tly_wire_give_up_origin(wire, s->origin, stream, code, text);
    tly_wire_drop_frames(wire, stream);
    tly_wire_close_stream(wire, stream);
    tly_wire_remember_refused(wire, stream);
    return status == TLY_OK ? tly_wire_queue_error(wire, stream, code, text) : status;
}

tly_status tly_wire_close(tly_wire *wire, uint32_t code, const char *text) {
    wire->closing = 1;
    return tly_wire_queue_error(wire, wire->hello_stream != 0 ? wire->hello_stream : 1, code, text);
}

/* ---- RDMA and private messages ---- */

static int announced(const tly_wire *w, uint64_t capability) {
    return (w->ours.capability_flags & w->peer.capability_flags & capability) != 0;
}

tly_status tly_wire_send_register(tly_wire *wire, uint32_t stream, const tly_wire_region *region,
                                  tly_error *error) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    uint64_t len = tly_wire_region_len(region);
    int is_source = s != NULL && s->state == STREAM_SEND;
    uint8_t *out;
    tly_status status;
    if (s == NULL ||
        (is_source ? (s->rdma != 0 || s->done != 0)
                   : (s->state != STREAM_RECEIVE || s->rdma != RDMA_SOURCE)) ||
        !announced(wire, is_source ? TLY_WIRE_CAP_RDMA : TLY_WIRE_CAP_GPUDIRECT)) {
        return no_stream(stream, error);
    }
    if (region->len != s->total) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "rdma-length",
                             "a region of %llu bytes for a tensor of %llu bytes",
                             (unsigned long long)region->len, (unsigned long long)s->total);
    }
    status = check_len(wire, len, "the RDMA_REGISTER", error);
    if (status != TLY_OK) {
        return status;
    }
    out = tly_wire_queue(wire, TLY_WIRE_RDMA_REGISTER, stream, (uint32_t)len);
    if (out == NULL) {
        return no_memory(error);
    }
    tly_wire_region_put(out, region);
    s->rdma |= is_source ? RDMA_SOURCE : RDMA_DESTINATION;
    s->elsewhere = 1;
    return TLY_OK;
}

tly_status tly_wire_send_ready(tly_wire *wire, uint32_t stream, tly_error *error) {
    wire_stream *s = tly_wire_find_stream(wire, stream);
    if (s == NULL || s->state != STREAM_RECEIVE || (s->rdma & RDMA_SOURCE) == 0 ||
        (s->rdma & RDMA_READY) != 0) {
        return no_stream(stream, error);
    }
    if (tly_wire_queue(wire, TLY_WIRE_RDMA_READY, stream, 0) == NULL) {
        return no_memory(error);
    }
    s->rdma |= RDMA_READY;
    return TLY_OK;
}

tly_status tly_wire_send_private(tly_wire *wire, uint32_t type, uint32_t stream, const void *bytes,
                                 uint64_t len, int32_t attachment, void *token, tly_error *error) {
    uint8_t *out;
    tly_status status;
    if (type < TLY_WIRE_PRIVATE_FIRST || type > TLY_WIRE_PRIVATE_LAST || stream == 0 ||
        (wire->private_types >> (type - TLY_WIRE_PRIVATE_FIRST) & 1) == 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "type-private",
                             "message type 0x%X on stream %u was never agreed on", type, stream);
    }
    status = check_len(wire, len, "the message", error);
    if (status != TLY_OK) {
        return status;
    }
    out = tly_wire_queue(wire, type, stream, (uint32_t)len);
    if (out == NULL) {
        return no_memory(error);
    }
    if (len != 0) {
        memcpy(out, bytes, (size_t)len);
    }
    wire->out_last->kind = NODE_PRIVATE;
    wire->out_last->attachment = attachment;
    wire->out_last->token = token;
    return TLY_OK;
}
