/* SPDX-License-Identifier: Apache-2.0 */
/* Between the machine's state and what predecoded code knows of it. */
#include "pto/block/header.h"
#include "pto/fast/code.h"
#include "pto/registers.h"

static uint32_t valid_bits(const bool *valid) {
    uint32_t bits = 0;
    for (uint32_t i = 0; i < TLY_PTO_QUEUE_DEPTH; i++) {
        bits |= (uint32_t)valid[i] << i;
    }
    return bits;
}

bool tly_pto_mode_of(const tly_pto_machine *m, uint32_t *out_mode) {
    const tly_pto_context *c = &m->core.context;
    const tly_pto_header *header = &c->header;
    uint32_t mode = valid_bits(c->t_queue_valid) << TLY_PTO_MODE_T_VALID |
                    valid_bits(c->u_queue_valid) << TLY_PTO_MODE_U_VALID |
                    (uint32_t)m->core.current_pe << TLY_PTO_MODE_ELEMENT;
    if (header->system_terminal_pending) {
        return false;
    }
    if (c->bundle_active) {
        if (!header->untouched || c->barg.block_type > TLY_PTO_KIND_SYSTEM ||
            (header->operation.valid &&
             header->operation.operation_class != TLY_PTO_CLASS_CONTROL)) {
            return false;
        }
        mode |= TLY_PTO_MODE_ACTIVE | (c->bundle_body_active ? TLY_PTO_MODE_BODY : 0) |
                (header->condition_set ? TLY_PTO_MODE_CONDITION_SET : 0) |
                (header->commit_target_set ? TLY_PTO_MODE_TARGET_SET : 0) |
                (uint32_t)c->barg.block_type << TLY_PTO_MODE_KIND |
                (uint32_t)c->barg.transfer_type << TLY_PTO_MODE_TRANSFER;
    }
    *out_mode = mode;
    return true;
}

void tly_pto_restore_block(tly_pto_machine *m, const tly_pto_block_state *snapshot) {
    tly_pto_context *c = &m->core.context;
    tly_pto_barg barg = {.block_type = snapshot->kind,
                         .transfer_type = snapshot->transfer,
                         .taken = snapshot->taken_in_state ? c->barg.taken : snapshot->taken,
                         .bpcn = snapshot->bpcn_in_state ? c->barg.bpcn : snapshot->bpcn};
    tly_pto_clear_header(&c->header);
    c->header.operation = snapshot->operation;
    c->header.condition_set = snapshot->condition_set;
    c->header.commit_target_set = snapshot->target_set;
    c->bundle_active = snapshot->active;
    c->bundle_body_active = snapshot->body;
    c->barg = barg;
    c->bpc = snapshot->bpc;
    c->bundle_sequential_pc = snapshot->sequential;
    c->frame_stack_return_target = snapshot->return_target;
}

static void flush(tly_pto_machine *m, uint32_t first, uint32_t pushes, bool t) {
    uint32_t skipped = pushes > TLY_PTO_QUEUE_DEPTH ? pushes - TLY_PTO_QUEUE_DEPTH : 0;
    for (uint32_t i = skipped; i < pushes; i++) {
        if (t) {
            tly_pto_push_t(m, m->scratch[first + i]);
        } else {
            tly_pto_push_u(m, m->scratch[first + i]);
        }
    }
}

void tly_pto_flush_queues(tly_pto_machine *m, uint32_t t_pushes, uint32_t u_pushes) {
    flush(m, TLY_PTO_SCRATCH_T, t_pushes, true);
    flush(m, TLY_PTO_SCRATCH_U, u_pushes, false);
}
