/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor on its way to one peer. Native bytes leave from the file or the mapping, packed ones
 * from the variant that all who ask for them share. What does not fit into the cache of variants is
 * packed for one peer, piece by piece on another thread, never further ahead than the connection
 * may hold. */
#include <stddef.h>
#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"
#include "net/handover.h"
#include "net/range.h"
#include "panel/hash.h"
#include "serve/server.h"

/* The first frame is short, so that the peer has it while the next is on its way. */
#define FIRST_FRAME    (UINT64_C(1) << 10)
#define LEAST_SPLIT    (UINT64_C(256) << 10) /* smaller tensors leave at once anyway */
#define LEAST_HANDOVER (UINT64_C(64) << 10)  /* less is sent sooner than a file is mapped */

/* ---- streams ---- */

serve_stream *tly_serve_find_stream(serve_conn *c, uint32_t id) {
    serve_stream *s = c->streams;
    while (s != NULL && (s->closed || s->id != id)) {
        s = s->next;
    }
    return s;
}

static void free_stream(serve_stream *s) {
    tly_variant_close(&s->reader);
    tly_blocks_release(&s->hold);
    tly_memo_drop(s->answer);
    tly_serve_free_upload(s);
    tly_offer_drop(s->offer);
    tly_base_free(s->conn->server->context, s, sizeof *s, _Alignof(serve_stream));
}

/* Frees streams that are over. */
void tly_serve_sweep(serve_conn *c) {
    serve_stream **link = &c->streams;
    while (*link != NULL) {
        serve_stream *s = *link;
        if (s->closed) {
            __atomic_store_n(&s->cancel, 1, __ATOMIC_RELEASE); /* jobs that wait for others */
        }
        if (s->closed && !s->busy && s->native.refs == 0) {
            *link = s->next;
            free_stream(s);
        } else {
            link = &s->next;
        }
    }
}

/* The connection is gone; no job runs any more. */
void tly_serve_free_streams(serve_conn *c) {
    while (c->streams != NULL) {
        serve_stream *s = c->streams;
        c->streams = s->next;
        free_stream(s);
    }
    while (c->chunks != NULL) {
        tly_serve_give_chunk(c, c->chunks);
    }
}

void tly_serve_stream_fail(serve_stream *s, uint32_t code, const char *text) {
    serve_conn *c = s->conn;
    tly_wire_fail_stream(c->wire, s->id, code, text);
    s->closed = 1;
    for (serve_stream *other = c->streams; other != NULL && s->origin != 0; other = other->next) {
        other->closed |= other->origin == s->origin; /* all shards go together */
    }
    atomic_fetch_add(&c->server->failed, 1);
    tly_base_log(c->server->context, TLY_LOG_WARNING, "connection %llu stream %u: %s: %s",
                 (unsigned long long)c->number, s->id, tly_wire_code_name(code), text);
}

/* The peer, or a rule that it broke, has closed a stream. */
void tly_serve_stream_closed(serve_conn *c, uint32_t id) {
    serve_stream *s = tly_serve_find_stream(c, id);
    if (s != NULL) {
        s->closed = 1;
    }
}

static uint64_t frame_len(const serve_conn *c) {
    uint64_t len = c->server->options.frame_len;
    uint64_t most = tly_wire_max_frame(c->wire);
    return len < most ? len : most;
}

/* Half of what a connection may hold is for data, so that PING and ERROR still find a way in. */
static uint64_t data_limit(const serve_conn *c) {
    return c->server->options.max_queued_len / 2;
}

/* What is on its way out. */
static uint64_t going(const serve_conn *c) {
    return c->buffered - c->coming;
}

/* How much is packed in one piece. Small pieces leave earlier; large ones read the source better,
 * since a piece of a panel takes a strip of every row. */
static uint64_t chunk_len(const serve_conn *c, uint64_t total) {
    uint64_t len = total / 16, least = c->server->options.frame_len;
    uint64_t most = data_limit(c) / 4;
    if (most > SERVE_MAX_CHUNK_LEN) {
        most = SERVE_MAX_CHUNK_LEN;
    }
    if (len < least) {
        len = least;
    }
    return len < most ? len : most;
}

