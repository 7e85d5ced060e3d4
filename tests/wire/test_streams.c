/* SPDX-License-Identifier: Apache-2.0 */
/* Uploads, answers in shards, composites, private messages and RDMA handshakes: order, refusals,
 * and what a refusal leaves usable. */
#include "wire/plain.h"

#include <stdio.h>

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

typedef struct seen {
    tly_wire *wire;
    uint32_t kinds[16];
    tly_wire_event last; /* views in it are stale */
    char rule[64];
    char text[128]; /* ERROR, PRIVATE */
    uint8_t dest[4096];
    uint64_t windows; /* bytes of each destination; 0: all at once */
    uint64_t total;
} seen;

static void on_seen(void *user, const tly_wire_event *e) {
    seen *s = user;
    s->kinds[e->kind]++;
    s->last = *e;
    if (e->kind == TLY_WIRE_EVENT_REJECTED) {
        snprintf(s->rule, sizeof s->rule, "%s", e->error->rule);
    } else if (e->kind == TLY_WIRE_EVENT_PRIVATE) {
        snprintf(s->text, sizeof s->text, "%.*s", (int)e->len, (const char *)e->bytes);
    } else if (e->kind == TLY_WIRE_EVENT_PUT) {
        assert_int_equal(e->tensor->dtype, TLY_U8);
        s->total = e->put.total_data_bytes;
        assert_int_equal(tly_wire_set_destination(s->wire, e->stream, s->dest,
                                                  s->windows != 0 ? s->windows : s->total),
                         TLY_OK);
    }
}

static void start(seen *s, int32_t role, uint64_t capabilities, uint32_t types,
                  uint32_t max_streams) {
    tly_wire_options options = {.size = sizeof options,
                                .role = role,
                                .capability_flags = capabilities,
                                .private_types = types,
                                .max_streams = max_streams};
    plain_bytes hello = {0};
    tly_error error;
    memset(s, 0, sizeof *s);
    CHECK_OK(tly_wire_new(context, &options, &s->wire, &error), &error);
    plain_hello(&hello, role == TLY_WIRE_SERVER ? 1 : 2, 1, 1u << 20);
    plain_feed(s->wire, hello.at, hello.len, on_seen, s);
    hello.len = 0;
    plain_take_output(s->wire, &hello, SIZE_MAX);
    free(hello.at);
}

static void feed(seen *s, plain_bytes *bytes) {
    plain_feed(s->wire, bytes->at, bytes->len, on_seen, s);
    free(bytes->at);
    *bytes = (plain_bytes){0};
}

/* Moves what one end has to say to the other. */
static void deliver(seen *from, seen *to) {
    plain_bytes out = {0};
    plain_take_output(from->wire, &out, SIZE_MAX);
    feed(to, &out);
}

/* Errors that wait to be sent, as "stream:code " each. */
static void errors_of(seen *s, char *out, size_t capacity) {
    plain_bytes bytes = {0};
    size_t used = 0;
    plain_take_output(s->wire, &bytes, SIZE_MAX);
    out[0] = '\0';
    for (size_t at = 0; at < bytes.len;
         at += 12 + (size_t)plain_get(bytes.at, bytes.len, at + 8, 4)) {
        if (plain_get(bytes.at, bytes.len, at, 4) == TLY_WIRE_ERROR) {
            used +=
                (size_t)snprintf(out + used, capacity - used, "%llu:%llu ",
                                 (unsigned long long)plain_get(bytes.at, bytes.len, at + 4, 4),
                                 (unsigned long long)plain_get(bytes.at, bytes.len, at + 12, 4));
        }
    }
    free(bytes.at);
}

static uint32_t ask(seen *client, uint32_t flags) {
    tly_wire_request r = {.key = "w", .key_len = 1, .min_alignment = 64, .request_flags = flags};
    uint32_t stream;
    tly_error error;
    CHECK_OK(tly_wire_request_tensor(client->wire, &r, &stream, &error), &error);
    return stream;
}

/* ---- uploads ---- */

