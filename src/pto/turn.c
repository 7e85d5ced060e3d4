/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/turn.h"

#include "pto/block/command.h"
#include "pto/tile/header.h"

/* Functions of the memory operations. */
enum { COMPARE_AND_SWAP = 8, MOVE_TO_PEER = 13, FUNCTION_MASK = 31, ALL_ELEMENTS = 15 };

/* The commit of a block, as its header stands. */
static tly_pto_turn turn_of_commit(const tly_pto_header *header, uint32_t *out_mask) {
    const tly_pto_operation *operation = &header->operation;
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_BINDINGS; i++) {
        if (header->shared_bindings[i].valid) {
            *out_mask = header->shared_bindings[i].pe_mask;
            return TLY_PTO_TURN_TILES;
        }
    }
    if (!operation->valid || operation->operation_class != TLY_PTO_CLASS_TILE_MEMORY) {
        return TLY_PTO_TURN_NONE;
    }
    switch (operation->selector & FUNCTION_MASK) {
    case COMPARE_AND_SWAP:
        return TLY_PTO_TURN_MEMORY;
    case MOVE_TO_PEER:
        *out_mask = header->tile_bindings[0].valid ? ALL_ELEMENTS : 0;
        return *out_mask != 0 ? TLY_PTO_TURN_TILES : TLY_PTO_TURN_NONE;
    default:
        return TLY_PTO_TURN_NONE;
    }
}

tly_pto_turn tly_pto_turn_of(const tly_pto_machine *m, const tly_pto_decoded *d,
                             uint32_t *out_mask) {
    const tly_pto_context *c = &m->core.context;
    const tly_pto_control_attributes *control = &c->header.control;
    *out_mask = 0;
    if (!d->known) {
        return TLY_PTO_TURN_NONE;
    }
    if (c->bundle_active) {
        tly_pto_turn turn = d->is_command && tly_pto_command_of(d->insn.form)->ends_block
                                ? turn_of_commit(&c->header, out_mask)
                                : TLY_PTO_TURN_NONE;
        if (turn != TLY_PTO_TURN_NONE) {
            return turn;
        }
        if (control->atomic || control->acquire || control->release) {
            return TLY_PTO_TURN_MEMORY;
        }
    }
    const tly_isa_form_row *form = tly_isa_form_at(d->insn.form);
    switch (form->handler) {
    case TLY_HANDLER_EXECUTE_QUEUE_MOVE:
    case TLY_HANDLER_EXECUTE_QUEUE_PUSH:
    case TLY_HANDLER_EXECUTE_QUEUE_POP:
        return TLY_PTO_TURN_QUEUES;
    default:
        return tly_pto_takes_turn(form) ? TLY_PTO_TURN_MEMORY : TLY_PTO_TURN_NONE;
    }
}
