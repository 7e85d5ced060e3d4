/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors that clients put: there when they are acknowledged, whole or not at all, replaced at
 * once, refused with a reason while the connection lives on. */
#include "serve/put.h"
#include "serve/raw.h"

#include <time.h>

#include <tilery/family.h>

#include "vectors.h"

typedef struct put_fixture {
    fixture f;
    put_folder folder;
} put_fixture;

static void start(put_fixture *p, const tly_server_options *options) {
    tly_error error;
    CHECK_OK(tly_catalogue_open_uploads(p->f.catalogue, p->folder.path, &error), &error);
    fixture_start(&p->f, options);
}

static void setup(put_fixture *p, const tly_server_options *options) {
    fixture_init(&p->f);
    put_folder_make(&p->folder);
    start(p, options);
}

/* Everything anew but the folder. */
static void restart(put_fixture *p) {
    fixture_cleanup(&p->f);
    fixture_init(&p->f);
    start(p, NULL);
}

static void cleanup(put_fixture *p) {
    fixture_cleanup(&p->f);
    put_folder_remove(&p->folder);
}

static void there_when_acknowledged(void **state) {
    static const uint64_t lengths[] = {0, 1, 63, 262143, 262144, 262145, 524288, 3000001};
    const uint32_t num = sizeof lengths / sizeof lengths[0];
    put_fixture p;
    tly_client *client;
    tly_error error;
    (void)state;
    setup(&p, NULL);
    client = fixture_client(&p.f);
    for (uint32_t round = 0; round < 2; round++) { /* the second replaces */
        for (uint32_t i = 0; i < num; i++) {
            uint8_t *bytes = put_bytes_of(100 * round + i, lengths[i]);
            char key[16];
            snprintf(key, sizeof key, "../t%u", i); /* never a path */
            CHECK_OK(put_tensor(client, key, bytes, lengths[i], &error), &error);
            fixture_expect(client, key, bytes, lengths[i]);
            free(bytes);
        }
        assert_int_equal(put_folder_count(&p.folder), num);
        assert_int_equal(tly_catalogue_num_tensors(p.f.catalogue), num);
    }
    tly_client_free(client);
    restart(&p);
    assert_int_equal(tly_catalogue_num_tensors(p.f.catalogue), num);
    client = fixture_client(&p.f);
    for (uint32_t i = 0; i < num; i++) {
        uint8_t *bytes = put_bytes_of(100 + i, lengths[i]);
        char key[16];
        snprintf(key, sizeof key, "../t%u", i);
        fixture_expect(client, key, bytes, lengths[i]);
        free(bytes);
    }
    tly_client_free(client);
    cleanup(&p);
}

/* An answer that is under way keeps the bytes that it began with. */
static void replaced_while_it_is_read(void **state) {
    const uint64_t len = 5000000;
    uint8_t *old = put_bytes_of(1, len), *new_bytes = put_bytes_of(2, len);
    put_fixture p;
    plain_bytes bytes = {0}, none = {0}, got = {0};
    tly_client *client;
    tly_error error;
    raw_message m;
    int fd;
    (void)state;
    setup(&p, NULL);
    client = fixture_client(&p.f);
    CHECK_OK(put_tensor(client, "w", old, len, &error), &error);
    fd = raw_connect(&p.f);
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    plain_request(&bytes, 2, "w", &none, 0, 0);
    raw_send(fd, &bytes);
    do { /* the first frame is here, the last cannot have left */
        assert_int_equal(raw_message_read(fd, &m), 1);
        if (m.type == TLY_WIRE_TENSOR_DATA) {
            plain_put(&got, m.payload + 8, m.len - 8);
        }
        free(m.payload);
    } while (m.type != TLY_WIRE_TENSOR_DATA);
    CHECK_OK(put_tensor(client, "w", new_bytes, len, &error), &error);
    do {
        assert_int_equal(raw_message_read(fd, &m), 1);
        if (m.type == TLY_WIRE_TENSOR_DATA) {
            plain_put(&got, m.payload + 8, m.len - 8);
        }
        free(m.payload);
    } while (m.type != TLY_WIRE_TENSOR_DATA_END);
    assert_int_equal(got.len, len);
    assert_memory_equal(got.at, old, len);
    fixture_expect(client, "w", new_bytes, len);
    close(fd);
    tly_client_free(client);
    cleanup(&p);
    free(old);
    free(new_bytes);
    free(got.at);
    free(bytes.at);
}

