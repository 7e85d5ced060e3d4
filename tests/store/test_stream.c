/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of tensors: those of the format, those to refuse, pipes, sockets, and a source that gives
 * as little as it likes. */
#include "vectors.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <tilery/stream.h>

#include "base/crc32c.h"
#include "base/error.h"
#include "failing.h"
#include "tensor/text.h"

#define FOLDER "tests/vectors/hurray/"

static failing memory;
static tly_context *context;

static int set_up(void **state) {
    (void)state;
    context = failing_context(&memory);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    tly_context_free(context);
    return memory.live == 0 ? 0 : -1;
}

/* Bytes that are given in pieces of random length; then, where asked for, a failure. */
typedef struct source {
    const uint8_t *bytes;
    size_t len;
    size_t at;
    size_t most; /* bytes at once; 0: all */
    int fails;
    check_rng rng;
} source;

static tly_status give(void *user, void *buffer, size_t capacity, size_t *out_len,
                       tly_error *error) {
    source *s = user;
    size_t len = s->len - s->at < capacity ? s->len - s->at : capacity;
    assert_true(capacity > 0);
    if (s->most != 0 && len > 0) {
        size_t some = 1 + check_below(&s->rng, s->most);
        len = some < len ? some : len;
    }
    if (len == 0 && s->fails) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "the line went dead");
    }
    memcpy(buffer, s->bytes + s->at, len);
    s->at += len;
    *out_len = len;
    return TLY_OK;
}

typedef struct sunk {
    uint8_t *bytes;
    size_t len;
    size_t capacity;
} sunk;

static tly_status sink(void *user, const void *bytes, size_t len, tly_error *error) {
    sunk *s = user;
    if (len > s->capacity - s->len) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "the disk is full");
    }
    memcpy(s->bytes + s->len, bytes, len);
    s->len += len;
    return TLY_OK;
}

/* The text at or behind `*at`; moves behind it. */
static void expect_next(const char **at, const char *text, const char *what) {
    const char *found = strstr(*at, text);
    if (found == NULL) {
        fail_msg("%s: not found in what is left of the vector: %s", what, text);
    }
    *at = found + strlen(text);
}

/* Reads a whole stream as the vector says it is, and writes it again. */
static void check_stream(const char *line, const uint8_t *bytes, size_t len, size_t most) {
    source from = {.bytes = bytes, .len = len, .most = most, .rng = {len}};
    sunk to = {malloc(len), 0, len};
    tly_stream_reader *reader;
    tly_stream_writer *writer;
    const tly_descriptor *d;
    const char *at = line;
    tly_error error;
    CHECK_OK(tly_stream_reader_new(context, give, &from, NULL, &reader, &error), &error);
    CHECK_OK(tly_stream_writer_new(context, sink, &to, NULL, &writer, &error), &error);
    for (;;) {
        char *text;
        CHECK_OK(tly_stream_reader_next(reader, &d, &error), &error);
        if (d == NULL) {
            break;
        }
        text = text_of(d);
        *strstr(text, ",\"layout\":") = '\0'; /* type and shape; the rest has its own tests */
        expect_next(&at, text, "descriptor");
        free(text);
        CHECK_OK(tly_stream_writer_begin(writer, d, &error), &error);
        for (uint32_t i = 0; i < d->num_buffers; i++) {
            uint64_t size = d->buffers[i].byte_size;
            uint8_t *data = malloc(size + 1);
            char sum[32];
            CHECK_OK(tly_stream_reader_read(reader, data, size, &error), &error);
            snprintf(sum, sizeof sum, "\"crc32c\":\"%08x\"", tly_base_crc32c(0, data, size));
            expect_next(&at, sum, "check sum");
            CHECK_OK(tly_stream_writer_append(writer, data, size / 2, &error), &error);
            CHECK_OK(tly_stream_writer_append(writer, data + size / 2, size - size / 2, &error),
                     &error);
            free(data);
        }
        assert_int_equal(tly_stream_reader_left(reader), 0);
    }
    assert_int_equal(tly_stream_reader_offset(reader), len);
    CHECK_OK(tly_stream_writer_end(writer, &error), &error);
    assert_int_equal(to.len, len);
    assert_memory_equal(to.bytes, bytes, len);
    tly_stream_reader_free(reader);
    tly_stream_writer_free(writer);
    free(to.bytes);
}

