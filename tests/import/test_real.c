/* SPDX-License-Identifier: Apache-2.0 */
/* Files written by other people's software: the folder real/ of TILERY_SHARED, described by its
 * manifest, and whole models. Skipped, loudly, where they are missing. */
#include "import_test.h"
#include "walk.h"

#include <tilery/store.h>

#include "base/arena.h"
#include "store/import/json.h"

typedef struct found {
    char file[256];
    char expect[64];
    uint64_t tensors_at; /* offset in the manifest of the list of tensors; 0: there is none */
} found;

typedef struct manifest {
    char folder[4096];
    blob text;
    found *files;
    size_t num;
    tly_context *context;
    tly_arena arena;
} manifest;

static blob load_path(const char *path) {
    blob b = {NULL, 0};
    char piece[65536];
    size_t got;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return b;
    }
    while ((got = fread(piece, 1, sizeof piece, file)) > 0) {
        blob_put(&b, piece, got);
    }
    fclose(file);
    return b;
}

#define MUST(call) assert_int_equal((call), TLY_OK)

static void copy_string(tly_import_json *json, char *out, size_t capacity) {
    tly_import_json_string s;
    MUST(tly_import_json_read_string(json, &s));
    assert_true(s.len < capacity);
    memcpy(out, s.text, s.len);
    out[s.len] = '\0';
}

static void read_manifest(manifest *m) {
    tly_import_json json;
    int first = 1, more;
    tly_import_json_init(&json, m->text.bytes, m->text.len, 0, 16, &m->arena, NULL);
    MUST(tly_import_json_enter(&json, '['));
    for (;;) {
        found f = {.tensors_at = 0};
        int first_key = 1;
        MUST(tly_import_json_next(&json, '[', &first, &more));
        if (!more) {
            break;
        }
        MUST(tly_import_json_enter(&json, '{'));
        for (;;) {
            tly_import_json_string key;
            MUST(tly_import_json_next(&json, '{', &first_key, &more));
            if (!more) {
                break;
            }
            MUST(tly_import_json_key(&json, &key));
            if (tly_import_json_is(&key, "file")) {
                copy_string(&json, f.file, sizeof f.file);
            } else if (tly_import_json_is(&key, "expect")) {
                copy_string(&json, f.expect, sizeof f.expect);
            } else {
                if (tly_import_json_is(&key, "tensors")) {
                    uint64_t at = tly_import_json_offset(&json);
                    f.tensors_at = m->text.bytes[at] == '[' ? at : 0;
                }
                MUST(tly_import_json_skip(&json));
            }
        }
        m->files = realloc(m->files, (m->num + 1) * sizeof f);
        m->files[m->num++] = f;
    }
}

static int setup(void **state) {
    static manifest m;
    const char *shared = getenv("TILERY_SHARED");
    const char *root = getenv("TILERY_ROOT");
    char path[4200];
    memset(&m, 0, sizeof m);
    if (shared != NULL) {
        snprintf(m.folder, sizeof m.folder, "%s/real", shared);
    } else {
        snprintf(m.folder, sizeof m.folder, "%s/../shared/real", root != NULL ? root : ".");
    }
    snprintf(path, sizeof path, "%s/manifest.json", m.folder);
    m.context = plain_context();
    tly_arena_init(&m.arena, m.context);
    m.text = load_path(path);
    if (m.text.bytes != NULL) {
        read_manifest(&m);
    }
    *state = &m;
    return 0;
}

static int teardown(void **state) {
    manifest *m = *state;
    tly_arena_cleanup(&m->arena);
    blob_free(&m->text);
    free(m->files);
    tly_context_free(m->context);
    return 0;
}

static void need_files(const manifest *m) {
    if (m->num == 0) {
        print_message("# skip: no real files in %s; set TILERY_SHARED\n", m->folder);
        skip();
    }
}

static int is_in(const found *f, const char *folder) {
    size_t len = strlen(folder);
    return strncmp(f->file, folder, len) == 0 && f->file[len] == '/';
}

