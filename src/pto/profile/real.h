/* SPDX-License-Identifier: Apache-2.0 */
/* Exact numbers that are rounded once. Everything that a conversion of the reference rounds is a
 * product of at most 48 significant bits, so a double holds it exactly; the code here computes
 * with doubles only where the result is exact. */
#ifndef TLY_PTO_PROFILE_REAL_H
#define TLY_PTO_PROFILE_REAL_H

#include "pto/profile/profile.h"

/* The finite number that an encoding stands for (at most 53 significant bits). */
double tly_pto_real_of(uint32_t dtype, uint64_t value);
double tly_pto_real_of_fp19(uint32_t value);

/* An integer that may be larger than 64 bits. */
typedef struct tly_pto_integer {
    uint64_t low;  /* modulo 2^64 */
    int8_t beyond; /* 1 for 2^62 and more, -1 for -2^62 and less, else 0 */
    bool exact;
} tly_pto_integer;

/* value + offset, rounded to an integer; |offset| is below 2^32. */
tly_pto_integer tly_pto_round_real(double value, int64_t offset, tly_pto_rounding rounding);

/* Into an integer type: saturating or modulo its width. Flags as
 * ReferenceMatrixIntegerEncoding: out of range, else inexact. */
uint64_t tly_pto_encode_integer(const tly_pto_integer *value, uint32_t dtype, bool saturating,
                                uint8_t *flags);

/* Into FP32, FP16, BF16, E4M3 or HiF8. Zero is positive. */
uint64_t tly_pto_encode_real(double value, uint32_t dtype, const tly_pto_numeric_control *control,
                             uint8_t *flags);

#endif
