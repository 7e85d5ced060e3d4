/* SPDX-License-Identifier: Apache-2.0 */
/* One row per layout of the format: its tag, its name, its kind, how its fields are read and
 * written, and how many buffers it has. */
#ifndef TLY_TENSOR_LAYOUTS_H
#define TLY_TENSOR_LAYOUTS_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/tensor.h>

#include "tensor/reader.h"
#include "tensor/writer.h"

/* How elements are found (Hurray 1.0, memory-layout, Named Layout Tags). */
typedef enum tly_tensor_kind {
    TLY_KIND_DENSE,   /* by a formula; buffer 0 holds every element */
    TLY_KIND_INDEXED, /* through index buffers: sparse and paged */
    TLY_KIND_VIRTUAL, /* the members that follow hold them */
    TLY_KIND_PRIVATE  /* only the owner knows */
} tly_tensor_kind;

typedef struct tly_tensor_layout {
    uint8_t tag; /* 0xF0: every private layout */
    uint8_t kind;
    uint8_t num_buffers; /* of the layout itself, without those of a quantization; 0: see below */
    const char *name;
    tly_status (*read)(tly_tensor_reader *reader); /* NULL: no fields */
    void (*write)(tly_tensor_writer *writer, const tly_descriptor *descriptor);
} tly_tensor_layout;

/* Row of a tag; NULL for a tag that the format does not know. */
const tly_tensor_layout *tly_tensor_layout_find(uint8_t tag);

/* Buffers that the layout of a descriptor has; 0 where any number may be (private) and for the head
 * of a composite. */
uint32_t tly_tensor_layout_buffers(const tly_descriptor *descriptor);

/* Fields of the layouts that are not dense, and of Hilbert (indexed.c). */
tly_status tly_tensor_read_coo(tly_tensor_reader *reader);
tly_status tly_tensor_read_csr(tly_tensor_reader *reader);
tly_status tly_tensor_read_csc(tly_tensor_reader *reader);
tly_status tly_tensor_read_csf(tly_tensor_reader *reader);
tly_status tly_tensor_read_paged(tly_tensor_reader *reader);
tly_status tly_tensor_read_composite(tly_tensor_reader *reader);
tly_status tly_tensor_read_hilbert(tly_tensor_reader *reader);
void tly_tensor_write_coo(tly_tensor_writer *writer, const tly_descriptor *descriptor);
void tly_tensor_write_compressed(tly_tensor_writer *writer, const tly_descriptor *descriptor);
void tly_tensor_write_csf(tly_tensor_writer *writer, const tly_descriptor *descriptor);
void tly_tensor_write_paged(tly_tensor_writer *writer, const tly_descriptor *descriptor);
void tly_tensor_write_composite(tly_tensor_writer *writer, const tly_descriptor *descriptor);
void tly_tensor_write_hilbert(tly_tensor_writer *writer, const tly_descriptor *descriptor);

#endif
