/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of stored elements. Sums and products of numbers go through the lanes that the profile
 * defines; those of integers, and extremes, give the same in any order. */
#include <string.h>

#include "base/bytes.h"
#include "pto/profile/element.h"
#include "pto/profile/order_rows.h"
#include "pto/tile/lanes.h"
#include "pto/tile/rows.h"
#include "pto/tile/stored.h"

enum { LANES = TLY_PTO_LANES, WIDEST = 8 /* bytes */, ROWS = 16 /* at once */ };

static bool is_extreme(tly_pto_reduction op) {
    return op != TLY_PTO_REDUCE_SUM && op != TLY_PTO_REDUCE_PRODUCT;
}

static bool gives_index(tly_pto_reduction op) {
    return op == TLY_PTO_REDUCE_ARGMIN || op == TLY_PTO_REDUCE_ARGMAX;
}

static bool is_maximum(tly_pto_reduction op) {
    return op == TLY_PTO_REDUCE_MAX || op == TLY_PTO_REDUCE_ARGMAX;
}

static tly_pto_tile_binary step_of(tly_pto_reduction op) {
    return op == TLY_PTO_REDUCE_SUM       ? TLY_PTO_TILE_ADD
           : op == TLY_PTO_REDUCE_PRODUCT ? TLY_PTO_TILE_MUL
           : is_maximum(op)               ? TLY_PTO_TILE_MAX
                                          : TLY_PTO_TILE_MIN;
}

/* --- elements as integers of their width ------------------------------------------------------ */

#define WIDTH(BITS, LOAD)                                                                          \
    static size_t find_##BITS(const uint8_t *value, size_t count, uint64_t wanted) {               \
        const uint##BITS##_t *row = (const uint##BITS##_t *)(const void *)value;                   \
        const uint##BITS##_t stored = LOAD((uint##BITS##_t)wanted);                                \
        size_t i = 0;                                                                              \
        while (i < count && row[i] != stored) {                                                    \
            i++;                                                                                   \
        }                                                                                          \
        return i;                                                                                  \
    }                                                                                              \
    static void load_##BITS(uint32_t dtype, const uint8_t *from, size_t count,                     \
                            uint64_t *out_words) {                                                 \
        const uint##BITS##_t *row = (const uint##BITS##_t *)(const void *)from;                    \
        for (size_t i = 0; i < count; i++) {                                                       \
            out_words[i] = tly_pto_canonical(LOAD(row[i]), dtype);                                 \
        }                                                                                          \
    }                                                                                              \
    static void take_##BITS(const uint8_t *before, const uint8_t *value, const uint8_t *after,     \
                            size_t count, uint32_t index, uint32_t *indices) {                     \
        const uint##BITS##_t *b = (const uint##BITS##_t *)(const void *)before;                    \
        const uint##BITS##_t *v = (const uint##BITS##_t *)(const void *)value;                     \
        const uint##BITS##_t *a = (const uint##BITS##_t *)(const void *)after;                     \
        for (size_t i = 0; i < count; i++) {                                                       \
            indices[i] = ((a[i] == v[i]) & (a[i] != b[i])) ? index : indices[i];                   \
        }                                                                                          \
    }
#define SAME(v) (v)
WIDTH(8, SAME)
WIDTH(16, TLY_BASE_LE16)
WIDTH(32, TLY_BASE_LE32)
WIDTH(64, TLY_BASE_LE64)
#undef SAME
#undef WIDTH

/* The first of `count` elements that has these bits; `count`: none has. */
static size_t find(uint32_t dtype, const uint8_t *value, size_t count, uint64_t wanted) {
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        return find_8(value, count, wanted);
    case 16:
        return find_16(value, count, wanted);
    case 32:
        return find_32(value, count, wanted);
    default:
        return find_64(value, count, wanted);
    }
}

static void load_words(uint32_t dtype, const uint8_t *from, size_t count, uint64_t *out_words) {
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        load_8(dtype, from, count, out_words);
        break;
    case 16:
        load_16(dtype, from, count, out_words);
        break;
    case 32:
        load_32(dtype, from, count, out_words);
        break;
    default:
        load_64(dtype, from, count, out_words);
        break;
    }
}

