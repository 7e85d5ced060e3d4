/* SPDX-License-Identifier: Apache-2.0 */
/* Quantization against the public vectors and against the definitions, value by value. */
#include "vectors.h"

#include <math.h>

#include <tilery/quantize.h>

#define FOLDER "tests/vectors/hurray/"

static tly_context *levels[TLY_SIMD_AVX512_FP16];
static uint32_t num_levels;

/* ---- the public vectors -------------------------------------------------------------------------
 */

typedef struct vector {
    tly_tensor tensor;
    tly_descriptor d;
    const void *buffers[8];
    uint8_t *owned[8];
    uint64_t work[TLY_DESCRIPTOR_WORK_LEN / 8];
    uint8_t *bytes;
} vector;

static void read_vector(vector *v, const char *line) {
    char *hex = malloc(strlen(line) + 1);
    const char *at = strstr(line, "\"buffers\":[\"");
    size_t len;
    tly_error error;
    v->bytes = check_unhex(check_json_text(line, "descriptor_hex", hex, strlen(line)), &len);
    CHECK_OK(tly_descriptor_decode(v->bytes, len, v->work, sizeof v->work, &v->d, NULL, &error),
             &error);
    assert_non_null(at);
    at += strlen("\"buffers\":[");
    for (uint32_t i = 0; i < v->d.num_buffers; i++) {
        size_t hex_len = strcspn(++at, "\"");
        memcpy(hex, at, hex_len);
        hex[hex_len] = '\0';
        v->owned[i] = check_unhex(hex, &len);
        assert_int_equal(len, v->d.buffers[i].byte_size);
        v->buffers[i] = v->owned[i];
        at += hex_len + 2;
    }
    v->tensor = (tly_tensor){.descriptor = &v->d, .buffers = v->buffers};
    free(hex);
}

static void free_vector(vector *v) {
    for (uint32_t i = 0; i < v->d.num_buffers; i++) {
        free(v->owned[i]);
    }
    free(v->bytes);
}

static void same_values(const tly_tensor *t, const uint32_t *wanted, uint64_t n, const char *id) {
    uint8_t *out = malloc(n * 4 + 1);
    tly_error error;
    for (uint32_t l = 0; l <= num_levels; l++) { /* once more with hardly any memory */
        tly_transcode_options little = {.size = sizeof little, .memory_limit = 9000};
        CHECK_OK(tly_dequantize(levels[l % num_levels], t, TLY_F32, out,
                                l < num_levels ? NULL : &little, &error),
                 &error);
        for (uint64_t i = 0; i < n; i++) {
            uint32_t got = out[4 * i] | (uint32_t)out[4 * i + 1] << 8 |
                           (uint32_t)out[4 * i + 2] << 16 | (uint32_t)out[4 * i + 3] << 24;
            int both_nan = (got & 0x7FFFFFFF) > 0x7F800000 && (wanted[i] & 0x7FFFFFFF) > 0x7F800000;
            if (got != wanted[i] && !both_nan) {
                fail_msg("%s, layout %x: value %llu is %08x, not %08x", id, t->descriptor->layout,
                         (unsigned long long)i, got, wanted[i]);
            }
        }
    }
    free(out);
}

static void the_public_vectors(void **state) {
    check_vectors lines = check_vectors_open(FOLDER "quant.jsonl.gz");
    int schemes[6] = {0};
    char *line;
    (void)state;
    while ((line = check_vectors_line(&lines)) != NULL) {
        vector v;
        char id[32];
        uint64_t n;
        uint32_t *wanted;
        const char *at = strstr(line, "\"dequantized_f32\":[") + strlen("\"dequantized_f32\":[");
        tly_descriptor columns = {.layout = TLY_LAYOUT_COL_MAJOR};
        tly_transcode *plan;
        void *buffers[8];
        tly_error error;
        check_json_text(line, "id", id, sizeof id);
        read_vector(&v, line);
        assert_int_equal(tly_descriptor_num_elements(&v.d, &n), TLY_OK);
        wanted = malloc(n * 4 + 4);
        for (uint64_t i = 0; i < n; i++, at++) {
            wanted[i] =
                strncmp(at, "\"nan\"", 5) == 0 ? 0x7FC00000 : (uint32_t)strtoul(at + 1, NULL, 16);
            at = strchr(at + 1, '"') + 1;
        }
        same_values(&v.tensor, wanted, n, id);
        /* The same codes in another layout have the same values. */
        CHECK_OK(tly_transcode_new(levels[0], &v.tensor, &columns, NULL, &plan, &error), &error);
        for (uint32_t i = 0; i < v.d.num_buffers; i++) {
            buffers[i] = malloc(tly_transcode_descriptor(plan)->buffers[i].byte_size + 1);
        }
        CHECK_OK(tly_transcode_run(plan, buffers, &error), &error);
        {
            tly_tensor other = {.descriptor = tly_transcode_descriptor(plan),
                                .buffers = (const void *const *)buffers};
            same_values(&other, wanted, n, id);
        }
        for (uint32_t i = 0; i < v.d.num_buffers; i++) {
            free(buffers[i]);
        }
        tly_transcode_free(plan);
        schemes[v.d.quantization->scheme]++;
        free(wanted);
        free_vector(&v);
    }
    for (int s = 1; s <= 5; s++) {
        assert_true(schemes[s] >= 16);
    }
    check_vectors_close(&lines);
}

