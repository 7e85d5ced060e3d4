/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors as they are stored, and composites: a head and its members, one after the other. */
#ifndef TLY_SERVE_COMPOSE_H
#define TLY_SERVE_COMPOSE_H

#include "serve/answer.h"

/* A serialised descriptor in memory of the context. Errors: those of tly_descriptor_encode,
 * OUT_OF_MEMORY. */
tly_status tly_answer_encode(const tly_context *context, const tly_descriptor *descriptor,
                             uint8_t **out_bytes, size_t *out_len, tly_error *error);

/* tly_catalogue_describe, which gives up when nobody wants the answer any more (`cancel` as in
 * store/blocks.h). */
tly_status tly_answer_describe(const tly_catalogue_entry *entry, const int32_t *cancel, void *work,
                               size_t work_len, tly_descriptor *out, tly_error *error);

/* The buffers of an entry as they are; `out` is filled in any case, with what has to be freed.
 * Errors: as above, those of tly_catalogue_buffer. */
tly_status tly_answer_use_stored(const tly_context *context, const tly_catalogue_entry *entry,
                                 const tly_descriptor *stored, uint32_t min_alignment,
                                 tly_answer_member *out, tly_error *error);

/* Makes the answer a composite: its head, and the members that follow it in its file (Hurray 1.0,
 * file-format, Composite Tensors). Errors: UNSUPPORTED (not in a file; too many), MALFORMED (rules
 * C-...), those above. */
tly_status tly_answer_compose(tly_answer *answer, const tly_catalogue_entry *entry,
                              const tly_descriptor *head, uint32_t min_alignment,
                              const int32_t *cancel, tly_error *error);
void tly_answer_drop_members(tly_answer *answer);

#endif
