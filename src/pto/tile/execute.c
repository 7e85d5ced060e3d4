/* SPDX-License-Identifier: Apache-2.0 */
/* The tile operation of a complete header, check by check in the order of the architecture
 * (asl/block/model/dispatch/tile-execution). */
#include "pto/exec.h"
#include "pto/fault.h"
#include "pto/tile/header.h"
#include "pto/tile/plan.h"
#include "pto/tile/resolve.h"
#include "pto/tile/tlsu.h"

enum { LOAD_STORE_ALIASES_FIRST = 9, LOAD_STORE_ALIASES_LAST = 12, STORE_ALIAS = 14 };

static bool refuse(tly_pto_machine *m, tly_pto_fault fault, const tly_pto_plan *plan) {
    const uint64_t *v = plan->reason.values;
    return tly_pto_refuse(m, fault, plan->reason.rule, v[0], v[1], v[2], v[3]);
}

static bool has_tile_binding(const tly_pto_header *header) {
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        if (header->tile_bindings[i].valid) {
            return true;
        }
    }
    return false;
}

static bool has_unused_shared(const tly_pto_header *header) {
    bool any = false;
    if (tly_pto_num_shared_bindings(header) == 0) {
        return false;
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_BINDINGS; i++) {
        any |= header->shared_bindings[i].valid && !header->shared_bindings[i].consumed;
    }
    return any;
}

/* Loads, stores and moves with a shared tile, by binding or by function. */
static bool selects_shared(const tly_pto_header *header) {
    const tly_pto_operation *operation = &header->operation;
    if (operation->operation_class != TLY_PTO_CLASS_TILE_MEMORY || !operation->selector_valid) {
        return false;
    }
    uint32_t function = operation->selector & 31;
    return tly_pto_num_shared_bindings(header) != 0 ||
           (function >= LOAD_STORE_ALIASES_FIRST && function <= LOAD_STORE_ALIASES_LAST) ||
           function == STORE_ALIAS;
}

/* Everything that is checked before the destinations are resolved. */
static bool check_header(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    if (header->fixed_point.valid) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_TILE_MATRIX_ATTRIBUTES,
                              plan->operation, 0, 0, 0);
    }
    if (!tly_pto_plan_check_bindings(m, plan)) {
        return refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, plan);
    }
    return (tly_pto_plan_read_registers(m, plan) && tly_pto_plan_check_attributes(m, plan) &&
            tly_pto_check_header(m, plan) && tly_pto_plan_check_masks(m, plan)) ||
           refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, plan);
}

static bool execute_planned(tly_pto_machine *m, uint32_t operation) {
    tly_pto_plan plan;
    tly_pto_fault fault;
    tly_pto_plan_begin(m, operation, &plan);
    if (tly_pto_plan_is_idle(m, &plan)) {
        return true;
    }
    if (!check_header(m, &plan)) {
        return false;
    }
    if (!tly_pto_resolve_results(m, &plan, &fault)) {
        return refuse(m, fault, &plan);
    }
    if (plan.row->check != NULL && !plan.row->check(m, &plan)) {
        tly_pto_plan_roll_back(m, &plan);
        return refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, &plan);
    }
    if (!plan.row->run(m, &plan)) {
        tly_pto_plan_roll_back(m, &plan);
        return false;
    }
    tly_pto_plan_commit(m, &plan);
    return true;
}

bool tly_pto_execute_tile_operation(tly_pto_machine *m) {
    const tly_pto_header *header = &m->core.context.header;
    uint32_t operation = tly_pto_select_tile_operation(m);
    const tly_pto_tile_row *row =
        operation < TLY_PTO_NUM_TILE_OPS ? &tly_pto_tile_rows[operation] : NULL;
    if (header->zero_participation_seen && !has_tile_binding(header) &&
        tly_pto_num_shared_bindings(header) == 0) {
        return true;
    }
    if (header->data_attributes_present && tly_pto_layout_code_is_cube(header->data.data_layout)) {
        return tly_pto_execute_cube_transport(m);
    }
    if (row != NULL && row->own != NULL) {
        return row->own(m);
    }
    if (selects_shared(header)) {
        return tly_pto_execute_shared_tlsu(m);
    }
    if (has_unused_shared(header)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TILE_SHARED_UNUSED,
                              operation, 0, 0, 0);
    }
    if (row == NULL) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION,
                              TLY_PTO_RULE_TILE_OPERATION_UNKNOWN, header->operation.selector, 0, 0,
                              0);
    }
    return execute_planned(m, operation);
}
