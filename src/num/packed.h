/* SPDX-License-Identifier: Apache-2.0 */
/* Single elements of packed little-endian arrays (Hurray 1.0, element-types): element i begins at
 * bit i * bits, counted from the least significant bit of the first byte. This holds for 6-bit
 * elements too. There is one routine for each direction, so that there is one order of nibbles. */
#ifndef TLY_NUM_PACKED_H
#define TLY_NUM_PACKED_H

#include <stdint.h>

#include "base/bytes.h"

/* Fewer than 8 bits, at any bit position from `p`, also a negative one. */
static inline uint32_t tly_num_get_bits(const uint8_t *p, int64_t bit, uint32_t bits) {
    uint32_t shift = (uint32_t)(bit & 7), value;
    p += bit >> 3;
    value = (uint32_t)p[0] >> shift;
    if (shift + bits > 8) {
        value |= (uint32_t)p[1] << (8 - shift);
    }
    return value & ((1u << bits) - 1);
}

static inline void tly_num_put_bits(uint8_t *p, int64_t bit, uint32_t bits, uint32_t value) {
    uint32_t shift = (uint32_t)(bit & 7), mask = (1u << bits) - 1;
    p += bit >> 3;
    p[0] = (uint8_t)((p[0] & ~(mask << shift)) | value << shift);
    if (shift + bits > 8) {
        p[1] = (uint8_t)((p[1] & ~(mask >> (8 - shift))) | value >> (8 - shift));
    }
}

/* Copies one element of 1, 2, 4 or 6 bits or of whole bytes between bit positions. */
static inline void tly_num_copy_element(uint8_t *dst, int64_t dst_bit, const uint8_t *src,
                                        int64_t src_bit, uint32_t bits) {
    switch (bits) {
    case 8:
        dst[dst_bit >> 3] = src[src_bit >> 3];
        break;
    case 16:
        memcpy(dst + (dst_bit >> 3), src + (src_bit >> 3), 2);
        break;
    case 32:
        memcpy(dst + (dst_bit >> 3), src + (src_bit >> 3), 4);
        break;
    case 64:
        memcpy(dst + (dst_bit >> 3), src + (src_bit >> 3), 8);
        break;
    case 128:
        memcpy(dst + (dst_bit >> 3), src + (src_bit >> 3), 16);
        break;
    default:
        if (bits < 8) {
            tly_num_put_bits(dst, dst_bit, bits, tly_num_get_bits(src, src_bit, bits));
        } else {
            memcpy(dst + (dst_bit >> 3), src + (src_bit >> 3), bits / 8);
        }
        break;
    }
}

/* Loads `count` elements from number `first` on; `high` receives bits 64 .. 127 of 128-bit ones and
 * is not used otherwise. */
void tly_num_load_codes(const uint8_t *src, uint64_t first, uint32_t count, uint32_t bits,
                        uint64_t *low, uint64_t *high);

/* Stores them; bits of other elements in shared bytes stay. */
void tly_num_store_codes(uint8_t *dst, uint64_t first, uint32_t count, uint32_t bits,
                         const uint64_t *low, const uint64_t *high);

#endif