/* ---- quantizing ---------------------------------------------------------------------------------
 */

static double code_value(tly_dtype storage, uint64_t code) {
    tly_code out;
    double v;
    assert_int_equal(tly_convert_code(tly_format_find(TLY_F64), tly_format_find(storage),
                                      (tly_code){code, 0}, NULL, &out, NULL),
                     TLY_OK);
    memcpy(&v, &out.low, sizeof v);
    return v;
}

/* No code lies nearer to a value than the one that was chosen. */
static void check_nearest(const float *values, const float *back, uint64_t n,
                          const tly_quantize_options *o, const tly_descriptor *d,
                          void *const *buffers) {
    const tly_quantization *q = d->quantization;
    uint64_t index[3], strides[3] = {d->shape[1] * d->shape[2], d->shape[2], 1};
    for (uint64_t i = 0; i < n; i++) {
        uint64_t block = 0, num_codes = UINT64_C(1) << tly_dtype_bits(o->storage), outer = 0;
        double scale = q->scale, zero = q->zero_point, best = INFINITY;
        for (int k = 0; k < 3; k++) {
            index[k] = i / strides[k] % d->shape[k];
        }
        if (q->scheme == TLY_QUANT_PER_CHANNEL) {
            block = index[q->axis];
        } else if (q->scheme > TLY_QUANT_PER_CHANNEL) {
            uint64_t k = q->block_size, extent = d->shape[q->axis];
            for (uint32_t a = 0; a < 3; a++) {
                outer = a != q->axis ? outer * d->shape[a] + index[a] : outer;
            }
            block = outer * ((extent + k - 1) / k) + index[q->axis] / k;
        }
        if (q->scheme != TLY_QUANT_PER_TENSOR) {
            uint32_t bits = tly_dtype_bits(q->scale_type), z = 0;
            const uint8_t *p = (const uint8_t *)buffers[1] + block * bits / 8;
            uint64_t code = 0;
            for (uint32_t b = 0; b < bits / 8; b++) {
                code |= (uint64_t)p[b] << (8 * b);
            }
            scale = code_value(q->scale_type, code);
            zero = 0;
            if (q->zero_point_buffer != UINT32_MAX) {
                p = (const uint8_t *)buffers[2] + block * 4;
                z = p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
                zero = (double)(int32_t)z;
            }
        }
        if (num_codes > 65536) {
            best = fmin(fabs((double)values[i] - back[i]), scale);
        }
        for (uint64_t c = 0; c < num_codes && num_codes <= 65536; c += num_codes > 256 ? 7 : 1) {
            static const float nf4[] = {-1.0f,        -0.69619280f, -0.52507305f, -0.39491749f,
                                        -0.28444138f, -0.18477343f, -0.09105004f, 0.0f,
                                        0.07958030f,  0.16093020f,  0.24611230f,  0.33791524f,
                                        0.44070983f,  0.56261700f,  0.72295684f,  1.0f};
            double v = q->scheme == TLY_QUANT_NF4 ? (double)nf4[c] : code_value(o->storage, c);
            double distance = fabs((double)values[i] - scale * (v - zero));
            best = distance < best ? distance : best;
        }
        /* f32 rounds the quotient and the product. */
        if (fabs((double)values[i] - (double)back[i]) >
            best + fabs((double)values[i]) * 0x1p-21 + scale * 0x1p-21) {
            fail_msg("scheme %u, storage %x: %a becomes %a; there is a code at distance %a",
                     q->scheme, o->storage, (double)values[i], (double)back[i], best);
        }
    }
}

