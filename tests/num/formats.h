/* SPDX-License-Identifier: Apache-2.0 */
/* The formats of at most 16 bits once more, from the texts of the specifications and without the
 * library's table: every code by its value, and rounding as a choice between two neighbours. */
#ifndef TLY_TESTS_NUM_FORMATS_H
#define TLY_TESTS_NUM_FORMATS_H

#include <math.h>
#include <stdlib.h>

#include <tilery/convert.h>

#include "check.h"

/* nan: how many of the highest codes below the sign bit are NaN. */
typedef struct plain_format {
    tly_format_id id;
    int bits, exponent_bits, mantissa_bits, bias, num_nan, has_inf, is_signed;
} plain_format;

static const plain_format plain_formats[] = {
    {TLY_F16, 16, 5, 10, 15, 1023, 1, 1},   {TLY_BF16, 16, 8, 7, 127, 127, 1, 1},
    {TLY_F8E4M3, 8, 4, 3, 7, 1, 0, 1},      {TLY_F8E5M2, 8, 5, 2, 15, 3, 1, 1},
    {TLY_F4E2M1, 4, 2, 1, 1, 0, 0, 1},      {TLY_F6E2M3, 6, 2, 3, 1, 0, 0, 1},
    {TLY_F6E3M2, 6, 3, 2, 3, 0, 0, 1},      {TLY_FORMAT_E1M2, 4, 1, 2, 1, 0, 0, 1},
    {TLY_FORMAT_HIF4, 4, 1, 2, 1, 0, 0, 1}, {TLY_F8E8M0, 8, 8, 0, 127, 1, 0, 0},
    {TLY_FORMAT_HIF8, 8, 0, 0, 0, 0, 1, 1},
};

#define NUM_PLAIN (sizeof plain_formats / sizeof plain_formats[0])

/* HiF8 code by code: how large the exponent is says how many bits are left. */
static inline double plain_hif8(uint32_t code) {
    uint32_t body = code & 0x7F;
    double sign = code & 0x80 ? -1 : 1;
    if (code == 0x80) {
        return NAN;
    }
    if (body == 0x6F) {
        return sign * INFINITY;
    }
    if (body == 0) {
        return 0;
    }
    if (body <= 0x07) {
        return sign * ldexp(1, (int)body - 23);
    }
    if (body <= 0x0F) {
        return sign * (1 + (body & 7) / 8.0);
    }
    if (body <= 0x1F) {
        return sign * ldexp(1 + (body & 7) / 8.0, body & 0x08 ? -1 : 1);
    }
    if (body <= 0x3F) {
        int e = 2 + (int)(body >> 3 & 1);
        return sign * ldexp(1 + (body & 7) / 8.0, body & 0x10 ? -e : e);
    }
    if (body <= 0x5F) {
        int e = 4 + (int)(body >> 2 & 3);
        return sign * ldexp(1 + (body & 3) / 4.0, body & 0x10 ? -e : e);
    }
    return sign * ldexp(1 + (body & 1) / 2.0, (body & 0x10 ? -1 : 1) * (8 + (int)(body >> 1 & 7)));
}

static inline double plain_value(const plain_format *f, uint32_t code) {
    int size_bits = f->bits - f->is_signed;
    int body = (int)(code & ((1u << size_bits) - 1)), all = (1 << size_bits) - 1;
    int exponent = body >> f->mantissa_bits, mantissa = body & ((1 << f->mantissa_bits) - 1);
    double sign = f->is_signed && code >> size_bits & 1 ? -1 : 1;
    if (f->id == TLY_FORMAT_HIF8) {
        return plain_hif8(code);
    }
    if (body > all - f->num_nan) {
        return NAN;
    }
    if (f->has_inf && body == all - f->num_nan) {
        return sign * INFINITY;
    }
    if (exponent == 0 && f->id != TLY_F8E8M0) {
        return sign * ldexp(mantissa, 1 - f->bias - f->mantissa_bits);
    }
    return sign *
           ldexp(ldexp(1, f->mantissa_bits) + mantissa, exponent - f->bias - f->mantissa_bits);
}

