/* SPDX-License-Identifier: Apache-2.0 */
/* Running programs: fetch, entry of bodies, and why a run ends. The types are public. */
#ifndef TLY_PTO_RUN_H
#define TLY_PTO_RUN_H

#include <tilery/pto.h>

#include "pto/machine.h"
#include "pto/turn.h"

/* Reads the instruction at an address. Returns its bits, 0 where none can be fetched: the address
 * is odd, or the instruction does not lie in memory. */
uint32_t tly_pto_fetch(const tly_pto_machine *machine, uint64_t pc, uint64_t *out_word);

/* How an element of a team stops before an instruction that is a turn; beside tly_pto_end. */
enum { TLY_PTO_END_TURN = -1 };

/* tly_pto_run for an element of a team: ends before a turn as well. */
void tly_pto_run_apart(tly_pto_machine *machine, const tly_pto_run_options *options,
                       tly_pto_run_result *out_result);

/* What the instruction at TPC needs, read from memory. */
tly_pto_turn tly_pto_next_turn(const tly_pto_machine *machine, uint32_t *out_mask);

/* Executes that one instruction. Returns whether the run goes on; if not, `out_end` says why. */
bool tly_pto_run_turn(tly_pto_machine *machine, const tly_pto_run_options *options,
                      int32_t *out_end);

#endif
