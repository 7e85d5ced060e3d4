/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol against the vectors of the format: every message, decision, session and refusal. */
#include "vectors.h"

#include <inttypes.h>

#include "wire/plain.h"
#include "wire/text.h"

#define FOLDER "tests/vectors/hurray/"

static tly_context *context;

static int make_context(void **state) {
    (void)state;
    return tly_context_new(NULL, &context, NULL) != TLY_OK;
}

static int free_context(void **state) {
    (void)state;
    tly_context_free(context);
    return 0;
}

static uint64_t json_number(const char *line, const char *key) {
    char pattern[64];
    const char *at;
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    at = strstr(line, pattern);
    return at != NULL ? strtoull(at + strlen(pattern), NULL, 10) : 0;
}

/* Numbers of an array; returns how many. */
static uint32_t json_bytes(const char *line, const char *key, uint8_t *out, uint32_t most) {
    char pattern[64];
    const char *at;
    uint32_t num = 0;
    snprintf(pattern, sizeof pattern, "\"%s\":[", key);
    at = strstr(line, pattern);
    assert_non_null(at);
    at += strlen(pattern);
    while (*at != ']') {
        char *end;
        assert_true(num < most);
        out[num++] = (uint8_t)strtoul(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    return num;
}

static uint8_t *hex_of(const char *line, size_t *out_len) {
    char *hex = malloc(strlen(line) + 1);
    uint8_t *bytes = check_unhex(check_json_text(line, "hex", hex, strlen(line)), out_len);
    free(hex);
    return bytes;
}

/* ---- messages ---- */

/* Decodes a payload, prints it, and encodes it again. */
static void redo(uint32_t type, const uint8_t *payload, size_t len, text_buffer *t,
                 uint8_t **out_again, uint64_t *out_len) {
    tly_error error;
    *out_again = NULL;
    *out_len = 0;
    if (type == TLY_WIRE_CLIENT_HELLO || type == TLY_WIRE_SERVER_HELLO) {
        tly_wire_hello h;
        CHECK_OK(tly_wire_hello_get(payload, len, &h, &error), &error);
        text_hello(t, &h);
        *out_len = tly_wire_hello_len(&h);
        *out_again = malloc((size_t)*out_len);
        tly_wire_hello_put(*out_again, &h);
        if (h.memory_classes == NULL) {
            *out_len -= 2; /* we always write the list that may be absent */
        }
    } else if (type == TLY_WIRE_TENSOR_REQUEST) {
        tly_wire_request r;
        CHECK_OK(tly_wire_request_get(payload, len, &r, &error), &error);
        text_request(t, &r);
        *out_len = tly_wire_request_len(&r);
        *out_again = malloc((size_t)*out_len);
        tly_wire_request_put(*out_again, &r);
    } else if (type == TLY_WIRE_TENSOR_DESCRIPTOR) {
        tly_wire_descriptor d;
        CHECK_OK(tly_wire_descriptor_get(payload, len, &d, &error), &error);
        text_descriptor(t, &d);
        *out_len = tly_wire_descriptor_len(d.len);
        *out_again = malloc((size_t)*out_len);
        tly_wire_descriptor_put(*out_again, d.bytes, d.len, d.total_data_bytes, d.shard_index,
                                d.total_shards);
    } else if (type == TLY_WIRE_TENSOR_PUT) {
        tly_wire_put p;
        CHECK_OK(tly_wire_put_get(payload, len, &p, &error), &error);
        text_put(t, &p);
        *out_len = tly_wire_put_len(&p);
        *out_again = malloc((size_t)*out_len);
        tly_wire_put_put(*out_again, &p);
    } else if (type == TLY_WIRE_RDMA_REGISTER) {
        tly_wire_region r;
        CHECK_OK(tly_wire_region_get(payload, len, &r, &error), &error);
        text_region(t, &r);
        *out_len = tly_wire_region_len(&r);
        *out_again = malloc((size_t)*out_len);
        tly_wire_region_put(*out_again, &r);
    } else if (type == TLY_WIRE_ERROR) {
        uint32_t code, text_len;
        const char *text;
        tly_wire_error_get(payload, len, &code, &text, &text_len);
        text_add(t, "{\"error_code\":%u,\"message\":", code);
        text_string(t, text, text_len);
        text_add(t, "}");
        *out_len = 8 + text_len;
        *out_again = malloc((size_t)*out_len);
        tly_wire_error_put(*out_again, code, text, text_len);
    } else if (type == TLY_WIRE_TENSOR_DATA) {
        text_add(t, "{\"byte_offset_in_buffer\":%" PRIu64 ",\"data\":\"",
                 plain_get(payload, len, 0, 8));
        text_hex(t, payload + 8, len - 8);
        text_add(t, "\"}");
        *out_len = len;
        *out_again = malloc(len);
        memcpy(*out_again, payload, len);
    } else {
        text_add(t, "{}");
        assert_int_equal(len, 0);
    }
}

static void messages(void **state) {
    check_vectors v = check_vectors_open(FOLDER "proto_messages.jsonl.gz");
    int checked = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        size_t len;
        uint8_t *bytes = hex_of(line, &len);
        uint8_t *again;
        uint64_t again_len;
        tly_wire_header h = tly_wire_header_get(bytes);
        text_buffer t = {NULL, 0, 0};
        assert_int_equal(h.type, json_number(line, "message_type"));
        assert_int_equal(h.stream, json_number(line, "stream_id"));
        assert_int_equal(h.payload_len, len - TLY_WIRE_HEADER_LEN);
        text_add(&t, "\"fields\":");
        redo(h.type, bytes + TLY_WIRE_HEADER_LEN, len - TLY_WIRE_HEADER_LEN, &t, &again,
             &again_len);
        if (strstr(line, t.bytes) == NULL) {
            fail_msg("%.300s: decoded as %.300s", line, t.bytes);
        }
        assert_int_equal(again_len, len - TLY_WIRE_HEADER_LEN);
        if (again_len != 0) {
            assert_memory_equal(again, bytes + TLY_WIRE_HEADER_LEN, again_len);
        }
        checked++;
        free(again);
        free(t.bytes);
        free(bytes);
    }
    check_vectors_close(&v);
    print_message("# messages: %d checked\n", checked);
    assert_int_equal(checked, 155);
}

/* ---- decisions ---- */

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

static void check_layout_decision(const char *line) {
    server_says s;
    uint8_t tags[64], bytes[256];
    uint32_t num = json_bytes(line, "preferred", tags, 64), chosen;
    tly_wire_layout entries[64];
    tly_wire_layouts list;
    tly_error error;
    int32_t how;
    s.stored = (uint8_t)json_number(line, "stored");
    s.transcoding = (uint8_t)json_number(line, "server_transcoding");
    s.num_can = json_bytes(line, "server_can_transcode_to", s.can, 64);
    memset(entries, 0, sizeof entries);
    for (uint32_t i = 0; i < num; i++) {
        entries[i].tag = tags[i];
    }
    CHECK_OK(tly_wire_layouts_put(entries, num, bytes, sizeof bytes, &list, &error), &error);
    chosen =
        tly_wire_choose_layout(&list, json_number(line, "allow_transcode") != 0, verdict, &s, &how);
    assert_int_equal(chosen < num ? tags[chosen] : s.stored, json_number(line, "chosen"));
    assert_int_equal(how == TLY_WIRE_NATIVE, json_number(line, "chosen") == s.stored);
}

static void check_device_decision(const char *line) {
    uint8_t supported[64], available[64], client[64], device;
    uint32_t ns = json_bytes(line, "server_supported", supported, 64);
    uint32_t na = json_bytes(line, "server_available_now", available, 64);
    uint32_t nc = json_bytes(line, "client_supported", client, 64);
    uint32_t code = tly_wire_choose_device((uint8_t)json_number(line, "preferred_device"),
                                           supported, ns, available, na, client, nc, &device);
    if (strstr(line, "\"device_or_error\"") != NULL) {
        uint8_t either[2];
        json_bytes(line, "device_or_error", either, 2);
        assert_true(code == 0 ? device == either[0] : code == either[1]);
        if (code == 0) { /* the one fallback: the client must take it, and we must have it */
            assert_non_null(memchr(client, device, nc));
            assert_non_null(memchr(available, device, na));
        }
    } else if (strstr(line, "\"error\":") != NULL) {
        assert_int_equal(code, json_number(line, "error"));
    } else {
        assert_int_equal(code, 0);
        assert_int_equal(device, json_number(line, "device"));
    }
}

/* Numbers of the array that `key` begins next, from `*at` on. */
static uint32_t json_u64s(const char **at, const char *key, uint64_t *out, uint32_t most) {
    char pattern[64];
    const char *p;
    uint32_t num = 0;
    snprintf(pattern, sizeof pattern, "\"%s\":[", key);
    p = strstr(*at, pattern);
    assert_non_null(p);
    p += strlen(pattern);
    while (*p != ']') {
        char *end;
        assert_true(num < most);
        out[num++] = strtoull(p, &end, 10);
        p = *end == ',' ? end + 1 : end;
    }
    *at = p;
    return num;
}

/* A shard of the decisions as a serialised descriptor: by hand, from the specification. */
static void put_shard(plain_bytes *p, const uint64_t *parent, const uint64_t *offset,
                      const uint64_t *shape, uint32_t rank, uint8_t type, uint8_t layout) {
    uint64_t len = type == 1 ? 2 : 4;
    for (uint32_t i = 0; i < rank; i++) {
        len *= shape[i];
    }
    plain_put(p, "HRRY\1\0", 6);
    plain_number(p, 45 + 24 * rank, 4);
    plain_number(p, 2, 4); /* SHARD */
    plain_number(p, type, 1);
    plain_number(p, layout, 1);
    plain_number(p, rank, 4);
    for (uint32_t i = 0; i < rank; i++) {
        plain_number(p, shape[i], 8);
    }
    plain_number(p, 0, 8);
    plain_number(p, 1, 1);
    plain_number(p, len, 8);
    plain_number(p, 64, 4);
    plain_number(p, 0, 4);
    for (uint32_t i = 0; i < rank; i++) {
        plain_number(p, parent[i], 8);
    }
    for (uint32_t i = 0; i < rank; i++) {
        plain_number(p, offset[i], 8);
    }
    plain_number(p, len, 8);
}

typedef struct shard_verdict {
    uint32_t code, origin, descriptors;
} shard_verdict;

static void on_shard(void *user, const tly_wire_event *event) {
    shard_verdict *v = user;
    if (event->kind == TLY_WIRE_EVENT_REJECTED && v->code == 0) {
        v->code = event->code;
        v->origin = event->origin;
    }
    v->descriptors += event->kind == TLY_WIRE_EVENT_DESCRIPTOR;
}

/* A client that asked for the tensor gets these descriptors, each on a stream of its own. */
static void check_shard_decision(const char *line) {
    tly_wire *client = plain_wire(context, TLY_WIRE_CLIENT);
    tly_wire_request r = {
        .key = "w", .key_len = 1, .min_alignment = 64, .request_flags = TLY_WIRE_PARALLEL_OK};
    const char *end = strstr(line, "\"verdict\":");
    const char *at = strstr(line, "\"shards\":");
    plain_bytes bytes = {0};
    shard_verdict v = {0};
    uint32_t stream, num = 0;
    tly_error error;
    CHECK_OK(tly_wire_request_tensor(client, &r, &stream, &error), &error);
    plain_hello(&bytes, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
    while ((at = strstr(at, "{\"parent_shape\"")) != NULL && at < end) {
        uint64_t parent[8], offset[8], shape[8];
        plain_bytes p = {0};
        uint32_t rank = json_u64s(&at, "parent_shape", parent, 8);
        json_u64s(&at, "shard_offset", offset, 8);
        json_u64s(&at, "shape", shape, 8);
        put_shard(&p, parent, offset, shape, rank, (uint8_t)json_number(at, "type_tag"),
                  (uint8_t)json_number(at, "layout_tag"));
        plain_number(&p, json_number(at, "shard_index"), 4);
        plain_number(&p, json_number(at, "total_shards"), 4);
        plain_message(&bytes, TLY_WIRE_TENSOR_DESCRIPTOR, stream + num, p.at, p.len);
        free(p.at);
        num++;
    }
    plain_feed(client, bytes.at, bytes.len, on_shard, &v);
    if (strstr(end, "\"verdict\":\"accept\"") != NULL) {
        assert_int_equal(v.code, 0);
        assert_int_equal(v.descriptors, num);
        assert_int_equal(tly_wire_num_streams(client), num);
    } else {
        assert_int_equal(v.code, json_number(end, "error_code"));
        assert_true(v.descriptors < num);
        assert_int_equal(tly_wire_num_streams(client), 0); /* all or nothing */
        assert_int_equal(v.origin, stream);
    }
    tly_wire_free(client);
    free(bytes.at);
}

static void decisions(void **state) {
    check_vectors v = check_vectors_open(FOLDER "proto_decisions.jsonl.gz");
    int layouts = 0, devices = 0, shards = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        if (strstr(line, "\"layout_negotiation\"") != NULL) {
            check_layout_decision(line);
            layouts++;
        } else if (strstr(line, "\"device_negotiation\"") != NULL) {
            check_device_decision(line);
            devices++;
        } else {
            assert_non_null(strstr(line, "\"shard_consistency\""));
            check_shard_decision(line);
            shards++;
        }
    }
    check_vectors_close(&v);
    print_message("# decisions: %d on layouts, %d on devices, %d on shards\n", layouts, devices,
                  shards);
    assert_int_equal(layouts, 48);
    assert_int_equal(devices, 115);
    assert_int_equal(shards, 11);
}

/* ---- malformed ---- */

typedef struct judge {
    tly_wire *wire;
    uint32_t code; /* of the first rejection; 0: none */
    uint32_t stream;
    char rule[64];
} judge;

static void on_judged(void *user, const tly_wire_event *event) {
    judge *j = user;
    if (event->kind == TLY_WIRE_EVENT_REJECTED && j->code == 0) {
        j->code = event->code;
        j->stream = event->stream;
        snprintf(j->rule, sizeof j->rule, "%s", event->error->rule);
        assert_true(event->error->message[0] != '\0');
    }
}

/* The ERROR that has been queued says the same code, on that stream. */
static void check_queued_error(judge *j) {
    plain_bytes out = {0};
    size_t at = 0;
    int found = 0;
    plain_take_output(j->wire, &out, SIZE_MAX);
    while (at < out.len) {
        size_t len = (size_t)plain_get(out.at, out.len, at + 8, 4);
        if (plain_get(out.at, out.len, at, 4) == TLY_WIRE_ERROR) {
            assert_int_equal(plain_get(out.at, out.len, at + 12, 4), j->code);
            assert_true(j->stream == 0 || plain_get(out.at, out.len, at + 4, 4) == j->stream);
            assert_int_equal(plain_get(out.at, out.len, at + 16, 4), len - 8);
            found++;
        }
        at += 12 + len;
    }
    assert_int_equal(at, out.len);
    if (found != 1) {
        fail_msg("%d ERROR messages for %s", found, j->rule);
    }
    free(out.at);
}

/* Rules about frames stand in the vectors as uploads. The same frames are also judged as an answer:
 * then the PUT becomes a TENSOR_DESCRIPTOR. */
static void put_to_descriptor(plain_bytes *out, const uint8_t *bytes, size_t len) {
    size_t key_len = (size_t)plain_get(bytes, len, 12, 4);
    size_t d_len = (size_t)plain_get(bytes, len, 16 + key_len, 4);
    plain_bytes p = {0};
    plain_put(&p, bytes + 20 + key_len, d_len);
    plain_number(&p, plain_get(bytes, len, 20 + key_len + d_len, 8), 8);
    plain_number(&p, 0, 4);
    plain_number(&p, 1, 4);
    plain_message(out, TLY_WIRE_TENSOR_DESCRIPTOR, (uint32_t)plain_get(bytes, len, 4, 4), p.at,
                  p.len);
    free(p.at);
}

static void request_stream(tly_wire *client, uint32_t id) {
    tly_wire_request r = {.key = "w", .key_len = 1, .min_alignment = 64};
    uint32_t got;
    tly_error error;
    do {
        CHECK_OK(tly_wire_request_tensor(client, &r, &got, &error), &error);
    } while (got < id);
}

static tly_wire *capable_wire(int32_t role, uint64_t capabilities) {
    static const uint8_t cpu[] = {0};
    tly_wire_options options = {.size = sizeof options,
                                .role = role,
                                .capability_flags = capabilities,
                                .devices = cpu,
                                .num_devices = 1};
    tly_wire *wire;
    tly_error error;
    CHECK_OK(tly_wire_new(context, &options, &wire, &error), &error);
    return wire;
}

static void check_malformed(char *line, int as_answer) {
    const uint64_t rdma = strstr(line, "\"P-RDMA-LENGTH\"") != NULL ||
                                  strstr(line, "\"P-RDMA-READY-PAYLOAD\"") != NULL
                              ? TLY_WIRE_CAP_RDMA
                              : 0;
    judge server = {.wire = capable_wire(TLY_WIRE_SERVER, rdma)};
    judge client = {.wire = capable_wire(TLY_WIRE_CLIENT, rdma)};
    judge *guilty;
    char *step = strstr(line, "\"steps\":");
    const char *end = strstr(line, "\"expect\":");
    plain_bytes ignored = {0};
    request_stream(client.wire, 2);
    plain_take_output(client.wire, &ignored, SIZE_MAX);
    while ((step = strstr(step, "{\"dir\":\"")) != NULL && step < end) {
        int to_server = strncmp(step + 8, "C>S", 3) == 0;
        char *close = strchr(step, '}');
        size_t len;
        uint8_t *bytes;
        *close = '\0';
        bytes = hex_of(step, &len);
        if (as_answer && bytes[0] == 7) {
            plain_bytes d = {0};
            put_to_descriptor(&d, bytes, len);
            plain_feed(client.wire, d.at, d.len, on_judged, &client);
            free(d.at);
        } else if (to_server && !(as_answer && bytes[0] >= 5)) {
            plain_feed(server.wire, bytes, len, on_judged, &server);
        } else {
            plain_feed(client.wire, bytes, len, on_judged, &client);
        }
        if (server.code == 0 && client.code == 0) {
            ignored.len = 0;
            plain_take_output(server.wire, &ignored, SIZE_MAX);
        }
        *close = '}';
        step = close;
        free(bytes);
    }
    guilty = server.code != 0 ? &server : &client;
    if (strstr(end, "\"expect\":\"accept\"") != NULL) {
        assert_int_equal(guilty->code, 0);
        free(ignored.at);
        tly_wire_free(server.wire);
        tly_wire_free(client.wire);
        return;
    }
    if (guilty->code != json_number(end, "error_code")) {
        fail_msg("%.200s: code %u (%s)", line, guilty->code, guilty->rule);
    }
    if (strstr(end, "\"closes\":\"connection\"") != NULL) {
        assert_true(tly_wire_is_closing(guilty->wire));
    }
    check_queued_error(guilty);
    free(ignored.at);
    tly_wire_free(server.wire);
    tly_wire_free(client.wire);
}

static void malformed(void **state) {
    check_vectors v = check_vectors_open(FOLDER "proto_malformed.jsonl.gz");
    int checked = 0, turned = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        check_malformed(line, 0);
        checked++;
        if (strstr(line, "\"hex\":\"07000000") != NULL && strstr(line, "\"P-PUT-DESC-") == NULL) {
            check_malformed(line, 1);
            turned++;
        }
    }
    check_vectors_close(&v);
    print_message("# malformed: %d judged, 3 of them to be accepted; %d uploads judged as answers "
                  "too\n",
                  checked, turned);
    assert_int_equal(checked, 71);
    assert_int_equal(turned, 14);
}

