/* SPDX-License-Identifier: Apache-2.0 */
/* Peers that misbehave, files that change, limits, and stopping: the server lives, the others are
 * served, and nobody takes wrong bytes for right ones. */
#include "serve/raw.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <time.h>

#include <tilery/store.h>

static const uint64_t small_shape[] = {1000};
static const uint64_t large_shape[] = {2048, 1024}; /* 8 MiB of f32 */
#define LARGE_LEN (UINT64_C(8) << 20)

static void hello(plain_bytes *out) {
    plain_hello(out, TLY_WIRE_CLIENT_HELLO, 1, 1u << 24);
}

static void request(plain_bytes *out, uint32_t stream, const char *key) {
    plain_bytes none = {0};
    plain_request(out, stream, key, &none, 0, 0);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* S01: headers that promise four gigabytes, and then nothing. */
static void promised_lengths(void **state) {
    tly_server_options options = {.size = sizeof options, .progress_timeout_ms = 300};
    fixture f;
    uint8_t *bytes;
    int fds[20];
    tly_client *client;
    (void)state;
    fixture_init(&f);
    bytes = fixture_add(&f, "a", TLY_F32, 1, small_shape);
    fixture_start(&f, &options);
    for (int i = 0; i < 20; i++) {
        plain_bytes out = {0};
        fds[i] = raw_connect(&f);
        hello(&out);
        plain_number(&out, i % 2 == 0 ? TLY_WIRE_TENSOR_REQUEST : TLY_WIRE_TENSOR_DATA, 4);
        plain_number(&out, 2, 4);
        plain_number(&out, UINT32_MAX, 4);
        raw_send(fds[i], &out);
        free(out.at);
    }
    client = fixture_client(&f);
    fixture_expect(client, "a", bytes, 4000);
    for (int i = 0; i < 20; i++) {
        char end;
        assert_int_equal(raw_expect(fds[i], TLY_WIRE_ERROR), TLY_WIRE_TOO_LARGE);
        assert_true(raw_read(fds[i], &end, 1) <= 0); /* no progress: closed */
        close(fds[i]);
    }
    fixture_expect(client, "a", bytes, 4000);
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* X07: a message over the limit is refused by name, and the connection goes on. */
static void large_message_is_refused_alone(void **state) {
    tly_server_options options = {.size = sizeof options, .max_message_size = 1000};
    fixture f;
    plain_bytes out = {0};
    uint8_t junk[5000] = {0};
    int fd;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "a", TLY_F32, 1, small_shape);
    fixture_start(&f, &options);
    fd = raw_connect(&f);
    hello(&out);
    plain_message(&out, TLY_WIRE_TENSOR_REQUEST, 2, junk, sizeof junk);
    request(&out, 3, "a");
    raw_send(fd, &out);
    assert_int_equal(raw_expect(fd, TLY_WIRE_ERROR), TLY_WIRE_TOO_LARGE);
    raw_expect(fd, TLY_WIRE_TENSOR_DATA_END);
    close(fd);
    free(out.at);
    fixture_cleanup(&f);
}

/* S03: a thousand requests, and no byte of the answers is read. */
static void slow_reader(void **state) {
    tly_server_options options = {
        .size = sizeof options, .progress_timeout_ms = 500, .max_queued_len = 4u << 20};
    tly_panel_profile profile;
    uint8_t template[TLY_PANEL_MAX_LEN];
    size_t template_len;
    tly_server_stats stats = {.size = sizeof stats};
    fixture f;
    plain_bytes out = {0}, entry = {0};
    uint8_t *bytes;
    tly_client *client;
    double start;
    int fd, result;
    tly_error error;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "large", TLY_F32, 2, large_shape);
    bytes = fixture_add(&f, "a", TLY_F32, 1, small_shape);
    fixture_start(&f, &options);
    CHECK_OK(tly_panel_by_name("ba16a64b", TLY_F32, 0, &profile, &error), &error);
    CHECK_OK(tly_panel_encode(&profile, template, sizeof template, &template_len, &error), &error);
    plain_number(&entry, TLY_PANEL_LAYOUT_TAG, 1);
    plain_number(&entry, template_len, 2);
    plain_put(&entry, template, template_len);
    fd = raw_connect(&f);
    hello(&out);
    raw_send(fd, &out);
    for (uint32_t i = 0; i < 1000; i++) {
        plain_request(&out, 2 + i, "large", &entry, 1, TLY_WIRE_ALLOW_TRANSCODE);
    }
    /* The server stops reading long before the thousandth. */
    result = (int)send(fd, out.at, out.len, MSG_DONTWAIT | MSG_NOSIGNAL);
    assert_true(result > 0);
    client = fixture_client(&f);
    start = seconds();
    for (int i = 0; i < 20; i++) {
        fixture_expect(client, "a", bytes, 4000);
    }
    assert_true(seconds() - start < 5);
    tly_server_get_stats(f.server, &stats);
    assert_true(stats.max_buffered_len <= options.max_queued_len);
    assert_true(stats.max_buffered_len > 0);
    /* After the time allowed it is dropped. */
    for (int i = 0; i < 100; i++) {
        struct pollfd p = {fd, 0, 0};
        if (poll(&p, 1, 100) == 1 && (p.revents & POLLHUP) != 0) {
            break;
        }
        assert_true(i < 99);
    }
    fixture_expect(client, "a", bytes, 4000);
    tly_client_free(client);
    close(fd);
    free(out.at);
    free(entry.at);
    fixture_cleanup(&f);
}

