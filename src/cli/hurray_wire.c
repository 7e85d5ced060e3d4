/* SPDX-License-Identifier: Apache-2.0 */
/* tilery check hurray: messages, decisions, sessions and refusals of the protocol. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "cli/hurray_case.h"
#include "wire/message.h"

#define GET(c, key) json_object_get((c)->recorded, key)

static json_t *tags(const uint8_t *values, uint32_t num) {
    json_t *array = json_array();
    for (uint32_t i = 0; i < num; i++) {
        json_array_append_new(array, json_integer(values[i]));
    }
    return array;
}

static json_t *layouts(tly_wire_layouts list) {
    json_t *array = json_array();
    tly_wire_layout l;
    while (tly_wire_layouts_next(&list, &l)) {
        json_t *o = json_object();
        json_object_set_new(o, "layout_tag", json_integer(l.tag));
        if (l.tag >= 0xF0) {
            json_object_set_new(o, "ext_metadata", tly_hurray_hex(l.metadata, l.metadata_len));
        }
        json_array_append_new(array, o);
    }
    return array;
}

/* ---- Messages ---- */

/* A payload as the recordings write it, and how long and what it is when written again. */
typedef struct redone {
    json_t *fields;
    uint8_t *again;
    uint64_t len;
    tly_error error;
} redone;

static int make_room(redone *r) {
    r->again = malloc((size_t)r->len + 1);
    if (r->again == NULL) {
        snprintf(r->error.message, sizeof r->error.message, "no memory");
    }
    return r->again != NULL;
}

static tly_status redo_hello(redone *r, const uint8_t *p, size_t len) {
    tly_wire_hello h;
    tly_status status = tly_wire_hello_get(p, len, &h, &r->error);
    if (status != TLY_OK) {
        return status;
    }
    json_object_set_new(r->fields, "protocol_version", tly_hurray_u64(h.protocol_version));
    json_object_set_new(r->fields, "max_message_size", tly_hurray_u64(h.max_message_size));
    json_object_set_new(r->fields, "capability_flags", tly_hurray_u64(h.capability_flags));
    json_object_set_new(r->fields, "supported_layouts", layouts(h.layouts));
    json_object_set_new(r->fields, "supported_devices", tags(h.devices, h.num_devices));
    json_object_set_new(r->fields, "supported_memory_classes",
                        tags(h.memory_classes, h.num_memory_classes));
    r->len = tly_wire_hello_len(&h);
    if (!make_room(r)) {
        return TLY_OUT_OF_MEMORY;
    }
    tly_wire_hello_put(r->again, &h);
    r->len -= h.memory_classes == NULL ? 2 : 0; /* we write the list that may be absent */
    return TLY_OK;
}

static tly_status redo_request(redone *r, const uint8_t *p, size_t len) {
    tly_wire_request q;
    tly_status status = tly_wire_request_get(p, len, &q, &r->error);
    if (status != TLY_OK) {
        return status;
    }
    json_object_set_new(r->fields, "tensor_key", json_stringn(q.key, q.key_len));
    json_object_set_new(r->fields, "preferred_layouts", layouts(q.layouts));
    json_object_set_new(r->fields, "preferred_device", tly_hurray_u64(q.preferred_device));
    json_object_set_new(r->fields, "min_alignment", tly_hurray_u64(q.min_alignment));
    json_object_set_new(r->fields, "request_flags", tly_hurray_u64(q.request_flags));
    r->len = tly_wire_request_len(&q);
    if (!make_room(r)) {
        return TLY_OUT_OF_MEMORY;
    }
    tly_wire_request_put(r->again, &q);
    return TLY_OK;
}

