/* SPDX-License-Identifier: Apache-2.0 */
/* Memory events: a capture of what the elements do, or a candidate execution that a host builds,
 * and whether total store order allows it (asl/arch/memory-model/memory-events, ordering). */
#ifndef TLY_PTO_EVENTS_H
#define TLY_PTO_EVENTS_H

#include "pto/machine.h"

/* Forgets all events and begins to record those of processing element `agent`'s instructions. */
void tly_pto_capture_start(tly_pto_machine *machine, uint32_t agent);
void tly_pto_capture_stop(tly_pto_machine *machine);

/* What execution records while a capture runs; nothing otherwise, nor beyond
 * TLY_PTO_NUM_EVENTS. */
void tly_pto_record_load(tly_pto_machine *machine, uint64_t address, uint32_t size, uint64_t value,
                         tly_pto_order order);
void tly_pto_record_store(tly_pto_machine *machine, uint64_t address, uint32_t size, uint64_t value,
                          tly_pto_order order);
void tly_pto_record_atomic(tly_pto_machine *machine, uint64_t address, uint32_t size,
                           uint64_t read_value, uint64_t write_value, bool write_performed,
                           tly_pto_order order);
void tly_pto_record_fence(tly_pto_machine *machine, uint32_t predecessor, uint32_t successor);

/* A candidate execution, event by event in program order. Values are cut to the event's size.
 * Returns whether there was room, and the event is one. */
bool tly_pto_add_event(tly_pto_machine *machine, const tly_pto_event *event);

/* Says which write a read took its value from. Returns false if either is no event. */
bool tly_pto_set_read_from(tly_pto_machine *machine, uint32_t read, uint32_t source);

typedef struct tly_pto_verdict {
    bool valid;           /* reads have a source, writes an order; no accesses of mixed size */
    bool acyclic_uniproc; /* coherent for each location */
    bool acyclic_tso;     /* in total store order */
    bool allowed;         /* all three */
} tly_pto_verdict;

void tly_pto_judge_events(const tly_pto_machine *machine, tly_pto_verdict *out_verdict);

#endif
