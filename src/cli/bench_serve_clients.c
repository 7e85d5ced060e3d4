/* SPDX-License-Identifier: Apache-2.0 */
/* Two thousand clients at once that fetch tensors of 64 KiB, against nginx. One generator speaks
 * both protocols by the same policy: all connections are made first and stay; each has one request
 * under way, and asks again as soon as it has the answer whole. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/bench_serve_net.h"
#include "cli/bench_serve_wire.h"

#define NUM_CLIENTS  2000
#define NUM_REQUESTS 5             /* of each client, in one sample */
#define EXTENT       UINT64_C(128) /* 64 KiB of f32 */
#define MEMORY_LIMIT (256u << 20)
#define WAIT_MS      30000

/* One connection. `head` is for HTTP: what has come of the head of the answer. */
typedef struct client {
    int fd;
    uint32_t left;   /* requests to send in this sample */
    uint32_t stream; /* of the last request */
    int greeted;     /* the server's HELLO has come */
    tly_serve_reader reader;
    char head[1024];
    uint32_t head_len;
    uint64_t body_left; /* bytes; counts only once the head is whole */
    int in_body;
} client;

typedef struct crowd {
    int is_http;
    int epoll;
    uint64_t tensor_len;
    uint32_t done; /* clients that are through */
    uint8_t request[TLY_SERVE_REQUEST_LEN];
    size_t request_len;
    uint8_t hello[TLY_SERVE_HELLO_LEN];
    size_t hello_len;
    client clients[NUM_CLIENTS];
} crowd;

typedef struct pair {
    tly_serve_rig rig;
    crowd *ours, *theirs;
} pair;

static tly_status lost(const char *what, tly_error *error) {
    return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "", "a client was lost: %s", what);
}

/* Requests are shorter than any socket's buffer. */
static tly_status ask(crowd *c, client *k, tly_error *error) {
    if (!c->is_http) {
        tly_serve_put_header(c->request, TLY_WIRE_TENSOR_REQUEST, ++k->stream,
                             c->request_len - TLY_WIRE_HEADER_LEN);
        memset(&k->reader, 0, sizeof k->reader);
    }
    k->left--;
    k->head_len = 0;
    k->in_body = 0;
    return send(k->fd, c->request, c->request_len, MSG_NOSIGNAL) == (ssize_t)c->request_len
               ? TLY_OK
               : lost(strerror(errno), error);
}

/* Takes bytes of an HTTP answer. Returns 1 at its end, -1 if it is not what was asked for. */
static int take_http(crowd *c, client *k, const uint8_t *bytes, size_t len) {
    if (!k->in_body) {
        size_t n = sizeof k->head - 1 - k->head_len < len ? sizeof k->head - 1 - k->head_len : len;
        uint32_t before = k->head_len;
        const char *end, *field;
        memcpy(k->head + k->head_len, bytes, n);
        k->head_len += (uint32_t)n;
        k->head[k->head_len] = '\0';
        end = strstr(k->head, "\r\n\r\n");
        if (end == NULL) {
            return k->head_len == sizeof k->head - 1 ? -1 : 0;
        }
        field = strcasestr(k->head, "\r\ncontent-length:");
        if (strncmp(k->head, "HTTP/1.1 200", 12) != 0 || field == NULL || field > end) {
            return -1;
        }
        k->body_left = strtoull(field + 17, NULL, 10);
        if (k->body_left != c->tensor_len) {
            return -1;
        }
        k->in_body = 1;
        n = (size_t)(end + 4 - k->head) - before;
        bytes += n;
        len -= n;
    }
    if (len > k->body_left) {
        return -1;
    }
    k->body_left -= len;
    return k->body_left == 0;
}

static int take_ours(const crowd *c, client *k, const uint8_t *bytes, size_t len) {
    int seen = 0;
    if (!tly_serve_reader_take(&k->reader, bytes, len, TLY_WIRE_TENSOR_DATA_END, &seen)) {
        return k->reader.failed ? -1 : 0;
    }
    return k->reader.data_len == c->tensor_len ? 1 : -1;
}

