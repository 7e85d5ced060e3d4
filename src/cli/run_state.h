/* SPDX-License-Identifier: Apache-2.0 */
/* The whole state of a machine as JSON. */
#ifndef TLY_CLI_RUN_STATE_H
#define TLY_CLI_RUN_STATE_H

#include <stdio.h>

#include "pto/team.h"

/* Writes every field that differs from `reset`, a machine in its reset state, by name; and every
 * allocated tile with its elements. */
void tly_run_state_json(FILE *out, tly_pto_machine *machine, tly_pto_machine *reset);

/* The same of every element of a team, as "elements" in the order of their numbers. */
void tly_run_team_state_json(FILE *out, tly_pto_team *team, tly_pto_machine *reset);

#endif
