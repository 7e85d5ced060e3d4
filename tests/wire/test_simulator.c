/* SPDX-License-Identifier: Apache-2.0 */
/* Client and server state machines against each other in memory: tensors, shards, composites and
 * uploads on many streams at once, with short reads and writes, stalls, completions in any order,
 * cancelled and failing streams, spoiled frames, resets and failed allocations. Every schedule
 * follows from its seed: a failing one is replayed by TILERY_SEED=<seed> TILERY_ROUNDS=1. */
#include "wire/sim.h"

#include <stdio.h>

/* ---- receiving, on either side ---- */

/* Names the next part of the destination: all, some, or (for now) nothing. */
static void name_place(sim *s, tly_wire *w, piece *p) {
    uint64_t left = p->total - p->windowed;
    uint64_t len = below(s, 2) == 0 ? left : below(s, left + 1);
    assert_int_equal(tly_wire_set_destination(w, p->stream, p->dest + p->windowed, len), TLY_OK);
    p->windowed += len;
    p->waits = p->windowed == p->placed && p->placed != p->total;
}

static void begin_piece(sim *s, tly_wire *w, piece *p, uint32_t stream, uint64_t total) {
    assert_null(p->dest);
    assert_int_equal(total, p->total);
    p->stream = stream;
    p->dest = malloc((size_t)p->total + 1);
    name_place(s, w, p);
}

static void data_came(sim *s, tly_wire *w, piece *p, const tly_wire_event *e) {
    assert_int_equal(e->offset, p->placed);
    p->placed += e->len;
    assert_true(p->placed <= p->windowed);
    if (p->placed == p->windowed && p->placed != p->total) {
        if (below(s, 2) == 0) {
            name_place(s, w, p);
        } else {
            p->waits = 1;
        }
    }
}

static uint32_t num_missing(const transfer *t) {
    uint32_t num = 0;
    for (uint32_t i = 0; i < t->num_pieces; i++) {
        num += !t->pieces[i].whole;
    }
    return num;
}

static void piece_ended(transfer *t, piece *p) {
    assert_int_equal(p->placed, p->total);
    for (uint64_t i = 0; i < p->total; i++) {
        if (p->dest[i] != data_at(t, p, i)) {
            fail_msg("stream %u: byte %llu is wrong", p->stream, (unsigned long long)i);
        }
    }
    p->whole = 1;
    assert_false(t->spoiled && num_missing(t) == 0); /* zeros must never pass for data */
}

/* ---- the client ---- */

static void client_event(sim *s, const tly_wire_event *e) {
    transfer *t;
    piece *p;
    switch (e->kind) {
    case TLY_WIRE_EVENT_DESCRIPTOR:
        t = transfer_of(s, e->origin);
        assert_false(t->client_over);
        if (e->descriptor.total_shards == 1 && t->kind == SHARDS) { /* there were no streams */
            t->num_pieces = 1;
        }
        p = &t->pieces[t->kind == SHARDS ? e->descriptor.shard_index : t->next_piece++];
        assert_non_null(e->tensor);
        begin_piece(s, s->client, p, e->stream, e->descriptor.total_data_bytes);
        break;
    case TLY_WIRE_EVENT_DATA:
        t = transfer_of(s, e->origin);
        data_came(s, s->client, piece_on(t, e->stream), e);
        break;
    case TLY_WIRE_EVENT_END:
        t = transfer_of(s, e->origin);
        assert_false(t->client_over);
        piece_ended(t, piece_on(t, e->stream));
        assert_true(e->left <= num_missing(t)); /* heads inside may still promise more */
        assert_int_equal(e->left == 0, num_missing(t) == 0);
        t->ended = t->client_over = e->left == 0;
        break;
    case TLY_WIRE_EVENT_ACK:
        t = transfer_of(s, e->origin);
        assert_true(t->kind == PUT && t->end_queued && t->pieces[0].whole && !t->client_over);
        t->ended = t->client_over = 1;
        break;
    case TLY_WIRE_EVENT_ERROR:
        t = transfer_of(s, e->origin);
        assert_false(t->ended);
        t->client_over = 1;
        break;
    case TLY_WIRE_EVENT_PRIVATE:
        assert_int_equal(e->type, PRIVATE_TYPE);
        assert_true(e->len >= 9);
        assert_true(plain_get(e->bytes, (size_t)e->len, 0, 8) > s->heard); /* in their order */
        s->heard = plain_get(e->bytes, (size_t)e->len, 0, 8);
        if (e->bytes[8] != 0) { /* its attachment came along */
            assert_true(s->down.num_attachments != 0);
            assert_int_equal(s->down.attachments[0], (int32_t)s->heard);
            s->down.num_attachments--;
            memmove(s->down.attachments, s->down.attachments + 1,
                    s->down.num_attachments * sizeof *s->down.attachments);
        }
        break;
    case TLY_WIRE_EVENT_REJECTED:
        fail_msg("the client rejects: %s: %s", e->error->rule, e->error->message);
        break;
    default:
        break;
    }
}

