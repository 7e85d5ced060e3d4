/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the tiles of a plan, gives whole ones to the kernel, and treats those at the edge of the
 * shape element by element or as padding. */
#include "pack/plan.h"

#include <string.h>

typedef struct walk {
    const tly_pack_plan *plan;
    uint8_t *dst; /* offset 0 */
    const uint8_t *src;
    int stream;
    int whole; /* no place is outside of the shape, and no axis irregular: nothing to watch */
    uint32_t num_steps;
    const pack_step *steps[2 * PACK_MAX_LOOPS + 4]; /* those that have more than one turn to make */
    uint64_t index[TLY_NEST_MAX_RANK];              /* of the watched axes */
    uint64_t span[PACK_MAX_LOOPS + 1]; /* turns of each loop that the present block holds */
} walk;

/* Offsets may wrap where they belong to places without a source: they are used only where there is
 * one. */
static int64_t plus(int64_t offset, uint64_t turns, int64_t stride) {
    return (int64_t)((uint64_t)offset + turns * (uint64_t)stride);
}

/* How many of `count` turns keep an index below `limit`. */
static uint64_t turns_below(uint64_t index, uint64_t step, uint64_t count, uint64_t limit) {
    uint64_t n;
    if (index >= limit) {
        return 0;
    }
    n = (limit - index - 1) / step + 1;
    return n < count ? n : count;
}

/* What irregular axes add to the offset of the source. */
static int64_t irregular_offset(const walk *w) {
    const tly_pack_plan *plan = w->plan;
    int64_t sum = 0;
    if (plan->num_digits == 0) {
        return 0;
    }
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        const pack_axis *axis = &plan->axes[a];
        for (uint32_t i = 0; i < axis->num_digits; i++) {
            const pack_digit *digit = &plan->digits[axis->first_digit + i];
            sum = plus(sum, w->index[a] / digit->step % digit->count, digit->stride);
        }
    }
    return sum;
}

static void put_padding(const walk *w, uint8_t *dst, size_t len) {
    const uint8_t *padding = w->plan->padding;
    for (; len > 64; len -= 64, dst += 64) {
        memcpy(dst, padding, 64);
    }
    memcpy(dst, padding, len);
}

/* One element after the other, each judged by its own indices. */
static void put_elements(walk *w, const pack_loop *loops, uint32_t num_loops, int64_t dst,
                         int64_t src) {
    const tly_pack_plan *plan = w->plan;
    if (num_loops > 0) {
        const pack_loop *loop = &loops[num_loops - 1];
        for (uint64_t i = 0; i < loop->count; i++) {
            if (loop->axis != PACK_FREE) {
                w->index[loop->axis] += i * loop->step;
            }
            put_elements(w, loops, num_loops - 1, plus(dst, i, loop->dst_stride),
                         plus(src, i, loop->src_stride));
            if (loop->axis != PACK_FREE) {
                w->index[loop->axis] -= i * loop->step;
            }
        }
        return;
    }
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        if (w->index[a] >= plan->axes[a].exist) {
            return;
        }
    }
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        if (w->index[a] >= plan->axes[a].valid) {
            memcpy(w->dst + dst, plan->padding, plan->size);
            return;
        }
    }
    memcpy(w->dst + dst, w->src + src, plan->size);
}

