/* SPDX-License-Identifier: Apache-2.0 */
/* What this library's packer makes of the matrices of a probe. */
#include <tilery/pack.h>

#include "base/context.h"
#include "base/error.h"
#include "panel/hash.h"
#include "panel/probe.h"
#include "panel/template.h"

enum { ALIGNMENT = 64 };

/* Packs one matrix; both blocks hold little-endian elements. */
static tly_status pack(const tly_context *context, const tly_panel_profile *profile,
                       const tly_panel_probe *probe, void *panel, const void *stored,
                       tly_error *error) {
    tly_nest *nests = tly_base_alloc(context, 2 * sizeof *nests, _Alignof(tly_nest));
    tly_pack_plan *plan;
    tly_status status;
    if (nests == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a probe");
    }
    status = tly_panel_bind(profile, profile->rank, probe->shape, &nests[0], NULL, error);
    if (status == TLY_OK) {
        status = tly_nest_row_major(&nests[1], profile->rank, probe->shape);
    }
    if (status == TLY_OK) {
        status = tly_pack_plan_new(context, &nests[0], &nests[1],
                                   tly_panel_element_len(profile->dtype) * 8, NULL, &plan, error);
    }
    if (status == TLY_OK) {
        tly_pack_run(plan, panel, stored);
        tly_pack_plan_free(plan);
    }
    tly_base_free(context, nests, 2 * sizeof *nests, _Alignof(tly_nest));
    return status;
}

tly_status tly_panel_probe_expected(const tly_context *context, const tly_panel_profile *profile,
                                    uint64_t max_work, uint64_t *out_hash, tly_error *error) {
    uint64_t work, hash = 0;
    uint32_t num;
    tly_status status = tly_panel_probe_count(profile, &num, &work, error);

    if (status != TLY_OK) {
        return status;
    }
    max_work = max_work != 0 ? max_work : TLY_PANEL_PROBE_WORK;
    if (work > max_work) {
        return tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "panel-probe-work",
                             "the probe of this layout moves %llu bytes; the limit is %llu",
                             (unsigned long long)work, (unsigned long long)max_work);
    }
    for (uint32_t i = 0; status == TLY_OK && i < num; i++) {
        tly_panel_probe probe;
        uint8_t *stored, *panel;
        status = tly_panel_probe_get(profile, i, &probe, error);
        if (status != TLY_OK) {
            break;
        }
        stored = tly_base_alloc(context, probe.stored_len, ALIGNMENT);
        panel = tly_base_alloc(context, probe.panel_len, ALIGNMENT);
        if (stored == NULL || panel == NULL) {
            status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                   "no memory for a probe of %llu bytes",
                                   (unsigned long long)(probe.stored_len + probe.panel_len));
        } else {
            tly_panel_fill_le(profile, &probe, stored);
            status = pack(context, profile, &probe, panel, stored, error);
            hash = status == TLY_OK ? tly_panel_hash64(panel, probe.panel_len, hash, 1) : 0;
        }
        tly_base_free(context, panel, probe.panel_len, ALIGNMENT);
        tly_base_free(context, stored, probe.stored_len, ALIGNMENT);
    }
    if (status == TLY_OK) {
        *out_hash = hash;
    }
    return status;
}
