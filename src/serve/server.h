/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of the server: server.c (loop, listening, life), connection.c (one peer), stream.c (one
 * tensor on its way). Everything but packing and tly_server_stop happens on the loop's thread. */
#ifndef TLY_SERVE_SERVER_H
#define TLY_SERVE_SERVER_H

#include <stdatomic.h>
#include <sys/types.h>
#include <sys/un.h>
#include <uv.h>

#include "net/channel.h"
#include "net/socket.h"
#include "serve/access.h"
#include "serve/memo.h"
#include "serve/persist.h"
#include "serve/uploads.h"
#include "serve/variant.h"
#include "serve/workers.h"

#define MAX_LISTENERS 8

typedef struct serve_conn serve_conn;
typedef struct serve_stream serve_stream;
typedef struct serve_metrics serve_metrics;
typedef struct serve_chunk serve_chunk;

typedef struct serve_listener {
    uv_poll_t poll;
    tly_server *server;
    int fd;
    dev_t dev; /* of a Unix socket's name, so that nobody else's is removed */
    ino_t ino;
    int kind; /* tly_net_kind */
    char text[sizeof((struct sockaddr_un *)0)->sun_path + 16];
} serve_listener;

struct tly_server {
    const tly_context *context;
    serve_offer *offer;
    tly_server_options options; /* defaults filled in */
    uv_loop_t loop;
    uv_async_t stop;
    uv_async_t fed;         /* packing memory is free again */
    int starving;           /* somebody waits for some */
    serve_metrics *metrics; /* NULL: nobody asked for them */
    atomic_int reload_wanted;
    uv_timer_t tick;
    int loop_open;
    int stopping;
    uint64_t stop_at; /* ms of the loop's clock */
    atomic_int stop_wanted;
    tly_panel_verdicts *verdicts;
    serve_listener *listeners[MAX_LISTENERS];
    uint32_t num_listeners;
    serve_conn *conns;
    uint32_t num_conns;
    uint64_t next_conn; /* for the log */
    serve_chunk *spare; /* chunks kept for reuse */
    uint32_t num_spare;
    uint64_t buffered; /* bytes of chunks in use; of them: */
    uint64_t packing;  /* packed pieces */
    uint64_t far;      /* those of tensors that are elsewhere, and may wait long */
    uint64_t coming;   /* pieces of uploads */
    uint8_t layouts[TLY_ANSWER_LAYOUTS_LEN], local_layouts[TLY_ANSWER_LAYOUTS_LEN];
    tly_wire_layouts layout_list, local_list; /* announced over the network; on this machine */
    tly_net_tls_library tls;                  /* read with the first tls: address */
    serve_workers workers;
    tly_memo memo;
    tly_variants variants;
    tly_persist *persist; /* NULL: variants are not kept */
    int keeping;          /* one is being written */
    atomic_ullong packings, shared, handed, put, restored;
    atomic_ullong accepted, refused, requests, served, packed, failed, sent_len, max_buffered;
};

/* A piece of packed data, or (native) a token for frames that lie in the mapping. */
struct serve_chunk {
    serve_chunk *next; /* among the chunks of a connection, or the spare ones */
    serve_stream *stream;
    uint32_t refs; /* frames that have not left */
    uint32_t is_native;
    uint64_t *share; /* of the server's `buffered` */
    size_t capacity; /* bytes of data */
    uint64_t len;    /* bytes in use */
    uint8_t *data;
};

/* Pieces of one stream that are packed at a time. The second keeps a thread busy while the loop has
 * not seen that the first is done. */
#define SERVE_JOBS 2

#define SERVE_MAX_SHARDS 64 /* of one answer */

#define SERVE_MAX_CHUNK_LEN (UINT64_C(4) << 20) /* bytes of a piece */

typedef struct serve_job {
    serve_task task;
    serve_stream *stream;
    serve_chunk *chunk;
    uint64_t first_unit, num_units;
    int done;
    int wants_hold;      /* on what the maker reads: the stream has none yet */
    tly_block_hold hold; /* goes to the stream */
    tly_status status;   /* TRUNCATED: the file was cut short */
} serve_job;

/* A tensor that a client puts. */
typedef struct serve_upload {
    tly_uploads_writer writer;
    serve_chunk *pieces[2]; /* one fills while the other is written */
    uint64_t total;         /* bytes of data */
    uint64_t placed;        /* bytes that have, or have had, a place */
    uint64_t piece_len;     /* of the piece that fills */
    uint64_t writing_len;
    int filling, writing; /* indexes of pieces */
    int full;             /* the piece that filled is to be written */
    int ended, committing;
} serve_upload;

