/* SPDX-License-Identifier: Apache-2.0 */
/* Element types of the tile machine and of the tensor format. */
#ifndef TLY_HOST_TYPES_H
#define TLY_HOST_TYPES_H

#include <stdbool.h>
#include <stdint.h>

#include <tilery/dtype.h>

/* The type that a tile's elements have as a tensor; types that the format does not know are stored
 * as unsigned codes of their width. */
tly_dtype tly_host_dtype(uint32_t code);

/* The tile machine's code of a type; false where it has none. */
bool tly_host_code(tly_dtype dtype, uint32_t *out_code);

#endif
