/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a container or a server as tiles of a machine, before a program starts. */
#ifndef TLY_HOST_FILL_H
#define TLY_HOST_FILL_H

#include <tilery/pto.h>
#include <tilery/tensor.h>

/* Allocates local tiles (0 .. 63) of processing element 0 by the architecture's rules, each with
 * the smallest capacity that is legal, and fills them. `descriptor` is a matrix, or a vector, which
 * is one row: row-major, for a tile by rows, or a built-in panel of CUBE cells ("cube_m16",
 * "cube_m32", "cube_n8"), for a tile in that layout whose bytes are copied as they are. `bytes` are
 * those of its only buffer. The valid region is the matrix as the product reads it (M x K, K x N),
 * and it is what is defined then.
 *
 * A panel may be dealt out to several tiles, because one holds 64 KiB at most: the columns of B
 * (cube_n8) or the steps of K (cube_m16, cube_m32) in order, equally many for each tile but the
 * last. Each is a whole number of cells, so bytes are copied here too.
 *
 * Errors: UNSUPPORTED (type, rank, layout), INVALID_ARGUMENT (fewer cells than tiles; with the
 * machine's own rule: too large, no room). The tiles before the one that was refused are filled. */
tly_status tly_host_fill_tiles(tly_pto_machine *machine, const uint32_t *tiles, uint32_t num_tiles,
                               const tly_descriptor *descriptor, const void *bytes,
                               tly_error *error);

#endif
