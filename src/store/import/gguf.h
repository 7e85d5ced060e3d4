/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the GGUF importer share: gguf.c reads the frame and the tensors, gguf_kv.c
 * the metadata. */
#ifndef TLY_IMPORT_GGUF_H
#define TLY_IMPORT_GGUF_H

#include "store/import/importer.h"
#include "store/import/window.h"

typedef struct tly_gguf {
    tly_import *import;
    tly_error *error;
    tly_window window; /* over files[0] */
    uint64_t at;       /* next byte of the file */
    uint32_t alignment;
    int big_endian;
} tly_gguf;

/* A string in the file. */
typedef struct tly_gguf_string {
    uint64_t at;
    uint64_t len;
} tly_gguf_string;

/* Reads an integer of `width` (1, 2, 4 or 8) bytes in the byte order of the file. */
tly_status tly_gguf_int(tly_gguf *g, uint32_t width, uint64_t *out_value);

/* Steps over a string that lies inside of the file. */
tly_status tly_gguf_skip_string(tly_gguf *g, tly_gguf_string *out_string);

/* Copies a string that is to be a name: UTF-8 without a zero byte. */
tly_status tly_gguf_name(tly_gguf *g, const tly_gguf_string *string, const char **out_name);

/* Reads one key with its value into the import. Notes general.alignment. */
tly_status tly_gguf_read_kv(tly_gguf *g);

#endif