static void plan_transfer(sim *s, transfer *t) {
    uint64_t offset = 0, parent = 0, lens[MAX_PIECES];
    uint32_t num = 1 + (uint32_t)below(s, MAX_PIECES - 2);
    int group = below(s, 2) == 0;
    for (uint32_t i = 0; i < num; i++) {
        lens[i] = 1 + below(s, below(s, 3) == 0 ? MAX_TOTAL : 500);
        parent += lens[i];
    }
    if (t->kind == GET || t->kind == PUT) {
        t->pieces[0].total = below(s, 5) == 0 ? 0 : lens[0];
        t->num_pieces = 1;
        plain_tensor(&t->pieces[0].descriptor, t->pieces[0].total, 0, 0, 0);
        return;
    }
    if (t->kind == COMPOSITE) { /* a partition, perhaps inside of a group with one tensor more */
        if (group) {
            plain_head(&t->pieces[t->num_pieces++].descriptor, parent, 3, 2);
        }
        plain_head(&t->pieces[t->num_pieces++].descriptor, parent, 1,
                   num > MAX_PIECES - 3 ? MAX_PIECES - 3 : num);
        if (num > MAX_PIECES - 3) { /* the last one takes what is left */
            num = MAX_PIECES - 3;
            for (uint32_t i = 0; i + 1 < num; i++) {
                offset += lens[i];
            }
            lens[num - 1] = parent - offset;
            offset = 0;
        }
    }
    for (uint32_t i = 0; i < num; i++) {
        piece *p = &t->pieces[t->num_pieces++];
        p->total = lens[i];
        plain_tensor(&p->descriptor, lens[i], parent, offset, 0);
        offset += lens[i];
    }
    if (t->kind == COMPOSITE && group) {
        piece *p = &t->pieces[t->num_pieces++];
        p->total = below(s, 300);
        plain_tensor(&p->descriptor, p->total, 0, 0, 0);
    }
}

static void new_transfer(sim *s) {
    transfer *t = &s->transfers[s->num];
    tly_wire_request r = {.key = "k", .key_len = 1, .min_alignment = 64};
    tly_error error;
    tly_status status;
    memset(t, 0, sizeof *t);
    t->kind = (transfer_kind)below(s, 4);
    plan_transfer(s, t);
    if (t->kind == PUT) {
        const piece *p = &t->pieces[0];
        tly_wire_put put = {"p", 1, (uint32_t)p->descriptor.len, p->descriptor.at, p->total};
        status = tly_wire_put_tensor(s->client, &put, &t->id, &error);
        t->pieces[0].described = 1;
    } else {
        r.request_flags = t->kind == SHARDS ? TLY_WIRE_PARALLEL_OK : 0;
        status = tly_wire_request_tensor(s->client, &r, &t->id, &error);
        if (status == TLY_LIMIT) { /* one at a time: then it comes as one */
            assert_string_equal(error.rule, "parallel-busy");
            t->kind = GET;
            t->num_pieces = 1;
            r.request_flags = 0;
            status = tly_wire_request_tensor(s->client, &r, &t->id, &error);
        }
    }
    s->num += 1;
    if (!worked(s, status, &error)) {
        t->client_over = t->server_over = 1;
    }
}

