/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of whole arrays: which way each pair of formats takes. */
#include <tilery/convert.h>

#include <string.h>

#include "base/checked.h"
#include "num/bits.h"
#include "num/fast.h"
#include "num/number.h"
#include "num/packed.h"

#define CHUNK       256
#define TABLE_CODES 256 /* a source of up to 8 bits is looked up */

typedef struct conversion {
    const tly_format *dst;
    const tly_format *src;
    tly_num_control control;
    uint32_t flags;
} conversion;

static int same_format(const tly_format *a, const tly_format *b) {
    return a->klass == b->klass && a->bits == b->bits && a->sign_bits == b->sign_bits &&
           a->exponent_bits == b->exponent_bits && a->mantissa_bits == b->mantissa_bits &&
           a->low_zeros == b->low_zeros && a->nan_rule == b->nan_rule &&
           a->inf_rule == b->inf_rule && a->no_zero == b->no_zero && a->bias == b->bias;
}

static tly_status check(const tly_format *dst, const tly_format *src,
                        const tly_convert_options *options, tly_num_control *out_control) {
    if (!tly_num_format_ok(dst) || !tly_num_format_ok(src)) {
        return TLY_INVALID_ARGUMENT;
    }
    *out_control = (tly_num_control){0, 0, 0};
    if (options != NULL) {
        if (options->size != sizeof *options || options->rounding > TLY_ROUND_NEAREST_UP ||
            options->saturate > 1 || options->canonical_nan > 1) {
            return TLY_INVALID_ARGUMENT;
        }
        *out_control = (tly_num_control){(uint8_t)options->rounding, (uint8_t)options->saturate,
                                         (uint8_t)options->canonical_nan};
    }
    if ((dst->klass == TLY_CLASS_COMPLEX) != (src->klass == TLY_CLASS_COMPLEX)) {
        return TLY_UNSUPPORTED;
    }
    return TLY_OK;
}

static const tly_format *complex_part(const tly_format *f) {
    return tly_format_find(f->bits == 64 ? TLY_F32 : TLY_F64);
}

static tly_num_bits one(conversion *c, tly_num_bits bits) {
    return tly_num_round(c->dst, tly_num_unpack(c->src, bits), c->control, &c->flags);
}

static void run_each(conversion *c, uint8_t *dst, uint64_t dst_first, const uint8_t *src,
                     uint64_t src_first, uint64_t count) {
    uint64_t low[CHUNK], high[CHUNK];
    while (count > 0) {
        uint32_t n = count < CHUNK ? (uint32_t)count : CHUNK;
        memset(high, 0, sizeof high);
        tly_num_load_codes(src, src_first, n, c->src->bits, low, high);
        for (uint32_t i = 0; i < n; i++) {
            tly_num_bits made = one(c, (tly_num_bits)high[i] << 64 | low[i]);
            low[i] = (uint64_t)made;
            high[i] = (uint64_t)(made >> 64);
        }
        tly_num_store_codes(dst, dst_first, n, c->dst->bits, low, high);
        dst_first += n;
        src_first += n;
        count -= n;
    }
}

/* Few codes, many elements: each code is converted once. */
static void run_table(conversion *c, uint8_t *dst, uint64_t dst_first, const uint8_t *src,
                      uint64_t src_first, uint64_t count) {
    uint64_t table[TABLE_CODES], low[CHUNK];
    uint8_t flags[TABLE_CODES], seen = 0;
    uint32_t before = c->flags;
    for (uint32_t code = 0; code < 1u << c->src->bits; code++) {
        c->flags = 0;
        table[code] = (uint64_t)one(c, code);
        flags[code] = (uint8_t)c->flags;
    }
    while (count > 0) {
        uint32_t n = count < CHUNK ? (uint32_t)count : CHUNK;
        tly_num_load_codes(src, src_first, n, c->src->bits, low, low);
        for (uint32_t i = 0; i < n; i++) {
            seen |= flags[low[i]];
            low[i] = table[low[i]];
        }
        tly_num_store_codes(dst, dst_first, n, c->dst->bits, low, low);
        dst_first += n;
        src_first += n;
        count -= n;
    }
    c->flags = before | seen;
}

