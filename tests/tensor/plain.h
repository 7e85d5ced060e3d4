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
    text_buffer t;
    const char *rule; /* "" when accepted, "unsupported", or the rule that is broken */
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

static inline void plain_buffers(plain *p, uint64_t layout, uint64_t byte_offset) {
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
    if (count == 0) {
        plain_stop(p, "B-COUNT0");
    }
    if (layout < 0xF0 && count > 1) {
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
    if ((layout > 5 && layout < 0xF0) || flags != 0) {
        plain_stop(p, "unsupported");
    }
    text_add(&p->t,
             "{\"version_major\":1,\"version_minor\":%llu,\"type_tag\":%llu,\"layout_tag\":%llu,",
             (unsigned long long)minor, (unsigned long long)type, (unsigned long long)layout);
    plain_numbers(p, "shape", 8, 0);
    p->at = 20;
    for (uint64_t k = 0; k < p->rank; k++) {
        p->shape[k] = plain_number(p, 8);
    }
    byte_offset = plain_number(p, 8);
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
    default:
        plain_private(p);
    }
    plain_buffers(p, layout, byte_offset);
    if (minor == 0 && p->at != p->len) {
        plain_stop(p, "D-LEN-TRAIL");
    }
    text_add(&p->t, "],\"flags\":0,\"rank\":%llu", (unsigned long long)p->rank);
}

/* The rule that is broken, "unsupported", or "" and the meaning in `out_text` (which the caller
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
    free(p);
    return rule;
}

#endif
