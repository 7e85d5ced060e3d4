/* SPDX-License-Identifier: Apache-2.0 */
#include "gguf_test.h"

#include <tilery/store.h>

static void put_counting(writer *w, size_t len) {
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = (uint8_t)i;
        blob_put(&w->b, &byte, 1);
    }
}

static void refuse(writer *w, tly_status status, const char *rule) {
    tly_context *context = plain_context();
    tly_import_options options = skipping();
    must_refuse(context, &w->b, &options, status, rule);
    tly_context_free(context);
}

static void tensors_of_both_byte_orders(void **state) {
    static const struct {
        uint32_t type;
        tly_dtype dtype;
        size_t len;
    } types[] = {{0, TLY_F32, 4},  {1, TLY_F16, 2},  {24, TLY_I8, 1},  {25, TLY_I16, 2},
                 {26, TLY_I32, 4}, {27, TLY_I64, 8}, {28, TLY_F64, 8}, {30, TLY_BF16, 2}};
    tly_context *context = plain_context();
    (void)state;
    for (int big = 0; big <= 1; big++) {
        for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
            size_t unit = types[i].len, len = unit * 6;
            uint8_t wanted[48];
            tly_import *import;
            tly_import_tensor info;
            writer w = begin(big, 2 + (uint32_t)(i % 2), 3, 0);
            put_row(&w, "m", DIMS(3, 2), types[i].type, 0);
            put_row(&w, "s", SCALAR, types[i].type, (len + 31) / 32 * 32);
            put_row(&w, "none", DIMS(5, 0), types[i].type, (len + 31) / 32 * 32 + 32);
            pad(&w, 32);
            put_counting(&w, len);
            pad(&w, 32);
            put_counting(&w, unit);
            pad(&w, 32);
            for (size_t at = 0; at < len; at++) {
                wanted[at] = (uint8_t)(big ? at / unit * unit + unit - 1 - at % unit : at);
            }
            import = must_open(context, &w.b, NULL, NULL);
            assert_int_equal(tly_import_format_of(import), TLY_IMPORT_GGUF);
            must_hold(import, "m", types[i].dtype, "2,3", wanted, len);
            must_hold(import, "s", types[i].dtype, "", wanted, unit);
            must_hold(import, "none", types[i].dtype, "0,5", wanted, 0);
            assert_int_equal(tly_import_info(import, 0, &info), TLY_OK);
            assert_int_equal(info.big_endian, big && unit > 1);
            assert_int_equal(info.layout, TLY_LAYOUT_ROW_MAJOR);
            tly_import_free(import);
            blob_free(&w.b);
        }
    }
    tly_context_free(context);
}

static void must_have(const tly_import *import, const char *key, tly_kv *out_kv) {
    for (uint64_t i = 0; tly_import_metadata(import, i, out_kv) == TLY_OK; i++) {
        if (strcmp(out_kv->key, key) == 0) {
            return;
        }
    }
    fail_msg("no key %s", key);
}