/* The rectangle [p0, p1) x [q0, q1) of the tile at these offsets, element by element. */
static void put_rectangle(walk *w, int64_t dst, int64_t src, uint64_t p0, uint64_t p1, uint64_t q0,
                          uint64_t q1) {
    const tly_pack_plan *plan = w->plan;
    pack_loop loops[3] = {plan->wide, plan->loops[plan->q], plan->loops[plan->p]};
    if (p0 >= p1 || q0 >= q1) {
        return;
    }
    dst = plus(plus(dst, q0, loops[1].dst_stride), p0, loops[2].dst_stride);
    src = plus(plus(src, q0, loops[1].src_stride), p0, loops[2].src_stride);
    for (int i = 1; i <= 2; i++) {
        uint64_t skipped = i == 1 ? q0 : p0;
        loops[i].count = i == 1 ? q1 - q0 : p1 - p0;
        if (loops[i].axis != PACK_FREE) {
            w->index[loops[i].axis] += skipped * loops[i].step;
        }
    }
    put_elements(w, loops, 3, dst, src);
    for (int i = 1; i <= 2; i++) {
        uint64_t skipped = i == 1 ? q0 : p0;
        if (loops[i].axis != PACK_FREE) {
            w->index[loops[i].axis] -= skipped * loops[i].step;
        }
    }
}

/* Places of a rectangle that are all padding. */
static void pad_rectangle(const walk *w, int64_t dst, uint64_t p0, uint64_t p1, uint64_t q0,
                          uint64_t q1) {
    const tly_pack_plan *plan = w->plan;
    const pack_loop *p = &plan->loops[plan->p], *q = &plan->loops[plan->q];
    if (q0 >= q1) {
        return;
    }
    for (; p0 < p1; p0++) {
        int64_t at = plus(plus(dst, p0, p->dst_stride), q0, q->dst_stride);
        if (q->dst_stride == plan->width) {
            put_padding(w, w->dst + at, (q1 - q0) * plan->width);
        } else {
            for (uint64_t i = q0; i < q1; i++, at = plus(at, 1, q->dst_stride)) {
                put_padding(w, w->dst + at, plan->width);
            }
        }
    }
}

static pack_job make_job(const walk *w, int64_t dst, int64_t src, uint64_t np, uint64_t nq,
                         uint64_t nr, int64_t r_dst, int64_t r_src) {
    const tly_pack_plan *plan = w->plan;
    const pack_loop *p = &plan->loops[plan->p], *q = &plan->loops[plan->q];
    return (pack_job){.dst = w->dst + dst,
                      .src = w->src + src,
                      .np = np,
                      .nq = nq,
                      .nr = nr,
                      .ns = 1,
                      .p_dst = p->dst_stride,
                      .p_src = p->src_stride,
                      .q_dst = q->dst_stride,
                      .q_src = q->src_stride,
                      .r_dst = r_dst,
                      .r_src = r_src,
                      .width = plan->width,
                      .stream = w->stream};
}

/* nr tiles of np x nq, all inside the shape. */
static void run_kernel(const walk *w, int64_t dst, int64_t src, uint64_t np, uint64_t nq,
                       uint64_t nr, int64_t r_dst, int64_t r_src) {
    const tly_pack_plan *plan = w->plan;
    const pack_loop *p = &plan->loops[plan->p], *q = &plan->loops[plan->q];
    pack_job job = make_job(w, dst, src, np, nq, nr, r_dst, r_src);
    size_t run = nq * plan->width;
    if (plan->path == PACK_PATH_ZIP && nq < q->count) {
        plan->kernels->transpose[__builtin_ctz(plan->width)](&job); /* a row too few to zip */
        return;
    }
    if (plan->path != PACK_PATH_TRANSPOSE || !w->stream || run % 64 == 0 || run == 16 ||
        run == 32 || p->dst_stride != (int64_t)run || np * run % 64 != 0 ||
        np * run > PACK_STAGE_LEN || (uintptr_t)job.dst % 64 != 0 || r_dst % 64 != 0) {
        plan->kernel(&job);
        return;
    }
    /* Columns shorter than a cache line that follow each other without gaps: they are put together
     * near by, and leave as whole lines. */
    for (uint64_t r = 0; r < nr; r++) {
        uint8_t stage[PACK_STAGE_LEN] __attribute__((aligned(64)));
        pack_job make = job, leave = job;
        make.nr = leave.nr = leave.np = 1;
        make.src += (int64_t)r * r_src;
        make.dst = stage;
        make.stream = 0;
        plan->kernel(&make);
        leave.src = stage;
        leave.dst += (int64_t)r * r_dst;
        leave.nq = np * nq;
        plan->kernels->rows(&leave);
    }
}

