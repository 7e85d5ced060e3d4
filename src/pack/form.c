/* SPDX-License-Identifier: Apache-2.0 */
/* On each axis a nest writes the index as a number with mixed radix: every loop is a digit with a
 * place value (step) and a weight in the buffer (stride). Two nests are brought together by cutting
 * the digits of both where either of them ends. Where the cuts do not divide each other (tiles of 6
 * into tiles of 4) the digits above stay those of the destination, and the source is "irregular"
 * there: its offset is computed from the index. */
#include "pack/form.h"

#include <stdlib.h>

#include "base/checked.h"
#include "layout/nest.h"

/* Offsets beyond the shape are never used, so they may wrap round. */
static int64_t wrap_mul(int64_t a, uint64_t b) {
    return (int64_t)((uint64_t)a * b);
}

static uint64_t greatest_divisor(uint64_t a, uint64_t b) {
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static void emit(pack_form *form, uint32_t axis, uint64_t step, uint64_t count, int64_t dst_stride,
                 int64_t src_stride, uint32_t irregular) {
    if (count > 1) {
        form->loops[form->num_loops++] =
            (pack_loop){count, step, dst_stride, src_stride, axis, irregular};
    }
}

/* The digits of the source from `place` upwards; the first is what is left of digit `at`. */
static void keep_digits(pack_form *form, pack_axis *axis, const tly_loop *src, uint32_t num_src,
                        uint32_t at, uint64_t place, uint64_t left, int64_t stride, uint32_t size) {
    axis->regular = place;
    axis->first_digit = form->num_digits;
    form->digits[form->num_digits++] =
        (pack_digit){place, at + 1 >= num_src ? UINT64_MAX : left, stride};
    for (uint32_t j = at + 1; j < num_src; j++) {
        form->digits[form->num_digits++] =
            (pack_digit){src[j].step, j + 1 == num_src ? UINT64_MAX : src[j].count,
                         wrap_mul(src[j].stride, size)};
    }
    axis->num_digits = form->num_digits - axis->first_digit;
}

static tly_status merge_axis(pack_form *form, const tly_nest *dst, const tly_nest *src,
                             uint32_t axis, uint32_t size) {
    tly_loop d[TLY_NEST_MAX_LOOPS], s[TLY_NEST_MAX_LOOPS];
    uint64_t shape = dst->shape[axis], chain = 1, covered = 1, highest = 0, place = 1;
    uint32_t all_d = tly_layout_axis_loops(dst, axis, d), all_s, num_d = 0, num_s = 0;
    uint32_t first = form->num_loops, id = form->num_axes, j = 0;
    uint64_t s_left;
    int64_t s_stride;
    pack_axis *made = &form->axes[id];

    /* The digits proper; further loops of the destination hold padding only (layout/check.c). */
    while (num_d < all_d && d[num_d].step == chain) {
        chain *= d[num_d++].count;
    }
    for (uint32_t i = num_d; i < all_d; i++) {
        uint64_t reach;
        if (tly_base_mul_u64(d[i].count - 1, d[i].step, &reach) ||
            tly_base_add_u64(highest, reach, &highest)) {
            return TLY_OVERFLOW;
        }
    }
    if (tly_base_add_u64(highest, chain, &highest)) {
        return TLY_OVERFLOW;
    }
    all_s = tly_layout_axis_loops(src, axis, s);
    while (num_s < all_s && covered < shape) {
        covered *= s[num_s++].count;
    }
    *made = (pack_axis){shape, num_d < all_d ? UINT64_MAX : chain, 0, 0, 0};

    /* The last digit of the source goes on for ever: beyond the shape nothing is read. */
    s_left = num_s > 1 ? s[0].count : UINT64_MAX;
    s_stride = num_s > 0 ? wrap_mul(s[0].stride, size) : 0;
    for (uint32_t i = 0; i < num_d; i++) {
        uint64_t d_left = d[i].count;
        int64_t d_stride = wrap_mul(d[i].stride, size);
        int open = i + 1 == num_d && num_d == all_d; /* may be counted too far: see `exist` */
        while (d_left > 1) {
            uint64_t take = d_left;
            if (s_left != UINT64_MAX && s_left % d_left != 0) {
                take = d_left % s_left == 0 || (open && s_left < d_left)
                           ? s_left
                           : greatest_divisor(d_left, s_left);
            }
            if (take == 1) {
                break;
            }
            emit(form, id, place, take, d_stride, s_stride, 0);
            place *= take;
            d_left = d_left / take + (d_left % take != 0);
            d_stride = wrap_mul(d_stride, take);
            s_stride = wrap_mul(s_stride, take);
            if (s_left != UINT64_MAX) {
                s_left /= take;
                if (s_left == 1) {
                    j++;
                    s_left = j + 1 == num_s ? UINT64_MAX : s[j].count;
                    s_stride = wrap_mul(s[j].stride, size);
                }
            }
        }
        if (d_left > 1) {
            keep_digits(form, made, s, num_s, j, place, s_left, s_stride, size);
            emit(form, id, place, d_left, d_stride, 0, 1);
            for (i++; i < num_d; i++) {
                emit(form, id, d[i].step, d[i].count, wrap_mul(d[i].stride, size), 0, 1);
            }
            place = chain;
        }
    }
    for (uint32_t i = num_d; i < all_d; i++) {
        emit(form, id, d[i].step, d[i].count, wrap_mul(d[i].stride, size), 0, 0);
    }
    if (made->num_digits == 0 && num_d == all_d && place == shape) {
        for (uint32_t i = first; i < form->num_loops; i++) {
            form->loops[i].axis = PACK_FREE;
        }
    } else {
        form->num_axes++;
    }
    return TLY_OK;
}

static uint64_t magnitude(int64_t value) {
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static int by_dst_stride(const void *a, const void *b) {
    uint64_t x = magnitude(((const pack_loop *)a)->dst_stride);
    uint64_t y = magnitude(((const pack_loop *)b)->dst_stride);
    return (x > y) - (x < y);
}

/* A free loop that walks the destination backwards walks forwards from the other end. */
static void turn_round(pack_form *form) {
    for (uint32_t i = 0; i < form->num_loops; i++) {
        pack_loop *loop = &form->loops[i];
        if (loop->axis == PACK_FREE && loop->dst_stride < 0) {
            form->dst_base += wrap_mul(loop->dst_stride, loop->count - 1);
            form->src_base += wrap_mul(loop->src_stride, loop->count - 1);
            loop->dst_stride = -loop->dst_stride;
            loop->src_stride = -loop->src_stride;
        }
    }
}

static void merge_loops(pack_form *form) {
    uint32_t kept = 0;
    for (uint32_t i = 0; i < form->num_loops; i++) {
        pack_loop *outer = &form->loops[i];
        pack_loop *inner = kept > 0 ? &form->loops[kept - 1] : NULL;
        if (inner != NULL && !inner->irregular && !outer->irregular && inner->axis == outer->axis &&
            (inner->axis == PACK_FREE || outer->step == inner->step * inner->count) &&
            outer->dst_stride == wrap_mul(inner->dst_stride, inner->count) &&
            outer->src_stride == wrap_mul(inner->src_stride, inner->count)) {
            inner->count *= outer->count;
        } else {
            form->loops[kept++] = *outer;
        }
    }
    form->num_loops = kept;
}

/* 128 bits are moved as two halves. */
static void split_element(pack_form *form) {
    if (form->size > 8) {
        form->loops[form->num_loops++] = (pack_loop){form->size / 8, 1, 8, 8, PACK_FREE, 0};
        form->size = 8;
    }
}

static int all_divide(const pack_form *form, int64_t unit) {
    int divide = form->dst_base % unit == 0 && form->src_base % unit == 0;
    for (uint32_t i = 1; i < form->num_loops && divide; i++) {
        divide = form->loops[i].dst_stride % unit == 0 && form->loops[i].src_stride % unit == 0;
    }
    for (uint32_t i = 0; i < form->num_digits && divide; i++) {
        divide = form->digits[i].stride % unit == 0;
    }
    return divide;
}

/* Elements of fewer than 8 bits that always come together, byte by byte on both sides, are moved as
 * bytes: four of 6 bits as three. Everything is measured in elements before, in bytes afterwards.
 */
static int join_elements(pack_form *form, uint32_t bits) {
    uint64_t together = bits == 6 ? 4 : 8 / bits, unit;
    int64_t bytes = bits == 6 ? 3 : 1;
    pack_loop *inner = &form->loops[0];
    if (form->num_loops == 0 || inner->irregular || inner->dst_stride != 1 ||
        inner->src_stride != 1 || inner->count % together != 0 ||
        tly_base_mul_u64(inner->step, together, &unit) || !all_divide(form, (int64_t)together)) {
        return 0;
    }
    if (inner->axis != PACK_FREE) { /* no border runs through a byte */
        const pack_axis *axis = &form->axes[inner->axis];
        if (axis->valid % unit != 0 || (axis->exist != UINT64_MAX && axis->exist % unit != 0)) {
            return 0;
        }
    }
    inner->count /= together;
    inner->step = unit;
    inner->dst_stride = inner->src_stride = (int64_t)together;
    for (uint32_t i = 0; i < form->num_loops; i++) {
        form->loops[i].dst_stride = form->loops[i].dst_stride / (int64_t)together * bytes;
        form->loops[i].src_stride = form->loops[i].src_stride / (int64_t)together * bytes;
    }
    for (uint32_t i = 0; i < form->num_digits; i++) {
        form->digits[i].stride = form->digits[i].stride / (int64_t)together * bytes;
    }
    form->dst_base = form->dst_base / (int64_t)together * bytes;
    form->src_base = form->src_base / (int64_t)together * bytes;
    if (inner->count == 1) {
        form->loops[0] = form->loops[--form->num_loops];
    }
    if (bytes > 1) {
        form->loops[form->num_loops++] = (pack_loop){(uint64_t)bytes, 1, 1, 1, PACK_FREE, 0};
    }
    return 1;
}

static void sort_and_merge(pack_form *form) {
    qsort(form->loops, form->num_loops, sizeof *form->loops, by_dst_stride);
    merge_loops(form);
}

tly_status pack_form_make(const tly_nest *dst, const tly_nest *src, uint32_t bits, pack_form *out) {
    uint32_t size = bits >= 8 ? bits / 8 : 1;
    out->num_loops = out->num_axes = out->num_digits = 0;
    out->dst_base = out->src_base = 0;
    out->size = size;
    out->in_bits = 0;
    for (uint32_t axis = 0; axis < dst->rank; axis++) {
        tly_status status = merge_axis(out, dst, src, axis, size);
        if (status != TLY_OK) {
            return status;
        }
    }
    turn_round(out);
    split_element(out);
    sort_and_merge(out);
    if (bits < 8) {
        out->in_bits = !join_elements(out, bits);
        sort_and_merge(out);
    }
    return TLY_OK;
}
