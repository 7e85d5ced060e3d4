/* SPDX-License-Identifier: Apache-2.0 */
/* The whole state of a machine as JSON. */
#ifndef TLY_CLI_RUN_STATE_H
#define TLY_CLI_RUN_STATE_H

#include <stdio.h>

#include "pto/machine.h"

/* Writes every field that differs from `reset`, a machine in its reset state, by name; and every
 * allocated tile with its elements. */
void tly_run_state_json(FILE *out, tly_pto_machine *machine, tly_pto_machine *reset);

#endif
