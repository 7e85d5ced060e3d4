/* SPDX-License-Identifier: Apache-2.0 */
/* One tensor on its way in. Two pieces of memory, whatever its size: while one is written to disk
 * on another thread, the other fills from the socket; when both are full the connection takes no
 * more input. The acknowledgement leaves when the container is durable and open. */
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "serve/server.h"

#define PIECE_LEN (UINT64_C(256) << 10)

static void refuse(serve_conn *c, uint32_t id, uint32_t code, const char *text) {
    tly_wire_fail_stream(c->wire, id, code, text);
    atomic_fetch_add(&c->server->failed, 1);
    tly_base_log(c->server->context, TLY_LOG_INFO, "connection %llu stream %u: %s: %s",
                 (unsigned long long)c->number, id, tly_wire_code_name(code), text);
}

/* Gives the pieces back; no thread writes from them. */
static void give_pieces(serve_stream *s) {
    for (int i = 0; i < 2; i++) {
        if (s->upload->pieces[i] != NULL) {
            tly_serve_give_chunk(s->conn, s->upload->pieces[i]);
            s->upload->pieces[i] = NULL;
        }
    }
}

void tly_serve_free_upload(serve_stream *s) {
    if (s->upload == NULL) {
        return;
    }
    give_pieces(s);
    tly_uploads_end(&s->upload->writer);
    tly_base_free(s->conn->server->context, s->upload, sizeof *s->upload, _Alignof(serve_upload));
}

static void fail(serve_stream *s, uint32_t code, const char *text) {
    tly_serve_stream_fail(s, code, text);
    s->upload->ended = 1;
}

/* Names the place for what comes next. Returns 0 when the stream failed. */
static int next_piece(serve_stream *s) {
    serve_upload *u = s->upload;
    uint64_t len = u->total - u->placed;
    serve_chunk **piece = &u->pieces[u->filling];
    if (len > PIECE_LEN) {
        len = PIECE_LEN;
    }
    if (len == 0) {
        return 1;
    }
    if (*piece == NULL) {
        *piece = tly_serve_take_chunk(s, (size_t)len);
        if (*piece == NULL) {
            fail(s, TLY_WIRE_SERVER_FAILED, "no memory to receive into");
            return 0;
        }
    }
    u->piece_len = len;
    u->placed += len;
    return tly_wire_set_destination(s->conn->wire, s->id, (*piece)->data, len) == TLY_OK;
}

/* ---- on a thread of the pool ---- */

static void write_piece(uv_work_t *work) {
    serve_stream *s = work->data;
    serve_upload *u = s->upload;
    s->status =
        tly_uploads_append(&u->writer, u->pieces[u->writing]->data, u->writing_len, &s->error);
}

static void commit(uv_work_t *work) {
    serve_stream *s = work->data;
    s->status = tly_uploads_commit(&s->upload->writer, &s->error);
}

/* ---- on the loop ---- */

/* Broken contents are the client's fault, anything else ours. */
static uint32_t fault_of(tly_status status) {
    return status == TLY_MALFORMED ? TLY_WIRE_INVALID_MESSAGE : TLY_WIRE_SERVER_FAILED;
}

static void job_done(uv_work_t *work, int status) {
    serve_stream *s = work->data;
    serve_conn *c = s->conn;
    (void)status; /* work is never cancelled */
    s->busy--;
    c->num_jobs--;
    if (c->state == CONN_DEAD) {
        tly_serve_conn_reap(c);
        return;
    }
    c->moved_at = uv_now(&c->server->loop); /* it was us whom the peer waited for */
    if (s->status != TLY_OK && !s->closed) {
        fail(s, fault_of(s->status), s->error.message);
    }
    tly_serve_conn_run(c);
}

static void start_job(serve_stream *s, uv_work_cb work) {
    serve_conn *c = s->conn;
    s->busy++;
    c->num_jobs++;
    s->task.work.data = s;
    uv_queue_work(&c->server->loop, &s->task.work, work,
                  job_done); /* fails on NULL arguments only */
}

static void acknowledge(serve_stream *s) {
    serve_conn *c = s->conn;
    char key[160];
    const tly_upload *upload = s->upload->writer.upload;
    if (tly_wire_send_ack(c->wire, s->id, &s->error) != TLY_OK) {
        fail(s, TLY_WIRE_SERVER_FAILED, s->error.message);
        return;
    }
    s->closed = 1;
    atomic_fetch_add(&c->server->put, 1);
    tly_base_log(c->server->context, TLY_LOG_INFO,
                 "connection %llu stream %u: \"%s\" was put, %llu bytes",
                 (unsigned long long)c->number, s->id,
                 tly_base_printable(key, sizeof key, upload->key, upload->key_len),
                 (unsigned long long)s->upload->total);
}

