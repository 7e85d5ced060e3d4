/* SPDX-License-Identifier: Apache-2.0 */
/* From a decoded scalar instruction to its routine: where it may stand, then its sources, then what
 * it does (asl/scalar/model/dispatch/top-level). */
#include "pto/exec.h"
#include "pto/fault.h"
#include "pto/scalar/scalar.h"

static const tly_pto_scalar_routine routines[TLY_NUM_HANDLERS] = {
    [TLY_HANDLER_EXECUTE_SCALAR_LOAD] = tly_pto_agu_load,
    [TLY_HANDLER_EXECUTE_SCALAR_LOAD_PAIR] = tly_pto_agu_load_pair,
    [TLY_HANDLER_EXECUTE_SCALAR_STORE] = tly_pto_agu_store,
    [TLY_HANDLER_EXECUTE_SCALAR_STORE_PAIR] = tly_pto_agu_store_pair,
    [TLY_HANDLER_SCALAR_PREFETCH] = tly_pto_agu_prefetch,
    [TLY_HANDLER_LOAD_RESERVED] = tly_pto_amo_load_reserved,
    [TLY_HANDLER_STORE_CONDITIONAL] = tly_pto_amo_store_conditional,
    [TLY_HANDLER_ATOMIC_READ_MODIFY_WRITE] = tly_pto_amo_modify,
    [TLY_HANDLER_COMPARE_AND_SWAP] = tly_pto_amo_compare_swap,
    [TLY_HANDLER_EXECUTE_SCALAR_DMACOPY64] = tly_pto_amo_copy64,
    [TLY_HANDLER_JUMP_RELATIVE] = tly_pto_bru_jump,
    [TLY_HANDLER_JUMP_REGISTER] = tly_pto_bru_jump_register,
    [TLY_HANDLER_SET_RETURN_ADDRESS] = tly_pto_bru_set_return,
    [TLY_HANDLER_SET_COMMIT_TARGET] = tly_pto_bru_set_target,
    [TLY_HANDLER_FLOATING_UNARY] = tly_pto_fsu_unary,
    [TLY_HANDLER_FLOATING_BINARY] = tly_pto_fsu_binary,
    [TLY_HANDLER_FLOATING_FUSED] = tly_pto_fsu_fused,
    [TLY_HANDLER_FLOATING_COMPARE] = tly_pto_fsu_compare,
    [TLY_HANDLER_CONVERT_FLOATING_ENCODING] = tly_pto_fsu_convert,
    [TLY_HANDLER_ARCHITECTURE_CLOSE_REQUEST] = tly_pto_sys_close_request,
    [TLY_HANDLER_ARCHITECTURE_ENTER_REQUEST] = tly_pto_sys_enter_request,
    [TLY_HANDLER_ARCHITECTURE_ASSERT] = tly_pto_sys_assert,
    [TLY_HANDLER_EXECUTE_MAINTENANCE] = tly_pto_sys_maintain,
    [TLY_HANDLER_EXECUTE_CONTROL_REQUEST] = tly_pto_sys_control_request,
    [TLY_HANDLER_SOFTWARE_BREAKPOINT] = tly_pto_sys_breakpoint,
    [TLY_HANDLER_FENCE_DATA] = tly_pto_sys_fence_data,
    [TLY_HANDLER_FENCE_INSTRUCTION] = tly_pto_sys_fence_instruction,
    [TLY_HANDLER_EXECUTE_SYSTEM_REGISTER_GET] = tly_pto_sys_get,
    [TLY_HANDLER_EXECUTE_COMPRESSED_SYSTEM_REGISTER_GET] = tly_pto_sys_get,
    [TLY_HANDLER_EXECUTE_SYSTEM_REGISTER_SET] = tly_pto_sys_set,
    [TLY_HANDLER_EXECUTE_SYSTEM_REGISTER_SWAP] = tly_pto_sys_swap,
    [TLY_HANDLER_EXECUTE_LOCAL_STATE_REGISTER_GET] = tly_pto_sys_local_get,
};

