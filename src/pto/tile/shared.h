/* SPDX-License-Identifier: Apache-2.0 */
/* Shared tiles: four quarters of storage, written by the processing elements of a mask, read when
 * they are there (asl/tile/model/state/shared-registers, asl/tile/model/memory/shared-movement). */
#ifndef TLY_PTO_TILE_SHARED_H
#define TLY_PTO_TILE_SHARED_H

#include "pto/tile/operation.h"

/* The processing element whose quarter holds the element. */
static inline uint32_t tly_pto_shared_quarter(const tly_pto_tile *tile, uint32_t index) {
    uint64_t byte = (uint64_t)index * tly_pto_dtype_bits(tile->data_type) / 8;
    return (uint32_t)(byte * TLY_PTO_NUM_PES / tile->capacity_bytes);
}

/* Processing element 0 is bit 3. */
static inline bool tly_pto_mask_has(uint32_t mask, uint32_t pe) {
    return (mask >> (TLY_PTO_NUM_PES - 1 - pe) & 1) != 0;
}

/* SharedTileUpdateCompatible: whether the elements of `mask` may write a tile like this. */
bool tly_pto_shared_writable(const tly_pto_machine *machine, uint32_t shared_id,
                             const tly_pto_tile *tile, uint32_t mask);

/* What changes in the descriptor when the quarters of `part` have been written, for the elements of
 * `mask`. A first write fixes the tile and who takes part: `mask`. The elements are the caller's to
 * write. */
void tly_pto_shared_wrote(tly_pto_machine *machine, uint32_t shared_id, const tly_pto_tile *tile,
                          uint32_t mask, uint32_t part, bool publish);

/* ReadSharedTileWord: an element's word; where nothing was written, the tile's number xor the
 * element's. */
uint64_t tly_pto_shared_word(const tly_pto_machine *machine, uint32_t shared_id, uint32_t index);

/* SharedTileReadSchemaLegalAtCapacity. */
bool tly_pto_shared_readable(const tly_pto_machine *machine, uint32_t shared_id,
                             const tly_pto_tile *wanted);

/* All quarters written and published, by all four elements. */
bool tly_pto_shared_published(const tly_pto_machine *machine, uint32_t shared_id);

#endif
