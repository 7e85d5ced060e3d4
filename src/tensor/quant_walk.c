/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/quant_walk.h"

/* A tensor is outer x extent x inner around the quantized axis. */
tly_status tly_quant_walk(const tly_quant_view *quant, uint32_t rank, const uint64_t *shape,
                          tly_quant_run_fn *fn, void *user) {
    const tly_quantization *q = quant->q;
    int blocked = q->scheme >= TLY_QUANT_PER_BLOCK, whole = q->scheme == TLY_QUANT_PER_TENSOR;
    uint64_t outer = 1, inner = 1, extent = whole ? 1 : shape[q->axis];
    for (uint32_t k = 0; k < rank; k++) {
        if (whole || k > q->axis) {
            inner *= shape[k];
        } else if (k < q->axis) {
            outer *= shape[k];
        }
    }
    for (uint64_t o = 0; o < outer; o++) {
        uint64_t i = 0;
        while (i < extent) {
            tly_quant_run run = {(o * extent + i) * inner, inner, 0, 0};
            uint64_t next = i + 1;
            tly_status status;
            if (blocked) { /* row-major over all axes but the quantized one */
                run.block = o * inner * quant->blocks + i / q->block_size;
                run.step = quant->blocks;
                if (inner == 1) { /* a block along the last axis */
                    next = (i / q->block_size + 1) * q->block_size;
                    next = next < extent ? next : extent;
                    run.count = next - i;
                    run.step = 0;
                }
            } else if (!whole && inner == 1) { /* all channels */
                next = extent;
                run.count = extent;
                run.step = 1;
            } else if (!whole) {
                run.block = i;
            }
            status = run.count > 0 ? fn(user, &run) : TLY_OK;
            if (status != TLY_OK) {
                return status;
            }
            i = next;
        }
    }
    return TLY_OK;
}
