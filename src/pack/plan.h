/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan holds. plan.c makes it, run.c runs it. */
#ifndef TLY_PACK_PLAN_H
#define TLY_PACK_PLAN_H

#include <tilery/pack.h>

#include "pack/form.h"
#include "pack/kernels.h"

#define PACK_MAX_TABLE 512 /* elements of a tile on the table path */
#define PACK_MAX_TILE  16  /* loops of such a tile; each turns at least twice */
#define PACK_STAGE_LEN 16384

typedef enum pack_path {
    PACK_PATH_COPY = 0,
    PACK_PATH_ROWS,
    PACK_PATH_ZIP,
    PACK_PATH_TRANSPOSE,
    PACK_PATH_TABLE,
    PACK_PATH_STRIDED,
    PACK_PATH_BITS
} pack_path;

/* One step of the walk: cuts what is left of loops[loop] into blocks of `block` turns. A loop may
 * be cut several times; the last cut of p and q leaves a tile, that of all others single turns. */
typedef struct pack_step {
    uint32_t loop;
    uint32_t reserved;
    uint64_t block;
} pack_step;

struct tly_pack_plan {
    const tly_context *context;
    const pack_kernels *kernels;
    pack_path path;
    uint32_t bits;  /* of an element */
    uint32_t size;  /* bytes of what the loops move: an element, half of one, a byte of several */
    uint32_t width; /* bytes of what the kernels move: one or more elements side by side */
    uint32_t streaming;
    uint32_t has_gaps;
    uint32_t num_loops;
    uint32_t num_axes;
    uint32_t num_digits;
    uint32_t num_steps;
    pack_kernel *kernel; /* the table path has no use for it */

    /* A tile of the kernel is p x q, indices into loops; `wide` are the elements in one width. On
     * the table path a tile is tile[0 .. num_tile) instead. */
    uint32_t p, q;
    pack_loop wide; /* count 1 if width == size */
    uint32_t num_tile;
    uint32_t table_len;
    pack_loop tile[PACK_MAX_TILE]; /* innermost first */
    uint64_t
        reach[TLY_NEST_MAX_RANK]; /* per axis: what `wide` and `tile` add to an index at most */
    int64_t *table;               /* source offsets of the elements of a tile */

    pack_loop *loops;
    pack_axis *axes;
    pack_digit *digits;
    pack_step *steps; /* outermost first */

    int64_t dst_base, src_base; /* bytes, where all loops are at 0 */
    int64_t dst_low;            /* bytes */
    uint64_t dst_len;
    uint8_t padding[64];   /* the element, repeated */
    uint32_t padding_bits; /* the element, on the path of bits */

    /* Units: `unit_turns` turns of the last of the unit loops, whose turns are counted through. */
    uint32_t num_unit_loops;
    uint32_t *unit_loops; /* indices into loops, outermost first */
    uint64_t total_turns;
    uint64_t unit_turns;
    uint64_t unit_len;
    uint64_t num_units;
    size_t memory_len;
};

/* The part of each loop that one run walks. */
typedef struct pack_range {
    uint64_t low, high;
} pack_range;

/* Gives a plan its kernels. Tests also give it those of a level that the machine lacks. */
void pack_use_kernels(tly_pack_plan *plan, const pack_kernels *kernels);

/* Walks the given part of every loop. `dst` and `src` point to offset 0. */
void pack_walk(const tly_pack_plan *plan, const pack_range *ranges, uint8_t *dst,
               const uint8_t *src, int stream);

/* All of a plan whose path is PACK_PATH_BITS: strides and bases count elements. */
void pack_bits(const tly_pack_plan *plan, uint8_t *dst, const uint8_t *src);

#endif
