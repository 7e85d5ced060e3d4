/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_SERVE_H
#define TILERY_SERVE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/access.h>
#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/family.h>
#include <tilery/http.h>
#include <tilery/net.h>
#include <tilery/status.h>
#include <tilery/store.h>
#include <tilery/tensor.h>

TLY_BEGIN_DECLS

/* The tensors that a server offers, by key. Filled first, then served: while a server runs on it
 * nothing may be added but by its clients (tly_catalogue_open_uploads). Single-owner until then;
 * reading is thread-safe. */
typedef struct tly_catalogue tly_catalogue;

TLY_API tly_status tly_catalogue_new(const tly_context *context, tly_catalogue **out_catalogue,
                                     tly_error *error);
TLY_API void tly_catalogue_free(tly_catalogue *catalogue);

/* Adds every tensor of a container file under its own name. The file stays open and mapped. Nothing
 * is added when anything is wrong. Errors: those of opening the file; EXISTS (a key is taken). */
TLY_API tly_status tly_catalogue_add_file(tly_catalogue *catalogue, const char *path,
                                          tly_error *error);

/* The same with a container that is open, such as one behind a URL (tilery/http.h). The store is
 * the catalogue's from now on, also when this fails. */
TLY_API tly_status tly_catalogue_add_store(tly_catalogue *catalogue, tly_store *store,
                                           tly_error *error);

/* Adds a tensor in memory. The descriptor is copied; `data` (one buffer, `len` bytes) is not, and
 * must outlive the catalogue. Errors: INVALID_ARGUMENT, EXISTS, OUT_OF_MEMORY. */
TLY_API tly_status tly_catalogue_add_tensor(tly_catalogue *catalogue, const char *key,
                                            const tly_descriptor *descriptor, const void *data,
                                            uint64_t len, tly_error *error);

/* Takes a folder for tensors that clients put: those that are in it are on offer, and a server for
 * this catalogue accepts new ones and puts each in a container of its own there, whole and durable
 * before it is acknowledged. A tensor of this folder can be replaced, those of add_file and
 * add_tensor cannot. The folder must exist; one server at a time uses it. Errors: IO, EXISTS (in
 * use, or one key in two files), those of opening a file. */
TLY_API tly_status tly_catalogue_open_uploads(tly_catalogue *catalogue, const char *folder,
                                              tly_error *error);

/* Tensors on offer; those of uploads may become more while a server runs. Thread-safe. */
/* Shows what `from` takes and shows from clients as well: for a catalogue that takes its place
 * while a server runs. Errors: INVALID_ARGUMENT (there is a folder already). */
TLY_API tly_status tly_catalogue_share_uploads(tly_catalogue *catalogue, const tly_catalogue *from,
                                               tly_error *error);

TLY_API uint64_t tly_catalogue_num_tensors(const tly_catalogue *catalogue);

/* Key of a tensor of a file or of memory by its number, in the order of the keys; NULL past the
 * end.
 */
TLY_API const char *tly_catalogue_key(const tly_catalogue *catalogue, uint64_t index);

typedef struct tly_server_options {
    size_t size;               /* sizeof(tly_server_options); in every field 0 means the default */
    uint32_t max_connections;  /* 64 */
    uint32_t max_streams;      /* open per connection: 16 */
    uint32_t max_message_size; /* largest payload accepted, bytes: 1 MiB */
    uint32_t frame_len;        /* payload of a frame sent, bytes: what has been measured */
    uint64_t max_queued_len;   /* bytes per connection that wait to be sent or packed: 32 MiB */
    uint64_t transcode_limit;  /* largest packed buffer, bytes: 4 GiB */
    uint32_t idle_timeout_ms;  /* a connection without any stream: 5 min */
    uint32_t progress_timeout_ms; /* a peer that neither takes nor sends what it should: 30 s */
    uint32_t stop_timeout_ms;     /* what tly_server_stop grants to running transfers: 5 s */
    uint32_t socket_buffer_len;   /* SO_SNDBUF, bytes: what has been measured */
    const tly_tls_options *tls;   /* for tls: addresses; must live until the server is freed */
    const tly_access *access;   /* who may do what; must outlive the server. NULL: everybody may do
                                   everything */
    uint32_t flags;             /* TLY_SERVER_* */
    uint32_t reserved;          /* 0 */
    void (*reload)(void *user); /* see tly_server_reload */
    void *reload_user;
    uint64_t max_packing_len; /* bytes of packed pieces that wait, all connections: 256 MiB; as much
                                 again of tensors behind URLs */
    uint64_t cache_len; /* bytes of packed variants kept, so that each is packed once and shared by
                           all who ask for it: none */
    const char *cache_folder;  /* keeps variants over restarts; read by tly_server_new only. Must
                                  exist, belong to us and be closed to others' writing. NULL: none */
    uint64_t cache_folder_len; /* bytes of files in it: 16 GiB */
    uint32_t
        max_shards;     /* of one answer, where the client allows shards: 4; 1: never; 64 at most */
    uint32_t reserved2; /* 0 */
    uint64_t shard_len; /* least bytes of a shard: 8 MiB */
    const tly_families *families; /* layouts of plug-ins; must outlive the server. NULL: none */
    uint64_t upload_limit;        /* largest tensor that is accepted from a client, bytes: 16 GiB */
    const tly_http *http; /* what containers behind URLs were opened with, for the metrics; must
                             outlive the server. NULL: none */
} tly_server_options;

