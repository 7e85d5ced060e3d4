/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix operations: all twelve, with local and shared operands
 * (asl/block/model/dispatch/cube-tmatmul, shared-cube-matrix). */
#ifndef TLY_PTO_TILE_CUBE_H
#define TLY_PTO_TILE_CUBE_H

#include "pto/tile/operation.h"

/* TileCubeDescriptorLegal: a numeric tile of the matrix unit whose descriptor follows from its
 * valid region. */
bool tly_pto_cube_tile_legal(const tly_pto_machine *machine, const tly_pto_tile *tile);

bool tly_pto_execute_matrix(tly_pto_machine *machine);

#endif
