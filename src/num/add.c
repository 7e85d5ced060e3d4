/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of numbers. */
#include "num/number.h"

static int is_nan(const tly_number *n) {
    return n->klass == TLY_NUMBER_QUIET_NAN || n->klass == TLY_NUMBER_SIGNALING_NAN ||
           n->klass == TLY_NUMBER_INVALID;
}

/* Moves right; what falls out stays as the lowest bit. */
static tly_num_bits shift_jam(tly_num_bits v, uint32_t count) {
    if (count == 0) {
        return v;
    }
    if (count >= 128) {
        return v != 0;
    }
    return v >> count | ((v & tly_num_mask(count)) != 0);
}

static tly_number add_finite(tly_number a, tly_number b) {
    tly_num_bits small;
    if (a.exponent < b.exponent || (a.exponent == b.exponent && a.fraction < b.fraction)) {
        tly_number swap = a;
        a = b;
        b = swap;
    }
    small = shift_jam(b.fraction, (uint32_t)(a.exponent - b.exponent));
    a.klass = TLY_NUMBER_NORMAL;
    if (a.negative == b.negative) {
        tly_num_bits sum = a.fraction + small;
        if (sum < a.fraction) { /* carried out of 128 bits */
            sum = (sum >> 1 | (sum & 1)) | (tly_num_bits)1 << 127;
            a.exponent++;
        }
        a.fraction = sum;
        return a;
    }
    a.fraction -= small;
    if (a.fraction == 0) {
        return (tly_number){0, 0, TLY_NUMBER_ZERO, 0};
    }
    while (a.fraction >> 127 == 0) {
        a.fraction <<= 1;
        a.exponent--;
    }
    return a;
}

tly_number tly_num_add(tly_number a, tly_number b) {
    tly_number nan = {(tly_num_bits)1 << 127, 0, TLY_NUMBER_SIGNALING_NAN, 0};
    if (is_nan(&a) || is_nan(&b)) {
        return is_nan(&a) ? a : b;
    }
    if (a.klass == TLY_NUMBER_INFINITE || b.klass == TLY_NUMBER_INFINITE) {
        if (a.klass == b.klass && a.negative != b.negative) {
            return nan;
        }
        return a.klass == TLY_NUMBER_INFINITE ? a : b;
    }
    if (a.klass == TLY_NUMBER_ZERO || b.klass == TLY_NUMBER_ZERO) {
        if (a.klass == b.klass) {
            a.negative = a.negative && b.negative;
            return a;
        }
        return a.klass == TLY_NUMBER_ZERO ? b : a;
    }
    return add_finite(a, b);
}
