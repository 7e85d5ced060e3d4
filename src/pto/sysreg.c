/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/sysreg.h"

#include <stddef.h>
#include <string.h>

#include "pto/fault.h"

typedef enum access_class { UNKNOWN, READ_ONLY, WRITE_ONLY, READ_WRITE } access_class;

/* Base registers: what stands behind an address. TIME is the cycle count. */
typedef struct base_row {
    uint16_t address;
    uint8_t access;
    uint16_t offset; /* in tly_pto_base_registers */
} base_row;

#define BASE(address, access, member)                                                              \
    { address, access, offsetof(tly_pto_base_registers, member) }
static const base_row base_rows[] = {
    BASE(0x000, READ_WRITE, thread_ptr),
    BASE(0x001, READ_WRITE, global_ptr),
    BASE(0x010, READ_ONLY, cycle),
    BASE(0x020, READ_WRITE, core_state),
    BASE(0x021, READ_ONLY, core_id),
    BASE(0x022, READ_ONLY, vendor),
    BASE(0x023, READ_ONLY, version),
    BASE(0x024, READ_ONLY, core_feature),
    BASE(0x025, READ_WRITE, core_feature_enable),
    BASE(0x026, READ_ONLY, thread_id),
    BASE(0x027, READ_ONLY, tile_capacity),
    BASE(0x050, READ_ONLY, blocknum),
    BASE(0x051, READ_ONLY, blockid),
    BASE(0xC00, READ_ONLY, cycle),
};

/* Context registers: 0xF00 + index of each ring, or of ring 1 alone. */
typedef struct context_row {
    uint8_t first;
    uint8_t last;
    uint8_t access;
    bool ring1_only;
} context_row;

static const context_row context_rows[] = {
    {TLY_PTO_ECSTATE, TLY_PTO_TRAPARG0, READ_WRITE, false},
    {0x05, TLY_PTO_ECONFIG, READ_WRITE, false}, /* ETEMP, ETEMP0, ECONFIG */
    {TLY_PTO_IPENDING, TLY_PTO_TOPEI, READ_ONLY, false},
    {TLY_PTO_EOIEI, TLY_PTO_EOIEI, WRITE_ONLY, false},
    {0x10, 0x16, READ_WRITE, true}, /* translation */
    {TLY_PTO_TIMER_TIME, TLY_PTO_TIMER_TIME, READ_ONLY, false},
    {TLY_PTO_TIMER_TIMECMP, TLY_PTO_TIMER_TIMECMP, READ_WRITE, false},
    {0x30, 0x31, READ_WRITE, false},
    {TLY_PTO_EBARG, 0x51, READ_WRITE, false},
    {0x80, 0x80, READ_ONLY, false},  /* DBGID */
    {0x90, 0x97, READ_WRITE, false}, /* breakpoints */
    {0xA0, 0xA1, READ_WRITE, false},
    {0xB0, 0xB7, READ_WRITE, false}, /* watchpoints */
};

enum { CORE_STATE_ADDRESS = 0x020 };

/* An address taken apart. */
typedef struct target {
    const base_row *base; /* NULL: a context register, or nothing */
    uint8_t ring;
    uint8_t index;
    uint8_t access;
} target;

static target find(uint32_t address) {
    target to = {NULL, (uint8_t)(address >> 12 & 15), (uint8_t)address, UNKNOWN};
    for (size_t i = 0; i < sizeof(base_rows) / sizeof(base_rows[0]); i++) {
        if (base_rows[i].address == address) {
            to.base = &base_rows[i];
            to.access = base_rows[i].access;
            return to;
        }
    }
    if (address >> 16 != 0 || (address >> 8 & 15) != 0xF) {
        return to;
    }
    for (size_t i = 0; i < sizeof(context_rows) / sizeof(context_rows[0]); i++) {
        const context_row *row = &context_rows[i];
        if (to.index >= row->first && to.index <= row->last && (!row->ring1_only || to.ring == 1)) {
            to.access = row->access;
        }
    }
    return to;
}

/* Raises what forbids an access: the ring, or the register's class. */
static bool check(tly_pto_machine *m, uint32_t address, target to, bool reads, bool writes) {
    uint32_t ring = m->core.current_acr;
    if ((address & 0xFFF) >= TLY_PTO_CONTEXT_BASE && ring != 0) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_SYSREG_RING,
                              address, ring, 0, 0);
    }
    if (to.access == UNKNOWN) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_SYSREG_UNKNOWN,
                              address, 0, 0, 0);
    }
    if (reads && to.access == WRITE_ONLY) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_SYSREG_WRITE_ONLY,
                              address, 0, 0, 0);
    }
    if (writes && to.access == READ_ONLY) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_SYSREG_READ_ONLY,
                              address, 0, 0, 0);
    }
    return true;
}

/* interrupts */

