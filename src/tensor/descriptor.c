/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a descriptor: the fixed header, then layout fields, buffer table and optional sections.
 */
#include <tilery/tensor.h>

#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "tensor/layouts.h"
#include "tensor/reader.h"
#include "tensor/sections.h"

#define HEADER_LEN 20

static tly_status check_prefix(const uint8_t *bytes, size_t len, uint32_t *out_len,
                               tly_error *error) {
    static const uint8_t magic[4] = {'H', 'R', 'R', 'Y'};
    if (len < TLY_DESCRIPTOR_PREFIX_LEN) {
        return tly_base_fail(error, TLY_TRUNCATED, len, "D-LEN-AVAIL",
                             "%zu bytes are too few for a descriptor", len);
    }
    if (memcmp(bytes, magic, sizeof magic) != 0) {
        return tly_base_fail(
            error, TLY_MALFORMED, 0, "D-MAGIC",
            "not a tensor descriptor: it begins with %02X %02X %02X %02X, not HRRY", bytes[0],
            bytes[1], bytes[2], bytes[3]);
    }
    if (bytes[4] != 1) {
        return tly_base_fail(error, bytes[4] == 0 ? TLY_MALFORMED : TLY_UNSUPPORTED, 4,
                             bytes[4] == 0 ? "D-VER-MAJOR0" : "D-VER-MAJOR",
                             "format version %u.%u: this build reads version 1", bytes[4],
                             bytes[5]);
    }
    *out_len = tly_base_load_u32(bytes + 6);
    if (*out_len < HEADER_LEN) {
        return tly_base_fail(error, TLY_MALFORMED, 6, "D-LEN-MIN",
                             "descriptor length %u is under %d", *out_len, HEADER_LEN);
    }
    return TLY_OK;
}

tly_status tly_descriptor_len(const void *bytes, size_t len, uint32_t *out_len, tly_error *error) {
    return check_prefix(bytes, len, out_len, error);
}

static tly_status bad_type(uint8_t tag, tly_error *error) {
    if (tag == 0x00 || tag == 0xFF) {
        return tly_base_fail(error, TLY_MALFORMED, 14, "D-TYPE-INVALID",
                             "type tag 0x%02X is invalid", tag);
    }
    if (tag == 0x47 || (tag >= 0x80 && tag <= 0xEF)) {
        return tly_base_fail(error, TLY_MALFORMED, 14, "D-TYPE-RSV", "type tag 0x%02X is reserved",
                             tag);
    }
    return tly_base_fail(error, TLY_MALFORMED, 14, "D-TYPE-UNKNOWN",
                         "type tag 0x%02X is no element type of the format", tag);
}

static tly_status bad_layout(uint8_t tag, tly_error *error) {
    int invalid = tag == 0x00 || tag == 0xFF;
    return tly_base_fail(
        error, TLY_MALFORMED, 15, invalid ? "D-LAYOUT-INVALID" : "D-LAYOUT-UNKNOWN",
        invalid ? "layout tag 0x%02X is invalid" : "layout tag 0x%02X is no layout of the format",
        tag);
}

/* Flags, type, layout and rank, each alone and against the others. */
static tly_status check_header(const tly_descriptor *d, const tly_tensor_layout **out_layout,
                               tly_error *error) {
    int extension = d->dtype >= 0xF0 && d->dtype != 0xFF;
    const tly_tensor_layout *layout = tly_tensor_layout_find(d->layout);
    if ((d->flags & ~TLY_SECTIONS_KNOWN) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, 10, "D-FLAGS-RSV",
                             "flags 0x%08X: a reserved bit is set", d->flags);
    }
    if (!extension && tly_dtype_find(d->dtype) == NULL) {
        return bad_type(d->dtype, error);
    }
    if (layout == NULL) {
        return bad_layout(d->layout, error);
    }
    if (d->rank > TLY_MAX_RANK) {
        return tly_base_fail(error, TLY_MALFORMED, 16, "D-RANK", "rank %u is over %d", d->rank,
                             TLY_MAX_RANK);
    }
    if (extension != ((d->flags & TLY_FLAG_EXTENSION_TYPE) != 0)) {
        return tly_base_fail(error, TLY_MALFORMED, 10, "D-EXTFLAG",
                             "type tag 0x%02X %s an extension type section", d->dtype,
                             extension ? "needs" : "must not have");
    }
    if (d->rank == 0 && d->layout != TLY_LAYOUT_ROW_MAJOR && d->layout < TLY_LAYOUT_PRIVATE_FIRST) {
        return tly_base_fail(error, TLY_MALFORMED, 15, "D-SCALAR-LAYOUT",
                             "a tensor of rank 0 cannot have layout 0x%02X (%s)", d->layout,
                             layout->name);
    }
    *out_layout = layout;
    return TLY_OK;
}

