/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization (Hurray 1.0, quantization and quantization/...). One row per scheme says how long it
 * is, what it may be applied to, and which fields it has. */
#include "tensor/quantization.h"

#include <string.h>

#include "base/checked.h"
#include "tensor/layouts.h"

#define SYMMETRIC 1u
#define NO_BUFFER UINT32_MAX

typedef struct scheme {
    uint32_t len; /* bytes of the section's contents */
    uint16_t flags;
    uint8_t has_axis;
    uint8_t has_zero_points; /* a buffer of them, unless SYMMETRIC */
    uint8_t scale_type;      /* where the fields do not say */
    uint64_t types[2]; /* storage types: bit t of the first for tag t, of the second for 0x40 + t */
    uint32_t min_block; /* 0: no blocks */
    uint32_t max_block;
} scheme;

#define TYPE(tag) (UINT64_C(1) << ((tag)&63))
#define INTEGERS                                                                                   \
    (TYPE(TLY_I8) | TYPE(TLY_U8) | TYPE(TLY_I16) | TYPE(TLY_U16) | TYPE(TLY_I32) | TYPE(TLY_U32))
#define SMALL_INTEGERS (TYPE(TLY_I4) | TYPE(TLY_U4) | TYPE(TLY_I2) | TYPE(TLY_U2))

static const scheme schemes[] = {
    [TLY_QUANT_PER_TENSOR] = {16, 0, 0, 0, 0, {INTEGERS, SMALL_INTEGERS}, 0, 0},
    [TLY_QUANT_PER_CHANNEL] = {20, SYMMETRIC, 1, 1, 0, {INTEGERS, SMALL_INTEGERS}, 0, 0},
    [TLY_QUANT_PER_BLOCK] =
        {24, SYMMETRIC, 1, 1, 0, {TYPE(TLY_I8) | TYPE(TLY_U8), SMALL_INTEGERS}, 2, UINT32_MAX},
    [TLY_QUANT_NF4] = {16, 0, 1, 0, TLY_F32, {0, TYPE(TLY_U4)}, 8, UINT32_MAX},
    [TLY_QUANT_MXFP] = {16,
                        0,
                        1,
                        0,
                        TLY_F8E8M0,
                        {TYPE(TLY_I8), TYPE(TLY_F8E4M3) | TYPE(TLY_F8E5M2) | TYPE(TLY_F4E2M1) |
                                           TYPE(TLY_F6E2M3) | TYPE(TLY_F6E3M2) | TYPE(TLY_I4)},
                        16,
                        2048},
};

/* What the checks need: the section, where it begins, and its row. */
typedef struct context {
    const tly_descriptor *d;
    const tly_quantization *q;
    const scheme *row;
    uint64_t at;
    tly_error *error;
} context;

#define FAIL(c, offset, rule, ...)                                                                 \
    tly_base_fail((c)->error, TLY_MALFORMED, (c)->at + (offset), rule, __VA_ARGS__)

static tly_status check_head(const context *c, const uint8_t *b) {
    const tly_quantization *q = c->q;
    const tly_dtype type = c->d->dtype;
    if (q->version != 1) {
        return FAIL(c, 1, q->version == 0 ? "Q-VERSION0" : "Q-VERSION",
                    "version %u of quantization scheme %u: there is only 1", q->version, q->scheme);
    }
    if ((q->flags & ~c->row->flags) != 0) {
        return FAIL(c, 2, "Q-FLAGS", "flags 0x%04X of the quantization: a reserved bit is set",
                    q->flags);
    }
    if (type >= 0x80 || (c->row->types[type >> 6] >> (type & 63) & 1) == 0) {
        return FAIL(c, 0, "Q-STORAGE", "scheme %u does not quantize to type 0x%02X", q->scheme,
                    type);
    }
    if (q->scheme <= TLY_QUANT_PER_BLOCK) {
        uint32_t at = q->scheme == TLY_QUANT_PER_TENSOR ? 12 : c->row->len - 3;
        for (uint32_t i = at; i < c->row->len; i++) {
            if (b[i] != 0) {
                return FAIL(c, i, "Q-RSV", "reserved bytes of the quantization are not 0");
            }
        }
    }
    return TLY_OK;
}

