/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/fault.h"

#include <string.h>

#include "pto/sysreg.h"

enum { RING_BITS = 15, TRAP_INTERRUPT = 44, SERVICE_LEN = 4 };

/* EBARG0 as a trap writes it and a recovery reads it. */
enum {
    EBARG_VALID = 4,
    EBARG_ACTIVE = 5,
    EBARG_BODY = 6,
    EBARG_KIND = 7,
    EBARG_TRANSFER = 11,
    EBARG_TAKEN = 14,
    EBARG_WIDTH = 15
};
enum { ECSTATE_BODY = 4 };

static const uint8_t trap_numbers[TLY_PTO_NUM_FAULTS] = {
    [TLY_PTO_FAULT_NONE] = 0,
    [TLY_PTO_FAULT_EXECUTION_STATE_CHECK] = 0,
    [TLY_PTO_FAULT_ILLEGAL_INSTRUCTION] = 4,
    [TLY_PTO_FAULT_INSTRUCTION_PC] = 32,
    [TLY_PTO_FAULT_INSTRUCTION_PAGE] = 33,
    [TLY_PTO_FAULT_DATA_ALIGNMENT] = 34,
    [TLY_PTO_FAULT_DATA_PAGE] = 35,
    [TLY_PTO_FAULT_SOFTWARE_BREAKPOINT] = 50,
    [TLY_PTO_FAULT_HARDWARE_BREAKPOINT] = 49,
    [TLY_PTO_FAULT_HARDWARE_WATCHPOINT] = 51,
    [TLY_PTO_FAULT_ASSERT] = 52,
    [TLY_PTO_FAULT_TILE_LEGALITY] = 5,
    [TLY_PTO_FAULT_TILE_ALLOCATION] = 5,
    [TLY_PTO_FAULT_BUNDLE_CONTROL] = 5,
    [TLY_PTO_FAULT_BUNDLE_POST_COMMIT] = 5,
    [TLY_PTO_FAULT_SERVICE_REQUEST] = 6,
};

/* Codes of kinds leave 3 and 4 to vector blocks, which this release does not have. */
uint32_t tly_pto_kind_code(uint32_t kind) {
    return kind < TLY_PTO_KIND_TILE_ELEMENT ? kind : kind + 2;
}

uint32_t tly_pto_kind_of_code(uint32_t code) {
    if (code >= 5 && code <= 8) {
        return code - 2;
    }
    return code == 1 || code == 2 ? code : TLY_PTO_KIND_STANDARD;
}

static uint32_t trap_target(uint32_t ring) {
    return ring == 0 ? 0 : 1;
}

static void enter_ring(tly_pto_machine *m, uint32_t ring, uint64_t address) {
    uint64_t vector = m->core.context_registers[ring][TLY_PTO_EVBASE];
    m->core.current_acr = (uint8_t)ring;
    m->core.base.core_state = (m->core.base.core_state & ~(uint64_t)RING_BITS) | ring;
    m->core.context.tpc = vector != 0 ? vector : address;
    if (m->watch_traps != NULL) {
        m->watch_traps(m->watch_traps_user, m, ring);
    }
}