/* From here on the stream's bytes are made by `maker`; NULL: they are there. */
static void begin_making(serve_stream *s, const tly_maker *maker) {
    s->maker = maker;
    s->num_started = s->num_sent = s->next_unit = s->num_units = s->skipped = 0;
    if (maker != NULL) {
        uint64_t unit = tly_maker_unit_len(maker);
        uint64_t len = chunk_len(s->conn, s->total);
        s->num_units = tly_maker_num_units(maker);
        s->units_per_chunk = unit != 0 && unit < len ? len / unit : 1;
    }
}

/* The next member of a composite, on the same stream. */
static void begin_member(serve_stream *s) {
    const tly_answer_member *m = &s->answer->answer.members[s->next_member++];
    tly_error error;
    if (tly_wire_send_descriptor(s->conn->wire, s->id, m->descriptor, m->descriptor_len, m->total,
                                 &error) != TLY_OK) {
        tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED, error.message);
        return;
    }
    s->parts = m->parts;
    s->num_parts = m->num_parts;
    s->part = 0;
    s->part_done = 0;
    s->queued = 0;
    s->total = m->total;
    begin_making(s, m->maker);
}

static void finish(serve_stream *s) {
    serve_conn *c = s->conn;
    tly_error error;
    if (tly_wire_send_end(c->wire, s->id, &error) != TLY_OK) {
        tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED, error.message);
        return;
    }
    if (s->next_member < s->answer->answer.num_members) {
        begin_member(s);
        return;
    }
    s->closed = 1;
    if (s->origin != 0 && s->origin != s->id) {
        return; /* of an answer in shards the first one counts */
    }
    atomic_fetch_add(&c->server->served, 1);
    if (s->answer->answer.maker != NULL && !tly_maker_copies(s->answer->answer.maker)) {
        atomic_fetch_add(&c->server->packed, 1);
    }
}

/* ---- bytes that are there: native, or of a variant ---- */

/* A file that lost bytes gives zeros instead (tly_store_guard_begin), so the end of a tensor leaves
 * only when all of its bytes have, and the file was whole after that. */
static int is_intact(const serve_stream *s) {
    const tly_store *store = s->answer->answer.store;
    return s->reader.variant != NULL || store == NULL || tly_store_intact(store);
}

/* How much of a part is there and wanted, from where we are: a variant may still be in the making,
 * and a shard is a range of the only part. */
static uint64_t part_left(const serve_stream *s, const tly_catalogue_bytes *part) {
    uint64_t end = s->reader.variant != NULL ? s->reader.variant->done_len : part->len;
    end = end < s->until ? end : s->until;
    return end > s->part_done ? end - s->part_done : 0;
}

int tly_serve_ends_soon(const serve_stream *s) {
    return !s->closed && s->answered && s->maker == NULL && s->reader.variant == NULL &&
           s->queued == s->total && s->native.refs != 0;
}

static void pump_native(serve_stream *s) {
    serve_conn *c = s->conn;
    tly_error error;
    while (s->part < s->num_parts && going(c) < data_limit(c)) {
        const tly_catalogue_bytes *part = &s->parts[s->part];
        uint64_t len = part_left(s, part);
        if (s->part_done == part->len) {
            s->part++;
            s->part_done = 0;
            continue;
        }
        if (len > s->native.len) {
            len = s->native.len;
        }
        if (s->queued == 0 && len > FIRST_FRAME && s->total > LEAST_SPLIT) {
            len = FIRST_FRAME;
        }
        if (len == 0) {
            break;
        }
        if (tly_wire_send_data(c->wire, s->id, part->at + s->part_done, len, &s->native, &error) !=
            TLY_OK) {
            tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED, error.message);
            return;
        }
        s->native.refs++;
        c->buffered += s->native.len;
        s->part_done += len;
        s->queued += len;
    }
    if (s->queued == s->total && (s->reader.variant != NULL || s->native.refs == 0)) {
        if (!is_intact(s)) {
            tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED,
                                  "the file of this tensor was cut short while it was being sent");
            return;
        }
        finish(s);
    }
}

/* A variant that is still being made stays in memory only: pages that the kernel holds for a socket
 * would keep its file from being sealed. */
