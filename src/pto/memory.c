/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/memory.h"

#include "pto/events.h"
#include "pto/fast/code.h"
#include "pto/fault.h"
#include "pto/team.h"

bool tly_pto_check_access(tly_pto_machine *m, uint64_t address, uint64_t len, uint64_t alignment) {
    tly_pto_fault fault = tly_pto_probe(m, address, len, alignment);
    if (fault == TLY_PTO_FAULT_NONE) {
        return true;
    }
    if (fault == TLY_PTO_FAULT_DATA_ALIGNMENT) {
        return tly_pto_raise(m, fault, address, TLY_PTO_RULE_MEMORY_ALIGNMENT, address, alignment,
                             0, 0);
    }
    return tly_pto_raise(m, fault, address, TLY_PTO_RULE_MEMORY_RANGE, address, len,
                         tly_pto_memory_limit(m), m->core.current_acr);
}

void tly_pto_note_access(tly_pto_machine *m, uint64_t address, uint64_t len, bool is_write) {
    tly_pto_access access = {
        .address = address, .len = len, .is_write = is_write, .pe = m->core.current_pe};
    if (m->watch_memory == NULL || len == 0) {
        return;
    }
    for (uint64_t i = len <= 8 ? len : 0; i-- > 0;) {
        access.value = access.value << 8 | m->memory.bytes[address + i];
    }
    m->watch_memory(m->watch_memory_user, &access);
}

/* The machine's own; the others of a team learn of it. */
static void end_reservations(tly_pto_machine *m, uint64_t address, uint64_t len) {
    tly_pto_reservation *reservation = &m->core.reservation;
    if (reservation->valid && tly_pto_reservation_overlaps(reservation, address, len)) {
        reservation->valid = false;
    }
    if (m->team != NULL) {
        tly_pto_team_wrote(m->team, m, address, len);
    }
}

void tly_pto_memory_changed(tly_pto_machine *m, uint64_t address, uint64_t len) {
    end_reservations(m, address, len);
    tly_pto_code_wrote(m->code, address, len, false);
}

void tly_pto_memory_wrote(tly_pto_machine *m, uint64_t address, uint64_t len) {
    end_reservations(m, address, len);
    tly_pto_code_wrote(m->code, address, len, true);
    if (m->watch_memory != NULL) {
        tly_pto_note_access(m, address, len, true);
    }
}

void tly_pto_poke(tly_pto_machine *m, uint64_t address, uint32_t size, uint64_t value) {
    tly_base_store_uint(m->memory.bytes + address, size, value);
    tly_pto_memory_wrote(m, address, size);
}

bool tly_pto_load(tly_pto_machine *m, uint64_t address, uint32_t size, tly_pto_order order,
                  uint64_t *out_value) {
    if (!tly_pto_check_access(m, address, size, size)) {
        return false;
    }
    *out_value = tly_pto_peek(m, address, size);
    tly_pto_record_load(m, address, size, *out_value, order);
    return true;
}

bool tly_pto_store(tly_pto_machine *m, uint64_t address, uint32_t size, uint64_t value,
                   tly_pto_order order) {
    if (!tly_pto_check_access(m, address, size, size)) {
        return false;
    }
    tly_pto_poke(m, address, size, value);
    tly_pto_record_store(m, address, size, value, order);
    return true;
}
