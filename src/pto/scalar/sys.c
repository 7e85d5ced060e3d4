/* SPDX-License-Identifier: Apache-2.0 */
/* System registers, fences, maintenance and requests (asl/scalar/model/sys). */
#include "pto/events.h"
#include "pto/exec.h"
#include "pto/fault.h"
#include "pto/scalar/scalar.h"
#include "pto/sysreg.h"

enum { LOW_REQUEST_BITS = 15 };

static void publish_request(tly_pto_machine *m, uint32_t request_type) {
    tly_pto_requests *requests = &m->core.requests;
    requests->architecture_request_epoch++;
    requests->control_operand =
        (requests->control_operand & ~(uint64_t)LOW_REQUEST_BITS) | request_type;
}

/* ACRC: the last instruction of its block; it always ends in a trap. */
bool tly_pto_sys_close_request(tly_pto_machine *m, const tly_pto_operands *o) {
    uint32_t request_type = (uint32_t)o->immediate;
    uint32_t target;
    if (!tly_pto_service_permitted(m->core.current_acr, request_type, &target)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION,
                              TLY_PTO_RULE_SERVICE_NOT_PERMITTED, request_type, m->core.current_acr,
                              0, 0);
    }
    m->core.context.header.untouched = false;
    m->core.context.header.system_terminal_pending = true;
    tly_pto_enter_service(m, request_type, target);
    publish_request(m, request_type);
    return false;
}

/* ACRE: commits its block, then takes back what the ring's bank holds. The bank survives a refusal,
 * whose own trap may have been saved into it. */
bool tly_pto_sys_enter_request(tly_pto_machine *m, const tly_pto_operands *o) {
    uint32_t ring = m->core.current_acr;
    tly_pto_saved_context *bank = &m->core.saved[ring];
    tly_pto_saved_context before = *bank;
    if (!tly_pto_context_recoverable(m, ring)) {
        tly_pto_refuse(m, TLY_PTO_FAULT_EXECUTION_STATE_CHECK, TLY_PTO_RULE_CONTEXT_LOST, ring,
                       before.valid, m->core.context_registers[ring][TLY_PTO_EBARG],
                       m->core.context_registers[ring][TLY_PTO_ECSTATE]);
        if (before.valid) {
            *bank = before;
        }
        return false;
    }
    if (!tly_pto_complete_bundle(m, m->core.context.bundle_sequential_pc)) {
        *bank = before;
        return false;
    }
    tly_pto_recover_context(m, ring);
    publish_request(m, (uint32_t)o->immediate);
    return true;
}

bool tly_pto_sys_assert(tly_pto_machine *m, const tly_pto_operands *o) {
    if (tly_pto_read_source(m, o->left) == 0) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ASSERT, TLY_PTO_RULE_ASSERTION, o->left, 0, 0, 0);
    }
    return true;
}

/* In the architecture's order: maintenance_operation holds the number. */
enum maintenance {
    DC_IALL,
    DC_IVA,
    DC_ISW,
    DC_ZVA,
    DC_CVA,
    DC_CIVA,
    DC_CSW,
    DC_CISW,
    IC_IALL,
    IC_IVA,
    BC_IALL,
    BC_IVA,
    TLB_IV,
    TLB_IAV,
    TLB_IA,
    TLB_IALL
};

static const uint16_t maintenance_forms[] = {
    [DC_IALL] = TLY_FORM_DC_IALL,   [DC_IVA] = TLY_FORM_DC_IVA,   [DC_ISW] = TLY_FORM_DC_ISW,
    [DC_ZVA] = TLY_FORM_DC_ZVA,     [DC_CVA] = TLY_FORM_DC_CVA,   [DC_CIVA] = TLY_FORM_DC_CIVA,
    [DC_CSW] = TLY_FORM_DC_CSW,     [DC_CISW] = TLY_FORM_DC_CISW, [IC_IALL] = TLY_FORM_IC_IALL,
    [IC_IVA] = TLY_FORM_IC_IVA,     [BC_IALL] = TLY_FORM_BC_IALL, [BC_IVA] = TLY_FORM_BC_IVA,
    [TLB_IV] = TLY_FORM_TLB_IV,     [TLB_IAV] = TLY_FORM_TLB_IAV, [TLB_IA] = TLY_FORM_TLB_IA,
    [TLB_IALL] = TLY_FORM_TLB_IALL,
};

static bool takes_operand(uint32_t operation) {
    return operation != DC_IALL && operation != IC_IALL && operation != BC_IALL &&
           operation != TLB_IALL;
}

/* Bits 63..47 are all the same. */
static bool canonical48(uint64_t address) {
    int64_t high = (int64_t)address >> 47;
    return high == 0 || high == -1;
}

static bool check_translation(tly_pto_machine *m, uint32_t operation, uint64_t operand) {
    enum { ASID_BITS = 16 };
    if (m->core.current_acr != 0) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_TLB_RING,
                              m->core.current_acr, 0, 0, 0);
    }
    if ((operation == TLB_IV || operation == TLB_IAV) && !canonical48(operand)) {
        return tly_pto_raise(m, TLY_PTO_FAULT_DATA_PAGE, operand, TLY_PTO_RULE_TLB_ADDRESS, operand,
                             0, 0, 0);
    }
    if (operation == TLB_IA && operand >> ASID_BITS != 0) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_TLB_SPACE, operand,
                              0, 0, 0);
    }
    return true;
}

