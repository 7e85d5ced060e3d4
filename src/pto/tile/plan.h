/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an execution, in order; operations with a path of their own use those that they
 * share. Each step checks and fills the plan, and has no effect on the machine. */
#ifndef TLY_PTO_TILE_PLAN_H
#define TLY_PTO_TILE_PLAN_H

#include "pto/tile/operation.h"

/* Collects what the header binds. `operation` is below TLY_PTO_NUM_TILE_OPS. */
void tly_pto_plan_begin(const tly_pto_machine *machine, uint32_t operation, tly_pto_plan *out_plan);

/* Whether all bindings select no processing element, which makes the block do nothing. */
bool tly_pto_plan_is_idle(const tly_pto_machine *machine, const tly_pto_plan *plan);

/* Numbers of operands, the end of the bindings, registers bound
 * (BundleOperationBindingsComplete of operations without matrix attributes). */
bool tly_pto_plan_check_bindings(const tly_pto_machine *machine, tly_pto_plan *plan);

/* Reads the registers that B.IOR names into address, scalars, flag and diagonal, with the values
 * that operations take without B.IOR, and checks them (BundleOperationGPRBindingValuesLegal,
 * BundleTileInstructionOperands). */
bool tly_pto_plan_read_registers(const tly_pto_machine *machine, tly_pto_plan *plan);

/* Fields of B.DATR that the operation does not have are zero
 * (SelectedBundleTileDataAttributesLegal of operations without matrix attributes). */
bool tly_pto_plan_check_attributes(const tly_pto_machine *machine, tly_pto_plan *plan);

/* All bindings select the same processing elements. */
bool tly_pto_plan_check_masks(const tly_pto_machine *machine, tly_pto_plan *plan);

/* The type that B.DATR or the block's start names; for TMOV that of its source. False: none. */
bool tly_pto_effective_type(const tly_pto_machine *machine, const tly_pto_plan *plan,
                            uint32_t *out_dtype);

/* Finds a free tile for every destination and checks the capacity of the core. On failure
 * *out_fault says which fault the reason belongs to. */
bool tly_pto_plan_reserve(const tly_pto_machine *machine, tly_pto_plan *plan,
                          tly_pto_fault *out_fault);

/* The results get their descriptors, masks and bindings; the numeric status is recorded. */
void tly_pto_plan_commit(tly_pto_machine *machine, const tly_pto_plan *plan);

/* What is left of a refusal after destinations were resolved: tiles that were free become released
 * ones. Raises nothing. */
void tly_pto_plan_roll_back(tly_pto_machine *machine, const tly_pto_plan *plan);

#endif
