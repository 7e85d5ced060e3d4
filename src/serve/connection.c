/* SPDX-License-Identifier: Apache-2.0 */
/* One peer: bytes in and out, time, and the end in good order. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "net/handover.h"
#include "net/range.h"
#include "net/token.h"
#include "serve/server.h"

#define READS_PER_TURN 64 /* then the others have their turn */
#define SENDS_PER_TURN 16
#define PROBE_BUDGET   (UINT64_C(256) << 20) /* bytes of probe work for one connection */
#define MAX_DRAIN_LEN  (64u << 20)           /* what a peer may still send after our end */

static void on_ready(uv_poll_t *poll, int status, int events);

static void log_conn(const serve_conn *c, tly_log_level level, const char *what) {
    tly_base_log(c->server->context, level, "connection %llu: %s", (unsigned long long)c->number,
                 what);
}

/* ---- life ---- */

static void unlink_conn(serve_conn *c) {
    serve_conn **link = &c->server->conns;
    while (*link != c) {
        link = &(*link)->next;
    }
    *link = c->next;
    c->server->num_conns--;
}

/* Frees a dead connection as soon as its poll handle is closed and no job is out. */
void tly_serve_conn_reap(serve_conn *c) {
    if (c->poll_open || c->num_jobs != 0) {
        return;
    }
    unlink_conn(c);
    tly_serve_free_streams(c);
    tly_net_channel_cleanup(c->server->context, &c->channel);
    tly_wire_free(c->wire);
    tly_base_free(c->server->context, c, sizeof *c, _Alignof(serve_conn));
}

static void on_poll_closed(uv_handle_t *handle) {
    serve_conn *c = handle->data;
    close(c->channel.fd); /* not before: the poll must not see the number reused */
    c->poll_open = 0;
    tly_serve_conn_reap(c);
}

void tly_serve_conn_kill(serve_conn *c, const char *why) {
    if (c->state == CONN_DEAD) {
        return;
    }
    log_conn(c, TLY_LOG_INFO, why);
    c->state = CONN_DEAD;
    for (serve_stream *s = c->streams; s != NULL; s = s->next) {
        s->closed = 1;
        __atomic_store_n(&s->cancel, 1, __ATOMIC_RELEASE);
    }
    uv_close((uv_handle_t *)&c->poll, on_poll_closed);
}

static serve_conn *new_conn(const serve_listener *listener, int fd, tly_error *error) {
    static const uint8_t cpu[] = {TLY_DEVICE_CPU};
    static const uint8_t standard[] = {TLY_MEMORY_STANDARD};
    tly_server *server = listener->server;
    tly_wire_options options = {
        .size = sizeof options,
        .role = TLY_WIRE_SERVER,
        .max_message_size = server->options.max_message_size,
        .max_streams = server->options.max_streams,
        .max_queued_len = server->options.max_queued_len,
        .capability_flags = TLY_WIRE_CAP_TRANSCODING | TLY_WIRE_CAP_PARALLEL,
        .layouts = listener->kind == TLY_NET_UNIX ? server->local_list : server->layout_list,
        .devices = cpu,
        .memory_classes = standard,
        .num_devices = sizeof cpu,
        .num_memory_classes = sizeof standard};
    serve_conn *c = tly_base_calloc(server->context, sizeof *c, _Alignof(serve_conn));
    if (c == NULL) {
        return NULL;
    }
    c->channel.fd = fd;
    c->channel.in_file = tly_serve_in_file;
    if (listener->kind == TLY_NET_TLS) {
        c->channel.tls = tly_net_tls_new(server->context, &server->tls, fd, NULL);
    }
    if ((listener->kind == TLY_NET_TLS && c->channel.tls == NULL) ||
        tly_wire_new(server->context, &options, &c->wire, error) != TLY_OK ||
        uv_poll_init(&server->loop, &c->poll, fd) != 0) {
        tly_net_channel_cleanup(server->context, &c->channel);
        tly_wire_free(c->wire);
        tly_base_free(server->context, c, sizeof *c, _Alignof(serve_conn));
        return NULL;
    }
    c->server = server;
    c->is_local = listener->kind == TLY_NET_UNIX;
    c->poll.data = c;
    c->poll_open = 1;
    c->number = ++server->next_conn;
    c->probe_budget = PROBE_BUDGET;
    c->accepted_at = c->moved_at = uv_now(&server->loop);
    c->next = server->conns;
    server->conns = c;
    server->num_conns++;
    return c;
}

