/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a pair of nests, compiles it into a plan, and cuts the destination into units. */
#include "pack/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "layout/nest.h"
#include "pack/choose.h"

#define UNIT_LEN       (UINT64_C(1) << 20) /* bytes that a unit should have at most */
#define UNIT_SMALL_LEN (UINT64_C(1) << 16) /* and at least, if larger ones are not much larger */
#define UNIT_LARGE_LEN (UINT64_C(1) << 24)
#define STREAM_LEN     (UINT64_C(8) << 20) /* bytes from which a run bypasses the cache */

typedef struct scratch {
    pack_form form;
    pack_choice choice;
} scratch;

static tly_status byte_extent(const tly_nest *nest, uint32_t size, const char *name,
                              int64_t *out_low, int64_t *out_high, tly_error *error) {
    int64_t low, high;
    if (tly_nest_extent(nest, &low, &high) != TLY_OK ||
        __builtin_mul_overflow(low, (int64_t)size, out_low) ||
        __builtin_mul_overflow(high, (int64_t)size, out_high) ||
        __builtin_sub_overflow(*out_high, *out_low, &low)) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "pack-overflow",
                             "the %s reaches beyond 63-bit byte offsets", name);
    }
    return TLY_OK;
}

static tly_status check(const tly_nest *dst, const tly_nest *src, uint32_t bits,
                        const tly_pack_options *options, tly_error *error) {
    tly_status status;
    if (dst == NULL || src == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "null-argument",
                             "a nest is NULL");
    }
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "pack-element",
                             "elements of %u bits cannot be packed, only of 8, 16, 32 and 64",
                             bits);
    }
    if (options != NULL && (options->size != sizeof *options || options->streaming > 2)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "tly_pack_options.size is %zu, expected %zu; streaming is %u of 0..2",
                             options->size, sizeof *options, options->streaming);
    }
    status = tly_nest_check(dst, 0, error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_nest_check(src, 1, error);
    if (status != TLY_OK) {
        return status;
    }
    if (dst->rank != src->rank) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "pack-shape",
                             "the destination has rank %u, the source %u", dst->rank, src->rank);
    }
    for (uint32_t d = 0; d < dst->rank; d++) {
        if (dst->shape[d] != src->shape[d]) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "pack-shape",
                                 "axis %u has %" PRIu64 " indices in the destination, %" PRIu64
                                 " in the source",
                                 d, dst->shape[d], src->shape[d]);
        }
    }
    return TLY_OK;
}

static void fill_padding(tly_pack_plan *plan, uint64_t element) {
    for (size_t i = 0; i < sizeof plan->padding; i += plan->size) {
        uint8_t e1 = (uint8_t)element;
        uint16_t e2 = (uint16_t)element;
        uint32_t e4 = (uint32_t)element;
        const void *from = plan->size == 1   ? (const void *)&e1
                           : plan->size == 2 ? (const void *)&e2
                           : plan->size == 4 ? (const void *)&e4
                                             : (const void *)&element;
        memcpy(plan->padding + i, from, plan->size);
    }
}

