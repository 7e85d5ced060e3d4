/* SPDX-License-Identifier: Apache-2.0 */
/* Where the results' descriptors come from (asl/block/model/dispatch/destination-shape). */
#ifndef TLY_PTO_TILE_RESOLVE_H
#define TLY_PTO_TILE_RESOLVE_H

#include "pto/tile/operation.h"

typedef enum tly_pto_resolve_kind {
    TLY_PTO_RESOLVE_INFERRED, /* dimensions, or else the first source */
    TLY_PTO_RESOLVE_HEADER,   /* dimensions */
    TLY_PTO_RESOLVE_EXPDIF,   /* dimensions, the type that B.DATR gives */
    TLY_PTO_RESOLVE_PREDICATE,
    TLY_PTO_RESOLVE_ROW_REDUCTION,
    TLY_PTO_RESOLVE_COLUMN_REDUCTION,
    TLY_PTO_RESOLVE_HISTOGRAM,
    TLY_PTO_RESOLVE_SORT,
    TLY_PTO_RESOLVE_MERGE
} tly_pto_resolve_kind;

/* Chooses tiles for the destinations and makes their descriptors. On failure *out_fault says which
 * fault the plan's reason belongs to. */
bool tly_pto_resolve_results(const tly_pto_machine *machine, tly_pto_plan *plan,
                             tly_pto_fault *out_fault);

#endif
