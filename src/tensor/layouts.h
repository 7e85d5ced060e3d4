/* SPDX-License-Identifier: Apache-2.0 */
/* One row per layout of the format: its tag, its name, how its fields are read and written, and how
 * many buffers it has. A layout without a reader is known by name and refused as unsupported. */
#ifndef TLY_TENSOR_LAYOUTS_H
#define TLY_TENSOR_LAYOUTS_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/tensor.h>

#include "tensor/reader.h"
#include "tensor/writer.h"

typedef struct tly_tensor_layout {
    uint8_t tag; /* 0xF0: every private layout */
    uint8_t supported;
    uint8_t dense; /* every element has an address by formula: buffer 0 is the only data buffer */
    const char *name;
    tly_status (*read)(tly_tensor_reader *reader); /* NULL: no fields */
    void (*write)(tly_tensor_writer *writer, const tly_descriptor *descriptor);
} tly_tensor_layout;

/* Row of a tag; NULL for a tag that the format does not know. */
const tly_tensor_layout *tly_tensor_layout_find(uint8_t tag);

#endif
