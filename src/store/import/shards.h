/* SPDX-License-Identifier: Apache-2.0 */
/* Between the reader of one safetensors file and that of an index of several. */
#ifndef TLY_IMPORT_SHARDS_H
#define TLY_IMPORT_SHARDS_H

#include "store/import/importer.h"

/* Told the name of each tensor of a shard, carried or not. */
typedef tly_status (*tly_import_shard_check)(void *user, const char *name, tly_error *error);

/* Reads import->files[file] as safetensors. The metadata are those of the first shard. */
tly_status tly_import_read_shard(tly_import *import, uint32_t file, tly_import_shard_check check,
                                 void *user, tly_error *error);

#endif
