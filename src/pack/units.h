/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_PACK_UNITS_H
#define TLY_PACK_UNITS_H

#include "pack/choose.h"
#include "pack/plan.h"

/* Fills the units of a plan whose loops and lengths are known. A destination with gaps, or one that
 * does not ascend, is one unit. */
void pack_cut_units(tly_pack_plan *plan, const tly_nest *dst, const pack_choice *choice);

#endif
