/* SPDX-License-Identifier: Apache-2.0 */
#include <tilery/serve.h>

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "serve/server.h"

#define TICK_MS            200
#define ACCEPTS_PER_TURN   16
#define DEFAULT_FOLDER_LEN (UINT64_C(16) << 30)

static void fill(uint32_t *field, uint32_t fallback) {
    if (*field == 0) {
        *field = fallback;
    }
}

static void fill_defaults(tly_server_options *o) {
    fill(&o->max_connections, 64);
    fill(&o->max_streams, 16);
    fill(&o->max_message_size, 1u << 20);
    fill(&o->frame_len, 1u << 20);
    fill(&o->idle_timeout_ms, 300000);
    fill(&o->progress_timeout_ms, 30000);
    fill(&o->stop_timeout_ms, 5000);
    if (o->max_queued_len == 0) {
        o->max_queued_len = 32u << 20;
    }
    if (o->max_packing_len == 0) {
        o->max_packing_len = 256u << 20;
    }
    if (o->transcode_limit == 0) {
        o->transcode_limit = UINT64_C(4) << 30;
    }
    fill(&o->max_shards, 4);
    if (o->max_shards > SERVE_MAX_SHARDS) {
        o->max_shards = SERVE_MAX_SHARDS;
    }
    if (o->shard_len == 0) {
        o->shard_len = 8u << 20;
    }
    if (o->upload_limit == 0) {
        o->upload_limit = UINT64_C(16) << 30;
    }
}

/* ---- listening ---- */

static void on_connection(uv_poll_t *poll, int status, int events) {
    serve_listener *l = poll->data;
    (void)events;
    if (status < 0) {
        return;
    }
    for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
        int fd = accept4(l->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            tly_serve_accept(l, fd);
            continue;
        }
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            /* The connection stays in the queue; asking again at once would only burn time. */
            tly_base_log(l->server->context, TLY_LOG_WARNING, "%s: no file descriptors left",
                         l->text);
            uv_poll_stop(poll);
        }
        return;
    }
}

/* On which kinds of address other machines may reach us: where they cannot listen in, and where it
 * is known what each of them may do. */
static uint32_t remote_kinds(const tly_server *server) {
    const tly_server_options *o = &server->options;
    int guarded = server->offer->access != NULL ||
                  (o->tls != NULL && (o->tls->flags & TLY_TLS_CLIENT_CERTIFICATE) != 0);
    if ((o->flags & TLY_SERVER_OPEN) != 0) {
        return 1u << TLY_NET_TCP | 1u << TLY_NET_TLS;
    }
    return guarded ? 1u << TLY_NET_TLS : 0;
}

static tly_status read_certificates(tly_server *server, int kind, tly_error *error) {
    return kind == TLY_NET_TLS && server->tls.at == NULL
               ? tly_net_tls_library_init(&server->tls, server->options.tls, 1, error)
               : TLY_OK;
}

tly_status tly_server_check(tly_server *server, const char *address, tly_error *error) {
    int kind;
    tly_status status = tly_net_check_listen(address, remote_kinds(server), &kind, error);
    return status == TLY_OK ? read_certificates(server, kind, error) : status;
}

tly_status tly_server_listen(tly_server *server, const char *address, tly_error *error) {
    serve_listener *l;
    tly_status status;
    if (server->num_listeners == MAX_LISTENERS) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "max-listeners",
                             "a server listens on at most %d addresses", MAX_LISTENERS);
    }
    l = tly_base_calloc(server->context, sizeof *l, _Alignof(serve_listener));
    if (l == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory to listen");
    }
    status = tly_net_listen(address, remote_kinds(server), l->text, sizeof l->text, &l->kind,
                            &l->fd, error);
    if (status == TLY_OK) {
        status = read_certificates(server, l->kind, error);
        if (status != TLY_OK) {
            close(l->fd);
        }
    }
    if (status == TLY_OK && uv_poll_init(&server->loop, &l->poll, l->fd) != 0) {
        close(l->fd);
        status = tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot watch %s", address);
    }
    if (status != TLY_OK) {
        tly_base_free(server->context, l, sizeof *l, _Alignof(serve_listener));
        return status;
    }
    if (l->kind == TLY_NET_UNIX) {
        struct stat st = {0};
        lstat(l->text + 5, &st);
        l->dev = st.st_dev;
        l->ino = st.st_ino;
    }
    l->server = server;
    l->poll.data = l;
    uv_poll_start(&l->poll, UV_READABLE, on_connection);
    server->listeners[server->num_listeners++] = l;
    tly_base_log(server->context, TLY_LOG_INFO, "listening on %s", l->text);
    return TLY_OK;
}

