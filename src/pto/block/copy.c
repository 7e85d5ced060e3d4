/* SPDX-License-Identifier: Apache-2.0 */
/* MCOPY and MSET (asl/block/model/commit/effects). A copy keeps its progress in the state and goes
 * on from there when it is executed again after a fault. */
#include <string.h>

#include "isa/fields.h"
#include "pto/block/command.h"
#include "pto/events.h"
#include "pto/fault.h"
#include "pto/memory.h"
#include "pto/registers.h"

enum { STEP_LEN = 8, MSET_MAX_LEN = 63 };

static bool wraps(uint64_t address, uint64_t len) {
    return len != 0 && address + len < address;
}

static bool start(tly_pto_machine *m, const tly_isa_insn *insn) {
    tly_pto_copy_template *copy = &m->core.context.memory_copy_template;
    const uint64_t to = tly_pto_read_gpr(m, (uint32_t)insn->fields[TLY_FIELD_MCOPY_REG_SRC0]);
    const uint64_t from = tly_pto_read_gpr(m, (uint32_t)insn->fields[TLY_FIELD_MCOPY_REG_SRC1]);
    const uint64_t len = tly_pto_read_gpr(m, (uint32_t)insn->fields[TLY_FIELD_MCOPY_REG_SRC2]);
    if (wraps(to, len) || wraps(from, len)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_COPY_WRAPS, to,
                              from, len, 0);
    }
    if (len != 0 && to < from + len && from < to + len) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_COPY_OVERLAP, to,
                              from, len, 0);
    }
    *copy = (tly_pto_copy_template){
        .active = true,
        .instruction_pc = m->core.context.tpc,
        .destination = to,
        .source = from,
        .length = len,
    };
    return true;
}

/* One access: the largest power of two up to eight that remains. */
static bool step(tly_pto_machine *m, tly_pto_copy_template *copy) {
    const uint64_t remaining = copy->length - copy->progress;
    const uint64_t from = copy->source + copy->progress;
    const uint64_t to = copy->destination + copy->progress;
    uint32_t size = STEP_LEN;
    while (size > remaining) {
        size /= 2;
    }
    if (!tly_pto_check_access(m, from, size, 1) || !tly_pto_check_access(m, to, size, 1)) {
        return false;
    }
    const uint64_t value = tly_pto_peek(m, from, size);
    tly_pto_record_load(m, from, size, value, TLY_PTO_ORDER_RELAXED);
    tly_pto_poke(m, to, size, value);
    tly_pto_record_store(m, to, size, value, TLY_PTO_ORDER_RELAXED);
    copy->progress += size;
    return true;
}

/* As many whole steps as cannot fail, at once. The ranges do not overlap. */
static void copy_safe_part(tly_pto_machine *m, tly_pto_copy_template *copy) {
    const uint64_t limit = tly_pto_memory_limit(m);
    const uint64_t from = copy->source + copy->progress;
    const uint64_t to = copy->destination + copy->progress;
    uint64_t len = copy->length - copy->progress;
    if (from >= limit || to >= limit || m->capture_enabled) {
        return;
    }
    len = len < limit - from ? len : limit - from;
    len = (len < limit - to ? len : limit - to) & ~(uint64_t)(STEP_LEN - 1);
    if (len != 0) {
        memcpy(m->memory.bytes + to, m->memory.bytes + from, (size_t)len);
        tly_pto_memory_wrote(m, to, len);
        copy->progress += len;
    }
}

bool tly_pto_copy_memory(tly_pto_machine *m, const tly_isa_insn *insn,
                         const tly_pto_command *command) {
    (void)command;
    tly_pto_copy_template *copy = &m->core.context.memory_copy_template;
    if (!copy->active && !start(m, insn)) {
        return false;
    }
    if (copy->instruction_pc != m->core.context.tpc) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_COPY_UNFINISHED,
                              copy->instruction_pc, copy->progress, copy->length, 0);
    }
    copy_safe_part(m, copy);
    while (copy->progress != copy->length) {
        if (!step(m, copy)) {
            return false;
        }
    }
    m->core.requests.memory_command_address = copy->destination;
    m->core.requests.memory_command_size = copy->length;
    copy->active = false;
    tly_pto_advance(m, insn);
    return true;
}

bool tly_pto_set_memory(tly_pto_machine *m, const tly_isa_insn *insn,
                        const tly_pto_command *command) {
    (void)command;
    const uint64_t to = tly_pto_read_gpr(m, (uint32_t)insn->fields[TLY_FIELD_MSET_REG_SRC0]);
    const uint64_t value = tly_pto_read_gpr(m, (uint32_t)insn->fields[TLY_FIELD_MSET_REG_SRC1]);
    const uint64_t len = tly_pto_read_gpr(m, (uint32_t)insn->fields[TLY_FIELD_MSET_REG_SRC2]);
    if (len > MSET_MAX_LEN) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_SET_LENGTH, len,
                              MSET_MAX_LEN, 0, 0);
    }
    if (len != 0) {
        if (!tly_pto_check_access(m, to, len, 1)) {
            return false;
        }
        memset(m->memory.bytes + to, (int)(value & 0xFF), (size_t)len);
        tly_pto_memory_wrote(m, to, len);
    }
    m->core.requests.memory_command_address = to;
    m->core.requests.memory_command_size = len;
    tly_pto_advance(m, insn);
    return true;
}
