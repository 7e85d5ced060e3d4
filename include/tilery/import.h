/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_IMPORT_H
#define TILERY_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/dtype.h>
#include <tilery/export.h>
#include <tilery/status.h>
#include <tilery/store.h>

TLY_BEGIN_DECLS

/* Importers: the tensors of other people's files, one interface for all formats
 * (docs/internals/import.md says what each importer carries and what it refuses). Opening reads
 * headers only. Every byte of the file is outside data: nothing is allocated on a header's word,
 * and element values arrive bit for bit. */

typedef enum tly_import_format {
    TLY_IMPORT_AUTO = 0, /* found by the content */
    TLY_IMPORT_ONNX = 1, /* a model, or a single TensorProto (.pb) */
    TLY_IMPORT_SAFETENSORS = 2,
    TLY_IMPORT_NPY = 3,
    TLY_IMPORT_GGUF = 4,
    TLY_IMPORT_MATRIX_MARKET = 5,
    TLY_IMPORT_NPZ = 6 /* where the build has zlib */
} tly_import_format;

/* "onnx", "safetensors", "npy", "gguf", "mtx", "npz"; "?" for a number that is none. Static
 * storage. Thread-safe.
 */
TLY_API const char *tly_import_format_name(int32_t format);

/* What to do with a tensor whose element type or form Tilery cannot carry. */
typedef enum tly_import_policy {
    TLY_IMPORT_REFUSE = 0, /* opening fails with UNSUPPORTED and names the tensor */
    TLY_IMPORT_SKIP = 1    /* the tensor is left out and listed by tly_import_skipped */
} tly_import_policy;

/* How to read, and how far to go. A field that is 0 stands for its default, so a structure of
 * zeroes with `size` set is the default too. Beyond a limit, opening fails with LIMIT. */
typedef struct tly_import_options {
    size_t size;           /* sizeof(tly_import_options) */
    int32_t format;        /* tly_import_format */
    int32_t unsupported;   /* tly_import_policy */
    int32_t follow_links;  /* ONNX external data: not 0 follows symbolic links and takes files with
                            * several hard links; the data may then lie outside the model's folder */
    uint32_t rank;         /* axes of a tensor; default and maximum 64 */
    uint64_t header_len;   /* bytes of a safetensors or npy header; default 100,000,000 */
    uint64_t num_tensors;  /* tensors of one file, skipped ones too; default 1,000,000 */
    uint64_t expanded_len; /* bytes of all tensors together; default 2^42 */
    uint32_t name_len;     /* bytes of a name; default 4096, maximum 65535 */
    uint32_t json_depth;   /* nesting of a JSON header; default 16, maximum 64 */
    uint32_t graph_depth;  /* nesting of ONNX subgraphs; default 32, maximum 128 */
    uint32_t num_files;    /* files of external data; default 256 */
} tly_import_options;

/* An open file. Immutable: any number of threads may read from one. */
typedef struct tly_import tly_import;

/* Opens a file and reads what it says about its tensors. `options` may be NULL. The caller frees
 * the import before the context. Errors: INVALID_ARGUMENT, NOT_FOUND (no such file), IO,
 * UNSUPPORTED (no known format: the message says what the file looks like; or a tensor that cannot
 * be carried), TRUNCATED, MALFORMED, OVERFLOW, LIMIT, OUT_OF_MEMORY. `error` gives the byte and the
 * rule. */
TLY_API tly_status tly_import_open(const tly_context *context, const char *path,
                                   const tly_import_options *options, tly_import **out_import,
                                   tly_error *error);

/* The same on bytes in memory, which must outlive the import. `name` (may be NULL) stands for the
 * file's name. External data is refused: there is no folder. */
TLY_API tly_status tly_import_open_memory(const tly_context *context, const void *bytes, size_t len,
                                          const char *name, const tly_import_options *options,
                                          tly_import **out_import, tly_error *error);

/* Closes an import; NULL is allowed. Pointers from info, view and the rest end here. */
TLY_API void tly_import_free(tly_import *import);

/* tly_import_format of the file. Thread-safe. */
TLY_API int32_t tly_import_format_of(const tly_import *import);

/* One tensor. Pointers live as long as the import. */
typedef struct tly_import_tensor {
    const char *name;      /* UTF-8, unique in the import, at least one byte, NUL-terminated */
    const uint64_t *shape; /* rank entries */
    uint64_t byte_len;     /* of all buffers as tly_import_read gives them, without padding */
    uint64_t file_offset;  /* where the file has the tensor's data */
    const char *file;      /* which file that is: the opened one, or one of external data */
    uint32_t rank;
    uint32_t name_len; /* bytes */
    tly_dtype dtype;
    uint8_t layout;     /* TLY_LAYOUT_ROW_MAJOR, TLY_LAYOUT_COL_MAJOR (npy in Fortran order, Matrix
                         * Market) or TLY_LAYOUT_COO (Matrix Market) */
    uint8_t big_endian; /* not 0: the file stores it so; reading swaps */
    uint8_t viewable;   /* not 0: tly_import_view can give the file's own bytes */
    uint8_t quantized;  /* not 0: the elements are codes (GGUF): see tly_import_descriptor */
    uint8_t reserved[3];
} tly_import_tensor;

