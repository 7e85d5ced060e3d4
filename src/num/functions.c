/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential and logarithm by integer arithmetic: the same bits on every host. */
#include "num/number.h"

enum {
    POINT = 116,     /* bits behind the point of a reduced argument */
    RANGE_BITS = 11, /* beyond 2^11 every exponential overflows or vanishes */
    TINY_BITS = 112, /* below 2^-112 it is 1, and not quite */
    EXP_TERMS = 32,
    EXP_SHORT = 20, /* from here on terms are below 2^-61: words of 64 bits have room for them */
    LOG_TERMS = 26,
    LOG_SHORT = 11, /* from here on terms count for less than 2^-55 */
    FAR = 100000    /* exponent of what no format holds */
};

/* ln 2: 128 bits behind the point. */
#define LN2 ((tly_num_bits)UINT64_C(0xB17217F7D1CF79AB) << 64 | UINT64_C(0xC9E3B39803F2F6AF))

#define ONE ((tly_num_bits)1 << 127)

/* a * b / 2^128 */
static tly_num_bits multiply_high(tly_num_bits a, tly_num_bits b) {
    tly_num_bits a_high = a >> 64, a_low = (uint64_t)a, b_high = b >> 64, b_low = (uint64_t)b;
    tly_num_bits cross = a_high * b_low, other = a_low * b_high;
    tly_num_bits middle = (a_low * b_low >> 64) + (uint64_t)cross + (uint64_t)other;
    return a_high * b_high + (cross >> 64) + (other >> 64) + (middle >> 64);
}

static uint64_t multiply_word(uint64_t a, uint64_t b) {
    return (uint64_t)((tly_num_bits)a * b >> 64);
}

static tly_number number_of(tly_num_bits fraction, int32_t exponent) {
    return (tly_number){fraction, exponent, TLY_NUMBER_NORMAL, 0};
}

/* k * ln 2 with POINT bits behind the point; k is not negative. */
static tly_num_bits multiple_of_ln2(uint32_t k) {
    tly_num_bits high = (LN2 >> 64) * k, low = (tly_num_bits)(uint64_t)LN2 * k;
    high += low >> 64;
    return high << (POINT - 64) | (uint64_t)low >> (128 - POINT);
}

/* 1 / n!, 127 bits behind the point. */
#define LATE(product) (ONE / UINT64_C(2432902008176640000) / UINT64_C(product)) /* from 21! on */
static const tly_num_bits exp_terms[EXP_TERMS + 1] = {
    ONE,
    ONE,
    ONE / 2,
    ONE / 6,
    ONE / 24,
    ONE / 120,
    ONE / 720,
    ONE / 5040,
    ONE / 40320,
    ONE / 362880,
    ONE / 3628800,
    ONE / 39916800,
    ONE / 479001600,
    ONE / UINT64_C(6227020800),
    ONE / UINT64_C(87178291200),
    ONE / UINT64_C(1307674368000),
    ONE / UINT64_C(20922789888000),
    ONE / UINT64_C(355687428096000),
    ONE / UINT64_C(6402373705728000),
    ONE / UINT64_C(121645100408832000),
    ONE / UINT64_C(2432902008176640000),
    LATE(21),
    LATE(462),
    LATE(10626),
    LATE(255024),
    LATE(6375600),
    LATE(165765600),
    LATE(4475671200),
    LATE(125318793600),
    LATE(3634245014400),
    LATE(109027350432000),
    LATE(3379847863392000),
    LATE(108155131628544000),
};

/* exp of x in 0 .. ln 2, POINT bits behind the point: a number in 1 .. 2. */
static tly_num_bits exp_of_rest(tly_num_bits rest) {
    tly_num_bits x = rest << (128 - POINT);
    uint64_t word = 0; /* 124 bits behind the point */
    for (uint32_t n = EXP_TERMS; n >= EXP_SHORT; n--) {
        word = (uint64_t)(exp_terms[n] >> 3) + multiply_word(word, (uint64_t)(x >> 64));
    }
    tly_num_bits sum = (tly_num_bits)word << 3;
    for (uint32_t n = EXP_SHORT; n-- > 0;) {
        sum = exp_terms[n] + multiply_high(sum, x);
    }
    return sum;
}

