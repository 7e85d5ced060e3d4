/* SPDX-License-Identifier: Apache-2.0 */
/* A second decoder of descriptors, written from the format's text and without any code of the
 * first: slow, obvious, one byte at a time. It says what a descriptor means, or which rule it
 * breaks. */
#ifndef TLY_TESTS_TENSOR_PLAIN_H
#define TLY_TESTS_TENSOR_PLAIN_H

#include <setjmp.h>
#include <stdint.h>
#include <string.h>

#include "tensor/text.h"

typedef struct plain {
    const uint8_t *bytes;
    uint64_t len; /* readable: the descriptor's own length once it is known */
    uint64_t at;
    uint64_t rank;
    uint64_t shape[64];
    uint64_t layout;
    uint64_t flags;
    uint64_t nnz;
    uint64_t byte_offset;
    uint64_t type;
    uint64_t page_size;
    uint64_t num_pages;
    uint64_t num_buffers;
    uint64_t sizes[255];
    text_buffer t;
    text_buffer sections[2];
    const char *rule; /* "" when accepted, or the rule that is broken */
    jmp_buf out;
} plain;

static inline void plain_stop(plain *p, const char *rule) {
    p->rule = rule;
    longjmp(p->out, 1);
}

static inline uint64_t plain_number(plain *p, unsigned num_bytes) {
    uint64_t v = 0;
    for (unsigned i = 0; i < num_bytes; i++) {
        if (p->at >= p->len) {
            plain_stop(p, "D-LEN-TRUNC");
        }
        v += (uint64_t)p->bytes[p->at++] << (8 * i);
    }
    return v;
}

static inline void plain_numbers(plain *p, const char *name, unsigned num_bytes, int is_signed) {
    text_add(&p->t, "\"%s\":[", name);
    for (uint64_t k = 0; k < p->rank; k++) {
        uint64_t v = plain_number(p, num_bytes);
        text_add(&p->t, k != 0 ? "," : "");
        if (is_signed) {
            text_add(&p->t, "%lld", (long long)v);
        } else {
            text_add(&p->t, "%llu", (unsigned long long)v);
        }
    }
    text_add(&p->t, "]");
}

static inline void plain_tiled(plain *p, int depth) {
    uint64_t start = p->at;
    uint64_t outer;
    uint64_t inner;
    uint64_t reserved;
    text_add(&p->t, "\"kind\":\"tiled\",");
    plain_numbers(p, "tile_shape", 8, 0);
    for (uint64_t k = 0; k < p->rank; k++) {
        uint64_t end = p->at;
        p->at = start + 8 * k;
        if (plain_number(p, 8) == 0) {
            plain_stop(p, "L-TILED-SHAPE0");
        }
        p->at = end;
    }
    outer = plain_number(p, 1);
    inner = plain_number(p, 1);
    reserved = plain_number(p, 2);
    if (outer == 0 || outer > 3) {
        plain_stop(p, "L-TILED-OUTER");
    }
    if (inner == 0 || inner > 4) {
        plain_stop(p, "L-TILED-INNER");
    }
    if (reserved != 0) {
        plain_stop(p, "L-TILED-RSV");
    }
    text_add(&p->t, ",\"outer_layout\":%u,\"inner_layout\":%u", (unsigned)outer, (unsigned)inner);
    if (outer == 3) {
        text_add(&p->t, ",");
        plain_numbers(p, "outer_strides", 8, 1);
    }
    if (inner == 3) {
        text_add(&p->t, ",");
        plain_numbers(p, "inner_strides", 8, 1);
    }
    if (inner == 4) {
        if (depth == 8) {
            plain_stop(p, "L-TILED-DEPTH");
        }
        text_add(&p->t, ",\"inner_tiled\":{");
        plain_tiled(p, depth + 1);
        text_add(&p->t, "}");
    }
}