/* Peers that go away at any moment of an answer. */
static void peers_go_away(void **state) {
    fixture f;
    uint8_t *bytes;
    check_rng rng = {4711};
    tly_client *client;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "large", TLY_F32, 2, large_shape);
    bytes = fixture_add(&f, "a", TLY_F32, 1, small_shape);
    fixture_start(&f, NULL);
    for (int i = 0; i < 60; i++) {
        plain_bytes out = {0}, layouts = {0};
        static uint8_t scratch[1 << 16];
        int fd = raw_connect(&f);
        uint64_t reads = check_below(&rng, 40);
        plain_number(&layouts, TLY_LAYOUT_COL_MAJOR, 1);
        hello(&out);
        plain_request(&out, 2, "large", &layouts, 1, i % 2 == 0 ? TLY_WIRE_ALLOW_TRANSCODE : 0);
        out.len -= (size_t)(i % 5 == 0 ? check_below(&rng, out.len) : 0);
        raw_send(fd, &out);
        for (uint64_t k = 0; k < reads && i % 5 != 0; k++) {
            assert_true(recv(fd, scratch, sizeof scratch, 0) > 0);
        }
        close(fd);
        free(out.at);
        free(layouts.at);
    }
    client = fixture_client(&f);
    fixture_expect(client, "a", bytes, 4000);
    tly_client_free(client);
    fixture_cleanup(&f);
}

/* A client that sends its requests, closes its sending side, and then reads. */
static void half_closed_peer_gets_its_answer(void **state) {
    fixture f;
    plain_bytes out = {0};
    uint64_t placed = 0;
    raw_message m;
    int fd, ended = 0;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "large", TLY_F32, 2, large_shape);
    fixture_start(&f, NULL);
    fd = raw_connect(&f);
    hello(&out);
    request(&out, 2, "large");
    raw_send(fd, &out);
    shutdown(fd, SHUT_WR);
    while (raw_message_read(fd, &m) == 1) {
        placed += m.type == TLY_WIRE_TENSOR_DATA ? m.len - 8 : 0;
        ended += m.type == TLY_WIRE_TENSOR_DATA_END;
        free(m.payload);
    }
    assert_int_equal(placed, LARGE_LEN);
    assert_int_equal(ended, 1);
    close(fd);
    free(out.at);
    fixture_cleanup(&f);
}

/* X06: the server stops while an answer is under way and the peer keeps sending. The answer arrives
 * whole, and the connection ends without a reset. */
static void stopping_loses_nothing(void **state) {
    fixture f;
    plain_bytes out = {0};
    uint64_t placed = 0;
    raw_message m;
    int fd, ended = 0, result;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "large", TLY_F32, 2, large_shape);
    fixture_start(&f, NULL);
    fd = raw_connect(&f);
    hello(&out);
    request(&out, 2, "large");
    raw_send(fd, &out);
    raw_expect(fd, TLY_WIRE_TENSOR_DESCRIPTOR);
    tly_server_stop(f.server);
    while ((result = raw_message_read(fd, &m)) == 1) {
        placed += m.type == TLY_WIRE_TENSOR_DATA ? m.len - 8 : 0;
        ended += m.type == TLY_WIRE_TENSOR_DATA_END;
        free(m.payload);
        plain_message(&out, TLY_WIRE_PING, 7, NULL, 0);
        send(fd, out.at, out.len, MSG_NOSIGNAL);
        out.len = 0;
        usleep(2000);
    }
    assert_int_equal(result, 0); /* the end, not a reset */
    assert_int_equal(placed, LARGE_LEN);
    assert_int_equal(ended, 1);
    close(fd);
    free(out.at);
    fixture_cleanup(&f);
}