void tly_serve_upload_pump(serve_stream *s) {
    serve_upload *u = s->upload;
    if (s->busy) {
        return;
    }
    if (s->closed) {
        give_pieces(s);
        return;
    }
    if (u->full) {
        u->full = 0;
        u->writing = u->filling;
        u->writing_len = u->piece_len;
        u->filling ^= 1;
        start_job(s, write_piece);
        (void)next_piece(s);
    } else if (u->ended && !u->committing) {
        u->committing = 1;
        start_job(s, commit);
    } else if (u->committing) {
        tly_memo_clear(&s->conn->server->memo); /* answers from the tensor that was there before */
        acknowledge(s);
        give_pieces(s);
    }
}

/* A piece is full when it is, or when there is no more. */
void tly_serve_upload_data(serve_conn *c, uint32_t id, uint64_t received) {
    serve_stream *s = tly_serve_find_stream(c, id);
    if (s == NULL || s->upload == NULL) {
        return;
    }
    if (received == s->upload->placed) {
        s->upload->full = 1;
        tly_serve_upload_pump(s);
    }
}

void tly_serve_upload_ended(serve_conn *c, uint32_t id) {
    serve_stream *s = tly_serve_find_stream(c, id);
    if (s != NULL && s->upload != NULL) {
        s->upload->ended = 1;
        tly_serve_upload_pump(s);
    }
}

/* The peer sends nothing more: what is not whole never will be. */
void tly_serve_uploads_cut(serve_conn *c) {
    for (serve_stream *s = c->streams; s != NULL; s = s->next) {
        if (s->upload != NULL && !s->upload->ended && !s->closed) {
            fail(s, TLY_WIRE_INVALID_MESSAGE, "the connection ended before the tensor did");
        }
    }
}

static uint32_t code_of(tly_status status) {
    return status == TLY_EXISTS             ? TLY_WIRE_BUSY
           : status == TLY_INVALID_ARGUMENT ? TLY_WIRE_INVALID_MESSAGE
                                            : TLY_WIRE_SERVER_FAILED;
}

static serve_stream *new_stream(serve_conn *c, uint32_t id, const tly_wire_put *put) {
    const tly_context *context = c->server->context;
    serve_stream *s = tly_base_calloc(context, sizeof *s, _Alignof(serve_stream));
    serve_upload *u = tly_base_calloc(context, sizeof *u, _Alignof(serve_upload));
    if (s == NULL || u == NULL) {
        tly_base_free(context, s, sizeof *s, _Alignof(serve_stream));
        tly_base_free(context, u, sizeof *u, _Alignof(serve_upload));
        return NULL;
    }
    s->conn = c;
    s->id = id;
    s->upload = u;
    u->total = put->total_data_bytes;
    return s;
}

/* Why this tensor is not wanted; NULL: it is. */
static const char *objection(const serve_conn *c, const tly_wire_put *put, uint32_t *out_code) {
    const tly_server *server = c->server;
    *out_code = TLY_WIRE_REFUSED;
    if (tly_catalogue_uploads(server->offer->catalogue) == NULL) {
        return "this server takes no tensors";
    }
    if (!tly_serve_allows(c, TLY_ACCESS_PUT, put->key, put->key_len)) {
        return "this client may not put that tensor";
    }
    if (tly_catalogue_is_fixed(server->offer->catalogue, put->key, put->key_len)) {
        return "the tensor with this key is served from a file and cannot be replaced";
    }
    *out_code = TLY_WIRE_TOO_LARGE;
    if (put->total_data_bytes > server->options.upload_limit) {
        return "the tensor is larger than this server accepts";
    }
    *out_code = TLY_WIRE_BUSY;
    if (server->stopping) {
        return "the server is stopping";
    }
    if (c->buffered + 2 * PIECE_LEN > server->options.max_queued_len) {
        return "too much is under way on this connection";
    }
    return NULL;
}

void tly_serve_put(serve_conn *c, uint32_t id, const tly_wire_put *put) {
    uint32_t code;
    const char *why = objection(c, put, &code);
    serve_stream *s;
    tly_error error;
    tly_status status;
    atomic_fetch_add(&c->server->requests, 1);
    if (why != NULL) {
        refuse(c, id, code, why);
        return;
    }
    s = new_stream(c, id, put);
    if (s == NULL) {
        refuse(c, id, TLY_WIRE_SERVER_FAILED, "no memory for a stream");
        return;
    }
    status = tly_uploads_begin(tly_catalogue_uploads(c->server->offer->catalogue), put->key,
                               put->key_len, put->descriptor, put->descriptor_len,
                               &s->upload->writer, &error);
    if (status != TLY_OK) {
        refuse(c, id, code_of(status), error.message);
        tly_serve_free_upload(s);
        tly_base_free(c->server->context, s, sizeof *s, _Alignof(serve_stream));
        return;
    }
    s->offer = tly_offer_hold(c->server->offer); /* it keeps the folder open */
    s->next = c->streams;
    c->streams = s;
    (void)next_piece(s);
}
