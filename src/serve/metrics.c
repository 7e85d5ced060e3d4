/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics for whoever watches the server: a small HTTP/1.0 server on an address of its own, on the
 * same loop. It answers GET /metrics and GET /health, one request a connection, and nothing else.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/context.h"
#include "base/error.h"
#include "serve/server.h"

#define MAX_READERS    16
#define MAX_REQUEST    4096
#define MAX_ANSWER     16384
#define READER_TIME_MS 5000

typedef struct reader {
    struct reader *next;
    serve_metrics *metrics;
    uv_poll_t poll;
    int fd;
    int closing;
    uint64_t since; /* ms */
    size_t in_len, out_len, out_sent;
    char in[MAX_REQUEST];
    char out[MAX_ANSWER];
} reader;

struct serve_metrics {
    tly_server *server;
    uv_poll_t poll;
    int fd;
    int kind;
    int closed; /* the listener's handle is */
    int closing;
    uint32_t num_readers;
    reader *readers;
    char text[sizeof((struct sockaddr_un *)0)->sun_path + 16];
};

/* ---- life ---- */

static void free_if_over(serve_metrics *m) {
    if (m->closed && m->readers == NULL) {
        tly_base_free(m->server->context, m, sizeof *m, _Alignof(serve_metrics));
    }
}

static void on_reader_closed(uv_handle_t *handle) {
    reader *r = handle->data;
    serve_metrics *m = r->metrics;
    reader **link = &m->readers;
    while (*link != r) {
        link = &(*link)->next;
    }
    *link = r->next;
    m->num_readers--;
    close(r->fd);
    tly_base_free(m->server->context, r, sizeof *r, _Alignof(reader));
    free_if_over(m);
}

static void end_reader(reader *r) {
    if (!r->closing) {
        r->closing = 1;
        uv_close((uv_handle_t *)&r->poll, on_reader_closed);
    }
}

static void on_listener_closed(uv_handle_t *handle) {
    serve_metrics *m = handle->data;
    close(m->fd);
    m->closed = 1;
    free_if_over(m);
}

void tly_serve_metrics_close(serve_metrics *m) {
    if (m == NULL || m->closing) {
        return;
    }
    m->closing = 1;
    if (m->kind == TLY_NET_UNIX) {
        unlink(m->text + 5);
    }
    for (reader *r = m->readers; r != NULL; r = r->next) {
        end_reader(r);
    }
    uv_close((uv_handle_t *)&m->poll, on_listener_closed);
}

/* ---- the answer ---- */

typedef struct metric {
    const char *name;
    const char *type; /* of Prometheus */
    const char *help;
    uint64_t value;
} metric;

static size_t write_list(const metric *list, size_t num, char *out, size_t capacity) {
    size_t used = 0;
    for (size_t i = 0; i < num && used < capacity; i++) {
        int n = snprintf(out + used, capacity - used,
                         "# HELP %s %s\n# TYPE %s %s\n%s %" PRIu64 "\n", list[i].name, list[i].help,
                         list[i].name, list[i].type, list[i].name, list[i].value);
        used += n > 0 ? (size_t)n : 0;
    }
    return used < capacity ? used : capacity - 1;
}

/* What containers behind URLs cost. */
static size_t write_http(const tly_http *http, char *out, size_t capacity) {
    tly_http_stats h = {.size = sizeof h};
    tly_http_get_stats(http, &h);
    const metric all[] = {
        {"tilery_http_requests_total", "counter", "HTTP requests sent.", h.num_requests},
        {"tilery_http_retries_total", "counter", "Of these, attempts beyond the first.",
         h.num_retries},
        {"tilery_http_fetches_total", "counter", "Ranges fetched.", h.num_fetches},
        {"tilery_http_failures_total", "counter", "Of these, failed in the end.", h.num_failed},
        {"tilery_http_fetched_bytes_total", "counter", "Bytes of the others.", h.fetched_len},
        {"tilery_http_block_hits_total", "counter", "Blocks that were there when wanted.",
         h.num_hits},
        {"tilery_http_blocks_dropped_total", "counter", "Blocks that made room for others.",
         h.num_dropped},
        {"tilery_http_cache_bytes", "gauge", "Memory of blocks.", h.used_len},
        {"tilery_http_cache_limit_bytes", "gauge", "Memory that blocks may take.", h.limit_len},
    };
    return write_list(all, sizeof all / sizeof all[0], out, capacity);
}

