/* SPDX-License-Identifier: Apache-2.0 */
/* The constructors: each layout of the format, written down as a loop nest. */
#include <tilery/nest.h>

#include <string.h>

#include "base/checked.h"

static tly_status start(tly_nest *nest, uint32_t rank, const uint64_t *shape) {
    if (nest == NULL || rank > TLY_NEST_MAX_RANK || (rank > 0 && shape == NULL)) {
        return TLY_INVALID_ARGUMENT;
    }
    nest->rank = rank;
    nest->num_loops = 0;
    memset(nest->shape, 0, sizeof nest->shape);
    if (rank > 0) {
        memcpy(nest->shape, shape, rank * sizeof *shape);
    }
    return TLY_OK;
}

static tly_status add(tly_nest *nest, uint32_t axis, uint64_t step, uint64_t count,
                      int64_t stride) {
    if (nest->num_loops == TLY_NEST_MAX_LOOPS) {
        return TLY_LIMIT;
    }
    nest->loops[nest->num_loops++] = (tly_loop){axis, 0, step, count, stride};
    return TLY_OK;
}

/* The extent of a finished nest must be a number, or nobody could address it. */
static tly_status finish(const tly_nest *nest) {
    int64_t low, high;
    return tly_nest_extent(nest, &low, &high);
}

/* A grid of places in one of the simple orders: counts[d] turns of `steps[d]` along axis d. `unit`
 * is the pitch in elements between neighbours of the fastest axis; strided grids multiply theirs by
 * it. *out_len becomes the elements of the whole grid where the order fixes them. A grid without
 * places gets strides of zero: there is nothing to address, and its other extents may be huge. */
