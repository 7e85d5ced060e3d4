/* SPDX-License-Identifier: Apache-2.0 */
#include "store/import/gguf_blocks.h"

#include <math.h>
#include <string.h>

#include "base/bytes.h"
#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"

#define MAX_ELEMENTS 256
#define MAX_SCALES   16
#define CHUNK_LEN    ((size_t)1 << 16) /* bytes of blocks that are read at once */

/* One block, taken apart: integer or four-bit codes in the order of the elements, and the bits of
 * the scales. */
typedef struct block {
    int8_t codes[MAX_ELEMENTS];
    uint32_t scales[MAX_SCALES];
} block;

/* How a type of GGUF is laid out, and what becomes of it. */
typedef struct kind {
    uint32_t type;
    uint16_t elements; /* of a block */
    uint16_t bytes;
    uint16_t per_scale; /* elements that share a scale */
    tly_dtype storage;
    tly_dtype scale_type;
    void (*unpack)(const uint8_t *bytes, int big_endian, block *out);
} kind;

static uint32_t load_u16(const uint8_t *at, int big_endian) {
    uint16_t v = tly_base_load_u16(at);
    return big_endian ? __builtin_bswap16(v) : v;
}

static uint32_t load_u32(const uint8_t *at, int big_endian) {
    uint32_t v = tly_base_load_u32(at);
    return big_endian ? __builtin_bswap32(v) : v;
}

static float half_value(uint32_t bits) {
    uint32_t exponent = bits >> 10 & 31, mantissa = bits & 0x3FF;
    float size = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
                 : exponent == 0 ? ldexpf((float)mantissa, -24)
                                 : ldexpf((float)(mantissa | 0x400), (int)exponent - 25);
    return (bits & 0x8000) != 0 ? -size : size;
}

static uint32_t float_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Sixteen bytes hold 32 codes: the low halves are the first sixteen, the high ones the others. */
static void split_halves(const uint8_t *packed, int8_t *codes) {
    for (int j = 0; j < 16; j++) {
        codes[j] = (int8_t)(packed[j] & 15);
        codes[j + 16] = (int8_t)(packed[j] >> 4);
    }
}

static void unpack_q4_0(const uint8_t *b, int big_endian, block *out) {
    out->scales[0] = load_u16(b, big_endian);
    split_halves(b + 2, out->codes);
    for (int j = 0; j < 32; j++) {
        out->codes[j] = (int8_t)(out->codes[j] - 8);
    }
}

static void unpack_q5_0(const uint8_t *b, int big_endian, block *out) {
    uint32_t high = load_u32(b + 2, big_endian);
    out->scales[0] = load_u16(b, big_endian);
    split_halves(b + 6, out->codes);
    for (int j = 0; j < 32; j++) {
        out->codes[j] = (int8_t)((out->codes[j] | (int)(high >> j & 1) << 4) - 16);
    }
}

static void unpack_q8_0(const uint8_t *b, int big_endian, block *out) {
    out->scales[0] = load_u16(b, big_endian);
    memcpy(out->codes, b + 2, 32);
}

static void unpack_q8_k(const uint8_t *b, int big_endian, block *out) {
    out->scales[0] = load_u32(b, big_endian);
    memcpy(out->codes, b + 4, 256);
}

/* 32 bytes with the third bit of every code, 64 with the lower two, twelve with sixteen scales of
 * six bits. */
static void unpack_q3_k(const uint8_t *b, int big_endian, block *out) {
    const uint8_t *high = b, *low = b + 32, *packed = b + 96;
    float d = half_value(load_u16(b + 108, big_endian));
    for (uint32_t s = 0; s < 16; s++) {
        int low_bits = s < 8 ? packed[s] & 15 : packed[s - 8] >> 4;
        int high_bits = packed[8 + s % 4] >> s / 4 * 2 & 3;
        out->scales[s] = float_bits(d * (float)((low_bits | high_bits << 4) - 32));
    }
    for (uint32_t e = 0; e < 256; e++) {
        int two = low[e / 128 * 32 + e % 32] >> e / 32 % 4 * 2 & 3;
        int third = high[e % 32] >> e / 32 & 1;
        out->codes[e] = (int8_t)(two - (third ? 0 : 4));
    }
}