static void run_table(const walk *w, int64_t dst, int64_t src) {
    const tly_pack_plan *plan = w->plan;
    size_t len = (size_t)plan->table_len * plan->width;
    uint8_t stage[PACK_MAX_TABLE * 8] __attribute__((aligned(64)));
    if (w->stream && len % 64 == 0 && (uintptr_t)(w->dst + dst) % 64 == 0) {
        pack_job leave = {.dst = w->dst + dst,
                          .src = stage,
                          .np = 1,
                          .nq = plan->table_len,
                          .nr = 1,
                          .ns = 1,
                          .width = plan->width,
                          .stream = 1};
        pack_gather(stage, w->src + src, plan->table, plan->table_len, plan->width);
        plan->kernels->rows(&leave);
    } else {
        pack_gather(w->dst + dst, w->src + src, plan->table, plan->table_len, plan->width);
    }
}

static void table_tile(walk *w, int64_t dst, int64_t src) {
    const tly_pack_plan *plan = w->plan;
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        if (w->index[a] + plan->reach[a] >= plan->axes[a].valid) {
            put_elements(w, plan->tile, plan->num_tile, dst, src);
            return;
        }
    }
    run_table(w, dst, src);
}

/* One tile, anywhere. */
static void kernel_tile(walk *w, int64_t dst, int64_t src, uint64_t np, uint64_t nq) {
    const tly_pack_plan *plan = w->plan;
    const pack_loop *p = &plan->loops[plan->p], *q = &plan->loops[plan->q];
    /* Along p and q: whole widths inside the shape, widths with at least one element inside, and
     * widths for which there are places. */
    uint64_t full_p = np, some_p = np, all_p = np, full_q = nq, some_q = nq, all_q = nq;
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        uint64_t index = w->index[a], reach = plan->reach[a];
        uint64_t valid = plan->axes[a].valid, exist = plan->axes[a].exist;
        uint64_t valid_full = valid > reach ? valid - reach : 0;
        if (p->axis == a && q->axis == a) {
            if (index + (np - 1) * p->step + (nq - 1) * q->step >= valid_full) {
                put_rectangle(w, dst, src, 0, np, 0, nq); /* the edge is no rectangle */
                return;
            }
        } else if (p->axis == a) {
            uint64_t full = turns_below(index, p->step, np, valid_full);
            uint64_t some = turns_below(index, p->step, np, valid);
            uint64_t all = turns_below(index, p->step, np, exist);
            full_p = full < full_p ? full : full_p;
            some_p = some < some_p ? some : some_p;
            all_p = all < all_p ? all : all_p;
        } else if (q->axis == a) {
            uint64_t full = turns_below(index, q->step, nq, valid_full);
            uint64_t some = turns_below(index, q->step, nq, valid);
            uint64_t all = turns_below(index, q->step, nq, exist);
            full_q = full < full_q ? full : full_q;
            some_q = some < some_q ? some : some_q;
            all_q = all < all_q ? all : all_q;
        } else if (index >= exist) {
            return;
        } else if (index >= valid) {
            full_p = some_p = 0;
        } else if (index >= valid_full) {
            full_p = 0;
        }
    }
    if (full_p > 0 && full_q > 0) {
        run_kernel(w, dst, src, full_p, full_q, 1, 0, 0);
    }
    if (full_q == 0) {
        full_p = 0;
    }
    put_rectangle(w, dst, src, full_p, some_p, 0, some_q);
    put_rectangle(w, dst, src, 0, full_p, full_q, some_q);
    pad_rectangle(w, dst, 0, some_p, some_q, all_q);
    pad_rectangle(w, dst, some_p, all_p, 0, all_q);
}

