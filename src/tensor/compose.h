/* SPDX-License-Identifier: Apache-2.0 */
/* Composites put together (Hurray 1.0, layouts/composite, Composition Semantics). */
#ifndef TLY_TENSOR_COMPOSE_H
#define TLY_TENSOR_COMPOSE_H

#include "tensor/view.h"

/* Are the members of a head, and theirs, a whole composite? Other tensors pass. */
tly_status tly_tensor_check_composite(const tly_context *context, const tly_tensor *tensor,
                                      tly_error *error);

/* The element of a composite at an index inside its shape. `out_found` is 0 where no member stores
 * one. Errors: INVALID_ARGUMENT (a group; a paged member whose tokens are not known). */
tly_status tly_tensor_compose_one(const tly_view *head, const uint64_t *index, tly_code *out_code,
                                  int *out_found);

/* Can the head's elements be computed at all? Errors as above. */
tly_status tly_tensor_compose_check(const tly_view *head, tly_error *error);

/* Called for each element that a member stores, in the order in which the members take effect:
 * `replace` or add. Indices are those of the head. */
typedef tly_status tly_tensor_compose_put(void *user, const uint64_t *index, tly_code code,
                                          int replace);

/* All elements of one member, and of a whole composite that passed the check. */
tly_status tly_tensor_compose_member(const tly_view *head, uint32_t number,
                                     tly_tensor_compose_put *put, void *user);
tly_status tly_tensor_compose_each(const tly_view *head, tly_tensor_compose_put *put, void *user);

/* Copies a dense member that replaces what is there into its box of `to`, by the packing engine.
 * `bytes` is buffer 0 of `to`. `out_done` is 0 where this way does not lead: then nothing was
 * written. Errors: OUT_OF_MEMORY, OVERFLOW. */
tly_status tly_tensor_copy_box(const tly_view *to, uint8_t *bytes, const tly_view *head,
                               uint32_t number, int *out_done, tly_error *error);

#endif