static void expect_refused(tly_client *client, const char *key, uint64_t len, const char *words) {
    uint8_t *bytes = put_bytes_of(3, len);
    tly_error error;
    assert_int_equal(put_tensor(client, key, bytes, len, &error), TLY_PEER);
    if (strstr(error.message, words) == NULL) {
        fail_msg("%s: no \"%s\" in it", error.message, words);
    }
    CHECK_OK(tly_client_ping(client, NULL, &error), &error); /* the connection lives on */
    free(bytes);
}

static void refusals(void **state) {
    tly_server_options options = {.size = sizeof options, .upload_limit = 1000000};
    static const uint64_t shape[] = {4, 4};
    put_fixture p;
    tly_client *client;
    char long_key[70000];
    uint8_t *bytes;
    (void)state;
    fixture_init(&p.f);
    put_folder_make(&p.folder);
    bytes = fixture_add(&p.f, "fixed", TLY_U8, 2, shape);
    start(&p, &options);
    client = fixture_client(&p.f);
    memset(long_key, 'k', sizeof long_key - 1);
    long_key[sizeof long_key - 1] = '\0';
    expect_refused(client, "fixed", 100, "REFUSED");
    expect_refused(client, "large", 1000001, "MESSAGE_TOO_LARGE");
    expect_refused(client, "", 100, "INVALID_MESSAGE");
    expect_refused(client, long_key, 100, "INVALID_MESSAGE");
    fixture_expect(client, "fixed", bytes, 16);
    assert_int_equal(put_folder_count(&p.folder), 0);
    tly_client_free(client);
    cleanup(&p);
    /* A server that takes none. */
    fixture_init(&p.f);
    fixture_start(&p.f, NULL);
    client = fixture_client(&p.f);
    expect_refused(client, "w", 50000000, "takes no tensors");
    tly_client_free(client);
    fixture_cleanup(&p.f);
}

static void send_part(int fd, plain_bytes *bytes, uint32_t stream, const char *key, uint64_t total,
                      uint64_t sent, uint8_t device) {
    uint8_t *data = put_bytes_of(7, sent);
    plain_upload(bytes, stream, key, total, device);
    if (sent != 0) {
        plain_data(bytes, stream, 0, data, (size_t)sent);
    }
    raw_send(fd, bytes);
    free(data);
}

/* A descriptor that is right, and buffers that are not: the good tensor stays. */
static void broken_contents(void **state) {
    static const uint64_t shape[] = {4, 4};
    const uint64_t good_indices[] = {0, 1, 2, 3}, bad_indices[] = {0, 1, 2, 4};
    const float values[] = {1, 2};
    tly_descriptor d = {.dtype = TLY_F32,
                        .layout = TLY_LAYOUT_COO,
                        .num_buffers = 2,
                        .rank = 2,
                        .shape = shape,
                        .nnz = 2,
                        .is_sorted = 1};
    const tly_buffer_info infos[] = {{.byte_size = 8, .alignment = 64},
                                     {.byte_size = 32, .alignment = 64}};
    const void *good[] = {values, good_indices}, *bad[] = {values, bad_indices};
    tly_put_request request = {
        .size = sizeof request, .key = "w", .descriptor = &d, .buffers = good};
    uint8_t whole[40];
    put_fixture p;
    tly_client *client;
    tly_error error;
    (void)state;
    d.buffers = infos;
    memcpy(whole, values, 8);
    memcpy(whole + 8, good_indices, 32);
    setup(&p, NULL);
    client = fixture_client(&p.f);
    CHECK_OK(tly_client_put(client, &request, &error), &error);
    request.buffers = bad;
    assert_int_equal(tly_client_put(client, &request, &error), TLY_PEER);
    assert_non_null(strstr(error.message, "INVALID_MESSAGE"));
    fixture_expect(client, "w", whole, sizeof whole);
    request.key = "new";
    assert_int_equal(tly_client_put(client, &request, &error), TLY_PEER);
    assert_int_equal(put_folder_count(&p.folder), 1);
    tly_client_free(client);
    restart(&p);
    client = fixture_client(&p.f);
    fixture_expect(client, "w", whole, sizeof whole);
    tly_client_free(client);
    cleanup(&p);
}

