/* SPDX-License-Identifier: Apache-2.0 */
/* The server answers the sessions of the format's vectors: their requests go in byte for byte. */
#include "vectors.h"

#include <tilery/transcode.h>

#include "serve/raw.h"

#define FOLDER "tests/vectors/hurray/"

/* What came back on the last request. */
typedef struct reply {
    plain_bytes descriptor, data;
    int ended;
    uint32_t error_code;
} reply;

static void free_reply(reply *r) {
    free(r->descriptor.at);
    free(r->data.at);
}

static void read_reply(int fd, reply *r) {
    memset(r, 0, sizeof *r);
    while (!r->ended && r->error_code == 0) {
        raw_message m;
        assert_int_equal(raw_message_read(fd, &m), 1);
        if (m.type == TLY_WIRE_TENSOR_DESCRIPTOR) {
            plain_put(&r->descriptor, m.payload, m.len - 16);
        } else if (m.type == TLY_WIRE_TENSOR_DATA) {
            assert_int_equal(plain_get(m.payload, m.len, 0, 8), r->data.len);
            plain_put(&r->data, m.payload + 8, m.len - 8);
        } else if (m.type == TLY_WIRE_ERROR) {
            r->error_code = (uint32_t)plain_get(m.payload, m.len, 0, 4);
        } else if (m.type == TLY_WIRE_TENSOR_DATA_END) {
            r->ended = 1;
        }
        free(m.payload);
    }
}

/* The messages of one direction, and what the frames of the answer carry. */
static void collect(char *line, plain_bytes *up, plain_bytes *descriptor, plain_bytes *data) {
    char *step = strstr(line, "\"steps\":");
    while ((step = strstr(step, "{\"dir\":\"")) != NULL) {
        int to_server = strncmp(step + 8, "C>S", 3) == 0;
        char *close = strstr(step, "\"note\":");
        char *hex = malloc(strlen(step) + 1);
        size_t len;
        uint8_t *bytes;
        *close = '\0';
        bytes = check_unhex(check_json_text(step, "hex", hex, strlen(step) + 1), &len);
        if (to_server) {
            plain_put(up, bytes, len);
        } else if (bytes[0] == TLY_WIRE_TENSOR_DESCRIPTOR) {
            plain_put(descriptor, bytes + 12, len - 28);
        } else if (bytes[0] == TLY_WIRE_TENSOR_DATA) {
            plain_put(data, bytes + 20, len - 20);
        }
        *close = '"';
        step = close;
        free(hex);
        free(bytes);
    }
}

static void ask_server(fixture *f, plain_bytes *up, reply *out) {
    int fd;
    fixture_start(f, NULL);
    fd = raw_connect(f);
    raw_send(fd, up);
    read_reply(fd, out);
    close(fd);
}

/* ---- the stored tensor as it is ---- */

/* Returns 0 where the stored layout is not one that this version handles. */
static int check_native(char *line) {
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    plain_bytes up = {0}, descriptor = {0}, data = {0};
    tly_descriptor d;
    fixture f;
    reply got;
    tly_error error;
    char key[64];
    int handled;
    collect(line, &up, &descriptor, &data);
    handled = tly_descriptor_decode(descriptor.at, descriptor.len, work, sizeof work, &d, NULL,
                                    &error) == TLY_OK;
    if (handled) {
        fixture_init(&f);
        check_json_text(line, "key", key, sizeof key);
        CHECK_OK(tly_catalogue_add_tensor(f.catalogue, key, &d, data.at, data.len, &error), &error);
        ask_server(&f, &up, &got);
        assert_int_equal(got.ended, 1);
        assert_int_equal(got.descriptor.len, descriptor.len);
        assert_memory_equal(got.descriptor.at, descriptor.at, descriptor.len);
        assert_int_equal(got.data.len, data.len);
        if (data.len != 0) {
            assert_memory_equal(got.data.at, data.at, data.len);
        }
        free_reply(&got);
        fixture_cleanup(&f);
    } else {
        assert_int_equal(error.status, TLY_UNSUPPORTED);
    }
    free(up.at);
    free(descriptor.at);
    free(data.at);
    return handled;
}

/* ---- transcoded, if the server can ---- */

static uint32_t numbers(const char *line, const char *key, uint64_t *out, uint32_t most) {
    char pattern[64];
    const char *at;
    uint32_t num = 0;
    snprintf(pattern, sizeof pattern, "\"%s\":[", key);
    at = strstr(line, pattern) + strlen(pattern);
    while (*at != ']' && num < most) {
        char *end;
        out[num++] = strtoull(at, &end, 10);
        at = *end == ',' ? end + 1 : end;
    }
    return num;
}

static uint64_t number(const char *line, const char *key) {
    char pattern[64];
    const char *at;
    snprintf(pattern, sizeof pattern, "\"%s\":", key);
    at = strstr(line, pattern);
    assert_non_null(at);
    return strtoull(at + strlen(pattern), NULL, 10);
}

/* Every element by its index against the codes of the vector. */
static void check_codes(const char *line, const tly_descriptor *d, const uint8_t *data) {
    const char *at = strstr(line, "\"logical_codes_row_major\":[") + 27;
    const void *buffers[TLY_MAX_BUFFERS];
    tly_tensor tensor = {.descriptor = d, .buffers = buffers};
    uint64_t index[TLY_MAX_RANK] = {0}, total;
    tly_context *context;
    tly_view *view;
    tly_error error;
    for (uint32_t i = 0; i < d->num_buffers; i++) {
        buffers[i] = data;
        data += d->buffers[i].byte_size;
    }
    assert_int_equal(tly_context_new(NULL, &context, NULL), TLY_OK);
    CHECK_OK(tly_view_new(context, &tensor, NULL, &view, &error), &error);
    assert_int_equal(tly_descriptor_num_elements(d, &total), TLY_OK);
    for (uint64_t i = 0; i < total; i++) {
        tly_code got = {0};
        uint64_t code = strtoull(strchr(at, '"') + 1, NULL, 16);
        assert_int_equal(tly_view_get(view, index, &got), TLY_OK);
        assert_int_equal(got.low, code);
        at = strchr(strchr(at, '"') + 1, '"') + 1;
        for (uint32_t k = d->rank; k-- > 0;) {
            if (++index[k] < d->shape[k]) {
                break;
            }
            index[k] = 0;
        }
    }
    tly_view_free(view);
    tly_context_free(context);
}

