/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes in their order, wherever they are: in the file, or in a member of an archive. */
#ifndef TLY_IMPORT_PULL_H
#define TLY_IMPORT_PULL_H

#include "store/import/importer.h"
#include "store/import/inflate.h"

/* Plain memory of the caller. Single-owner. */
typedef struct tly_import_pull {
    const tly_import_file *file;
    const tly_import_member *member; /* NULL: the file itself */
    uint64_t at;                     /* of the next byte: of the file, or unpacked of the member */
    uint32_t crc32;
    tly_inflate *inflate; /* NULL: stored as it is */
} tly_import_pull;

/* Starts at byte `at` of the file, or, where there is a member, at its beginning. */
tly_status tly_import_pull_init(tly_import_pull *pull, const tly_context *context,
                                const tly_import_file *file, const tly_import_member *member,
                                uint64_t at, tly_error *error);

/* Exactly the next `len` bytes. */
tly_status tly_import_pull_read(tly_import_pull *pull, void *buffer, size_t len, tly_error *error);

/* A member must end here, and have the check sum that the archive gives. Errors: MALFORMED (rules
 * "deflate", "zip-crc32"). */
tly_status tly_import_pull_end(tly_import_pull *pull, tly_error *error);

void tly_import_pull_cleanup(tly_import_pull *pull);

#endif