/* 128 bytes with the lower four bits, 64 with the upper two, sixteen scales. */
static void unpack_q6_k(const uint8_t *b, int big_endian, block *out) {
    const uint8_t *low = b, *high = b + 128;
    float d = half_value(load_u16(b + 208, big_endian));
    for (uint32_t s = 0; s < 16; s++) {
        out->scales[s] = float_bits(d * (float)(int8_t)b[192 + s]);
    }
    for (uint32_t e = 0; e < 256; e++) {
        uint32_t half = e / 128, quarter = e / 32 % 4;
        int four = low[half * 64 + quarter % 2 * 32 + e % 32] >> quarter / 2 * 4 & 15;
        int two = high[half * 32 + e % 32] >> quarter * 2 & 3;
        out->codes[e] = (int8_t)((four | two << 4) - 32);
    }
}

/* Four bits choose one of these. */
static const int8_t nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                     1,    13,   25,  38,  53,  69,  89,  113};

static void look_up(int8_t *codes, uint32_t num) {
    for (uint32_t e = 0; e < num; e++) {
        codes[e] = nonlinear[codes[e]];
    }
}

static void unpack_iq4_nl(const uint8_t *b, int big_endian, block *out) {
    out->scales[0] = load_u16(b, big_endian);
    split_halves(b + 2, out->codes);
    look_up(out->codes, 32);
}

static void unpack_iq4_xs(const uint8_t *b, int big_endian, block *out) {
    float d = half_value(load_u16(b, big_endian));
    uint32_t high = load_u16(b + 2, big_endian);
    for (uint32_t s = 0; s < 8; s++) {
        int scale = (b[4 + s / 2] >> s % 2 * 4 & 15) | (int)(high >> 2 * s & 3) << 4;
        out->scales[s] = float_bits(d * (float)(scale - 32));
        split_halves(b + 8 + 16 * s, out->codes + 32 * s);
    }
    look_up(out->codes, 256);
}

/* Five ternary digits a byte: the byte, times a power of three, is a fraction of which the first
 * digit counts. */
static int8_t ternary(uint8_t byte, uint32_t digit) {
    static const uint8_t powers[5] = {1, 3, 9, 27, 81};
    uint8_t rest = (uint8_t)(byte * powers[digit]);
    return (int8_t)((rest * 3 >> 8) - 1);
}

static void unpack_tq1_0(const uint8_t *b, int big_endian, block *out) {
    out->scales[0] = load_u16(b + 52, big_endian);
    for (uint32_t e = 0; e < 160; e++) {
        out->codes[e] = ternary(b[e % 32], e / 32);
    }
    for (uint32_t e = 0; e < 80; e++) {
        out->codes[160 + e] = ternary(b[32 + e % 16], e / 16);
    }
    for (uint32_t e = 0; e < 16; e++) {
        out->codes[240 + e] = ternary(b[48 + e % 4], e / 4);
    }
}

static void unpack_tq2_0(const uint8_t *b, int big_endian, block *out) {
    out->scales[0] = load_u16(b + 64, big_endian);
    for (uint32_t e = 0; e < 256; e++) {
        out->codes[e] = (int8_t)((b[e / 128 * 32 + e % 32] >> e / 32 % 4 * 2 & 3) - 1);
    }
}

static void unpack_mxfp4(const uint8_t *b, int big_endian, block *out) {
    (void)big_endian;
    out->scales[0] = b[0];
    split_halves(b + 1, out->codes);
}

