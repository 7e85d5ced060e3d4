/* SPDX-License-Identifier: Apache-2.0 */
/* What zlib does for archives: check sums, and bytes that are unpacked as they are asked for. A
 * build without zlib has a version of this that is never asked (inflate_absent.c). */
#ifndef TLY_IMPORT_INFLATE_H
#define TLY_IMPORT_INFLATE_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/status.h>

#include "store/import/file.h"

typedef struct tly_inflate tly_inflate;

/* Has this build got zlib? */
int tly_inflate_available(void);

uint32_t tly_inflate_crc32(uint32_t crc, const void *bytes, size_t len);

/* Starts on raw deflate data, packed_len bytes at packed_at of a file. */
tly_status tly_inflate_new(const tly_context *context, const tly_import_file *file,
                           uint64_t packed_at, uint64_t packed_len, tly_inflate **out_inflate,
                           tly_error *error);
void tly_inflate_free(tly_inflate *inflate);

/* Unpacks exactly `len` bytes. Errors: TRUNCATED, MALFORMED (rule "deflate"), OUT_OF_MEMORY, IO. */
tly_status tly_inflate_read(tly_inflate *inflate, void *buffer, size_t len, tly_error *error);

/* The data must end here. Errors: MALFORMED (rule "deflate"). */
tly_status tly_inflate_end(tly_inflate *inflate, tly_error *error);

#endif
