/* SPDX-License-Identifier: Apache-2.0 */
/* SQRT, LOG, RECIP, EXP and RSQRT of rows of FP32, with the host's doubles. What these do not
 * decide, and operands that are no numbers, go one by one. */
#include <math.h>
#include <string.h>

#include "pto/profile/ieee_rows.h"

typedef double doubles;
typedef uint64_t long_words;

static inline doubles d_set(double number) {
    return number;
}
static inline doubles d_fma(doubles a, doubles b, doubles c) { /* two roundings do as well */
    return a * b + c;
}
static inline doubles d_fnma(doubles a, doubles b, doubles c) { /* c - a * b */
    return c - a * b;
}
static inline doubles d_sqrt(doubles d) {
    return sqrt(d);
}
static inline long_words d_bits(doubles d) {
    long_words bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}
static inline doubles d_of_bits(long_words bits) {
    doubles d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

#include "pto/profile/ieee_series_template.h"

/* One number; false if it is left. */
typedef bool function(float x, float *out, uint8_t *flags);

/* The float nearest to all of an interval, if there is one. */
static inline bool settle(double y, double error, float *out) {
    float lower = (float)(y * (1.0 - error)), upper = (float)(y * (1.0 + error));
    *out = lower;
    return lower == upper;
}

static inline uint8_t flag_if(uint8_t flag, bool raised) {
    return raised ? flag : 0;
}

static inline bool exponential(float x, float *out, uint8_t *flags) {
    if (x > EXP_MOST || x < EXP_LEAST) {
        uint8_t beyond = x > 0 ? TLY_PTO_FLAG_OVERFLOW : TLY_PTO_FLAG_UNDERFLOW;
        *flags |= flag_if(beyond | TLY_PTO_FLAG_INEXACT, isfinite(x));
        *out = x > 0 ? INFINITY : 0.0f;
        return true;
    }
    if (!settle(series_exp(x), EXP_ERROR, out)) {
        return false;
    }
    *flags |= flag_if(TLY_PTO_FLAG_INEXACT, x != 0);
    *flags |= flag_if(TLY_PTO_FLAG_UNDERFLOW, *out < 0x1p-126f);
    return true;
}

static inline bool logarithm(float x, float *out, uint8_t *flags) {
    if (!(x > 0 && x < INFINITY) || !settle(series_log(x), LOG_ERROR, out)) {
        return false;
    }
    *flags |= flag_if(TLY_PTO_FLAG_INEXACT, x != 1);
    return true;
}

/* Exact only where the result is a power of two; its square and the product are exact then. */
static inline bool reciprocal_root(float x, float *out, uint8_t *flags) {
    if (!(x > 0 && x < INFINITY) || !settle(series_rsqrt(x), RSQRT_ERROR, out)) {
        return false;
    }
    bool power = (d_bits(*out) & UINT64_C(0x000FFFFFFFFFFFFF)) == 0;
    *flags |= flag_if(TLY_PTO_FLAG_INEXACT, !power || (double)*out * *out * x != 1);
    return true;
}

/* A root of 24 bits and a quotient of two such numbers are the same whether they are rounded to 53
 * bits first or not; products of two are exact. */
static inline bool square_root(float x, float *out, uint8_t *flags) {
    if (!(x >= 0 && x < INFINITY)) {
        return false;
    }
    *out = (float)sqrt((double)x);
    *flags |= flag_if(TLY_PTO_FLAG_INEXACT, (double)*out * *out != x);
    return true;
}

static inline bool reciprocal(float x, float *out, uint8_t *flags) {
    if (!isfinite(x) || x == 0) {
        return false;
    }
    *out = (float)(1.0 / x);
    bool inexact = (double)*out * x != 1;
    *flags |= flag_if(TLY_PTO_FLAG_INEXACT, inexact);
    *flags |= flag_if(TLY_PTO_FLAG_OVERFLOW, isinf(*out));
    *flags |= flag_if(TLY_PTO_FLAG_UNDERFLOW, inexact && fabsf(*out) < 0x1p-126f);
    return true;
}

static inline void row(function of, tly_pto_tile_unary op, const float *value, float *out,
                       size_t count, uint8_t *flags) {
    for (size_t i = 0; i < count; i++) {
        float x = value[i];
        if (!of(x, &out[i], flags)) {
            out[i] = tly_pto_ieee_unary_f32(op, x, flags);
        }
    }
}

void tly_pto_ieee_unary_f32_portable(tly_pto_tile_unary op, const float *value, float *out,
                                     size_t count, uint8_t *flags) {
    switch (op) {
    case TLY_PTO_TILE_SQRT:
        row(square_root, op, value, out, count, flags);
        break;
    case TLY_PTO_TILE_LOG:
        row(logarithm, op, value, out, count, flags);
        break;
    case TLY_PTO_TILE_RECIP:
        row(reciprocal, op, value, out, count, flags);
        break;
    case TLY_PTO_TILE_EXP:
        row(exponential, op, value, out, count, flags);
        break;
    default:
        row(reciprocal_root, op, value, out, count, flags);
        break;
    }
}
