/* SPDX-License-Identifier: Apache-2.0 */
/* What the architecture fixes for scalar floating point, whatever the profile
 * (asl/scalar/model/fsu/profile). Source types here are the two bits of an instruction:
 * 0 FP64, 1 FP32, others have no type. */
#ifndef TLY_PTO_PROFILE_SCALAR_H
#define TLY_PTO_PROFILE_SCALAR_H

#include "pto/profile/profile.h"

/* FP and unsigned integer share codes. 31: no type. */
static inline uint32_t tly_pto_scalar_type(uint32_t source) {
    return source < 2 ? source : 31;
}
static inline uint32_t tly_pto_scalar_signed_type(uint32_t source) {
    return source < 2 ? source + 8 : 31;
}

/* What an instruction reads and writes: 32-bit types use the low half. */
uint64_t tly_pto_scalar_fp_source(uint64_t value, uint32_t dtype);
uint64_t tly_pto_scalar_integer_source(uint64_t value, uint32_t dtype);
uint64_t tly_pto_scalar_fp_result(uint64_t value, uint32_t dtype);
uint64_t tly_pto_scalar_integer_result(uint64_t value, uint32_t dtype);

/* ScalarFPEncodingCompare: false with a NaN, also for NE. */
bool tly_pto_scalar_compare(tly_pto_comparison op, uint32_t source, uint64_t left, uint64_t right);

bool tly_pto_scalar_is_nan(uint64_t value, uint32_t source);
bool tly_pto_scalar_is_signaling_nan(uint64_t value, uint32_t source);

/* ScalarFPMinMax. */
uint64_t tly_pto_scalar_min_max(bool maximum, uint32_t source, uint64_t left, uint64_t right);

/* ScalarFPCarrierIsZero: FP32 by its low half, everything else as FP64. */
bool tly_pto_scalar_carrier_is_zero(uint64_t value, uint32_t dtype);

#endif
