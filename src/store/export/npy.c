/* SPDX-License-Identifier: Apache-2.0 */
/* npy: a magic number, a dictionary padded so that the elements begin on a multiple of 64, the
 * elements. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tilery/tensor.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/error.h"
#include "store/export/elements.h"
#include "store/import/npy_types.h"

#define ALIGNMENT 64
#define MAX_TEXT  2048 /* 64 axes of 20 digits and the rest */

int tly_save_npy_carries(tly_dtype dtype, const char **out_reason) {
    int carries = tly_npy_type_of(dtype) != NULL;
    if (!carries && out_reason != NULL) {
        *out_reason = "npy has no such element type";
    }
    return carries;
}

/* The dictionary, with its padding and newline. */
static size_t write_dictionary(char *text, const tly_save_tensor *t, const tly_npy_type *type,
                               size_t in_front) {
    size_t len =
        (size_t)snprintf(text, MAX_TEXT, "{'descr': '%c%s', 'fortran_order': %s, 'shape': (",
                         type->unit == 1 ? '|' : '<', type->code,
                         t->layout == TLY_LAYOUT_COL_MAJOR ? "True" : "False");
    for (uint32_t axis = 0; axis < t->rank; axis++) {
        len += (size_t)snprintf(text + len, MAX_TEXT - len, "%s%" PRIu64, axis != 0 ? ", " : "",
                                t->shape[axis]);
    }
    len += (size_t)snprintf(text + len, MAX_TEXT - len, "%s), }", t->rank == 1 ? "," : "");
    while ((in_front + len + 1) % ALIGNMENT != 0) {
        text[len++] = ' ';
    }
    text[len++] = '\n';
    return len;
}

static tly_status write_header(tly_atomic_file *file, const tly_save_tensor *tensor,
                               const tly_npy_type *type, tly_error *error) {
    uint8_t head[10] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    char text[MAX_TEXT + ALIGNMENT];
    size_t len = write_dictionary(text, tensor, type, sizeof head);
    tly_status status;
    tly_base_store_u16(head + 8, (uint16_t)len);
    status = tly_atomic_file_write(file, head, sizeof head, error);
    return status == TLY_OK ? tly_atomic_file_write(file, text, len, error) : status;
}

tly_status tly_save_npy(const tly_context *context, const char *path, const tly_save_tensor *tensor,
                        tly_save_data data, void *user, tly_error *error) {
    const tly_npy_type *type = tly_npy_type_of(tensor->dtype);
    tly_atomic_file *file;
    uint64_t count, len;
    tly_status status;
    if (type == NULL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "dtype",
                             "npy has no element type for 0x%02X", tensor->dtype);
    }
    if (tensor->layout != TLY_LAYOUT_ROW_MAJOR && tensor->layout != TLY_LAYOUT_COL_MAJOR) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "layout",
                             "npy takes row-major and column-major tensors");
    }
    status = tly_export_count(tensor, &count, error);
    if (status == TLY_OK && tly_base_mul_u64(count, type->bytes, &len)) {
        status = tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "size-overflow",
                               "the size of the tensor does not fit in 64 bits");
    }
    if (status == TLY_OK) {
        status = tly_atomic_file_new(context, path, &tly_file_system_calls, &file, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    status = write_header(file, tensor, type, error);
    if (status == TLY_OK) {
        status = tly_export_elements(file, tensor, 0, count, data, user, error);
    }
    if (status == TLY_OK) {
        status = tly_atomic_file_commit(file, error);
    }
    tly_atomic_file_free(file);
    return status;
}
