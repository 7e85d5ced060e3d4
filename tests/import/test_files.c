/* SPDX-License-Identifier: Apache-2.0 */
/* Importers on files: formats found by content, external data confined to the model's folder, files
 * that change under a reader. */
#include "import_test.h"

#include <fcntl.h>

/* A model with one FLOAT tensor "w" of `num` elements in external data. `offset` and `length` may
 * be NULL. */
static blob external_model(const char *location, const char *offset, const char *length,
                           uint64_t num) {
    const char *pairs[3][2] = {{"location", location}, {"offset", offset}, {"length", length}};
    blob t = {NULL, 0}, g = {NULL, 0}, m = {NULL, 0};
    pb_int(&t, 1, num);
    pb_int(&t, 2, 1);
    pb_text(&t, 8, "w");
    for (int i = 0; i < 3; i++) {
        blob entry = {NULL, 0};
        if (pairs[i][1] != NULL) {
            pb_text(&entry, 1, pairs[i][0]);
            pb_text(&entry, 2, pairs[i][1]);
            pb_message(&t, 13, &entry);
        }
    }
    pb_int(&t, 14, 1);
    pb_message(&g, 5, &t);
    pb_int(&m, 1, 8);
    pb_message(&m, 7, &g);
    return m;
}

typedef struct fixture {
    tly_context *context;
    char *folder;
    char *model;
    uint8_t data[64];
} fixture;

static void setup(fixture *f) {
    f->context = plain_context();
    f->folder = make_folder();
    f->model = path_in(f->folder, "model.onnx");
    for (int i = 0; i < 64; i++) {
        f->data[i] = (uint8_t)(200 - i);
    }
    write_file(f->folder, "w.bin", f->data, 64);
}

static void teardown(fixture *f) {
    free(f->model);
    remove_folder(f->folder);
    tly_context_free(f->context);
}

static void put_model(fixture *f, const char *location, const char *offset, const char *length,
                      uint64_t num) {
    blob m = external_model(location, offset, length, num);
    write_file(f->folder, "model.onnx", m.bytes, m.len);
    blob_free(&m);
}

static void take(fixture *f, const char *location, const char *offset, const char *length,
                 uint64_t num, const char *shape, size_t at, int follow_links) {
    tly_import_options options = {.size = sizeof options, .follow_links = follow_links};
    tly_import *import;
    tly_import_tensor info;
    tly_error error;
    put_model(f, location, offset, length, num);
    CHECK_OK(tly_import_open(f->context, f->model, &options, &import, &error), &error);
    must_hold(import, "w", TLY_F32, shape, f->data + at, num * 4);
    assert_int_equal(tly_import_info(import, 0, &info), TLY_OK);
    assert_string_equal(info.file, location);
    assert_true(info.file_offset == at);
    tly_import_free(import);
}

static void refuse(fixture *f, const char *location, const char *offset, const char *length,
                   uint64_t num, tly_status status, const char *rule) {
    tly_import *import;
    tly_error error;
    put_model(f, location, offset, length, num);
    CHECK_RULE(tly_import_open(f->context, f->model, NULL, &import, &error), &error, status, rule);
    assert_null(import);
}

static void external_data_is_read(void **state) {
    fixture f;
    char *sub;
    (void)state;
    setup(&f);
    sub = path_in(f.folder, "sub");
    assert_int_equal(mkdir(sub, 0700), 0);
    write_file(sub, "x.bin", f.data, 64);
    write_file(f.folder, "..odd", f.data, 64);
    take(&f, "w.bin", NULL, NULL, 16, "16", 0, 0);
    take(&f, "w.bin", "7", "12", 3, "3", 7, 0);
    take(&f, "w.bin", "60", NULL, 1, "1", 60, 0);
    take(&f, "w.bin", "64", "0", 0, "0", 64, 0);
    take(&f, "sub/x.bin", "0", "64", 16, "16", 0, 0);
    take(&f, "./sub//x.bin", "0", "64", 16, "16", 0, 0);
    take(&f, "..odd", NULL, NULL, 16, "16", 0, 0);
    free(sub);
    teardown(&f);
}