/* The key is busy while somebody puts it, and free again when he is gone. */
static void one_at_a_time(void **state) {
    put_fixture p;
    plain_bytes bytes = {0};
    uint8_t *data = put_bytes_of(3, 100);
    tly_client *client;
    tly_error error;
    int fd, tries = 0;
    (void)state;
    setup(&p, NULL);
    client = fixture_client(&p.f);
    CHECK_OK(put_tensor(client, "w", data, 100, &error), &error);
    fd = raw_connect(&p.f);
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    send_part(fd, &bytes, 2, "w", 1000000, 300000, 0);
    plain_message(&bytes, TLY_WIRE_PING, 1, NULL, 0);
    raw_send(fd, &bytes);
    raw_expect(fd, TLY_WIRE_PONG); /* so the upload has begun */
    expect_refused(client, "w", 100, "BUSY");
    fixture_expect(client, "w", data, 100);
    close(fd); /* in the middle */
    while (put_tensor(client, "w", data, 100, &error) != TLY_OK) {
        assert_true(tries++ < 1000);
        usleep(1000);
    }
    assert_int_equal(put_folder_count(&p.folder), 1);
    tly_client_free(client);
    cleanup(&p);
    free(data);
    free(bytes.at);
}

/* Whoever stops in the middle of an upload loses his connection, and leaves nothing. */
static void a_stalled_upload(void **state) {
    tly_server_options options = {.size = sizeof options, .progress_timeout_ms = 300};
    put_fixture p;
    plain_bytes bytes = {0};
    uint8_t data[100] = {0};
    tly_client *client;
    tly_error error;
    raw_message m;
    int fd, left;
    (void)state;
    setup(&p, &options);
    fd = raw_connect(&p.f);
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    send_part(fd, &bytes, 2, "w", 1000000, 600000, 0);
    do {
        left = raw_message_read(fd, &m);
        free(m.payload);
    } while (left == 1);
    close(fd);
    client = fixture_client(&p.f);
    CHECK_OK(put_tensor(client, "w", data, sizeof data, &error), &error); /* the key is free */
    assert_int_equal(put_folder_count(&p.folder), 1);
    tly_client_free(client);
    cleanup(&p);
    free(bytes.at);
}

/* Half of the connection closes: answers that are under way still come, half a tensor counts for
 * nothing. */
static void half_close(void **state) {
    put_fixture p;
    plain_bytes bytes = {0}, none = {0};
    uint8_t *data = put_bytes_of(3, 2000000);
    tly_client *client;
    tly_error error;
    int fd;
    (void)state;
    setup(&p, NULL);
    client = fixture_client(&p.f);
    CHECK_OK(put_tensor(client, "w", data, 2000000, &error), &error);
    fd = raw_connect(&p.f);
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    plain_request(&bytes, 2, "w", &none, 0, 0);
    send_part(fd, &bytes, 3, "x", 1000000, 300000, 0);
    shutdown(fd, SHUT_WR);
    for (int ended = 0, failed = 0; !ended || !failed;) { /* in either order */
        raw_message m;
        assert_int_equal(raw_message_read(fd, &m), 1);
        if (m.type == TLY_WIRE_ERROR) {
            assert_int_equal(m.stream, 3);
            assert_int_equal(plain_get(m.payload, m.len, 0, 4), TLY_WIRE_INVALID_MESSAGE);
            failed = 1;
        }
        ended |= m.type == TLY_WIRE_TENSOR_DATA_END;
        free(m.payload);
    }
    assert_int_equal(raw_read(fd, data, 1), 0); /* and then the server's end */
    close(fd);
    assert_int_equal(put_folder_count(&p.folder), 1);
    tly_client_free(client);
    cleanup(&p);
    free(data);
    free(bytes.at);
}

