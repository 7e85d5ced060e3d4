/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the profile `ieee` (docs/spec/ieee-profile.md). */
#ifndef TLY_PTO_PROFILE_IEEE_H
#define TLY_PTO_PROFILE_IEEE_H

#include "num/number.h"
#include "pto/profile/profile.h"

/* The rounding of numbers (tly_rounding) that is the architecture's. */
uint8_t tly_pto_ieee_direction(uint32_t rounding);

/* The number that an element is; the row of its format must exist. */
tly_number tly_pto_ieee_number(uint32_t dtype, uint64_t value);

/* Rounds once into an element, with the flags that this raises. A number that is no number becomes
 * the type's canonical NaN and raises INVALID if it signals. */
uint64_t tly_pto_ieee_encode(uint32_t dtype, tly_number number,
                             const tly_pto_numeric_control *control, uint8_t *flags);

/* Arithmetic on elements of one type (section "Arithmetic"). */
uint64_t tly_pto_ieee_binary(tly_pto_float_binary op, tly_pto_rounding rounding, uint32_t dtype,
                             uint64_t left, uint64_t right, uint8_t *flags);
uint64_t tly_pto_ieee_fused(tly_pto_float_fused op, tly_pto_rounding rounding, uint32_t dtype,
                            uint64_t addend, uint64_t left, uint64_t right, uint8_t *flags);
uint64_t tly_pto_ieee_modulo(uint32_t dtype, uint64_t left, uint64_t right, uint8_t *flags);

/* Functions of one element (section "Functions"). */
uint64_t tly_pto_ieee_scalar_unary(tly_pto_float_unary op, tly_pto_rounding rounding,
                                   uint32_t dtype, uint64_t value, uint8_t *flags);
uint64_t tly_pto_ieee_unary(tly_pto_tile_unary op, uint32_t dtype, uint64_t value, uint8_t *flags);
uint64_t tly_pto_ieee_mixed_expdif(uint32_t source, uint64_t left, uint64_t broadcast,
                                   uint8_t *flags);

/* Conversions (section "Conversions"). */
uint64_t tly_pto_ieee_convert(uint32_t from, uint32_t to, const tly_pto_numeric_control *control,
                              uint64_t value, uint8_t *flags);
uint64_t tly_pto_ieee_scalar_convert(tly_pto_rounding rounding, uint32_t to, uint32_t from,
                                     uint64_t value, uint8_t *flags);
uint64_t tly_pto_ieee_scalar_to_integer(tly_pto_rounding rounding, uint32_t to, uint32_t from,
                                        uint64_t value, uint8_t *flags);
uint64_t tly_pto_ieee_scalar_from_integer(tly_pto_rounding rounding, uint32_t from, uint32_t to,
                                          uint64_t value, uint8_t *flags);

/* Matrix products (section "Matrix"). */
uint64_t tly_pto_ieee_matrix_step(const tly_pto_matrix_types *types, uint64_t accumulator,
                                  uint64_t left, uint64_t right, uint64_t left_scale,
                                  uint64_t right_scale);
bool tly_pto_ieee_exact_f32(uint32_t dtype, uint64_t value, float *out);
uint64_t tly_pto_ieee_matrix_bias(uint32_t dtype, uint32_t bias_dtype, uint64_t value,
                                  uint64_t bias);

#endif
