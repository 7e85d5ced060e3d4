/* SPDX-License-Identifier: Apache-2.0 */
/* Files in GGUF, built byte by byte. */
#ifndef TLY_TESTS_IMPORT_GGUF_TEST_H
#define TLY_TESTS_IMPORT_GGUF_TEST_H

#include "import_test.h"

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 };

/* A file under construction, in either byte order. */
typedef struct writer {
    blob b;
    int big;
} writer;

static inline void put(writer *w, uint64_t value, size_t width) {
    uint8_t bytes[8];
    for (size_t i = 0; i < width; i++) {
        bytes[i] = (uint8_t)(value >> 8 * (w->big ? width - 1 - i : i));
    }
    blob_put(&w->b, bytes, width);
}

static inline void put_string(writer *w, const char *text) {
    put(w, strlen(text), 8);
    blob_text(&w->b, text);
}

static inline writer begin(int big, uint32_t version, uint64_t num_tensors, uint64_t num_kv) {
    writer w = {{NULL, 0}, big};
    blob_text(&w.b, "GGUF");
    put(&w, version, 4);
    put(&w, num_tensors, 8);
    put(&w, num_kv, 8);
    return w;
}

static inline void put_key(writer *w, const char *key, uint32_t type) {
    put_string(w, key);
    put(w, type, 4);
}

/* A row of the table; `dims` in the order of the file, ends in UINT64_MAX. */
static inline void put_row(writer *w, const char *name, const uint64_t *dims, uint32_t type,
                           uint64_t offset) {
    uint32_t rank = 0;
    put_string(w, name);
    while (dims[rank] != UINT64_MAX) {
        rank++;
    }
    put(w, rank, 4);
    for (uint32_t i = 0; i < rank; i++) {
        put(w, dims[i], 8);
    }
    put(w, type, 4);
    put(w, offset, 8);
}

#define DIMS(...) ((const uint64_t[]){__VA_ARGS__, UINT64_MAX})
#define SCALAR    ((const uint64_t[]){UINT64_MAX})

static inline void pad(writer *w, size_t alignment) {
    while (w->b.len % alignment != 0) {
        blob_put(&w->b, "", 1);
    }
}

#endif