/* ---- sessions ---- */

#define MAX_SESSION_STREAMS 8

/* What one end got on one stream, and what the vector sends there. */
typedef struct session_stream {
    uint32_t id;
    plain_bytes sent, data;
    uint8_t *piece; /* of the tensor under way */
    uint64_t total;
} session_stream;

typedef struct receiver {
    tly_wire *wire;
    session_stream streams[MAX_SESSION_STREAMS];
    int requests, puts, acks, ended, whole, pings, pongs, registers, readies;
    uint32_t error_code;
} receiver;

static session_stream *session_find(receiver *r, uint32_t id) {
    session_stream *s = r->streams;
    while (s->id != 0 && s->id != id) {
        s++;
        assert_true(s < r->streams + MAX_SESSION_STREAMS);
    }
    s->id = id;
    return s;
}

static void on_session(void *user, const tly_wire_event *event) {
    receiver *r = user;
    session_stream *s;
    switch (event->kind) {
    case TLY_WIRE_EVENT_PUT:
    case TLY_WIRE_EVENT_DESCRIPTOR:
        r->puts += event->kind == TLY_WIRE_EVENT_PUT;
        s = session_find(r, event->stream);
        s->total = event->kind == TLY_WIRE_EVENT_PUT ? event->put.total_data_bytes
                                                     : event->descriptor.total_data_bytes;
        assert_null(s->piece);
        s->piece = malloc((size_t)s->total + 1);
        assert_int_equal(tly_wire_set_destination(r->wire, event->stream, s->piece, s->total),
                         TLY_OK);
        break;
    case TLY_WIRE_EVENT_END:
        s = session_find(r, event->stream);
        if (r->registers == 0) {
            plain_put(&s->data, s->piece, (size_t)s->total);
        }
        free(s->piece);
        s->piece = NULL;
        r->ended++;
        r->whole += event->left == 0;
        break;
    case TLY_WIRE_EVENT_REQUEST:
        r->requests++;
        break;
    case TLY_WIRE_EVENT_ERROR:
        r->error_code = event->code;
        break;
    case TLY_WIRE_EVENT_PING:
        r->pings++;
        break;
    case TLY_WIRE_EVENT_PONG:
        r->pongs++;
        break;
    case TLY_WIRE_EVENT_ACK:
        r->acks++;
        break;
    case TLY_WIRE_EVENT_REGISTER:
        r->registers++;
        break;
    case TLY_WIRE_EVENT_READY:
        r->readies++;
        break;
    case TLY_WIRE_EVENT_REJECTED:
        fail_msg("rejected: %s: %s", event->error->rule, event->error->message);
        break;
    default:
        break;
    }
}

