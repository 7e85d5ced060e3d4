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

/* The shortest head that passes as a descriptor here: magic, version, length. */
static inline void plain_descriptor(plain_bytes *out, uint32_t stream, uint64_t total) {
    plain_bytes p = {0};
    plain_put(&p, "HRRY\1\0", 6);
    plain_number(&p, 10, 4);
    plain_number(&p, total, 8);
    plain_number(&p, 0, 4);
    plain_number(&p, 1, 4);
    plain_message(out, 4, stream, p.at, p.len);
    free(p.at);
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