/* ---- units ----------------------------------------------------------------------------------- */

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
static void cut_units(tly_pack_plan *plan, const pack_choice *choice, int dense) {
    uint32_t n = 0, last;
    uint64_t len, turns;
    plan->num_unit_loops = 0;
    plan->total_turns = plan->unit_turns = 1;
    plan->unit_len = plan->dst_len;
    plan->num_units = plan->dst_len > 0;
    if (!dense || plan->dst_len == 0) {
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

/* ---- the plan -------------------------------------------------------------------------------- */

static void fill_reach(tly_pack_plan *plan) {
    for (uint32_t i = 0; i < plan->num_tile; i++) {
        if (plan->tile[i].axis != PACK_FREE) {
            plan->reach[plan->tile[i].axis] += (plan->tile[i].count - 1) * plan->tile[i].step;
        }
    }
}

/* Source offsets of the widths of a tile, in the order of the destination. */
static void fill_table(tly_pack_plan *plan, const pack_form *form, const pack_choice *choice) {
    for (uint64_t i = 0; i < choice->table_len; i++) {
        uint64_t rest = i;
        int64_t offset = 0;
        for (uint32_t t = 0; t < choice->num_tile; t++) {
            const pack_loop *loop = &form->loops[choice->tile[t]];
            offset += (int64_t)(rest % loop->count) * loop->src_stride;
            rest /= loop->count;
        }
        plan->table[i] = offset;
    }
}

static pack_kernel *kernel_of(const pack_kernels *kernels, const pack_choice *choice,
                              const pack_form *form) {
    int log2 = __builtin_ctz(choice->width);
    switch (choice->path) {
    case PACK_PATH_COPY:
    case PACK_PATH_ROWS:
        return kernels->rows;
    case PACK_PATH_ZIP:
        return form->loops[choice->q].count == 2 ? kernels->zip2[log2] : kernels->zip4[log2];
    case PACK_PATH_TRANSPOSE:
        return kernels->transpose[log2];
    case PACK_PATH_TABLE:
        return NULL;
    case PACK_PATH_STRIDED:
        break;
    }
    return pack_strided;
}

/* Room for `count` things of `size` bytes at the end of the block, aligned to 8. */
static size_t reserve(size_t *len, size_t count, size_t size) {
    size_t at = *len;
    *len += (count * size + 7) / 8 * 8;
    return at;
}

static tly_pack_plan *build(const tly_context *context, pack_form *form, const pack_choice *choice,
                            uint32_t size) {
    size_t len = 0;
    size_t at_plan = reserve(&len, 1, sizeof(tly_pack_plan));
    size_t at_loops = reserve(&len, form->num_loops, sizeof(pack_loop));
    size_t at_axes = reserve(&len, form->num_axes, sizeof(pack_axis));
    size_t at_digits = reserve(&len, form->num_digits, sizeof(pack_digit));
    size_t at_steps = reserve(&len, choice->num_steps, sizeof(pack_step));
    size_t at_units = reserve(&len, form->num_loops, sizeof(uint32_t));
    size_t at_table = reserve(&len, choice->table_len, sizeof(int64_t));
    uint8_t *memory = tly_base_calloc(context, len, 64);
    tly_pack_plan *plan;
    if (memory == NULL) {
        return NULL;
    }
    plan = (tly_pack_plan *)(void *)(memory + at_plan);
    plan->loops = (pack_loop *)(void *)(memory + at_loops);
    plan->axes = (pack_axis *)(void *)(memory + at_axes);
    plan->digits = (pack_digit *)(void *)(memory + at_digits);
    plan->steps = (pack_step *)(void *)(memory + at_steps);
    plan->unit_loops = (uint32_t *)(void *)(memory + at_units);
    plan->table = (int64_t *)(void *)(memory + at_table);
    plan->memory_len = len;
    plan->context = context;
    plan->kernels = pack_kernels_for(tly_context_simd(context));
    plan->size = size;
    plan->width = choice->width;
    plan->path = choice->path;
    plan->kernel = kernel_of(plan->kernels, choice, form);
    plan->num_loops = form->num_loops;
    plan->num_axes = form->num_axes;
    plan->num_digits = form->num_digits;
    plan->num_steps = choice->num_steps;
    plan->p = choice->p;
    plan->q = choice->q;
    plan->dst_base = form->dst_base;
    plan->src_base = form->src_base;
    memcpy(plan->axes, form->axes, form->num_axes * sizeof *plan->axes);
    memcpy(plan->digits, form->digits, form->num_digits * sizeof *plan->digits);
    memcpy(plan->steps, choice->steps, choice->num_steps * sizeof *plan->steps);

    /* What a tile holds does not turn in the walk. */
    plan->wide = (pack_loop){1, 1, (int64_t)size, (int64_t)size, PACK_FREE, 0};
    if (choice->wide != PACK_NONE) {
        plan->wide = form->loops[choice->wide];
    }
    plan->tile[plan->num_tile++] = plan->wide;
    for (uint32_t i = 0; i < choice->num_tile; i++) {
        plan->tile[plan->num_tile++] = form->loops[choice->tile[i]];
    }
    plan->table_len = (uint32_t)choice->table_len;
    fill_reach(plan);
    fill_table(plan, form, choice);
    memcpy(plan->loops, form->loops, form->num_loops * sizeof *plan->loops);
    if (choice->wide != PACK_NONE) {
        plan->loops[choice->wide].count = 1;
    }
    for (uint32_t i = 0; i < choice->num_tile; i++) {
        plan->loops[choice->tile[i]].count = 1;
    }
    return plan;
}

tly_status tly_pack_plan_new(const tly_context *context, const tly_nest *dst, const tly_nest *src,
                             uint32_t element_bits, const tly_pack_options *options,
                             tly_pack_plan **out_plan, tly_error *error) {
    int64_t dst_low = 0, dst_high = 0, src_low = 0, src_high = 0;
    uint32_t size = element_bits / 8;
    tly_pack_plan *plan;
    scratch *work;
    tly_status status;
    if (context == NULL || out_plan == NULL) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "null-argument",
                             "the context or out_plan is NULL");
    }
    *out_plan = NULL;
    status = check(dst, src, element_bits, options, error);
    if (status == TLY_OK) {
        status = byte_extent(dst, size, "destination", &dst_low, &dst_high, error);
    }
    if (status == TLY_OK) {
        status = byte_extent(src, size, "source", &src_low, &src_high, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    work = tly_base_alloc(context, sizeof *work, 64);
    if (work == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a plan");
    }
    if (pack_form_make(dst, src, size, &work->form) != TLY_OK) {
        tly_base_free(context, work, sizeof *work, 64);
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "pack-overflow",
                             "the loops of the destination count beyond 64 bits");
    }
    pack_choose(&work->form, size, &work->choice);
    plan = build(context, &work->form, &work->choice, size);
    if (plan == NULL) {
        tly_base_free(context, work, sizeof *work, 64);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a plan");
    }
    plan->dst_low = dst_low;
    plan->dst_len = (uint64_t)(dst_high - dst_low);
    plan->streaming = options != NULL ? options->streaming : 0;
    fill_padding(plan, options != NULL ? options->padding : 0);
    cut_units(plan, &work->choice, is_dense(dst));
    plan->has_gaps = !is_dense(dst) && plan->dst_len > 0;
    tly_base_free(context, work, sizeof *work, 64);
    *out_plan = plan;
    return TLY_OK;
}

void tly_pack_plan_free(tly_pack_plan *plan) {
    if (plan != NULL) {
        tly_base_free(plan->context, plan, plan->memory_len, 64);
    }
}

uint64_t tly_pack_num_units(const tly_pack_plan *plan) {
    return plan->num_units;
}

uint64_t tly_pack_unit_len(const tly_pack_plan *plan) {
    return plan->unit_len;
}

uint64_t tly_pack_dst_len(const tly_pack_plan *plan) {
    return plan->dst_len;
}

int tly_pack_has_gaps(const tly_pack_plan *plan) {
    return (int)plan->has_gaps;
}

const char *tly_pack_path(const tly_pack_plan *plan) {
    return pack_path_name(plan->path);
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
    if (plan->dst_len > 0) {
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
    count = count < plan->num_units - first ? count : plan->num_units - first;
    low = first * plan->unit_turns;
    high =
        first + count == plan->num_units ? plan->total_turns : (first + count) * plan->unit_turns;
    start(&r, plan, (uint8_t *)dst - plan->dst_low - (int64_t)(first * plan->unit_len), src,
          count * plan->unit_len);
    run_turns(&r, 0, low, high);
    finish(&r);
}
