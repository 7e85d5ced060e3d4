/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization parameters, and the value of a code (Hurray 1.0, quantization). */
#ifndef TLY_TENSOR_QUANT_H
#define TLY_TENSOR_QUANT_H

#include "tensor/view.h"

/* The 16 levels of NF4 (quantization/nf4, Lookup Table). */
extern const float tly_tensor_nf4[16];

/* Fills `out`; its q is NULL where the tensor is not quantized. The descriptor was checked. */
void tly_tensor_quant_init(tly_quant_view *out, const tly_descriptor *d,
                           const void *const *buffers);

/* Which scale belongs to an index; 0 per tensor. Paged tensors with a scale for each slot: see
 * tly_tensor_quant_slot. */
uint64_t tly_tensor_quant_block(const tly_quant_view *quant, const tly_descriptor *d,
                                const uint64_t *index);

/* The same for an element of a view, wherever the layout keeps the scales. */
uint64_t tly_tensor_quant_of(const tly_view *view, const uint64_t *index, int64_t bit);

float tly_tensor_quant_scale(const tly_quant_view *quant, uint64_t block);
int32_t tly_tensor_quant_zero(const tly_quant_view *quant, uint64_t block);

/* The value of a code in f32. */
float tly_tensor_quant_value(const tly_quant_view *quant, uint64_t block, uint64_t code);

/* A code of an integer type as a number. */
static inline int64_t tly_tensor_code_integer(const tly_format *format, uint64_t code) {
    uint32_t shift = 64u - format->bits;
    return format->klass == TLY_CLASS_INT ? (int64_t)(code << shift) >> shift : (int64_t)code;
}

#endif