struct serve_stream {
    serve_stream *next;
    serve_conn *conn;
    uint32_t id;
    int closed;           /* nothing more is sent */
    serve_upload *upload; /* NULL: a request */
    serve_answer *answer; /* decided, or being decided */
    serve_offer *offer;   /* of an upload */
    variant_reader reader;
    /* bytes that are there: where we are in them */
    const tly_catalogue_bytes *parts;
    uint32_t num_parts;
    uint32_t part;
    uint64_t part_done;
    uint64_t queued;           /* bytes given to the connection */
    uint64_t total;            /* bytes that this stream has to send; of the current member */
    uint32_t next_member;      /* of a composite */
    uint32_t origin;           /* of a shard: the stream of the request; 0: no shard */
    uint64_t from, until;      /* of a shard: its bytes in the only part */
    tly_catalogue_bytes whole; /* of a variant */
    serve_chunk native;
    uint32_t busy; /* jobs that are out */
    /* the decision, off the loop */
    serve_task task;
    int32_t cancel; /* atomic: nobody wants the stream any more */
    int answered;   /* the decision is back, and the descriptor on its way */
    int handing;    /* the decision is back, and a variant will be handed over when it is whole */
    tly_answer_limits limits;
    uint64_t budget_before;
    uint32_t code;
    tly_status status;
    tly_error error;
    /* packing for this stream alone, off the loop: pieces are made side by side and sent in their
     * order */
    const tly_maker *maker; /* of the answer, or of the current member; NULL: the bytes are there */
    tly_block_hold hold;    /* what it reads */
    uint64_t skipped;       /* bytes of the first piece that the peer has */
    serve_job jobs[SERVE_JOBS];
    uint64_t num_started, num_sent; /* pieces; piece n is in jobs[n % SERVE_JOBS] */
    uint64_t next_unit, num_units, units_per_chunk;
};

typedef enum conn_state {
    CONN_OPEN = 0,
    CONN_FLUSHING = 1, /* what is queued goes out, then the end */
    CONN_DRAINING = 2, /* our end is closed; the peer's rest is read and dropped */
    CONN_DEAD = 3      /* waits for handles and packing to come back */
} conn_state;

struct serve_conn {
    serve_conn *next;
    tly_server *server;
    uv_poll_t poll;
    tly_net_channel channel;
    int poll_open;
    int events; /* what the poll asks for */
    int peer_eof;
    conn_state state;
    uint64_t number;
    uint64_t accepted_at, moved_at; /* ms of the loop's clock */
    uint64_t drained;
    uint32_t by_token, by_certificate; /* who the peer is; see serve/access.h */
    int is_local;                      /* a Unix socket */
    int hands_over;                    /* both sides announced it */
    int has_ranges;                    /* the same for ranges */
    tly_wire *wire;
    serve_stream *streams;
    serve_chunk *chunks; /* in use */
    uint64_t buffered;   /* bytes of them, and of native frames queued */
    uint64_t coming;     /* of them, pieces of uploads, which wait for the peer */
    uint32_t num_jobs;
    int starved;           /* packing waits for memory that others hold */
    uint64_t probe_budget; /* bytes of probe work that this peer may still cause */
};

/* connection.c */
void tly_serve_accept(serve_listener *listener, int fd);
void tly_serve_conn_run(serve_conn *c);
void tly_serve_conn_tick(serve_conn *c, uint64_t now);
void tly_serve_conn_stop(serve_conn *c);
void tly_serve_conn_kill(serve_conn *c, const char *why);
void tly_serve_conn_judge(serve_conn *c);
void tly_serve_conn_reap(serve_conn *c);
int tly_serve_allows(const serve_conn *c, tly_access_verb verb, const char *key, size_t key_len);

/* stream.c */
void tly_serve_request(serve_conn *c, uint32_t id, const tly_wire_request *request);
void tly_serve_stream_pump(serve_stream *s);
void tly_serve_stream_fail(serve_stream *s, uint32_t code, const char *text);
void tly_serve_stream_closed(serve_conn *c, uint32_t id);
serve_stream *tly_serve_find_stream(serve_conn *c, uint32_t id);
/* Native: all frames are queued, and the end is as soon as they have left. */
int tly_serve_ends_soon(const serve_stream *s);
void tly_serve_sweep(serve_conn *c);
void tly_serve_free_streams(serve_conn *c);
int tly_serve_in_file(const tly_wire_span *span, int *out_fd, uint64_t *out_offset);

/* shard.c: sends the answer in shards, if the client and the tensor allow it; returns 0 if not. */
int tly_serve_in_shards(serve_stream *first);
void tly_serve_begin(serve_stream *s);

/* upload.c */
void tly_serve_put(serve_conn *c, uint32_t id, const tly_wire_put *put);
void tly_serve_upload_data(serve_conn *c, uint32_t id, uint64_t received);
void tly_serve_upload_ended(serve_conn *c, uint32_t id);
void tly_serve_upload_pump(serve_stream *s);
void tly_serve_uploads_cut(serve_conn *c);
void tly_serve_free_upload(serve_stream *s);

/* metrics.c */
void tly_serve_metrics_tick(serve_metrics *metrics, uint64_t now);
void tly_serve_metrics_close(serve_metrics *metrics); /* freed by the loop; NULL is allowed */

/* chunk.c */
serve_chunk *tly_serve_take_chunk(serve_stream *s, size_t len);
int tly_serve_has_room(const serve_stream *s, uint64_t len); /* in max_packing_len */
void tly_serve_give_chunk(serve_conn *c, serve_chunk *chunk);
void tly_serve_free_spare(tly_server *server);
void tly_serve_release(serve_conn *c);

#endif
