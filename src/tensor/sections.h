/* SPDX-License-Identifier: Apache-2.0 */
/* The optional sections that follow the buffer table, in the order of the format. */
#ifndef TLY_TENSOR_SECTIONS_H
#define TLY_TENSOR_SECTIONS_H

#include <stdint.h>

#include <tilery/tensor.h>

#include "tensor/reader.h"
#include "tensor/writer.h"

#define TLY_SECTIONS_KNOWN 0x1Fu

/* Reads every section that the flags announce. The buffer table is read. */
tly_status tly_tensor_read_sections(tly_tensor_reader *reader);

/* The flags of the sections that a descriptor has. */
uint32_t tly_tensor_section_flags(const tly_descriptor *descriptor);

/* Writes those sections. */
void tly_tensor_write_sections(tly_tensor_writer *writer, const tly_descriptor *descriptor);

#endif
