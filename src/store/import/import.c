/* SPDX-License-Identifier: Apache-2.0 */
/* Opening: find the format by the content and let its reader fill the list. */
#include <tilery/import.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <tilery/tensor.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"
#include "store/import/importer.h"

#define ALIGNMENT 64 /* bytes, in descriptors: what the format asks for at least */

#define HEAD_LEN 132 /* enough for every magic number below */

/* Names may take this many times the file's own bytes, plus some: subgraph paths repeat. */
#define TEXT_FACTOR 16
#define TEXT_EXTRA  65536

static const struct {
    const char *name;
    tly_status (*read)(tly_import *import, tly_error *error);
} formats[] = {
    [TLY_IMPORT_ONNX] = {"onnx", tly_import_read_onnx},
    [TLY_IMPORT_SAFETENSORS] = {"safetensors", tly_import_read_safetensors},
    [TLY_IMPORT_NPY] = {"npy", tly_import_read_npy},
    [TLY_IMPORT_GGUF] = {"gguf", tly_import_read_gguf},
    [TLY_IMPORT_MATRIX_MARKET] = {"mtx", tly_import_read_mtx},
    [TLY_IMPORT_NPZ] = {"npz", tly_import_read_npz},
};

#define NUM_FORMATS (sizeof formats / sizeof formats[0])

const char *tly_import_format_name(int32_t format) {
    if (format <= 0 || (size_t)format >= NUM_FORMATS) {
        return "?";
    }
    return formats[format].name;
}

/* Formats that people might try: so that the refusal can say what it saw. */
static const struct {
    uint32_t at;
    uint32_t len;
    const char *magic;
    const char *what;
} strangers[] = {
    {0, 8, "HRRYFILE", "a tensor container already; it needs no import"},
    {0, 4, "HRRY", "a stream of tensors already; it needs no import"},
    {0, 4, "tjgg", "a legacy ggml model"},
    {0, 4, "fmgg", "a legacy ggml model"},
    {0, 4, "lmgg", "a legacy ggml model"},
    {0, 2, "\037\213", "gzip; unpack it first"},
    {0, 4, "\050\265\057\375", "zstd; unpack it first"},
    {0, 8, "\211HDF\r\n\032\n", "HDF5"},
    {0, 6, "ARROW1", "an Arrow file"},
    {0, 4, "FEA1", "a Feather file"},
    {4, 4, "TFL3", "a TensorFlow Lite model"},
    {0, 4, "\177ELF", "an ELF program"},
    {0, 40, "version https://git-lfs.github.com/spec/", "a Git LFS pointer; fetch the file itself"},
    {0, 2, "\200\002", "a Python pickle, which can run code when it is opened"},
    {0, 2, "\200\003", "a Python pickle, which can run code when it is opened"},
    {0, 2, "\200\004", "a Python pickle, which can run code when it is opened"},
};

static int ends_with(const char *text, const char *end) {
    size_t len = strlen(text), end_len = strlen(end);
    return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

static tly_status find_format(tly_import *import, tly_error *error) {
    const tly_import_file *file = &import->files[0];
    uint8_t head[HEAD_LEN];
    uint32_t len = file->len < HEAD_LEN ? (uint32_t)file->len : HEAD_LEN;
    tly_status status = tly_import_file_read(file, 0, head, len, error);
    char shown[80];
    if (status != TLY_OK) {
        return status;
    }
    if (len >= 6 && memcmp(head, "\223NUMPY", 6) == 0) {
        import->format = TLY_IMPORT_NPY;
        return TLY_OK;
    }
    if (len >= 4 && memcmp(head, "GGUF", 4) == 0) {
        import->format = TLY_IMPORT_GGUF;
        return TLY_OK;
    }
    if (len >= 4 && (memcmp(head, "PK\003\004", 4) == 0 || memcmp(head, "PK\005\006", 4) == 0)) {
        import->format = TLY_IMPORT_NPZ;
        return TLY_OK;
    }
    if (len >= 14 && memcmp(head, "%%MatrixMarket", 14) == 0) {
        import->format = TLY_IMPORT_MATRIX_MARKET;
        return TLY_OK;
    }
    for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
        if (len >= strangers[i].at + strangers[i].len &&
            memcmp(head + strangers[i].at, strangers[i].magic, strangers[i].len) == 0) {
            return tly_base_fail(error, TLY_UNSUPPORTED, 0, "format",
                                 "%s looks like %s; the import takes ONNX, safetensors, GGUF, npy, "
                                 "npz and Matrix Market",
                                 file->name, strangers[i].what);
        }
    }
    if ((len >= 9 && head[8] == '{') || ends_with(file->name, ".safetensors") ||
        (tly_import_looks_like_index(import) && ends_with(file->name, ".index.json"))) {
        import->format = TLY_IMPORT_SAFETENSORS;
        return TLY_OK;
    }
    if (tly_import_looks_like_onnx(import)) {
        import->format = TLY_IMPORT_ONNX;
        return TLY_OK;
    }
    if (len == 0) {
        return tly_base_fail(error, TLY_TRUNCATED, 0, "format", "%s is empty", file->name);
    }
    return tly_base_fail(error, TLY_UNSUPPORTED, 0, "format",
                         "%s begins with \"%s\", which is none of ONNX, safetensors, GGUF, npy, "
                         "npz and Matrix Market",
                         file->name,
                         tly_base_printable(shown, sizeof shown, head, len < 12 ? len : 12));
}