/* Returns 1 if the server transcoded, 0 if it served the native layout, -1 if the stored layout is
 * not row-major. */
static int check_transcode(char *line) {
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    plain_bytes up = {0}, descriptor = {0}, data = {0};
    uint64_t shape[TLY_MAX_RANK];
    uint32_t rank = numbers(line, "shape", shape, TLY_MAX_RANK);
    uint64_t wanted = number(line, "if_server_transcodes_to");
    tly_descriptor d, back;
    tly_buffer_info buffer;
    char key[64], *hex;
    uint8_t *bytes;
    size_t len;
    fixture f;
    reply got;
    tly_error error;
    int transcoded;
    if (number(line, "stored_layout_tag") != TLY_LAYOUT_ROW_MAJOR) {
        return -1;
    }
    hex = malloc(strlen(line) + 1);
    snprintf(hex, strlen(line) + 1, "%s", strstr(line, "\"buffers\":[\"") + 12);
    *strchr(hex, '"') = '\0';
    bytes = check_unhex(hex, &len);
    collect(line, &up, &descriptor, &data);
    fixture_init(&f);
    check_json_text(line, "key", key, sizeof key);
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, (tly_dtype)number(line, "type_tag"),
                                                   rank, shape),
                     TLY_OK);
    CHECK_OK(tly_catalogue_add_tensor(f.catalogue, key, &d, bytes, len, &error), &error);
    ask_server(&f, &up, &got);
    assert_int_equal(got.ended, 1);
    CHECK_OK(tly_descriptor_decode(got.descriptor.at, got.descriptor.len, work, sizeof work, &back,
                                   NULL, &error),
             &error);
    assert_int_equal(back.rank, rank);
    assert_memory_equal(back.shape, shape, rank * sizeof *shape);
    transcoded = back.layout != TLY_LAYOUT_ROW_MAJOR;
    if (transcoded) {
        assert_int_equal(back.layout, wanted);
        check_codes(line, &back, got.data.at);
    } else {
        assert_int_equal(back.layout, number(line, "otherwise_layout"));
        assert_int_equal(got.data.len, len);
        assert_memory_equal(got.data.at, bytes, len);
        assert_int_equal(wanted, TLY_LAYOUT_ROW_MAJOR); /* everything that is asked for comes */
    }
    free_reply(&got);
    fixture_cleanup(&f);
    free(bytes);
    free(hex);
    free(up.at);
    free(descriptor.at);
    free(data.at);
    return transcoded;
}

/* ---- refusals ---- */

static void check_refusal(char *line, uint32_t code) {
    plain_bytes up = {0}, descriptor = {0}, data = {0};
    static const uint64_t shape[] = {4, 4};
    fixture f;
    reply got;
    collect(line, &up, &descriptor, &data);
    fixture_init(&f);
    if (code == TLY_WIRE_DEVICE_UNAVAILABLE) {
        fixture_add(&f, "w", TLY_U16, 2, shape);
    }
    ask_server(&f, &up, &got);
    assert_int_equal(got.error_code, code);
    assert_int_equal(got.descriptor.len, 0);
    free_reply(&got);
    fixture_cleanup(&f);
    free(up.at);
    free(descriptor.at);
    free(data.at);
}

static void sessions(void **state) {
    check_vectors v = check_vectors_open(FOLDER "proto_sessions.jsonl.gz");
    int native = 0, other_layouts = 0, transcoded = 0, stayed = 0, elsewhere = 0, refused = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        if (strstr(line, "\"kind\":\"get_native\"") != NULL ||
            strstr(line, "\"kind\":\"get_no_transcode\"") != NULL ||
            strstr(line, "\"kind\":\"get_empty_tensor\"") != NULL) {
            if (check_native(line)) {
                native++;
            } else {
                other_layouts++;
            }
        } else if (strstr(line, "\"kind\":\"get_transcode_or_native\"") != NULL) {
            int result = check_transcode(line);
            transcoded += result == 1;
            stayed += result == 0;
            other_layouts += result < 0;
        } else if (strstr(line, "\"kind\":\"get_unknown\"") != NULL) {
            check_refusal(line, TLY_WIRE_UNKNOWN_TENSOR);
            refused++;
        } else if (strstr(line, "\"kind\":\"device_unavailable\"") != NULL) {
            check_refusal(line, TLY_WIRE_DEVICE_UNAVAILABLE);
            refused++;
        } else {
            elsewhere++; /* uploads in serve/put, composites in serve/composite, the rest in wire */
        }
    }
    check_vectors_close(&v);
    print_message("# sessions: %d native, %d transcoded, %d served natively instead, %d refused\n",
                  native, transcoded, stayed, refused);
    assert_int_equal(other_layouts, 0);
    assert_true(native > 15);
    assert_true(transcoded > 0);
    assert_int_equal(refused, 2);
    assert_int_equal(native + transcoded + stayed + refused + other_layouts + elsewhere, 79);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions),
    };
    return cmocka_run_group_tests_name("serve/vectors", tests, NULL, NULL);
}