/* SaveTrapContext of the reference profile. What was saved before is lost. */
static void save_context(tly_pto_machine *m, uint32_t ring, uint32_t source) {
    const tly_pto_context *now = &m->core.context;
    tly_pto_saved_context *saved = &m->core.saved[ring];
    uint64_t *registers = m->core.context_registers[ring];
    saved->valid = true;
    saved->source_acr = (uint8_t)source;
    saved->core_state = m->core.base.core_state;
    saved->context = *now;

    registers[TLY_PTO_ECSTATE] =
        (m->core.base.core_state & ~(uint64_t)(RING_BITS | 1 << ECSTATE_BODY)) | source |
        (uint64_t)now->bundle_body_active << ECSTATE_BODY;
    registers[TLY_PTO_EBARG] = source | 1u << EBARG_VALID |
                               (uint64_t)now->bundle_active << EBARG_ACTIVE |
                               (uint64_t)now->bundle_body_active << EBARG_BODY |
                               tly_pto_kind_code(now->barg.block_type) << EBARG_KIND |
                               (uint32_t)now->barg.transfer_type << EBARG_TRANSFER |
                               (uint64_t)now->barg.taken << EBARG_TAKEN;
    registers[TLY_PTO_EBARG_BPC] = now->bpc;
    registers[TLY_PTO_EBARG_BPCN] = now->barg.bpcn;
    registers[TLY_PTO_EBARG_TPC] = now->tpc;
    registers[TLY_PTO_EBARG_RA] = now->return_address;
    for (uint32_t i = 0; i < TLY_PTO_QUEUE_DEPTH; i++) {
        registers[TLY_PTO_EBARG_T + i] = now->t_queue[i];
        registers[TLY_PTO_EBARG_U + i] = now->u_queue[i];
    }
    registers[TLY_PTO_EBARG_EXTRA] = 0;
    registers[TLY_PTO_EBARG_EXTRA + 1] = 0;
}

static void fill_trap(tly_pto_machine *m, uint32_t ring, bool asynchronous, uint32_t number,
                      uint32_t cause, uint64_t argument) {
    m->core.traps[ring] = (tly_pto_trap){.asynchronous = asynchronous,
                                         .argument_valid = true,
                                         .number = (uint8_t)number,
                                         .cause = cause,
                                         .argument0 = argument};
}

static void raise_with_cause(tly_pto_machine *m, tly_pto_fault fault, uint64_t address,
                             uint32_t cause) {
    uint32_t source = m->core.current_acr;
    uint32_t ring = trap_target(source);
    save_context(m, ring, source);
    m->core.last_fault = (uint8_t)fault;
    m->core.fault_address = address;
    fill_trap(m, ring, false, trap_numbers[fault], cause, address);
    enter_ring(m, ring, address);
}

bool tly_pto_raise(tly_pto_machine *m, tly_pto_fault fault, uint64_t address, tly_pto_rule rule,
                   uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    m->reason = (tly_pto_reason){.rule = (uint16_t)rule, .values = {a, b, c, d}};
    raise_with_cause(m, fault, address, 0);
    return false;
}

bool tly_pto_refuse(tly_pto_machine *m, tly_pto_fault fault, tly_pto_rule rule, uint64_t a,
                    uint64_t b, uint64_t c, uint64_t d) {
    return tly_pto_raise(m, fault, m->core.context.tpc, rule, a, b, c, d);
}

bool tly_pto_breakpoint(tly_pto_machine *m, uint32_t tag) {
    m->reason = (tly_pto_reason){.rule = TLY_PTO_RULE_BREAKPOINT, .values = {tag}};
    raise_with_cause(m, TLY_PTO_FAULT_SOFTWARE_BREAKPOINT, m->core.context.tpc, tag);
    return false;
}

void tly_pto_clear_fault(tly_pto_machine *m) {
    m->core.last_fault = TLY_PTO_FAULT_NONE;
    m->core.fault_address = 0;
    memset(&m->core.traps[m->core.current_acr], 0, sizeof(tly_pto_trap));
}

void tly_pto_raise_interrupt(tly_pto_machine *m, uint32_t interrupt, uint32_t cause) {
    uint32_t source = m->core.current_acr;
    uint32_t ring = trap_target(source);
    tly_pto_set_pending(m, ring, interrupt, true);
    if (!tly_pto_interrupt_enabled(m, ring, interrupt)) {
        return;
    }
    save_context(m, ring, source);
    m->core.last_fault = TLY_PTO_FAULT_NONE;
    m->core.fault_address = 0;
    fill_trap(m, ring, true, TRAP_INTERRUPT, cause, interrupt);
    enter_ring(m, ring, m->core.context.tpc);
}

