/* SPDX-License-Identifier: Apache-2.0 */
/* The blocking client against servers that break off, stall, lie and break the rules. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <tilery/net.h>

#include "wire/plain.h"

/* A server that sends a script to its one peer and then closes, or stays silent. */
typedef struct liar {
    char folder[64];
    char address[96];
    int fd;
    pthread_t thread;
    plain_bytes script;
    int stays; /* does not close before the client does */
} liar;

static void *liar_thread(void *user) {
    liar *l = user;
    int fd = accept(l->fd, NULL, NULL);
    char scratch[4096];
    assert_true(fd >= 0);
    assert_true(recv(fd, scratch, sizeof scratch, 0) > 0); /* the client's HELLO */
    send(fd, l->script.at, l->script.len, MSG_NOSIGNAL);
    if (l->stays) {
        while (recv(fd, scratch, sizeof scratch, 0) > 0) {
        }
    }
    shutdown(fd, SHUT_WR);
    while (recv(fd, scratch, sizeof scratch, 0) > 0) {
    }
    close(fd);
    return NULL;
}

static void liar_init(liar *l) {
    struct sockaddr_un un = {.sun_family = AF_UNIX};
    memset(l, 0, sizeof *l);
    snprintf(l->folder, sizeof l->folder, "/tmp/tly-net-XXXXXX");
    assert_non_null(mkdtemp(l->folder));
    snprintf(l->address, sizeof l->address, "unix:%s/s", l->folder);
    memcpy(un.sun_path, l->address + 5, strlen(l->address + 5));
    l->fd = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(l->fd, (struct sockaddr *)&un, sizeof un), 0);
    assert_int_equal(listen(l->fd, 1), 0);
}

static void liar_start(liar *l) {
    assert_int_equal(pthread_create(&l->thread, NULL, liar_thread, l), 0);
}

static void liar_cleanup(liar *l) {
    pthread_join(l->thread, NULL);
    close(l->fd);
    unlink(l->address + 5);
    assert_int_equal(rmdir(l->folder), 0);
    free(l->script.at);
}

/* A descriptor of `rows` x 4 f32 whose buffer has `size` bytes, announced with `total`. */
static void put_descriptor(plain_bytes *out, uint64_t rows, uint64_t size, uint64_t total) {
    plain_bytes p = {0};
    plain_put(&p, "HRRY\1\0", 6);
    plain_number(&p, 61, 4);
    plain_number(&p, 0, 4);
    plain_number(&p, 3, 1); /* f32 */
    plain_number(&p, 1, 1); /* row-major */
    plain_number(&p, 2, 4);
    plain_number(&p, rows, 8);
    plain_number(&p, 4, 8);
    plain_number(&p, 0, 8);
    plain_number(&p, 1, 1);
    plain_number(&p, size, 8);
    plain_number(&p, 64, 4);
    plain_number(&p, 0, 4);
    plain_number(&p, total, 8);
    plain_number(&p, 0, 4);
    plain_number(&p, 1, 4);
    plain_message(out, TLY_WIRE_TENSOR_DESCRIPTOR, 2, p.at, p.len);
    free(p.at);
}

static void put_error(plain_bytes *out, uint32_t stream, uint32_t code, const char *text) {
    plain_bytes p = {0};
    plain_number(&p, code, 4);
    plain_number(&p, strlen(text), 4);
    plain_put(&p, text, strlen(text));
    plain_message(out, TLY_WIRE_ERROR, stream, p.at, p.len);
    free(p.at);
}

/* Connects, fetches, and expects this failure. */
static void expect_failure(liar *l, tly_status status, const char *rule, const char *words) {
    tly_client_options options = {.size = sizeof options, .progress_timeout_ms = 300};
    tly_context *context;
    tly_client *client;
    tly_fetched *fetched = NULL;
    tly_fetch_request request = {.size = sizeof request, .key = "w"};
    tly_error error;
    tly_status got;
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    liar_start(l);
    got = tly_client_connect(context, l->address, &options, &client, &error);
    if (got == TLY_OK) {
        got = tly_client_fetch(client, &request, &fetched, &error);
    }
    if (got != status || strcmp(error.rule, rule) != 0 || strstr(error.message, words) == NULL) {
        fail_msg("%s: %s: %s", tly_status_name(got), error.rule, error.message);
    }
    assert_null(fetched);
    tly_client_free(client);
    liar_cleanup(l);
    tly_context_free(context);
}

