/* SPDX-License-Identifier: Apache-2.0 */
/* Loops for the common pairs of formats, written once (fast_template.h) and compiled for each
 * vector level. They agree bit for bit with tly_num_unpack and tly_num_round. */
#ifndef TLY_NUM_FAST_H
#define TLY_NUM_FAST_H

#include <tilery/context.h>

#include "num/number.h"

/* Whole elements without overlap, any alignment. */
typedef void num_fast_fn(uint8_t *dst, const uint8_t *src, uint64_t count, uint32_t saturate);

/* What the loops know. */
typedef enum num_fast_type {
    NUM_FAST_F32,
    NUM_FAST_F16,
    NUM_FAST_BF16,
    NUM_FAST_E4M3,
    NUM_FAST_E5M2,
    NUM_FAST_F64, /* from and to f32 only */
    NUM_FAST_TYPES
} num_fast_type;

/* [dst][src]; NULL where there is none. */
typedef num_fast_fn *const num_fast_table[NUM_FAST_TYPES][NUM_FAST_TYPES];

extern num_fast_table num_fast_portable;
#if defined(__x86_64__)
extern num_fast_table num_fast_avx2;
extern num_fast_table num_fast_avx512;
#endif

/* The table of a level that this machine has. Thread-safe. */
const num_fast_table *num_fast_level(tly_simd simd);

/* The loop for a pair, or NULL. */
num_fast_fn *num_fast_find(tly_simd simd, const tly_format *dst, const tly_format *src,
                           tly_num_control control);

#endif
