/* SPDX-License-Identifier: Apache-2.0 */
#include "gemm/onednn_layout.h"

#include <stdio.h>
#include <string.h>

#define ALIGNMENT 64 /* what oneDNN gives its own buffers */

static int is_plain_kind(const dnnl_memory_desc_t *md, const char **out_why) {
    if (md->format_kind != dnnl_blocked) {
        *out_why = "oneDNN's layout for these weights is not a blocked one";
        return 0;
    }
    if (md->extra.flags != dnnl_memory_extra_flag_none) {
        *out_why = "oneDNN wants extra data (compensation) beside these weights";
        return 0;
    }
    if (md->offset0 != 0) {
        *out_why = "oneDNN's layout for these weights does not begin at its first element";
        return 0;
    }
    for (int d = 0; d < md->ndims; d++) {
        if (md->padded_offsets[d] != 0) {
            *out_why = "oneDNN's layout for these weights has padding in front";
            return 0;
        }
    }
    return 1;
}

/* The inner blocks, innermost last, as constant loops; *out_k and *out_n get the elements of K and
 * N in a block. */
static int inner_loops(const dnnl_blocking_desc_t *blocking, int k_dim, int n_dim,
                       tly_panel_loop *loops, uint32_t *out_k, uint32_t *out_n) {
    uint32_t k_step = 1, n_step = 1;
    for (int i = blocking->inner_nblks - 1; i >= 0; i--) {
        const int is_k = blocking->inner_idxs[i] == k_dim;
        uint32_t *step = is_k ? &k_step : &n_step;
        const dnnl_dim_t count = blocking->inner_blks[i];
        if ((!is_k && blocking->inner_idxs[i] != n_dim) || count < 1 ||
            count > TLY_PANEL_MAX_GRANULE / *step) {
            return 0;
        }
        loops[i] = (tly_panel_loop){
            .axis = is_k ? TLY_PANEL_K : TLY_PANEL_MN, .step = *step, .count = (uint32_t)count};
        *step *= (uint32_t)count;
    }
    *out_k = k_step;
    *out_n = n_step;
    return 1;
}

static tly_panel_loop outer_loop(uint8_t axis, uint32_t block) {
    const tly_panel_loop loop = {
        .axis = axis, .rounded = 1, .step = block, .round = block, .over = block};
    return loop;
}

tly_status tly_gemm_onednn_profile(const dnnl_memory_desc_t *md, int k_dim, int n_dim,
                                   const tly_gemm_problem *problem, tly_panel_profile *out_profile,
                                   const char **out_why) {
    const dnnl_blocking_desc_t *blocking = &md->format_desc.blocking;
    const dnnl_version_t *version = dnnl_version();
    uint32_t k_block, n_block;
    dnnl_dim_t inner, k_count, n_count, k_stride, n_stride;
    int k_outermost;
    if (!is_plain_kind(md, out_why)) {
        return TLY_UNSUPPORTED;
    }
    if (blocking->inner_nblks == 0) {
        *out_why = "no panel wanted: oneDNN takes plain weights for this product";
        return TLY_NO_PANEL;
    }
    *out_why = "oneDNN's layout for these weights cannot be said as loops without gaps";
    memset(out_profile, 0, sizeof *out_profile);
    out_profile->size = sizeof *out_profile;
    if (blocking->inner_nblks + 2 > TLY_PANEL_MAX_LOOPS ||
        !inner_loops(blocking, k_dim, n_dim, out_profile->loops + 2, &k_block, &n_block)) {
        return TLY_UNSUPPORTED;
    }
    k_count = (md->dims[k_dim] + k_block - 1) / k_block;
    n_count = (md->dims[n_dim] + n_block - 1) / n_block;
    if (md->padded_dims[k_dim] != k_count * k_block ||
        md->padded_dims[n_dim] != n_count * n_block) {
        return TLY_UNSUPPORTED;
    }
    /* Strides of a loop of one turn say nothing. Without such, the strides must be those that
     * follow from the order. */
    inner = (dnnl_dim_t)k_block * n_block;
    k_stride = blocking->strides[k_dim];
    n_stride = blocking->strides[n_dim];
    k_outermost = k_count > 1 && n_count > 1 && k_stride > n_stride;
    if ((n_count > 1 && n_stride != inner * (k_outermost ? 1 : k_count)) ||
        (k_count > 1 && k_stride != inner * (k_outermost ? n_count : 1))) {
        return TLY_UNSUPPORTED;
    }
    out_profile->loops[k_outermost ? 0 : 1] = outer_loop(TLY_PANEL_K, k_block);
    out_profile->loops[k_outermost ? 1 : 0] = outer_loop(TLY_PANEL_MN, n_block);
    out_profile->num_loops = (uint8_t)(blocking->inner_nblks + 2);
    out_profile->role = TLY_PANEL_B;
    out_profile->dtype = problem->b_dtype;
    out_profile->rank = 2;
    out_profile->k_axis = problem->stored_nk ? 1 : 0;
    out_profile->mn_axis = problem->stored_nk ? 0 : 1;
    out_profile->alignment = ALIGNMENT;
    out_profile->kernel_version =
        (uint32_t)(version->major * 10000 + version->minor * 100 + version->patch);
    snprintf(out_profile->kernel, sizeof out_profile->kernel, "onednn");
    tly_panel_normalize(out_profile);
    return TLY_OK;
}

int tly_gemm_onednn_channel_block(const dnnl_memory_desc_t *md) {
    const dnnl_blocking_desc_t *blocking = &md->format_desc.blocking;
    const dnnl_dim_t channels = md->dims[1], rows = md->dims[3];
    const char *why;
    dnnl_dim_t block;
    if (!is_plain_kind(md, &why)) {
        return -1;
    }
    if (blocking->inner_nblks == 0) {
        return (channels == 1 || blocking->strides[1] == 1) &&
                       (rows == 1 || blocking->strides[3] == channels)
                   ? 0
                   : -1;
    }
    block = blocking->inner_blks[0];
    if (blocking->inner_nblks != 1 || blocking->inner_idxs[0] != 1 || block > 64 ||
        (rows > 1 && blocking->strides[3] != block) ||
        (channels > block && blocking->strides[1] != rows * block) ||
        md->padded_dims[1] != (channels + block - 1) / block * block) {
        return -1;
    }
    return (int)block;
}
