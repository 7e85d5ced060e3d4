/* SPDX-License-Identifier: Apache-2.0 */
/* The Hilbert curve by Skilling's transformation (Hurray 1.0, layouts/hilbert, Normative Index
 * Mapping). */
#include <tilery/nest.h>

#include <string.h>

#include "layout/index.h"

/* Undoes, or does, the turns of the sub-cubes: for the bits from the top down, or upwards. */
static void turn_bit(uint64_t *x, uint32_t i, uint64_t bit) {
    uint64_t below = bit - 1;
    if (x[i] & bit) {
        x[0] ^= below;
    } else {
        uint64_t t = (x[0] ^ x[i]) & below;
        x[0] ^= t;
        x[i] ^= t;
    }
}

uint64_t tly_layout_hilbert_offset(uint32_t rank, uint32_t order, const uint64_t *index) {
    uint64_t x[TLY_NEST_MAX_RANK], top = UINT64_C(1) << (order - 1), t = 0, offset = 0;
    memcpy(x, index, rank * sizeof *x);
    for (uint64_t bit = top; bit > 1; bit >>= 1) {
        for (uint32_t i = 0; i < rank; i++) {
            turn_bit(x, i, bit);
        }
    }
    for (uint32_t i = 1; i < rank; i++) { /* Gray code */
        x[i] ^= x[i - 1];
    }
    for (uint64_t bit = top; bit > 1; bit >>= 1) {
        t ^= x[rank - 1] & bit ? bit - 1 : 0;
    }
    for (uint32_t b = order; b-- > 0;) {
        for (uint32_t d = 0; d < rank; d++) {
            offset = offset << 1 | ((x[d] ^ t) >> b & 1);
        }
    }
    return offset;
}

void tly_layout_hilbert_index(uint32_t rank, uint32_t order, uint64_t offset, uint64_t *out_index) {
    uint64_t *x = out_index, t;
    memset(x, 0, rank * sizeof *x);
    for (uint32_t b = 0; b < order; b++) {
        for (uint32_t d = rank; d-- > 0;) {
            x[d] |= (offset & 1) << b;
            offset >>= 1;
        }
    }
    t = x[rank - 1] >> 1;
    for (uint32_t i = rank - 1; i > 0; i--) {
        x[i] ^= x[i - 1];
    }
    x[0] ^= t;
    for (uint64_t bit = 2; bit != UINT64_C(1) << order; bit <<= 1) {
        for (uint32_t i = rank; i-- > 0;) {
            turn_bit(x, i, bit);
        }
    }
}

static int curve_ok(uint32_t rank, uint32_t order) {
    return rank >= 2 && order >= 1 && rank <= TLY_NEST_MAX_RANK && order <= 62 &&
           rank * order <= 63;
}

tly_status tly_hilbert_offset(uint32_t rank, uint32_t order, const uint64_t *index,
                              uint64_t *out_offset) {
    if (!curve_ok(rank, order) || index == NULL || out_offset == NULL) {
        return TLY_INVALID_ARGUMENT;
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (index[d] >> order != 0) {
            return TLY_INVALID_ARGUMENT;
        }
    }
    *out_offset = tly_layout_hilbert_offset(rank, order, index);
    return TLY_OK;
}

tly_status tly_hilbert_index(uint32_t rank, uint32_t order, uint64_t offset, uint64_t *out_index) {
    if (!curve_ok(rank, order) || out_index == NULL || offset >> (rank * order) != 0) {
        return TLY_INVALID_ARGUMENT;
    }
    tly_layout_hilbert_index(rank, order, offset, out_index);
    return TLY_OK;
}