static int ends_with(const char *text, const char *end) {
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static tly_status open_file(const manifest *m, const found *f, int32_t format,
                            tly_import **out_import, tly_error *error) {
    tly_import_options options = {.size = sizeof options, .format = format};
    char *path = path_in(m->folder, f->file);
    tly_status status = tly_import_open(m->context, path, &options, out_import, error);
    free(path);
    return status;
}

/* Everything can be read, in pieces and as a whole, on disk as in memory. */
static void read_all(const tly_import *import) {
    tly_error error;
    for (uint64_t i = 0; i < tly_import_num_tensors(import); i++) {
        tly_import_tensor info;
        uint64_t total = 0;
        assert_int_equal(tly_import_info(import, i, &info), TLY_OK);
        CHECK_OK(tly_import_stream(import, i, count_piece, &total, &error), &error);
        assert_true(total == info.byte_len);
    }
}

/* The manifest's own list, decoded by another reader. */
static void check_tensors(const manifest *m, const found *f, const tly_import *import) {
    tly_import_json json;
    int first = 1, more;
    uint64_t num = 0, data_start;
    char *path = path_in(m->folder, f->file);
    blob file = load_path(path);
    free(path);
    data_start = 8 + tly_base_load_u64(file.bytes);
    tly_import_json_init(&json, m->text.bytes + f->tensors_at, m->text.len - f->tensors_at, 0, 16,
                         (tly_arena *)(uintptr_t)&m->arena, NULL);
    MUST(tly_import_json_enter(&json, '['));
    for (;;) {
        char name[256] = "", dtype[16] = "", shape[128] = "";
        uint64_t offsets[2] = {0, 0};
        size_t used = 0;
        int first_key = 1;
        MUST(tly_import_json_next(&json, '[', &first, &more));
        if (!more) {
            break;
        }
        num++;
        MUST(tly_import_json_enter(&json, '{'));
        for (;;) {
            tly_import_json_string key;
            int first_item = 1, nth = 0;
            MUST(tly_import_json_next(&json, '{', &first_key, &more));
            if (!more) {
                break;
            }
            MUST(tly_import_json_key(&json, &key));
            if (tly_import_json_is(&key, "name")) {
                copy_string(&json, name, sizeof name);
                continue;
            }
            if (tly_import_json_is(&key, "dtype")) {
                copy_string(&json, dtype, sizeof dtype);
                continue;
            }
            MUST(tly_import_json_enter(&json, '['));
            for (;;) {
                uint64_t value;
                MUST(tly_import_json_next(&json, '[', &first_item, &more));
                if (!more) {
                    break;
                }
                MUST(tly_import_json_read_u64(&json, &value));
                if (tly_import_json_is(&key, "shape")) {
                    used += (size_t)snprintf(shape + used, sizeof shape - used, "%s%llu",
                                             nth != 0 ? "," : "", (unsigned long long)value);
                } else {
                    offsets[nth] = value;
                }
                nth++;
            }
        }
        {
            static const struct {
                const char *name;
                tly_dtype dtype;
            } types[] = {{"F32", TLY_F32},       {"F16", TLY_F16},   {"BF16", TLY_BF16},
                         {"I64", TLY_I64},       {"I32", TLY_I32},   {"I16", TLY_I16},
                         {"I8", TLY_I8},         {"U8", TLY_U8},     {"U16", TLY_U16},
                         {"U32", TLY_U32},       {"U64", TLY_U64},   {"F64", TLY_F64},
                         {"C64", TLY_C64},       {"BOOL", TLY_BOOL}, {"F8_E4M3", TLY_F8E4M3},
                         {"F8_E5M2", TLY_F8E5M2}};
            tly_dtype wanted = 0;
            for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
                wanted = strcmp(types[i].name, dtype) == 0 ? types[i].dtype : wanted;
            }
            assert_int_not_equal(wanted, 0);
            if (wanted != TLY_BOOL) {
                must_hold(import, name, wanted, shape, file.bytes + data_start + offsets[0],
                          offsets[1] - offsets[0]);
            }
        }
    }
    assert_int_equal(tly_import_num_tensors(import), num);
    blob_free(&file);
}

