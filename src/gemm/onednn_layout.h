/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's memory descriptors as panel profiles. */
#ifndef TLY_GEMM_ONEDNN_LAYOUT_H
#define TLY_GEMM_ONEDNN_LAYOUT_H

#include <dnnl.h>

#include <tilery/gemm.h>
#include <tilery/panel.h>

/* The layout of weights as a profile for B of `problem`. `k_dim` and `n_dim` are the dimensions of
 * `md` that are K and N; all others have extent 1. Any blocked layout without gaps is taken.
 * Returns NO_PANEL where it is plain, UNSUPPORTED where it cannot be said as loops (compensation or
 * other extra data, gaps, offsets, a format that is not blocked); *out_why says which. */
tly_status tly_gemm_onednn_profile(const dnnl_memory_desc_t *md, int k_dim, int n_dim,
                                   const tly_gemm_problem *problem, tly_panel_profile *out_profile,
                                   const char **out_why);

/* A small matrix of rows x channels that a convolution reads or writes, as { 1, channels, 1, rows
 * }: 0 for plain rows, b for blocks of b channels [channels / b][rows][b], -1 for anything else. */
int tly_gemm_onednn_channel_block(const dnnl_memory_desc_t *md);

#endif