static const kind kinds[] = {
    {2, 32, 18, 32, TLY_I4, TLY_F16, unpack_q4_0},
    {6, 32, 22, 32, TLY_I8, TLY_F16, unpack_q5_0},
    {8, 32, 34, 32, TLY_I8, TLY_F16, unpack_q8_0},
    {11, 256, 110, 16, TLY_I4, TLY_F32, unpack_q3_k},
    {14, 256, 210, 16, TLY_I8, TLY_F32, unpack_q6_k},
    {15, 256, 292, 256, TLY_I8, TLY_F32, unpack_q8_k},
    {20, 32, 18, 32, TLY_I8, TLY_F16, unpack_iq4_nl},
    {23, 256, 136, 32, TLY_I8, TLY_F32, unpack_iq4_xs},
    {34, 256, 54, 256, TLY_I2, TLY_F16, unpack_tq1_0},
    {35, 256, 66, 256, TLY_I4, TLY_F16, unpack_tq2_0},
    {39, 32, 17, 32, TLY_F4E2M1, TLY_F8E8M0, unpack_mxfp4},
};

static const kind *find(uint32_t type) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].type == type) {
            return &kinds[i];
        }
    }
    return NULL;
}

int tly_gguf_blocks_known(uint32_t type) {
    return find(type) != NULL;
}

/* What the descriptor of such a tensor needs, in one piece. */
typedef struct quantized {
    tly_descriptor descriptor;
    tly_quantization quantization;
    tly_buffer_info buffers[2];
} quantized;

tly_status tly_gguf_blocks_entry(tly_import *import, tly_import_entry *entry, tly_error *error) {
    const kind *k = find(entry->block_type);
    const uint64_t num_blocks = entry->extent / k->bytes;
    quantized *q = tly_arena_alloc(&import->arena, sizeof *q, _Alignof(quantized));
    uint64_t codes_len, scales_len, num;
    if (q == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory for a tensor");
    }
    /* Neither is more than five times the bytes that the file has for it. */
    num = num_blocks * k->elements;
    codes_len = num / 8 * tly_dtype_bits(k->storage);
    scales_len = num / k->per_scale * (tly_dtype_bits(k->scale_type) / 8);
    q->buffers[0] = (tly_buffer_info){.byte_size = codes_len, .alignment = 64};
    q->buffers[1] = (tly_buffer_info){.byte_size = scales_len, .alignment = 64};
    q->quantization = (tly_quantization){
        .scheme = k->scale_type == TLY_F8E8M0 ? TLY_QUANT_MXFP : TLY_QUANT_PER_BLOCK,
        .version = 1,
        .flags = k->scale_type == TLY_F8E8M0 ? 0 : 1, /* symmetric: no zero points */
        .axis = entry->rank - 1,
        .block_size = k->per_scale,
        .scale_buffer = 1,
        .zero_point_buffer = UINT32_MAX,
        .scale_type = k->scale_type};
    q->descriptor = (tly_descriptor){.dtype = k->storage,
                                     .layout = TLY_LAYOUT_ROW_MAJOR,
                                     .num_buffers = 2,
                                     .rank = entry->rank,
                                     .shape = entry->shape,
                                     .buffers = q->buffers,
                                     .quantization = &q->quantization};
    entry->dtype = k->storage;
    entry->descriptor = &q->descriptor;
    entry->coding = TLY_CODING_BLOCKS;
    if (tly_base_add_u64(codes_len, scales_len, &entry->byte_len)) {
        return tly_base_fail(error, TLY_OVERFLOW, entry->offset, "size-overflow",
                             "the size of a tensor does not fit in 64 bits");
    }
    return TLY_OK;
}

/* 0: finite and not zero; 1: zero; 2: infinite or no number. */
static int sort_of_scale(const kind *k, uint32_t bits) {
    uint32_t size = k->scale_type == TLY_F16 ? bits & 0x7FFF : bits & 0x7FFFFFFF;
    uint32_t infinite = k->scale_type == TLY_F16 ? 0x7C00 : 0x7F800000;
    if (k->scale_type == TLY_F8E8M0) {
        return bits == 0 ? 1 : bits == 0xFF ? 2 : 0;
    }
    return size == 0 ? 1 : size >= infinite ? 2 : 0;
}

/* The format knows no scale of zero, and no code of MXFP for 2^-127. Where all elements are zero
 * anyway another scale does as well; the codes become plain zeros. */
