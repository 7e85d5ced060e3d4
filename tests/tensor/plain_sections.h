/* SPDX-License-Identifier: Apache-2.0 */
/* Sections behind the buffer table, for the second decoder (plain.h). */
#ifndef TLY_TESTS_TENSOR_PLAIN_SECTIONS_H
#define TLY_TESTS_TENSOR_PLAIN_SECTIONS_H

#include "tensor/plain_base.h"

/* Is buffer `index` there, and none of the layout's? */
static inline void plain_parameters(plain *p, uint64_t index) {
    if (index >= p->num_buffers) {
        plain_stop(p, "Q-BUFIDX");
    }
    if (index < (p->layout >= 0xF0 ? 1 : plain_count(p))) {
        plain_stop(p, "Q-BUFALIAS");
    }
}

/* How many scales: by counting in 128 bits. -1: unknown. */
static inline __int128 plain_scales(const plain *p, uint64_t scheme, uint64_t axis,
                                    uint64_t block) {
    unsigned __int128 count;
    if (scheme == 2) {
        return (__int128)p->shape[axis];
    }
    if (scheme == 3 && p->layout == 10) {
        return (__int128)p->num_pages * (__int128)p->page_size;
    }
    for (uint64_t k = 0; k < p->rank; k++) {
        if (p->shape[k] == UINT64_MAX) {
            return -1;
        }
    }
    for (uint64_t k = 0; k < p->rank; k++) {
        if (p->shape[k] == 0) {
            return 0;
        }
    }
    count = (p->shape[axis] - 1) / block + 1;
    for (uint64_t k = 0; k < p->rank && count <= UINT64_MAX; k++) {
        count *= k == axis ? 1 : p->shape[k];
    }
    return (__int128)(count <= UINT64_MAX ? count : (unsigned __int128)1 << 100);
}

