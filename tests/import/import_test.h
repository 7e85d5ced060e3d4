/* SPDX-License-Identifier: Apache-2.0 */
/* For the tests of the importers: files built in memory, an allocator that fails on request, and
 * folders for tests that need real files. */
#ifndef TLY_TESTS_IMPORT_TEST_H
#define TLY_TESTS_IMPORT_TEST_H

#include "check.h"
#include "failing.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <tilery/import.h>
#include <tilery/tensor.h>

#include "base/bytes.h"

/* --- bytes that grow --- */

typedef struct blob {
    uint8_t *bytes;
    size_t len;
} blob;

static inline void blob_put(blob *b, const void *bytes, size_t len) {
    b->bytes = realloc(b->bytes, b->len + len + 1);
    assert_non_null(b->bytes);
    if (len != 0) {
        memcpy(b->bytes + b->len, bytes, len);
    }
    b->len += len;
    b->bytes[b->len] = 0; /* behind the bytes, for searching in text */
}

static inline void blob_text(blob *b, const char *text) {
    blob_put(b, text, strlen(text));
}

static inline void blob_free(blob *b) {
    free(b->bytes);
    memset(b, 0, sizeof *b);
}

/* --- protobuf, written the obvious way --- */

static inline void pb_varint(blob *b, uint64_t value) {
    do {
        uint8_t byte = (uint8_t)((value & 0x7F) | (value > 0x7F ? 0x80 : 0));
        blob_put(b, &byte, 1);
        value >>= 7;
    } while (value != 0);
}

static inline void pb_tag(blob *b, uint32_t field, uint32_t wire) {
    pb_varint(b, (uint64_t)field << 3 | wire);
}

static inline void pb_int(blob *b, uint32_t field, uint64_t value) {
    pb_tag(b, field, 0);
    pb_varint(b, value);
}

static inline void pb_fixed32(blob *b, uint32_t field, uint32_t value) {
    uint8_t bytes[4];
    tly_base_store_u32(bytes, value);
    pb_tag(b, field, 5);
    blob_put(b, bytes, 4);
}

static inline void pb_fixed64(blob *b, uint32_t field, uint64_t value) {
    uint8_t bytes[8];
    tly_base_store_u64(bytes, value);
    pb_tag(b, field, 1);
    blob_put(b, bytes, 8);
}

static inline void pb_bytes(blob *b, uint32_t field, const void *bytes, size_t len) {
    pb_tag(b, field, 2);
    pb_varint(b, len);
    blob_put(b, bytes, len);
}

static inline void pb_text(blob *b, uint32_t field, const char *text) {
    pb_bytes(b, field, text, strlen(text));
}

/* A message as a field; the message is freed. */
static inline void pb_message(blob *b, uint32_t field, blob *message) {
    pb_bytes(b, field, message->bytes, message->len);
    blob_free(message);
}

static inline tly_context *plain_context(void) {
    tly_context *context;
    tly_error error;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    return context;
}

/* --- imports --- */

static inline tly_import_options skipping(void) {
    tly_import_options options = {.size = sizeof options, .unsupported = TLY_IMPORT_SKIP};
    return options;
}

/* Opens bytes that must be good. */
static inline tly_import *must_open(const tly_context *context, const blob *b, const char *name,
                                    const tly_import_options *options) {
    tly_import *import = NULL;
    tly_error error;
    CHECK_OK(tly_import_open_memory(context, b->bytes, b->len, name, options, &import, &error),
             &error);
    return import;
}

/* Opens bytes that must be refused, with this rule; frees them. */
static inline void must_refuse(const tly_context *context, blob *b,
                               const tly_import_options *options, tly_status status,
                               const char *rule) {
    tly_import *import = NULL;
    tly_error error = {0};
    tly_status got =
        tly_import_open_memory(context, b->bytes, b->len, NULL, options, &import, &error);
    if (got != status || strcmp(error.rule, rule) != 0) {
        fail_msg("%s %s (%s), wanted %s %s", tly_status_name(got), error.rule, error.message,
                 tly_status_name(status), rule);
    }
    assert_null(import);
    assert_true(error.message[0] != '\0');
    blob_free(b);
}

/* The tensor called `name` has this type, shape (as text, "2,3") and exactly these bytes, whichever
 * way they are read. */
static inline void must_hold(const tly_import *import, const char *name, tly_dtype dtype,
                             const char *shape, const void *bytes, size_t len) {
    tly_import_tensor info;
    tly_error error;
    uint64_t index;
    char text[256] = "";
    size_t used = 0;
    uint8_t *got = malloc(len + 1);
    const void *view;
    if (tly_import_find(import, name, &index) != TLY_OK) {
        fail_msg("there is no tensor %s", name);
    }
    assert_int_equal(tly_import_info(import, index, &info), TLY_OK);
    assert_string_equal(info.name, name);
    assert_int_equal(info.name_len, strlen(name));
    assert_int_equal(info.dtype, dtype);
    for (uint32_t axis = 0; axis < info.rank; axis++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%llu", axis != 0 ? "," : "",
                                 (unsigned long long)info.shape[axis]);
    }
    assert_string_equal(text, shape);
    assert_true(info.byte_len == len);
    got[len] = 0x5A;
    CHECK_OK(tly_import_read(import, index, got, len, &error), &error);
    assert_memory_equal(got, bytes, len);
    assert_int_equal(got[len], 0x5A);
    assert_int_equal(tly_import_read(import, index, got, len + 1, &error), TLY_INVALID_ARGUMENT);
    if (info.viewable) {
        CHECK_OK(tly_import_view(import, index, &view, &error), &error);
        assert_memory_equal(view, bytes, len);
    } else {
        assert_int_equal(tly_import_view(import, index, &view, &error), TLY_UNSUPPORTED);
    }
    free(got);
}

