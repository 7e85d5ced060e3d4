/* SPDX-License-Identifier: Apache-2.0 */
/* Guest memory: what an access may touch, and the accesses themselves
 * (asl/arch/memory-model/address-space, asl/scalar/model/agu/memory). Addresses are translated to
 * themselves. One path for every size of memory. */
#ifndef TLY_PTO_MEMORY_H
#define TLY_PTO_MEMORY_H

#include "base/bytes.h"
#include "pto/machine.h"

/* What the current ring may use: bytes 0 .. limit-1. */
static inline uint64_t tly_pto_memory_limit(const tly_pto_machine *m) {
    return m->core.current_acr >= 2 ? m->memory.app_limit : m->memory.size;
}

/* ProbeDataAccess: NONE, DATA_ALIGNMENT or DATA_PAGE, without any effect. `alignment` is a power of
 * two; an access never wraps round the address space. */
static inline tly_pto_fault tly_pto_probe(const tly_pto_machine *m, uint64_t address, uint64_t len,
                                          uint64_t alignment) {
    uint64_t limit = tly_pto_memory_limit(m);
    if ((address & (alignment - 1)) != 0) {
        return TLY_PTO_FAULT_DATA_ALIGNMENT;
    }
    return address <= limit && len <= limit - address ? TLY_PTO_FAULT_NONE
                                                      : TLY_PTO_FAULT_DATA_PAGE;
}

/* Raises the fault of an access that may not be; returns whether it may. */
bool tly_pto_check_access(tly_pto_machine *machine, uint64_t address, uint64_t len,
                          uint64_t alignment);

/* An access of 1, 2, 4 or 8 bytes that was checked; a value that is read is zero-extended. */
static inline uint64_t tly_pto_peek(const tly_pto_machine *m, uint64_t address, uint32_t size) {
    const uint8_t *at = m->memory.bytes + address;
    switch (size) {
    case 1:
        return *at;
    case 2:
        return tly_base_load_u16(at);
    case 4:
        return tly_base_load_u32(at);
    default:
        return tly_base_load_u64(at);
    }
}

/* RangesOverlap with the granule that is reserved; an empty range counts where it lies inside. */
static inline bool tly_pto_reservation_overlaps(const tly_pto_reservation *reservation,
                                                uint64_t address, uint64_t len) {
    uint64_t granule = reservation->address & ~(uint64_t)(TLY_PTO_GRANULE - 1);
    return address < granule + TLY_PTO_GRANULE && granule < address + len;
}

/* To be called after a change of memory from outside, by a host: ends the reservation
 * that the bytes overlap, and forgets code that was decoded from them. */
void tly_pto_memory_changed(tly_pto_machine *machine, uint64_t address, uint64_t len);

/* The same after a change by an instruction or an operation; whoever watches is told. */
void tly_pto_memory_wrote(tly_pto_machine *machine, uint64_t address, uint64_t len);

/* Tells whoever watches of an access that was performed; instructions' own come from the recording
 * of events and from tly_pto_memory_wrote. */
void tly_pto_note_access(tly_pto_machine *machine, uint64_t address, uint64_t len, bool is_write);

/* Writes and tells; `address` was checked. */
void tly_pto_poke(tly_pto_machine *machine, uint64_t address, uint32_t size, uint64_t value);

/* Scalar loads and stores: aligned, checked, recorded as events. They return false when the fault
 * was raised; then nothing has changed. */
bool tly_pto_load(tly_pto_machine *machine, uint64_t address, uint32_t size, tly_pto_order order,
                  uint64_t *out_value);
bool tly_pto_store(tly_pto_machine *machine, uint64_t address, uint32_t size, uint64_t value,
                   tly_pto_order order);

#endif
