/* SPDX-License-Identifier: Apache-2.0 */
/* Starts, stops and commits of blocks (asl/block/model/dispatch/start, commit/validation,
 * lifecycle). */
#include "pto/block/transfer.h"

#include "pto/block/command.h"
#include "pto/block/header.h"
#include "pto/exec.h"
#include "pto/fault.h"
#include "pto/registers.h"

/* Codes of the branch type field; the table of forms admits no other. */
enum { BRANCH_FALL = 1, BRANCH_IND = 5, BRANCH_ICALL = 6, BRANCH_RET = 7 };

static bool selects_target(const tly_pto_barg *barg) {
    return barg->transfer_type == TLY_PTO_TRANSFER_CONDITIONAL
               ? barg->taken
               : barg->transfer_type != TLY_PTO_TRANSFER_FALLTHROUGH;
}

static uint64_t commit_pc(const tly_pto_context *context, uint64_t continuation) {
    return selects_target(&context->barg) ? context->barg.bpcn : continuation;
}

static void close_block(tly_pto_context *context, uint64_t next) {
    context->bundle_active = false;
    context->bundle_body_active = false;
    tly_pto_clear_header(&context->header);
    context->barg = (tly_pto_barg){0};
    context->bundle_sequential_pc = 0;
    context->frame_stack_return_target = 0;
    context->bpc = 0;
    context->tpc = next;
}

bool tly_pto_complete_bundle(tly_pto_machine *m, uint64_t continuation) {
    tly_pto_context *context = &m->core.context;
    const uint64_t next = commit_pc(context, continuation);
    if (!context->bundle_active) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_STOP_NO_BLOCK, 0, 0, 0,
                              0);
    }
    if (((continuation | next) & 1) != 0) {
        return tly_pto_raise(m, TLY_PTO_FAULT_INSTRUCTION_PC, next, TLY_PTO_RULE_COMMIT_ODD, next,
                             context->bpc, 0, 0);
    }
    if (context->header.control.dimension_reduction &&
        context->barg.block_type != TLY_PTO_KIND_TILE_ELEMENT &&
        context->barg.block_type != TLY_PTO_KIND_TILE_MEMORY) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_DR_BLOCK, context->bpc,
                              0, 0, 0);
    }
    const tly_pto_operation *operation = &context->header.operation;
    if (operation->valid && operation->operation_class > TLY_PTO_CLASS_TILE_MATRIX) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_OPERATION_CLASS,
                              context->bpc, operation->operation_class, 0, 0);
    }
    if (operation->valid && operation->operation_class != TLY_PTO_CLASS_CONTROL &&
        !tly_pto_execute_tile_operation(m)) {
        return false;
    }
    const bool trap = context->header.control.trap_enabled;
    const uint64_t bpc = context->bpc;
    close_block(context, next);
    if (trap) {
        return tly_pto_raise(m, TLY_PTO_FAULT_BUNDLE_POST_COMMIT, next,
                             TLY_PTO_RULE_POST_COMMIT_TRAP, bpc, next, 0, 0);
    }
    return true;
}

static inline bool open_block(tly_pto_machine *m, const tly_pto_opening *opening) {
    tly_pto_context *context = &m->core.context;
    const uint64_t pc = context->tpc;
    if (context->bundle_active && !tly_pto_complete_bundle(m, pc)) {
        return false;
    }
    tly_pto_clear_header(&context->header);
    if ((opening->target & 1) != 0) {
        return tly_pto_raise(m, TLY_PTO_FAULT_INSTRUCTION_PC, opening->target,
                             TLY_PTO_RULE_ODD_TARGET, opening->target, 0, 0, 0);
    }
    context->bundle_active = true;
    context->bundle_body_active = false;
    /* member by member: a wide copy of what was just written in bytes would wait for them */
    bool system = opening->kind == TLY_PTO_KIND_SYSTEM;
    context->barg.block_type = opening->kind;
    context->barg.transfer_type = system ? 0 : opening->transfer;
    context->barg.taken = !system && opening->taken;
    context->barg.bpcn = system ? 0 : opening->target;
    context->bundle_sequential_pc = opening->sequential;
    context->frame_stack_return_target = opening->return_target;
    context->bpc = opening->trace ? context->tpc : pc;
    context->tpc = opening->sequential;
    if (opening->transfer == TLY_PTO_TRANSFER_CALL ||
        opening->transfer == TLY_PTO_TRANSFER_INDIRECT_CALL) {
        context->return_address = opening->return_target;
        tly_pto_write_gpr(m, TLY_PTO_RA, opening->return_target);
    }
    return true;
}

bool tly_pto_open_block(tly_pto_machine *m, const tly_pto_opening *opening) {
    return open_block(m, opening);
}

static int64_t field_at(const tly_isa_insn *insn, uint32_t place) {
    return place == TLY_PTO_NO_FIELD ? 0 : insn->fields[place];
}

static uint8_t transfer_of(const tly_isa_insn *insn, const tly_pto_start *start) {
    switch (field_at(insn, start->branch_place)) {
    case BRANCH_FALL:
        return TLY_PTO_TRANSFER_FALLTHROUGH;
    case BRANCH_IND:
        return TLY_PTO_TRANSFER_INDIRECT;
    case BRANCH_ICALL:
        return TLY_PTO_TRANSFER_INDIRECT_CALL;
    case BRANCH_RET:
        return TLY_PTO_TRANSFER_RETURN;
    default:
        return start->transfer;
    }
}

