/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/onnx_proto.h"

#include <string.h>

#include "base/bytes.h"
#include "base/context.h"
#include "base/error.h"

#define WINDOW_LEN ((size_t)1 << 16) /* read when going straight on */
#define JUMP_LEN   ((size_t)1 << 12) /* read behind a jump, where only a few fields may be wanted */
#define MAX_VARINT 10

tly_status tly_proto_init(tly_proto *proto, const tly_context *context, const tly_import_file *file,
                          tly_error *error) {
    memset(proto, 0, sizeof *proto);
    proto->context = context;
    proto->file = file;
    proto->error = error;
    if (file->fd < 0) {
        proto->have = file->memory;
        proto->have_len = file->len;
        return TLY_OK;
    }
    proto->window = tly_base_alloc(context, WINDOW_LEN, 16);
    if (proto->window == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a read window");
    }
    proto->have = proto->window;
    return TLY_OK;
}

void tly_proto_cleanup(tly_proto *proto) {
    tly_base_free(proto->context, proto->window, WINDOW_LEN, 16);
    proto->window = NULL;
}

/* Makes the window hold `len` (at most MAX_VARINT) bytes at `at`, which are inside the file. */
static tly_status load(tly_proto *proto, uint64_t at, uint64_t len, const uint8_t **out) {
    if (at < proto->have_at || at - proto->have_at > proto->have_len ||
        len > proto->have_len - (at - proto->have_at)) {
        uint64_t left = at < proto->file->len ? proto->file->len - at : 0;
        uint64_t straight = proto->have_at + proto->have_len;
        uint64_t most = at <= straight && straight - at < MAX_VARINT ? WINDOW_LEN : JUMP_LEN;
        uint64_t want = left < most ? left : most;
        tly_status status;
        if (proto->window == NULL || want < len) {
            return tly_base_fail(proto->error, TLY_TRUNCATED, proto->file->len, "file-end",
                                 "%s ends inside a field", proto->file->name);
        }
        proto->have_len = 0;
        status = tly_import_file_read(proto->file, at, proto->window, want, proto->error);
        if (status != TLY_OK) {
            return status;
        }
        proto->have_at = at;
        proto->have_len = want;
    }
    *out = proto->have + (at - proto->have_at);
    return TLY_OK;
}

tly_status tly_proto_peek(tly_proto *proto, uint64_t at, uint64_t len, const uint8_t **out_bytes,
                          uint64_t *out_len) {
    tly_status status = load(proto, at, 1, out_bytes);
    if (status == TLY_OK) {
        uint64_t there = proto->have_len - (at - proto->have_at);
        *out_len = len < there ? len : there;
    }
    return status;
}

tly_status tly_proto_varint(tly_proto *proto, uint64_t *at, uint64_t end, uint64_t *out_value) {
    uint64_t left = end - *at;
    uint64_t most = left < MAX_VARINT ? left : MAX_VARINT;
    uint64_t value = 0;
    const uint8_t *p = NULL;
    tly_status status = most != 0 ? load(proto, *at, most, &p) : TLY_OK;
    if (status != TLY_OK) {
        return status;
    }
    for (uint64_t i = 0; i < most; i++) {
        if (i == 9 && p[i] > 1) {
            break;
        }
        value |= (uint64_t)(p[i] & 0x7F) << (7 * i);
        if (p[i] < 0x80) {
            *at += i + 1;
            *out_value = value;
            return TLY_OK;
        }
    }
    if (most < MAX_VARINT) {
        return tly_base_fail(proto->error, TLY_TRUNCATED, *at, "protobuf-varint",
                             "the message ends inside an integer");
    }
    return tly_base_fail(proto->error, TLY_MALFORMED, *at, "protobuf-varint",
                         "an integer is longer than 64 bits");
}

tly_status tly_proto_next(tly_proto *proto, uint64_t *at, uint64_t end,
                          tly_proto_field *out_field) {
    uint64_t start = *at;
    uint64_t tag, fixed;
    const uint8_t *p;
    tly_status status = tly_proto_varint(proto, at, end, &tag);
    if (status != TLY_OK) {
        return status;
    }
    if (tag > UINT32_MAX || tag < 8) {
        return tly_base_fail(proto->error, TLY_MALFORMED, start, "protobuf-tag",
                             "there is no field where one should be");
    }
    out_field->number = (uint32_t)(tag >> 3);
    out_field->wire = (uint32_t)(tag & 7);
    out_field->value = 0;
    out_field->range.at = *at;
    switch (out_field->wire) {
    case TLY_WIRE_VARINT:
        status = tly_proto_varint(proto, at, end, &out_field->value);
        out_field->range.len = *at - out_field->range.at;
        return status;
    case TLY_WIRE_LEN:
        status = tly_proto_varint(proto, at, end, &out_field->range.len);
        out_field->range.at = *at;
        if (status == TLY_OK && out_field->range.len > end - *at) {
            return tly_base_fail(proto->error, TLY_TRUNCATED, start, "protobuf-length",
                                 "field %u has %llu bytes, but only %llu follow", out_field->number,
                                 (unsigned long long)out_field->range.len,
                                 (unsigned long long)(end - *at));
        }
        *at += status == TLY_OK ? out_field->range.len : 0;
        return status;
    case TLY_WIRE_FIXED32:
    case TLY_WIRE_FIXED64:
        fixed = out_field->wire == TLY_WIRE_FIXED32 ? 4 : 8;
        if (fixed > end - *at) {
            return tly_base_fail(proto->error, TLY_TRUNCATED, start, "protobuf-length",
                                 "the message ends inside field %u", out_field->number);
        }
        status = load(proto, *at, fixed, &p);
        if (status == TLY_OK) {
            out_field->value = fixed == 4 ? tly_base_load_u32(p) : tly_base_load_u64(p);
            out_field->range.len = fixed;
            *at += fixed;
        }
        return status;
    default:
        return tly_base_fail(proto->error, TLY_MALFORMED, start, "protobuf-wire-type",
                             "field %u has wire type %u, which ONNX does not use",
                             out_field->number, out_field->wire);
    }
}

tly_status tly_proto_copy(tly_proto *proto, uint64_t at, void *buffer, uint64_t len) {
    if (len != 0 && at >= proto->have_at && at - proto->have_at <= proto->have_len &&
        len <= proto->have_len - (at - proto->have_at)) {
        memcpy(buffer, proto->have + (at - proto->have_at), (size_t)len);
        return TLY_OK;
    }
    return tly_import_file_read(proto->file, at, buffer, len, proto->error);
}

tly_status tly_proto_expect(tly_proto *proto, const tly_proto_field *field, uint32_t wire,
                            const char *what) {
    if (field->wire == wire) {
        return TLY_OK;
    }
    return tly_base_fail(proto->error, TLY_MALFORMED, field->range.at, "protobuf-wire-type",
                         "%s (field %u) has wire type %u, expected %u", what, field->number,
                         field->wire, wire);
}
