/* SPDX-License-Identifier: Apache-2.0 */
/* The tiles of a recorded case: descriptors, which elements are defined, and their values. */
#ifndef TLY_CLI_PTO_CASE_TILES_H
#define TLY_CLI_PTO_CASE_TILES_H

#include "cli/pto_case.h"

/* One field of a state by name. Errors: MALFORMED. */
tly_status tly_pto_case_set(tly_pto_machine *machine, const char *name, const json_t *value,
                            tly_error *error);

/* Sets tiles from {"16": {"rows": .., "defined_elements": "0-3", "payload": [[0, "1,2"]]}}. Errors:
 * MALFORMED. */
tly_status tly_pto_case_set_tiles(tly_pto_machine *machine, json_t *tiles, bool shared,
                                  tly_error *error);

/* Compares the elements of all tiles. Returns false and says where they differ. */
bool tly_pto_case_same_tiles(tly_pto_machine *machine, tly_pto_machine *expected, char *out_text,
                             size_t capacity);

#endif