static tly_status settle_scales(const kind *k, block *b, uint64_t at, tly_error *error) {
    for (uint32_t s = 0; s < k->elements / k->per_scale; s++) {
        int sort = sort_of_scale(k, b->scales[s]);
        int8_t *codes = b->codes + s * k->per_scale;
        if (sort == 1 && k->scale_type == TLY_F8E8M0) {
            for (uint32_t e = 0; e < k->per_scale; e++) {
                sort = (codes[e] & 7) != 0 ? 2 : sort;
            }
            b->scales[s] = 1;
        } else if (sort == 1) {
            memset(codes, 0, k->per_scale);
            b->scales[s] = k->scale_type == TLY_F16 ? 0x3C00 : 0x3F800000;
        }
        if (sort == 2) {
            return tly_base_fail(error, TLY_MALFORMED, at, "gguf-scale",
                                 "the scale of a block is one that no quantization can have");
        }
    }
    return TLY_OK;
}

/* Codes as they are stored, the first in the low bits. Returns how many bytes. */
static size_t put_codes(const kind *k, const block *b, uint8_t *out) {
    const uint32_t bits = tly_dtype_bits(k->storage), per_byte = 8 / bits;
    for (uint32_t e = 0; e < k->elements; e += per_byte) {
        uint32_t byte = 0;
        for (uint32_t i = 0; i < per_byte; i++) {
            byte |= ((uint32_t)(uint8_t)b->codes[e + i] & ((1u << bits) - 1)) << bits * i;
        }
        out[e / per_byte] = (uint8_t)byte;
    }
    return k->elements / per_byte;
}

static size_t put_scales(const kind *k, const block *b, uint8_t *out) {
    const uint32_t bytes = tly_dtype_bits(k->scale_type) / 8;
    const uint32_t num = k->elements / k->per_scale;
    for (uint32_t s = 0; s < num; s++) {
        for (uint32_t i = 0; i < bytes; i++) {
            out[s * bytes + i] = (uint8_t)(b->scales[s] >> 8 * i);
        }
    }
    return num * bytes;
}

/* One walk over the blocks of the file, for the codes or for the scales. */
static tly_status walk(const tly_import *import, const tly_import_entry *entry, const kind *k,
                       size_t (*put)(const kind *, const block *, uint8_t *), uint8_t *in,
                       uint8_t *out, tly_import_sink sink, void *user, tly_error *error) {
    const size_t per_chunk = CHUNK_LEN / k->bytes;
    const uint64_t num_blocks = entry->extent / k->bytes;
    for (uint64_t first = 0; first < num_blocks; first += per_chunk) {
        uint64_t at = entry->offset + first * k->bytes;
        size_t num = num_blocks - first < per_chunk ? (size_t)(num_blocks - first) : per_chunk;
        size_t used = 0;
        tly_status status = tly_import_file_read(&import->files[entry->file], at, in,
                                                 (uint64_t)num * k->bytes, error);
        for (size_t i = 0; i < num && status == TLY_OK; i++) {
            block b;
            k->unpack(in + i * k->bytes, entry->big_endian, &b);
            status = settle_scales(k, &b, at + i * k->bytes, error);
            used += put(k, &b, out + used);
        }
        status = status == TLY_OK ? sink(user, out, used, error) : status;
        if (status != TLY_OK) {
            return status;
        }
    }
    return TLY_OK;
}

tly_status tly_import_stream_blocks(const tly_import *import, const tly_import_entry *entry,
                                    tly_import_sink sink, void *user, tly_error *error) {
    const kind *k = find(entry->block_type);
    const size_t out_len = CHUNK_LEN / k->bytes * k->elements; /* no code takes more than a byte */
    uint8_t *memory = tly_base_alloc(import->context, CHUNK_LEN + out_len, 16);
    tly_status status;
    if (memory == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a read buffer");
    }
    status = walk(import, entry, k, put_codes, memory, memory + CHUNK_LEN, sink, user, error);
    if (status == TLY_OK) {
        status = walk(import, entry, k, put_scales, memory, memory + CHUNK_LEN, sink, user, error);
    }
    tly_base_free(import->context, memory, CHUNK_LEN + out_len, 16);
    return status;
}
