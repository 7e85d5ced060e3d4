/* SPDX-License-Identifier: Apache-2.0 */
/* General queues: HL.QMT, HL.QPUSH, HL.QPOP
 * (asl/arch/programming-model/general-queue-management). What goes wrong with a queue is told by
 * the status in the result, never by a fault. */
#include "pto/block/queue.h"

#include <stddef.h>

#include "isa/fields.h"
#include "pto/block/command.h"
#include "pto/fault.h"
#include "pto/registers.h"

/* Bits 63:62 of a result. */
enum { STATUS_DONE = 0, STATUS_NOT_NOW = 1, STATUS_NO_QUEUE = 2, STATUS_SHIFT = 62 };
enum { CAPACITY_MASK = TLY_PTO_GQM_MAX_CAPACITY, ENTRY_LEN = 8 };
enum { FLAG_RELAXED = 1, FLAG_EVENT_OF_POP = 2, FLAG_EVENT = 4, FLAG_FIRST = 8, FLAG_SUSPEND = 2 };

static uint64_t result_of(uint64_t primary, uint64_t status) {
    return primary | status << STATUS_SHIFT;
}

static tly_pto_gqm_queue *find(tly_pto_machine *m, uint64_t address) {
    for (uint32_t slot = 0; slot < m->num_queues; slot++) {
        if (m->queues[slot].valid && m->queues[slot].address == address) {
            return &m->queues[slot];
        }
    }
    return NULL;
}

/* The queue of this address, or a slot that is free; NULL if there is neither. The reference takes
 * for granted that there is one; here a queue too many is told like a queue that does not exist. */
static tly_pto_gqm_queue *find_or_take(tly_pto_machine *m, uint64_t address) {
    tly_pto_gqm_queue *queue = find(m, address);
    for (uint32_t slot = 0; queue == NULL && slot < m->num_queues; slot++) {
        if (!m->queues[slot].valid) {
            queue = &m->queues[slot];
        }
    }
    return queue;
}

/* Marked by a host, or in a state that only a host can have made. */
static bool is_corrupt(const tly_pto_gqm_queue *queue) {
    return queue->corrupt || queue->count > queue->capacity ||
           (queue->head != 0 && queue->head >= queue->capacity);
}

static tly_pto_gqm_entry *entries_of(tly_pto_machine *m, const tly_pto_gqm_queue *queue) {
    return m->queue_entries + (size_t)(queue - m->queues) * TLY_PTO_GQM_MAX_CAPACITY;
}

static void broadcast(tly_pto_machine *m, uint64_t address) {
    m->core.gqm.event++;
    m->core.gqm.last_event_address = address;
}

static void remember(tly_pto_machine *m, uint64_t left, uint64_t right, uint32_t flags) {
    m->core.requests.queue_left = left;
    m->core.requests.queue_right = right;
    m->core.requests.queue_flags = (uint8_t)flags;
}

void tly_pto_set_queue_corrupt(tly_pto_machine *m, uint64_t address, bool corrupt) {
    tly_pto_gqm_queue *queue = find(m, address);
    if (queue != NULL) {
        queue->corrupt = corrupt;
    }
}

static bool check_source(tly_pto_machine *m, const tly_isa_insn *insn, uint32_t selector) {
    if (!tly_pto_source_available(m, selector)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_SOURCE_EMPTY,
                              selector, insn->form, 0, 0);
    }
    return true;
}

static uint32_t flag_at(const tly_isa_insn *insn, uint32_t place, uint32_t flag) {
    return insn->fields[place] != 0 ? flag : 0;
}

bool tly_pto_move_queue(tly_pto_machine *m, const tly_isa_insn *insn,
                        const tly_pto_command *command) {
    (void)command;
    const uint32_t flags = flag_at(insn, TLY_FIELD_HL_QMT_I, FLAG_FIRST) |
                           flag_at(insn, TLY_FIELD_HL_QMT_E, FLAG_EVENT) |
                           flag_at(insn, TLY_FIELD_HL_QMT_S, FLAG_SUSPEND) |
                           flag_at(insn, TLY_FIELD_HL_QMT_R, FLAG_RELAXED);
    const uint32_t left = (uint32_t)insn->fields[TLY_FIELD_HL_QMT_SRC_L];
    const uint32_t right = (uint32_t)insn->fields[TLY_FIELD_HL_QMT_SRC_R];
    const bool initialize = (flags & FLAG_FIRST) != 0;
    if ((flags & FLAG_SUSPEND) != 0 && (flags & FLAG_RELAXED) != 0) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION,
                              TLY_PTO_RULE_QUEUE_SUSPEND_RESTORE, 0, 0, 0, 0);
    }
    if (!check_source(m, insn, left) || (initialize && !check_source(m, insn, right))) {
        return false;
    }
    const uint64_t address = tly_pto_read_source(m, left);
    const uint64_t wanted = initialize ? tly_pto_read_source(m, right) : 0;
    uint64_t result = result_of(0, STATUS_NOT_NOW);
    tly_pto_gqm_queue *queue = initialize ? find_or_take(m, address) : find(m, address);
    if (queue != NULL && initialize) {
        *queue = (tly_pto_gqm_queue){
            .valid = true, .capacity = (uint16_t)(wanted & CAPACITY_MASK), .address = address};
        result = result_of((uint64_t)queue->capacity * ENTRY_LEN, STATUS_DONE);
    } else if (queue != NULL && !is_corrupt(queue)) {
        result = result_of((uint64_t)queue->capacity - queue->count, STATUS_DONE);
    } else {
        queue = NULL;
    }
    if (queue != NULL) {
        if ((flags & FLAG_EVENT) != 0) {
            broadcast(m, address);
        }
        if ((flags & (FLAG_SUSPEND | FLAG_RELAXED)) != 0) {
            queue->suspended = (flags & FLAG_SUSPEND) != 0;
        }
    }
    remember(m, address, wanted, flags);
    tly_pto_write_destination(m, (uint32_t)insn->fields[TLY_FIELD_HL_QMT_REG_DST], result);
    tly_pto_advance(m, insn);
    return true;
}

