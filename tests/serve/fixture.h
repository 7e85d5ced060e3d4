/* SPDX-License-Identifier: Apache-2.0 */
/* A server on a Unix socket in a temporary folder, with tensors in memory, on a thread of its own.
 */
#ifndef TLY_TESTS_SERVE_FIXTURE_H
#define TLY_TESTS_SERVE_FIXTURE_H

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <tilery/net.h>
#include <tilery/serve.h>

#include "check.h"

typedef struct fixture {
    tly_context *context;
    tly_catalogue *catalogue;
    tly_server *server;
    pthread_t thread;
    int runs;
    char folder[64];
    char address[96];
    void *blocks[32]; /* freed at the end */
    uint32_t num_blocks;
} fixture;

static inline void fixture_log(void *user, tly_log_level level, const char *line) {
    (void)user;
    (void)level;
    if (getenv("FIXTURE_LOG") != NULL) {
        fprintf(stderr, "# %s\n", line);
    }
}

static inline void fixture_init(fixture *f) {
    tly_context_options options = {
        .size = sizeof options, .log_level = TLY_LOG_DEBUG, .log = fixture_log};
    tly_error error;
    memset(f, 0, sizeof *f);
    CHECK_OK(tly_context_new(&options, &f->context, &error), &error);
    CHECK_OK(tly_catalogue_new(f->context, &f->catalogue, &error), &error);
    snprintf(f->folder, sizeof f->folder, "/tmp/tly-serve-XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->address, sizeof f->address, "unix:%s/s", f->folder);
}

/* Adds a row-major tensor whose bytes are a pattern of their position. Returns the bytes. */
static inline uint8_t *fixture_add(fixture *f, const char *key, tly_dtype dtype, uint32_t rank,
                                   const uint64_t *shape) {
    tly_descriptor d;
    tly_buffer_info buffer;
    tly_error error;
    uint8_t *bytes;
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, dtype, rank, shape), TLY_OK);
    bytes = malloc((size_t)buffer.byte_size + 1);
    for (uint64_t i = 0; i < buffer.byte_size; i++) {
        bytes[i] = (uint8_t)(i * 31 + (i >> 8) * 7 + (i >> 16));
    }
    f->blocks[f->num_blocks++] = bytes;
    CHECK_OK(tly_catalogue_add_tensor(f->catalogue, key, &d, bytes, buffer.byte_size, &error),
             &error);
    return bytes;
}

static inline void *fixture_thread(void *user) {
    fixture *f = user;
    tly_error error;
    CHECK_OK(tly_server_run(f->server, &error), &error);
    return NULL;
}

static inline void fixture_start(fixture *f, const tly_server_options *options) {
    tly_error error;
    CHECK_OK(tly_server_new(f->context, f->catalogue, options, &f->server, &error), &error);
    CHECK_OK(tly_server_listen(f->server, f->address, &error), &error);
    assert_int_equal(pthread_create(&f->thread, NULL, fixture_thread, f), 0);
    f->runs = 1;
}

static inline void fixture_stop(fixture *f) {
    if (f->runs) {
        tly_server_stop(f->server);
        pthread_join(f->thread, NULL);
        f->runs = 0;
    }
}

static inline void fixture_cleanup(fixture *f) {
    fixture_stop(f);
    tly_server_free(f->server);
    tly_catalogue_free(f->catalogue);
    tly_context_free(f->context);
    for (uint32_t i = 0; i < f->num_blocks; i++) {
        free(f->blocks[i]);
    }
    assert_int_equal(rmdir(f->folder), 0); /* the socket is gone */
}

/* Seconds of a processor that the server's loop has used. */
static inline double fixture_busy(const fixture *f) {
    struct timespec t;
    clockid_t clock;
    assert_int_equal(pthread_getcpuclockid(f->thread, &clock), 0);
    assert_int_equal(clock_gettime(clock, &t), 0);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* The loop sleeps while nothing happens, whatever is open. */
static inline void fixture_expect_sleep(const fixture *f) {
    double before = fixture_busy(f);
    usleep(300000);
    assert_true(fixture_busy(f) - before < 0.1);
}

static inline tly_client *fixture_client(fixture *f) {
    tly_client *client;
    tly_error error;
    CHECK_OK(tly_client_connect(f->context, f->address, NULL, &client, &error), &error);
    return client;
}

/* Fetches in the native layout and compares. */
static inline void fixture_expect(tly_client *client, const char *key, const void *bytes,
                                  uint64_t len) {
    tly_fetch_request request = {.size = sizeof request, .key = key};
    tly_fetched *fetched;
    tly_error error;
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    assert_int_equal(tly_fetched_len(fetched), len);
    if (len != 0) {
        assert_memory_equal(tly_fetched_data(fetched), bytes, len);
    }
    tly_fetched_free(fetched);
}

#endif