static inline tly_status count_piece(void *user, const void *bytes, size_t len, tly_error *error) {
    uint64_t *total = user;
    const uint8_t *p = bytes;
    uint8_t all = 0;
    (void)error;
    for (size_t i = 0; i < len; i++) {
        all |= p[i]; /* touches every byte, for the sanitizers */
    }
    *total += len + (all & 0);
    return TLY_OK;
}

/* Whatever the bytes are: opening and reading everything ends, and what opens is consistent.
 * Returns whether it opened. */
static inline int survives(const tly_context *context, const void *bytes, size_t len,
                           const tly_import_options *options) {
    tly_import *import = NULL;
    tly_error error = {0};
    tly_status status = tly_import_open_memory(context, bytes, len, NULL, options, &import, &error);
    if (status != TLY_OK) {
        assert_null(import);
        assert_int_equal(error.status, status);
        assert_true(error.message[0] != '\0');
        assert_true(error.offset == TLY_NO_OFFSET || error.offset <= len);
        return 0;
    }
    for (uint64_t i = 0; i < tly_import_num_tensors(import); i++) {
        tly_import_tensor info;
        uint64_t total = 0, again = UINT64_MAX;
        assert_int_equal(tly_import_info(import, i, &info), TLY_OK);
        assert_true(info.name_len != 0 && info.name_len == strlen(info.name));
        assert_int_equal(tly_import_find(import, info.name, &again), TLY_OK);
        assert_true(again == i);
        status = tly_import_stream(import, i, count_piece, &total, &error);
        assert_true(status == TLY_OK ? total == info.byte_len : status == TLY_MALFORMED);
    }
    for (uint64_t i = 0; i < tly_import_num_skipped(import); i++) {
        tly_import_skip skip;
        assert_int_equal(tly_import_skipped(import, i, &skip), TLY_OK);
        assert_true(skip.reason[0] != '\0');
    }
    tly_import_free(import);
    return 1;
}

/* Every truncation, and many changed bytes, of a file. The copy has exactly its own length, so that
 * a read past the end is seen. */
static inline void must_survive_mutations(const blob *b, uint64_t seed, int num_changes) {
    failing f;
    tly_context *context = failing_context(&f);
    tly_import_options options = skipping();
    size_t before = f.live;
    check_rng rng = {seed};
    for (size_t len = 0; len <= b->len; len++) {
        uint8_t *copy = malloc(len != 0 ? len : 1);
        memcpy(copy, b->bytes, len);
        survives(context, copy, len, &options);
        free(copy);
        assert_int_equal(f.live, before);
    }
    for (int i = 0; i < num_changes; i++) {
        uint8_t *copy = malloc(b->len);
        memcpy(copy, b->bytes, b->len);
        for (uint64_t k = 0; k <= check_below(&rng, 3); k++) {
            copy[check_below(&rng, b->len)] = (uint8_t)check_random(&rng);
        }
        survives(context, copy, b->len, &options);
        free(copy);
        assert_int_equal(f.live, before);
    }
    /* No more memory than a small multiple of the file, and a buffer or two. */
    assert_true(f.largest <= b->len * 32 + ((size_t)1 << 19));
    tly_context_free(context);
}

/* Lets every allocation fail once: opening and reading end in OUT_OF_MEMORY and nothing leaks. */
static inline void must_survive_failing_memory(const blob *b) {
    failing f;
    tly_context *context = failing_context(&f);
    size_t before = f.live;
    size_t at = 0;
    tly_status status;
    do {
        tly_import *import = NULL;
        tly_error error = {0};
        f.calls = 0;
        f.fail_at = ++at;
        status = tly_import_open_memory(context, b->bytes, b->len, NULL, NULL, &import, &error);
        for (uint64_t i = 0; status == TLY_OK && i < tly_import_num_tensors(import); i++) {
            uint64_t total = 0;
            status = tly_import_stream(import, i, count_piece, &total, &error);
        }
        assert_true(status == TLY_OK || status == TLY_OUT_OF_MEMORY);
        tly_import_free(import);
        assert_int_equal(f.live, before);
    } while (status != TLY_OK);
    assert_true(at > 3);
    tly_context_free(context);
}

/* --- files --- */

/* A new empty folder below the system's own for temporary files. */
static inline char *make_folder(void) {
    const char *base = getenv("TMPDIR");
    char *path = malloc(512);
    snprintf(path, 512, "%s/tilery-import-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(path));
    return path;
}

/* "<folder>/<name>"; the caller frees it. */
static inline char *path_in(const char *folder, const char *name) {
    char *path = malloc(strlen(folder) + strlen(name) + 2);
    sprintf(path, "%s/%s", folder, name);
    return path;
}

static inline void write_file(const char *folder, const char *name, const void *bytes, size_t len) {
    char *path = path_in(folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, len, file), len);
    assert_int_equal(fclose(file), 0);
    free(path);
}

/* Removes a folder with what is in it, and its path. */
static inline void remove_folder(char *folder) {
    DIR *dir = opendir(folder);
    struct dirent *entry;
    while (dir != NULL && (entry = readdir(dir)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            char *path = path_in(folder, entry->d_name);
            struct stat st;
            if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)) {
                remove_folder(path);
                continue;
            }
            unlink(path);
            free(path);
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
    rmdir(folder);
    free(folder);
}

#endif