const char *tly_server_address(const tly_server *server, uint32_t index) {
    return index < server->num_listeners ? server->listeners[index]->text : NULL;
}

static void on_listener_closed(uv_handle_t *handle) {
    serve_listener *l = handle->data;
    close(l->fd);
    tly_base_free(l->server->context, l, sizeof *l, _Alignof(serve_listener));
}

static void close_listeners(tly_server *server) {
    for (uint32_t i = 0; i < server->num_listeners; i++) {
        serve_listener *l = server->listeners[i];
        struct stat st;
        if (l->kind == TLY_NET_UNIX && lstat(l->text + 5, &st) == 0 && st.st_dev == l->dev &&
            st.st_ino == l->ino) {
            unlink(l->text + 5);
        }
        uv_close((uv_handle_t *)&l->poll, on_listener_closed);
    }
    server->num_listeners = 0;
}

/* ---- the loop ---- */

static void begin_stop(tly_server *server) {
    server->stopping = 1;
    server->stop_at = uv_now(&server->loop) + server->options.stop_timeout_ms;
    tly_base_log(server->context, TLY_LOG_INFO, "stopping; %u connections", server->num_conns);
    close_listeners(server);
}

static void on_tick(uv_timer_t *timer) {
    tly_server *server = timer->data;
    uint64_t now = uv_now(&server->loop);
    serve_conn *next;
    for (uint32_t i = 0; i < server->num_listeners; i++) {
        uv_poll_start(&server->listeners[i]->poll, UV_READABLE, on_connection);
    }
    for (serve_conn *c = server->conns; c != NULL; c = next) {
        next = c->next;
        tly_serve_conn_tick(c, now);
        if (server->stopping) {
            tly_serve_conn_stop(c);
            /* Whoever has been told the end, and has nothing under way, is not waited for. */
            if (now >= server->stop_at || (c->state == CONN_DRAINING && c->streams == NULL)) {
                tly_serve_conn_kill(c, "the server stops");
            }
        }
    }
    if (server->metrics != NULL) {
        tly_serve_metrics_tick(server->metrics, now);
    }
    if (server->stopping && server->num_conns == 0) {
        uv_stop(&server->loop);
    }
}

static void on_fed(uv_async_t *async) {
    tly_server *server = async->data;
    serve_conn *next;
    for (serve_conn *c = server->conns; c != NULL; c = next) {
        next = c->next;
        if (c->starved) {
            c->starved = 0;
            tly_serve_conn_run(c);
        }
    }
}

static void on_stop(uv_async_t *async) {
    tly_server *server = async->data;
    if (atomic_exchange(&server->reload_wanted, 0) && server->options.reload != NULL) {
        server->options.reload(server->options.reload_user);
    }
    if (!server->stopping && atomic_load(&server->stop_wanted)) {
        begin_stop(server);
        on_tick(&server->tick);
    }
}

tly_status tly_server_run(tly_server *server, tly_error *error) {
    if (server->num_listeners == 0 && !atomic_load(&server->stop_wanted)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "no-listener",
                             "the server listens on no address");
    }
    uv_timer_start(&server->tick, on_tick, TICK_MS, TICK_MS);
    if (atomic_load(&server->stop_wanted)) {
        begin_stop(server);
    }
    uv_run(&server->loop, UV_RUN_DEFAULT);
    return TLY_OK;
}

void tly_server_stop(tly_server *server) {
    atomic_store(&server->stop_wanted, 1);
    uv_async_send(&server->stop);
}

void tly_server_reload(tly_server *server) {
    atomic_store(&server->reload_wanted, 1);
    uv_async_send(&server->stop);
}

tly_status tly_server_replace(tly_server *server, tly_catalogue *catalogue, tly_access *access,
                              tly_error *error) {
    serve_offer *offer = tly_offer_new(server->context, catalogue, access);
    serve_conn *next;
    if (offer == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for another catalogue");
    }
    offer->own_catalogue = catalogue;
    offer->own_access = access;
    tly_offer_drop(server->offer);
    server->offer = offer;
    tly_memo_clear(&server->memo);
    tly_variants_forget_memory(server);
    for (serve_conn *c = server->conns; c != NULL; c = next) {
        next = c->next;
        tly_serve_conn_judge(c);
    }
    return TLY_OK;
}

/* ---- life ---- */

/* Frees what is left when the loop is closed, or was never open. */
static void release(tly_server *server) {
    tly_serve_free_spare(server);
    tly_memo_clear(&server->memo);
    tly_net_tls_library_cleanup(&server->tls);
    tly_variants_cleanup(server);
    tly_persist_free(server->persist);
    tly_panel_verdicts_free(server->verdicts);
    tly_offer_drop(server->offer);
    tly_base_free(server->context, server, sizeof *server, _Alignof(tly_server));
}