/* Buffer count and byte offset against the layout. */
static tly_status check_data(const tly_descriptor *d, const tly_tensor_layout *layout,
                             uint64_t count_at, tly_error *error) {
    uint32_t wanted = tly_tensor_layout_buffers(d);
    if (layout->kind == TLY_KIND_VIRTUAL) {
        if (d->num_buffers != 0) {
            return tly_base_fail(error, TLY_MALFORMED, count_at, "C-BUFFERS",
                                 "the head of a composite has %u buffers", d->num_buffers);
        }
        return TLY_OK;
    }
    if (d->num_buffers == 0) {
        return tly_base_fail(error, TLY_MALFORMED, count_at, "B-COUNT0", "there is no buffer");
    }
    if (wanted != 0 && d->num_buffers != wanted && (d->flags & TLY_FLAG_QUANTIZATION) == 0) {
        return tly_base_fail(error, TLY_MALFORMED, count_at, "B-COUNT-LAYOUT",
                             "%u buffers: layout 0x%02X (%s) has %u here", d->num_buffers,
                             d->layout, layout->name, wanted);
    }
    if (d->byte_offset > d->buffers[0].byte_size) {
        return tly_base_fail(error, TLY_MALFORMED, HEADER_LEN + 8 * (uint64_t)d->rank, "D-BYTEOFF",
                             "byte offset %llu lies outside buffer 0 of %llu bytes",
                             (unsigned long long)d->byte_offset,
                             (unsigned long long)d->buffers[0].byte_size);
    }
    return TLY_OK;
}

static void clear_optional_fields(tly_descriptor *d) {
    d->num_levels = 0;
    d->strides = NULL;
    d->morton_bits = NULL;
    d->private_id = 0;
    d->private_data = NULL;
    d->private_len = 0;
    d->hilbert_order = 0;
    d->nnz = 0;
    d->mode_order = NULL;
    d->paged = NULL;
    d->composite = (tly_composite){0, 0, 0, 0};
    d->is_sorted = 0;
    d->member_role = 0;
    d->reserved = 0;
    d->quantization = NULL;
    d->shard = NULL;
    d->statistics = NULL;
    d->extension_type = NULL;
}

static tly_status read_fields(tly_tensor_reader *reader) {
    tly_descriptor *d = reader->out;
    const tly_tensor_layout *layout = NULL;
    uint64_t count_at;
    tly_status status = check_header(d, &layout, reader->error);
    if (status != TLY_OK) {
        return status;
    }
    status = tly_tensor_read_u64s(reader, d->rank, &d->shape, "shape");
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_cursor_u64(&reader->in, &d->byte_offset)) {
        return tly_tensor_short(reader, "byte offset");
    }
    clear_optional_fields(d);
    if (layout->read != NULL) {
        status = layout->read(reader);
        if (status != TLY_OK) {
            return status;
        }
    }
    count_at = tly_cursor_offset(&reader->in);
    status = tly_tensor_read_buffers(reader);
    if (status != TLY_OK) {
        return status;
    }
    status = check_data(d, layout, count_at, reader->error);
    if (status != TLY_OK) {
        return status;
    }
    if (d->flags != 0) {
        status = tly_tensor_read_sections(reader);
        if (status != TLY_OK) {
            return status;
        }
    }
    if (tly_cursor_left(&reader->in) != 0 && d->version_minor == 0) {
        return tly_base_fail(reader->error, TLY_MALFORMED, tly_cursor_offset(&reader->in),
                             "D-LEN-TRAIL", "%zu bytes follow the last field of the descriptor",
                             tly_cursor_left(&reader->in));
    }
    return TLY_OK;
}

tly_status tly_descriptor_decode(const void *bytes, size_t len, void *work, size_t work_len,
                                 tly_descriptor *out_descriptor, uint32_t *out_len,
                                 tly_error *error) {
    const uint8_t *head = bytes;
    size_t skew = (size_t)(0 - (uintptr_t)work) & 7;
    tly_tensor_reader reader;
    uint32_t own_len = 0;
    tly_status status = check_prefix(head, len, &own_len, error);
    if (status != TLY_OK) {
        return status;
    }
    if (own_len > len) {
        return tly_base_fail(error, TLY_TRUNCATED, len, "D-LEN-AVAIL",
                             "the descriptor says that it has %u bytes, %zu are there", own_len,
                             len);
    }
    reader.in = tly_cursor_make(head, own_len);
    reader.in.at += HEADER_LEN;
    reader.work = (uint8_t *)work + (skew <= work_len ? skew : 0);
    reader.work_left = skew <= work_len ? work_len - skew : 0;
    reader.out = out_descriptor;
    reader.error = error;
    out_descriptor->version_minor = head[5];
    out_descriptor->flags = tly_base_load_u32(head + 10);
    out_descriptor->dtype = head[14];
    out_descriptor->layout = head[15];
    out_descriptor->rank = tly_base_load_u32(head + 16);
    status = read_fields(&reader);
    if (status == TLY_OK && out_len != NULL) {
        *out_len = own_len;
    }
    return status;
}