static tly_status redo_descriptor(redone *r, const uint8_t *p, size_t len) {
    tly_wire_descriptor d;
    tly_status status = tly_wire_descriptor_get(p, len, &d, &r->error);
    if (status != TLY_OK) {
        return status;
    }
    json_object_set_new(r->fields, "descriptor", tly_hurray_hex(d.bytes, d.len));
    json_object_set_new(r->fields, "total_data_bytes", tly_hurray_u64(d.total_data_bytes));
    json_object_set_new(r->fields, "shard_index", tly_hurray_u64(d.shard_index));
    json_object_set_new(r->fields, "total_shards", tly_hurray_u64(d.total_shards));
    r->len = tly_wire_descriptor_len(d.len);
    if (!make_room(r)) {
        return TLY_OUT_OF_MEMORY;
    }
    tly_wire_descriptor_put(r->again, d.bytes, d.len, d.total_data_bytes, d.shard_index,
                            d.total_shards);
    return TLY_OK;
}

static tly_status redo_put(redone *r, const uint8_t *p, size_t len) {
    tly_wire_put q;
    tly_status status = tly_wire_put_get(p, len, &q, &r->error);
    if (status != TLY_OK) {
        return status;
    }
    json_object_set_new(r->fields, "tensor_key", json_stringn(q.key, q.key_len));
    json_object_set_new(r->fields, "descriptor", tly_hurray_hex(q.descriptor, q.descriptor_len));
    json_object_set_new(r->fields, "total_data_bytes", tly_hurray_u64(q.total_data_bytes));
    r->len = tly_wire_put_len(&q);
    if (!make_room(r)) {
        return TLY_OUT_OF_MEMORY;
    }
    tly_wire_put_put(r->again, &q);
    return TLY_OK;
}

static tly_status redo_region(redone *r, const uint8_t *p, size_t len) {
    tly_wire_region q;
    tly_status status = tly_wire_region_get(p, len, &q, &r->error);
    if (status != TLY_OK) {
        return status;
    }
    json_object_set_new(r->fields, "remote_addr", tly_hurray_u64(q.remote_addr));
    json_object_set_new(r->fields, "length", tly_hurray_u64(q.len));
    json_object_set_new(r->fields, "rkey", tly_hurray_hex(q.rkey, q.rkey_len));
    r->len = tly_wire_region_len(&q);
    if (!make_room(r)) {
        return TLY_OUT_OF_MEMORY;
    }
    tly_wire_region_put(r->again, &q);
    return TLY_OK;
}

static tly_status redo(redone *r, uint32_t type, const uint8_t *p, size_t len) {
    memset(r, 0, sizeof *r);
    r->fields = json_object();
    switch (type) {
    case TLY_WIRE_CLIENT_HELLO:
    case TLY_WIRE_SERVER_HELLO:
        return redo_hello(r, p, len);
    case TLY_WIRE_TENSOR_REQUEST:
        return redo_request(r, p, len);
    case TLY_WIRE_TENSOR_DESCRIPTOR:
        return redo_descriptor(r, p, len);
    case TLY_WIRE_TENSOR_PUT:
        return redo_put(r, p, len);
    case TLY_WIRE_RDMA_REGISTER:
        return redo_region(r, p, len);
    case TLY_WIRE_ERROR: {
        uint32_t code, text_len;
        const char *text;
        tly_wire_error_get(p, len, &code, &text, &text_len);
        json_object_set_new(r->fields, "error_code", tly_hurray_u64(code));
        json_object_set_new(r->fields, "message", json_stringn(text, text_len));
        r->len = 8 + (uint64_t)text_len;
        if (!make_room(r)) {
            return TLY_OUT_OF_MEMORY;
        }
        tly_wire_error_put(r->again, code, text, text_len);
        return TLY_OK;
    }
    case TLY_WIRE_TENSOR_DATA:
        if (len < 8) {
            return TLY_TRUNCATED;
        }
        json_object_set_new(r->fields, "byte_offset_in_buffer",
                            tly_hurray_u64(tly_base_load_u64(p)));
        json_object_set_new(r->fields, "data", tly_hurray_hex(p + 8, len - 8));
        break;
    default:
        break;
    }
    r->len = len; /* nothing but bytes */
    if (!make_room(r)) {
        return TLY_OUT_OF_MEMORY;
    }
    memcpy(r->again, p, len);
    return TLY_OK;
}

