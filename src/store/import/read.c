/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a tensor out of the file. */
#include <string.h>

#include "base/context.h"
#include "base/error.h"
#include "store/import/gguf_blocks.h"
#include "store/import/importer.h"
#include "store/import/onnx_values.h"
#include "store/import/pull.h"

#define CHUNK_LEN ((size_t)1 << 18) /* bytes; a multiple of every element and of 8 */

static tly_status no_such_tensor(uint64_t index, tly_error *error) {
    return tly_base_fail(error, TLY_NOT_FOUND, TLY_NO_OFFSET, "", "there is no tensor number %llu",
                         (unsigned long long)index);
}

/* Reverses each group of `unit` bytes. */
static void swap(uint8_t *bytes, size_t len, size_t unit) {
    for (size_t at = 0; at < len; at += unit) {
        for (size_t i = 0; i < unit / 2; i++) {
            uint8_t kept = bytes[at + i];
            bytes[at + i] = bytes[at + unit - 1 - i];
            bytes[at + unit - 1 - i] = kept;
        }
    }
}

/* Packs bytes that are 0 or 1 into bits, in place: byte k of the result comes from bytes 8k ..
 * 8k+7, which are not before it. Returns how many bytes are good; `len` if all are. */
static size_t pack_bools(uint8_t *bytes, size_t len) {
    for (size_t at = 0; at < len; at += 8) {
        size_t num = len - at < 8 ? len - at : 8;
        uint8_t packed = 0;
        for (size_t i = 0; i < num; i++) {
            if (bytes[at + i] > 1) {
                return at + i;
            }
            packed |= (uint8_t)(bytes[at + i] << i);
        }
        bytes[at / 8] = packed;
    }
    return len;
}

/* Pulls the next `len` bytes and makes them the tensor's; `*out_len` of them. */
static tly_status decode_chunk(tly_import_pull *pull, const tly_import_entry *entry, uint64_t at,
                               uint8_t *chunk, size_t len, size_t *out_len, tly_error *error) {
    tly_status status = tly_import_pull_read(pull, chunk, len, error);
    *out_len = len;
    if (status != TLY_OK) {
        return status;
    }
    if (entry->coding == TLY_CODING_SWAP) {
        swap(chunk, len, entry->unit);
    } else if (entry->coding == TLY_CODING_BOOL_BYTES) {
        size_t good = pack_bools(chunk, len);
        if (good != len) {
            char shown[160];
            return tly_base_fail(
                error, TLY_MALFORMED, entry->offset + at + good, "bool-value",
                "element %llu of the boolean tensor \"%s\" is %u, neither 0 nor 1",
                (unsigned long long)(at + good),
                tly_base_printable(shown, sizeof shown, entry->name, entry->name_len),
                (unsigned)chunk[good]);
        }
        *out_len = (len + 7) / 8;
    }
    return TLY_OK;
}

/* The header in front of the elements of a member, stepped over. */
static tly_status skip(tly_import_pull *pull, uint64_t len, uint8_t *chunk, size_t chunk_len,
                       tly_error *error) {
    tly_status status = TLY_OK;
    while (len > 0 && status == TLY_OK) {
        size_t piece = len < chunk_len ? (size_t)len : chunk_len;
        status = tly_import_pull_read(pull, chunk, piece, error);
        len -= piece;
    }
    return status;
}

/* Chunk by chunk out of the file or a member. */
static tly_status give_chunks(const tly_import_entry *entry, tly_import_pull *pull, uint8_t *chunk,
                              size_t chunk_len, tly_import_sink sink, void *user,
                              tly_error *error) {
    tly_status status =
        entry->member != NULL ? skip(pull, entry->member->skip, chunk, chunk_len, error) : TLY_OK;
    for (uint64_t at = 0; at < entry->extent && status == TLY_OK; at += chunk_len) {
        size_t len = entry->extent - at < chunk_len ? (size_t)(entry->extent - at) : chunk_len;
        size_t given;
        status = decode_chunk(pull, entry, at, chunk, len, &given, error);
        if (status == TLY_OK) {
            status = sink(user, chunk, given, error);
        }
    }
    return status == TLY_OK ? tly_import_pull_end(pull, error) : status;
}