static void one_tensor(check_rng *rng, const tly_quantize_options *o) {
    uint64_t shape[3] = {2 + check_below(rng, 3), 3, 5}, n;
    tly_descriptor d;
    tly_buffer_info info;
    uint8_t *bytes;
    float *values, *back;
    const void *source[1];
    void *buffers[3], *first[3] = {NULL, NULL, NULL};
    tly_tensor tensor = {.descriptor = &d, .buffers = source}, made;
    tly_error error;
    if (o->block_size != 0) { /* MXFP wants whole blocks, the others may have a rest */
        shape[o->axis] = o->block_size + (o->scheme == TLY_QUANT_MXFP ? o->block_size : 3);
    }
    n = shape[0] * shape[1] * shape[2];
    assert_int_equal(tly_descriptor_init_row_major(&d, &info, TLY_F32, 3, shape), TLY_OK);
    bytes = malloc(n * 4);
    values = malloc(n * 4);
    back = malloc(n * 4);
    for (uint64_t i = 0; i < n; i++) {
        float v = (float)((double)(int64_t)check_random(rng) * 0x1p-63);
        uint32_t bits;
        v *= check_below(rng, 8) == 0 ? 50 : 1;
        v = check_below(rng, 16) == 0 ? 0 : v;
        values[i] = v;
        memcpy(&bits, &v, sizeof bits);
        for (int b = 0; b < 4; b++) {
            bytes[4 * i + (uint64_t)b] = (uint8_t)(bits >> (8 * b));
        }
    }
    source[0] = bytes;
    for (uint32_t l = 0; l < num_levels; l++) {
        tly_quantize *z;
        const tly_descriptor *out;
        CHECK_OK(tly_quantize_new(levels[l], &tensor, o, &z, &error), &error);
        out = tly_quantize_descriptor(z);
        for (uint32_t i = 0; i < out->num_buffers; i++) {
            buffers[i] = malloc(out->buffers[i].byte_size + 1);
        }
        tly_quantize_run(z, buffers);
        made = (tly_tensor){.descriptor = out, .buffers = (const void *const *)buffers};
        CHECK_OK(tly_tensor_check_data(levels[l], &made, &error), &error);
        CHECK_OK(tly_dequantize(levels[l], &made, TLY_F32, back, NULL, &error), &error);
        for (uint64_t i = 0; i < n; i++) { /* to the machine's order of bytes */
            const uint8_t *p = (const uint8_t *)&back[i];
            uint32_t bits =
                p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
            memcpy(&back[i], &bits, sizeof bits);
        }
        if (l == 0) {
            check_nearest(values, back, n, o, out, buffers);
            for (uint32_t i = 0; i < out->num_buffers; i++) {
                first[i] = malloc(out->buffers[i].byte_size + 1);
                memcpy(first[i], buffers[i], out->buffers[i].byte_size);
            }
        }
        for (uint32_t i = 0; i < out->num_buffers; i++) {
            assert_memory_equal(first[i], buffers[i], out->buffers[i].byte_size);
            free(buffers[i]);
        }
        tly_quantize_free(z);
    }
    for (int i = 0; i < 3; i++) {
        free(first[i]);
    }
    free(bytes);
    free(values);
    free(back);
}

static void codes_are_the_nearest(void **state) {
    static const tly_dtype affine[] = {TLY_I8, TLY_U8,  TLY_I4,  TLY_U4, TLY_I2,
                                       TLY_U2, TLY_I16, TLY_U16, TLY_I32};
    static const tly_dtype mx[] = {TLY_F8E4M3, TLY_F8E5M2, TLY_F4E2M1, TLY_F6E2M3,
                                   TLY_F6E3M2, TLY_I8,     TLY_I4};
    static const tly_dtype scales[] = {0, TLY_F32, TLY_F16, TLY_BF16};
    check_rng rng = {check_seed(31)};
    (void)state;
    for (uint64_t round = 0, rounds = check_rounds(50); round < rounds; round++) {
        tly_quantize_options o = {.size = sizeof o};
        o.scheme = (uint8_t)(1 + check_below(&rng, 5));
        o.axis = o.scheme > 1 ? (uint32_t)check_below(&rng, 3) : 0;
        switch (o.scheme) {
        case TLY_QUANT_NF4:
            o.storage = TLY_U4;
            o.block_size = 8;
            break;
        case TLY_QUANT_MXFP:
            o.storage = mx[check_below(&rng, 7)];
            o.block_size = 16;
            break;
        case TLY_QUANT_PER_BLOCK:
            o.storage = affine[check_below(&rng, 6)];
            o.block_size = 2u << check_below(&rng, 3);
            o.scale_type = scales[check_below(&rng, 4)];
            o.symmetric = (uint8_t)check_below(&rng, 2);
            break;
        default:
            o.storage = affine[check_below(&rng, 9)];
            o.symmetric = (uint8_t)check_below(&rng, 2);
            break;
        }
        one_tensor(&rng, &o);
    }
}

