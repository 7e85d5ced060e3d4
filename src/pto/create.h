/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TLY_PTO_CREATE_H
#define TLY_PTO_CREATE_H

#include "pto/machine.h"

typedef struct tly_pto_config {
    uint64_t memory_bytes;
    uint64_t app_limit;  /* bytes of memory that rings 2 to 15 see */
    uint32_t num_queues; /* slots of general queues */
    tly_isa_release release;
    const struct tly_pto_profile *profile; /* NULL: pto-v0 */
    /* Another machine of the same sizes, whose memory, queues and elements of shared tiles the new
     * one uses; it has to outlive the new one. NULL: its own. */
    tly_pto_machine *lender;
} tly_pto_config;

/* A machine in its reset state. Errors: INVALID_ARGUMENT, OUT_OF_MEMORY. Single owner. */
tly_status tly_pto_machine_new(const tly_context *context, const tly_pto_config *config,
                               tly_pto_machine **out_machine, tly_error *error);
void tly_pto_machine_free(tly_pto_machine *machine);

/* What the public options ask for. Errors: INVALID_ARGUMENT, NOT_FOUND (no such profile). */
tly_status tly_pto_config_of(const struct tly_pto_options *options, tly_pto_config *out_config,
                             tly_error *error);

/* Makes the machine the element that it is in its team: the memory agent, and THREAD_ID. */
void tly_pto_identify(tly_pto_machine *machine);

/* Everything as after tly_pto_machine_new, memory zero. */
void tly_pto_machine_reset(tly_pto_machine *machine);

#endif
