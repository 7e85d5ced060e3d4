/* SPDX-License-Identifier: Apache-2.0 */
/* The block formats of GGUF: what the importer makes of random blocks has the values that the
 * formats' own loops give. Those loops are written here as the formats define them, one after the
 * other, and share nothing with the importer. */
#include "gguf_test.h"

#include <math.h>

#include <tilery/store.h>

#define NUM_BLOCKS 24

static float half(const uint8_t *at, int big) {
    uint32_t bits = big ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
    int exponent = (int)(bits >> 10 & 31);
    float m = (float)(bits & 1023) / 1024;
    float v = exponent == 0 ? m * 0x1p-14f : (1 + m) * exp2f((float)(exponent - 15));
    return bits >> 15 ? -v : v;
}

static const int8_t curve[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                 1,    13,   25,  38,  53,  69,  89,  113};

static void plain_q4_0(const uint8_t *x, int big, float *y) {
    float d = half(x, big);
    for (int j = 0; j < 16; j++) {
        y[j] = (float)((x[2 + j] & 0x0F) - 8) * d;
        y[j + 16] = (float)((x[2 + j] >> 4) - 8) * d;
    }
}

static void plain_q5_0(const uint8_t *x, int big, float *y) {
    float d = half(x, big);
    uint32_t qh = 0;
    for (int i = 0; i < 4; i++) {
        qh |= (uint32_t)x[2 + i] << 8 * (big ? 3 - i : i);
    }
    for (int j = 0; j < 16; j++) {
        int xh0 = (int)((qh >> j) << 4) & 0x10, xh1 = (int)(qh >> (j + 12)) & 0x10;
        y[j] = (float)(((x[6 + j] & 0x0F) | xh0) - 16) * d;
        y[j + 16] = (float)(((x[6 + j] >> 4) | xh1) - 16) * d;
    }
}

static void plain_q8_0(const uint8_t *x, int big, float *y) {
    for (int j = 0; j < 32; j++) {
        y[j] = (float)(int8_t)x[2 + j] * half(x, big);
    }
}

static void plain_q8_k(const uint8_t *x, int big, float *y) {
    uint8_t order[4];
    float d;
    uint32_t bits;
    for (int i = 0; i < 4; i++) {
        order[i] = x[big ? 3 - i : i];
    }
    bits = tly_base_load_u32(order);
    memcpy(&d, &bits, 4);
    for (int j = 0; j < 256; j++) {
        y[j] = d * (float)(int8_t)x[4 + j];
    }
}

static void plain_q3_k(const uint8_t *x, int big, float *y) {
    const uint8_t *hm = x, *q = x + 32;
    uint32_t a[4] = {tly_base_load_u32(x + 96), tly_base_load_u32(x + 100),
                     tly_base_load_u32(x + 104), 0};
    float d_all = half(x + 108, big);
    uint8_t m = 1, scales[16];
    uint32_t tmp = a[2];
    int is = 0;
    a[2] = ((a[0] >> 4) & 0x0f0f0f0f) | (((tmp >> 4) & 0x03030303) << 4);
    a[3] = ((a[1] >> 4) & 0x0f0f0f0f) | (((tmp >> 6) & 0x03030303) << 4);
    a[0] = (a[0] & 0x0f0f0f0f) | (((tmp >> 0) & 0x03030303) << 4);
    a[1] = (a[1] & 0x0f0f0f0f) | (((tmp >> 2) & 0x03030303) << 4);
    for (int i = 0; i < 4; i++) {
        tly_base_store_u32(scales + 4 * i, a[i]);
    }
    for (int n = 0; n < 256; n += 128) {
        int shift = 0;
        for (int j = 0; j < 4; j++) {
            float dl = d_all * (float)(scales[is++] - 32);
            for (int l = 0; l < 16; l++) {
                *y++ = dl * (float)(((q[l] >> shift) & 3) - ((hm[l] & m) ? 0 : 4));
            }
            dl = d_all * (float)(scales[is++] - 32);
            for (int l = 0; l < 16; l++) {
                *y++ = dl * (float)(((q[l + 16] >> shift) & 3) - ((hm[l + 16] & m) ? 0 : 4));
            }
            shift += 2;
            m = (uint8_t)(m << 1);
        }
        q += 32;
    }
}