/* A frame of a piece, as if it had just become ready. Returns 0 when all are queued. */
static int send_frame(sim *s, tly_wire *w, transfer *t, piece *p, uint32_t stream, uint64_t most) {
    tly_error error;
    uint64_t len = p->total - p->queued;
    uint8_t *payload;
    if (len == 0) {
        return 0;
    }
    len = 1 + below(s, most < len ? most : len);
    payload = malloc((size_t)len);
    for (uint64_t i = 0; i < len; i++) {
        payload[i] = data_at(t, p, p->queued + i);
    }
    if (!worked(s, tly_wire_send_data(w, stream, payload, len, payload, &error), &error)) {
        free(payload);
        return 1;
    }
    s->tokens_out++;
    p->queued += len;
    return 1;
}

static void client_put_work(sim *s, transfer *t) {
    tly_error error;
    if (t->client_over || t->end_queued || tly_wire_peer(s->client) == NULL ||
        tly_wire_queued(s->client) > 20000 ||
        send_frame(s, s->client, t, &t->pieces[0], t->id, s->max_frame_up)) {
        return;
    }
    if (worked(s, tly_wire_send_end(s->client, t->id, &error), &error)) {
        t->end_queued = 1;
    }
}

static void cancel(sim *s, transfer *t) {
    uint32_t stream = t->id;
    if (t->kind == SHARDS && t->pieces[0].whole) {
        return; /* its first stream is closed */
    }
    t->client_over = 1;
    worked(s, tly_wire_fail_stream(s->client, stream, 6, "not wanted"), NULL);
}

static void name_places(sim *s, tly_wire *w, int for_puts) {
    for (uint32_t i = 0; i < s->num; i++) {
        transfer *t = &s->transfers[i];
        for (uint32_t k = 0; k < t->num_pieces && (t->kind == PUT) == for_puts; k++) {
            piece *p = &t->pieces[k];
            if (p->waits && !(for_puts ? t->server_over : t->client_over) && below(s, 2) == 0) {
                name_place(s, w, p);
            }
        }
    }
}

static void client_work(sim *s) {
    if (s->num < MAX_TRANSFERS && below(s, 4) == 0) {
        new_transfer(s);
        return;
    }
    name_places(s, s->client, 0);
    if (s->num != 0) {
        transfer *t = &s->transfers[below(s, s->num)];
        if (t->kind == PUT) {
            client_put_work(s, t);
        }
        if (!t->client_over && !s->broken && below(s, 150) == 0) {
            cancel(s, t);
        }
    }
    if (below(s, 40) == 0) {
        worked(s, tly_wire_ping(s->client), NULL);
    }
}

/* ---- the server ---- */

static void server_event(sim *s, const tly_wire_event *e) {
    transfer *t;
    switch (e->kind) {
    case TLY_WIRE_EVENT_REQUEST:
        transfer_of(s, e->stream)->asked = 1;
        break;
    case TLY_WIRE_EVENT_PUT:
        t = transfer_of(s, e->stream);
        t->asked = 1;
        assert_non_null(e->tensor);
        begin_piece(s, s->server, &t->pieces[0], e->stream, e->put.total_data_bytes);
        break;
    case TLY_WIRE_EVENT_DATA:
        data_came(s, s->server, &transfer_of(s, e->stream)->pieces[0], e);
        break;
    case TLY_WIRE_EVENT_END:
        t = transfer_of(s, e->stream);
        assert_true(t->end_queued);
        piece_ended(t, &t->pieces[0]);
        t->reply_due = 1;
        break;
    case TLY_WIRE_EVENT_ERROR:
        for (uint32_t i = 0; i < s->num; i++) { /* a shard's stream is known to its transfer */
            for (uint32_t k = 0; k < s->transfers[i].num_pieces; k++) {
                if (s->transfers[i].sharded && s->transfers[i].pieces[k].stream == e->stream) {
                    s->transfers[i].gone[k] = 1;
                    return;
                }
            }
        }
        transfer_of(s, e->stream)->server_over = 1;
        break;
    case TLY_WIRE_EVENT_REJECTED: /* uploads hold every stream, and a request cannot wait for one */
        assert_string_equal(e->error->rule, "max-streams");
        transfer_of(s, e->stream)->server_over = 1;
        break;
    default:
        break;
    }
}

