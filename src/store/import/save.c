/* SPDX-License-Identifier: Apache-2.0 */
/* An import into a container. */
#include <tilery/store.h>
#include <tilery/tensor.h>

#include "base/error.h"
#include "store/import/importer.h"

typedef struct target {
    tly_store_writer *writer;
    const tly_import_save_options *options;
    uint64_t done_len;
    uint64_t total_len;
} target;

static tly_status put_piece(void *user, const void *bytes, size_t len, tly_error *error) {
    target *t = user;
    tly_status status = tly_store_writer_append(t->writer, bytes, len, error);
    t->done_len += len;
    if (status == TLY_OK && t->options != NULL && t->options->progress != NULL) {
        status = t->options->progress(t->options->progress_user, t->done_len, t->total_len);
        if (status != TLY_OK) {
            return tly_base_fail(error, status, TLY_NO_OFFSET, "", "the import was stopped");
        }
    }
    return status;
}

static tly_status check_options(const tly_import_save_options *options, tly_error *error) {
    if (options != NULL && options->size != sizeof *options) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "tly_import_save_options.size is %zu, expected %zu", options->size,
                             sizeof *options);
    }
    return TLY_OK;
}

tly_status tly_import_append(const tly_import *import, tly_store_writer *writer,
                             const tly_import_save_options *options, tly_error *error) {
    target t = {writer, options, 0, import->total_len};
    tly_status status = check_options(options, error);
    for (size_t i = 0; status == TLY_OK && i < import->num_entries; i++) {
        const tly_import_entry *entry = &import->entries[i];
        tly_buffer_info buffer;
        tly_descriptor descriptor;
        (void)tly_import_descriptor(import, i, &descriptor, &buffer);
        status = tly_store_writer_begin(writer, entry->name, entry->name_len, &descriptor, error);
        if (status == TLY_OK) {
            status = tly_import_stream(import, i, put_piece, &t, error);
        }
        if (status == TLY_OK) {
            status = tly_store_writer_end(writer, error);
        }
    }
    return status;
}

tly_status tly_import_save(const tly_import *import, const char *path,
                           const tly_import_save_options *options, tly_error *error) {
    tly_store_writer_options writer_options = {.size = sizeof writer_options};
    tly_store_writer *writer = NULL;
    tly_status status = check_options(options, error);
    if (status == TLY_OK) {
        writer_options.data_alignment = options != NULL ? options->data_alignment : 0;
        writer_options.tensor_count = import->num_entries;
        writer_options.kv = import->kv;
        writer_options.num_kv = import->num_kv;
        status = tly_store_writer_new(import->context, path, &writer_options, &writer, error);
    }
    if (status == TLY_OK) {
        status = tly_import_append(import, writer, options, error);
    }
    if (status == TLY_OK) {
        status = tly_store_writer_commit(writer, error);
    }
    tly_store_writer_free(writer);
    return status;
}