/* Our own end says what the vector's end says, so that it is in the same state. */
static void say_too(receiver *r, const uint8_t *bytes, size_t len) {
    uint32_t type = (uint32_t)plain_get(bytes, len, 0, 4), got;
    uint32_t stream = (uint32_t)plain_get(bytes, len, 4, 4);
    tly_error error;
    if (type == TLY_WIRE_TENSOR_REQUEST) {
        tly_wire_request request;
        CHECK_OK(tly_wire_request_get(bytes + 12, len - 12, &request, &error), &error);
        do {
            CHECK_OK(tly_wire_request_tensor(r->wire, &request, &got, &error), &error);
            if (got != stream) {
                assert_int_equal(tly_wire_fail_stream(r->wire, got, 6, "only counting"), TLY_OK);
            }
        } while (got < stream);
    } else if (type == TLY_WIRE_TENSOR_PUT) {
        tly_wire_put put;
        CHECK_OK(tly_wire_put_get(bytes + 12, len - 12, &put, &error), &error);
        do {
            CHECK_OK(tly_wire_put_tensor(r->wire, &put, &got, &error), &error);
            if (got != stream) {
                assert_int_equal(tly_wire_fail_stream(r->wire, got, 6, "only counting"), TLY_OK);
            }
        } while (got < stream);
    } else if (type == TLY_WIRE_TENSOR_DATA && stream != 0) {
        static int token;
        CHECK_OK(tly_wire_send_data(r->wire, stream, bytes + 20, len - 20, &token, &error), &error);
        for (plain_bytes out = {0}; tly_wire_queued(r->wire) != 0; free(out.at)) {
            out = (plain_bytes){0};
            plain_take_output(r->wire, &out, SIZE_MAX);
        }
    } else if (type == TLY_WIRE_TENSOR_DATA_END) {
        CHECK_OK(tly_wire_send_end(r->wire, stream, &error), &error);
    } else if (type == TLY_WIRE_TENSOR_DESCRIPTOR) {
        tly_wire_descriptor d;
        CHECK_OK(tly_wire_descriptor_get(bytes + 12, len - 12, &d, &error), &error);
        CHECK_OK(
            tly_wire_send_descriptor(r->wire, stream, d.bytes, d.len, d.total_data_bytes, &error),
            &error);
    } else if (type == TLY_WIRE_TENSOR_PUT_ACK) {
        CHECK_OK(tly_wire_send_ack(r->wire, stream, &error), &error);
    } else if (type == TLY_WIRE_RDMA_REGISTER) {
        tly_wire_region region;
        CHECK_OK(tly_wire_region_get(bytes + 12, len - 12, &region, &error), &error);
        CHECK_OK(tly_wire_send_register(r->wire, stream, &region, &error), &error);
    } else if (type == TLY_WIRE_RDMA_READY) {
        CHECK_OK(tly_wire_send_ready(r->wire, stream, &error), &error);
    }
}

