/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm/form.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

#define PANEL_ALIGNMENT 64 /* a cache line: what every kernel likes, none of ours needs more */

static tly_panel_loop rounded(uint8_t axis, uint32_t step, uint32_t round) {
    const tly_panel_loop loop = {
        .axis = axis, .rounded = 1, .step = step, .round = round, .over = step};
    return loop;
}

static tly_panel_loop constant(uint8_t axis, uint32_t count) {
    const tly_panel_loop loop = {.axis = axis, .step = 1, .count = count};
    return loop;
}

void tly_gemm_form_profile(const tly_gemm_form *form, const tly_gemm_problem *problem,
                           const char *kernel, uint32_t kernel_version,
                           tly_panel_profile *out_profile) {
    tly_panel_loop *loop = out_profile->loops;
    memset(out_profile, 0, sizeof *out_profile);
    out_profile->size = sizeof *out_profile;
    out_profile->role = TLY_PANEL_B;
    out_profile->dtype = problem->b_dtype;
    out_profile->rank = 2;
    out_profile->k_axis = problem->stored_nk ? 1 : 0;
    out_profile->mn_axis = problem->stored_nk ? 0 : 1;
    out_profile->alignment = PANEL_ALIGNMENT;
    out_profile->kernel_version = kernel_version;
    snprintf(out_profile->kernel, sizeof out_profile->kernel, "%s", kernel);
    *loop++ = rounded(TLY_PANEL_MN, form->width, form->n_round);
    *loop++ = rounded(TLY_PANEL_K, form->group, form->k_round);
    if (form->width > 1) {
        *loop++ = constant(TLY_PANEL_MN, form->width);
    }
    if (form->group > 1) {
        *loop++ = constant(TLY_PANEL_K, form->group);
    }
    out_profile->num_loops = (uint8_t)(loop - out_profile->loops);
}

int tly_gemm_form_find(const tly_panel_profile *profile, tly_gemm_form *out_form) {
    const tly_panel_loop *loop = profile->loops;
    tly_gemm_form form;
    tly_gemm_problem like = {.b_dtype = profile->dtype, .stored_nk = profile->k_axis == 1};
    tly_panel_profile again;
    if (profile->role != TLY_PANEL_B || profile->rank != 2 || profile->num_loops < 2 ||
        !loop[0].rounded || !loop[1].rounded) {
        return 0;
    }
    form.width = loop[0].step;
    form.n_round = loop[0].round;
    form.group = loop[1].step;
    form.k_round = loop[1].round;
    tly_gemm_form_profile(&form, &like, "", 0, &again);
    if (!tly_panel_same_layout(&again, profile)) {
        return 0;
    }
    *out_form = form;
    return 1;
}

uint64_t tly_gemm_form_stride(const tly_gemm_form *form, uint64_t k) {
    uint64_t stride;
    if (tly_base_round_up_u64(k, form->k_round, &stride) ||
        tly_base_mul_u64(stride, form->width, &stride)) {
        return UINT64_MAX;
    }
    return stride;
}

/* Elements of any type, moved as bits. */
typedef uint8_t __attribute__((may_alias)) bits8;
typedef uint16_t __attribute__((may_alias)) bits16;
typedef uint32_t __attribute__((may_alias)) bits32;
typedef uint64_t __attribute__((may_alias)) bits64;

#define COPY(type)                                                                                 \
    do {                                                                                           \
        const type *from = in;                                                                     \
        type *to = out;                                                                            \
        for (uint64_t r = 0; r < rows; r++) {                                                      \
            for (uint64_t c = 0; c < columns; c++) {                                               \
                to[r * out_row + c * out_column] = from[r * in_row + c * in_column];               \
            }                                                                                      \
        }                                                                                          \
    } while (0)

void tly_gemm_copy(uint32_t len, uint64_t rows, uint64_t columns, const void *in, uint64_t in_row,
                   uint64_t in_column, void *out, uint64_t out_row, uint64_t out_column) {
    switch (len) {
    case 1:
        COPY(bits8);
        break;
    case 2:
        COPY(bits16);
        break;
    case 4:
        COPY(bits32);
        break;
    default:
        COPY(bits64);
    }
}
