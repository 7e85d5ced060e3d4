/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between the formats of num_fast_type, in whole numbers but for subnormals that become
 * normal (a product that is exact). The compiler makes vectors of the loops: no branches, no calls.
 * The including file defines FAST_TABLE, the name of the table, and may define F16_BLOCK with
 *
 *   f16_from_f32(dst, src), f32_from_f16(dst, src)    F16_BLOCK elements; nearest even */

#include "base/bytes.h"
#include "num/fast.h"

#define FLAT static inline __attribute__((always_inline))

/* Widths of the fields of a format narrower than f32; `has_inf`: the IEEE way. */
#define F16_FIELDS  5, 10, 1
#define BF16_FIELDS 8, 7, 1
#define E4M3_FIELDS 4, 3, 0
#define E5M2_FIELDS 5, 2, 1

FLAT uint32_t float_bits(float f) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

FLAT uint32_t widen(uint32_t code, uint32_t e, uint32_t m, int has_inf) {
    uint32_t bias = (1u << (e - 1)) - 1, top = ((1u << e) - 1) << m, all = (1u << (e + m)) - 1;
    uint32_t sign = code >> (e + m) << 31, abs = code & all;
    uint32_t made = (abs << (23 - m)) + ((127 - bias) << 23);
    if (e < 8) { /* subnormal: abs * 2^(1 - bias - m) */
        union {
            uint32_t bits;
            float value;
        } unit = {(127 + 1 - bias - m) << 23};
        uint32_t small = float_bits((float)(int32_t)abs * unit.value);
        made = abs < 1u << m ? small : made;
    }
    if (has_inf) {
        uint32_t special = (abs << (23 - m)) | 0x7F800000u | (abs > top ? 0x400000u : 0);
        made = abs >= top ? special : made;
    } else {
        made = abs == all ? 0x7FC00000u : made;
    }
    return sign | made;
}

FLAT uint32_t narrow(uint32_t x, uint32_t e, uint32_t m, int has_inf, uint32_t saturate) {
    uint32_t bias = (1u << (e - 1)) - 1, top = ((1u << e) - 1) << m, all = (1u << (e + m)) - 1;
    uint32_t sign = x >> 31 << (e + m), abs = x & 0x7FFFFFFFu, cut = 23 - m;
    uint32_t limit = has_inf ? top : all; /* the first code that is no finite number */
    uint32_t rounded = abs + ((1u << (cut - 1)) - 1) + (abs >> cut & 1);
    uint32_t made = (rounded >> cut) - ((127 - bias) << m), nan;
    if (e < 8) { /* subnormal: so many units of 2^(1 - bias - m) */
        uint32_t mantissa = (abs & 0x7FFFFFu) | 0x800000u, shift = 151 - bias - m - (abs >> 23);
        uint32_t small;
        shift = shift > 31 ? 31 : shift;
        small = (mantissa + (1u << (shift - 1)) - 1 + (mantissa >> shift & 1)) >> shift;
        made = abs < (128 - bias) << 23 ? small : made;
    }
    made = made >= limit ? limit - saturate : made;
    nan = has_inf ? top | 1u << (m - 1) | (abs >> cut & ((1u << m) - 1)) : all;
    return sign | (abs > 0x7F800000u ? nan : made);
}

FLAT uint32_t load_f32(const uint8_t *p) {
    return tly_base_load_u32(p);
}
FLAT uint32_t load_f16(const uint8_t *p) {
    return widen(tly_base_load_u16(p), F16_FIELDS);
}
FLAT uint32_t load_bf16(const uint8_t *p) {
    return widen(tly_base_load_u16(p), BF16_FIELDS);
}
FLAT uint32_t load_e4m3(const uint8_t *p) {
    return widen(*p, E4M3_FIELDS);
}
FLAT uint32_t load_e5m2(const uint8_t *p) {
    return widen(*p, E5M2_FIELDS);
}
FLAT void store_f32(uint8_t *p, uint32_t x, uint32_t saturate) {
    (void)saturate;
    tly_base_store_u32(p, x);
}
FLAT void store_f16(uint8_t *p, uint32_t x, uint32_t saturate) {
    tly_base_store_u16(p, (uint16_t)narrow(x, F16_FIELDS, saturate));
}
FLAT void store_bf16(uint8_t *p, uint32_t x, uint32_t saturate) {
    tly_base_store_u16(p, (uint16_t)narrow(x, BF16_FIELDS, saturate));
}
FLAT void store_e4m3(uint8_t *p, uint32_t x, uint32_t saturate) {
    *p = (uint8_t)narrow(x, E4M3_FIELDS, saturate);
}
FLAT void store_e5m2(uint8_t *p, uint32_t x, uint32_t saturate) {
    *p = (uint8_t)narrow(x, E5M2_FIELDS, saturate);
}

#define LOOP(DST, DST_LEN, SRC, SRC_LEN, SATURATE)                                                 \
    for (uint64_t i = 0; i < count; i++) {                                                         \
        store_##DST(dst + i * DST_LEN, load_##SRC(src + i * SRC_LEN), SATURATE);                   \
    }

#define PAIR(DST, DST_LEN, SRC, SRC_LEN)                                                           \
    static void DST##_of_##SRC(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t count, \
                               uint32_t saturate) {                                                \
        if (saturate) {                                                                            \
            LOOP(DST, DST_LEN, SRC, SRC_LEN, 1)                                                    \
        } else {                                                                                   \
            LOOP(DST, DST_LEN, SRC, SRC_LEN, 0)                                                    \
        }                                                                                          \
    }

PAIR(f32, 4, bf16, 2)
PAIR(f32, 4, e4m3, 1)
PAIR(f32, 4, e5m2, 1)
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
PAIR(f32, 4, f16, 2)
PAIR(f16, 2, f32, 4)
#else
static void f32_of_f16(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t count,
                       uint32_t saturate) {
    uint64_t i = 0;
    for (; i + F16_BLOCK <= count; i += F16_BLOCK) {
        f32_from_f16(dst + i * 4, src + i * 2);
    }
    for (; i < count; i++) {
        store_f32(dst + i * 4, load_f16(src + i * 2), saturate);
    }
}

static void f16_of_f32(uint8_t *restrict dst, const uint8_t *restrict src, uint64_t count,
                       uint32_t saturate) {
    uint64_t i = 0;
    for (; i + F16_BLOCK <= count; i += F16_BLOCK) {
        f16_from_f32(dst + i * 2, src + i * 4, saturate);
    }
    for (; i < count; i++) {
        store_f16(dst + i * 2, load_f32(src + i * 4), saturate);
    }
}
#endif

num_fast_table FAST_TABLE = {
    [NUM_FAST_F32] = {NULL, f32_of_f16, f32_of_bf16, f32_of_e4m3, f32_of_e5m2},
    [NUM_FAST_F16] = {f16_of_f32, NULL, f16_of_bf16, f16_of_e4m3, f16_of_e5m2},
    [NUM_FAST_BF16] = {bf16_of_f32, bf16_of_f16, NULL, bf16_of_e4m3, bf16_of_e5m2},
    [NUM_FAST_E4M3] = {e4m3_of_f32, e4m3_of_f16, e4m3_of_bf16, NULL, e4m3_of_e5m2},
    [NUM_FAST_E5M2] = {e5m2_of_f32, e5m2_of_f16, e5m2_of_bf16, e5m2_of_e4m3, NULL},
};
