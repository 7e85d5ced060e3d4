/* SPDX-License-Identifier: Apache-2.0 */
/* Life of a machine: its parts, its memory, reset (asl/arch/profile/reset). */
#include "pto/machine.h"

#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "pto/create.h"
#include "pto/fast/code.h"
#include "pto/profile/profile.h"
#include "pto/tile/store.h"
#include "pto/tile/transport.h"

enum { RESET_DTYPE = 24 /* U64 */, RESET_PAD = 3, RESET_VERSION = 1, RESET_ECONFIG = 3 };
enum { ECONFIG = 0x07 };

static size_t entries_len(uint32_t num_queues) {
    return sizeof(tly_pto_gqm_entry) * TLY_PTO_GQM_MAX_CAPACITY * num_queues;
}

static tly_status map_memory(tly_pto_machine *m, uint64_t size, tly_error *error) {
    void *bytes = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "pto-memory",
                             "no room for %llu bytes of guest memory", (unsigned long long)size);
    }
    m->memory.bytes = bytes;
    m->memory.size = size;
    return TLY_OK;
}

static tly_status make_own(tly_pto_machine *m, uint64_t memory_bytes, tly_error *error) {
    m->queues = tly_base_calloc(m->context, sizeof(*m->queues) * m->num_queues,
                                _Alignof(tly_pto_gqm_queue));
    m->queue_entries =
        tly_base_calloc(m->context, entries_len(m->num_queues), _Alignof(tly_pto_gqm_entry));
    if (m->queues == NULL || m->queue_entries == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "", "out of memory");
    }
    return map_memory(m, memory_bytes, error);
}

static tly_status borrow(tly_pto_machine *m, const tly_pto_machine *lender) {
    m->borrows = true;
    m->memory = lender->memory;
    m->queues = lender->queues;
    m->queue_entries = lender->queue_entries;
    return TLY_OK;
}

void tly_pto_machine_free(tly_pto_machine *m) {
    if (m == NULL) {
        return;
    }
    const tly_context *context = m->context;
    tly_pto_transport_free(context, m->transport);
    tly_pto_tile_store_free(context, m->tiles);
    tly_pto_code_free(context, m->code);
    if (m->memory.bytes != NULL && !m->borrows) {
        munmap(m->memory.bytes, (size_t)m->memory.size);
    }
    if (!m->borrows) {
        tly_base_free(context, m->queues, sizeof(*m->queues) * m->num_queues,
                      _Alignof(tly_pto_gqm_queue));
        tly_base_free(context, m->queue_entries, entries_len(m->num_queues),
                      _Alignof(tly_pto_gqm_entry));
    }
    tly_base_free(context, m, sizeof(*m), _Alignof(tly_pto_machine));
}

tly_status tly_pto_machine_new(const tly_context *context, const tly_pto_config *config,
                               tly_pto_machine **out_machine, tly_error *error) {
    if (config->memory_bytes == 0 || config->memory_bytes > SIZE_MAX ||
        config->app_limit > config->memory_bytes || config->num_queues == 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, 0, "pto-config",
                             "a machine needs memory, a queue and an application region inside "
                             "its memory");
    }
    tly_pto_machine *m = tly_base_calloc(context, sizeof(*m), _Alignof(tly_pto_machine));
    if (m == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, 0, "", "out of memory");
    }
    m->context = context;
    m->release = config->release;
    m->profile = config->profile != NULL ? config->profile : &tly_pto_profile_v0;
    m->memory.app_limit = config->app_limit;
    m->num_queues = config->num_queues;
    tly_status status = config->lender != NULL ? borrow(m, config->lender)
                                               : make_own(m, config->memory_bytes, error);
    if (status == TLY_OK) {
        status = tly_pto_tile_store_new(context, &m->tiles, error);
    }
    if (status == TLY_OK && config->lender != NULL) {
        m->tiles->shared = config->lender->tiles->shared;
    }
    if (status == TLY_OK) {
        status = tly_pto_transport_new(context, &m->transport, error);
    }
    if (status == TLY_OK) {
        status = tly_pto_code_new(context, config->memory_bytes, &m->code, error);
    }
    if (status != TLY_OK) {
        tly_pto_machine_free(m);
        return status;
    }
    tly_pto_machine_reset(m);
    *out_machine = m;
    return TLY_OK;
}

static void reset_context(tly_pto_context *context) {
    memset(context, 0, sizeof(*context));
    context->header.data.data_type = TLY_PTO_DTYPE_NONE;
    context->header.data.pad_value = RESET_PAD;
    context->frame_template.begin_reg = TLY_PTO_SP;
    context->frame_template.end_reg = TLY_PTO_SP;
}

static void reset_tile(tly_pto_tile *tile) {
    memset(tile, 0, sizeof(*tile));
    tile->data_type = RESET_DTYPE;
    tile->location = TLY_PTO_LOCATION_ANY;
}

/* Extents have no zero. */
static void reset_feature_map(tly_pto_feature_map *map) {
    *map = (tly_pto_feature_map){.batches = 1,
                                 .depth = 1,
                                 .channel_groups = 1,
                                 .height = 1,
                                 .width = 1,
                                 .channels_per_group = 1,
                                 .filter_height = 1,
                                 .filter_width = 1,
                                 .stride_height = 1,
                                 .stride_width = 1,
                                 .dilation_height = 1,
                                 .dilation_width = 1,
                                 .logical_channels = 1};
}

void tly_pto_identify(tly_pto_machine *m) {
    m->core.current_pe = m->element;
    m->core.base.thread_id = m->element;
}

static void reset_core(tly_pto_core *core) {
    memset(core, 0, sizeof(*core));
    reset_context(&core->context);
    for (uint32_t ring = 0; ring < TLY_PTO_NUM_RINGS; ring++) {
        core->context_registers[ring][ECONFIG] = RESET_ECONFIG;
        core->saved[ring].context = core->context;
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        reset_tile(&core->tiles[i]);
        reset_feature_map(&core->feature_maps[i]);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        reset_tile(&core->shared_tiles[i].tile);
    }
    core->reservation.size = 1;
    core->requests.tile_data_layout_capabilities = 1;
    core->base.version = RESET_VERSION;
    core->base.tile_capacity = TLY_PTO_TILE_CAPACITY;
}

void tly_pto_machine_reset(tly_pto_machine *m) {
    reset_core(&m->core);
    if (m->team != NULL) {
        tly_pto_identify(m);
    }
    for (uint32_t i = 0; i < m->num_queues; i++) {
        if (m->queues[i].valid) {
            memset(m->queue_entries + (size_t)i * TLY_PTO_GQM_MAX_CAPACITY, 0, entries_len(1));
        }
    }
    memset(m->queues, 0, sizeof(*m->queues) * m->num_queues);
    tly_pto_tile_store_reset(m->tiles);
    m->capture_enabled = false;
    m->num_events = 0;
    memset(&m->reason, 0, sizeof(m->reason));
    tly_pto_code_reset(m->code);
    /* pages that were never written cost nothing */
    madvise(m->memory.bytes, (size_t)m->memory.size, MADV_DONTNEED);
}
