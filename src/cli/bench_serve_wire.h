/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol as a bench needs it that drives sockets itself: what is sent as bytes, and a reader
 * that only counts. */
#ifndef TLY_CLI_BENCH_SERVE_WIRE_H
#define TLY_CLI_BENCH_SERVE_WIRE_H

#include <tilery/panel.h>
#include <tilery/wire.h>

#define TLY_SERVE_HELLO_LEN   256
#define TLY_SERVE_REQUEST_LEN (TLY_PANEL_MAX_LEN + 128)

void tly_serve_put_header(uint8_t *out, uint32_t type, uint32_t stream, size_t len);

/* A client's HELLO. */
tly_status tly_serve_put_hello(const tly_context *context, uint8_t out[TLY_SERVE_HELLO_LEN],
                               size_t *out_len, tly_error *error);

/* A request for "w" as a well-known f32 panel, or native for NULL, with its header; the stream is
 * to be filled in (tly_serve_put_header). */
tly_status tly_serve_put_request(const char *panel, uint8_t out[TLY_SERVE_REQUEST_LEN],
                                 size_t *out_len, tly_error *error);

/* What has come of the message under way. Plain memory, zeros at first. */
typedef struct tly_serve_reader {
    uint8_t head[TLY_WIRE_HEADER_LEN];
    uint32_t head_len; /* bytes */
    uint64_t left;     /* of the payload */
    uint64_t data_len; /* bytes of tensor data that have come */
    int failed;        /* an ERROR has come */
} tly_serve_reader;

/* Goes through bytes that came, to the end of a message of type `last`. Returns 1 there; what
 * follows is dropped. `data_seen` becomes 1 with the first byte of data. */
int tly_serve_reader_take(tly_serve_reader *r, const uint8_t *bytes, size_t len, uint32_t last,
                          int *data_seen);

#endif
