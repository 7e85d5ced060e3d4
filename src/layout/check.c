/* SPDX-License-Identifier: Apache-2.0 */
/* What a nest touches, whether it is one, and where an element lies. */
#include "layout/nest.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/error.h"

int tly_layout_is_empty(const tly_nest *nest) {
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        if (nest->loops[i].count == 0) {
            return 1;
        }
    }
    return 0;
}

static int by_step(const void *a, const void *b) {
    uint64_t x = ((const tly_loop *)a)->step, y = ((const tly_loop *)b)->step;
    return (x > y) - (x < y);
}

uint32_t tly_layout_axis_loops(const tly_nest *nest, uint32_t axis, tly_loop *out) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        if (nest->loops[i].axis == axis && nest->loops[i].count > 1) {
            out[n++] = nest->loops[i];
        }
    }
    qsort(out, n, sizeof *out, by_step);
    return n;
}

tly_status tly_nest_extent(const tly_nest *nest, int64_t *out_low, int64_t *out_high) {
    int64_t low = 0, high = 0;
    if (nest == NULL || out_low == NULL || out_high == NULL || nest->rank > TLY_NEST_MAX_RANK ||
        nest->num_loops > TLY_NEST_MAX_LOOPS) {
        return TLY_INVALID_ARGUMENT;
    }
    *out_low = *out_high = 0;
    if (tly_layout_is_empty(nest)) {
        return TLY_OK;
    }
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        const tly_loop *loop = &nest->loops[i];
        int64_t reach;
        if (tly_base_mul_u64_i64(loop->count - 1, loop->stride, &reach) ||
            tly_base_add_i64(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) {
            return TLY_OVERFLOW;
        }
    }
    if (tly_base_add_i64(high, 1, &high)) {
        return TLY_OVERFLOW;
    }
    *out_low = low;
    *out_high = high;
    return TLY_OK;
}

/* Each index 0 .. extent-1 is the sum of the steps in exactly one way: the steps form the place
 * values of a mixed-radix number until the extent is covered; a further loop adds padding only, and
 * does so if its first step leaves the shape. */
static tly_status check_axis(const tly_nest *nest, uint32_t axis, tly_error *error) {
    tly_loop loops[TLY_NEST_MAX_LOOPS];
    uint64_t extent = nest->shape[axis], covered = 1;
    uint32_t n = tly_layout_axis_loops(nest, axis, loops);
    for (uint32_t i = 0; i < n; i++) {
        if (covered < extent) {
            if (loops[i].step != covered) {
                return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "nest-chain",
                                     "axis %u: after the indices below %" PRIu64
                                     " comes a step of %" PRIu64
                                     ", so that some index is visited twice or never",
                                     axis, covered, loops[i].step);
            }
            if (tly_base_mul_u64(covered, loops[i].count, &covered)) {
                return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "nest-overflow",
                                     "axis %u: its loops count beyond 64 bits", axis);
            }
        } else if (loops[i].step < extent) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "nest-chain",
                                 "axis %u: a step of %" PRIu64 " visits indices twice", axis,
                                 loops[i].step);
        }
    }
    if (covered < extent) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "nest-cover",
                             "axis %u: the loops reach %" PRIu64 " indices of %" PRIu64, axis,
                             covered, extent);
    }
    return TLY_OK;
}

static uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int by_magnitude(const void *a, const void *b) {
    uint64_t x = magnitude(((const tly_loop *)a)->stride);
    uint64_t y = magnitude(((const tly_loop *)b)->stride);
    return (x > y) - (x < y);
}

/* Each stride jumps over everything that the smaller ones reach. The extent fits, so sums do. */
static tly_status check_distinct(const tly_nest *nest, tly_error *error) {
    tly_loop loops[TLY_NEST_MAX_LOOPS];
    uint64_t reach = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        if (nest->loops[i].count > 1) {
            loops[n++] = nest->loops[i];
        }
    }
    qsort(loops, n, sizeof *loops, by_magnitude);
    for (uint32_t i = 0; i < n; i++) {
        if (magnitude(loops[i].stride) <= reach) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "nest-overlap",
                                 "axis %u: a stride of %" PRId64 " falls among the %" PRIu64
                                 " elements that smaller strides reach: places would share offsets",
                                 loops[i].axis, loops[i].stride, reach + 1);
        }
        reach += magnitude(loops[i].stride) * (loops[i].count - 1);
    }
    return TLY_OK;
}

tly_status tly_nest_check(const tly_nest *nest, int allow_alias, tly_error *error) {
    int64_t low, high;
    tly_status status;
    if (nest == NULL || nest->rank > TLY_NEST_MAX_RANK || nest->num_loops > TLY_NEST_MAX_LOOPS) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "nest-limits",
                             "a nest has at most %d axes and %d loops", TLY_NEST_MAX_RANK,
                             TLY_NEST_MAX_LOOPS);
    }
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        const tly_loop *loop = &nest->loops[i];
        if (loop->axis >= nest->rank || loop->step == 0) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "nest-loop",
                                 "loop %u: axis %u of %u, step %" PRIu64
                                 "; the axis must exist and the step be positive",
                                 i, loop->axis, nest->rank, loop->step);
        }
        if (loop->count == 0 && nest->shape[loop->axis] != 0) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "nest-cover",
                                 "loop %u turns zero times, but axis %u has %" PRIu64 " indices", i,
                                 loop->axis, nest->shape[loop->axis]);
        }
    }
    for (uint32_t axis = 0; axis < nest->rank; axis++) {
        status = check_axis(nest, axis, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    if (tly_nest_extent(nest, &low, &high) != TLY_OK) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "nest-overflow",
                             "the nest reaches beyond 64-bit offsets");
    }
    return allow_alias || tly_layout_is_empty(nest) ? TLY_OK : check_distinct(nest, error);
}

tly_status tly_nest_offset(const tly_nest *nest, const uint64_t *index, int64_t *out_offset) {
    uint64_t left[TLY_NEST_MAX_RANK];
    int64_t offset = 0;
    if (nest == NULL || out_offset == NULL || nest->rank > TLY_NEST_MAX_RANK ||
        nest->num_loops > TLY_NEST_MAX_LOOPS || (nest->rank > 0 && index == NULL)) {
        return TLY_INVALID_ARGUMENT;
    }
    for (uint32_t d = 0; d < nest->rank; d++) {
        if (index[d] >= nest->shape[d]) {
            return TLY_INVALID_ARGUMENT;
        }
        left[d] = index[d];
    }
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        const tly_loop *loop = &nest->loops[i];
        uint64_t turn;
        int64_t move;
        if (loop->axis >= nest->rank || loop->step == 0 || loop->count == 0) {
            return TLY_INVALID_ARGUMENT;
        }
        turn = index[loop->axis] / loop->step % loop->count;
        if (tly_base_mul_u64_i64(turn, loop->stride, &move) ||
            tly_base_add_i64(offset, move, &offset)) {
            return TLY_OVERFLOW;
        }
        left[loop->axis] -= turn * loop->step;
    }
    for (uint32_t d = 0; d < nest->rank; d++) {
        if (left[d] != 0) {
            return TLY_INVALID_ARGUMENT; /* the loops do not reach this index */
        }
    }
    *out_offset = offset;
    return TLY_OK;
}
