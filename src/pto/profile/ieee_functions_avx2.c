/* SPDX-License-Identifier: Apache-2.0 */
/* EXP, LOG and RSQRT of FP32. Exponentials go through pairs of floats; what those leave, and the
 * other functions, through doubles with a bound for their error; what these leave, and operands
 * that are no numbers, one by one. */
#include <immintrin.h>
#include <string.h>

#include "pto/profile/ieee_rows.h"

enum { GROUP = 8 };

/* --- doubles ---------------------------------------------------------------------------------- */

typedef struct eight {
    __m256d low, high; /* lanes 0 .. 3 and 4 .. 7 */
} eight;

static inline eight widen(__m256 x) {
    return (eight){_mm256_cvtps_pd(_mm256_castps256_ps128(x)),
                   _mm256_cvtps_pd(_mm256_extractf128_ps(x, 1))};
}

static inline __m256 narrow_scaled(eight x, double factor) {
    const __m256d by = _mm256_set1_pd(factor);
    return _mm256_set_m128(_mm256_cvtpd_ps(_mm256_mul_pd(x.high, by)),
                           _mm256_cvtpd_ps(_mm256_mul_pd(x.low, by)));
}

/* Floats nearest to both ends of an interval; returns the lanes where it decides the rounding. */
static inline __m256 settle(eight y, double error, __m256 *out) {
    __m256 lower = narrow_scaled(y, 1.0 - error), upper = narrow_scaled(y, 1.0 + error);
    *out = lower;
    return _mm256_cmp_ps(lower, upper, _CMP_EQ_OQ);
}

/* Four times the relative error of exp4 (2^-42: the term of r^11 is left out). */
#define EXP_ERROR 0x1p-40

/* e^x = 2^k e^r with |r| <= ln 2 / 2; r has 47 good bits, the series of e^r 41. */
static inline __m256d exp4(__m256d x) {
    const __m256d shift = _mm256_set1_pd(0x1.8p52);
    __m256d shifted = _mm256_fmadd_pd(x, _mm256_set1_pd(0x1.71547652b82fep0), shift);
    __m256d k = _mm256_sub_pd(shifted, shift);
    __m256d r = _mm256_fnmadd_pd(k, _mm256_set1_pd(0x1.62e42fefa39efp-1), x);
    __m256d r2 = _mm256_mul_pd(r, r);
    __m256d low = _mm256_fmadd_pd(r, _mm256_set1_pd(1.0), _mm256_set1_pd(1.0));
    __m256d p2 = _mm256_fmadd_pd(r, _mm256_set1_pd(1.0 / 6), _mm256_set1_pd(1.0 / 2));
    __m256d p4 = _mm256_fmadd_pd(r, _mm256_set1_pd(1.0 / 120), _mm256_set1_pd(1.0 / 24));
    __m256d p6 = _mm256_fmadd_pd(r, _mm256_set1_pd(1.0 / 5040), _mm256_set1_pd(1.0 / 720));
    __m256d p8 = _mm256_fmadd_pd(r, _mm256_set1_pd(1.0 / 362880), _mm256_set1_pd(1.0 / 40320));
    __m256d p10 = _mm256_set1_pd(1.0 / 3628800);
    __m256d high = _mm256_fmadd_pd(r2, p10, p8);
    high = _mm256_fmadd_pd(r2, high, p6);
    high = _mm256_fmadd_pd(r2, high, p4);
    high = _mm256_fmadd_pd(r2, high, p2);
    __m256d y = _mm256_fmadd_pd(r2, high, low);
    /* k stands in the low bits of `shifted`: it goes to the exponent */
    __m256i scale = _mm256_slli_epi64(_mm256_castpd_si256(shifted), 52);
    return _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(y), scale));
}

/* Eight times the relative error of log4, which is that of its last few roundings. */
#define LOG_ERROR 0x1p-47

/* ln x = e ln 2 + 2 atanh z, where x = 2^e m with m in 0.70 .. 1.42 and z = (m - 1) / (m + 1); both
 * are exact before the division. |z| < 0.172: what is left out is 2^-50 of the result. */
