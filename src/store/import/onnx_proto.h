/* SPDX-License-Identifier: Apache-2.0 */
/* The protobuf wire format, field by field (docs/adr/0006-import-readers.md: why no generated
 * code). */
#ifndef TLY_IMPORT_ONNX_PROTO_H
#define TLY_IMPORT_ONNX_PROTO_H

#include <stdint.h>

#include <tilery/status.h>

#include "store/import/window.h"

/* Wire types. Groups do not occur in ONNX and are refused. */
enum { TLY_WIRE_VARINT = 0, TLY_WIRE_FIXED64 = 1, TLY_WIRE_LEN = 2, TLY_WIRE_FIXED32 = 5 };

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

/* Reads the field at `*at` of a message that ends at `end` and steps behind it. Errors: MALFORMED,
 * TRUNCATED (the field goes beyond the end), IO. */
tly_status tly_proto_next(tly_window *window, uint64_t *at, uint64_t end,
                          tly_proto_field *out_field);

/* Reads a varint at `*at` and steps behind it. */
tly_status tly_proto_varint(tly_window *window, uint64_t *at, uint64_t end, uint64_t *out_value);

/* The field must have this wire type. */
tly_status tly_proto_expect(tly_window *window, const tly_proto_field *field, uint32_t wire,
                            const char *what);

#endif