static void metadata_of_every_type(void **state) {
    static const struct {
        const char *key;
        uint32_t type;
        size_t width;
        uint64_t value;
        uint8_t kv_type;
        uint64_t wanted;
    } numbers[] = {
        {"u8", U8, 1, 200, TLY_KV_U64, 200},
        {"i8", I8, 1, 0x80, TLY_KV_I64, (uint64_t)-128},
        {"u16", U16, 2, 65535, TLY_KV_U64, 65535},
        {"i16", I16, 2, 0xFFFF, TLY_KV_I64, (uint64_t)-1},
        {"u32", U32, 4, 0xDEADBEEF, TLY_KV_U64, 0xDEADBEEF},
        {"i32", I32, 4, 0x80000000, TLY_KV_I64, (uint64_t)INT32_MIN},
        {"f32", F32, 4, 0x42280000, TLY_KV_F64, UINT64_C(0x4045000000000000)}, /* 42 */
        {"bool", BOOL, 1, 1, TLY_KV_BOOL, 1},
        {"u64", U64, 8, UINT64_MAX, TLY_KV_U64, UINT64_MAX},
        {"i64", I64, 8, (uint64_t)INT64_MIN, TLY_KV_I64, (uint64_t)INT64_MIN},
        {"f64", F64, 8, UINT64_C(0x7FF8000000000001), TLY_KV_F64, UINT64_C(0x7FF8000000000001)},
    };
    enum { NUM = sizeof numbers / sizeof numbers[0] };
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "out.hrry");
    (void)state;
    for (int big = 0; big <= 1; big++) {
        writer w = begin(big, 3, 0, NUM + 6);
        tly_import *import;
        tly_kv kv, element;
        tly_store *store;
        tly_kv_list *list;
        tly_error error;
        uint64_t position = 0;
        for (int i = 0; i < NUM; i++) {
            put_key(&w, numbers[i].key, numbers[i].type);
            put(&w, numbers[i].value, numbers[i].width);
        }
        put_key(&w, "text", STRING);
        put_string(&w, "caf\xC3\xA9");
        put_key(&w, "raw", STRING);
        put_string(&w, "caf\xE9");
        put_key(&w, "words", ARRAY);
        put(&w, STRING, 4);
        put(&w, 3, 8);
        put_string(&w, "a");
        put_string(&w, "");
        put_string(&w, "bc");
        put_key(&w, "tokens", ARRAY);
        put(&w, STRING, 4);
        put(&w, 2, 8);
        put_string(&w, "ok");
        put_string(&w, "\xFF");
        put_key(&w, "shorts", ARRAY);
        put(&w, I16, 4);
        put(&w, 2, 8);
        put(&w, 0xFFFE, 2);
        put(&w, 7, 2);
        put_key(&w, "flags", ARRAY);
        put(&w, BOOL, 4);
        put(&w, 2, 8);
        put(&w, 1, 1);
        put(&w, 0, 1);
        import = must_open(context, &w.b, NULL, NULL);
        assert_int_equal(tly_import_num_metadata(import), NUM + 6);
        for (int i = 0; i < NUM; i++) {
            must_have(import, numbers[i].key, &kv);
            assert_int_equal(kv.type, numbers[i].kv_type);
            assert_true(kv.number == numbers[i].wanted);
        }
        must_have(import, "text", &kv);
        assert_int_equal(kv.type, TLY_KV_STRING);
        assert_int_equal(kv.data_len, 5);
        must_have(import, "raw", &kv);
        assert_int_equal(kv.type, TLY_KV_BYTES);
        assert_memory_equal(kv.data, "caf\xE9", 4);
        must_have(import, "tokens", &kv);
        assert_int_equal(kv.element_type, TLY_KV_BYTES);
        must_have(import, "flags", &kv);
        assert_int_equal(kv.element_type, TLY_KV_BOOL);
        assert_int_equal(kv.count, 2);
        assert_memory_equal(kv.data, "\1\0", 2);
        /* As the container has it afterwards. */
        CHECK_OK(tly_import_save(import, path, NULL, &error), &error);
        CHECK_OK(tly_store_open(context, path, NULL, &store, &error), &error);
        CHECK_OK(tly_store_verify(store, &error), &error);
        CHECK_OK(tly_store_kv(store, &list, &error), &error);
        assert_int_equal(tly_kv_list_count(list), NUM + 6);
        assert_int_equal(tly_kv_list_find(list, "words", 5, &kv), TLY_OK);
        assert_int_equal(kv.type, TLY_KV_ARRAY);
        assert_int_equal(kv.count, 3);
        assert_int_equal(tly_kv_next(&kv, &position, &element), TLY_OK);
        assert_int_equal(tly_kv_next(&kv, &position, &element), TLY_OK);
        assert_int_equal(tly_kv_next(&kv, &position, &element), TLY_OK);
        assert_int_equal(element.data_len, 2);
        assert_memory_equal(element.data, "bc", 2);
        assert_int_equal(tly_kv_list_find(list, "shorts", 6, &kv), TLY_OK);
        position = 0;
        assert_int_equal(tly_kv_next(&kv, &position, &element), TLY_OK);
        assert_int_equal(element.type, TLY_KV_I64);
        assert_true(element.number == (uint64_t)-2);
        assert_int_equal(tly_kv_list_find(list, "f32", 3, &kv), TLY_OK);
        assert_true(kv.number == UINT64_C(0x4045000000000000));
        tly_kv_list_free(list);
        tly_store_free(store);
        tly_import_free(import);
        blob_free(&w.b);
    }
    free(path);
    remove_folder(folder);
    tly_context_free(context);
}

static void alignment_is_checked_and_used(void **state) {
    static const struct {
        uint32_t type;
        size_t width;
        uint64_t value;
    } bad[] = {{U32, 4, 0},  {U32, 4, 1},          {U32, 4, 4},
               {U32, 4, 48}, {U32, 4, UINT32_MAX}, {U32, 4, UINT64_C(1) << 31},
               {I32, 4, 32}, {U64, 8, 32},         {U8, 1, 32},
               {F32, 4, 0}};
    tly_context *context = plain_context();
    tly_import *import;
    writer w;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        w = begin(0, 3, 0, 1);
        put_key(&w, "general.alignment", bad[i].type);
        put(&w, bad[i].value, bad[i].width);
        refuse(&w, TLY_MALFORMED, "gguf-alignment");
    }
    w = begin(0, 3, 0, 1);
    put_key(&w, "general.alignment", ARRAY);
    put(&w, U32, 4);
    put(&w, 0, 8);
    refuse(&w, TLY_MALFORMED, "gguf-alignment");
    w = begin(0, 3, 2, 1);
    put_key(&w, "general.alignment", U32);
    put(&w, 128, 4);
    put_row(&w, "a", DIMS(3), 24, 0);
    put_row(&w, "b", DIMS(3), 24, 128);
    pad(&w, 128);
    put_counting(&w, 3);
    pad(&w, 128);
    put_counting(&w, 3);
    import = must_open(context, &w.b, NULL, NULL);
    must_hold(import, "b", TLY_I8, "3", "\0\1\2", 3);
    tly_import_free(import);
    blob_free(&w.b);
    tly_context_free(context);
}

