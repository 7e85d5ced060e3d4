/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/quant_walk.h"

#include <string.h>

#include "base/bytes.h"

/* A tensor is outer x extent x inner around the quantized axis. */
static tly_status walk_axis(const tly_quant_view *quant, uint64_t outer, uint64_t extent,
                            uint64_t inner, tly_quant_run_fn *fn, void *user) {
    const tly_quantization *q = quant->q;
    int blocked = q->scheme >= TLY_QUANT_PER_BLOCK;
    for (uint64_t o = 0; o < outer; o++) {
        if (inner == 1) { /* along the last axis: all channels, or block after block */
            tly_quant_run run = {o * extent, extent, 0, 1, 1};
            tly_status status;
            if (blocked) {
                run.block = o * quant->blocks;
                run.hold = q->block_size;
            }
            status = fn(user, &run);
            if (status != TLY_OK) {
                return status;
            }
            continue;
        }
        for (uint64_t i = 0; i < extent; i++) {
            tly_quant_run run = {(o * extent + i) * inner, inner, i, 0, inner};
            tly_status status;
            if (blocked) { /* row-major over all axes but the quantized one */
                run.block = o * inner * quant->blocks + i / q->block_size;
                run.step = quant->blocks;
                run.hold = 1;
            }
            status = fn(user, &run);
            if (status != TLY_OK) {
                return status;
            }
        }
    }
    return TLY_OK;
}

tly_status tly_quant_walk(const tly_quant_view *quant, uint32_t rank, const uint64_t *shape,
                          tly_quant_run_fn *fn, void *user) {
    const tly_quantization *q = quant->q;
    uint64_t outer = 1, inner = 1;
    int whole = q->scheme == TLY_QUANT_PER_TENSOR;
    for (uint32_t k = 0; k < rank; k++) {
        if (!whole && k > q->axis) {
            inner *= shape[k];
        } else if (whole || k < q->axis) {
            outer *= shape[k];
        }
    }
    if (outer == 0 || inner == 0 || (!whole && shape[q->axis] == 0)) {
        return TLY_OK;
    }
    if (whole) {
        tly_quant_run run = {0, outer, 0, 0, outer};
        return fn(user, &run);
    }
    if (inner == 1 && q->scheme >= TLY_QUANT_PER_BLOCK && shape[q->axis] % q->block_size == 0) {
        tly_quant_run run = {0, outer * shape[q->axis], 0, 1, q->block_size}; /* no rest in a row */
        return fn(user, &run);
    }
    return walk_axis(quant, outer, shape[q->axis], inner, fn, user);
}

void tly_quant_cut(const tly_quant_run *run, uint64_t done, tly_quant_part *out,
                   uint64_t *out_first_block) {
    uint64_t left = run->count - done, into = done % run->hold, first = done / run->hold;
    out->first = run->first + done;
    out->count = left < QUANT_CHUNK ? (size_t)left : QUANT_CHUNK;
    out->num = (size_t)((done + out->count - 1) / run->hold - first + 1);
    out->hold = run->hold < QUANT_CHUNK ? (size_t)run->hold : QUANT_CHUNK;
    out->ahead = run->hold - into < QUANT_CHUNK ? (size_t)(run->hold - into) : QUANT_CHUNK;
    *out_first_block = run->block + first * run->step;
}

void tly_quant_load(const tly_quant_view *quant, const num_fast_table *fast, uint64_t block,
                    uint64_t step, size_t num, float *out_scales, int32_t *out_zeros) {
    uint8_t codes[QUANT_CHUNK * 4], wide[QUANT_CHUNK * 4];
    uint32_t len = quant->scale_format != NULL ? quant->scale_format->bits / 8u : 0;
    int32_t type = quant->scale_format == NULL           ? -1
                   : quant->scale_format->id == TLY_F32  ? NUM_FAST_F32
                   : quant->scale_format->id == TLY_F16  ? NUM_FAST_F16
                   : quant->scale_format->id == TLY_BF16 ? NUM_FAST_BF16
                                                         : -1;
    for (size_t i = 0; i < num; i++) {
        out_zeros[i] = tly_tensor_quant_zero(quant, block + i * step);
    }
    if (type < 0) {
        for (size_t i = 0; i < num; i++) {
            out_scales[i] = tly_tensor_quant_scale(quant, block + i * step);
        }
        return;
    }
    for (size_t i = 0; i < num; i++) {
        memcpy(codes + i * len, quant->scales + (block + i * step) * len, len);
    }
    if (type != NUM_FAST_F32) {
        (*fast)[NUM_FAST_F32][type](wide, codes, num, 0);
    } else {
        memcpy(wide, codes, num * 4);
    }
    for (size_t i = 0; i < num; i++) {
        uint32_t bits = tly_base_load_u32(wide + 4 * i);
        memcpy(&out_scales[i], &bits, sizeof bits);
    }
}
