/* SPDX-License-Identifier: Apache-2.0 */
/* Two nests brought to one set of loops: what the paths of the engine are chosen from. */
#ifndef TLY_PACK_FORM_H
#define TLY_PACK_FORM_H

#include <tilery/nest.h>

/* Each loop of one nest can be cut at every digit of the other, so their numbers add up. */
#define PACK_MAX_LOOPS (2 * TLY_NEST_MAX_LOOPS)
#define PACK_FREE      UINT32_MAX

/* One loop over both buffers. Strides in bytes. A loop on an axis of the form adds turn * step to
 * that axis' index; a free loop (axis == PACK_FREE) never leaves the shape. */
typedef struct pack_loop {
    uint64_t count;
    uint64_t step;
    int64_t dst_stride;
    int64_t src_stride;
    uint32_t axis;
    uint32_t irregular; /* the source is not linear in this loop: see pack_axis.first_digit */
} pack_loop;

/* A digit of the source's index: ((index / step) % count) * stride bytes. */
typedef struct pack_digit {
    uint64_t step;
    uint64_t count;
    int64_t stride;
} pack_digit;

/* An axis that has to be watched. Places with an index below `valid` are copied, those below
 * `exist` are padded, and beyond that there are no places: the top loop was cut into pieces that do
 * not divide it. */
typedef struct pack_axis {
    uint64_t valid;
    uint64_t exist;
    uint64_t regular;     /* irregular axes: the source is linear below this index */
    uint32_t first_digit; /* irregular axes: digits of the source from `regular` upwards */
    uint32_t num_digits;  /* 0: the axis is regular */
} pack_axis;

/* Loops in ascending order of |dst_stride|, merged as far as possible, all with count > 1. */
typedef struct pack_form {
    uint32_t num_loops;
    uint32_t num_axes;
    uint32_t num_digits;
    uint32_t size;    /* bytes of what the loops move */
    uint32_t in_bits; /* elements that fill no bytes: all strides and bases count elements */
    uint32_t reserved;
    int64_t dst_base; /* bytes, from loops that were turned round */
    int64_t src_base;
    pack_loop loops[PACK_MAX_LOOPS + 2]; /* two more: for parts of an element, and for choose.c */
    pack_axis axes[TLY_NEST_MAX_RANK];
    pack_digit digits[PACK_MAX_LOOPS];
} pack_form;

/* Fills `out`. Both nests are checked, have the same shape and at least one place in `dst`; `bits`
 * are those of an element. Errors: OVERFLOW. */
tly_status pack_form_make(const tly_nest *dst, const tly_nest *src, uint32_t bits, pack_form *out);

#endif