static void too_many_connections(void **state) {
    tly_server_options options = {.size = sizeof options, .max_connections = 2};
    tly_client *a, *b, *c;
    uint8_t *bytes;
    fixture f;
    tly_error error;
    (void)state;
    fixture_init(&f);
    bytes = fixture_add(&f, "a", TLY_F32, 1, small_shape);
    fixture_start(&f, &options);
    a = fixture_client(&f);
    b = fixture_client(&f);
    assert_int_equal(tly_client_connect(f.context, f.address, NULL, &c, &error), TLY_PEER);
    assert_non_null(strstr(error.message, "BUSY: too many connections"));
    fixture_expect(a, "a", bytes, 4000);
    tly_client_free(a);
    for (int i = 0;; i++) { /* its place is free as soon as the server has seen the end */
        if (tly_client_connect(f.context, f.address, NULL, &c, &error) == TLY_OK) {
            break;
        }
        assert_true(i < 200);
        usleep(10000);
    }
    fixture_expect(c, "a", bytes, 4000);
    tly_client_free(b);
    tly_client_free(c);
    fixture_cleanup(&f);
}

static void silent_peers_are_closed(void **state) {
    tly_server_options options = {
        .size = sizeof options, .progress_timeout_ms = 300, .idle_timeout_ms = 300};
    plain_bytes out = {0};
    fixture f;
    char byte;
    int silent, idle;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "a", TLY_F32, 1, small_shape);
    fixture_start(&f, &options);
    silent = raw_connect(&f);
    idle = raw_connect(&f);
    hello(&out);
    raw_send(idle, &out);
    raw_expect(idle, TLY_WIRE_SERVER_HELLO);
    assert_int_equal(raw_read(silent, &byte, 1), 0);
    assert_int_equal(raw_read(idle, &byte, 1), 0);
    close(silent);
    close(idle);
    free(out.at);
    fixture_cleanup(&f);
}

/* ---- files that change ---- */

static void write_container(fixture *f, char *path, size_t capacity, const uint8_t *bytes) {
    tly_store_writer *writer;
    tly_descriptor d;
    tly_buffer_info buffer;
    const void *buffers[] = {bytes};
    static const uint64_t one[] = {1};
    tly_error error;
    snprintf(path, capacity, "%s/f.tly", f->folder);
    CHECK_OK(tly_store_writer_new(f->context, path, NULL, &writer, &error), &error);
    tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, one);
    CHECK_OK(tly_store_writer_add(writer, "a", 1, &d, buffers, &error), &error);
    tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 2, large_shape);
    CHECK_OK(tly_store_writer_add(writer, "large", 5, &d, buffers, &error), &error);
    CHECK_OK(tly_store_writer_commit(writer, &error), &error);
    tly_store_writer_free(writer);
}

