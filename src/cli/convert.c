/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/convert.h"

#include <tilery/quantize.h>

#include "base/error.h"
#include "cli/describe.h"

int tly_convert_changes(const tly_convert_wish *wish) {
    return wish->layout.tag != 0 || wish->dtype != 0 || wish->dequantize || wish->plain != 0;
}

static tly_status to_row_major(const tly_context *context, tly_whole *w, tly_error *error) {
    tly_descriptor layout = {.layout = TLY_LAYOUT_ROW_MAJOR};
    return tly_whole_transcode(w, context, &layout, error);
}

/* A row-major tensor of the same shape and another type, whose elements are still to be filled in.
 */
static tly_status make_plain(tly_whole *w, tly_dtype dtype, void **out_bytes, tly_error *error) {
    const tly_descriptor *was = w->tensor.descriptor;
    tly_descriptor *d = tly_arena_alloc(&w->arena, sizeof *d, _Alignof(tly_descriptor));
    tly_buffer_info *buffer = tly_arena_alloc(&w->arena, sizeof *buffer, _Alignof(tly_buffer_info));
    tly_status status;
    if (d == NULL || buffer == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a tensor");
    }
    status = tly_descriptor_init_row_major(d, buffer, dtype, was->rank, was->shape);
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "",
                             "a tensor of this shape cannot have that type");
    }
    d->shard = was->shard; /* it is still the same part of a larger one */
    return tly_whole_replace(w, d, out_bytes, error);
}

static tly_status dequantize(const tly_context *context, const tly_convert_wish *wish, tly_whole *w,
                             tly_error *error) {
    const tly_dtype_info *info = wish->dtype != 0 ? tly_dtype_find(wish->dtype) : NULL;
    tly_dtype dtype = info != NULL && info->klass == TLY_CLASS_FLOAT ? wish->dtype : TLY_F32;
    tly_tensor codes = w->tensor;
    void *bytes[1];
    tly_status status = make_plain(w, dtype, bytes, error);
    return status == TLY_OK ? tly_dequantize(context, &codes, dtype, bytes[0], NULL, error)
                            : status;
}

static tly_status convert_type(const tly_context *context, const tly_convert_wish *wish,
                               tly_whole *w, tly_error *error) {
    const tly_convert_options options = {
        .size = sizeof options, .rounding = (uint32_t)wish->rounding, .saturate = wish->saturate};
    tly_status status = to_row_major(context, w, error);
    const tly_descriptor *was = w->tensor.descriptor;
    const tly_format *from, *to = tly_format_find(wish->dtype);
    const void *elements;
    uint64_t count = 0;
    void *bytes[1];
    char name[16];
    if (status != TLY_OK) {
        return status;
    }
    from = tly_format_find(was->dtype);
    elements = w->tensor.buffers[0];
    if (was->quantization != NULL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "quantized",
                             "its elements are codes of a quantization; --dequantize makes values "
                             "of them first");
    }
    if (from == NULL || to == NULL || tly_descriptor_num_elements(was, &count) != TLY_OK) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "dtype",
                             "elements of type %s cannot be converted",
                             tly_describe_dtype(name, sizeof name, was->dtype));
    }
    status = make_plain(w, wish->dtype, bytes, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_convert(context, to, bytes[0], 0, from, elements, 0, count, &options, NULL);
    return status == TLY_OK
               ? TLY_OK
               : tly_base_fail(error, status, TLY_NO_OFFSET, "dtype",
                               "elements of type %s cannot become that type",
                               tly_describe_dtype(name, sizeof name,
                                                  from->id < 256 ? (tly_dtype)from->id : 0));
}

tly_status tly_convert_whole(const tly_context *context, tly_convert_wish *wish, tly_whole *whole,
                             tly_error *error) {
    const tly_descriptor *d = whole->tensor.descriptor;
    tly_descriptor layout;
    tly_status status = TLY_OK;
    if (d->layout == TLY_LAYOUT_COMPOSITE) { /* one tensor first */
        status = to_row_major(context, whole, error);
        d = whole->tensor.descriptor;
    }
    if (status == TLY_OK && wish->dequantize && d->quantization != NULL) {
        status = dequantize(context, wish, whole, error);
    }
    if (status == TLY_OK && wish->dtype != 0 && whole->tensor.descriptor->dtype != wish->dtype) {
        status = convert_type(context, wish, whole, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    d = whole->tensor.descriptor;
    if (wish->plain == TLY_CONVERT_ROW_MAJOR ||
        (wish->plain == TLY_CONVERT_EITHER_ORDER && wish->layout.tag == 0 &&
         (d->layout != TLY_LAYOUT_COL_MAJOR || d->byte_offset != 0))) {
        return to_row_major(context, whole, error);
    }
    if (wish->layout.tag == 0) {
        return TLY_OK;
    }
    status = tly_convert_layout_for(&wish->layout, d, &layout, error);
    return status == TLY_OK ? tly_whole_transcode(whole, context, &layout, error) : status;
}