static tly_status take_options(tly_import *import, const tly_import_options *options,
                               tly_error *error) {
    tly_import_options *o = &import->options;
    if (options != NULL) {
        if (options->size != sizeof *options) {
            return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                                 "tly_import_options.size is %zu, expected %zu", options->size,
                                 sizeof *options);
        }
        *o = *options;
    }
    if (o->format < 0 || (size_t)o->format >= NUM_FORMATS || o->unsupported < TLY_IMPORT_REFUSE ||
        o->unsupported > TLY_IMPORT_SKIP) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-range",
                             "tly_import_options has format %d and policy %d; one is unknown",
                             o->format, o->unsupported);
    }
    if (o->rank > 64 || o->name_len > 65535 || o->json_depth > 64 || o->graph_depth > 128) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-range",
                             "a limit is above its maximum: rank 64, name 65535, JSON depth 64, "
                             "graph depth 128");
    }
    o->rank = o->rank != 0 ? o->rank : TLY_MAX_RANK;
    o->header_len = o->header_len != 0 ? o->header_len : 100000000;
    o->num_tensors = o->num_tensors != 0 ? o->num_tensors : 1000000;
    o->expanded_len = o->expanded_len != 0 ? o->expanded_len : UINT64_C(1) << 42;
    o->name_len = o->name_len != 0 ? o->name_len : 4096;
    o->json_depth = o->json_depth != 0 ? o->json_depth : 16;
    o->graph_depth = o->graph_depth != 0 ? o->graph_depth : 32;
    o->num_files = o->num_files != 0 ? o->num_files : 256;
    return TLY_OK;
}

static tly_status no_memory(tly_error *error) {
    return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for an import");
}

/* An import with room for the first file. `path` is copied. */
static tly_status make(const tly_context *context, const tly_import_options *options,
                       const char *path, tly_import **out, const char **out_name,
                       tly_error *error) {
    tly_import *import = tly_base_calloc(context, sizeof *import, _Alignof(tly_import));
    tly_status status;
    void *files = NULL;
    if (import == NULL) {
        return no_memory(error);
    }
    import->context = context;
    import->folder_fd = -1;
    tly_arena_init(&import->arena, context);
    *out = import;
    status = take_options(import, options, error);
    if (status == TLY_OK) {
        *out_name = tly_arena_string(&import->arena, path, strlen(path));
        status = *out_name != NULL ? TLY_OK : no_memory(error);
    }
    if (status == TLY_OK) {
        status =
            tly_import_reserve(import, &files, 0, &import->cap_files, sizeof *import->files, error);
        import->files = files;
    }
    return status;
}

static tly_status read_headers(tly_import *import, tly_error *error) {
    tly_status status = TLY_OK;
    uint64_t len = import->files[0].len;
    import->text_limit = len < UINT64_MAX / TEXT_FACTOR - TEXT_EXTRA
                             ? len * TEXT_FACTOR + TEXT_EXTRA : UINT64_MAX;
    import->format = import->options.format;
    if (import->format == TLY_IMPORT_AUTO) {
        status = find_format(import, error);
    }
    if (status == TLY_OK) {
        status = formats[import->format].read(import, error);
    }
    return status == TLY_OK ? tly_import_finish(import, error) : status;
}

static tly_status null_argument(tly_error *error) {
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "null-argument",
                         "an argument that must be given is NULL");
}

tly_status tly_import_open(const tly_context *context, const char *path,
                           const tly_import_options *options, tly_import **out_import,
                           tly_error *error) {
    tly_import *import = NULL;
    const char *name, *slash;
    tly_status status;
    if (context == NULL || path == NULL || out_import == NULL) {
        return null_argument(error);
    }
    *out_import = NULL;
    status = make(context, options, path, &import, &name, error);
    if (status == TLY_OK) {
        slash = strrchr(name, '/');
        import->folder = slash == NULL
                             ? tly_arena_string(&import->arena, ".", 1)
                             : tly_arena_string(&import->arena, name, (size_t)(slash - name) + 1);
        status = import->folder != NULL ? TLY_OK : no_memory(error);
    }
    if (status == TLY_OK) {
        status = tly_import_file_open(&import->files[0], name, error);
    }
    if (status == TLY_OK) {
        import->num_files = 1;
        status = read_headers(import, error);
    }
    if (status != TLY_OK) {
        tly_import_free(import);
        return status;
    }
    *out_import = import;
    return TLY_OK;
}

