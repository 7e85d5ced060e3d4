/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on rows of elements as they are stored: integers in one way, numbers as their bits or
 * the profile say. Each returns false, with nothing done, for what it does not cover; with count 0
 * it only says whether it does. */
#ifndef TLY_PTO_TILE_STORED_H
#define TLY_PTO_TILE_STORED_H

#include "pto/machine.h"
#include "pto/profile/profile.h"
#include "pto/tile/store.h"

/* Whether the stored bits are all that operations on the elements see. */
bool tly_pto_stored_is_read(const tly_pto_elements *e, uint32_t dtype);

/* Whether they are all that there is, so that elements can be copied as well. */
bool tly_pto_stored_is_whole(const tly_pto_elements *e, const tly_pto_tile *tile);

/* How the words of sums, extremes and copies of a type extend its bits (TLY_PTO_BY_...). */
uint32_t tly_pto_stored_extension(uint32_t dtype);

/* `flags` may be NULL where they are not kept. */
bool tly_pto_stored_binary(const tly_pto_machine *m, tly_pto_tile_binary op, uint32_t dtype,
                           const tly_pto_binary_rows *rows, uint8_t *flags);
bool tly_pto_stored_unary(const tly_pto_machine *m, tly_pto_tile_unary op, uint32_t dtype,
                          const void *value, void *out, size_t count, uint8_t *flags);
bool tly_pto_stored_fused(const tly_pto_machine *m, uint32_t dtype, const tly_pto_fused_row *row,
                          uint8_t *flags);

/* Compares with a row or, with `broadcast`, with one element; a byte for each
 * (TLY_PTO_ORDER_...). */
bool tly_pto_stored_compare(const tly_pto_machine *m, uint32_t dtype, const void *left,
                            const void *right, bool broadcast, uint8_t *out, size_t count,
                            uint8_t *flags);

/* Reduces rows of `count` elements, at least one, which begin `stride` bytes apart, to a word for
 * each; the number of rows done. What is left goes element by element, the first of it at least. */
size_t tly_pto_stored_reduce_rows(const tly_pto_machine *m, tly_pto_reduction op, uint32_t dtype,
                                  const void *value, size_t stride, size_t num_rows, size_t count,
                                  uint64_t *out_words, uint8_t *flags);

/* Reduces `count` columns of `num_rows` rows, at least one, to a word for each. */
bool tly_pto_stored_reduce_columns(const tly_pto_machine *m, tly_pto_reduction op, uint32_t dtype,
                                   const void *value, size_t stride, size_t num_rows, size_t count,
                                   uint64_t *out_words, uint8_t *flags);

#endif
