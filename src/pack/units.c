/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts the destination of a plan into units, and runs plans whole or in units. */
#include "pack/units.h"

#include <stdlib.h>

#include "base/checked.h"

#define UNIT_LEN       (UINT64_C(1) << 20) /* bytes that a unit should have at most */
#define UNIT_SMALL_LEN (UINT64_C(1) << 16) /* and at least, if larger ones are not much larger */
#define UNIT_LARGE_LEN (UINT64_C(1) << 24)
#define STREAM_LEN     (UINT64_C(8) << 20) /* bytes from which a run bypasses the cache */

static int by_stride(const void *a, const void *b) {
    int64_t x = ((const tly_loop *)a)->stride, y = ((const tly_loop *)b)->stride;
    return (x > y) - (x < y);
}

/* Do the places follow each other without gaps from offset 0? */
static int is_dense(const tly_nest *nest) {
    tly_loop loops[TLY_NEST_MAX_LOOPS];
    int64_t next = 1;
    uint32_t n = 0;
    for (uint32_t i = 0; i < nest->num_loops; i++) {
        if (nest->loops[i].count > 1) {
            loops[n++] = nest->loops[i];
        }
    }
    qsort(loops, n, sizeof *loops, by_stride);
    for (uint32_t i = 0; i < n; i++) {
        if (loops[i].stride != next) {
            return 0;
        }
        next *= (int64_t)loops[i].count; /* the extent fits */
    }
    return 1;
}

/* The top loop of an axis may count further than there are places. */
static int runs_over(const tly_pack_plan *plan, const pack_loop *loop) {
    uint64_t reach;
    return loop->axis != PACK_FREE && plan->axes[loop->axis].exist != UINT64_MAX &&
           (tly_base_mul_u64(loop->step, loop->count, &reach) ||
            reach > plan->axes[loop->axis].exist);
}

static uint64_t divisor_at_most(uint64_t value, uint64_t limit) {
    for (uint64_t d = limit < value ? limit : value; d > 1; d--) {
        if (value % d == 0) {
            return d;
        }
    }
    return 1;
}

/* A unit is some turns of one loop of the destination, counted through those outside it. */
void pack_cut_units(tly_pack_plan *plan, const tly_nest *dst, const pack_choice *choice) {
    uint32_t n = 0, last;
    uint64_t len, turns;
    int dense = plan->dst_len > 0 && is_dense(dst);
    plan->has_gaps = !dense && plan->dst_len > 0;
    plan->num_unit_loops = 0;
    plan->total_turns = plan->unit_turns = 1;
    plan->unit_len = plan->dst_len;
    plan->num_units = plan->dst_len > 0;
    if (!dense || plan->dst_len == 0 || plan->path == PACK_PATH_BITS) {
        return;
    }
    for (uint32_t i = plan->num_loops; i-- > 0;) {
        const pack_loop *loop = &plan->loops[i];
        int in_tile = choice->wide == i;
        for (uint32_t t = 0; t < choice->num_tile; t++) {
            in_tile |= choice->tile[t] == i;
        }
        if (loop->count == 1) {
            continue;
        }
        if (in_tile || loop->dst_stride <= 0 || (n > 0 && runs_over(plan, loop))) {
            break;
        }
        plan->unit_loops[n++] = i;
        if ((uint64_t)loop->dst_stride <= UNIT_LEN) {
            break;
        }
    }
    if (n == 0) {
        return;
    }
    last = n - 1;
    len = (uint64_t)plan->loops[plan->unit_loops[last]].dst_stride;
    turns = plan->loops[plan->unit_loops[last]].count;
    plan->unit_turns = len >= UNIT_LEN ? 1 : UNIT_LEN / len;
    if (last == 0) {
        plan->unit_turns = plan->unit_turns < turns ? plan->unit_turns : turns;
    } else {
        uint64_t outer = (uint64_t)plan->loops[plan->unit_loops[last - 1]].dst_stride;
        plan->unit_turns = divisor_at_most(turns, plan->unit_turns);
        if (plan->unit_turns * len < UNIT_SMALL_LEN && outer <= UNIT_LARGE_LEN) {
            last--;
            len = outer;
            plan->unit_turns = 1;
        }
    }
    plan->num_unit_loops = last + 1;
    for (uint32_t i = 0; i <= last; i++) {
        plan->total_turns *= plan->loops[plan->unit_loops[i]].count;
    }
    plan->unit_len = plan->unit_turns * len;
    plan->num_units = plan->dst_len / plan->unit_len + (plan->dst_len % plan->unit_len != 0);
}

