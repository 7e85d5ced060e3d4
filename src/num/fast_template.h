/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between the formats of num_fast_type, in whole numbers but for subnormals that become
 * normal (a product that is exact). The compiler makes vectors of the loops: no branches, no calls.
 * The including file defines FAST_TABLE, the name of the table, and may define F16_BLOCK with
 *
 *   f16_from_f32(dst, src), f32_from_f16(dst, src)    F16_BLOCK elements; nearest even */

#include "base/bytes.h"
#include "num/fast.h"
#include "num/narrow.h"

/* Widths of the fields of a format narrower than f32, and its special numbers. */
#define F16_FIELDS  5, 10, NUM_SPECIALS_IEEE
#define BF16_FIELDS 8, 7, NUM_SPECIALS_IEEE
#define E4M3_FIELDS 4, 3, NUM_SPECIALS_MAX
#define E5M2_FIELDS 5, 2, NUM_SPECIALS_IEEE

NUM_FLAT uint32_t load_f32(const uint8_t *p) {
    return tly_base_load_u32(p);
}
NUM_FLAT uint32_t load_f16(const uint8_t *p) {
    return num_widen(tly_base_load_u16(p), F16_FIELDS);
}
NUM_FLAT uint32_t load_bf16(const uint8_t *p) {
    return num_widen(tly_base_load_u16(p), BF16_FIELDS);
}
NUM_FLAT uint32_t load_e4m3(const uint8_t *p) {
    return num_widen(*p, E4M3_FIELDS);
}
NUM_FLAT uint32_t load_e5m2(const uint8_t *p) {
    return num_widen(*p, E5M2_FIELDS);
}
NUM_FLAT uint32_t make_f16(uint32_t x, uint32_t saturate) {
    return num_narrow(x, F16_FIELDS, saturate);
}
NUM_FLAT uint32_t make_bf16(uint32_t x, uint32_t saturate) {
    return num_narrow(x, BF16_FIELDS, saturate);
}
NUM_FLAT uint32_t make_e4m3(uint32_t x, uint32_t saturate) {
    return num_narrow(x, E4M3_FIELDS, saturate);
}
NUM_FLAT uint32_t make_e5m2(uint32_t x, uint32_t saturate) {
    return num_narrow(x, E5M2_FIELDS, saturate);
}
NUM_FLAT void store_2(uint8_t *p, uint32_t code) {
    tly_base_store_u16(p, (uint16_t)code);
}
NUM_FLAT void store_1(uint8_t *p, uint32_t code) {
    *p = (uint8_t)code;
}

/* Elements that are computed in 32 bits before they are made narrow: gcc would narrow each part of
 * the computation otherwise. */
#define CHUNK 256

#define LOOP(DST, DST_LEN, SRC, SRC_LEN, SATURATE)                                                 \
    for (size_t k = 0; k < n; k++) {                                                               \
        codes[k] = make_##DST(load_##SRC(src + k * SRC_LEN), SATURATE);                            \
    }

#define PAIR(DST, DST_LEN, SRC, SRC_LEN)                                                           \
    static void DST##_of_##SRC(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t count, \
                               uint32_t saturate) {                                                \
        uint32_t codes[CHUNK];                                                                     \
        while (count > 0) {                                                                        \
            size_t n = count < CHUNK ? (size_t)count : CHUNK;                                      \
            if (saturate) {                                                                        \
                LOOP(DST, DST_LEN, SRC, SRC_LEN, 1)                                                \
            } else {                                                                               \
                LOOP(DST, DST_LEN, SRC, SRC_LEN, 0)                                                \
            }                                                                                      \
            for (size_t k = 0; k < n; k++) {                                                       \
                store_##DST_LEN(dst + k * DST_LEN, codes[k]);                                      \
            }                                                                                      \
            src += n * SRC_LEN;                                                                    \
            dst += n * DST_LEN;                                                                    \
            count -= n;                                                                            \
        }                                                                                          \
    }

