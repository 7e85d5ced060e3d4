/* SPDX-License-Identifier: Apache-2.0 */
/* One machine: the architectural state, its memory, and what is derived from both. */
#ifndef TLY_PTO_MACHINE_H
#define TLY_PTO_MACHINE_H

#include <tilery/context.h>
#include <tilery/isa.h>
#include <tilery/pto.h>
#include <tilery/status.h>

#include "pto/reason.h"
#include "pto/state.h"

struct tly_pto_profile;
struct tly_pto_tile_store;
struct tly_pto_transport;
struct tly_pto_code;
struct tly_pto_team;

/* Guest memory: one mapping, reserved whole and touched only where the guest writes. Addresses
 * 0 .. size-1; rings 2 to 15 see the first app_limit bytes. */
typedef struct tly_pto_memory {
    uint8_t *bytes;
    uint64_t size;
    uint64_t app_limit;
} tly_pto_memory;

enum {
    TLY_PTO_SCRATCH_SINK = 0,  /* what is written here is lost */
    TLY_PTO_SCRATCH_INDEX = 1, /* an index on its way to an access */
    TLY_PTO_SCRATCH_T = 2,     /* pushes that are not yet in the queues */
    TLY_PTO_SCRATCH_PUSHES = 32,
    TLY_PTO_SCRATCH_U = TLY_PTO_SCRATCH_T + TLY_PTO_SCRATCH_PUSHES,
    TLY_PTO_NUM_SCRATCH = TLY_PTO_SCRATCH_U + TLY_PTO_SCRATCH_PUSHES
};

struct tly_pto_machine {
    uint64_t scratch[TLY_PTO_NUM_SCRATCH]; /* of predecoded code (fast/), near the registers */
    tly_pto_core core;
    tly_pto_memory memory;
    const struct tly_pto_profile *profile; /* numeric behaviour */
    const tly_context *context;
    struct tly_pto_tile_store *tiles;    /* elements of tiles */
    struct tly_pto_transport *transport; /* plans of copies between tiles and memory */
    struct tly_pto_code *code;           /* predecoded blocks */
    tly_isa_release release;
    tly_pto_reason reason; /* of the last refusal */

    tly_pto_access_fn watch_memory; /* NULL: nobody */
    void *watch_memory_user;
    tly_pto_trap_fn watch_traps; /* NULL: nobody */
    void *watch_traps_user;

    /* a capture of the memory model */
    bool capture_enabled;
    uint32_t num_events;
    tly_pto_event events[TLY_PTO_NUM_EVENTS];

    /* an element of a team (pto/team.h): memory, queues and the elements of shared tiles are those
     * of element 0's machine */
    struct tly_pto_team *team; /* NULL: a machine for itself */
    uint8_t element;
    bool borrows;

    uint32_t num_queues; /* slots of general queues */
    tly_pto_gqm_queue *queues;
    tly_pto_gqm_entry *queue_entries; /* TLY_PTO_GQM_MAX_CAPACITY for each slot */
};

/* The elements whose part of an operation this machine does, element 0 in bit 3: its own in a team;
 * all of them if it runs for itself, as the specification's model does. */
static inline uint32_t tly_pto_acting_elements(const tly_pto_machine *m) {
    return m->team != NULL ? 8u >> m->element : 15;
}

#endif