static inline void plain_quantization(plain *p, text_buffer *t) {
    static const uint8_t integers[] = {0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x48, 0x49, 0x4A, 0x4B};
    static const uint8_t small[] = {0x10, 0x11, 0x48, 0x49, 0x4A, 0x4B};
    static const uint8_t nf4[] = {0x49};
    static const uint8_t mx[] = {0x40, 0x41, 0x43, 0x44, 0x45, 0x10, 0x48};
    static const struct {
        uint64_t len;
        const uint8_t *types;
        size_t num_types;
    } rows[] = {{0, NULL, 0},   {16, integers, 10}, {20, integers, 10},
                {24, small, 6}, {16, nf4, 1},       {16, mx, 7}};
    uint64_t len = plain_number(p, 4);
    uint64_t start = p->at;
    uint64_t scheme, version, flags, axis = 0, block = 0, scales = 0, zeros = 0xFFFFFFFF,
                                     scale_type = 0;
    uint64_t wanted = p->layout >= 0xF0 ? 0 : plain_count(p);
    uint64_t scale_len;
    __int128 count;
    int fits = 0;
    if (len > p->len - p->at) {
        plain_stop(p, "D-LEN-TRUNC");
    }
    if (len < 4) {
        plain_stop(p, "Q-LEN");
    }
    scheme = plain_number(p, 1);
    version = plain_number(p, 1);
    flags = plain_number(p, 2);
    if (scheme == 0 || scheme == 255) {
        plain_stop(p, "Q-SCHEME-INVALID");
    }
    if (scheme > 5) {
        plain_stop(p, "Q-SCHEME-UNKNOWN");
    }
    if (len < rows[scheme].len) {
        plain_stop(p, "Q-LEN");
    }
    if (version != 1) {
        plain_stop(p, version == 0 ? "Q-VERSION0" : "Q-VERSION");
    }
    if (flags != 0 && !(flags == 1 && (scheme == 2 || scheme == 3))) {
        plain_stop(p, "Q-FLAGS");
    }
    for (size_t i = 0; i < rows[scheme].num_types; i++) {
        fits |= rows[scheme].types[i] == p->type;
    }
    if (!fits) {
        plain_stop(p, "Q-STORAGE");
    }
    text_add(t, ",\"quantization\":{\"scheme_tag\":%u,\"flags\":%u", (unsigned)scheme,
             (unsigned)flags);
    if (scheme == 1) {
        static const int64_t limits[][2] = {
            {-128, 127},     {0, 255}, {-32768, 32767}, {0, 65535}, {INT32_MIN, INT32_MAX},
            {0, UINT32_MAX}, {-8, 7},  {0, 15},         {-2, 1},    {0, 3}};
        uint64_t scale = plain_number(p, 4);
        int32_t zero = (int32_t)plain_number(p, 4);
        plain_zeros(p, 4, "Q-RSV");
        if (scale % 0x80000000 == 0 || scale % 0x80000000 >= 0x7F800000) {
            plain_stop(p, "Q-SCALE");
        }
        for (size_t i = 0; i < 10; i++) {
            if (integers[i] == p->type && (zero < limits[i][0] || zero > limits[i][1])) {
                plain_stop(p, "Q-ZP-RANGE");
            }
        }
        text_add(t, ",\"scale\":\"0x%08x\",\"zero_point\":%d", (unsigned)scale, zero);
    } else {
        axis = plain_number(p, 4);
        block = scheme == 2 ? 0 : plain_number(p, 4);
        scales = plain_number(p, 4);
        if (scheme < 4) {
            zeros = plain_number(p, 4);
            scale_type = plain_number(p, 1);
            plain_zeros(p, 3, "Q-RSV");
        }
        if (axis >= p->rank) {
            plain_stop(p, "Q-AXIS");
        }
        if (p->shape[axis] == UINT64_MAX) {
            plain_stop(p, "Q-DYNAXIS");
        }
        if (p->layout == 10 && scheme == 2 && axis == 0) {
            plain_stop(p, "Q-BP-CHANNEL0");
        }
        if (p->layout == 10 && scheme == 3 && axis != 0) {
            plain_stop(p, "Q-BP-AXIS");
        }
        if (scheme != 2) {
            uint64_t least = scheme == 3 ? 2 : scheme == 4 ? 8 : 16;
            int power = 0;
            for (int b = 0; b < 32; b++) {
                power |= block == UINT64_C(1) << b;
            }
            if (!power || block < least || (scheme == 5 && block > 2048)) {
                plain_stop(p, "Q-BLOCK");
            }
            if (p->layout == 10 && scheme == 3) {
                if (block != p->page_size) {
                    plain_stop(p, "Q-BP-BLOCK");
                }
            } else if (scheme == 5) {
                if (p->shape[axis] == 0 || p->shape[axis] % block != 0) {
                    plain_stop(p, "Q-MX-MULT");
                }
            } else if (p->shape[axis] != 0 && block > p->shape[axis]) {
                plain_stop(p, "Q-BLOCK-SHAPE");
            }
        }
        if ((scheme == 2 && scale_type != 3) ||
            (scheme == 3 && (scale_type < 1 || scale_type > 3))) {
            plain_stop(p, "Q-SCALETYPE");
        }
        if (flags == 1 && zeros != 0xFFFFFFFF) {
            plain_stop(p, "Q-SYM-ZP");
        }
        plain_parameters(p, scales);
        if (scheme < 4 && flags == 0) {
            plain_parameters(p, zeros);
        }
        count = plain_scales(p, scheme, axis, block);
        scale_len = scheme == 5 ? 1 : scheme == 3 && scale_type < 3 ? 2 : 4;
        if (count >= 0) {
            __int128 first = count * (__int128)scale_len;
            if (scheme < 4 && flags == 0 && scales == zeros) {
                first += count * 4;
            } else if (scheme < 4 && flags == 0 && (__int128)p->sizes[zeros] != count * 4) {
                plain_stop(p, "Q-BUFSIZE");
            }
            if ((__int128)p->sizes[scales] != first) {
                plain_stop(p, "Q-BUFSIZE");
            }
        }
        wanted += wanted == 0 ? 0 : 1 + (zeros != 0xFFFFFFFF && zeros != scales);
        text_add(t, ",\"axis\":%llu", (unsigned long long)axis);
        if (scheme != 2) {
            text_add(t, ",\"block_size\":%llu", (unsigned long long)block);
        }
        text_add(t, ",\"scale_buffer_index\":%llu", (unsigned long long)scales);
        if (scheme < 4) {
            text_add(t, ",\"zero_point_buffer_index\":%llu,\"scale_type_tag\":%u",
                     (unsigned long long)zeros, (unsigned)scale_type);
        }
    }
    if (wanted != 0 && wanted != p->num_buffers) {
        plain_stop(p, "B-COUNT-LAYOUT");
    }
    text_add(t, ",\"scheme_version\":1,\"quantization_length\":%llu,\"raw_hex\":\"",
             (unsigned long long)len);
    for (p->at = start; p->at < start + len;) {
        text_add(t, "%02x", (unsigned)plain_number(p, 1));
    }
    text_add(t, "\"}");
}