static inline void plain_morton(plain *p) {
    uint64_t start = p->at;
    text_add(&p->t, "\"kind\":\"morton\",");
    plain_numbers(p, "morton_bits", 4, 0);
    for (uint64_t k = 0; k < p->rank; k++) {
        uint64_t end = p->at;
        uint64_t bits;
        p->at = start + 4 * k;
        bits = plain_number(p, 4);
        p->at = end;
        if (bits == 0) {
            plain_stop(p, "L-MORTON-BITS0");
        }
        for (uint64_t fits = 1; p->shape[k] != UINT64_MAX && fits < p->shape[k];
             fits *= 2, bits--) {
            if (bits == 0) {
                plain_stop(p, "L-MORTON-SHAPE");
            }
            if (fits == UINT64_C(1) << 63) {
                if (bits < 1) {
                    plain_stop(p, "L-MORTON-SHAPE");
                }
                break;
            }
        }
    }
}

static inline void plain_private(plain *p) {
    uint64_t len;
    text_add(&p->t, "\"kind\":\"private\",\"extension_layout_id\":%llu,\"extension_data\":\"",
             (unsigned long long)plain_number(p, 8));
    len = plain_number(p, 4);
    for (uint64_t i = 0; i < len; i++) {
        text_add(&p->t, "%02x", (unsigned)plain_number(p, 1));
    }
    text_add(&p->t, "\"");
}

static inline void plain_zeros(plain *p, int count, const char *rule) {
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        wrong |= plain_number(p, 1) != 0;
    }
    if (wrong) {
        plain_stop(p, rule);
    }
}

static inline void plain_sparse(plain *p) {
    static const char *const names[] = {"coo", "csr", "csc", "csf"};
    static const char *const rank_rules[] = {"", "L-CSR-RANK", "L-CSC-RANK", "L-CSF-RANK"};
    int which = (int)p->layout - 6;
    if (((which == 1 || which == 2) && p->rank != 2) || (which == 3 && p->rank < 3)) {
        plain_stop(p, rank_rules[which]);
    }
    if (p->byte_offset != 0) {
        plain_stop(p, "D-BYTEOFF-SPARSE");
    }
    p->nnz = plain_number(p, 8);
    text_add(&p->t, "\"kind\":\"%s\",\"nnz\":%llu", names[which], (unsigned long long)p->nnz);
    if (which == 0) {
        uint64_t sorted = plain_number(p, 1);
        if (sorted != 0 && sorted != 1) {
            plain_stop(p, "L-COO-SORTED");
        }
        text_add(&p->t, ",\"is_sorted\":%u", (unsigned)sorted);
        plain_zeros(p, 7, "L-COO-RSV");
    } else if (which == 3) {
        uint64_t start = p->at;
        int times[64] = {0};
        text_add(&p->t, ",");
        plain_numbers(p, "mode_order", 4, 0);
        p->at = start;
        for (uint64_t k = 0; k < p->rank; k++) {
            uint64_t axis = plain_number(p, 4);
            if (axis >= p->rank || times[axis]++ > 0) {
                plain_stop(p, "L-CSF-PERM");
            }
        }
        plain_zeros(p, 8, "L-CSF-RSV");
    } else {
        plain_zeros(p, 8, which == 1 ? "L-CSR-RSV" : "L-CSC-RSV");
    }
}

static inline void plain_paged(plain *p) {
    uint64_t size, pages, axis, seqs, role, layer, type;
    if (p->rank != 3) {
        plain_stop(p, "L-BP-RANK");
    }
    if (p->byte_offset != 0) {
        plain_stop(p, "D-BYTEOFF-SPARSE");
    }
    size = plain_number(p, 4);
    pages = plain_number(p, 8);
    axis = plain_number(p, 4);
    seqs = plain_number(p, 4);
    role = plain_number(p, 1);
    layer = plain_number(p, 4);
    type = plain_number(p, 1);
    p->page_size = size;
    p->num_pages = pages;
    if (size == 0) {
        plain_stop(p, "L-BP-PAGE0");
    }
    if (axis != 0) {
        plain_stop(p, "L-BP-AXIS");
    }
    if (role > 2) {
        plain_stop(p, "L-BP-ROLE");
    }
    if (type > 1) {
        plain_stop(p, "L-BP-IDXT");
    }
    plain_zeros(p, 6, "L-BP-RSV");
    text_add(
        &p->t,
        "\"kind\":\"block_paged\",\"page_size\":%llu,\"num_pages\":%llu,\"paged_axis\":0,"
        "\"num_seqs\":%llu,\"kv_role\":%llu,\"layer_index\":%llu,\"block_table_index_type\":%llu",
        (unsigned long long)size, (unsigned long long)pages, (unsigned long long)seqs,
        (unsigned long long)role, (unsigned long long)layer, (unsigned long long)type);
}

