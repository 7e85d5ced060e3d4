/* SPDX-License-Identifier: Apache-2.0 */
/* A machine as it was, and what is different now: all state but that which a trap writes, memory,
 * general queues, elements of tiles and which of them are defined. */
#ifndef TLY_TESTS_PTO_SNAPSHOT_H
#define TLY_TESTS_PTO_SNAPSHOT_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "pto/fields.h"
#include "pto/machine.h"
#include "pto/tile/store.h"

/* Copies `m` into another machine of the same configuration. */
static inline void snapshot_take(tly_pto_machine *copy, const tly_pto_machine *m) {
    copy->core = m->core;
    memcpy(copy->memory.bytes, m->memory.bytes, (size_t)m->memory.size);
    memcpy(copy->queues, m->queues, m->num_queues * sizeof(*m->queues));
    memcpy(copy->queue_entries, m->queue_entries,
           (size_t)m->num_queues * TLY_PTO_GQM_MAX_CAPACITY * sizeof(*m->queue_entries));
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        if (m->core.tiles[i].allocated) {
            tly_pto_elements_copy(&copy->tiles->local[i], &m->tiles->local[i], &m->core.tiles[i]);
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        if (m->core.shared_tiles[i].tile.allocated) {
            tly_pto_elements_copy(&copy->tiles->shared[i], &m->tiles->shared[i],
                                  &m->core.shared_tiles[i].tile);
        }
    }
}

/* What a trap writes, and what every attempt changes. */
static inline bool snapshot_is_of_trap(const tly_pto_place *place) {
    static const char *const names[] = {"tpc",         "last_fault", "fault_address",
                                        "current_acr", "core_state", "cycle"};
    if (place->saved_ring >= 0 || strncmp(place->field->name, "trap", 4) == 0 ||
        strncmp(place->field->name, "context_register", 16) == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(place->field->name, names[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* A tile that was taken and given back keeps another type than reset gives it. */
static inline bool snapshot_is_type_of_free_tile(const tly_pto_machine *then,
                                                 const tly_pto_machine *now,
                                                 const tly_pto_place *place) {
    return strcmp(place->field->name, "tile[].data_type") == 0 &&
           !then->core.tiles[place->indexes[0]].allocated &&
           !now->core.tiles[place->indexes[0]].allocated;
}

/* Whether the bytes of both cores agree, apart from what a trap writes; if they do not, fields may
 * agree all the same. */
static inline bool snapshot_same_bytes(const tly_pto_machine *then, const tly_pto_machine *now) {
    static tly_pto_core a;
    a = then->core;
    a.context.tpc = now->core.context.tpc;
    a.context.header.untouched = now->core.context.header.untouched;
    a.context.header.in_order = now->core.context.header.in_order;
    a.last_fault = now->core.last_fault;
    a.fault_address = now->core.fault_address;
    a.current_acr = now->core.current_acr;
    a.base.core_state = now->core.base.core_state;
    a.base.cycle = now->core.base.cycle;
    memcpy(a.traps, now->core.traps, sizeof(a.traps));
    memcpy(a.context_registers, now->core.context_registers, sizeof(a.context_registers));
    memcpy(a.saved, now->core.saved, sizeof(a.saved));
    return memcmp(&a, &now->core, sizeof(a)) == 0;
}

static inline bool snapshot_same_elements(const tly_pto_tile *tile, const tly_pto_elements *then,
                                          const tly_pto_elements *now) {
    for (uint32_t i = 0; tile->allocated && i < tly_pto_payload_len(tile); i++) {
        if (tly_pto_payload_read(now, tile, i) != tly_pto_payload_read(then, tile, i)) {
            return false;
        }
    }
    for (uint32_t i = 0; tile->allocated && i < tly_pto_tile_elements(tile); i++) {
        if (tly_pto_element_is_defined(now, tile, i) != tly_pto_element_is_defined(then, tile, i)) {
            return false;
        }
    }
    return true;
}

/* Whether nothing changed; otherwise writes what did. */
static inline bool snapshot_equal(const tly_pto_machine *then, const tly_pto_machine *now,
                                  char *out_text, size_t capacity) {
    tly_pto_place place = {0};
    char name[128];
    const size_t entries_len =
        (size_t)now->num_queues * TLY_PTO_GQM_MAX_CAPACITY * sizeof(*now->queue_entries);
    const bool same = snapshot_same_bytes(then, now) &&
                      memcmp(then->queue_entries, now->queue_entries, entries_len) == 0;
    while (!same && tly_pto_place_next(now, &place)) {
        uint64_t is = tly_pto_place_read(now, &place);
        uint64_t was = tly_pto_place_read(then, &place);
        if (is != was && !snapshot_is_of_trap(&place) &&
            !snapshot_is_type_of_free_tile(then, now, &place)) {
            tly_pto_place_name(&place, name, sizeof(name));
            snprintf(out_text, capacity, "%s changed from 0x%llx to 0x%llx", name,
                     (unsigned long long)was, (unsigned long long)is);
            return false;
        }
    }
    if (memcmp(then->memory.bytes, now->memory.bytes, (size_t)now->memory.size) != 0) {
        snprintf(out_text, capacity, "memory changed");
        return false;
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        if (!snapshot_same_elements(&now->core.tiles[i], &then->tiles->local[i],
                                    &now->tiles->local[i])) {
            snprintf(out_text, capacity, "elements of tile %u changed", i);
            return false;
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        if (!snapshot_same_elements(&now->core.shared_tiles[i].tile, &then->tiles->shared[i],
                                    &now->tiles->shared[i])) {
            snprintf(out_text, capacity, "elements of shared tile %u changed", i);
            return false;
        }
    }
    return true;
}

#endif