void tly_serve_accept(serve_listener *listener, int fd) {
    tly_server *server = listener->server;
    uint32_t limit = server->options.max_connections;
    int size = server->options.socket_buffer_len > INT32_MAX / 2
                   ? INT32_MAX / 2
                   : (int)server->options.socket_buffer_len;
    tly_error error;
    serve_conn *c;
    if (size != 0) {
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    }
    /* Connections over the limit are told so, as long as there are not many of them as well. */
    c = server->num_conns < limit + limit / 4 + 4 ? new_conn(listener, fd, &error) : NULL;
    if (c == NULL) {
        atomic_fetch_add(&server->refused, 1);
        close(fd);
        return;
    }
    if (server->num_conns > limit) {
        atomic_fetch_add(&server->refused, 1);
        /* In place of our HELLO; what the peer sends is drained before the end. */
        tly_wire_close(c->wire, TLY_WIRE_BUSY, "too many connections: try again later");
        log_conn(c, TLY_LOG_WARNING, "refused: too many connections");
    } else {
        atomic_fetch_add(&server->accepted, 1);
    }
    tly_serve_conn_run(c);
}

static void kill_broken(serve_conn *c) {
    char reason[192];
    tly_net_explain(&c->channel, reason, sizeof reason);
    tly_serve_conn_kill(c, reason[0] != '\0' ? reason : "reset by the peer");
}

/* ---- input ---- */

/* Who says hello? A token that nobody has ends the connection. */
static void identify(serve_conn *c, const tly_wire_hello *hello) {
    const tly_access *access = c->server->offer->access;
    uint8_t fingerprint[TLY_FINGERPRINT_LEN];
    const uint8_t *token;
    size_t len;
    c->by_token = c->by_certificate = TLY_ACCESS_ANYONE;
    if (access == NULL) {
        return;
    }
    if (tly_net_peer_certificate(&c->channel, fingerprint)) {
        c->by_certificate = tly_access_by_certificate(access, fingerprint);
    }
    token = tly_net_token_find(hello, &len);
    if (token != NULL) {
        c->by_token = tly_access_by_token(access, token, len);
        if (c->by_token == TLY_ACCESS_NOBODY) {
            atomic_fetch_add(&c->server->refused, 1);
            tly_wire_close(c->wire, TLY_WIRE_REFUSED, "the token is not known");
            log_conn(c, TLY_LOG_WARNING, "refused: an unknown token");
            return;
        }
    }
    tly_base_log(c->server->context, TLY_LOG_INFO,
                 "connection %llu: %s by token, %s by certificate", (unsigned long long)c->number,
                 tly_access_name(access, c->by_token), tly_access_name(access, c->by_certificate));
}

/* Other rules hold from now on. */
void tly_serve_conn_judge(serve_conn *c) {
    const tly_wire_hello *hello = tly_wire_peer(c->wire);
    if (c->state == CONN_OPEN && hello != NULL) {
        identify(c, hello);
        tly_serve_conn_run(c);
    }
}

int tly_serve_allows(const serve_conn *c, tly_access_verb verb, const char *key, size_t key_len) {
    const tly_access *access = c->server->offer->access;
    return access == NULL || tly_access_allows(access, c->by_token, verb, key, key_len) ||
           tly_access_allows(access, c->by_certificate, verb, key, key_len);
}

