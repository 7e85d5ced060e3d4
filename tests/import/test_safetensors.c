/* SPDX-License-Identifier: Apache-2.0 */
#include "import_test.h"

/* A file of this header and this many data bytes 0, 1, 2, ... */
static blob file_of(const char *header, size_t data_len) {
    blob b = {NULL, 0};
    uint8_t prefix[8];
    tly_base_store_u64(prefix, strlen(header));
    blob_put(&b, prefix, 8);
    blob_text(&b, header);
    for (size_t i = 0; i < data_len; i++) {
        uint8_t byte = (uint8_t)i;
        blob_put(&b, &byte, 1);
    }
    return b;
}

static void refuse(const char *header, size_t data_len, tly_status status, const char *rule) {
    tly_context *context = plain_context();
    tly_import_options options = skipping();
    blob b = file_of(header, data_len);
    options.format = TLY_IMPORT_SAFETENSORS;
    must_refuse(context, &b, &options, status, rule);
    tly_context_free(context);
}

static const uint8_t counting[64] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

static void tensors_are_found_wherever_they_lie(void **state) {
    /* Out of order, not aligned, with an empty one in the middle, escapes in a name. */
    static const char header[] =
        " {\"late\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[3,11]},"
        "\"a\\u00e9\\n\\ud83d\\ude00\":{\"shape\":[3],\"data_offsets\":[0,3],\"dtype\":\"U8\"},"
        "\"empty\":{\"dtype\":\"F8_E4M3\",\"shape\":[0],\"data_offsets\":[3,3]},"
        "\"scalar\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[11,19],\"more\":[{\"x\":-1."
        "5e3}]},"
        "\"c\":{\"dtype\":\"C64\",\"shape\":[1,1],\"data_offsets\":[19,27]},"
        "\"__metadata__\":{\"format\":\"pt\",\"\\u0041\":\"\\\"b\\\"\"}}  ";
    tly_context *context = plain_context();
    blob b = file_of(header + 1, 27);
    tly_import *import = must_open(context, &b, NULL, NULL);
    tly_import_tensor info;
    tly_kv kv;
    (void)state;
    assert_int_equal(tly_import_format_of(import), TLY_IMPORT_SAFETENSORS);
    assert_int_equal(tly_import_num_tensors(import), 5);
    must_hold(import, "late", TLY_F32, "2", counting + 3, 8);
    must_hold(import, "a\xC3\xA9\n\xF0\x9F\x98\x80", TLY_U8, "3", counting, 3);
    must_hold(import, "empty", TLY_F8E4M3, "0", counting, 0);
    must_hold(import, "scalar", TLY_I64, "", counting + 11, 8);
    must_hold(import, "c", TLY_C64, "1,1", counting + 19, 8);
    assert_int_equal(tly_import_info(import, 0, &info), TLY_OK);
    assert_string_equal(info.name, "late");
    assert_int_equal(info.layout, TLY_LAYOUT_ROW_MAJOR);
    assert_int_equal(info.big_endian, 0);
    assert_true(info.file_offset == 8 + strlen(header + 1) + 3);
    assert_int_equal(tly_import_info(import, 5, &info), TLY_NOT_FOUND);
    assert_int_equal(tly_import_num_metadata(import), 2);
    assert_int_equal(tly_import_metadata(import, 1, &kv), TLY_OK);
    assert_string_equal(kv.key, "A");
    assert_int_equal(kv.type, TLY_KV_STRING);
    assert_int_equal(kv.data_len, 3);
    assert_memory_equal(kv.data, "\"b\"", 3);
    assert_int_equal(tly_import_metadata(import, 2, &kv), TLY_NOT_FOUND);
    tly_import_free(import);
    blob_free(&b);
    tly_context_free(context);
}

