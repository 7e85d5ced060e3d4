/* SPDX-License-Identifier: Apache-2.0 */
/* Little-endian loads and stores on bytes of any alignment, on hosts of either byte order, and a
 * cursor that reads outside bytes without ever passing their end. */
#ifndef TLY_BASE_BYTES_H
#define TLY_BASE_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define TLY_BASE_LE16(v) __builtin_bswap16(v)
#define TLY_BASE_LE32(v) __builtin_bswap32(v)
#define TLY_BASE_LE64(v) __builtin_bswap64(v)
#else
#define TLY_BASE_LE16(v) (v)
#define TLY_BASE_LE32(v) (v)
#define TLY_BASE_LE64(v) (v)
#endif

static inline uint16_t tly_base_load_u16(const void *p) {
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return TLY_BASE_LE16(v);
}

static inline uint32_t tly_base_load_u32(const void *p) {
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return TLY_BASE_LE32(v);
}

static inline uint64_t tly_base_load_u64(const void *p) {
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return TLY_BASE_LE64(v);
}

static inline void tly_base_store_u16(void *p, uint16_t v) {
    v = TLY_BASE_LE16(v);
    memcpy(p, &v, sizeof v);
}

static inline void tly_base_store_u32(void *p, uint32_t v) {
    v = TLY_BASE_LE32(v);
    memcpy(p, &v, sizeof v);
}

static inline void tly_base_store_u64(void *p, uint64_t v) {
    v = TLY_BASE_LE64(v);
    memcpy(p, &v, sizeof v);
}

/* The low 1, 2, 4 or 8 bytes of a number. */
static inline void tly_base_store_uint(uint8_t *p, uint32_t len, uint64_t v) {
    switch (len) {
    case 1:
        *p = (uint8_t)v;
        break;
    case 2:
        tly_base_store_u16(p, (uint16_t)v);
        break;
    case 4:
        tly_base_store_u32(p, (uint32_t)v);
        break;
    default:
        tly_base_store_u64(p, v);
        break;
    }
}

/* Outside bytes being read. `base` stays, so that tly_cursor_offset can name a byte in an error.
 * Every read returns 1, or 0 when the bytes do not reach; then nothing has moved. */
typedef struct tly_cursor {
    const uint8_t *base;
    const uint8_t *at;
    const uint8_t *end;
} tly_cursor;

static inline tly_cursor tly_cursor_make(const void *bytes, size_t len) {
    const uint8_t *base = (const uint8_t *)bytes;
    tly_cursor c = {base, base, len != 0 ? base + len : base};
    return c;
}

static inline size_t tly_cursor_left(const tly_cursor *c) {
    return (size_t)(c->end - c->at);
}

static inline uint64_t tly_cursor_offset(const tly_cursor *c) {
    return (uint64_t)(c->at - c->base);
}

static inline int tly_cursor_take(tly_cursor *c, uint64_t len, const uint8_t **out) {
    if (len > tly_cursor_left(c)) {
        return 0;
    }
    *out = c->at;
    c->at += len;
    return 1;
}

static inline int tly_cursor_u8(tly_cursor *c, uint8_t *out) {
    const uint8_t *p;
    if (!tly_cursor_take(c, 1, &p)) {
        return 0;
    }
    *out = *p;
    return 1;
}

static inline int tly_cursor_u16(tly_cursor *c, uint16_t *out) {
    const uint8_t *p;
    if (!tly_cursor_take(c, 2, &p)) {
        return 0;
    }
    *out = tly_base_load_u16(p);
    return 1;
}

static inline int tly_cursor_u32(tly_cursor *c, uint32_t *out) {
    const uint8_t *p;
    if (!tly_cursor_take(c, 4, &p)) {
        return 0;
    }
    *out = tly_base_load_u32(p);
    return 1;
}

static inline int tly_cursor_u64(tly_cursor *c, uint64_t *out) {
    const uint8_t *p;
    if (!tly_cursor_take(c, 8, &p)) {
        return 0;
    }
    *out = tly_base_load_u64(p);
    return 1;
}

#endif