/* Addresses that other machines reach may be listened on without TLS, or without access rules. */
#define TLY_SERVER_OPEN 1u

/* A server: one event loop, packing on other threads. */
typedef struct tly_server tly_server;

/* Makes a server for a catalogue, which must outlive it. `options` may be NULL. Single-owner but
 * for tly_server_stop. */
TLY_API tly_status tly_server_new(const tly_context *context, const tly_catalogue *catalogue,
                                  const tly_server_options *options, tly_server **out_server,
                                  tly_error *error);

/* Starts to listen; may be called for several addresses (tilery/net.h) before tly_server_run. A
 * Unix socket gets mode 0600; one that is left over from a dead server is replaced, one that is
 * alive is not (EXISTS). An address that other machines reach is refused (UNSUPPORTED) unless it is
 * tls: and there are access rules or client certificates are demanded; see TLY_SERVER_OPEN. Port 0
 * takes a free port. */
TLY_API tly_status tly_server_listen(tly_server *server, const char *address, tly_error *error);

/* Would tly_server_listen take this address? As far as can be told without taking it: its form,
 * whether it may be reached from elsewhere, and for tls: the certificates. Errors: the same. */
TLY_API tly_status tly_server_check(tly_server *server, const char *address, tly_error *error);

/* Address number `index` that the server listens on, with the port that it got; NULL past the end.
 */
TLY_API const char *tly_server_address(const tly_server *server, uint32_t index);

/* Serves until tly_server_stop; running transfers are then given stop_timeout_ms. */
TLY_API tly_status tly_server_run(tly_server *server, tly_error *error);

/* Puts another catalogue and other access rules (NULL: none) in the place of those that the server
 * has; both belong to the server from now on, which frees them when nobody uses them any more. What
 * is under way ends with the old ones. Connections stay, but for those whose token is not known any
 * more. On the thread of tly_server_run (options->reload), or while the server does not run.
 * Errors: OUT_OF_MEMORY; catalogue and rules are then the caller's. */
TLY_API tly_status tly_server_replace(tly_server *server, tly_catalogue *catalogue,
                                      tly_access *access, tly_error *error);

/* Has options->reload called on the thread of tly_server_run. May be called from any thread and
 * from a signal handler. */
TLY_API void tly_server_reload(tly_server *server);

/* Answers HTTP requests for /metrics (Prometheus text) and /health on a loopback TCP address or a
 * Unix socket. Errors: those of tly_server_listen; INVALID_ARGUMENT (tls:). */
TLY_API tly_status tly_server_listen_metrics(tly_server *server, const char *address,
                                             tly_error *error);

/* Address that metrics are on, with the port that it got; NULL: there is none. */
TLY_API const char *tly_server_metrics_address(const tly_server *server);

/* Ends tly_server_run. May be called from any thread and from a signal handler, before, during and
 * (until tly_server_free) after the run. */
TLY_API void tly_server_stop(tly_server *server);

typedef struct tly_server_stats {
    size_t size;              /* sizeof(tly_server_stats), set by the caller */
    uint64_t num_connections; /* accepted so far */
    uint64_t num_refused;     /* turned away by max_connections */
    uint64_t num_requests;
    uint64_t num_served;       /* tensors sent whole */
    uint64_t num_packed;       /* of these, packed on the fly */
    uint64_t num_failed;       /* answered with an ERROR */
    uint64_t sent_len;         /* bytes of tensor data handed to the system */
    uint64_t max_buffered_len; /* most bytes of packed data held at a time, all connections */
    uint64_t num_packings;     /* variants packed into the cache */
    uint64_t num_shared;       /* answers from a variant that another request had made */
    uint64_t num_put;          /* tensors accepted from clients */
    uint64_t num_handed_over;  /* answers without a copy, to clients on the same machine */
    uint64_t num_restored;     /* variants that an earlier run had kept */
} tly_server_stats;

/* Counts since tly_server_new. Thread-safe. */
TLY_API void tly_server_get_stats(const tly_server *server, tly_server_stats *out_stats);

/* Frees a server that does not run; NULL is allowed. */
TLY_API void tly_server_free(tly_server *server);

TLY_END_DECLS

#endif
