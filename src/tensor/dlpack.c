/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors to and from DLPack. */
#include <tilery/dlpack.h>

#include <inttypes.h>
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "tensor/dlpack_abi.h"

#define NULL_STRIDES_END 102 /* the version from which strides must be there */

typedef struct dl_type {
    uint8_t code;
    uint8_t bits;
    tly_dtype dtype;
} dl_type;

static const dl_type types[] = {
    {TLY_DL_INT, 8, TLY_I8},       {TLY_DL_INT, 16, TLY_I16},     {TLY_DL_INT, 32, TLY_I32},
    {TLY_DL_INT, 64, TLY_I64},     {TLY_DL_UINT, 8, TLY_U8},      {TLY_DL_UINT, 16, TLY_U16},
    {TLY_DL_UINT, 32, TLY_U32},    {TLY_DL_UINT, 64, TLY_U64},    {TLY_DL_FLOAT, 16, TLY_F16},
    {TLY_DL_FLOAT, 32, TLY_F32},   {TLY_DL_FLOAT, 64, TLY_F64},   {TLY_DL_FLOAT, 128, TLY_F128},
    {TLY_DL_BFLOAT, 16, TLY_BF16}, {TLY_DL_COMPLEX, 64, TLY_C64}, {TLY_DL_COMPLEX, 128, TLY_C128},
};

typedef struct dl_device {
    int32_t type;
    uint8_t device;
    uint8_t memory_class;
} dl_device;

static const dl_device devices[] = {
    {1, TLY_DEVICE_CPU, TLY_MEMORY_STANDARD},     {2, TLY_DEVICE_CUDA, TLY_MEMORY_STANDARD},
    {3, TLY_DEVICE_CUDA, TLY_MEMORY_HOST_PINNED}, {4, TLY_DEVICE_OPENCL, TLY_MEMORY_STANDARD},
    {7, TLY_DEVICE_VULKAN, TLY_MEMORY_STANDARD},  {8, TLY_DEVICE_METAL, TLY_MEMORY_STANDARD},
    {10, TLY_DEVICE_ROCM, TLY_MEMORY_STANDARD},   {11, TLY_DEVICE_ROCM, TLY_MEMORY_HOST_PINNED},
    {13, TLY_DEVICE_CUDA, TLY_MEMORY_UNIFIED},
};

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static tly_status refuse(tly_error *error, tly_status status, const char *what) {
    return tly_base_fail(error, status, TLY_NO_OFFSET, "dlpack", "%s", what);
}

/* Elements of more than a byte are little-endian with us and of the machine's order in DLPack. */
static int order_differs(uint32_t bits) {
    return __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ && bits > 8;
}

/* ---- import ------------------------------------------------------------------------------------
 */

/* Row-major, whatever the strides of axes that have nothing to step over. */
static int is_compact(const tly_dlpack_tensor *t, uint32_t rank) {
    int64_t next = 1;
    for (uint32_t k = 0; k < rank; k++) {
        if (t->shape[k] == 0) {
            return 1;
        }
    }
    for (uint32_t k = rank; k-- > 0;) {
        if (t->shape[k] > 1 && t->strides[k] != next) {
            return 0;
        }
        if (tly_base_mul_u64_i64(t->shape[k], next, &next)) {
            return 0;
        }
    }
    return 1;
}

static tly_status read_shape(const tly_dl_tensor *from, uint32_t version, tly_dlpack_tensor *out,
                             tly_error *error) {
    int64_t next = 1;
    if (from->ndim < 0 || from->ndim > TLY_MAX_RANK) {
        return refuse(error, TLY_INVALID_ARGUMENT, "the number of axes is not one of 0 to 64");
    }
    if (from->ndim > 0 && from->shape == NULL) {
        return refuse(error, TLY_INVALID_ARGUMENT, "there is no shape");
    }
    if (from->ndim > 0 && from->strides == NULL && version >= NULL_STRIDES_END) {
        return refuse(error, TLY_INVALID_ARGUMENT, "from version 1.2 on strides must be there");
    }
    for (int32_t k = from->ndim; k-- > 0;) {
        if (from->shape[k] < 0) {
            return refuse(error, TLY_INVALID_ARGUMENT, "an extent is negative");
        }
        out->shape[k] = (uint64_t)from->shape[k];
        out->strides[k] = from->strides != NULL ? from->strides[k] : next;
        if (tly_base_mul_u64_i64(out->shape[k] > 0 ? out->shape[k] : 1, next, &next)) {
            return refuse(error, TLY_OVERFLOW, "the tensor has more elements than fit in 63 bits");
        }
    }
    return TLY_OK;
}

