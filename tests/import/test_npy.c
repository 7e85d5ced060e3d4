/* SPDX-License-Identifier: Apache-2.0 */
#include "import_test.h"

/* A file of this version and dictionary, and these data bytes. */
static blob file_of(int version, const char *dictionary, const void *data, size_t data_len) {
    blob b = {NULL, 0};
    uint8_t head[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (uint8_t)version, 0};
    size_t len = strlen(dictionary);
    tly_base_store_u32(head + 8, (uint32_t)len);
    blob_put(&b, head, version == 1 ? 10 : 12);
    blob_put(&b, dictionary, len);
    blob_put(&b, data, data_len);
    return b;
}

static const uint8_t counting[48] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
    24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47};

static void take(int version, const char *dictionary, size_t data_len, tly_dtype dtype,
                 const char *shape, uint8_t layout) {
    tly_context *context = plain_context();
    blob b = file_of(version, dictionary, counting, data_len);
    tly_import *import = must_open(context, &b, "folder/weights.npy", NULL);
    tly_import_tensor info;
    assert_int_equal(tly_import_num_tensors(import), 1);
    must_hold(import, "weights", dtype, shape, counting, data_len);
    assert_int_equal(tly_import_info(import, 0, &info), TLY_OK);
    assert_int_equal(info.layout, layout);
    assert_int_equal(info.viewable, 1);
    tly_import_free(import);
    blob_free(&b);
    tly_context_free(context);
}

static void refuse(int version, const char *dictionary, size_t data_len, tly_status status,
                   const char *rule) {
    tly_context *context = plain_context();
    blob b = file_of(version, dictionary, counting, data_len);
    must_refuse(context, &b, NULL, status, rule);
    tly_context_free(context);
}

static void headers_of_all_versions_and_forms(void **state) {
    (void)state;
    for (int version = 1; version <= 3; version++) {
        take(version, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }      \n", 24,
             TLY_F32, "2,3", TLY_LAYOUT_ROW_MAJOR);
    }
    take(1, "{'descr':'<f4','fortran_order':False,'shape':()}", 4, TLY_F32, "",
         TLY_LAYOUT_ROW_MAJOR);
    take(1, "{'descr': '<i8', 'fortran_order': False, 'shape': (5,)}", 40, TLY_I64, "5",
         TLY_LAYOUT_ROW_MAJOR);
    take(1, "{'shape': (3L, 4L), 'fortran_order': False, 'descr': '|u1'}", 12, TLY_U8, "3,4",
         TLY_LAYOUT_ROW_MAJOR);
    take(1, " { \"shape\" : ( 3 , 4 , ) ,\t\"descr\":\"<u2\", \"fortran_order\" :True , } ", 24,
         TLY_U16, "3,4", TLY_LAYOUT_COL_MAJOR);
    take(1, "{'descr': '>i1', 'fortran_order': True, 'shape': (3,)}", 3, TLY_I8, "3",
         TLY_LAYOUT_ROW_MAJOR); /* one axis has one order, one byte too */
    take(1, "{'descr': '<c16', 'fortran_order': False, 'shape': (1, 2)}", 32, TLY_C128, "1,2",
         TLY_LAYOUT_ROW_MAJOR);
    take(1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 0, 9)}", 0, TLY_F64, "2,0,9",
         TLY_LAYOUT_ROW_MAJOR);
}

