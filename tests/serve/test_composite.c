/* SPDX-License-Identifier: Apache-2.0 */
/* Composites, from a container over our server to our client, and the sessions of the vectors. */
#include "serve/raw.h"
#include "vectors.h"

#include <tilery/store.h>

#define MAX_TENSORS 32

/* A tensor on its way into a container. */
typedef struct item {
    plain_bytes descriptor, data;
} item;

static void add_item(tly_store_writer *writer, const char *name, const item *it) {
    static uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    tly_descriptor d;
    tly_error error;
    CHECK_OK(tly_descriptor_decode(it->descriptor.at, it->descriptor.len, work, sizeof work, &d,
                                   NULL, &error),
             &error);
    CHECK_OK(tly_store_writer_begin(writer, name, strlen(name), &d, &error), &error);
    CHECK_OK(tly_store_writer_append(writer, it->data.at, it->data.len, &error), &error);
    CHECK_OK(tly_store_writer_end(writer, &error), &error);
}

/* A container with a tensor before, the composite under `key`, and a tensor after it. */
static void make_file(fixture *f, char *path, size_t capacity, const char *key, const item *items,
                      uint32_t num) {
    item other = {{0}, {0}};
    tly_store_writer *writer;
    tly_error error;
    plain_tensor(&other.descriptor, 3, 0, 0, 0);
    plain_put(&other.data, "xyz", 3);
    snprintf(path, capacity, "%s/c.hrry", f->folder);
    CHECK_OK(tly_store_writer_new(f->context, path, NULL, &writer, &error), &error);
    add_item(writer, "zz before", &other);
    for (uint32_t i = 0; i < num; i++) {
        char name[80];
        snprintf(name, sizeof name, i == 0 ? "%s" : "%s/%u", key, 1000 - i); /* in no order */
        add_item(writer, name, &items[i]);
    }
    add_item(writer, "aa after", &other);
    CHECK_OK(tly_store_writer_commit(writer, &error), &error);
    tly_store_writer_free(writer);
    CHECK_OK(tly_catalogue_add_file(f->catalogue, path, &error), &error);
    free(other.descriptor.at);
    free(other.data.at);
}

static void free_items(item *items, uint32_t num) {
    for (uint32_t i = 0; i < num; i++) {
        free(items[i].descriptor.at);
        free(items[i].data.at);
    }
}

static void check_member(tly_fetched *got, const item *want) {
    size_t len;
    const void *bytes = tly_fetched_descriptor_bytes(got, &len);
    assert_int_equal(len, want->descriptor.len);
    assert_memory_equal(bytes, want->descriptor.at, len);
    assert_int_equal(tly_fetched_len(got), want->data.len);
    if (want->data.len != 0) {
        assert_memory_equal(tly_fetched_data(got), want->data.at, want->data.len);
    }
}

/* A group of a partition in three boxes, one of them large, and of an empty tensor. */
static void nested(void **state) {
    static const uint64_t lens[] = {5, 300000, 7};
    enum { NUM = 6 };
    item items[NUM] = {{{0}, {0}}};
    fixture f;
    tly_client *client;
    char path[128];
    uint64_t offset = 0, parent = 300012;
    tly_fetch_request request = {.size = sizeof request, .key = "c"};
    tly_server_options options = {.size = sizeof options, .frame_len = 5000};
    tly_fetched *fetched;
    tly_error error;
    (void)state;
    plain_head(&items[0].descriptor, parent, 3, 2);
    plain_head(&items[1].descriptor, parent, 1, 3);
    for (uint32_t i = 0; i < 3; i++) {
        plain_tensor(&items[2 + i].descriptor, lens[i], parent, offset, 0);
        for (uint64_t k = 0; k < lens[i]; k++) {
            plain_number(&items[2 + i].data, k * 7 + i, 1);
        }
        offset += lens[i];
    }
    plain_tensor(&items[5].descriptor, 0, 0, 0, 0);
    fixture_init(&f);
    make_file(&f, path, sizeof path, "c", items, NUM);
    fixture_start(&f, &options);
    client = fixture_client(&f);
    for (int again = 0; again < 2; again++) { /* the second from the memo */
        CHECK_OK(tly_client_fetch(client, &request, &fetched, &error), &error);
        check_member(fetched, &items[0]);
        assert_int_equal(tly_fetched_num_members(fetched), NUM - 1);
        for (uint32_t i = 1; i < NUM; i++) {
            check_member(tly_fetched_member(fetched, i - 1), &items[i]);
        }
        assert_null(tly_fetched_member(fetched, NUM - 1));
        tly_fetched_free(fetched);
    }
    fixture_expect(client, "c/997", items[3].data.at, items[3].data.len); /* one alone */
    fixture_expect(client, "aa after", "xyz", 3);
    tly_client_free(client);
    unlink(path);
    fixture_cleanup(&f);
    free_items(items, NUM);
}

