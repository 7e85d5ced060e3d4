/* SPDX-License-Identifier: Apache-2.0 */
/* The container reader against the files of the format: those to accept and those to refuse. */
#include "vectors.h"

#include <tilery/store.h>

#include "base/crc32c.h"
#include "tensor/text.h"

#define FOLDER "tests/vectors/hurray/"

static tly_context *context;

static int set_up(void **state) {
    tly_error error;
    (void)state;
    return tly_context_new(NULL, &context, &error) == TLY_OK ? 0 : -1;
}

static int tear_down(void **state) {
    (void)state;
    tly_context_free(context);
    return 0;
}

static void text_kv_value(text_buffer *t, const tly_kv *kv) {
    static const char *const names[] = {"",        "string", "int64", "uint64",
                                        "float64", "bool",   "bytes", "array"};
    const uint8_t *bytes = kv->data;
    text_add(t, "\"type\":\"%s\",\"value\":", names[kv->type]);
    switch (kv->type) {
    case TLY_KV_STRING:
        text_add(t, "\"%.*s\"", (int)kv->data_len, (const char *)kv->data);
        break;
    case TLY_KV_I64:
        text_add(t, "%lld", (long long)kv->number);
        break;
    case TLY_KV_F64:
        text_add(t, "\"0x%016llx\"", (unsigned long long)kv->number);
        break;
    case TLY_KV_BYTES:
        text_add(t, "\"");
        for (uint64_t i = 0; i < kv->data_len; i++) {
            text_add(t, "%02x", bytes[i]);
        }
        text_add(t, "\"");
        break;
    case TLY_KV_ARRAY: {
        uint64_t position = 0;
        uint32_t count = 0;
        tly_kv element;
        text_add(t, "[");
        while (tly_kv_next(kv, &position, &element) == TLY_OK) {
            text_add(t, "%s{", count++ != 0 ? "," : "");
            text_kv_value(t, &element);
            text_add(t, "}");
        }
        assert_int_equal(count, kv->count);
        text_add(t, "]");
        break;
    }
    default:
        text_add(t, "%llu", (unsigned long long)kv->number);
    }
}

/* Index and metadata as the vectors write them. */
static char *text_of_store(const tly_store *store) {
    text_buffer t = {NULL, 0, 0};
    tly_kv_list *kv;
    tly_error error;
    text_add(&t, "\"index\":[");
    for (uint64_t i = 0; i < tly_store_num_tensors(store); i++) {
        tly_store_entry e;
        uint64_t found;
        assert_int_equal(tly_store_entry_at(store, i, &e), TLY_OK);
        assert_int_equal(tly_store_find(store, e.name, e.name_len, &found), TLY_OK);
        assert_int_equal(found, i);
        text_add(&t,
                 "%s{\"name\":\"%.*s\",\"descriptor_offset\":%llu,\"descriptor_length\":%u,"
                 "\"data_offset\":%llu,\"data_length\":%llu}",
                 i != 0 ? "," : "", (int)e.name_len, e.name,
                 (unsigned long long)e.descriptor_offset, e.descriptor_len,
                 (unsigned long long)e.data_offset, (unsigned long long)e.data_len);
    }
    text_add(&t, "],\"kv\":[");
    CHECK_OK(tly_store_kv(store, &kv, &error), &error);
    for (uint64_t i = 0; i < tly_kv_list_count(kv); i++) {
        tly_kv entry;
        tly_kv found;
        assert_int_equal(tly_kv_list_at(kv, i, &entry), TLY_OK);
        assert_int_equal(tly_kv_list_find(kv, entry.key, entry.key_len, &found), TLY_OK);
        assert_ptr_equal(found.key, entry.key);
        text_add(&t, "%s{\"key\":\"%.*s\",", i != 0 ? "," : "", (int)entry.key_len, entry.key);
        text_kv_value(&t, &entry);
        text_add(&t, "}");
    }
    text_add(&t, "]");
    tly_kv_list_free(kv);
    return t.bytes;
}

/* Every buffer has the check sum that the vectors give. Returns 0 for the head of a composite. */
static int check_tensor(const tly_store *store, uint64_t index, const char *line) {
    static uint64_t work[TLY_STORE_WORK_LEN / 8];
    tly_descriptor d;
    tly_store_entry e;
    tly_error error;
    char pattern[400];
    const char *at;
    tly_status status = tly_store_descriptor(store, index, work, sizeof work, &d, &error);
    if (status != TLY_OK) {
        fail_msg("%s (%s)", error.message, error.rule);
    }
    if (d.layout == TLY_LAYOUT_COMPOSITE) {
        assert_int_equal(d.num_buffers, 0);
        return 0;
    }
    assert_int_equal(tly_store_entry_at(store, index, &e), TLY_OK);
    snprintf(pattern, sizeof pattern, "\"name\":\"%.*s\",\"type\":\"tensor\"", (int)e.name_len,
             e.name);
    at = strstr(line, pattern);
    assert_non_null(at);
    at = strstr(at, "\"buffers\":[{\"length\":");
    assert_non_null(at);
    for (uint32_t i = 0; i < d.num_buffers; i++) {
        uint64_t offset;
        uint64_t len;
        const void *view;
        uint8_t *copy;
        at = strstr(at, "\"length\":") + strlen("\"length\":");
        assert_int_equal(tly_store_buffer_range(store, index, &d, i, &offset, &len), TLY_OK);
        assert_int_equal(len, strtoull(at, NULL, 10));
        copy = malloc(len + 1);
        CHECK_OK(tly_store_read(store, index, offset, copy, len, &error), &error);
        CHECK_OK(tly_store_view(store, index, offset, len, &view, &error), &error);
        assert_memory_equal(view, copy, len);
        at = strstr(at, "\"crc32c\":\"") + strlen("\"crc32c\":\"");
        assert_int_equal(tly_base_crc32c(0, copy, len), strtoul(at, NULL, 16));
        assert_int_equal(tly_store_read(store, index, e.data_offset + e.data_len, copy, 1, &error),
                         TLY_INVALID_ARGUMENT);
        free(copy);
    }
    return 1;
}