static inline void plain_composite(plain *p) {
    uint64_t rule, operation, reserved, members;
    if (p->byte_offset != 0) {
        plain_stop(p, "C-BYTEOFF");
    }
    rule = plain_number(p, 1);
    operation = plain_number(p, 1);
    reserved = plain_number(p, 2);
    members = plain_number(p, 4);
    if (rule >= 0xF0 && rule <= 0xFE) {
        plain_stop(p, "C-RULE-PRIVATE");
    }
    if (rule != 1 && rule != 2 && rule != 3) {
        plain_stop(p, "C-RULE");
    }
    if (rule == 2 ? operation != 1 && operation != 2 : operation != 0) {
        plain_stop(p, "C-COMBINE");
    }
    if (reserved != 0) {
        plain_stop(p, "C-RSV");
    }
    if (members == 0xFFFFFFFF) {
        plain_stop(p, "C-OPEN");
    }
    if (rule == 2 && members == 0) {
        plain_stop(p, "C-OVERLAY-EMPTY");
    }
    for (uint64_t k = 0; k < p->rank; k++) {
        if (p->shape[k] == UINT64_MAX && rule != 3) {
            plain_stop(p, "C-DYNAMIC");
        }
    }
    if ((p->flags & 1) == 1) {
        plain_stop(p, "C-QUANT");
    }
    if ((p->flags & 16) == 16) {
        plain_stop(p, "C-HEAD-MEMBER");
    }
    text_add(
        &p->t,
        "\"kind\":\"composite\",\"composition_rule\":%u,\"combine_op\":%u,\"member_count\":%llu",
        (unsigned)rule, (unsigned)operation, (unsigned long long)members);
}

static inline void plain_hilbert(plain *p) {
    uint64_t order = plain_number(p, 4);
    uint64_t rank = plain_number(p, 4);
    if (order == 0) {
        plain_stop(p, "L-HIL-ORDER0");
    }
    if (rank == 0 || rank == 1) {
        plain_stop(p, "L-HIL-RANK2");
    }
    if (rank != p->rank) {
        plain_stop(p, "L-HIL-RANK");
    }
    for (uint64_t k = 0; k < rank; k++) {
        uint64_t extent = p->shape[k];
        uint64_t halvings = 0;
        while (extent > 1 && extent % 2 == 0) {
            extent /= 2;
            halvings++;
        }
        if (extent != 1 || halvings != order) {
            plain_stop(p, "L-HIL-SHAPE");
        }
    }
    text_add(&p->t, "\"kind\":\"hilbert\",\"hilbert_order\":%u,\"hilbert_rank\":%u",
             (unsigned)order, (unsigned)rank);
}

/* How many buffers the layout has. */
static inline uint64_t plain_count(const plain *p) {
    switch (p->layout) {
    case 6:
        return 2;
    case 7:
    case 8:
    case 10:
        return 3;
    case 9:
        return 2 * p->rank + 1;
    default:
        return 1;
    }
}

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

