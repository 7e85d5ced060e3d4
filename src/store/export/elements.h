/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of a tensor on their way into a file. */
#ifndef TLY_EXPORT_ELEMENTS_H
#define TLY_EXPORT_ELEMENTS_H

#include <tilery/save.h>

#include "store/atomic_file.h"

/* Elements of a tensor. Errors: OVERFLOW. */
tly_status tly_export_count(const tly_save_tensor *tensor, uint64_t *out_count, tly_error *error);

/* Writes what `data` gives for tensor `index`, which must be exactly `count` elements; booleans as
 * a byte each. Errors: MALFORMED (another number of bytes), IO, what `data` returns. */
tly_status tly_export_elements(tly_atomic_file *file, const tly_save_tensor *tensor, uint64_t index,
                               uint64_t count, tly_save_data data, void *user, tly_error *error);

#endif