static void move_index(walk *w, const pack_loop *loop, uint64_t turns) {
    if (loop->axis != PACK_FREE) {
        w->index[loop->axis] += turns * loop->step;
    }
}

/* Do the ranges stay inside the shape? The index is that of their beginning. */
static int stays_inside(const walk *w) {
    const tly_pack_plan *plan = w->plan;
    uint64_t last[TLY_NEST_MAX_RANK];
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        last[a] = w->index[a] + plan->reach[a];
    }
    for (uint32_t i = 0; i < plan->num_loops; i++) {
        const pack_loop *loop = &plan->loops[i];
        if (loop->irregular) {
            return 0;
        }
        if (loop->axis != PACK_FREE) {
            last[loop->axis] += (w->span[i] - 1) * loop->step;
        }
    }
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        if (last[a] >= plan->axes[a].valid) {
            return 0;
        }
    }
    return 1;
}

/* How many of the tiles along the innermost step are whole, so that the kernel can take them in one
 * call. The spans are those of a whole block. */
static uint64_t whole_turns(const walk *w, const pack_step *step, uint64_t turns) {
    const tly_pack_plan *plan = w->plan;
    const pack_loop *r = &plan->loops[step->loop];
    const pack_loop *p = &plan->loops[plan->p], *q = &plan->loops[plan->q];
    if (r->irregular || plan->path == PACK_PATH_TABLE) {
        return 0;
    }
    if (w->whole) {
        return turns;
    }
    for (uint32_t a = 0; a < plan->num_axes; a++) {
        uint64_t reach = plan->reach[a];
        uint64_t valid = plan->axes[a].valid;
        reach += p->axis == a ? (w->span[plan->p] - 1) * p->step : 0;
        reach += q->axis == a ? (w->span[plan->q] - 1) * q->step : 0;
        if (valid <= reach) {
            return 0;
        }
        if (r->axis == a) {
            turns = turns_below(w->index[a], r->step * step->block, turns, valid - reach);
        } else if (w->index[a] >= valid - reach) {
            return 0;
        }
    }
    return turns;
}

static void walk_steps(walk *w, uint32_t depth, int64_t dst, int64_t src) {
    const tly_pack_plan *plan = w->plan;
    const pack_step *step = w->steps[depth];
    const pack_loop *loop;
    uint64_t span, turns, turn = 0;
    int64_t dst_stride, src_stride;
    if (depth == w->num_steps) {
        src = plus(src, 1, irregular_offset(w));
        if (plan->path == PACK_PATH_TABLE) {
            table_tile(w, dst, src);
        } else if (w->whole) {
            run_kernel(w, dst, src, w->span[plan->p], w->span[plan->q], 1, 0, 0);
        } else {
            kernel_tile(w, dst, src, w->span[plan->p], w->span[plan->q]);
        }
        return;
    }
    loop = &plan->loops[step->loop];
    span = w->span[step->loop];
    turns = span / step->block;
    dst_stride = plus(0, step->block, loop->dst_stride);
    src_stride = plus(0, step->block, loop->src_stride);
    w->span[step->loop] = step->block;
    if (depth + 1 == w->num_steps && turns > 1) {
        turn = whole_turns(w, step, turns);
        if (turn > 0) {
            run_kernel(w, dst, plus(src, 1, irregular_offset(w)), w->span[plan->p],
                       w->span[plan->q], turn, dst_stride, src_stride);
        }
    }
    for (; turn * step->block < span; turn++) {
        uint64_t left = span - turn * step->block;
        w->span[step->loop] = left < step->block ? left : step->block;
        move_index(w, loop, turn * step->block);
        walk_steps(w, depth + 1, plus(dst, turn, dst_stride), plus(src, turn, src_stride));
        move_index(w, loop, -(turn * step->block));
    }
    w->span[step->loop] = span;
}

/* A walk on which nothing changes from tile to tile but where it lies: the turns and strides of
 * each step but the two innermost, which the kernel makes. */