static inline void plain_buffers(plain *p) {
    uint64_t layout = p->layout;
    uint64_t byte_offset = p->byte_offset;
    uint64_t count = plain_number(p, 1);
    uint64_t first_size = 0;
    uint64_t first_device = 0;
    uint64_t first_class = 0;
    if (p->len - p->at < count * 16) {
        plain_stop(p, "D-LEN-TRUNC");
    }
    text_add(&p->t, "},\"buffers\":[");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t size = plain_number(p, 8);
        uint64_t alignment = plain_number(p, 4);
        uint64_t device = plain_number(p, 1);
        uint64_t sync = plain_number(p, 1);
        uint64_t class = plain_number(p, 1);
        uint64_t reserved = plain_number(p, 1);
        int power = 0;
        int pair = 0;
        for (int b = 0; b < 32; b++) {
            power |= alignment == UINT64_C(1) << b;
        }
        if (!power) {
            plain_stop(p, "B-ALIGN-POW2");
        }
        if (size > 0 && alignment < 64) {
            plain_stop(p, "B-ALIGN-MIN");
        }
        if (device == 255) {
            plain_stop(p, "B-DEV-FF");
        }
        if (device >= 9 && device <= 0xEF) {
            plain_stop(p, "B-DEV-RSV");
        }
        if (sync != 0 && sync != 1 && sync != 2) {
            plain_stop(p, "B-SYNC-RSV");
        }
        if (device == 0 && sync != 0) {
            plain_stop(p, "B-SYNC-CPU");
        }
        if ((class >= 4 && class <= 0xEF) || class == 255) {
            plain_stop(p, "B-MEM-RSV");
        }
        switch (class) {
        case 0:
            pair = 1;
            break;
        case 1:
        case 2:
            pair = device <= 8 && device != 5;
            break;
        case 3:
            pair = device == 1 || device == 2 || device == 4 || device == 7;
            break;
        default:
            pair = device >= 0xF0;
        }
        if (!pair) {
            plain_stop(p, "B-MEM-PAIR");
        }
        if (reserved != 0) {
            plain_stop(p, "B-RSV");
        }
        p->sizes[i] = size;
        if (i == 0) {
            first_size = size;
            first_device = device;
            first_class = class;
        }
        if (device != first_device) {
            plain_stop(p, "B-COLOC-DEV");
        }
        if (class != first_class) {
            plain_stop(p, "B-COLOC-MEM");
        }
        text_add(&p->t,
                 "%s{\"byte_size\":%llu,\"alignment\":%llu,\"device_tag\":%llu,\"sync_mode\":%llu,"
                 "\"memory_class\":%llu}",
                 i != 0 ? "," : "", (unsigned long long)size, (unsigned long long)alignment,
                 (unsigned long long)device, (unsigned long long)sync, (unsigned long long)class);
    }
    text_add(&p->t, "]");
    p->num_buffers = count;
    if (layout == 11) {
        if (count != 0) {
            plain_stop(p, "C-BUFFERS");
        }
        return;
    }
    if (count == 0) {
        plain_stop(p, "B-COUNT0");
    }
    if (layout < 0xF0 && (p->flags & 1) == 0 && count != plain_count(p)) {
        plain_stop(p, "B-COUNT-LAYOUT");
    }
    if (byte_offset > first_size) {
        plain_stop(p, "D-BYTEOFF");
    }
}

