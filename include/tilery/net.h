/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_NET_H
#define TILERY_NET_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/family.h>
#include <tilery/panel.h>
#include <tilery/status.h>
#include <tilery/tensor.h>
#include <tilery/wire.h>

TLY_BEGIN_DECLS

/* Addresses, as text:
 *
 *     unix:/run/tilery.sock     a Unix socket (at most 107 bytes of path)
 *     tcp:127.0.0.1:7410        IPv4
 *     tcp:[::1]:7410            IPv6
 *     tcp:localhost:7410        a name
 *     tls:server.example:7410   TLS 1.3 over TCP; host as above
 */

/* Checks the form of an address, without connecting. Errors: INVALID_ARGUMENT. Thread-safe. */
TLY_API tly_status tly_address_check(const char *address, tly_error *error);

/* Certificates, for addresses that begin with tls:. All files are PEM. The strings must live as
 * long as the call that they are given to. */
typedef struct tly_tls_options {
    size_t size;             /* sizeof(tly_tls_options) */
    const char *certificate; /* ours with its chain; a server needs one, a client may have one */
    const char *key;
    const char *ca; /* whom to trust; NULL: a client trusts whom the system does, a server asks for
                       no certificates */
    uint32_t flags; /* TLY_TLS_* */
    uint32_t reserved; /* 0 */
} tly_tls_options;

/* Server: clients without a certificate are turned away in the handshake. */
#define TLY_TLS_CLIENT_CERTIFICATE 1u

/* A blocking client: one connection to one server. Single-owner. */
typedef struct tly_client tly_client;

typedef struct tly_client_options {
    size_t size;                  /* sizeof(tly_client_options) */
    uint32_t connect_timeout_ms;  /* 0: 10 s */
    uint32_t progress_timeout_ms; /* longest silence of the server while we wait; 0: 30 s */
    uint64_t max_tensor_len;      /* bytes of data; 0: no limit but memory */
    uint32_t max_message_size;    /* largest frame accepted, bytes; 0: 16 MiB */
    uint32_t socket_buffer_len;   /* SO_RCVBUF in bytes; 0: what has been measured to be best */
    const tly_tls_options *tls;   /* for tls: addresses; NULL: all defaults */
    uint32_t flags;               /* TLY_CLIENT_* */
    uint32_t reserved;            /* 0 */
    const char *token; /* shown to the server (docs/spec/token.md): 16 to 1024 printable characters;
                          NULL: none */
} tly_client_options;

/* On a Unix socket the server may hand a tensor over as memory that all clients on the machine
 * share, instead of sending it (docs/spec/handover.md). The result can then only be read. */
#define TLY_CLIENT_SHARED 1u

/* Connects and says hello. `options` may be NULL. Errors: INVALID_ARGUMENT (address), IO, TIMEOUT,
 * CLOSED, PEER (the server refuses), PROTOCOL, MODULE (tls: without OpenSSL). A token is shown over
 * TLS, over a Unix socket and to the machine itself, and nowhere else (INVALID_ARGUMENT, rule
 * "token-in-the-clear"). */
TLY_API tly_status tly_client_connect(const tly_context *context, const char *address,
                                      const tly_client_options *options, tly_client **out_client,
                                      tly_error *error);

/* Closes in good order and frees; NULL is allowed. Tensors that were fetched live on. */
TLY_API void tly_client_free(tly_client *client);

/* What the server announced. Lives as long as the client. */
TLY_API const tly_wire_hello *tly_client_server(const tly_client *client);

/* One preference: a core layout tag, a panel profile (then `tag` is ignored), or a layout of a
 * plug-in. */
typedef struct tly_fetch_layout {
    uint8_t tag; /* tly_layout_tag */
    uint8_t reserved[7];
    const tly_panel_profile *profile; /* NULL: `tag` counts */
    const tly_family *family;         /* a layout of a plug-in (then `tag` is ignored), and */
    const void *metadata;             /* what tly_family.write made; NULL: none */
    uint32_t metadata_len;            /* bytes, at most 65535 */
    uint32_t reserved2;               /* 0 */
} tly_fetch_layout;

/* Where the data goes. Called once, after the descriptor has been checked, with the bytes to come
 * and the alignment that layout, request and profile demand together. Returns memory of that size
 * and alignment, or NULL to give up (TLY_CANCELLED). */