/* One step of one stream of an answer: descriptor, a frame, or the end. */
static void answer_step(sim *s, transfer *t, uint32_t k, uint32_t stream) {
    piece *p = &t->pieces[k];
    tly_error error;
    if (!p->described) {
        if (worked(s,
                   tly_wire_send_descriptor(s->server, stream, p->descriptor.at, p->descriptor.len,
                                            p->total, &error),
                   &error)) {
            p->described = 1;
        }
    } else if (!send_frame(s, s->server, t, p, stream, s->max_frame_down)) {
        if (worked(s, tly_wire_send_end(s->server, stream, &error), &error)) {
            t->gone[k] = 1;
        }
    }
}

static void open_shards(sim *s, transfer *t) {
    uint32_t streams[MAX_PIECES];
    tly_error error;
    tly_status status = tly_wire_open_shards(s->server, t->id, t->num_pieces, streams, &error);
    if (status == TLY_LIMIT) { /* then as one, which is the first piece here */
        t->kind = GET;
        t->num_pieces = 1;
        return;
    }
    if (worked(s, status, &error)) {
        t->sharded = 1;
        for (uint32_t k = 0; k < t->num_pieces; k++) {
            t->pieces[k].stream = streams[k];
        }
    }
}

static void fail_answer(sim *s, transfer *t, const char *why) {
    uint32_t stream = t->id;
    if (t->sharded) { /* through any shard that is open: the others go with it */
        uint32_t k = 0;
        while (k < t->num_pieces && t->gone[k]) {
            k++;
        }
        if (k == t->num_pieces) {
            return;
        }
        stream = t->pieces[k].stream;
        if (k != 0 || !t->pieces[0].described) {
            /* A client can tell whose ERROR it is by the first stream alone, or by what has come.
             */
            for (uint32_t i = 0; i < t->num_pieces; i++) {
                if (!t->pieces[i].described) {
                    return;
                }
            }
        }
    }
    t->server_over = 1;
    worked(s, tly_wire_fail_stream(s->server, stream, 0xF0, why), NULL);
}

static void server_answer(sim *s, transfer *t) {
    uint32_t k = 0;
    if (t->kind == SHARDS && !t->sharded) {
        open_shards(s, t);
        return;
    }
    if (t->sharded) { /* any shard may be the next, but the first is the first to be described */
        k = t->pieces[0].described || t->gone[0] ? (uint32_t)below(s, t->num_pieces) : 0;
        if (!t->gone[k]) {
            answer_step(s, t, k, t->pieces[k].stream);
        }
    } else {
        while (k < t->num_pieces && t->gone[k]) {
            k++;
        }
        if (k < t->num_pieces) {
            answer_step(s, t, k, t->id);
        }
    }
    for (k = 0; k < t->num_pieces && t->gone[k]; k++) {
    }
    t->server_over |= k == t->num_pieces;
}

static void server_put_work(sim *s, transfer *t) {
    tly_error error;
    if (below(s, 60) == 0) { /* no more room on the disk */
        t->server_over = 1;
        worked(s, tly_wire_fail_stream(s->server, t->id, 0xF0, "disk"), NULL);
    } else if (t->reply_due && below(s, 3) == 0) {
        t->server_over = 1;
        worked(s, tly_wire_send_ack(s->server, t->id, &error), &error);
    }
}

