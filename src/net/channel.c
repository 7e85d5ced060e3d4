/* SPDX-License-Identifier: Apache-2.0 */
#include "net/channel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/sigpipe.h"

#define MAX_SPANS 64

/* Shorter payloads are copied: together with what stands around them, that is one call less. */
#define SEND_FILE_LEN (128u << 10)

static tly_net_result classify(void) {
    if (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR) {
        return TLY_NET_AGAIN;
    }
    return errno == EFAULT ? TLY_NET_FAULT : TLY_NET_ERROR;
}

static int find_file(const tly_net_channel *channel, const tly_wire_span *span, int *out_fd,
                     uint64_t *out_offset) {
    return span->token != NULL && channel->in_file != NULL &&
           channel->in_file(span, out_fd, out_offset);
}

/* ---- TLS ---- */

static tly_net_result classify_tls(tly_net_tls *tls, int result) {
    tls->wants_write = result == TLY_TLS_WANT_WRITE;
    switch (result) {
    case TLY_TLS_OK:
        return TLY_NET_OK;
    case TLY_TLS_WANT_READ:
    case TLY_TLS_WANT_WRITE:
        errno = EAGAIN;
        return TLY_NET_AGAIN;
    case TLY_TLS_END:
        return TLY_NET_EOF;
    default:
        if (errno == 0) {
            errno = EPROTO;
        }
        return TLY_NET_ERROR;
    }
}

/* Fills the stage with the bytes that come next; from here on they count as sent, so that nothing
 * that happens to the queue can change a record that waits. A file is read rather than its map: a
 * file that was cut short must not end the process. */
static tly_net_result fill_stage(tly_net_channel *channel, tly_wire *wire) {
    tly_net_tls *tls = channel->tls;
    tly_wire_span spans[MAX_SPANS];
    uint32_t num = tly_wire_output(wire, spans, MAX_SPANS);
    tls->staged = tls->stage_sent = 0;
    for (uint32_t i = 0; i < num && tls->staged < sizeof tls->stage; i++) {
        size_t len = sizeof tls->stage - tls->staged;
        uint64_t offset;
        int file;
        if (len > spans[i].len) {
            len = spans[i].len;
        }
        if (find_file(channel, &spans[i], &file, &offset)) {
            ssize_t n = pread(file, tls->stage + tls->staged, len, (off_t)offset);
            if (n <= 0) {
                if (tls->staged != 0) {
                    break; /* what stands before it leaves first */
                }
                return n < 0 && errno == EINTR ? TLY_NET_AGAIN : TLY_NET_FAULT;
            }
            tls->staged += (size_t)n;
            if ((size_t)n < spans[i].len) {
                break;
            }
        } else {
            memcpy(tls->stage + tls->staged, spans[i].at, len);
            tls->staged += len;
            if (len < spans[i].len) {
                break;
            }
        }
    }
    tly_wire_sent(wire, tls->staged);
    return TLY_NET_OK;
}

static tly_net_result send_tls(tly_net_channel *channel, tly_wire *wire, uint64_t *out_len) {
    tly_net_tls *tls = channel->tls;
    tly_net_result result;
    size_t n;
    if (tls->stage_sent == tls->staged) {
        if (tly_wire_queued(wire) == 0) {
            return TLY_NET_IDLE;
        }
        result = fill_stage(channel, wire);
        if (result != TLY_NET_OK) {
            return result;
        }
    }
    result = classify_tls(tls, tls->module->write(tls->at, tls->stage + tls->stage_sent,
                                                  tls->staged - tls->stage_sent, &n));
    tls->output_wants_read = result == TLY_NET_AGAIN && !tls->wants_write;
    if (result == TLY_NET_EOF) {
        errno = EPIPE;
        return TLY_NET_ERROR;
    }
    tls->stage_sent += n;
    *out_len = n;
    return result;
}

static tly_net_result receive_tls(tly_net_tls *tls, const tly_wire_span *spans, uint32_t num,
                                  size_t *out_len) {
    tly_net_result result = TLY_NET_OK;
    *out_len = 0;
    for (uint32_t i = 0; i < num && result == TLY_NET_OK; i++) {
        uint8_t *at = spans[i].at;
        size_t left = spans[i].len;
        while (left != 0 && result == TLY_NET_OK) {
            size_t n;
            if (*out_len != 0 && !tls->module->has_pending(tls->at)) {
                return TLY_NET_OK; /* a blocking socket would wait for more */
            }
            result = classify_tls(tls, tls->module->read(tls->at, at, left, &n));
            at += n;
            left -= n;
            *out_len += n;
        }
    }
    return *out_len != 0 ? TLY_NET_OK : result;
}

