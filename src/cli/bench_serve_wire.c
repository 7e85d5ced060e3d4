/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_serve_wire.h"

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"

void tly_serve_put_header(uint8_t *out, uint32_t type, uint32_t stream, size_t len) {
    tly_base_store_u32(out, type);
    tly_base_store_u32(out + 4, stream);
    tly_base_store_u32(out + 8, (uint32_t)len);
}

tly_status tly_serve_put_hello(const tly_context *context, uint8_t out[TLY_SERVE_HELLO_LEN],
                               size_t *out_len, tly_error *error) {
    tly_wire_options options = {.size = sizeof options, .role = TLY_WIRE_CLIENT};
    tly_wire_span span;
    tly_wire *wire;
    tly_status status = tly_wire_new(context, &options, &wire, error);
    if (status != TLY_OK) {
        return status;
    }
    tly_wire_output(wire, &span, 1);
    if (span.len > TLY_SERVE_HELLO_LEN) {
        status = tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "", "the HELLO is too long");
    } else {
        memcpy(out, span.at, span.len);
        *out_len = span.len;
    }
    tly_wire_free(wire);
    return status;
}

tly_status tly_serve_put_request(const char *panel, uint8_t out[TLY_SERVE_REQUEST_LEN],
                                 size_t *out_len, tly_error *error) {
    uint8_t *at = out + TLY_WIRE_HEADER_LEN;
    tly_panel_profile profile;
    size_t len = 0;
    tly_status status = TLY_OK;
    tly_base_store_u32(at, 1); /* the key */
    at[4] = 'w';
    tly_base_store_u16(at + 5, panel != NULL); /* layouts */
    at += 7;
    if (panel != NULL) {
        status = tly_panel_by_name(panel, TLY_F32, 0, &profile, error);
        if (status == TLY_OK) {
            status = tly_panel_encode(&profile, at + 3, TLY_PANEL_MAX_LEN, &len, error);
        }
        if (status != TLY_OK) {
            return status;
        }
        at[0] = TLY_PANEL_LAYOUT_TAG;
        tly_base_store_u16(at + 1, (uint16_t)len);
        at += 3 + len;
    }
    *at++ = TLY_DEVICE_CPU;
    tly_base_store_u32(at, 64);
    tly_base_store_u32(at + 4, TLY_WIRE_ALLOW_TRANSCODE);
    *out_len = (size_t)(at + 8 - out);
    tly_serve_put_header(out, TLY_WIRE_TENSOR_REQUEST, 2, *out_len - TLY_WIRE_HEADER_LEN);
    return TLY_OK;
}

/* Counts `n` bytes of the payload of the message under way. */
static void count(tly_serve_reader *r, size_t n) {
    uint32_t type = tly_base_load_u32(r->head);
    uint64_t done = tly_base_load_u32(r->head + 8) - r->left;
    if (type == TLY_WIRE_TENSOR_DATA) {
        uint64_t before = done > TLY_WIRE_OFFSET_LEN ? done - TLY_WIRE_OFFSET_LEN : 0;
        uint64_t after = done + n > TLY_WIRE_OFFSET_LEN ? done + n - TLY_WIRE_OFFSET_LEN : 0;
        r->data_len += after - before;
    } else if (type == TLY_WIRE_ERROR) {
        r->failed = 1;
    }
    r->left -= n;
}

int tly_serve_reader_take(tly_serve_reader *r, const uint8_t *bytes, size_t len, uint32_t last,
                          int *data_seen) {
    while (len != 0) {
        size_t n;
        if (r->head_len < TLY_WIRE_HEADER_LEN) {
            n = TLY_WIRE_HEADER_LEN - r->head_len < len ? TLY_WIRE_HEADER_LEN - r->head_len : len;
            memcpy(r->head + r->head_len, bytes, n);
            r->head_len += (uint32_t)n;
            bytes += n;
            len -= n;
            if (r->head_len < TLY_WIRE_HEADER_LEN) {
                return 0;
            }
            r->left = tly_base_load_u32(r->head + 8);
        }
        n = r->left < len ? (size_t)r->left : len;
        count(r, n);
        bytes += n;
        len -= n;
        *data_seen |= r->data_len != 0;
        if (r->left != 0) {
            return 0;
        }
        r->head_len = 0;
        if (tly_base_load_u32(r->head) == last) {
            return 1;
        }
    }
    return 0;
}