/* One message: its header, its fields, and the same bytes when written again. */
static int check_message(tly_hurray_case *c, const uint8_t *bytes, size_t len,
                         const json_t *fields) {
    tly_wire_header h;
    char path[300] = "";
    redone r;
    int good = 1;
    if (len < TLY_WIRE_HEADER_LEN) {
        return tly_hurray_fail(c, "%zu bytes are no message", len);
    }
    h = tly_wire_header_get(bytes);
    bytes += TLY_WIRE_HEADER_LEN;
    len -= TLY_WIRE_HEADER_LEN;
    if (h.payload_len != len) {
        return tly_hurray_fail(c, "a message of %u bytes has %zu", h.payload_len, len);
    }
    if (redo(&r, h.type, bytes, len) != TLY_OK) {
        good = tly_hurray_fail(c, "%s (%s)", r.error.message, r.error.rule);
    } else if (!tly_hurray_agrees(fields, r.fields, path, sizeof path)) {
        good = tly_hurray_fail(c, "fields: %s", path);
    } else if (r.len != len || memcmp(r.again, bytes, len) != 0) {
        good = tly_hurray_fail(c, "written again it is not the same");
    }
    json_decref(r.fields);
    free(r.again);
    return good;
}

int tly_hurray_message(tly_hurray_case *c) {
    size_t len;
    uint8_t *bytes = tly_hurray_unhex(tly_hurray_text(c->recorded, "hex"), &len);
    int good = bytes != NULL && len >= TLY_WIRE_HEADER_LEN;
    if (good) {
        tly_wire_header h = tly_wire_header_get(bytes);
        good = h.type == tly_hurray_number(GET(c, "message_type")) &&
                       h.stream == tly_hurray_number(GET(c, "stream_id"))
                   ? check_message(c, bytes, len, GET(c, "fields"))
                   : tly_hurray_fail(c, "another type or stream");
    } else {
        tly_hurray_fail(c, "the case has no message");
    }
    free(bytes);
    return good;
}

/* ---- Decisions ---- */

static uint32_t bytes_of(const json_t *array, uint8_t *out, uint32_t most) {
    uint32_t num = 0;
    for (size_t i = 0; i < json_array_size(array) && num < most; i++) {
        out[num++] = (uint8_t)json_integer_value(json_array_get(array, i));
    }
    return num;
}

typedef struct server_says {
    uint8_t stored, transcoding;
    uint8_t can[64];
    uint32_t num_can;
} server_says;

static int32_t verdict(void *user, uint32_t index, const tly_wire_layout *layout) {
    const server_says *s = user;
    (void)index;
    if (layout->tag == s->stored) {
        return TLY_WIRE_NATIVE;
    }
    return s->transcoding && memchr(s->can, layout->tag, s->num_can) != NULL ? TLY_WIRE_TRANSCODE
                                                                             : TLY_WIRE_SKIP;
}

static int layout_decision(tly_hurray_case *c) {
    server_says s = {.stored = (uint8_t)tly_hurray_number(GET(c, "stored")),
                     .transcoding = tly_hurray_number(GET(c, "server_transcoding")) != 0};
    uint8_t preferred[64], bytes[256];
    uint32_t num = bytes_of(GET(c, "preferred"), preferred, 64), chosen;
    tly_wire_layout entries[64] = {{0}};
    tly_wire_layouts list;
    tly_error error = {0};
    uint8_t got;
    int32_t how;
    s.num_can = bytes_of(GET(c, "server_can_transcode_to"), s.can, 64);
    for (uint32_t i = 0; i < num; i++) {
        entries[i].tag = preferred[i];
    }
    if (tly_wire_layouts_put(entries, num, bytes, sizeof bytes, &list, &error) != TLY_OK) {
        return tly_hurray_fail(c, "%s", error.message);
    }
    chosen = tly_wire_choose_layout(&list, tly_hurray_number(GET(c, "allow_transcode")) != 0,
                                    verdict, &s, &how);
    got = chosen < num ? preferred[chosen] : s.stored;
    return got == tly_hurray_number(GET(c, "chosen"))
               ? 1
               : tly_hurray_fail(c, "layout %u is chosen", got);
}