static void breaks_off(void **state) {
    static const uint8_t data[64] = {0};
    static const char *const rules[] = {"eof-before-hello", "eof-in-stream", "eof-in-stream",
                                        "eof-in-frame", "eof-in-message"};
    (void)state;
    for (int i = 0; i < 5; i++) {
        plain_bytes frame = {0};
        liar l;
        liar_init(&l);
        if (i > 0) {
            plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
        }
        if (i > 1) {
            put_descriptor(&l.script, 4, 64, 64);
        }
        plain_data(&frame, 2, 0, data, 64);
        plain_put(&l.script, frame.at, i == 3 ? 40u : i == 4 ? 5u : 0u);
        free(frame.at);
        expect_failure(&l, TLY_CLOSED, rules[i], "closed the connection");
    }
}

static void stalls(void **state) {
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const uint8_t data[8] = {0};
        liar l;
        liar_init(&l);
        l.stays = 1;
        if (i == 0) {
            plain_put(&l.script, "\2", 1);
        } else {
            plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
        }
        if (i == 2) {
            put_descriptor(&l.script, 4, 64, 64);
            plain_data(&l.script, 2, 0, data, 8);
        }
        expect_failure(&l, TLY_TIMEOUT, "progress-timeout", "made no progress for 300 ms");
    }
}

static void refuses(void **state) {
    liar l;
    (void)state;
    liar_init(&l);
    put_error(&l.script, 1, TLY_WIRE_VERSION_MISMATCH, "too old");
    expect_failure(&l, TLY_PEER, "server-error", "PROTOCOL_VERSION_MISMATCH: too old");
    liar_init(&l);
    plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
    put_error(&l.script, 2, TLY_WIRE_UNKNOWN_TENSOR, "no \x1b[31mw");
    expect_failure(&l, TLY_NOT_FOUND, "server-error", "no \\x1B[31mw"); /* not to the terminal */
    liar_init(&l);
    plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
    put_error(&l.script, 2, TLY_WIRE_LAYOUT_UNAVAILABLE, "no");
    expect_failure(&l, TLY_LAYOUT_UNAVAILABLE, "server-error", "LAYOUT_UNAVAILABLE: no");
}

static void lies(void **state) {
    static const struct {
        uint64_t rows, size, total;
        tly_status status;
        const char *rule, *words;
    } cases[] = {
        {4, 64, 65, TLY_MALFORMED, "total-mismatch", "65 bytes are announced, the buffers have 64"},
        {4, 60, 60, TLY_MALFORMED, "B-SIZE", ""},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        liar l;
        liar_init(&l);
        l.stays = 1;
        plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
        put_descriptor(&l.script, cases[i].rows, cases[i].size, cases[i].total);
        expect_failure(&l, cases[i].status, cases[i].rule, cases[i].words);
    }
}

static void breaks_the_rules(void **state) {
    static const uint8_t data[64] = {0};
    static const char *const rules[] = {"data-gap",   "data-overlap", "data-excess", "data-none",
                                        "data-short", "too-large",    "first-hello", "desc-twice"};
    (void)state;
    for (int i = 0; i < 8; i++) {
        liar l;
        liar_init(&l);
        l.stays = 1;
        if (i != 6) {
            plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
        }
        put_descriptor(&l.script, 4, 64, 64);
        if (i == 0) {
            plain_data(&l.script, 2, 8, data, 8);
        } else if (i == 1) {
            plain_data(&l.script, 2, 0, data, 8);
            plain_data(&l.script, 2, 4, data, 8);
        } else if (i == 2) {
            plain_data(&l.script, 2, 0, data, 60);
            plain_data(&l.script, 2, 60, data, 5);
        } else if (i == 3) {
            plain_end(&l.script, 2);
        } else if (i == 4) {
            plain_data(&l.script, 2, 0, data, 63);
            plain_end(&l.script, 2);
        } else if (i == 5) {
            plain_number(&l.script, TLY_WIRE_TENSOR_DATA, 4);
            plain_number(&l.script, 2, 4);
            plain_number(&l.script, UINT32_MAX, 4);
        } else if (i == 7) {
            put_descriptor(&l.script, 4, 64, 64);
        }
        expect_failure(&l, TLY_PROTOCOL, rules[i], "broke the protocol");
    }
}