static void close_loop(tly_server *server) {
    uv_run(&server->loop, UV_RUN_DEFAULT); /* until every handle and every job is back */
    uv_loop_close(&server->loop);
}

/* Returns 0 where the system has not what a loop needs. */
static int open_loop(tly_server *server) {
    if (uv_loop_init(&server->loop) != 0) {
        return 0;
    }
    server->stop.data = server->fed.data = server->tick.data = server;
    uv_timer_init(&server->loop, &server->tick);
    if (uv_async_init(&server->loop, &server->stop, on_stop) != 0) {
        uv_close((uv_handle_t *)&server->tick, NULL);
        close_loop(server);
        return 0;
    }
    if (uv_async_init(&server->loop, &server->fed, on_fed) != 0) {
        uv_close((uv_handle_t *)&server->tick, NULL);
        uv_close((uv_handle_t *)&server->stop, NULL);
        close_loop(server);
        return 0;
    }
    if (!tly_workers_open(&server->workers, &server->loop)) {
        uv_close((uv_handle_t *)&server->tick, NULL);
        uv_close((uv_handle_t *)&server->stop, NULL);
        uv_close((uv_handle_t *)&server->fed, NULL);
        close_loop(server);
        return 0;
    }
    return 1;
}

tly_status tly_server_new(const tly_context *context, const tly_catalogue *catalogue,
                          const tly_server_options *options, tly_server **out_server,
                          tly_error *error) {
    tly_server *server;
    *out_server = NULL;
    if (options != NULL && options->size != sizeof *options) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "tly_server_options.size is %zu, expected %zu", options->size,
                             sizeof *options);
    }
    server = tly_base_calloc(context, sizeof *server, _Alignof(tly_server));
    if (server == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a server");
    }
    server->context = context;
    if (options != NULL) {
        server->options = *options;
    }
    fill_defaults(&server->options);
    server->variants.limit = server->options.cache_len;
    tly_answer_layouts(server->layouts, server->options.families, 0, &server->layout_list);
    tly_answer_layouts(server->local_layouts, server->options.families, server->variants.limit != 0,
                       &server->local_list);
    server->offer = tly_offer_new(context, catalogue, server->options.access);
    if (server->offer == NULL ||
        tly_panel_verdicts_new(context, NULL, &server->verdicts, error) != TLY_OK) {
        release(server);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a server");
    }
    if (server->options.cache_folder != NULL && server->variants.limit != 0) {
        tly_status status = tly_persist_open(context, server->options.cache_folder,
                                             server->options.cache_folder_len != 0
                                                 ? server->options.cache_folder_len
                                                 : DEFAULT_FOLDER_LEN,
                                             &server->persist, error);
        if (status != TLY_OK) {
            release(server);
            return status;
        }
    }
    if (!open_loop(server)) {
        release(server);
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot make an event loop");
    }
    *out_server = server;
    return TLY_OK;
}

void tly_server_get_stats(const tly_server *server, tly_server_stats *out_stats) {
    out_stats->num_connections = atomic_load(&server->accepted);
    out_stats->num_refused = atomic_load(&server->refused);
    out_stats->num_requests = atomic_load(&server->requests);
    out_stats->num_served = atomic_load(&server->served);
    out_stats->num_packed = atomic_load(&server->packed);
    out_stats->num_failed = atomic_load(&server->failed);
    out_stats->sent_len = atomic_load(&server->sent_len);
    out_stats->max_buffered_len = atomic_load(&server->max_buffered);
    out_stats->num_packings = atomic_load(&server->packings);
    out_stats->num_shared = atomic_load(&server->shared);
    out_stats->num_put = atomic_load(&server->put);
    out_stats->num_restored = atomic_load(&server->restored);
    out_stats->num_handed_over = atomic_load(&server->handed);
}

void tly_server_free(tly_server *server) {
    if (server == NULL) {
        return;
    }
    server->stopping = 1;
    close_listeners(server);
    for (serve_conn *c = server->conns; c != NULL; c = c->next) {
        tly_serve_conn_kill(c, "the server is gone");
    }
    tly_serve_metrics_close(server->metrics);
    server->metrics = NULL;
    uv_close((uv_handle_t *)&server->tick, NULL);
    uv_close((uv_handle_t *)&server->stop, NULL);
    uv_close((uv_handle_t *)&server->fed, NULL);
    tly_workers_close(&server->workers);
    close_loop(server);
    tly_workers_cleanup(&server->workers);
    release(server);
}