/* All the bytes of an entry, whatever its coding. */
static tly_status give(const tly_import *import, const tly_import_entry *entry,
                       tly_import_sink sink, void *user, tly_error *error) {
    const tly_import_file *file = &import->files[entry->file];
    tly_import_pull pull;
    uint8_t *chunk;
    size_t chunk_len;
    tly_status status;
    if (entry->coding == TLY_CODING_PLAIN && file->memory != NULL && entry->member == NULL) {
        return sink(user, file->memory + entry->offset, (size_t)entry->byte_len, error);
    }
    if (entry->coding == TLY_CODING_KEPT) {
        return sink(user, entry->kept, (size_t)entry->byte_len, error);
    }
    if (entry->coding == TLY_CODING_BLOCKS) {
        return tly_import_stream_blocks(import, entry, sink, user, error);
    }
    if (entry->coding == TLY_CODING_TYPED) {
        return tly_import_stream_values(import, entry, sink, user, error);
    }
    chunk_len = entry->extent < CHUNK_LEN ? (size_t)entry->extent : CHUNK_LEN;
    chunk = tly_base_alloc(import->context, chunk_len, 16);
    if (chunk == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a read buffer");
    }
    status =
        tly_import_pull_init(&pull, import->context, file, entry->member, entry->offset, error);
    if (status == TLY_OK) {
        status = give_chunks(entry, &pull, chunk, chunk_len, sink, user, error);
    }
    tly_import_pull_cleanup(&pull);
    tly_base_free(import->context, chunk, chunk_len, 16);
    return status;
}

/* A sink in front of the caller's, which looks at the last byte. */
typedef struct padded {
    const tly_import_entry *entry;
    tly_import_sink sink;
    void *user;
    uint64_t left;
} padded;

static tly_status check_padding(void *user, const void *bytes, size_t len, tly_error *error) {
    padded *p = user;
    p->left -= len;
    if (p->left == 0 && (((const uint8_t *)bytes)[len - 1] & p->entry->pad_mask) != 0) {
        char shown[160];
        return tly_base_fail(
            error, TLY_MALFORMED, p->entry->offset, "padding-bits",
            "the bits behind the last element of \"%s\" are not zero",
            tly_base_printable(shown, sizeof shown, p->entry->name, p->entry->name_len));
    }
    return p->sink(p->user, bytes, len, error);
}

tly_status tly_import_stream(const tly_import *import, uint64_t index, tly_import_sink sink,
                             void *user, tly_error *error) {
    const tly_import_entry *entry;
    if (index >= import->num_entries) {
        return no_such_tensor(index, error);
    }
    entry = &import->entries[index];
    if (entry->byte_len == 0) {
        return TLY_OK;
    }
    if (entry->pad_mask != 0) {
        padded p = {entry, sink, user, entry->byte_len};
        return give(import, entry, check_padding, &p, error);
    }
    return give(import, entry, sink, user, error);
}

typedef struct into {
    uint8_t *at;
    uint64_t left;
} into;

static tly_status copy_piece(void *user, const void *bytes, size_t len, tly_error *error) {
    into *to = user;
    if (len > to->left) {
        return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "",
                             "a tensor gave more bytes than it has");
    }
    memcpy(to->at, bytes, len);
    to->at += len;
    to->left -= len;
    return TLY_OK;
}

tly_status tly_import_read(const tly_import *import, uint64_t index, void *buffer, uint64_t len,
                           tly_error *error) {
    const tly_import_entry *entry;
    into to = {buffer, len};
    tly_status status;
    if (index >= import->num_entries) {
        return no_such_tensor(index, error);
    }
    entry = &import->entries[index];
    if (len != entry->byte_len) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "buffer-len",
                             "the buffer has %llu bytes, the tensor %llu", (unsigned long long)len,
                             (unsigned long long)entry->byte_len);
    }
    if (entry->coding == TLY_CODING_PLAIN && entry->pad_mask == 0 && entry->member == NULL) {
        return tly_import_file_read(&import->files[entry->file], entry->offset, buffer, len, error);
    }
    status = tly_import_stream(import, index, copy_piece, &to, error);
    if (status == TLY_OK && to.left != 0) {
        return tly_base_fail(error, TLY_TRUNCATED, entry->offset, "file-shrunk",
                             "%s has changed while it was read", import->files[entry->file].name);
    }
    return status;
}

tly_status tly_import_view(const tly_import *import, uint64_t index, const void **out_bytes,
                           tly_error *error) {
    const tly_import_entry *entry;
    const tly_import_file *file;
    const uint8_t *base;
    *out_bytes = NULL;
    if (index >= import->num_entries) {
        return no_such_tensor(index, error);
    }
    entry = &import->entries[index];
    file = &import->files[entry->file];
    base = file->memory != NULL ? file->memory : file->map;
    if (entry->coding != TLY_CODING_PLAIN || entry->pad_mask != 0 ||
        (entry->member != NULL && entry->member->method != 0) ||
        (base == NULL && entry->byte_len != 0)) {
        return tly_base_fail(error, TLY_UNSUPPORTED, entry->offset, "view",
                             "the file does not have these bytes as they are; read the tensor "
                             "instead");
    }
    *out_bytes = entry->byte_len != 0 ? base + entry->offset : (const uint8_t *)"";
    return TLY_OK;
}
