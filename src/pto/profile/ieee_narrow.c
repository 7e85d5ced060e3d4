/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of FP16, BF16, E5M2 and E4M3 by way of FP32, which holds all of their numbers.
 *
 * Two roundings, to FP32 and from there, are one unless the first one ends half-way between two
 * numbers of the narrow type. For ADD, SUB, MUL and DIV it never does when it is inexact, since
 * FP32 has more than twice their bits and two. That holds where results are subnormal too: sums are
 * exact there; so are products down to half the smallest number, below which all is zero; and a
 * quotient of two numbers of b bits differs from every half-way point by more than 2^-2b of it.
 * Functions and fused operations can end there: those elements go one by one; so do functions that
 * are infinite where the narrow type has no infinity.
 *
 * Flags of FP32 hold for the narrow type, because what is inexact, too large or too small there is
 * so here. One could be wrong: BF16 has the smallest normal number of FP32, and what rounds up to
 * it in BF16 only is too small in FP32. No quotient and no function of a BF16 number lies in that
 * gap; where a fused result does, its part of the row goes one by one. And a fused result may be
 * inexact in FP32, yet end on a number of the narrow type that is too small: it goes by itself. */
#include <string.h>

#include "pto/profile/element.h"
#include "pto/profile/ieee_rows.h"

enum { CHUNK = 256, INFINITE = 0x7F800000 };

static const tly_pto_numeric_control nearest = {TLY_PTO_ROUND_NEAREST_EVEN, false};

static bool is_narrow(uint32_t dtype) {
    return dtype == TLY_PTO_FP16 || dtype == TLY_PTO_BF16 || dtype == TLY_PTO_E5M2 ||
           dtype == TLY_PTO_E4M3;
}

/* What is known of a narrow type. */
typedef struct narrow {
    uint32_t dtype;
    size_t width;        /* bytes */
    uint32_t spare_bits; /* of FP32's fraction, below the narrow one */
    uint32_t least;      /* exponent field of FP32 for the smallest normal number */
    bool has_infinity;
} narrow;

static narrow narrow_of(uint32_t dtype) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    return (narrow){dtype, f->bits / 8U, 23U - f->fraction_bits, 128U - (uint32_t)f->bias,
                    f->has_infinity};
}

static void widen(tly_simd simd, const narrow *n, const void *value, float *out, size_t count,
                  uint8_t *flags) {
    tly_pto_ieee_convert_row(simd, n->dtype, TLY_PTO_FP32, &nearest, value, out, count, flags);
}

static void narrow_down(tly_simd simd, const narrow *n, const float *value, void *out, size_t count,
                        uint8_t *flags) {
    tly_pto_ieee_convert_row(simd, TLY_PTO_FP32, n->dtype, &nearest, value, out, count, flags);
}

static uint64_t element_at(const narrow *n, const void *row, size_t i) {
    uint16_t bits = 0;
    memcpy(&bits, (const uint8_t *)row + i * n->width, n->width);
    return bits;
}

/* --- elements that go one by one -------------------------------------------------------------- */

/* Places in a part of a row, and the elements that belong there. */
typedef struct single_results {
    uint32_t count;
    uint16_t at[CHUNK];
    uint16_t bits[CHUNK];
} single_results;

static void keep(single_results *s, float *wide, size_t i, uint64_t bits) {
    s->at[s->count] = (uint16_t)i;
    s->bits[s->count++] = (uint16_t)bits;
    wide[i] = 1.0f; /* raises nothing on its way down */
}

static void put(const single_results *s, const narrow *n, void *out) {
    for (uint32_t i = 0; i < s->count; i++) {
        memcpy((uint8_t *)out + s->at[i] * n->width, &s->bits[i], n->width);
    }
}

/* Whether bits of FP32 with `spare_bits - 1` zeros at their end stand half-way between two numbers
 * of the narrow type, which are farther apart where they are subnormal. */
static bool is_half_way(const narrow *n, uint32_t bits) {
    uint32_t exponent = bits >> 23 & 0xFF, fraction = (bits & 0x7FFFFF) | 0x800000;
    uint32_t spacing = exponent != 0 ? exponent : 1; /* the smallest numbers keep it */
    uint32_t dropped = n->spare_bits + (spacing < n->least ? n->least - spacing : 0);
    return dropped <= 24 && (fraction & ((1U << dropped) - 1)) == 1U << (dropped - 1);
}

