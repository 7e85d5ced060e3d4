/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of numbers that become integers, and of integers that become numbers, by way of FP32: the
 * loops are plain ones for the compiler to turn into vector code. */
#include <string.h>

#include "pto/profile/ieee.h"
#include "pto/profile/ieee_rows.h"

enum { CHUNK = 256 };

static bool is_number(uint32_t dtype) {
    return dtype == TLY_PTO_FP32 || dtype == TLY_PTO_FP16 || dtype == TLY_PTO_BF16 ||
           dtype == TLY_PTO_E5M2 || dtype == TLY_PTO_E4M3;
}

/* All values are those of int32_t. */
static bool is_small_integer(uint32_t dtype) {
    return dtype == TLY_PTO_S8 || dtype == TLY_PTO_U8 || dtype == TLY_PTO_S16 ||
           dtype == TLY_PTO_U16 || dtype == TLY_PTO_S32;
}

/* --- numbers to integers ---------------------------------------------------------------------- */

/* An integer from the one towards zero and what that leaves out, which has the number's sign. */
static inline int32_t rounded(tly_pto_rounding rounding, int32_t cut, float rest) {
    int32_t away = rest < 0 ? -1 : 1, step = 0;
    float size = rest < 0 ? -rest : rest;
    switch (rounding) {
    case TLY_PTO_ROUND_ZERO:
        break;
    case TLY_PTO_ROUND_DOWN:
        step = rest < 0 ? -1 : 0;
        break;
    case TLY_PTO_ROUND_UP:
        step = rest > 0 ? 1 : 0;
        break;
    case TLY_PTO_ROUND_NEAREST_AWAY:
        step = size >= 0.5f ? away : 0;
        break;
    case TLY_PTO_ROUND_HALF_UP:
        step = rest >= 0.5f ? 1 : (rest < -0.5f ? -1 : 0);
        break;
    case TLY_PTO_ROUND_ODD:
        step = ((rest != 0) & ((cut & 1) == 0)) ? away : 0;
        break;
    default:
        step = ((size > 0.5f) | ((size == 0.5f) & (cut & 1))) ? away : 0;
        break;
    }
    return cut + step;
}

typedef struct integers {
    int32_t lowest, highest;
    int32_t inexact; /* some of those that fit */
    int32_t beyond;  /* some do not fit, or are NaN */
} integers;

/* `rounding` is a constant where this is inlined. What does not fit gives 0. */
static inline __attribute__((always_inline)) void round_part(tly_pto_rounding rounding,
                                                             const float *value, int32_t *out,
                                                             size_t count, integers *of) {
    int32_t inexact = 0, beyond = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t fits = (value[i] >= -0x1p31f) & (value[i] < 0x1p31f);
        float x = fits ? value[i] : 0;
        int32_t cut = (int32_t)x;
        float rest = x - (float)cut;
        int32_t integer = rounded(rounding, cut, rest);
        fits &= (integer >= of->lowest) & (integer <= of->highest);
        inexact |= fits & (rest != 0);
        beyond |= !fits;
        out[i] = fits ? integer : 0;
    }
    of->inexact = inexact;
    of->beyond = beyond;
}

static void round_chunk(tly_pto_rounding rounding, const float *value, int32_t *out, size_t count,
                        integers *of) {
    switch (rounding) {
    case TLY_PTO_ROUND_ZERO:
        round_part(TLY_PTO_ROUND_ZERO, value, out, count, of);
        break;
    case TLY_PTO_ROUND_DOWN:
        round_part(TLY_PTO_ROUND_DOWN, value, out, count, of);
        break;
    case TLY_PTO_ROUND_UP:
        round_part(TLY_PTO_ROUND_UP, value, out, count, of);
        break;
    case TLY_PTO_ROUND_NEAREST_AWAY:
        round_part(TLY_PTO_ROUND_NEAREST_AWAY, value, out, count, of);
        break;
    case TLY_PTO_ROUND_HALF_UP:
        round_part(TLY_PTO_ROUND_HALF_UP, value, out, count, of);
        break;
    case TLY_PTO_ROUND_ODD:
        round_part(TLY_PTO_ROUND_ODD, value, out, count, of);
        break;
    default:
        round_part(TLY_PTO_ROUND_NEAREST_EVEN, value, out, count, of);
        break;
    }
}

static void store(const int32_t *value, size_t width, void *out, size_t count) {
    if (width == 4) {
        memcpy(out, value, count * 4);
    } else if (width == 2) {
        uint16_t *to = out;
        for (size_t i = 0; i < count; i++) {
            to[i] = (uint16_t)value[i];
        }
    } else {
        uint8_t *to = out;
        for (size_t i = 0; i < count; i++) {
            to[i] = (uint8_t)value[i];
        }
    }
}

