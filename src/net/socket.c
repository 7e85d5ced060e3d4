/* SPDX-License-Identifier: Apache-2.0 */
#include "net/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"

#define BACKLOG 4096 /* the system's own limit is lower as a rule */

static uint64_t now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void set_unix(struct sockaddr_un *un, const char *path) {
    memset(un, 0, sizeof *un);
    un->sun_family = AF_UNIX;
    memcpy(un->sun_path, path, strlen(path) + 1);
}

void tly_net_set_timeout(int fd, uint32_t timeout_ms) {
    struct timeval t = {(time_t)(timeout_ms / 1000), (suseconds_t)(timeout_ms % 1000) * 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

static void set_no_delay(int fd) {
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* fails on a Unix socket: fine */
}

/* ---- connecting ---- */

/* Connects one socket until `deadline`. Returns 0 or an errno. */
static int connect_until(int fd, const struct sockaddr *sa, socklen_t len, uint64_t deadline) {
    for (;;) {
        struct pollfd p = {fd, POLLOUT, 0};
        uint64_t now;
        int failed = 0;
        socklen_t size = sizeof failed;
        if (connect(fd, sa, len) == 0 || errno == EISCONN) {
            return 0;
        }
        if (errno == EINTR) {
            continue;
        }
        if (errno != EINPROGRESS && errno != EALREADY && errno != EAGAIN) {
            return errno;
        }
        now = now_ms();
        if (now >= deadline) {
            return ETIMEDOUT;
        }
        if (errno == EAGAIN) { /* a Unix server whose queue is full: there is nothing to poll for */
            poll(NULL, 0, 10);
            continue;
        }
        if (poll(&p, 1, (int)(deadline - now)) <= 0) {
            continue;
        }
        if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) != 0 || failed != 0) {
            return failed != 0 ? failed : errno;
        }
        return 0;
    }
}

static int open_connected(const struct sockaddr *sa, socklen_t len, uint32_t buffer_len,
                          uint64_t deadline, int *out_errno) {
    int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        *out_errno = errno;
        return -1;
    }
    if (buffer_len != 0) {
        int size = buffer_len > INT32_MAX / 2 ? INT32_MAX / 2 : (int)buffer_len;
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    }
    *out_errno = connect_until(fd, sa, len, deadline);
    if (*out_errno != 0) {
        close(fd);
        return -1;
    }
    set_no_delay(fd);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
    return fd;
}

static tly_status connect_failed(const char *address, int failed, uint32_t timeout_ms,
                                 tly_error *error) {
    if (failed == ETIMEDOUT) {
        return tly_base_fail(error, TLY_TIMEOUT, TLY_NO_OFFSET, "connect-timeout",
                             "%s did not take the connection within %u ms", address, timeout_ms);
    }
    return tly_base_fail_errno(error, failed, "cannot connect to %s (is the server running?)",
                               address);
}

static tly_status lookup(const tly_net_address *a, int flags, const char *address,
                         struct addrinfo **out, tly_error *error) {
    struct addrinfo hints = {0};
    int failed;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | flags;
    failed = getaddrinfo(a->host, a->port, &hints, out);
    if (failed != 0) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "lookup", "cannot look up %s: %s",
                             address, gai_strerror(failed));
    }
    return TLY_OK;
}

tly_status tly_net_connect(const char *address, uint32_t timeout_ms, uint32_t buffer_len,
                           int *out_fd, tly_error *error) {
    tly_net_address a;
    uint64_t deadline = now_ms() + timeout_ms;
    struct addrinfo *list;
    tly_status status = tly_net_address_parse(address, &a, error);
    int failed = ECONNREFUSED;
    *out_fd = -1;
    if (status != TLY_OK) {
        return status;
    }
    if (a.kind == TLY_NET_UNIX) {
        struct sockaddr_un un;
        set_unix(&un, a.path);
        *out_fd =
            open_connected((const struct sockaddr *)&un, sizeof un, buffer_len, deadline, &failed);
    } else {
        status = lookup(&a, 0, address, &list, error);
        if (status != TLY_OK) {
            return status;
        }
        for (const struct addrinfo *i = list; i != NULL && *out_fd < 0; i = i->ai_next) {
            *out_fd = open_connected(i->ai_addr, i->ai_addrlen, buffer_len, deadline, &failed);
        }
        freeaddrinfo(list);
    }
    return *out_fd >= 0 ? TLY_OK : connect_failed(address, failed, timeout_ms, error);
}

/* ---- listening ---- */

static tly_status listen_failed(int fd, const char *address, const char *what, tly_error *error) {
    int failed = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (failed == EADDRINUSE) {
        return tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "address-in-use",
                             "%s is taken by another server", address);
    }
    return tly_base_fail_errno(error, failed, "cannot %s %s", what, address);
}

/* Makes room at `path`: a socket that nobody answers on is what a dead server left behind, and
 * goes; anything else stays. */
static tly_status clear_path(const struct sockaddr_un *un, const char *address, tly_error *error) {
    struct stat st;
    int fd, alive;
    if (lstat(un->sun_path, &st) != 0) {
        return TLY_OK; /* bind says what is wrong, if anything is */
    }
    if (!S_ISSOCK(st.st_mode)) {
        return tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "path-in-use",
                             "%s exists and is not a socket", un->sun_path);
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return tly_base_fail_errno(error, errno, "cannot make a socket for %s", address);
    }
    alive = connect(fd, (const struct sockaddr *)un, sizeof *un) == 0 || errno != ECONNREFUSED;
    close(fd);
    if (alive) {
        return tly_base_fail(error, TLY_EXISTS, TLY_NO_OFFSET, "address-in-use",
                             "%s is taken by another server", address);
    }
    if (unlink(un->sun_path) != 0 && errno != ENOENT) {
        return tly_base_fail_errno(error, errno, "cannot remove the dead socket %s", un->sun_path);
    }
    return TLY_OK;
}