/* ---- sending ---- */

/* Sends from a file without copying. A file that has become shorter is a payload that cannot be
 * read. */
static tly_net_result send_file(int fd, int file, uint64_t offset, size_t len, uint64_t *out_len) {
    off_t at = (off_t)offset;
    tly_base_sigpipe held;
    tly_base_sigpipe_hold(&held);
    ssize_t n = sendfile(fd, file, &at, len);
    tly_base_sigpipe_release(&held, n < 0 || (size_t)n < len); /* it also comes behind a part */
    if (n < 0) {
        return classify();
    }
    *out_len = (uint64_t)n;
    return n == 0 ? TLY_NET_FAULT : TLY_NET_OK;
}

static void attach(struct msghdr *message, void *room, size_t room_len, int fd) {
    struct cmsghdr *c;
    memset(room, 0, room_len);
    message->msg_control = room;
    message->msg_controllen = CMSG_SPACE(sizeof fd);
    c = CMSG_FIRSTHDR(message);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
}

tly_net_result tly_net_send(tly_net_channel *channel, tly_wire *wire, uint64_t *out_len) {
    union {
        struct cmsghdr aligned;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    tly_wire_span spans[MAX_SPANS];
    struct iovec iov[MAX_SPANS];
    struct msghdr message = {0};
    uint32_t num, used = 0;
    int flags = MSG_NOSIGNAL, attachment;
    ssize_t n;
    *out_len = 0;
    if (channel->tls != NULL) {
        return send_tls(channel, wire, out_len);
    }
    num = tly_wire_output(wire, spans, MAX_SPANS);
    if (num == 0) {
        return TLY_NET_IDLE;
    }
    while (used < num) {
        uint64_t offset;
        int file;
        if (spans[used].len >= SEND_FILE_LEN && find_file(channel, &spans[used], &file, &offset)) {
            if (used == 0) {
                tly_net_result result = send_file(channel->fd, file, offset, spans[0].len, out_len);
                if (result == TLY_NET_OK) {
                    tly_wire_sent(wire, *out_len);
                }
                return result;
            }
            if (used > 1) {
                used--; /* what stands before the frame need not wait for it */
            } else {
                flags |= MSG_MORE; /* the header of a frame goes with its payload */
            }
            break;
        }
        iov[used].iov_base = spans[used].at;
        iov[used].iov_len = spans[used].len;
        used++;
    }
    if (channel->more_follows && used == num) {
        flags |= MSG_MORE; /* so that it does not take a packet of its own */
    }
    message.msg_iov = iov;
    message.msg_iovlen = used;
    attachment = tly_wire_attachment(wire);
    if (attachment >= 0) {
        attach(&message, control.room, sizeof control.room, attachment);
    }
    n = sendmsg(channel->fd, &message, flags);
    if (n < 0 && errno == EFAULT && used > 1) {
        message.msg_iovlen = 1; /* was it the first, or one behind it in the same packet? */
        n = sendmsg(channel->fd, &message, MSG_NOSIGNAL);
    }
    if (n < 0) {
        return classify();
    }
    tly_wire_sent(wire, (uint64_t)n);
    *out_len = (uint64_t)n;
    return TLY_NET_OK;
}

/* ---- receiving ---- */

/* Keeps the descriptors of a message, as far as there is room. */
static void keep_fds(tly_net_channel *channel, struct msghdr *message) {
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c != NULL; c = CMSG_NXTHDR(message, c)) {
        size_t num = c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS
                         ? (c->cmsg_len - CMSG_LEN(0)) / sizeof(int)
                         : 0;
        for (size_t i = 0; i < num; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (channel->num_fds < TLY_NET_MAX_FDS) {
                channel->fds[channel->num_fds++] = fd;
            } else {
                close(fd);
            }
        }
    }
}

/* Reads once. */
static ssize_t read_socket(tly_net_channel *channel, struct iovec *iov, uint32_t num) {
    union {
        struct cmsghdr aligned;
        char room[CMSG_SPACE(TLY_NET_MAX_FDS * sizeof(int))];
    } control;
    struct msghdr message = {.msg_iov = iov,
                             .msg_iovlen = num,
                             .msg_control = control.room,
                             .msg_controllen = sizeof control.room};
    ssize_t n;
    if (!channel->takes_fds) {
        return readv(channel->fd, iov, (int)num);
    }
    n = recvmsg(channel->fd, &message, MSG_CMSG_CLOEXEC);
    if (n >= 0) {
        keep_fds(channel, &message);
    }
    return n;
}