/* The answers of a session, tensor by tensor. */
static uint32_t read_session(char *line, plain_bytes *up, item *items) {
    char *step = strstr(line, "\"steps\":");
    uint32_t num = 0;
    while ((step = strstr(step, "{\"dir\":\"")) != NULL) {
        char *close = strstr(step, "\"note\":");
        char *hex = malloc(strlen(step) + 1);
        size_t len;
        uint8_t *bytes;
        *close = '\0';
        bytes = check_unhex(check_json_text(step, "hex", hex, strlen(step) + 1), &len);
        if (strncmp(step + 8, "C>S", 3) == 0) {
            plain_put(up, bytes, len);
        } else if (bytes[0] == TLY_WIRE_TENSOR_DESCRIPTOR) {
            assert_true(num < MAX_TENSORS);
            plain_put(&items[num++].descriptor, bytes + 12, len - 28);
        } else if (bytes[0] == TLY_WIRE_TENSOR_DATA) {
            plain_put(&items[num - 1].data, bytes + 20, len - 20);
        }
        *close = '"';
        step = close;
        free(hex);
        free(bytes);
    }
    return num;
}

static void check_session(char *line) {
    item want[MAX_TENSORS] = {{{0}, {0}}}, got[MAX_TENSORS] = {{{0}, {0}}};
    plain_bytes up = {0};
    uint32_t num = read_session(line, &up, want), seen = 0, ended = 0;
    char path[128], key[64];
    fixture f;
    int fd;
    fixture_init(&f);
    check_json_text(line, "tensor_key", key, sizeof key);
    make_file(&f, path, sizeof path, key, want, num);
    fixture_start(&f, NULL);
    fd = raw_connect(&f);
    raw_send(fd, &up);
    while (ended < num) {
        raw_message m;
        assert_int_equal(raw_message_read(fd, &m), 1);
        assert_int_not_equal(m.type, TLY_WIRE_ERROR);
        if (m.type == TLY_WIRE_TENSOR_DESCRIPTOR) {
            assert_true(seen < num);
            plain_put(&got[seen++].descriptor, m.payload, m.len - 16);
        } else if (m.type == TLY_WIRE_TENSOR_DATA) {
            plain_put(&got[seen - 1].data, m.payload + 8, m.len - 8);
        }
        ended += m.type == TLY_WIRE_TENSOR_DATA_END;
        free(m.payload);
    }
    for (uint32_t i = 0; i < num; i++) {
        assert_int_equal(got[i].descriptor.len, want[i].descriptor.len);
        assert_memory_equal(got[i].descriptor.at, want[i].descriptor.at, got[i].descriptor.len);
        assert_int_equal(got[i].data.len, want[i].data.len);
        if (got[i].data.len != 0) {
            assert_memory_equal(got[i].data.at, want[i].data.at, got[i].data.len);
        }
    }
    close(fd);
    unlink(path);
    fixture_cleanup(&f);
    free_items(want, num);
    free_items(got, num);
    free(up.at);
}

static void sessions(void **state) {
    check_vectors v = check_vectors_open("tests/vectors/hurray/proto_sessions.jsonl.gz");
    int num = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        if (strstr(line, "\"kind\":\"get_composite\"") != NULL) {
            check_session(line);
            num++;
        }
    }
    check_vectors_close(&v);
    assert_int_equal(num, 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested),
        cmocka_unit_test(sessions),
    };
    return cmocka_run_group_tests_name("serve/composite", tests, NULL, NULL);
}