static void every_type_has_its_width(void **state) {
    static const struct {
        const char *name;
        tly_dtype dtype;
        size_t len;
    } types[] = {{"F64", TLY_F64, 8},       {"F32", TLY_F32, 4},        {"F16", TLY_F16, 2},
                 {"BF16", TLY_BF16, 2},     {"I64", TLY_I64, 8},        {"I32", TLY_I32, 4},
                 {"I16", TLY_I16, 2},       {"I8", TLY_I8, 1},          {"U64", TLY_U64, 8},
                 {"U32", TLY_U32, 4},       {"U16", TLY_U16, 2},        {"U8", TLY_U8, 1},
                 {"C64", TLY_C64, 8},       {"F8_E4M3", TLY_F8E4M3, 1}, {"F8_E5M2", TLY_F8E5M2, 1},
                 {"F8_E8M0", TLY_F8E8M0, 1}};
    tly_context *context = plain_context();
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        char header[200];
        blob b;
        tly_import *import;
        snprintf(header, sizeof header,
                 "{\"t\":{\"dtype\":\"%s\",\"shape\":[3],\"data_offsets\":[0,%zu]}}", types[i].name,
                 types[i].len * 3);
        b = file_of(header, types[i].len * 3);
        import = must_open(context, &b, NULL, NULL);
        must_hold(import, "t", types[i].dtype, "3", counting, types[i].len * 3);
        tly_import_free(import);
        blob_free(&b);
    }
    tly_context_free(context);
}

static void booleans_become_bits_and_nothing_else_does(void **state) {
    static const char header[] =
        "{\"t\":{\"dtype\":\"BOOL\",\"shape\":[11],\"data_offsets\":[0,11]}}";
    static const uint8_t values[11] = {1, 0, 1, 1, 0, 0, 0, 1, 0, 1, 1};
    static const uint8_t bits[2] = {0x8D, 0x06};
    tly_context *context = plain_context();
    blob b = file_of(header, 11);
    tly_import *import;
    tly_error error;
    uint8_t got[2];
    (void)state;
    memcpy(b.bytes + b.len - 11, values, 11);
    import = must_open(context, &b, NULL, NULL);
    must_hold(import, "t", TLY_BOOL, "11", bits, 2);
    b.bytes[b.len - 2] = 2;
    CHECK_RULE(tly_import_read(import, 0, got, 2, &error), &error, TLY_MALFORMED, "bool-value");
    assert_true(error.offset == b.len - 2);
    tly_import_free(import);
    blob_free(&b);
    tly_context_free(context);
}

#define ONE(rest) "{\"t\":{\"dtype\":\"F32\"," rest "}}"

static void offsets_must_be_true(void **state) {
    (void)state;
    refuse(ONE("\"shape\":[2,2],\"data_offsets\":[16,0]"), 16, TLY_MALFORMED, "data-offsets");
    refuse(ONE("\"shape\":[2,2],\"data_offsets\":[-8,8]"), 16, TLY_MALFORMED, "json-syntax");
    refuse(ONE("\"shape\":[1000,1000],\"data_offsets\":[0,4]"), 4, TLY_MALFORMED, "data-len");
    refuse(ONE("\"shape\":[1],\"data_offsets\":[5,5]"), 8, TLY_MALFORMED, "data-len");
    refuse(ONE("\"shape\":[1],\"data_offsets\":[0,4]"), 3, TLY_MALFORMED, "data-offsets");
    refuse(ONE("\"shape\":[1],\"data_offsets\":[0,4]"), 5, TLY_MALFORMED, "trailing-bytes");
    refuse(ONE("\"shape\":[1],\"data_offsets\":[1,5]"), 5, TLY_MALFORMED, "hole");
    refuse(ONE("\"shape\":[1],\"data_offsets\":[0]"), 4, TLY_MALFORMED, "data-offsets");
    refuse(ONE("\"shape\":[1],\"data_offsets\":[0,4,4]"), 4, TLY_MALFORMED, "data-offsets");
    refuse(ONE("\"shape\":[1],\"data_offsets\":[0,4.0]"), 4, TLY_MALFORMED, "json-syntax");
    refuse(ONE("\"shape\":[1],\"data_offsets\":[0,4e0]"), 4, TLY_MALFORMED, "json-syntax");
    refuse(ONE("\"shape\":[01],\"data_offsets\":[0,4]"), 4, TLY_MALFORMED, "json-syntax");
    refuse(ONE("\"shape\":[1],\"data_offsets\":[0,18446744073709551620]"), 4, TLY_OVERFLOW,
           "json-integer");
    refuse(ONE("\"shape\":[4294967296,4294967296,2],\"data_offsets\":[0,4]"), 4, TLY_OVERFLOW,
           "shape-overflow");
    refuse(ONE("\"shape\":[9223372036854775807],\"data_offsets\":[0,4]"), 4, TLY_OVERFLOW,
           "size-overflow");
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3]},"
           "\"b\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[2,5]}}",
           5, TLY_MALFORMED, "overlap");
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
           "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]}}",
           5, TLY_MALFORMED, "hole");
    refuse("{}", 1, TLY_MALFORMED, "trailing-bytes");
}

