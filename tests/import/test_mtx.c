/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix Market: text in, sparse or dense tensors out. */
#include "import_test.h"

#include <math.h>

#include <tilery/store.h>

static blob text(const char *content) {
    blob b = {NULL, 0};
    blob_text(&b, content);
    return b;
}

static uint64_t bits_of(double value) {
    uint64_t bits;
    memcpy(&bits, &value, 8);
    return bits;
}

/* The bytes of all buffers are these 64-bit words. */
static void must_be(const char *content, tly_dtype dtype, uint8_t layout, uint32_t rank,
                    const uint64_t *words, size_t num_words) {
    tly_context *context = plain_context();
    blob b = text(content);
    tly_import *import = must_open(context, &b, "folder/some.mtx", NULL);
    tly_import_tensor info;
    tly_buffer_info buffer;
    tly_descriptor d;
    tly_error error;
    uint8_t *data;
    assert_int_equal(tly_import_format_of(import), TLY_IMPORT_MATRIX_MARKET);
    assert_int_equal(tly_import_num_tensors(import), 1);
    assert_int_equal(tly_import_info(import, 0, &info), TLY_OK);
    assert_string_equal(info.name, "some");
    assert_int_equal(info.dtype, dtype);
    assert_int_equal(info.layout, layout);
    assert_int_equal(info.rank, rank);
    assert_int_equal(info.byte_len, num_words * 8);
    assert_int_equal(tly_import_descriptor(import, 0, &d, &buffer), TLY_OK);
    CHECK_OK(tly_descriptor_check_buffers(&d, &error), &error);
    data = malloc(num_words * 8 + 1);
    CHECK_OK(tly_import_read(import, 0, data, num_words * 8, &error), &error);
    for (size_t i = 0; i < num_words; i++) {
        if (tly_base_load_u64(data + 8 * i) != words[i]) {
            fail_msg("word %zu is %llx, not %llx, in\n%s", i,
                     (unsigned long long)tly_base_load_u64(data + 8 * i),
                     (unsigned long long)words[i], content);
        }
    }
    free(data);
    tly_import_free(import);
    blob_free(&b);
    tly_context_free(context);
}

#define MUST_BE(content, dtype, layout, rank, ...)                                                 \
    do {                                                                                           \
        const uint64_t words_[] = {__VA_ARGS__};                                                   \
        must_be(content, dtype, layout, rank, words_, sizeof words_ / 8);                          \
    } while (0)

#define HEAD "%%MatrixMarket matrix "

static void coordinates_are_sorted(void **state) {
    (void)state;
    MUST_BE(HEAD "coordinate real general\n% a comment\n\n3 4 3\n3 1 2.5\n1 4 -1e-2\n1 2 nan\n",
            TLY_F64, TLY_LAYOUT_COO, 2, bits_of((double)NAN), bits_of(-0.01), bits_of(2.5), 0, 1, 0,
            3, 2, 0);
    MUST_BE("%%MatrixMarket  VECTOR\tcoordinate Integer general\r\n9 2\r\n9 -7\r\n2 +8", TLY_I64,
            TLY_LAYOUT_COO, 1, 8, (uint64_t)-7, 1, 8);
    MUST_BE(HEAD "coordinate unsigned-integer general\n1 1 1\n1 1 18446744073709551615\n", TLY_U64,
            TLY_LAYOUT_COO, 2, UINT64_MAX, 0, 0);
    MUST_BE(HEAD "coordinate complex general\n2 2 1\n2 1 -inf .5\n", TLY_C128, TLY_LAYOUT_COO, 2,
            bits_of(-(double)INFINITY), bits_of(0.5), 1, 0);
}

static void symmetric_ones_are_whole(void **state) {
    (void)state;
    MUST_BE(HEAD "coordinate integer symmetric\n3 3 3\n1 1 5\n3 2 6\n2 1 7\n", TLY_I64,
            TLY_LAYOUT_COO, 2, 5, 7, 7, 6, 6, 0, 0, 0, 1, 1, 0, 1, 2, 2, 1);
    MUST_BE(HEAD "coordinate integer skew-symmetric\n3 3 1\n3 2 6\n", TLY_I64, TLY_LAYOUT_COO, 2,
            (uint64_t)-6, 6, 1, 2, 2, 1);
    MUST_BE(HEAD "coordinate complex hermitian\n2 2 2\n2 1 1 2\n2 2 3 0\n", TLY_C128,
            TLY_LAYOUT_COO, 2, bits_of(1), bits_of(-2), bits_of(1), bits_of(2), bits_of(3), 0, 0, 1,
            1, 0, 1, 1);
    MUST_BE(HEAD "array real symmetric\n2 2\n1\n2\n3\n", TLY_F64, TLY_LAYOUT_COL_MAJOR, 2,
            bits_of(1), bits_of(2), bits_of(2), bits_of(3));
    MUST_BE(HEAD "array real skew-symmetric\n3 3\n22\n33\n44\n", TLY_F64, TLY_LAYOUT_COL_MAJOR, 2,
            0, bits_of(22), bits_of(33), bits_of(-22), 0, bits_of(44), bits_of(-33), bits_of(-44),
            0);
    MUST_BE(HEAD "array complex hermitian\n2 2\n1 0\n2 5\n3 0\n", TLY_C128, TLY_LAYOUT_COL_MAJOR, 2,
            bits_of(1), 0, bits_of(2), bits_of(5), bits_of(2), bits_of(-5), bits_of(3), 0);
}

