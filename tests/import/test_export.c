/* SPDX-License-Identifier: Apache-2.0 */
/* What is written as safetensors or npy is what the importers read: names, types, shapes, bytes. */
#include "import_test.h"

#include <tilery/save.h>

#include "base/error.h"

static const tly_dtype types[] = {TLY_F16,    TLY_BF16,   TLY_F32,    TLY_F64,    TLY_I8,  TLY_U8,
                                  TLY_I16,    TLY_U16,    TLY_I32,    TLY_U32,    TLY_I64, TLY_U64,
                                  TLY_BOOL,   TLY_F8E4M3, TLY_F8E5M2, TLY_F8E8M0, TLY_C64, TLY_C128,
                                  TLY_F4E2M1, TLY_F6E2M3, TLY_I4,     TLY_U2,     TLY_F128};

#define NUM_TYPES (sizeof types / sizeof types[0])

/* Data by a rule, given in pieces of odd length. */
typedef struct giver {
    const tly_save_tensor *tensors;
    int64_t change; /* bytes too many or too few */
    int fails;
} giver;

static uint64_t num_bytes(const tly_save_tensor *t) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        count *= t->shape[i];
    }
    return (count * tly_dtype_bits(t->dtype) + 7) / 8;
}

static uint8_t byte_at(const tly_save_tensor *t, uint64_t index, uint64_t i) {
    uint64_t count = 1;
    uint8_t byte = (uint8_t)(i * 31 + index * 7 + 1);
    for (uint32_t k = 0; k < t->rank; k++) {
        count *= t->shape[k];
    }
    if (t->dtype == TLY_BOOL && i == count / 8) { /* nothing behind the last one */
        byte &= (uint8_t)((1u << count % 8) - 1);
    }
    return byte;
}

