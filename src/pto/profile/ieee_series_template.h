/* SPDX-License-Identifier: Apache-2.0 */
/* EXP, LOG and RSQRT of FP32 operands in doubles, with bounds for their errors: one text for one
 * double and for vectors of them. Included after an ieee_ops_*.h, or after what stands for it in
 * ieee_functions.c. Products that are added may be rounded before that, or not. */

/* The largest operand whose exponential is a number, and the smallest whose exponential is not 0.
 */
#define EXP_MOST  0x1.62e42ep6f
#define EXP_LEAST (-0x1.9fe368p6f)

/* Four times the relative error of series_exp (2^-42: the term of r^11 is left out). */
#define EXP_ERROR 0x1p-40

/* e^x = 2^k e^r with |r| <= ln 2 / 2; r has 46 good bits, the series of e^r 41. */
static inline doubles series_exp(doubles x) {
    const doubles shift = d_set(0x1.8p52);
    doubles shifted = d_fma(x, d_set(0x1.71547652b82fep0), shift);
    doubles k = shifted - shift;
    doubles r = d_fnma(k, d_set(0x1.62e42fefa39efp-1), x);
    doubles r2 = r * r;
    doubles low = d_fma(r, d_set(1.0), d_set(1.0));
    doubles p2 = d_fma(r, d_set(1.0 / 6), d_set(1.0 / 2));
    doubles p4 = d_fma(r, d_set(1.0 / 120), d_set(1.0 / 24));
    doubles p6 = d_fma(r, d_set(1.0 / 5040), d_set(1.0 / 720));
    doubles p8 = d_fma(r, d_set(1.0 / 362880), d_set(1.0 / 40320));
    doubles high = d_fma(r2, d_set(1.0 / 3628800), p8);
    high = d_fma(r2, high, p6);
    high = d_fma(r2, high, p4);
    high = d_fma(r2, high, p2);
    doubles y = d_fma(r2, high, low);
    /* k stands in the low bits of `shifted`: it goes to the exponent */
    return d_of_bits(d_bits(y) + (d_bits(shifted) << 52));
}

/* Eight times the relative error of series_log, which is that of its last few roundings. */
#define LOG_ERROR 0x1p-47

/* ln x = e ln 2 + 2 atanh z, where x = 2^e m with m in 0.70 .. 1.42 and z = (m - 1) / (m + 1); both
 * are exact before the division. |z| < 0.172: what is left out is 2^-50 of the result. */
static inline doubles series_log(doubles x) {
    const uint64_t least = UINT64_C(0x3FE6A09E667F3BCD); /* of m */
    const doubles one = d_set(1.0);
    long_words over = d_bits(x) - least;
    doubles m = d_of_bits((over & UINT64_C(0x000FFFFFFFFFFFFF)) + least);
    long_words biased = (over + (UINT64_C(1024) << 52)) >> 52;
    /* an integer in the low bits of 2^52 */
    doubles e = d_of_bits(biased | UINT64_C(0x4330000000000000)) - d_set(0x1p52 + 1024);
    doubles z = (m - one) / (m + one);
    doubles s = z * z;
    doubles sum = d_set(1.0 / 17);
    for (int n = 15; n > 1; n -= 2) {
        sum = d_fma(sum, s, d_set(1.0 / n));
    }
    doubles twice = z + z;
    return d_fma(e, d_set(0x1.62e42fefa39efp-1), d_fma(twice * s, sum, twice));
}

/* Twice the relative error of two roundings. */
#define RSQRT_ERROR 0x1p-51

static inline doubles series_rsqrt(doubles x) {
    return d_set(1.0) / d_sqrt(x);
}
