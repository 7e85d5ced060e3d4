/* SPDX-License-Identifier: Apache-2.0 */
/* What the importers of all formats share: the open file, the list of tensors that a format's
 * reader fills, and how a tensor's bytes come out of the file. */
#ifndef TLY_IMPORT_IMPORTER_H
#define TLY_IMPORT_IMPORTER_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/import.h>
#include <tilery/tensor.h>

#include "base/arena.h"
#include "store/import/file.h"

/* How the file's bytes become the tensor's. */
typedef enum tly_import_coding {
    TLY_CODING_PLAIN,      /* as they are */
    TLY_CODING_SWAP,       /* every `unit` bytes reversed */
    TLY_CODING_BOOL_BYTES, /* one byte an element, 0 or 1 */
    TLY_CODING_TYPED,      /* a repeated field of a protobuf message: onnx_values.h */
    TLY_CODING_KEPT,       /* in memory already: `kept` */
    TLY_CODING_BLOCKS      /* blocks of GGUF: gguf_blocks.h */
} tly_import_coding;

/* A member of a zip archive: npz. */
typedef struct tly_import_member {
    uint64_t packed_at;  /* in the file */
    uint64_t packed_len; /* bytes */
    uint64_t len;        /* bytes, unpacked */
    uint64_t skip;       /* unpacked bytes in front of the elements */
    uint32_t crc32;      /* of the unpacked bytes */
    uint16_t method;     /* 0: stored; 8: deflate */
    uint16_t reserved;   /* 0 */
} tly_import_member;

typedef struct tly_import_entry {
    const char *name;
    const uint64_t *shape;
    const tly_descriptor *descriptor; /* in the arena; NULL: one buffer of plain elements */
    const uint8_t *kept;              /* KEPT: byte_len bytes in the arena */
    const tly_import_member *member;  /* of a zip archive that has the bytes; NULL: none */
    uint64_t byte_len;                /* as tly_import_read gives them */
    uint64_t offset;                  /* of the data in the file; TYPED: of the message */
    uint64_t extent;                  /* bytes of the data in the file; TYPED: of the message */
    uint32_t rank;
    uint32_t name_len;
    uint32_t file;  /* index in files[] */
    uint32_t scope; /* ONNX: graph that the name belongs to; otherwise 0 */
    tly_dtype dtype;
    uint8_t layout;
    uint8_t coding; /* tly_import_coding */
    uint8_t unit;   /* SWAP: bytes reversed together; TYPED: bytes of one value, 0: one bit */
    uint8_t field;  /* TYPED: number of the field */
    uint8_t wire;   /* TYPED: wire type of one value */
    /* TYPED: the field is not repeated; its last value counts, 0 if there is none */
    uint8_t single;
    uint8_t fixed_name; /* the name must not be changed to make it unique */
    uint8_t pad_mask;   /* bits of the last byte that hold no element and must be 0 */
    uint8_t block_type; /* BLOCKS: number of the type in GGUF */
    uint8_t big_endian; /* BLOCKS: the scales are */
} tly_import_entry;

struct tly_import {
    const tly_context *context;
    tly_import_options options; /* every default filled in */
    int32_t format;
    tly_arena arena;        /* names, shapes, metadata */
    uint64_t text_len;      /* bytes of names and texts so far */
    uint64_t text_limit;    /* so that a small file cannot ask for much memory */
    uint64_t total_len;     /* byte_len of all tensors */
    char *folder;           /* of the opened file; NULL when it is in memory */
    int folder_fd;          /* -1 until external data needs it */
    tly_import_file *files; /* files[0] is the opened one */
    size_t num_files, cap_files;
    tly_import_entry *entries;
    size_t num_entries, cap_entries;
    uint32_t *by_name; /* entries sorted by name; num_entries */
    tly_import_skip *skips;
    size_t num_skips, cap_skips;
    tly_kv *kv; /* keys are NUL-terminated */
    size_t num_kv, cap_kv;
};