static int device_decision(tly_hurray_case *c) {
    uint8_t supported[64], available[64], client[64], device = 0;
    const json_t *result = GET(c, "result"), *either = json_object_get(result, "device_or_error");
    uint32_t ns = bytes_of(GET(c, "server_supported"), supported, 64);
    uint32_t na = bytes_of(GET(c, "server_available_now"), available, 64);
    uint32_t nc = bytes_of(GET(c, "client_supported"), client, 64);
    uint32_t code = tly_wire_choose_device((uint8_t)tly_hurray_number(GET(c, "preferred_device")),
                                           supported, ns, available, na, client, nc, &device);
    int good;
    if (either != NULL) {
        good = code == 0 ? device == tly_hurray_number(json_array_get(either, 0)) &&
                               memchr(client, device, nc) != NULL
                         : code == tly_hurray_number(json_array_get(either, 1));
    } else if (json_object_get(result, "error") != NULL) {
        good = code == tly_hurray_number(json_object_get(result, "error"));
    } else {
        good = code == 0 && device == tly_hurray_number(json_object_get(result, "device"));
    }
    return good ? 1 : tly_hurray_fail(c, "device %u, error %u", device, code);
}

/* ---- Connections ---- */

/* One end of a connection, and what came of it. */
typedef struct end {
    tly_wire *wire;
    tly_hurray_case *c;
    uint32_t code; /* of the first rejection; 0: none */
    char rule[64];
    uint32_t requests, puts, ends, acks, descriptors, pongs, error_code;
} end;

static int open_end(tly_hurray_case *c, end *e, int32_t role, uint64_t capabilities) {
    static const uint8_t cpu[] = {0};
    tly_wire_options options = {.size = sizeof options,
                                .role = role,
                                .capability_flags = capabilities,
                                .devices = cpu,
                                .num_devices = 1};
    tly_error error = {0};
    memset(e, 0, sizeof *e);
    e->c = c;
    return tly_wire_new(c->context, &options, &e->wire, &error) == TLY_OK
               ? 1
               : tly_hurray_fail(c, "%s", error.message);
}

static void take_event(end *e, const tly_wire_event *event) {
    e->requests += event->kind == TLY_WIRE_EVENT_REQUEST;
    e->puts += event->kind == TLY_WIRE_EVENT_PUT;
    e->ends += event->kind == TLY_WIRE_EVENT_END;
    e->acks += event->kind == TLY_WIRE_EVENT_ACK;
    e->pongs += event->kind == TLY_WIRE_EVENT_PONG;
    e->descriptors += event->kind == TLY_WIRE_EVENT_DESCRIPTOR;
    if (event->kind == TLY_WIRE_EVENT_ERROR) {
        e->error_code = event->code;
    }
    if (event->kind == TLY_WIRE_EVENT_REJECTED && e->code == 0) {
        e->code = event->code;
        snprintf(e->rule, sizeof e->rule, "%s", event->error->rule);
    }
}

/* Output goes nowhere: the recording has the other side's words already. */
static void drop_output(tly_wire *wire) {
    tly_wire_span spans[16];
    void *token;
    while (tly_wire_output(wire, spans, 16) != 0) {
        tly_wire_sent(wire, tly_wire_queued(wire));
    }
    while (tly_wire_next_released(wire, &token)) {
    }
}

static void feed(end *e, const uint8_t *bytes, size_t len) {
    while (len > 0) {
        size_t used = 0;
        tly_wire_event event;
        if (tly_wire_feed(e->wire, bytes, len, &used) != TLY_OK) {
            return;
        }
        bytes += used;
        len -= used;
        tly_wire_next(e->wire, &event);
        if (event.kind == TLY_WIRE_EVENT_NONE && used == 0) {
            return; /* it takes no more */
        }
        if (event.kind != TLY_WIRE_EVENT_NONE) {
            take_event(e, &event);
        }
    }
    for (tly_wire_event event;;) {
        tly_wire_next(e->wire, &event);
        if (event.kind == TLY_WIRE_EVENT_NONE) {
            return;
        }
        take_event(e, &event);
    }
}

static void put_number(uint8_t **at, uint64_t v, int width) {
    for (int i = 0; i < width; i++) {
        *(*at)++ = (uint8_t)(v >> 8 * i);
    }
}

