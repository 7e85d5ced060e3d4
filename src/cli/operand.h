/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices for trying out a kernel: which element types go together, values, and a product in
 * double precision that every other one is held against. */
#ifndef TLY_CLI_OPERAND_H
#define TLY_CLI_OPERAND_H

#include <stdint.h>

#include <tilery/dtype.h>

/* The types of A and C that belong to a B: f32, f32, f32; f64, f64, f64; bf16, bf16, f32; u8, i8,
 * i32. Returns 0 for a B that no kernel multiplies. */
int tly_operand_types(tly_dtype b, tly_dtype *out_a, tly_dtype *out_c);

/* Fills `count` elements of one of these types: floats in [-1, 1), exact in the type; whole
 * integers. The same for the same seed. */
void tly_operand_fill(tly_dtype dtype, void *elements, uint64_t count, uint64_t seed);

/* One element as a double. Exact. */
double tly_operand_value(tly_dtype dtype, const void *elements, uint64_t index);

/* C = A * B in double precision: A is m x k; B k x n, or n x k if `stored_nk`; C m x n doubles; all
 * row-major without gaps. */
void tly_operand_reference(tly_dtype a_dtype, const void *a, tly_dtype b_dtype, const void *b,
                           int stored_nk, uint64_t m, uint64_t n, uint64_t k, double *c);

/* Largest difference of C from the reference over the largest magnitude of the reference; over 1
 * where the reference is all zero. A NaN in C gives infinity. */
double tly_operand_error(tly_dtype c_dtype, const void *c, const double *reference, uint64_t count);

#endif