/* A destination in pieces: the connection stands still until each next one is named. */
static void pieces(void **state) {
    seen server;
    plain_bytes bytes = {0};
    uint8_t data[100];
    size_t used;
    (void)state;
    start(&server, TLY_WIRE_SERVER, 0, 0, 0);
    server.windows = 30;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)i;
    }
    plain_upload(&bytes, 7, "k", sizeof data, 0);
    feed(&server, &bytes);
    plain_data(&bytes, 7, 0, data, sizeof data);
    plain_end(&bytes, 7);
    assert_int_equal(tly_wire_set_destination(server.wire, 7, data, 10), TLY_INVALID_ARGUMENT);
    for (size_t at = 0, done = 0; done < 100;) {
        tly_wire_event e;
        uint64_t left, n;
        assert_int_equal(tly_wire_feed(server.wire, bytes.at + at, bytes.len - at, &used), TLY_OK);
        at += used;
        tly_wire_next(server.wire, &e);
        assert_int_equal(e.kind, TLY_WIRE_EVENT_DATA);
        assert_int_equal(e.offset, done);
        done += e.len;
        left = sizeof data - done;
        n = left < 30 ? left : 30;
        if (left != 0) {
            assert_false(tly_wire_wants_input(server.wire));
            assert_int_equal(tly_wire_feed(server.wire, bytes.at + at, bytes.len - at, &used),
                             TLY_OK);
            assert_int_equal(used, 0);
            assert_int_equal(tly_wire_set_destination(server.wire, 7, server.dest + done, left + 1),
                             TLY_INVALID_ARGUMENT);
            assert_int_equal(tly_wire_set_destination(server.wire, 7, server.dest + done, n),
                             TLY_OK);
            assert_true(tly_wire_wants_input(server.wire));
        } else {
            plain_feed(server.wire, bytes.at + at, bytes.len - at, on_seen, &server);
        }
    }
    assert_int_equal(server.kinds[TLY_WIRE_EVENT_END], 1);
    assert_memory_equal(server.dest, data, sizeof data);
    assert_int_equal(tly_wire_send_ack(server.wire, 7, NULL), TLY_OK);
    assert_int_equal(tly_wire_send_ack(server.wire, 7, NULL), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_wire_num_streams(server.wire), 0);
    tly_wire_free(server.wire);
    free(bytes.at);
}

/* Uploads need their input, so a request beyond the limit is refused and does not wait. */
static void uploads_hold_their_streams(void **state) {
    seen server;
    plain_bytes bytes = {0}, none = {0};
    char errors[128];
    (void)state;
    start(&server, TLY_WIRE_SERVER, 0, 0, 2);
    plain_upload(&bytes, 3, "a", 10, 0);
    plain_upload(&bytes, 4, "b", 10, 0);
    plain_request(&bytes, 5, "c", &none, 0, 0);
    plain_data(&bytes, 3, 0, "0123456789", 10);
    plain_end(&bytes, 3);
    feed(&server, &bytes);
    assert_int_equal(server.kinds[TLY_WIRE_EVENT_END], 1);
    assert_string_equal(server.rule, "max-streams");
    errors_of(&server, errors, sizeof errors);
    assert_string_equal(errors, "5:241 "); /* BUSY */
    /* A peer that leaves now leaves something incomplete. */
    assert_int_equal(tly_wire_eof(server.wire, NULL), TLY_CLOSED);
    tly_wire_free(server.wire);
}