/* Number of tensors. Thread-safe. */
TLY_API uint64_t tly_import_num_tensors(const tly_import *import);

/* Tells about tensor `index`, in the order of the file. Errors: NOT_FOUND. Thread-safe. */
TLY_API tly_status tly_import_info(const tly_import *import, uint64_t index,
                                   tly_import_tensor *out_info);

/* The descriptor that a tensor has in a container: with index buffers where it is sparse, with a
 * quantization where its elements are codes. `out_buffer` is the only buffer of a plain tensor, and
 * unused otherwise; all else lives as long as the import. tly_import_read gives the bytes of all
 * buffers, one behind the other. Errors: NOT_FOUND. Thread-safe. */
TLY_API tly_status tly_import_descriptor(const tly_import *import, uint64_t index,
                                         tly_descriptor *out_descriptor,
                                         tly_buffer_info *out_buffer);

/* Index of a tensor by its name. Errors: NOT_FOUND. Thread-safe. */
TLY_API tly_status tly_import_find(const tly_import *import, const char *name, uint64_t *out_index);

/* Reads a whole tensor: little-endian elements in the order of `layout`, without padding, and
 * behind them its other buffers; types of less than 8 bits packed from the least significant bit.
 * `len` must be `byte_len`. A file that has become shorter is an error (TRUNCATED). Errors:
 * NOT_FOUND, INVALID_ARGUMENT (len), TRUNCATED, MALFORMED (a value that the element type cannot
 * hold), IO, OUT_OF_MEMORY. Thread-safe. */
TLY_API tly_status tly_import_read(const tly_import *import, uint64_t index, void *buffer,
                                   uint64_t len, tly_error *error);

/* Receives the bytes of a tensor in consecutive pieces. Anything but TLY_OK stops the reading and
 * is returned; `error` is the one given to tly_import_stream. */
typedef tly_status (*tly_import_sink)(void *user, const void *bytes, size_t len, tly_error *error);

/* The bytes of tly_import_read piece by piece, in memory that does not depend on the tensor's size.
 * Errors: those of tly_import_read, and what the sink returns. Thread-safe. */
TLY_API tly_status tly_import_stream(const tly_import *import, uint64_t index, tly_import_sink sink,
                                     void *user, tly_error *error);

/* The bytes of tly_import_read without a copy, where the file has them like that (`viewable`). The
 * address may have any alignment: check it before it becomes a typed pointer. They are mapped: if
 * somebody shortens the file meanwhile, touching them is a bus error, so use tly_import_read where
 * others may write. Errors: NOT_FOUND, UNSUPPORTED (not viewable). Thread-safe. */
TLY_API tly_status tly_import_view(const tly_import *import, uint64_t index, const void **out_bytes,
                                   tly_error *error);

/* A tensor that was left out under TLY_IMPORT_SKIP. Pointers live as long as the import. */
typedef struct tly_import_skip {
    const char *name;     /* as its tensor would have been called; may be "" */
    const char *reason;   /* one sentence without a final newline */
    uint64_t file_offset; /* of its description in the opened file */
} tly_import_skip;

/* Number of tensors left out, and each of them. Errors: NOT_FOUND. Thread-safe. */
TLY_API uint64_t tly_import_num_skipped(const tly_import *import);
TLY_API tly_status tly_import_skipped(const tly_import *import, uint64_t index,
                                      tly_import_skip *out_skip);

/* What the file carries beside its tensors (safetensors __metadata__, ONNX metadata_props, the
 * metadata of GGUF), in the order of the file, in the form that tly_store_writer_options takes. The
 * key is NUL-terminated too. Pointers live as long as the import. Errors: NOT_FOUND. Thread-safe.
 */
TLY_API uint64_t tly_import_num_metadata(const tly_import *import);
TLY_API tly_status tly_import_metadata(const tly_import *import, uint64_t index, tly_kv *out_kv);

/* Told after each piece of data. Anything but TLY_OK stops and is returned (TLY_CANCELLED is meant
 * for it). */
typedef tly_status (*tly_import_progress)(void *user, uint64_t done_len, uint64_t total_len);

typedef struct tly_import_save_options {
    size_t size;                  /* sizeof(tly_import_save_options) */
    uint32_t data_alignment;      /* as in tly_store_writer_options; 0: its default */
    uint32_t reserved;            /* 0 */
    tly_import_progress progress; /* may be NULL */
    void *progress_user;
} tly_import_save_options;

/* Adds every tensor to a container that is being written, in the order of the file, under its name
 * and in its layout. Tensors pass through in pieces, so memory does not depend on their size.
 * `options` may be NULL; data_alignment is not used. Errors: those of tly_import_read, of
 * tly_store_writer_begin, append and end, and what `progress` returns. */
TLY_API tly_status tly_import_append(const tly_import *import, tly_store_writer *writer,
                                     const tly_import_save_options *options, tly_error *error);

/* Writes the import as a container: every tensor, and the metadata. The file appears
 * under `path` only when it is complete. `options` may be NULL. Errors: as tly_import_append and
 * tly_store_writer_commit. */
TLY_API tly_status tly_import_save(const tly_import *import, const char *path,
                                   const tly_import_save_options *options, tly_error *error);

TLY_END_DECLS

#endif