typedef struct tour {
    pack_kernel *kernel;
    pack_job job;
    uint32_t num_steps;
    uint64_t turns[2 * PACK_MAX_LOOPS + 4];
    int64_t dst_stride[2 * PACK_MAX_LOOPS + 4], src_stride[2 * PACK_MAX_LOOPS + 4];
} tour;

static void make_tour(tour *t, uint32_t depth, uint8_t *dst, const uint8_t *src) {
    if (depth == t->num_steps) {
        t->job.dst = dst;
        t->job.src = src;
        t->kernel(&t->job);
        return;
    }
    for (uint64_t i = 0; i < t->turns[depth]; i++) {
        make_tour(t, depth + 1, dst + (int64_t)i * t->dst_stride[depth],
                  src + (int64_t)i * t->src_stride[depth]);
    }
}

/* Is the walk such a tour? Then it is made. */
static int tour_whole(const walk *w, int64_t dst, int64_t src) {
    const tly_pack_plan *plan = w->plan;
    uint64_t span[PACK_MAX_LOOPS + 1], np, nq;
    tour t;
    if (!w->whole || w->stream || w->num_steps < 2 || plan->path == PACK_PATH_TABLE) {
        return 0;
    }
    for (uint32_t i = 0; i < plan->num_loops; i++) {
        span[i] = w->span[i];
    }
    for (uint32_t i = 0; i < w->num_steps; i++) {
        const pack_step *step = w->steps[i];
        const pack_loop *loop = &plan->loops[step->loop];
        if (span[step->loop] % step->block != 0) {
            return 0;
        }
        t.turns[i] = span[step->loop] / step->block;
        t.dst_stride[i] = plus(0, step->block, loop->dst_stride);
        t.src_stride[i] = plus(0, step->block, loop->src_stride);
        span[step->loop] = step->block;
    }
    np = span[plan->p];
    nq = span[plan->q];
    if (plan->path == PACK_PATH_ZIP && nq < plan->loops[plan->q].count) {
        return 0;
    }
    uint32_t r = w->num_steps - 1, s = w->num_steps - 2;
    t.num_steps = s;
    t.kernel = plan->kernel;
    t.job = make_job(w, dst, src, np, nq, t.turns[r], t.dst_stride[r], t.src_stride[r]);
    t.job.ns = t.turns[s];
    t.job.s_dst = t.dst_stride[s];
    t.job.s_src = t.src_stride[s];
    make_tour(&t, 0, t.job.dst, t.job.src);
    return 1;
}

void pack_walk(const tly_pack_plan *plan, const pack_range *ranges, uint8_t *dst,
               const uint8_t *src, int stream) {
    walk w;
    int64_t dst_at = plan->dst_base, src_at = plan->src_base;
    w.plan = plan;
    w.dst = dst;
    w.src = src;
    w.stream = stream;
    for (uint32_t a = 0; a < plan->num_axes; a++) { /* few of the many places that there are */
        w.index[a] = 0;
    }
    for (uint32_t i = 0; i < plan->num_loops; i++) {
        const pack_loop *loop = &plan->loops[i];
        if (ranges[i].low >= ranges[i].high) {
            return;
        }
        w.span[i] = ranges[i].high - ranges[i].low;
        move_index(&w, loop, ranges[i].low);
        dst_at = plus(dst_at, ranges[i].low, loop->dst_stride);
        src_at = plus(src_at, ranges[i].low, loop->irregular ? 0 : loop->src_stride);
    }
    w.whole = stays_inside(&w);
    w.num_steps = 0;
    for (uint32_t i = 0; i < plan->num_steps; i++) {
        if (w.span[plan->steps[i].loop] > plan->steps[i].block) {
            w.steps[w.num_steps++] = &plan->steps[i];
        }
    }
    if (!tour_whole(&w, dst_at, src_at)) {
        walk_steps(&w, 0, dst_at, src_at);
    }
}
