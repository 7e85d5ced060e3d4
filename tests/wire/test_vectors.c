/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol against the vectors of the format. What belongs to messages that this version does
 * not have (PUT, RDMA, shards, composites) is counted and named, not dropped. */
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

/* Decodes a payload, prints it, and encodes it again. Returns 0 if the message is not one of ours.
 */
static int redo(uint32_t type, const uint8_t *payload, size_t len, text_buffer *t,
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
        tly_wire_descriptor_put(*out_again, d.bytes, d.len, d.total_data_bytes);
        if (d.total_shards != 1) { /* read, but never written by us */
            memcpy(*out_again + d.len + 8, payload + d.len + 8, 8);
        }
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
    } else if (type == TLY_WIRE_PING || type == TLY_WIRE_PONG || type == TLY_WIRE_TENSOR_DATA_END) {
        text_add(t, "{}");
        assert_int_equal(len, 0);
    } else {
        return 0;
    }
    return 1;
}

static void messages(void **state) {
    check_vectors v = check_vectors_open(FOLDER "proto_messages.jsonl.gz");
    int checked = 0, later = 0;
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
        if (redo(h.type, bytes + TLY_WIRE_HEADER_LEN, len - TLY_WIRE_HEADER_LEN, &t, &again,
                 &again_len)) {
            if (strstr(line, t.bytes) == NULL) {
                fail_msg("%.300s: decoded as %.300s", line, t.bytes);
            }
            assert_int_equal(again_len, len - TLY_WIRE_HEADER_LEN);
            assert_memory_equal(again, bytes + TLY_WIRE_HEADER_LEN, again_len);
            checked++;
        } else {
            assert_true(h.type == 7 || h.type == 8 || h.type == 12 || h.type == 13);
            later++;
        }
        free(again);
        free(t.bytes);
        free(bytes);
    }
    check_vectors_close(&v);
    print_message(
        "# messages: %d checked, %d of types that this version does not have (PUT, RDMA)\n",
        checked, later);
    assert_int_equal(checked, 125);
    assert_int_equal(later, 30);
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

static void decisions(void **state) {
    check_vectors v = check_vectors_open(FOLDER "proto_decisions.jsonl.gz");
    int layouts = 0, devices = 0, later = 0;
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
            later++;
        }
    }
    check_vectors_close(&v);
    print_message(
        "# decisions: %d on layouts, %d on devices; %d on shards are for a later version\n",
        layouts, devices, later);
    assert_int_equal(layouts, 48);
    assert_int_equal(devices, 115);
    assert_int_equal(later, 11);
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

/* Rules about frames stand in the vectors as uploads. The same frames are judged here as an answer:
 * the PUT becomes a TENSOR_DESCRIPTOR. */
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

static void check_malformed(char *line, int as_answer) {
    judge server = {.wire = plain_wire(context, TLY_WIRE_SERVER)};
    judge client = {.wire = plain_wire(context, TLY_WIRE_CLIENT)};
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
    int checked = 0, turned = 0, later = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        int has_put = strstr(line, "\"hex\":\"07000000") != NULL;
        if (strstr(line, "\"P-PUT-") != NULL || strstr(line, "\"P-RDMA-") != NULL ||
            strstr(line, "\"P-SYNCMODE") != NULL) {
            later++;
            continue;
        }
        check_malformed(line, has_put);
        checked++;
        turned += has_put;
    }
    check_vectors_close(&v);
    print_message("# malformed: %d judged, 3 of them to be accepted (%d uploads judged as "
                  "answers); %d on PUT and RDMA are for "
                  "a later version\n",
                  checked, turned, later);
    assert_int_equal(checked + later, 71);
    assert_int_equal(later, 9);
}

/* ---- sessions ---- */

typedef struct receiver {
    tly_wire *wire;
    uint8_t *data;
    uint64_t total, placed;
    int requests, ended, pings, pongs;
    uint32_t error_code;
} receiver;

