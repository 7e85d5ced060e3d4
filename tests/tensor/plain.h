/* SPDX-License-Identifier: Apache-2.0 */
/* A second decoder of descriptors, written from the format's text and without any code of the
 * first: slow, obvious, one byte at a time. It says what a descriptor means, or which rule it
 * breaks. */
#ifndef TLY_TESTS_TENSOR_PLAIN_H
#define TLY_TESTS_TENSOR_PLAIN_H

#include "tensor/plain_base.h"
#include "tensor/plain_sections.h"

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
