/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format, read field by field out of a file through a window of fixed size: what
 * is not looked at is stepped over, so a model of many gigabytes costs little memory and few reads
 * (docs/adr: why no generated code). */
#ifndef TLY_IMPORT_ONNX_PROTO_H
#define TLY_IMPORT_ONNX_PROTO_H

#include <stdint.h>

#include <tilery/context.h>
#include <tilery/status.h>

#include "store/import/file.h"

/* Wire types. Groups do not occur in ONNX and are refused. */
enum { TLY_WIRE_VARINT = 0, TLY_WIRE_FIXED64 = 1, TLY_WIRE_LEN = 2, TLY_WIRE_FIXED32 = 5 };

typedef struct tly_proto {
    const tly_context *context;
    const tly_import_file *file;
    uint8_t *window;     /* NULL for a file in memory */
    const uint8_t *have; /* bytes have_at .. have_at + have_len of the file */
    uint64_t have_at;
    uint64_t have_len;
    tly_error *error; /* may be NULL */
} tly_proto;

/* A range of the file: a message, a string, bytes. */
typedef struct tly_proto_range {
    uint64_t at;
    uint64_t len;
} tly_proto_range;

typedef struct tly_proto_field {
    uint32_t number;
    uint32_t wire;
    uint64_t value;        /* varint or fixed */
    tly_proto_range range; /* LEN: the content; otherwise the value's own bytes */
} tly_proto_field;

tly_status tly_proto_init(tly_proto *proto, const tly_context *context, const tly_import_file *file,
                          tly_error *error);
void tly_proto_cleanup(tly_proto *proto);

/* Reads the field at `*at` of a message that ends at `end` and steps behind it. Errors: MALFORMED,
 * TRUNCATED (the field goes beyond the end), IO. */
tly_status tly_proto_next(tly_proto *proto, uint64_t *at, uint64_t end, tly_proto_field *out_field);

/* Reads a varint at `*at` and steps behind it. */
tly_status tly_proto_varint(tly_proto *proto, uint64_t *at, uint64_t end, uint64_t *out_value);

/* Copies `len` bytes of the file. */
tly_status tly_proto_copy(tly_proto *proto, uint64_t at, void *buffer, uint64_t len);

/* Points to at least one and at most `len` bytes at `at`, all that the window can give at once;
 * good until the next call. `len` > 0 and the bytes are inside the file. */
tly_status tly_proto_peek(tly_proto *proto, uint64_t at, uint64_t len, const uint8_t **out_bytes,
                          uint64_t *out_len);

/* The field must have this wire type. */
tly_status tly_proto_expect(tly_proto *proto, const tly_proto_field *field, uint32_t wire,
                            const char *what);

#endif