static void on_session(void *user, const tly_wire_event *event) {
    receiver *r = user;
    switch (event->kind) {
    case TLY_WIRE_EVENT_DESCRIPTOR:
        r->total = event->descriptor.total_data_bytes;
        r->data = malloc((size_t)r->total + 1);
        assert_int_equal(tly_wire_set_destination(r->wire, event->stream, r->data, r->total),
                         TLY_OK);
        break;
    case TLY_WIRE_EVENT_DATA:
        assert_int_equal(event->offset, r->placed);
        r->placed += event->len;
        break;
    case TLY_WIRE_EVENT_END:
        r->ended++;
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
    case TLY_WIRE_EVENT_REJECTED:
        fail_msg("rejected: %s: %s", event->error->rule, event->error->message);
        break;
    default:
        break;
    }
}

/* Both ends accept the session, and the data that arrives is the data of the frames. */
static void check_session(char *line) {
    receiver server = {.wire = plain_wire(context, TLY_WIRE_SERVER)};
    receiver client = {.wire = plain_wire(context, TLY_WIRE_CLIENT)};
    plain_bytes frames = {0}, ignored = {0};
    char *step = strstr(line, "\"steps\":");
    int answered = 0, asked = 0;
    while ((step = strstr(step, "{\"dir\":\"")) != NULL) {
        int to_server = strncmp(step + 8, "C>S", 3) == 0;
        char *close = strstr(step, "\"note\":");
        size_t len;
        uint8_t *bytes;
        assert_non_null(close);
        *close = '\0';
        bytes = hex_of(step, &len);
        if (to_server) {
            plain_feed(server.wire, bytes, len, on_session, &server);
            if (bytes[0] == TLY_WIRE_TENSOR_REQUEST) {
                request_stream(client.wire, (uint32_t)plain_get(bytes, len, 4, 4));
                asked++;
            }
        } else {
            plain_feed(client.wire, bytes, len, on_session, &client);
            if (bytes[0] == TLY_WIRE_TENSOR_DATA) {
                plain_put(&frames, bytes + 20, len - 20);
            }
            answered += bytes[0] == TLY_WIRE_TENSOR_DATA_END;
        }
        *close = '"';
        step = close;
        free(bytes);
    }
    assert_int_equal(server.requests, asked);
    assert_int_equal(client.ended, answered);
    assert_int_equal(client.placed, client.total);
    assert_int_equal(client.placed, frames.len);
    if (frames.len != 0) {
        assert_memory_equal(client.data, frames.at, frames.len);
    }
    if (strstr(line, "\"get_unknown\"") != NULL) {
        assert_int_equal(client.error_code, TLY_WIRE_UNKNOWN_TENSOR);
    }
    if (strstr(line, "\"device_unavailable\"") != NULL) {
        assert_int_equal(client.error_code, TLY_WIRE_DEVICE_UNAVAILABLE);
    }
    if (strstr(line, "\"kind\":\"ping\"") != NULL) {
        assert_int_equal(server.pings, 1);
        assert_int_equal(client.pongs, 1);
        ignored.len = 0;
        plain_take_output(server.wire, &ignored, SIZE_MAX);
        /* HELLO, then the PONG, with the PING's stream */
        assert_int_equal(plain_get(ignored.at, ignored.len, ignored.len - 12, 4), TLY_WIRE_PONG);
        assert_int_equal(plain_get(ignored.at, ignored.len, ignored.len - 8, 4), 9);
    }
    free(client.data);
    free(frames.at);
    free(ignored.at);
    tly_wire_free(server.wire);
    tly_wire_free(client.wire);
}

static void sessions(void **state) {
    check_vectors v = check_vectors_open(FOLDER "proto_sessions.jsonl.gz");
    int checked = 0, later = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        if (strstr(line, "\"kind\":\"put\"") != NULL || strstr(line, "\"kind\":\"rdma_") != NULL ||
            strstr(line, "\"get_composite\"") != NULL ||
            strstr(line, "\"get_parallel_shards\"") != NULL) {
            later++;
            continue;
        }
        check_session(line);
        checked++;
    }
    check_vectors_close(&v);
    print_message("# sessions: %d run; %d on PUT, RDMA, shards and composites are for a later "
                  "version\n",
                  checked, later);
    assert_int_equal(checked, 57);
    assert_int_equal(later, 22);
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
