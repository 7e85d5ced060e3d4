/* SPDX-License-Identifier: Apache-2.0 */
/* The header of the active block: what its commands have said so far. */
#ifndef TLY_PTO_BLOCK_HEADER_H
#define TLY_PTO_BLOCK_HEADER_H

#include "pto/machine.h"

/* As when a block begins or ends (asl/block/model/state/descriptor-state). What lies in bindings
 * that are not valid stays. */
void tly_pto_clear_header(tly_pto_header *header);

/* Whether a command may add to the header now; otherwise refuses it. */
bool tly_pto_header_open(tly_pto_machine *machine, const tly_isa_insn *insn);

#endif