static size_t write_metrics(const tly_server *s, char *out, size_t capacity) {
    const metric all[] = {
        {"tilery_connections_total", "counter", "Connections taken.", s->accepted},
        {"tilery_connections_refused_total", "counter",
         "Connections turned away: too many, or an unknown token.", s->refused},
        {"tilery_connections", "gauge", "Connections open.", s->num_conns},
        {"tilery_requests_total", "counter", "Tensors asked for or put.", s->requests},
        {"tilery_tensors_served_total", "counter", "Tensors delivered whole.", s->served},
        {"tilery_tensors_packed_total", "counter",
         "Of these, in another layout than they are kept.", s->packed},
        {"tilery_tensors_handed_over_total", "counter", "Of these, as shared memory.", s->handed},
        {"tilery_tensors_put_total", "counter", "Tensors accepted from clients.", s->put},
        {"tilery_requests_failed_total", "counter", "Requests answered with an error.", s->failed},
        {"tilery_sent_bytes_total", "counter", "Bytes handed to the system.", s->sent_len},
        {"tilery_packing_buffered_bytes", "gauge", "Packed pieces that wait to be sent.",
         s->packing + s->far},
        {"tilery_cache_packings_total", "counter", "Variants packed into the cache.", s->packings},
        {"tilery_cache_hits_total", "counter", "Answers from a variant that was there.", s->shared},
        {"tilery_cache_restored_total", "counter", "Variants that an earlier run had kept.",
         s->restored},
        {"tilery_cache_variants", "gauge", "Variants in the cache.", s->variants.num},
        {"tilery_cache_bytes", "gauge", "Memory of the cache.", s->variants.used},
        {"tilery_cache_limit_bytes", "gauge", "Memory that the cache may take.", s->variants.limit},
        {"tilery_catalogue_tensors", "gauge", "Tensors on offer.",
         tly_catalogue_num_tensors(s->offer->catalogue)},
        {"tilery_stopping", "gauge", "1 while the server stops.", (uint64_t)s->stopping},
    };
    size_t used = write_list(all, sizeof all / sizeof all[0], out, capacity);
    if (s->options.http != NULL) {
        used += write_http(s->options.http, out + used, capacity - used);
    }
    return used;
}

static void put_answer(reader *r, const char *status, const char *body, size_t body_len) {
    int n = snprintf(r->out, sizeof r->out,
                     "HTTP/1.0 %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                     "Content-Length: %zu\r\nConnection: close\r\n\r\n",
                     status, body_len);
    memcpy(r->out + n, body, body_len);
    r->out_len = (size_t)n + body_len;
}

static int asks_for(const reader *r, const char *path) {
    size_t len = strlen(path);
    return strncmp(r->in, "GET ", 4) == 0 && strncmp(r->in + 4, path, len) == 0 &&
           (r->in[4 + len] == ' ' || r->in[4 + len] == '?');
}

static void answer(reader *r) {
    const tly_server *s = r->metrics->server;
    char body[MAX_ANSWER - 512];
    if (asks_for(r, "/metrics")) {
        put_answer(r, "200 OK", body, write_metrics(s, body, sizeof body));
    } else if (asks_for(r, "/health")) {
        put_answer(r, s->stopping ? "503 Stopping" : "200 OK", s->stopping ? "stopping\n" : "ok\n",
                   s->stopping ? 9 : 3);
    } else {
        put_answer(r, "404 Not Found", "/metrics or /health\n", 20);
    }
}

/* ---- one request ---- */

/* Reads and drops what still comes, so that closing does not take the answer back. */
static void drain(reader *r) {
    tly_net_result result = tly_net_drain(r->fd);
    if (result != TLY_NET_OK && result != TLY_NET_AGAIN) {
        end_reader(r);
    }
}