tly_number tly_num_exp(tly_number x) {
    if (x.klass == TLY_NUMBER_ZERO) {
        return number_of(ONE, 0);
    }
    if (x.klass == TLY_NUMBER_INFINITE) {
        return x.negative ? (tly_number){0, 0, TLY_NUMBER_ZERO, 0} : x;
    }
    if (x.klass != TLY_NUMBER_NORMAL && x.klass != TLY_NUMBER_SUBNORMAL) {
        return x;
    }
    if (x.exponent >= RANGE_BITS) {
        return number_of(ONE | 1, x.negative ? -FAR : FAR);
    }
    if (x.exponent < -TINY_BITS) {
        return x.negative ? number_of(~(tly_num_bits)0, -1) : number_of(ONE | 1, 0);
    }
    /* |x| = k ln 2 + rest, or for a negative x: x = -k ln 2 + rest */
    tly_num_bits fixed = x.fraction >> (127 - POINT - x.exponent);
    uint32_t k = (uint32_t)((uint64_t)(fixed >> 64) / (uint64_t)(LN2 >> (192 - POINT)));
    while (multiple_of_ln2(k) > fixed) {
        k--;
    }
    while (multiple_of_ln2(k + 1) <= fixed) {
        k++;
    }
    if (!x.negative) {
        return number_of(exp_of_rest(fixed - multiple_of_ln2(k)) | 1, (int32_t)k);
    }
    k++;
    return number_of(exp_of_rest(multiple_of_ln2(k) - fixed) | 1, -(int32_t)k);
}

/* 1 / (2 n + 1), 127 bits behind the point. */
static const tly_num_bits log_terms[LOG_TERMS + 1] = {
    ONE,      ONE / 3,  ONE / 5,  ONE / 7,  ONE / 9,  ONE / 11, ONE / 13, ONE / 15, ONE / 17,
    ONE / 19, ONE / 21, ONE / 23, ONE / 25, ONE / 27, ONE / 29, ONE / 31, ONE / 33, ONE / 35,
    ONE / 37, ONE / 39, ONE / 41, ONE / 43, ONE / 45, ONE / 47, ONE / 49, ONE / 51, ONE / 53};

/* 1 + s/3 + s^2/5 + ..., where s = z^2 is at most 0.03: 127 bits behind the point. */
static tly_num_bits atanh_series(tly_num_bits square) {
    uint64_t word = 0; /* 63 bits behind the point */
    for (uint32_t n = LOG_TERMS; n >= LOG_SHORT; n--) {
        word = (uint64_t)(log_terms[n] >> 64) + multiply_word(word, (uint64_t)(square >> 64));
    }
    tly_num_bits sum = (tly_num_bits)word << 64;
    for (uint32_t n = LOG_SHORT; n-- > 0;) {
        sum = log_terms[n] + multiply_high(sum, square);
    }
    return sum;
}

tly_number tly_num_log(tly_number x) {
    if (x.klass == TLY_NUMBER_ZERO) {
        return (tly_number){0, 0, TLY_NUMBER_INFINITE, 1};
    }
    if (x.klass != TLY_NUMBER_NORMAL && x.klass != TLY_NUMBER_SUBNORMAL &&
        x.klass != TLY_NUMBER_INFINITE) {
        return x;
    }
    if (x.negative) {
        return (tly_number){ONE, 0, TLY_NUMBER_SIGNALING_NAN, 0};
    }
    if (x.klass == TLY_NUMBER_INFINITE) {
        return x;
    }
    tly_number one = number_of(ONE, 0), minus_one = {ONE, 0, TLY_NUMBER_NORMAL, 1};
    /* x = m * 2^e with m in 0.70 .. 1.41 */
    tly_number m = number_of(x.fraction, 0);
    int32_t e = x.exponent;
    if (x.fraction > (tly_num_bits)UINT64_C(0xB504F333F9DE6484) << 64) {
        m.exponent = -1;
        e++;
    }
    /* ln m = 2 atanh z, z = (m - 1) / (m + 1) */
    tly_number z = tly_num_divide(tly_num_add(m, minus_one), tly_num_add(m, one));
    tly_number result = z;
    if (z.klass == TLY_NUMBER_NORMAL) {
        tly_number square = tly_num_multiply(z, z);
        int32_t down = -1 - square.exponent; /* of a fraction with 128 bits behind the point */
        result = tly_num_multiply(
            z, number_of(atanh_series(down < 128 ? square.fraction >> down : 0), 1));
    }
    if (e == 0) {
        result.fraction |= result.klass == TLY_NUMBER_NORMAL;
        return result;
    }
    uint32_t magnitude = (uint32_t)(e < 0 ? -e : e);
    uint32_t shift = (uint32_t)__builtin_clz(magnitude);
    tly_number count = {(tly_num_bits)magnitude << (96 + shift), 31 - (int32_t)shift,
                        TLY_NUMBER_NORMAL, (uint8_t)(e < 0)};
    result = tly_num_add(tly_num_multiply(count, number_of(LN2, -1)), result);
    result.fraction |= 1;
    return result;
}