int tly_serve_in_file(const tly_wire_span *span, int *out_fd, uint64_t *out_offset) {
    const serve_chunk *chunk = span->token;
    const serve_stream *s = chunk->stream;
    const uint8_t *at = span->at;
    if (!chunk->is_native ||
        (s->reader.variant != NULL && s->reader.variant->state != VARIANT_READY)) {
        return 0;
    }
    for (uint32_t i = 0; i < s->num_parts; i++) {
        const tly_catalogue_bytes *part = &s->parts[i];
        if (part->fd >= 0 && (uintptr_t)at - (uintptr_t)part->at < part->len) {
            *out_fd = part->fd;
            *out_offset = part->offset + (uint64_t)(at - part->at);
            return 1;
        }
    }
    return 0;
}

/* ---- packed ---- */

/* On a thread of the pool. */
static void pack(uv_work_t *work) {
    serve_job *job = work->data;
    serve_stream *s = job->stream;
    const tly_answer *a = &s->answer->answer;
    tly_store_guard guard;
    if (job->wants_hold) {
        job->status = tly_answer_hold(a, &s->cancel, &job->hold);
        if (job->status != TLY_OK) {
            return;
        }
    }
    if (tly_maker_has_gaps(s->maker)) { /* what was in the buffer before is nobody's business */
        memset(job->chunk->data, 0, (size_t)job->chunk->len);
    }
    if (a->store != NULL) {
        tly_store_guard_begin(a->store, &guard);
    }
    job->status =
        tly_maker_run(s->maker, job->first_unit, job->num_units, job->chunk->data, &s->cancel);
    if (a->store != NULL && tly_store_guard_end(&guard, NULL) != TLY_OK) {
        job->status = TLY_TRUNCATED;
    }
}

static void send_chunk(serve_stream *s, serve_chunk *chunk) {
    serve_conn *c = s->conn;
    uint64_t step = frame_len(c), done = s->skipped;
    tly_error error;
    s->skipped = 0;
    chunk->refs = 1; /* ours, so that it cannot go away before the last frame is queued */
    for (; done < chunk->len; done += step) {
        uint64_t len = chunk->len - done < step ? chunk->len - done : step;
        if (tly_wire_send_data(c->wire, s->id, chunk->data + done, len, chunk, &error) != TLY_OK) {
            tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED, error.message);
            break;
        }
        chunk->refs++;
    }
    if (--chunk->refs == 0) {
        tly_serve_give_chunk(c, chunk);
    }
}

/* Sends what is packed, as far as no earlier piece is missing. */
static void send_done(serve_stream *s) {
    serve_conn *c = s->conn;
    while (s->num_sent < s->num_started && s->jobs[s->num_sent % SERVE_JOBS].done) {
        serve_job *job = &s->jobs[s->num_sent++ % SERVE_JOBS];
        if (!s->closed && job->status == TLY_OK) {
            send_chunk(s, job->chunk);
            continue;
        }
        tly_serve_give_chunk(c, job->chunk);
        if (!s->closed) {
            tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED,
                                  tly_answer_failure(&s->answer->answer, job->status));
        }
    }
}

/* On the loop: a piece is packed. */
static void packed(uv_work_t *work, int status) {
    serve_job *job = work->data;
    serve_stream *s = job->stream;
    serve_conn *c = s->conn;
    (void)status; /* work is never cancelled */
    job->done = 1;
    s->busy--;
    c->num_jobs--;
    if (s->hold.blocks == NULL) {
        s->hold = job->hold;
    } else {
        tly_blocks_release(&job->hold);
    }
    if (c->state == CONN_DEAD) {
        tly_serve_conn_reap(c);
        return;
    }
    send_done(s);
    tly_serve_conn_run(c);
}