static void safetensors_files(void **state) {
    const manifest *m = *state;
    int valid = 0, refused = 0;
    need_files(m);
    for (size_t i = 0; i < m->num; i++) {
        const found *f = &m->files[i];
        tly_import *import;
        tly_error error;
        tly_status status;
        if (!(is_in(f, "safetensors") || is_in(f, "safetensors_inline")) ||
            !ends_with(f->file, ".safetensors")) {
            continue;
        }
        status = open_file(m, f, TLY_IMPORT_AUTO, &import, &error);
        if (strcmp(f->expect, "valid") == 0) {
            if (status != TLY_OK) {
                fail_msg("%s: %s", f->file, error.message);
            }
            assert_int_equal(tly_import_format_of(import), TLY_IMPORT_SAFETENSORS);
            read_all(import);
            if (f->tensors_at != 0) {
                check_tensors(m, f, import);
            }
            tly_import_free(import);
            valid++;
        } else {
            /* Files that must be rejected; the abuse attempt; and white space before the brace,
             * which the format forbids, whatever one reader does. */
            if (status == TLY_OK) {
                fail_msg("%s is taken", f->file);
            }
            assert_true(error.rule[0] != '\0');
            refused++;
        }
    }
    print_message("# safetensors: %d valid, %d refused\n", valid, refused);
    assert_true(valid >= 20 && refused >= 8);
}

/* A second reader of npy: the data are the last bytes of the file, and the header says their order.
 */
static void check_npy(const manifest *m, const found *f, const tly_import *import) {
    char *path = path_in(m->folder, f->file);
    blob file = load_path(path);
    const char *descr = strstr((const char *)file.bytes + 10, "'descr': '") + 10;
    size_t unit = (size_t)strtoul(descr + 2, NULL, 10) / (descr[1] == 'c' ? 2 : 1);
    tly_import_tensor info;
    tly_error error;
    uint8_t *got, *wanted;
    free(path);
    assert_int_equal(tly_import_num_tensors(import), 1);
    assert_int_equal(tly_import_info(import, 0, &info), TLY_OK);
    assert_int_equal(info.layout == TLY_LAYOUT_COL_MAJOR,
                     strstr((const char *)file.bytes + 10, "'fortran_order': True") != NULL &&
                         info.rank > 1);
    got = malloc(info.byte_len + 1);
    wanted = calloc(1, info.byte_len + 1);
    CHECK_OK(tly_import_read(import, 0, got, info.byte_len, &error), &error);
    if (descr[1] == 'b') {
        size_t count = 1;
        for (uint32_t axis = 0; axis < info.rank; axis++) {
            count *= info.shape[axis];
        }
        for (size_t i = 0; i < count; i++) {
            wanted[i / 8] |= (uint8_t)(file.bytes[file.len - count + i] << i % 8);
        }
    } else {
        for (size_t i = 0; i < info.byte_len; i++) {
            size_t from = descr[0] == '>' ? i / unit * unit + unit - 1 - i % unit : i;
            wanted[i] = file.bytes[file.len - info.byte_len + from];
        }
    }
    assert_memory_equal(got, wanted, info.byte_len);
    free(got);
    free(wanted);
    blob_free(&file);
}

static void npy_files(void **state) {
    const manifest *m = *state;
    int valid = 0, refused = 0;
    need_files(m);
    for (size_t i = 0; i < m->num; i++) {
        const found *f = &m->files[i];
        tly_import *import;
        tly_error error;
        tly_status status;
        if (!is_in(f, "npy")) {
            continue;
        }
        status = open_file(m, f, TLY_IMPORT_AUTO, &import, &error);
        /* Text is valid npy, but no tensor of numbers. */
        if (strcmp(f->expect, "valid") == 0 && strstr(f->file, "unicode") == NULL) {
            if (status != TLY_OK) {
                fail_msg("%s: %s", f->file, error.message);
            }
            check_npy(m, f, import);
            tly_import_free(import);
            valid++;
        } else {
            assert_int_equal(status, TLY_UNSUPPORTED);
            assert_string_equal(error.rule, "dtype");
            refused++;
        }
    }
    print_message("# npy: %d valid, %d refused\n", valid, refused);
    assert_true(valid >= 10 && refused >= 5);
}

