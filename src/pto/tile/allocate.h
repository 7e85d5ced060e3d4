/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation of tiles: what is in use, and the transitions of a descriptor
 * (asl/tile/model/capacity, asl/tile/model/state/allocation). */
#ifndef TLY_PTO_TILE_ALLOCATE_H
#define TLY_PTO_TILE_ALLOCATE_H

#include "pto/tile/operation.h"

/* Bytes that an allocation of `bytes` for each processing element of the mask takes. */
static inline uint32_t tly_pto_allocation_bytes(uint32_t pe_mask, uint32_t bytes) {
    const uint64_t ones = UINT64_C(0x4332322132212110); /* in each nibble, bits set in its number */
    return (uint32_t)(ones >> pe_mask % 16 * 4 & 15) * bytes;
}

/* Goes over all descriptors for the sums that the store keeps. */
void tly_pto_sum_up(const tly_pto_machine *machine);

/* The store with its sums. */
static inline tly_pto_tile_store *tly_pto_summed(const tly_pto_machine *machine) {
    if (!machine->tiles->summed) {
        tly_pto_sum_up(machine);
    }
    return machine->tiles;
}

/* Bytes of all active allocations, local and shared. It is kept; whoever changes a descriptor
 * other than through the functions below calls tly_pto_capacity_changed. */
static inline uint64_t tly_pto_capacity_in_use(const tly_pto_machine *machine) {
    return tly_pto_summed(machine)->in_use;
}

/* Bit i: local tile i is allocated. Kept in the same way. */
static inline uint64_t tly_pto_allocated_tiles(const tly_pto_machine *machine) {
    return tly_pto_summed(machine)->allocated;
}
void tly_pto_capacity_changed(tly_pto_machine *machine);

/* Descriptor of a numeric tile whose shape is legal, with nothing defined. */
static inline tly_pto_tile tly_pto_numeric_tile(uint32_t capacity_bytes, uint32_t columns,
                                                uint32_t valid_rows, uint32_t valid_columns,
                                                uint32_t dtype, uint32_t layout) {
    return (tly_pto_tile){
        .allocated = true,
        .storage_kind = TLY_PTO_NUMERIC,
        .data_type = (uint8_t)dtype,
        .layout = (uint8_t)layout,
        .location = TLY_PTO_LOCATION_ANY,
        .capacity_bytes = capacity_bytes,
        .rows = (uint16_t)tly_pto_derived_rows(capacity_bytes, columns, dtype),
        .columns = (uint16_t)columns,
        .valid_rows = (uint16_t)valid_rows,
        .valid_columns = (uint16_t)valid_columns,
    };
}

/* Descriptor of a predicate tile. */
tly_pto_tile tly_pto_predicate_tile(uint32_t capacity_bytes, uint32_t rows, uint32_t columns,
                                    uint32_t valid_rows, uint32_t valid_columns);

/* Descriptor of a tile in a layout of the matrix unit; not allocated if there is no such shape or
 * it does not fit the capacity. */
tly_pto_tile tly_pto_cube_tile(const tly_pto_machine *machine, uint32_t capacity_bytes,
                               uint32_t valid_rows, uint32_t valid_columns, uint32_t dtype,
                               uint32_t layout);

/* The tile takes this descriptor, of an allocated tile, and mask; its feature map becomes invalid.
 * Elements stay. */
void tly_pto_install_tile(tly_pto_machine *machine, uint32_t index, const tly_pto_tile *tile,
                          uint32_t pe_mask);

/* Gives the tile back: nothing allocated, nothing defined, all elements 0
 * (element type U8, as the architecture has it). */
void tly_pto_release_tile(tly_pto_machine *machine, uint32_t index);

#endif
