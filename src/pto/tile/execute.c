/* SPDX-License-Identifier: Apache-2.0 */
/* The tile operation of a complete header (asl/block/model/dispatch/tile-execution). */
#include "pto/exec.h"
#include "pto/fault.h"

static bool any_operand(const tly_pto_header *header) {
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        if (header->tile_bindings[i].valid) {
            return true;
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_BINDINGS; i++) {
        if (header->shared_bindings[i].valid) {
            return true;
        }
    }
    return false;
}

bool tly_pto_execute_tile_operation(tly_pto_machine *m) {
    const tly_pto_header *header = &m->core.context.header;
    if (header->zero_participation_seen && !any_operand(header)) {
        return true; /* no element takes part */
    }
    return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_OPERATION_CLASS,
                          m->core.context.bpc, header->operation.operation_class, 0, 0);
}
