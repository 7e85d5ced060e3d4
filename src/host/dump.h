/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles of a machine as tensors in a container, in their own layout. */
#ifndef TLY_HOST_DUMP_H
#define TLY_HOST_DUMP_H

#include <tilery/pto.h>
#include <tilery/store.h>

/* Writes every allocated tile to a new container: "tile.16" for local tile 16, "shared.3" for
 * shared tile 3, the bytes as the tile stores them. Of several machines, the elements of a team by
 * number, local tiles are "pe2.tile.16" and so on. Shapes: the valid region for row-major,
 * column-major and matrix-cell layouts, all elements for fractals and predicates (a byte of eight
 * each). Types that the tensor format has not are stored as unsigned codes. What a tensor cannot
 * say stands in the metadata: "pto.NAME.type", ".layout", ".valid", ".elements", ".defined" (runs
 * of element numbers in the tile's order). Errors: those of tly_store_writer_*; UNSUPPORTED (a tile
 * in an implementation's own layout, or with more than the bits of its elements: see
 * docs/internals/pto.md). */
tly_status tly_host_dump_tiles(const tly_context *context, const tly_pto_machine *const *machines,
                               uint32_t num_machines, const char *path, uint64_t *out_num_tiles,
                               tly_error *error);

/* Adds one local tile (0 .. 63) to a container that is being written, described like that, under a
 * name of its own and without metadata. Errors: NOT_FOUND (not allocated), those of above. */
tly_status tly_host_add_tile(const tly_pto_machine *machine, uint32_t tile,
                             tly_store_writer *writer, const char *key, tly_error *error);

#endif
