/* SPDX-License-Identifier: Apache-2.0 */
/* EXP, LOG and RSQRT of FP32, one text for every width of vectors; included once for each level,
 * after its ieee_ops_*.h. Exponentials go through pairs of floats; what those leave, and the other
 * functions, through doubles with a bound for their error; what these leave, and operands that are
 * no numbers, one by one. */
#include <string.h>

#include "pto/profile/ieee_rows.h"
#include "pto/profile/ieee_series_template.h"

/* --- doubles ---------------------------------------------------------------------------------- */

typedef struct wide {
    doubles low, high; /* both halves of the lanes */
} wide;

static inline wide widen(vector x) {
    return (wide){d_low(x), d_high(x)};
}

static inline vector narrow_scaled(wide x, double factor) {
    const doubles by = d_set(factor);
    return v_of_doubles(x.low * by, x.high * by);
}

/* Floats nearest to both ends of an interval; returns the lanes where it decides the rounding. */
static inline lanes settle(wide y, double error, vector *out) {
    vector lower = narrow_scaled(y, 1.0 - error), upper = narrow_scaled(y, 1.0 + error);
    *out = lower;
    return v_equal(lower, upper);
}

/* --- one vector ------------------------------------------------------------------------------- */

/* The lanes that vectors leave, one by one. */
static void finish(tly_pto_tile_unary op, vector x, lanes done, float *out, uint8_t *flags) {
    float values[LANES];
    uint32_t left = ~l_bits(done) & ((1u << LANES) - 1);
    if (left != 0) {
        v_store(values, x);
        for (; left != 0; left &= left - 1) {
            uint32_t i = (uint32_t)__builtin_ctz(left);
            out[i] = tly_pto_ieee_unary_f32(op, values[i], flags);
        }
    }
}

static inline uint8_t flag_if(uint8_t flag, lanes where) {
    return l_bits(where) != 0 ? flag : 0;
}

static __attribute__((noinline)) void exp_vector(const float *value, float *out, uint8_t *flags) {
    const vector infinity = v_set(__builtin_inff()), zero = v_set(0.0f);
    vector x = v_load(value), y;
    lanes above = v_less(v_set(EXP_MOST), x), below = v_less(x, v_set(EXP_LEAST));
    lanes beyond = l_or(above, below);
    const lanes finite = v_unequal(x, v_set(-__builtin_inff())); /* of those below */
    if (l_bits(below) == (1u << LANES) - 1) {                    /* masks of attention are so */
        v_store(out, zero);
        *flags |= flag_if(TLY_PTO_FLAG_UNDERFLOW, finite);
        return;
    }
    wide w = widen(v_choose(beyond, zero, x));
    lanes done =
        l_without(settle((wide){series_exp(w.low), series_exp(w.high)}, EXP_ERROR, &y), beyond);
    lanes tiny = l_and(done, v_less(y, v_set(0x1p-126f)));
    v_store(out, v_choose(above, infinity, v_choose(below, zero, y)));
    /* infinities are exact */
    above = l_and(above, v_unequal(x, infinity));
    below = l_and(below, finite);
    *flags |= flag_if(TLY_PTO_FLAG_OVERFLOW, above);
    *flags |= flag_if(TLY_PTO_FLAG_UNDERFLOW, l_or(below, tiny));
    finish(TLY_PTO_TILE_EXP, x, l_or(done, beyond), out, flags);
}

/* Lanes that are positive numbers; 1 is put in place of the others. */
static inline lanes positive(vector *x) {
    lanes good = l_and(v_less(v_set(0.0f), *x), v_less(*x, v_set(__builtin_inff())));
    *x = v_choose(good, *x, v_set(1.0f));
    return good;
}

static inline void log_vector(const float *value, float *out, uint8_t *flags) {
    vector given = v_load(value), x = given, y;
    lanes good = positive(&x);
    wide w = widen(x);
    lanes done = l_and(good, settle((wide){series_log(w.low), series_log(w.high)}, LOG_ERROR, &y));
    v_store(out, y);
    *flags |= flag_if(TLY_PTO_FLAG_INEXACT, v_unequal(x, v_set(1.0f)));
    finish(TLY_PTO_TILE_LOG, given, done, out, flags);
}

/* Whether y^2 x = 1 in all lanes, of floats: the fused difference is 0 only then. */
static inline bool is_exact(doubles y, doubles x) {
    return d_all_zero(d_fms(y * y, x, d_set(1.0)));
}

static inline void rsqrt_vector(const float *value, float *out, uint8_t *flags) {
    vector given = v_load(value), x = given, y;
    lanes good = positive(&x);
    wide w = widen(x);
    lanes done =
        l_and(good, settle((wide){series_rsqrt(w.low), series_rsqrt(w.high)}, RSQRT_ERROR, &y));
    v_store(out, y);
    wide root = widen(y);
    bool exact = is_exact(root.low, w.low) && is_exact(root.high, w.high);
    *flags |= exact ? 0 : TLY_PTO_FLAG_INEXACT;
    finish(TLY_PTO_TILE_RSQRT, given, done, out, flags);
}

/* --- rows ------------------------------------------------------------------------------------- */

static inline vector scale(vector v, vector w) {
    return (vector)((unsigned_words)v + ((unsigned_words)w << 20));
}

/* Whether |x| < limit and a = b in every lane; not where there is a NaN. */
static inline bool decided(vector x, float limit, vector a, vector b) {
    const vector size = (vector)((unsigned_words)x & 0x7FFFFFFF);
    return l_bits(l_and(v_less(size, v_set(limit)), v_equal(a, b))) == (1u << LANES) - 1;
}

#include "pto/profile/ieee_exp_template.h"

/* Whether there is a finite number but 0; mostly the first one is. */
static bool has_inexact_exp(const float *value, size_t count) {
    size_t at = 0;
    while (at < count && !(value[at] != 0.0f && value[at] - value[at] == 0.0f)) {
        at++;
    }
    return at < count;
}

void LEVEL(tly_pto_ieee_exp_f32)(const float *value, float *out, size_t count, uint8_t *flags) {
    *flags |= has_inexact_exp(value, count) ? TLY_PTO_FLAG_INEXACT : 0;
    exp_loop(value, out, count, flags);
}

/* Vector by vector; what the last one lacks is 1. */
static inline void loop(void of(const float *, float *, uint8_t *), const float *value, float *out,
                        size_t count, uint8_t *flags) {
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        of(value + at, out + at, flags);
    }
    if (at < count) {
        float rest[LANES];
        v_store(rest, v_set(1.0f));
        memcpy(rest, value + at, (count - at) * sizeof(float));
        of(rest, rest, flags);
        memcpy(out + at, rest, (count - at) * sizeof(float));
    }
}

void LEVEL(tly_pto_ieee_log_f32)(const float *value, float *out, size_t count, uint8_t *flags) {
    loop(log_vector, value, out, count, flags);
}

void LEVEL(tly_pto_ieee_rsqrt_f32)(const float *value, float *out, size_t count, uint8_t *flags) {
    loop(rsqrt_vector, value, out, count, flags);
}