static void say_private(sim *s) {
    plain_bytes p = {0};
    int attached = below(s, 2) == 0;
    uint32_t stream = s->num != 0 && below(s, 2) == 0 ? s->transfers[below(s, s->num)].id : 5000;
    void *token = malloc(1);
    tly_error error;
    plain_number(&p, ++s->told, 8);
    plain_number(&p, (uint64_t)attached, 1);
    for (uint64_t i = below(s, 60); i != 0; i--) {
        plain_number(&p, i, 1);
    }
    if (worked(s,
               tly_wire_send_private(s->server, PRIVATE_TYPE, stream, p.at, p.len,
                                     attached ? (int32_t)s->told : -1, token, &error),
               &error)) {
        s->tokens_out++;
    } else {
        free(token);
    }
    free(p.at);
}

/* A packer, a disk, or a decision is ready. */
static void server_work(sim *s) {
    transfer *t;
    name_places(s, s->server, 1);
    if (s->num == 0 || tly_wire_queued(s->server) > 20000) {
        return;
    }
    t = &s->transfers[below(s, s->num)];
    if (!t->asked || t->server_over) {
        return;
    }
    if (t->kind == PUT) {
        server_put_work(s, t);
    } else if (below(s, 150) == 0) {
        fail_answer(s, t, "disk");
    } else {
        server_answer(s, t);
    }
    if (!s->broken && tly_wire_peer(s->server) != NULL && below(s, 20) == 0) {
        say_private(s);
    }
}

/* ---- what goes wrong, and the loop ---- */

static void release(sim *s) {
    void *token;
    while (tly_wire_next_released(s->server, &token) || tly_wire_next_released(s->client, &token)) {
        free(token); /* a later use of it is for the sanitizer to find */
        s->tokens_out--;
    }
}

