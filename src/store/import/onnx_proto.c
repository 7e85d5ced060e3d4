/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/onnx_proto.h"

#include "base/bytes.h"
#include "base/error.h"

#define MAX_VARINT TLY_WINDOW_NEED

tly_status tly_proto_varint(tly_window *window, uint64_t *at, uint64_t end, uint64_t *out_value) {
    uint64_t left = end - *at;
    uint64_t most = left < MAX_VARINT ? left : MAX_VARINT;
    uint64_t value = 0;
    const uint8_t *p = NULL;
    tly_status status = most != 0 ? tly_window_load(window, *at, most, &p) : TLY_OK;
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
        return tly_base_fail(window->error, TLY_TRUNCATED, *at, "protobuf-varint",
                             "the message ends inside an integer");
    }
    return tly_base_fail(window->error, TLY_MALFORMED, *at, "protobuf-varint",
                         "an integer is longer than 64 bits");
}

tly_status tly_proto_next(tly_window *window, uint64_t *at, uint64_t end,
                          tly_proto_field *out_field) {
    uint64_t start = *at;
    uint64_t tag, fixed;
    const uint8_t *p;
    tly_status status = tly_proto_varint(window, at, end, &tag);
    if (status != TLY_OK) {
        return status;
    }
    if (tag > UINT32_MAX || tag < 8) {
        return tly_base_fail(window->error, TLY_MALFORMED, start, "protobuf-tag",
                             "there is no field where one should be");
    }
    out_field->number = (uint32_t)(tag >> 3);
    out_field->wire = (uint32_t)(tag & 7);
    out_field->value = 0;
    out_field->range.at = *at;
    switch (out_field->wire) {
    case TLY_WIRE_VARINT:
        status = tly_proto_varint(window, at, end, &out_field->value);
        out_field->range.len = *at - out_field->range.at;
        return status;
    case TLY_WIRE_LEN:
        status = tly_proto_varint(window, at, end, &out_field->range.len);
        out_field->range.at = *at;
        if (status == TLY_OK && out_field->range.len > end - *at) {
            return tly_base_fail(window->error, TLY_TRUNCATED, start, "protobuf-length",
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
            return tly_base_fail(window->error, TLY_TRUNCATED, start, "protobuf-length",
                                 "the message ends inside field %u", out_field->number);
        }
        status = tly_window_load(window, *at, fixed, &p);
        if (status == TLY_OK) {
            out_field->value = fixed == 4 ? tly_base_load_u32(p) : tly_base_load_u64(p);
            out_field->range.len = fixed;
            *at += fixed;
        }
        return status;
    default:
        return tly_base_fail(window->error, TLY_MALFORMED, start, "protobuf-wire-type",
                             "field %u has wire type %u, which ONNX does not use",
                             out_field->number, out_field->wire);
    }
}

tly_status tly_proto_expect(tly_window *window, const tly_proto_field *field, uint32_t wire,
                            const char *what) {
    if (field->wire == wire) {
        return TLY_OK;
    }
    return tly_base_fail(window->error, TLY_MALFORMED, field->range.at, "protobuf-wire-type",
                         "%s (field %u) has wire type %u, expected %u", what, field->number,
                         field->wire, wire);
}
