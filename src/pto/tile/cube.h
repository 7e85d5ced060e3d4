/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix operations: all twelve, with local and shared operands
 * (asl/block/model/dispatch/cube-tmatmul, shared-cube-matrix). */
#ifndef TLY_PTO_TILE_CUBE_H
#define TLY_PTO_TILE_CUBE_H

#include "pto/tile/operation.h"

bool tly_pto_execute_matrix(tly_pto_machine *machine);

#endif