/* Where an element of `value` has become the extreme its index counts from now on. */
static void take_indices(uint32_t dtype, const uint8_t *before, const uint8_t *value,
                         const uint8_t *after, size_t count, uint32_t index, uint32_t *indices) {
    switch (tly_pto_dtype_bits(dtype)) {
    case 8:
        take_8(before, value, after, count, index, indices);
        break;
    case 16:
        take_16(before, value, after, count, index, indices);
        break;
    case 32:
        take_32(before, value, after, count, index, indices);
        break;
    default:
        take_64(before, value, after, count, index, indices);
        break;
    }
}

/* `count` elements, at least one, that are each the identity of a sum or a product. */
static void begin(tly_pto_reduction op, uint32_t dtype, uint8_t *out, size_t count) {
    size_t width = tly_pto_dtype_bits(dtype) / 8, len = count * width;
    uint64_t first = TLY_BASE_LE64(tly_pto_reduce_initial(op, dtype, 0));
    memcpy(out, &first, width);
    for (size_t done = width; done < len; done *= 2) {
        memcpy(out + done, out, done < len - done ? done : len - done);
    }
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Sums or products of numbers of a few rows: 16 elements of each at a time, then half by half. */
static void lanes_rows(const tly_pto_machine *m, tly_pto_reduction op, uint32_t dtype,
                       const uint8_t *value, size_t stride, size_t num_rows, size_t count,
                       uint64_t *out_words, uint8_t *flags) {
    _Alignas(WIDEST) uint8_t sums[ROWS][TLY_PTO_MAX_REDUCE_LANES * WIDEST];
    size_t lanes = TLY_PTO_MAX_REDUCE_LANES, width = tly_pto_dtype_bits(dtype) / 8;
    tly_pto_binary_rows rows = {.left = sums,
                                .out = sums,
                                .left_stride = sizeof sums[0],
                                .right_stride = stride,
                                .out_stride = sizeof sums[0],
                                .num_rows = num_rows};
    for (size_t i = 0; i < num_rows; i++) {
        begin(op, dtype, sums[i], lanes);
    }
    for (size_t at = 0; at < count; at += lanes) {
        rows.right = value + at * width;
        rows.count = count - at < lanes ? count - at : lanes;
        tly_pto_stored_binary(m, step_of(op), dtype, &rows, flags);
    }
    rows.right_stride = sizeof sums[0];
    for (size_t half = lanes / 2; half > 0; half /= 2) {
        rows.right = sums[0] + half * width;
        rows.count = half;
        tly_pto_stored_binary(m, step_of(op), dtype, &rows, flags);
    }
    for (size_t i = 0; i < num_rows; i++) {
        load_words(dtype, sums[i], 1, &out_words[i]);
    }
}

/* An extreme, or a sum or a product of integers; false if it has to go element by element. */
static bool reduce_row(tly_pto_reduction op, uint32_t dtype, const uint8_t *value, size_t count,
                       uint64_t *out_word) {
    bool covered = tly_pto_dtype_is_integer(dtype)
                       ? tly_pto_integer_reduce_row(step_of(op), dtype, value, count, out_word)
                       : is_extreme(op) &&
                             tly_pto_order_extreme(is_maximum(op), dtype, value, count, out_word);
    if (covered && gives_index(op)) { /* the first that became the extreme is the first equal one */
        *out_word = find(dtype, value, count, *out_word);
    }
    return covered;
}

size_t tly_pto_stored_reduce_rows(const tly_pto_machine *m, tly_pto_reduction op, uint32_t dtype,
                                  const void *value, size_t stride, size_t num_rows, size_t count,
                                  uint64_t *out_words, uint8_t *flags) {
    const uint8_t *from = value;
    size_t done = 0;
    if (!tly_pto_dtype_is_integer(dtype) && m->profile->reduce_rows != NULL) {
        done = m->profile->reduce_rows(tly_context_simd(m->context), op, dtype, value, stride,
                                       num_rows, count, out_words, flags);
    }
    if (!tly_pto_dtype_is_integer(dtype) && !is_extreme(op) &&
        m->profile->reduce_lanes == TLY_PTO_MAX_REDUCE_LANES &&
        tly_pto_stored_binary(m, step_of(op), dtype, &(tly_pto_binary_rows){0}, flags)) {
        for (size_t step; done < num_rows; done += step) {
            step = num_rows - done < ROWS ? num_rows - done : ROWS;
            lanes_rows(m, op, dtype, from + done * stride, stride, step, count, out_words + done,
                       flags);
        }
    }
    while (done < num_rows &&
           reduce_row(op, dtype, from + done * stride, count, &out_words[done])) {
        done++;
    }
    return done;
}

/* --- columns ---------------------------------------------------------------------------------- */

/* What is reduced at once. */
typedef struct strip {
    const uint8_t *value;
    size_t stride, num_rows, count;
} strip;

/* A row of sums or products for each lane, joined half by half. */
static void reduce_lanes(const tly_pto_machine *m, tly_pto_reduction op, uint32_t dtype,
                         const strip *s, size_t lanes, uint64_t *out_words, uint8_t *flags) {
    _Alignas(WIDEST) uint8_t sums[TLY_PTO_MAX_REDUCE_LANES][LANES * WIDEST];
    tly_pto_binary_rows rows = {.left = sums,
                                .out = sums,
                                .left_stride = sizeof sums[0],
                                .right_stride = s->stride,
                                .out_stride = sizeof sums[0],
                                .count = s->count};
    for (size_t i = 0; i < lanes; i++) {
        begin(op, dtype, sums[i], s->count);
    }
    for (size_t row = 0; row < s->num_rows; row += lanes) {
        rows.right = s->value + row * s->stride;
        rows.num_rows = s->num_rows - row < lanes ? s->num_rows - row : lanes;
        tly_pto_stored_binary(m, step_of(op), dtype, &rows, flags);
    }
    rows.right_stride = sizeof sums[0];
    for (size_t half = lanes / 2; half > 0; half /= 2) {
        rows.right = sums[half];
        rows.num_rows = half;
        tly_pto_stored_binary(m, step_of(op), dtype, &rows, flags);
    }
    load_words(dtype, sums[0], s->count, out_words);
}

/* One row after the other. Extremes begin with the first row, sums and products in front of it. */
static void reduce_in_turn(const tly_pto_machine *m, tly_pto_reduction op, uint32_t dtype,
                           const strip *s, uint64_t *out_words, uint8_t *flags) {
    _Alignas(WIDEST) uint8_t best[2][LANES * WIDEST];
    uint32_t indices[LANES] = {0};
    size_t now = 0, row = is_extreme(op) ? 1 : 0;
    if (is_extreme(op)) {
        memcpy(best[0], s->value, s->count * tly_pto_dtype_bits(dtype) / 8);
    } else {
        begin(op, dtype, best[0], s->count);
    }
    for (; row < s->num_rows; row++, now ^= 1) {
        const tly_pto_binary_rows rows = {.left = best[now],
                                          .right = s->value + row * s->stride,
                                          .out = best[now ^ 1],
                                          .num_rows = 1,
                                          .count = s->count};
        tly_pto_stored_binary(m, step_of(op), dtype, &rows, flags);
        if (gives_index(op)) {
            take_indices(dtype, best[now], rows.right, best[now ^ 1], s->count, (uint32_t)row,
                         indices);
        }
    }
    load_words(dtype, best[now], s->count, out_words);
    for (size_t i = 0; gives_index(op) && i < s->count; i++) {
        out_words[i] = indices[i];
    }
}

bool tly_pto_stored_reduce_columns(const tly_pto_machine *m, tly_pto_reduction op, uint32_t dtype,
                                   const void *value, size_t stride, size_t num_rows, size_t count,
                                   uint64_t *out_words, uint8_t *flags) {
    bool integer = tly_pto_dtype_is_integer(dtype);
    size_t lanes = integer ? 1 : m->profile->reduce_lanes, width = tly_pto_dtype_bits(dtype) / 8;
    if (!tly_pto_stored_binary(m, step_of(op), dtype, &(tly_pto_binary_rows){0}, flags)) {
        return false;
    }
    for (size_t column = 0; column < count; column += LANES) {
        const strip s = {(const uint8_t *)value + column * width, stride, num_rows,
                         count - column < LANES ? count - column : LANES};
        if (lanes == 1 || is_extreme(op)) {
            reduce_in_turn(m, op, dtype, &s, out_words + column, flags);
        } else {
            reduce_lanes(m, op, dtype, &s, lanes, out_words + column, flags);
        }
    }
    return true;
}
