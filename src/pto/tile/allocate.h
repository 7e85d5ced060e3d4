/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation of tiles: what is in use, and the transitions of a descriptor
 * (asl/tile/model/capacity, asl/tile/model/state/allocation). */
#ifndef TLY_PTO_TILE_ALLOCATE_H
#define TLY_PTO_TILE_ALLOCATE_H

#include "pto/tile/operation.h"

/* Bytes that an allocation of `bytes` for each processing element of the mask takes. */
static inline uint32_t tly_pto_allocation_bytes(uint32_t pe_mask, uint32_t bytes) {
    return (uint32_t)__builtin_popcount(pe_mask) * bytes;
}

/* Bytes of all active allocations, local and shared. The sum is kept; whoever changes a descriptor
 * other than through the functions below calls tly_pto_capacity_changed. */
uint64_t tly_pto_capacity_in_use(const tly_pto_machine *machine);
void tly_pto_capacity_changed(tly_pto_machine *machine);

/* Descriptor of a numeric tile whose shape is legal, with nothing defined. */
tly_pto_tile tly_pto_numeric_tile(uint32_t capacity_bytes, uint32_t columns, uint32_t valid_rows,
                                  uint32_t valid_columns, uint32_t dtype, uint32_t layout);

/* Descriptor of a predicate tile. */
tly_pto_tile tly_pto_predicate_tile(uint32_t capacity_bytes, uint32_t rows, uint32_t columns,
                                    uint32_t valid_rows, uint32_t valid_columns);

/* Descriptor of a tile in a layout of the matrix unit; not allocated if there is no such shape or
 * it does not fit the capacity. */
tly_pto_tile tly_pto_cube_tile(const tly_pto_machine *machine, uint32_t capacity_bytes,
                               uint32_t valid_rows, uint32_t valid_columns, uint32_t dtype,
                               uint32_t layout);

/* The tile takes this descriptor and mask; its feature map becomes invalid. Elements stay. */
void tly_pto_install_tile(tly_pto_machine *machine, uint32_t index, const tly_pto_tile *tile,
                          uint32_t pe_mask);

/* Gives the tile back: nothing allocated, nothing defined, all elements 0
 * (element type U8, as the architecture has it). */
void tly_pto_release_tile(tly_pto_machine *machine, uint32_t index);

#endif