/* A broken rule costs the stream; the next upload on the same connection works. */
static void errors_cost_a_stream(void **state) {
    static const struct {
        uint64_t total, sent;
        uint8_t device;
        uint32_t code;
    } cases[] = {{1000, 1001, 0, TLY_WIRE_INVALID_MESSAGE}, /* too many bytes */
                 {1000, 999, 0, TLY_WIRE_INVALID_MESSAGE},  /* too few, then the END */
                 {1000, 1000, 1, TLY_WIRE_DEVICE_UNAVAILABLE} /* for CUDA */};
    put_fixture p;
    plain_bytes bytes = {0};
    uint32_t stream = 2;
    int fd;
    (void)state;
    setup(&p, NULL);
    fd = raw_connect(&p.f);
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++, stream++) {
        send_part(fd, &bytes, stream, "w", cases[i].total, cases[i].sent, cases[i].device);
        plain_end(&bytes, stream);
        raw_send(fd, &bytes);
        assert_int_equal(raw_expect(fd, TLY_WIRE_ERROR), cases[i].code);
    }
    assert_int_equal(put_folder_count(&p.folder), 0);
    send_part(fd, &bytes, stream, "w", 1000, 1000, 0);
    plain_end(&bytes, stream);
    raw_send(fd, &bytes);
    raw_expect(fd, TLY_WIRE_TENSOR_PUT_ACK);
    assert_int_equal(put_folder_count(&p.folder), 1);
    close(fd);
    cleanup(&p);
    free(bytes.at);
}

/* Several uploads and answers side by side on one connection, frames in turns. */
static void streams_side_by_side(void **state) {
    enum { NUM = 6, STEP = 100000, TOTAL = 1000000 };
    put_fixture p;
    plain_bytes bytes = {0};
    uint8_t *data[NUM];
    tly_client *client;
    int fd;
    (void)state;
    setup(&p, NULL);
    fd = raw_connect(&p.f);
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    for (uint32_t i = 0; i < NUM; i++) {
        char key[8];
        data[i] = put_bytes_of(i, TOTAL);
        snprintf(key, sizeof key, "k%u", i);
        plain_upload(&bytes, 10 + i, key, TOTAL, 0);
    }
    raw_send(fd, &bytes);
    for (uint32_t at = 0; at < TOTAL; at += STEP) {
        for (uint32_t i = 0; i < NUM; i++) {
            plain_data(&bytes, 10 + i, at, data[i] + at, STEP);
        }
        raw_send(fd, &bytes);
    }
    for (uint32_t i = 0; i < NUM; i++) {
        plain_end(&bytes, 10 + i);
    }
    raw_send(fd, &bytes);
    for (uint32_t i = 0; i < NUM; i++) {
        raw_expect(fd, TLY_WIRE_TENSOR_PUT_ACK);
    }
    close(fd);
    client = fixture_client(&p.f);
    for (uint32_t i = 0; i < NUM; i++) {
        char key[8];
        snprintf(key, sizeof key, "k%u", i);
        fixture_expect(client, key, data[i], TOTAL);
        free(data[i]);
    }
    tly_client_free(client);
    cleanup(&p);
    free(bytes.at);
}

/* One folder, one server; what does not belong there is named. */
static void folders(void **state) {
    put_fixture p;
    tly_catalogue *other;
    char path[128];
    FILE *file;
    tly_error error;
    (void)state;
    setup(&p, NULL);
    CHECK_OK(tly_catalogue_new(p.f.context, &other, &error), &error);
    CHECK_RULE(tly_catalogue_open_uploads(other, p.folder.path, &error), &error, TLY_EXISTS,
               "folder-in-use");
    CHECK_RULE(tly_catalogue_open_uploads(p.f.catalogue, p.folder.path, &error), &error,
               TLY_INVALID_ARGUMENT, "uploads-twice");
    assert_int_equal(tly_catalogue_open_uploads(other, "/nowhere/at/all", &error), TLY_IO);
    tly_catalogue_free(other);
    fixture_cleanup(&p.f);
    snprintf(path, sizeof path, "%s/.tilery-0123456789abcdef.part", p.folder.path);
    file = fopen(path, "w"); /* what a killed server can leave */
    fclose(file);
    CHECK_OK(tly_context_new(NULL, &p.f.context, &error), &error);
    CHECK_OK(tly_catalogue_new(p.f.context, &other, &error), &error);
    CHECK_OK(tly_catalogue_open_uploads(other, p.folder.path, &error), &error);
    assert_int_equal(put_folder_count(&p.folder), 0);
    tly_catalogue_free(other);
    snprintf(path, sizeof path, "%s/0000000000000001.hrry", p.folder.path);
    file = fopen(path, "w");
    fputs("half a file", file);
    fclose(file);
    CHECK_OK(tly_catalogue_new(p.f.context, &other, &error), &error);
    assert_int_not_equal(tly_catalogue_open_uploads(other, p.folder.path, &error), TLY_OK);
    tly_catalogue_free(other);
    tly_context_free(p.f.context);
    put_folder_remove(&p.folder);
}

