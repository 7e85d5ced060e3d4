/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/pull.h"

#include "base/error.h"

tly_status tly_import_pull_init(tly_import_pull *pull, const tly_context *context,
                                const tly_import_file *file, const tly_import_member *member,
                                uint64_t at, tly_error *error) {
    *pull = (tly_import_pull){.file = file, .member = member, .at = member != NULL ? 0 : at};
    if (member == NULL || member->method == 0) {
        return TLY_OK;
    }
    return tly_inflate_new(context, file, member->packed_at, member->packed_len, &pull->inflate,
                           error);
}

tly_status tly_import_pull_read(tly_import_pull *pull, void *buffer, size_t len, tly_error *error) {
    const tly_import_member *m = pull->member;
    tly_status status;
    if (m == NULL) {
        status = tly_import_file_read(pull->file, pull->at, buffer, len, error);
        pull->at += len;
        return status;
    }
    if (len > m->len - pull->at) {
        return tly_base_fail(error, TLY_TRUNCATED, m->packed_at, "file-end",
                             "a member of the archive ends after %llu bytes, but more are needed",
                             (unsigned long long)m->len);
    }
    status = pull->inflate != NULL
                 ? tly_inflate_read(pull->inflate, buffer, len, error)
                 : tly_import_file_read(pull->file, m->packed_at + pull->at, buffer, len, error);
    if (status == TLY_OK) {
        pull->at += len;
        pull->crc32 = tly_inflate_crc32(pull->crc32, buffer, len);
    }
    return status;
}

tly_status tly_import_pull_end(tly_import_pull *pull, tly_error *error) {
    const tly_import_member *m = pull->member;
    if (m == NULL) {
        return TLY_OK;
    }
    if (pull->inflate != NULL) {
        tly_status status = tly_inflate_end(pull->inflate, error);
        if (status != TLY_OK) {
            return status;
        }
    }
    if (pull->crc32 != m->crc32) {
        return tly_base_fail(error, TLY_MALFORMED, m->packed_at, "zip-crc32",
                             "a member has check sum %08X, the archive says %08X", pull->crc32,
                             m->crc32);
    }
    return TLY_OK;
}

void tly_import_pull_cleanup(tly_import_pull *pull) {
    tly_inflate_free(pull->inflate);
    pull->inflate = NULL;
}
