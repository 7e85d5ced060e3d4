/* SPDX-License-Identifier: Apache-2.0 */
/* Client and server state machines against each other in memory: short reads and writes, stalls,
 * frames that become ready in any order across streams, cancelled streams, spoiled frames, resets.
 * Every schedule follows from its seed. */
#include "wire/plain.h"

#include <stdio.h>

#define MAX_STREAMS 6
#define MAX_TOTAL   60000
#define PIPE_LEN    9000

typedef struct sim_stream {
    uint32_t id;
    uint64_t total;
    int answered, failed_by_server, cancelled, spoiled;
    uint64_t queued;
    int end_queued;
    /* what the client saw */
    int descriptor, ended, error;
    uint64_t placed;
    uint8_t *dest;
} sim_stream;

/* One direction of the wire: what was sent and has not been taken. */
typedef struct sim_pipe {
    uint8_t bytes[PIPE_LEN];
    size_t len;
} sim_pipe;

typedef struct sim {
    check_rng rng;
    const tly_context *context;
    tly_wire *client, *server;
    sim_pipe up, down;
    sim_stream streams[MAX_STREAMS];
    uint32_t num_streams;
    uint32_t max_frame;
    int hello, tokens_out;
} sim;

/* The byte of tensor `id` at `offset`. */
static uint8_t data_at(uint32_t id, uint64_t offset) {
    return (uint8_t)(1 + (id * 37 + offset * 11 + (offset >> 9)) % 255); /* never 0 */
}

static sim_stream *stream_of(sim *s, uint32_t id) {
    for (uint32_t i = 0; i < s->num_streams; i++) {
        if (s->streams[i].id == id) {
            return &s->streams[i];
        }
    }
    fail_msg("stream %u was never asked for", id);
    return NULL;
}

/* ---- the transport ---- */

static void move_out(sim *s, tly_wire *from, sim_pipe *pipe) {
    tly_wire_span spans[8];
    uint32_t num = tly_wire_output(from, spans, 1 + (uint32_t)check_below(&s->rng, 8));
    size_t room = (size_t)check_below(&s->rng, PIPE_LEN - pipe->len + 1), sent = 0;
    for (uint32_t i = 0; i < num && room != 0; i++) {
        size_t n = spans[i].len < room ? spans[i].len : room;
        memcpy(pipe->bytes + pipe->len, spans[i].at, n);
        pipe->len += n;
        room -= n;
        sent += n;
    }
    tly_wire_sent(from, sent);
}

/* By recv targets or by feed, a few bytes or many. Returns the bytes taken. */
static size_t move_in(sim *s, tly_wire *to, sim_pipe *pipe) {
    size_t most = (size_t)check_below(&s->rng, pipe->len + 1), used = 0;
    if (check_below(&s->rng, 2) == 0) {
        assert_int_equal(tly_wire_feed(to, pipe->bytes, most, &used), TLY_OK);
    } else {
        tly_wire_span spans[2];
        uint32_t num = tly_wire_recv_targets(to, spans);
        for (uint32_t i = 0; i < num; i++) {
            size_t n = spans[i].len < most - used ? spans[i].len : most - used;
            memcpy(spans[i].at, pipe->bytes + used, n);
            used += n;
        }
        assert_int_equal(tly_wire_received(to, used), TLY_OK);
    }
    pipe->len -= used;
    memmove(pipe->bytes, pipe->bytes + used, pipe->len);
    return used;
}

/* ---- the ends ---- */

static void client_event(sim *s, const tly_wire_event *e) {
    sim_stream *t;
    switch (e->kind) {
    case TLY_WIRE_EVENT_HELLO:
        s->hello = 1;
        break;
    case TLY_WIRE_EVENT_DESCRIPTOR:
        t = stream_of(s, e->stream);
        assert_false(t->descriptor);
        t->descriptor = 1;
        assert_int_equal(e->descriptor.total_data_bytes, t->total);
        t->dest = calloc(1, (size_t)t->total + 1);
        assert_int_equal(tly_wire_set_destination(s->client, e->stream, t->dest, t->total), TLY_OK);
        break;
    case TLY_WIRE_EVENT_DATA:
        t = stream_of(s, e->stream);
        assert_int_equal(e->offset, t->placed);
        t->placed += e->len;
        assert_true(t->placed <= t->total);
        break;
    case TLY_WIRE_EVENT_END:
        t = stream_of(s, e->stream);
        assert_false(t->ended || t->error);
        assert_false(t->spoiled); /* zeros must never pass for data */
        t->ended = 1;
        assert_int_equal(t->placed, t->total);
        for (uint64_t i = 0; i < t->total; i++) {
            assert_int_equal(t->dest[i], data_at(t->id, i));
        }
        break;
    case TLY_WIRE_EVENT_ERROR:
        t = stream_of(s, e->stream);
        assert_false(t->ended);
        t->error = 1;
        break;
    case TLY_WIRE_EVENT_REJECTED:
        fail_msg("the client rejects: %s: %s", e->error->rule, e->error->message);
        break;
    default:
        break;
    }
}

