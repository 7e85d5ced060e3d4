/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_PTO_BLOCK_QUEUE_H
#define TLY_PTO_BLOCK_QUEUE_H

#include "pto/machine.h"

/* Marks the general queue of an address as corrupt, or as whole again; nothing where there is no
 * such queue. An action of the host: no instruction does it. */
void tly_pto_set_queue_corrupt(tly_pto_machine *machine, uint64_t address, bool corrupt);

#endif
