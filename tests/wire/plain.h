/* SPDX-License-Identifier: Apache-2.0 */
/* A second codec of the protocol, written from the specification for the tests alone: it reads by
 * position with shifts, builds by appending, and shares nothing with src/wire. */
#ifndef TLY_TESTS_WIRE_PLAIN_H
#define TLY_TESTS_WIRE_PLAIN_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/wire.h>

#include "check.h"

typedef struct plain_bytes {
    uint8_t *at;
    size_t len;
    size_t capacity;
} plain_bytes;

static inline void plain_put(plain_bytes *b, const void *bytes, size_t len) {
    if (b->len + len > b->capacity) {
        b->capacity = (b->len + len) * 2 + 64;
        b->at = realloc(b->at, b->capacity);
    }
    if (len != 0) {
        memcpy(b->at + b->len, bytes, len);
    }
    b->len += len;
}

static inline void plain_number(plain_bytes *b, uint64_t value, int width) {
    for (int i = 0; i < width; i++) {
        uint8_t byte = (uint8_t)(value >> (8 * i));
        plain_put(b, &byte, 1);
    }
}

/* `width` bytes at `offset`, which must be there. */
static inline uint64_t plain_get(const uint8_t *bytes, size_t len, size_t offset, int width) {
    uint64_t value = 0;
    assert_true(offset + (size_t)width <= len);
    for (int i = width; i-- > 0;) {
        value = value * 256 + bytes[offset + (size_t)i];
    }
    return value;
}

static inline void plain_message(plain_bytes *out, uint32_t type, uint32_t stream,
                                 const void *payload, size_t len) {
    plain_number(out, type, 4);
    plain_number(out, stream, 4);
    plain_number(out, len, 4);
    plain_put(out, payload, len);
}

/* HELLO with the layouts 1 and 2, CPU, STANDARD. */
static inline void plain_hello(plain_bytes *out, uint32_t type, uint32_t stream, uint32_t max) {
    plain_bytes p = {0};
    plain_number(&p, 1, 4);
    plain_number(&p, max, 4);
    plain_number(&p, 0, 8);
    plain_number(&p, 2, 2);
    plain_number(&p, 0x0201, 2);
    plain_number(&p, 1, 2);
    plain_number(&p, 0, 1);
    plain_number(&p, 1, 2);
    plain_number(&p, 0, 1);
    plain_message(out, type, stream, p.at, p.len);
    free(p.at);
}

/* Layout entries come serialised, with their count. */
static inline void plain_request(plain_bytes *out, uint32_t stream, const char *key,
                                 const plain_bytes *layouts, uint32_t num, uint32_t flags) {
    plain_bytes p = {0};
    plain_number(&p, strlen(key), 4);
    plain_put(&p, key, strlen(key));
    plain_number(&p, num, 2);
    plain_put(&p, layouts->at, layouts->len);
    plain_number(&p, 0, 1);
    plain_number(&p, 64, 4);
    plain_number(&p, flags, 4);
    plain_message(out, 3, stream, p.at, p.len);
    free(p.at);
}

/* The serialised descriptor of `num` bytes in a row: u8, row-major, on `device`, rank 1. With
 * `parent` not 0 it is the box at `offset` of a parent of so many. */
static inline void plain_tensor(plain_bytes *p, uint64_t num, uint64_t parent, uint64_t offset,
                                uint8_t device) {
    plain_put(p, "HRRY\1\0", 6);
    plain_number(p, 53 + (parent != 0 ? 16 : 0), 4);
    plain_number(p, parent != 0 ? 2 : 0, 4); /* flags */
    plain_number(p, 0x11, 1);                /* u8 */
    plain_number(p, 1, 1);                   /* row-major */
    plain_number(p, 1, 4);                   /* rank */
    plain_number(p, num, 8);
    plain_number(p, 0, 8); /* byte_offset */
    plain_number(p, 1, 1); /* buffers */
    plain_number(p, num, 8);
    plain_number(p, 64, 4);
    plain_number(p, device, 4);
    if (parent != 0) {
        plain_number(p, parent, 8);
        plain_number(p, offset, 8);
    }
}