static void arrays_keep_their_order(void **state) {
    (void)state;
    MUST_BE(HEAD "array integer general\n2 3\n1\n2\n3\n4\n5\n6\n", TLY_I64, TLY_LAYOUT_COL_MAJOR, 2,
            1, 2, 3, 4, 5, 6);
    MUST_BE("%%MatrixMarket vector array double general\n2\n-0\n1e-400", TLY_F64,
            TLY_LAYOUT_ROW_MAJOR, 1, bits_of(-0.0), 0);
}

/* A pattern becomes ones of one bit each, so the indexes begin within a word. */
static void patterns_are_ones(void **state) {
    tly_context *context = plain_context();
    blob b = text(HEAD "coordinate pattern general\n2 5 9\n1 1\n1 2\n1 3\n1 4\n1 5\n2 1\n2 2\n2 3\n"
                       "2 5\n");
    tly_import *import = must_open(context, &b, "a.mtx", NULL);
    uint8_t data[2 + 18 * 8];
    tly_error error;
    (void)state;
    CHECK_OK(tly_import_read(import, 0, data, sizeof data, &error), &error);
    assert_int_equal(data[0], 0xFF);
    assert_int_equal(data[1], 1);
    assert_int_equal(tly_base_load_u64(data + 2 + 16 * 8), 1);
    assert_int_equal(tly_base_load_u64(data + 2 + 17 * 8), 4);
    tly_import_free(import);
    blob_free(&b);
    tly_context_free(context);
}

static void they_go_into_a_container(void **state) {
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "m.hrry");
    blob b = text(HEAD "coordinate real general\n1099511627776 1099511627776 1\n2 2 1\n");
    tly_import *import = must_open(context, &b, "m.mtx", NULL);
    tly_store *store;
    tly_error error;
    (void)state;
    CHECK_OK(tly_import_save(import, path, NULL, &error), &error);
    CHECK_OK(tly_store_open(context, path, NULL, &store, &error), &error);
    CHECK_OK(tly_store_verify(store, &error), &error);
    tly_store_free(store);
    tly_import_free(import);
    blob_free(&b);
    remove_folder(folder);
    free(path);
    tly_context_free(context);
}