static tly_status give(void *user, uint64_t index, tly_save_sink sink, void *sink_user,
                       tly_error *error) {
    const giver *g = user;
    const tly_save_tensor *t = &g->tensors[index];
    uint64_t len = num_bytes(t) + (uint64_t)g->change;
    for (uint64_t at = 0; at < len; at += 5) {
        uint8_t piece[5];
        size_t num = len - at < 5 ? (size_t)(len - at) : 5;
        tly_status status;
        for (size_t i = 0; i < num; i++) {
            piece[i] = byte_at(t, index, at + i);
        }
        status = g->fails ? tly_base_fail(error, TLY_CANCELLED, TLY_NO_OFFSET, "", "stopped")
                          : sink(sink_user, piece, num, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static void must_have(const tly_import *import, const char *name, const tly_save_tensor *t,
                      uint64_t index, uint8_t layout) {
    uint64_t at;
    tly_import_tensor info;
    tly_error error;
    uint8_t *data;
    assert_int_equal(tly_import_find(import, name, &at), TLY_OK);
    assert_int_equal(tly_import_info(import, at, &info), TLY_OK);
    assert_int_equal(info.dtype, t->dtype);
    assert_int_equal(info.rank, t->rank);
    assert_int_equal(info.layout, layout);
    assert_memory_equal(info.shape, t->shape, t->rank * 8);
    assert_int_equal(info.byte_len, num_bytes(t));
    data = malloc(info.byte_len + 1);
    CHECK_OK(tly_import_read(import, at, data, info.byte_len, &error), &error);
    for (uint64_t i = 0; i < info.byte_len; i++) {
        assert_int_equal(data[i], byte_at(t, index, i));
    }
    /* aligned as its elements are, for those who map the file */
    assert_true(tly_dtype_bits(t->dtype) < 8 ||
                info.file_offset % (tly_dtype_bits(t->dtype) / 8) == 0 || info.byte_len == 0 ||
                t->dtype == TLY_C128);
    free(data);
}

static void safetensors_come_back(void **state) {
    static const uint64_t shapes[][3] = {{3, 5, 7}, {1, 1, 1}, {4, 0, 2}, {17, 3, 1}};
    static const char *const strange = "a \"strange\"\\ name\n\x01 \xC3\xA4";
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "t.safetensors");
    tly_save_tensor tensors[NUM_TYPES];
    char names[NUM_TYPES][16];
    uint64_t num = 0, left_out = 99;
    giver g = {tensors, 0, 0};
    tly_kv kv[] = {
        {.key = "note", .key_len = 4, .type = TLY_KV_STRING, .data = "x\ty", .data_len = 3},
        {.key = "n", .key_len = 1, .type = TLY_KV_U64, .number = 1},
        {.key = "more", .key_len = 4, .type = TLY_KV_STRING, .data = "", .data_len = 0}};
    tly_import *import;
    tly_kv back;
    tly_error error;
    (void)state;
    for (size_t i = 0; i < NUM_TYPES; i++) {
        const char *reason = NULL;
        if (!tly_save_safetensors_carries(types[i], &reason)) {
            assert_non_null(reason);
            continue;
        }
        snprintf(names[num], sizeof names[num], "t%zu", i);
        tensors[num] = (tly_save_tensor){.name = num == 0 ? strange : names[num],
                                         .name_len = strlen(num == 0 ? strange : names[num]),
                                         .shape = shapes[num % 4],
                                         .rank = (uint32_t)(num % 4),
                                         .dtype = types[i],
                                         .layout = TLY_LAYOUT_ROW_MAJOR};
        num++;
    }
    assert_int_equal(num, 17);
    CHECK_OK(tly_save_safetensors(context, path, tensors, num, kv, 3, give, &g, &left_out, &error),
             &error);
    assert_int_equal(left_out, 1);
    CHECK_OK(tly_import_open(context, path, NULL, &import, &error), &error);
    assert_int_equal(tly_import_format_of(import), TLY_IMPORT_SAFETENSORS);
    assert_int_equal(tly_import_num_tensors(import), num);
    for (uint64_t i = 0; i < num; i++) {
        must_have(import, i == 0 ? strange : names[i], &tensors[i], i, TLY_LAYOUT_ROW_MAJOR);
    }
    assert_int_equal(tly_import_num_metadata(import), 2);
    assert_int_equal(tly_import_metadata(import, 0, &back), TLY_OK);
    assert_string_equal(back.key, "note");
    assert_int_equal(back.data_len, 3);
    assert_memory_equal(back.data, "x\ty", 3);
    tly_import_free(import);
    /* No tensor at all is a file too. */
    CHECK_OK(tly_save_safetensors(context, path, NULL, 0, kv, 1, give, &g, NULL, &error), &error);
    CHECK_OK(tly_import_open(context, path, NULL, &import, &error), &error);
    assert_int_equal(tly_import_num_tensors(import), 0);
    tly_import_free(import);
    remove_folder(folder);
    free(path);
    tly_context_free(context);
}

static void npy_comes_back(void **state) {
    static const uint64_t shape[] = {3, 5, 7, 1000000007 % 11};
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "some.npy");
    int num = 0;
    (void)state;
    for (size_t i = 0; i < NUM_TYPES * 4; i++) {
        tly_save_tensor t = {.shape = shape,
                             .rank = (uint32_t)(i % 4),
                             .dtype = types[i / 4],
                             .layout = i % 3 == 0 ? TLY_LAYOUT_COL_MAJOR : TLY_LAYOUT_ROW_MAJOR};
        giver g = {&t, 0, 0};
        tly_import *import;
        tly_error error;
        tly_status status = tly_save_npy(context, path, &t, give, &g, &error);
        if (!tly_save_npy_carries(t.dtype, NULL)) {
            assert_int_equal(status, TLY_UNSUPPORTED);
            assert_string_equal(error.rule, "dtype");
            continue;
        }
        CHECK_OK(status, &error);
        CHECK_OK(tly_import_open(context, path, NULL, &import, &error), &error);
        must_have(import, "some", &t, 0, t.rank > 1 ? t.layout : TLY_LAYOUT_ROW_MAJOR);
        tly_import_free(import);
        num++;
    }
    assert_int_equal(num, 14 * 4);
    remove_folder(folder);
    free(path);
    tly_context_free(context);
}

/* Byte for byte what NumPy 1.24 writes for numpy.arange(3, dtype='<i4'). */
static void npy_is_what_others_write(void **state) {
    static const char wanted[] = "\x93NUMPY\x01\x00v\x00{'descr': '<i4', 'fortran_order': False, "
                                 "'shape': (3,), }";
    uint64_t shape = 3;
    tly_save_tensor t = {
        .shape = &shape, .rank = 1, .dtype = TLY_I32, .layout = TLY_LAYOUT_ROW_MAJOR};
    giver g = {&t, 0, 0};
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "a.npy");
    uint8_t bytes[200];
    tly_error error;
    FILE *file;
    (void)state;
    CHECK_OK(tly_save_npy(context, path, &t, give, &g, &error), &error);
    file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, sizeof bytes, file), 128 + 12);
    fclose(file);
    assert_memory_equal(bytes, wanted, sizeof wanted - 1);
    for (size_t i = sizeof wanted - 1; i < 127; i++) {
        assert_int_equal(bytes[i], ' ');
    }
    assert_int_equal(bytes[127], '\n');
    remove_folder(folder);
    free(path);
    tly_context_free(context);
}