static void refresh_top(tly_pto_machine *m, uint32_t ring) {
    uint64_t *registers = m->core.context_registers[ring];
    uint64_t pending = registers[TLY_PTO_IPENDING];
    registers[TLY_PTO_TOPEI] = pending != 0 ? (uint64_t)__builtin_ctzll(pending) : 0;
}

void tly_pto_set_pending(tly_pto_machine *m, uint32_t ring, uint32_t interrupt, bool pending) {
    uint64_t bit = UINT64_C(1) << interrupt;
    uint64_t *word = &m->core.context_registers[ring][TLY_PTO_IPENDING];
    *word = pending ? *word | bit : *word & ~bit;
    refresh_top(m, ring);
}

static uint32_t timer_interrupt(uint32_t ring) {
    return ring == 0 ? 1 : 3;
}

bool tly_pto_interrupt_enabled(const tly_pto_machine *m, uint32_t ring, uint32_t interrupt) {
    uint64_t config = m->core.context_registers[ring][TLY_PTO_ECONFIG];
    return (config >> (interrupt == timer_interrupt(ring) ? 1 : 0) & 1) != 0;
}

static void refresh_timer(tly_pto_machine *m, uint32_t ring) {
    uint64_t when = m->core.context_registers[ring][TLY_PTO_TIMER_TIMECMP];
    tly_pto_set_pending(m, ring, timer_interrupt(ring), when != 0 && m->core.base.cycle >= when);
}

static void end_of_interrupt(tly_pto_machine *m, uint32_t ring, uint64_t value) {
    if (value < 64) {
        tly_pto_set_pending(m, ring, (uint32_t)value, false);
    }
    m->core.traps[ring].asynchronous = false;
    m->core.traps[ring].argument_valid = false;
}

/* trap status */

enum { ASYNCHRONOUS_BIT = 63, VALID_BIT = 62, CAUSE_SHIFT = 24 };

static uint64_t pack_trap(const tly_pto_trap *trap) {
    return (uint64_t)trap->asynchronous << ASYNCHRONOUS_BIT |
           (uint64_t)trap->argument_valid << VALID_BIT | (uint64_t)trap->cause << CAUSE_SHIFT |
           trap->number;
}

static void unpack_trap(tly_pto_trap *trap, uint64_t value) {
    trap->asynchronous = (value >> ASYNCHRONOUS_BIT & 1) != 0;
    trap->argument_valid = (value >> VALID_BIT & 1) != 0;
    trap->cause = (uint32_t)(value >> CAUSE_SHIFT) & 0xFFFFFF;
    trap->number = (uint8_t)(value & 63);
}

/* accesses that are allowed */

static uint64_t read_target(tly_pto_machine *m, target to) {
    if (to.base != NULL) {
        uint64_t value;
        memcpy(&value, (const char *)&m->core.base + to.base->offset, sizeof(value));
        return value;
    }
    switch (to.index) {
    case TLY_PTO_TRAPNO:
        return pack_trap(&m->core.traps[to.ring]);
    case TLY_PTO_TRAPARG0:
        return m->core.traps[to.ring].argument0;
    case TLY_PTO_IPENDING:
    case TLY_PTO_TOPEI:
        refresh_timer(m, to.ring);
        break;
    case TLY_PTO_TIMER_TIME:
        return m->core.base.cycle;
    default:
        break;
    }
    return m->core.context_registers[to.ring][to.index];
}

static void write_target(tly_pto_machine *m, target to, uint64_t value) {
    if (to.base != NULL) {
        memcpy((char *)&m->core.base + to.base->offset, &value, sizeof(value));
        if (to.base->address == CORE_STATE_ADDRESS) {
            m->core.current_acr = value & 15; /* from any ring: the specification lets it */
        }
        return;
    }
    switch (to.index) {
    case TLY_PTO_TRAPNO:
        unpack_trap(&m->core.traps[to.ring], value);
        break;
    case TLY_PTO_TRAPARG0:
        m->core.traps[to.ring].argument0 = value;
        break;
    case TLY_PTO_EOIEI:
        end_of_interrupt(m, to.ring, value);
        break;
    default:
        m->core.context_registers[to.ring][to.index] = value;
        if (to.index == TLY_PTO_TIMER_TIMECMP) {
            refresh_timer(m, to.ring);
        }
        break;
    }
}

bool tly_pto_sysreg_read(tly_pto_machine *m, uint32_t address, uint64_t *out_value) {
    target to = find(address);
    if (!check(m, address, to, true, false)) {
        return false;
    }
    *out_value = read_target(m, to);
    return true;
}

bool tly_pto_sysreg_write(tly_pto_machine *m, uint32_t address, uint64_t value) {
    target to = find(address);
    if (!check(m, address, to, false, true)) {
        return false;
    }
    write_target(m, to, value);
    return true;
}

bool tly_pto_sysreg_swap(tly_pto_machine *m, uint32_t address, uint64_t value, uint64_t *out_old) {
    target to = find(address);
    if (!check(m, address, to, true, true)) {
        return false;
    }
    *out_old = read_target(m, to);
    write_target(m, to, value);
    return true;
}
