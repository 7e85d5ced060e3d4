/* SPDX-License-Identifier: Apache-2.0 */
/* A peer that speaks through a plain socket, so that it can do what no client would. */
#ifndef TLY_TESTS_SERVE_RAW_H
#define TLY_TESTS_SERVE_RAW_H

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "serve/fixture.h"
#include "wire/plain.h"

static inline int raw_connect(const fixture *f) {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    memcpy(un.sun_path, f->address + 5, strlen(f->address + 5));
    assert_int_equal(connect(fd, (struct sockaddr *)&un, sizeof un), 0);
    return fd;
}

static inline void raw_send(int fd, plain_bytes *bytes) {
    size_t done = 0;
    while (done < bytes->len) {
        ssize_t n = send(fd, bytes->at + done, bytes->len - done, MSG_NOSIGNAL);
        assert_true(n > 0);
        done += (size_t)n;
    }
    bytes->len = 0;
}

/* Reads exactly `len` bytes within ten seconds. Returns 0 at the end of the connection, -1 when it
 * was reset. */
static inline int raw_read(int fd, void *out, size_t len) {
    size_t done = 0;
    while (done < len) {
        struct pollfd p = {fd, POLLIN, 0};
        ssize_t n;
        assert_int_equal(poll(&p, 1, 10000), 1);
        n = recv(fd, (uint8_t *)out + done, len - done, 0);
        if (n <= 0) {
            return n == 0 ? 0 : -1;
        }
        done += (size_t)n;
    }
    return 1;
}

typedef struct raw_message {
    uint32_t type, stream, len;
    uint8_t *payload; /* the caller frees it */
} raw_message;

static inline int raw_message_read(int fd, raw_message *m) {
    uint8_t head[12];
    int result = raw_read(fd, head, 12);
    memset(m, 0, sizeof *m);
    if (result != 1) {
        return result;
    }
    m->type = (uint32_t)plain_get(head, 12, 0, 4);
    m->stream = (uint32_t)plain_get(head, 12, 4, 4);
    m->len = (uint32_t)plain_get(head, 12, 8, 4);
    m->payload = malloc(m->len + 1u);
    return raw_read(fd, m->payload, m->len);
}

/* Reads until a message of this type; returns its first payload number, or 0 if it has none. */
static inline uint32_t raw_expect(int fd, uint32_t type) {
    for (;;) {
        raw_message m = {0};
        uint32_t number;
        assert_int_equal(raw_message_read(fd, &m), 1);
        number = m.len >= 4 ? (uint32_t)plain_get(m.payload, m.len, 0, 4) : 0;
        free(m.payload);
        if (m.type == type) {
            return number;
        }
    }
}

#endif
