/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_TRANSCODE_H
#define TILERY_TRANSCODE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/convert.h>
#include <tilery/export.h>
#include <tilery/status.h>
#include <tilery/tensor.h>

TLY_BEGIN_DECLS

/* Tensors with their data: where an element lies in any layout, whether the contents of the buffers
 * keep the rules, and copies into other layouts. Element bits never change; converting the type is
 * tilery/convert.h, to and from quantized codes tilery/quantize.h. */

/* A tensor: descriptor and data. Plain memory; points to things of the caller. */
typedef struct tly_tensor {
    const tly_descriptor *descriptor;
    const void *const *buffers; /* num_buffers entries, of byte_size bytes each, any alignment */
    const struct tly_tensor *members; /* head of a composite: its members in order; else NULL */
    uint32_t num_members;
    uint32_t reserved; /* 0 */
    const uint64_t
        *seq_tokens; /* block-paged: tokens of each sequence (num_seqs entries), which the
                      * format does not carry. NULL: one sequence, or all pages full */
} tly_tensor;

/* The format of the elements, for tly_convert: that of the element type, or one made of the
 * extension type section (infinities as in IEEE 754; NaN without infinities is the all-ones code).
 * Errors: UNSUPPORTED (no description; a width or fields that tly_convert does not take).
 * Thread-safe. */
TLY_API tly_status tly_tensor_format(const tly_descriptor *descriptor, tly_format *out_format,
                                     tly_error *error);

/* Checks the contents of the buffers (Hurray 1.0: layouts, "Storage Invariants", "Validity
 * Constraints"; quantization; element-types): sizes, coordinates in range, sorted and without
 * repetition, pointers that rise from 0 to the number of elements, page numbers, scales and zero
 * points, padding bits, reserved codes of float8_e8m0. Composites with all members. The descriptor
 * was checked by tly_descriptor_decode. Costs one pass over the data and, for unsorted COO, memory
 * of the order of its indices. Errors: MALFORMED (rules V-..., B-SIZE, C-...; the offset counts in
 * the buffer that the message names), UNSUPPORTED (private layouts and types), INVALID_ARGUMENT,
 * OUT_OF_MEMORY. Thread-safe. */
TLY_API tly_status tly_tensor_check_data(const tly_context *context, const tly_tensor *tensor,
                                         tly_error *error);

/* Limits and wishes. */
typedef struct tly_transcode_options {
    size_t size;           /* sizeof(tly_transcode_options) */
    uint64_t memory_limit; /* bytes that the call may allocate for elements, indices and tables, at
                            * any one time; 0: 256 MiB. Slower ways are taken to stay below */
    const uint64_t *seq_tokens; /* block-paged destination: tokens of each sequence; NULL: all of
                                 * them in one */
} tly_transcode_options;

/* ---- look-up --------------------------------------------------------------------------------- */

/* A tensor made ready for look-ups. Immutable: any number of threads. The tensor's parts must stay
 * and must not change. */
typedef struct tly_view tly_view;

/* Checks what addresses depend on (not the values) and builds tables. Errors: as
 * tly_tensor_check_data; INVALID_ARGUMENT (dynamic dimension, tokens that do not add up), LIMIT,
 * OVERFLOW. `options` may be NULL. */
TLY_API tly_status tly_view_new(const tly_context *context, const tly_tensor *tensor,
                                const tly_transcode_options *options, tly_view **out_view,
                                tly_error *error);
TLY_API void tly_view_free(tly_view *view);

/* Where an element lies: bit of buffer 0, counted from the least significant bit of its first byte.
 * `out_found` is 0 for an element that a sparse layout does not store. Errors: INVALID_ARGUMENT
 * (index outside the shape; composites, which have no buffer). Thread-safe. */
TLY_API tly_status tly_view_find(const tly_view *view, const uint64_t *index, uint64_t *out_bit,
                                 int32_t *out_found);

/* The bits of an element; zero where a sparse layout stores none. Members of composites are put
 * together, quantized ones in the type of the head. Errors: INVALID_ARGUMENT (index; a group, which
 * has no elements of its own). Thread-safe. */
TLY_API tly_status tly_view_get(const tly_view *view, const uint64_t *index, tly_code *out_code);

/* Block-paged tensors by sequence and token instead of the first index. Errors: INVALID_ARGUMENT
 * (not block-paged; beyond the pages of the sequence). Thread-safe. */
TLY_API tly_status tly_view_find_paged(const tly_view *view, uint64_t seq, uint64_t token,
                                       uint64_t head, uint64_t dim, uint64_t *out_bit);

/* ---- transcoding ----------------------------------------------------------------------------- */

/* A planned copy of a tensor into another layout. Single-owner; runs may follow each other. */
typedef struct tly_transcode tly_transcode;

/* Plans the copy of `src` into the layout of `layout`, of which only the fields of the layout count
 * (layout; strides, levels, morton_bits, hilbert_order, mode_order, paged without num_pages). Every
 * layout that can hold the tensor is possible, panels too (private_id, private_data;
 * tilery/panel.h), but no composites and no other private ones. Sparse layouts hold the elements
 * whose bits are not all zero; from one sparse layout into another all stored ones stay. Stored
 * elements come out sorted. Composites are put together. Quantization stays, with the same
 * parameters; shard, statistics and type sections stay too. `src` and what it points to must stay
 * unchanged while the plan lives. The caller frees the plan. Errors: INVALID_ARGUMENT, MALFORMED
 * (contents of the source), UNSUPPORTED (private layouts; quantization that the layout cannot
 * carry; a group), LIMIT, OVERFLOW, OUT_OF_MEMORY, and those of tly_descriptor_encode for a layout
 * that cannot hold the tensor. */
TLY_API tly_status tly_transcode_new(const tly_context *context, const tly_tensor *src,
                                     const tly_descriptor *layout,
                                     const tly_transcode_options *options,
                                     tly_transcode **out_transcode, tly_error *error);
TLY_API void tly_transcode_free(tly_transcode *transcode);

/* The tensor that comes out, complete: with the sizes of its buffers. Lives as long as the plan. */
TLY_API const tly_descriptor *tly_transcode_descriptor(const tly_transcode *transcode);

/* Fills the buffers of the result: one pointer for each, of byte_size bytes, any alignment, not
 * overlapping the source. Bytes that belong to no element become 0. Errors: LIMIT, OUT_OF_MEMORY.
 */
TLY_API tly_status tly_transcode_run(tly_transcode *transcode, void *const *buffers,
                                     tly_error *error);

TLY_END_DECLS

#endif