/* Every stream of the format, with its line of streams.jsonl; `each` gets them. */
static int for_streams(void (*each)(const char *line, const uint8_t *bytes, size_t len)) {
    check_vectors bytes = check_vectors_open(FOLDER "streams.hex.gz");
    check_vectors meaning = check_vectors_open(FOLDER "streams.jsonl.gz");
    char *lines[1000] = {0};
    char *line;
    int count = 0;
    while ((line = check_vectors_line(&meaning)) != NULL) {
        unsigned long id = strtoul(line + strlen("{\"id\":\"s"), NULL, 10);
        assert_true(id < 1000);
        lines[id] = line;
    }
    while ((line = check_vectors_line(&bytes)) != NULL) {
        char *fields[2] = {0};
        size_t len;
        uint8_t *stream;
        assert_int_equal(check_fields(line, fields, 2), 2);
        stream = check_unhex(fields[1], &len);
        line = lines[strtoul(fields[0] + 1, NULL, 10)];
        assert_non_null(line);
        each(line, stream, len);
        free(stream);
        count++;
    }
    check_vectors_close(&bytes);
    check_vectors_close(&meaning);
    return count;
}

static void in_pieces(const char *line, const uint8_t *bytes, size_t len) {
    check_stream(line, bytes, len, 0);
    check_stream(line, bytes, len, 1);
    check_stream(line, bytes, len, 50);
}

static void streams_of_the_format(void **state) {
    (void)state;
    assert_int_equal(for_streams(in_pieces), 756);
}

/* Reads to the end; "" or the rule that was broken. The reader stays as it is after an error. */
static const char *verdict(const uint8_t *bytes, size_t len, uint32_t flags, tly_error *error) {
    source from = {.bytes = bytes, .len = len, .most = 7, .rng = {1}};
    tly_stream_options options = {.size = sizeof options, .flags = flags};
    tly_stream_reader *reader;
    const tly_descriptor *d;
    tly_error again;
    tly_status status;
    CHECK_OK(tly_stream_reader_new(context, give, &from, &options, &reader, error), error);
    do {
        status = tly_stream_reader_next(reader, &d, error);
    } while (status == TLY_OK && d != NULL);
    if (status != TLY_OK) {
        assert_null(d);
        assert_int_equal(error->status, status);
        assert_true(error->offset <= len);
        assert_true(error->message[0] != '\0');
        assert_int_equal(tly_stream_reader_next(reader, &d, &again), status);
        assert_string_equal(again.message, error->message);
        assert_int_equal(again.offset, error->offset);
    }
    tly_stream_reader_free(reader);
    return status == TLY_OK ? "" : error->rule;
}

static void expect_refusal(const char *id, const char *mode, const char *rule, const char *hex) {
    tly_error error;
    size_t len;
    uint8_t *bytes = check_unhex(hex, &len);
    uint32_t flags = strcmp(mode, "stream-x") == 0 ? TLY_STREAM_CROSS_MACHINE : 0;
    const char *got;
    memory.largest = 0;
    got = verdict(bytes, len, flags, &error);
    if (strcmp(got, rule) != 0) {
        fail_msg("%s: \"%s\", not \"%s\" (%s)", id, got, rule, error.message);
    }
    /* Nothing is taken on the word of a header: the reader itself, and twice what came. */
    assert_true(memory.largest <= 70000 + 8 * len);
    free(bytes);
}

static void streams_to_refuse(void **state) {
    check_vectors v = check_vectors_open(FOLDER "malformed.tsv.gz");
    int refused = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        char *fields[4] = {0};
        assert_int_equal(check_fields(line, fields, 4), 4);
        if (strncmp(fields[1], "stream", 6) == 0) {
            expect_refusal(fields[0], fields[1], fields[2], fields[3]);
            refused++;
        }
    }
    assert_int_equal(refused, 38);
    check_vectors_close(&v);
}

static void streams_that_the_reference_accepts(void **state) {
    check_vectors v = check_vectors_open(FOLDER "disagreements.jsonl.gz");
    int refused = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        char id[16], mode[32], rule[64];
        size_t room = strlen(line) + 1;
        char *hex = malloc(room);
        check_json_text(line, "mode", mode, sizeof mode);
        check_json_text(line, "rule", rule, sizeof rule);
        check_json_text(line, "id", id, sizeof id);
        check_json_text(line, "hex", hex, room);
        if (strcmp(mode, "stream") == 0) {
            expect_refusal(id, mode, rule, hex);
            refused++;
        }
        free(hex);
    }
    assert_int_equal(refused, 4);
    check_vectors_close(&v);
}

/* A stream that ends anywhere but between tensors is torn, and the reader says so. */
static void cut_everywhere(const char *line, const uint8_t *bytes, size_t len) {
    static int turn;
    tly_error error;
    (void)line;
    if (turn++ % 16 != 0) {
        return;
    }
    for (size_t cut = 1; cut < len; cut++) {
        const char *rule = verdict(bytes, cut, 0, &error);
        if (rule[0] == '\0') { /* between two tensors that are on their own */
            assert_string_equal(verdict(bytes + cut, len - cut, 0, &error), "");
        } else if (strcmp(rule, "ST-TORN-DESC") != 0 && strcmp(rule, "ST-TORN-DATA") != 0) {
            assert_string_equal(rule, "C-TORN");
        }
    }
}

