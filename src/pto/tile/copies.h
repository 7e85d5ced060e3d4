/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of the packing engine between tiles and rows in memory. A plan is made when its shape is
 * first seen, in memory that was reserved with the machine: running allocates nothing. */
#ifndef TLY_PTO_TILE_COPIES_H
#define TLY_PTO_TILE_COPIES_H

#include <tilery/pack.h>

#include "pto/tile/transport.h"

typedef enum tly_pto_copy_kind { TLY_PTO_COPY_LOAD, TLY_PTO_COPY_STORE } tly_pto_copy_kind;

/* From rows to the tile's bytes, or back. The plan stays valid until the next call. NULL when the
 * engine has no plan for these shapes; elements are then moved one by one. */
const tly_pack_plan *tly_pto_copy_plan(struct tly_pto_transport *transport,
                                       const tly_pto_tile *tile, const tly_pto_rows *rows,
                                       tly_pto_copy_kind kind, uint64_t padding);

#endif