/* An axis that is never stepped along has the stride of a single step, not that of its producer. */
static void settle_strides(tly_dlpack_tensor *t, uint32_t rank) {
    for (uint32_t k = 0; k < rank; k++) {
        t->strides[k] = t->shape[k] > 1 ? t->strides[k] : 1;
    }
}

static tly_status read_type(const tly_dl_tensor *from, tly_dlpack_tensor *out, tly_error *error) {
    if (from->lanes != 1) {
        return refuse(error, TLY_UNSUPPORTED, "elements with lanes are not supported");
    }
    for (size_t i = 0; i < COUNT(types); i++) {
        if (types[i].code == from->code && types[i].bits == from->bits) {
            out->descriptor.dtype = types[i].dtype;
        }
    }
    if (out->descriptor.dtype == 0 || order_differs(from->bits)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "dlpack",
                             "no element type has code %u with %u bits here", from->code,
                             from->bits);
    }
    for (size_t i = 0; i < COUNT(devices); i++) {
        if (devices[i].type == from->device_type) {
            out->buffer.device = devices[i].device;
            out->buffer.memory_class = devices[i].memory_class;
            return TLY_OK;
        }
    }
    return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "dlpack",
                         "device type %d has no tag in the tensor format", from->device_type);
}

tly_status tly_dlpack_import(const void *dl_tensor, uint32_t version, tly_dlpack_tensor *out,
                             tly_error *error) {
    const tly_dl_tensor *from = dl_tensor;
    tly_descriptor *d = &out->descriptor;
    uint64_t before, after;
    tly_status status;
    if (from == NULL || out == NULL) {
        return refuse(error, TLY_INVALID_ARGUMENT, "an argument is NULL");
    }
    memset(out, 0, sizeof *out);
    status = read_shape(from, version, out, error);
    if (status == TLY_OK) {
        status = read_type(from, out, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (from->byte_offset > INT64_MAX) {
        return refuse(error, TLY_INVALID_ARGUMENT,
                      "byte_offset is beyond 2^63: a negative offset in disguise");
    }
    d->rank = (uint32_t)from->ndim;
    d->shape = out->shape;
    d->layout = TLY_LAYOUT_ROW_MAJOR;
    if (!is_compact(out, d->rank)) {
        settle_strides(out, d->rank);
        d->layout = TLY_LAYOUT_STRIDED;
        d->strides = out->strides;
    }
    status = tly_descriptor_span(d, &before, &after);
    if (status != TLY_OK || tly_base_add_u64(before, after, &out->buffer.byte_size)) {
        return refuse(error, TLY_OVERFLOW, "the tensor reaches beyond 63-bit offsets");
    }
    if (from->data == NULL && out->buffer.byte_size != 0) {
        return refuse(error, TLY_INVALID_ARGUMENT, "there is no data");
    }
    /* The buffer begins with the lowest element; negative strides lead down to it. */
    d->byte_offset = before;
    out->data[0] = out->buffer.byte_size != 0
                       ? (const uint8_t *)from->data + from->byte_offset - before
                       : NULL;
    out->buffer.alignment = 64;
    d->num_buffers = 1;
    d->buffers = &out->buffer;
    out->tensor = (tly_tensor){.descriptor = d, .buffers = out->data};
    return TLY_OK;
}

/* ---- export ------------------------------------------------------------------------------------
 */

/* One block: this, with the shape and the strides behind it. */
typedef struct exported {
    union {
        tly_dl_managed plain;
        tly_dl_versioned versioned;
    } dl;
    const tly_context *context;
    tly_dlpack_release release;
    void *user;
    size_t len;
    int64_t extents[]; /* rank extents, rank strides */
} exported;

static void give_back(exported *e) {
    const tly_context *context = e->context;
    if (e->release != NULL) {
        e->release(e->user);
    }
    tly_base_free(context, e, e->len, 64);
}

static void delete_plain(tly_dl_managed *self) {
    if (self != NULL) {
        give_back(self->manager);
    }
}

static void delete_versioned(tly_dl_versioned *self) {
    if (self != NULL) {
        give_back(self->manager);
    }
}

static tly_status write_strides(const tly_descriptor *d, int64_t *shape, int64_t *strides,
                                tly_error *error) {
    int64_t next = 1;
    for (uint32_t i = 0; i < d->rank; i++) {
        uint32_t k = d->layout == TLY_LAYOUT_COL_MAJOR ? i : d->rank - 1 - i;
        if (d->shape[k] > INT64_MAX) { /* not known, or too large */
            return refuse(error, TLY_INVALID_ARGUMENT, "an extent is not known or beyond 63 bits");
        }
        shape[k] = (int64_t)d->shape[k];
        strides[k] = d->layout == TLY_LAYOUT_STRIDED ? d->strides[k] : next;
        if (tly_base_mul_u64_i64(d->shape[k] > 0 ? d->shape[k] : 1, next, &next)) {
            return refuse(error, TLY_OVERFLOW, "the tensor has more elements than fit in 63 bits");
        }
    }
    return TLY_OK;
}

static tly_status describe(const tly_tensor *tensor, tly_dl_tensor *out, tly_error *error) {
    const tly_descriptor *d = tensor->descriptor;
    out->lanes = 0;
    out->device_type = 0;
    for (size_t i = 0; i < COUNT(types); i++) {
        if (types[i].dtype == d->dtype && !order_differs(types[i].bits)) {
            out->code = types[i].code;
            out->bits = types[i].bits;
            out->lanes = 1;
        }
    }
    for (size_t i = 0; i < COUNT(devices); i++) {
        if (devices[i].device == d->buffers[0].device &&
            devices[i].memory_class == d->buffers[0].memory_class) {
            out->device_type = devices[i].type;
        }
    }
    if (out->lanes == 0 || out->device_type == 0) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "dlpack",
                             "element type 0x%02X on device %u with memory class %u cannot be "
                             "expressed",
                             d->dtype, d->buffers[0].device, d->buffers[0].memory_class);
    }
    out->data = (void *)(uintptr_t)tensor->buffers[0]; /* DLPack knows no const */
    out->device_id = 0;
    out->ndim = (int32_t)d->rank;
    out->byte_offset = d->byte_offset;
    return TLY_OK;
}