static void put_rules(void **state) {
    seen client, server;
    plain_bytes d = {0}, head = {0}, bytes = {0};
    tly_wire_put put = {.key = "k", .key_len = 1};
    uint32_t stream;
    tly_error error;
    (void)state;
    start(&client, TLY_WIRE_CLIENT, 0, 0, 0);
    start(&server, TLY_WIRE_SERVER, 0, 0, 0);
    plain_tensor(&d, 8, 0, 0, 0);
    plain_head(&head, 8, 1, 1);
    put.descriptor = head.at;
    put.descriptor_len = (uint32_t)head.len;
    CHECK_RULE(tly_wire_put_tensor(client.wire, &put, &stream, &error), &error, TLY_UNSUPPORTED,
               "put-composite");
    put.descriptor = d.at;
    put.descriptor_len = (uint32_t)d.len;
    put.total_data_bytes = 9;
    CHECK_RULE(tly_wire_put_tensor(client.wire, &put, &stream, &error), &error, TLY_MALFORMED,
               "total-mismatch");
    put.total_data_bytes = 8;
    CHECK_OK(tly_wire_put_tensor(client.wire, &put, &stream, &error), &error);
    CHECK_RULE(tly_wire_send_end(client.wire, stream, &error), &error, TLY_INVALID_ARGUMENT,
               "stream-state");
    CHECK_OK(tly_wire_send_data(client.wire, stream, "12345678", 8, NULL, &error), &error);
    CHECK_OK(tly_wire_send_end(client.wire, stream, &error), &error);
    deliver(&client, &server);
    assert_int_equal(server.kinds[TLY_WIRE_EVENT_END], 1);
    CHECK_OK(tly_wire_send_ack(server.wire, stream, &error), &error);
    deliver(&server, &client);
    assert_int_equal(client.kinds[TLY_WIRE_EVENT_ACK], 1);
    assert_int_equal(client.last.origin, stream);
    /* An acknowledgement before the end, and one for nothing. */
    CHECK_OK(tly_wire_put_tensor(client.wire, &put, &stream, &error), &error);
    plain_message(&bytes, TLY_WIRE_TENSOR_PUT_ACK, stream, NULL, 0);
    feed(&client, &bytes);
    assert_string_equal(client.rule, "ack-early");
    plain_message(&bytes, TLY_WIRE_TENSOR_PUT_ACK, 99, NULL, 0);
    feed(&client, &bytes);
    assert_string_equal(client.rule, "ack-unasked");
    /* The head of a composite is refused on the other side too. */
    plain_number(&bytes, 1, 4);
    plain_put(&bytes, "k", 1);
    plain_number(&bytes, head.len, 4);
    plain_put(&bytes, head.at, head.len);
    plain_number(&bytes, 0, 8);
    d.len = 0;
    plain_message(&d, TLY_WIRE_TENSOR_PUT, 50, bytes.at, bytes.len);
    plain_feed(server.wire, d.at, d.len, on_seen, &server);
    assert_string_equal(server.rule, "put-composite");
    assert_int_equal(tly_wire_num_streams(server.wire), 0);
    tly_wire_free(client.wire);
    tly_wire_free(server.wire);
    free(d.at);
    free(head.at);
    free(bytes.at);
}

/* ---- shards ---- */

static void shards_of_our_server(void **state) {
    seen client, server;
    uint32_t stream, streams[3];
    tly_error error;
    (void)state;
    start(&client, TLY_WIRE_CLIENT, 0, 0, 0);
    start(&server, TLY_WIRE_SERVER, TLY_WIRE_CAP_PARALLEL, 0, 4);
    stream = ask(&client, 0);
    deliver(&client, &server);
    CHECK_RULE(tly_wire_open_shards(server.wire, stream, 3, streams, &error), &error,
               TLY_INVALID_ARGUMENT, "shard-unasked");
    stream = ask(&client, TLY_WIRE_PARALLEL_OK);
    deliver(&client, &server);
    CHECK_RULE(tly_wire_open_shards(server.wire, stream, 4, streams, &error), &error, TLY_LIMIT,
               "max-streams");
    CHECK_OK(tly_wire_open_shards(server.wire, stream, 3, streams, &error), &error);
    assert_int_equal(streams[0], stream);
    for (uint32_t i = 0; i < 3; i++) {
        plain_bytes d = {0};
        plain_tensor(&d, 10 + i, 33, 10 * i + (i == 2), 0); /* 10, 11, 12 bytes */
        CHECK_OK(tly_wire_send_descriptor(server.wire, streams[i], d.at, d.len, 10 + i, &error),
                 &error);
        free(d.at);
    }
    for (uint32_t i = 3; i-- > 0;) { /* in any order */
        CHECK_OK(tly_wire_send_data(server.wire, streams[i], "0123456789AB", 10 + i, NULL, &error),
                 &error);
        CHECK_OK(tly_wire_send_end(server.wire, streams[i], &error), &error);
        deliver(&server, &client);
        assert_int_equal(client.last.kind, TLY_WIRE_EVENT_END);
        assert_int_equal(client.last.origin, stream);
        assert_int_equal(client.last.left, i);
    }
    assert_int_equal(client.kinds[TLY_WIRE_EVENT_DESCRIPTOR], 3);
    assert_int_equal(tly_wire_num_streams(client.wire), 1);
    assert_int_equal(ask(&client, TLY_WIRE_PARALLEL_OK), stream + 1); /* one after the other */
    tly_wire_free(client.wire);
    tly_wire_free(server.wire);
}

/* One shard that does not fit takes the answer with it, the connection lives on, and what still
 * comes of it is refused in silence. */