static void blocks_are_named_and_still_checked(void **state) {
    tly_context *context = plain_context();
    tly_import_options options = skipping();
    tly_import *import;
    tly_import_skip skip;
    writer w = begin(0, 3, 3, 0);
    (void)state;
    put_row(&w, "q", DIMS(64), 3, 0);
    put_row(&w, "new", DIMS(9), 77, 64);
    put_row(&w, "f", DIMS(1), 0, 96);
    pad(&w, 32);
    put_counting(&w, 100);
    import = must_open(context, &w.b, NULL, &options);
    assert_int_equal(tly_import_num_tensors(import), 1);
    must_hold(import, "f", TLY_F32, "1", "\x60\x61\x62\x63", 4);
    assert_int_equal(tly_import_skipped(import, 0, &skip), TLY_OK);
    assert_string_equal(skip.name, "q");
    assert_non_null(strstr(skip.reason, "Q4_1"));
    assert_int_equal(tly_import_skipped(import, 1, &skip), TLY_OK);
    assert_string_equal(skip.name, "new");
    tly_import_free(import);
    must_refuse(context, &w.b, NULL, TLY_UNSUPPORTED, "dtype");
    w = begin(0, 3, 1, 0);
    put_row(&w, "q", DIMS(33), 2, 0);
    refuse(&w, TLY_MALFORMED, "gguf-block");
    w = begin(0, 3, 1, 0);
    put_row(&w, "q", DIMS(256), 12, 0);
    pad(&w, 32);
    put_counting(&w, 143);
    refuse(&w, TLY_TRUNCATED, "gguf-data");
    tly_context_free(context);
}

static void places_must_be_true(void **state) {
    writer w = begin(0, 3, 1, 0);
    (void)state;
    put_row(&w, "t", DIMS(8), 0, 0);
    pad(&w, 32);
    put_counting(&w, 31);
    refuse(&w, TLY_TRUNCATED, "gguf-data");
    w = begin(0, 3, 1, 0);
    put_row(&w, "t", DIMS(8), 0, 32);
    pad(&w, 32);
    put_counting(&w, 64);
    refuse(&w, TLY_MALFORMED, "gguf-offset");
    w = begin(0, 3, 1, 0);
    put_row(&w, "t", DIMS(1), 0, UINT64_MAX - 31);
    pad(&w, 32);
    refuse(&w, TLY_OVERFLOW, "gguf-offset");
    w = begin(0, 3, 2, 0);
    put_row(&w, "a", DIMS(8), 0, 0);
    put_row(&w, "b", DIMS(8), 0, 16);
    pad(&w, 32);
    put_counting(&w, 64);
    refuse(&w, TLY_MALFORMED, "gguf-offset");
    w = begin(0, 3, 2, 0);
    put_row(&w, "a", DIMS(8), 0, 0);
    put_row(&w, "a", DIMS(8), 0, 32);
    pad(&w, 32);
    put_counting(&w, 64);
    refuse(&w, TLY_MALFORMED, "duplicate-name");
    w = begin(0, 3, 1, 0);
    put_row(&w, "t", DIMS(8), 0, 0);
    pad(&w, 32);
    put_counting(&w, 33);
    refuse(&w, TLY_MALFORMED, "trailing-bytes");
}

static void shapes_must_be_true(void **state) {
    writer w = begin(0, 3, 1, 0);
    (void)state;
    put_row(&w, "t", DIMS(4194305, 4194305, 211106198978564), 0, 0);
    pad(&w, 32);
    put_counting(&w, 16);
    refuse(&w, TLY_OVERFLOW, "shape-overflow");
    w = begin(0, 3, 1, 0);
    put_row(&w, "t", DIMS(UINT64_C(1) << 63), 0, 0);
    refuse(&w, TLY_MALFORMED, "negative-dim");
    w = begin(0, 3, 1, 0);
    put_row(&w, "t", DIMS(INT64_MAX), 0, 0);
    refuse(&w, TLY_OVERFLOW, "size-overflow");
    w = begin(0, 3, 1, 0);
    put_row(&w, "t", DIMS(1, 1, 1, 1, 1), 0, 0);
    refuse(&w, TLY_LIMIT, "rank");
    w = begin(0, 3, 1, 0);
    put_string(&w, "t");
    put(&w, 1000000, 4);
    put_counting(&w, 100);
    refuse(&w, TLY_LIMIT, "rank");
    w = begin(0, 3, 1, 0);
    put_row(&w, "", DIMS(1), 0, 0);
    pad(&w, 32);
    put_counting(&w, 4);
    refuse(&w, TLY_MALFORMED, "empty-name");
}