static void on_event(serve_conn *c, const tly_wire_event *event) {
    switch (event->kind) {
    case TLY_WIRE_EVENT_HELLO:
        identify(c, &event->hello);
        if (tly_net_range_announced(&event->hello)) {
            c->has_ranges = 1;
            tly_wire_agree_private(c->wire, TLY_RANGE_TYPES);
        }
        if (c->is_local && c->server->variants.limit != 0 &&
            tly_net_handover_announced(&event->hello)) {
            c->hands_over = 1;
            tly_wire_agree_private(c->wire, TLY_HANDOVER_TYPES);
        }
        break;
    case TLY_WIRE_EVENT_REQUEST:
        tly_serve_request(c, event->stream, &event->request);
        break;
    case TLY_WIRE_EVENT_PUT:
        tly_serve_put(c, event->stream, &event->put);
        break;
    case TLY_WIRE_EVENT_DATA:
        tly_serve_upload_data(c, event->stream, event->offset + event->len);
        break;
    case TLY_WIRE_EVENT_END:
        tly_serve_upload_ended(c, event->stream);
        break;
    case TLY_WIRE_EVENT_ERROR: {
        char text[160];
        tly_serve_stream_closed(c, event->stream);
        tly_base_log(c->server->context, TLY_LOG_INFO,
                     "connection %llu stream %u: the peer says %s: %s",
                     (unsigned long long)c->number, event->stream, tly_wire_code_name(event->code),
                     tly_base_printable(text, sizeof text, event->text, event->text_len));
        break;
    }
    case TLY_WIRE_EVENT_REJECTED:
        tly_serve_stream_closed(c, event->stream);
        tly_base_log(c->server->context, TLY_LOG_WARNING, "connection %llu stream %u: %s: %s",
                     (unsigned long long)c->number, event->stream, event->error->rule,
                     event->error->message);
        break;
    default:
        break;
    }
}

static void take_events(serve_conn *c) {
    tly_wire_event event;
    for (;;) {
        tly_wire_next(c->wire, &event);
        if (event.kind == TLY_WIRE_EVENT_NONE) {
            return;
        }
        on_event(c, &event);
    }
}

static void read_some(serve_conn *c) {
    for (int i = 0; i < READS_PER_TURN && c->state == CONN_OPEN; i++) {
        uint64_t len;
        tly_net_result result = tly_net_receive(&c->channel, c->wire, &len);
        if (result == TLY_NET_OK) {
            c->moved_at = uv_now(&c->server->loop);
            take_events(c);
            if (c->channel.is_empty && !tly_net_has_pending(&c->channel)) {
                return;
            }
        } else if (result == TLY_NET_EOF) {
            c->peer_eof = 1;
            tly_serve_uploads_cut(c);
            return;
        } else if (result == TLY_NET_AGAIN || result == TLY_NET_IDLE) {
            return;
        } else {
            kill_broken(c);
        }
    }
}

/* ---- output ---- */

/* The mapping behind the frame at the head has lost its file. */
static void spoil(serve_conn *c) {
    static const char text[] = "the file of this tensor was cut short while it was being sent";
    uint32_t id;
    serve_stream *s;
    if (tly_wire_spoil_head(c->wire, TLY_WIRE_SERVER_FAILED, text, &id) != TLY_OK) {
        tly_serve_conn_kill(c, "output that cannot be read");
        return;
    }
    s = tly_serve_find_stream(c, id);
    if (s != NULL) {
        s->closed = 1;
    }
    atomic_fetch_add(&c->server->failed, 1);
    log_conn(c, TLY_LOG_WARNING, text);
}

static int has_output(const serve_conn *c) {
    return tly_wire_queued(c->wire) != 0 || tly_net_has_staged(&c->channel);
}

/* Do the frames that leave now stand before the end of their tensor, which is queued when they have
 * left? */
static int more_follows(const serve_conn *c) {
    const serve_stream *s = c->streams;
    while (s != NULL && !tly_serve_ends_soon(s)) {
        s = s->next;
    }
    return s != NULL;
}

/* Sends until the socket is full, there is no more, or the others should have their turn. Returns 1
 * in the last case. */
static int write_some(serve_conn *c) {
    for (int i = 0; i < SENDS_PER_TURN; i++) {
        uint64_t len;
        tly_net_result result;
        c->channel.more_follows = more_follows(c);
        result = tly_net_send(&c->channel, c->wire, &len);
        if (result == TLY_NET_OK) {
            c->moved_at = uv_now(&c->server->loop);
            atomic_fetch_add_explicit(&c->server->sent_len, len, memory_order_relaxed);
        } else if (result == TLY_NET_FAULT) {
            spoil(c);
        } else if (result == TLY_NET_ERROR) {
            kill_broken(c);
        }
        if (c->state == CONN_DEAD) {
            return 0;
        }
        tly_serve_release(c);
        if (result != TLY_NET_OK && result != TLY_NET_FAULT) {
            return 0;
        }
        for (serve_stream *s = c->streams; s != NULL; s = s->next) {
            tly_serve_stream_pump(s);
        }
    }
    return has_output(c);
}

/* ---- the turn ---- */

static void want(serve_conn *c, int events) {
    if (events == c->events) {
        return;
    }
    c->events = events;
    if (events == 0) {
        uv_poll_stop(&c->poll);
    } else {
        uv_poll_start(&c->poll, events, on_ready);
    }
}

