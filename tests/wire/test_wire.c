/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of a connection: chunking, order, limits, what is dropped and what is not. */
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

/* ---- a log of events, so that two runs can be compared ---- */

typedef struct event_log {
    tly_wire *wire;
    plain_bytes text;
    uint8_t dest[65536];
    uint64_t total;
    uint32_t rejected;
    char rule[64];
    uint32_t code;
    uint32_t kinds[16]; /* how many of each */
    uint32_t origin;    /* of the last event */
    uint64_t left;      /* after the last END */
} event_log;

static void on_logged(void *user, const tly_wire_event *e) {
    event_log *log = user;
    char line[256];
    int len =
        snprintf(line, sizeof line, "%d stream %u code %u offset %llu len %llu total %llu\n",
                 e->kind, e->stream, e->code, (unsigned long long)e->offset,
                 (unsigned long long)e->len, (unsigned long long)e->descriptor.total_data_bytes);
    plain_put(&log->text, line, (size_t)len);
    log->kinds[e->kind]++;
    log->origin = e->origin;
    if (e->kind == TLY_WIRE_EVENT_DESCRIPTOR &&
        e->descriptor.total_data_bytes <= sizeof log->dest) {
        log->total = e->descriptor.total_data_bytes;
        assert_int_equal(tly_wire_set_destination(log->wire, e->stream, log->dest, log->total),
                         TLY_OK);
    } else if (e->kind == TLY_WIRE_EVENT_REQUEST) {
        plain_put(&log->text, e->request.key, e->request.key_len);
    } else if (e->kind == TLY_WIRE_EVENT_ERROR) {
        plain_put(&log->text, e->text, e->text_len);
        log->code = e->code;
    } else if (e->kind == TLY_WIRE_EVENT_REJECTED) {
        log->rejected++;
        log->code = e->code;
        snprintf(log->rule, sizeof log->rule, "%s", e->error->rule);
    }
}

static event_log *new_log(int32_t role) {
    event_log *log = calloc(1, sizeof *log);
    log->wire = plain_wire(context, role);
    return log;
}

static void free_log(event_log *log) {
    tly_wire_free(log->wire);
    free(log->text.at);
    free(log);
}

static void ask(tly_wire *client, const char *key, uint32_t *out_stream) {
    tly_wire_request r = {.key = key, .key_len = (uint32_t)strlen(key), .min_alignment = 64};
    tly_error error;
    CHECK_OK(tly_wire_request_tensor(client, &r, out_stream, &error), &error);
}

/* ---- chunking ---- */

