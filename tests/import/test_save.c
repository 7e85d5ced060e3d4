/* SPDX-License-Identifier: Apache-2.0 */
/* From a foreign file to a container and back out of it. */
#include "import_test.h"

#include <tilery/store.h>

/* Reads a tensor of a container as it stands there. */
static void must_store(const tly_store *store, const char *name, tly_dtype dtype, uint8_t layout,
                       const void *bytes, size_t len) {
    static uint8_t work[TLY_STORE_WORK_LEN];
    tly_descriptor descriptor;
    tly_error error;
    uint64_t index, offset, stored_len;
    uint8_t *got = malloc(len + 1);
    assert_int_equal(tly_store_find(store, name, strlen(name), &index), TLY_OK);
    CHECK_OK(tly_store_descriptor(store, index, work, sizeof work, &descriptor, &error), &error);
    assert_int_equal(descriptor.dtype, dtype);
    assert_int_equal(descriptor.layout, layout);
    assert_int_equal(tly_store_buffer_range(store, index, &descriptor, 0, &offset, &stored_len),
                     TLY_OK);
    assert_true(stored_len == len);
    CHECK_OK(tly_store_read(store, index, offset, got, len, &error), &error);
    assert_memory_equal(got, bytes, len);
    free(got);
}

static const uint8_t counting[24] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                     12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23};

static blob safetensors_of(void) {
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\",\"empty\":\"\"},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[3,11]},"
        "\"b\":{\"dtype\":\"BOOL\",\"shape\":[3],\"data_offsets\":[0,3]},"
        "\"none\":{\"dtype\":\"BF16\",\"shape\":[0,4],\"data_offsets\":[11,11]},"
        "\"one\":{\"dtype\":\"C64\",\"shape\":[],\"data_offsets\":[11,19]},"
        "\"f8\":{\"dtype\":\"F8_E5M2\",\"shape\":[5],\"data_offsets\":[19,24]}}";
    blob b = {NULL, 0};
    uint8_t prefix[8];
    tly_base_store_u64(prefix, sizeof header - 1);
    blob_put(&b, prefix, 8);
    blob_text(&b, header);
    blob_put(&b, "\1\0\1", 3);
    blob_put(&b, counting + 3, 21);
    return b;
}

static tly_status note(void *user, uint64_t done_len, uint64_t total_len) {
    uint64_t *last = user;
    assert_true(done_len > *last && done_len <= total_len);
    *last = done_len;
    return TLY_OK;
}

static void tensors_and_metadata_arrive(void **state) {
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "out.hrry");
    blob b = safetensors_of();
    tly_import *import = must_open(context, &b, NULL, NULL);
    uint64_t last = 0;
    tly_import_save_options options = {
        .size = sizeof options, .progress = note, .progress_user = &last};
    tly_store *store;
    tly_kv_list *list;
    tly_kv kv;
    tly_error error;
    (void)state;
    CHECK_OK(tly_import_save(import, path, &options, &error), &error);
    assert_true(last == 1 + 8 + 8 + 5);
    CHECK_OK(tly_store_open(context, path, NULL, &store, &error), &error);
    CHECK_OK(tly_store_verify(store, &error), &error);
    assert_int_equal(tly_store_num_tensors(store), 5);
    must_store(store, "w", TLY_F32, TLY_LAYOUT_ROW_MAJOR, counting + 3, 8);
    must_store(store, "b", TLY_BOOL, TLY_LAYOUT_ROW_MAJOR, "\5", 1);
    must_store(store, "none", TLY_BF16, TLY_LAYOUT_ROW_MAJOR, "", 0);
    must_store(store, "one", TLY_C64, TLY_LAYOUT_ROW_MAJOR, counting + 11, 8);
    must_store(store, "f8", TLY_F8E5M2, TLY_LAYOUT_ROW_MAJOR, counting + 19, 5);
    CHECK_OK(tly_store_kv(store, &list, &error), &error);
    assert_int_equal(tly_kv_list_count(list), 2);
    assert_int_equal(tly_kv_list_find(list, "format", 6, &kv), TLY_OK);
    assert_int_equal(kv.type, TLY_KV_STRING);
    assert_int_equal(kv.data_len, 2);
    assert_memory_equal(kv.data, "pt", 2);
    tly_kv_list_free(list);
    tly_store_free(store);
    tly_import_free(import);
    blob_free(&b);
    free(path);
    remove_folder(folder);
    tly_context_free(context);
}

static void fortran_order_stays_column_major(void **state) {
    static const char header[] = "{'descr': '>i2', 'fortran_order': True, 'shape': (3, 2)}";
    static const uint8_t swapped[12] = {1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10};
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "out.hrry");
    blob b = {NULL, 0};
    uint8_t len[2];
    tly_import *import;
    tly_store *store;
    tly_error error;
    (void)state;
    tly_base_store_u16(len, sizeof header - 1);
    blob_put(&b, "\223NUMPY\1\0", 8);
    blob_put(&b, len, 2);
    blob_text(&b, header);
    blob_put(&b, counting, 12);
    import = must_open(context, &b, "m.npy", NULL);
    CHECK_OK(tly_import_save(import, path, NULL, &error), &error);
    CHECK_OK(tly_store_open(context, path, NULL, &store, &error), &error);
    must_store(store, "m", TLY_I16, TLY_LAYOUT_COL_MAJOR, swapped, 12);
    tly_store_free(store);
    tly_import_free(import);
    blob_free(&b);
    free(path);
    remove_folder(folder);
    tly_context_free(context);
}

static tly_status stop(void *user, uint64_t done_len, uint64_t total_len) {
    (void)user;
    (void)done_len;
    (void)total_len;
    return TLY_CANCELLED;
}

/* What goes wrong on the way leaves no file, not even a part of one. */
static void a_stopped_import_leaves_nothing(void **state) {
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "out.hrry");
    blob b = safetensors_of();
    tly_import *import = must_open(context, &b, NULL, NULL);
    tly_import_save_options options = {.size = sizeof options, .progress = stop};
    tly_error error;
    DIR *dir;
    struct dirent *entry;
    (void)state;
    assert_int_equal(tly_import_save(import, path, &options, &error), TLY_CANCELLED);
    b.bytes[b.len - 22] = 7; /* a boolean that is none */
    assert_int_equal(tly_import_save(import, path, NULL, &error), TLY_MALFORMED);
    assert_string_equal(error.rule, "bool-value");
    options.size = 1;
    assert_int_equal(tly_import_save(import, path, &options, &error), TLY_INVALID_ARGUMENT);
    dir = opendir(folder);
    while ((entry = readdir(dir)) != NULL) {
        assert_true(entry->d_name[0] == '.' && strlen(entry->d_name) <= 2);
    }
    closedir(dir);
    tly_import_free(import);
    blob_free(&b);
    free(path);
    remove_folder(folder);
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_and_metadata_arrive),
        cmocka_unit_test(fortran_order_stays_column_major),
        cmocka_unit_test(a_stopped_import_leaves_nothing),
    };
    return cmocka_run_group_tests_name("import/save", tests, NULL, NULL);
}
