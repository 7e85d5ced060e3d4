/* SPDX-License-Identifier: Apache-2.0 */
/* One matrix operation once its operands are known to be legal: what it multiplies, and what it
 * does with the product. */
#ifndef TLY_PTO_TILE_MATRIX_H
#define TLY_PTO_TILE_MATRIX_H

#include "pto/profile/quant_mode.h"
#include "pto/tile/operation.h"

/* Functions of the matrix operations, by the bits of their code. */
static inline bool tly_pto_matrix_is_mx(uint32_t function) {
    return (function & 4) != 0;
}
static inline bool tly_pto_matrix_is_gemv(uint32_t function) {
    return (function & 16) != 0;
}
static inline bool tly_pto_matrix_has_bias(uint32_t function) {
    return (function & 3) == 1;
}
static inline bool tly_pto_matrix_accumulates(uint32_t function) {
    return (function & 3) == 2;
}

enum { TLY_PTO_MX_BLOCK = 32 }; /* elements of K that share a scale */

/* A matrix that is read: a local tile in any layout, or a shared one by rows. */
typedef struct tly_pto_matrix_operand {
    bool present;
    bool is_shared;
    bool transposed;
    const tly_pto_tile *tile;
    const tly_pto_elements *elements;
    uint32_t rows; /* as the product sees them */
    uint32_t columns;
} tly_pto_matrix_operand;

typedef struct tly_pto_matrix {
    uint32_t function;
    uint32_t m;
    uint32_t n;
    uint32_t k;
    uint32_t num_shared;
    uint8_t left_type;
    uint8_t right_type;
    uint8_t accumulator_type; /* of sums */
    uint8_t layout;           /* of accumulator and result */
    tly_pto_matrix_operand left;
    tly_pto_matrix_operand left_scale;
    tly_pto_matrix_operand right;
    tly_pto_matrix_operand right_scale;
    tly_pto_matrix_operand accumulator;
    tly_pto_matrix_operand bias;
    tly_pto_matrix_operand row_max;      /* what row maxima begin with */
    tly_pto_matrix_operand quant_vector; /* parameters by column */
    tly_pto_matrix_operand relu_vector;
    uint64_t quant_param; /* the same for all columns */
    uint64_t relu_param;
} tly_pto_matrix;

/* Scratch tiles whose words belong to a product. */
enum { TLY_PTO_MATRIX_LEFT = 1, TLY_PTO_MATRIX_RIGHT = 2 };

/* The word of an element of an operand, as the product sees it. */
uint64_t tly_pto_matrix_read(const tly_pto_machine *m, const tly_pto_matrix_operand *o,
                             uint32_t row, uint32_t column);

/* A product into FP32 of values that FP32 holds exactly, whatever types, scales and layouts they
 * come from; added to the sums, column after column. False, with nothing done, if that cannot be.
 */
bool tly_pto_multiply_values(const tly_pto_machine *m, const tly_pto_matrix *x,
                             const tly_pto_matrix_types *types, uint64_t *sums);

/* Computes into the results' elements and fills plan->flags. Cannot fail. */
void tly_pto_run_matrix(tly_pto_machine *machine, tly_pto_plan *plan, const tly_pto_matrix *matrix);

#endif