/* A shard of the recordings as a message, written by hand from the specification. */
static size_t shard_message(uint8_t *out, uint32_t stream, const json_t *shard) {
    const json_t *lists[] = {json_object_get(shard, "shape"),
                             json_object_get(shard, "parent_shape"),
                             json_object_get(shard, "shard_offset")};
    const uint64_t type = tly_hurray_number(json_object_get(shard, "type_tag"));
    const uint32_t rank = (uint32_t)json_array_size(lists[0]);
    uint64_t len = type == 1 ? 2 : 4;
    uint8_t *at = out;
    for (uint32_t i = 0; i < rank; i++) {
        len *= tly_hurray_number(json_array_get(lists[0], i));
    }
    put_number(&at, TLY_WIRE_TENSOR_DESCRIPTOR, 4);
    put_number(&at, stream, 4);
    put_number(&at, 45 + 24 * rank + 16, 4);
    memcpy(at, "HRRY\1\0", 6);
    at += 6;
    put_number(&at, 45 + 24 * rank, 4);
    put_number(&at, TLY_FLAG_SHARD, 4);
    put_number(&at, type, 1);
    put_number(&at, tly_hurray_number(json_object_get(shard, "layout_tag")), 1);
    put_number(&at, rank, 4);
    for (int list = 0; list < 3; list++) {
        for (uint32_t i = 0; i < rank; i++) {
            put_number(&at, tly_hurray_number(json_array_get(lists[list], i)), 8);
        }
        if (list == 0) {
            put_number(&at, 0, 8);
            put_number(&at, 1, 1);
            put_number(&at, len, 8);
            put_number(&at, 64, 4);
            put_number(&at, 0, 4);
        }
    }
    put_number(&at, len, 8);
    put_number(&at, tly_hurray_number(json_object_get(shard, "shard_index")), 4);
    put_number(&at, tly_hurray_number(json_object_get(shard, "total_shards")), 4);
    return (size_t)(at - out);
}

static const uint8_t server_hello[] = {2, 0, 0, 0, 1, 0, 0, 0, 25, 0, 0, 0, 1, 0, 0, 0, 0, 0, 16,
                                       0, 2, 0, 0, 0, 0, 0, 0, 0,  1, 0, 1, 1, 0, 0, 1, 0, 0};

static int shard_decision(tly_hurray_case *c) {
    const json_t *shards = GET(c, "shards");
    const int accept = strcmp(tly_hurray_text(c->recorded, "verdict"), "accept") == 0;
    tly_wire_request request = {
        .key = "w", .key_len = 1, .min_alignment = 64, .request_flags = TLY_WIRE_PARALLEL_OK};
    tly_error error = {0};
    uint32_t stream = 0;
    end client;
    int good;
    if (!open_end(c, &client, TLY_WIRE_CLIENT, 0)) {
        return 0;
    }
    good = tly_wire_request_tensor(client.wire, &request, &stream, &error) == TLY_OK
               ? 1
               : tly_hurray_fail(c, "%s", error.message);
    feed(&client, server_hello, sizeof server_hello);
    for (size_t i = 0; i < json_array_size(shards) && good; i++) {
        uint8_t message[2048];
        const json_t *shard = json_array_get(shards, i);
        if (json_array_size(json_object_get(shard, "shape")) > TLY_MAX_RANK) {
            good = tly_hurray_fail(c, "a shard of too many axes");
            break;
        }
        feed(&client, message, shard_message(message, stream + (uint32_t)i, shard));
    }
    if (good && (accept ? client.code != 0 || client.descriptors != json_array_size(shards)
                        : client.code != tly_hurray_number(GET(c, "error_code")))) {
        good = tly_hurray_fail(c, "%u of the shards are taken, error %u (%s)", client.descriptors,
                               client.code, client.rule);
    }
    tly_wire_free(client.wire);
    return good;
}

