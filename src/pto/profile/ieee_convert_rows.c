/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from one to another of the formats of up to 32 bits that num has loops for, to nearest even,
 * with saturation or without, and the flags by comparing what went in with what the result stands
 * for. */
#include <string.h>

#include "num/fast.h"
#include "pto/profile/ieee.h"
#include "pto/profile/ieee_rows.h"

enum { CHUNK = 256, INFINITE = 0x7F800000 };

/* From a format and to it; what they do not need is NULL. */
typedef struct loops {
    num_fast_fn *widen;  /* the source to FP32 */
    num_fast_fn *direct; /* the source to the result */
    num_fast_fn *back;   /* the result to FP32 */
    bool saturates;      /* in the loop */
} loops;

/* What a format says of magnitudes, as bits of FP32. */
typedef struct limits {
    int32_t tiny; /* from here on what is rounded does not stay below the smallest normal number */
    int32_t over; /* from here on what is rounded is too large */
    int32_t special; /* from here on elements go one by one */
} limits;

static bool fits_f32(const tly_format *f) {
    return f->klass == TLY_CLASS_FLOAT && f->bits <= 32 && f->low_zeros == 0;
}

static bool find_loops(tly_simd simd, uint32_t from, uint32_t to,
                       const tly_pto_numeric_control *control, loops *out) {
    const tly_num_control nearest = {.rounding = TLY_ROUND_NEAREST_EVEN};
    const tly_format *single = tly_format_find(TLY_F32);
    const tly_format *source = tly_format_of_tile(from), *result = tly_format_of_tile(to);
    if (source == NULL || result == NULL || !fits_f32(source) || !fits_f32(result) ||
        control->rounding != TLY_PTO_ROUND_NEAREST_EVEN) {
        return false;
    }
    out->saturates = control->saturating && result != single;
    out->direct = num_fast_find(simd, result, source, nearest);
    out->widen = source == single ? NULL : num_fast_find(simd, single, source, nearest);
    out->back = result == single ? NULL : num_fast_find(simd, single, result, nearest);
    return out->direct != NULL && (source == single || out->widen != NULL) &&
           (result == single || out->back != NULL);
}

/* The smallest normal number less a quarter of a unit of its last place, and the largest number and
 * half a unit of its last place. A tie there goes up if that place is odd. Infinities and NaN go
 * one by one where they do not become what they are, and what is too large where there is no
 * infinity to become. */
static limits limits_of(const tly_format *f, bool saturating) {
    bool has_infinity = f->inf_rule == TLY_SPECIAL_IEEE;
    limits l = {0, INFINITE, saturating || !has_infinity ? INFINITE : INFINITE + 1};
    if (f->mantissa_bits == 23) { /* FP32 holds everything */
        return l;
    }
    /* of the last place: half a unit where numbers are, a quarter at a power of two above them */
    int32_t quarter = 1 << (22 - f->mantissa_bits), unit = 2 * quarter;
    l.tiny = f->exponent_bits == 8 ? 0x00800000 - quarter / 2 : ((128 - f->bias) << 23) - quarter;
    l.over = has_infinity ? ((128 + f->bias) << 23) - quarter : ((129 + f->bias) << 23) - unit;
    if (!has_infinity) { /* the last code is NaN, so the last number is even */
        l.over += 1 - quarter;
        l.special = saturating ? INFINITE : l.over;
    }
    return l;
}

typedef struct signs {
    int32_t inexact, over, tiny, special;
} signs;

static signs compare(const int32_t *wide, const int32_t *back, size_t count, limits l) {
    signs s = {0, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        int32_t a = wide[i] & INT32_MAX, b = back[i] & INT32_MAX;
        int32_t differs = -(a != b) & -(a < INFINITE);
        s.inexact |= differs;
        s.over |= differs & -(a >= l.over);
        s.tiny |= differs & -(a < l.tiny);
        s.special |= -(a >= l.special);
    }
    return s;
}

/* Elements from `special` on, one by one. */
static void settle_special(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                           const int32_t *wide, int32_t special, const uint8_t *value, uint8_t *out,
                           size_t count, uint8_t *flags) {
    size_t from_len = tly_pto_dtype_bits(from) / 8, to_len = tly_pto_dtype_bits(to) / 8;
    for (size_t i = 0; i < count; i++) {
        if ((wide[i] & INT32_MAX) >= special) {
            uint32_t code = 0;
            memcpy(&code, value + i * from_len, from_len);
            uint64_t bits = tly_pto_ieee_convert(from, to, control, code, flags);
            memcpy(out + i * to_len, &bits, to_len);
        }
    }
}

bool tly_pto_ieee_convert_loops(tly_simd simd, uint32_t from, uint32_t to,
                                const tly_pto_numeric_control *control, const void *value,
                                void *out, size_t count, uint8_t *flags) {
    int32_t wide[CHUNK], back[CHUNK];
    loops l;
    if (!find_loops(simd, from, to, control, &l)) {
        return false;
    }
    size_t from_len = tly_pto_dtype_bits(from) / 8, to_len = tly_pto_dtype_bits(to) / 8;
    const limits most = limits_of(tly_format_of_tile(to), control->saturating);
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t part = count - at < CHUNK ? count - at : CHUNK;
        const uint8_t *source = (const uint8_t *)value + at * from_len;
        uint8_t *result = (uint8_t *)out + at * to_len;
        l.direct(result, source, part, l.saturates);
        if (l.widen != NULL) {
            l.widen((uint8_t *)wide, source, part, 0);
        } else {
            memcpy(wide, source, part * sizeof wide[0]);
        }
        if (l.back != NULL) {
            l.back((uint8_t *)back, result, part, 0);
        } else {
            memcpy(back, result, part * sizeof back[0]);
        }
        signs s = compare(wide, back, part, most);
        *flags |= (s.inexact != 0 ? TLY_PTO_FLAG_INEXACT : 0) |
                  (s.over != 0 ? TLY_PTO_FLAG_OVERFLOW : 0) |
                  (s.tiny != 0 ? TLY_PTO_FLAG_UNDERFLOW : 0);
        if (s.special != 0) {
            settle_special(from, to, control, wide, most.special, source, result, part, flags);
        }
    }
    return true;
}