static inline __m256d log4(__m256d x) {
    const __m256i least = _mm256_set1_epi64x(0x3FE6A09E667F3BCD); /* of m */
    const __m256i fraction = _mm256_set1_epi64x(0x000FFFFFFFFFFFFF);
    const __m256d one = _mm256_set1_pd(1.0);
    const __m256d whole = _mm256_set1_pd(0x1p52); /* an integer in its low bits */
    __m256i over = _mm256_sub_epi64(_mm256_castpd_si256(x), least);
    __m256d m = _mm256_castsi256_pd(_mm256_add_epi64(_mm256_and_si256(over, fraction), least));
    __m256i biased =
        _mm256_srli_epi64(_mm256_add_epi64(over, _mm256_set1_epi64x(INT64_C(1024) << 52)), 52);
    __m256d e = _mm256_sub_pd(_mm256_or_pd(_mm256_castsi256_pd(biased), whole),
                              _mm256_set1_pd(0x1p52 + 1024));
    __m256d z = _mm256_div_pd(_mm256_sub_pd(m, one), _mm256_add_pd(m, one));
    __m256d s = _mm256_mul_pd(z, z);
    __m256d sum = _mm256_set1_pd(1.0 / 17);
    for (int n = 15; n > 1; n -= 2) {
        sum = _mm256_fmadd_pd(sum, s, _mm256_set1_pd(1.0 / n));
    }
    __m256d twice = _mm256_add_pd(z, z);
    __m256d ln_m = _mm256_fmadd_pd(_mm256_mul_pd(twice, s), sum, twice);
    return _mm256_fmadd_pd(e, _mm256_set1_pd(0x1.62e42fefa39efp-1), ln_m);
}

/* Twice the relative error of two roundings. */
#define RSQRT_ERROR 0x1p-51

static inline __m256d rsqrt4(__m256d x) {
    return _mm256_div_pd(_mm256_set1_pd(1.0), _mm256_sqrt_pd(x));
}

/* --- groups of eight -------------------------------------------------------------------------- */

/* The lanes that vectors leave, one by one. */
static void finish(tly_pto_tile_unary op, __m256 x, __m256 done, float *out, uint8_t *flags) {
    float values[GROUP];
    uint32_t left = ~(uint32_t)_mm256_movemask_ps(done) & 0xFF;
    if (left != 0) {
        _mm256_storeu_ps(values, x);
        for (; left != 0; left &= left - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(left);
            out[i] = tly_pto_ieee_unary_f32(op, values[i], flags);
        }
    }
}

static inline uint8_t flag_if(uint8_t flag, __m256 lanes) {
    return _mm256_movemask_ps(lanes) != 0 ? flag : 0;
}

/* The largest operand whose exponential is a number, and the smallest whose exponential is not 0.
 */
#define EXP_MOST  0x1.62e42ep6f
#define EXP_LEAST (-0x1.9fe368p6f)

static __attribute__((noinline)) void exp8(const float *value, float *out, uint8_t *flags) {
    const __m256 infinity = _mm256_set1_ps(__builtin_inff());
    __m256 x = _mm256_loadu_ps(value), y;
    __m256 above = _mm256_cmp_ps(x, _mm256_set1_ps(EXP_MOST), _CMP_GT_OQ);
    __m256 below = _mm256_cmp_ps(x, _mm256_set1_ps(EXP_LEAST), _CMP_LT_OQ);
    __m256 beyond = _mm256_or_ps(above, below);
    eight wide = widen(_mm256_andnot_ps(beyond, x));
    wide = (eight){exp4(wide.low), exp4(wide.high)};
    __m256 done = _mm256_andnot_ps(beyond, settle(wide, EXP_ERROR, &y));
    __m256 tiny = _mm256_and_ps(done, _mm256_cmp_ps(y, _mm256_set1_ps(0x1p-126f), _CMP_LT_OQ));
    y = _mm256_or_ps(_mm256_andnot_ps(beyond, y), _mm256_and_ps(above, infinity));
    _mm256_storeu_ps(out, y);
    /* infinities are exact */
    above = _mm256_and_ps(above, _mm256_cmp_ps(x, infinity, _CMP_NEQ_OQ));
    below = _mm256_and_ps(below, _mm256_cmp_ps(x, _mm256_set1_ps(-__builtin_inff()), _CMP_NEQ_OQ));
    *flags |= flag_if(TLY_PTO_FLAG_OVERFLOW, above);
    *flags |= flag_if(TLY_PTO_FLAG_UNDERFLOW, _mm256_or_ps(below, tiny));
    finish(TLY_PTO_TILE_EXP, x, _mm256_or_ps(done, beyond), out, flags);
}

/* Lanes that are positive numbers; 1 is put in place of the others. */
static inline __m256 positive(__m256 *x) {
    __m256 good = _mm256_and_ps(_mm256_cmp_ps(*x, _mm256_setzero_ps(), _CMP_GT_OQ),
                                _mm256_cmp_ps(*x, _mm256_set1_ps(__builtin_inff()), _CMP_LT_OQ));
    *x = _mm256_blendv_ps(_mm256_set1_ps(1.0f), *x, good);
    return good;
}

