/* SPDX-License-Identifier: Apache-2.0 */
#include "tensor/sections.h"

#include <string.h>

#include "base/checked.h"
#include "tensor/layouts.h"
#include "tensor/quantization.h"

/* --- shard (Hurray 1.0, metadata, Shard Section) --- */

static tly_status read_shard(tly_tensor_reader *reader) {
    tly_descriptor *d = reader->out;
    uint64_t at = tly_cursor_offset(&reader->in);
    tly_shard *shard = tly_tensor_room(reader, sizeof *shard);
    tly_status status;
    if (shard == NULL) {
        return tly_tensor_no_room(reader);
    }
    if (d->layout == TLY_LAYOUT_BLOCK_PAGED || d->layout == TLY_LAYOUT_CSF) {
        return tly_base_fail(reader->error, TLY_MALFORMED, 10,
                             d->layout == TLY_LAYOUT_CSF ? "S-SHARD-CSF" : "S-SHARD-BP",
                             "layout 0x%02X (%s) cannot be a shard", d->layout,
                             tly_layout_name(d->layout));
    }
    status = tly_tensor_read_u64s(reader, d->rank, &shard->parent_shape, "parent shape");
    if (status == TLY_OK) {
        status = tly_tensor_read_u64s(reader, d->rank, &shard->offset, "shard offset");
    }
    if (status != TLY_OK) {
        return status;
    }
    for (uint32_t k = 0; k < d->rank; k++) {
        uint64_t end;
        if (d->shape[k] == TLY_DYNAMIC || shard->parent_shape[k] == TLY_DYNAMIC) {
            return tly_base_fail(reader->error, TLY_MALFORMED, at + 8 * (uint64_t)k, "S-SHARD-DYN",
                                 "axis %u of a shard or of its parent has no extent", k);
        }
        if (tly_base_add_u64(shard->offset[k], d->shape[k], &end) || end > shard->parent_shape[k]) {
            return tly_base_fail(
                reader->error, TLY_MALFORMED, at + 8 * ((uint64_t)d->rank + k), "S-SHARD-BOUNDS",
                "axis %u: a shard of %llu at %llu leaves its parent of %llu", k,
                (unsigned long long)d->shape[k], (unsigned long long)shard->offset[k],
                (unsigned long long)shard->parent_shape[k]);
        }
    }
    d->shard = shard;
    return TLY_OK;
}

static void write_shard(tly_tensor_writer *writer, const tly_descriptor *d) {
    tly_tensor_put_u64s(writer, d->shard->parent_shape, d->rank);
    tly_tensor_put_u64s(writer, d->shard->offset, d->rank);
}

/* --- statistics (Hurray 1.0, metadata, Statistics Section) --- */

#define STATISTICS_LEN  72
#define STATISTICS_BITS 0x3Fu

static double load_f64(const uint8_t *bytes) {
    uint64_t bits = tly_base_load_u64(bytes);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Values count only where their bit of the mask is set. */
static tly_status check_statistics(const tly_tensor_reader *reader, const tly_statistics *s,
                                   uint64_t at) {
    const tly_descriptor *d = reader->out;
    tly_error *error = reader->error;
    if ((s->mask & TLY_STATISTICS_N_OF_M) != 0 && s->n > s->m) {
        return tly_base_fail(error, TLY_MALFORMED, at + 64, "T-NM",
                             "%u of every %u elements: more than there are", s->n, s->m);
    }
    if ((s->mask & TLY_STATISTICS_MOMENTS) != 0 && !(s->deviation >= 0)) {
        return tly_base_fail(error, TLY_MALFORMED, at + 56, "T-STDDEV",
                             "the standard deviation is negative or no number");
    }
    if ((s->mask & TLY_STATISTICS_SPARSITY) != 0 && !(s->sparsity >= 0 && s->sparsity <= 1)) {
        return tly_base_fail(error, TLY_MALFORMED, at + 16, "T-SPARSITY",
                             "the share of zeros is not between 0 and 1");
    }
    if ((s->mask & TLY_STATISTICS_SPECIALS) != 0 && (s->has_nan > 1 || s->has_inf > 1)) {
        return tly_base_fail(error, TLY_MALFORMED, at + (s->has_nan > 1 ? 66 : 67), "T-BOOL",
                             "a truth value of the statistics is not 0 or 1");
    }
    if ((s->mask & TLY_STATISTICS_NNZ) != 0 && d->layout >= TLY_LAYOUT_COO &&
        d->layout <= TLY_LAYOUT_CSF && s->nnz != d->nnz) {
        return tly_base_fail(error, TLY_MALFORMED, at + 8, "T-NNZ",
                             "the statistics count %llu stored elements, the layout %llu",
                             (unsigned long long)s->nnz, (unsigned long long)d->nnz);
    }
    return TLY_OK;
}

static tly_status read_statistics(tly_tensor_reader *reader) {
    uint64_t at = tly_cursor_offset(&reader->in);
    tly_statistics *s = tly_tensor_room(reader, sizeof *s);
    const uint8_t *b;
    if (!tly_cursor_take(&reader->in, STATISTICS_LEN, &b)) {
        return tly_tensor_short(reader, "statistics");
    }
    if (s == NULL) {
        return tly_tensor_no_room(reader);
    }
    s->mask = tly_base_load_u32(b);
    s->nnz = tly_base_load_u64(b + 8);
    s->sparsity = load_f64(b + 16);
    s->minimum = load_f64(b + 24);
    s->maximum = load_f64(b + 32);
    s->absolute_maximum = load_f64(b + 40);
    s->mean = load_f64(b + 48);
    s->deviation = load_f64(b + 56);
    s->n = b[64];
    s->m = b[65];
    s->has_nan = b[66];
    s->has_inf = b[67];
    if ((s->mask & ~STATISTICS_BITS) != 0) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at, "T-MASK",
                             "mask 0x%08X of the statistics has a reserved bit", s->mask);
    }
    if (tly_base_load_u32(b + 4) != 0) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at + 4, "T-RSV",
                             "reserved bytes of the statistics are not 0");
    }
    if (tly_base_load_u32(b + 68) != 0) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at + 68, "T-RSV2",
                             "reserved bytes at the end of the statistics are not 0");
    }
    reader->out->statistics = s;
    return check_statistics(reader, s, at);
}

