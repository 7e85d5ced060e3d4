/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and prefetches; what each form does stands in its row's `access`
 * (asl/scalar/model/dispatch/agu). A pair is checked whole before either half is touched. */
#include "pto/events.h"
#include "pto/memory.h"
#include "pto/profile/format.h"
#include "pto/scalar/scalar.h"
#include "pto/scalar/values.h"

typedef struct place {
    uint64_t address;
    uint64_t updated_base;
} place;

static const tly_isa_access *access_of(const tly_pto_operands *o) {
    return &tly_isa_form_at(o->form)->access;
}

static bool is_store(const tly_isa_access *access) {
    return access->action == TLY_ACCESS_STORE || access->action == TLY_ACCESS_STORE_PAIR;
}

static place place_of(const tly_pto_machine *m, const tly_pto_operands *o,
                      const tly_isa_access *access) {
    uint64_t base = tly_pto_read_source(m, o->left);
    uint64_t offset = (uint64_t)o->immediate << access->scale;
    if (access->address == TLY_ADDRESS_PC) {
        base = m->core.context.tpc & ~UINT64_C(3);
    } else if (access->address == TLY_ADDRESS_IMMEDIATE && is_store(access)) {
        base = tly_pto_read_source(m, o->right);
    } else if (access->address == TLY_ADDRESS_REGISTER) {
        uint32_t shift = o->has_shift ? o->shift : access->scale;
        offset = tly_pto_right_indexed(tly_pto_read_source(m, o->right), o->modifier, shift);
    }
    return (place){access->update == TLY_UPDATE_POST ? base : base + offset, base + offset};
}

static uint64_t extend(uint64_t value, const tly_isa_access *access) {
    return access->is_signed ? tly_pto_sign_extend(value, access->size * 8u) : value;
}

bool tly_pto_agu_load(tly_pto_machine *m, const tly_pto_operands *o) {
    const tly_isa_access *access = access_of(o);
    place at = place_of(m, o, access);
    uint64_t value;
    if (!tly_pto_load(m, at.address, access->size, TLY_PTO_ORDER_RELAXED, &value)) {
        return false;
    }
    tly_pto_write_destination(m, o->destination, extend(value, access));
    if (access->update != TLY_UPDATE_NONE) {
        tly_pto_write_destination(m, o->second_destination, at.updated_base);
    }
    return true;
}

bool tly_pto_agu_load_pair(tly_pto_machine *m, const tly_pto_operands *o) {
    const tly_isa_access *access = access_of(o);
    uint64_t first = place_of(m, o, access).address;
    uint64_t second = first + access->size;
    if (!tly_pto_check_access(m, first, access->size, access->size) ||
        !tly_pto_check_access(m, second, access->size, access->size)) {
        return false;
    }
    uint64_t values[2] = {tly_pto_peek(m, first, access->size),
                          tly_pto_peek(m, second, access->size)};
    tly_pto_record_load(m, first, access->size, values[0], TLY_PTO_ORDER_RELAXED);
    tly_pto_record_load(m, second, access->size, values[1], TLY_PTO_ORDER_RELAXED);
    tly_pto_write_destination(m, o->destination, extend(values[0], access));
    tly_pto_write_destination(m, o->second_destination, extend(values[1], access));
    return true;
}

bool tly_pto_agu_store(tly_pto_machine *m, const tly_pto_operands *o) {
    const tly_isa_access *access = access_of(o);
    place at = place_of(m, o, access);
    uint64_t value = tly_pto_read_source(m, o->has_third ? o->third : o->left);
    if (!tly_pto_store(m, at.address, access->size, value, TLY_PTO_ORDER_RELAXED)) {
        return false;
    }
    if (access->update != TLY_UPDATE_NONE) {
        tly_pto_write_destination(m, o->destination, at.updated_base);
    }
    return true;
}

bool tly_pto_agu_store_pair(tly_pto_machine *m, const tly_pto_operands *o) {
    const tly_isa_access *access = access_of(o);
    uint64_t first = place_of(m, o, access).address;
    uint64_t second = first + access->size;
    if (!tly_pto_check_access(m, first, access->size, access->size) ||
        !tly_pto_check_access(m, second, access->size, access->size)) {
        return false;
    }
    uint64_t values[2] = {tly_pto_read_source(m, o->third), tly_pto_read_source(m, o->fourth)};
    tly_pto_poke(m, first, access->size, values[0]);
    tly_pto_record_store(m, first, access->size, values[0], TLY_PTO_ORDER_RELAXED);
    tly_pto_poke(m, second, access->size, values[1]);
    tly_pto_record_store(m, second, access->size, values[1], TLY_PTO_ORDER_RELAXED);
    return true;
}

/* No translation, no check, no event: only the address may be seen. */
bool tly_pto_agu_prefetch(tly_pto_machine *m, const tly_pto_operands *o) {
    const tly_isa_access *access = access_of(o);
    if (access->gives_address) {
        tly_pto_write_destination(m, o->destination, place_of(m, o, access).updated_base);
    }
    return true;
}
