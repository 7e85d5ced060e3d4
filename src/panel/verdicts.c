/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes that this library's packer gives, remembered by layout. What a client claims is not part
 * of the key: a second claim about the same layout costs a comparison. */
#include <pthread.h>
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "panel/template.h"

enum { DEFAULT_ENTRIES = 256, MAX_ENTRIES = 65536 };

struct entry {
    tly_panel_profile layout; /* without names, alignment and probe; size == 0: free */
    uint64_t hash;
    uint64_t last_asked;
};

struct tly_panel_verdicts {
    const tly_context *context;
    uint64_t max_work;
    uint32_t max_entries;
    pthread_mutex_t lock; /* guards what follows */
    uint64_t clock;
    struct entry *entries;
};

tly_status tly_panel_verdicts_new(const tly_context *context,
                                  const tly_panel_verdicts_options *options,
                                  tly_panel_verdicts **out_verdicts, tly_error *error) {
    tly_panel_verdicts *made;
    uint32_t max_entries = DEFAULT_ENTRIES;

    if (options != NULL) {
        if (options->size != sizeof *options || options->max_entries > MAX_ENTRIES) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                                 "tly_panel_verdicts_options: size %zu, %u entries; expected size "
                                 "%zu and at most %d entries",
                                 options->size, options->max_entries, sizeof *options, MAX_ENTRIES);
        }
        max_entries = options->max_entries != 0 ? options->max_entries : max_entries;
    }
    made = tly_base_calloc(context, sizeof *made, _Alignof(tly_panel_verdicts));
    if (made != NULL) {
        made->entries =
            tly_base_calloc(context, max_entries * sizeof *made->entries, _Alignof(struct entry));
    }
    if (made == NULL || made->entries == NULL || pthread_mutex_init(&made->lock, NULL) != 0) {
        if (made != NULL) {
            tly_base_free(context, made->entries, max_entries * sizeof *made->entries,
                          _Alignof(struct entry));
        }
        tly_base_free(context, made, sizeof *made, _Alignof(tly_panel_verdicts));
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for %u verdicts", max_entries);
    }
    made->context = context;
    made->max_entries = max_entries;
    made->max_work =
        options != NULL && options->max_work != 0 ? options->max_work : TLY_PANEL_PROBE_WORK;
    *out_verdicts = made;
    return TLY_OK;
}

void tly_panel_verdicts_free(tly_panel_verdicts *verdicts) {
    if (verdicts != NULL) {
        const tly_context *context = verdicts->context;
        pthread_mutex_destroy(&verdicts->lock);
        tly_base_free(context, verdicts->entries, verdicts->max_entries * sizeof *verdicts->entries,
                      _Alignof(struct entry));
        tly_base_free(context, verdicts, sizeof *verdicts, _Alignof(tly_panel_verdicts));
    }
}

/* What decides about the bytes, in a form that can be compared. */
static tly_panel_profile layout_of(const tly_panel_profile *profile) {
    tly_panel_profile layout = {.size = sizeof layout};
    layout.role = profile->role;
    layout.dtype = profile->dtype;
    layout.rank = profile->rank;
    layout.k_axis = profile->k_axis;
    layout.mn_axis = profile->mn_axis;
    layout.num_loops = profile->num_loops;
    layout.alignment = 1;
    memcpy(layout.loops, profile->loops, profile->num_loops * sizeof profile->loops[0]);
    return layout;
}

/* The entry of a layout, or the one to give up for it. Under the lock. */
static struct entry *find(tly_panel_verdicts *verdicts, const tly_panel_profile *layout,
                          int *out_known) {
    struct entry *oldest = &verdicts->entries[0];
    for (uint32_t i = 0; i < verdicts->max_entries; i++) {
        struct entry *entry = &verdicts->entries[i];
        if (entry->layout.size != 0 && tly_panel_same_layout(&entry->layout, layout)) {
            *out_known = 1;
            return entry;
        }
        if (entry->last_asked < oldest->last_asked) {
            oldest = entry;
        }
    }
    *out_known = 0;
    return oldest;
}

static int recall(tly_panel_verdicts *verdicts, const tly_panel_profile *layout,
                  uint64_t *out_hash) {
    struct entry *entry;
    int known;
    pthread_mutex_lock(&verdicts->lock);
    entry = find(verdicts, layout, &known);
    if (known) {
        entry->last_asked = ++verdicts->clock;
        *out_hash = entry->hash;
    }
    pthread_mutex_unlock(&verdicts->lock);
    return known;
}

static void remember(tly_panel_verdicts *verdicts, const tly_panel_profile *layout, uint64_t hash) {
    struct entry *entry;
    int known;
    pthread_mutex_lock(&verdicts->lock);
    entry = find(verdicts, layout, &known);
    entry->layout = *layout;
    entry->hash = hash;
    entry->last_asked = ++verdicts->clock;
    pthread_mutex_unlock(&verdicts->lock);
}

tly_status tly_panel_verdicts_check(tly_panel_verdicts *verdicts, const tly_panel_profile *profile,
                                    uint64_t *inout_budget, tly_error *error) {
    tly_panel_profile layout;
    uint64_t hash, work;
    uint32_t num;
    tly_status status = tly_panel_check(profile, error);

    if (status != TLY_OK || profile->has_probe == 0) {
        return status;
    }
    layout = layout_of(profile);
    if (!recall(verdicts, &layout, &hash)) {
        uint64_t max_work = verdicts->max_work;
        if (inout_budget != NULL && *inout_budget < max_work) {
            max_work = *inout_budget;
        }
        status = tly_panel_probe_count(&layout, &num, &work, error);
        if (status == TLY_OK && work > max_work) {
            status = tly_base_fail(error, TLY_LIMIT, TLY_NO_OFFSET, "panel-probe-work",
                                   "the probe of this layout moves %llu bytes; %llu are allowed",
                                   (unsigned long long)work, (unsigned long long)max_work);
        }
        if (status == TLY_OK) {
            status = tly_panel_probe_expected(verdicts->context, &layout, max_work, &hash, error);
        }
        if (status != TLY_OK) {
            return status;
        }
        if (inout_budget != NULL) {
            *inout_budget -= work;
        }
        remember(verdicts, &layout, hash);
    }
    if (hash != profile->probe_hash) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "panel-probe-hash",
                             "the kernel's packer gives the probe hash %016llX, this library's "
                             "packer %016llX: the template does not say what the kernel reads",
                             (unsigned long long)profile->probe_hash, (unsigned long long)hash);
    }
    return TLY_OK;
}
