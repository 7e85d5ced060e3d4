/* SPDX-License-Identifier: Apache-2.0 */
#include "store/stream_fd.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error.h"

#define MOST_AT_ONCE ((size_t)1 << 30)

/* Waits until a descriptor that does not block can go on. */
static tly_status wait_for(int fd, short events, tly_error *error) {
    struct pollfd p = {fd, events, 0};
    while (poll(&p, 1, -1) < 0) {
        if (errno != EINTR) {
            return tly_base_fail_errno(error, errno, "cannot wait for a stream");
        }
    }
    return TLY_OK;
}

tly_status tly_store_fd_source(void *user, void *buffer, size_t capacity, size_t *out_len,
                               tly_error *error) {
    const int fd = *(const int *)user;
    for (;;) {
        ssize_t got = read(fd, buffer, capacity < MOST_AT_ONCE ? capacity : MOST_AT_ONCE);
        if (got >= 0) {
            *out_len = (size_t)got;
            return TLY_OK;
        }
        if (errno == EAGAIN || errno == EWOULDBLOCK) {
            tly_status status = wait_for(fd, POLLIN, error);
            if (status != TLY_OK) {
                return status;
            }
        } else if (errno != EINTR) {
            return tly_base_fail_errno(error, errno, "cannot read a stream");
        }
    }
}

/* A socket whose peer has gone must not end the process; what is no socket is written to. */
static ssize_t put(int fd, const void *bytes, size_t len) {
    ssize_t done = send(fd, bytes, len, MSG_NOSIGNAL);
    return done < 0 && errno == ENOTSOCK ? write(fd, bytes, len) : done;
}

tly_status tly_store_fd_sink(void *user, const void *bytes, size_t len, tly_error *error) {
    const int fd = *(const int *)user;
    const uint8_t *from = bytes;
    while (len > 0) {
        ssize_t done = put(fd, from, len < MOST_AT_ONCE ? len : MOST_AT_ONCE);
        if (done >= 0) {
            from += done;
            len -= (size_t)done;
        } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
            tly_status status = wait_for(fd, POLLOUT, error);
            if (status != TLY_OK) {
                return status;
            }
        } else if (errno != EINTR) {
            return tly_base_fail_errno(error, errno, "cannot write a stream");
        }
    }
    return TLY_OK;
}