/* Starts the next piece. Returns 0 when the socket is full: then something has to leave first. */
static int start_job(serve_stream *s) {
    serve_conn *c = s->conn;
    serve_job *job = &s->jobs[s->num_started % SERVE_JOBS];
    uint64_t unit = tly_maker_unit_len(s->maker);
    uint64_t count = s->num_units - s->next_unit, len;
    if (count > s->units_per_chunk) {
        count = s->units_per_chunk;
    }
    len = s->next_unit + count == s->num_units ? tly_maker_len(s->maker) - s->next_unit * unit
                                               : count * unit;
    if (going(c) != 0 && going(c) + len > data_limit(c)) {
        return 0;
    }
    if (!tly_serve_has_room(s, len)) {
        c->starved = c->server->starving = 1; /* goes on when somebody gives some back */
        return 0;
    }
    job->chunk = tly_serve_take_chunk(s, (size_t)len);
    if (job->chunk == NULL) {
        tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED, "no memory to pack into");
        return 0;
    }
    job->stream = s;
    job->task.work.data = job;
    job->first_unit = s->next_unit;
    job->num_units = count;
    job->done = 0;
    job->status = TLY_OK;
    job->wants_hold = tly_answer_wants_hold(&s->answer->answer) && s->hold.blocks == NULL;
    job->hold.blocks = NULL;
    s->next_unit += count;
    s->num_started++;
    s->busy++;
    c->num_jobs++;
    tly_workers_queue(&c->server->workers, &c->server->loop,
                      job->wants_hold || tly_maker_copies(s->maker), &job->task, pack, packed);
    return 1;
}

static void pump_packed(serve_stream *s) {
    while (s->next_unit < s->num_units && s->num_started - s->num_sent < SERVE_JOBS) {
        if (!start_job(s)) {
            return;
        }
    }
    if (s->next_unit == s->num_units && s->num_sent == s->num_started) {
        finish(s);
    }
}

void tly_serve_stream_pump(serve_stream *s) {
    if (s->upload != NULL) {
        tly_serve_upload_pump(s);
        return;
    }
    if (s->closed || !s->answered) {
        return;
    }
    uint32_t member;
    do { /* members without data are over at once */
        member = s->next_member;
        if (s->maker != NULL) {
            pump_packed(s);
        } else {
            pump_native(s);
        }
    } while (!s->closed && s->next_member != member);
}

/* ---- the request ---- */

static void refuse(serve_conn *c, uint32_t id, uint32_t code, const char *text) {
    tly_wire_fail_stream(c->wire, id, code, text);
    atomic_fetch_add(&c->server->failed, 1);
    tly_base_log(c->server->context, TLY_LOG_INFO, "connection %llu stream %u: %s: %s",
                 (unsigned long long)c->number, id, tly_wire_code_name(code), text);
}

void tly_serve_begin(serve_stream *s) {
    const tly_answer *a = &s->answer->answer;
    const tly_variant *v = s->reader.variant;
    s->parts = a->parts;
    s->num_parts = a->num_parts;
    if (v != NULL) {
        s->whole.at = v->map;
        s->whole.len = v->len;
        s->whole.fd = v->fd;
        s->whole.offset = v->file_offset;
        s->parts = &s->whole;
        s->num_parts = 1;
    }
    begin_making(s, v != NULL ? NULL : a->maker);
    s->part_done = s->from;
    s->answered = 1;
}

/* On a thread of the pool: reading a descriptor may wait for the disk, and a profile's probe packs
 * matrices. */
static void decide(uv_work_t *work) {
    serve_stream *s = work->data;
    tly_server *server = s->conn->server;
    s->status = tly_answer_init(&s->answer->answer, server->context, s->answer->offer->catalogue,
                                &s->limits, tly_wire_peer(s->conn->wire), &s->answer->request,
                                &s->code, &s->error);
}

/* The descriptor goes out; returns 0 if the peer does not take it. */
static int send_descriptor(serve_stream *s) {
    const tly_answer *a = &s->answer->answer;
    if (tly_wire_send_descriptor(s->conn->wire, s->id, a->descriptor, a->descriptor_len, a->total,
                                 &s->error) == TLY_OK) {
        return 1;
    }
    refuse(s->conn, s->id, TLY_WIRE_TOO_LARGE, s->error.message);
    s->closed = 1;
    return 0;
}

/* docs/spec/range.md: where the request allows that we begin in the middle, the peer is told which
 * bytes these are and where they will begin. Returns where that is. */
