/* SPDX-License-Identifier: Apache-2.0 */
/* Checks a pair of nests and compiles it into a plan. */
#include "pack/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "layout/nest.h"
#include "pack/choose.h"
#include "pack/units.h"

typedef struct scratch {
    pack_form form;
    pack_choice choice;
} scratch;

/* Bytes from the one that holds the lowest element to behind the one that holds the highest. */
static tly_status byte_extent(const tly_nest *nest, uint32_t bits, const char *name,
                              int64_t *out_low, int64_t *out_high, tly_error *error) {
    int64_t low, high, unit = bits == 6 ? 24 : bits < 8 ? 8 : bits; /* whole groups of 6 bits */
    int64_t together = unit / bits;
    int bad = tly_nest_extent(nest, &low, &high) != TLY_OK;
    if (!bad) {
        low = low / together - (low % together < 0);
        high = high / together + (high % together > 0);
        bad = __builtin_mul_overflow(low, unit / 8, out_low) ||
              __builtin_mul_overflow(high, unit / 8, out_high) ||
              __builtin_sub_overflow(*out_high, *out_low, &low);
    }
    if (bad) {
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
    if (bits != 8 && bits != 16 && bits != 32 && bits != 64 && bits != 128 && bits != 1 &&
        bits != 2 && bits != 4 && bits != 6) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "pack-element",
                             "elements of %u bits cannot be packed, only of 1, 2, 4, 6, 8, 16, 32, "
                             "64 and 128",
                             bits);
    }
    if (options != NULL && options->padding != 0 && (bits == 6 || bits == 128)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "pack-padding",
                             "the padding of elements of %u bits can only be zero", bits);
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
    plan->padding_bits = (uint32_t)element & ((1u << (plan->bits < 8 ? plan->bits : 8)) - 1);
    for (uint32_t i = plan->bits; i < 8; i *= 2) { /* the same in every part of a byte */
        element = (element & ((1u << i) - 1)) | (element & ((1u << i) - 1)) << i;
    }
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
            /* Beyond the shape it may wrap: such a tile is never gathered. */
            offset = (int64_t)((uint64_t)offset + rest % loop->count * (uint64_t)loop->src_stride);
            rest /= loop->count;
        }
        plan->table[i] = offset;
    }
}

void pack_use_kernels(tly_pack_plan *plan, const pack_kernels *kernels) {
    int log2 = __builtin_ctz(plan->width);
    plan->kernels = kernels;
    switch (plan->path) {
    case PACK_PATH_COPY:
    case PACK_PATH_ROWS:
        plan->kernel = kernels->rows;
        break;
    case PACK_PATH_ZIP:
        plan->kernel = plan->loops[plan->q].count == 2 ? kernels->zip2[log2] : kernels->zip4[log2];
        break;
    case PACK_PATH_TRANSPOSE:
        plan->kernel = kernels->transpose[log2];
        break;
    case PACK_PATH_TABLE:
    case PACK_PATH_STRIDED:
    case PACK_PATH_BITS:
        plan->kernel = pack_strided;
        break;
    }
}

/* Room for `count` things of `size` bytes at the end of the block, aligned to 8. */
static size_t reserve(size_t *len, size_t count, size_t size) {
    size_t at = *len;
    *len += (count * size + 7) / 8 * 8;
    return at;
}

static tly_pack_plan *build(const tly_context *context, pack_form *form,
                            const pack_choice *choice) {
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
    plan->size = form->size;
    plan->width = choice->width;
    plan->path = choice->path;
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
    plan->wide = (pack_loop){1, 1, plan->size, plan->size, PACK_FREE, 0};
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
    pack_use_kernels(plan, pack_kernels_for(tly_context_simd(context)));
    return plan;
}

tly_status tly_pack_plan_new(const tly_context *context, const tly_nest *dst, const tly_nest *src,
                             uint32_t element_bits, const tly_pack_options *options,
                             tly_pack_plan **out_plan, tly_error *error) {
    int64_t dst_low = 0, dst_high = 0, src_low = 0, src_high = 0;
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
        status = byte_extent(dst, element_bits, "destination", &dst_low, &dst_high, error);
    }
    if (status == TLY_OK) {
        status = byte_extent(src, element_bits, "source", &src_low, &src_high, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    work = tly_base_alloc(context, sizeof *work, 64);
    if (work == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a plan");
    }
    memset(&work->form, 0, sizeof work->form);
    work->form.size = element_bits < 8 ? 1 : element_bits > 64 ? 8 : element_bits / 8;
    /* A destination without places gives a plan that does nothing, however wild its other loops. */
    if (!tly_layout_is_empty(dst) &&
        pack_form_make(dst, src, element_bits, &work->form) != TLY_OK) {
        tly_base_free(context, work, sizeof *work, 64);
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "pack-overflow",
                             "the loops of the destination count beyond 64 bits");
    }
    pack_choose(&work->form, &work->choice);
    plan = build(context, &work->form, &work->choice);
    if (plan == NULL) {
        tly_base_free(context, work, sizeof *work, 64);
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a plan");
    }
    plan->dst_low = dst_low;
    plan->dst_len = (uint64_t)(dst_high - dst_low);
    plan->bits = element_bits;
    plan->streaming = options != NULL ? options->streaming : 0;
    fill_padding(plan, options != NULL ? options->padding : 0);
    pack_cut_units(plan, dst, &work->choice);
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