static void file_cut_short(int packed) {
    fixture f;
    char path[128];
    uint8_t *bytes = malloc(LARGE_LEN);
    tly_fetch_layout layout = {.tag = TLY_LAYOUT_COL_MAJOR};
    tly_fetch_request r = {.size = sizeof r,
                           .key = "large",
                           .layouts = &layout,
                           .num_layouts = packed ? 1 : 0,
                           .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched;
    tly_client *client;
    uint8_t *other;
    tly_error error;
    for (uint64_t i = 0; i < LARGE_LEN; i++) {
        bytes[i] = (uint8_t)(i * 13 + (i >> 10) + 1);
    }
    fixture_init(&f);
    other = fixture_add(&f, "other", TLY_F32, 1, small_shape);
    write_container(&f, path, sizeof path, bytes);
    CHECK_OK(tly_catalogue_add_file(f.catalogue, path, &error), &error);
    CHECK_RULE(tly_catalogue_add_file(f.catalogue, path, &error), &error, TLY_EXISTS, "key-taken");
    assert_int_equal(tly_catalogue_num_tensors(f.catalogue), 3);
    fixture_start(&f, NULL);
    client = fixture_client(&f);
    fixture_expect(client, "a", bytes, 1);
    if (!packed) {
        fixture_expect(client, "large", bytes, LARGE_LEN);
    }
    assert_int_equal(truncate(path, 3 << 20), 0);
    assert_int_equal(tly_client_fetch(client, &r, &fetched, &error), TLY_PEER);
    assert_non_null(strstr(error.message, "cut short"));
    fixture_expect(client, "other", other, 4000); /* same connection, same server */
    assert_int_not_equal(tly_client_fetch(client, &r, &fetched, &error), TLY_OK);
    fixture_expect(client, "other", other, 4000);
    tly_client_free(client);
    assert_int_equal(unlink(path), 0);
    free(bytes);
    fixture_cleanup(&f);
}

/* The file loses its end while the tensor is on its way to a slow reader. The frame that is under
 * way is filled up, so the next answer on the same connection is found where it should be. */
static void file_cut_short_under_way(void **state) {
    fixture f;
    char path[128];
    uint8_t *bytes = malloc(LARGE_LEN), *other;
    plain_bytes out = {0}, got = {0};
    uint64_t placed = 0;
    int fd, errors = 0, ends = 0;
    tly_error error;
    (void)state;
    for (uint64_t i = 0; i < LARGE_LEN; i++) {
        bytes[i] = (uint8_t)(i * 13 + (i >> 10)) | 1;
    }
    fixture_init(&f);
    other = fixture_add(&f, "other", TLY_F32, 1, small_shape);
    write_container(&f, path, sizeof path, bytes);
    CHECK_OK(tly_catalogue_add_file(f.catalogue, path, &error), &error);
    fixture_start(&f, NULL);
    fd = raw_connect(&f);
    hello(&out);
    request(&out, 2, "large");
    raw_send(fd, &out);
    raw_expect(fd, TLY_WIRE_TENSOR_DESCRIPTOR);
    assert_int_equal(truncate(path, (3 << 20) + (1 << 19)), 0);
    request(&out, 3, "other");
    raw_send(fd, &out);
    while (ends == 0) {
        raw_message m = {0};
        assert_int_equal(raw_message_read(fd, &m), 1);
        if (m.type == TLY_WIRE_TENSOR_DATA && m.stream == 2) {
            assert_int_equal(plain_get(m.payload, m.len, 0, 8), placed);
            placed += m.len - 8;
        } else if (m.type == TLY_WIRE_TENSOR_DATA) {
            plain_put(&got, m.payload + 8, m.len - 8);
        } else if (m.type == TLY_WIRE_ERROR) {
            assert_int_equal(m.stream, 2);
            assert_int_equal(plain_get(m.payload, m.len, 0, 4), TLY_WIRE_SERVER_FAILED);
            errors++;
        } else if (m.type == TLY_WIRE_TENSOR_DATA_END) {
            assert_int_equal(m.stream, 3); /* the end of stream 2 never comes */
            ends++;
        }
        free(m.payload);
    }
    assert_int_equal(errors, 1);
    assert_true(placed > (3u << 20) && placed < LARGE_LEN);
    assert_int_equal(got.len, 4000);
    assert_memory_equal(got.at, other, 4000);
    close(fd);
    assert_int_equal(unlink(path), 0);
    free(bytes);
    free(out.at);
    free(got.at);
    fixture_cleanup(&f);
}

static void file_cut_short_native(void **state) {
    (void)state;
    file_cut_short(0);
}

static void file_cut_short_packed(void **state) {
    (void)state;
    file_cut_short(1);
}

/* A HELLO that takes these memory classes and devices, then a request for `device`. */
static uint32_t ask_for_memory(fixture *f, const uint8_t *classes, uint32_t num_classes,
                               uint8_t device, uint32_t expected) {
    plain_bytes p = {0}, bytes = {0};
    int fd = raw_connect(f);
    uint32_t code;
    plain_number(&p, 1, 4);
    plain_number(&p, 1u << 20, 4);
    plain_number(&p, 0, 8);
    plain_number(&p, 0, 2);
    plain_number(&p, 2, 2);
    plain_number(&p, 0x0100, 2); /* CPU and CUDA */
    plain_number(&p, num_classes, 2);
    plain_put(&p, classes, num_classes);
    plain_message(&bytes, TLY_WIRE_CLIENT_HELLO, 1, p.at, p.len);
    p.len = 0;
    plain_number(&p, 1, 4);
    plain_put(&p, "w", 1);
    plain_number(&p, 0, 2);
    plain_number(&p, device, 1);
    plain_number(&p, 64, 4);
    plain_number(&p, 0, 4);
    plain_message(&bytes, TLY_WIRE_TENSOR_REQUEST, 2, p.at, p.len);
    raw_send(fd, &bytes);
    code = raw_expect(fd, expected);
    close(fd);
    free(p.at);
    free(bytes.at);
    return code;
}

/* The CPU's plain memory is what there is: whoever takes it gets it, whatever else he names first.
 */
static void devices_and_memory(void **state) {
    static const uint8_t unified[] = {2}, either[] = {2, 0};
    static const uint64_t shape[] = {4, 4};
    fixture f;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, NULL);
    ask_for_memory(&f, either, 2, 0, TLY_WIRE_TENSOR_DATA_END);
    assert_int_equal(ask_for_memory(&f, unified, 1, 0, TLY_WIRE_ERROR),
                     TLY_WIRE_DEVICE_UNAVAILABLE); /* not by what the memo has of the last one */
    ask_for_memory(&f, NULL, 0, 0, TLY_WIRE_TENSOR_DATA_END);
    assert_int_equal(ask_for_memory(&f, NULL, 0, 1, TLY_WIRE_ERROR), TLY_WIRE_DEVICE_UNAVAILABLE);
    fixture_cleanup(&f);
}

