/* SPDX-License-Identifier: Apache-2.0 */
/* A layout family of one's own: "bitmap" keeps a bit for each element (1: not all zero bits) and
 * then the elements that are not zero, compacted, followed by zeros up to a number of elements that
 * the client chooses. Layouts of this kind are no loop nest, so no panel profile can say them.
 *
 *     cc -O2 -shared -fPIC $(pkg-config --cflags tilery) bitmap.c -o bitmap.so
 *     tilery serve model.hrry --listen unix:s --family ./bitmap.so
 *     tilery get unix:s w --family ./bitmap.so --layout bitmap:1000 -o w.hrry
 *
 * Metadata: the letters "BMAP", then a u64, little-endian: room for so many elements. Buffer: the
 * bits, element i in row-major order at bit i % 8 of byte i / 8, padded to a multiple of 64 bytes;
 * then room x the bytes of an element. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/family.h>

#define METADATA_LEN 12

static int32_t fail(int32_t status, const char *text, char *why, size_t why_capacity) {
    snprintf(why, why_capacity, "%s", text);
    return status;
}

/* "1000" */
static int32_t write_metadata(const char *arguments, uint8_t *out, uint32_t capacity,
                              uint32_t *out_len, char *why, size_t why_capacity) {
    char *end;
    unsigned long long room = strtoull(arguments, &end, 10);
    if (arguments[0] < '0' || arguments[0] > '9' || *end != '\0' || capacity < METADATA_LEN) {
        return fail(TLY_INVALID_ARGUMENT, "say for how many elements there shall be room: bitmap:N",
                    why, why_capacity);
    }
    memcpy(out, "BMAP", 4);
    for (int i = 0; i < 8; i++) {
        out[4 + i] = (uint8_t)(room >> (8 * i));
    }
    *out_len = METADATA_LEN;
    return TLY_OK;
}

/* Everything that the buffer's form depends on. */
typedef struct form {
    uint64_t count;    /* elements */
    uint64_t bits_len; /* bytes */
    uint64_t room;     /* elements */
    uint64_t len;      /* bytes in all */
} form;

static int32_t read_form(const tly_family_tensor *t, form *f, char *why, size_t why_capacity) {
    uint64_t values_len;
    if (t->metadata_len != METADATA_LEN || memcmp(t->metadata, "BMAP", 4) != 0) {
        return fail(TLY_MALFORMED, "this is not metadata of a bitmap", why, why_capacity);
    }
    if (t->element_bits % 8 != 0 || t->element_bits == 0) {
        return fail(TLY_UNSUPPORTED, "elements share bytes", why, why_capacity);
    }
    f->room = 0;
    for (int i = 8; i-- > 0;) {
        f->room = f->room << 8 | t->metadata[4 + i];
    }
    f->count = 1;
    for (uint32_t i = 0; i < t->rank; i++) {
        if (__builtin_mul_overflow(f->count, t->shape[i], &f->count)) {
            return fail(TLY_OVERFLOW, "too many elements", why, why_capacity);
        }
    }
    f->bits_len = (f->count / 512 + (f->count % 512 != 0)) * 64;
    if (__builtin_mul_overflow(f->room, (uint64_t)t->element_bits / 8, &values_len) ||
        __builtin_add_overflow(f->bits_len, values_len, &f->len)) {
        return fail(TLY_OVERFLOW, "too many bytes", why, why_capacity);
    }
    return TLY_OK;
}

static int32_t plan(const tly_family_tensor *t, uint64_t *out_len, uint32_t *out_alignment,
                    char *why, size_t why_capacity) {
    form f;
    int32_t status = read_form(t, &f, why, why_capacity);
    if (status == TLY_OK) {
        *out_len = f.len;
        *out_alignment = 64;
    }
    return status;
}

static int32_t pack(const tly_family_tensor *t, void *out, uint64_t len, char *why,
                    size_t why_capacity) {
    const uint8_t *at = t->data;
    const uint32_t width = t->element_bits / 8;
    static const uint8_t zero[64];
    uint64_t used = 0;
    uint8_t *bits = out, *values;
    form f;
    int32_t status = read_form(t, &f, why, why_capacity);
    if (status != TLY_OK || f.len != len) {
        return status != TLY_OK ? status
                                : fail(TLY_INVALID_ARGUMENT, "another length", why, why_capacity);
    }
    values = bits + f.bits_len;
    memset(out, 0, (size_t)len);
    for (uint64_t i = 0; i < f.count; i++, at += width) {
        if (memcmp(at, zero, width) == 0) {
            continue;
        }
        if (used == f.room) {
            return fail(TLY_LIMIT, "more elements than there is room for are not zero", why,
                        why_capacity);
        }
        bits[i / 8] |= (uint8_t)(1u << i % 8);
        memcpy(values + used * width, at, width);
        used++;
    }
    return TLY_OK;
}

static const tly_family bitmap = {
    .abi = TLY_FAMILY_ABI,
    .tag = 0xF7,
    .layout_id = UINT64_C(0x0050414D5449425F), /* a number of one's own; here some letters */
    .name = "bitmap",
    .write = write_metadata,
    .plan = plan,
    .pack = pack,
};

TLY_API const tly_family *tly_family_at(uint32_t index);

const tly_family *tly_family_at(uint32_t index) {
    return index == 0 ? &bitmap : NULL;
}