/* The serialised head of a composite of `count` members: u8, rank 1, `num` elements. */
static inline void plain_head(plain_bytes *p, uint64_t num, uint8_t rule, uint32_t count) {
    plain_put(p, "HRRY\1\0", 6);
    plain_number(p, 45, 4);
    plain_number(p, 0, 4);    /* flags */
    plain_number(p, 0x11, 1); /* u8 */
    plain_number(p, 0x0B, 1); /* composite */
    plain_number(p, 1, 4);    /* rank */
    plain_number(p, num, 8);
    plain_number(p, 0, 8); /* byte_offset */
    plain_number(p, rule, 1);
    plain_number(p, 0, 3); /* no operation */
    plain_number(p, count, 4);
    plain_number(p, 0, 1); /* no buffers */
}

/* `total` bytes of u8. */
static inline void plain_descriptor(plain_bytes *out, uint32_t stream, uint64_t total) {
    plain_bytes p = {0};
    plain_tensor(&p, total, 0, 0, 0);
    plain_number(&p, total, 8);
    plain_number(&p, 0, 4);
    plain_number(&p, 1, 4);
    plain_message(out, 4, stream, p.at, p.len);
    free(p.at);
}

/* Shard `index` of `num`: the box of `len` bytes at `offset` of `parent` bytes. */
static inline void plain_shard(plain_bytes *out, uint32_t stream, uint64_t len, uint64_t parent,
                               uint64_t offset, uint32_t index, uint32_t num) {
    plain_bytes p = {0};
    plain_tensor(&p, len, parent, offset, 0);
    plain_number(&p, len, 8);
    plain_number(&p, index, 4);
    plain_number(&p, num, 4);
    plain_message(out, 4, stream, p.at, p.len);
    free(p.at);
}

static inline void plain_upload(plain_bytes *out, uint32_t stream, const char *key, uint64_t total,
                                uint8_t device) {
    plain_bytes p = {0}, d = {0};
    plain_tensor(&d, total, 0, 0, device);
    plain_number(&p, strlen(key), 4);
    plain_put(&p, key, strlen(key));
    plain_number(&p, d.len, 4);
    plain_put(&p, d.at, d.len);
    plain_number(&p, total, 8);
    plain_message(out, 7, stream, p.at, p.len);
    free(p.at);
    free(d.at);
}

static inline void plain_data(plain_bytes *out, uint32_t stream, uint64_t offset, const void *bytes,
                              size_t len) {
    plain_bytes p = {0};
    plain_number(&p, offset, 8);
    plain_put(&p, bytes, len);
    plain_message(out, 5, stream, p.at, p.len);
    free(p.at);
}

static inline void plain_end(plain_bytes *out, uint32_t stream) {
    plain_message(out, 6, stream, NULL, 0);
}

/* Everything that a connection has to send, taken out of it. */

static inline void plain_take_output(tly_wire *wire, plain_bytes *out, size_t most) {
    while (tly_wire_queued(wire) != 0 && most != 0) {
        tly_wire_span span;
        size_t n;
        assert_int_equal(tly_wire_output(wire, &span, 1), 1);
        assert_true(span.len != 0);
        n = span.len < most ? span.len : most;
        plain_put(out, span.at, n);
        tly_wire_sent(wire, n);
        most -= n;
    }
}

static inline tly_wire *plain_wire(const tly_context *context, int32_t role) {
    static const uint8_t cpu[] = {0};
    tly_wire_options options = {.size = sizeof options, .role = role};
    tly_wire *wire;
    tly_error error;
    options.devices = cpu;
    options.num_devices = 1;
    CHECK_OK(tly_wire_new(context, &options, &wire, &error), &error);
    return wire;
}

/* Feeds all bytes; calls `on_event` for each event. */
static inline void plain_feed(tly_wire *wire, const void *bytes, size_t len,
                              void (*on_event)(void *user, const tly_wire_event *event),
                              void *user) {
    const uint8_t *at = bytes;
    size_t done = 0;
    for (;;) {
        tly_wire_event event;
        size_t used;
        tly_wire_next(wire, &event);
        if (event.kind != TLY_WIRE_EVENT_NONE) {
            on_event(user, &event);
            continue;
        }
        if (done == len) {
            return;
        }
        assert_int_equal(tly_wire_feed(wire, at + done, len - done, &used), TLY_OK);
        done += used;
        if (used == 0) {
            tly_wire_next(wire, &event);
            assert_true(event.kind != TLY_WIRE_EVENT_NONE); /* or it would never move */
            on_event(user, &event);
        }
    }
}

#endif