static void what_cannot_be_quantized(void **state) {
    uint64_t shape[] = {4};
    uint8_t bytes[16] = {0, 0, 0, 0, 0, 0, 0x80, 0x7F};
    const void *buffers[] = {bytes};
    tly_descriptor d;
    tly_buffer_info info;
    tly_tensor tensor = {.descriptor = &d, .buffers = buffers};
    tly_quantize_options o = {.size = sizeof o, .scheme = TLY_QUANT_PER_TENSOR, .storage = TLY_I8};
    tly_quantize *z;
    tly_error error;
    (void)state;
    assert_int_equal(tly_descriptor_init_row_major(&d, &info, TLY_F32, 1, shape), TLY_OK);
    CHECK_RULE(tly_quantize_new(levels[0], &tensor, &o, &z, &error), &error, TLY_INVALID_ARGUMENT,
               "not-finite");
    bytes[7] = 0;
    o.storage = TLY_F16;
    CHECK_RULE(tly_quantize_new(levels[0], &tensor, &o, &z, &error), &error, TLY_MALFORMED,
               "Q-STORAGE");
    o.storage = TLY_I8;
    o.scheme = TLY_QUANT_PER_CHANNEL;
    o.axis = 1;
    CHECK_RULE(tly_quantize_new(levels[0], &tensor, &o, &z, &error), &error, TLY_MALFORMED,
               "Q-AXIS");
    o.scheme = TLY_QUANT_PER_BLOCK;
    o.axis = 0;
    o.block_size = 3;
    CHECK_RULE(tly_quantize_new(levels[0], &tensor, &o, &z, &error), &error, TLY_MALFORMED,
               "Q-BLOCK");
    o.scheme = 6;
    CHECK_RULE(tly_quantize_new(levels[0], &tensor, &o, &z, &error), &error, TLY_INVALID_ARGUMENT,
               "quantize-options");
    CHECK_RULE(tly_dequantize(levels[0], &tensor, TLY_F32, bytes, NULL, &error), &error,
               TLY_INVALID_ARGUMENT, "not-quantized");
}

/* Values far apart, and none at all. */
static void borders(void **state) {
    static const float values[] = {3.4e38f, -3.4e38f, 1e-45f, 0};
    uint64_t shape[] = {4}, none[] = {0, 3};
    uint8_t bytes[16];
    float back[4];
    const void *source[] = {bytes};
    tly_descriptor d;
    tly_buffer_info info;
    tly_tensor tensor = {.descriptor = &d, .buffers = source};
    tly_error error;
    (void)state;
    for (int scheme = 1; scheme <= 2; scheme++) {
        tly_quantize_options o = {.size = sizeof o, .scheme = (uint8_t)scheme, .storage = TLY_I8};
        tly_quantize *z;
        uint8_t codes[4], scales[16], zeros[16];
        void *buffers[] = {codes, scales, zeros};
        tly_tensor made;
        for (int i = 0; i < 4; i++) {
            uint32_t bits;
            memcpy(&bits, &values[i], sizeof bits);
            for (int b = 0; b < 4; b++) {
                bytes[4 * i + b] = (uint8_t)(bits >> (8 * b));
            }
        }
        assert_int_equal(tly_descriptor_init_row_major(&d, &info, TLY_F32, 1, shape), TLY_OK);
        CHECK_OK(tly_quantize_new(levels[0], &tensor, &o, &z, &error), &error);
        tly_quantize_run(z, buffers);
        made = (tly_tensor){.descriptor = tly_quantize_descriptor(z),
                            .buffers = (const void *const *)buffers};
        CHECK_OK(tly_tensor_check_data(levels[0], &made, &error), &error);
        CHECK_OK(tly_dequantize(levels[0], &made, TLY_F32, back, NULL, &error), &error);
        tly_quantize_free(z);
        assert_int_equal(tly_descriptor_init_row_major(&d, &info, TLY_F32, 2, none), TLY_OK);
        CHECK_OK(tly_quantize_new(levels[0], &tensor, &o, &z, &error), &error);
        tly_quantize_run(z, buffers);
        tly_quantize_free(z);
    }
}

static int begin(void **state) {
    (void)state;
    for (int32_t simd = TLY_SIMD_PORTABLE; simd <= (int32_t)tly_simd_available(); simd++) {
        tly_context_options options = {.size = sizeof options, .simd = simd};
        tly_error error;
        if (tly_context_new(&options, &levels[num_levels++], &error) != TLY_OK) {
            return 1;
        }
    }
    return 0;
}

static int end(void **state) {
    (void)state;
    while (num_levels > 0) {
        tly_context_free(levels[--num_levels]);
    }
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_public_vectors),
        cmocka_unit_test(codes_are_the_nearest),
        cmocka_unit_test(what_cannot_be_quantized),
        cmocka_unit_test(borders),
    };
    return cmocka_run_group_tests_name("tensor/quantize", tests, begin, end);
}