/* Values of an integer type of up to 32 bits. */
static tly_status check_per_tensor(const context *c) {
    const tly_dtype_info *type = tly_dtype_find(c->d->dtype);
    int64_t low = type->klass == TLY_CLASS_INT ? -(INT64_C(1) << (type->bits - 1)) : 0;
    int64_t high = (INT64_C(1) << (type->bits - (type->klass == TLY_CLASS_INT))) - 1;
    uint32_t bits;
    memcpy(&bits, &c->q->scale, sizeof bits);
    if ((bits & 0x7FFFFFFF) == 0 || (bits & 0x7F800000) == 0x7F800000) {
        return FAIL(c, 4, "Q-SCALE", "the scale is zero or not finite");
    }
    if (c->q->zero_point < low || c->q->zero_point > high) {
        return FAIL(c, 8, "Q-ZP-RANGE", "zero point %d lies outside the storage type",
                    c->q->zero_point);
    }
    return TLY_OK;
}

static tly_status check_axis(const context *c) {
    const tly_quantization *q = c->q;
    int paged = c->d->layout == TLY_LAYOUT_BLOCK_PAGED;
    if (q->axis >= c->d->rank) {
        return FAIL(c, 4, "Q-AXIS", "axis %u of a tensor of rank %u", q->axis, c->d->rank);
    }
    if (c->d->shape[q->axis] == TLY_DYNAMIC) {
        return FAIL(c, 4, "Q-DYNAXIS", "the quantized axis %u has no extent", q->axis);
    }
    if (paged && q->axis == 0 && q->scheme == TLY_QUANT_PER_CHANNEL) {
        return FAIL(c, 4, "Q-BP-CHANNEL0", "the paged axis cannot be quantized per channel");
    }
    if (paged && q->scheme == TLY_QUANT_PER_BLOCK && q->axis != 0) {
        return FAIL(c, 4, "Q-BP-AXIS", "blocks of a paged tensor lie along axis 0, not %u",
                    q->axis);
    }
    return TLY_OK;
}

static tly_status check_block(const context *c) {
    const tly_quantization *q = c->q;
    uint64_t extent = c->d->shape[q->axis];
    if (!tly_base_is_power_of_two(q->block_size) || q->block_size < c->row->min_block ||
        q->block_size > c->row->max_block) {
        return FAIL(c, 8, "Q-BLOCK",
                    "block size %u is not a power of two from %u on that the "
                    "scheme allows",
                    q->block_size, c->row->min_block);
    }
    if (c->d->layout == TLY_LAYOUT_BLOCK_PAGED && q->scheme == TLY_QUANT_PER_BLOCK) {
        if (q->block_size != c->d->paged->page_size) {
            return FAIL(c, 8, "Q-BP-BLOCK", "block size %u of a tensor with pages of %u",
                        q->block_size, c->d->paged->page_size);
        }
        return TLY_OK;
    }
    if (q->scheme == TLY_QUANT_MXFP) {
        if (extent == 0 || extent % q->block_size != 0) {
            return FAIL(c, 8, "Q-MX-MULT", "extent %llu is not a multiple of the block size %u",
                        (unsigned long long)extent, q->block_size);
        }
    } else if (extent != 0 && q->block_size > extent) {
        return FAIL(c, 8, "Q-BLOCK-SHAPE", "block size %u is over the extent %llu", q->block_size,
                    (unsigned long long)extent);
    }
    return TLY_OK;
}

/* Number of scales. Returns 0, 1 if it does not fit, 2 if it is not known (a dynamic extent). */
static int num_scales(const context *c, uint64_t *out) {
    const tly_descriptor *d = c->d;
    uint64_t extent = d->shape[c->q->axis];
    uint64_t count;
    if (c->row->min_block == 0) {
        *out = extent;
        return 0;
    }
    if (d->layout == TLY_LAYOUT_BLOCK_PAGED && c->q->scheme == TLY_QUANT_PER_BLOCK) {
        return tly_base_mul_u64(d->paged->num_pages, d->paged->page_size, out);
    }
    count = extent >> __builtin_ctz(c->q->block_size); /* a power of two: check_block saw to it */
    count += (extent & (c->q->block_size - 1)) != 0;
    for (uint32_t k = 0; k < d->rank; k++) {
        if (d->shape[k] == TLY_DYNAMIC) {
            return 2;
        }
        if (d->shape[k] == 0) {
            *out = 0;
            return 0;
        }
    }
    for (uint32_t k = 0; k < d->rank; k++) {
        if (k != c->q->axis && tly_base_mul_u64(count, d->shape[k], &count)) {
            return 1;
        }
    }
    *out = count;
    return 0;
}

