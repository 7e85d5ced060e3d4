/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers for packed pieces that are sent once and kept by nobody. */
#include "base/context.h"
#include "serve/server.h"

#define MAX_SPARE    8
#define PAGE_ALIGNED 4096

/* Tensors that are elsewhere have a limit of their own: a store that keeps silent holds up nobody
 * who packs from a file. Nor does a client that puts slowly, whose bound is its connection's. */
static uint64_t *share_of(const serve_stream *s) {
    tly_server *server = s->conn->server;
    return s->upload != NULL                                       ? &server->coming
           : s->answer != NULL && s->answer->answer.blocks != NULL ? &server->far
                                                                   : &server->packing;
}

int tly_serve_has_room(const serve_stream *s, uint64_t len) {
    uint64_t used = *share_of(s);
    return used == 0 || used + len <= s->conn->server->options.max_packing_len;
}

serve_chunk *tly_serve_take_chunk(serve_stream *s, size_t len) {
    tly_server *server = s->conn->server;
    serve_chunk **link = &server->spare;
    serve_chunk *chunk;
    while (*link != NULL && (*link)->capacity < len) {
        link = &(*link)->next;
    }
    chunk = *link;
    if (chunk != NULL) {
        *link = chunk->next;
        server->num_spare--;
    } else {
        chunk = tly_base_calloc(server->context, sizeof *chunk, _Alignof(serve_chunk));
        if (chunk == NULL) {
            return NULL;
        }
        chunk->data = tly_base_alloc(server->context, len, PAGE_ALIGNED);
        chunk->capacity = len;
        if (chunk->data == NULL) {
            tly_base_free(server->context, chunk, sizeof *chunk, _Alignof(serve_chunk));
            return NULL;
        }
    }
    chunk->stream = s;
    chunk->refs = 0;
    chunk->len = len;
    chunk->next = s->conn->chunks;
    s->conn->chunks = chunk;
    s->conn->buffered += len;
    server->buffered += len;
    chunk->share = share_of(s);
    *chunk->share += len;
    s->conn->coming += chunk->share == &server->coming ? len : 0;
    if (server->buffered > atomic_load(&server->max_buffered)) {
        atomic_store(&server->max_buffered, server->buffered);
    }
    return chunk;
}

static void free_chunk(tly_server *server, serve_chunk *chunk) {
    tly_base_free(server->context, chunk->data, chunk->capacity, PAGE_ALIGNED);
    tly_base_free(server->context, chunk, sizeof *chunk, _Alignof(serve_chunk));
}

void tly_serve_give_chunk(serve_conn *c, serve_chunk *chunk) {
    tly_server *server = c->server;
    serve_chunk **link = &c->chunks;
    while (*link != chunk) {
        link = &(*link)->next;
    }
    *link = chunk->next;
    c->buffered -= chunk->len;
    server->buffered -= chunk->len;
    *chunk->share -= chunk->len;
    c->coming -= chunk->share == &server->coming ? chunk->len : 0;
    if (server->starving) {
        server->starving = 0;
        uv_async_send(&server->fed);
    }
    if (server->num_spare == MAX_SPARE || chunk->capacity > SERVE_MAX_CHUNK_LEN) {
        free_chunk(server, chunk);
        return;
    }
    chunk->next = server->spare;
    server->spare = chunk;
    server->num_spare++;
}

void tly_serve_free_spare(tly_server *server) {
    while (server->spare != NULL) {
        serve_chunk *chunk = server->spare;
        server->spare = chunk->next;
        free_chunk(server, chunk);
    }
    server->num_spare = 0;
}

/* Takes back what frames held that have left or were dropped. */
void tly_serve_release(serve_conn *c) {
    void *token;
    while (tly_wire_next_released(c->wire, &token)) {
        serve_chunk *chunk = token;
        chunk->refs--;
        if (chunk->is_native) {
            c->buffered -= chunk->stream->native.len;
        } else if (chunk->refs == 0) {
            tly_serve_give_chunk(c, chunk);
        }
    }
}
