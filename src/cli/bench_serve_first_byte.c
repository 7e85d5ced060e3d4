/* SPDX-License-Identifier: Apache-2.0 */
/* How soon the first byte of a variant comes that is packed already, against a PING. Both sides
 * speak through the same plain socket: a message goes out, and the clock stops when the first byte
 * of data behind the descriptor, or the PONG, has come. */
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/bench_serve_net.h"
#include "net/socket.h"

#define ROWS    UINT64_C(2048)
#define COLUMNS UINT64_C(2048) /* 16 MiB of f32 */
#define REPEATS 20             /* in one sample */
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

static tly_status hear(const probe *p, void *bytes, size_t len, tly_error *error) {
    return recv(p->fd, bytes, len, MSG_WAITALL) == (ssize_t)len ? TLY_OK : gone(error);
}

static tly_status drop(const probe *p, uint64_t len, tly_error *error) {
    uint8_t bytes[65536];
    tly_status status = TLY_OK;
    while (len != 0 && status == TLY_OK) {
        size_t n = len < sizeof bytes ? (size_t)len : sizeof bytes;
        status = hear(p, bytes, n, error);
        len -= n;
    }
    return status;
}

/* Reads the header of the next message. */
static tly_status next(const probe *p, uint32_t *out_type, uint32_t *out_len, tly_error *error) {
    uint8_t head[TLY_WIRE_HEADER_LEN];
    tly_status status = hear(p, head, sizeof head, error);
    *out_type = status == TLY_OK ? tly_base_load_u32(head) : 0;
    *out_len = status == TLY_OK ? tly_base_load_u32(head + 8) : 0;
    return status;
}

/* Reads messages and drops them, up to and without the payload of one of this type. */
static tly_status skip_to(const probe *p, uint32_t type, uint32_t *out_len, tly_error *error) {
    for (;;) {
        uint32_t got;
        tly_status status = next(p, &got, out_len, error);
        if (status == TLY_OK && got == TLY_WIRE_ERROR) {
            status = tly_base_fail(error, TLY_PEER, TLY_NO_OFFSET, "", "the server refuses");
        }
        if (status != TLY_OK || got == type) {
            return status;
        }
        status = drop(p, *out_len, error);
        if (status != TLY_OK) {
            return status;
        }
    }
}

static tly_status fetch_once(probe *p, double *seconds, tly_error *error) {
    uint8_t start[TLY_WIRE_OFFSET_LEN + 1];
    uint32_t len;
    double started;
    tly_status status;
    put_header(p->request, TLY_WIRE_TENSOR_REQUEST, ++p->stream,
               p->request_len - TLY_WIRE_HEADER_LEN);
    started = tly_bench_now();
    status = say(p, p->request, p->request_len, error);
    if (status == TLY_OK) {
        status = skip_to(p, TLY_WIRE_TENSOR_DATA, &len, error);
    }
    if (status == TLY_OK) {
        status = hear(p, start, sizeof start, error);
    }
    *seconds += tly_bench_now() - started;
    if (status == TLY_OK) {
        status = drop(p, len - sizeof start, error);
    }
    return status == TLY_OK ? skip_to(p, TLY_WIRE_TENSOR_DATA_END, &len, error) : status;
}

static tly_status ping_once(probe *p, double *seconds, tly_error *error) {
    uint8_t message[TLY_WIRE_HEADER_LEN];
    uint32_t len;
    double started;
    tly_status status;
    put_header(message, TLY_WIRE_PING, 1, 0);
    started = tly_bench_now();
    status = say(p, message, sizeof message, error);
    if (status == TLY_OK) {
        status = skip_to(p, TLY_WIRE_PONG, &len, error);
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
    uint32_t len;
    tly_status status = tly_wire_new(p->rig.context, &options, &wire, error);
    if (status != TLY_OK) {
        return status;
    }
    tly_wire_output(wire, &span, 1);
    status = say(p, span.at, span.len, error);
    if (status == TLY_OK) {
        status = skip_to(p, TLY_WIRE_SERVER_HELLO, &len, error);
    }
    if (status == TLY_OK) {
        status = drop(p, len, error);
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
    probe p = {.fd = -1};
    tly_status status = tly_serve_rig_init(&p.rig, tly_bench_context(bench), ROWS, COLUMNS, error);
    if (status == TLY_OK) {
        status = tly_serve_rig_serve(&p.rig, "tcp:127.0.0.1:0", &options, error);
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
                              "request to first byte of data, and PING to PONG, over TCP");
    }
    if (p.fd >= 0) {
        close(p.fd);
    }
    tly_serve_rig_cleanup(&p.rig);
    return status;
}
