/* SPDX-License-Identifier: Apache-2.0 */
/* Traps: how a refusal, an interrupt and a service request enter a ring
 * (asl/arch/memory-model/fault-precision, asl/arch/profile/reference-profile). */
#ifndef TLY_PTO_FAULT_H
#define TLY_PTO_FAULT_H

#include "pto/machine.h"

/* Raises a fault: saves the context in the bank of the ring that takes it, enters that ring and
 * sets TPC to its vector, or to `address` where it has none. `rule` and up to four values say why.
 * Always returns false, so that a check can end with `return tly_pto_raise(...)`. */
bool tly_pto_raise(tly_pto_machine *machine, tly_pto_fault fault, uint64_t address,
                   tly_pto_rule rule, uint64_t a, uint64_t b, uint64_t c, uint64_t d);

/* The same at TPC, which is what most refusals do. */
bool tly_pto_refuse(tly_pto_machine *machine, tly_pto_fault fault, tly_pto_rule rule, uint64_t a,
                    uint64_t b, uint64_t c, uint64_t d);

/* EBREAK: a software breakpoint at TPC whose cause is the instruction's tag. Returns false. */
bool tly_pto_breakpoint(tly_pto_machine *machine, uint32_t tag);

/* Clears the last fault and the trap bank of the current ring. */
void tly_pto_clear_fault(tly_pto_machine *machine);

/* What every attempt to execute an instruction begins with: the cycle count advances, the last
 * fault is cleared (asl/scalar/model/sys). */
static inline void tly_pto_begin_attempt(tly_pto_machine *m) {
    m->core.last_fault = TLY_PTO_FAULT_NONE;
    m->core.fault_address = 0;
    m->core.base.cycle++;
}

/* Collects an interrupt and, where it is enabled, enters its ring. `interrupt` is below 64, `cause`
 * has 24 bits. */
void tly_pto_raise_interrupt(tly_pto_machine *machine, uint32_t interrupt, uint32_t cause);

/* Whether ACRC may ask for this service from a ring, and the ring that serves it. */
bool tly_pto_service_permitted(uint32_t ring, uint32_t request_type, uint32_t *out_target);

/* The service request of ACRC, which is permitted: a trap that goes on behind the instruction. */
void tly_pto_enter_service(tly_pto_machine *machine, uint32_t request_type, uint32_t target);

/* Whether the context saved in a ring's bank can be recovered by ACRE, and its recovery. A recovery
 * takes what the ring's context registers show, and the rest from the bank. */
bool tly_pto_context_recoverable(const tly_pto_machine *machine, uint32_t ring);
void tly_pto_recover_context(tly_pto_machine *machine, uint32_t ring);

/* Codes of the context registers: kinds and transfers of blocks in EBARG. */
uint32_t tly_pto_kind_code(uint32_t kind);
uint32_t tly_pto_kind_of_code(uint32_t code);

#endif