static void ranges_of_external_data_are_checked(void **state) {
    fixture f;
    (void)state;
    setup(&f);
    refuse(&f, "w.bin", NULL, NULL, 17, TLY_TRUNCATED, "external-range");
    refuse(&f, "w.bin", "61", NULL, 1, TLY_TRUNCATED, "external-range");
    refuse(&f, "w.bin", "4294967296", NULL, 1, TLY_TRUNCATED, "external-range");
    refuse(&f, "w.bin", "18446744073709551612", "4", 1, TLY_OVERFLOW, "external-range");
    refuse(&f, "w.bin", "18446744073709551616", "4", 1, TLY_MALFORMED, "external-number");
    refuse(&f, "w.bin", "-1", "4", 1, TLY_MALFORMED, "external-number");
    refuse(&f, "w.bin", " 1", "4", 1, TLY_MALFORMED, "external-number");
    refuse(&f, "w.bin", "", "4", 1, TLY_MALFORMED, "external-number");
    refuse(&f, "w.bin", "0x4", "4", 1, TLY_MALFORMED, "external-number");
    refuse(&f, "w.bin", "0", "5", 1, TLY_MALFORMED, "data-len");
    refuse(&f, "w.bin", "0", "4294967300", 1, TLY_MALFORMED, "data-len");
    refuse(&f, "nowhere.bin", NULL, NULL, 1, TLY_NOT_FOUND, "external-missing");
    refuse(&f, NULL, "0", "4", 1, TLY_MALFORMED, "external-location");
    teardown(&f);
}

static void external_data_stays_in_the_folder(void **state) {
    static const char *const outside[] = {
        "../w.bin", "/etc/passwd", "a/../../w.bin", "sub/../w.bin", "..",
        "",         "/",           "sub/..",        "w.bin/",       "//w.bin"};
    fixture f;
    char *sub, *link;
    int at;
    (void)state;
    setup(&f);
    sub = path_in(f.folder, "sub");
    assert_int_equal(mkdir(sub, 0700), 0);
    write_file(sub, "x.bin", f.data, 64);
    for (size_t i = 0; i < sizeof outside / sizeof outside[0]; i++) {
        refuse(&f, outside[i], NULL, NULL, 1, TLY_MALFORMED, "external-location");
    }
    /* Links: of the file, of a folder on the way, and one that stays inside. All lead somewhere
     * else in principle. */
    at = open(f.folder, O_RDONLY | O_DIRECTORY);
    assert_true(at >= 0);
    assert_int_equal(symlinkat("/etc/passwd", at, "away.bin"), 0);
    assert_int_equal(symlinkat("w.bin", at, "inside.bin"), 0);
    assert_int_equal(symlinkat("sub", at, "link"), 0);
    assert_int_equal(linkat(at, "sub/x.bin", at, "hard.bin", 0), 0);
    refuse(&f, "away.bin", NULL, NULL, 1, TLY_MALFORMED, "external-link");
    refuse(&f, "inside.bin", NULL, NULL, 1, TLY_MALFORMED, "external-link");
    refuse(&f, "link/x.bin", NULL, NULL, 1, TLY_MALFORMED, "external-link");
    refuse(&f, "hard.bin", NULL, NULL, 1, TLY_MALFORMED, "external-link");
    take(&f, "inside.bin", NULL, NULL, 16, "16", 0, 1);
    take(&f, "link/x.bin", NULL, NULL, 16, "16", 0, 1);
    take(&f, "hard.bin", NULL, NULL, 16, "16", 0, 1);
    /* No regular files. */
    refuse(&f, "sub", NULL, NULL, 1, TLY_INVALID_ARGUMENT, "regular-file");
    assert_int_equal(mkfifoat(at, "pipe", 0600), 0);
    refuse(&f, "pipe", NULL, NULL, 1, TLY_INVALID_ARGUMENT, "regular-file");
    close(at);
    /* A model that is itself a link has the folder that its path names. */
    link = path_in(sub, "model.onnx");
    put_model(&f, "w.bin", NULL, NULL, 16);
    assert_int_equal(symlink(f.model, link), 0);
    {
        tly_import *import;
        tly_error error;
        CHECK_RULE(tly_import_open(f.context, link, NULL, &import, &error), &error, TLY_NOT_FOUND,
                   "external-missing");
    }
    free(link);
    free(sub);
    teardown(&f);
}

static void memory_has_no_folder(void **state) {
    tly_context *context = plain_context();
    blob m = external_model("w.bin", NULL, NULL, 1);
    (void)state;
    must_refuse(context, &m, NULL, TLY_UNSUPPORTED, "external-folder");
    tly_context_free(context);
}

static void files_of_external_data_are_counted(void **state) {
    fixture f;
    tly_import_options options = {.size = sizeof options, .num_files = 2};
    tly_import *import;
    tly_error error;
    (void)state;
    setup(&f);
    for (int num = 2; num <= 3; num++) {
        blob g = {NULL, 0}, m = {NULL, 0};
        for (int i = 0; i < num; i++) {
            char name[16];
            blob t = {NULL, 0}, entry = {NULL, 0};
            snprintf(name, sizeof name, "w%d.bin", i);
            write_file(f.folder, name, f.data, 4);
            pb_int(&t, 2, 1);
            pb_text(&t, 8, name);
            pb_text(&entry, 1, "location");
            pb_text(&entry, 2, name);
            pb_message(&t, 13, &entry);
            pb_int(&t, 14, 1);
            pb_message(&g, 5, &t);
        }
        pb_int(&m, 1, 8);
        pb_message(&m, 7, &g);
        write_file(f.folder, "model.onnx", m.bytes, m.len);
        blob_free(&m);
        if (num == 2) {
            CHECK_OK(tly_import_open(f.context, f.model, &options, &import, &error), &error);
            must_hold(import, "w1.bin", TLY_F32, "", f.data, 4);
            tly_import_free(import);
        } else {
            CHECK_RULE(tly_import_open(f.context, f.model, &options, &import, &error), &error,
                       TLY_LIMIT, "num-files");
        }
    }
    teardown(&f);
}