static void torn_streams(void **state) {
    (void)state;
    for_streams(cut_everywhere);
}

/* ---- A stream of our own: three tensors, one of them 5 MiB ---- */

#define LARGE ((uint64_t)5 << 20)

static uint8_t byte_at(uint64_t i) {
    return (uint8_t)(i * 7 + (i >> 8) * 13);
}

static tly_status write_three(tly_stream_writer *w, tly_error *error) {
    uint8_t *data = malloc(LARGE);
    const uint64_t lens[] = {12, LARGE, 0};
    tly_status status = TLY_OK;
    for (uint64_t i = 0; i < LARGE; i++) {
        data[i] = byte_at(i);
    }
    for (int i = 0; i < 3 && status == TLY_OK; i++) {
        tly_buffer_info buffer;
        tly_descriptor d;
        status = tly_descriptor_init_row_major(&d, &buffer, TLY_U8, 1, &lens[i]);
        status = status == TLY_OK ? tly_stream_writer_begin(w, &d, error) : status;
        status = status == TLY_OK ? tly_stream_writer_append(w, data, lens[i], error) : status;
    }
    status = status == TLY_OK ? tly_stream_writer_end(w, error) : status;
    free(data);
    return status;
}

static void read_three(tly_stream_reader *r) {
    uint8_t *data = malloc(LARGE);
    const tly_descriptor *d;
    tly_error error;
    CHECK_OK(tly_stream_reader_next(r, &d, &error), &error);
    assert_int_equal(tly_stream_reader_left(r), 12);
    CHECK_RULE(tly_stream_reader_read(r, data, 13, &error), &error, TLY_INVALID_ARGUMENT, "");
    CHECK_OK(tly_stream_reader_read(r, data, 5, &error), &error);
    assert_int_equal(tly_stream_reader_left(r), 7);
    CHECK_OK(tly_stream_reader_next(r, &d, &error), &error); /* steps over the other seven */
    assert_int_equal(d->shape[0], LARGE);
    CHECK_OK(tly_stream_reader_read(r, data, 1, &error), &error);
    CHECK_OK(tly_stream_reader_read(r, data + 1, LARGE - 1, &error), &error);
    for (uint64_t i = 0; i < LARGE; i++) {
        if (data[i] != byte_at(i)) {
            fail_msg("byte %llu differs", (unsigned long long)i);
        }
    }
    CHECK_OK(tly_stream_reader_next(r, &d, &error), &error);
    assert_int_equal(d->shape[0], 0);
    CHECK_OK(tly_stream_reader_next(r, &d, &error), &error);
    assert_null(d);
    CHECK_OK(tly_stream_reader_next(r, &d, &error), &error); /* the end stays the end */
    assert_null(d);
    free(data);
}

/* A child writes, this process reads. */
static void through(int read_end, int write_end, int nonblocking) {
    tly_stream_reader *r;
    tly_error error;
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        tly_stream_writer *w;
        close(read_end);
        if (tly_stream_writer_new_fd(context, write_end, NULL, &w, NULL) != TLY_OK ||
            write_three(w, NULL) != TLY_OK) {
            _exit(1);
        }
        _exit(0);
    }
    close(write_end);
    if (nonblocking) {
        fcntl(read_end, F_SETFL, O_NONBLOCK);
    }
    CHECK_OK(tly_stream_reader_new_fd(context, read_end, NULL, &r, &error), &error);
    read_three(r);
    tly_stream_reader_free(r);
    close(read_end);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void pipes_and_sockets(void **state) {
    (void)state;
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        through(ends[0], ends[1], nonblocking);
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
        if (nonblocking) {
            fcntl(ends[1], F_SETFL, O_NONBLOCK);
        }
        through(ends[0], ends[1], nonblocking);
    }
}

static void a_peer_that_has_gone(void **state) {
    tly_stream_writer *w;
    tly_error error;
    int ends[2];
    (void)state;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    close(ends[0]);
    CHECK_OK(tly_stream_writer_new_fd(context, ends[1], NULL, &w, &error), &error);
    assert_int_equal(write_three(w, &error), TLY_IO); /* and not SIGPIPE */
    assert_int_equal(tly_stream_writer_end(w, &error), TLY_IO);
    tly_stream_writer_free(w);
    close(ends[1]);
}

