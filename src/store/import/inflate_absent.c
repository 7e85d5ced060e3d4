/* SPDX-License-Identifier: Apache-2.0 */
/* A build without zlib: archives are refused before any of this is asked. */
#include "base/error.h"
#include "store/import/inflate.h"

static tly_status absent(tly_error *error) {
    return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "",
                         "this build has no zlib to unpack archives with");
}

int tly_inflate_available(void) {
    return 0;
}

uint32_t tly_inflate_crc32(uint32_t crc, const void *bytes, size_t len) {
    (void)bytes, (void)len;
    return crc;
}

tly_status tly_inflate_new(const tly_context *context, const tly_import_file *file,
                           uint64_t packed_at, uint64_t packed_len, tly_inflate **out_inflate,
                           tly_error *error) {
    (void)context, (void)file, (void)packed_at, (void)packed_len;
    *out_inflate = NULL;
    return absent(error);
}

void tly_inflate_free(tly_inflate *inflate) {
    (void)inflate;
}

tly_status tly_inflate_read(tly_inflate *inflate, void *buffer, size_t len, tly_error *error) {
    (void)inflate, (void)buffer, (void)len;
    return absent(error);
}

tly_status tly_inflate_end(tly_inflate *inflate, tly_error *error) {
    (void)inflate;
    return absent(error);
}