/* One parameter buffer: there, and none of the layout's. */
static tly_status check_index(const context *c, uint32_t field_at, uint32_t number) {
    uint32_t taken = tly_tensor_layout_buffers(c->d);
    if (number >= c->d->num_buffers) {
        return FAIL(c, field_at, "Q-BUFIDX", "the parameters are in buffer %u of %u", number,
                    c->d->num_buffers);
    }
    if (number < (taken != 0 ? taken : 1)) {
        return FAIL(c, field_at, "Q-BUFALIAS", "the parameters are in buffer %u, which holds data",
                    number);
    }
    return TLY_OK;
}

static tly_status check_size(const context *c, uint32_t field_at, uint32_t number, uint64_t len) {
    if (c->d->buffers[number].byte_size != len) {
        return FAIL(c, field_at, "Q-BUFSIZE", "buffer %u has %llu bytes; its parameters take %llu",
                    number, (unsigned long long)c->d->buffers[number].byte_size,
                    (unsigned long long)len);
    }
    return TLY_OK;
}

static tly_status check_parameters(const context *c) {
    const tly_quantization *q = c->q;
    uint32_t scale_at = c->row->min_block != 0 ? 12 : 8;
    int zero_points = c->row->has_zero_points && (q->flags & SYMMETRIC) == 0;
    uint64_t count = 0;
    uint64_t scale_len = 0;
    uint64_t zero_len = 0;
    int known;
    tly_status status;
    if (c->row->has_zero_points && !zero_points && q->zero_point_buffer != NO_BUFFER) {
        return FAIL(c, scale_at + 4, "Q-SYM-ZP",
                    "a symmetric quantization with zero points in buffer %u", q->zero_point_buffer);
    }
    status = check_index(c, scale_at, q->scale_buffer);
    if (status == TLY_OK && zero_points) {
        status = check_index(c, scale_at + 4, q->zero_point_buffer);
    }
    if (status != TLY_OK) {
        return status;
    }
    known = num_scales(c, &count);
    if (known == 2) {
        return TLY_OK;
    }
    if (known == 1 || tly_base_mul_u64(count, tly_dtype_bits(q->scale_type) / 8, &scale_len) ||
        tly_base_mul_u64(count, 4, &zero_len)) {
        return FAIL(c, scale_at, "Q-BUFSIZE", "the parameters need more than 2^64 bytes");
    }
    if (zero_points && q->scale_buffer == q->zero_point_buffer) {
        return tly_base_add_u64(scale_len, zero_len, &scale_len)
                   ? FAIL(c, scale_at, "Q-BUFSIZE", "the parameters need more than 2^64 bytes")
                   : check_size(c, scale_at, q->scale_buffer, scale_len);
    }
    status = check_size(c, scale_at, q->scale_buffer, scale_len);
    return status == TLY_OK && zero_points
               ? check_size(c, scale_at + 4, q->zero_point_buffer, zero_len)
               : status;
}

static tly_status check_scale_type(const context *c) {
    const tly_quantization *q = c->q;
    int ok = q->scheme == TLY_QUANT_PER_CHANNEL ? q->scale_type == TLY_F32
             : q->scheme == TLY_QUANT_PER_BLOCK
                 ? q->scale_type == TLY_F16 || q->scale_type == TLY_BF16 || q->scale_type == TLY_F32
                 : 1;
    return ok ? TLY_OK
              : FAIL(c, c->row->len - 4, "Q-SCALETYPE", "scales of type 0x%02X in scheme %u",
                     q->scale_type, q->scheme);
}

static tly_status check_count(const context *c) {
    const tly_quantization *q = c->q;
    uint32_t wanted = tly_tensor_layout_buffers(c->d);
    if (wanted == 0) {
        return TLY_OK;
    }
    if (c->row->has_axis) {
        wanted +=
            1 + (q->zero_point_buffer != NO_BUFFER && q->zero_point_buffer != q->scale_buffer);
    }
    if (c->d->num_buffers != wanted) {
        return FAIL(c, 0, "B-COUNT-LAYOUT",
                    "%u buffers: layout 0x%02X (%s) with this quantization has %u",
                    c->d->num_buffers, c->d->layout, tly_layout_name(c->d->layout), wanted);
    }
    return TLY_OK;
}

static void load_fields(tly_quantization *q, const scheme *row, const uint8_t *b) {
    if (!row->has_axis) {
        uint32_t bits = tly_base_load_u32(b + 4);
        memcpy(&q->scale, &bits, sizeof bits);
        q->zero_point = (int32_t)tly_base_load_u32(b + 8);
        return;
    }
    q->axis = tly_base_load_u32(b + 4);
    b += 8;
    if (row->min_block != 0) {
        q->block_size = tly_base_load_u32(b);
        b += 4;
    }
    q->scale_buffer = tly_base_load_u32(b);
    q->scale_type = row->scale_type;
    if (row->has_zero_points) {
        q->zero_point_buffer = tly_base_load_u32(b + 4);
        q->scale_type = b[8];
    }
}

