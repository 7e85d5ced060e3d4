/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_NEST_H
#define TILERY_NEST_H

#include <stdint.h>

#include <tilery/export.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* A dense layout is a loop nest. Running the loops from the first (outermost) to the last visits
 * every place of a buffer; at each place
 *
 *     index[axis] = sum over the loops of that axis of i * step
 *     offset      = sum over all loops of i * stride            (in elements)
 *
 * A place whose index lies outside the shape on any axis is padding. Steps need not fall
 * monotonically: it is the sum that decides. Row-major, column-major, strided, tiled, Morton, the
 * PTO fractals, CUBE cells and GEMM panels are all nests. */

#define TLY_NEST_MAX_RANK  64 /* Hurray 1.0, data-model */
#define TLY_NEST_MAX_LOOPS 192

typedef struct tly_loop {
    uint32_t axis; /* 0 .. rank-1 */
    uint32_t reserved;
    uint64_t step;  /* > 0: what one turn adds to the index of `axis` */
    uint64_t count; /* number of turns */
    int64_t stride; /* elements; may be zero or negative (strided layouts) */
} tly_loop;

/* Plain memory, owned by the caller. */
typedef struct tly_nest {
    uint32_t rank;
    uint32_t num_loops;
    uint64_t shape[TLY_NEST_MAX_RANK];
    tly_loop loops[TLY_NEST_MAX_LOOPS]; /* outermost first */
} tly_nest;

/* Lowest and one past the highest element offset that a nest touches (both 0 when a count is 0).
 * Padding places count. Errors: OVERFLOW. Thread-safe. */
TLY_API tly_status tly_nest_extent(const tly_nest *nest, int64_t *out_low, int64_t *out_high);

/* Checks a nest: axes, counts, steps, and that every index of the shape is visited exactly once.
 * Distinct places may share an offset (zero strides) only if `allow_alias` is not 0. Errors:
 * INVALID_ARGUMENT with the rule in `error`; OVERFLOW. Thread-safe. */
TLY_API tly_status tly_nest_check(const tly_nest *nest, int allow_alias, tly_error *error);

/* Offset of one element, in elements. `index` has `rank` entries inside the shape. Slow and
 * obvious; the packing engine does not use it. Errors: INVALID_ARGUMENT. Thread-safe. */
TLY_API tly_status tly_nest_offset(const tly_nest *nest, const uint64_t *index,
                                   int64_t *out_offset);

/* Constructors. Each fills `out_nest`; strides follow from the order of the loops where the layout
 * fixes them. Errors: INVALID_ARGUMENT (rank, zero tile, ...), OVERFLOW, LIMIT (too many loops).
 * Thread-safe. */
TLY_API tly_status tly_nest_row_major(tly_nest *out_nest, uint32_t rank, const uint64_t *shape);
TLY_API tly_status tly_nest_col_major(tly_nest *out_nest, uint32_t rank, const uint64_t *shape);

/* `strides` in elements, `rank` entries (Hurray 1.0, layouts/strided). */
TLY_API tly_status tly_nest_strided(tly_nest *out_nest, uint32_t rank, const uint64_t *shape,
                                    const int64_t *strides);

/* How the tiles, or the elements of a tile, follow each other (Hurray 1.0, layouts/tiled). */
typedef enum tly_tile_order {
    TLY_TILE_ROW = 1,
    TLY_TILE_COL = 2,
    TLY_TILE_STRIDED = 3,
    TLY_TILE_NESTED = 4 /* inner only: the tile is tiled again */
} tly_tile_order;

typedef struct tly_tile_level {
    const uint64_t *tile_shape;   /* rank entries, > 0 */
    const int64_t *outer_strides; /* rank entries in tiles, only for outer == STRIDED */
    const int64_t *inner_strides; /* rank entries in elements, only for inner == STRIDED */
    uint8_t outer;                /* tly_tile_order */
    uint8_t inner;                /* tly_tile_order; NESTED means that the next level follows */
} tly_tile_level;

#define TLY_TILE_MAX_LEVELS 8

/* Tiled, recursively: `levels[0]` is the outermost. The tile of a level must divide into the tiles
 * of the next one. */
TLY_API tly_status tly_nest_tiled(tly_nest *out_nest, uint32_t rank, const uint64_t *shape,
                                  const tly_tile_level *levels, uint32_t num_levels);

/* Morton order: bit b of the index on axis d is bit b * rank + d of the offset
 * (Hurray 1.0, layouts/morton). `bits` has `rank` entries; shape[d] <= 2^bits[d]. */
TLY_API tly_status tly_nest_morton(tly_nest *out_nest, uint32_t rank, const uint64_t *shape,
                                   const uint32_t *bits);

/* The Hilbert curve is no nest: the place of an index on it, and back (Hurray 1.0, layouts/hilbert;
 * Skilling's transformation). `rank` >= 2 axes of 2^order indices each, order >= 1, rank * order at
 * most 63. Errors: INVALID_ARGUMENT. Thread-safe. */
TLY_API tly_status tly_hilbert_offset(uint32_t rank, uint32_t order, const uint64_t *index,
                                      uint64_t *out_offset);
TLY_API tly_status tly_hilbert_index(uint32_t rank, uint32_t order, uint64_t offset,
                                     uint64_t *out_index);

TLY_END_DECLS

#endif
