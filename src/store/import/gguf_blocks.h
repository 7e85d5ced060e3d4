/* SPDX-License-Identifier: Apache-2.0 */
/* The block formats of GGUF that a quantization of the tensor format can say: codes with a scale
 * for every so many of them, and no minima. */
#ifndef TLY_IMPORT_GGUF_BLOCKS_H
#define TLY_IMPORT_GGUF_BLOCKS_H

#include "store/import/importer.h"

/* Can tensors of this type of GGUF be carried? */
int tly_gguf_blocks_known(uint32_t type);

/* Completes an entry of such a type, whose name, shape, rank, place and extent are set and which
 * has elements: element type, descriptor, length. Errors: OVERFLOW, OUT_OF_MEMORY. */
tly_status tly_gguf_blocks_entry(tly_import *import, tly_import_entry *entry, tly_error *error);

/* The codes of an entry, then the scales. Errors: MALFORMED (rule "gguf-scale": one that the format
 * cannot have), those of the file, what the sink returns. */
tly_status tly_import_stream_blocks(const tly_import *import, const tly_import_entry *entry,
                                    tly_import_sink sink, void *user, tly_error *error);

#endif