static void what_cannot_be_written(void **state) {
    static const uint64_t shape[] = {UINT64_MAX, 3};
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "t.safetensors");
    tly_save_tensor good = {
        .name = "a", .name_len = 1, .dtype = TLY_F32, .rank = 0, .layout = TLY_LAYOUT_ROW_MAJOR};
    giver g = {&good, 0, 0};
    tly_error error;
    (void)state;
#define REFUSE(status, rule, ...)                                                                  \
    do {                                                                                           \
        tly_save_tensor t[2] = {good, good};                                                       \
        uint64_t num = 1;                                                                          \
        __VA_ARGS__;                                                                               \
        CHECK_RULE(tly_save_safetensors(context, path, t, num, NULL, 0, give, &g, NULL, &error),   \
                   &error, status, rule);                                                          \
        assert_int_equal(access(path, F_OK), -1);                                                  \
    } while (0)
    REFUSE(TLY_INVALID_ARGUMENT, "name", t[0].name_len = 0);
    REFUSE(TLY_INVALID_ARGUMENT, "name", t[0].name = "\xFF");
    REFUSE(TLY_INVALID_ARGUMENT, "name", t[0].name = "__metadata__", t[0].name_len = 12);
    REFUSE(TLY_INVALID_ARGUMENT, "name", num = 2);
    REFUSE(TLY_INVALID_ARGUMENT, "layout", t[0].layout = TLY_LAYOUT_COL_MAJOR);
    REFUSE(TLY_INVALID_ARGUMENT, "rank", t[0].rank = 65);
    REFUSE(TLY_UNSUPPORTED, "dtype", t[0].dtype = TLY_I4);
    REFUSE(TLY_OVERFLOW, "shape-overflow", t[0].shape = shape, t[0].rank = 2);
    REFUSE(TLY_OVERFLOW, "size-overflow", t[0].shape = shape, t[0].rank = 1);
    REFUSE(TLY_MALFORMED, "data-len", g.change = 1);
    REFUSE(TLY_MALFORMED, "data-len", g.change = -1);
    g.change = 0;
    REFUSE(TLY_CANCELLED, "", g.fails = 1);
    remove_folder(folder);
    free(path);
    tly_context_free(context);
}

static void failing_memory_is_survived(void **state) {
    failing f;
    tly_context *context = failing_context(&f);
    size_t before = f.live;
    char *folder = make_folder();
    char *path = path_in(folder, "t.safetensors");
    tly_save_tensor t = {
        .name = "a", .name_len = 1, .dtype = TLY_F32, .rank = 0, .layout = TLY_LAYOUT_ROW_MAJOR};
    giver g = {&t, 0, 0};
    size_t at = 0;
    tly_status status;
    (void)state;
    do {
        tly_error error;
        f.calls = 0;
        f.fail_at = ++at;
        status = tly_save_safetensors(context, path, &t, 1, NULL, 0, give, &g, NULL, &error);
        assert_true(status == TLY_OK || status == TLY_OUT_OF_MEMORY);
        assert_int_equal(f.live, before);
        assert_int_equal(access(path, F_OK), status == TLY_OK ? 0 : -1);
    } while (status != TLY_OK);
    assert_true(at > 3);
    remove_folder(folder);
    free(path);
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safetensors_come_back),      cmocka_unit_test(npy_comes_back),
        cmocka_unit_test(npy_is_what_others_write),   cmocka_unit_test(what_cannot_be_written),
        cmocka_unit_test(failing_memory_is_survived),
    };
    return cmocka_run_group_tests_name("import/export", tests, NULL, NULL);
}