static void plain_q6_k(const uint8_t *x, int big, float *y) {
    const uint8_t *ql = x, *qh = x + 128;
    const int8_t *sc = (const int8_t *)x + 192;
    float d = half(x + 208, big);
    for (int n = 0; n < 256; n += 128) {
        for (int l = 0; l < 32; l++) {
            int is = l / 16;
            int q1 = ((ql[l] & 0xF) | ((qh[l] >> 0 & 3) << 4)) - 32;
            int q2 = ((ql[l + 32] & 0xF) | ((qh[l] >> 2 & 3) << 4)) - 32;
            int q3 = ((ql[l] >> 4) | ((qh[l] >> 4 & 3) << 4)) - 32;
            int q4 = ((ql[l + 32] >> 4) | ((qh[l] >> 6 & 3) << 4)) - 32;
            y[l] = d * (float)sc[is] * (float)q1;
            y[l + 32] = d * (float)sc[is + 2] * (float)q2;
            y[l + 64] = d * (float)sc[is + 4] * (float)q3;
            y[l + 96] = d * (float)sc[is + 6] * (float)q4;
        }
        y += 128;
        ql += 64;
        qh += 32;
        sc += 8;
    }
}

static void plain_iq4_nl(const uint8_t *x, int big, float *y) {
    float d = half(x, big);
    for (int j = 0; j < 16; j++) {
        y[j] = d * (float)curve[x[2 + j] & 0xf];
        y[j + 16] = d * (float)curve[x[2 + j] >> 4];
    }
}

static void plain_iq4_xs(const uint8_t *x, int big, float *y) {
    float d = half(x, big);
    uint32_t h = big ? (uint32_t)x[2] << 8 | x[3] : (uint32_t)x[3] << 8 | x[2];
    const uint8_t *qs = x + 8;
    for (int ib = 0; ib < 8; ib++) {
        int ls = ((x[4 + ib / 2] >> 4 * (ib % 2)) & 0xf) | (int)(((h >> 2 * ib) & 3) << 4);
        float dl = d * (float)(ls - 32);
        for (int j = 0; j < 16; j++) {
            y[j] = dl * (float)curve[qs[j] & 0xf];
            y[j + 16] = dl * (float)curve[qs[j] >> 4];
        }
        y += 32;
        qs += 16;
    }
}

static void plain_tq1_0(const uint8_t *x, int big, float *y) {
    static const uint8_t pow3[6] = {1, 3, 9, 27, 81, 243};
    float d = half(x + 52, big);
    for (int n = 0; n < 5; n++) {
        for (int m = 0; m < 32; m++) {
            uint8_t q = (uint8_t)(x[m] * pow3[n]);
            *y++ = (float)((int16_t)(((uint16_t)q * 3) >> 8) - 1) * d;
        }
    }
    for (int n = 0; n < 5; n++) {
        for (int m = 0; m < 16; m++) {
            uint8_t q = (uint8_t)(x[32 + m] * pow3[n]);
            *y++ = (float)((int16_t)(((uint16_t)q * 3) >> 8) - 1) * d;
        }
    }
    for (int n = 0; n < 4; n++) {
        for (int j = 0; j < 4; j++) {
            uint8_t q = (uint8_t)(x[48 + j] * pow3[n]);
            *y++ = (float)((int16_t)(((uint16_t)q * 3) >> 8) - 1) * d;
        }
    }
}

static void plain_tq2_0(const uint8_t *x, int big, float *y) {
    float d = half(x + 64, big);
    for (int j = 0; j < 64; j += 32) {
        for (int l = 0; l < 4; l++) {
            for (int m = 0; m < 32; m++) {
                *y++ = (float)((x[j + m] >> (l * 2) & 3) - 1) * d;
            }
        }
    }
}

static void plain_mxfp4(const uint8_t *x, int big, float *y) {
    static const int8_t doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
    float d = ldexpf(1, (int)x[0] - 128);
    (void)big;
    for (int j = 0; j < 16; j++) {
        y[j] = (float)doubled[x[1 + j] & 0xf] * d;
        y[j + 16] = (float)doubled[x[1 + j] >> 4] * d;
    }
}

static const struct type {
    const char *name;
    uint32_t type, elements, bytes, scale_at, scale_len;
    tly_dtype storage, scale;
    uint32_t per_scale;
    void (*plain)(const uint8_t *x, int big, float *y);
} types[] = {
    {"Q4_0", 2, 32, 18, 0, 2, TLY_I4, TLY_F16, 32, plain_q4_0},
    {"Q5_0", 6, 32, 22, 0, 2, TLY_I8, TLY_F16, 32, plain_q5_0},
    {"Q8_0", 8, 32, 34, 0, 2, TLY_I8, TLY_F16, 32, plain_q8_0},
    {"Q3_K", 11, 256, 110, 108, 2, TLY_I4, TLY_F32, 16, plain_q3_k},
    {"Q6_K", 14, 256, 210, 208, 2, TLY_I8, TLY_F32, 16, plain_q6_k},
    {"Q8_K", 15, 256, 292, 0, 4, TLY_I8, TLY_F32, 256, plain_q8_k},
    {"IQ4_NL", 20, 32, 18, 0, 2, TLY_I8, TLY_F16, 32, plain_iq4_nl},
    {"IQ4_XS", 23, 256, 136, 0, 2, TLY_I8, TLY_F32, 32, plain_iq4_xs},
    {"TQ1_0", 34, 256, 54, 52, 2, TLY_I2, TLY_F16, 256, plain_tq1_0},
    {"TQ2_0", 35, 256, 66, 64, 2, TLY_I4, TLY_F16, 256, plain_tq2_0},
    {"MXFP4", 39, 32, 17, 0, 1, TLY_F4E2M1, TLY_F8E8M0, 32, plain_mxfp4},
};