static int connect_tcp(const char *address, int fd) {
    struct sockaddr_in in = {.sin_family = AF_INET};
    in.sin_port = htons((uint16_t)atoi(strrchr(address, ':') + 1));
    in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return connect(fd, (struct sockaddr *)&in, sizeof in);
}

/* A tensor given up when all of it is queued: the end that was to follow never comes, and no later
 * packet waits for it (the kernel would hold each back for 200 ms). */
static void cancelled_before_the_end(void **state) {
    tly_server_options options = {.size = sizeof options, .socket_buffer_len = 64u << 10};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), size = 64 << 10;
    plain_bytes out = {0};
    double least = 1;
    fixture f;
    (void)state;
    fixture_init(&f);
    snprintf(f.address, sizeof f.address, "tcp:127.0.0.1:0");
    fixture_add(&f, "large", TLY_F32, 2, large_shape);
    fixture_start(&f, &options);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    assert_int_equal(connect_tcp(tly_server_address(f.server, 0), fd), 0);
    hello(&out);
    request(&out, 2, "large");
    raw_send(fd, &out);
    raw_expect(fd, TLY_WIRE_TENSOR_DESCRIPTOR);
    plain_number(&out, TLY_WIRE_ERROR, 4);
    plain_number(&out, 2, 4);
    plain_number(&out, 8, 4);
    plain_number(&out, TLY_WIRE_INVALID_MESSAGE, 8);
    raw_send(fd, &out);
    for (int i = 0; i < 4; i++) {
        double start = seconds();
        plain_message(&out, TLY_WIRE_PING, 1, NULL, 0);
        raw_send(fd, &out);
        raw_expect(fd, TLY_WIRE_PONG);
        least = i != 0 && seconds() - start < least ? seconds() - start : least;
    }
    assert_true(least < 0.1);
    close(fd);
    free(out.at);
    fixture_cleanup(&f);
}

/* Without a descriptor left, those who want metrics wait, and the server does not go round. */
static void metrics_without_descriptors(void **state) {
    static const char ask[] = "GET /health HTTP/1.0\r\n\r\n";
    char answer[12];
    struct rlimit before, now;
    tly_error error;
    fixture f;
    int fd;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "a", TLY_F32, 1, small_shape);
    CHECK_OK(tly_server_new(f.context, f.catalogue, NULL, &f.server, &error), &error);
    CHECK_OK(tly_server_listen(f.server, f.address, &error), &error);
    CHECK_OK(tly_server_listen_metrics(f.server, "tcp:127.0.0.1:0", &error), &error);
    assert_int_equal(pthread_create(&f.thread, NULL, fixture_thread, &f), 0);
    f.runs = 1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    now = before;
    now.rlim_cur = (rlim_t)fd + 1; /* it got the lowest number that was free */
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &now), 0);
    assert_int_equal(connect_tcp(tly_server_metrics_address(f.server), fd), 0);
    assert_int_equal(send(fd, ask, sizeof ask - 1, MSG_NOSIGNAL), sizeof ask - 1);
    usleep(50000);
    fixture_expect_sleep(&f);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_int_equal(raw_read(fd, answer, sizeof answer), 1);
    assert_memory_equal(answer, "HTTP/1.0 200", sizeof answer);
    close(fd);
    fixture_cleanup(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_and_memory),
        cmocka_unit_test(promised_lengths),
        cmocka_unit_test(large_message_is_refused_alone),
        cmocka_unit_test(slow_reader),
        cmocka_unit_test(peers_go_away),
        cmocka_unit_test(half_closed_peer_gets_its_answer),
        cmocka_unit_test(stopping_loses_nothing),
        cmocka_unit_test(too_many_connections),
        cmocka_unit_test(silent_peers_are_closed),
        cmocka_unit_test(cancelled_before_the_end),
        cmocka_unit_test(metrics_without_descriptors),
        cmocka_unit_test(file_cut_short_native),
        cmocka_unit_test(file_cut_short_packed),
        cmocka_unit_test(file_cut_short_under_way),
    };
    return cmocka_run_group_tests_name("serve/hostile", tests, NULL, NULL);
}