static tly_status check_all(const context *c, const uint8_t *b) {
    tly_status status = check_head(c, b);
    if (status != TLY_OK) {
        return status;
    }
    if (!c->row->has_axis) {
        status = check_per_tensor(c);
    } else {
        status = check_axis(c);
        if (status == TLY_OK && c->row->min_block != 0) {
            status = check_block(c);
        }
        if (status == TLY_OK) {
            status = check_scale_type(c);
        }
        if (status == TLY_OK) {
            status = check_parameters(c);
        }
    }
    return status == TLY_OK ? check_count(c) : status;
}

static tly_status bad_scheme(const context *c, uint8_t tag) {
    int invalid = tag == 0x00 || tag == 0xFF;
    int is_private = tag >= 0xF0 && !invalid;
    return tly_base_fail(c->error, is_private ? TLY_UNSUPPORTED : TLY_MALFORMED, c->at,
                         invalid ? "Q-SCHEME-INVALID" : "Q-SCHEME-UNKNOWN",
                         "quantization scheme 0x%02X is %s", tag,
                         invalid      ? "invalid"
                         : is_private ? "private"
                                      : "unknown");
}

tly_status tly_tensor_read_quantization(tly_tensor_reader *reader) {
    context c = {reader->out, NULL, NULL, 0, reader->error};
    tly_quantization *q = tly_tensor_room(reader, sizeof *q);
    const uint8_t *b;
    uint32_t len;
    if (!tly_cursor_u32(&reader->in, &len) || !tly_cursor_take(&reader->in, len, &b)) {
        return tly_tensor_short(reader, "quantization");
    }
    if (q == NULL) {
        return tly_tensor_no_room(reader);
    }
    c.at = (uint64_t)(b - reader->in.base);
    if (len < 4) {
        return FAIL(&c, 0, "Q-LEN", "a quantization of %u bytes has no head", len);
    }
    if (b[0] < TLY_QUANT_PER_TENSOR || b[0] > TLY_QUANT_MXFP) {
        return bad_scheme(&c, b[0]);
    }
    c.q = q;
    c.row = &schemes[b[0]];
    if (len < c.row->len) {
        return FAIL(&c, 0, "Q-LEN", "quantization scheme %u has %u bytes, not %u", b[0], c.row->len,
                    len);
    }
    memset(q, 0, sizeof *q);
    q->scheme = b[0];
    q->version = b[1];
    q->flags = tly_base_load_u16(b + 2);
    q->scale_buffer = NO_BUFFER;
    q->zero_point_buffer = NO_BUFFER;
    load_fields(q, c.row, b);
    q->trailing = b + c.row->len;
    q->trailing_len = len - c.row->len;
    reader->out->quantization = q;
    return check_all(&c, b);
}

void tly_tensor_write_quantization(tly_tensor_writer *writer, const tly_descriptor *d) {
    const tly_quantization *q = d->quantization;
    int known = q->scheme >= TLY_QUANT_PER_TENSOR && q->scheme <= TLY_QUANT_MXFP;
    const scheme *row = &schemes[known ? q->scheme : TLY_QUANT_PER_TENSOR];
    tly_tensor_put_u32(writer, row->len + q->trailing_len);
    tly_tensor_put_u8(writer, q->scheme);
    tly_tensor_put_u8(writer, q->version);
    tly_tensor_put_u8(writer, (uint8_t)q->flags);
    tly_tensor_put_u8(writer, (uint8_t)(q->flags >> 8));
    if (!row->has_axis) {
        uint32_t bits;
        memcpy(&bits, &q->scale, sizeof bits);
        tly_tensor_put_u32(writer, bits);
        tly_tensor_put_u32(writer, (uint32_t)q->zero_point);
        tly_tensor_put_u32(writer, 0);
    } else {
        tly_tensor_put_u32(writer, q->axis);
        if (row->min_block != 0) {
            tly_tensor_put_u32(writer, q->block_size);
        }
        tly_tensor_put_u32(writer, q->scale_buffer);
        if (row->has_zero_points) {
            tly_tensor_put_u32(writer, q->zero_point_buffer);
            tly_tensor_put_u8(writer, q->scale_type);
            tly_tensor_put(writer, "\0\0\0", 3);
        }
    }
    tly_tensor_put(writer, q->trailing, q->trailing_len);
}