bool tly_pto_service_permitted(uint32_t ring, uint32_t request_type, uint32_t *out_target) {
    *out_target = request_type == 1 ? 1 : 0;
    if (ring == 1) {
        return request_type == 0 || request_type == 2;
    }
    return ring >= 2 && request_type <= 2;
}

void tly_pto_enter_service(tly_pto_machine *m, uint32_t request_type, uint32_t target) {
    uint64_t source_tpc = m->core.context.tpc;
    uint64_t resume = source_tpc + SERVICE_LEN;
    save_context(m, target, m->core.current_acr);
    m->core.saved[target].context.tpc = resume;
    m->core.context_registers[target][TLY_PTO_EBARG_TPC] = resume;
    m->core.last_fault = TLY_PTO_FAULT_SERVICE_REQUEST;
    m->core.fault_address = source_tpc;
    m->reason =
        (tly_pto_reason){.rule = TLY_PTO_RULE_SERVICE_REQUEST, .values = {request_type, target}};
    fill_trap(m, target, false, trap_numbers[TLY_PTO_FAULT_SERVICE_REQUEST], request_type,
              source_tpc);
    enter_ring(m, target, source_tpc);
}

static bool control_legal(uint64_t control) {
    uint32_t kind = control >> EBARG_KIND & 15;
    bool active = (control >> EBARG_ACTIVE & 1) != 0;
    bool body = (control >> EBARG_BODY & 1) != 0;
    return control >> EBARG_WIDTH == 0 && (kind <= 2 || (kind >= 5 && kind <= 8)) &&
           (control >> EBARG_TRANSFER & 7) <= TLY_PTO_TRANSFER_INDIRECT_CALL && (active || !body);
}

bool tly_pto_context_recoverable(const tly_pto_machine *m, uint32_t ring) {
    const uint64_t *registers = m->core.context_registers[ring];
    uint64_t control = registers[TLY_PTO_EBARG];
    return m->core.saved[ring].valid && (control >> EBARG_VALID & 1) != 0 &&
           control_legal(control) &&
           (control & RING_BITS) == (registers[TLY_PTO_ECSTATE] & RING_BITS) &&
           (registers[TLY_PTO_EBARG_BPC] & 1) == 0 && (registers[TLY_PTO_EBARG_TPC] & 1) == 0;
}

void tly_pto_recover_context(tly_pto_machine *m, uint32_t ring) {
    uint64_t *registers = m->core.context_registers[ring];
    tly_pto_context *now = &m->core.context;
    uint64_t control = registers[TLY_PTO_EBARG];
    *now = m->core.saved[ring].context;
    now->tpc = registers[TLY_PTO_EBARG_TPC];
    now->bpc = registers[TLY_PTO_EBARG_BPC];
    now->bundle_active = (control >> EBARG_ACTIVE & 1) != 0;
    now->bundle_body_active = (control >> EBARG_BODY & 1) != 0;
    now->barg.block_type = (uint8_t)tly_pto_kind_of_code(control >> EBARG_KIND & 15);
    now->barg.transfer_type = control >> EBARG_TRANSFER & 7;
    now->barg.taken = (control >> EBARG_TAKEN & 1) != 0;
    now->barg.bpcn = registers[TLY_PTO_EBARG_BPCN];
    now->return_address = registers[TLY_PTO_EBARG_RA];
    for (uint32_t i = 0; i < TLY_PTO_QUEUE_DEPTH; i++) {
        now->t_queue[i] = registers[TLY_PTO_EBARG_T + i];
        now->u_queue[i] = registers[TLY_PTO_EBARG_U + i];
    }
    m->core.base.core_state = registers[TLY_PTO_ECSTATE];
    m->core.current_acr = registers[TLY_PTO_ECSTATE] & RING_BITS;
    registers[TLY_PTO_EBARG] = control & ~(UINT64_C(1) << EBARG_VALID);
    m->core.saved[ring].valid = false;
}
