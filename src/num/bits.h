/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_NUM_BITS_H
#define TLY_NUM_BITS_H

#include <stdint.h>

#include "base/checked.h"

/* Bytes that `count` elements of `bits` bits take (Hurray 1.0, element-types, Sub-Byte Packing):
 * 1, 2 and 4 bits are packed into bytes, 6 bits four elements into three bytes, everything else is
 * whole bytes. Returns 0, or 1 when the result does not fit. */
static inline int tly_num_storage_len(uint64_t count, uint32_t bits, uint64_t *out_len) {
    if (bits >= 8) {
        return tly_base_mul_u64(count, bits / 8, out_len);
    }
    if (bits == 6) {
        return tly_base_mul_u64(count / 4 + (count % 4 != 0), 3, out_len);
    }
    uint32_t per_byte = 8 / bits;
    *out_len = count / per_byte + (count % per_byte != 0);
    return 0;
}

#endif