static bool may_be_half_way(const narrow *n, uint32_t bits) {
    return (bits & ((1U << (n->spare_bits - 1)) - 1)) == 0 && is_half_way(n, bits);
}

/* Whether one of them may be: one look at all, since most rows have none. */
static bool any_half_way(const narrow *n, const float *value, size_t count) {
    uint32_t mask = (1U << (n->spare_bits - 1)) - 1, any = 0, bits;
    for (size_t i = 0; i < count; i++) {
        memcpy(&bits, &value[i], sizeof bits);
        any |= (bits & mask) == 0;
    }
    return any != 0;
}

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* --- operations ------------------------------------------------------------------------------- */

/* A few short rows at once, or one of any length in parts. */
static void binary_rows(tly_simd simd, const narrow *n, tly_pto_tile_binary op,
                        const tly_pto_binary_rows *rows, size_t first, size_t num_rows,
                        uint8_t *flags, uint8_t *raised) {
    float left[CHUNK], right[CHUNK];
    for (size_t at = 0; at < rows->count; at += CHUNK) {
        size_t part = rows->count - at < CHUNK ? rows->count - at : CHUNK;
        size_t offset = at * n->width, step = rows->broadcast ? 1 : part;
        const uint8_t *a = (const uint8_t *)rows->left + first * rows->left_stride + offset;
        const uint8_t *b = (const uint8_t *)rows->right + first * rows->right_stride +
                           (rows->broadcast ? 0 : offset);
        uint8_t *out = (uint8_t *)rows->out + first * rows->out_stride + offset;
        for (size_t i = 0; i < num_rows; i++) {
            widen(simd, n, a + i * rows->left_stride, left + i * part, part, raised);
            widen(simd, n, b + i * rows->right_stride, right + i * step, step, raised);
        }
        const tly_pto_binary_rows wide = {.left = left,
                                          .right = right,
                                          .out = left,
                                          .left_stride = part * sizeof(float),
                                          .right_stride = step * sizeof(float),
                                          .out_stride = part * sizeof(float),
                                          .num_rows = num_rows,
                                          .count = part,
                                          .broadcast = rows->broadcast};
        tly_pto_ieee_binary_rows(simd, op, TLY_PTO_FP32, &wide, flags);
        for (size_t i = 0; i < num_rows; i++) {
            narrow_down(simd, n, left + i * part, out + i * rows->out_stride, part, raised);
        }
    }
}

bool tly_pto_ieee_narrow_binary_rows(tly_simd simd, tly_pto_tile_binary op, uint32_t dtype,
                                     const tly_pto_binary_rows *rows, uint8_t *flags) {
    uint8_t ignored = 0;
    if (!is_narrow(dtype) || (op > TLY_PTO_TILE_MUL && op != TLY_PTO_TILE_DIV) ||
        !tly_pto_ieee_binary_rows(simd, op, TLY_PTO_FP32, &(tly_pto_binary_rows){0}, flags)) {
        return false;
    }
    const narrow n = narrow_of(dtype);
    uint8_t *raised = flags != NULL ? flags : &ignored;
    for (size_t row = 0; row < rows->num_rows && rows->count != 0;) {
        size_t step = rows->out_stride != 0 && rows->count < CHUNK ? CHUNK / rows->count : 1;
        step = step < rows->num_rows - row ? step : rows->num_rows - row;
        binary_rows(simd, &n, op, rows, row, step, flags, raised);
        row += step;
    }
    return true;
}

bool tly_pto_ieee_narrow_unary_row(tly_simd simd, tly_pto_tile_unary op, uint32_t dtype,
                                   const void *value, void *out, size_t count, uint8_t *flags) {
    if (!is_narrow(dtype) || op < TLY_PTO_TILE_SQRT ||
        !tly_pto_ieee_unary_row(simd, op, TLY_PTO_FP32, NULL, NULL, 0, flags)) {
        return false;
    }
    const narrow n = narrow_of(dtype);
    single_results singles;
    float wide[CHUNK];
    for (size_t at = 0; at < count; at += CHUNK) {
        size_t part = count - at < CHUNK ? count - at : CHUNK;
        const uint8_t *in = (const uint8_t *)value + at * n.width;
        uint8_t *to = (uint8_t *)out + at * n.width;
        widen(simd, &n, in, wide, part, flags);
        tly_pto_ieee_unary_row(simd, op, TLY_PTO_FP32, wide, wide, part, flags);
        singles.count = 0;
        bool some = any_half_way(&n, wide, part);
        for (size_t i = 0; some && i < part; i++) {
            uint32_t bits = bits_of(wide[i]);
            bool beyond = !n.has_infinity && (bits & INT32_MAX) == INFINITE;
            if (beyond || may_be_half_way(&n, bits)) {
                keep(&singles, wide, i,
                     tly_pto_element_unary(&tly_pto_profile_ieee, op, dtype, element_at(&n, in, i),
                                           flags));
            }
        }
        narrow_down(simd, &n, wide, to, part, flags);
        put(&singles, &n, to);
    }
    return true;
}