/* Gives out what has been read ahead. */
static size_t take_ahead(tly_net_channel *channel, const tly_wire_span *spans, uint32_t num) {
    size_t got = 0;
    for (uint32_t i = 0; i < num; i++) {
        size_t n = channel->ahead_len - channel->ahead_used;
        if (n > spans[i].len) {
            n = spans[i].len;
        }
        memcpy(spans[i].at, channel->ahead + channel->ahead_used, n);
        channel->ahead_used += (uint32_t)n;
        got += n;
    }
    return got;
}

/* Large targets are filled in place; small ones by way of the memory for what is read ahead. */
static ssize_t receive_plain(tly_net_channel *channel, const tly_wire_span *spans, uint32_t num) {
    struct iovec iov[2];
    size_t room = 0;
    ssize_t n;
    if (channel->ahead_used != channel->ahead_len) {
        return (ssize_t)take_ahead(channel, spans, num);
    }
    for (uint32_t i = 0; i < num; i++) {
        iov[i].iov_base = spans[i].at;
        iov[i].iov_len = spans[i].len;
        room += spans[i].len;
    }
    if (room >= TLY_NET_AHEAD_LEN) {
        n = read_socket(channel, iov, num);
        channel->is_empty = n < 0 || (size_t)n < room;
        return n;
    }
    iov[0].iov_base = channel->ahead;
    iov[0].iov_len = TLY_NET_AHEAD_LEN;
    n = read_socket(channel, iov, 1);
    channel->is_empty = n < TLY_NET_AHEAD_LEN;
    if (n <= 0) {
        return n;
    }
    channel->ahead_used = 0;
    channel->ahead_len = (uint32_t)n;
    return (ssize_t)take_ahead(channel, spans, num);
}

tly_net_result tly_net_receive(tly_net_channel *channel, tly_wire *wire, uint64_t *out_len) {
    tly_wire_span spans[2];
    uint32_t num = tly_wire_recv_targets(wire, spans);
    size_t got = 0;
    *out_len = 0;
    if (num == 0) {
        return TLY_NET_IDLE;
    }
    if (channel->tls != NULL) {
        tly_net_result result = receive_tls(channel->tls, spans, num, &got);
        if (result != TLY_NET_OK) {
            return result;
        }
    } else {
        ssize_t n = receive_plain(channel, spans, num);
        if (n <= 0) {
            return n == 0 ? TLY_NET_EOF : classify();
        }
        got = (size_t)n;
    }
    *out_len = got;
    if (tly_wire_received(wire, got) != TLY_OK) {
        errno = ENOMEM;
        return TLY_NET_ERROR;
    }
    return TLY_NET_OK;
}

int tly_net_take_fd(tly_net_channel *channel) {
    int fd;
    if (channel->num_fds == 0) {
        return -1;
    }
    fd = channel->fds[0];
    memmove(channel->fds, channel->fds + 1, --channel->num_fds * sizeof channel->fds[0]);
    return fd;
}

/* ---- state and end ---- */

int tly_net_has_pending(const tly_net_channel *channel) {
    return channel->tls != NULL ? channel->tls->module->has_pending(channel->tls->at)
                                : channel->ahead_used != channel->ahead_len;
}

int tly_net_wants_write(const tly_net_channel *channel) {
    return channel->tls != NULL && channel->tls->wants_write;
}

int tly_net_output_wants_read(const tly_net_channel *channel) {
    return channel->tls != NULL && channel->tls->output_wants_read;
}

int tly_net_has_staged(const tly_net_channel *channel) {
    return channel->tls != NULL && channel->tls->stage_sent != channel->tls->staged;
}

int tly_net_peer_certificate(const tly_net_channel *channel, uint8_t out[32]) {
    return channel->tls != NULL && channel->tls->module->fingerprint(channel->tls->at, out);
}

void tly_net_explain(const tly_net_channel *channel, char *out, size_t capacity) {
    out[0] = '\0';
    if (channel->tls != NULL) {
        channel->tls->module->explain(channel->tls->at, out, capacity);
    }
}

void tly_net_end_output(tly_net_channel *channel) {
    if (channel->tls != NULL) {
        channel->tls->module->say_end(channel->tls->at);
    }
    shutdown(channel->fd, SHUT_WR);
}

tly_net_result tly_net_drain(int fd) {
    char scratch[16384];
    ssize_t n = recv(fd, scratch, sizeof scratch, MSG_DONTWAIT);
    if (n < 0) {
        return classify();
    }
    return n == 0 ? TLY_NET_EOF : TLY_NET_OK;
}

void tly_net_channel_cleanup(const tly_context *context, tly_net_channel *channel) {
    tly_net_tls_free(context, channel->tls);
    channel->tls = NULL;
    while (channel->num_fds != 0) {
        close(tly_net_take_fd(channel));
    }
}