static void settle_beyond(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                          const float *wide, const integers *of, const uint8_t *value, uint8_t *out,
                          size_t count, uint8_t *flags) {
    size_t from_len = tly_pto_dtype_bits(from) / 8, to_len = tly_pto_dtype_bits(to) / 8;
    for (size_t i = 0; i < count; i++) {
        if (wide[i] > (float)of->lowest && wide[i] < (float)of->highest) {
            continue; /* between the two it rounds to one of them at most */
        }
        uint32_t code = 0;
        memcpy(&code, value + i * from_len, from_len);
        uint64_t bits = tly_pto_ieee_convert(from, to, control, code, flags);
        memcpy(out + i * to_len, &bits, to_len);
    }
}

static void to_integers(tly_simd simd, uint32_t from, uint32_t to,
                        const tly_pto_numeric_control *control, const uint8_t *value, uint8_t *out,
                        size_t count, uint8_t *flags) {
    static const tly_pto_numeric_control exact = {TLY_PTO_ROUND_NEAREST_EVEN, false};
    size_t from_len = tly_pto_dtype_bits(from) / 8, to_len = tly_pto_dtype_bits(to) / 8;
    integers of = {.lowest = (int32_t)(int64_t)tly_pto_integer_minimum(to),
                   .highest = (int32_t)(int64_t)tly_pto_integer_maximum(to)};
    float wide[CHUNK];
    int32_t whole[CHUNK];
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t part = count - at < CHUNK ? count - at : CHUNK;
        const uint8_t *in = value + at * from_len;
        uint8_t ignored = 0; /* a NaN raises its flags one by one */
        if (from == TLY_PTO_FP32) {
            memcpy(wide, in, part * sizeof wide[0]);
        } else {
            tly_pto_ieee_convert_row(simd, from, TLY_PTO_FP32, &exact, in, wide, part, &ignored);
        }
        round_chunk((tly_pto_rounding)control->rounding, wide, whole, part, &of);
        store(whole, to_len, out + at * to_len, part);
        *flags |= of.inexact != 0 ? TLY_PTO_FLAG_INEXACT : 0;
        if (of.beyond != 0) {
            settle_beyond(from, to, control, wide, &of, in, out + at * to_len, part, flags);
        }
    }
}

/* --- integers to numbers ---------------------------------------------------------------------- */

#define LOAD(T)                                                                                    \
    do {                                                                                           \
        const T *in = value;                                                                       \
        for (size_t i = 0; i < count; i++) {                                                       \
            out[i] = (float)in[i];                                                                 \
        }                                                                                          \
    } while (0)

/* To nearest even, where that is needed at all. Returns whether it is exact. */
static bool load(uint32_t from, const void *value, float *out, size_t count) {
    int inexact = 0;
    switch (from) {
    case TLY_PTO_S8:
        LOAD(int8_t);
        break;
    case TLY_PTO_U8:
        LOAD(uint8_t);
        break;
    case TLY_PTO_S16:
        LOAD(int16_t);
        break;
    case TLY_PTO_U16:
        LOAD(uint16_t);
        break;
    default: {
        const int32_t *whole = value;
        LOAD(int32_t);
        for (size_t i = 0; i < count; i++) {
            inexact |= (double)out[i] != (double)whole[i];
        }
        break;
    }
    }
    return inexact == 0;
}
#undef LOAD

static void from_integers(tly_simd simd, uint32_t from, uint32_t to,
                          const tly_pto_numeric_control *control, const uint8_t *value,
                          uint8_t *out, size_t count, uint8_t *flags) {
    size_t from_len = tly_pto_dtype_bits(from) / 8, to_len = tly_pto_dtype_bits(to) / 8;
    float wide[CHUNK];
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t part = count - at < CHUNK ? count - at : CHUNK;
        *flags |= load(from, value + at * from_len, wide, part) ? 0 : TLY_PTO_FLAG_INEXACT;
        if (to == TLY_PTO_FP32) {
            memcpy(out + at * to_len, wide, part * sizeof wide[0]);
        } else {
            tly_pto_ieee_convert_row(simd, TLY_PTO_FP32, to, control, wide, out + at * to_len, part,
                                     flags);
        }
    }
}

bool tly_pto_ieee_integer_row(tly_simd simd, uint32_t from, uint32_t to,
                              const tly_pto_numeric_control *control, const void *value, void *out,
                              size_t count, uint8_t *flags) {
    bool nearest = control->rounding == TLY_PTO_ROUND_NEAREST_EVEN;
    if (is_number(from) && is_small_integer(to)) {
        to_integers(simd, from, to, control, value, out, count, flags);
        return true;
    }
    /* what FP32 holds exactly is rounded once, on the way from there */
    if (is_small_integer(from) &&
        (to == TLY_PTO_FP32 ? from != TLY_PTO_S32 || nearest
                            : is_number(to) && from != TLY_PTO_S32 && nearest)) {
        from_integers(simd, from, to, control, value, out, count, flags);
        return true;
    }
    return false;
}
