/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_DLPACK_H
#define TILERY_DLPACK_H

#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/status.h>
#include <tilery/tensor.h>
#include <tilery/transcode.h>

TLY_BEGIN_DECLS

/* Dense tensors to and from other libraries of one process, without a copy, by the structures of
 * DLPack (dlpack/dlpack.h, which this header does not need: its structures are passed as void).
 * Types: integers and floats of 8 bits and more that DLPack 0.6 knows, bfloat16, complex. */

/* A DLTensor as a tensor of ours. Memory of the caller; it points into itself, so it must not be
 * moved or copied while it is used. */
typedef struct tly_dlpack_tensor {
    tly_tensor tensor;
    tly_descriptor descriptor;
    tly_buffer_info buffer;
    const void *data[1];
    uint64_t shape[TLY_MAX_RANK];
    int64_t strides[TLY_MAX_RANK];
} tly_dlpack_tensor;

/* Fills `out` from a `const DLTensor *`. Layout row-major where the elements lie so, else strided;
 * axes with fewer than two indices and tensors without elements never stand in the way. The data is
 * not touched and must stay. `version` is 0 for a DLManagedTensor, major * 100 + minor for a
 * versioned one: without strides a tensor is compact and row-major, which from 102 on is refused.
 * On a big-endian machine only elements of one byte. Errors: INVALID_ARGUMENT (rank, shape, NULL, a
 * byte_offset that is a negative number in disguise), UNSUPPORTED (type, lanes, device), OVERFLOW.
 * Thread-safe. */
TLY_API tly_status tly_dlpack_import(const void *dl_tensor, uint32_t version,
                                     tly_dlpack_tensor *out, tly_error *error);

/* Called once when the consumer is done with an exported tensor, from any thread. */
typedef void (*tly_dlpack_release)(void *user);

/* Makes a `DLManagedTensor *` (`version` 0) or a `DLManagedTensorVersioned *` of DLPack 1.0
 * (`version` 100, marked read-only) over the data of a row-major, column-major or strided tensor
 * that is not quantized. The consumer calls its deleter, which calls `release` (may be NULL). The
 * context and the data stay until then. Errors: INVALID_ARGUMENT, UNSUPPORTED (type, device,
 * version), LAYOUT_UNAVAILABLE, OVERFLOW, OUT_OF_MEMORY; `release` is then not called. Thread-safe.
 */
TLY_API tly_status tly_dlpack_export(const tly_context *context, const tly_tensor *tensor,
                                     uint32_t version, tly_dlpack_release release, void *user,
                                     void **out_managed, tly_error *error);

TLY_END_DECLS

#endif
