/* SPDX-License-Identifier: Apache-2.0 */
/* What --layout says, as the list of preferences that a client sends. */
#ifndef TLY_CLI_LAYOUTS_H
#define TLY_CLI_LAYOUTS_H

#include <stdio.h>

#include <tilery/net.h>
#include <tilery/panel.h>

#include "cli/fetch.h"

#define TLY_LAYOUTS_MAX          128
#define TLY_LAYOUTS_METADATA_LEN 512 /* of a plug-in's layout, bytes */

/* The preferences, most wanted first. Plain memory, but `entries` points into it: do not copy. */
typedef struct tly_layouts {
    uint32_t num;
    int asked;  /* anything was added */
    int native; /* "native" was added: it ends the list, because a server can always serve it */
    tly_fetch_layout entries[TLY_LAYOUTS_MAX];
    tly_panel_profile profiles[TLY_LAYOUTS_MAX]; /* of the entries that have one */
    const tly_families *families;                /* of plug-ins; NULL: none. The caller's */
    uint8_t metadata[TLY_LAYOUTS_MAX][TLY_LAYOUTS_METADATA_LEN];
} tly_layouts;

/* The tag of "row-major" or "column-major", in upper or lower case; 0 for other text. */
uint8_t tly_layouts_core_tag(const char *text);

void tly_layouts_init(tly_layouts *layouts);

/* May the answer come in a layout that is not in the list? */
int tly_layouts_takes_native(const tly_layouts *layouts);

/* Adds what `text` names, in upper or lower case: "native"; a core layout; a built-in panel, in
 * every element type that it has (the server skips those that are not the tensor's); a layout of a
 * plug-in, as NAME or NAME:ARGUMENTS; or else a file with a serialised profile. `transposed`:
 * panels are of a tensor stored N x K. Errors: NOT_FOUND (neither, with the nearest name), those of
 * tly_panel_decode, LIMIT. */
tly_status tly_layouts_add(tly_layouts *layouts, const char *text, int transposed,
                           tly_error *error);

/* Adds the panels that the kernel libraries of this machine want for a product of `m` rows with
 * this matrix: `kernel`'s only, or with NULL all of them, Tilery's own last. Those that want none
 * are passed over. Errors: UNSUPPORTED (no matrix that can be multiplied), NO_PANEL (no library
 * wants a panel), those of tly_gemm_open for a library that was named, LIMIT. */
tly_status tly_layouts_add_auto(tly_layouts *layouts, const tly_context *context,
                                const tly_tensor_facts *facts, int stored_nk, uint64_t m,
                                const char *kernel, tly_error *error);

/* Prints every name and what it is, as text or as JSON. */
void tly_layouts_print(FILE *out, int as_json);

#endif