static void put_f64(tly_tensor_writer *writer, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    tly_tensor_put_u64(writer, bits);
}

static void write_statistics(tly_tensor_writer *writer, const tly_descriptor *d) {
    const tly_statistics *s = d->statistics;
    tly_tensor_put_u32(writer, s->mask);
    tly_tensor_put_u32(writer, 0);
    tly_tensor_put_u64(writer, s->nnz);
    put_f64(writer, s->sparsity);
    put_f64(writer, s->minimum);
    put_f64(writer, s->maximum);
    put_f64(writer, s->absolute_maximum);
    put_f64(writer, s->mean);
    put_f64(writer, s->deviation);
    tly_tensor_put_u8(writer, s->n);
    tly_tensor_put_u8(writer, s->m);
    tly_tensor_put_u8(writer, s->has_nan);
    tly_tensor_put_u8(writer, s->has_inf);
    tly_tensor_put_u32(writer, 0);
}

/* --- extension type (Hurray 1.0, metadata, Extension Type Section) --- */

#define EXTENSION_LEN 20

static int packs_well(const tly_extension_type *x) {
    if (x->bit_width >= 8) {
        return x->packing == 1;
    }
    return (x->bit_width == 1 || x->bit_width == 2 || x->bit_width == 4) &&
           x->packing == 8 / x->bit_width;
}

static tly_status check_extension(const tly_tensor_reader *reader, const tly_extension_type *x,
                                  const uint8_t *b, uint64_t at) {
    tly_error *error = reader->error;
    if (x->bit_width == 0) {
        return tly_base_fail(error, TLY_MALFORMED, at, "X-WIDTH", "an extension type of 0 bits");
    }
    if (!packs_well(x)) {
        return tly_base_fail(error, TLY_MALFORMED, at + 4, "X-PACK",
                             "%u elements of %u bits in a byte", x->packing, x->bit_width);
    }
    if (x->is_float > 1 || x->is_signed > 1 || x->sign_bits > 1 || x->has_nan > 1 ||
        x->has_inf > 1) {
        return tly_base_fail(error, TLY_MALFORMED, at + 5, "X-BOOL",
                             "a truth value of the extension type is not 0 or 1");
    }
    if (tly_base_load_u16(b + 10) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 10, "X-RSV",
                             "reserved bytes of the extension type are not 0");
    }
    if (tly_base_load_u16(b + 18) != 0) {
        return tly_base_fail(error, TLY_MALFORMED, at + 18, "X-RSV2",
                             "reserved bytes at the end of the extension type are not 0");
    }
    if (x->is_float && x->is_signed) {
        return tly_base_fail(error, TLY_MALFORMED, at + 6, "X-FLOAT-SIGNED",
                             "is_signed is for integers: a float has sign_bits");
    }
    if (!x->is_float && (x->sign_bits != 0 || x->exponent_bits != 0 || x->mantissa_bits != 0 ||
                         x->exponent_bias != 0)) {
        return tly_base_fail(error, TLY_MALFORMED, at + 7, "X-INT-FLOATFIELDS",
                             "an integer type has sign, exponent or mantissa bits or a bias");
    }
    return TLY_OK;
}

