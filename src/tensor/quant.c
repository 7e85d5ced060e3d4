/* SPDX-License-Identifier: Apache-2.0 */
/* One element at a time, as the formulas of the format say. The loops over whole tensors
 * (dequantize.c) must agree. */
#include "tensor/quant.h"

#include <string.h>

#include "base/bytes.h"
#include "num/number.h"

const float tly_tensor_nf4[16] = {
    -1.0f,
    -0.6961928009986877f,
    -0.5250730514526367f,
    -0.39491748809814453f,
    -0.28444138169288635f,
    -0.18477343022823334f,
    -0.09105003625154495f,
    0.0f,
    0.07958029955625534f,
    0.16093020141124725f,
    0.24611230194568634f,
    0.33791524171829224f,
    0.44070982933044434f,
    0.5626170039176941f,
    0.7229568362236023f,
    1.0f,
};

static int is_per_slot(const tly_descriptor *d) {
    return d->layout == TLY_LAYOUT_BLOCK_PAGED && d->quantization->scheme == TLY_QUANT_PER_BLOCK;
}

void tly_tensor_quant_init(tly_quant_view *out, const tly_descriptor *d,
                           const void *const *buffers) {
    const tly_quantization *q = d->quantization;
    memset(out, 0, sizeof *out);
    if (q == NULL) {
        return;
    }
    out->q = q;
    out->storage = tly_format_find(d->dtype);
    if (q->scheme == TLY_QUANT_PER_TENSOR) {
        return;
    }
    out->scale_format = tly_format_find(q->scale_type);
    out->scales = buffers[q->scale_buffer];
    if (q->zero_point_buffer != UINT32_MAX) {
        out->zero_points = buffers[q->zero_point_buffer];
        if (q->zero_point_buffer == q->scale_buffer) { /* behind the scales */
            uint64_t len = d->buffers[q->scale_buffer].byte_size;
            uint64_t each = out->scale_format->bits / 8u;
            out->zero_points += len / (each + 4) * each;
        }
    }
    if (q->block_size != 0) {
        uint64_t extent = d->shape[q->axis];
        out->blocks = extent / q->block_size + (extent % q->block_size != 0);
    }
}

uint64_t tly_tensor_quant_block(const tly_quant_view *quant, const tly_descriptor *d,
                                const uint64_t *index) {
    const tly_quantization *q = quant->q;
    uint64_t outer = 0;
    if (q->scheme == TLY_QUANT_PER_TENSOR) {
        return 0;
    }
    if (q->scheme == TLY_QUANT_PER_CHANNEL) {
        return index[q->axis];
    }
    for (uint32_t k = 0; k < d->rank; k++) {
        outer = k != q->axis ? outer * d->shape[k] + index[k] : outer;
    }
    return outer * quant->blocks + index[q->axis] / q->block_size;
}

uint64_t tly_tensor_quant_of(const tly_view *view, const uint64_t *index, int64_t bit) {
    if (is_per_slot(view->d)) {
        return (uint64_t)bit / view->bits / (view->d->shape[1] * view->d->shape[2]);
    }
    return tly_tensor_quant_block(&view->quant, view->d, index);
}

static float float_of(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

float tly_tensor_quant_scale(const tly_quant_view *quant, uint64_t block) {
    uint64_t code = 0;
    uint32_t flags = 0;
    tly_num_control control = {TLY_ROUND_NEAREST_EVEN, 0, 0};
    if (quant->q->scheme == TLY_QUANT_PER_TENSOR) {
        return quant->q->scale;
    }
    tly_num_load_codes(quant->scales, block, 1, quant->scale_format->bits, &code, &code);
    if (quant->scale_format->id == TLY_F32) {
        return float_of((uint32_t)code);
    }
    if (quant->scale_format->id == TLY_F8E8M0 && code != 0 && code != 0xFF) {
        return float_of((uint32_t)code << 23); /* the exponent of f32 has the same bias */
    }
    return float_of((uint32_t)tly_num_round(
        tly_format_find(TLY_F32), tly_num_unpack(quant->scale_format, code), control, &flags));
}

int32_t tly_tensor_quant_zero(const tly_quant_view *quant, uint64_t block) {
    if (quant->q->scheme == TLY_QUANT_PER_TENSOR) {
        return quant->q->zero_point;
    }
    return quant->zero_points != NULL ? (int32_t)tly_base_load_u32(quant->zero_points + block * 4)
                                      : 0;
}

float tly_tensor_quant_value(const tly_quant_view *quant, uint64_t block, uint64_t code) {
    float scale = tly_tensor_quant_scale(quant, block);
    uint32_t flags = 0;
    tly_num_control control = {TLY_ROUND_NEAREST_EVEN, 0, 0};
    switch (quant->q->scheme) {
    case TLY_QUANT_NF4:
        return scale * tly_tensor_nf4[code & 15];
    case TLY_QUANT_MXFP:
        return scale * float_of((uint32_t)tly_num_round(tly_format_find(TLY_F32),
                                                        tly_num_unpack(quant->storage, code),
                                                        control, &flags));
    default:
        /* In 64 bits, which a uint32 code needs (DISP-30); rounded to f32 once. */
        return scale * (float)(tly_tensor_code_integer(quant->storage, code) -
                               tly_tensor_quant_zero(quant, block));
    }
}
