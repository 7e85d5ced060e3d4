/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes of a descriptor being written. Counts on when the room is used up, so that one pass without
 * room gives the length. */
#ifndef TLY_TENSOR_WRITER_H
#define TLY_TENSOR_WRITER_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

typedef struct tly_tensor_writer {
    uint8_t *bytes;
    size_t capacity;
    size_t len; /* written, or wanted once it passes the capacity */
} tly_tensor_writer;

static inline void tly_tensor_put(tly_tensor_writer *w, const void *bytes, size_t len) {
    if (len != 0 && w->len <= w->capacity && len <= w->capacity - w->len) {
        memcpy(w->bytes + w->len, bytes, len);
    }
    w->len += len;
}

static inline void tly_tensor_put_u8(tly_tensor_writer *w, uint8_t v) {
    tly_tensor_put(w, &v, 1);
}

static inline void tly_tensor_put_u32(tly_tensor_writer *w, uint32_t v) {
    uint8_t bytes[4];
    tly_base_store_u32(bytes, v);
    tly_tensor_put(w, bytes, sizeof bytes);
}

static inline void tly_tensor_put_u64(tly_tensor_writer *w, uint64_t v) {
    uint8_t bytes[8];
    tly_base_store_u64(bytes, v);
    tly_tensor_put(w, bytes, sizeof bytes);
}

static inline void tly_tensor_put_u64s(tly_tensor_writer *w, const uint64_t *v, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        tly_tensor_put_u64(w, v[i]);
    }
}

static inline void tly_tensor_put_i64s(tly_tensor_writer *w, const int64_t *v, uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        tly_tensor_put_u64(w, (uint64_t)v[i]);
    }
}

#endif