static void wrong_ones_are_refused(void **state) {
    static const struct {
        const char *content;
        tly_status status;
        const char *rule;
    } cases[] = {
        {"%%MatrixMarketing matrix", TLY_MALFORMED, "mtx-banner"},
        {HEAD, TLY_TRUNCATED, "mtx-banner"},
        {HEAD "coordinate real", TLY_TRUNCATED, "mtx-banner"},
        {HEAD "coordinate rational general\n", TLY_MALFORMED, "mtx-banner"},
        {HEAD "array pattern general\n1 1\n", TLY_MALFORMED, "mtx-banner"},
        {HEAD "coordinate real hermitian\n1 1 0\n", TLY_MALFORMED, "mtx-banner"},
        {HEAD "coordinate real general more\n", TLY_MALFORMED, "mtx-line"},
        {HEAD "coordinate real general\n% nothing else", TLY_TRUNCATED, "mtx-sizes"},
        {HEAD "coordinate real general\n1 2\n", TLY_TRUNCATED, "mtx-sizes"},
        {HEAD "coordinate real general\n-1 2 3\n", TLY_MALFORMED, "mtx-sizes"},
        {HEAD "coordinate real symmetric\n1 2 0\n", TLY_MALFORMED, "mtx-sizes"},
        {HEAD "coordinate real general\n3 3 9999999999\n1 1 1\n", TLY_TRUNCATED, "mtx-count"},
        {HEAD "coordinate real general\n3 3 2\n1 1 1\n\n\n", TLY_TRUNCATED, "mtx-count"},
        {HEAD "coordinate real general\n3 3 1\n1 1\n", TLY_TRUNCATED, "mtx-value"},
        {HEAD "coordinate real general\n3 3 1\n0 1 1\n", TLY_MALFORMED, "mtx-index"},
        {HEAD "coordinate real general\n3 3 1\n1 4 1\n", TLY_MALFORMED, "mtx-index"},
        {HEAD "coordinate real general\n3 3 1\n1 x 1\n", TLY_MALFORMED, "mtx-index"},
        {HEAD "coordinate real general\n3 3 1\n1 1 1 1\n", TLY_MALFORMED, "mtx-line"},
        {HEAD "coordinate real general\n3 3 1\n1 1 1\n2 2 2\n", TLY_MALFORMED, "trailing-bytes"},
        {HEAD "coordinate real general\n3 3 1\n1 1 1e\n", TLY_MALFORMED, "mtx-value"},
        {HEAD "coordinate real general\n3 3 1\n1 1 0x1p3\n", TLY_MALFORMED, "mtx-value"},
        {HEAD "coordinate real general\n3 3 1\n1 1 1,5\n", TLY_MALFORMED, "mtx-value"},
        {HEAD "coordinate real general\n3 3 1\n1 1 1e999\n", TLY_OVERFLOW, "mtx-range"},
        {HEAD "coordinate complex general\n3 3 1\n1 1 1\n", TLY_TRUNCATED, "mtx-value"},
        {HEAD "coordinate integer general\n3 3 1\n1 1 9223372036854775808\n", TLY_OVERFLOW,
         "mtx-range"},
        {HEAD "coordinate integer general\n3 3 1\n1 1 1.5\n", TLY_MALFORMED, "mtx-value"},
        {HEAD "coordinate unsigned-integer general\n3 3 1\n1 1 -1\n", TLY_OVERFLOW, "mtx-range"},
        {HEAD "coordinate integer skew-symmetric\n3 3 1\n1 1 1\n", TLY_MALFORMED, "mtx-symmetry"},
        {HEAD "coordinate integer skew-symmetric\n3 3 1\n2 1 -9223372036854775808\n", TLY_OVERFLOW,
         "mtx-range"},
        {HEAD "coordinate real general\n99999999999999999999 1 0\n", TLY_OVERFLOW, "mtx-range"},
        {HEAD "array real general\n4294967296 4294967296\n", TLY_OVERFLOW, "mtx-sizes"},
        {HEAD "coordinate real general\n2 2 2\n1 1 1\n1 1 2\n", TLY_UNSUPPORTED, "mtx-duplicate"},
        {HEAD "coordinate real symmetric\n2 2 2\n2 1 1\n1 2 2\n", TLY_UNSUPPORTED, "mtx-duplicate"},
    };
    tly_context *context = plain_context();
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        blob b = text(cases[i].content);
        tly_import_options options = {.size = sizeof options, .format = TLY_IMPORT_MATRIX_MARKET};
        must_refuse(context, &b, &options, cases[i].status, cases[i].rule);
    }
    {
        blob b = text(HEAD "coordinate real general\n1 1 1\n1 1 ");
        for (int i = 0; i < 1200; i++) {
            blob_text(&b, "0");
        }
        must_refuse(context, &b, NULL, TLY_LIMIT, "mtx-token");
    }
    tly_context_free(context);
}

static void mutations_and_failing_memory(void **state) {
    static const char *const files[] = {
        HEAD "coordinate real general\n% c\n3 4 3\n3 1 2.5\n1 4 -1e-2\n1 2 nan\n",
        HEAD "coordinate complex hermitian\n2 2 2\n2 1 1 2\n2 2 3 0\n",
        HEAD "coordinate pattern symmetric\n3 3 2\n3 1\n3 2\n",
        HEAD "array integer symmetric\n3 3\n1\n2\n3\n4\n5\n6\n",
        "%%MatrixMarket vector coordinate integer general\n9 2\n9 -7\n2 +8",
    };
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        blob b = text(files[i]);
        must_survive_mutations(&b, 40 + i, 4000);
        must_survive_failing_memory(&b);
        blob_free(&b);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(coordinates_are_sorted),       cmocka_unit_test(symmetric_ones_are_whole),
        cmocka_unit_test(arrays_keep_their_order),      cmocka_unit_test(patterns_are_ones),
        cmocka_unit_test(they_go_into_a_container),     cmocka_unit_test(wrong_ones_are_refused),
        cmocka_unit_test(mutations_and_failing_memory),
    };
    return cmocka_run_group_tests_name("import/mtx", tests, NULL, NULL);
}
