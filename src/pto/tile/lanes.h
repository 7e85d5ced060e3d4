/* SPDX-License-Identifier: Apache-2.0 */
/* How operations go over elements: runs of the valid region of a tile that is stored by rows, and
 * the beginning and end of a result. */
#ifndef TLY_PTO_TILE_LANES_H
#define TLY_PTO_TILE_LANES_H

#include "pto/tile/operation.h"

enum { TLY_PTO_LANES = 256 };

/* Runs of elements of the valid region, in order; rows that follow each other without padding are
 * one. */
typedef struct tly_pto_walk {
    uint32_t first;     /* element that comes next */
    uint32_t left;      /* of its run */
    uint32_t runs_left; /* after it */
    uint32_t run;       /* elements of a run */
    uint32_t skip;      /* elements of padding between runs */
} tly_pto_walk;

static inline tly_pto_walk tly_pto_walk_rows(const tly_pto_tile *tile) {
    bool whole = tile->valid_columns == tile->columns;
    tly_pto_walk w = {0};
    w.run = whole ? (uint32_t)tile->valid_rows * tile->columns : tile->valid_columns;
    w.skip = whole ? 0 : (uint32_t)tile->columns - tile->valid_columns;
    w.left = tile->valid_rows != 0 ? w.run : 0;
    w.runs_left = whole || tile->valid_rows == 0 ? 0 : (uint32_t)tile->valid_rows - 1;
    return w;
}

/* The next `*out_count` elements, at most `limit`, from `*out_first`; false at the end. */
static inline bool tly_pto_walk_next(tly_pto_walk *w, uint32_t limit, uint32_t *out_first,
                                     uint32_t *out_count) {
    if (w->left == 0) {
        if (w->runs_left == 0) {
            return false;
        }
        w->runs_left--;
        w->first += w->skip;
        w->left = w->run;
    }
    uint32_t count = w->left < limit ? w->left : limit;
    *out_first = w->first;
    *out_count = count;
    w->first += count;
    w->left -= count;
    return count != 0;
}

/* The result's elements become writable: zero, or about to be overwritten all. */
tly_pto_elements *tly_pto_begin_result(tly_pto_machine *machine, tly_pto_plan *plan,
                                       uint32_t ordinal);

/* The valid region is written: it is defined, and padding becomes what `pad` says. */
void tly_pto_finish_result(tly_pto_machine *machine, tly_pto_plan *plan, uint32_t ordinal,
                           uint32_t pad);

/* Carrier of a pad code (TilePadValueForDataType). */
uint64_t tly_pto_pad_value(uint32_t pad, uint32_t dtype);

/* Padding of any tile, in any layout: written and defined, or with the last code, which has no
 * value, zero and undefined. The valid region is defined. */
void tly_pto_pad_elements(tly_pto_elements *elements, const tly_pto_tile *tile, uint32_t pad);

#endif