static tly_status read_extension(tly_tensor_reader *reader) {
    uint64_t at = tly_cursor_offset(&reader->in);
    tly_extension_type *x = tly_tensor_room(reader, sizeof *x);
    const uint8_t *b;
    if (!tly_cursor_take(&reader->in, EXTENSION_LEN, &b)) {
        return tly_tensor_short(reader, "extension type");
    }
    if (x == NULL) {
        return tly_tensor_no_room(reader);
    }
    x->bit_width = tly_base_load_u32(b);
    x->packing = b[4];
    x->is_float = b[5];
    x->is_signed = b[6];
    x->sign_bits = b[7];
    x->exponent_bits = b[8];
    x->mantissa_bits = b[9];
    x->exponent_bias = tly_base_load_u32(b + 12);
    x->has_nan = b[16];
    x->has_inf = b[17];
    reader->out->extension_type = x;
    return check_extension(reader, x, b, at);
}

static void write_extension(tly_tensor_writer *writer, const tly_descriptor *d) {
    const tly_extension_type *x = d->extension_type;
    tly_tensor_put_u32(writer, x->bit_width);
    tly_tensor_put_u8(writer, x->packing);
    tly_tensor_put_u8(writer, x->is_float);
    tly_tensor_put_u8(writer, x->is_signed);
    tly_tensor_put_u8(writer, x->sign_bits);
    tly_tensor_put_u8(writer, x->exponent_bits);
    tly_tensor_put_u8(writer, x->mantissa_bits);
    tly_tensor_put(writer, "\0\0", 2);
    tly_tensor_put_u32(writer, x->exponent_bias);
    tly_tensor_put_u8(writer, x->has_nan);
    tly_tensor_put_u8(writer, x->has_inf);
    tly_tensor_put(writer, "\0\0", 2);
}

/* --- composite member (Hurray 1.0, metadata, Composite Member Section) --- */

#define MEMBER_LEN 16

static tly_status read_member(tly_tensor_reader *reader) {
    uint64_t at = tly_cursor_offset(&reader->in);
    const uint8_t *b;
    if (!tly_cursor_take(&reader->in, MEMBER_LEN, &b)) {
        return tly_tensor_short(reader, "composite member");
    }
    reader->out->member_role = b[0];
    if (b[0] > 1) {
        return tly_base_fail(reader->error, TLY_MALFORMED, at, "C-ROLE",
                             "role %u of a composite member is not 0 or 1", b[0]);
    }
    for (uint32_t i = 1; i < MEMBER_LEN; i++) {
        if (b[i] != 0) {
            return tly_base_fail(reader->error, TLY_MALFORMED, at + i, "C-MEMBER-RSV",
                                 "reserved bytes of a composite member are not 0");
        }
    }
    return TLY_OK;
}

static void write_member(tly_tensor_writer *writer, const tly_descriptor *d) {
    static const uint8_t zeros[MEMBER_LEN - 1];
    tly_tensor_put_u8(writer, d->member_role);
    tly_tensor_put(writer, zeros, sizeof zeros);
}

/* --- all of them, in the order in which they stand --- */

static const struct section {
    uint32_t flag;
    tly_status (*read)(tly_tensor_reader *reader);
    void (*write)(tly_tensor_writer *writer, const tly_descriptor *descriptor);
} sections[] = {
    {TLY_FLAG_QUANTIZATION, tly_tensor_read_quantization, tly_tensor_write_quantization},
    {TLY_FLAG_SHARD, read_shard, write_shard},
    {TLY_FLAG_STATISTICS, read_statistics, write_statistics},
    {TLY_FLAG_EXTENSION_TYPE, read_extension, write_extension},
    {TLY_FLAG_COMPOSITE_MEMBER, read_member, write_member},
};

#define NUM_SECTIONS (sizeof sections / sizeof sections[0])

tly_status tly_tensor_read_sections(tly_tensor_reader *reader) {
    for (size_t i = 0; i < NUM_SECTIONS; i++) {
        if ((reader->out->flags & sections[i].flag) != 0) {
            tly_status status = sections[i].read(reader);
            if (status != TLY_OK) {
                return status;
            }
        }
    }
    return TLY_OK;
}

uint32_t tly_tensor_section_flags(const tly_descriptor *d) {
    return (d->quantization != NULL ? TLY_FLAG_QUANTIZATION : 0) |
           (d->shard != NULL ? TLY_FLAG_SHARD : 0) |
           (d->statistics != NULL ? TLY_FLAG_STATISTICS : 0) |
           (d->extension_type != NULL ? TLY_FLAG_EXTENSION_TYPE : 0) |
           (d->flags & TLY_FLAG_COMPOSITE_MEMBER);
}

void tly_tensor_write_sections(tly_tensor_writer *writer, const tly_descriptor *d) {
    uint32_t flags = tly_tensor_section_flags(d);
    for (size_t i = 0; i < NUM_SECTIONS; i++) {
        if ((flags & sections[i].flag) != 0) {
            sections[i].write(writer, d);
        }
    }
}