static const uint8_t standings[TLY_NUM_HANDLERS] = {
    [TLY_HANDLER_EXECUTE_SET_COMMIT] = TLY_PTO_AS_CONDITION,
    [TLY_HANDLER_EXECUTE_SET_COMMIT_LOGICAL] = TLY_PTO_AS_CONDITION,
    [TLY_HANDLER_SET_COMMIT_TARGET] = TLY_PTO_AS_TARGET,
    [TLY_HANDLER_EXECUTE_LOCAL_STATE_REGISTER_GET] = TLY_PTO_IN_BODY,
    [TLY_HANDLER_ARCHITECTURE_CLOSE_REQUEST] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_ARCHITECTURE_ENTER_REQUEST] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_ARCHITECTURE_ASSERT] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_EXECUTE_MAINTENANCE] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_EXECUTE_CONTROL_REQUEST] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_SOFTWARE_BREAKPOINT] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_FENCE_DATA] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_FENCE_INSTRUCTION] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_EXECUTE_SYSTEM_REGISTER_GET] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_EXECUTE_COMPRESSED_SYSTEM_REGISTER_GET] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_EXECUTE_SYSTEM_REGISTER_SET] = TLY_PTO_IN_SYSTEM_BODY,
    [TLY_HANDLER_EXECUTE_SYSTEM_REGISTER_SWAP] = TLY_PTO_IN_SYSTEM_BODY,
};

tly_pto_scalar_routine tly_pto_scalar_routine_of(uint32_t form) {
    tly_pto_scalar_routine routine = tly_pto_value_routine(form);
    const tly_isa_form_row *row = tly_isa_form_at(form);
    if (routine != NULL || row == NULL || row->surface != TLY_ISA_SCALAR) {
        return routine;
    }
    return routines[row->handler];
}

tly_pto_standing tly_pto_standing_of(uint32_t form) {
    return form == TLY_FORM_C_SETC_TGT
               ? TLY_PTO_AS_ONLY_TARGET
               : (tly_pto_standing)standings[tly_isa_form_at(form)->handler];
}

/* ScalarOperationApplicable. */
static tly_pto_rule misplaced(const tly_pto_context *c, uint32_t form) {
    bool body = c->bundle_active && c->bundle_body_active;
    bool target = c->bundle_active && (c->barg.block_type == TLY_PTO_KIND_STANDARD ||
                                       c->barg.block_type == TLY_PTO_KIND_FLOATING);
    if (c->header.system_terminal_pending) {
        return TLY_PTO_RULE_AFTER_SERVICE_REQUEST;
    }
    switch (tly_pto_standing_of(form)) {
    case TLY_PTO_IN_BODY:
        return body ? TLY_PTO_RULE_NONE : TLY_PTO_RULE_OUTSIDE_BODY;
    case TLY_PTO_IN_SYSTEM_BODY:
        return body && c->barg.block_type == TLY_PTO_KIND_SYSTEM ? TLY_PTO_RULE_NONE
                                                                 : TLY_PTO_RULE_OUTSIDE_SYSTEM;
    case TLY_PTO_AS_CONDITION:
        if (!body || c->barg.transfer_type != TLY_PTO_TRANSFER_CONDITIONAL) {
            return TLY_PTO_RULE_OUTSIDE_CONDITIONAL;
        }
        return c->header.condition_set ? TLY_PTO_RULE_SECOND_CONDITION : TLY_PTO_RULE_NONE;
    case TLY_PTO_AS_ONLY_TARGET:
        if (target && c->header.commit_target_set) {
            return TLY_PTO_RULE_SECOND_TARGET;
        }
        return target ? TLY_PTO_RULE_NONE : TLY_PTO_RULE_OUTSIDE_TARGET;
    case TLY_PTO_AS_TARGET:
        return target ? TLY_PTO_RULE_NONE : TLY_PTO_RULE_OUTSIDE_TARGET;
    default:
        return TLY_PTO_RULE_NONE;
    }
}

static bool writes_tpc(const tly_isa_form_row *row) {
    return row->handler == TLY_HANDLER_JUMP_RELATIVE || row->handler == TLY_HANDLER_JUMP_REGISTER ||
           row->handler == TLY_HANDLER_ARCHITECTURE_ENTER_REQUEST;
}

bool tly_pto_execute_scalar(tly_pto_machine *m, const tly_pto_decoded *decoded) {
    const tly_isa_insn *insn = &decoded->insn;
    tly_pto_rule rule = misplaced(&m->core.context, insn->form);
    uint32_t selector;
    if (rule != TLY_PTO_RULE_NONE) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, rule, insn->form,
                              m->core.context.barg.block_type, 0, 0);
    }
    if (!decoded->legal) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_FIELD, insn->word,
                              insn->len * 8u, insn->form, 0);
    }
    if (!tly_pto_sources_valid(m, &decoded->operands, &selector)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_SOURCE_EMPTY,
                              selector, insn->form, 0, 0);
    }
    if (!tly_pto_scalar_routine_of(insn->form)(m, &decoded->operands)) {
        return false;
    }
    if (!writes_tpc(tly_isa_form_at(insn->form))) {
        m->core.context.tpc += insn->len;
    }
    return true;
}