static void onnx_files(void **state) {
    const manifest *m = *state;
    int models = 0, tensors = 0, refused = 0;
    need_files(m);
    for (size_t i = 0; i < m->num; i++) {
        const found *f = &m->files[i];
        tly_import *import;
        tly_error error;
        tly_status status;
        char *path;
        blob file;
        if (!(is_in(f, "onnx") || is_in(f, "onnx_nodetests")) || ends_with(f->file, ".bin")) {
            continue;
        }
        status = open_file(m, f, TLY_IMPORT_AUTO, &import, &error);
        if (status != TLY_OK) {
            /* Strings, and a model whose data were not kept. */
            if (strcmp(error.rule, strstr(f->file, "multi_external") != NULL ? "external-missing"
                                                                             : "dtype") != 0 ||
                (strstr(f->file, "multi_external") == NULL && strstr(f->file, "STRING") == NULL)) {
                fail_msg("%s: %s (%s)", f->file, error.message, error.rule);
            }
            refused++;
            continue;
        }
        assert_int_equal(tly_import_format_of(import), TLY_IMPORT_ONNX);
        read_all(import);
        path = path_in(m->folder, f->file);
        file = load_path(path);
        if (ends_with(f->file, ".pb")) {
            /* The model is the tensor: wrap it in a graph for the walk. */
            blob g = {NULL, 0}, wrapped = {NULL, 0};
            pb_message(&g, 5, &file);
            pb_message(&wrapped, 7, &g);
            walk_compare(import, &wrapped, m->folder);
            blob_free(&wrapped);
            tensors++;
        } else {
            *strrchr(path, '/') = '\0';
            walk_compare(import, &file, path);
            blob_free(&file);
            models++;
        }
        free(path);
        tly_import_free(import);
    }
    print_message("# onnx: %d models, %d single tensors, %d refused\n", models, tensors, refused);
    assert_true(models >= 12 && tensors >= 9 && refused >= 1);
}

static void gguf_files(void **state) {
    const manifest *m = *state;
    int seen = 0;
    need_files(m);
    for (size_t i = 0; i < m->num; i++) {
        const found *f = &m->files[i];
        tly_import *import;
        tly_error error;
        tly_kv kv;
        if (!is_in(f, "gguf")) {
            continue;
        }
        if (open_file(m, f, TLY_IMPORT_AUTO, &import, &error) != TLY_OK) {
            fail_msg("%s: %s", f->file, error.message);
        }
        assert_int_equal(tly_import_format_of(import), TLY_IMPORT_GGUF);
        read_all(import);
        if (strstr(f->file, "test-le-v3") != NULL) {
            char *path = path_in(m->folder, f->file);
            blob file = load_path(path);
            const uint8_t *data = file.bytes + file.len - 768; /* 32, 64 and 96 floats */
            assert_int_equal(tly_import_num_tensors(import), 3);
            must_hold(import, "tensor1", TLY_F32, "32", data, 128);
            must_hold(import, "tensor2", TLY_F32, "64", data + 128, 256);
            must_hold(import, "tensor3", TLY_F32, "96", data + 384, 384);
            assert_int_equal(tly_import_metadata(import, 2, &kv), TLY_OK);
            assert_string_equal(kv.key, "answer");
            assert_true(kv.type == TLY_KV_U64 && kv.number == 42);
            blob_free(&file);
            free(path);
        } else if (strstr(f->file, "poc_zero_dim") != NULL) {
            must_hold(import, "t", TLY_F32, "0,1", "", 0);
        } else {
            /* A vocabulary: no tensors, but tens of thousands of words. */
            uint32_t most = 0;
            assert_int_equal(tly_import_num_tensors(import), 0);
            for (uint64_t k = 0; tly_import_metadata(import, k, &kv) == TLY_OK; k++) {
                most = kv.count > most ? kv.count : most;
            }
            assert_true(most > 30000);
        }
        tly_import_free(import);
        seen++;
    }
    print_message("# gguf: %d files\n", seen);
    assert_true(seen >= 6);
}

/* Files of formats that are not imported: refused as what they are. */
/* npz and Matrix Market: what is valid can be read, but for matrices with two entries at one place;
 * what is not is refused. */