typedef void *(*tly_fetch_destination_fn)(void *user, const tly_descriptor *descriptor,
                                          uint64_t len, uint32_t alignment);

/* How far it came. Returns 0 to go on, anything else to stop (TLY_CANCELLED). */
typedef int (*tly_fetch_progress_fn)(void *user, uint64_t done, uint64_t total);

typedef struct tly_fetch_request {
    size_t size;                     /* sizeof(tly_fetch_request) */
    const char *key;                 /* UTF-8, NUL-terminated */
    const tly_fetch_layout *layouts; /* most preferred first; may be NULL */
    uint32_t num_layouts;
    uint32_t min_alignment; /* bytes, power of two; 0: 64 */
    uint32_t request_flags; /* TLY_WIRE_ALLOW_TRANSCODE; TLY_WIRE_PARALLEL_OK: the tensor may come
                               in shards, and is put together */
    uint32_t flags;         /* TLY_FETCH_* */
    tly_fetch_destination_fn destination; /* NULL: fresh anonymous memory, owned by the result */
    void *destination_user;
    tly_fetch_progress_fn progress; /* may be NULL */
    void *progress_user;
} tly_fetch_request;

/* What is handed over (TLY_CLIENT_SHARED) stays where all share it, and request->destination is
 * asked only for what comes in frames; otherwise it is copied there. */
#define TLY_FETCH_KEEP_SHARED 1u

/* A tensor that has been fetched whole and checked. */
typedef struct tly_fetched tly_fetched;

/* Fetches one tensor. The descriptor is validated before memory is taken, and the result exists
 * only when every byte has come. The client can be used again after NOT_FOUND, PEER,
 * LAYOUT_UNAVAILABLE, UNSUPPORTED, MALFORMED, LIMIT, OUT_OF_MEMORY (the server's answer was refused
 * or was a refusal); after IO, CLOSED, TIMEOUT, PROTOCOL and CANCELLED the connection is broken and
 * only tly_client_free is left. */
TLY_API tly_status tly_client_fetch(tly_client *client, const tly_fetch_request *request,
                                    tly_fetched **out_fetched, tly_error *error);

typedef struct tly_put_request {
    size_t size;                      /* sizeof(tly_put_request) */
    const char *key;                  /* UTF-8, NUL-terminated */
    const tly_descriptor *descriptor; /* buffers in CPU memory */
    const void *const *buffers;       /* descriptor->num_buffers pointers, each to the byte_size
                                         bytes of that buffer */
    tly_fetch_progress_fn progress;   /* may be NULL */
    void *progress_user;
} tly_put_request;

/* Puts one tensor: returns TLY_OK when the server has acknowledged it, and it will be there after a
 * crash of the server (what a server of another make promises is its own affair). A tensor of that
 * key that can be replaced is replaced at once and whole. The client can be used again after PEER
 * (the server refused), and after what is wrong with the request itself: INVALID_ARGUMENT,
 * MALFORMED, UNSUPPORTED, LIMIT, OUT_OF_MEMORY; not after IO, CLOSED, TIMEOUT, PROTOCOL and
 * CANCELLED. */
TLY_API tly_status tly_client_put(tly_client *client, const tly_put_request *request,
                                  tly_error *error);

/* ---- without waiting: for an event loop of the caller's ---- */

/* Called once for each fetch that was begun, from tly_client_step or tly_client_free. `fetched`
 * belongs to the callee; it is NULL unless `status` is TLY_OK, and `error` says why. The callee may
 * begin other fetches, and must not free the client. */
typedef void (*tly_fetch_done_fn)(void *user, tly_status status, tly_fetched *fetched,
                                  const tly_error *error);

/* Begins to fetch a tensor and returns at once; several may be under way on one connection. What
 * `request` points to must live until `done` is called. Until then nothing but tly_client_begin,
 * tly_client_step and tly_client_free may be called with the client. Errors: those of
 * tly_client_fetch that need no answer; `done` is not called then. */
TLY_API tly_status tly_client_begin(tly_client *client, const tly_fetch_request *request,
                                    tly_fetch_done_fn done, void *user, tly_error *error);

