/* SPDX-License-Identifier: Apache-2.0 */
/* The structures of DLPack as they lie in memory. The test compares them with Debian's header. */
#ifndef TLY_TENSOR_DLPACK_ABI_H
#define TLY_TENSOR_DLPACK_ABI_H

#include <stdint.h>

typedef enum tly_dl_code {
    TLY_DL_INT = 0,
    TLY_DL_UINT = 1,
    TLY_DL_FLOAT = 2,
    TLY_DL_BFLOAT = 4,
    TLY_DL_COMPLEX = 5
} tly_dl_code;

typedef struct tly_dl_tensor {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    uint8_t code; /* tly_dl_code */
    uint8_t bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* elements */
    uint64_t byte_offset;
} tly_dl_tensor;

typedef struct tly_dl_managed {
    tly_dl_tensor tensor;
    void *manager;
    void (*deleter)(struct tly_dl_managed *self);
} tly_dl_managed;

#define TLY_DL_READ_ONLY UINT64_C(1)

typedef struct tly_dl_versioned {
    uint32_t major;
    uint32_t minor;
    void *manager;
    void (*deleter)(struct tly_dl_versioned *self);
    uint64_t flags;
    tly_dl_tensor tensor;
} tly_dl_versioned;

#endif