static tly_status check_export(const tly_context *context, const tly_tensor *tensor,
                               uint32_t version, void **out_managed, tly_error *error) {
    const tly_descriptor *d;
    if (context == NULL || tensor == NULL || tensor->descriptor == NULL || out_managed == NULL ||
        tensor->buffers == NULL) {
        return refuse(error, TLY_INVALID_ARGUMENT, "an argument is NULL");
    }
    d = tensor->descriptor;
    if (version != 0 && version != 100) {
        return refuse(error, TLY_UNSUPPORTED, "only DLManagedTensor and version 1.0 can be made");
    }
    if (d->layout != TLY_LAYOUT_ROW_MAJOR && d->layout != TLY_LAYOUT_COL_MAJOR &&
        d->layout != TLY_LAYOUT_STRIDED) {
        return tly_base_fail(error, TLY_LAYOUT_UNAVAILABLE, TLY_NO_OFFSET, "dlpack",
                             "layout 0x%02X (%s) has no strides: transcode the tensor first",
                             d->layout, tly_layout_name(d->layout));
    }
    if (d->quantization != NULL || d->extension_type != NULL) {
        return refuse(error, TLY_UNSUPPORTED, "quantized tensors have to be dequantized first");
    }
    return tly_descriptor_check_buffers(d, error);
}

tly_status tly_dlpack_export(const tly_context *context, const tly_tensor *tensor, uint32_t version,
                             tly_dlpack_release release, void *user, void **out_managed,
                             tly_error *error) {
    tly_dl_tensor made;
    exported *e;
    size_t len;
    tly_status status = check_export(context, tensor, version, out_managed, error);
    if (status != TLY_OK) {
        return status;
    }
    status = describe(tensor, &made, error);
    if (status != TLY_OK) {
        return status;
    }
    len = sizeof *e + 2 * (size_t)tensor->descriptor->rank * sizeof(int64_t);
    e = tly_base_calloc(context, len, 64);
    if (e == NULL) {
        return refuse(error, TLY_OUT_OF_MEMORY, "no memory for an exported tensor");
    }
    e->context = context;
    e->release = release;
    e->user = user;
    e->len = len;
    made.shape = e->extents;
    made.strides = e->extents + tensor->descriptor->rank;
    status = write_strides(tensor->descriptor, made.shape, made.strides, error);
    if (status != TLY_OK) {
        tly_base_free(context, e, len, 64);
        return status;
    }
    if (version == 0) {
        e->dl.plain = (tly_dl_managed){made, e, delete_plain};
    } else {
        e->dl.versioned = (tly_dl_versioned){1, 0, e, delete_versioned, TLY_DL_READ_ONLY, made};
    }
    *out_managed = &e->dl;
    return TLY_OK;
}