static uint64_t push(tly_pto_machine *m, uint64_t address, uint64_t value, uint32_t flags) {
    tly_pto_gqm_queue *queue = find(m, address);
    if (queue == NULL || is_corrupt(queue)) {
        return result_of(0, STATUS_NO_QUEUE);
    }
    const uint32_t remaining = (uint32_t)(queue->capacity - queue->count);
    if (queue->suspended || remaining == 0) {
        return result_of(remaining, STATUS_NOT_NOW);
    }
    uint32_t at = ((uint32_t)queue->head + queue->count) % queue->capacity;
    if ((flags & FLAG_FIRST) != 0) {
        at = queue->head == 0 ? queue->capacity - 1u : queue->head - 1u;
        queue->head = (uint16_t)at;
    }
    tly_pto_gqm_entry *entry = entries_of(m, queue) + at;
    entry->value = value;
    entry->release_epoch = (flags & FLAG_RELAXED) != 0 ? 0 : ++m->core.gqm.release;
    queue->count++;
    if ((flags & FLAG_EVENT) != 0) {
        broadcast(m, address);
    }
    return result_of(remaining - 1, STATUS_DONE);
}

bool tly_pto_push_queue_entry(tly_pto_machine *m, const tly_isa_insn *insn,
                              const tly_pto_command *command) {
    (void)command;
    const uint32_t flags = flag_at(insn, TLY_FIELD_HL_QPUSH_H, FLAG_FIRST) |
                           flag_at(insn, TLY_FIELD_HL_QPUSH_E, FLAG_EVENT) |
                           flag_at(insn, TLY_FIELD_HL_QPUSH_R, FLAG_RELAXED);
    const uint32_t left = (uint32_t)insn->fields[TLY_FIELD_HL_QPUSH_SRC_L];
    const uint32_t right = (uint32_t)insn->fields[TLY_FIELD_HL_QPUSH_SRC_R];
    if (!check_source(m, insn, left) || !check_source(m, insn, right)) {
        return false;
    }
    const uint64_t address = tly_pto_read_source(m, left);
    const uint64_t value = tly_pto_read_source(m, right);
    const uint64_t result = push(m, address, value, flags);
    remember(m, address, value, flags);
    tly_pto_write_destination(m, (uint32_t)insn->fields[TLY_FIELD_HL_QPUSH_REG_DST], result);
    tly_pto_advance(m, insn);
    return true;
}

static uint64_t pop(tly_pto_machine *m, uint64_t address, uint32_t flags, uint64_t *out_value) {
    tly_pto_gqm_queue *queue = find(m, address);
    *out_value = 0;
    if (queue == NULL || is_corrupt(queue)) {
        return result_of(0, STATUS_NO_QUEUE);
    }
    if (queue->count == 0) {
        return result_of(0, STATUS_NOT_NOW);
    }
    const tly_pto_gqm_entry entry = entries_of(m, queue)[queue->head];
    queue->count--;
    queue->head = queue->count == 0 ? 0 : (uint16_t)((queue->head + 1u) % queue->capacity);
    if ((flags & FLAG_RELAXED) == 0 && entry.release_epoch != 0) {
        m->core.gqm.last_acquire = entry.release_epoch;
    }
    if ((flags & FLAG_EVENT_OF_POP) != 0) {
        broadcast(m, address);
    }
    *out_value = entry.value;
    return result_of(queue->count, STATUS_DONE);
}

bool tly_pto_pop_queue(tly_pto_machine *m, const tly_isa_insn *insn,
                       const tly_pto_command *command) {
    (void)command;
    const uint32_t flags = flag_at(insn, TLY_FIELD_HL_QPOP_E, FLAG_EVENT_OF_POP) |
                           flag_at(insn, TLY_FIELD_HL_QPOP_R, FLAG_RELAXED);
    const uint32_t left = (uint32_t)insn->fields[TLY_FIELD_HL_QPOP_SRC_L];
    if (!check_source(m, insn, left)) {
        return false;
    }
    const uint64_t address = tly_pto_read_source(m, left);
    uint64_t value = 0;
    const uint64_t result = pop(m, address, flags, &value);
    remember(m, address, 0, flags);
    tly_pto_write_destination(m, (uint32_t)insn->fields[TLY_FIELD_HL_QPOP_REG_DST0], value);
    tly_pto_write_destination(m, (uint32_t)insn->fields[TLY_FIELD_HL_QPOP_REG_DST1], result);
    tly_pto_advance(m, insn);
    return true;
}
