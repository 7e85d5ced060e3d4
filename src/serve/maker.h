/* SPDX-License-Identifier: Apache-2.0 */
/* Something that makes the bytes of a layout out of a stored tensor: by nests where both layouts
 * are some, by transcoding where one is not, by a plug-in for its own. It makes them in units, so
 * that pieces can be made side by side and leave before all is done. Immutable once it is made;
 * thread-safe. */
#ifndef TLY_SERVE_MAKER_H
#define TLY_SERVE_MAKER_H

#include <tilery/family.h>
#include <tilery/pack.h>
#include <tilery/transcode.h>
#include <tilery/wire.h>

#include "serve/catalogue.h"
#include "store/blocks.h"

typedef struct tly_maker tly_maker;

/* By nests. Where the element with index 0 stands is said later, by tly_maker_set_source. Errors:
 * those of tly_pack_plan_new. */
tly_status tly_maker_new_pack(const tly_context *context, const tly_nest *to, const tly_nest *from,
                              uint32_t element_bits, tly_maker **out_maker, tly_error *error);
void tly_maker_set_source(tly_maker *maker, const uint8_t *src);

/* Into the core layout `tag`, with the parameters that a bare tag stands for
 * (docs/adr/0015-parameters-of-a-bare-tag.md). Reads what it must of the tensor's contents; a guard
 * on its store is open. `memory_limit` is for tables on the way, not for the result. Errors: those
 * of tly_transcode_new. */
tly_status tly_maker_new_transcode(const tly_context *context, const tly_catalogue_entry *entry,
                                   uint8_t tag, uint64_t memory_limit, tly_maker **out_maker,
                                   tly_error *error);

/* By somebody else's packer, which gets the tensor in row-major order; `native` is the nest of the
 * stored layout. The source is said later. `memory_limit` is for a copy in row-major order, where
 * one is needed. Errors: what the family says; LIMIT, OUT_OF_MEMORY. */
tly_status tly_maker_new_family(const tly_context *context, const tly_family *family,
                                const tly_descriptor *stored, const tly_nest *native,
                                const tly_wire_layout *entry, uint64_t memory_limit,
                                tly_maker **out_maker, uint32_t *out_alignment, tly_error *error);

/* The tensor as it is stored, in an object elsewhere: `parts` back to back. */
tly_status tly_maker_new_copy(const tly_context *context, tly_blocks *blocks,
                              const tly_catalogue_bytes *parts, uint32_t num_parts,
                              tly_maker **out_maker, tly_error *error);
int tly_maker_copies(const tly_maker *maker); /* is it one of these? NULL is allowed */

void tly_maker_free(tly_maker *maker);

/* The tensor that comes out of a transcoding; NULL otherwise. Lives as long as the maker. */
const tly_descriptor *tly_maker_descriptor(const tly_maker *maker);

/* Bytes in all, of a unit, and units. The last unit may be shorter. */
uint64_t tly_maker_len(const tly_maker *maker);
uint64_t tly_maker_unit_len(const tly_maker *maker);
uint64_t tly_maker_num_units(const tly_maker *maker);

/* How, for people. */
const char *tly_maker_path(const tly_maker *maker);

/* Makes units into `out`, which is clean: all zeros, if `tly_maker_has_gaps`. `cancel` as in
 * store/blocks.h. Errors: OUT_OF_MEMORY, LIMIT; a copy: those of tly_blocks_read. */
int tly_maker_has_gaps(const tly_maker *maker);
tly_status tly_maker_run(const tly_maker *maker, uint64_t first_unit, uint64_t num_units,
                         uint8_t *out, const int32_t *cancel);

#endif
