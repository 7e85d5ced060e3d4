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
    uint8_t request[TLY_PANEL_MAX_LEN + 128]; /* with its header */
} probe;

static tly_status gone(tly_error *error) {
    return tly_base_fail(error, TLY_CLOSED, TLY_NO_OFFSET, "", "the server is gone");
}

static void put_header(uint8_t *out, uint32_t type, uint32_t stream, size_t len) {
    tly_base_store_u32(out, type);
    tly_base_store_u32(out + 4, stream);
    tly_base_store_u32(out + 8, (uint32_t)len);
}

static tly_status say(const probe *p, const void *bytes, size_t len, tly_error *error) {
    return send(p->fd, bytes, len, MSG_NOSIGNAL) == (ssize_t)len ? TLY_OK : gone(error);
}

/* What has come of the message under way. */
typedef struct reader {
    uint8_t head[TLY_WIRE_HEADER_LEN + TLY_WIRE_OFFSET_LEN];
    uint32_t head_len; /* bytes */
    uint64_t left;     /* of the payload */
} reader;

/* Goes through bytes that came, to the end of a message of type `last`. Returns 1 there.
 * `data_seen` becomes 1 with the first byte of data. */
static int take(reader *r, const uint8_t *bytes, size_t len, uint32_t last, int *data_seen) {
    while (len != 0) {
        size_t n;
        if (r->head_len < TLY_WIRE_HEADER_LEN) {
            n = TLY_WIRE_HEADER_LEN - r->head_len < len ? TLY_WIRE_HEADER_LEN - r->head_len : len;
            memcpy(r->head + r->head_len, bytes, n);
            r->head_len += (uint32_t)n;
            bytes += n;
            len -= n;
            if (r->head_len < TLY_WIRE_HEADER_LEN) {
                return 0;
            }
            r->left = tly_base_load_u32(r->head + 8);
        }
        n = r->left < len ? (size_t)r->left : len;
        r->left -= n;
        bytes += n;
        len -= n;
        if (tly_base_load_u32(r->head) == TLY_WIRE_TENSOR_DATA &&
            tly_base_load_u32(r->head + 8) - r->left > TLY_WIRE_OFFSET_LEN) {
            *data_seen = 1;
        }
        if (r->left != 0) {
            return 0;
        }
        r->head_len = 0;
        if (tly_base_load_u32(r->head) == last) {
            return 1;
        }
    }
    return 0;
}

/* Reads messages up to the end of one of type `last`. `out_first` (may be NULL) gets the time when
 * the first byte of data came. */
static tly_status hear(const probe *p, uint32_t last, double *out_first, tly_error *error) {
    uint8_t bytes[65536];
    reader r = {.head_len = 0};
    int seen = 0, noted = 0, done = 0;
    while (!done) {
        /* A small buffer until then: what has come meanwhile does not count. */
        ssize_t n = recv(p->fd, bytes, noted ? sizeof bytes : 4096, 0);
        if (n <= 0) {
            return gone(error);
        }
        done = take(&r, bytes, (size_t)n, last, &seen);
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
    put_header(p->request, TLY_WIRE_TENSOR_REQUEST, ++p->stream,
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
    put_header(message, TLY_WIRE_PING, 1, 0);
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

/* HELLO by a connection object, whose bytes go through the plain socket. */
static tly_status hello(probe *p, tly_error *error) {
    tly_wire_options options = {.size = sizeof options, .role = TLY_WIRE_CLIENT};
    tly_wire_span span;
    tly_wire *wire;
    tly_status status = tly_wire_new(p->rig.context, &options, &wire, error);
    if (status != TLY_OK) {
        return status;
    }
    tly_wire_output(wire, &span, 1);
    status = say(p, span.at, span.len, error);
    if (status == TLY_OK) {
        status = hear(p, TLY_WIRE_SERVER_HELLO, NULL, error);
    }
    tly_wire_free(wire);
    p->stream = 1;
    return status;
}

/* "w" as a BA16a64b panel. */
static tly_status make_request(probe *p, tly_error *error) {
    uint8_t profile_bytes[TLY_PANEL_MAX_LEN];
    tly_panel_profile profile;
    size_t len = 0;
    uint8_t *out = p->request + TLY_WIRE_HEADER_LEN;
    tly_status status = tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, error);
    if (status == TLY_OK) {
        status = tly_panel_encode(&profile, profile_bytes, sizeof profile_bytes, &len, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    tly_base_store_u32(out, 1); /* the key */
    out[4] = 'w';
    tly_base_store_u16(out + 5, 1); /* layouts */
    out[7] = TLY_PANEL_LAYOUT_TAG;
    tly_base_store_u16(out + 8, (uint16_t)len);
    memcpy(out + 10, profile_bytes, len);
    out += 10 + len;
    *out++ = TLY_DEVICE_CPU;
    tly_base_store_u32(out, 64);
    tly_base_store_u32(out + 4, TLY_WIRE_ALLOW_TRANSCODE);
    p->request_len = (size_t)(out + 8 - p->request);
    return TLY_OK;
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
        status = make_request(&p, error);
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
