/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernel fits the form of a pair of nests, and in which order its tiles are walked. */
#ifndef TLY_PACK_CHOOSE_H
#define TLY_PACK_CHOOSE_H

#include "pack/form.h"
#include "pack/plan.h"

#define PACK_NONE UINT32_MAX

/* Everything about a plan that follows from the form alone. Indices into form->loops, to which one
 * loop with a single turn was added at the end for p or q where they are absent. */
typedef struct pack_choice {
    pack_path path;
    uint32_t width;
    uint32_t wide; /* the loop that one width covers, or PACK_NONE */
    uint32_t p, q;
    uint32_t num_tile;
    uint32_t tile[PACK_MAX_TILE]; /* innermost first, without `wide` */
    uint64_t table_len;
    uint32_t num_steps;
    pack_step steps[2 * PACK_MAX_LOOPS + 4]; /* outermost first */
} pack_choice;

/* Adds the loop with a single turn to `form` and fills `out`. Cannot fail. */
void pack_choose(pack_form *form, pack_choice *out);

/* "copy", "rows", ... Static storage. */
const char *pack_path_name(pack_path path);

#endif
