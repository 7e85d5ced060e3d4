/* SPDX-License-Identifier: Apache-2.0 */
/* The client's half of probing (docs/spec/panel-profile.md, "Probing"): the library's own packer
 * makes panels of known matrices, and their hash goes into the profile. */
#include "base/context.h"
#include "base/error.h"
#include "gemm/adapter.h"

#define ALIGNMENT 64

static tly_status pack_one(const tly_gemm_adapter *adapter, const tly_gemm_problem *problem,
                           const tly_panel_profile *profile, const tly_panel_probe *probe,
                           uint8_t *stored, uint8_t *panel, uint64_t *inout_hash,
                           tly_error *error) {
    tly_gemm_problem small = *problem;
    tly_gemm *gemm;
    tly_status status;
    small.k = probe->k;
    small.n = probe->mn;
    status = tly_gemm_prepare(adapter, &small, profile, &gemm, error);
    if (status == TLY_NO_PANEL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "probe-shape",
                             "%s packs matrices of the probe's shape into another layout, so this "
                             "profile cannot be probed",
                             adapter->name);
    }
    if (status != TLY_OK) {
        return status;
    }
    tly_panel_probe_fill(profile, probe, stored);
    status = tly_gemm_pack(gemm, stored, probe->shape[1], panel, probe->panel_len, error);
    if (status == TLY_OK) {
        *inout_hash = tly_panel_probe_hash(profile, *inout_hash, panel, probe->panel_len);
    }
    tly_gemm_free(gemm);
    return status;
}

tly_status tly_gemm_probe(const tly_gemm_adapter *adapter, const tly_gemm_problem *problem,
                          tly_panel_profile *profile, tly_error *error) {
    const tly_context *context = adapter->context;
    tly_panel_profile bare = *profile;
    uint64_t hash = 0;
    uint32_t num = 0;
    tly_status status;
    bare.has_probe = 0;
    bare.probe_hash = 0;
    status = tly_panel_probe_count(&bare, &num, NULL, error);
    for (uint32_t i = 0; i < num && status == TLY_OK; i++) {
        tly_panel_probe probe;
        uint8_t *stored, *panel;
        status = tly_panel_probe_get(&bare, i, &probe, error);
        if (status != TLY_OK) {
            break;
        }
        stored = tly_base_alloc(context, probe.stored_len, ALIGNMENT);
        panel = tly_base_calloc(context, probe.panel_len, ALIGNMENT);
        status = stored != NULL && panel != NULL
                     ? pack_one(adapter, problem, &bare, &probe, stored, panel, &hash, error)
                     : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                     "no memory for the matrices of a probe");
        tly_base_free(context, stored, probe.stored_len, ALIGNMENT);
        tly_base_free(context, panel, probe.panel_len, ALIGNMENT);
    }
    if (status == TLY_OK) {
        profile->has_probe = 1;
        profile->probe_hash = hash;
    }
    return status;
}