static void a_bad_shard(void **state) {
    seen client;
    plain_bytes bytes = {0};
    char errors[128];
    uint32_t stream;
    tly_wire_request r = {
        .key = "w", .key_len = 1, .min_alignment = 64, .request_flags = TLY_WIRE_PARALLEL_OK};
    tly_error error;
    (void)state;
    start(&client, TLY_WIRE_CLIENT, 0, 0, 0);
    stream = ask(&client, TLY_WIRE_PARALLEL_OK);
    CHECK_RULE(tly_wire_request_tensor(client.wire, &r, &stream, &error), &error, TLY_LIMIT,
               "parallel-busy");
    plain_shard(&bytes, 2, 10, 30, 0, 0, 3);
    plain_shard(&bytes, 77, 10, 30, 15, 1, 3);
    plain_shard(&bytes, 78, 10, 30, 10, 2, 3); /* overlaps; there is a gap, too */
    plain_data(&bytes, 77, 0, "0123456789", 10);
    plain_end(&bytes, 77);
    feed(&client, &bytes);
    assert_int_equal(client.kinds[TLY_WIRE_EVENT_REJECTED], 1);
    assert_int_equal(client.last.code, TLY_WIRE_SHARD_MISMATCH);
    assert_int_equal(client.last.origin, 2);
    assert_int_equal(tly_wire_num_streams(client.wire), 0);
    errors_of(&client, errors, sizeof errors);
    assert_string_equal(errors, "2:8 77:8 78:8 ");
    plain_shard(&bytes, 79, 10, 30, 20, 2, 3);
    plain_data(&bytes, 79, 0, "0123456789", 10);
    feed(&client, &bytes);
    assert_int_equal(client.kinds[TLY_WIRE_EVENT_REJECTED], 1);
    errors_of(&client, errors, sizeof errors);
    assert_string_equal(errors, "79:8 ");
    CHECK_RULE(tly_wire_request_tensor(client.wire, &r, &stream, &error), &error, TLY_LIMIT,
               "parallel-busy");
    stream = ask(&client, 0);
    plain_descriptor(&bytes, stream, 0);
    plain_end(&bytes, stream);
    feed(&client, &bytes);
    assert_int_equal(client.last.kind, TLY_WIRE_EVENT_END);
    tly_wire_free(client.wire);
}

/* A shard fails before its descriptor: the only answer that it can belong to fails. */
static void a_shard_that_never_comes(void **state) {
    seen client;
    plain_bytes bytes = {0}, text = {0};
    (void)state;
    start(&client, TLY_WIRE_CLIENT, 0, 0, 0);
    ask(&client, TLY_WIRE_PARALLEL_OK);
    plain_shard(&bytes, 2, 10, 30, 0, 0, 3);
    plain_data(&bytes, 2, 0, "0123456789", 10);
    plain_end(&bytes, 2);
    plain_number(&text, 0xF0, 4);
    plain_number(&text, 0, 4);
    plain_message(&bytes, TLY_WIRE_ERROR, 88, text.at, text.len);
    feed(&client, &bytes);
    assert_int_equal(client.last.kind, TLY_WIRE_EVENT_ERROR);
    assert_int_equal(client.last.origin, 2);
    assert_int_equal(tly_wire_num_streams(client.wire), 0);
    tly_wire_free(client.wire);
    free(text.at);
}

static void message_descriptor(plain_bytes *out, uint32_t stream, const plain_bytes *d,
                               uint64_t total) {
    plain_bytes p = {0};
    plain_put(&p, d->at, d->len);
    plain_number(&p, total, 8);
    plain_number(&p, 0, 4);
    plain_number(&p, 1, 4);
    plain_message(out, TLY_WIRE_TENSOR_DESCRIPTOR, stream, p.at, p.len);
    free(p.at);
}

/* ---- composites ---- */

static void composites(void **state) {
    seen client;
    plain_bytes bytes = {0}, head = {0}, member = {0};
    (void)state;
    start(&client, TLY_WIRE_CLIENT, 0, 0, 0);
    ask(&client, 0);
    ask(&client, 0);
    plain_head(&head, 20, 1, 2);
    plain_tensor(&member, 10, 20, 0, 0);
    for (uint32_t stream = 2; stream < 4; stream++) {
        message_descriptor(&bytes, stream, &head, 0);
        plain_end(&bytes, stream);
        message_descriptor(&bytes, stream, &member, 10);
        plain_data(&bytes, stream, 0, "0123456789", 10);
        plain_end(&bytes, stream);
    }
    feed(&client, &bytes);
    assert_int_equal(client.kinds[TLY_WIRE_EVENT_END], 4);
    assert_int_equal(client.last.left, 1);
    assert_int_equal(tly_wire_eof(client.wire, NULL), TLY_CLOSED); /* torn */
    message_descriptor(&bytes, 2, &member, 10);                    /* the same box again */
    feed(&client, &bytes);
    assert_string_equal(client.rule, "C-OVERLAP");
    member.len = 0;
    plain_tensor(&member, 10, 20, 10, 0);
    message_descriptor(&bytes, 3, &member, 10);
    plain_data(&bytes, 3, 0, "0123456789", 10);
    plain_end(&bytes, 3);
    feed(&client, &bytes);
    assert_int_equal(client.last.left, 0);
    assert_int_equal(tly_wire_eof(client.wire, NULL), TLY_OK);
    tly_wire_free(client.wire);
    free(head.at);
    free(member.at);
}

