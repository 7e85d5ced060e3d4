/* SPDX-License-Identifier: Apache-2.0 */
/* Plug-ins that --family names. */
#ifndef TLY_CLI_FAMILIES_H
#define TLY_CLI_FAMILIES_H

#include <tilery/family.h>

#include "cli/cli.h"

/* Loads what each `option` names; NULL if it was not given. The caller frees it. Errors: those of
 * tly_families_load. */
tly_status tly_families_from(const tly_cli *cli, uint32_t option, const tly_context *context,
                             tly_families **out_families, tly_error *error);

#endif
