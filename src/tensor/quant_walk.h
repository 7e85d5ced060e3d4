/* SPDX-License-Identifier: Apache-2.0 */
/* Row-major elements in runs whose parameters lie at even steps. */
#ifndef TLY_TENSOR_QUANT_WALK_H
#define TLY_TENSOR_QUANT_WALK_H

#include "num/fast.h"
#include "tensor/quant.h"
#include "tensor/quant_kernels.h"

/* Elements first .. first + count - 1 in row-major order; element i of them has the parameters
 * number block + i / hold * step. */
typedef struct tly_quant_run {
    uint64_t first;
    uint64_t count;
    uint64_t block;
    uint64_t step;
    uint64_t hold; /* elements in a row with the same parameters; 1: each has its own */
} tly_quant_run;

/* Some elements of a run, at most QUANT_CHUNK, with their parameters. */
typedef struct tly_quant_part {
    uint64_t first;
    size_t count;
    size_t num; /* different parameters */
    float scales[QUANT_CHUNK];
    int32_t zeros[QUANT_CHUNK];
    size_t hold;  /* 1: parameters i belong to element i */
    size_t ahead; /* elements that the first ones hold for, where hold > 1 */
} tly_quant_part;

/* Elements that share parameters number i of a part begin at `*at` (start with 0); returns how many
 * there are and moves *at past them. */
static inline size_t tly_quant_segment(const tly_quant_part *part, size_t i, size_t *at) {
    size_t n = i == 0 ? part->ahead : part->hold;
    n = n < part->count - *at ? n : part->count - *at;
    *at += n;
    return n;
}

/* Cuts the next part out of a run of which `done` elements are done. */
void tly_quant_cut(const tly_quant_run *run, uint64_t done, tly_quant_part *out,
                   uint64_t *out_first_block);

/* Fills in the parameters of `num` blocks from a tensor's buffers. */
void tly_quant_load(const tly_quant_view *quant, const num_fast_table *fast, uint64_t block,
                    uint64_t step, size_t num, float *out_scales, int32_t *out_zeros);

typedef tly_status tly_quant_run_fn(void *user, const tly_quant_run *run);

/* All elements of a shape in order. A status other than OK ends the walk. */
tly_status tly_quant_walk(const tly_quant_view *quant, uint32_t rank, const uint64_t *shape,
                          tly_quant_run_fn *fn, void *user);

#endif