static void npz_and_mtx_files(void **state) {
    const manifest *m = *state;
    int valid = 0, refused = 0;
    need_files(m);
    for (size_t i = 0; i < m->num; i++) {
        const found *f = &m->files[i];
        tly_import *import;
        tly_error error;
        tly_status status;
        if (!is_in(f, "npz") && !(is_in(f, "mtx") && ends_with(f->file, ".mtx"))) {
            continue;
        }
        status = open_file(m, f, TLY_IMPORT_AUTO, &import, &error);
        if (status == TLY_OK) {
            read_all(import);
            tly_import_free(import);
            assert_true(strcmp(f->expect, "must be rejected") != 0);
            valid++;
        } else {
            if (strcmp(f->expect, "valid") == 0 && strcmp(error.rule, "mtx-duplicate") != 0) {
                fail_msg("%s: %s", f->file, error.message);
            }
            refused++;
        }
    }
    assert_int_equal(valid, 14);
    assert_int_equal(refused, 14);
}

static void other_files_are_named(void **state) {
    const manifest *m = *state;
    int seen = 0;
    need_files(m);
    for (size_t i = 0; i < m->num; i++) {
        const found *f = &m->files[i];
        tly_import *import;
        tly_error error;
        if (is_in(f, "safetensors") || is_in(f, "safetensors_inline") || is_in(f, "npy") ||
            is_in(f, "onnx") || is_in(f, "onnx_nodetests") || is_in(f, "gguf") || is_in(f, "npz") ||
            (is_in(f, "mtx") && !ends_with(f->file, ".gz"))) {
            continue;
        }
        if (open_file(m, f, TLY_IMPORT_AUTO, &import, &error) == TLY_OK) {
            fail_msg("%s is taken as %s", f->file,
                     tly_import_format_name(tly_import_format_of(import)));
        }
        assert_string_equal(error.rule, "format");
        seen++;
    }
    assert_true(seen > 20);
}

/* Every file under every importer, and cut short at many places: an error or a tensor, never more.
 */
static void no_file_does_harm(void **state) {
    const manifest *m = *state;
    need_files(m);
    for (size_t i = 0; i < m->num; i++) {
        const found *f = &m->files[i];
        char *path = path_in(m->folder, f->file);
        blob file = load_path(path);
        check_rng rng = {i};
        free(path);
        if (file.bytes == NULL || file.len > 30000) {
            blob_free(&file);
            continue;
        }
        for (int32_t format = TLY_IMPORT_ONNX; format <= TLY_IMPORT_NPZ; format++) {
            tly_import_options options = skipping();
            options.format = format;
            for (int k = 0; k < 60; k++) {
                size_t len = k == 0 ? file.len : check_below(&rng, file.len + 1);
                uint8_t *copy = malloc(len + 1);
                memcpy(copy, file.bytes, len);
                if (k % 2 != 0 && len != 0) {
                    copy[check_below(&rng, len)] ^= (uint8_t)check_random(&rng);
                }
                survives(m->context, copy, len, &options);
                free(copy);
            }
        }
        blob_free(&file);
    }
}

/* Whole models: all *.onnx in the folder TILERY_MODELS; without it, those that `make demo` left. */
static void models(void **state) {
    const manifest *m = *state;
    const char *folder = getenv("TILERY_MODELS");
    const char *build = getenv("TILERY_BUILD");
    char demo[4200];
    DIR *dir;
    struct dirent *entry;
    int seen = 0;
    if (folder == NULL) {
        snprintf(demo, sizeof demo, "%s/demo", build != NULL ? build : ".");
        folder = demo;
    }
    dir = opendir(folder);
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (ends_with(entry->d_name, ".onnx")) {
            char *path = path_in(folder, entry->d_name);
            blob file = load_path(path);
            tly_import *import;
            tly_error error;
            CHECK_OK(tly_import_open(m->context, path, NULL, &import, &error), &error);
            walk_compare(import, &file, folder);
            print_message("# %s: %llu tensors\n", entry->d_name,
                          (unsigned long long)tly_import_num_tensors(import));
            tly_import_free(import);
            blob_free(&file);
            free(path);
            seen++;
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    if (seen == 0) {
        print_message("# skip: no models in %s; run make demo or set TILERY_MODELS\n", folder);
        skip();
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(safetensors_files), cmocka_unit_test(npy_files),
        cmocka_unit_test(onnx_files),        cmocka_unit_test(gguf_files),
        cmocka_unit_test(npz_and_mtx_files), cmocka_unit_test(other_files_are_named),
        cmocka_unit_test(no_file_does_harm), cmocka_unit_test(models),
    };
    return cmocka_run_group_tests_name("import/real", tests, setup, teardown);
}
