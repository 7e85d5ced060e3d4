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

/* Memory for the largest matrix of a probe and for the largest panel: taken once, as fresh pages
 * cost more than the packing. */
static tly_status largest(const tly_panel_profile *profile, uint32_t num, uint64_t *out_stored_len,
                          uint64_t *out_panel_len, tly_error *error) {
    *out_stored_len = *out_panel_len = 0;
    for (uint32_t i = 0; i < num; i++) {
        tly_panel_probe probe;
        tly_status status = tly_panel_probe_get(profile, i, &probe, error);
        if (status != TLY_OK) {
            return status;
        }
        if (probe.stored_len > *out_stored_len) {
            *out_stored_len = probe.stored_len;
        }
        if (probe.panel_len > *out_panel_len) {
            *out_panel_len = probe.panel_len;
        }
    }
    return TLY_OK;
}

static tly_status hash_all(const tly_context *context, const tly_panel_profile *profile,
                           uint32_t num, uint8_t *stored, uint8_t *panel, uint64_t *out_hash,
                           tly_error *error) {
    uint64_t hash = 0;
    for (uint32_t i = 0; i < num; i++) {
        tly_panel_probe probe;
        tly_status status = tly_panel_probe_get(profile, i, &probe, error);
        if (status == TLY_OK) {
            tly_panel_fill_le(profile, &probe, stored);
            status = pack(context, profile, &probe, panel, stored, error);
        }
        if (status != TLY_OK) {
            return status;
        }
        hash = tly_panel_hash64(panel, probe.panel_len, hash, 1);
    }
    *out_hash = hash;
    return TLY_OK;
}

tly_status tly_panel_probe_expected(const tly_context *context, const tly_panel_profile *profile,
                                    uint64_t max_work, uint64_t *out_hash, tly_error *error) {
    uint64_t work, stored_len, panel_len;
    uint8_t *stored, *panel;
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
    status = largest(profile, num, &stored_len, &panel_len, error);
    if (status != TLY_OK) {
        return status;
    }
    stored = tly_base_alloc(context, stored_len, ALIGNMENT);
    panel = tly_base_alloc(context, panel_len, ALIGNMENT);
    status = stored != NULL && panel != NULL
                 ? hash_all(context, profile, num, stored, panel, out_hash, error)
                 : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                                 "no memory for a probe of %llu bytes",
                                 (unsigned long long)(stored_len + panel_len));
    tly_base_free(context, panel, panel_len, ALIGNMENT);
    tly_base_free(context, stored, stored_len, ALIGNMENT);
    return status;
}
