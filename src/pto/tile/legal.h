/* SPDX-License-Identifier: Apache-2.0 */
/* What makes a tile's descriptor and contents fit to be an operand
 * (asl/tile/model/legality/descriptor-shape, dtype-layout). */
#ifndef TLY_PTO_TILE_LEGAL_H
#define TLY_PTO_TILE_LEGAL_H

#include "pto/tile/operation.h"

/* Types that groups of operations admit. */
#define TLY_PTO_TYPES_ORDERED_FLOATING                                                             \
    (TLY_PTO_TYPE(TLY_PTO_FP64) | TLY_PTO_TYPE(TLY_PTO_FP32) | TLY_PTO_TYPE(TLY_PTO_TF32) |        \
     TLY_PTO_TYPE(TLY_PTO_HF32) | TLY_PTO_TYPE(TLY_PTO_FP16) | TLY_PTO_TYPE(TLY_PTO_BF16) |        \
     TLY_PTO_TYPE(TLY_PTO_E4M3) | TLY_PTO_TYPE(TLY_PTO_E5M2))
#define TLY_PTO_TYPES_BYTE_INTEGER (TLY_PTO_TYPES_INTEGER & ~TLY_PTO_TYPES_FOUR_BIT)
#define TLY_PTO_TYPES_ARITHMETIC   (TLY_PTO_TYPES_ORDERED_FLOATING | TLY_PTO_TYPES_BYTE_INTEGER)
#define TLY_PTO_TYPES_WIDE                                                                         \
    (TLY_PTO_TYPE(TLY_PTO_FP64) | TLY_PTO_TYPE(TLY_PTO_S64) | TLY_PTO_TYPE(TLY_PTO_U64))
#define TLY_PTO_TYPES_CARRIED (TLY_PTO_TYPES_ALL & ~TLY_PTO_TYPES_FOUR_BIT & ~TLY_PTO_TYPES_WIDE)
#define TLY_PTO_TYPES_MOVED   (TLY_PTO_TYPES_ALL & ~TLY_PTO_TYPE(TLY_PTO_HIF4X2))
#define TLY_PTO_TYPES_NARROW  /* nine types of partial and index operations */                     \
    ((TLY_PTO_TYPES_BYTE_INTEGER & ~TLY_PTO_TYPES_WIDE) | TLY_PTO_TYPE(TLY_PTO_FP32) |             \
     TLY_PTO_TYPE(TLY_PTO_FP16) | TLY_PTO_TYPE(TLY_PTO_BF16))

/* TileCapacityIsLegal, of local tiles. */
bool tly_pto_local_capacity_legal(const tly_pto_machine *machine, uint32_t bytes);

/* TileDescriptorConfigured, TileDescriptorLegal, TileSourceContentsDefined. */
bool tly_pto_tile_configured(const tly_pto_machine *machine, const tly_pto_tile *tile);
bool tly_pto_tile_legal(const tly_pto_machine *machine, const tly_pto_tile *tile);
bool tly_pto_tile_defined(const tly_pto_machine *machine, const tly_pto_tile *tile);

/* Whether a local tile was found legal before: true needs no look at its descriptor. */
static inline bool tly_pto_known_legal(const tly_pto_machine *machine, uint32_t index) {
    const tly_pto_tile_store *store = machine->tiles;
    return store->summed && (store->legal >> index & 1) != 0;
}

/* The same answers for the local tile of this number; a good one is remembered. */
bool tly_pto_find_legal(const tly_pto_machine *machine, uint32_t index);
static inline bool tly_pto_local_legal(const tly_pto_machine *machine, uint32_t index) {
    return tly_pto_known_legal(machine, index) || tly_pto_find_legal(machine, index);
}
static inline bool tly_pto_local_configured(const tly_pto_machine *machine, uint32_t index) {
    return tly_pto_known_legal(machine, index) ||
           tly_pto_tile_configured(machine, &machine->core.tiles[index]);
}

/* TileLogicalShapeMatch and TileShapeAndTypeMatch without the legality of the descriptors. */
bool tly_pto_shapes_match(const tly_pto_tile *left, const tly_pto_tile *right);
bool tly_pto_shapes_and_types_match(const tly_pto_tile *left, const tly_pto_tile *right);

/* Whether every bit pattern of the type is valid, so that nobody need look. */
bool tly_pto_every_encoding_valid(uint32_t dtype);

/* The first element of the valid region whose encoding is not valid; false if there is none. The
 * tile is defined and indexed generically. */
bool tly_pto_find_invalid_encoding(const tly_pto_tile *tile, const tly_pto_elements *elements,
                                   uint64_t *out_word);

/* Checks of sources by ordinal; each names the tile in its reason. */
bool tly_pto_check_source_legal(const tly_pto_machine *machine, tly_pto_plan *plan,
                                uint32_t ordinal);
bool tly_pto_check_source_defined(const tly_pto_machine *machine, tly_pto_plan *plan,
                                  uint32_t ordinal);
bool tly_pto_check_source_encodings(const tly_pto_machine *machine, tly_pto_plan *plan,
                                    uint32_t ordinal);
bool tly_pto_check_source_numeric(const tly_pto_machine *machine, tly_pto_plan *plan,
                                  uint32_t ordinal);
bool tly_pto_check_source_predicate(const tly_pto_machine *machine, tly_pto_plan *plan,
                                    uint32_t ordinal);
bool tly_pto_check_source_type(const tly_pto_machine *machine, tly_pto_plan *plan, uint32_t ordinal,
                               uint32_t dtype);
bool tly_pto_check_source_layout(const tly_pto_machine *machine, tly_pto_plan *plan,
                                 uint32_t ordinal, uint32_t layout);

/* Type of the operation, or of a result, is one of `types`. */
bool tly_pto_check_type(tly_pto_plan *plan, uint32_t dtype, uint32_t types);

/* A result's descriptor is legal: whole fractals. */
bool tly_pto_check_result_legal(const tly_pto_machine *machine, tly_pto_plan *plan,
                                uint32_t result);

/* What operations with a scalar ask of their source and of the scalar as an element of it. */
bool tly_pto_check_scalar_source(const tly_pto_machine *machine, tly_pto_plan *plan,
                                 uint32_t ordinal);
bool tly_pto_check_scalar_value(tly_pto_plan *plan, uint32_t dtype);

/* Two sources, or a result and a source, have the same shape and layout (and type). */
bool tly_pto_check_sources_match(const tly_pto_machine *machine, tly_pto_plan *plan, uint32_t left,
                                 uint32_t right);
bool tly_pto_check_result_matches(const tly_pto_machine *machine, tly_pto_plan *plan,
                                  uint32_t result, uint32_t source, bool and_type);

#endif