/* An exabyte is announced. No memory is taken before bytes come, and the caller's limit is the
 * first thing that counts. */
static void promises_the_moon(void **state) {
    tly_client_options options = {.size = sizeof options, .max_tensor_len = 1 << 20};
    tly_context *context;
    tly_client *client;
    tly_fetched *fetched;
    tly_fetch_request request = {.size = sizeof request, .key = "w"};
    tly_error error;
    liar l;
    (void)state;
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    liar_init(&l);
    l.stays = 1;
    plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
    put_descriptor(&l.script, UINT64_C(1) << 56, UINT64_C(1) << 60, UINT64_C(1) << 60);
    liar_start(&l);
    CHECK_OK(tly_client_connect(context, l.address, &options, &client, &error), &error);
    CHECK_RULE(tly_client_fetch(client, &request, &fetched, &error), &error, TLY_LIMIT,
               "max-tensor-len");
    tly_client_free(client);
    liar_cleanup(&l);

    options.max_tensor_len = 0;
    liar_init(&l);
    l.stays = 1;
    plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
    put_descriptor(&l.script, UINT64_C(1) << 56, UINT64_C(1) << 60, UINT64_C(1) << 60);
    liar_start(&l);
    CHECK_OK(tly_client_connect(context, l.address, &options, &client, &error), &error);
    assert_int_equal(tly_client_fetch(client, &request, &fetched, &error), TLY_OUT_OF_MEMORY);
    tly_client_free(client);
    liar_cleanup(&l);
    tly_context_free(context);
}

/* ---- callbacks ---- */

typedef struct place {
    uint8_t *at;
    uint32_t alignment;
    uint64_t len;
    int calls, stop_after;
} place;

static void *give(void *user, const tly_descriptor *descriptor, uint64_t len, uint32_t alignment) {
    place *p = user;
    assert_int_equal(descriptor->rank, 2);
    p->len = len;
    p->alignment = alignment;
    return p->at;
}

static int progress(void *user, uint64_t done, uint64_t total) {
    place *p = user;
    assert_true(done <= total);
    return ++p->calls == p->stop_after;
}

static void destination_and_progress(void **state) {
    static const uint8_t data[64] = {9, 8, 7};
    _Alignas(4096) static uint8_t memory[8192];
    (void)state;
    for (int i = 0; i < 4; i++) {
        /* 0: all well; 1: stopped; 2: no destination; 3: a crooked one */
        static const tly_status expected[] = {TLY_OK, TLY_CANCELLED, TLY_CANCELLED,
                                              TLY_INVALID_ARGUMENT};
        place p = {.at = i == 2 ? NULL : memory + (i == 3 ? 32 : 0), .stop_after = i == 1 ? 1 : 99};
        tly_context *context;
        tly_client *client;
        tly_fetched *fetched;
        tly_fetch_request request = {.size = sizeof request,
                                     .key = "w",
                                     .min_alignment = 4096,
                                     .destination = give,
                                     .destination_user = &p,
                                     .progress = progress,
                                     .progress_user = &p};
        tly_error error;
        liar l;
        assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
        liar_init(&l);
        l.stays = 1;
        memset(memory, 0, sizeof memory);
        plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 20);
        put_descriptor(&l.script, 4, 64, 64);
        plain_data(&l.script, 2, 0, data, 30);
        plain_data(&l.script, 2, 30, data + 30, 34);
        plain_end(&l.script, 2);
        liar_start(&l);
        CHECK_OK(tly_client_connect(context, l.address, NULL, &client, &error), &error);
        assert_int_equal(tly_client_fetch(client, &request, &fetched, &error), expected[i]);
        assert_int_equal(p.len, 64);
        assert_int_equal(p.alignment, 4096);
        if (i == 0) {
            assert_ptr_equal(tly_fetched_data(fetched), memory);
            assert_memory_equal(memory, data, 64);
            assert_int_equal(memory[64], 0);
            assert_int_equal(p.calls, 2);
            tly_fetched_free(fetched); /* leaves the caller's memory alone */
        } else {
            assert_null(fetched);
        }
        tly_client_free(client);
        liar_cleanup(&l);
        tly_context_free(context);
    }
}

