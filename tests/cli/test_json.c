/* SPDX-License-Identifier: Apache-2.0 */
/* What the writer makes is read back with an independent reader. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "cli/json.h"

static void everything_reads_back(void **state) {
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    tly_json json;
    json_t *root, *list;
    json_error_t why;
    (void)state;
    assert_non_null(out);
    tly_json_init(&json, out);
    tly_json_object(&json, NULL);
    tly_json_string(&json, "plain \"key\"\n", "tab\t quote\" back\\ \x01 \xC3\xA9");
    tly_json_string(&json, "latin", "caf\xE9");
    tly_json_u64(&json, "u64", UINT64_C(9007199254740993));
    tly_json_i64(&json, "i64", -5);
    tly_json_number(&json, "third", 1.0 / 3);
    tly_json_number(&json, "nan", NAN);
    tly_json_bool(&json, "yes", 1);
    tly_json_array(&json, "empty");
    tly_json_end_array(&json);
    tly_json_array(&json, "list");
    tly_json_u64(&json, NULL, 1);
    tly_json_object(&json, NULL);
    tly_json_end_object(&json);
    tly_json_string_len(&json, NULL, "ab\0c", 4);
    tly_json_end_array(&json);
    tly_json_end_object(&json);
    tly_json_finish(&json);
    fclose(out);

    root = json_loads(text, JSON_ALLOW_NUL, &why);
    assert_non_null(root);
    assert_string_equal(json_string_value(json_object_get(root, "plain \"key\"\n")),
                        "tab\t quote\" back\\ \x01 \xC3\xA9");
    assert_string_equal(json_string_value(json_object_get(root, "latin")), "caf\xC3\xA9");
    assert_true(json_integer_value(json_object_get(root, "u64")) == INT64_C(9007199254740993));
    assert_int_equal(json_integer_value(json_object_get(root, "i64")), -5);
    assert_true(fabs(json_real_value(json_object_get(root, "third")) - 1.0 / 3) < 1e-9);
    assert_true(json_is_null(json_object_get(root, "nan")));
    assert_true(json_is_true(json_object_get(root, "yes")));
    assert_int_equal(json_array_size(json_object_get(root, "empty")), 0);
    list = json_object_get(root, "list");
    assert_int_equal(json_array_size(list), 3);
    assert_int_equal(json_string_length(json_array_get(list, 2)), 4);
    assert_true(text[len - 1] == '\n');
    json_decref(root);
    free(text);
}

static void lines_and_rows(void **state) {
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    tly_json json;
    (void)state;
    assert_non_null(out);
    tly_json_init_line(&json, out);
    tly_json_object(&json, NULL);
    tly_json_u64(&json, "a", 1);
    tly_json_row(&json, "b");
    tly_json_u64(&json, NULL, 1);
    tly_json_u64(&json, NULL, 2);
    tly_json_end_array(&json);
    tly_json_end_object(&json);
    tly_json_finish(&json);
    tly_json_init(&json, out);
    tly_json_object(&json, NULL);
    tly_json_row(&json, "b");
    tly_json_u64(&json, NULL, 1);
    tly_json_u64(&json, NULL, 2);
    tly_json_end_array(&json);
    tly_json_u64(&json, "c", 3);
    tly_json_end_object(&json);
    tly_json_finish(&json);
    fclose(out);
    assert_string_equal(text, "{\"a\": 1, \"b\": [1, 2]}\n{\n  \"b\": [1, 2],\n  \"c\": 3\n}\n");
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(everything_reads_back),
                                       cmocka_unit_test(lines_and_rows)};
    return cmocka_run_group_tests_name("cli/json", tests, NULL, NULL);
}