static void spoil(sim *s, tly_wire *w) {
    uint32_t id = 0;
    tly_status status = tly_wire_spoil_head(w, 0xF0, "cut short", &id);
    if (status == TLY_INVALID_ARGUMENT || !worked(s, status, NULL)) {
        return; /* no frame is at the head */
    }
    for (uint32_t i = 0; i < s->num; i++) {
        transfer *t = &s->transfers[i];
        int is_it = t->id == id;
        for (uint32_t k = 0; k < t->num_pieces && t->sharded; k++) {
            is_it |= t->pieces[k].stream == id;
            t->gone[k] |= t->pieces[k].stream == id;
        }
        if (is_it) {
            t->spoiled = 1;
            if (w == s->client) {
                t->client_over = 1;
            } else if (!t->sharded) {
                t->server_over = 1;
            }
        }
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
    if (tly_wire_is_closing(s->client) || tly_wire_is_closing(s->server)) {
        assert_true(s->memory.failed);
        s->broken = 1;
    }
}

static int settled(const sim *s) {
    if (s->num < MAX_TRANSFERS) {
        return 0;
    }
    for (uint32_t i = 0; i < s->num; i++) {
        if (!s->transfers[i].client_over) {
            return 0;
        }
    }
    return 1;
}

static void flush(sim *s, tly_wire *w) {
    tly_wire_span span;
    while (tly_wire_queued(w) != 0) {
        tly_wire_output(w, &span, 1);
        tly_wire_sent(w, span.len);
    }
    release(s);
}

static void cleanup(sim *s) {
    release(s);
    flush(s, s->server); /* what is still queued dies with the connection; its payloads are ours */
    flush(s, s->client);
    assert_int_equal(s->tokens_out, 0);
    for (uint32_t i = 0; i < s->num; i++) {
        for (uint32_t k = 0; k < MAX_PIECES; k++) {
            free(s->transfers[i].pieces[k].dest);
            free(s->transfers[i].pieces[k].descriptor.at);
        }
    }
    tly_wire_free(s->client);
    tly_wire_free(s->server);
    tly_context_free(s->context);
    assert_int_equal(s->memory.live, 0); /* no leak, whatever failed */
}

static void step(sim *s) {
    switch (below(s, 8)) {
    case 0:
        move_out(s, s->client, &s->up);
        break;
    case 1:
        move_out(s, s->server, &s->down);
        break;
    case 2:
        move_in(s, s->server, &s->up);
        break;
    case 3:
        move_in(s, s->client, &s->down);
        break;
    case 4:
    case 5:
        server_work(s);
        break;
    case 6:
        client_work(s);
        break;
    default:
        if (below(s, 300) == 0) {
            spoil(s, below(s, 2) == 0 ? s->server : s->client);
        }
    }
    release(s);
    take_events(s);
}

/* Makes both ends; with failing memory one of them may not come to be. */
static int make_ends(sim *s) {
    tly_context_options with = {.size = sizeof with, .allocator = {sim_resize, &s->memory}};
    tly_wire_options client = {.size = sizeof client,
                               .role = TLY_WIRE_CLIENT,
                               .private_types = 1u << (PRIVATE_TYPE - 0xF0),
                               .max_streams = 64};
    tly_wire_options server = {.size = sizeof server,
                               .role = TLY_WIRE_SERVER,
                               .private_types = 1u << (PRIVATE_TYPE - 0xF0),
                               .capability_flags = TLY_WIRE_CAP_PARALLEL};
    tly_error error;
    s->memory.until_fails = -1;
    assert_int_equal(tly_context_new(&with, &s->context, NULL), TLY_OK);
    client.max_message_size = 100 + (uint32_t)below(s, below(s, 2) == 0 ? 400 : 8000);
    server.max_message_size = 100 + (uint32_t)below(s, below(s, 2) == 0 ? 400 : 8000);
    server.max_streams = 1 + (uint32_t)below(s, 12);
    s->max_frame_down = client.max_message_size - TLY_WIRE_OFFSET_LEN;
    s->max_frame_up = server.max_message_size - TLY_WIRE_OFFSET_LEN;
    s->memory.until_fails = below(s, 4) == 0 ? (int64_t)below(s, 150) : -1;
    return worked(s, tly_wire_new(s->context, &client, &s->client, &error), &error) &&
           worked(s, tly_wire_new(s->context, &server, &s->server, &error), &error);
}

/* One schedule. Returns the number of transfers that came whole. */
static int run(uint64_t seed) {
    sim *s = calloc(1, sizeof *s);
    int whole = 0, reset_after;
    s->rng.state = seed;
    if (make_ends(s)) {
        reset_after = below(s, 6) == 0 ? (int)below(s, 4000) : INT32_MAX;
        for (int i = 0; !settled(s) && !s->broken; i++) {
            if (i == reset_after) {
                /* The connection breaks. What is open is known to be incomplete. */
                assert_true(tly_wire_eof(s->client, NULL) == TLY_CLOSED ||
                            tly_wire_num_streams(s->client) == 0);
                break;
            }
            assert_true(i < 1000000); /* it never stands still */
            step(s);
        }
    }
    for (uint32_t i = 0; i < s->num; i++) {
        whole += s->transfers[i].ended;
    }
    if (s->client != NULL && s->server != NULL) {
        cleanup(s);
    } else {
        tly_wire_free(s->client);
        tly_wire_free(s->server);
        tly_context_free(s->context);
        assert_int_equal(s->memory.live, 0);
    }
    free(s);
    return whole;
}

static uint64_t current; /* seed of the schedule that runs; 0: none */

static int say_seed(void **state) {
    (void)state;
    if (current != 0) {
        print_message("# replay with TILERY_SEED=%llu TILERY_ROUNDS=1\n",
                      (unsigned long long)current);
    }
    return 0;
}

static void schedules(void **state) {
    const uint64_t runs = check_rounds(2000), seed = check_seed(20260);
    uint64_t whole = 0;
    (void)state;
    for (uint64_t i = 0; i < runs; i++) {
        current = seed + i;
        whole += (uint64_t)run(current);
    }
    current = 0;
    print_message("# %llu schedules from seed %llu, %llu transfers whole\n",
                  (unsigned long long)runs, (unsigned long long)seed, (unsigned long long)whole);
    assert_true(whole > runs || runs < 10); /* the schedules do get through */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(schedules, say_seed),
    };
    return cmocka_run_group_tests_name("wire/simulator", tests, NULL, NULL);
}