/* ---- private messages ---- */

static void private_messages(void **state) {
    seen client, server;
    plain_bytes bytes = {0};
    tly_wire_span spans[8];
    int token;
    void *got;
    tly_error error;
    (void)state;
    start(&client, TLY_WIRE_CLIENT, 0, 0, 0);
    start(&server, TLY_WIRE_SERVER, 0, 1u << 1, 0);
    plain_message(&bytes, 0xF1, 9, "hello", 5);
    feed(&client, &bytes);
    assert_string_equal(client.rule, "type-private");
    CHECK_RULE(tly_wire_send_private(client.wire, 0xF1, 9, "x", 1, -1, NULL, &error), &error,
               TLY_INVALID_ARGUMENT, "type-private");
    tly_wire_agree_private(client.wire, 1u << 1);
    plain_message(&bytes, 0xF1, 9, "hello", 5);
    feed(&client, &bytes);
    assert_int_equal(client.last.kind, TLY_WIRE_EVENT_PRIVATE);
    assert_int_equal(client.last.type, 0xF1);
    assert_int_equal(client.last.stream, 9);
    assert_string_equal(client.text, "hello");
    /* With an attachment a message goes alone. */
    assert_int_equal(tly_wire_ping(server.wire), TLY_OK);
    CHECK_OK(tly_wire_send_private(server.wire, 0xF1, 9, "with", 4, 33, &token, &error), &error);
    assert_int_equal(tly_wire_ping(server.wire), TLY_OK);
    assert_int_equal(tly_wire_attachment(server.wire), -1);
    assert_int_equal(tly_wire_output(server.wire, spans, 8), 1);
    tly_wire_sent(server.wire, spans[0].len);
    assert_int_equal(tly_wire_attachment(server.wire), 33);
    assert_int_equal(tly_wire_output(server.wire, spans, 8), 1);
    assert_int_equal(spans[0].len, 16);
    tly_wire_sent(server.wire, 1);
    assert_int_equal(tly_wire_attachment(server.wire), -1); /* it left with the first byte */
    assert_false(tly_wire_next_released(server.wire, &got));
    tly_wire_sent(server.wire, 15);
    assert_true(tly_wire_next_released(server.wire, &got));
    assert_ptr_equal(got, &token);
    tly_wire_free(client.wire);
    tly_wire_free(server.wire);
}

/* Data that goes another way: no frames, and the END counts. */
static void data_elsewhere(void **state) {
    seen client;
    plain_bytes bytes = {0};
    (void)state;
    start(&client, TLY_WIRE_CLIENT, 0, 0, 0);
    ask(&client, 0);
    ask(&client, 0);
    for (uint32_t stream = 2; stream < 4; stream++) {
        plain_descriptor(&bytes, stream, 1000);
    }
    feed(&client, &bytes);
    assert_int_equal(tly_wire_data_elsewhere(client.wire, 9), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_wire_data_elsewhere(client.wire, 2), TLY_OK);
    assert_int_equal(tly_wire_data_elsewhere(client.wire, 3), TLY_OK);
    plain_end(&bytes, 2);
    feed(&client, &bytes);
    assert_int_equal(client.last.kind, TLY_WIRE_EVENT_END);
    plain_data(&bytes, 3, 0, "0123456789", 10);
    feed(&client, &bytes);
    assert_string_equal(client.rule, "data-elsewhere");
    tly_wire_free(client.wire);
}

/* ---- RDMA ---- */