int tly_hurray_decision(tly_hurray_case *c) {
    const char *kind = tly_hurray_text(c->recorded, "kind");
    return strcmp(kind, "layout_negotiation") == 0   ? layout_decision(c)
           : strcmp(kind, "device_negotiation") == 0 ? device_decision(c)
           : strcmp(kind, "shard_consistency") == 0
               ? shard_decision(c)
               : tly_hurray_fail(c, "this kind of decision is not known");
}

/* Opens streams until the one of the recording. */
static int request_until(tly_hurray_case *c, end *e, const tly_wire_request *request,
                         const tly_wire_put *put, uint32_t wanted, int give_up) {
    uint32_t got = 0;
    tly_error error = {0};
    do {
        tly_status status = put != NULL ? tly_wire_put_tensor(e->wire, put, &got, &error)
                                        : tly_wire_request_tensor(e->wire, request, &got, &error);
        if (status != TLY_OK) {
            return tly_hurray_fail(c, "%s", error.message);
        }
        if (got != wanted && give_up) {
            tly_wire_fail_stream(e->wire, got, TLY_WIRE_INVALID_MESSAGE, "only counting");
        }
    } while (got < wanted);
    return got == wanted ? 1 : tly_hurray_fail(c, "stream %u cannot be had", wanted);
}

int tly_hurray_malformed(tly_hurray_case *c) {
    const json_t *steps = GET(c, "steps");
    const char *rule = tly_hurray_text(c->recorded, "rule");
    const uint64_t rdma =
        strncmp(rule, "P-RDMA-LENGTH", 13) == 0 || strncmp(rule, "P-RDMA-READY", 12) == 0
            ? TLY_WIRE_CAP_RDMA
            : 0;
    const tly_wire_request request = {.key = "w", .key_len = 1, .min_alignment = 64};
    end server, client, *guilty;
    int good = open_end(c, &server, TLY_WIRE_SERVER, rdma);
    good = open_end(c, &client, TLY_WIRE_CLIENT, rdma) && good;
    good = good && request_until(c, &client, &request, NULL, 2, 0);
    for (size_t i = 0; i < json_array_size(steps) && good; i++) {
        const json_t *step = json_array_get(steps, i);
        const int to_server = strcmp(tly_hurray_text(step, "dir"), "C>S") == 0;
        size_t len;
        uint8_t *bytes = tly_hurray_unhex(tly_hurray_text(step, "hex"), &len);
        if (bytes == NULL) {
            good = tly_hurray_fail(c, "step %zu has no bytes", i);
            break;
        }
        drop_output(server.wire);
        drop_output(client.wire);
        feed(to_server ? &server : &client, bytes, len);
        free(bytes);
    }
    guilty = server.code != 0 ? &server : &client;
    if (good && strcmp(tly_hurray_text(c->recorded, "expect"), "accept") == 0) {
        good = guilty->code == 0 ? 1 : tly_hurray_fail(c, "refused by %s", guilty->rule);
    } else if (good && guilty->code != tly_hurray_number(GET(c, "error_code"))) {
        good = tly_hurray_fail(c, "error %u (%s)", guilty->code, guilty->rule);
    } else if (good && strcmp(tly_hurray_text(c->recorded, "closes"), "connection") == 0 &&
               !tly_wire_is_closing(guilty->wire)) {
        good = tly_hurray_fail(c, "the connection stays open");
    }
    tly_wire_free(server.wire);
    tly_wire_free(client.wire);
    return good;
}