/* Formats whose bits mean the same. */
static void run_copy(uint32_t bits, uint8_t *dst, uint64_t dst_first, const uint8_t *src,
                     uint64_t src_first, uint64_t count) {
    uint64_t low[CHUNK], high[CHUNK];
    if (bits >= 8) {
        uint64_t size = bits / 8;
        memmove(dst + dst_first * size, src + src_first * size, count * size);
        return;
    }
    while (count > 0) {
        uint32_t n = count < CHUNK ? (uint32_t)count : CHUNK;
        tly_num_load_codes(src, src_first, n, bits, low, high);
        tly_num_store_codes(dst, dst_first, n, bits, low, high);
        dst_first += n;
        src_first += n;
        count -= n;
    }
}

tly_status tly_convert(const tly_context *context, const tly_format *dst_format, void *dst,
                       uint64_t dst_first, const tly_format *src_format, const void *src,
                       uint64_t src_first, uint64_t count, const tly_convert_options *options,
                       uint32_t *out_flags) {
    conversion c = {dst_format, src_format, {0, 0, 0}, 0};
    uint64_t dst_end, src_end, len;
    num_fast_fn *fast;
    tly_status status = check(dst_format, src_format, options, &c.control);
    if (status != TLY_OK) {
        return status;
    }
    if (context == NULL || (count > 0 && (dst == NULL || src == NULL))) {
        return TLY_INVALID_ARGUMENT;
    }
    if (tly_base_add_u64(dst_first, count, &dst_end) ||
        tly_base_add_u64(src_first, count, &src_end) ||
        tly_num_storage_len(dst_end, dst_format->bits, &len) ||
        tly_num_storage_len(src_end, src_format->bits, &len)) {
        return TLY_OVERFLOW;
    }
    if (count == 0) {
        /* nothing */
    } else if (same_format(dst_format, src_format)) {
        run_copy(dst_format->bits, dst, dst_first, src, src_first, count);
    } else {
        if (dst_format->klass == TLY_CLASS_COMPLEX) {
            c.dst = complex_part(dst_format);
            c.src = complex_part(src_format);
            dst_first *= 2;
            src_first *= 2;
            count *= 2;
        }
        fast = out_flags == NULL ? num_fast_find(tly_context_simd(context), c.dst, c.src, c.control)
                                 : NULL;
        if (fast != NULL) {
            fast((uint8_t *)dst + dst_first * (c.dst->bits / 8),
                 (const uint8_t *)src + src_first * (c.src->bits / 8), count, c.control.saturate);
        } else if (c.src->bits <= 8 && c.dst->bits <= 64 && count >> c.src->bits != 0) {
            run_table(&c, dst, dst_first, src, src_first, count);
        } else {
            run_each(&c, dst, dst_first, src, src_first, count);
        }
    }
    if (out_flags != NULL) {
        *out_flags = c.flags;
    }
    return TLY_OK;
}

tly_status tly_convert_code(const tly_format *dst_format, const tly_format *src_format,
                            tly_code code, const tly_convert_options *options, tly_code *out_code,
                            uint32_t *flags) {
    conversion c = {dst_format, src_format, {0, 0, 0}, 0};
    tly_num_bits bits = tly_num_bits_of(code);
    tly_status status = check(dst_format, src_format, options, &c.control);
    if (status != TLY_OK || out_code == NULL) {
        return status != TLY_OK ? status : TLY_INVALID_ARGUMENT;
    }
    if (same_format(dst_format, src_format)) {
        *out_code = tly_num_code_of(bits & tly_num_mask(dst_format->bits));
        return TLY_OK;
    }
    if (dst_format->klass == TLY_CLASS_COMPLEX) {
        uint32_t from = src_format->bits / 2u, to = dst_format->bits / 2u;
        tly_num_bits real, imaginary;
        c.dst = complex_part(dst_format);
        c.src = complex_part(src_format);
        real = one(&c, bits & tly_num_mask(from));
        imaginary = one(&c, bits >> from);
        bits = real | imaginary << to;
    } else {
        bits = one(&c, bits);
    }
    *out_code = tly_num_code_of(bits);
    if (flags != NULL) {
        *flags |= c.flags;
    }
    return TLY_OK;
}
