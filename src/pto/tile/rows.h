/* SPDX-License-Identifier: Apache-2.0 */
/* Integer operations on elements as they are stored: little-endian, one after the other. Every
 * level of vector code gives the same bytes. */
#ifndef TLY_PTO_TILE_ROWS_H
#define TLY_PTO_TILE_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pto/profile/profile.h"

/* out[i] = left[i] op right[i * right_step]; right_step is 0 (a scalar) or 1. Returns whether there
 * is a loop for the operation and type: ADD to SHR of integers of 8 to 64 bits. */
bool tly_pto_integer_row(tly_pto_tile_binary op, uint32_t dtype, const void *left,
                         const void *right, uint32_t right_step, void *out, size_t count);

/* ABS to RELU of integers of 8 to 64 bits. */
bool tly_pto_integer_unary_row(tly_pto_tile_unary op, uint32_t dtype, const void *value, void *out,
                               size_t count);

/* out[i] = left[i] * right[i] + addend[i], of integers of 8 to 64 bits. */
bool tly_pto_integer_fused_row(uint32_t dtype, const void *left, const void *right,
                               const void *addend, void *out, size_t count);

/* Compares with a row or, with right_step 0, with one integer; a byte for each
 * (TLY_PTO_ORDER_...). */
bool tly_pto_integer_compare_row(uint32_t dtype, const void *left, const void *right,
                                 uint32_t right_step, uint8_t *out, size_t count);

/* Integers of 8 to 64 bits: the nearest of the type, or the low bits. */
bool tly_pto_integer_convert_row(uint32_t from, uint32_t to, bool saturating, const void *value,
                                 void *out, size_t count);

/* ADD, MUL, MAX or MIN over `count` elements, at least one; the word of the result, extended. */
bool tly_pto_integer_reduce_row(tly_pto_tile_binary op, uint32_t dtype, const void *value,
                                size_t count, uint64_t *out_word);

#endif
