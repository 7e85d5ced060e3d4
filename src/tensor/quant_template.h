/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of quant_kernels.h in plain C, of which the compiler makes vectors. The including file
 * defines KERNELS, the name of the table. */
#include <math.h>
#include <string.h>

#include "num/narrow.h"
#include "tensor/quant_kernels.h"

static void expand8(int32_t *restrict out, const uint8_t *restrict codes, size_t n, int is_signed) {
    if (is_signed) {
        for (size_t i = 0; i < n; i++) {
            out[i] = (int8_t)codes[i];
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            out[i] = codes[i];
        }
    }
}

/* The elements of a byte, the first in the low bits; signed ones are moved to the top and back. */
static inline __attribute__((always_inline)) void expand_parts(int32_t *restrict out,
                                                               const uint8_t *restrict codes,
                                                               size_t n, int bits, int is_signed) {
    size_t parts = 8 / (size_t)bits, whole = n / parts;
    uint32_t mask = (1u << bits) - 1, sign = is_signed ? 1u << (bits - 1) : 0;
    for (size_t i = 0; i < whole; i++) {
        uint32_t byte = codes[i];
        for (size_t p = 0; p < parts; p++) {
            uint32_t code = byte >> (p * (size_t)bits) & mask;
            out[i * parts + p] = (int32_t)(code ^ sign) - (int32_t)sign;
        }
    }
    for (size_t i = whole * parts; i < n; i++) {
        uint32_t code = (uint32_t)codes[whole] >> (i % parts * (size_t)bits) & mask;
        out[i] = (int32_t)(code ^ sign) - (int32_t)sign;
    }
}

static void expand4(int32_t *out, const uint8_t *codes, size_t n, int is_signed) {
    if (is_signed) {
        expand_parts(out, codes, n, 4, 1);
    } else {
        expand_parts(out, codes, n, 4, 0);
    }
}

static void expand2(int32_t *out, const uint8_t *codes, size_t n, int is_signed) {
    if (is_signed) {
        expand_parts(out, codes, n, 2, 1);
    } else {
        expand_parts(out, codes, n, 2, 0);
    }
}

static void affine(float *restrict out, const int32_t *restrict codes, size_t n, float scale,
                   int32_t zero) {
    for (size_t i = 0; i < n; i++) {
        out[i] = scale * (float)(codes[i] - zero);
    }
}

static void affine_each(float *restrict out, const int32_t *restrict codes, size_t n,
                        const float *restrict scales, const int32_t *restrict zeros) {
    for (size_t i = 0; i < n; i++) {
        out[i] = scales[i] * (float)(codes[i] - zeros[i]);
    }
}

static void scale_all(float *restrict out, const float *restrict values, size_t n, float scale) {
    for (size_t i = 0; i < n; i++) {
        out[i] = scale * values[i];
    }
}

static void scale_each(float *restrict out, const float *restrict values, size_t n,
                       const float *restrict scales) {
    for (size_t i = 0; i < n; i++) {
        out[i] = scales[i] * values[i];
    }
}

/* Numbers in the order of their values, as integers: so that the compiler may take them in any
 * order, which it may not for floats. */
static void range(const float *restrict values, size_t n, float *low, float *high,
                  uint32_t *out_bad) {
    int32_t least = INT32_MAX, most = INT32_MIN, bits;
    uint32_t bad = 0;
    for (size_t i = 0; i < n; i++) {
        int32_t key;
        memcpy(&bits, &values[i], sizeof bits);
        bad |= (uint32_t)((bits & 0x7F800000) == 0x7F800000);
        key = bits < 0 ? bits ^ 0x7FFFFFFF : bits;
        least = key < least ? key : least;
        most = key > most ? key : most;
    }
    *out_bad |= bad;
    bits = least < 0 ? least ^ 0x7FFFFFFF : least;
    if (n > 0 && !bad) {
        float value;
        memcpy(&value, &bits, sizeof value);
        *low = value < *low ? value : *low;
        bits = most < 0 ? most ^ 0x7FFFFFFF : most;
        memcpy(&value, &bits, sizeof value);
        *high = value > *high ? value : *high;
    }
}

/* To nearest even: what is added has its last bit at the place of one. |v| < 2^22, which the range
 * of the codes makes so. */
static inline __attribute__((always_inline)) int32_t nearest(float v, float low, float high) {
    union {
        float value;
        int32_t bits;
    } sum;
    v = v < low ? low : v;
    v = v > high ? high : v;
    sum.value = v + 12582912.0f; /* 1.5 * 2^23 */
    return sum.bits - 0x4B400000;
}

static void quantize(int32_t *restrict out, const float *restrict values, size_t n, float scale,
                     int32_t zero, int32_t low, int32_t high) {
    float least = (float)(low - zero), most = (float)(high - zero);
    for (size_t i = 0; i < n; i++) {
        out[i] = nearest(values[i] / scale, least, most) + zero;
    }
}

static void quantize_each(int32_t *restrict out, const float *restrict values, size_t n,
                          const float *restrict scales, const int32_t *restrict zeros, int32_t low,
                          int32_t high) {
    for (size_t i = 0; i < n; i++) {
        out[i] = nearest(values[i] / scales[i], (float)(low - zeros[i]), (float)(high - zeros[i])) +
                 zeros[i];
    }
}

/* A quotient of f32 is below the smallest number only where the element rounds to zero. */
static void divide(float *restrict values, size_t n, const float *restrict scales) {
    for (size_t i = 0; i < n; i++) {
        values[i] /= scales[i];
    }
}

static inline __attribute__((always_inline)) void to_minifloat(int32_t *restrict out,
                                                               const float *restrict values,
                                                               size_t n, int e, int m,
                                                               int specials) {
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        out[i] = (int32_t)num_narrow(bits, e, m, specials, 1);
    }
}

static void minifloat(int32_t *out, const float *values, size_t n, int exponent_bits,
                      int mantissa_bits) {
    switch (exponent_bits * 8 + mantissa_bits) {
    case 4 * 8 + 3:
        to_minifloat(out, values, n, 4, 3, NUM_SPECIALS_MAX);
        break;
    case 5 * 8 + 2:
        to_minifloat(out, values, n, 5, 2, NUM_SPECIALS_IEEE);
        break;
    case 2 * 8 + 1:
        to_minifloat(out, values, n, 2, 1, NUM_SPECIALS_NONE);
        break;
    case 2 * 8 + 3:
        to_minifloat(out, values, n, 2, 3, NUM_SPECIALS_NONE);
        break;
    default:
        to_minifloat(out, values, n, 3, 2, NUM_SPECIALS_NONE);
        break;
    }
}

static void find_levels(int32_t *restrict out, const float *restrict values, size_t n,
                        const float *restrict scales, const float *levels) {
    double middle[15];
    for (int k = 0; k < 15; k++) {
        middle[k] = ((double)levels[k] + (double)levels[k + 1]) / 2;
    }
    for (size_t i = 0; i < n; i++) {
        double v = scales[i] > 0 ? (double)values[i] / (double)scales[i] : 0;
        int32_t code = 0;
        for (int k = 0; k < 15; k++) { /* middles that lie below */
            code += v > middle[k];
        }
        out[i] = code;
    }
}

const quant_kernels KERNELS = {expand8,   expand4,    expand2,    affine,   affine_each,
                               scale_all, scale_each, range,      quantize, quantize_each,
                               divide,    minifloat,  find_levels};