static void counts_and_lengths_are_not_believed(void **state) {
    failing f;
    tly_context *context = failing_context(&f);
    writer w = begin(0, 3, UINT64_MAX, 0);
    (void)state;
    put_counting(&w, 100);
    must_refuse(context, &w.b, NULL, TLY_TRUNCATED, "gguf-count");
    w = begin(0, 3, 0, UINT64_MAX / 13);
    must_refuse(context, &w.b, NULL, TLY_TRUNCATED, "gguf-count");
    w = begin(0, 3, 0, 1);
    put(&w, UINT64_MAX, 8);
    put_counting(&w, 20);
    must_refuse(context, &w.b, NULL, TLY_TRUNCATED, "gguf-length");
    w = begin(0, 3, 0, 1);
    put_key(&w, "k", STRING);
    put(&w, UINT64_C(1) << 40, 8);
    must_refuse(context, &w.b, NULL, TLY_TRUNCATED, "gguf-length");
    w = begin(0, 3, 0, 1);
    put_key(&w, "k", ARRAY);
    put(&w, U8, 4);
    put(&w, 1000, 8);
    put_counting(&w, 999);
    must_refuse(context, &w.b, NULL, TLY_TRUNCATED, "gguf-count");
    w = begin(0, 3, 0, 1);
    put_key(&w, "k", ARRAY);
    put(&w, STRING, 4);
    put(&w, UINT64_C(1) << 33, 8);
    must_refuse(context, &w.b, NULL, TLY_LIMIT, "gguf-count");
    w = begin(0, 3, 0, 1);
    put_key(&w, "k", ARRAY);
    put(&w, ARRAY, 4);
    put(&w, 1, 8);
    must_refuse(context, &w.b, NULL, TLY_UNSUPPORTED, "gguf-nested-array");
    w = begin(0, 3, 0, 1);
    put_key(&w, "k", 13);
    put_counting(&w, 8);
    must_refuse(context, &w.b, NULL, TLY_MALFORMED, "gguf-type");
    w = begin(0, 3, 0, 1);
    put_key(&w, "k", BOOL);
    put(&w, 2, 1);
    must_refuse(context, &w.b, NULL, TLY_MALFORMED, "gguf-bool");
    w = begin(0, 3, 0, 2);
    for (int i = 0; i < 2; i++) {
        put_key(&w, "k", BOOL);
        put(&w, 1, 1);
    }
    must_refuse(context, &w.b, NULL, TLY_MALFORMED, "duplicate-key");
    w = begin(0, 1, 0, 0);
    must_refuse(context, &w.b, NULL, TLY_UNSUPPORTED, "gguf-version");
    w = begin(1, 4, 0, 0);
    must_refuse(context, &w.b, NULL, TLY_UNSUPPORTED, "gguf-version");
    assert_true(f.largest < 10000);
    tly_context_free(context);
}

static void mutations_and_failing_memory_are_survived(void **state) {
    (void)state;
    for (int big = 0; big <= 1; big++) {
        writer w = begin(big, 3, 2, 4);
        put_key(&w, "general.alignment", U32);
        put(&w, 8, 4);
        put_key(&w, "s", STRING);
        put_string(&w, "v");
        put_key(&w, "a", ARRAY);
        put(&w, STRING, 4);
        put(&w, 2, 8);
        put_string(&w, "x");
        put_string(&w, "yz");
        put_key(&w, "n", ARRAY);
        put(&w, I16, 4);
        put(&w, 2, 8);
        put(&w, 1, 2);
        put(&w, 2, 2);
        put_row(&w, "w", DIMS(3, 2), 1, 0);
        put_row(&w, "v", DIMS(2), 0, 16);
        pad(&w, 8);
        put_counting(&w, 24);
        must_survive_mutations(&w.b, 15, 15000);
        must_survive_failing_memory(&w.b);
        blob_free(&w.b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_of_both_byte_orders),
        cmocka_unit_test(metadata_of_every_type),
        cmocka_unit_test(alignment_is_checked_and_used),
        cmocka_unit_test(blocks_are_named_and_still_checked),
        cmocka_unit_test(places_must_be_true),
        cmocka_unit_test(shapes_must_be_true),
        cmocka_unit_test(counts_and_lengths_are_not_believed),
        cmocka_unit_test(mutations_and_failing_memory_are_survived),
    };
    return cmocka_run_group_tests_name("import/gguf", tests, NULL, NULL);
}