static void server_event(sim *s, const tly_wire_event *e) {
    if (e->kind == TLY_WIRE_EVENT_REQUEST) {
        sim_stream *t = stream_of(s, e->stream);
        t->answered = 1;
        if (check_below(&s->rng, 12) == 0) {
            t->failed_by_server = 1;
            assert_int_equal(tly_wire_fail_stream(s->server, e->stream, 2, "no such tensor"),
                             TLY_OK);
        } else {
            tly_error error;
            plain_bytes d = {0};
            plain_tensor(&d, t->total, 0, 0, 0);
            CHECK_OK(tly_wire_send_descriptor(s->server, e->stream, d.at, d.len, t->total, &error),
                     &error);
            free(d.at);
        }
    } else if (e->kind == TLY_WIRE_EVENT_ERROR) {
        assert_true(stream_of(s, e->stream)->cancelled);
        stream_of(s, e->stream)->failed_by_server = 1;
    } else if (e->kind == TLY_WIRE_EVENT_REJECTED) {
        fail_msg("the server rejects: %s: %s", e->error->rule, e->error->message);
    }
}

/* A frame of some stream is ready: as if a packer had finished. */
static void server_work(sim *s) {
    sim_stream *t;
    tly_error error;
    uint64_t len;
    uint8_t *payload;
    if (s->num_streams == 0 || tly_wire_queued(s->server) > 20000) {
        return;
    }
    t = &s->streams[check_below(&s->rng, s->num_streams)];
    if (!t->answered || t->failed_by_server || t->end_queued) {
        return;
    }
    if (check_below(&s->rng, 150) == 0) {
        t->failed_by_server = 1;
        assert_int_equal(tly_wire_fail_stream(s->server, t->id, 0xF0, "disk"), TLY_OK);
        return;
    }
    if (t->queued == t->total) {
        CHECK_OK(tly_wire_send_end(s->server, t->id, &error), &error);
        t->end_queued = 1;
        return;
    }
    len = 1 + check_below(&s->rng, s->max_frame < t->total - t->queued ? s->max_frame
                                                                       : t->total - t->queued);
    payload = malloc((size_t)len);
    for (uint64_t i = 0; i < len; i++) {
        payload[i] = data_at(t->id, t->queued + i);
    }
    CHECK_OK(tly_wire_send_data(s->server, t->id, payload, len, payload, &error), &error);
    s->tokens_out++;
    t->queued += len;
}

static void release(sim *s) {
    void *token;
    while (tly_wire_next_released(s->server, &token)) {
        free(token); /* a later use of it is for the sanitizer to find */
        s->tokens_out--;
    }
}

static void client_work(sim *s) {
    if (s->num_streams < MAX_STREAMS && check_below(&s->rng, 4) == 0) {
        sim_stream *t = &s->streams[s->num_streams];
        tly_wire_request r = {.key = "k", .key_len = 1, .min_alignment = 64};
        tly_error error;
        CHECK_OK(tly_wire_request_tensor(s->client, &r, &t->id, &error), &error);
        t->total = check_below(&s->rng, 5) == 0 ? 0 : check_below(&s->rng, MAX_TOTAL);
        s->num_streams++;
    } else if (s->num_streams != 0 && check_below(&s->rng, 100) == 0) {
        sim_stream *t = &s->streams[check_below(&s->rng, s->num_streams)];
        if (!t->ended && !t->error && !t->cancelled) {
            t->cancelled = 1;
            t->error = 1;
            assert_int_equal(tly_wire_fail_stream(s->client, t->id, 6, "not wanted"), TLY_OK);
        }
    } else if (check_below(&s->rng, 30) == 0) {
        tly_wire_ping(s->client);
    }
}

