/* SPDX-License-Identifier: Apache-2.0 */
/* A template becomes a nest (docs/spec/panel-profile.md, "Binding"). */
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "panel/template.h"

/* Turns of one loop of the template; none over an empty axis, so that an empty tensor has an empty
 * panel. */
static tly_status bind_count(const tly_panel_loop *loop, uint64_t extent, uint64_t *out_count,
                             tly_error *error) {
    uint64_t padded;
    if (loop->rounded == 0) {
        *out_count = extent != 0 ? loop->count : 0;
        return TLY_OK;
    }
    if (tly_base_round_up_u64(extent, loop->round, &padded)) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "panel-overflow",
                             "an extent of %llu does not fit in 64 bits once it is padded",
                             (unsigned long long)extent);
    }
    *out_count = padded / loop->over;
    return TLY_OK;
}

static tly_status check_reach(const tly_panel_profile *profile, tly_panel_axis axis,
                              uint64_t extent, tly_error *error) {
    tly_panel_reach reach;
    tly_panel_axis_reach(profile, axis, &reach);
    if (reach.bounded && extent > reach.granule) {
        return tly_base_fail(error, TLY_LAYOUT_UNAVAILABLE, TLY_NO_OFFSET, "panel-bounded",
                             "the panel holds %u elements along %s, the tensor has %llu",
                             reach.granule,
                             axis == TLY_PANEL_K            ? "K"
                             : profile->role == TLY_PANEL_A ? "M"
                                                            : "N",
                             (unsigned long long)extent);
    }
    return TLY_OK;
}

/* The strides follow from the order: the innermost loop has 1. `out_len` gets the bytes of all
 * places, 0 if there are none. */
static tly_status set_strides(tly_loop *loops, uint32_t num_loops, uint64_t element_len,
                              uint64_t *out_len, tly_error *error) {
    uint64_t stride = 1;
    uint64_t len;
    int empty = 0;
    for (uint32_t i = num_loops; i-- > 0;) {
        loops[i].stride = (int64_t)stride;
        if (loops[i].count == 0) {
            empty = 1;
        } else if (tly_base_mul_u64(stride, loops[i].count, &stride) || stride > INT64_MAX) {
            return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "panel-overflow",
                                 "the panel of this shape has more than 2^63 elements");
        }
    }
    if (tly_base_mul_u64(stride, element_len, &len) || len > INT64_MAX) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "panel-overflow",
                             "the panel of this shape has more than 2^63 bytes");
    }
    *out_len = empty ? 0 : len;
    return TLY_OK;
}

tly_status tly_panel_bind(const tly_panel_profile *profile, uint32_t rank, const uint64_t *shape,
                          tly_nest *out_nest, uint64_t *out_len, tly_error *error) {
    tly_loop loops[TLY_PANEL_MAX_RANK + TLY_PANEL_MAX_LOOPS];
    uint32_t num_loops = 0;
    uint64_t len = 0;
    tly_status status = tly_panel_check(profile, error);

    if (status != TLY_OK) {
        return status;
    }
    if (rank != profile->rank) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "panel-rank",
                             "the profile is for tensors of rank %u, this one has rank %u",
                             profile->rank, rank);
    }
    status = check_reach(profile, TLY_PANEL_K, shape[profile->k_axis], error);
    if (status == TLY_OK) {
        status = check_reach(profile, TLY_PANEL_MN, shape[profile->mn_axis], error);
    }
    for (uint32_t axis = 0; axis < rank; axis++) {
        if (axis != profile->k_axis && axis != profile->mn_axis) {
            loops[num_loops++] = (tly_loop){.axis = axis, .step = 1, .count = shape[axis]};
        }
    }
    for (uint32_t i = 0; status == TLY_OK && i < profile->num_loops; i++) {
        const tly_panel_loop *from = &profile->loops[i];
        tly_loop *loop = &loops[num_loops++];
        *loop = (tly_loop){
            .axis = from->axis == TLY_PANEL_K ? profile->k_axis : profile->mn_axis,
            .step = from->step,
        };
        status = bind_count(from, shape[loop->axis], &loop->count, error);
    }
    if (status == TLY_OK) {
        status = set_strides(loops, num_loops, tly_panel_element_len(profile->dtype), &len, error);
    }
    if (status != TLY_OK) {
        return status;
    }
    if (out_nest != NULL) {
        out_nest->rank = rank;
        out_nest->num_loops = num_loops;
        memcpy(out_nest->shape, shape, rank * sizeof shape[0]);
        memcpy(out_nest->loops, loops, num_loops * sizeof loops[0]);
    }
    if (out_len != NULL) {
        *out_len = len;
    }
    return TLY_OK;
}
