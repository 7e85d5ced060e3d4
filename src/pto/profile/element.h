/* SPDX-License-Identifier: Apache-2.0 */
/* One element of a tile operation: what the architecture fixes for integers, carriers and special
 * values, and the profile for the rest (asl/tile/model/execution). */
#ifndef TLY_PTO_PROFILE_ELEMENT_H
#define TLY_PTO_PROFILE_ELEMENT_H

#include "pto/profile/profile.h"

/* TileProfileBinaryWithFlags. Integer DIV and REM need a divisor that is not zero. */
uint64_t tly_pto_element_binary(const tly_pto_profile *profile, tly_pto_tile_binary op,
                                uint32_t dtype, uint64_t left, uint64_t right, uint8_t *flags);

/* TileIntegerBinaryValue and TileIntegerDivRemValue. */
uint64_t tly_pto_integer_binary(tly_pto_tile_binary op, uint32_t dtype, uint64_t left,
                                uint64_t right);

/* TileFixedUnaryValue: ABS, NOT, NEG, RELU. */
uint64_t tly_pto_element_fixed_unary(tly_pto_tile_unary op, uint32_t dtype, uint64_t value,
                                     uint8_t *flags);

/* All nine, special values of SQRT to RSQRT first (ExecuteTileUnary). */
uint64_t tly_pto_element_unary(const tly_pto_profile *profile, tly_pto_tile_unary op,
                               uint32_t dtype, uint64_t value, uint8_t *flags);

/* TileCompareElement, and the answer that an order gives. */
bool tly_pto_element_compare(const tly_pto_profile *profile, tly_pto_comparison comparison,
                             uint32_t dtype, uint64_t left, uint64_t right, uint8_t *flags);
bool tly_pto_comparison_holds(tly_pto_comparison comparison, bool less, bool equal);

/* TileProfileFloatingCompare as the architecture decides it: NaN is unequal to everything, zeros
 * are equal, and a signaling NaN is invalid. */
bool tly_pto_floating_compare(tly_pto_comparison comparison, uint32_t dtype, uint64_t left,
                              uint64_t right, uint8_t *flags);

/* TileExpandValueWithTypesAndFlags. */
uint64_t tly_pto_element_expand(const tly_pto_profile *profile, tly_pto_expand op, uint32_t from,
                                uint32_t to, uint64_t left, uint64_t broadcast, uint8_t *flags);

/* TileFixedFusedMultiplyAddValue: left * right + addend. */
uint64_t tly_pto_element_fused(const tly_pto_profile *profile, uint32_t dtype, uint64_t left,
                               uint64_t right, uint64_t addend, uint8_t *flags);

/* TileConvertValue. */
uint64_t tly_pto_element_convert(const tly_pto_profile *profile, uint32_t from, uint32_t to,
                                 const tly_pto_numeric_control *control, uint64_t value,
                                 uint8_t *flags);

/* Where a reduction begins: 0, 1, or with the first element. */
uint64_t tly_pto_reduce_initial(tly_pto_reduction op, uint32_t dtype, uint64_t first);

/* One step of a reduction as the profile's binary operation; `*out_selected`: the value has taken
 * the accumulator's place. */
uint64_t tly_pto_element_reduce(const tly_pto_profile *profile, tly_pto_reduction op,
                                uint32_t dtype, uint64_t accumulator, uint64_t value,
                                bool *out_selected, uint8_t *flags);

#endif
