/* SPDX-License-Identifier: Apache-2.0 */
/* A descriptor with everything that it points to in one block of memory. */
#ifndef TLY_TENSOR_OWN_H
#define TLY_TENSOR_OWN_H

#include <tilery/context.h>
#include <tilery/tensor.h>

typedef struct tly_own_descriptor {
    tly_descriptor d;
    uint8_t *memory;
    size_t memory_len;
} tly_own_descriptor;

/* Writes `d` and reads it again, so that it has passed every check, its buffers' sizes too. Errors:
 * those of tly_descriptor_encode and tly_descriptor_check_buffers, OUT_OF_MEMORY. */
tly_status tly_own_descriptor_init(tly_own_descriptor *own, const tly_context *context,
                                   const tly_descriptor *d, tly_error *error);
void tly_own_descriptor_cleanup(tly_own_descriptor *own, const tly_context *context);

#endif