/* What the block is to do, from its start alone (asl/block/model/dispatch/decode). */
static void describe(const tly_isa_insn *insn, const tly_pto_start *start,
                     tly_pto_operation *out_operation) {
    *out_operation = (tly_pto_operation){
        .valid = true,
        .form_identity = start->identity,
        .operation_class = start->klass,
        .branch_type_valid = start->branch_place != TLY_PTO_NO_FIELD,
        .branch_type = (uint8_t)field_at(insn, start->branch_place),
    };
    if (start->klass == TLY_PTO_CLASS_CONTROL) {
        return;
    }
    out_operation->selector_valid = true;
    out_operation->selector = start->selector;
    out_operation->data_type_valid = true;
    out_operation->data_type = (uint8_t)insn->fields[start->dtype_place];
    if (start->mode_place != TLY_PTO_NO_FIELD) {
        const uint32_t mode = (uint32_t)insn->fields[start->mode_place];
        const uint32_t function = (uint32_t)insn->fields[start->mode_place + 1];
        out_operation->mode_valid = true;
        out_operation->mode = (uint8_t)mode;
        out_operation->selector = (uint16_t)(mode << 5 | function);
    }
}

void tly_pto_describe_start(const tly_isa_insn *insn, const tly_pto_command *command, uint64_t pc,
                            tly_pto_opening *out_opening, tly_pto_operation *out_operation) {
    const tly_pto_start *start = &command->start;
    tly_pto_opening opening = {
        .kind = start->kind,
        .transfer = transfer_of(insn, start),
        .sequential = pc + insn->len,
        .return_target = pc + insn->len,
    };
    describe(insn, start, out_operation);
    opening.taken = opening.transfer != TLY_PTO_TRANSFER_CONDITIONAL;
    opening.target = opening.sequential;
    if (start->offset_place != TLY_PTO_NO_FIELD) {
        opening.target = pc + ((uint64_t)insn->fields[start->offset_place] << 1);
    }
    if (start->return_place != TLY_PTO_NO_FIELD) {
        opening.return_target =
            pc + insn->len - 2 + ((uint64_t)insn->fields[start->return_place] << 1);
    }
    *out_opening = opening;
}

/* Of a tile operation that no mode and function name. */
static bool is_reserved(const tly_pto_operation *operation) {
    return operation->mode_valid &&
           tly_isa_tileop_find(operation->mode, operation->selector & 31) == NULL;
}

static void set_operation(tly_pto_header *header, const tly_pto_operation *operation) {
    header->operation = *operation;
    if (operation->data_type_valid) {
        header->data.data_type = operation->data_type;
    }
}

bool tly_pto_describe_tile_start(const tly_isa_insn *insn, const tly_pto_command *command,
                                 tly_pto_operation *out_operation) {
    tly_pto_opening opening;
    tly_pto_describe_start(insn, command, 0, &opening, out_operation);
    return opening.transfer == TLY_PTO_TRANSFER_FALLTHROUGH && !is_reserved(out_operation);
}

bool tly_pto_start_tile_block(tly_pto_machine *m, uint32_t len, uint8_t kind,
                              const tly_pto_operation *operation) {
    const uint64_t next = m->core.context.tpc + len;
    const tly_pto_opening opening = {
        .kind = kind,
        .transfer = TLY_PTO_TRANSFER_FALLTHROUGH,
        .taken = true,
        .target = next,
        .sequential = next,
        .return_target = next,
    };
    if (!open_block(m, &opening)) {
        return false;
    }
    set_operation(&m->core.context.header, operation);
    return true;
}

bool tly_pto_start_block(tly_pto_machine *m, const tly_isa_insn *insn,
                         const tly_pto_command *command) {
    tly_pto_context *context = &m->core.context;
    tly_pto_operation operation;
    tly_pto_opening opening;
    tly_pto_describe_start(insn, command, context->tpc, &opening, &operation);
    if (is_reserved(&operation)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_TEPL_RESERVED,
                              operation.mode, operation.selector & 31, 0, 0);
    }
    if (opening.transfer == TLY_PTO_TRANSFER_INDIRECT ||
        opening.transfer == TLY_PTO_TRANSFER_INDIRECT_CALL) {
        if (!context->bundle_active || context->barg.block_type > TLY_PTO_KIND_FLOATING) {
            return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_INDIRECT_NO_TARGET,
                                  insn->form, 0, 0, 0);
        }
        opening.target = context->barg.bpcn;
    } else if (opening.transfer == TLY_PTO_TRANSFER_RETURN) {
        opening.target = context->return_address;
    }
    if ((opening.target & 1) != 0) {
        return tly_pto_raise(m, TLY_PTO_FAULT_INSTRUCTION_PC, opening.target,
                             TLY_PTO_RULE_ODD_TARGET, opening.target, 0, 0, 0);
    }
    if (!tly_pto_open_block(m, &opening)) {
        return false;
    }
    set_operation(&context->header, &operation);
    return true;
}

bool tly_pto_stop_block(tly_pto_machine *m, const tly_isa_insn *insn,
                        const tly_pto_command *command) {
    (void)command;
    return tly_pto_complete_bundle(m, m->core.context.tpc + insn->len);
}

bool tly_pto_enter_body(tly_pto_machine *m) {
    if (!m->core.context.bundle_active) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_BODY_NO_BLOCK, 0, 0, 0,
                              0);
    }
    m->core.context.bundle_body_active = true;
    return true;
}