static void session_cleanup(receiver *r) {
    for (int i = 0; i < MAX_SESSION_STREAMS; i++) {
        free(r->streams[i].sent.at);
        free(r->streams[i].data.at);
        free(r->streams[i].piece);
    }
    tly_wire_free(r->wire);
}

static void check_arrived(receiver *to) {
    for (int i = 0; i < MAX_SESSION_STREAMS && to->streams[i].id != 0; i++) {
        const session_stream *s = &to->streams[i];
        assert_int_equal(s->data.len, s->sent.len);
        if (s->sent.len != 0) {
            assert_memory_equal(s->data.at, s->sent.at, s->sent.len);
        }
    }
}

/* Both ends accept the session, the data that arrives is the data of the frames, and our own end
 * may say each of its messages at that point. */
static void check_session(char *line) {
    uint64_t capabilities = json_number(strstr(line, "\"CLIENT_HELLO\""), "capability_flags");
    receiver server = {.wire = capable_wire(TLY_WIRE_SERVER, capabilities)};
    receiver client = {.wire = capable_wire(TLY_WIRE_CLIENT, capabilities)};
    plain_bytes out = {0};
    char *step = strstr(line, "\"steps\":");
    int answered = 0, asked = 0, put = 0, acked = 0, shards = strstr(line, "parallel") != NULL;
    while ((step = strstr(step, "{\"dir\":\"")) != NULL) {
        int to_server = strncmp(step + 8, "C>S", 3) == 0;
        receiver *from = to_server ? &client : &server, *to = to_server ? &server : &client;
        char *close = strstr(step, "\"note\":");
        uint32_t type, stream;
        size_t len;
        uint8_t *bytes;
        assert_non_null(close);
        *close = '\0';
        bytes = hex_of(step, &len);
        type = (uint32_t)plain_get(bytes, len, 0, 4);
        stream = (uint32_t)plain_get(bytes, len, 4, 4);
        if (!shards || to_server) { /* the streams of shards have numbers of the vector's server */
            say_too(from, bytes, len);
        }
        if (type == TLY_WIRE_TENSOR_DATA) {
            plain_put(&session_find(to, stream)->sent, bytes + 20, len - 20);
        }
        plain_feed(to->wire, bytes, len, on_session, to);
        asked += type == TLY_WIRE_TENSOR_REQUEST;
        put += type == TLY_WIRE_TENSOR_PUT;
        acked += type == TLY_WIRE_TENSOR_PUT_ACK;
        answered += type == TLY_WIRE_TENSOR_DATA_END && !to_server;
        *close = '"';
        step = close;
        free(bytes);
    }
    assert_int_equal(server.requests, asked);
    assert_int_equal(server.puts, put);
    assert_int_equal(server.ended, put);
    assert_int_equal(client.ended, answered);
    /* Where the answer is the server's affair, the vector has none. */
    assert_int_equal(client.whole, answered != 0 ? asked : 0);
    assert_int_equal(client.acks, acked);
    assert_int_equal(tly_wire_num_streams(client.wire),
                     answered == 0 && client.error_code == 0 ? asked : 0);
    check_arrived(&client);
    check_arrived(&server);
    if (strstr(line, "\"get_unknown\"") != NULL) {
        assert_int_equal(client.error_code, TLY_WIRE_UNKNOWN_TENSOR);
    }
    if (strstr(line, "\"device_unavailable\"") != NULL) {
        assert_int_equal(client.error_code, TLY_WIRE_DEVICE_UNAVAILABLE);
    }
    if (strstr(line, "\"kind\":\"rdma_") != NULL) {
        assert_int_equal(client.registers + server.registers,
                         strstr(line, "rdma_gpudirect") != NULL ? 2 : 1);
        assert_int_equal(client.readies + server.readies, 1);
    }
    if (strstr(line, "\"kind\":\"ping\"") != NULL) {
        assert_int_equal(server.pings, 1);
        assert_int_equal(client.pongs, 1);
        plain_take_output(server.wire, &out, SIZE_MAX);
        /* HELLO, then the PONG, with the PING's stream */
        assert_int_equal(plain_get(out.at, out.len, out.len - 12, 4), TLY_WIRE_PONG);
        assert_int_equal(plain_get(out.at, out.len, out.len - 8, 4), 9);
    }
    free(out.at);
    session_cleanup(&server);
    session_cleanup(&client);
}

static void sessions(void **state) {
    check_vectors v = check_vectors_open(FOLDER "proto_sessions.jsonl.gz");
    int checked = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        check_session(line);
        checked++;
    }
    check_vectors_close(&v);
    print_message("# sessions: %d run\n", checked);
    assert_int_equal(checked, 79);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(messages),
        cmocka_unit_test(decisions),
        cmocka_unit_test(malformed),
        cmocka_unit_test(sessions),
    };
    return cmocka_run_group_tests_name("wire/vectors", tests, make_context, free_context);
}
