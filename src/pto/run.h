/* SPDX-License-Identifier: Apache-2.0 */
/* Running programs: fetch, entry of bodies, and why a run ends. The types are public. */
#ifndef TLY_PTO_RUN_H
#define TLY_PTO_RUN_H

#include <tilery/pto.h>

#include "pto/machine.h"

/* Reads the instruction at an address. Returns its bits, 0 where none can be fetched: the address
 * is odd, or the instruction does not lie in memory. */
uint32_t tly_pto_fetch(const tly_pto_machine *machine, uint64_t pc, uint64_t *out_word);

#endif
