/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzz targets of the importers share: open the input as one format, skip what cannot be
 * carried, and read every tensor. Aborts when an import contradicts itself. */
#ifndef TLY_FUZZ_IMPORT_INPUT_H
#define TLY_FUZZ_IMPORT_INPUT_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/import.h>

static inline tly_status import_input_piece(void *user, const void *bytes, size_t len,
                                            tly_error *error) {
    uint64_t *sum = user;
    const uint8_t *p = bytes;
    (void)error;
    for (size_t i = 0; i < len; i++) {
        sum[1] += p[i];
    }
    sum[0] += len;
    return TLY_OK;
}

static inline void import_input_check(const tly_import *import) {
    for (uint64_t i = 0; i < tly_import_num_tensors(import); i++) {
        tly_import_tensor info;
        tly_error error = {0};
        uint64_t sum[2] = {0, 0};
        uint64_t found = UINT64_MAX;
        tly_status status;
        if (tly_import_info(import, i, &info) != TLY_OK || info.name_len == 0 ||
            strlen(info.name) != info.name_len ||
            tly_import_find(import, info.name, &found) != TLY_OK || found != i) {
            abort();
        }
        status = tly_import_stream(import, i, import_input_piece, sum, &error);
        if (status == TLY_OK ? sum[0] != info.byte_len : error.message[0] == '\0') {
            abort();
        }
        if (info.viewable) {
            const void *view;
            if (tly_import_view(import, i, &view, &error) != TLY_OK) {
                abort();
            }
        }
    }
}

static inline int import_input_run(int32_t format, const uint8_t *data, size_t size) {
    tly_import_options options = {
        .size = sizeof options, .format = format, .unsupported = TLY_IMPORT_SKIP};
    tly_context *context;
    tly_import *import = NULL;
    tly_error error = {0};
    if (tly_context_new(NULL, &context, NULL) != TLY_OK) {
        abort();
    }
    if (tly_import_open_memory(context, data, size, NULL, &options, &import, &error) == TLY_OK) {
        import_input_check(import);
    } else if (import != NULL || error.message[0] == '\0') {
        abort();
    }
    tly_import_free(import);
    tly_context_free(context);
    return 0;
}

#endif