static tly_status hear(crowd *c, client *k, tly_error *error) {
    uint8_t bytes[131072];
    ssize_t n = recv(k->fd, bytes, sizeof bytes, 0);
    int end;
    if (n <= 0) {
        return n < 0 && errno == EAGAIN ? TLY_OK : lost(n == 0 ? "closed" : strerror(errno), error);
    }
    if (!c->is_http && !k->greeted) {
        int seen = 0;
        k->greeted =
            tly_serve_reader_take(&k->reader, bytes, (size_t)n, TLY_WIRE_SERVER_HELLO, &seen);
        c->done += k->greeted;
        return k->reader.failed ? lost("refused", error) : TLY_OK;
    }
    end = c->is_http ? take_http(c, k, bytes, (size_t)n) : take_ours(c, k, bytes, (size_t)n);
    if (end < 0) {
        return lost("a wrong answer", error);
    }
    if (end == 0) {
        return TLY_OK;
    }
    if (k->left != 0) {
        return ask(c, k, error);
    }
    c->done++;
    return TLY_OK;
}

/* Until every client is through. */
static tly_status run(crowd *c, tly_error *error) {
    struct epoll_event events[256];
    tly_status status = TLY_OK;
    while (status == TLY_OK && c->done < NUM_CLIENTS) {
        int n = epoll_wait(c->epoll, events, 256, WAIT_MS);
        if (n == 0) {
            return lost("no answer", error);
        }
        for (int i = 0; i < n && status == TLY_OK; i++) {
            status = hear(c, events[i].data.ptr, error);
        }
    }
    return status;
}

static tly_status connect_all(crowd *c, uint16_t port, tly_error *error) {
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->epoll = epoll_create1(EPOLL_CLOEXEC);
    for (uint32_t i = 0; i < NUM_CLIENTS; i++) {
        client *k = &c->clients[i];
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = k};
        int one = 1;
        k->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        k->stream = 1;
        if (k->fd < 0 || connect(k->fd, (struct sockaddr *)&in, sizeof in) != 0) {
            return tly_base_fail_errno(error, errno, "cannot make connection %u", i);
        }
        setsockopt(k->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        fcntl(k->fd, F_SETFL, fcntl(k->fd, F_GETFL) | O_NONBLOCK);
        epoll_ctl(c->epoll, EPOLL_CTL_ADD, k->fd, &event);
        if (!c->is_http &&
            send(k->fd, c->hello, c->hello_len, MSG_NOSIGNAL) != (ssize_t)c->hello_len) {
            return lost("no HELLO", error);
        }
    }
    return c->is_http ? TLY_OK : run(c, error);
}

static tly_status sample(crowd *c, double *out_seconds, tly_error *error) {
    double started = tly_bench_now();
    tly_status status = TLY_OK;
    c->done = 0;
    for (uint32_t i = 0; i < NUM_CLIENTS && status == TLY_OK; i++) {
        c->clients[i].left = NUM_REQUESTS;
        status = ask(c, &c->clients[i], error);
    }
    if (status == TLY_OK) {
        status = run(c, error);
    }
    *out_seconds = (tly_bench_now() - started) / (NUM_CLIENTS * NUM_REQUESTS);
    return status;
}

static tly_status sample_ours(void *user, double *out_seconds, tly_error *error) {
    return sample(((pair *)user)->ours, out_seconds, error);
}

static tly_status sample_theirs(void *user, double *out_seconds, tly_error *error) {
    return sample(((pair *)user)->theirs, out_seconds, error);
}

static crowd *crowd_new(int is_http, uint64_t tensor_len) {
    crowd *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->is_http = is_http;
    c->tensor_len = tensor_len;
    c->epoll = -1;
    for (uint32_t i = 0; i < NUM_CLIENTS; i++) {
        c->clients[i].fd = -1;
    }
    return c;
}