/* ---- runs ------------------------------------------------------------------------------------ */

typedef struct run {
    const tly_pack_plan *plan;
    uint8_t *dst; /* offset 0 */
    const uint8_t *src;
    int stream;
    pack_range ranges[PACK_MAX_LOOPS + 1];
} run;

static void start(run *r, const tly_pack_plan *plan, uint8_t *dst, const void *src, uint64_t len) {
    r->plan = plan;
    r->dst = dst;
    r->src = src;
    r->stream = plan->streaming == 2 || (plan->streaming == 0 && len >= STREAM_LEN);
    for (uint32_t i = 0; i < plan->num_loops; i++) {
        r->ranges[i] = (pack_range){0, plan->loops[i].count};
    }
}

static void finish(const run *r) {
    if (r->stream) {
        r->plan->kernels->fence();
    }
}

/* The turns [low, high) of the unit loops from `level` inwards, counted through. */
static void run_turns(run *r, uint32_t level, uint64_t low, uint64_t high) {
    const tly_pack_plan *plan = r->plan;
    pack_range *range;
    uint64_t count, inner = 1;
    if (low >= high) {
        return;
    }
    if (level == plan->num_unit_loops) {
        pack_walk(plan, r->ranges, r->dst, r->src, r->stream);
        return;
    }
    range = &r->ranges[plan->unit_loops[level]];
    count = range->high;
    for (uint32_t i = level + 1; i < plan->num_unit_loops; i++) {
        inner *= plan->loops[plan->unit_loops[i]].count;
    }
    while (low < high) {
        uint64_t turn = low / inner, rest = low % inner, turns = (high - low) / inner;
        if (rest == 0 && turns > 0) { /* whole turns of this loop */
            *range = (pack_range){turn, turn + turns};
            pack_walk(plan, r->ranges, r->dst, r->src, r->stream);
            low += turns * inner;
        } else {
            uint64_t end = (turn + 1) * inner < high ? (turn + 1) * inner : high;
            *range = (pack_range){turn, turn + 1};
            run_turns(r, level + 1, rest, end - turn * inner);
            low = end;
        }
    }
    *range = (pack_range){0, count};
}

void tly_pack_run(const tly_pack_plan *plan, void *dst, const void *src) {
    run r;
    if (plan->path == PACK_PATH_BITS) {
        pack_bits(plan, dst, src);
    } else if (plan->dst_len > 0) {
        start(&r, plan, dst, src, plan->dst_len);
        pack_walk(plan, r.ranges, r.dst, r.src, r.stream);
        finish(&r);
    }
}

void tly_pack_run_units(const tly_pack_plan *plan, uint64_t first, uint64_t count, void *dst,
                        const void *src) {
    run r;
    uint64_t low, high;
    if (first >= plan->num_units || count == 0) {
        return;
    }
    if (plan->path == PACK_PATH_BITS) { /* there is one unit */
        pack_bits(plan, (uint8_t *)dst - plan->dst_low, src);
        return;
    }
    count = count < plan->num_units - first ? count : plan->num_units - first;
    low = first * plan->unit_turns;
    high =
        first + count == plan->num_units ? plan->total_turns : (first + count) * plan->unit_turns;
    start(&r, plan, (uint8_t *)dst - plan->dst_low - (int64_t)(first * plan->unit_len), src,
          count * plan->unit_len);
    run_turns(&r, 0, low, high);
    finish(&r);
}
