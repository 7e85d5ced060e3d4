/* SPDX-License-Identifier: Apache-2.0 */
/* Answers in shards, from our server to our client: whatever is cut comes out whole. */
#include "serve/fixture.h"
#include "serve/raw.h"

static void check(tly_client *client, const char *key, uint8_t tag, const uint8_t *bytes,
                  uint64_t len) {
    tly_fetch_layout layout = {.tag = tag};
    tly_fetch_request request = {.size = sizeof request,
                                 .key = key,
                                 .layouts = &layout,
                                 .num_layouts = tag != 0,
                                 .request_flags = TLY_WIRE_PARALLEL_OK | TLY_WIRE_ALLOW_TRANSCODE};
    tly_fetched *fetched;
    tly_error error;
    CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
    assert_int_equal(tly_fetched_len(fetched), len);
    assert_int_equal(tly_fetched_descriptor(fetched)->flags, 0); /* the whole, no shard */
    if (len != 0) {
        assert_memory_equal(tly_fetched_data(fetched), bytes, len);
    }
    tly_fetched_free(fetched);
}

/* The transpose, for a tensor of rank 2: its column-major form. */
static uint8_t *transposed(const uint8_t *bytes, uint64_t rows, uint64_t cols, uint64_t width) {
    uint8_t *out = malloc((size_t)(rows * cols * width));
    for (uint64_t r = 0; r < rows; r++) {
        for (uint64_t c = 0; c < cols; c++) {
            memcpy(out + (c * rows + r) * width, bytes + (r * cols + c) * width, width);
        }
    }
    return out;
}

static void whole_again(void **state) {
    static const struct {
        const char *key;
        tly_dtype dtype;
        uint32_t rank;
        uint64_t shape[3];
    } tensors[] = {{"rows", TLY_F32, 2, {1000, 37}},   {"row", TLY_F32, 2, {1, 50000}},
                   {"batch", TLY_U8, 3, {1, 7, 9999}}, {"few", TLY_F64, 2, {3, 5000}},
                   {"bits", TLY_U4, 2, {512, 512}},    {"scalar", TLY_F64, 0, {0}},
                   {"none", TLY_F32, 2, {0, 12}},      {"small", TLY_I16, 2, {10, 10}}};
    enum { NUM = sizeof tensors / sizeof tensors[0] };
    (void)state;
    for (int cached = 0; cached < 2; cached++) {
        tly_server_options options = {.size = sizeof options,
                                      .max_shards = 5,
                                      .shard_len = 10000,
                                      .frame_len = 4000,
                                      .cache_len = cached ? 16u << 20 : 0};
        fixture f;
        uint8_t *bytes[NUM];
        tly_client *client;
        fixture_init(&f);
        for (uint32_t i = 0; i < NUM; i++) {
            bytes[i] = fixture_add(&f, tensors[i].key, tensors[i].dtype, tensors[i].rank,
                                   tensors[i].shape);
        }
        fixture_start(&f, &options);
        client = fixture_client(&f);
        for (uint32_t i = 0; i < NUM; i++) {
            uint64_t len = tly_dtype_bits(tensors[i].dtype);
            for (uint32_t k = 0; k < tensors[i].rank; k++) {
                len *= tensors[i].shape[k];
            }
            check(client, tensors[i].key, 0, bytes[i], len / 8);
            if (tensors[i].rank == 2 && len != 0 && tly_dtype_bits(tensors[i].dtype) >= 8) {
                uint8_t *turned = transposed(bytes[i], tensors[i].shape[0], tensors[i].shape[1],
                                             tly_dtype_bits(tensors[i].dtype) / 8);
                check(client, tensors[i].key, TLY_LAYOUT_COL_MAJOR, turned, len / 8);
                free(turned);
            }
        }
        tly_client_free(client);
        fixture_cleanup(&f);
    }
}

/* As it goes over the wire: five streams, each a shard, and nothing without the flag. */
static void streams_of_an_answer(void **state) {
    static const uint64_t shape[] = {100, 1000};
    tly_server_options options = {.size = sizeof options, .max_shards = 5, .shard_len = 1000};
    plain_bytes bytes = {0}, none = {0};
    uint64_t rows = 0, total = 0;
    uint32_t ended = 0, seen = 0;
    fixture f;
    int fd;
    (void)state;
    fixture_init(&f);
    fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, &options);
    fd = raw_connect(&f);
    plain_hello(&bytes, TLY_WIRE_CLIENT_HELLO, 1, 1u << 20);
    plain_request(&bytes, 2, "w", &none, 0, TLY_WIRE_PARALLEL_OK);
    raw_send(fd, &bytes);
    while (ended < 5) {
        raw_message m;
        assert_int_equal(raw_message_read(fd, &m), 1);
        if (m.type == TLY_WIRE_TENSOR_DESCRIPTOR) {
            uint32_t index = (uint32_t)plain_get(m.payload, m.len, m.len - 8, 4);
            assert_int_equal(plain_get(m.payload, m.len, m.len - 4, 4), 5);
            assert_int_equal(m.stream == 2, index == 0);
            seen |= 1u << index;
            rows += plain_get(m.payload, m.len, 20, 8);
        } else if (m.type == TLY_WIRE_TENSOR_DATA) {
            total += m.len - 8;
        } else if (m.type == TLY_WIRE_TENSOR_DATA_END) {
            ended++;
        }
        free(m.payload);
    }
    assert_int_equal(seen, 31);
    assert_int_equal(rows, 100);
    assert_int_equal(total, 400000);
    plain_request(&bytes, 3, "w", &none, 0, 0);
    raw_send(fd, &bytes);
    for (ended = 0; !ended;) {
        raw_message m;
        assert_int_equal(raw_message_read(fd, &m), 1);
        assert_int_equal(m.stream, 3);
        ended = m.type == TLY_WIRE_TENSOR_DATA_END;
        free(m.payload);
    }
    close(fd);
    fixture_cleanup(&f);
    free(bytes.at);
}

/* Without room for the streams it goes out in one. */
static void too_few_streams(void **state) {
    static const uint64_t shape[] = {100, 1000};
    tly_server_options options = {
        .size = sizeof options, .max_shards = 5, .shard_len = 1000, .max_streams = 3};
    fixture f;
    uint8_t *bytes;
    tly_client *client;
    (void)state;
    fixture_init(&f);
    bytes = fixture_add(&f, "w", TLY_F32, 2, shape);
    fixture_start(&f, &options);
    client = fixture_client(&f);
    check(client, "w", 0, bytes, 400000);
    tly_client_free(client);
    fixture_cleanup(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(whole_again),
        cmocka_unit_test(streams_of_an_answer),
        cmocka_unit_test(too_few_streams),
    };
    return cmocka_run_group_tests_name("serve/shards", tests, NULL, NULL);
}
