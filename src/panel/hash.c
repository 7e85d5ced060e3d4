/* SPDX-License-Identifier: Apache-2.0 */
#include "panel/hash.h"

#include "base/bytes.h"

static const uint64_t P1 = UINT64_C(0x9E3779B185EBCA87);
static const uint64_t P2 = UINT64_C(0xC2B2AE3D27D4EB4F);
static const uint64_t P3 = UINT64_C(0x165667B19E3779F9);
static const uint64_t P4 = UINT64_C(0x85EBCA77C2B2AE63);
static const uint64_t P5 = UINT64_C(0x27D4EB2F165667C5);

static uint64_t rotl(uint64_t x, int by) {
    return (x << by) | (x >> (64 - by));
}

static uint64_t round64(uint64_t a, uint64_t x) {
    return rotl(a + x * P2, 31) * P1;
}

static uint64_t merge(uint64_t a, uint64_t v) {
    return (a ^ round64(0, v)) * P1 + P4;
}

/* `width` bytes at `at` of the little-endian form. */
static uint64_t load(const uint8_t *bytes, uint64_t at, uint32_t width, uint32_t unit) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    uint64_t v = 0;
    for (uint32_t i = 0; i < width; i++) {
        v |= (uint64_t)bytes[(at + i) ^ (unit - 1)] << (8 * i);
    }
    return v;
#else
    (void)unit;
    return width == 8   ? tly_base_load_u64(bytes + at)
           : width == 4 ? tly_base_load_u32(bytes + at)
                        : bytes[at];
#endif
}

uint64_t tly_panel_hash64(const void *bytes, uint64_t len, uint64_t seed, uint32_t unit) {
    const uint8_t *b = bytes;
    uint64_t at = 0;
    uint64_t a = seed + P5;

    if (len >= 32) {
        uint64_t v1 = seed + P1 + P2, v2 = seed + P2, v3 = seed, v4 = seed - P1;
        for (; len - at >= 32; at += 32) {
            v1 = round64(v1, load(b, at, 8, unit));
            v2 = round64(v2, load(b, at + 8, 8, unit));
            v3 = round64(v3, load(b, at + 16, 8, unit));
            v4 = round64(v4, load(b, at + 24, 8, unit));
        }
        a = rotl(v1, 1) + rotl(v2, 7) + rotl(v3, 12) + rotl(v4, 18);
        a = merge(merge(merge(merge(a, v1), v2), v3), v4);
    }
    a += len;
    for (; len - at >= 8; at += 8) {
        a = rotl(a ^ round64(0, load(b, at, 8, unit)), 27) * P1 + P4;
    }
    if (len - at >= 4) {
        a = rotl(a ^ (load(b, at, 4, unit) * P1), 23) * P2 + P3;
        at += 4;
    }
    for (; at < len; at++) {
        a = rotl(a ^ (load(b, at, 1, unit) * P5), 11) * P1;
    }
    a = (a ^ (a >> 33)) * P2;
    a = (a ^ (a >> 29)) * P3;
    return a ^ (a >> 32);
}