/* Into f32 there is nothing to make narrow. */
#define WIDEN(SRC, SRC_LEN)                                                                        \
    static void f32_of_##SRC(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t count,   \
                             uint32_t saturate) {                                                  \
        (void)saturate;                                                                            \
        for (uint64_t k = 0; k < count; k++) {                                                     \
            tly_base_store_u32(dst + k * 4, load_##SRC(src + k * SRC_LEN));                        \
        }                                                                                          \
    }

WIDEN(bf16, 2)
WIDEN(e4m3, 1)
WIDEN(e5m2, 1)
PAIR(bf16, 2, f32, 4)
PAIR(bf16, 2, f16, 2)
PAIR(bf16, 2, e4m3, 1)
PAIR(bf16, 2, e5m2, 1)
PAIR(f16, 2, bf16, 2)
PAIR(f16, 2, e4m3, 1)
PAIR(f16, 2, e5m2, 1)
PAIR(e4m3, 1, f32, 4)
PAIR(e4m3, 1, f16, 2)
PAIR(e4m3, 1, bf16, 2)
PAIR(e4m3, 1, e5m2, 1)
PAIR(e5m2, 1, f32, 4)
PAIR(e5m2, 1, f16, 2)
PAIR(e5m2, 1, bf16, 2)
PAIR(e5m2, 1, e4m3, 1)

#ifndef F16_BLOCK
WIDEN(f16, 2)
PAIR(f16, 2, f32, 4)
#else
static void f32_of_f16(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t count,
                       uint32_t saturate) {
    uint64_t i = 0;
    (void)saturate;
    for (; i + F16_BLOCK <= count; i += F16_BLOCK) {
        f32_from_f16(dst + i * 4, src + i * 2);
    }
    for (; i < count; i++) {
        tly_base_store_u32(dst + i * 4, load_f16(src + i * 2));
    }
}

static void f16_of_f32(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t count,
                       uint32_t saturate) {
    uint64_t i = 0;
    for (; i + F16_BLOCK <= count; i += F16_BLOCK) {
        f16_from_f32(dst + i * 2, src + i * 4, saturate);
    }
    for (; i < count; i++) {
        store_2(dst + i * 2, make_f16(load_f32(src + i * 4), saturate));
    }
}
#endif

/* Numbers by the processor; NaN, whose payload not every processor keeps, by its bits. */
static void f64_of_f32(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t count,
                       uint32_t saturate) {
    (void)saturate;
    for (uint64_t k = 0; k < count; k++) {
        uint32_t bits = tly_base_load_u32(src + k * 4);
        uint64_t nan = (uint64_t)(bits & 0x807FFFFFu), mask, made;
        float narrow;
        double wide;
        memcpy(&narrow, &bits, sizeof narrow);
        wide = (double)narrow;
        memcpy(&made, &wide, sizeof made);
        nan = (nan & 0x80000000u) << 32 | (nan & 0x7FFFFFu) << 29 | UINT64_C(0x7FF8) << 48;
        mask = 0 - (uint64_t)((bits & 0x7FFFFFFFu) > 0x7F800000u);
        tly_base_store_u64(dst + k * 8, (nan & mask) | (made & ~mask));
    }
}

static void f32_of_f64(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t count,
                       uint32_t saturate) {
    (void)saturate;
    for (uint64_t k = 0; k < count; k++) {
        uint64_t bits = tly_base_load_u64(src + k * 8);
        uint32_t nan = (uint32_t)(bits >> 32 & 0x80000000u) | 0x7FC00000u, mask, made;
        double wide;
        float narrow;
        memcpy(&wide, &bits, sizeof wide);
        narrow = (float)wide;
        memcpy(&made, &narrow, sizeof made);
        nan |= (uint32_t)(bits >> 29) & 0x7FFFFFu;
        mask = 0 - (uint32_t)((bits & INT64_MAX) > UINT64_C(0x7FF0) << 48);
        tly_base_store_u32(dst + k * 4, (nan & mask) | (made & ~mask));
    }
}

num_fast_table FAST_TABLE = {
    [NUM_FAST_F32] = {NULL, f32_of_f16, f32_of_bf16, f32_of_e4m3, f32_of_e5m2, f32_of_f64},
    [NUM_FAST_F16] = {f16_of_f32, NULL, f16_of_bf16, f16_of_e4m3, f16_of_e5m2},
    [NUM_FAST_BF16] = {bf16_of_f32, bf16_of_f16, NULL, bf16_of_e4m3, bf16_of_e5m2},
    [NUM_FAST_E4M3] = {e4m3_of_f32, e4m3_of_f16, e4m3_of_bf16, NULL, e4m3_of_e5m2},
    [NUM_FAST_F64] = {f64_of_f32},
    [NUM_FAST_E5M2] = {e5m2_of_f32, e5m2_of_f16, e5m2_of_bf16, e5m2_of_e4m3, NULL},
};
