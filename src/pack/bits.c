/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of fewer than 8 bits where bytes of one side are no bytes of the other. */
#include <string.h>

#include "num/packed.h"
#include "pack/plan.h"

typedef struct bit_walk {
    const tly_pack_plan *plan;
    uint8_t *dst; /* offset 0 */
    const uint8_t *src;
    uint32_t num_loops;
    uint64_t index[TLY_NEST_MAX_RANK]; /* of the watched axes */
} bit_walk;

static int64_t plus(int64_t offset, uint64_t turns, int64_t stride) {
    return (int64_t)((uint64_t)offset + turns * (uint64_t)stride);
}

/* `len` bits from one bit position to another. */
static void copy_run(uint8_t *dst, int64_t dst_bit, const uint8_t *src, int64_t src_bit,
                     uint64_t len) {
    uint32_t shift;
    dst += dst_bit >> 3;
    src += src_bit >> 3;
    dst_bit &= 7;
    src_bit &= 7;
    if (dst_bit != 0) { /* up to a byte of the destination */
        uint32_t head = 8 - (uint32_t)dst_bit;
        head = len < head ? (uint32_t)len : head;
        tly_num_put_bits(dst, dst_bit, head, tly_num_get_bits(src, src_bit, head));
        src += (src_bit + head) >> 3;
        src_bit = (src_bit + head) & 7;
        len -= head;
        dst++;
    }
    shift = (uint32_t)src_bit;
    if (shift == 0) {
        memcpy(dst, src, len / 8);
    } else {
        for (uint64_t i = 0; i < len / 8; i++) {
            dst[i] = (uint8_t)(src[i] >> shift | src[i + 1] << (8 - shift));
        }
    }
    if (len % 8 != 0) {
        uint32_t tail = (uint32_t)(len % 8);
        tly_num_put_bits(dst + len / 8, 0, tail, tly_num_get_bits(src + len / 8, shift, tail));
    }
}

/* One element after the other, with the offset of an irregular source. */
static void put_element(const bit_walk *w, int64_t dst, int64_t src) {
    const tly_pack_plan *plan = w->plan;
    uint32_t value = plan->padding_bits;
    int inside = 1;
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        if (w->index[a] >= plan->axes[a].exist) {
            return;
        }
        inside = inside && w->index[a] < plan->axes[a].valid;
    }
    if (inside) {
        for (uint32_t a = 0; a < plan->num_axes; a++) {
            const pack_axis *axis = &plan->axes[a];
            for (uint32_t i = 0; i < axis->num_digits; i++) {
                const pack_digit *digit = &plan->digits[axis->first_digit + i];
                src = plus(src, w->index[a] / digit->step % digit->count, digit->stride);
            }
        }
        value = tly_num_get_bits(w->src, src * plan->bits, plan->bits);
    }
    tly_num_put_bits(w->dst, dst * plan->bits, plan->bits, value);
}

/* Are all turns of the `num` innermost loops elements inside the shape, at offsets that rise
 * evenly? */
static int is_inside(const bit_walk *w, uint32_t num) {
    const tly_pack_plan *plan = w->plan;
    if (plan->num_digits != 0) {
        return 0;
    }
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        uint64_t reach = w->index[a];
        for (uint32_t i = 0; i < num; i++) {
            reach +=
                plan->loops[i].axis == a ? (plan->loops[i].count - 1) * plan->loops[i].step : 0;
        }
        if (reach >= plan->axes[a].valid) {
            return 0;
        }
    }
    return 1;
}

/* Pairs of 4-bit elements that are transposed: contiguous along q in the destination, along p in
 * the source, and everything else begins at whole bytes. Then a byte of each of two rows of the
 * source makes two bytes of the destination. */
#define COLUMNS 128 /* of the destination that are written side by side */

static int can_zip(const bit_walk *w, int64_t dst, int64_t src) {
    const pack_loop *q = &w->plan->loops[0], *p = &w->plan->loops[1];
    return w->plan->bits == 4 && q->dst_stride == 1 && p->src_stride == 1 && q->count % 2 == 0 &&
           ((dst | src | q->src_stride | p->dst_stride) & 1) == 0;
}

static void zip_nibbles(const bit_walk *w, int64_t dst, int64_t src) {
    const pack_loop *q = &w->plan->loops[0], *p = &w->plan->loops[1];
    int64_t next = p->dst_stride / 2, row = q->src_stride / 2;
    for (uint64_t first = 0; first < p->count; first += COLUMNS) {
        uint64_t count = p->count - first < COLUMNS ? p->count - first : COLUMNS;
        for (uint64_t i = 0; i < q->count; i += 2) {
            const uint8_t *a = w->src + src / 2 + (int64_t)i * row + (int64_t)(first / 2);
            const uint8_t *b = a + row;
            uint8_t *to = w->dst + dst / 2 + (int64_t)(i / 2) + (int64_t)first * next;
            for (uint64_t j = 0; j + 2 <= count; j += 2, a++, b++, to += 2 * next) {
                to[0] = (uint8_t)((*a & 0x0F) | *b << 4);
                to[next] = (uint8_t)(*a >> 4 | (*b & 0xF0));
            }
            if (count % 2 != 0) {
                to[0] = (uint8_t)((*a & 0x0F) | *b << 4);
            }
        }
    }
}

static void walk_loops(bit_walk *w, uint32_t depth, int64_t dst, int64_t src) {
    const pack_loop *loop;
    uint32_t bits = w->plan->bits;
    if (depth == 0) {
        put_element(w, dst, src);
        return;
    }
    loop = &w->plan->loops[depth - 1];
    if (depth == 2 && can_zip(w, dst, src) && is_inside(w, 2)) {
        zip_nibbles(w, dst, src);
        return;
    }
    if (depth == 1 && is_inside(w, 1)) {
        if (loop->dst_stride == 1 && loop->src_stride == 1) {
            copy_run(w->dst, dst * bits, w->src, src * bits, loop->count * bits);
            return;
        }
        for (uint64_t i = 0; i < loop->count; i++) {
            uint32_t value = tly_num_get_bits(w->src, src * bits, bits);
            tly_num_put_bits(w->dst, dst * bits, bits, value);
            dst += loop->dst_stride;
            src += loop->src_stride;
        }
        return;
    }
    for (uint64_t i = 0; i < loop->count; i++) {
        if (loop->axis != PACK_FREE) {
            w->index[loop->axis] += i * loop->step;
        }
        walk_loops(w, depth - 1, plus(dst, i, loop->dst_stride), plus(src, i, loop->src_stride));
        if (loop->axis != PACK_FREE) {
            w->index[loop->axis] -= i * loop->step;
        }
    }
}

void pack_bits(const tly_pack_plan *plan, uint8_t *dst, const uint8_t *src) {
    bit_walk w = {.plan = plan, .dst = dst, .src = src};
    walk_loops(&w, plan->num_loops - 1, plan->dst_base, plan->src_base); /* the last is no loop */
}