/* Codes without sign in ascending order of their values. */
typedef struct plain_order {
    const plain_format *format;
    uint32_t num;
    double next; /* the number that would follow the largest */
    double value[65536];
    uint32_t code[65536];
} plain_order;

static inline int plain_by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static inline void plain_sort(plain_order *out, const plain_format *f) {
    static double pairs[65536][2];
    uint32_t num = 0;
    for (uint32_t code = 0; code < 1u << (f->bits - f->is_signed); code++) {
        double v = plain_value(f, code);
        if (isfinite(v)) {
            pairs[num][0] = v;
            pairs[num++][1] = code;
        }
    }
    qsort(pairs, num, sizeof pairs[0], plain_by_value);
    for (uint32_t i = 0; i < num; i++) {
        out->value[i] = pairs[i][0];
        out->code[i] = (uint32_t)pairs[i][1];
    }
    out->format = f;
    out->num = num;
    out->next = 2 * out->value[num - 1] - out->value[num - 2];
    if (f->id == TLY_FORMAT_HIF8) {
        out->next = ldexp(1.5, 15); /* the code that infinity took */
    }
    if (f->id == TLY_F8E8M0) {
        out->next = ldexp(1, 128);
    }
}

static inline uint32_t plain_beyond(const plain_order *o, int negative, int finite) {
    const plain_format *f = o->format;
    uint32_t sign = negative ? 1u << (f->bits - 1) : 0, largest = o->code[o->num - 1];
    if (finite || (!f->has_inf && f->num_nan == 0)) {
        return sign | largest;
    }
    return sign | (largest + 1); /* infinity, or NaN where it comes first */
}

/* The code that `x`, finite and not 0, is rounded to. `out_inexact` says whether it changed. */
static inline uint32_t plain_round(const plain_order *o, double x, uint32_t mode, int saturate,
                                   int *out_inexact) {
    const plain_format *f = o->format;
    double size = fabs(x), low, high;
    int negative = x < 0, up, below = 0, tie;
    uint32_t i = 0, end = o->num;
    *out_inexact = 1;
    if (negative && !f->is_signed) {
        return 0xFF; /* E8M0: NaN */
    }
    if (size < o->value[0]) {
        return o->code[0]; /* E8M0 again: nothing is smaller */
    }
    while (end - i > 1) {
        uint32_t middle = (i + end) / 2;
        if (o->value[middle] <= size) {
            i = middle;
        } else {
            end = middle;
        }
    }
    low = o->value[i];
    high = i + 1 < o->num ? o->value[i + 1] : o->next;
    if (size == low) {
        *out_inexact = 0;
        return (negative && low != 0 ? 1u << (f->bits - 1) : 0) | o->code[i];
    }
    if (size < high) {
        double middle = low + (high - low) / 2;
        below = size < middle;
        tie = size == middle;
        switch (mode) {
        case TLY_ROUND_TO_ZERO:
            up = 0;
            break;
        case TLY_ROUND_DOWN:
            up = negative;
            break;
        case TLY_ROUND_UP:
            up = !negative;
            break;
        case TLY_ROUND_NEAREST_AWAY:
            up = !below;
            break;
        case TLY_ROUND_TO_ODD:
            up = (o->code[i] & 1) == 0;
            break;
        case TLY_ROUND_NEAREST_UP:
            up = tie ? !negative : !below;
            break;
        default:
            up = tie ? (o->code[i] & 1) != 0 : !below;
            break;
        }
        i += (uint32_t)up;
        if (i < o->num) {
            int zero = o->value[i] == 0;
            int keeps_sign = !zero || f->id != TLY_FORMAT_HIF8;
            return (negative && keeps_sign ? 1u << (f->bits - 1) : 0) | o->code[i];
        }
    }
    return plain_beyond(o, negative,
                        saturate || mode == TLY_ROUND_TO_ZERO || mode == TLY_ROUND_TO_ODD ||
                            (mode == TLY_ROUND_DOWN && !negative) ||
                            (mode == TLY_ROUND_UP && negative));
}

#endif
