/* SPDX-License-Identifier: Apache-2.0 */
/* References of tilery bench that need the processor's own instructions. */
#ifndef TLY_CLI_BENCH_VECTOR_AVX2_H
#define TLY_CLI_BENCH_VECTOR_AVX2_H

#include <stddef.h>
#include <stdint.h>

/* FP32 to FP16, `count` numbers, a multiple of 8. 0 where the processor lacks the instruction;
 * nothing is done then. */
int tly_bench_to_half(const float *value, uint16_t *out, size_t count);

/* The vector exponential of the C library, NULL without it; and a loop of it over `count` numbers,
 * a multiple of 8. */
void *tly_bench_exp_find(void);
void tly_bench_exp(void *found, const float *value, float *out, size_t count);

#endif