static void crowd_free(crowd *c) {
    for (uint32_t i = 0; c != NULL && i < NUM_CLIENTS; i++) {
        if (c->clients[i].fd >= 0) {
            close(c->clients[i].fd);
        }
    }
    if (c != NULL && c->epoll >= 0) {
        close(c->epoll);
    }
    free(c);
}

/* Peak of a process's resident memory, bytes; 0 where the system does not say. */
static uint64_t peak_of(pid_t pid) {
    char path[64], line[256];
    unsigned long long kib = 0;
    FILE *in;
    snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
    in = fopen(path, "re");
    while (in != NULL && kib == 0 && fgets(line, sizeof line, in) != NULL) {
        sscanf(line, "VmHWM: %llu", &kib);
    }
    if (in != NULL) {
        fclose(in);
    }
    return kib * 1024;
}

static tly_status start(pair *p, const tly_context *context, tly_error *error) {
    tly_server_options options = {.size = sizeof options, .max_connections = 2 * NUM_CLIENTS};
    tly_status status = tly_serve_rig_init(&p->rig, context, EXTENT, EXTENT, 1, error);
    if (status != TLY_OK) {
        return status;
    }
    p->ours = crowd_new(0, p->rig.len);
    p->theirs = crowd_new(1, p->rig.len);
    if (p->ours == NULL || p->theirs == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for clients");
    }
    p->theirs->request_len = (size_t)snprintf((char *)p->theirs->request, sizeof p->theirs->request,
                                              "GET /w.bin HTTP/1.1\r\nHost: tilery\r\n\r\n");
    status = tly_serve_put_request(NULL, p->ours->request, &p->ours->request_len, error);
    if (status == TLY_OK) {
        status = tly_serve_put_hello(context, p->ours->hello, &p->ours->hello_len, error);
    }
    if (status == TLY_OK) {
        status = tly_bench_nginx_start(&p->rig.nginx, p->rig.folder, NULL, NULL, error);
    }
    if (status == TLY_OK) {
        status = tly_serve_rig_serve(&p->rig, "tcp:127.0.0.1:0", &options, error);
    }
    if (status == TLY_OK) {
        status = connect_all(p->theirs, p->rig.nginx.port, error);
    }
    if (status == TLY_OK) {
        status = connect_all(p->ours, (uint16_t)strtoul(strrchr(p->rig.address, ':') + 1, NULL, 10),
                             error);
    }
    return status;
}

tly_status tly_bench_serve_clients(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    struct rlimit limit, before;
    tly_bench_times times[2];
    char note[128];
    uint64_t peak;
    pair p = {.ours = NULL};
    tly_status status;
    getrlimit(RLIMIT_NOFILE, &before);
    limit = before;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < 2 * NUM_CLIENTS + 200) {
        tly_bench_skip(bench, self, "a process may open %llu files only",
                       (unsigned long long)limit.rlim_cur);
        return TLY_OK;
    }
    status = start(&p, tly_bench_context(bench), error);
    if (status == TLY_OK) {
        status = tly_serve_compare(bench, sample_ours, sample_theirs, &p, times, error);
    }
    peak = status == TLY_OK ? peak_of(p.rig.server) : 0;
    if (status == TLY_OK && peak > MEMORY_LIMIT) {
        status = tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "",
                               "the server took %llu MiB, more than %u",
                               (unsigned long long)(peak >> 20), MEMORY_LIMIT >> 20);
    }
    if (status == TLY_OK) {
        snprintf(note, sizeof note, "no client lost; the server took %llu MiB at most",
                 (unsigned long long)(peak >> 20));
        tly_bench_report_rate(bench, self, self->name, 1, &times[0], &times[1], note);
    }
    crowd_free(p.ours);
    crowd_free(p.theirs);
    tly_serve_rig_cleanup(&p.rig);
    setrlimit(RLIMIT_NOFILE, &before);
    return tly_serve_skip_missing(bench, self, status, error);
}
