/* SPDX-License-Identifier: Apache-2.0 */
/* Reservations, atomic changes and the copy of a line (asl/scalar/model/amo/semantics). */
#include <string.h>

#include "pto/events.h"
#include "pto/memory.h"
#include "pto/profile/format.h"
#include "pto/scalar/scalar.h"

typedef enum change { SWAP, ADD, AND, OR, XOR, SMIN, SMAX, UMIN, UMAX } change;

typedef struct amo_row {
    uint8_t size;   /* bytes; 0: not a form of this family */
    uint8_t change; /* of tly_pto_amo_modify */
    bool silent;    /* the old value goes nowhere */
} amo_row;

#define MODIFY(name, change)                                                                       \
    [TLY_FORM_LW_##name] = {4, change, false}, [TLY_FORM_LD_##name] = {8, change, false},          \
    [TLY_FORM_SW_##name] = {4, change, true}, [TLY_FORM_SD_##name] = {8, change, true}
#define SIZES(name)                                                                                \
    [TLY_FORM_##name##B] = {1, SWAP, false}, [TLY_FORM_##name##H] = {2, SWAP, false},              \
    [TLY_FORM_##name##W] = {4, SWAP, false}, [TLY_FORM_##name##D] = {8, SWAP, false}

static const amo_row rows[TLY_NUM_FORMS] = {
    MODIFY(ADD, ADD),   MODIFY(AND, AND),   MODIFY(OR, OR),     MODIFY(XOR, XOR),
    MODIFY(SMIN, SMIN), MODIFY(SMAX, SMAX), MODIFY(UMIN, UMIN), MODIFY(UMAX, UMAX),
    SIZES(SWAP),        SIZES(CAS),         SIZES(HL_CAS),      SIZES(LR_),
    SIZES(SC_),
};

/* What a register gets: bytes and halfwords zero-extended, words sign-extended. */
static uint64_t returned(uint64_t value, uint32_t size) {
    return size == 4 ? tly_pto_sign_extend(value, 32) : value;
}

static uint64_t changed(change what, uint64_t old, uint64_t operand, uint32_t size) {
    uint64_t other = tly_pto_low_bits(operand, size * 8);
    bool less =
        (int64_t)tly_pto_sign_extend(old, size * 8) < (int64_t)tly_pto_sign_extend(other, size * 8);
    bool greater =
        (int64_t)tly_pto_sign_extend(old, size * 8) > (int64_t)tly_pto_sign_extend(other, size * 8);
    switch (what) {
    case SWAP:
        return other;
    case ADD:
        return tly_pto_low_bits(old + other, size * 8);
    case AND:
        return old & other;
    case OR:
        return old | other;
    case XOR:
        return old ^ other;
    case SMIN:
        return less ? old : other;
    case SMAX:
        return greater ? old : other;
    case UMIN:
        return old < other ? old : other;
    default:
        return old > other ? old : other;
    }
}

bool tly_pto_amo_load_reserved(tly_pto_machine *m, const tly_pto_operands *o) {
    uint32_t size = rows[o->form].size;
    uint64_t address = tly_pto_read_source(m, o->left);
    uint64_t value;
    if (!tly_pto_load(m, address, size, (tly_pto_order)o->order, &value)) {
        return false; /* an older reservation stays */
    }
    m->core.reservation =
        (tly_pto_reservation){.valid = true, .size = (uint8_t)size, .address = address};
    tly_pto_write_destination(m, o->destination, returned(value, size));
    return true;
}

/* The line decides, not the size or the byte; a miss does not even look at the address. */
bool tly_pto_amo_store_conditional(tly_pto_machine *m, const tly_pto_operands *o) {
    const uint64_t line = ~(uint64_t)(TLY_PTO_GRANULE - 1);
    tly_pto_reservation *reservation = &m->core.reservation;
    uint64_t address = tly_pto_read_source(m, o->right);
    bool hit = reservation->valid && (reservation->address & line) == (address & line);
    reservation->valid = false;
    if (hit && !tly_pto_store(m, address, rows[o->form].size, tly_pto_read_source(m, o->left),
                              (tly_pto_order)o->order)) {
        return false;
    }
    tly_pto_write_destination(m, o->destination, hit ? 0 : 1);
    return true;
}

bool tly_pto_amo_modify(tly_pto_machine *m, const tly_pto_operands *o) {
    const amo_row *row = &rows[o->form];
    uint64_t address = tly_pto_read_source(m, o->left);
    if (!tly_pto_check_access(m, address, row->size, row->size)) {
        return false;
    }
    uint64_t old = tly_pto_peek(m, address, row->size);
    uint64_t value = changed((change)row->change, old, tly_pto_read_source(m, o->right), row->size);
    tly_pto_poke(m, address, row->size, value);
    tly_pto_record_atomic(m, address, row->size, old, value, true, (tly_pto_order)o->order);
    if (!row->silent) {
        tly_pto_write_destination(m, o->destination, returned(old, row->size));
    }
    return true;
}

bool tly_pto_amo_compare_swap(tly_pto_machine *m, const tly_pto_operands *o) {
    uint32_t size = rows[o->form].size;
    uint64_t address = tly_pto_read_source(m, o->left);
    if (!tly_pto_check_access(m, address, size, size)) {
        return false;
    }
    uint64_t old = tly_pto_peek(m, address, size);
    uint64_t desired = tly_pto_read_source(m, o->third);
    bool equal = old == tly_pto_low_bits(tly_pto_read_source(m, o->right), size * 8);
    if (equal) {
        tly_pto_poke(m, address, size, desired);
    }
    tly_pto_record_atomic(m, address, size, old, desired, equal, (tly_pto_order)o->order);
    tly_pto_write_destination(m, o->destination, returned(old, size));
    return true;
}

/* 64 bytes, all read before any is written. */
bool tly_pto_amo_copy64(tly_pto_machine *m, const tly_pto_operands *o) {
    enum { LEN = 64, CHUNK = 8 };
    uint64_t source = tly_pto_read_source(m, o->left);
    uint64_t destination = tly_pto_read_source(m, o->right);
    uint8_t bytes[LEN];
    if (!tly_pto_check_access(m, source, LEN, 1) || !tly_pto_check_access(m, destination, LEN, 1)) {
        return false;
    }
    memcpy(bytes, m->memory.bytes + source, LEN);
    for (uint32_t at = 0; at < LEN; at += CHUNK) {
        tly_pto_record_load(m, source + at, CHUNK, tly_base_load_u64(bytes + at),
                            TLY_PTO_ORDER_RELAXED);
    }
    memcpy(m->memory.bytes + destination, bytes, LEN);
    tly_pto_memory_wrote(m, destination, LEN);
    for (uint32_t at = 0; at < LEN; at += CHUNK) {
        tly_pto_record_store(m, destination + at, CHUNK, tly_base_load_u64(bytes + at),
                             TLY_PTO_ORDER_RELAXED);
    }
    return true;
}
