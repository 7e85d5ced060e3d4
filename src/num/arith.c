/* SPDX-License-Identifier: Apache-2.0 */
/* Products, quotients and square roots of numbers. */
#include "num/number.h"

enum { FRACTION_BITS = 128, ROOT_BITS = 126 };

static int is_nan(const tly_number *n) {
    return n->klass == TLY_NUMBER_QUIET_NAN || n->klass == TLY_NUMBER_SIGNALING_NAN ||
           n->klass == TLY_NUMBER_INVALID;
}

static tly_number invalid(void) {
    return (tly_number){(tly_num_bits)1 << 127, 0, TLY_NUMBER_SIGNALING_NAN, 0};
}

static tly_number special(uint8_t klass, int negative) {
    return (tly_number){0, 0, klass, (uint8_t)(negative != 0)};
}

/* The product of two fractions, which is at least 2^254: its upper 128 bits, the rest in *out_rest.
 */
static tly_num_bits multiply_wide(tly_num_bits a, tly_num_bits b, tly_num_bits *out_rest) {
    tly_num_bits a_high = a >> 64, a_low = (uint64_t)a, b_high = b >> 64, b_low = (uint64_t)b;
    tly_num_bits low = a_low * b_low, cross = a_high * b_low, other = a_low * b_high;
    tly_num_bits middle = (low >> 64) + (uint64_t)cross + (uint64_t)other;
    *out_rest = (uint64_t)low | middle << 64;
    return a_high * b_high + (cross >> 64) + (other >> 64) + (middle >> 64);
}

tly_number tly_num_multiply(tly_number a, tly_number b) {
    int negative = a.negative != b.negative;
    if (is_nan(&a) || is_nan(&b)) {
        return is_nan(&a) ? a : b;
    }
    if (a.klass == TLY_NUMBER_INFINITE || b.klass == TLY_NUMBER_INFINITE) {
        return a.klass == TLY_NUMBER_ZERO || b.klass == TLY_NUMBER_ZERO
                   ? invalid()
                   : special(TLY_NUMBER_INFINITE, negative);
    }
    if (a.klass == TLY_NUMBER_ZERO || b.klass == TLY_NUMBER_ZERO) {
        return special(TLY_NUMBER_ZERO, negative);
    }
    tly_num_bits rest = 0, high = multiply_wide(a.fraction, b.fraction, &rest);
    int32_t exponent = a.exponent + b.exponent + 1;
    if (high >> 127 == 0) { /* 1.x * 1.y is below 2 */
        high = high << 1 | rest >> 127;
        rest <<= 1;
        exponent--;
    }
    return (tly_number){high | (rest != 0), exponent, TLY_NUMBER_NORMAL, (uint8_t)negative};
}

tly_number tly_num_fused(tly_number a, tly_number b, tly_number addend) {
    return tly_num_add(tly_num_multiply(a, b), addend);
}

tly_number tly_num_divide(tly_number a, tly_number b) {
    int negative = a.negative != b.negative;
    if (is_nan(&a) || is_nan(&b)) {
        return is_nan(&a) ? a : b;
    }
    if (a.klass == TLY_NUMBER_INFINITE) {
        return b.klass == TLY_NUMBER_INFINITE ? invalid() : special(TLY_NUMBER_INFINITE, negative);
    }
    if (b.klass == TLY_NUMBER_INFINITE) {
        return special(TLY_NUMBER_ZERO, negative);
    }
    if (b.klass == TLY_NUMBER_ZERO) {
        return a.klass == TLY_NUMBER_ZERO ? invalid() : special(TLY_NUMBER_INFINITE, negative);
    }
    if (a.klass == TLY_NUMBER_ZERO) {
        return special(TLY_NUMBER_ZERO, negative);
    }
    int32_t exponent = a.exponent - b.exponent;
    tly_num_bits rest = a.fraction, quotient = 0;
    int over = 0; /* bit 128 of the rest */
    if (rest < b.fraction) {
        over = (int)(rest >> 127);
        rest <<= 1;
        exponent--;
    }
    for (uint32_t i = 0; i < FRACTION_BITS; i++) {
        quotient <<= 1;
        if (over || rest >= b.fraction) {
            rest -= b.fraction;
            quotient |= 1;
        }
        over = (int)(rest >> 127);
        rest <<= 1;
    }
    return (tly_number){quotient | (over || rest != 0), exponent, TLY_NUMBER_NORMAL,
                        (uint8_t)negative};
}

tly_number tly_num_square_root(tly_number n) {
    if (is_nan(&n) || n.klass == TLY_NUMBER_ZERO) {
        return n;
    }
    if (n.negative) {
        return invalid();
    }
    if (n.klass == TLY_NUMBER_INFINITE) {
        return n;
    }
    /* an even exponent leaves a radicand in 1 .. 4: two bits of it for each bit of the root */
    int odd = n.exponent & 1;
    tly_num_bits radicand = odd ? n.fraction : n.fraction >> 1, rest = 0, root = 0;
    tly_num_bits lost = odd ? 0 : n.fraction & 1;
    for (uint32_t i = 0; i < ROOT_BITS; i++) {
        rest = rest << 2 | radicand >> 126;
        radicand <<= 2;
        tly_num_bits trial = root << 2 | 1;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    lost |= rest | radicand;
    return (tly_number){root << (FRACTION_BITS - ROOT_BITS) | (lost != 0), (n.exponent - odd) / 2,
                        TLY_NUMBER_NORMAL, 0};
}