static inline void log8(const float *value, float *out, uint8_t *flags) {
    __m256 given = _mm256_loadu_ps(value), x = given, y;
    __m256 good = positive(&x);
    eight wide = widen(x);
    __m256 done =
        _mm256_and_ps(good, settle((eight){log4(wide.low), log4(wide.high)}, LOG_ERROR, &y));
    _mm256_storeu_ps(out, y);
    *flags |= flag_if(TLY_PTO_FLAG_INEXACT, _mm256_cmp_ps(x, _mm256_set1_ps(1.0f), _CMP_NEQ_OQ));
    finish(TLY_PTO_TILE_LOG, given, done, out, flags);
}

/* y^2 x - 1, of floats: 0 only if it is. */
static inline __m256d defect4(__m256d y, __m256d x) {
    return _mm256_fmsub_pd(_mm256_mul_pd(y, y), x, _mm256_set1_pd(1.0));
}

static inline void rsqrt8(const float *value, float *out, uint8_t *flags) {
    __m256 given = _mm256_loadu_ps(value), x = given, y;
    __m256 good = positive(&x);
    eight wide = widen(x);
    __m256 done =
        _mm256_and_ps(good, settle((eight){rsqrt4(wide.low), rsqrt4(wide.high)}, RSQRT_ERROR, &y));
    _mm256_storeu_ps(out, y);
    eight root = widen(y);
    __m256d defect = _mm256_or_pd(defect4(root.low, wide.low), defect4(root.high, wide.high));
    bool exact = _mm256_movemask_pd(_mm256_cmp_pd(defect, _mm256_setzero_pd(), _CMP_NEQ_OQ)) == 0;
    *flags |= exact ? 0 : TLY_PTO_FLAG_INEXACT;
    finish(TLY_PTO_TILE_RSQRT, given, done, out, flags);
}

/* --- rows ------------------------------------------------------------------------------------- */

#define VECTOR        __m256
#define LANES         GROUP
#define LOAD(p)       _mm256_loadu_ps(p)
#define STORE(p, v)   _mm256_storeu_ps(p, v)
#define SET(number)   _mm256_set1_ps(number)
#define ADD(a, b)     _mm256_add_ps(a, b)
#define SUB(a, b)     _mm256_sub_ps(a, b)
#define MUL(a, b)     _mm256_mul_ps(a, b)
#define FMA(a, b, c)  _mm256_fmadd_ps(a, b, c)
#define FNMA(a, b, c) _mm256_fnmadd_ps(a, b, c)
#define PICK(table, v)                                                                             \
    _mm256_permutevar8x32_ps(_mm256_load_ps((const float *)(table)), _mm256_castps_si256(v))
#define SCALE(v, w)                                                                                \
    _mm256_castsi256_ps(                                                                           \
        _mm256_add_epi32(_mm256_castps_si256(v), _mm256_slli_epi32(_mm256_castps_si256(w), 20)))
#define DECIDED(x, limit, a, b)                                                                    \
    (_mm256_movemask_ps(_mm256_and_ps(_mm256_cmp_ps(_mm256_andnot_ps(_mm256_set1_ps(-0.0f), x),    \
                                                    _mm256_set1_ps(limit), _CMP_LT_OQ),            \
                                      _mm256_cmp_ps(a, b, _CMP_EQ_OQ))) == 0xFF)
#define CAREFULLY(value, out, flags) exp8(value, out, flags)
#include "pto/profile/ieee_exp_template.h"

/* Whether there is a finite number but 0; mostly the first one is. */
static bool has_inexact_exp(const float *value, size_t count) {
    size_t at = 0;
    while (at < count && !(value[at] != 0.0f && value[at] - value[at] == 0.0f)) {
        at++;
    }
    return at < count;
}

void tly_pto_ieee_exp_f32_avx2(const float *value, float *out, size_t count, uint8_t *flags) {
    *flags |= has_inexact_exp(value, count) ? TLY_PTO_FLAG_INEXACT : 0;
    exp_loop(value, out, count, flags);
}

/* Groups of eight; what the last one lacks is 1. */
static inline void loop(void of(const float *, float *, uint8_t *), const float *value, float *out,
                        size_t count, uint8_t *flags) {
    size_t at = 0;
    for (; at + GROUP <= count; at += GROUP) {
        of(value + at, out + at, flags);
    }
    if (at < count) {
        float rest[GROUP];
        _mm256_storeu_ps(rest, _mm256_set1_ps(1.0f));
        memcpy(rest, value + at, (count - at) * sizeof(float));
        of(rest, rest, flags);
        memcpy(out + at, rest, (count - at) * sizeof(float));
    }
}

void tly_pto_ieee_log_f32_avx2(const float *value, float *out, size_t count, uint8_t *flags) {
    loop(log8, value, out, count, flags);
}

void tly_pto_ieee_rsqrt_f32_avx2(const float *value, float *out, size_t count, uint8_t *flags) {
    loop(rsqrt8, value, out, count, flags);
}
