/* SPDX-License-Identifier: Apache-2.0 */
/* Panels made of rows: the form that register-blocked kernels read,
 *
 *     [N: up(N,r)/width step width][K: up(K,q)/group step group][N: width][K: group]
 *
 * Some libraries name it NR panels, some BA16a64b2a: it is one thing. Adapters say and recognise it
 * here. Compiled into the library and into each module. */
#ifndef TLY_GEMM_FORM_H
#define TLY_GEMM_FORM_H

#include <stdint.h>

#include <tilery/gemm.h>
#include <tilery/panel.h>

typedef struct tly_gemm_form {
    uint32_t width;   /* columns of a panel */
    uint32_t group;   /* rows of K side by side */
    uint32_t k_round; /* K is padded to a multiple of it; a multiple of group */
    uint32_t n_round; /* N is padded to a multiple of it; a multiple of width */
} tly_gemm_form;

/* The profile of this form for B of `problem`. `kernel` is cut to what a profile holds. */
void tly_gemm_form_profile(const tly_gemm_form *form, const tly_gemm_problem *problem,
                           const char *kernel, uint32_t kernel_version,
                           tly_panel_profile *out_profile);

/* 1 and the form if `profile` (a valid one) has it; else 0. */
int tly_gemm_form_find(const tly_panel_profile *profile, tly_gemm_form *out_form);

/* Copies rows x columns elements of `len` bytes (1, 2, 4 or 8): out[r * out_row + c * out_column] =
 * in[r * in_row + c * in_column]. Steps in elements; both sides are aligned to elements. */
void tly_gemm_copy(uint32_t len, uint64_t rows, uint64_t columns, const void *in, uint64_t in_row,
                   uint64_t in_column, void *out, uint64_t out_row, uint64_t out_column);

/* Elements from one panel to the next. Saturates at UINT64_MAX. */
uint64_t tly_gemm_form_stride(const tly_gemm_form *form, uint64_t k);

#endif