/* The uploads of the format's vectors, byte for byte; what is stored is what the vector says. */
static void vector_sessions(void **state) {
    check_vectors v = check_vectors_open("tests/vectors/hurray/proto_sessions.jsonl.gz");
    int run = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        plain_bytes up = {0};
        char *step = strstr(line, "\"steps\":"), *hex;
        put_fixture p;
        tly_client *client;
        uint8_t *bytes;
        size_t len;
        int fd;
        if (strstr(line, "\"kind\":\"put\"") == NULL) {
            continue;
        }
        hex = malloc(strlen(line) + 1);
        while ((step = strstr(step, "{\"dir\":\"C>S\"")) != NULL) {
            bytes = check_unhex(check_json_text(step, "hex", hex, strlen(line) + 1), &len);
            plain_put(&up, bytes, len);
            free(bytes);
            step++;
        }
        setup(&p, NULL);
        fd = raw_connect(&p.f);
        raw_send(fd, &up);
        raw_expect(fd, TLY_WIRE_TENSOR_PUT_ACK);
        close(fd);
        snprintf(hex, strlen(line) + 1, "%s", strstr(line, "\"buffers\":[\"") + 12);
        *strchr(hex, '"') = '\0';
        bytes = check_unhex(hex, &len);
        client = fixture_client(&p.f);
        fixture_expect(client, "p", bytes, len);
        tly_client_free(client);
        cleanup(&p);
        free(bytes);
        free(hex);
        free(up.at);
        run++;
    }
    check_vectors_close(&v);
    assert_int_equal(run, 6);
}

/* A family that takes its time. */
#define SLOW_MS 1500

static int32_t slow_plan(const tly_family_tensor *tensor, uint64_t *out_len,
                         uint32_t *out_alignment, char *why, size_t why_capacity) {
    (void)why;
    (void)why_capacity;
    *out_len = tensor->shape[0];
    *out_alignment = 1;
    return TLY_OK;
}

static int32_t slow_pack(const tly_family_tensor *tensor, void *out, uint64_t len, char *why,
                         size_t why_capacity) {
    (void)why;
    (void)why_capacity;
    usleep(SLOW_MS * 1000);
    memcpy(out, tensor->data, (size_t)len);
    return TLY_OK;
}

static int32_t slow_write(const char *arguments, uint8_t *out, uint32_t capacity, uint32_t *out_len,
                          char *why, size_t why_capacity) {
    (void)arguments;
    (void)out;
    (void)capacity;
    (void)why;
    (void)why_capacity;
    *out_len = 0;
    return TLY_OK;
}

static const tly_family slow = {TLY_FAMILY_ABI, 0xF5, 77, "slow", slow_write, slow_plan, slow_pack};

