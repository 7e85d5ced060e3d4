/* SPDX-License-Identifier: Apache-2.0 */
/* Row-major elements in runs whose parameters lie at even steps. */
#ifndef TLY_TENSOR_QUANT_WALK_H
#define TLY_TENSOR_QUANT_WALK_H

#include "tensor/quant.h"
#include "tensor/quant_kernels.h"

/* Elements first .. first + count - 1 in row-major order; element i of them has the parameters
 * number block + i * step. */
typedef struct tly_quant_run {
    uint64_t first;
    uint64_t count;
    uint64_t block;
    uint64_t step;
} tly_quant_run;

typedef tly_status tly_quant_run_fn(void *user, const tly_quant_run *run);

/* All elements of a shape in order. A status other than OK ends the walk. */
tly_status tly_quant_walk(const tly_quant_view *quant, uint32_t rank, const uint64_t *shape,
                          tly_quant_run_fn *fn, void *user);

#endif