static inline void plain_shard(plain *p, text_buffer *t) {
    uint64_t parent[64];
    uint64_t start[64];
    if (p->layout == 9 || p->layout == 10) {
        plain_stop(p, p->layout == 9 ? "S-SHARD-CSF" : "S-SHARD-BP");
    }
    for (uint64_t k = 0; k < p->rank; k++) {
        parent[k] = plain_number(p, 8);
    }
    for (uint64_t k = 0; k < p->rank; k++) {
        start[k] = plain_number(p, 8);
    }
    for (uint64_t k = 0; k < p->rank; k++) {
        if (p->shape[k] == UINT64_MAX || parent[k] == UINT64_MAX) {
            plain_stop(p, "S-SHARD-DYN");
        }
        if (start[k] > parent[k] || p->shape[k] > parent[k] - start[k]) {
            plain_stop(p, "S-SHARD-BOUNDS");
        }
    }
    text_add(t, ",\"shard\":{");
    text_u64s(t, "parent_shape", parent, (uint32_t)p->rank);
    text_add(t, ",");
    text_u64s(t, "shard_offset", start, (uint32_t)p->rank);
    text_add(t, "}");
}

/* Sign, exponent and fraction of a float64 decide what it is; no arithmetic on it. */
static inline int plain_is_below_zero_or_nan(uint64_t bits) {
    uint64_t magnitude = bits & INT64_MAX;
    return magnitude > UINT64_C(0x7FF0000000000000) || (bits >> 63 == 1 && magnitude != 0);
}

static inline void plain_statistics(plain *p, text_buffer *t) {
    static const char *const names[] = {"sparsity_ratio", "value_min",  "value_max",
                                        "value_abs_max",  "value_mean", "value_stddev"};
    uint64_t mask = plain_number(p, 4);
    uint64_t reserved = plain_number(p, 4);
    uint64_t nnz = plain_number(p, 8);
    uint64_t values[6];
    uint64_t n, m, nan, inf, reserved2;
    text_add(t, ",\"statistics\":{\"computed_mask\":%llu,\"nnz\":%llu", (unsigned long long)mask,
             (unsigned long long)nnz);
    for (int i = 0; i < 6; i++) {
        values[i] = plain_number(p, 8);
        text_add(t, ",\"%s\":\"0x%016llx\"", names[i], (unsigned long long)values[i]);
    }
    n = plain_number(p, 1);
    m = plain_number(p, 1);
    nan = plain_number(p, 1);
    inf = plain_number(p, 1);
    reserved2 = plain_number(p, 4);
    text_add(t, ",\"nm_n\":%u,\"nm_m\":%u,\"has_nan\":%u,\"has_inf\":%u}", (unsigned)n, (unsigned)m,
             (unsigned)nan, (unsigned)inf);
    if (mask >= 64) {
        plain_stop(p, "T-MASK");
    }
    if (reserved != 0) {
        plain_stop(p, "T-RSV");
    }
    if (reserved2 != 0) {
        plain_stop(p, "T-RSV2");
    }
    if ((mask >> 4 & 1) == 1 && n > m) {
        plain_stop(p, "T-NM");
    }
    if ((mask >> 3 & 1) == 1 && plain_is_below_zero_or_nan(values[5])) {
        plain_stop(p, "T-STDDEV");
    }
    if ((mask >> 1 & 1) == 1 &&
        (plain_is_below_zero_or_nan(values[0]) ||
         (values[0] >> 63 == 0 && values[0] > UINT64_C(0x3FF0000000000000)))) {
        plain_stop(p, "T-SPARSITY");
    }
    if ((mask >> 5 & 1) == 1 && (nan > 1 || inf > 1)) {
        plain_stop(p, "T-BOOL");
    }
    if ((mask & 1) == 1 && p->layout >= 6 && p->layout <= 9 && nnz != p->nnz) {
        plain_stop(p, "T-NNZ");
    }
}

