/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of a core that run together: a machine for each, over one memory. The public side is
 * tilery/pto_team.h; the order in which they run is described in docs/internals/pto.md. */
#ifndef TLY_PTO_TEAM_H
#define TLY_PTO_TEAM_H

#include <tilery/pto_team.h>

#include "pto/create.h"

/* tly_pto_team_new with a configuration; its `lender` is not looked at. */
tly_status tly_pto_team_make(const tly_context *context, const tly_pto_config *config,
                             uint32_t num_elements, tly_pto_team **out_team, tly_error *error);

uint32_t tly_pto_team_size(const tly_pto_team *team);

/* The machine of an element; NULL if there is none. */
tly_pto_machine *tly_pto_team_machine(const tly_pto_team *team, uint64_t element);

/* A machine of the team has written these bytes, or its host has: reservations of the others end
 * there, and what they made code from is to be compared. Called by any element at any time. */
void tly_pto_team_wrote(tly_pto_team *team, const tly_pto_machine *writer, uint64_t address,
                        uint64_t len);

/* Every element learns what the others did to its reservation and its code, and what it shares with
 * them. For when none of them runs. */
void tly_pto_team_settle(tly_pto_team *team);

#endif