static void the_header_is_strict_json(void **state) {
    (void)state;
    refuse("", 0, TLY_MALFORMED, "header-start");
    refuse(" {}", 0, TLY_MALFORMED, "header-start");
    refuse("[]", 0, TLY_MALFORMED, "header-start");
    refuse("{", 0, TLY_MALFORMED, "json-syntax");
    refuse("{}x", 0, TLY_MALFORMED, "json-syntax");
    refuse("{,}", 0, TLY_MALFORMED, "json-syntax");
    refuse("{\"t\":1}", 0, TLY_MALFORMED, "json-syntax");
    refuse("{\"t\"}", 0, TLY_MALFORMED, "json-syntax");
    refuse("{\"__metadata__\":null}", 0, TLY_MALFORMED, "json-syntax");
    refuse("{\"__metadata__\":{\"a\":1}}", 0, TLY_MALFORMED, "json-syntax");
    refuse("{\"__metadata__\":{\"a\":\"\\x\"}}", 0, TLY_MALFORMED, "json-syntax");
    refuse("{\"__metadata__\":{\"a\":\"\n\"}}", 0, TLY_MALFORMED, "json-syntax");
    refuse("{\"__metadata__\":{\"a\":\"\\u12\"}}", 0, TLY_MALFORMED, "json-syntax");
    refuse("{\"__metadata__\":{\"a\":\"\\ud800\"}}", 0, TLY_MALFORMED, "json-surrogate");
    refuse("{\"__metadata__\":{\"a\":\"\\udc00\"}}", 0, TLY_MALFORMED, "json-surrogate");
    refuse("{\"__metadata__\":{\"a\":\"\xC3\"}}", 0, TLY_MALFORMED, "utf-8");
    refuse("{\"__metadata__\":{\"a\":\"\xED\xA0\x80\"}}", 0, TLY_MALFORMED, "utf-8");
    refuse("{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, TLY_MALFORMED, "nul-in-text");
    refuse(ONE("\"shape\":[],\"data_offsets\":[0,4],\"x\":tru"), 4, TLY_MALFORMED, "json-syntax");
    refuse(ONE("\"shape\":[],\"data_offsets\":[0,4],\"x\":-"), 4, TLY_MALFORMED, "json-syntax");
    refuse(ONE("\"shape\":[],\"data_offsets\":[0,4],\"x\":1."), 4, TLY_MALFORMED, "json-syntax");
    refuse(ONE("\"shape\":[],\"data_offsets\":[0,4],\"x\":00"), 4, TLY_MALFORMED, "json-syntax");
}

static void nothing_stands_twice_and_nothing_is_missing(void **state) {
    (void)state;
    refuse(ONE("\"shape\":[1]"), 0, TLY_MALFORMED, "missing-key");
    refuse(ONE("\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]"), 4, TLY_MALFORMED,
           "duplicate-key");
    refuse("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
           "\"\\u0061\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
           2, TLY_MALFORMED, "duplicate-name");
    refuse("{\"__metadata__\":{},\"__metadata__\":{}}", 0, TLY_MALFORMED, "duplicate-key");
    refuse("{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"}}", 0, TLY_MALFORMED, "duplicate-key");
    refuse("{\"\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1, TLY_MALFORMED,
           "empty-name");
}