/* Drops what the peer still sends, until it closes too. */
static void drain(serve_conn *c) {
    for (int i = 0; i < READS_PER_TURN; i++) {
        tly_net_result result = tly_net_drain(c->channel.fd);
        if (result == TLY_NET_AGAIN) {
            want(c, UV_READABLE);
            return;
        }
        c->drained += 16384;
        if (result != TLY_NET_OK || c->drained > MAX_DRAIN_LEN) {
            tly_serve_conn_kill(c, "closed");
            return;
        }
    }
    want(c, UV_READABLE);
}

/* Does what can be done now, and says what to wait for. */
void tly_serve_conn_run(serve_conn *c) {
    int more, events;
    if (c->state == CONN_DEAD) {
        return;
    }
    if (c->state == CONN_DRAINING) {
        drain(c);
        return;
    }
    for (serve_stream *s = c->streams; s != NULL; s = s->next) {
        tly_serve_stream_pump(s);
    }
    if (c->state == CONN_OPEN) {
        take_events(c); /* an upload that got room may have bytes waiting */
    }
    more = write_some(c);
    if (c->state == CONN_DEAD) {
        return;
    }
    tly_serve_sweep(c);
    if (c->state == CONN_OPEN &&
        (tly_wire_is_closing(c->wire) || (c->peer_eof && c->streams == NULL))) {
        c->state = CONN_FLUSHING;
    }
    if (c->state == CONN_FLUSHING && !has_output(c)) {
        if (c->peer_eof) {
            tly_serve_conn_kill(c, "closed");
            return;
        }
        tly_net_end_output(&c->channel);
        c->state = CONN_DRAINING;
        drain(c);
        return;
    }
    events = more || has_output(c) || tly_net_wants_write(&c->channel) ? UV_WRITABLE : 0;
    if (tly_net_output_wants_read(&c->channel)) {
        events = UV_READABLE; /* a socket that can be written would only be asked in vain */
    }
    if (c->state == CONN_OPEN && !c->peer_eof && tly_wire_wants_input(c->wire)) {
        events |= UV_READABLE;
        if (tly_net_has_pending(&c->channel)) {
            events |= UV_WRITABLE; /* the socket has told of it already: come back at once */
        }
    }
    want(c, events);
}

static void on_ready(uv_poll_t *poll, int status, int events) {
    serve_conn *c = poll->data;
    if (status < 0) {
        tly_serve_conn_kill(c, "its socket failed");
        return;
    }
    if (((events & UV_READABLE) != 0 || tly_net_has_pending(&c->channel) ||
         tly_net_wants_write(&c->channel)) &&
        c->state == CONN_OPEN) {
        read_some(c);
    }
    tly_serve_conn_run(c);
}

/* ---- time ---- */

void tly_serve_conn_tick(serve_conn *c, uint64_t now) {
    const tly_server_options *o = &c->server->options;
    uint64_t still = now - c->moved_at;
    /* A peer owes nothing while we do not read. */
    int owes = tly_wire_eof(c->wire, NULL) != TLY_OK && tly_wire_wants_input(c->wire);
    int waits_for_peer = has_output(c) || owes || c->state != CONN_OPEN;
    if (c->state == CONN_DEAD) {
        return;
    }
    if (tly_wire_peer(c->wire) == NULL && now - c->accepted_at > o->progress_timeout_ms) {
        tly_serve_conn_kill(c, "no HELLO in the time allowed");
    } else if (waits_for_peer && still > o->progress_timeout_ms) {
        tly_serve_conn_kill(c, "no progress in the time allowed");
    } else if (c->streams == NULL && still > o->idle_timeout_ms) {
        log_conn(c, TLY_LOG_INFO, "idle");
        tly_serve_conn_stop(c);
    } else if (c->streams != NULL && !waits_for_peer && still > o->progress_timeout_ms / 4) {
        tly_wire_ping(c->wire); /* it waits for us, and should see that we are at work */
        tly_serve_conn_run(c);
    }
}

/* Ends a connection in good order once it has no streams. */
void tly_serve_conn_stop(serve_conn *c) {
    if (c->state == CONN_OPEN && c->streams == NULL) {
        c->state = CONN_FLUSHING;
        tly_serve_conn_run(c);
    }
}