static void files_of_the_format(void **state) {
    check_vectors v = check_vectors_open(FOLDER "files.jsonl.gz");
    int files = 0;
    int tensors = 0;
    int heads = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        char id[16];
        char name[128];
        check_vectors file;
        tly_store *store;
        tly_error error;
        tly_status status;
        char *text;
        check_json_text(line, "id", id, sizeof id);
        snprintf(name, sizeof name, FOLDER "files/%s.hrry.gz", id);
        file = check_vectors_open(name);
        CHECK_OK(tly_store_open_memory(context, file.text, file.len, NULL, &store, &error), &error);
        text = text_of_store(store);
        if (strstr(line, text) == NULL) {
            fail_msg("%s: read as\n%s\nfor\n%.3000s", id, text, line);
        }
        free(text);
        for (uint64_t i = 0; i < tly_store_num_tensors(store); i++) {
            int known = check_tensor(store, i, line);
            tensors += known;
            heads += !known;
        }
        status = tly_store_verify(store, &error);
        if (status != TLY_OK) {
            fail_msg("%s: %s (%s)", id, error.message, error.rule);
        }
        tly_store_free(store);
        check_vectors_close(&file);
        files++;
    }
    assert_int_equal(files, 53);
    assert_int_equal(tensors, 198);
    assert_int_equal(heads, 25);
    check_vectors_close(&v);
}

/* Opens and verifies bytes; the rule that refused them, "" if none did. */
static const char *verdict(const uint8_t *bytes, size_t len, tly_error *error) {
    tly_store *store;
    tly_status status = tly_store_open_memory(context, bytes, len, NULL, &store, error);
    if (status == TLY_OK) {
        status = tly_store_verify(store, error);
        tly_store_free(store);
    }
    if (status == TLY_OK) {
        return "";
    }
    assert_int_equal(error->status, status);
    assert_true(error->offset == TLY_NO_OFFSET || error->offset <= len);
    return error->rule;
}

static void files_to_refuse(void **state) {
    check_vectors v = check_vectors_open(FOLDER "malformed.tsv.gz");
    int by_rule = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        char *fields[4] = {0};
        uint8_t *bytes;
        size_t len;
        tly_error error;
        const char *rule;
        assert_int_equal(check_fields(line, fields, 4), 4);
        if (strcmp(fields[1], "file") != 0) {
            continue;
        }
        bytes = check_unhex(fields[3], &len);
        rule = verdict(bytes, len, &error);
        if (strcmp(rule, fields[2]) != 0) {
            fail_msg("%s: \"%s\" (%s), not \"%s\"", fields[0], rule, error.message, fields[2]);
        }
        by_rule++;
        free(bytes);
    }
    assert_int_equal(by_rule, 47);
    check_vectors_close(&v);
}

static void files_that_the_reference_accepts(void **state) {
    check_vectors v = check_vectors_open(FOLDER "disagreements.jsonl.gz");
    int refused = 0;
    char *line;
    (void)state;
    while ((line = check_vectors_line(&v)) != NULL) {
        size_t room = strlen(line) + 1;
        char *hex = malloc(room);
        char mode[32];
        char want[64];
        char id[16];
        check_json_text(line, "mode", mode, sizeof mode);
        check_json_text(line, "rule", want, sizeof want);
        check_json_text(line, "id", id, sizeof id);
        if (strcmp(mode, "file") == 0) {
            size_t len;
            uint8_t *bytes = check_unhex(check_json_text(line, "hex", hex, room), &len);
            tly_error error;
            const char *rule = verdict(bytes, len, &error);
            /* A length of 2^64 - 1 is out of the file before it is compared with the descriptor. */
            if (strcmp(id, "b0571") == 0) {
                snprintf(want, sizeof want, "F-DATA-BOUNDS");
            }
            if (strcmp(rule, want) != 0) {
                fail_msg("%s: \"%s\" (%s), not \"%s\"", id, rule, error.message, want);
            }
            refused++;
            free(bytes);
        }
        free(hex);
    }
    assert_int_equal(refused, 35);
    check_vectors_close(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_the_format),
        cmocka_unit_test(files_to_refuse),
        cmocka_unit_test(files_that_the_reference_accepts),
    };
    return cmocka_run_group_tests_name("store/vectors", tests, set_up, tear_down);
}
