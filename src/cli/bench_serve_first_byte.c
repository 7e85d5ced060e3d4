/* SPDX-License-Identifier: Apache-2.0 */
/* How soon the first byte of a variant comes that is packed already, against a PING. Both sides
 * speak through the same plain socket: a message goes out, and the clock stops when the first byte
 * of data behind the descriptor, or the PONG, has come. */
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/bench_serve_net.h"
#include "cli/bench_serve_wire.h"
#include "net/socket.h"

#define ROWS    UINT64_C(512)
#define COLUMNS UINT64_C(512) /* 1 MiB of f32 */
#define REPEATS 200           /* in one sample */
#define CACHE   (UINT64_C(256) << 20)

typedef struct probe {
    tly_serve_rig rig;
    int fd;
    uint32_t stream;
    size_t request_len;
    uint8_t request[TLY_SERVE_REQUEST_LEN];
} probe;

static tly_status gone(tly_error *error) {
    return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "", "the server is gone");
}

static tly_status say(const probe *p, const void *bytes, size_t len, tly_error *error) {
    return send(p->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len ? TLY_OK : gone(error);
}

/* Reads messages up to the end of one of type `last`. `out_first` (may be NULL) gets the time when
 * the first byte of data came. */
static tly_status hear(const probe *p, uint32_t last, double *out_first, tly_error *error) {
    uint8_t bytes[65536];
    tly_serve_reader r = {.head_len = 0};
    int seen = 0, noted = 0, done = 0;
    while (!done) {
        /* A small buffer until then: what has come meanwhile does not count. */
        ssize_t n = recv(p->fd, bytes, noted ? sizeof bytes : 4096, 0);
        if (n <= 0) {
            return gone(error);
        }
        done = tly_serve_reader_take(&r, bytes, (size_t)n, last, &seen);
        if (seen && !noted && out_first != NULL) {
            *out_first = tly_bench_now();
            noted = 1;
        }
    }
    return TLY_OK;
}

static tly_status fetch_once(probe *p, double *seconds, tly_error *error) {
    double started, first = 0;
    tly_status status;
    tly_serve_put_header(p->request, TLY_WIRE_TENSOR_REQUEST, ++p->stream,
                         p->request_len - TLY_WIRE_HEADER_LEN);
    started = tly_bench_now();
    status = say(p, p->request, p->request_len, error);
    if (status == TLY_OK) {
        status = hear(p, TLY_WIRE_TENSOR_DATA_END, &first, error);
    }
    *seconds += first - started;
    return status;
}

static tly_status ping_once(probe *p, double *seconds, tly_error *error) {
    uint8_t message[TLY_WIRE_HEADER_LEN];
    double started;
    tly_status status;
    tly_serve_put_header(message, TLY_WIRE_PING, 1, 0);
    started = tly_bench_now();
    status = say(p, message, sizeof message, error);
    if (status == TLY_OK) {
        status = hear(p, TLY_WIRE_PONG, NULL, error);
    }
    *seconds += tly_bench_now() - started;
    return status;
}

static tly_status repeat(tly_status (*once)(probe *, double *, tly_error *), probe *p,
                         double *out_seconds, tly_error *error) {
    tly_status status = TLY_OK;
    *out_seconds = 0;
    for (int i = 0; i < REPEATS && status == TLY_OK; i++) {
        status = once(p, out_seconds, error);
    }
    *out_seconds /= REPEATS;
    return status;
}

static tly_status fetches(void *user, double *out_seconds, tly_error *error) {
    return repeat(fetch_once, user, out_seconds, error);
}

static tly_status pings(void *user, double *out_seconds, tly_error *error) {
    return repeat(ping_once, user, out_seconds, error);
}

static tly_status hello(probe *p, tly_error *error) {
    uint8_t bytes[TLY_SERVE_HELLO_LEN];
    size_t len;
    tly_status status = tly_serve_put_hello(p->rig.context, bytes, &len, error);
    if (status == TLY_OK) {
        status = say(p, bytes, len, error);
    }
    if (status == TLY_OK) {
        status = hear(p, TLY_WIRE_SERVER_HELLO, NULL, error);
    }
    p->stream = 1;
    return status;
}

tly_status tly_bench_serve_first_byte(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error) {
    tly_server_options options = {.size = sizeof options, .cache_len = CACHE};
    tly_bench_times times[2];
    char address[96];
    probe p = {.fd = -1};
    tly_status status =
        tly_serve_rig_init(&p.rig, tly_bench_context(bench), ROWS, COLUMNS, 0, error);
    if (status ==
        TLY_OK) { /* on one processor the server would send all it can before we hear it */
        p.rig.taken = tly_bench_pin();
        snprintf(address, sizeof address, "unix:%s/s", p.rig.folder);
        status = tly_serve_rig_serve(&p.rig, address, &options, error);
    }
    if (status == TLY_OK) {
        status = tly_net_connect(p.rig.address, 10000, 0, &p.fd, error);
    }
    if (status == TLY_OK) {
        status = hello(&p, error);
    }
    if (status == TLY_OK) {
        status = tly_serve_put_request("ba16a64b", p.request, &p.request_len, error);
    }
    if (status == TLY_OK) {
        status = tly_serve_compare(bench, fetches, pings, &p, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report_time(bench, self, self->name, 1e6, &times[0], &times[1],
                              "request to first byte of data, and PING to PONG");
    }
    if (p.fd >= 0) {
        close(p.fd);
    }
    tly_serve_rig_cleanup(&p.rig);
    tly_bench_unpin();
    return status;
}
