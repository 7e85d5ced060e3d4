/* SPDX-License-Identifier: Apache-2.0 */
/* An index of safetensors shards: the shards must be exactly what it says. */
#include "import_test.h"

typedef struct fixture {
    tly_context *context;
    char *folder;
    char *index;
} fixture;

static void put_shard(const fixture *f, const char *name, const char *header, const char *data) {
    blob b = {NULL, 0};
    uint8_t prefix[8];
    tly_base_store_u64(prefix, strlen(header));
    blob_put(&b, prefix, 8);
    blob_text(&b, header);
    blob_text(&b, data);
    write_file(f->folder, name, b.bytes, b.len);
    blob_free(&b);
}

static void setup(fixture *f) {
    f->context = plain_context();
    f->folder = make_folder();
    f->index = path_in(f->folder, "model.safetensors.index.json");
    put_shard(f, "m-1.safetensors",
              "{\"__metadata__\":{\"format\":\"pt\"},"
              "\"a\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,2]},"
              "\"b\":{\"dtype\":\"I8\",\"shape\":[1],\"data_offsets\":[2,3]}}",
              "xyz");
    put_shard(f, "m-2.safetensors",
              "{\"__metadata__\":{\"format\":\"pt\"},"
              "\"c\":{\"dtype\":\"U16\",\"shape\":[],\"data_offsets\":[0,2]}}",
              "hi");
}

static void teardown(fixture *f) {
    free(f->index);
    remove_folder(f->folder);
    tly_context_free(f->context);
}

static tly_status open_index(fixture *f, const char *text, tly_import **out_import,
                             tly_error *error) {
    write_file(f->folder, "model.safetensors.index.json", text, strlen(text));
    return tly_import_open(f->context, f->index, NULL, out_import, error);
}

static void refuse(fixture *f, const char *text, tly_status status, const char *rule) {
    tly_import *import;
    tly_error error;
    CHECK_RULE(open_index(f, text, &import, &error), &error, status, rule);
    assert_null(import);
}

#define TWO "\"a\":\"m-1.safetensors\",\"b\":\"m-1.safetensors\",\"c\":\"m-2.safetensors\""

static void shards_come_together(void **state) {
    fixture f;
    tly_import *import;
    tly_import_tensor info;
    tly_kv kv;
    tly_error error;
    (void)state;
    setup(&f);
    for (int order = 0; order <= 1; order++) {
        CHECK_OK(open_index(&f,
                            order == 0 ? "{\"metadata\":{\"total_size\":5},\"weight_map\":{" TWO
                                         "}}"
                                       : "{ \"weight_map\" : {\"b\":\"m-1.safetensors\","
                                         "\"c\":\"m-2.safetensors\",\"a\":\"m-1.safetensors\"}}\n",
                            &import, &error),
                 &error);
        assert_int_equal(tly_import_format_of(import), TLY_IMPORT_SAFETENSORS);
        assert_int_equal(tly_import_num_tensors(import), 3);
        must_hold(import, "a", TLY_U8, "2", "xy", 2);
        must_hold(import, "b", TLY_I8, "1", "z", 1);
        must_hold(import, "c", TLY_U16, "", "hi", 2);
        assert_int_equal(tly_import_info(import, 2, &info), TLY_OK);
        assert_string_equal(info.file, "m-2.safetensors");
        assert_int_equal(tly_import_num_metadata(import), 1);
        assert_int_equal(tly_import_metadata(import, 0, &kv), TLY_OK);
        assert_string_equal(kv.key, "format");
        tly_import_free(import);
    }
    CHECK_OK(open_index(&f, "{\"weight_map\":{}}", &import, &error), &error);
    assert_int_equal(tly_import_num_tensors(import), 0);
    tly_import_free(import);
    teardown(&f);
}

#define MAP(text) "{\"weight_map\":{" text "}}"