/* Data and instructions are coherent here, so all that can be seen is that it happened. */
bool tly_pto_sys_maintain(tly_pto_machine *m, const tly_pto_operands *o) {
    tly_pto_requests *requests = &m->core.requests;
    uint32_t operation = 0;
    while (maintenance_forms[operation] != o->form) {
        operation++;
    }
    uint64_t operand = takes_operand(operation) ? tly_pto_read_source(m, o->left) : 0;
    if (operation >= TLB_IV) {
        if (!check_translation(m, operation, operand)) {
            return false;
        }
        requests->tlb_epoch++;
    } else if (operation >= BC_IALL) {
        requests->bundle_cache_epoch++;
    } else if (operation >= IC_IALL) {
        requests->instruction_cache_epoch++;
    } else {
        requests->data_cache_epoch++;
    }
    requests->maintenance_operation = (uint8_t)operation;
    requests->maintenance_operand = operand;
    return true;
}

/* BSE, BWE, BWI and BWT ask and go on: nothing waits in this profile. */
bool tly_pto_sys_control_request(tly_pto_machine *m, const tly_pto_operands *o) {
    tly_pto_requests *requests = &m->core.requests;
    requests->control_request = o->form == TLY_FORM_BSE   ? 0
                                : o->form == TLY_FORM_BWE ? 1
                                : o->form == TLY_FORM_BWI ? 2
                                                          : 3;
    requests->control_operand = tly_pto_read_source(m, o->left);
    requests->architecture_request_epoch++;
    return true;
}

bool tly_pto_sys_breakpoint(tly_pto_machine *m, const tly_pto_operands *o) {
    return tly_pto_breakpoint(m, (uint32_t)o->immediate);
}

bool tly_pto_sys_fence_data(tly_pto_machine *m, const tly_pto_operands *o) {
    enum { INSTRUCTIONS = 8 };
    uint32_t predecessor = (uint32_t)o->immediate;
    uint32_t successor = o->extra;
    m->core.reservation.valid = false;
    m->core.requests.fence_predecessor = (uint8_t)predecessor;
    m->core.requests.fence_successor = (uint8_t)successor;
    if (((predecessor | successor) & INSTRUCTIONS) != 0) {
        m->core.requests.instruction_cache_epoch++;
    }
    tly_pto_record_fence(m, predecessor, successor);
    return true;
}

bool tly_pto_sys_fence_instruction(tly_pto_machine *m, const tly_pto_operands *o) {
    m->core.reservation.valid = false;
    m->core.requests.instruction_cache_epoch++;
    return true;
}

bool tly_pto_sys_get(tly_pto_machine *m, const tly_pto_operands *o) {
    uint64_t value;
    if (!tly_pto_sysreg_read(m, (uint32_t)o->immediate, &value)) {
        return false;
    }
    tly_pto_write_destination(m, o->destination, value);
    return true;
}

bool tly_pto_sys_set(tly_pto_machine *m, const tly_pto_operands *o) {
    return tly_pto_sysreg_write(m, (uint32_t)o->immediate, tly_pto_read_source(m, o->left));
}

bool tly_pto_sys_swap(tly_pto_machine *m, const tly_pto_operands *o) {
    uint64_t old;
    if (!tly_pto_sysreg_swap(m, (uint32_t)o->immediate, tly_pto_read_source(m, o->left), &old)) {
        return false;
    }
    tly_pto_write_destination(m, o->destination, old);
    return true;
}

/* The words of BARG: where the block begins, where it goes, and what it is. */
bool tly_pto_sys_local_get(tly_pto_machine *m, const tly_pto_operands *o) {
    enum { WORD_BPC, WORD_BPCN, WORD_CONTROL };
    const tly_pto_context *c = &m->core.context;
    bool has_candidate =
        c->barg.block_type == TLY_PTO_KIND_STANDARD || c->barg.block_type == TLY_PTO_KIND_FLOATING;
    uint64_t value = tly_pto_kind_code(c->barg.block_type);
    if (o->immediate > WORD_CONTROL || (o->immediate == WORD_BPCN && !has_candidate)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_LOCAL_REGISTER,
                              (uint64_t)o->immediate, 0, 0, 0);
    }
    if (o->immediate == WORD_BPC) {
        value = c->bpc;
    } else if (o->immediate == WORD_BPCN) {
        value = c->barg.bpcn;
    } else {
        const tly_pto_control_attributes *control = &c->header.control;
        value |=
            has_candidate ? (uint64_t)c->barg.transfer_type << 4 | (uint64_t)c->barg.taken << 7 : 0;
        value |= (uint64_t)control->atomic << 8 | (uint64_t)control->acquire << 9 |
                 (uint64_t)control->release << 10 | (uint64_t)control->far << 11 |
                 (uint64_t)control->dimension_reduction << 12;
    }
    tly_pto_write_destination(m, o->destination, value);
    return true;
}
