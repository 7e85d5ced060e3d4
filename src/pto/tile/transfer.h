/* SPDX-License-Identifier: Apache-2.0 */
/* What operations with a path of their own share: refusals, common checks, one result of a given
 * shape. */
#ifndef TLY_PTO_TILE_TRANSFER_H
#define TLY_PTO_TILE_TRANSFER_H

#include "pto/fault.h"
#include "pto/tile/plan.h"

/* Raises the fault for the plan's reason at TPC. Always false. */
static inline bool tly_pto_plan_raise(tly_pto_machine *m, const tly_pto_plan *plan,
                                      tly_pto_fault fault) {
    const uint64_t *v = plan->reason.values;
    return tly_pto_refuse(m, fault, (tly_pto_rule)plan->reason.rule, v[0], v[1], v[2], v[3]);
}

/* No attributes of a matrix operation, the operands of the row, registers, equal masks, and no
 * shared tile. */
bool tly_pto_check_transfer(const tly_pto_machine *machine, tly_pto_plan *plan);

/* The only result gets a free tile and this shape in the layout of the header. On failure
 * *out_fault says which fault the reason belongs to. */
bool tly_pto_reserve_result(const tly_pto_machine *machine, tly_pto_plan *plan, uint32_t valid_rows,
                            uint32_t valid_columns, uint32_t columns, tly_pto_fault *out_fault);

/* Register of the binding as processing element `pe` has it; 0 without B.IOR. Selectors of queues
 * are not absolute, and read as 0. */
uint64_t tly_pto_pe_register(const tly_pto_machine *machine, uint32_t pe, uint32_t slot);

#endif
