/* SPDX-License-Identifier: Apache-2.0 */
#include "store/export/elements.h"

#include <tilery/tensor.h>

#include "base/checked.h"
#include "base/error.h"

tly_status tly_export_count(const tly_save_tensor *tensor, uint64_t *out_count, tly_error *error) {
    uint64_t count = 1;
    if (tensor->rank > TLY_MAX_RANK) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "rank",
                             "a tensor has %u axes; %d is the most", tensor->rank, TLY_MAX_RANK);
    }
    for (uint32_t axis = 0; axis < tensor->rank; axis++) {
        if (tensor->shape[axis] == 0) {
            *out_count = 0;
            return TLY_OK;
        }
    }
    for (uint32_t axis = 0; axis < tensor->rank; axis++) {
        if (tly_base_mul_u64(count, tensor->shape[axis], &count)) {
            return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "shape-overflow",
                                 "the product of a shape does not fit in 64 bits");
        }
    }
    *out_count = count;
    return TLY_OK;
}

/* Where pieces go. */
typedef struct target {
    tly_atomic_file *file;
    uint64_t left;     /* bytes that are still to come */
    uint64_t elements; /* booleans: that are still to be written; otherwise UINT64_MAX */
} target;

/* One bit each becomes one byte each. */
static tly_status put_bools(target *t, const uint8_t *bytes, size_t len, tly_error *error) {
    uint8_t wide[2048];
    while (len > 0) {
        size_t piece = len < sizeof wide / 8 ? len : sizeof wide / 8;
        size_t num = piece * 8 < t->elements ? piece * 8 : (size_t)t->elements;
        tly_status status;
        for (size_t i = 0; i < num; i++) {
            wide[i] = bytes[i / 8] >> i % 8 & 1;
        }
        status = tly_atomic_file_write(t->file, wide, num, error);
        if (status != TLY_OK) {
            return status;
        }
        t->elements -= num;
        bytes += piece;
        len -= piece;
    }
    return TLY_OK;
}

static tly_status wrong_len(tly_error *error) {
    return tly_base_fail(error, TLY_MALFORMED, TLY_NO_OFFSET, "data-len",
                         "the data of a tensor have another number of bytes than its elements");
}

static tly_status put(void *sink_user, const void *bytes, size_t len, tly_error *error) {
    target *t = sink_user;
    if (len > t->left) {
        return wrong_len(error);
    }
    t->left -= len;
    return t->elements != UINT64_MAX ? put_bools(t, bytes, len, error)
                                     : tly_atomic_file_write(t->file, bytes, len, error);
}

tly_status tly_export_elements(tly_atomic_file *file, const tly_save_tensor *tensor, uint64_t index,
                               uint64_t count, tly_save_data data, void *user, tly_error *error) {
    const uint32_t bits = tly_dtype_bits(tensor->dtype);
    target t = {file,
                bits >= 8 ? count * (bits / 8) : count / 8 * bits + (count % 8 * bits + 7) / 8,
                tensor->dtype == TLY_BOOL ? count : UINT64_MAX};
    tly_status status = data(user, index, put, &t, error);
    return status == TLY_OK && t.left != 0 ? wrong_len(error) : status;
}
