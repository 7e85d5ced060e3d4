/* SPDX-License-Identifier: Apache-2.0 */
/* The other files of an import: external data of ONNX, shards of safetensors. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/error.h"
#include "store/import/importer.h"

static tly_status open_folder(tly_import *import, uint64_t offset, tly_error *error) {
    if (import->folder == NULL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, offset, "external-folder",
                             "the model is read from memory, so there is no folder for its other "
                             "files");
    }
    if (import->folder_fd < 0) {
        import->folder_fd = open(import->folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (import->folder_fd < 0) {
            return tly_base_fail_errno(error, errno, "cannot open the folder %s", import->folder);
        }
    }
    return TLY_OK;
}

tly_status tly_import_open_below(tly_import *import, const char *location, uint64_t offset,
                                 uint32_t *out_file, tly_error *error) {
    const char *name;
    void *array;
    tly_status status;
    for (size_t i = 1; i < import->num_files; i++) {
        if (strcmp(import->files[i].name, location) == 0) {
            *out_file = (uint32_t)i;
            return TLY_OK;
        }
    }
    status = open_folder(import, offset, error);
    if (status != TLY_OK) {
        return status;
    }
    if (import->num_files > import->options.num_files) {
        return tly_base_fail(error, TLY_LIMIT, offset, "num-files",
                             "the model has more than %u other files, the limit",
                             import->options.num_files);
    }
    status = tly_import_text(import, location, strlen(location), offset, &name, error);
    if (status == TLY_OK) {
        array = import->files;
        status = tly_import_reserve(import, &array, import->num_files, &import->cap_files,
                                    sizeof *import->files, error);
        import->files = array;
    }
    if (status == TLY_OK) {
        status = tly_import_file_open_below(&import->files[import->num_files], import->folder_fd,
                                            name, import->options.follow_links, offset, error);
    }
    if (status == TLY_OK) {
        *out_file = (uint32_t)import->num_files++;
    }
    return status;
}
