/* SPDX-License-Identifier: Apache-2.0 */
/* Tile operations that reach memory or other processing elements. */
#ifndef TLY_PTO_TILE_TLSU_H
#define TLY_PTO_TILE_TLSU_H

#include "pto/tile/operation.h"

/* A header whose B.DATR names a conversion from or to a matrix cell layout
 * (asl/block/model/dispatch/tlsu-layout-conversion); it need not be a load or store. */
bool tly_pto_execute_cube_transport(tly_pto_machine *machine);

/* TLOAD, TSTORE and TMOV with a shared tile (asl/block/model/dispatch/shared-tlsu). */
bool tly_pto_execute_shared_tlsu(tly_pto_machine *machine);

bool tly_pto_execute_prefetch(tly_pto_machine *machine);
bool tly_pto_execute_gather(tly_pto_machine *machine);
bool tly_pto_execute_scatter(tly_pto_machine *machine);
bool tly_pto_execute_gather_mask(tly_pto_machine *machine);
bool tly_pto_execute_scatter_mask(tly_pto_machine *machine);
bool tly_pto_execute_gather_cas(tly_pto_machine *machine);
bool tly_pto_execute_gmov(tly_pto_machine *machine);

/* TLOAD, TSTORE and TMOV among local tiles, after the common checks of a header. */
bool tly_pto_check_tload(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_tload(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_tstore(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_tstore(tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_check_tmov(const tly_pto_machine *machine, tly_pto_plan *plan);
bool tly_pto_run_tmov(tly_pto_machine *machine, tly_pto_plan *plan);

#endif