static void spoil(sim *s) {
    uint32_t id;
    if (tly_wire_spoil_head(s->server, 0xF0, "cut short", &id) == TLY_OK) {
        sim_stream *t = stream_of(s, id);
        t->spoiled = 1;
        t->failed_by_server = 1;
    }
}

static void take_events(sim *s) {
    tly_wire_event e;
    for (tly_wire_next(s->client, &e); e.kind != 0; tly_wire_next(s->client, &e)) {
        client_event(s, &e);
    }
    for (tly_wire_next(s->server, &e); e.kind != 0; tly_wire_next(s->server, &e)) {
        server_event(s, &e);
    }
}

static int settled(const sim *s) {
    if (s->num_streams < MAX_STREAMS) {
        return 0;
    }
    for (uint32_t i = 0; i < s->num_streams; i++) {
        if (!s->streams[i].ended && !s->streams[i].error) {
            return 0;
        }
    }
    return 1;
}

static void cleanup(sim *s) {
    release(s);
    /* What is still queued dies with the connection; its payloads are ours. */
    while (tly_wire_queued(s->server) != 0) {
        tly_wire_span span;
        tly_wire_output(s->server, &span, 1);
        tly_wire_sent(s->server, span.len);
    }
    release(s);
    assert_int_equal(s->tokens_out, 0);
    for (uint32_t i = 0; i < s->num_streams; i++) {
        free(s->streams[i].dest);
    }
    tly_wire_free(s->client);
    tly_wire_free(s->server);
}

/* One schedule. Returns the number of tensors that arrived whole. */
static int run(const tly_context *context, uint64_t seed) {
    sim *s = calloc(1, sizeof *s);
    tly_wire_options client = {.size = sizeof client, .role = TLY_WIRE_CLIENT};
    tly_wire_options server = {.size = sizeof server, .role = TLY_WIRE_SERVER};
    tly_error error;
    int whole = 0, reset_after;
    s->rng.state = seed;
    client.max_message_size = 100 + (uint32_t)check_below(&s->rng, 8000);
    server.max_streams = 1 + (uint32_t)check_below(&s->rng, 8);
    CHECK_OK(tly_wire_new(context, &client, &s->client, &error), &error);
    CHECK_OK(tly_wire_new(context, &server, &s->server, &error), &error);
    s->max_frame = client.max_message_size - TLY_WIRE_OFFSET_LEN;
    reset_after = check_below(&s->rng, 5) == 0 ? (int)check_below(&s->rng, 3000) : INT32_MAX;
    for (int step = 0; !settled(s); step++) {
        if (step == reset_after) {
            /* The connection breaks. What is open is known to be incomplete. */
            tly_status status = tly_wire_eof(s->client, &error);
            assert_true(status == TLY_CLOSED || tly_wire_num_streams(s->client) == 0);
            break;
        }
        assert_true(step < 2000000); /* it never stands still */
        switch (check_below(&s->rng, 7)) {
        case 0:
            move_out(s, s->client, &s->up);
            break;
        case 1:
            move_out(s, s->server, &s->down);
            release(s);
            break;
        case 2:
            move_in(s, s->server, &s->up);
            break;
        case 3:
            move_in(s, s->client, &s->down);
            break;
        case 4:
            server_work(s);
            break;
        case 5:
            client_work(s);
            break;
        default:
            if (check_below(&s->rng, 400) == 0) {
                spoil(s);
                release(s);
            }
        }
        take_events(s);
    }
    for (uint32_t i = 0; i < s->num_streams; i++) {
        whole += s->streams[i].ended;
    }
    cleanup(s);
    free(s);
    return whole;
}

static void schedules(void **state) {
    const uint64_t runs = check_rounds(200), seed = check_seed(20260);
    tly_context *context;
    uint64_t whole = 0;
    (void)state;
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    for (uint64_t i = 0; i < runs; i++) {
        whole += (uint64_t)run(context, seed + i);
    }
    tly_context_free(context);
    print_message("# %llu schedules from seed %llu, %llu tensors whole\n", (unsigned long long)runs,
                  (unsigned long long)seed, (unsigned long long)whole);
    assert_true(whole > runs); /* the schedules do get through */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules),
    };
    return cmocka_run_group_tests_name("wire/simulator", tests, NULL, NULL);
}