static uint64_t say_range(serve_stream *s) {
    serve_conn *c = s->conn;
    const tly_answer *a = &s->answer->answer;
    tly_range wanted, range = {0};
    uint8_t bytes[TLY_RANGE_LEN];
    if (!c->has_ranges || a->num_members != 0 || a->variant_len == 0 || a->source.inode == 0 ||
        !tly_net_range_find(&s->answer->request.layouts, &wanted)) {
        return 0;
    }
    for (uint32_t i = 0; i < 2; i++) {
        tly_base_store_u64(range.version + 8 * i,
                           tly_panel_hash64(a->variant, a->variant_len, i + 1, 1));
    }
    if (wanted.first <= a->total &&
        memcmp(wanted.version, range.version, sizeof range.version) == 0) {
        range.first = wanted.first;
    }
    tly_net_range_put(&range, bytes);
    return tly_wire_send_private(c->wire, TLY_RANGE_TYPE, s->id, bytes, sizeof bytes, -1, NULL,
                                 &s->error) == TLY_OK
               ? range.first
               : 0;
}

/* Goes to byte `first` of all parts back to back. */
static void skip_to(serve_stream *s, uint64_t first) {
    s->queued = first;
    if (s->maker != NULL) {
        uint64_t unit = tly_maker_unit_len(s->maker);
        s->next_unit = first == s->total ? s->num_units : first / unit;
        s->skipped = first == s->total ? 0 : first % unit;
        return;
    }
    while (s->part < s->num_parts && first >= s->parts[s->part].len) {
        first -= s->parts[s->part++].len;
    }
    s->part_done = first;
}

static void answer_in_frames(serve_stream *s) {
    uint64_t first;
    if (tly_serve_in_shards(s)) {
        return;
    }
    first = say_range(s);
    if (send_descriptor(s)) {
        tly_serve_begin(s);
        if (first != 0 && tly_wire_begin_at(s->conn->wire, s->id, first) == TLY_OK) {
            skip_to(s, first);
        }
    }
}

/* docs/spec/handover.md: the file, the descriptor, and no frames. */
static void hand_over(serve_stream *s) {
    serve_conn *c = s->conn;
    const tly_variant *v = s->reader.variant;
    const tly_handover message = {.total_data_bytes = v->len};
    uint8_t bytes[TLY_HANDOVER_LEN];
    tly_net_handover_put(&message, bytes);
    if (tly_wire_send_private(c->wire, TLY_HANDOVER_TYPE, s->id, bytes, sizeof bytes, v->share_fd,
                              &s->native, &s->error) != TLY_OK) {
        tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED, s->error.message);
        return;
    }
    s->native.refs++; /* the file stays open until the message has left */
    c->buffered += s->native.len;
    if (send_descriptor(s)) {
        tly_wire_data_elsewhere(c->wire, s->id);
        finish(s);
        atomic_fetch_add(&c->server->handed, 1);
    }
}

/* A variant is whole, or as whole as it gets. One that cannot be sealed is sent instead. */
static void handing_moved(serve_stream *s) {
    tly_variant *v = s->reader.variant;
    variant_share share = v->state == VARIANT_READY ? tly_variant_share(v) : VARIANT_SHARE_COPYING;
    if (share == VARIANT_SHARE_COPYING) {
        return; /* comes back here */
    }
    s->handing = 0;
    if (share == VARIANT_SHARE_READY) {
        hand_over(s);
    } else {
        answer_in_frames(s);
    }
}

/* The variant that a stream reads has more bytes, or has been given up. */
void tly_serve_variant_moved(variant_reader *reader) {
    serve_stream *s = (serve_stream *)(void *)((char *)reader - offsetof(serve_stream, reader));
    if (s->conn->state == CONN_DEAD) {
        return; /* it goes when its jobs and its socket are back */
    }
    if (!s->closed && reader->variant->state == VARIANT_BROKEN) {
        tly_serve_stream_fail(s, TLY_WIRE_SERVER_FAILED,
                              reader->variant->failure != NULL
                                  ? reader->variant->failure
                                  : "the file of this tensor changed while it was being packed");
    } else if (!s->closed && s->handing) {
        handing_moved(s);
    }
    tly_serve_conn_run(s->conn);
}