static inline void plain_header(plain *p, uint64_t have) {
    static const uint8_t types[] = {0x01, 0x02, 0x03, 0x04, 0x10, 0x11, 0x12, 0x13, 0x14,
                                    0x15, 0x16, 0x17, 0x20, 0x40, 0x41, 0x42, 0x43, 0x44,
                                    0x45, 0x46, 0x48, 0x49, 0x4A, 0x4B, 0x50, 0x51};
    uint64_t own_len;
    uint64_t flags;
    uint64_t type;
    uint64_t layout;
    uint64_t byte_offset;
    uint64_t minor;
    int known = 0;
    int known_layout;
    p->len = have;
    if (have < 10) {
        plain_stop(p, "D-LEN-AVAIL");
    }
    if (plain_number(p, 4) != 0x59525248) {
        plain_stop(p, "D-MAGIC");
    }
    if (p->bytes[4] != 1) {
        plain_stop(p, p->bytes[4] == 0 ? "D-VER-MAJOR0" : "D-VER-MAJOR");
    }
    p->at = 5;
    minor = plain_number(p, 1);
    own_len = plain_number(p, 4);
    if (own_len < 20) {
        plain_stop(p, "D-LEN-MIN");
    }
    if (own_len > have) {
        plain_stop(p, "D-LEN-AVAIL");
    }
    p->len = own_len;
    flags = plain_number(p, 4);
    type = plain_number(p, 1);
    layout = plain_number(p, 1);
    p->rank = plain_number(p, 4);
    if (flags > 31) {
        plain_stop(p, "D-FLAGS-RSV");
    }
    for (size_t i = 0; i < sizeof types; i++) {
        known |= types[i] == type;
    }
    if (type == 0 || type == 255) {
        plain_stop(p, "D-TYPE-INVALID");
    }
    if (type == 0x47 || (type >= 0x80 && type < 0xF0)) {
        plain_stop(p, "D-TYPE-RSV");
    }
    if (!known && type < 0xF0) {
        plain_stop(p, "D-TYPE-UNKNOWN");
    }
    if (layout == 0 || layout == 255) {
        plain_stop(p, "D-LAYOUT-INVALID");
    }
    known_layout = (layout >= 1 && layout <= 0x0B) || layout == 0x40 || layout >= 0xF0;
    if (!known_layout) {
        plain_stop(p, "D-LAYOUT-UNKNOWN");
    }
    if (p->rank > 64) {
        plain_stop(p, "D-RANK");
    }
    if ((type >= 0xF0) != ((flags & 4) == 4)) {
        plain_stop(p, "D-EXTFLAG");
    }
    if (p->rank == 0 && layout != 1 && layout < 0xF0) {
        plain_stop(p, "D-SCALAR-LAYOUT");
    }
    p->type = type;
    p->layout = layout;
    p->flags = flags;
    text_add(&p->t,
             "{\"version_major\":1,\"version_minor\":%llu,\"type_tag\":%llu,\"layout_tag\":%llu,",
             (unsigned long long)minor, (unsigned long long)type, (unsigned long long)layout);
    plain_numbers(p, "shape", 8, 0);
    p->at = 20;
    for (uint64_t k = 0; k < p->rank; k++) {
        p->shape[k] = plain_number(p, 8);
    }
    byte_offset = plain_number(p, 8);
    p->byte_offset = byte_offset;
    text_add(&p->t, ",\"byte_offset\":%llu,\"layout\":{", (unsigned long long)byte_offset);
    switch (layout) {
    case 1:
        text_add(&p->t, "\"kind\":\"row_major\"");
        break;
    case 2:
        text_add(&p->t, "\"kind\":\"col_major\"");
        break;
    case 3:
        text_add(&p->t, "\"kind\":\"strided\",");
        plain_numbers(p, "strides", 8, 1);
        break;
    case 4:
        plain_tiled(p, 1);
        break;
    case 5:
        plain_morton(p);
        break;
    case 6:
    case 7:
    case 8:
    case 9:
        plain_sparse(p);
        break;
    case 10:
        plain_paged(p);
        break;
    case 11:
        plain_composite(p);
        break;
    case 0x40:
        plain_hilbert(p);
        break;
    default:
        plain_private(p);
    }
    plain_buffers(p);
    plain_sections(p);
    if (minor == 0 && p->at != p->len) {
        plain_stop(p, "D-LEN-TRAIL");
    }
    text_add(&p->t, ",\"flags\":%llu,\"rank\":%llu", (unsigned long long)flags,
             (unsigned long long)p->rank);
}

/* The rule that is broken, or "" and the meaning in `out_text` (which the caller
 * frees in every case). */
static inline const char *plain_decode(const uint8_t *bytes, size_t len, char **out_text) {
    plain *p = calloc(1, sizeof *p);
    const char *rule;
    p->bytes = bytes;
    p->rule = "";
    if (setjmp(p->out) == 0) {
        plain_header(p, len);
    }
    rule = p->rule;
    *out_text = p->t.bytes;
    free(p->sections[0].bytes);
    free(p->sections[1].bytes);
    free(p);
    return rule;
}

#endif
