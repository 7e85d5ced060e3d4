/* SPDX-License-Identifier: Apache-2.0 */
/* Packing as the header describes it, one place after the other; and nests and buffers for tests.
 */
#ifndef TLY_TESTS_PACK_MODEL_H
#define TLY_TESTS_PACK_MODEL_H

#include <stdlib.h>
#include <string.h>

#include <tilery/pack.h>

#include "check.h"

/* Offsets of the source are a sum over the axes, so one table for each axis gives them all. */
typedef struct model {
    const tly_nest *dst;
    int64_t *axis_offset[TLY_NEST_MAX_RANK];
    uint32_t bits;
    uint64_t padding;
    uint8_t *dst_bytes;
    const uint8_t *src_bytes;
} model;

static void model_place(const model *m, uint32_t depth, uint64_t *index, int64_t offset) {
    const tly_loop *loop = &m->dst->loops[depth];
    if (depth == m->dst->num_loops) {
        int64_t from = 0;
        int inside = 1;
        for (uint32_t d = 0; d < m->dst->rank; d++) {
            inside = inside && index[d] < m->dst->shape[d];
        }
        for (uint32_t d = 0; inside && d < m->dst->rank; d++) {
            from += m->axis_offset[d][index[d]];
        }
        for (uint32_t b = 0; b < m->bits && m->bits < 8; b++) { /* bit by bit */
            int64_t at = offset * (int64_t)m->bits + b, bit = from * (int64_t)m->bits + b;
            int value =
                inside ? m->src_bytes[bit >> 3] >> (bit & 7) & 1 : (int)(m->padding >> b & 1);
            uint8_t *to = &m->dst_bytes[at >> 3];
            *to = (uint8_t)((*to & ~(1 << (at & 7))) | value << (at & 7));
        }
        for (uint32_t size = m->bits / 8, b = 0; b < size; b++) {
            uint32_t shift = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? size - 1 - b : b;
            m->dst_bytes[offset * (int64_t)size + b] =
                inside ? m->src_bytes[from * (int64_t)size + b]
                       : (uint8_t)(b < 8 ? m->padding >> (8 * (shift & 7)) : 0);
        }
        return;
    }
    for (uint64_t i = 0; i < loop->count; i++) {
        index[loop->axis] += i * loop->step;
        model_place(m, depth + 1, index, offset + (int64_t)i * loop->stride);
        index[loop->axis] -= i * loop->step;
    }
}

/* `dst` and `src` point to offset 0 of their nests. */
static inline void model_pack(const tly_nest *dst, const tly_nest *src, uint32_t bits,
                              uint64_t padding, void *dst_bytes, const void *src_bytes) {
    uint64_t index[TLY_NEST_MAX_RANK] = {0};
    model m = {dst, {0}, bits, padding, dst_bytes, src_bytes};
    int empty = 0;
    for (uint32_t d = 0; d < src->rank; d++) {
        empty |= src->shape[d] == 0;
    }
    for (uint32_t d = 0; d < src->rank; d++) {
        m.axis_offset[d] = calloc(src->shape[d] + 1, sizeof(int64_t));
        for (uint64_t i = 0; !empty && i < src->shape[d]; i++) {
            index[d] = i;
            assert_int_equal(tly_nest_offset(src, index, &m.axis_offset[d][i]), TLY_OK);
        }
        index[d] = 0;
    }
    model_place(&m, 0, index, 0);
    for (uint32_t d = 0; d < src->rank; d++) {
        free(m.axis_offset[d]);
    }
}

/* A nest from a text like "N8*8 K16*16 N1*8 K1*16": axis letter, step, '*', count, outermost first.
 * Strides follow from the order. Axis letters are 'K' and 'N' as axes k and n. */
typedef struct template_loop {
    char axis;
    uint64_t step, count;
} template_loop;

static inline void nest_from_loops(tly_nest *nest, uint64_t k, uint64_t n, uint32_t k_axis,
                                   const template_loop *loops, uint32_t num_loops) {
    int64_t stride = 1;
    nest->rank = 2;
    nest->num_loops = num_loops;
    nest->shape[k_axis] = k;
    nest->shape[1 - k_axis] = n;
    for (uint32_t i = num_loops; i-- > 0;) {
        nest->loops[i] = (tly_loop){loops[i].axis == 'K' ? k_axis : 1 - k_axis, 0, loops[i].step,
                                    loops[i].count, stride};
        stride *= (int64_t)loops[i].count;
    }
}

static inline uint64_t round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

static inline void fill_random(check_rng *rng, uint8_t *bytes, size_t len) {
    for (size_t i = 0; i < len; i++) {
        bytes[i] = (uint8_t)check_random(rng);
    }
}

#endif
