/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of a machine for people: what is allocated, how much of the capacity it takes, what is
 * defined, and the first elements. */
#ifndef TLY_CLI_RUN_TILES_H
#define TLY_CLI_RUN_TILES_H

#include <stdio.h>

#include "pto/machine.h"

void tly_run_tiles_print(FILE *out, const tly_pto_machine *machine);

/* One tile; `index` is that of a local tile or, if `shared`, of a shared one. Prints that there is
 * none where nothing is allocated. */
void tly_run_tile_print(FILE *out, const tly_pto_machine *machine, bool shared, uint32_t index);

/* "16", or a hand and a place in it: "u#1" is tile 16. False for what is no local tile. */
bool tly_run_tile_parse(const char *text, uint32_t *out_tile);

#endif