static void *fetch_slowly(void *user) {
    const fixture *f = user;
    const tly_client_options options = {.size = sizeof options, .progress_timeout_ms = 1200};
    const tly_fetch_layout layout = {.family = &slow};
    const tly_fetch_request request = {.size = sizeof request,
                                       .key = "t0",
                                       .layouts = &layout,
                                       .num_layouts = 1,
                                       .request_flags = TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched;
    tly_client *client;
    tly_error error;
    CHECK_OK(tly_client_connect(f->context, f->address, &options, &client, &error), &error);
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    assert_int_equal(tly_fetched_choice(fetched), 0);
    tly_fetched_free(fetched);
    tly_client_free(client);
    return NULL;
}

/* The server needs longer than its own time-out, and the client's: whoever waits for it is told
 * that it is at work, and whoever cannot send because all of its threads are busy is not taken for
 * silent. */
static void slow_is_not_silent(void **state) {
    static const uint64_t shape[] = {1000};
    tly_server_options options = {.size = sizeof options, .progress_timeout_ms = 600};
    const uint64_t len = 2u << 20;
    uint8_t *bytes = put_bytes_of(3, len);
    plain_bytes out = {0}, entry = {0};
    tly_families *families;
    pthread_t thread;
    put_fixture p;
    tly_client *client;
    tly_error error;
    int fd;
    (void)state;
    fixture_init(&p.f);
    put_folder_make(&p.folder);
    CHECK_OK(tly_families_new(p.f.context, &families, &error), &error);
    CHECK_OK(tly_families_add(families, &slow, &error), &error);
    options.families = families;
    fixture_add(&p.f, "t0", TLY_U8, 1, shape);
    start(&p, &options);
    client = fixture_client(&p.f);
    assert_int_equal(pthread_create(&thread, NULL, fetch_slowly, &p.f), 0);
    fd = raw_connect(&p.f);
    plain_hello(&out, TLY_WIRE_CLIENT_HELLO, 1, 1u << 24);
    plain_number(&entry, slow.tag, 1);
    plain_number(&entry, 0, 2);
    for (uint32_t i = 0; i < 3; i++) { /* there are four threads */
        plain_request(&out, 2 + i, "t0", &entry, 1, TLY_WIRE_ALLOW_TRANSCODE);
    }
    raw_send(fd, &out);
    usleep(200000);
    CHECK_OK(put_tensor(client, "up", bytes, len, &error), &error);
    fixture_expect(client, "up", bytes, len);
    pthread_join(thread, NULL);
    close(fd);
    tly_client_free(client);
    free(out.at);
    free(entry.at);
    free(bytes);
    fixture_stop(&p.f);
    tly_server_free(p.f.server);
    p.f.server = NULL;
    tly_families_free(families);
    cleanup(&p);
}

/* An upload that comes slowly holds memory for as long as it likes: not that of answers, on its own
 * connection or on another. */
static void uploads_hold_up_no_answer(void **state) {
    static const uint64_t shape[] = {512, 512}; /* 1 MiB of f32 */
    static const uint8_t col_major[] = {TLY_LAYOUT_COL_MAJOR};
    const tly_server_options options = {
        .size = sizeof options, .max_queued_len = 1u << 20, .max_packing_len = 300u << 10};
    plain_bytes out = {0}, put = {0}, entry = {0}, none = {0};
    struct timespec from, to;
    put_fixture p;
    int fds[2];
    (void)state;
    fixture_init(&p.f);
    put_folder_make(&p.folder);
    fixture_add(&p.f, "w", TLY_F32, 2, shape);
    start(&p, &options);
    for (int i = 0; i < 2; i++) {
        fds[i] = raw_connect(&p.f);
        plain_hello(&out, TLY_WIRE_CLIENT_HELLO, 1, 1u << 24);
        raw_send(fds[i], &out);
    }
    plain_number(&put, 1, 4);
    plain_put(&put, "u", 1);
    plain_number(&put, 53, 4);
    plain_tensor(&put, 1u << 20, 0, 0, 0);
    plain_number(&put, 1u << 20, 8);
    plain_message(&out, TLY_WIRE_TENSOR_PUT, 2, put.at, put.len);
    raw_send(fds[0], &out); /* and no byte of it */
    usleep(50000);
    plain_put(&entry, col_major, sizeof col_major);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < 2; i++) {
        plain_request(&out, 3, "w", &entry, 1, TLY_WIRE_ALLOW_TRANSCODE);
        plain_request(&out, 4, "w", &none, 0, 0);
        raw_send(fds[i], &out);
        raw_expect(fds[i], TLY_WIRE_TENSOR_DATA_END);
        raw_expect(fds[i], TLY_WIRE_TENSOR_DATA_END);
    }
    clock_gettime(CLOCK_MONOTONIC, &to);
    assert_true(to.tv_sec - from.tv_sec < 5);
    for (int i = 0; i < 2; i++) {
        close(fds[i]);
    }
    free(out.at);
    free(put.at);
    free(entry.at);
    cleanup(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_when_acknowledged),
        cmocka_unit_test(replaced_while_it_is_read),
        cmocka_unit_test(refusals),
        cmocka_unit_test(broken_contents),
        cmocka_unit_test(one_at_a_time),
        cmocka_unit_test(a_stalled_upload),
        cmocka_unit_test(slow_is_not_silent),
        cmocka_unit_test(uploads_hold_up_no_answer),
        cmocka_unit_test(half_close),
        cmocka_unit_test(errors_cost_a_stream),
        cmocka_unit_test(streams_side_by_side),
        cmocka_unit_test(folders),
        cmocka_unit_test(vector_sessions),
    };
    return cmocka_run_group_tests_name("serve/put", tests, NULL, NULL);
}