static void the_index_must_be_true(void **state) {
    fixture f;
    (void)state;
    setup(&f);
    /* One too few, one too many, one elsewhere, one twice. */
    refuse(&f, MAP("\"a\":\"m-1.safetensors\",\"c\":\"m-2.safetensors\""), TLY_MALFORMED,
           "shard-map");
    refuse(&f, MAP(TWO ",\"d\":\"m-2.safetensors\""), TLY_MALFORMED, "shard-map");
    refuse(&f, MAP("\"a\":\"m-1.safetensors\",\"b\":\"m-2.safetensors\",\"c\":\"m-2.safetensors\""),
           TLY_MALFORMED, "shard-map");
    refuse(&f, MAP(TWO ",\"a\":\"m-1.safetensors\""), TLY_MALFORMED, "duplicate-name");
    put_shard(&f, "m-3.safetensors",
              "{\"c\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
              "\"d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}",
              "vw");
    refuse(&f, MAP(TWO ",\"d\":\"m-3.safetensors\""), TLY_MALFORMED, "shard-map");
    refuse(&f, "{\"weight_map\":{},\"weight_map\":{}}", TLY_MALFORMED, "duplicate-key");
    refuse(&f, "{\"metadata\":{}}", TLY_MALFORMED, "missing-key");
    refuse(&f, MAP("\"a\":1"), TLY_MALFORMED, "json-syntax");
    refuse(&f, MAP(TWO) "x", TLY_MALFORMED, "json-syntax");
    refuse(&f, MAP("\"a\":\"none.safetensors\""), TLY_NOT_FOUND, "external-missing");
    teardown(&f);
}

static void shards_stay_in_the_folder(void **state) {
    fixture f;
    char *link;
    (void)state;
    setup(&f);
    refuse(&f, MAP("\"a\":\"../m-1.safetensors\""), TLY_MALFORMED, "external-location");
    refuse(&f, MAP("\"a\":\"/etc/passwd\""), TLY_MALFORMED, "external-location");
    refuse(&f, MAP("\"a\":\"\""), TLY_MALFORMED, "external-location");
    link = path_in(f.folder, "link.safetensors");
    assert_int_equal(symlink("m-1.safetensors", link), 0);
    refuse(&f, MAP("\"a\":\"link.safetensors\",\"b\":\"link.safetensors\""), TLY_MALFORMED,
           "external-link");
    free(link);
    teardown(&f);
}

/* A broken shard is named, and the byte is one of the shard. */
static void a_broken_shard_is_named(void **state) {
    fixture f;
    tly_import *import;
    tly_error error;
    (void)state;
    setup(&f);
    put_shard(&f, "m-2.safetensors",
              "{\"c\":{\"dtype\":\"U16\",\"shape\":[],\"data_offsets\":[0,2]}}", "hid");
    CHECK_RULE(open_index(&f, MAP(TWO), &import, &error), &error, TLY_MALFORMED, "trailing-bytes");
    assert_non_null(strstr(error.message, "m-2.safetensors"));
    teardown(&f);
}

static void any_index_is_survived(void **state) {
    static const char text[] = "{\"metadata\":{\"total_size\":5},\"weight_map\":{" TWO "}}";
    fixture f;
    check_rng rng = {21};
    int opened = 0;
    (void)state;
    setup(&f);
    for (int i = 0; i < 1500; i++) {
        char copy[sizeof text];
        size_t len = i % 3 == 0 ? check_below(&rng, sizeof text) : sizeof text - 1;
        tly_import *import = NULL;
        tly_error error;
        memcpy(copy, text, sizeof text);
        if (i % 3 != 0) {
            copy[check_below(&rng, len)] = (char)check_random(&rng);
        }
        write_file(f.folder, "model.safetensors.index.json", copy, len);
        if (tly_import_open(f.context, f.index, NULL, &import, &error) == TLY_OK) {
            assert_true(tly_import_num_tensors(import) == 3);
            opened++;
        }
        tly_import_free(import);
    }
    assert_true(opened < 1000);
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_come_together),      cmocka_unit_test(the_index_must_be_true),
        cmocka_unit_test(shards_stay_in_the_folder), cmocka_unit_test(a_broken_shard_is_named),
        cmocka_unit_test(any_index_is_survived),
    };
    return cmocka_run_group_tests_name("import/shards", tests, NULL, NULL);
}