/* Returns 0 until the request is there. */
static int take_request(reader *r) {
    ssize_t n = recv(r->fd, r->in + r->in_len, sizeof r->in - 1 - r->in_len, 0);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
        return 0;
    }
    if (n <= 0) {
        end_reader(r);
        return 0;
    }
    r->in_len += (size_t)n;
    r->in[r->in_len] = '\0';
    if (strstr(r->in, "\r\n\r\n") != NULL || strstr(r->in, "\n\n") != NULL) {
        answer(r);
        return 1;
    }
    if (r->in_len == sizeof r->in - 1) {
        put_answer(r, "431 Request Header Fields Too Large", "too long\n", 9);
        return 1;
    }
    return 0;
}

static void on_ready(uv_poll_t *poll, int status, int events) {
    reader *r = poll->data;
    ssize_t n;
    (void)events;
    if (status < 0) {
        end_reader(r);
        return;
    }
    if (r->out_len != 0 && r->out_sent == r->out_len) {
        drain(r);
        return;
    }
    if (r->out_len == 0 && !take_request(r)) {
        return;
    }
    n = send(r->fd, r->out + r->out_sent, r->out_len - r->out_sent, MSG_NOSIGNAL);
    if (n < 0 && errno != EAGAIN && errno != EINTR) {
        end_reader(r);
        return;
    }
    r->out_sent += n > 0 ? (size_t)n : 0;
    if (r->out_sent == r->out_len) {
        shutdown(r->fd, SHUT_WR);
        uv_poll_start(&r->poll, UV_READABLE, on_ready);
    } else {
        uv_poll_start(&r->poll, UV_WRITABLE, on_ready);
    }
}

static void on_connection(uv_poll_t *poll, int status, int events) {
    serve_metrics *m = poll->data;
    tly_server *server = m->server;
    reader *r;
    int fd = status < 0 ? -1 : accept4(m->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    (void)events;
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            uv_poll_stop(poll); /* until the next tick; see server.c */
        }
        return;
    }
    r = m->num_readers < MAX_READERS ? tly_base_calloc(server->context, sizeof *r, _Alignof(reader))
                                     : NULL;
    if (r == NULL || uv_poll_init(&server->loop, &r->poll, fd) != 0) {
        tly_base_free(server->context, r, sizeof *r, _Alignof(reader));
        close(fd);
        return;
    }
    r->metrics = m;
    r->fd = fd;
    r->since = uv_now(&server->loop);
    r->poll.data = r;
    r->next = m->readers;
    m->readers = r;
    m->num_readers++;
    uv_poll_start(&r->poll, UV_READABLE, on_ready);
}

void tly_serve_metrics_tick(serve_metrics *m, uint64_t now) {
    uv_poll_start(&m->poll, UV_READABLE, on_connection);
    for (reader *r = m->readers; r != NULL; r = r->next) {
        if (now - r->since > READER_TIME_MS) {
            end_reader(r);
        }
    }
}

tly_status tly_server_listen_metrics(tly_server *server, const char *address, tly_error *error) {
    serve_metrics *m;
    tly_status status;
    if (server->metrics != NULL || strncmp(address, "tls:", 4) == 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "metrics",
                             "metrics are on one address, which is tcp: or unix:");
    }
    m = tly_base_calloc(server->context, sizeof *m, _Alignof(serve_metrics));
    if (m == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for metrics");
    }
    m->server = server;
    status = tly_net_listen(address, 0, m->text, sizeof m->text, &m->kind, &m->fd, error);
    if (status == TLY_OK && uv_poll_init(&server->loop, &m->poll, m->fd) != 0) {
        close(m->fd);
        status = tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot watch %s", address);
    }
    if (status != TLY_OK) {
        tly_base_free(server->context, m, sizeof *m, _Alignof(serve_metrics));
        return status;
    }
    m->poll.data = m;
    uv_poll_start(&m->poll, UV_READABLE, on_connection);
    server->metrics = m;
    return TLY_OK;
}

const char *tly_server_metrics_address(const tly_server *server) {
    return server->metrics != NULL ? server->metrics->text : NULL;
}