/* Says HELLO, then no to the tensor that begins to come, and closes in the middle of it. */
static void *curt_thread(void *user) {
    liar *l = user;
    int fd = accept(l->fd, NULL, NULL);
    plain_bytes out = {0};
    char scratch[4096];
    assert_true(fd >= 0);
    assert_true(recv(fd, scratch, sizeof scratch, 0) > 0);
    plain_hello(&out, TLY_WIRE_SERVER_HELLO, 1, 1u << 24);
    send(fd, out.at, out.len, MSG_NOSIGNAL);
    assert_true(recv(fd, scratch, sizeof scratch, 0) > 0);
    out.len = 0;
    put_error(&out, 2, TLY_WIRE_BUSY, "not now");
    usleep(50000); /* the client waits for room by now, and does not look */
    send(fd, out.at, out.len, MSG_NOSIGNAL);
    close(fd);
    free(out.at);
    return NULL;
}

static void last_word_of_a_server(void **state) {
    const uint64_t len = 4u << 20;
    uint8_t *bytes = calloc(1, (size_t)len);
    const void *buffers[] = {bytes};
    tly_descriptor d;
    tly_buffer_info buffer;
    const tly_put_request request = {
        .size = sizeof request, .key = "w", .descriptor = &d, .buffers = buffers};
    tly_context *context;
    tly_client *client;
    tly_error error;
    liar l;
    (void)state;
    liar_init(&l);
    assert_int_equal(pthread_create(&l.thread, NULL, curt_thread, &l), 0);
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, &len), TLY_OK);
    CHECK_OK(tly_client_connect(context, l.address, NULL, &client, &error), &error);
    CHECK_RULE(tly_client_put(client, &request, &error), &error, TLY_PEER, "server-busy");
    tly_client_free(client);
    tly_context_free(context);
    liar_cleanup(&l);
    free(bytes);
}

#define HALTING_LEN (UINT64_C(4) << 20)

/* Half a message comes while a tensor goes out, and the other half when it has gone. */
static void *halting_thread(void *user) {
    const uint64_t coming = 12 + 4 + 1 + 4 + 53 + 8 + 4 * 20 + HALTING_LEN + 12;
    liar *l = user;
    int fd = accept(l->fd, NULL, NULL);
    plain_bytes out = {0};
    char scratch[65536];
    uint64_t come = 0;
    assert_true(fd >= 0);
    assert_true(recv(fd, scratch, sizeof scratch, 0) > 0);
    plain_hello(&out, TLY_WIRE_SERVER_HELLO, 1, 1u << 24);
    send(fd, out.at, out.len, MSG_NOSIGNAL);
    out.len = 0;
    plain_message(&out, TLY_WIRE_PING, 1, NULL, 0);
    plain_message(&out, TLY_WIRE_TENSOR_PUT_ACK, 2, NULL, 0);
    send(fd, out.at, 6, MSG_NOSIGNAL);
    while (come < coming) {
        ssize_t n = recv(fd, scratch, sizeof scratch, 0);
        if (n <= 0) {
            break; /* the client says what it did not like */
        }
        come += (uint64_t)n;
    }
    send(fd, out.at + 6, out.len - 6, MSG_NOSIGNAL);
    while (recv(fd, scratch, sizeof scratch, 0) > 0) {
    }
    close(fd);
    free(out.at);
    return NULL;
}

