/* SPDX-License-Identifier: Apache-2.0 */
/* Whole tensors of a file in memory, a composite with all its members. */
#ifndef TLY_CLI_WHOLE_H
#define TLY_CLI_WHOLE_H

#include <tilery/transcode.h>

#include "base/arena.h"
#include "cli/source.h"

/* A tensor and all that it points to. Single-owner. */
typedef struct tly_whole {
    tly_arena arena;                /* descriptors, names, pointers */
    struct tly_whole_block *blocks; /* data */
    const char *name;               /* NUL-terminated */
    size_t name_len;                /* bytes */
    tly_tensor tensor;
    uint64_t num_tensors; /* with all members */
    uint64_t data_len;    /* bytes of all of them */
} tly_whole;

/* Reads the next tensor of a source. `*out_more` 0 at the end; then there is nothing to clean up.
 * Memory grows with the bytes that arrive, not with what descriptors announce. Errors: those of the
 * source, MALFORMED (members that do not fit), OUT_OF_MEMORY. */
tly_status tly_whole_init(tly_whole *loaded, const tly_context *context, tly_source *source,
                          int *out_more, tly_error *error);

/* The same where the tensor has been stepped to already: `item` is what tly_source_next gave last.
 */
tly_status tly_whole_init_item(tly_whole *loaded, const tly_context *context, tly_source *source,
                               const tly_source_item *item, tly_error *error);
void tly_whole_cleanup(tly_whole *loaded);

/* Copies the tensor into another layout, of which only the layout's own fields count, in place of
 * what it was. Nothing happens where it has that layout already and the layout has no fields.
 * Errors: those of tly_transcode_new and tly_transcode_run. */
tly_status tly_whole_transcode(tly_whole *loaded, const tly_context *context,
                               const tly_descriptor *layout, tly_error *error);

/* Memory for the data of `descriptor` (which must live as long as the tensor), in place of what the
 * tensor was: one block for all buffers, zeroed, each on a multiple of 64. `out_buffers` has
 * num_buffers entries. What the tensor pointed to stays until the end. Errors: OUT_OF_MEMORY. */
tly_status tly_whole_replace(tly_whole *loaded, const tly_descriptor *descriptor,
                             void **out_buffers, tly_error *error);

#endif