static void big_endian_files_are_swapped(void **state) {
    static const struct {
        const char *code;
        tly_dtype dtype;
        size_t len, unit;
    } types[] = {{"f2", TLY_F16, 2, 2}, {"f4", TLY_F32, 4, 4},   {"f8", TLY_F64, 8, 8},
                 {"i2", TLY_I16, 2, 2}, {"u4", TLY_U32, 4, 4},   {"i8", TLY_I64, 8, 8},
                 {"c8", TLY_C64, 8, 4}, {"c16", TLY_C128, 16, 8}};
    tly_context *context = plain_context();
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char text[100];
        uint8_t swapped[48];
        blob b;
        tly_import *import;
        tly_import_tensor info;
        size_t len = types[i].len * 3;
        snprintf(text, sizeof text, "{'descr': '>%s', 'fortran_order': False, 'shape': (3,)}",
                 types[i].code);
        for (size_t at = 0; at < len; at++) {
            swapped[at] = counting[at / types[i].unit * types[i].unit + types[i].unit - 1 -
                                   at % types[i].unit];
        }
        b = file_of(1, text, counting, len);
        import = must_open(context, &b, "x.npy", NULL);
        must_hold(import, "x", types[i].dtype, "3", swapped, len);
        assert_int_equal(tly_import_info(import, 0, &info), TLY_OK);
        assert_int_equal(info.big_endian, 1);
        assert_int_equal(info.viewable, 0);
        tly_import_free(import);
        blob_free(&b);
    }
    tly_context_free(context);
}

/* More elements than one piece of reading holds, so that pieces must fit together. */
static void large_arrays_come_whole(void **state) {
    enum { NUM = 300001 };
    char text[100];
    tly_context *context = plain_context();
    uint8_t *data = malloc(NUM * 2), *wanted = malloc(NUM * 2);
    blob b;
    tly_import *import;
    check_rng rng = {3};
    (void)state;
    for (int i = 0; i < NUM; i++) {
        data[2 * i] = wanted[2 * i + 1] = (uint8_t)check_random(&rng);
        data[2 * i + 1] = wanted[2 * i] = (uint8_t)check_random(&rng);
    }
    snprintf(text, sizeof text, "{'descr': '>i2', 'fortran_order': False, 'shape': (%d,)}", NUM);
    b = file_of(1, text, data, NUM * 2);
    import = must_open(context, &b, "x", NULL);
    must_hold(import, "x", TLY_I16, "300001", wanted, NUM * 2);
    tly_import_free(import);
    blob_free(&b);

    memset(wanted, 0, NUM);
    for (int i = 0; i < NUM; i++) {
        data[i] = (uint8_t)(check_random(&rng) & 1);
        wanted[i / 8] |= (uint8_t)(data[i] << i % 8);
    }
    snprintf(text, sizeof text, "{'descr': '|b1', 'fortran_order': False, 'shape': (%d,)}", NUM);
    b = file_of(1, text, data, NUM);
    import = must_open(context, &b, "x", NULL);
    must_hold(import, "x", TLY_BOOL, "300001", wanted, (NUM + 7) / 8);
    tly_import_free(import);
    blob_free(&b);
    free(data);
    free(wanted);
    tly_context_free(context);
}

#define REST ", 'fortran_order': False, 'shape': (1,)}"

static void types_that_are_not_carried_are_named(void **state) {
    static const char *const types[] = {"'|O'",      "'|O8'",
                                        "'<U5'",     "'|S3'",
                                        "'<M8[ns]'", "'|V2'",
                                        "'<f16'",    "'=f4'",
                                        "'f4'",      "'<q9'",
                                        "''",        "'<'",
                                        "'|f4'",     "[('a', '<f4'), ('b', '|O', (2,))]"};
    tly_context *context = plain_context();
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char text[200];
        tly_import_options options = skipping();
        tly_import *import;
        tly_import_skip skip;
        blob b;
        snprintf(text, sizeof text, "{'descr': %s" REST, types[i]);
        refuse(1, text, 4, TLY_UNSUPPORTED, "dtype");
        b = file_of(3, text, counting, 4);
        import = must_open(context, &b, "x.npy", &options);
        assert_int_equal(tly_import_num_tensors(import), 0);
        assert_int_equal(tly_import_skipped(import, 0, &skip), TLY_OK);
        assert_string_equal(skip.name, "x");
        tly_import_free(import);
        blob_free(&b);
    }
    tly_context_free(context);
}

