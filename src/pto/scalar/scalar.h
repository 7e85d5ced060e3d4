/* SPDX-License-Identifier: Apache-2.0 */
/* What a scalar instruction does, family by family. Each routine executes one instruction whose
 * operands are legal and which may stand where it does; it returns false when it raised a fault.
 * TPC is advanced by the caller, but by those that jump. */
#ifndef TLY_PTO_SCALAR_SCALAR_H
#define TLY_PTO_SCALAR_SCALAR_H

#include "pto/scalar/operands.h"

typedef bool (*tly_pto_scalar_routine)(tly_pto_machine *machine, const tly_pto_operands *operands);

/* The routine of a form; NULL if it is no scalar form of 0.58.3. */
tly_pto_scalar_routine tly_pto_scalar_routine_of(uint32_t form);

/* scalar/alu.c: the rows of values.def; NULL for other forms */
tly_pto_scalar_routine tly_pto_value_routine(uint32_t form);

/* scalar/agu.c */
bool tly_pto_agu_load(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_agu_load_pair(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_agu_store(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_agu_store_pair(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_agu_prefetch(tly_pto_machine *machine, const tly_pto_operands *operands);

/* scalar/amo.c */
bool tly_pto_amo_load_reserved(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_amo_store_conditional(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_amo_modify(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_amo_compare_swap(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_amo_copy64(tly_pto_machine *machine, const tly_pto_operands *operands);

/* scalar/bru.c */
bool tly_pto_bru_jump(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_bru_jump_register(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_bru_set_return(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_bru_set_target(tly_pto_machine *machine, const tly_pto_operands *operands);

/* scalar/fsu.c */
bool tly_pto_fsu_unary(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_fsu_binary(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_fsu_fused(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_fsu_compare(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_fsu_convert(tly_pto_machine *machine, const tly_pto_operands *operands);

/* scalar/sys.c */
bool tly_pto_sys_close_request(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_enter_request(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_assert(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_maintain(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_control_request(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_breakpoint(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_fence_data(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_fence_instruction(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_get(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_set(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_swap(tly_pto_machine *machine, const tly_pto_operands *operands);
bool tly_pto_sys_local_get(tly_pto_machine *machine, const tly_pto_operands *operands);

/* Where a form may stand. */
typedef enum tly_pto_standing {
    TLY_PTO_ANYWHERE,
    TLY_PTO_IN_BODY,        /* of any block */
    TLY_PTO_IN_SYSTEM_BODY, /* of a SYS block */
    TLY_PTO_AS_CONDITION,   /* once in the body of a conditional block */
    TLY_PTO_AS_TARGET,      /* in a STD or FP block */
    TLY_PTO_AS_ONLY_TARGET  /* the same, once */
} tly_pto_standing;

tly_pto_standing tly_pto_standing_of(uint32_t form);

#endif