static inline void plain_extension(plain *p, text_buffer *t) {
    uint64_t width = plain_number(p, 4);
    uint64_t packing = plain_number(p, 1);
    uint64_t is_float = plain_number(p, 1);
    uint64_t is_signed = plain_number(p, 1);
    uint64_t sign = plain_number(p, 1);
    uint64_t exponent = plain_number(p, 1);
    uint64_t mantissa = plain_number(p, 1);
    uint64_t reserved = plain_number(p, 2);
    uint64_t bias = plain_number(p, 4);
    uint64_t nan = plain_number(p, 1);
    uint64_t inf = plain_number(p, 1);
    uint64_t reserved2 = plain_number(p, 2);
    int packs = width >= 8   ? packing == 1
                : width == 1 ? packing == 8
                : width == 2 ? packing == 4
                : width == 4 ? packing == 2
                             : 0;
    if (width == 0) {
        plain_stop(p, "X-WIDTH");
    }
    if (!packs) {
        plain_stop(p, "X-PACK");
    }
    if (is_float > 1 || is_signed > 1 || sign > 1 || nan > 1 || inf > 1) {
        plain_stop(p, "X-BOOL");
    }
    if (reserved != 0) {
        plain_stop(p, "X-RSV");
    }
    if (reserved2 != 0) {
        plain_stop(p, "X-RSV2");
    }
    if (is_float == 1 && is_signed == 1) {
        plain_stop(p, "X-FLOAT-SIGNED");
    }
    if (is_float == 0 && sign + exponent + mantissa + bias > 0) {
        plain_stop(p, "X-INT-FLOATFIELDS");
    }
    text_add(t,
             ",\"extension_type\":{\"bit_width\":%llu,\"packing_factor\":%u,\"is_float\":%u,"
             "\"is_signed\":%u,\"sign_bits\":%u,\"exponent_bits\":%u,\"mantissa_bits\":%u,"
             "\"exponent_bias\":%llu,\"has_nan\":%u,\"has_inf\":%u}",
             (unsigned long long)width, (unsigned)packing, (unsigned)is_float, (unsigned)is_signed,
             (unsigned)sign, (unsigned)exponent, (unsigned)mantissa, (unsigned long long)bias,
             (unsigned)nan, (unsigned)inf);
}

static inline void plain_member(plain *p, text_buffer *t) {
    uint64_t role = plain_number(p, 1);
    uint64_t at = p->at;
    for (int i = 0; i < 15; i++) {
        (void)plain_number(p, 1);
    }
    if (role > 1) {
        plain_stop(p, "C-ROLE");
    }
    p->at = at;
    plain_zeros(p, 15, "C-MEMBER-RSV");
    text_add(t, ",\"member_role\":%u", (unsigned)role);
}

/* In the bytes: quantization, shard, statistics, extension type, member. In the text the extension
 * type comes first. */
static inline void plain_sections(plain *p) {
    text_buffer *rest = &p->sections[0];
    text_buffer *first = &p->sections[1];
    text_add(rest, "%s", "");
    text_add(first, "%s", "");
    if ((p->flags & 1) != 0) {
        plain_quantization(p, rest);
    }
    if ((p->flags & 2) != 0) {
        plain_shard(p, rest);
    }
    if ((p->flags & 8) != 0) {
        plain_statistics(p, rest);
    }
    if ((p->flags & 4) != 0) {
        plain_extension(p, first);
    }
    if ((p->flags & 16) != 0) {
        plain_member(p, rest);
    }
    text_add(&p->t, "%s%s", first->bytes, rest->bytes);
}

#endif