static void data_is_neither_short_nor_long(void **state) {
    static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2)}";
    (void)state;
    refuse(1, text, 15, TLY_TRUNCATED, "data-len");
    refuse(1, text, 0, TLY_TRUNCATED, "data-len");
    refuse(1, text, 17, TLY_MALFORMED, "trailing-bytes");
    refuse(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0,)}", 4, TLY_MALFORMED,
           "trailing-bytes");
}

static void bad_headers_are_refused(void **state) {
    static const char *const bad[] = {
        "",
        "{",
        "{'descr': '<f4'" REST " x",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 2)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 'False', 'shape': (1,)}",
        "{'descr': '<f4' 'fortran_order': False, 'shape': (1,)}",
        "{'descr': <f4" REST,
        "{'descr': '<f4" REST,
        "{'descr': [('a'" REST,
        "{'de\\x73cr': '<f4'" REST,
    };
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        refuse(1, bad[i], 4, TLY_MALFORMED, "npy-header");
    }
    refuse(1, "{'descr': '<f4', 'shape': (1,)}", 4, TLY_MALFORMED, "npy-key");
    refuse(1, "{'descr': '<f4', 'descr': '<f4'" REST, 4, TLY_MALFORMED, "npy-key");
    refuse(1, "{'descr': '<f4', 'other': '<f4'" REST, 4, TLY_MALFORMED, "npy-key");
    refuse(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}", 4,
           TLY_OVERFLOW, "shape-overflow");
    refuse(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", 4,
           TLY_OVERFLOW, "shape-overflow");
    refuse(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387905,)}", 4,
           TLY_OVERFLOW, "size-overflow");
    refuse(4, "{'descr': '<f4'" REST, 4, TLY_UNSUPPORTED, "npy-version");
}

static void lengths_are_not_believed(void **state) {
    failing f;
    tly_context *context = failing_context(&f);
    tly_import_options options = {.size = sizeof options};
    blob b = file_of(2, "{'descr': '<f4'" REST, counting, 4);
    (void)state;
    tly_base_store_u32(b.bytes + 8, 99999999);
    must_refuse(context, &b, NULL, TLY_TRUNCATED, "header-len");
    b = file_of(2, "{'descr': '<f4'" REST, counting, 4);
    tly_base_store_u32(b.bytes + 8, UINT32_MAX);
    must_refuse(context, &b, NULL, TLY_LIMIT, "header-len");
    b = file_of(1, "{'descr': '<f4'" REST, counting, 4);
    options.header_len = 20;
    must_refuse(context, &b, &options, TLY_LIMIT, "header-len");
    b = file_of(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1)}", counting, 4);
    options.header_len = 0;
    options.rank = 3;
    must_refuse(context, &b, &options, TLY_LIMIT, "rank");
    assert_true(f.largest < 10000);
    tly_context_free(context);
}

static void mutations_and_failing_memory_are_survived(void **state) {
    blob b =
        file_of(1, "{'descr': '>c8', 'fortran_order': True, 'shape': (2, 3), }\n", counting, 48);
    (void)state;
    must_survive_mutations(&b, 12, 6000);
    must_survive_failing_memory(&b);
    blob_free(&b);
    b = file_of(2, "{'descr': '|b1', 'fortran_order': False, 'shape': (2L, 3L)}", "\1\0\1\1\0\1",
                6);
    must_survive_mutations(&b, 13, 6000);
    blob_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(headers_of_all_versions_and_forms),
        cmocka_unit_test(big_endian_files_are_swapped),
        cmocka_unit_test(large_arrays_come_whole),
        cmocka_unit_test(types_that_are_not_carried_are_named),
        cmocka_unit_test(data_is_neither_short_nor_long),
        cmocka_unit_test(bad_headers_are_refused),
        cmocka_unit_test(lengths_are_not_believed),
        cmocka_unit_test(mutations_and_failing_memory_are_survived),
    };
    return cmocka_run_group_tests_name("import/npy", tests, NULL, NULL);
}
