/* SPDX-License-Identifier: Apache-2.0 */
/* Products, quotients and square roots of numbers. */
#include <math.h>

#include "num/number.h"

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

/* One word of a quotient: (*rest * 2^64 + next) / divisor, where *rest, which becomes what is left,
 * is below the divisor, and bit 127 of that is set (Knuth, volume 2, algorithm D). */
static uint64_t divide_word(tly_num_bits *rest, uint64_t next, tly_num_bits divisor) {
    uint64_t high = (uint64_t)(divisor >> 64), low = (uint64_t)divisor;
    uint64_t word = *rest >> 64 >= high ? UINT64_MAX : (uint64_t)(*rest / high);
    tly_num_bits left = *rest - (tly_num_bits)word * high;
    tly_num_bits product = (tly_num_bits)word * low;
    while (left >> 64 == 0 && product > (left << 64 | next)) { /* at most twice */
        word--;
        left += high;
        product -= low;
    }
    *rest = (left << 64 | next) - product;
    return word;
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
    /* of 2^127 a / b, or 2^128 a / b where a is the smaller fraction: 128 bits either way */
    int smaller = a.fraction < b.fraction;
    tly_num_bits rest = smaller ? a.fraction : a.fraction >> 1;
    uint64_t high = divide_word(&rest, smaller ? 0 : (uint64_t)a.fraction << 63, b.fraction);
    uint64_t low = divide_word(&rest, 0, b.fraction);
    return (tly_number){(tly_num_bits)high << 64 | low | (rest != 0),
                        a.exponent - b.exponent - smaller, TLY_NUMBER_NORMAL, (uint8_t)negative};
}

/* The largest integer whose square is not above n, which is at least 2^126. */
static uint64_t root_of(tly_num_bits n) {
    double guess = sqrt((double)n);
    uint64_t root = guess < 0x1p64 ? (uint64_t)guess : UINT64_MAX;
    tly_num_bits better = ((n / root) + root) / 2; /* Newton: twice the good bits */
    root = better >> 64 == 0 ? (uint64_t)better : UINT64_MAX;
    while ((tly_num_bits)root * root > n) {
        root--;
    }
    while (n - (tly_num_bits)root * root > 2 * (tly_num_bits)root) {
        root++;
    }
    return root;
}

/* The root of high * 2^128 + low, or a little more: the upper word is exact, the lower one what is
 * left over twice the upper (Zimmermann, Karatsuba Square Root, 1999). */
static tly_num_bits root_estimate(tly_num_bits high, tly_num_bits low) {
    uint64_t upper = root_of(high);
    tly_num_bits rest = high - (tly_num_bits)upper * upper; /* 65 bits */
    tly_num_bits lower = (rest << 63 | low >> 65) / upper;
    return (tly_num_bits)upper << 64 | (lower >> 64 == 0 ? (uint64_t)lower : UINT64_MAX);
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
    /* an even exponent leaves a radicand in 1 .. 4, here with 254 bits behind the point */
    int odd = n.exponent & 1;
    tly_num_bits high = odd ? n.fraction : n.fraction >> 1;
    tly_num_bits low = odd ? 0 : n.fraction << 127;
    tly_num_bits rest, root = root_estimate(high, low), square = multiply_wide(root, root, &rest);
    while (square > high || (square == high && rest > low)) {
        root--;
        square = multiply_wide(root, root, &rest);
    }
    return (tly_number){root | (square != high || rest != low), (n.exponent - odd) / 2,
                        TLY_NUMBER_NORMAL, 0};
}