/* The socket must never be reachable by others, not even between bind and chmod, and the umask
 * belongs to the whole process. So it is bound under a temporary name in a folder of mode 0700 and
 * moved. */
static tly_status listen_unix(const tly_net_address *a, const char *address, int *out_fd,
                              tly_error *error) {
    struct sockaddr_un target, un;
    char folder[sizeof target.sun_path + 16];
    const char *slash = strrchr(a->path, '/');
    tly_status status;
    int fd, moved;
    set_unix(&target, a->path);
    status = clear_path(&target, address, error);
    if (status != TLY_OK) {
        return status;
    }
    snprintf(folder, sizeof folder, "%.*s.tlyXXXXXX",
             slash != NULL ? (int)(slash + 1 - a->path) : 0, a->path);
    if (strlen(folder) + 3 > sizeof un.sun_path) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "address",
                             "the folder of %s is too long a path for a Unix socket", a->path);
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || mkdtemp(folder) == NULL) {
        return listen_failed(fd, address, "make a socket at", error);
    }
    memset(&un, 0, sizeof un);
    un.sun_family = AF_UNIX;
    memcpy(un.sun_path, folder, strlen(folder));
    memcpy(un.sun_path + strlen(folder), "/s", 3);
    if (bind(fd, (const struct sockaddr *)&un, sizeof un) != 0 || chmod(un.sun_path, 0600) != 0 ||
        listen(fd, BACKLOG) != 0) {
        int failed = errno;
        unlink(un.sun_path);
        rmdir(folder);
        errno = failed;
        return listen_failed(fd, address, "listen on", error);
    }
    /* link, not rename: whoever took the name meanwhile keeps it. */
    moved = link(un.sun_path, a->path);
    if (moved != 0) {
        int failed = errno == EEXIST ? EADDRINUSE : errno;
        unlink(un.sun_path);
        rmdir(folder);
        errno = failed;
        return listen_failed(fd, address, "listen on", error);
    }
    unlink(un.sun_path);
    rmdir(folder);
    *out_fd = fd;
    return TLY_OK;
}

/* Looks an address up for listening, and refuses what other machines reach unless `remote`. */
static tly_status lookup_own(const tly_net_address *a, const char *address, int remote,
                             struct addrinfo **out, tly_error *error) {
    tly_status status = lookup(a, AI_PASSIVE, address, out, error);
    if (status != TLY_OK) {
        return status;
    }
    for (const struct addrinfo *i = *out; i != NULL; i = i->ai_next) {
        if (!remote && !tly_net_is_loopback(i->ai_addr)) {
            freeaddrinfo(*out);
            return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "loopback-only",
                                 "%s is reachable from other machines: that takes tls: and access "
                                 "rules or client certificates; or listen on 127.0.0.1, [::1] or "
                                 "a Unix socket",
                                 address);
        }
    }
    return TLY_OK;
}

static tly_status listen_tcp(const tly_net_address *a, const char *address, int remote, int *out_fd,
                             tly_error *error) {
    struct addrinfo *list;
    tly_status status = lookup_own(a, address, remote, &list, error);
    int fd, one = 1;
    if (status != TLY_OK) {
        return status;
    }
    fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        bind(fd, list->ai_addr, list->ai_addrlen) != 0 || listen(fd, BACKLOG) != 0) {
        freeaddrinfo(list);
        return listen_failed(fd, address, "listen on", error);
    }
    freeaddrinfo(list);
    *out_fd = fd;
    return TLY_OK;
}

tly_status tly_net_check_listen(const char *address, uint32_t remote, int *out_kind,
                                tly_error *error) {
    tly_net_address a;
    struct addrinfo *list;
    tly_status status = tly_net_address_parse(address, &a, error);
    *out_kind = a.kind;
    if (status != TLY_OK || a.kind == TLY_NET_UNIX) {
        return status;
    }
    status = lookup_own(&a, address, (remote >> a.kind & 1) != 0, &list, error);
    if (status == TLY_OK) {
        freeaddrinfo(list);
    }
    return status;
}

tly_status tly_net_listen(const char *address, uint32_t remote, char *out_text, size_t capacity,
                          int *out_kind, int *out_fd, tly_error *error) {
    tly_net_address a;
    tly_status status = tly_net_address_parse(address, &a, error);
    *out_fd = -1;
    if (status != TLY_OK) {
        return status;
    }
    *out_kind = a.kind;
    if (a.kind == TLY_NET_UNIX) {
        snprintf(out_text, capacity, "unix:%s", a.path);
        return listen_unix(&a, address, out_fd, error);
    }
    status = listen_tcp(&a, address, (remote >> a.kind & 1) != 0, out_fd, error);
    if (status == TLY_OK) {
        struct sockaddr_storage ss;
        socklen_t len = sizeof ss;
        memset(&ss, 0, sizeof ss);
        getsockname(*out_fd, (struct sockaddr *)&ss, &len);
        tly_net_address_print((const struct sockaddr *)&ss, out_text, capacity);
        if (a.kind == TLY_NET_TLS) {
            memcpy(out_text, "tls", 3);
        }
    }
    return status;
}
