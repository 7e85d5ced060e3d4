/* SPDX-License-Identifier: Apache-2.0 */
/* What the simulator has: transfers, memory that can run out, and the wire between both ends. */
#ifndef TLY_TESTS_WIRE_SIM_H
#define TLY_TESTS_WIRE_SIM_H

#include "wire/plain.h"

#define MAX_TRANSFERS 6
#define MAX_PIECES    6
#define MAX_TOTAL     12000
#define PIPE_LEN      4000
#define PRIVATE_TYPE  0xF3u
#define MAX_FLIGHT    64 /* attachments on the way */

typedef enum transfer_kind { GET = 0, SHARDS, COMPOSITE, PUT } transfer_kind;

/* One tensor: what one end sends and the other gets. */
typedef struct piece {
    plain_bytes descriptor;
    uint64_t total, queued;
    int described; /* its descriptor has been sent */
    /* the receiver's */
    uint8_t *dest;
    uint64_t placed, windowed; /* bytes; those that have, or had, a place */
    int waits;                 /* its destination is full, and the next not named */
    uint32_t stream;
    int whole;
} piece;

/* A request or an upload. */
typedef struct transfer {
    transfer_kind kind;
    uint32_t id; /* stream of the request */
    piece pieces[MAX_PIECES];
    uint32_t num_pieces, next_piece; /* to come: answers on one stream */
    int asked;                       /* the server knows of it */
    int sharded;                     /* its shards have streams */
    int end_queued;                  /* upload: all is said */
    int reply_due;                   /* upload: it is whole, the server has not answered */
    int server_over, client_over;    /* each end has done with it */
    int ended;                       /* whole, as the client sees it */
    int spoiled;
    int gone[MAX_PIECES]; /* the server has closed this piece's stream */
} transfer;

typedef struct sim_pipe {
    uint8_t bytes[PIPE_LEN];
    size_t len;
    int32_t attachments[MAX_FLIGHT];
    uint32_t num_attachments;
} sim_pipe;

/* Memory that can run out, and is counted. */
typedef struct sim_memory {
    int64_t live;        /* blocks */
    int64_t until_fails; /* allocations; < 0: never */
    int failed;
} sim_memory;

typedef struct sim {
    check_rng rng;
    sim_memory memory;
    tly_context *context;
    tly_wire *client, *server;
    sim_pipe up, down;
    transfer transfers[MAX_TRANSFERS];
    uint32_t num;
    uint32_t max_frame_down, max_frame_up;
    int tokens_out;
    int broken;           /* an end has no memory: the connection is dead */
    uint64_t told, heard; /* numbers of private messages to the client */
    uint64_t private_count;
} sim;

static inline void *sim_resize(void *user, void *old, size_t old_size, size_t new_size,
                               size_t alignment) {
    sim_memory *m = user;
    (void)old_size;
    (void)alignment; /* malloc's is enough for what a connection asks for */
    if (new_size == 0) {
        m->live -= old != NULL;
        free(old);
        return NULL;
    }
    if (m->until_fails == 0) {
        m->failed = 1;
        return NULL;
    }
    m->until_fails -= m->until_fails > 0;
    m->live += old == NULL;
    return realloc(old, new_size);
}

static inline uint64_t below(sim *s, uint64_t bound) {
    return check_below(&s->rng, bound);
}

/* The call worked, or failed for want of memory that we withheld. Returns 1 if it worked. */
static inline int worked(sim *s, tly_status status, const tly_error *error) {
    if (status == TLY_OK) {
        return 1;
    }
    if (status != TLY_OUT_OF_MEMORY || !s->memory.failed) {
        fail_msg("%s: %s", tly_status_name(status), error != NULL ? error->message : "");
    }
    s->broken = 1;
    return 0;
}

static inline uint8_t data_at(const transfer *t, const piece *p, uint64_t offset) {
    uint64_t which = (uint64_t)(p - t->pieces) * 17 + t->id * 37;
    return (uint8_t)(1 + (which + offset * 11 + (offset >> 9)) % 255); /* never 0 */
}

static inline transfer *transfer_of(sim *s, uint32_t id) {
    for (uint32_t i = 0; i < s->num; i++) {
        if (s->transfers[i].id == id) {
            return &s->transfers[i];
        }
    }
    fail_msg("stream %u was never asked for", id);
    return NULL;
}

static inline piece *piece_on(transfer *t, uint32_t stream) {
    for (uint32_t i = 0; i < t->num_pieces; i++) {
        if (t->pieces[i].stream == stream && !t->pieces[i].whole) {
            return &t->pieces[i];
        }
    }
    fail_msg("stream %u carries nothing", stream);
    return NULL;
}

/* ---- the transport ---- */

static inline void move_out(sim *s, tly_wire *from, sim_pipe *pipe) {
    tly_wire_span spans[8];
    uint32_t num = tly_wire_output(from, spans, 1 + (uint32_t)below(s, 8));
    size_t room = (size_t)below(s, PIPE_LEN - pipe->len + 1), sent = 0;
    if (tly_wire_attachment(from) >= 0 && room != 0) {
        assert_int_equal(num, 1); /* the message goes alone */
        if (pipe->num_attachments == MAX_FLIGHT) {
            return;
        }
        pipe->attachments[pipe->num_attachments++] = tly_wire_attachment(from);
    }
    for (uint32_t i = 0; i < num && room != 0; i++) {
        size_t n = spans[i].len < room ? spans[i].len : room;
        memcpy(pipe->bytes + pipe->len, spans[i].at, n);
        pipe->len += n;
        room -= n;
        sent += n;
    }
    tly_wire_sent(from, sent);
}

/* By recv targets or by feed, a few bytes or many. */
static inline void move_in(sim *s, tly_wire *to, sim_pipe *pipe) {
    size_t most = (size_t)below(s, pipe->len + 1), used = 0;
    if (below(s, 2) == 0) {
        worked(s, tly_wire_feed(to, pipe->bytes, most, &used), NULL);
    } else {
        tly_wire_span spans[2];
        uint32_t num = tly_wire_recv_targets(to, spans);
        for (uint32_t i = 0; i < num; i++) {
            size_t n = spans[i].len < most - used ? spans[i].len : most - used;
            memcpy(spans[i].at, pipe->bytes + used, n);
            used += n;
        }
        worked(s, tly_wire_received(to, used), NULL);
    }
    pipe->len -= used;
    memmove(pipe->bytes, pipe->bytes + used, pipe->len);
}

#endif