#define NUM_TYPES (sizeof types / sizeof types[0])

/* One tensor of two rows of random blocks; the scale of block 3 is zero. */
static writer make_file(const struct type *t, int big, check_rng *rng, uint8_t *blocks) {
    writer w = begin(big, 3, 1, 0);
    for (size_t i = 0; i < NUM_BLOCKS * t->bytes; i++) {
        blocks[i] = (uint8_t)check_random(rng);
    }
    for (size_t i = 0; i < NUM_BLOCKS; i++) {
        uint8_t *scale = blocks + i * t->bytes + t->scale_at;
        if (t->scale_len > 1) { /* not infinite */
            scale[big ? 0 : t->scale_len - 1] &= 0xBB;
        } else {
            scale[0] = (uint8_t)(1 + check_below(rng, 254));
        }
        if (i == 3 && t->scale_len > 1) {
            memset(scale, 0, t->scale_len);
        } else if (i == 3) {
            memset(blocks + i * t->bytes, 0, t->bytes);
        }
    }
    put_row(&w, "w", DIMS((uint64_t)t->elements * (NUM_BLOCKS / 2), 2), t->type, 0);
    pad(&w, 32);
    blob_put(&w.b, blocks, NUM_BLOCKS * t->bytes);
    pad(&w, 32);
    return w;
}

static float code_value(const struct type *t, const uint8_t *codes, size_t e) {
    static const float e2m1[8] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6};
    uint32_t bits = t->storage == TLY_I8 ? 8 : t->storage == TLY_I2 ? 2 : 4;
    uint32_t code = codes[e * bits / 8] >> (e * bits % 8) & ((1u << bits) - 1);
    if (t->storage == TLY_F4E2M1) {
        return code >= 8 ? -e2m1[code - 8] : e2m1[code];
    }
    return (float)(code >> (bits - 1) ? (int)code - (1 << bits) : (int)code);
}

static float scale_value(const struct type *t, const uint8_t *scales, size_t s) {
    uint32_t bits;
    float value;
    if (t->scale == TLY_F16) {
        return half(scales + 2 * s, 0);
    }
    if (t->scale == TLY_F8E8M0) {
        return ldexpf(1, (int)scales[s] - 127);
    }
    bits = tly_base_load_u32(scales + 4 * s);
    memcpy(&value, &bits, 4);
    return value;
}

static void check_values(const struct type *t, int big, const tly_import *import,
                         const uint8_t *blocks) {
    const size_t num = (size_t)NUM_BLOCKS * t->elements;
    float *wanted = malloc(num * sizeof *wanted);
    tly_import_tensor info;
    tly_buffer_info buffer;
    tly_descriptor d;
    tly_error error;
    uint8_t *data;
    const uint8_t *scales;
    for (size_t i = 0; i < NUM_BLOCKS; i++) {
        t->plain(blocks + i * t->bytes, big, wanted + i * t->elements);
    }
    assert_int_equal(tly_import_info(import, 0, &info), TLY_OK);
    assert_int_equal(tly_import_descriptor(import, 0, &d, &buffer), TLY_OK);
    assert_true(info.quantized && !info.viewable && info.dtype == t->storage);
    assert_true(d.quantization != NULL && d.num_buffers == 2);
    assert_int_equal(d.quantization->axis, 1);
    assert_int_equal(d.quantization->block_size, t->per_scale);
    assert_int_equal(d.quantization->scale_type, t->scale);
    assert_true(info.byte_len == d.buffers[0].byte_size + d.buffers[1].byte_size);
    data = malloc(info.byte_len);
    CHECK_OK(tly_import_read(import, 0, data, info.byte_len, &error), &error);
    scales = data + d.buffers[0].byte_size;
    for (size_t e = 0; e < num; e++) {
        float scale = scale_value(t, scales, e / t->per_scale);
        float got = scale * code_value(t, data, e);
        assert_true(isfinite(scale) && scale != 0);
        if (!(got == wanted[e])) {
            fail_msg("%s, element %zu: %a, wanted %a", t->name, e, got, wanted[e]);
        }
    }
    free(data);
    free(wanted);
}