static void formats_are_found_by_content(void **state) {
    static const struct {
        const char *bytes;
        size_t len;
        tly_status status;
        const char *word; /* in the message */
    } cases[] = {
        {"", 0, TLY_TRUNCATED, "empty"},
        {"tjggaaaa", 8, TLY_UNSUPPORTED, "ggml"},
        {"HRRYFILE", 8, TLY_UNSUPPORTED, "container"},
        {"\x89HDF\r\n\x1A\n", 8, TLY_UNSUPPORTED, "HDF5"},
        {"ARROW1\0\0", 8, TLY_UNSUPPORTED, "Arrow"},
        {"\x80\x02}q\x01.", 6, TLY_UNSUPPORTED, "pickle"},
        {"hello, world\n", 13, TLY_UNSUPPORTED, "hello, world"},
        {"\0", 1, TLY_UNSUPPORTED, "\\x00"},
    };
    fixture f;
    tly_import *import;
    tly_error error;
    (void)state;
    setup(&f);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file(f.folder, "model.onnx", cases[i].bytes, cases[i].len);
        CHECK_RULE(tly_import_open(f.context, f.model, NULL, &import, &error), &error,
                   cases[i].status, "format");
        if (strstr(error.message, cases[i].word) == NULL) {
            fail_msg("\"%s\" does not say \"%s\"", error.message, cases[i].word);
        }
    }
    /* The right content under the wrong name. */
    write_file(f.folder, "model.onnx", "\2\0\0\0\0\0\0\0{}", 10);
    CHECK_OK(tly_import_open(f.context, f.model, NULL, &import, &error), &error);
    assert_int_equal(tly_import_format_of(import), TLY_IMPORT_SAFETENSORS);
    assert_string_equal(tly_import_format_name(tly_import_format_of(import)), "safetensors");
    tly_import_free(import);
    assert_string_equal(tly_import_format_name(99), "?");
    assert_string_equal(tly_import_format_name(0), "?");
    teardown(&f);
}

static void what_is_no_file_is_refused(void **state) {
    fixture f;
    tly_import *import;
    tly_error error;
    char *path;
    (void)state;
    setup(&f);
    CHECK_RULE(tly_import_open(f.context, f.folder, NULL, &import, &error), &error,
               TLY_INVALID_ARGUMENT, "regular-file");
    path = path_in(f.folder, "missing.npy");
    CHECK_RULE(tly_import_open(f.context, path, NULL, &import, &error), &error, TLY_NOT_FOUND, "");
    assert_non_null(strstr(error.message, "missing.npy"));
    assert_int_equal(mkfifo(path, 0600), 0);
    CHECK_RULE(tly_import_open(f.context, path, NULL, &import, &error), &error,
               TLY_INVALID_ARGUMENT, "regular-file");
    assert_int_equal(tly_import_open(NULL, path, NULL, &import, &error), TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_import_open(f.context, NULL, NULL, &import, NULL), TLY_INVALID_ARGUMENT);
    tly_import_free(NULL);
    free(path);
    teardown(&f);
}

/* Models larger than the window through which they are read: fields and values lie across its
 * edges. */