static void types_that_are_not_carried_are_named_and_still_checked(void **state) {
    static const char header[] =
        "{\"odd\":{\"dtype\":\"F4X\",\"shape\":[7],\"data_offsets\":[0,2]},"
        "\"six\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[2,5]},"
        "\"good\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[5,8]}}";
    tly_context *context = plain_context();
    tly_import_options options = skipping();
    blob b = file_of(header, 8);
    tly_import *import = must_open(context, &b, NULL, &options);
    tly_import_skip skip;
    (void)state;
    assert_int_equal(tly_import_num_tensors(import), 1);
    must_hold(import, "good", TLY_U8, "3", counting + 5, 3);
    assert_int_equal(tly_import_num_skipped(import), 2);
    assert_int_equal(tly_import_skipped(import, 0, &skip), TLY_OK);
    assert_string_equal(skip.name, "odd");
    assert_non_null(strstr(skip.reason, "F4X"));
    assert_int_equal(tly_import_skipped(import, 1, &skip), TLY_OK);
    assert_non_null(strstr(skip.reason, "F6_E2M3"));
    assert_int_equal(tly_import_skipped(import, 2, &skip), TLY_NOT_FOUND);
    tly_import_free(import);
    must_refuse(context, &b, NULL, TLY_UNSUPPORTED, "dtype");
    tly_context_free(context);
    /* Unknown types are held to the same bounds, known widths to their size. */
    refuse("{\"t\":{\"dtype\":\"F4X\",\"shape\":[1],\"data_offsets\":[0,99]}}", 1, TLY_MALFORMED,
           "data-offsets");
    refuse("{\"t\":{\"dtype\":\"F4X\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2, TLY_MALFORMED,
           "hole");
    refuse("{\"t\":{\"dtype\":\"F6_E2M3\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4, TLY_MALFORMED,
           "data-len");
    refuse("{\"t\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, TLY_MALFORMED,
           "partial-byte");
}

