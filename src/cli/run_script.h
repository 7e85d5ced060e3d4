/* SPDX-License-Identifier: Apache-2.0 */
/* tilery run --script: a line for each action on a machine. */
#ifndef TLY_CLI_RUN_SCRIPT_H
#define TLY_CLI_RUN_SCRIPT_H

#include <stdio.h>

#include "cli/run_load.h"
#include "pto/run.h"

typedef struct tly_script {
    FILE *out;
    const tly_context *context;
    tly_pto_machine *machine;
    const tly_loaded *loaded;
    tly_pto_run_options run; /* stop address, limit and observer of `run` */
    int failed;              /* an action was refused, or a run ended otherwise than at its stop */
} tly_script;

/* Runs the script of a file ("-": standard input). An action that the machine refuses is reported
 * on `out` and does not end the script. Errors: IO; MALFORMED with the line for what is no action.
 */
tly_status tly_script_run(tly_script *script, const char *path, tly_error *error);

#endif