tly_status tly_import_open_memory(const tly_context *context, const void *bytes, size_t len,
                                  const char *name, const tly_import_options *options,
                                  tly_import **out_import, tly_error *error) {
    tly_import *import = NULL;
    const char *copy;
    tly_status status;
    if (context == NULL || out_import == NULL || (bytes == NULL && len != 0)) {
        return null_argument(error);
    }
    *out_import = NULL;
    status = make(context, options, name != NULL ? name : "(memory)", &import, &copy, error);
    if (status == TLY_OK) {
        tly_import_file_memory(&import->files[0], bytes, len, copy);
        import->num_files = 1;
        status = read_headers(import, error);
    }
    if (status != TLY_OK) {
        tly_import_free(import);
        return status;
    }
    *out_import = import;
    return TLY_OK;
}

void tly_import_free(tly_import *import) {
    const tly_context *context;
    if (import == NULL) {
        return;
    }
    context = import->context;
    for (size_t i = 0; i < import->num_files; i++) {
        tly_import_file_close(&import->files[i]);
    }
    if (import->folder_fd >= 0) {
        close(import->folder_fd);
    }
    tly_base_free(context, import->files, import->cap_files * sizeof *import->files, 16);
    tly_base_free(context, import->entries, import->cap_entries * sizeof *import->entries, 16);
    tly_base_free(context, import->skips, import->cap_skips * sizeof *import->skips, 16);
    tly_base_free(context, import->kv, import->cap_kv * sizeof *import->kv, 16);
    tly_base_free(context, import->by_name, import->num_entries * sizeof(uint32_t),
                  sizeof(uint32_t));
    tly_arena_cleanup(&import->arena);
    tly_base_free(context, import, sizeof *import, _Alignof(tly_import));
}

int32_t tly_import_format_of(const tly_import *import) {
    return import->format;
}

uint64_t tly_import_num_tensors(const tly_import *import) {
    return import->num_entries;
}

tly_status tly_import_info(const tly_import *import, uint64_t index, tly_import_tensor *out_info) {
    const tly_import_entry *entry;
    if (index >= import->num_entries) {
        return TLY_NOT_FOUND;
    }
    entry = &import->entries[index];
    memset(out_info, 0, sizeof *out_info);
    out_info->name = entry->name;
    out_info->shape = entry->shape;
    out_info->byte_len = entry->byte_len;
    out_info->file_offset = entry->offset;
    out_info->file = import->files[entry->file].name;
    out_info->rank = entry->rank;
    out_info->name_len = entry->name_len;
    out_info->dtype = entry->dtype;
    out_info->layout = entry->layout;
    out_info->big_endian = entry->coding == TLY_CODING_SWAP || entry->big_endian;
    out_info->quantized = entry->descriptor != NULL && entry->descriptor->quantization != NULL;
    out_info->viewable = entry->coding == TLY_CODING_PLAIN && entry->pad_mask == 0 &&
                         (entry->member == NULL || entry->member->method == 0) &&
                         (entry->byte_len == 0 || import->files[entry->file].memory != NULL ||
                          import->files[entry->file].map != NULL);
    return TLY_OK;
}

tly_status tly_import_descriptor(const tly_import *import, uint64_t index,
                                 tly_descriptor *out_descriptor, tly_buffer_info *out_buffer) {
    const tly_import_entry *entry;
    if (index >= import->num_entries) {
        return TLY_NOT_FOUND;
    }
    entry = &import->entries[index];
    *out_buffer = (tly_buffer_info){.byte_size = entry->byte_len, .alignment = ALIGNMENT};
    if (entry->descriptor != NULL) {
        *out_descriptor = *entry->descriptor;
        return TLY_OK;
    }
    *out_descriptor = (tly_descriptor){.dtype = entry->dtype,
                                       .layout = entry->layout,
                                       .num_buffers = 1,
                                       .rank = entry->rank,
                                       .shape = entry->shape,
                                       .buffers = out_buffer};
    return TLY_OK;
}

tly_status tly_import_find(const tly_import *import, const char *name, uint64_t *out_index) {
    size_t low = 0, high = import->num_entries;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(import->entries[import->by_name[middle]].name, name);
        if (order == 0) {
            *out_index = import->by_name[middle];
            return TLY_OK;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return TLY_NOT_FOUND;
}

uint64_t tly_import_num_skipped(const tly_import *import) {
    return import->num_skips;
}

tly_status tly_import_skipped(const tly_import *import, uint64_t index, tly_import_skip *out_skip) {
    if (index >= import->num_skips) {
        return TLY_NOT_FOUND;
    }
    *out_skip = import->skips[index];
    return TLY_OK;
}

uint64_t tly_import_num_metadata(const tly_import *import) {
    return import->num_kv;
}

tly_status tly_import_metadata(const tly_import *import, uint64_t index, tly_kv *out_kv) {
    if (index >= import->num_kv) {
        return TLY_NOT_FOUND;
    }
    *out_kv = import->kv[index];
    return TLY_OK;
}
