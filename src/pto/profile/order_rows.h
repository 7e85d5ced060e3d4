/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of stored numbers of the types that have an order, whatever the numeric profile: what
 * depends on their bits only. Each returns false, with nothing done, for what it does not cover;
 * with count 0 it only says whether it does. Elements are stored little-endian. */
#ifndef TLY_PTO_PROFILE_ORDER_ROWS_H
#define TLY_PTO_PROFILE_ORDER_ROWS_H

#include "pto/profile/profile.h"

/* MAX and MIN; `flags` may be NULL. */
bool tly_pto_order_binary_rows(tly_pto_tile_binary op, uint32_t dtype,
                               const tly_pto_binary_rows *rows, uint8_t *flags);

/* ABS, NEG and RELU; `out` may be `value`. */
bool tly_pto_order_unary_row(tly_pto_tile_unary op, uint32_t dtype, const void *value, void *out,
                             size_t count, uint8_t *flags);

/* The largest or smallest of `count` numbers, at least one; false if one of them is NaN. */
bool tly_pto_order_extreme(bool maximum, uint32_t dtype, const void *value, size_t count,
                           uint64_t *out_value);

/* How two numbers stand to each other. */
enum {
    TLY_PTO_ORDER_LESS = 1,
    TLY_PTO_ORDER_EQUAL = 2,
    TLY_PTO_ORDER_GREATER = 4,
    TLY_PTO_ORDER_NONE = 8 /* one is NaN */
};

/* Compares with a row or, with `broadcast`, with one number; a byte for each (TLY_PTO_ORDER_...).
 */
bool tly_pto_order_compare_row(uint32_t dtype, const void *left, const void *right, bool broadcast,
                               uint8_t *out, size_t count, uint8_t *flags);

#endif
