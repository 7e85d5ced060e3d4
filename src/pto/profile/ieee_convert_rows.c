/* SPDX-License-Identifier: Apache-2.0 */
/* Rows from one to another of the formats with infinities of up to 32 bits, to nearest even: the
 * loops of num, and the flags by comparing what went in with what the result stands for. */
#include <string.h>

#include "num/fast.h"
#include "pto/profile/format.h"
#include "pto/profile/ieee_rows.h"

enum { CHUNK = 256 };

static const int32_t infinity = 0x7F800000;

/* From a format and to it; what they do not need is NULL. */
typedef struct loops {
    num_fast_fn *widen;  /* the source to FP32 */
    num_fast_fn *direct; /* the source to the result */
    num_fast_fn *back;   /* the result to FP32 */
} loops;

static bool has_infinities(const tly_format *f) {
    return f->klass == TLY_CLASS_FLOAT && f->inf_rule == TLY_SPECIAL_IEEE && f->bits <= 32 &&
           f->low_zeros == 0;
}

static bool find_loops(tly_simd simd, uint32_t from, uint32_t to, loops *out) {
    const tly_num_control nearest = {.rounding = TLY_ROUND_NEAREST_EVEN};
    const tly_format *single = tly_format_find(TLY_F32);
    const tly_format *source = tly_format_of_tile(from), *result = tly_format_of_tile(to);
    if (source == NULL || result == NULL || !has_infinities(source) || !has_infinities(result)) {
        return false;
    }
    out->direct = num_fast_find(simd, result, source, nearest);
    out->widen = source == single ? NULL : num_fast_find(simd, single, source, nearest);
    out->back = result == single ? NULL : num_fast_find(simd, single, result, nearest);
    return out->direct != NULL && (source == single || out->widen != NULL) &&
           (result == single || out->back != NULL);
}

/* The smallest magnitude, as bits of FP32, that does not stay below the smallest normal number of
 * the format when it is rounded to the format's precision, with any exponent: that number less a
 * quarter of a unit of its last place. */
static int32_t tiny_limit(const tly_format *f) {
    if (f->mantissa_bits == 23) { /* FP32 holds everything */
        return 0;
    }
    int32_t quarter = 1 << (22 - f->mantissa_bits); /* as bits of FP32, just below that number */
    return f->exponent_bits == 8 ? 0x00800000 - quarter / 2 : ((128 - f->bias) << 23) - quarter;
}

typedef struct signs {
    int32_t inexact, over, tiny, nan;
} signs;

static signs compare(const int32_t *wide, const int32_t *back, size_t count, int32_t limit) {
    signs s = {0, 0, 0, 0};
    for (size_t i = 0; i < count; i++) {
        int32_t a = wide[i] & INT32_MAX, b = back[i] & INT32_MAX;
        int32_t differs = -(a != b) & -(a < infinity);
        s.inexact |= differs;
        s.over |= differs & -(b == infinity);
        s.tiny |= differs & -(a < limit);
        s.nan |= -(a > infinity);
    }
    return s;
}

/* NaN among the elements: the result's is canonical, and signaling ones raise INVALID. */
static void settle_nan(uint32_t from, uint32_t to, const uint8_t *value, uint8_t *out, size_t count,
                       uint8_t *flags) {
    size_t from_len = tly_pto_dtype_bits(from) / 8, to_len = tly_pto_dtype_bits(to) / 8;
    for (size_t i = 0; i < count; i++) {
        uint32_t code = 0;
        memcpy(&code, value + i * from_len, from_len);
        tly_pto_value_class class = tly_pto_classify(from, code);
        if (tly_pto_class_is_nan(class)) {
            *flags |= class == TLY_PTO_VALUE_SIGNALING_NAN ? TLY_PTO_FLAG_INVALID : 0;
            memcpy(out + i * to_len, &tly_pto_formats[to].canonical_nan, to_len);
        }
    }
}

bool tly_pto_ieee_convert_loops(tly_simd simd, uint32_t from, uint32_t to, const void *value,
                                void *out, size_t count, uint8_t *flags) {
    int32_t wide[CHUNK], back[CHUNK];
    loops l;
    if (!find_loops(simd, from, to, &l)) {
        return false;
    }
    size_t from_len = tly_pto_dtype_bits(from) / 8, to_len = tly_pto_dtype_bits(to) / 8;
    int32_t limit = tiny_limit(tly_format_of_tile(to));
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t part = count - at < CHUNK ? count - at : CHUNK;
        const uint8_t *source = (const uint8_t *)value + at * from_len;
        uint8_t *result = (uint8_t *)out + at * to_len;
        l.direct(result, source, part, 0);
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
        signs s = compare(wide, back, part, limit);
        *flags |= (s.inexact != 0 ? TLY_PTO_FLAG_INEXACT : 0) |
                  (s.over != 0 ? TLY_PTO_FLAG_OVERFLOW : 0) |
                  (s.tiny != 0 ? TLY_PTO_FLAG_UNDERFLOW : 0);
        if (s.nan != 0) {
            settle_nan(from, to, source, result, part, flags);
        }
    }
    return true;
}
