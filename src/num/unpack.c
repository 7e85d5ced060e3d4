/* SPDX-License-Identifier: Apache-2.0 */
/* From bits to numbers. */
#include "num/number.h"

#include <stddef.h>

static uint32_t leading_zeros(tly_num_bits v) {
    uint64_t high = (uint64_t)(v >> 64);
    return high != 0 ? (uint32_t)__builtin_clzll(high)
                     : 64 + (uint32_t)__builtin_clzll((uint64_t)v);
}

/* magnitude * 2^scale. */
static tly_number make(tly_num_bits magnitude, int32_t scale, int negative, uint8_t klass) {
    tly_number n = {0, 0, TLY_NUMBER_ZERO, (uint8_t)negative};
    if (magnitude != 0) {
        uint32_t shift = leading_zeros(magnitude);
        n.fraction = magnitude << shift;
        n.exponent = 127 - (int32_t)shift + scale;
        n.klass = klass;
    }
    return n;
}

static tly_number unpack_float(const tly_format *f, tly_num_bits bits) {
    uint32_t m = f->mantissa_bits;
    tly_num_bits mantissa = bits >> f->low_zeros & tly_num_mask(m);
    uint32_t exponent = (uint32_t)(bits >> (f->low_zeros + m) & tly_num_mask(f->exponent_bits));
    uint32_t top = (1u << f->exponent_bits) - 1;
    int negative = f->sign_bits != 0 && (bits >> (f->bits - 1) & 1) != 0;
    tly_number special = {0, 0, TLY_NUMBER_INVALID, (uint8_t)negative};
    if ((bits & tly_num_mask(f->low_zeros)) != 0) {
        return special;
    }
    if (exponent == top) {
        if (f->nan_rule == TLY_SPECIAL_MAX && mantissa == tly_num_mask(m)) {
            special.klass = TLY_NUMBER_QUIET_NAN;
            special.fraction = (tly_num_bits)1 << 127;
            return special;
        }
        if (f->inf_rule == TLY_SPECIAL_IEEE && mantissa == 0) {
            special.klass = TLY_NUMBER_INFINITE;
            return special;
        }
        if (f->nan_rule == TLY_SPECIAL_IEEE && mantissa != 0) {
            int quiet = (mantissa >> (m - 1)) != 0;
            special.klass = quiet ? TLY_NUMBER_QUIET_NAN : TLY_NUMBER_SIGNALING_NAN;
            special.fraction = mantissa << (128 - m);
            return special;
        }
    }
    if (exponent == 0 && !f->no_zero) {
        return make(mantissa, 1 - f->bias - (int32_t)m, negative, TLY_NUMBER_SUBNORMAL);
    }
    return make(mantissa | (tly_num_bits)1 << m, (int32_t)exponent - f->bias - (int32_t)m, negative,
                TLY_NUMBER_NORMAL);
}

/* HiF8 (PTO, data-types/formats/hif8): leading bits after the sign say how many bits the exponent
 * has. Its own top bit is its sign, the bit above the rest is implied. */
static tly_number unpack_tapered(uint32_t bits) {
    int negative = (bits & 0x80) != 0;
    uint32_t body = bits & 0x7F, exponent_bits, rest;
    int32_t exponent;
    if (bits == 0x80 || body == 0x6F) {
        tly_number special = {0, 0, TLY_NUMBER_INFINITE, (uint8_t)negative};
        if (bits == 0x80) {
            special = (tly_number){(tly_num_bits)1 << 127, 0, TLY_NUMBER_QUIET_NAN, 0};
        }
        return special;
    }
    if (body < 0x08) { /* 0000mmm: 2^(m - 23) */
        return make(body != 0, (int32_t)body - 23, negative, TLY_NUMBER_SUBNORMAL);
    }
    if (body < 0x10) { /* 0001mmm */
        return make(8 | (body & 7), -3, negative, TLY_NUMBER_NORMAL);
    }
    if (body < 0x20) { /* 001emmm */
        exponent_bits = 1;
        rest = 3;
    } else if (body < 0x40) { /* 01eemmm */
        exponent_bits = 2;
        rest = 3;
    } else if (body < 0x60) { /* 10eeemm */
        exponent_bits = 3;
        rest = 2;
    } else { /* 11eeeem */
        exponent_bits = 4;
        rest = 1;
    }
    exponent = 1 << (exponent_bits - 1);
    exponent |= (int32_t)(body >> rest) & (exponent - 1);
    if (body >> (rest + exponent_bits - 1) & 1) {
        exponent = -exponent;
    }
    return make((1u << rest) | (body & ((1u << rest) - 1)), exponent - (int32_t)rest, negative,
                TLY_NUMBER_NORMAL);
}

tly_number tly_num_unpack(const tly_format *format, tly_num_bits bits) {
    tly_number none = {0, 0, TLY_NUMBER_INVALID, 0};
    bits &= tly_num_mask(format->bits);
    switch (format->klass) {
    case TLY_CLASS_FLOAT:
        return unpack_float(format, bits);
    case TLY_CLASS_TAPERED:
        return unpack_tapered((uint32_t)bits);
    case TLY_CLASS_INT:
        if (bits >> (format->bits - 1) != 0) {
            return make(((tly_num_bits)1 << format->bits) - bits, 0, 1, TLY_NUMBER_NORMAL);
        }
        return make(bits, 0, 0, TLY_NUMBER_NORMAL);
    case TLY_CLASS_UINT:
        return make(bits, 0, 0, TLY_NUMBER_NORMAL);
    case TLY_CLASS_BOOL:
        return make(bits != 0, 0, 0, TLY_NUMBER_NORMAL);
    default:
        return none;
    }
}

int32_t tly_format_classify(const tly_format *format, tly_code code, int32_t *out_negative) {
    tly_number n = {0, 0, TLY_NUMBER_INVALID, 0};
    if (tly_num_format_ok(format)) {
        n = tly_num_unpack(format, tly_num_bits_of(code));
    }
    if (out_negative != NULL) {
        *out_negative = n.negative;
    }
    return n.klass;
}