static void limits_hold(void **state) {
    tly_context *context = plain_context();
    tly_import_options options = {.size = sizeof options, .format = TLY_IMPORT_SAFETENSORS};
    static const char two[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1],\"data_offsets\":[0,1]},"
                              "\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}";
    char deep[2100];
    blob b;
    (void)state;
    b = file_of(two, 2);
    options.num_tensors = 1;
    must_refuse(context, &b, &options, TLY_LIMIT, "num-tensors");
    options.num_tensors = 0;
    b = file_of(two, 2);
    options.rank = 1;
    must_refuse(context, &b, &options, TLY_LIMIT, "rank");
    options.rank = 0;
    b = file_of(two, 2);
    options.expanded_len = 1;
    must_refuse(context, &b, &options, TLY_LIMIT, "expanded-len");
    options.expanded_len = 0;
    b = file_of(two, 2);
    options.header_len = strlen(two) - 1;
    must_refuse(context, &b, &options, TLY_LIMIT, "header-len");
    options.header_len = 0;
    b = file_of("{\"abc\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1);
    options.name_len = 2;
    must_refuse(context, &b, &options, TLY_LIMIT, "name-len");
    options.name_len = 0;
    memset(deep, '[', sizeof deep);
    memcpy(deep, "{\"t\":{\"x\":", 10);
    deep[2000] = '\0';
    b = file_of(deep, 0);
    must_refuse(context, &b, &options, TLY_LIMIT, "json-depth");
    options.rank = 65;
    b = file_of(two, 2);
    must_refuse(context, &b, &options, TLY_INVALID_ARGUMENT, "options-range");
    options.size = 3;
    b = file_of(two, 2);
    must_refuse(context, &b, &options, TLY_INVALID_ARGUMENT, "options-size");
    tly_context_free(context);
}

static void a_shape_with_a_million_axes_needs_no_memory(void **state) {
    failing f;
    tly_context *context = failing_context(&f);
    blob b = {NULL, 0}, text = {NULL, 0};
    uint8_t prefix[8];
    (void)state;
    blob_text(&text, "{\"t\":{\"dtype\":\"U8\",\"shape\":[0");
    text.bytes = realloc(text.bytes, 2000100);
    for (int i = 0; i < 1000000; i++) {
        memcpy(text.bytes + text.len, ",1", 2);
        text.len += 2;
    }
    blob_text(&text, "],\"data_offsets\":[0,0]}}");
    tly_base_store_u64(prefix, text.len);
    blob_put(&b, prefix, 8);
    blob_put(&b, text.bytes, text.len);
    must_refuse(context, &b, NULL, TLY_LIMIT, "rank");
    assert_true(f.largest <= text.len);
    blob_free(&text);
    tly_context_free(context);
}

static void the_length_prefix_is_not_believed(void **state) {
    failing f;
    tly_context *context = failing_context(&f);
    tly_import_options options = skipping();
    static const uint64_t lens[] = {UINT64_MAX, UINT64_MAX - 4, UINT64_C(1) << 63, 100000001};
    (void)state;
    options.format = TLY_IMPORT_SAFETENSORS;
    for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
        blob b = file_of("{}", 0);
        tly_base_store_u64(b.bytes, lens[i]);
        must_refuse(context, &b, &options, TLY_LIMIT, "header-len");
    }
    {
        blob b = file_of("{}", 0);
        tly_base_store_u64(b.bytes, 100000000);
        must_refuse(context, &b, &options, TLY_TRUNCATED, "header-len");
        b = file_of("{}", 0);
        tly_base_store_u64(b.bytes, 3);
        must_refuse(context, &b, &options, TLY_TRUNCATED, "header-len");
    }
    assert_true(f.largest < 10000);
    tly_context_free(context);
}

static blob rich_file(void) {
    return file_of("{\"__metadata__\":{\"k\\n\":\"v\",\"l\":\"w\"},"
                   "\"b\":{\"dtype\":\"BOOL\",\"shape\":[2,5],\"data_offsets\":[0,10]},"
                   "\"e\":{\"dtype\":\"F32\",\"shape\":[4,0],\"data_offsets\":[10,10]},"
                   "\"f\":{\"dtype\":\"BF16\",\"shape\":[1,3],\"data_offsets\":[10,16]}}",
                   16);
}

static void mutations_are_survived(void **state) {
    blob b = rich_file();
    (void)state;
    memset(b.bytes + b.len - 16, 1, 10);
    must_survive_mutations(&b, 11, 6000);
    blob_free(&b);
}

static void failing_memory_is_survived(void **state) {
    blob b = rich_file();
    (void)state;
    memset(b.bytes + b.len - 16, 1, 10);
    must_survive_failing_memory(&b);
    blob_free(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_found_wherever_they_lie),
        cmocka_unit_test(every_type_has_its_width),
        cmocka_unit_test(booleans_become_bits_and_nothing_else_does),
        cmocka_unit_test(offsets_must_be_true),
        cmocka_unit_test(the_header_is_strict_json),
        cmocka_unit_test(nothing_stands_twice_and_nothing_is_missing),
        cmocka_unit_test(types_that_are_not_carried_are_named_and_still_checked),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(a_shape_with_a_million_axes_needs_no_memory),
        cmocka_unit_test(the_length_prefix_is_not_believed),
        cmocka_unit_test(mutations_are_survived),
        cmocka_unit_test(failing_memory_is_survived),
    };
    return cmocka_run_group_tests_name("import/safetensors", tests, NULL, NULL);
}
