/* SPDX-License-Identifier: Apache-2.0 */
/* Frame templates (asl/block/model/lifecycle/lifetime): they move one register at a time, keep
 * what they have done in the state, and go on from there when they are executed again after a
 * fault. So a fault in the middle leaves the stack pointer moved and some registers moved. */
#include "isa/fields.h"
#include "pto/block/command.h"
#include "pto/events.h"
#include "pto/fault.h"
#include "pto/memory.h"
#include "pto/registers.h"

enum { SLOT_LEN = 8, WRAP = TLY_PTO_NUM_GPRS - TLY_PTO_SP /* R23 is followed by R2 */ };

_Static_assert((int)TLY_FIELD_FENTRY_UIMM == (int)TLY_FIELD_FRET_STK_UIMM &&
                   (int)TLY_FIELD_FENTRY_SRC_BEGIN == (int)TLY_FIELD_FEXIT_DST_BEGIN &&
                   (int)TLY_FIELD_FENTRY_SRC_END == (int)TLY_FIELD_FRET_RA_DST_END,
               "the four templates share their places");

static uint32_t register_at(const tly_pto_frame_template *frame, uint32_t ordinal) {
    uint32_t index = frame->begin_reg + ordinal;
    return index < TLY_PTO_NUM_GPRS ? index : index - WRAP;
}

static uint32_t count_registers(uint32_t begin, uint32_t end) {
    return end >= begin ? end - begin + 1 : WRAP - begin + end + 1;
}

/* Takes the operands into the state. An odd return address is found after that. */
static bool start(tly_pto_machine *m, const tly_isa_insn *insn, uint32_t kind) {
    tly_pto_frame_template *frame = &m->core.context.frame_template;
    const uint32_t begin = (uint32_t)insn->fields[TLY_FIELD_FENTRY_SRC_BEGIN];
    const uint32_t end = (uint32_t)insn->fields[TLY_FIELD_FENTRY_SRC_END];
    const uint64_t size = (uint64_t)insn->fields[TLY_FIELD_FENTRY_UIMM];
    const uint32_t count = count_registers(begin, end);
    if (size < count * SLOT_LEN) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_FRAME_SIZE, size,
                              count, count * SLOT_LEN, 0);
    }
    const uint64_t sp = tly_pto_read_gpr(m, TLY_PTO_SP);
    frame->active = true;
    frame->kind = (uint8_t)kind;
    frame->instruction_pc = m->core.context.tpc;
    frame->begin_reg = (uint8_t)begin;
    frame->end_reg = (uint8_t)end;
    frame->register_count = (uint8_t)count;
    frame->frame_size = size;
    frame->caller_sp = kind == TLY_PTO_FRAME_ENTRY ? sp : sp + size;
    frame->stack_adjusted = false;
    frame->progress = 0;
    frame->return_target_valid = kind == TLY_PTO_FRAME_RETURN_ADDRESS;
    frame->return_target = frame->return_target_valid ? m->core.context.return_address : 0;
    if ((frame->return_target & 1) != 0) {
        frame->active = false;
        return tly_pto_raise(m, TLY_PTO_FAULT_INSTRUCTION_PC, frame->return_target,
                             TLY_PTO_RULE_FRAME_RETURN_ODD, frame->return_target, 0, 0, 0);
    }
    for (uint32_t i = 0; kind == TLY_PTO_FRAME_ENTRY && i < TLY_PTO_NUM_FRAME_REGISTERS; i++) {
        frame->source_values[i] = i < count ? tly_pto_read_gpr(m, register_at(frame, i)) : 0;
    }
    return true;
}

static bool store_step(tly_pto_machine *m, tly_pto_frame_template *frame, uint64_t address) {
    return tly_pto_store(m, address, SLOT_LEN, frame->source_values[frame->progress],
                         TLY_PTO_ORDER_RELAXED);
}

static bool load_step(tly_pto_machine *m, tly_pto_frame_template *frame, uint64_t address) {
    if (!tly_pto_check_access(m, address, SLOT_LEN, SLOT_LEN)) {
        return false;
    }
    const uint64_t value = tly_pto_peek(m, address, SLOT_LEN);
    const uint32_t index = register_at(frame, frame->progress);
    if (frame->kind == TLY_PTO_FRAME_RETURN_STACK && frame->progress == 0) {
        if ((value & 1) != 0) {
            return tly_pto_raise(m, TLY_PTO_FAULT_INSTRUCTION_PC, value,
                                 TLY_PTO_RULE_FRAME_RETURN_ODD, value, 0, 0, 0);
        }
        frame->return_target = value;
        frame->return_target_valid = true;
    }
    tly_pto_record_load(m, address, SLOT_LEN, value, TLY_PTO_ORDER_RELAXED);
    tly_pto_write_gpr(m, index, value);
    if (index == TLY_PTO_RA) {
        m->core.context.return_address = value;
    }
    return true;
}

static void complete(tly_pto_machine *m, const tly_isa_insn *insn, tly_pto_frame_template *frame) {
    tly_pto_requests *requests = &m->core.requests;
    requests->frame_begin = frame->begin_reg;
    requests->frame_end = frame->end_reg;
    requests->frame_size = frame->frame_size;
    frame->active = false;
    if (frame->kind == TLY_PTO_FRAME_ENTRY) {
        requests->frame_depth += requests->frame_depth < TLY_PTO_MAX_FRAME_DEPTH;
    } else {
        requests->frame_depth -= requests->frame_depth > 0;
    }
    if (frame->kind == TLY_PTO_FRAME_RETURN_ADDRESS || frame->kind == TLY_PTO_FRAME_RETURN_STACK) {
        m->core.context.tpc = frame->return_target;
    } else {
        tly_pto_advance(m, insn);
    }
}

bool tly_pto_run_frame(tly_pto_machine *m, const tly_isa_insn *insn,
                       const tly_pto_command *command) {
    tly_pto_frame_template *frame = &m->core.context.frame_template;
    if (!frame->active && !start(m, insn, command->frame_kind)) {
        return false;
    }
    if (frame->instruction_pc != m->core.context.tpc || frame->kind != command->frame_kind) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_FRAME_UNFINISHED,
                              frame->instruction_pc, frame->progress, frame->register_count, 0);
    }
    if (!frame->stack_adjusted) {
        tly_pto_write_gpr(m, TLY_PTO_SP,
                          frame->kind == TLY_PTO_FRAME_ENTRY ? frame->caller_sp - frame->frame_size
                                                             : frame->caller_sp);
        frame->stack_adjusted = true;
    }
    while (frame->progress < frame->register_count) {
        const uint64_t address = frame->caller_sp - ((uint64_t)frame->progress + 1) * SLOT_LEN;
        if (!(frame->kind == TLY_PTO_FRAME_ENTRY ? store_step(m, frame, address)
                                                 : load_step(m, frame, address))) {
            return false;
        }
        frame->progress++;
    }
    complete(m, insn, frame);
    return true;
}