static void a_source_that_fails(void **state) {
    uint8_t bytes[53];
    source from = {.bytes = bytes, .len = sizeof bytes, .fails = 1};
    sunk to = {bytes, 0, sizeof bytes};
    uint64_t shape = 4;
    tly_buffer_info buffer;
    tly_descriptor d;
    const tly_descriptor *seen;
    tly_stream_writer *w;
    tly_stream_reader *r;
    tly_error error;
    uint8_t data[16];
    (void)state;
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 1, &shape), TLY_OK);
    CHECK_OK(tly_stream_writer_new(context, sink, &to, NULL, &w, &error), &error);
    CHECK_OK(tly_stream_writer_begin(w, &d, &error), &error);
    CHECK_RULE(tly_stream_writer_append(w, data, 17, &error), &error, TLY_INVALID_ARGUMENT, "");
    CHECK_RULE(tly_stream_writer_begin(w, &d, &error), &error, TLY_INVALID_ARGUMENT, "");
    CHECK_RULE(tly_stream_writer_end(w, &error), &error, TLY_INVALID_ARGUMENT, "");
    assert_int_equal(tly_stream_writer_append(w, data, 16, &error), TLY_IO); /* no room */
    assert_int_equal(tly_stream_writer_append(w, data, 16, &error), TLY_IO);
    tly_stream_writer_free(w);
    CHECK_OK(tly_stream_reader_new(context, give, &from, NULL, &r, &error), &error);
    CHECK_OK(tly_stream_reader_next(r, &seen, &error), &error);
    assert_int_equal(tly_stream_reader_read(r, data, 16, &error), TLY_IO);
    assert_string_equal(error.message, "the line went dead");
    assert_int_equal(tly_stream_reader_next(r, &seen, &error), TLY_IO);
    tly_stream_reader_free(r);
}

static void limits_and_options(void **state) {
    uint8_t bytes[53];
    source from = {.bytes = bytes, .len = sizeof bytes};
    sunk to = {bytes, 0, sizeof bytes};
    tly_stream_options options = {.size = sizeof options, .max_descriptor_len = 52};
    uint64_t shape = 0;
    tly_buffer_info buffer;
    tly_descriptor d;
    const tly_descriptor *seen;
    tly_stream_writer *w;
    tly_stream_reader *r;
    tly_error error;
    (void)state;
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 1, &shape), TLY_OK);
    CHECK_OK(tly_stream_writer_new(context, sink, &to, NULL, &w, &error), &error);
    CHECK_OK(tly_stream_writer_begin(w, &d, &error), &error);
    tly_stream_writer_free(w);
    CHECK_OK(tly_stream_reader_new(context, give, &from, &options, &r, &error), &error);
    CHECK_RULE(tly_stream_reader_next(r, &seen, &error), &error, TLY_LIMIT, "ST-DESC-LIMIT");
    assert_int_equal(error.offset, 6);
    tly_stream_reader_free(r);
    options.flags = 2;
    assert_int_equal(tly_stream_reader_new(context, give, &from, &options, &r, &error),
                     TLY_INVALID_ARGUMENT);
    options.size = 4;
    assert_int_equal(tly_stream_writer_new(context, sink, &to, &options, &w, &error),
                     TLY_INVALID_ARGUMENT);
    tly_stream_reader_free(NULL);
    tly_stream_writer_free(NULL);
}

/* Each allocation fails once; the stream is then read as far as it was, and nothing is lost. */
static void no_memory(const char *line, const uint8_t *bytes, size_t len) {
    static int turn;
    (void)line;
    if (turn++ % 40 != 0 && turn < 700) {
        return;
    }
    for (size_t n = 1;; n++) {
        source from = {.bytes = bytes, .len = len};
        tly_stream_reader *reader = NULL;
        const tly_descriptor *d = NULL;
        size_t before = memory.live;
        tly_error error = {0};
        tly_status status;
        memory.calls = 0;
        memory.fail_at = n;
        status = tly_stream_reader_new(context, give, &from, NULL, &reader, &error);
        while (status == TLY_OK) {
            status = tly_stream_reader_next(reader, &d, &error);
            if (d == NULL) {
                break;
            }
        }
        memory.fail_at = 0;
        tly_stream_reader_free(reader);
        assert_int_equal(memory.live, before);
        if (status == TLY_OK) {
            break;
        }
        assert_int_equal(status, TLY_OUT_OF_MEMORY);
        assert_true(error.message[0] != '\0');
        assert_true(n < 1000);
    }
}

static void allocations_that_fail(void **state) {
    (void)state;
    for_streams(no_memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_of_the_format),
        cmocka_unit_test(streams_to_refuse),
        cmocka_unit_test(streams_that_the_reference_accepts),
        cmocka_unit_test(torn_streams),
        cmocka_unit_test(pipes_and_sockets),
        cmocka_unit_test(a_peer_that_has_gone),
        cmocka_unit_test(a_source_that_fails),
        cmocka_unit_test(limits_and_options),
        cmocka_unit_test(allocations_that_fail),
    };
    return cmocka_run_group_tests_name("store/stream", tests, set_up, tear_down);
}
