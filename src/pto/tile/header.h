/* SPDX-License-Identifier: Apache-2.0 */
/* What a bundle's header must look like for an operation, and what it says about shapes and layouts
 * (the schemas of asl/block/model/dispatch, asl/block/model/state/control-state). */
#ifndef TLY_PTO_TILE_HEADER_H
#define TLY_PTO_TILE_HEADER_H

#include "pto/tile/operation.h"

/* Bindings that an operation's header has: one B.IOT with a destination (D) and sources (S), or
 * two; a stream of any number; or whatever brings the right number of operands. */
typedef enum tly_pto_header_kind {
    TLY_PTO_HEADER_FREE,
    TLY_PTO_HEADER_D,
    TLY_PTO_HEADER_D_S,
    TLY_PTO_HEADER_D_SS,
    TLY_PTO_HEADER_SS_DS,
    TLY_PTO_HEADER_STREAM,
    TLY_PTO_HEADER_KIND = 7,       /* mask of the above */
    TLY_PTO_HEADER_DIMS = 8,       /* LB0 is given, all that are given lie in 1 .. 65535 */
    TLY_PTO_HEADER_ROWS = 16,      /* results are stored by rows */
    TLY_PTO_HEADER_NO_SCALAR = 32, /* no B.IOR */
    TLY_PTO_HEADER_NO_DATR = 64    /* no B.DATR */
} tly_pto_header_kind;

/* Codes of B.DATR's pad field. */
enum { TLY_PTO_PAD_ZERO, TLY_PTO_PAD_MAX, TLY_PTO_PAD_MIN, TLY_PTO_PAD_NULL };

/* Layouts that a layout code of B.DATR converts between; row-major for codes of the matrix unit and
 * for codes that do not exist. */
enum { TLY_PTO_NUM_LAYOUT_CODES = 32 };
typedef struct tly_pto_layout_pair {
    uint8_t from;
    uint8_t to;
} tly_pto_layout_pair;
extern const tly_pto_layout_pair tly_pto_layout_pairs[TLY_PTO_NUM_LAYOUT_CODES];
static inline uint32_t tly_pto_source_layout(uint32_t code) {
    return tly_pto_layout_pairs[code % TLY_PTO_NUM_LAYOUT_CODES].from;
}
static inline uint32_t tly_pto_result_layout(uint32_t code) {
    return tly_pto_layout_pairs[code % TLY_PTO_NUM_LAYOUT_CODES].to;
}

/* Conversions from or to a layout of the matrix unit. */
static inline bool tly_pto_layout_code_is_cube(uint32_t code) {
    return code >= 21 && code <= 26;
}

static inline uint32_t tly_pto_num_shared_bindings(const tly_pto_header *header) {
    uint32_t count = 0;
    if (header->in_order && !header->shared_bindings[0].valid) {
        return 0;
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_BINDINGS; i++) {
        count += header->shared_bindings[i].valid;
    }
    return count;
}

/* Extents in LB0, LB1 and LB2 where it lies in 1 .. 65535; else that of the source, if there is one
 * and it is configured; else that of the only shared tile bound, if it is legal; else 1, or for
 * physical columns the valid ones (BundleDestinationValidColumns and others). */
uint32_t tly_pto_inferred_valid_columns(const tly_pto_machine *machine, bool has_source,
                                        uint32_t source);
uint32_t tly_pto_inferred_valid_rows(const tly_pto_machine *machine, bool has_source,
                                     uint32_t source);
uint32_t tly_pto_inferred_columns(const tly_pto_machine *machine, bool has_source, uint32_t source);

/* There is a B.IOT, and the last one and no other is marked last. */
bool tly_pto_bindings_terminated(const tly_pto_header *header);

/* The shape that LB0, LB1 and LB2 give where TLY_PTO_HEADER_DIMS holds: LB1 omitted is 1, LB2
 * omitted is LB0. */
typedef struct tly_pto_extent {
    uint32_t valid_rows;
    uint32_t valid_columns;
    uint32_t columns;
} tly_pto_extent;

tly_pto_extent tly_pto_header_extent(const tly_pto_header *header);

/* The three inferred extents. */
void tly_pto_inferred_extent(const tly_pto_machine *machine, bool has_source, uint32_t source,
                             tly_pto_extent *out_extent);

/* LB0 is given; all that are given lie in 1 .. 65535. */
bool tly_pto_check_dimensions(const tly_pto_machine *machine, tly_pto_plan *plan);

/* A source has the shape that the header gives. */
bool tly_pto_check_source_extent(const tly_pto_machine *machine, tly_pto_plan *plan,
                                 uint32_t ordinal);

/* Everything that the row's `header` and `types` ask for, then its `schema`. */
bool tly_pto_check_header(const tly_pto_machine *machine, tly_pto_plan *plan);

/* SharedTileDescriptorLegal. */
bool tly_pto_shared_tile_legal(const tly_pto_machine *machine, uint32_t shared_id);

#endif
