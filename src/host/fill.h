/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a container or a server as tiles of a machine, before a program starts. */
#ifndef TLY_HOST_FILL_H
#define TLY_HOST_FILL_H

#include <tilery/pto.h>
#include <tilery/tensor.h>

/* Allocates a local tile (0 .. 63) of processing element 0 by the architecture's rules, with the
 * smallest capacity that is legal, and fills it. `descriptor` is a matrix, or a vector, which is
 * one row: row-major, for a tile by rows, or a built-in panel of CUBE cells ("cube_m16",
 * "cube_m32", "cube_n8"), for a tile in that layout whose bytes are copied as they are. `bytes` are
 * those of its only buffer. The valid region is the matrix as the product reads it (M x K, K x N),
 * and it is what is defined then. Errors: UNSUPPORTED (type, rank, layout), INVALID_ARGUMENT with
 * the machine's own rule (too large, no room); the machine is then as it was. */
tly_status tly_host_fill_tile(tly_pto_machine *machine, uint32_t tile,
                              const tly_descriptor *descriptor, const void *bytes,
                              tly_error *error);

#endif
