/* SPDX-License-Identifier: Apache-2.0 */
/* Stored elements in the order of a sparse layout, and the buffers made of them. */
#ifndef TLY_TENSOR_SPARSE_OUT_H
#define TLY_TENSOR_SPARSE_OUT_H

#include "tensor/view.h"

/* Takes elements one by one, in the order of its axes, and counts them or writes them. */
typedef struct tly_sparse_out {
    uint8_t layout; /* COO, CSR, CSC or CSF */
    uint32_t rank;
    uint32_t bits;
    uint32_t order[TLY_MAX_RANK]; /* axes, the slowest first */
    uint64_t num_major;           /* CSR, CSC */
    void *const *buffers;         /* NULL: count only */
    uint64_t nnz;
    uint64_t num[TLY_MAX_RANK];  /* CSF: nodes of each level */
    uint64_t last[TLY_MAX_RANK]; /* the element before, in the order of the axes */
    uint64_t next_major;
} tly_sparse_out;

void tly_sparse_out_init(tly_sparse_out *out, const tly_descriptor *layout, uint32_t rank,
                         const uint64_t *shape, uint32_t bits, void *const *buffers);
void tly_sparse_out_put(tly_sparse_out *out, const uint64_t *index, const uint8_t *src,
                        int64_t src_bit);
void tly_sparse_out_end(tly_sparse_out *out);

/* Feeds all elements of a view that is no composite: of a full one those that are not zero, of a
 * sparse one all. Errors: LIMIT, OUT_OF_MEMORY. */
tly_status tly_sparse_out_fill(tly_sparse_out *out, const tly_view *from, tly_tensor_budget *budget,
                               tly_error *error);

#endif