/* Our own end says what the recorded one says, so that it is in the same state. */
static int say_too(tly_hurray_case *c, end *from, const uint8_t *bytes, size_t len) {
    static int token;
    const tly_wire_header h = tly_wire_header_get(bytes);
    const uint8_t *p = bytes + TLY_WIRE_HEADER_LEN;
    tly_error error = {0};
    tly_status status = TLY_OK;
    len -= TLY_WIRE_HEADER_LEN;
    if (h.type == TLY_WIRE_TENSOR_REQUEST) {
        tly_wire_request request;
        status = tly_wire_request_get(p, len, &request, &error);
        return status == TLY_OK ? request_until(c, from, &request, NULL, h.stream, 1)
                                : tly_hurray_fail(c, "%s", error.message);
    }
    if (h.type == TLY_WIRE_TENSOR_PUT) {
        tly_wire_put put;
        status = tly_wire_put_get(p, len, &put, &error);
        return status == TLY_OK ? request_until(c, from, NULL, &put, h.stream, 1)
                                : tly_hurray_fail(c, "%s", error.message);
    }
    if (h.type == TLY_WIRE_TENSOR_DATA && len >= 8) {
        status = tly_wire_send_data(from->wire, h.stream, p + 8, len - 8, &token, &error);
        drop_output(from->wire);
    } else if (h.type == TLY_WIRE_TENSOR_DATA_END) {
        status = tly_wire_send_end(from->wire, h.stream, &error);
    } else if (h.type == TLY_WIRE_TENSOR_DESCRIPTOR) {
        tly_wire_descriptor d;
        status = tly_wire_descriptor_get(p, len, &d, &error);
        if (status == TLY_OK) {
            status = tly_wire_send_descriptor(from->wire, h.stream, d.bytes, d.len,
                                              d.total_data_bytes, &error);
        }
    } else if (h.type == TLY_WIRE_TENSOR_PUT_ACK) {
        status = tly_wire_send_ack(from->wire, h.stream, &error);
    } else if (h.type == TLY_WIRE_RDMA_REGISTER) {
        tly_wire_region region;
        status = tly_wire_region_get(p, len, &region, &error);
        if (status == TLY_OK) {
            status = tly_wire_send_register(from->wire, h.stream, &region, &error);
        }
    } else if (h.type == TLY_WIRE_RDMA_READY) {
        status = tly_wire_send_ready(from->wire, h.stream, &error);
    }
    return status == TLY_OK ? 1 : tly_hurray_fail(c, "%s (%s)", error.message, error.rule);
}

/* Every message is what its fields say, both ends take all of them and may say each of them, and
 * every tensor comes to its end. */
int tly_hurray_session(tly_hurray_case *c) {
    const json_t *steps = GET(c, "steps"), *hello = json_array_get(steps, 0);
    const uint64_t capabilities =
        tly_hurray_number(json_object_get(json_object_get(hello, "fields"), "capability_flags"));
    const int shards = strstr(tly_hurray_text(c->recorded, "kind"), "parallel") != NULL;
    uint32_t answers = 0, uploads = 0;
    end server, client;
    int good = open_end(c, &server, TLY_WIRE_SERVER, capabilities);
    good = open_end(c, &client, TLY_WIRE_CLIENT, capabilities) && good;
    for (size_t i = 0; i < json_array_size(steps) && good; i++) {
        const json_t *step = json_array_get(steps, i);
        const int to_server = strcmp(tly_hurray_text(step, "dir"), "C>S") == 0;
        size_t len = 0;
        uint8_t *bytes = tly_hurray_unhex(tly_hurray_text(step, "hex"), &len);
        uint32_t type;
        if (bytes == NULL || len < TLY_WIRE_HEADER_LEN) {
            good = tly_hurray_fail(c, "step %zu is no message", i);
            free(bytes);
            break;
        }
        type = tly_wire_header_get(bytes).type;
        answers += type == TLY_WIRE_TENSOR_DATA_END && !to_server;
        uploads += type == TLY_WIRE_TENSOR_PUT;
        good = check_message(c, bytes, len, json_object_get(step, "fields"));
        if (good && (!shards || to_server)) { /* a server numbers the streams of shards itself */
            good = say_too(c, to_server ? &client : &server, bytes, len);
        }
        if (good) {
            feed(to_server ? &server : &client, bytes, len);
        }
        free(bytes);
        if (good && (server.code != 0 || client.code != 0)) {
            good = tly_hurray_fail(c, "step %zu is refused by %s", i,
                                   server.code != 0 ? server.rule : client.rule);
        }
    }
    if (good && (client.ends != answers || server.ends != uploads)) {
        good = tly_hurray_fail(c, "%u of %u answers and %u of %u uploads come to an end",
                               client.ends, answers, server.ends, uploads);
    }
    tly_wire_free(server.wire);
    tly_wire_free(client.wire);
    return good;
}