static void values_are_those_of_the_format(void **state) {
    tly_context *context = plain_context();
    check_rng rng = {check_seed(6)};
    static uint8_t blocks[NUM_BLOCKS * 292];
    (void)state;
    print_message("# seed %llu\n", (unsigned long long)rng.state);
    for (size_t n = 0; n < NUM_TYPES * 2 * check_rounds(8); n++) {
        const struct type *t = &types[n % NUM_TYPES];
        int big = n / NUM_TYPES % 2 != 0;
        writer w = make_file(t, big, &rng, blocks);
        tly_import *import = must_open(context, &w.b, NULL, NULL);
        check_values(t, big, import, blocks);
        tly_import_free(import);
        blob_free(&w.b);
    }
    tly_context_free(context);
}

/* The writer reads back what it is given: the descriptors keep every rule of the format. */
static void they_go_into_a_container(void **state) {
    tly_context *context = plain_context();
    char *folder = make_folder();
    char *path = path_in(folder, "q.hrry");
    check_rng rng = {7};
    static uint8_t blocks[NUM_BLOCKS * 292];
    (void)state;
    for (size_t n = 0; n < NUM_TYPES; n++) {
        const struct type *t = &types[n];
        static uint64_t work[TLY_STORE_WORK_LEN / 8];
        writer w = make_file(t, 0, &rng, blocks);
        tly_import *import = must_open(context, &w.b, NULL, NULL);
        tly_store *store;
        tly_descriptor d;
        tly_error error;
        CHECK_OK(tly_import_save(import, path, NULL, &error), &error);
        CHECK_OK(tly_store_open(context, path, NULL, &store, &error), &error);
        CHECK_OK(tly_store_verify(store, &error), &error);
        CHECK_OK(tly_store_descriptor(store, 0, work, sizeof work, &d, &error), &error);
        assert_int_equal(d.quantization->scheme,
                         t->scale == TLY_F8E8M0 ? TLY_QUANT_MXFP : TLY_QUANT_PER_BLOCK);
        tly_store_free(store);
        tly_import_free(import);
        blob_free(&w.b);
    }
    remove_folder(folder);
    free(path);
    tly_context_free(context);
}

static tly_status read_fails(const tly_context *context, const writer *w, tly_error *error) {
    tly_import *import = must_open(context, &w->b, NULL, NULL);
    tly_import_tensor info;
    uint8_t *data;
    tly_status status;
    tly_import_info(import, 0, &info);
    data = malloc(info.byte_len);
    status = tly_import_read(import, 0, data, info.byte_len, error);
    free(data);
    tly_import_free(import);
    return status;
}

static void scales_that_no_quantization_has(void **state) {
    tly_context *context = plain_context();
    check_rng rng = {8};
    static uint8_t blocks[NUM_BLOCKS * 292];
    (void)state;
    for (size_t n = 0; n < NUM_TYPES; n++) {
        const struct type *t = &types[n];
        writer w = make_file(t, 0, &rng, blocks);
        uint8_t *block;
        tly_error error;
        size_t start;
        for (start = 0; memcmp(w.b.bytes + start, blocks, t->bytes) != 0; start += 32) {
        }
        block = w.b.bytes + start + 5 * t->bytes;
        memset(block, 0x7E, t->bytes);
        memset(block + t->scale_at, 0xFF, t->scale_len);
        CHECK_RULE(read_fails(context, &w, &error), &error, TLY_MALFORMED, "gguf-scale");
        assert_int_equal(error.offset, start + 5 * t->bytes);
        if (t->scale == TLY_F8E8M0) { /* 2^-127 of something */
            block[0] = 0;
            CHECK_RULE(read_fails(context, &w, &error), &error, TLY_MALFORMED, "gguf-scale");
        }
        blob_free(&w.b);
    }
    tly_context_free(context);
}

static void empty_ones_are_refused(void **state) {
    tly_context *context = plain_context();
    writer w = begin(0, 3, 1, 0);
    (void)state;
    put_row(&w, "q", DIMS(32, 0), 2, 0);
    pad(&w, 32);
    must_refuse(context, &w.b, NULL, TLY_UNSUPPORTED, "dtype");
    tly_context_free(context);
}

static void mutations_and_failing_memory(void **state) {
    check_rng rng = {9};
    static uint8_t blocks[NUM_BLOCKS * 292];
    (void)state;
    for (size_t n = 0; n < NUM_TYPES; n++) {
        if (types[n].bytes < 60) {
            writer w = make_file(&types[n], (int)n % 2, &rng, blocks);
            must_survive_mutations(&w.b, 16 + n, 300);
            must_survive_failing_memory(&w.b);
            blob_free(&w.b);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_format),
        cmocka_unit_test(they_go_into_a_container),
        cmocka_unit_test(scales_that_no_quantization_has),
        cmocka_unit_test(empty_ones_are_refused),
        cmocka_unit_test(mutations_and_failing_memory),
    };
    return cmocka_run_group_tests_name("import/gguf_blocks", tests, NULL, NULL);
}