static void large_models_are_read_through_a_window(void **state) {
    enum { NUM_TENSORS = 400, NUM_VALUES = 50000 };
    fixture f;
    tly_import *import;
    tly_error error;
    blob g = {NULL, 0}, m = {NULL, 0};
    uint8_t *wanted = malloc(8 * NUM_VALUES);
    check_rng rng = {5};
    (void)state;
    setup(&f);
    g.bytes = malloc(1 << 22);
    for (int i = 0; i < NUM_TENSORS; i++) {
        blob t = {NULL, 0};
        char name[16];
        uint8_t data[997];
        size_t len = check_below(&rng, sizeof data);
        memset(data, i & 0xFF, sizeof data);
        snprintf(name, sizeof name, "t%d", i);
        pb_int(&t, 1, len);
        pb_int(&t, 2, 2);
        pb_text(&t, 8, name);
        pb_bytes(&t, 9, data, len);
        pb_message(&g, 5, &t);
    }
    for (int kind = 0; kind < 3; kind++) {
        blob t = {NULL, 0}, values = {NULL, 0};
        values.bytes = malloc(1 << 20);
        for (int i = 0; i < NUM_VALUES; i++) {
            uint64_t value = check_random(&rng) >> check_below(&rng, 64);
            if (kind == 0) {
                uint8_t byte[10];
                size_t n = 0;
                tly_base_store_u64(wanted + 8 * i, value);
                for (; value > 0x7F; value >>= 7) {
                    byte[n++] = (uint8_t)(value | 0x80);
                }
                byte[n++] = (uint8_t)value;
                memcpy(values.bytes + values.len, byte, n);
                values.len += n;
            } else {
                size_t n = kind == 1 ? 4 : 8;
                uint8_t bytes[8];
                tly_base_store_u64(bytes, value);
                memcpy(values.bytes + values.len, bytes, n);
                values.len += n;
            }
        }
        pb_int(&t, 1, NUM_VALUES);
        pb_int(&t, 2, kind == 0 ? 13 : kind == 1 ? 1 : 11);
        pb_text(&t, 8, kind == 0 ? "varints" : kind == 1 ? "floats" : "doubles");
        pb_bytes(&t, kind == 0 ? 11 : kind == 1 ? 4 : 10, values.bytes, values.len);
        pb_message(&g, 5, &t);
        blob_free(&m);
        pb_int(&m, 1, 8);
        pb_bytes(&m, 7, g.bytes, g.len);
        write_file(f.folder, "model.onnx", m.bytes, m.len);
        CHECK_OK(tly_import_open(f.context, f.model, NULL, &import, &error), &error);
        must_hold(import,
                  kind == 0   ? "varints"
                  : kind == 1 ? "floats"
                              : "doubles",
                  kind == 0   ? TLY_U64
                  : kind == 1 ? TLY_F32
                              : TLY_F64,
                  "50000", kind == 0 ? wanted : values.bytes,
                  kind == 0 ? 8 * NUM_VALUES : values.len);
        for (uint64_t i = 0; i < NUM_TENSORS; i++) {
            tly_import_tensor info;
            uint8_t data[997];
            assert_int_equal(tly_import_info(import, i, &info), TLY_OK);
            CHECK_OK(tly_import_read(import, i, data, info.byte_len, &error), &error);
            for (uint64_t k = 0; k < info.byte_len; k++) {
                assert_int_equal(data[k], i & 0xFF);
            }
        }
        tly_import_free(import);
        blob_free(&values);
    }
    blob_free(&g);
    blob_free(&m);
    free(wanted);
    teardown(&f);
}

/* A file that is cut while it is open gives an error, not a crash. */
static void a_file_that_shrinks_is_an_error(void **state) {
    fixture f;
    tly_import *import;
    tly_error error;
    uint8_t got[64];
    char *data;
    (void)state;
    setup(&f);
    data = path_in(f.folder, "w.bin");
    put_model(&f, "w.bin", NULL, NULL, 16);
    CHECK_OK(tly_import_open(f.context, f.model, NULL, &import, &error), &error);
    assert_int_equal(truncate(data, 10), 0);
    CHECK_RULE(tly_import_read(import, 0, got, 64, &error), &error, TLY_TRUNCATED, "file-shrunk");
    {
        uint64_t total = 0;
        CHECK_RULE(tly_import_stream(import, 0, count_piece, &total, &error), &error, TLY_TRUNCATED,
                   "file-shrunk");
    }
    tly_import_free(import);
    free(data);
    teardown(&f);
}

static tly_status stop(void *user, const void *bytes, size_t len, tly_error *error) {
    (void)user;
    (void)bytes;
    (void)len;
    (void)error;
    return TLY_CANCELLED;
}

static void a_sink_can_stop(void **state) {
    fixture f;
    tly_import *import;
    tly_error error;
    (void)state;
    setup(&f);
    put_model(&f, "w.bin", NULL, NULL, 16);
    CHECK_OK(tly_import_open(f.context, f.model, NULL, &import, &error), &error);
    assert_int_equal(tly_import_stream(import, 0, stop, NULL, &error), TLY_CANCELLED);
    assert_int_equal(tly_import_stream(import, 1, stop, NULL, &error), TLY_NOT_FOUND);
    tly_import_free(import);
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(external_data_is_read),
        cmocka_unit_test(ranges_of_external_data_are_checked),
        cmocka_unit_test(external_data_stays_in_the_folder),
        cmocka_unit_test(memory_has_no_folder),
        cmocka_unit_test(files_of_external_data_are_counted),
        cmocka_unit_test(formats_are_found_by_content),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(large_models_are_read_through_a_window),
        cmocka_unit_test(a_file_that_shrinks_is_an_error),
        cmocka_unit_test(a_sink_can_stop),
    };
    return cmocka_run_group_tests_name("import/files", tests, NULL, NULL);
}