/* A whole answer with a rejected stream, a PING, an ERROR and late frames in it. */
static void long_answer(plain_bytes *out, uint8_t *data, size_t len) {
    plain_bytes error = {0};
    plain_hello(out, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
    plain_descriptor(out, 2, len);
    plain_data(out, 2, 0, data, 1000);
    plain_message(out, TLY_WIRE_PING, 9, NULL, 0);
    plain_data(out, 2, 1000, data + 1000, 1);
    plain_descriptor(out, 3, 10);
    plain_data(out, 3, 4, data, 4); /* a gap: stream 3 is refused */
    plain_data(out, 3, 8, data, 2); /* still under way: dropped */
    plain_end(out, 3);
    plain_data(out, 2, 1001, data + 1001, len - 1001);
    plain_end(out, 2);
    plain_number(&error, TLY_WIRE_UNKNOWN_TENSOR, 4);
    plain_number(&error, 4, 4);
    plain_put(&error, "none", 4);
    plain_message(out, TLY_WIRE_ERROR, 4, error.at, error.len);
    plain_message(out, TLY_WIRE_PONG, 1, NULL, 0);
    free(error.at);
}

static void chunks_make_no_difference(void **state) {
    static uint8_t data[20000];
    plain_bytes bytes = {0};
    event_log *whole;
    check_rng rng = {0x5EED};
    (void)state;
    for (size_t i = 0; i < sizeof data; i++) {
        data[i] = (uint8_t)check_random(&rng);
    }
    long_answer(&bytes, data, sizeof data);
    whole = NULL;
    for (int run = 0; run < 300; run++) {
        event_log *log = new_log(TLY_WIRE_CLIENT);
        uint32_t stream;
        size_t done = 0;
        for (int i = 0; i < 3; i++) {
            ask(log->wire, "w", &stream);
        }
        while (done < bytes.len) {
            size_t n = run == 0   ? bytes.len
                       : run == 1 ? 1
                                  : 1 + check_below(&rng, run % 3 == 0 ? 30 : 5000);
            n = n < bytes.len - done ? n : bytes.len - done;
            plain_feed(log->wire, bytes.at + done, n, on_logged, log);
            done += n;
        }
        assert_memory_equal(log->dest, data, sizeof data);
        assert_int_equal(log->rejected, 1);
        assert_string_equal(log->rule, "data-gap");
        assert_int_equal(tly_wire_num_streams(log->wire), 0);
        if (whole == NULL) {
            whole = log;
            assert_int_equal(log->kinds[TLY_WIRE_EVENT_DATA], 3);
            assert_int_equal(log->kinds[TLY_WIRE_EVENT_END], 1);
            assert_int_equal(log->kinds[TLY_WIRE_EVENT_PONG], 1);
            continue;
        }
        assert_int_equal(log->text.len, whole->text.len);
        assert_memory_equal(log->text.at, whole->text.at, whole->text.len);
        free_log(log);
    }
    free_log(whole);
    free(bytes.at);
}

/* The spans that the connection asks for are where tensor data belongs: no copy in between. */
static void data_goes_straight_to_its_place(void **state) {
    event_log *log = new_log(TLY_WIRE_CLIENT);
    plain_bytes bytes = {0}, frame = {0};
    tly_wire_span spans[2];
    uint8_t data[100] = {1, 2, 3};
    uint32_t stream;
    (void)state;
    ask(log->wire, "w", &stream);
    plain_hello(&bytes, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
    plain_descriptor(&bytes, stream, sizeof data);
    plain_data(&frame, stream, 0, data, sizeof data);
    plain_put(&bytes, frame.at, 30); /* header, offset and ten bytes */
    plain_feed(log->wire, bytes.at, bytes.len, on_logged, log);
    assert_int_equal(tly_wire_recv_targets(log->wire, spans), 2);
    assert_ptr_equal(spans[0].at, log->dest + 10);
    assert_int_equal(spans[0].len, 90);
    assert_int_equal(spans[1].len, TLY_WIRE_HEADER_LEN + TLY_WIRE_OFFSET_LEN);
    assert_int_equal(tly_wire_received(log->wire, 111), TLY_INVALID_ARGUMENT);
    free_log(log);
    free(bytes.at);
    free(frame.at);
}

/* ---- limits ---- */

/* S01: a declared length takes no memory, and the next message is found where the header says. */
static void declared_length_takes_nothing(void **state) {
    event_log *log = new_log(TLY_WIRE_SERVER);
    plain_bytes bytes = {0}, none = {0};
    uint8_t junk[5000] = {0};
    (void)state;
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    plain_number(&bytes, TLY_WIRE_TENSOR_REQUEST, 4);
    plain_number(&bytes, 2, 4);
    plain_number(&bytes, (1u << 20) + 1, 4);
    plain_feed(log->wire, bytes.at, bytes.len, on_logged, log);
    assert_string_equal(log->rule, "too-large");
    assert_int_equal(log->code, TLY_WIRE_TOO_LARGE);
    assert_false(tly_wire_is_closing(log->wire));
    for (uint64_t left = (1u << 20) + 1; left != 0;) {
        size_t n = left < sizeof junk ? (size_t)left : sizeof junk;
        plain_feed(log->wire, junk, n, on_logged, log);
        left -= n;
    }
    bytes.len = 0;
    plain_request(&bytes, 3, "w", &none, 0, 0);
    plain_feed(log->wire, bytes.at, bytes.len, on_logged, log);
    assert_int_equal(log->kinds[TLY_WIRE_EVENT_REQUEST], 1); /* the connection lives on */
    free_log(log);
    free(bytes.at);
}

/* S03: whoever sends without reading finds the door closed, and it opens again. */
static void unread_output_stops_input(void **state) {
    tly_wire_options options = {
        .size = sizeof options, .role = TLY_WIRE_SERVER, .max_queued_len = 1000};
    event_log *log = calloc(1, sizeof *log);
    plain_bytes bytes = {0}, out = {0};
    tly_error error;
    size_t used, pings = 0;
    (void)state;
    CHECK_OK(tly_wire_new(context, &options, &log->wire, &error), &error);
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    plain_feed(log->wire, bytes.at, bytes.len, on_logged, log);
    bytes.len = 0;
    plain_message(&bytes, TLY_WIRE_PING, 5, NULL, 0);
    while (tly_wire_wants_input(log->wire)) {
        plain_feed(log->wire, bytes.at, bytes.len, on_logged, log);
        assert_true(pings++ < 1000);
    }
    assert_true(tly_wire_queued(log->wire) < 1000 + 64);
    assert_int_equal(tly_wire_feed(log->wire, bytes.at, bytes.len, &used), TLY_OK);
    assert_int_equal(used, 0);
    plain_take_output(log->wire, &out, SIZE_MAX);
    assert_true(tly_wire_wants_input(log->wire));
    assert_int_equal(log->kinds[TLY_WIRE_EVENT_PING], pings);
    free_log(log);
    free(bytes.at);
    free(out.at);
}

static void requests_wait_for_a_stream(void **state) {
    event_log *log = new_log(TLY_WIRE_SERVER);
    plain_bytes bytes = {0}, none = {0};
    tly_wire_event event;
    size_t used;
    (void)state;
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    for (uint32_t i = 0; i < 16; i++) {
        plain_request(&bytes, 2 + i, "w", &none, 0, 0);
    }
    plain_feed(log->wire, bytes.at, bytes.len, on_logged, log);
    assert_int_equal(log->kinds[TLY_WIRE_EVENT_REQUEST], 16);
    bytes.len = 0;
    plain_request(&bytes, 99, "last", &none, 0, 0);
    assert_int_equal(tly_wire_feed(log->wire, bytes.at, bytes.len, &used), TLY_OK);
    assert_int_equal(used, 0);
    assert_int_equal(tly_wire_fail_stream(log->wire, 7, TLY_WIRE_UNKNOWN_TENSOR, "no"), TLY_OK);
    assert_int_equal(tly_wire_feed(log->wire, bytes.at, bytes.len, &used), TLY_OK);
    assert_int_equal(used, bytes.len);
    tly_wire_next(log->wire, &event);
    assert_int_equal(event.kind, TLY_WIRE_EVENT_REQUEST);
    assert_memory_equal(event.request.key, "last", 4);
    free_log(log);
    free(bytes.at);
}

/* ---- output ---- */

static event_log *served(uint32_t max_message_size) {
    event_log *log = new_log(TLY_WIRE_SERVER);
    plain_bytes bytes = {0}, none = {0};
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, max_message_size);
    plain_request(&bytes, 2, "w", &none, 0, 0);
    plain_request(&bytes, 3, "v", &none, 0, 0);
    plain_feed(log->wire, bytes.at, bytes.len, on_logged, log);
    bytes.len = 0;
    plain_take_output(log->wire, &bytes, SIZE_MAX);
    free(bytes.at);
    return log;
}

static void send_rules(void **state) {
    event_log *log = served(1000);
    tly_wire *w = log->wire;
    uint8_t data[2000] = {0};
    tly_error error;
    (void)state;
    assert_int_equal(tly_wire_max_frame(w), 992);
    CHECK_RULE(tly_wire_send_data(w, 2, data, 10, NULL, &error), &error, TLY_INVALID_ARGUMENT,
               "stream-state");
    CHECK_RULE(tly_wire_send_end(w, 2, &error), &error, TLY_INVALID_ARGUMENT, "stream-state");
    CHECK_RULE(tly_wire_send_descriptor(w, 9, data, 10, 10, &error), &error, TLY_INVALID_ARGUMENT,
               "stream-state");
    CHECK_RULE(tly_wire_send_descriptor(w, 2, data, 985, 10, &error), &error, TLY_LIMIT,
               "peer-message-size");
    CHECK_OK(tly_wire_send_descriptor(w, 2, data, 984, 993, &error), &error);
    CHECK_RULE(tly_wire_send_descriptor(w, 2, data, 10, 10, &error), &error, TLY_INVALID_ARGUMENT,
               "stream-state");
    CHECK_RULE(tly_wire_send_data(w, 2, data, 993, NULL, &error), &error, TLY_INVALID_ARGUMENT,
               "frame-len");
    CHECK_OK(tly_wire_send_data(w, 2, data, 992, NULL, &error), &error);
    CHECK_RULE(tly_wire_send_end(w, 2, &error), &error, TLY_INVALID_ARGUMENT, "stream-state");
    CHECK_RULE(tly_wire_send_data(w, 2, data, 2, NULL, &error), &error, TLY_INVALID_ARGUMENT,
               "frame-len");
    CHECK_OK(tly_wire_send_data(w, 2, data, 1, NULL, &error), &error);
    CHECK_OK(tly_wire_send_end(w, 2, &error), &error);
    CHECK_RULE(tly_wire_send_end(w, 2, &error), &error, TLY_INVALID_ARGUMENT, "stream-state");
    assert_int_equal(tly_wire_num_streams(w), 1);
    free_log(log);
}

/* A peer with so small a limit that no text fits still gets its ERROR, cut between characters. */
static void error_text_fits_the_peer(void **state) {
    event_log *log = served(8 + 4);
    plain_bytes out = {0};
    (void)state;
    assert_int_equal(tly_wire_fail_stream(log->wire, 2, TLY_WIRE_BUSY, "ab\xC3\xA9\xC3\xA9"),
                     TLY_OK);
    assert_int_equal(tly_wire_fail_stream(log->wire, 3, TLY_WIRE_BUSY, "abc\xC3\xA9"), TLY_OK);
    assert_int_equal(tly_wire_fail_stream(log->wire, 3, TLY_WIRE_BUSY, ""), TLY_INVALID_ARGUMENT);
    plain_take_output(log->wire, &out, SIZE_MAX);
    assert_int_equal(plain_get(out.at, out.len, 8, 4), 12);
    assert_memory_equal(out.at + 20, "ab\xC3\xA9", 4);
    assert_int_equal(plain_get(out.at, out.len, 24 + 8, 4), 11);
    assert_memory_equal(out.at + 24 + 20, "abc", 3);
    free_log(log);
    free(out.at);
}

/* Tokens come back exactly once, whether the frame left, or went with its stream. */
static void tokens_come_back(void **state) {
    event_log *log = served(1u << 20);
    tly_wire *w = log->wire;
    uint8_t data[300] = {0};
    plain_bytes out = {0}, error_message = {0};
    int seen[3] = {0};
    int tokens[3];
    void *token;
    tly_error error;
    (void)state;
    CHECK_OK(tly_wire_send_descriptor(w, 2, data, 10, 300, &error), &error);
    for (int i = 0; i < 3; i++) {
        CHECK_OK(tly_wire_send_data(w, 2, data + 100 * i, 100, &tokens[i], &error), &error);
    }
    CHECK_OK(tly_wire_send_end(w, 2, &error), &error);
    plain_take_output(w, &out, 12 + 26 + 120 + 50); /* into the second frame */
    assert_true(tly_wire_next_released(w, &token));
    assert_ptr_equal(token, &tokens[0]);
    assert_false(tly_wire_next_released(w, &token));
    /* The peer gives up. The second frame has begun and must go on; the third and the end go. */
    plain_number(&error_message, 6, 4);
    plain_number(&error_message, 0, 4);
    out.len = 0;
    plain_message(&out, TLY_WIRE_ERROR, 2, error_message.at, error_message.len);
    plain_feed(w, out.at, out.len, on_logged, log);
    assert_true(tly_wire_next_released(w, &token));
    assert_ptr_equal(token, &tokens[2]);
    assert_int_equal(tly_wire_queued(w), 120 - 50);
    out.len = 0;
    plain_take_output(w, &out, SIZE_MAX);
    assert_int_equal(out.len, 70);
    while (tly_wire_next_released(w, &token)) {
        seen[(int *)token - tokens]++;
    }
    assert_int_equal(seen[1], 1);
    assert_int_equal(seen[0] + seen[2], 0);
    free_log(log);
    free(out.at);
    free(error_message.at);
}

static void send_plain_descriptor(tly_wire *w, uint32_t stream, uint64_t total) {
    plain_bytes d = {0};
    tly_error error;
    plain_tensor(&d, total, 0, 0, 0);
    CHECK_OK(tly_wire_send_descriptor(w, stream, d.at, d.len, total, &error), &error);
    free(d.at);
}

/* A payload that can no longer be read: its frame is filled up, and the stream ends in an ERROR
 * that the receiver sees before any END. */
static void spoiled_frames_never_count(void **state) {
    check_rng rng = {77};
    (void)state;
    for (int run = 0; run < 200; run++) {
        event_log *log = served(1u << 20);
        event_log *peer = new_log(TLY_WIRE_CLIENT);
        static uint8_t data[200000];
        plain_bytes out = {0};
        uint32_t stream = 0;
        int token, come_back = 0;
        void *got;
        tly_error error;
        const size_t head = 12 + 53 + 16; /* the descriptor's message */
        size_t before = (size_t)check_below(&rng, 2 * 100020 + head);
        memset(data, 0xAA, sizeof data);
        ask(peer->wire, "w", &stream);
        ask(peer->wire, "v", &stream);
        plain_hello(&out, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
        send_plain_descriptor(log->wire, 2, 200000);
        CHECK_OK(tly_wire_send_data(log->wire, 2, data, 100000, &token, &error), &error);
        CHECK_OK(tly_wire_send_data(log->wire, 2, data + 100000, 100000, &token, &error), &error);
        CHECK_OK(tly_wire_send_end(log->wire, 2, &error), &error);
        send_plain_descriptor(log->wire, 3, 0);
        CHECK_OK(tly_wire_send_end(log->wire, 3, &error), &error);
        plain_take_output(log->wire, &out, before);
        if (before < head) {
            assert_int_equal(tly_wire_spoil_head(log->wire, 0xF0, "short", &stream),
                             TLY_INVALID_ARGUMENT); /* a control message is at the head */
            plain_take_output(log->wire, &out, head - before);
        }
        assert_int_equal(tly_wire_spoil_head(log->wire, 0xF0, "short", &stream), TLY_OK);
        assert_int_equal(stream, 2);
        plain_take_output(log->wire, &out, SIZE_MAX);
        plain_feed(peer->wire, out.at, out.len, on_logged, peer);
        assert_int_equal(peer->kinds[TLY_WIRE_EVENT_REJECTED], 0); /* the framing held */
        assert_int_equal(peer->kinds[TLY_WIRE_EVENT_ERROR], 1);
        assert_int_equal(peer->code, 0xF0);
        assert_int_equal(peer->kinds[TLY_WIRE_EVENT_END], 1); /* that of stream 3 */
        while (tly_wire_next_released(log->wire, &got)) {
            come_back++;
        }
        assert_int_equal(come_back, 2);
        free_log(log);
        free_log(peer);
        free(out.at);
    }
}

/* ---- the end ---- */

static void eof_says_what_is_missing(void **state) {
    static const struct {
        size_t cut;
        const char *rule;
    } cases[] = {{0, "eof-before-hello"}, {5, "eof-in-message"},  {20, "eof-in-message"},
                 {0, "eof-in-stream"},    {12, "eof-in-message"}, {30, "eof-in-frame"}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        event_log *log = new_log(TLY_WIRE_CLIENT);
        plain_bytes bytes = {0}, more = {0};
        uint32_t stream;
        uint8_t data[50] = {0};
        tly_error error;
        plain_hello(&bytes, TLY_WIRE_SERVER_HELLO, 1, 1000);
        if (i < 3) {
            plain_feed(log->wire, bytes.at, cases[i].cut, on_logged, log);
        } else {
            ask(log->wire, "w", &stream);
            plain_descriptor(&bytes, stream, 50);
            plain_data(&more, stream, 0, data, 50);
            plain_put(&bytes, more.at, cases[i].cut);
            plain_feed(log->wire, bytes.at, bytes.len, on_logged, log);
        }
        CHECK_RULE(tly_wire_eof(log->wire, &error), &error, TLY_CLOSED, cases[i].rule);
        free_log(log);
        free(bytes.at);
        free(more.at);
    }
}

/* A HELLO that is refused closes the connection; the ERROR still goes out, and the rest is ignored.
 */
static void nothing_counts_after_the_end(void **state) {
    event_log *log = new_log(TLY_WIRE_SERVER);
    plain_bytes bytes = {0};
    size_t used;
    (void)state;
    plain_message(&bytes, TLY_WIRE_PING, 1, NULL, 0);
    plain_feed(log->wire, bytes.at, bytes.len, on_logged, log);
    assert_string_equal(log->rule, "first-hello");
    assert_true(tly_wire_is_closing(log->wire));
    bytes.len = 0;
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1000);
    assert_int_equal(tly_wire_feed(log->wire, bytes.at, bytes.len, &used), TLY_OK);
    assert_int_equal(used, bytes.len);
    assert_null(tly_wire_peer(log->wire));
    assert_true(tly_wire_queued(log->wire) > 20);
    free_log(log);
    free(bytes.at);
}

/* ---- our requests, read by the second codec ---- */

static void requests_read_back(void **state) {
    check_rng rng = {0xC0DEC};
    (void)state;
    for (int run = 0; run < 300; run++) {
        tly_wire *w = plain_wire(context, TLY_WIRE_CLIENT);
        tly_wire_layout entries[20];
        uint8_t metadata[300], list[20 * 303];
        char key[60];
        tly_wire_request r = {.key = key, .request_flags = (uint32_t)check_below(&rng, 2)};
        uint32_t num = (uint32_t)check_below(&rng, 20), stream;
        plain_bytes out = {0};
        size_t at;
        tly_error error;
        memset(entries, 0, sizeof entries);
        for (size_t i = 0; i < sizeof metadata; i++) {
            metadata[i] = (uint8_t)check_random(&rng);
        }
        for (uint32_t i = 0; i < num; i++) {
            entries[i].tag = (uint8_t)check_random(&rng);
            if (entries[i].tag >= 0xF0 && entries[i].tag != 0xFF) {
                entries[i].metadata_len = (uint16_t)check_below(&rng, 300);
                entries[i].metadata = metadata;
            }
        }
        r.key_len = (uint32_t)check_below(&rng, sizeof key);
        for (uint32_t i = 0; i < r.key_len; i++) {
            key[i] = (char)check_below(&rng, 128);
        }
        r.min_alignment = 1u << check_below(&rng, 32);
        r.preferred_device = (uint8_t)check_below(&rng, 255);
        CHECK_OK(tly_wire_layouts_put(entries, num, list, sizeof list, &r.layouts, &error), &error);
        plain_take_output(w, &out, SIZE_MAX);
        out.len = 0;
        CHECK_OK(tly_wire_request_tensor(w, &r, &stream, &error), &error);
        plain_take_output(w, &out, SIZE_MAX);
        assert_int_equal(plain_get(out.at, out.len, 0, 4), 3);
        assert_int_equal(plain_get(out.at, out.len, 4, 4), stream);
        assert_int_equal(plain_get(out.at, out.len, 8, 4), out.len - 12);
        assert_int_equal(plain_get(out.at, out.len, 12, 4), r.key_len);
        assert_memory_equal(out.at + 16, key, r.key_len);
        at = 16 + r.key_len;
        assert_int_equal(plain_get(out.at, out.len, at, 2), num);
        at += 2;
        for (uint32_t i = 0; i < num; i++) {
            assert_int_equal(plain_get(out.at, out.len, at++, 1), entries[i].tag);
            if (entries[i].tag >= 0xF0 && entries[i].tag != 0xFF) {
                assert_int_equal(plain_get(out.at, out.len, at, 2), entries[i].metadata_len);
                assert_memory_equal(out.at + at + 2, metadata, entries[i].metadata_len);
                at += 2u + entries[i].metadata_len;
            }
        }
        assert_int_equal(plain_get(out.at, out.len, at, 1), r.preferred_device);
        assert_int_equal(plain_get(out.at, out.len, at + 1, 4), r.min_alignment);
        assert_int_equal(plain_get(out.at, out.len, at + 5, 4), r.request_flags);
        assert_int_equal(at + 9, out.len);
        tly_wire_free(w);
        free(out.at);
    }
}

/* What a peer would refuse does not leave. */
static void bad_requests_stay_here(void **state) {
    tly_wire *w = plain_wire(context, TLY_WIRE_CLIENT);
    tly_wire_request r = {.key = "\xFF", .key_len = 1, .min_alignment = 64};
    uint64_t queued = tly_wire_queued(w);
    uint32_t stream;
    tly_error error;
    (void)state;
    assert_int_equal(tly_wire_request_tensor(w, &r, &stream, &error), TLY_INVALID_ARGUMENT);
    assert_string_equal(error.rule, "key-utf8");
    r.key = "w";
    r.min_alignment = 3;
    assert_int_equal(tly_wire_request_tensor(w, &r, &stream, &error), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_wire_queued(w), queued);
    r.min_alignment = 64;
    CHECK_OK(tly_wire_request_tensor(w, &r, &stream, &error), &error);
    assert_int_equal(stream, 2);
    tly_wire_free(w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_make_no_difference),
        cmocka_unit_test(data_goes_straight_to_its_place),
        cmocka_unit_test(declared_length_takes_nothing),
        cmocka_unit_test(unread_output_stops_input),
        cmocka_unit_test(requests_wait_for_a_stream),
        cmocka_unit_test(send_rules),
        cmocka_unit_test(error_text_fits_the_peer),
        cmocka_unit_test(tokens_come_back),
        cmocka_unit_test(spoiled_frames_never_count),
        cmocka_unit_test(eof_says_what_is_missing),
        cmocka_unit_test(nothing_counts_after_the_end),
        cmocka_unit_test(requests_read_back),
        cmocka_unit_test(bad_requests_stay_here),
    };
    return cmocka_run_group_tests_name("wire/wire", tests, make_context, free_context);
}