/* The decision is there. */
static void answer(serve_stream *s) {
    serve_conn *c = s->conn;
    tly_server *server = c->server;
    const tly_answer *a = &s->answer->answer;
    const tly_wire_request *request = &s->answer->request;
    int handing = c->hands_over && a->total >= LEAST_HANDOVER;
    char key[160];
    if (tly_base_logs(server->context, TLY_LOG_INFO)) {
        tly_base_log(server->context, TLY_LOG_INFO,
                     "connection %llu stream %u: \"%s\", %llu bytes: %s",
                     (unsigned long long)c->number, s->id,
                     tly_base_printable(key, sizeof key, request->key, request->key_len),
                     (unsigned long long)a->total, a->reason);
    }
    s->until = UINT64_MAX;
    s->total = a->total;
    s->native.stream = s;
    s->native.is_native = 1;
    s->native.len = frame_len(c); /* what a native frame counts for */
    if ((handing || (a->maker != NULL && !tly_maker_copies(a->maker))) &&
        tly_variant_open(server, s->answer, &s->reader) && handing) {
        s->handing = 1;
        handing_moved(s);
        return;
    }
    answer_in_frames(s);
}

/* On the loop. */
static void decided(uv_work_t *work, int status) {
    serve_stream *s = work->data;
    serve_conn *c = s->conn;
    uint64_t spent = s->budget_before - s->limits.probe_budget;
    (void)status; /* work is never cancelled */
    s->busy--;
    c->num_jobs--;
    c->probe_budget -= spent < c->probe_budget ? spent : c->probe_budget;
    if (s->status == TLY_OK && s->answer->offer == c->server->offer) {
        tly_memo_keep(&c->server->memo, s->answer);
    }
    if (c->state == CONN_DEAD) {
        tly_serve_conn_reap(c);
        return;
    }
    if (!s->closed && s->status != TLY_OK) {
        refuse(c, s->id, s->code, s->error.message);
        s->closed = 1;
    } else if (!s->closed) {
        answer(s);
    }
    tly_serve_conn_run(c);
}

/* An answer that has been given before to the same request, or NULL. */
static serve_answer *remembered(tly_server *server, const tly_wire_request *request,
                                const tly_wire_hello *client) {
    uint8_t question[TLY_MEMO_MAX_LEN];
    size_t len = tly_memo_question_len(request, client);
    if (len > sizeof question) {
        return NULL;
    }
    tly_memo_question(request, client, question);
    return tly_memo_find(&server->memo, server->offer, question, len);
}

void tly_serve_request(serve_conn *c, uint32_t id, const tly_wire_request *request) {
    tly_server *server = c->server;
    const tly_wire_hello *client = tly_wire_peer(c->wire);
    serve_stream *s;
    atomic_fetch_add(&server->requests, 1);
    if (server->stopping) {
        refuse(c, id, TLY_WIRE_BUSY, "the server is stopping");
        return;
    }
    /* Before it is looked for: whoever may not have a tensor does not learn whether it is there. */
    if (!tly_serve_allows(c, TLY_ACCESS_GET, request->key, request->key_len)) {
        refuse(c, id, TLY_WIRE_REFUSED, "this client may not get that tensor");
        return;
    }
    s = tly_base_calloc(server->context, sizeof *s, _Alignof(serve_stream));
    if (s == NULL) {
        refuse(c, id, TLY_WIRE_SERVER_FAILED, "no memory for a stream");
        return;
    }
    s->conn = c;
    s->id = id;
    s->next = c->streams;
    s->answer = remembered(server, request, client);
    if (s->answer != NULL) {
        c->streams = s;
        answer(s);
        return;
    }
    s->answer = tly_memo_new_answer(server->context, server->offer, request, client);
    if (s->answer == NULL) {
        tly_base_free(server->context, s, sizeof *s, _Alignof(serve_stream));
        refuse(c, id, TLY_WIRE_SERVER_FAILED, "no memory for a stream");
        return;
    }
    c->streams = s;
    s->limits.transcode_limit = server->options.transcode_limit;
    s->limits.verdicts = server->verdicts;
    s->limits.families = server->options.families;
    s->limits.cancel = &s->cancel;
    s->limits.probe_budget = s->budget_before = c->probe_budget;
    s->busy++;
    s->task.work.data = s;
    c->num_jobs++;
    tly_workers_queue(&server->workers, &server->loop,
                      tly_catalogue_waits(server->offer->catalogue, request->key, request->key_len),
                      &s->task, decide, decided);
}
