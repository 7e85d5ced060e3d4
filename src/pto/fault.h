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

/* Clears the last fault and the trap bank of the current ring. */
void tly_pto_clear_fault(tly_pto_machine *machine);

/* What every attempt to execute an instruction begins with: the cycle count advances, the last
 * fault is cleared (asl/scalar/model/sys). */
void tly_pto_begin_attempt(tly_pto_machine *machine);

/* Collects an interrupt and, where it is enabled, enters its ring. */
void tly_pto_raise_interrupt(tly_pto_machine *machine, uint32_t interrupt, uint32_t cause);

/* Service request of ACRC. Returns whether it was permitted. */
bool tly_pto_request_service(tly_pto_machine *machine, uint32_t request_type);

/* Recovery of a saved context (ACRE). Returns whether the context could be recovered. */
bool tly_pto_recover_context(tly_pto_machine *machine, uint32_t ring);

#endif
