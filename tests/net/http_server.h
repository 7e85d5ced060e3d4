/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP server that answers ranges of one object and misbehaves as the path of the URL says.
 * It runs on threads of the test, one for each connection. */
#ifndef TLY_TESTS_NET_HTTP_SERVER_H
#define TLY_TESTS_NET_HTTP_SERVER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "check.h"

#define HTTP_SERVER_CONNS 64

typedef struct http_server {
    const uint8_t *bytes;
    uint64_t len;
    int fd;
    int port;
    pthread_t thread;
    pthread_mutex_t mutex; /* for the rest */
    int requests;
    int faults; /* so many requests still fail, where the path says how */
    int changed;
    char last[2048];      /* request */
    char seen[16384];     /* all of them */
    const char *location; /* of /redirect */
    int conns[HTTP_SERVER_CONNS];
    pthread_t threads[HTTP_SERVER_CONNS];
    int num_conns;
} http_server;

typedef struct http_conn {
    http_server *server;
    int fd;
} http_conn;

static inline void http_say(int fd, const char *text) {
    (void)!send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static inline int http_asks(const char *request, const char *path) {
    size_t len = strlen(path);
    return strncmp(request + 4, path, len) == 0 && strchr(" ?", request[4 + len]) != NULL;
}

/* Is this one of the requests that fail? */
static inline int http_faulty(http_server *s) {
    int is;
    pthread_mutex_lock(&s->mutex);
    is = s->faults > 0;
    s->faults -= is;
    pthread_mutex_unlock(&s->mutex);
    return is;
}

/* 206 as it should be, but for what the path wants. */
static inline int http_range(http_server *s, int fd, const char *request, int faulty) {
    unsigned long long first = 0, last = 0;
    const char *range = strcasestr(request, "\nRange: bytes="), *etag = "\"v1\"";
    char head[512], version[128];
    uint64_t len, announced, sent;
    int changed;
    if (range == NULL || sscanf(range + 14, "%llu-%llu", &first, &last) != 2 || first >= s->len) {
        http_say(fd, "HTTP/1.1 416 Range Not Satisfiable\r\nContent-Length: 0\r\n\r\n");
        return 1;
    }
    last = last < s->len ? last : s->len - 1;
    announced = len = sent = last - first + 1;
    pthread_mutex_lock(&s->mutex);
    changed = s->changed;
    pthread_mutex_unlock(&s->mutex);
    if (changed && strcasestr(request, "If-Match: \"v1\"") != NULL &&
        http_asks(request, "/precondition")) {
        http_say(fd, "HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n");
        return 1;
    }
    etag = changed ? "\"v2\"" : etag;
    snprintf(version, sizeof version, "ETag: %s\r\n", etag);
    if (http_asks(request, "/dated")) {
        snprintf(version, sizeof version, "Last-Modified: Mon, 0%d Jan 2024 00:00:00 GMT\r\n",
                 1 + changed);
    } else if (http_asks(request, "/no-version")) {
        snprintf(version, sizeof version, "ETag: W/\"weak\"\r\n");
    }
    if (http_asks(request, "/lying")) {
        announced += 5;
    }
    if (http_asks(request, "/long")) {
        sent += first != 0 ? 7 : 0;
    }
    if (http_asks(request, "/short") && faulty) {
        sent /= 2;
    }
    snprintf(head, sizeof head,
             "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %llu-%llu/%llu\r\n%s%s",
             first + (http_asks(request, "/shifted") && first != 0),
             last + (http_asks(request, "/shifted") && first != 0),
             (unsigned long long)s->len + (http_asks(request, "/grows") && changed ? 9 : 0),
             version, http_asks(request, "/gzip") ? "Content-Encoding: gzip\r\n" : "");
    http_say(fd, head);
    if (!http_asks(request, "/long")) {
        snprintf(head, sizeof head, "Content-Length: %llu\r\n", (unsigned long long)announced);
        http_say(fd, head);
    }
    http_say(fd, "\r\n");
    for (uint64_t done = 0; done < sent;) {
        static const uint8_t more[16] = {0};
        const uint8_t *at = done < len ? s->bytes + first + done : more;
        uint64_t end = done < len && sent > len ? len : sent;
        ssize_t n = send(fd, at, (size_t)(end - done), MSG_NOSIGNAL);
        if (n <= 0) {
            return 0;
        }
        done += (uint64_t)n;
    }
    return sent == announced && !http_asks(request, "/long");
}

/* Returns 0 where the connection ends. */
static inline int http_answer(http_server *s, int fd, const char *request) {
    char text[512];
    int faulty = http_faulty(s);
    if (faulty && http_asks(request, "/busy")) {
        http_say(fd, "HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nbusy\n");
        return 1;
    }
    if (faulty && http_asks(request, "/slow-down")) {
        http_say(fd, "HTTP/1.1 429 Too Many\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n");
        return 1;
    }
    if (faulty && http_asks(request, "/tomorrow")) {
        http_say(fd, "HTTP/1.1 503 Later\r\nRetry-After: 86400\r\nContent-Length: 0\r\n\r\n");
        return 1;
    }
    if (faulty && http_asks(request, "/drop")) {
        return 0;
    }
    if (http_asks(request, "/silent") || (faulty && http_asks(request, "/hang"))) {
        char byte;
        (void)!recv(fd, &byte, 1, 0); /* until the other end gives up */
        return 0;
    }
    if (http_asks(request, "/whole")) {
        http_say(fd, "HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 99999999\r\n\r\nHRRY");
        return 0;
    }
    if (http_asks(request, "/missing") || http_asks(request, "/forbidden")) {
        http_say(fd, http_asks(request, "/missing")
                         ? "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                         : "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n");
        return 1;
    }
    if (http_asks(request, "/garbage")) {
        http_say(fd, "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-\xff/9\r\nETag: "
                     "\"v1\"\r\n\r\n");
        return 0;
    }
    if (http_asks(request, "/redirect")) {
        snprintf(text, sizeof text,
                 "HTTP/1.1 302 Found\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n", s->location);
        http_say(fd, text);
        return 1;
    }
    return http_range(s, fd, request, faulty);
}

static inline void *http_serve(void *user) {
    http_conn *c = user;
    http_server *s = c->server;
    char request[2048];
    size_t len = 0;
    int more = 1;
    while (more) {
        ssize_t n = recv(c->fd, request + len, sizeof request - 1 - len, 0);
        if (n <= 0) {
            break;
        }
        len += (size_t)n;
        request[len] = '\0';
        if (strstr(request, "\r\n\r\n") != NULL) { /* one at a time: nobody pipelines */
            pthread_mutex_lock(&s->mutex);
            s->requests++;
            strcpy(s->last, request);
            strncat(s->seen, request, sizeof s->seen - strlen(s->seen) - 1);
            pthread_mutex_unlock(&s->mutex);
            more = http_answer(s, c->fd, request);
            len = 0;
        }
    }
    shutdown(c->fd, SHUT_RDWR);
    free(c);
    return NULL;
}

static inline void *http_accept(void *user) {
    http_server *s = user;
    for (;;) {
        int fd = accept(s->fd, NULL, NULL);
        http_conn *c;
        if (fd < 0 || s->num_conns == HTTP_SERVER_CONNS) {
            return NULL;
        }
        c = malloc(sizeof *c);
        *c = (http_conn){s, fd};
        s->conns[s->num_conns] = fd;
        pthread_create(&s->threads[s->num_conns++], NULL, http_serve, c);
    }
}

static inline void http_server_start(http_server *s, const uint8_t *bytes, uint64_t len) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    memset(s, 0, sizeof *s);
    s->bytes = bytes;
    s->len = len;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(s->fd, 64), 0);
    getsockname(s->fd, (struct sockaddr *)&at, &size);
    s->port = ntohs(at.sin_port);
    pthread_mutex_init(&s->mutex, NULL);
    pthread_create(&s->thread, NULL, http_accept, s);
}

static inline void http_server_stop(http_server *s) {
    shutdown(s->fd, SHUT_RDWR);
    pthread_join(s->thread, NULL);
    for (int i = 0; i < s->num_conns; i++) {
        shutdown(s->conns[i], SHUT_RDWR);
        pthread_join(s->threads[i], NULL);
        close(s->conns[i]);
    }
    close(s->fd);
    pthread_mutex_destroy(&s->mutex);
}

static inline int http_server_requests(http_server *s) {
    int requests;
    pthread_mutex_lock(&s->mutex);
    requests = s->requests;
    pthread_mutex_unlock(&s->mutex);
    return requests;
}

/* Sets what is to happen from now on, and forgets what was asked. */
static inline void http_server_set(http_server *s, int faults, int changed) {
    pthread_mutex_lock(&s->mutex);
    s->faults = faults;
    s->changed = changed;
    s->requests = 0;
    s->seen[0] = '\0';
    pthread_mutex_unlock(&s->mutex);
}

#endif