/* The descriptor to watch: for input always, and for output while tly_client_wants_output. */
TLY_API int tly_client_descriptor(const tly_client *client);
TLY_API int tly_client_wants_output(const tly_client *client);

/* Number of fetches under way. */
TLY_API uint32_t tly_client_num_begun(const tly_client *client);

/* Does what can be done without waiting: sends, receives, and calls back for each fetch that is
 * over. To be called when the descriptor is ready; how long a silence may last is the caller's
 * affair. Errors: IO, CLOSED, PROTOCOL and the like: the connection is broken, and every fetch that
 * was under way has been told. */
TLY_API tly_status tly_client_step(tly_client *client, tly_error *error);

/* ---- in several attempts ---- */

typedef struct tly_retry_options {
    size_t size;             /* sizeof(tly_retry_options) */
    uint32_t max_attempts;   /* in all; 0: 6 */
    uint32_t first_delay_ms; /* before the second attempt; doubles with each; 0: 200 */
    uint32_t max_delay_ms;   /* 0: 10 s */
    uint32_t reserved;       /* 0 */
    /* Told before each further attempt: which one it will be, after how many milliseconds, how many
     * bytes are there already, and what ended the last one. May be NULL. */
    void (*on_retry)(void *user, uint32_t attempt, uint32_t delay_ms, uint64_t received,
                     const tly_error *why);
    void *user;
} tly_retry_options;

/* Connects and fetches one tensor, and again where the connection could not be made, broke off,
 * fell silent, or the server was busy: after a delay that doubles each time, half of it at random.
 * Attempts go on where the last one ended, if the server knows ranges (docs/spec/range.md) and has
 * the same bytes still. If it has not, they begin anew, and request->destination is called again.
 * Attempts that bring something do not count against max_attempts. `options` and `retry` may be
 * NULL. Errors: those of the last attempt. */
TLY_API tly_status tly_fetch_with_retries(const tly_context *context, const char *address,
                                          const tly_client_options *options,
                                          const tly_retry_options *retry,
                                          const tly_fetch_request *request,
                                          tly_fetched **out_fetched, tly_error *error);

/* Puts one tensor, and again, from its beginning, after the same failures: an acknowledgement may
 * be lost, and what was put before is replaced. `*client` is the connection that is used; where it
 * is NULL, or broke, a new one is made with `address` and `options`. It is the caller's, who frees
 * it, and serves for the next tensor; NULL after a failure that ended it. on_retry is told 0 bytes.
 * Errors: those of the last attempt. */
TLY_API tly_status tly_put_with_retries(const tly_context *context, const char *address,
                                        const tly_client_options *options,
                                        const tly_retry_options *retry, tly_client **client,
                                        const tly_put_request *request, tly_error *error);

/* Asks whether the server is there; `out_seconds` (may be NULL) gets the time the answer took. */
TLY_API tly_status tly_client_ping(tly_client *client, double *out_seconds, tly_error *error);

/* The parts of a fetched tensor; all live as long as it does. */
TLY_API const tly_descriptor *tly_fetched_descriptor(const tly_fetched *fetched);
TLY_API const void *tly_fetched_descriptor_bytes(const tly_fetched *fetched, size_t *out_len);
TLY_API void *tly_fetched_data(tly_fetched *fetched);         /* all buffers, back to back */
TLY_API uint64_t tly_fetched_len(const tly_fetched *fetched); /* bytes */

/* Not 0: the data is memory that others share (TLY_CLIENT_SHARED); writing to it ends the process.
 */
TLY_API int tly_fetched_is_shared(const tly_fetched *fetched);

/* Which preference the server honoured: its index in request->layouts, or num_layouts where it
 * served the native layout unasked. */
TLY_API uint32_t tly_fetched_choice(const tly_fetched *fetched);

/* Where the tensor is the head of a composite: its members, and members of theirs, in the order of
 * the format (each head before its own). They have fresh memory, also with request->destination,
 * and are freed with the head. NULL past the last. */
TLY_API uint32_t tly_fetched_num_members(const tly_fetched *fetched);
TLY_API tly_fetched *tly_fetched_member(const tly_fetched *fetched, uint32_t index);

/* Frees a result, and its data unless request->destination gave the memory; NULL is allowed. */
TLY_API void tly_fetched_free(tly_fetched *fetched);

TLY_END_DECLS

#endif