static tly_status add_grid(tly_nest *nest, const uint64_t *counts, const uint64_t *steps,
                           int64_t unit, uint8_t order, const int64_t *strides) {
    uint32_t rank = nest->rank;
    int64_t made[TLY_NEST_MAX_RANK];
    int64_t pitch = unit;
    int empty = 0;
    for (uint32_t d = 0; d < rank; d++) {
        empty |= counts[d] == 0;
    }
    if (order == TLY_TILE_STRIDED && strides == NULL && rank > 0) {
        return TLY_INVALID_ARGUMENT;
    }
    for (uint32_t turn = 0; turn < rank; turn++) {
        uint32_t d = order == TLY_TILE_COL ? turn : rank - 1 - turn;
        if (empty) {
            made[d] = 0;
        } else if (order == TLY_TILE_STRIDED) {
            if (__builtin_mul_overflow(strides[d], unit, &made[d])) {
                return TLY_OVERFLOW;
            }
        } else {
            made[d] = pitch;
            if (tly_base_mul_u64_i64(counts[d], pitch, &pitch)) {
                return TLY_OVERFLOW;
            }
        }
    }
    for (uint32_t turn = 0; turn < rank; turn++) {
        uint32_t d = order == TLY_TILE_COL ? rank - 1 - turn : turn;
        tly_status status = add(nest, d, steps[d], counts[d], made[d]);
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

static tly_status simple(tly_nest *nest, uint32_t rank, const uint64_t *shape, uint8_t order,
                         const int64_t *strides) {
    uint64_t ones[TLY_NEST_MAX_RANK];
    tly_status status = start(nest, rank, shape);
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t d = 0; d < rank; d++) {
        ones[d] = 1;
    }
    status = add_grid(nest, nest->shape, ones, 1, order, strides);
    return status != TLY_OK ? status : finish(nest);
}

tly_status tly_nest_row_major(tly_nest *out_nest, uint32_t rank, const uint64_t *shape) {
    return simple(out_nest, rank, shape, TLY_TILE_ROW, NULL);
}

tly_status tly_nest_col_major(tly_nest *out_nest, uint32_t rank, const uint64_t *shape) {
    return simple(out_nest, rank, shape, TLY_TILE_COL, NULL);
}

tly_status tly_nest_strided(tly_nest *out_nest, uint32_t rank, const uint64_t *shape,
                            const int64_t *strides) {
    return simple(out_nest, rank, shape, TLY_TILE_STRIDED, strides);
}

tly_status tly_nest_tiled(tly_nest *out_nest, uint32_t rank, const uint64_t *shape,
                          const tly_tile_level *levels, uint32_t num_levels) {
    uint64_t inside[TLY_NEST_MAX_RANK]; /* what this level cuts up: the tensor, then a tile */
    uint64_t counts[TLY_NEST_MAX_RANK];
    uint64_t ones[TLY_NEST_MAX_RANK];
    tly_status status = start(out_nest, rank, shape);
    if (status != TLY_OK) {
        return status;
    }
    if (levels == NULL || num_levels == 0) {
        return TLY_INVALID_ARGUMENT;
    }
    if (num_levels > TLY_TILE_MAX_LEVELS) {
        return TLY_LIMIT;
    }
    memcpy(inside, out_nest->shape, sizeof inside);
    for (uint32_t n = 0; n < num_levels; n++) {
        const tly_tile_level *level = &levels[n];
        int last = n + 1 == num_levels;
        int64_t tile_len = 1;
        if ((rank > 0 && level->tile_shape == NULL) || level->outer < TLY_TILE_ROW ||
            level->outer > TLY_TILE_STRIDED || level->inner < TLY_TILE_ROW ||
            level->inner > TLY_TILE_NESTED || (level->inner == TLY_TILE_NESTED) == last) {
            return TLY_INVALID_ARGUMENT;
        }
        for (uint32_t d = 0; d < rank; d++) {
            uint64_t tile = level->tile_shape[d];
            /* A tile that does not divide its outer tile would spill into the next outer tile. */
            if (tile == 0 || (n > 0 && inside[d] % tile != 0)) {
                return TLY_INVALID_ARGUMENT;
            }
            counts[d] = inside[d] / tile + (inside[d] % tile != 0);
            if (tly_base_mul_u64_i64(tile, tile_len, &tile_len)) {
                return TLY_OVERFLOW;
            }
        }
        status = add_grid(out_nest, counts, level->tile_shape, tile_len, level->outer,
                          level->outer_strides);
        if (status != TLY_OK) {
            return status;
        }
        for (uint32_t d = 0; d < rank; d++) {
            inside[d] = level->tile_shape[d];
            ones[d] = 1;
        }
        if (last) {
            status = add_grid(out_nest, inside, ones, 1, level->inner, level->inner_strides);
        }
        if (status != TLY_OK) {
            return status;
        }
    }
    return finish(out_nest);
}

tly_status tly_nest_morton(tly_nest *out_nest, uint32_t rank, const uint64_t *shape,
                           const uint32_t *bits) {
    uint32_t most = 0;
    tly_status status = start(out_nest, rank, shape);
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t d = 0; d < rank; d++) {
        if (bits == NULL || bits[d] == 0 || (bits[d] < 64 && shape[d] > UINT64_C(1) << bits[d])) {
            return TLY_INVALID_ARGUMENT;
        }
        most = bits[d] > most ? bits[d] : most;
    }
    /* Bit b of axis d is bit b * rank + d of the offset, also where the axes have unequal bits: the
     * offset then has holes. */
    if (most > 63 || most * rank > 63 + rank) {
        return TLY_OVERFLOW;
    }
    for (uint32_t b = most; b-- > 0;) {
        for (uint32_t d = rank; d-- > 0;) {
            if (b >= bits[d]) {
                continue;
            }
            if (b * rank + d > 62) {
                return TLY_OVERFLOW;
            }
            status = add(out_nest, d, UINT64_C(1) << b, 2, INT64_C(1) << (b * rank + d));
            if (status != TLY_OK) {
                return status;
            }
        }
    }
    return finish(out_nest);
}
