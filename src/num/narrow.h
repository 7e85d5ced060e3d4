/* SPDX-License-Identifier: Apache-2.0 */
/* One element of f32 to and from a narrower format, for loops of which the compiler makes vectors:
 * in whole numbers but for subnormals that become normal (a product that is exact), without
 * branches once the fields are constants. They agree bit for bit with tly_num_unpack and
 * tly_num_round. */
#ifndef TLY_NUM_NARROW_H
#define TLY_NUM_NARROW_H

#include <stdint.h>
#include <string.h>

#define NUM_FLAT static inline __attribute__((always_inline))

/* NaN and infinity of a format: the all-ones exponent; NaN as the all-ones code only; none. */
#define NUM_SPECIALS_IEEE 1
#define NUM_SPECIALS_MAX  2
#define NUM_SPECIALS_NONE 0

NUM_FLAT int32_t num_float_bits(float f) {
    int32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* All numbers below fit in 31 bits: vectors compare signed ones faster. Both values of a choice are
 * always computed; a branch would end the vectors. */
NUM_FLAT int32_t num_pick(int condition, int32_t yes, int32_t no) {
    int32_t mask = -(int32_t)condition;
    return (yes & mask) | (no & ~mask);
}

NUM_FLAT uint32_t num_widen(uint32_t code, int32_t e, int32_t m, int specials) {
    int32_t bias = (1 << (e - 1)) - 1, top = ((1 << e) - 1) << m, all = (1 << (e + m)) - 1;
    uint32_t sign = code >> (e + m) << 31;
    int32_t abs = (int32_t)code & all, made = (abs << (23 - m)) + ((127 - bias) << 23);
    if (e < 8) { /* subnormal: abs * 2^(1 - bias - m) */
        union {
            int32_t bits;
            float value;
        } unit = {(127 + 1 - bias - m) << 23};
        int32_t small = num_float_bits((float)abs * unit.value);
        made = num_pick(abs < 1 << m, small, made);
    }
    if (specials == NUM_SPECIALS_IEEE) {
        int32_t special = (abs << (23 - m)) | 0x7F800000 | num_pick(abs > top, 0x400000, 0);
        made = num_pick(abs >= top, special, made);
    } else if (specials == NUM_SPECIALS_MAX) {
        made = num_pick(abs == all, 0x7FC00000, made);
    }
    return sign | (uint32_t)made;
}

/* Rounds to nearest even at a place that is higher for subnormals, whose exponent is that of the
 * smallest normal numbers. */
NUM_FLAT uint32_t num_narrow(uint32_t x, int32_t e, int32_t m, int specials, uint32_t saturate) {
    int32_t bias = (1 << (e - 1)) - 1, top = ((1 << e) - 1) << m, all = (1 << (e + m)) - 1;
    /* The first code that is no finite number. */
    int32_t limit = specials == NUM_SPECIALS_IEEE  ? top
                    : specials == NUM_SPECIALS_MAX ? all
                                                   : all + 1;
    int32_t abs = (int32_t)(x & 0x7FFFFFFF), cut = 23 - m, made, nan;
    uint32_t sign = x >> 31 << (e + m);
    if (e == 8) {
        made = (int32_t)(((uint32_t)abs + ((1u << (cut - 1)) - 1) + ((uint32_t)abs >> cut & 1)) >>
                         cut);
    } else {
        int32_t lowest = 128 - bias, exponent = abs >> 23, shift;
        int32_t mantissa = (abs & 0x7FFFFF) | 0x800000;
        int32_t normal = exponent > lowest ? exponent : lowest;
        shift = cut + (normal - exponent);
        shift = shift < 30 ? shift : 30; /* all of it is cut off */
        made = (mantissa + ((1 << (shift - 1)) - 1) + (mantissa >> shift & 1)) >> shift;
        made += (normal - lowest) << m;
    }
    made = made < limit ? made : limit - (int32_t)(saturate || specials == NUM_SPECIALS_NONE);
    nan = specials == NUM_SPECIALS_IEEE ? top | 1 << (m - 1) | (abs >> cut & ((1 << m) - 1)) : all;
    return sign | (uint32_t)num_pick(abs > 0x7F800000, nan, made);
}

#endif
