/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_TENSOR_QUANTIZATION_H
#define TLY_TENSOR_QUANTIZATION_H

#include <tilery/tensor.h>

#include "tensor/reader.h"
#include "tensor/writer.h"

/* The quantization section, checked against type, shape, layout and buffers, whose number is
 * checked here for a quantized tensor. */
tly_status tly_tensor_read_quantization(tly_tensor_reader *reader);
void tly_tensor_write_quantization(tly_tensor_writer *writer, const tly_descriptor *descriptor);

#endif
