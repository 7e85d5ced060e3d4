/* SPDX-License-Identifier: Apache-2.0 */
/* The Hilbert curve by Skilling's transformation (Hurray 1.0, layouts/hilbert, Normative Index
 * Mapping). */
#include <tilery/nest.h>

#include <string.h>

#include "layout/index.h"

/* One turn of a sub-cube, of bit number `b` of an axis other than the first: where the bit is set
 * the lower bits of the first axis are flipped, elsewhere those of the two axes change places. The
 * bits are as good as random, so there is no branch. Returns the first axis. */
static inline uint64_t turn(uint64_t first, uint64_t *axis, uint32_t b) {
    uint64_t below = (UINT64_C(1) << b) - 1, flip = 0 - (*axis >> b & 1);
    uint64_t change = (first ^ *axis) & below & ~flip;
    *axis ^= change;
    return first ^ ((below & flip) | change);
}

/* The same for the first axis itself. */
static inline uint64_t turn_first(uint64_t first, uint32_t b) {
    return first ^ (((UINT64_C(1) << b) - 1) & (0 - (first >> b & 1)));
}

/* Bit b of the result is the parity of the bits above b: each one that is set flips all below. */
static inline uint64_t parities_above(uint64_t last) {
    uint64_t t = last >> 1;
    for (uint32_t shift = 1; shift < 64; shift *= 2) {
        t ^= t >> shift;
    }
    return t;
}

uint64_t tly_layout_hilbert_offset(uint32_t rank, uint32_t order, const uint64_t *index) {
    uint64_t x[TLY_NEST_MAX_RANK], first = index[0], t, offset = 0;
    for (uint32_t i = 1; i < rank; i++) {
        x[i] = index[i];
    }
    for (uint32_t b = order; --b > 0;) {
        first = turn_first(first, b);
        for (uint32_t i = 1; i < rank; i++) {
            first = turn(first, &x[i], b);
        }
    }
    x[0] = first;
    for (uint32_t i = 1; i < rank; i++) { /* Gray code */
        x[i] ^= x[i - 1];
    }
    t = parities_above(x[rank - 1]);
    for (uint32_t b = order; b-- > 0;) {
        for (uint32_t d = 0; d < rank; d++) {
            offset = offset << 1 | ((x[d] ^ t) >> b & 1);
        }
    }
    return offset;
}

void tly_layout_hilbert_index(uint32_t rank, uint32_t order, uint64_t offset, uint64_t *out_index) {
    uint64_t *x = out_index, first, t;
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
    first = x[0] ^ t;
    for (uint32_t b = 1; b < order; b++) {
        for (uint32_t i = rank; --i > 0;) {
            first = turn(first, &x[i], b);
        }
        first = turn_first(first, b);
    }
    x[0] = first;
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