/* Readers of the formats: fill an import whose files[0] is open. */
tly_status tly_import_read_onnx(tly_import *import, tly_error *error);
tly_status tly_import_read_safetensors(tly_import *import, tly_error *error);
tly_status tly_import_read_index(tly_import *import, tly_error *error);
tly_status tly_import_read_gguf(tly_import *import, tly_error *error);
tly_status tly_import_read_npy(tly_import *import, tly_error *error);
tly_status tly_import_read_npz(tly_import *import, tly_error *error);
tly_status tly_import_read_mtx(tly_import *import, tly_error *error);

/* Does this look like an index of safetensors shards? (JSON where a file has its length.) */
int tly_import_looks_like_index(const tly_import *import);

/* Does this look like ONNX? (No magic number: see onnx.c.) */
int tly_import_looks_like_onnx(const tly_import *import);

/* Finds or opens a file below the folder of files[0] (see tly_import_file_open_below): external
 * data, a shard. Moves files[]. Errors: those, LIMIT ("num-files"), UNSUPPORTED (an import from
 * memory). */
tly_status tly_import_open_below(tly_import *import, const char *location, uint64_t offset,
                                 uint32_t *out_file, tly_error *error);

/* Makes room for one more element of an array of the import. */
tly_status tly_import_reserve(tly_import *import, void **array, size_t num, size_t *cap,
                              size_t element_len, tly_error *error);

/* Copies text of the file into the arena. Refuses what cannot be a name or a value in UTF-8: rule
 * "utf-8", and "nul-in-text". `offset` is where the file has it. */
tly_status tly_import_text(tly_import *import, const void *bytes, uint64_t len, uint64_t offset,
                           const char **out_text, tly_error *error);

/* The same for the name of a tensor: at most options.name_len bytes (rule "name-len"). */
tly_status tly_import_name(tly_import *import, const void *bytes, uint64_t len, uint64_t offset,
                           const char **out_name, tly_error *error);

/* The opened file's name without its folder and `ending`, as the name of its only tensor. */
tly_status tly_import_stem(tly_import *import, const char *ending, const char **out_name,
                           tly_error *error);

/* Elements of a shape; 1 for rank 0, 0 if any axis is empty. Errors: OVERFLOW. */
tly_status tly_import_count(uint32_t rank, const uint64_t *shape, uint64_t offset,
                            uint64_t *out_count, tly_error *error);

/* Bytes of `count` elements, packed. Errors: OVERFLOW. */
tly_status tly_import_packed_len(uint64_t count, uint32_t bits, uint64_t offset, uint64_t *out_len,
                                 tly_error *error);

/* Adds a tensor; its arrays live in the arena. */
tly_status tly_import_add(tly_import *import, const tly_import_entry *entry, tly_error *error);

/* A tensor that cannot be carried: listed, or UNSUPPORTED, by options.unsupported. `name` (may be
 * NULL) and `reason` are static or in the arena. */
tly_status tly_import_refuse(tly_import *import, const char *name, uint64_t offset,
                             const char *rule, const char *reason, tly_error *error);

/* Adds metadata; key and data are in the arena. A key that a container cannot have is refused like
 * a tensor. */
tly_status tly_import_add_kv(tly_import *import, const tly_kv *kv, uint64_t offset,
                             tly_error *error);

/* The same for two texts. */
tly_status tly_import_add_pair(tly_import *import, const char *key, const char *value,
                               uint64_t offset, tly_error *error);

/* Ends reading: refuses metadata with one key twice (rule "duplicate-key"), and sorts by name.
 * Where several tensors have one name, all but the first become "name#2" and so on, those that may
 * be renamed last; two of one scope with `fixed_name` are refused (rule "duplicate-name"). */
tly_status tly_import_finish(tly_import *import, tly_error *error);

/* Sorts `order`, a permutation of 0 .. num-1, by `compare` (of two indices; never 0 for two
 * different ones). Worst case num * log(num), no memory. */
void tly_import_sort(uint32_t *order, size_t num, int (*compare)(const void *, uint32_t, uint32_t),
                     const void *user);

#endif