static void half_a_message_holds_up_nothing(void **state) {
    const tly_client_options options = {.size = sizeof options, .progress_timeout_ms = 1000};
    const uint64_t len = HALTING_LEN;
    uint8_t *bytes = calloc(1, (size_t)len);
    const void *buffers[] = {bytes};
    tly_descriptor d;
    tly_buffer_info buffer;
    const tly_put_request request = {
        .size = sizeof request, .key = "w", .descriptor = &d, .buffers = buffers};
    tly_context *context;
    tly_client *client;
    tly_error error;
    liar l;
    (void)state;
    liar_init(&l);
    assert_int_equal(pthread_create(&l.thread, NULL, halting_thread, &l), 0);
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, &len), TLY_OK);
    CHECK_OK(tly_client_connect(context, l.address, &options, &client, &error), &error);
    CHECK_OK(tly_client_put(client, &request, &error), &error);
    tly_client_free(client);
    tly_context_free(context);
    liar_cleanup(&l);
    free(bytes);
}

/* The descriptor of `num` bytes, or of a shard of `parent` bytes, with its transport fields. */
static void put_part(plain_bytes *out, uint32_t stream, uint64_t num, uint64_t parent,
                     uint64_t offset, uint32_t index, uint32_t shards) {
    plain_bytes p = {0};
    plain_tensor(&p, num, parent, offset, 0);
    plain_number(&p, num, 8);
    plain_number(&p, index, 4);
    plain_number(&p, shards, 4);
    plain_message(out, TLY_WIRE_TENSOR_DESCRIPTOR, stream, p.at, p.len);
    free(p.at);
}

static void put_frame(plain_bytes *out, uint32_t stream, uint64_t num) {
    plain_bytes p = {0};
    plain_number(&p, 0, 8);
    for (uint64_t i = 0; i < num; i++) {
        plain_number(&p, i, 1);
    }
    plain_message(out, TLY_WIRE_TENSOR_DATA, stream, p.at, p.len);
    free(p.at);
}

/* An answer that came in one has no shards: what says so would be put into memory that was taken
 * for another shape. */
static void shard_of_an_answer_in_one(void **state) {
    static const uint64_t parents[] = {UINT64_C(1) << 40, 16};
    for (int i = 0; i < 4; i++) {
        tly_client_options options = {.size = sizeof options, .progress_timeout_ms = 300};
        const tly_fetch_request request = {
            .size = sizeof request, .key = "w", .request_flags = TLY_WIRE_PARALLEL_OK};
        uint64_t parent = parents[i % 2];
        tly_context *context;
        tly_client *client;
        tly_fetched *fetched;
        tly_error error;
        liar l;
        (void)state;
        liar_init(&l);
        plain_hello(&l.script, TLY_WIRE_SERVER_HELLO, 1, 1u << 24);
        put_part(&l.script, 2, 16, 0, 0, 0, 1);
        if (i / 2 != 0) {
            put_frame(&l.script, 2, 8);
        }
        put_part(&l.script, 0x80000001u, 8, parent, parent / 2, 1, 2);
        put_frame(&l.script, 0x80000001u, 8);
        l.stays = 1;
        liar_start(&l);
        assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
        CHECK_OK(tly_client_connect(context, l.address, &options, &client, &error), &error);
        CHECK_RULE(tly_client_fetch(client, &request, &fetched, &error), &error, TLY_PROTOCOL,
                   "desc-unasked");
        tly_client_free(client);
        tly_context_free(context);
        liar_cleanup(&l);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(breaks_off),
        cmocka_unit_test(stalls),
        cmocka_unit_test(refuses),
        cmocka_unit_test(lies),
        cmocka_unit_test(breaks_the_rules),
        cmocka_unit_test(promises_the_moon),
        cmocka_unit_test(destination_and_progress),
        cmocka_unit_test(shard_of_an_answer_in_one),
        cmocka_unit_test(last_word_of_a_server),
        cmocka_unit_test(half_a_message_holds_up_nothing),
    };
    return cmocka_run_group_tests_name("net/client", tests, NULL, NULL);
}