/* Whether a result rounds up to the smallest normal number in BF16 only, or may. */
static bool in_gap(uint32_t bits) {
    uint32_t magnitude = bits & INT32_MAX;
    return magnitude >= 0x007FBFFF && magnitude <= 0x00800000;
}

/* Whether left * right + addend is `result`: products of narrow numbers are exact in double, and so
 * is what their sum leaves out. */
static bool is_exact(double left, double right, double addend, double result) {
    double product = left * right, sum = product + addend, part = sum - product;
    return sum == result && (product - (sum - part)) + (addend - part) == 0;
}

/* Whether a result is too small for a normal number once it is rounded, or ends just there, and its
 * last bits are zeros: then the way down may lose nothing, though the way to FP32 did. */
static bool may_be_small(const narrow *n, uint32_t bits) {
    return (bits & INT32_MAX) <= (n->least << 23) - (1U << (n->spare_bits - 1)) &&
           (bits & ((1U << (n->spare_bits - 1)) - 1)) == 0;
}

static uint64_t fused_at(const narrow *n, const tly_pto_fused_row *row, size_t i, uint8_t *flags) {
    return tly_pto_element_fused(&tly_pto_profile_ieee, n->dtype, element_at(n, row->left, i),
                                 element_at(n, row->right, i), element_at(n, row->addend, i),
                                 flags);
}

static void fused_part(tly_simd simd, const narrow *n, const tly_pto_fused_row *row,
                       uint8_t *flags) {
    float left[CHUNK], right[CHUNK], addend[CHUNK], result[CHUNK];
    const tly_pto_fused_row wide = {left, right, addend, result, row->count};
    single_results singles;
    uint8_t raised = 0;
    bool gap = false;
    widen(simd, n, row->left, left, row->count, &raised);
    widen(simd, n, row->right, right, row->count, &raised);
    widen(simd, n, row->addend, addend, row->count, &raised);
    tly_pto_ieee_fused_row(simd, TLY_PTO_FP32, &wide, &raised);
    for (size_t i = 0; i < row->count; i++) {
        gap |= in_gap(bits_of(result[i]));
    }
    gap &= n->least == 1;
    singles.count = 0;
    bool some = gap || any_half_way(n, result, row->count);
    for (size_t i = 0; some && i < row->count; i++) {
        uint32_t bits = bits_of(result[i]);
        if (gap || ((may_be_half_way(n, bits) || may_be_small(n, bits)) &&
                    !is_exact(left[i], right[i], addend[i], result[i]))) {
            keep(&singles, result, i, fused_at(n, row, i, flags));
        }
    }
    *flags |= gap ? 0 : raised;
    narrow_down(simd, n, result, row->out, row->count, flags);
    put(&singles, n, row->out);
}

bool tly_pto_ieee_narrow_fused_row(tly_simd simd, uint32_t dtype, const tly_pto_fused_row *row,
                                   uint8_t *flags) {
    if (!is_narrow(dtype) ||
        !tly_pto_ieee_fused_row(simd, TLY_PTO_FP32, &(tly_pto_fused_row){0}, flags)) {
        return false;
    }
    const narrow n = narrow_of(dtype);
    for (size_t at = 0; at < row->count; at += CHUNK) {
        size_t part = row->count - at < CHUNK ? row->count - at : CHUNK;
        const tly_pto_fused_row now = {
            (const uint8_t *)row->left + at * n.width, (const uint8_t *)row->right + at * n.width,
            (const uint8_t *)row->addend + at * n.width, (uint8_t *)row->out + at * n.width, part};
        fused_part(simd, &n, &now, flags);
    }
    return true;
}