static void rdma_order(void **state) {
    const uint64_t both = TLY_WIRE_CAP_RDMA | TLY_WIRE_CAP_GPUDIRECT;
    seen client, server;
    plain_bytes hello = {0}, d = {0};
    tly_wire_region region = {
        .remote_addr = 4096, .len = 8, .rkey = (const uint8_t *)"r", .rkey_len = 1};
    uint32_t stream;
    tly_error error;
    (void)state;
    start(&client, TLY_WIRE_CLIENT, both, 0, 0);
    start(&server, TLY_WIRE_SERVER, both, 0, 0);
    tly_wire_free(client.wire); /* anew, with each other's HELLO */
    tly_wire_free(server.wire);
    for (int i = 0; i < 2; i++) {
        seen *s = i == 0 ? &client : &server;
        tly_wire_options options = {.size = sizeof options,
                                    .role = i == 0 ? TLY_WIRE_CLIENT : TLY_WIRE_SERVER,
                                    .capability_flags = both};
        CHECK_OK(tly_wire_new(context, &options, &s->wire, &error), &error);
    }
    stream = ask(&client, 0);
    deliver(&client, &server);
    plain_tensor(&d, 8, 0, 0, 0);
    CHECK_RULE(tly_wire_send_register(server.wire, stream, &region, &error), &error,
               TLY_INVALID_ARGUMENT, "stream-state"); /* not before the descriptor */
    CHECK_OK(tly_wire_send_descriptor(server.wire, stream, d.at, d.len, 8, &error), &error);
    region.len = 9;
    CHECK_RULE(tly_wire_send_register(server.wire, stream, &region, &error), &error,
               TLY_INVALID_ARGUMENT, "rdma-length");
    region.len = 8;
    CHECK_OK(tly_wire_send_register(server.wire, stream, &region, &error), &error);
    CHECK_RULE(tly_wire_send_data(server.wire, stream, "12345678", 8, NULL, &error), &error,
               TLY_INVALID_ARGUMENT, "stream-state"); /* there is no way back */
    CHECK_RULE(tly_wire_send_end(server.wire, stream, &error), &error, TLY_INVALID_ARGUMENT,
               "stream-state"); /* nobody is ready */
    deliver(&server, &client);
    assert_int_equal(client.last.kind, TLY_WIRE_EVENT_REGISTER);
    assert_int_equal(client.last.region.remote_addr, 4096);
    CHECK_OK(tly_wire_send_register(client.wire, stream, &region, &error), &error);
    CHECK_OK(tly_wire_send_ready(client.wire, stream, &error), &error);
    CHECK_RULE(tly_wire_send_ready(client.wire, stream, &error), &error, TLY_INVALID_ARGUMENT,
               "stream-state");
    deliver(&client, &server);
    assert_int_equal(server.kinds[TLY_WIRE_EVENT_REGISTER], 1);
    assert_int_equal(server.last.kind, TLY_WIRE_EVENT_READY);
    CHECK_OK(tly_wire_send_end(server.wire, stream, &error), &error);
    deliver(&server, &client);
    assert_int_equal(client.last.kind, TLY_WIRE_EVENT_END);
    tly_wire_free(client.wire);
    tly_wire_free(server.wire);
    free(hello.at);
    free(d.at);
}

/* ---- memory classes ---- */

static void memory_classes(void **state) {
    static const uint8_t standard[] = {0}, unified_first[] = {2, 0}, odd[] = {3};
    static const uint8_t both[] = {0, 2};
    uint8_t got;
    (void)state;
    assert_int_equal(tly_wire_choose_memory_class(NULL, 0, standard, 1, &got), 0);
    assert_int_equal(got, 0);
    assert_int_equal(tly_wire_choose_memory_class(unified_first, 2, standard, 1, &got), 0);
    assert_int_equal(got, 0);
    assert_int_equal(tly_wire_choose_memory_class(unified_first, 2, both, 2, &got), 0);
    assert_int_equal(got, 2);
    assert_int_equal(tly_wire_choose_memory_class(odd, 1, both, 2, &got),
                     TLY_WIRE_DEVICE_UNAVAILABLE);
    assert_int_equal(tly_wire_choose_memory_class(NULL, 0, odd, 1, &got),
                     TLY_WIRE_DEVICE_UNAVAILABLE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces),         cmocka_unit_test(uploads_hold_their_streams),
        cmocka_unit_test(put_rules),      cmocka_unit_test(shards_of_our_server),
        cmocka_unit_test(a_bad_shard),    cmocka_unit_test(a_shard_that_never_comes),
        cmocka_unit_test(composites),     cmocka_unit_test(private_messages),
        cmocka_unit_test(data_elsewhere), cmocka_unit_test(rdma_order),
        cmocka_unit_test(memory_classes),
    };
    return cmocka_run_group_tests_name("wire/streams", tests, make_context, free_context);
}
