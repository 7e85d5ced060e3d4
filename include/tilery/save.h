/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_SAVE_H
#define TILERY_SAVE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/dtype.h>
#include <tilery/export.h>
#include <tilery/status.h>
#include <tilery/store.h>

TLY_BEGIN_DECLS

/* Exporters: tensors as other people's files. They take plain tensors, all elements in one order;
 * whatever else a tensor can be (another layout, a quantization) is turned into that first
 * (tilery/transcode.h). Element values are kept bit for bit. What a format cannot carry is refused
 * by name, before anything is written. The file appears under its name only when it is complete. */

/* A tensor to be written. Pointers belong to the caller. */
typedef struct tly_save_tensor {
    const char *name;      /* UTF-8; npy: not used */
    size_t name_len;       /* bytes */
    const uint64_t *shape; /* rank entries */
    uint32_t rank;         /* at most 64 */
    tly_dtype dtype;
    uint8_t layout; /* TLY_LAYOUT_ROW_MAJOR; npy also TLY_LAYOUT_COL_MAJOR */
    uint8_t reserved[2];
} tly_save_tensor;

/* Takes the bytes of a tensor in consecutive pieces; anything but TLY_OK stops and is returned. */
typedef tly_status (*tly_save_sink)(void *sink_user, const void *bytes, size_t len,
                                    tly_error *error);

/* Gives the elements of tensor `index` to the sink: packed little-endian elements as in a container
 * (Hurray 1.0, element-types), in any number of pieces. Called once for each tensor, in the order
 * in which the file has them. */
typedef tly_status (*tly_save_data)(void *user, uint64_t index, tly_save_sink sink, void *sink_user,
                                    tly_error *error);

/* Can the format carry a tensor of this type? If not, `*out_reason` (may be NULL) says why, without
 * a final newline; static storage. Thread-safe. */
TLY_API int tly_save_safetensors_carries(tly_dtype dtype, const char **out_reason);
TLY_API int tly_save_npy_carries(tly_dtype dtype, const char **out_reason);

/* Writes a safetensors file: the largest elements first, so that all are aligned; among equals in
 * the order given. Of `kv` the strings become __metadata__, and `out_left_out` (may be NULL) counts
 * the others. Errors: INVALID_ARGUMENT (name empty, twice, not UTF-8 or __metadata__; layout),
 * UNSUPPORTED (type), OVERFLOW, IO, OUT_OF_MEMORY; what `data` returns. */
TLY_API tly_status tly_save_safetensors(const tly_context *context, const char *path,
                                        const tly_save_tensor *tensors, uint64_t num_tensors,
                                        const tly_kv *kv, size_t num_kv, tly_save_data data,
                                        void *user, uint64_t *out_left_out, tly_error *error);

/* Writes one array as npy, version 1.0. Errors: as above. */
TLY_API tly_status tly_save_npy(const tly_context *context, const char *path,
                                const tly_save_tensor *tensor, tly_save_data data, void *user,
                                tly_error *error);

TLY_END_DECLS

#endif
