/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between formats, against values that are worked out without the library. */
#include "vectors.h"

#include <tilery/convert.h>

#include "formats.h"
#include "guarded.h"

#define SHARED_FOLDER "tests/vectors/hurray/"

static plain_order order;

static uint64_t bits_of(double x) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits) {
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint64_t convert(tly_format_id dst, tly_format_id src, uint64_t code, uint32_t mode,
                        uint32_t saturate, uint32_t *flags) {
    tly_convert_options options = {.size = sizeof options, .rounding = mode, .saturate = saturate};
    tly_code out = {0, 0};
    *flags = 0;
    assert_int_equal(tly_convert_code(tly_format_find(dst), tly_format_find(src),
                                      (tly_code){code, 0}, &options, &out, flags),
                     TLY_OK);
    assert_int_equal(out.high, 0);
    return out.low;
}

static void every_code_has_its_value(void **state) {
    (void)state;
    for (size_t n = 0; n < NUM_PLAIN; n++) {
        const plain_format *f = &plain_formats[n];
        for (uint32_t code = 0; code < 1u << f->bits; code++) {
            double wanted = plain_value(f, code), got;
            uint32_t flags;
            int32_t negative,
                klass = tly_format_classify(tly_format_find(f->id), (tly_code){code, 0}, &negative);
            got = double_of(convert(TLY_F64, f->id, code, 0, 0, &flags));
            if (isnan(wanted)) {
                assert_true(isnan(got));
                assert_true(klass >= TLY_NUMBER_QUIET_NAN);
                continue;
            }
            if (got != wanted || signbit(got) != signbit(wanted)) {
                fail_msg("format %x code %x is %a, not %a", f->id, code, got, wanted);
            }
            assert_int_equal(flags, 0);
            assert_int_equal(klass == TLY_NUMBER_ZERO, wanted == 0);
            assert_int_equal(klass == TLY_NUMBER_INFINITE, isinf(wanted) != 0);
            assert_int_equal(negative, signbit(wanted) != 0);
            /* And back: each number keeps its code. */
            assert_int_equal(
                convert(f->id, TLY_F64, bits_of(wanted), code % 7, code / 7 % 2, &flags) == code,
                !isinf(wanted) || code / 7 % 2 == 0);
        }
    }
}

static void check_one(double x, tly_format_id src, uint64_t code, uint32_t mode,
                      uint32_t saturate) {
    uint32_t flags, inexact = TLY_FLAG_INEXACT;
    int changed;
    uint64_t got = convert(order.format->id, src, code, mode, saturate, &flags);
    uint32_t wanted = plain_round(&order, x, mode, (int)saturate, &changed);
    if (got != wanted) {
        fail_msg("%a to format %x, mode %u, saturate %u: %llx, not %x", x, order.format->id, mode,
                 saturate, (unsigned long long)got, wanted);
    }
    if (x < 0 && !order.format->is_signed) {
        inexact = TLY_FLAG_INVALID;
    }
    assert_int_equal((flags & inexact) != 0, changed);
}

/* Numbers, the middles between them and what lies beside these, in every mode. */
static void rounding_takes_the_right_neighbour(void **state) {
    (void)state;
    for (size_t n = 0; n < NUM_PLAIN; n++) {
        plain_sort(&order, &plain_formats[n]);
        for (uint32_t i = 0; i<order.num; i += order.num> 1000 ? 1 + i % 13 : 1) {
            double low = order.value[i], high = i + 1 < order.num ? order.value[i + 1] : order.next;
            double near[] = {low, low + (high - low) / 2, high};
            for (int k = 0; k < 9; k++) {
                double x = near[k / 3];
                x = k % 3 == 0 ? x : nextafter(x, k % 3 == 1 ? 0 : INFINITY);
                for (uint32_t mode = 0; mode < 7 && x != 0; mode++) {
                    uint32_t saturate = (i + (uint32_t)k) & 1;
                    check_one(x, TLY_F64, bits_of(x), mode, saturate);
                    check_one(-x, TLY_F64, bits_of(-x), mode, saturate);
                }
            }
        }
        /* Far outside. */
        for (uint32_t mode = 0; mode < 14; mode++) {
            check_one(1e300, TLY_F64, bits_of(1e300), mode / 2, mode & 1);
            check_one(-1e300, TLY_F64, bits_of(-1e300), mode / 2, mode & 1);
            check_one(5e-324, TLY_F64, 1, mode / 2, mode & 1);
        }
    }
}

/* Every element of 16 bits into every format of fewer. */
static void sixteen_bits_into_fewer(void **state) {
    (void)state;
    for (size_t s = 0; s < 2; s++) {
        for (size_t n = 2; n < NUM_PLAIN; n++) {
            plain_sort(&order, &plain_formats[n]);
            for (uint32_t code = 0; code < 65536; code++) {
                double x = plain_value(&plain_formats[s], code);
                if (isfinite(x) && x != 0) {
                    check_one(x, plain_formats[s].id, code, (code >> 3) % 14 < 8 ? 0 : code % 7,
                              code >> 2 & 1);
                }
            }
        }
    }
}

static void zeros_infinities_and_nans(void **state) {
    static const struct {
        tly_format_id dst, src;
        uint64_t code;
        uint32_t saturate;
        uint64_t wanted;
        uint32_t flags;
    } cases[] = {
        {TLY_F16, TLY_F32, 0x80000000, 0, 0x8000, 0},
        {TLY_F16, TLY_F32, 0x7F800000, 0, 0x7C00, 0},
        {TLY_F16, TLY_F32, 0xFF800000, 1, 0xFBFF, 0x05},
        {TLY_F8E5M2, TLY_F32, 0x7F800000, 1, 0x7B, 0x05},
        {TLY_F8E4M3, TLY_F32, 0x7F800000, 0, 0x7F, 0x05},
        {TLY_F8E4M3, TLY_F32, 0xFF800000, 1, 0xFE, 0x05},
        {TLY_F4E2M1, TLY_F32, 0xFF800000, 0, 0x0F, 0x05},
        {TLY_F4E2M1, TLY_F32, 0x7FC00000, 0, 0x07, 0x10},
        {TLY_F8E8M0, TLY_F32, 0x00000000, 0, 0x00, 0x03},
        {TLY_F8E8M0, TLY_F32, 0xBF800000, 0, 0xFF, 0x10},
        {TLY_FORMAT_HIF8, TLY_F32, 0x80000000, 0, 0x00, 0},
        {TLY_FORMAT_HIF8, TLY_F32, 0xFF800000, 0, 0xEF, 0},
        {TLY_FORMAT_HIF8, TLY_F32, 0xFFC00000, 0, 0x80, 0},
        /* NaN stays NaN, keeps sign and payload, and becomes quiet. */
        {TLY_BF16, TLY_F32, 0x7F800001, 0, 0x7FC0, 0x10},
        {TLY_BF16, TLY_F32, 0xFFFFFFFF, 0, 0xFFFF, 0},
        {TLY_F16, TLY_F32, 0x7FABCDEF, 0, 0x7F5E, 0x10},
        {TLY_F8E4M3, TLY_F32, 0xFFC00001, 1, 0xFF, 0},
        {TLY_F32, TLY_F16, 0xFD01, 0, 0xFFE02000, 0x10},
        {TLY_FORMAT_TF32, TLY_F32, 0x7F800001, 0, 0x7FC00000, 0x10},
        /* Nearest even, carrying into the exponent. */
        {TLY_BF16, TLY_F32, 0x3E89CCD5, 0, 0x3E8A, 0x01},
        {TLY_BF16, TLY_F32, 0x3F808000, 0, 0x3F80, 0x01},
        {TLY_BF16, TLY_F32, 0x3F818000, 0, 0x3F82, 0x01},
        {TLY_BF16, TLY_F32, 0x7F7FFFFF, 0, 0x7F80, 0x05},
        {TLY_F8E4M3, TLY_F32, 0x43800000, 0, 0x78, 0},    /* 256: the top binade */
        {TLY_F8E4M3, TLY_F32, 0x43E80000, 0, 0x7E, 0x01}, /* 464 ties to 448 */
        {TLY_F8E4M3, TLY_F32, 0x43E88000, 0, 0x7F, 0x05}, /* 465 does not */
        {TLY_F8E5M2, TLY_F32, 0x47629000, 0, 0x7B, 0x01}, /* 58000 */
        {TLY_F16, TLY_F32, 0x38000000, 0, 0x0200, 0},     /* 2^-15 is subnormal, and exact */
        {TLY_FORMAT_TF32, TLY_F32, 0x3F801000, 0, 0x3F800000, 0x01},
        {TLY_FORMAT_HF32, TLY_F32, 0x3F800800, 0, 0x3F800000, 0x01},
        {TLY_FORMAT_HF32, TLY_F32, 0x3F801800, 0, 0x3F802000, 0x01},
        /* Once, not by way of f32. */
        {TLY_F16, TLY_F64, 0x40EEEDFFEFDFBF7F, 0, 0x7BBB, 0x01},
        {TLY_F16, TLY_F64, 0x3E60000000000001, 0, 0x0001, 0x03},
        /* Integers. */
        {TLY_I8, TLY_F32, 0x43000000, 1, 0x7F, 0x10},
        {TLY_I8, TLY_F32, 0x43000000, 0, 0x80, 0x10},
        {TLY_I8, TLY_F32, 0xC3000000, 0, 0x80, 0},
        {TLY_I8, TLY_F32, 0x40200000, 0, 0x02, 0x01}, /* 2.5 */
        {TLY_U8, TLY_F32, 0xBF000000, 0, 0x00, 0x01}, /* -0.5 */
        {TLY_U8, TLY_F32, 0xBFC00000, 1, 0x00, 0x10}, /* -1.5 */
        {TLY_I32, TLY_F32, 0x7FC00000, 1, 0, 0x10},
        {TLY_I32, TLY_F32, 0xFF800000, 0, 0x80000000, 0x10},
        {TLY_U64, TLY_F32, 0x5F800000, 1, UINT64_MAX, 0x10},
        {TLY_F32, TLY_U64, UINT64_MAX, 0, 0x5F800000, 0x01},
        {TLY_F32, TLY_I64, UINT64_C(1) << 63, 0, 0xDF000000, 0},
        {TLY_I4, TLY_I8, 0xF8, 0, 0x8, 0},
        {TLY_I4, TLY_I8, 0x08, 1, 0x7, 0x10},
        {TLY_BOOL, TLY_F32, 0x80000000, 0, 0, 0},
        {TLY_BOOL, TLY_F32, 0x00000001, 0, 1, 0},
        {TLY_F16, TLY_BOOL, 1, 0, 0x3C00, 0},
    };
    uint32_t flags;
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint64_t got =
            convert(cases[i].dst, cases[i].src, cases[i].code, 0, cases[i].saturate, &flags);
        if (got != cases[i].wanted || flags != cases[i].flags) {
            fail_msg("case %zu: %llx with flags %x", i, (unsigned long long)got, flags);
        }
    }
    /* What TF32 does not use must be zero. */
    assert_int_equal(
        tly_format_classify(tly_format_find(TLY_FORMAT_TF32), (tly_code){0x3F800001, 0}, NULL),
        TLY_NUMBER_INVALID);
}

/* The public tables of codes and values. */
static void the_vectors_of_the_format(void **state) {
    check_vectors v = check_vectors_open(SHARED_FOLDER "types.jsonl.gz");
    int tables = 0, encodes = 0, packings = 0;
    char *line;
    tly_context *context;
    tly_error error;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    while ((line = check_vectors_line(&v)) != NULL) {
        char kind[64], name[64];
        const char *at;
        tly_format_id id;
        check_json_text(line, "kind", kind, sizeof kind);
        check_json_text(line, "type", name, sizeof name);
        id = tly_dtype_by_name(strcmp(name, "bool") == 0 ? "bool" : name);
        if (strcmp(kind, "decode_table") == 0 && (at = strstr(line, "\"values\":[")) != NULL) {
            uint64_t code = 0;
            uint32_t flags;
            for (at += strlen("\"values\":["); *at != ']'; code++) {
                if (*at == '"') {
                    uint32_t got = (uint32_t)convert(TLY_F32, id, code, 0, 0, &flags);
                    if (strncmp(at, "\"nan\"", 5) == 0) {
                        assert_true((got & 0x7FFFFFFF) > 0x7F800000);
                    } else if (strncmp(at, "\"reserved\"", 10) != 0) {
                        assert_int_equal(got, strtoul(at + 1, NULL, 16));
                    }
                    at = strchr(at + 1, '"') + 1;
                } else {
                    assert_int_equal((int64_t)convert(TLY_I64, id, code, 0, 0, &flags),
                                     strtoll(at, (char **)(uintptr_t)&at, 10));
                }
                at += *at == ',';
            }
            assert_int_equal(code, UINT64_C(1) << tly_dtype_bits((tly_dtype)id));
            tables++;
        } else if (strcmp(kind, "encode_table_informative") == 0) {
            for (at = strstr(line, "\"rows\":[") + strlen("\"rows\":"); *at != ']';) {
                uint32_t flags, from = (uint32_t)strtoul(at + 3, NULL, 16);
                at = strchr(at + 3, '"') + 2;
                for (uint32_t column = 0; column < 2; column++) {
                    /* The table does not saturate the formats of 16 bits. */
                    uint32_t saturate = column == 0 && tly_dtype_bits((tly_dtype)id) < 16;
                    if (strncmp(at, "null", 4) == 0) {
                        at += 4;
                    } else {
                        assert_int_equal(convert(id, TLY_F32, from, 0, saturate, &flags),
                                         strtoul(at, (char **)(uintptr_t)&at, 10));
                    }
                    at += *at == ',';
                }
                at += *at == ']';
                encodes++;
            }
        } else if (strcmp(kind, "packing") == 0) {
            /* Packed from one element a word, as an unsigned integer of that width. */
            char *hex = malloc(strlen(line));
            size_t len;
            uint8_t *bytes = check_unhex(check_json_text(line, "bytes", hex, strlen(line)), &len);
            uint8_t *made = calloc(1, len + 1), *words = calloc(1, len * 32 + 4);
            uint32_t bits = tly_dtype_bits((tly_dtype)id), count = 0;
            tly_format word = *tly_format_find(TLY_U32), packed = word;
            packed.id = word.id = 0;
            packed.bits = (uint8_t)bits;
            if (bits <= 32) {
                for (at = strstr(line, "\"codes\":[") + strlen("\"codes\":["); *at == '"';
                     count++) {
                    uint32_t code = (uint32_t)strtoul(at + 1, NULL, 16);
                    for (int b = 0; b < 4; b++) {
                        words[count * 4 + (uint32_t)b] = (uint8_t)(code >> (8 * b));
                    }
                    at = strchr(at + 1, '"') + 1;
                    at += *at == ',';
                }
                assert_int_equal(
                    tly_convert(context, &packed, made, 0, &word, words, 0, count, NULL, NULL),
                    TLY_OK);
                assert_memory_equal(made, bytes, len);
                memset(words, 0, len * 32);
                packings++;
            }
            free(words);
            free(made);
            free(bytes);
            free(hex);
        }
    }
    assert_int_equal(tables, 13); /* the two of 16 bits are in files of their own */
    assert_true(encodes > 1000);
    assert_true(packings > 100);
    for (int n = 0; n < 2; n++) {
        check_vectors t = check_vectors_open(n == 0 ? SHARED_FOLDER "decode_float16.u32le.bin.gz"
                                                    : SHARED_FOLDER "decode_bfloat16.u32le.bin.gz");
        const uint8_t *p = (const uint8_t *)t.text;
        assert_int_equal(t.len, 262144);
        for (uint32_t code = 0; code < 65536; code++, p += 4) {
            uint32_t wanted = p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24, flags;
            uint32_t got =
                (uint32_t)convert(TLY_F32, n == 0 ? TLY_F16 : TLY_BF16, code, 0, 0, &flags);
            if ((wanted & 0x7FFFFFFF) > 0x7F800000) {
                assert_true((got & 0x7FFFFFFF) > 0x7F800000);
            } else {
                assert_int_equal(got, wanted);
            }
        }
        check_vectors_close(&t);
    }
    check_vectors_close(&v);
    tly_context_free(context);
}

/* An array may be entered at any element; what lies around stays. */
static void parts_of_packed_arrays(void **state) {
    static const tly_format_id ids[] = {TLY_BOOL,   TLY_I2,   TLY_U4,  TLY_F6E3M2,
                                        TLY_F8E4M3, TLY_BF16, TLY_F64, TLY_F128};
    check_rng rng = {check_seed(5)};
    tly_context *context;
    tly_error error;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    for (int round = 0; round < 2000; round++) {
        const tly_format *to = tly_format_find(ids[check_below(&rng, 8)]);
        const tly_format *from = tly_format_find(ids[check_below(&rng, 8)]);
        uint64_t to_first = check_below(&rng, 20), from_first = check_below(&rng, 20);
        uint64_t count = check_below(&rng, 40);
        guarded src = guarded_new(((from_first + count) * from->bits + 7) / 8, 1);
        guarded dst = guarded_new(((to_first + count) * to->bits + 7) / 8, 1);
        uint8_t before[1024];
        for (uint64_t i = 0; i < ((from_first + count) * from->bits + 7) / 8; i++) {
            src.bytes[i] = (uint8_t)check_random(&rng);
        }
        for (uint64_t i = 0; i < ((to_first + count) * to->bits + 7) / 8; i++) {
            before[i] = dst.bytes[i] = (uint8_t)check_random(&rng);
        }
        assert_int_equal(tly_convert(context, to, dst.bytes, to_first, from, src.bytes, from_first,
                                     count, NULL, NULL),
                         TLY_OK);
        for (uint64_t i = 0; i < to_first; i++) { /* in front: bit for bit */
            for (uint32_t b = 0; b < to->bits; b++) {
                uint64_t bit = i * to->bits + b;
                assert_int_equal(dst.bytes[bit / 8] >> bit % 8 & 1, before[bit / 8] >> bit % 8 & 1);
            }
        }
        for (uint64_t i = 0; i < count; i++) {
            tly_code code = {0, 0}, made = {0, 0}, wanted;
            for (uint32_t b = 0; b < from->bits; b++) {
                uint64_t bit = (from_first + i) * from->bits + b;
                uint64_t one = src.bytes[bit / 8] >> bit % 8 & 1;
                *(b < 64 ? &code.low : &code.high) |= one << b % 64;
            }
            for (uint32_t b = 0; b < to->bits; b++) {
                uint64_t bit = (to_first + i) * to->bits + b;
                uint64_t one = dst.bytes[bit / 8] >> bit % 8 & 1;
                *(b < 64 ? &made.low : &made.high) |= one << b % 64;
            }
            assert_int_equal(tly_convert_code(to, from, code, NULL, &wanted, NULL), TLY_OK);
            assert_int_equal(made.low, wanted.low);
            assert_int_equal(made.high, wanted.high);
        }
        guarded_free(&src);
        guarded_free(&dst);
    }
    tly_context_free(context);
}

static void wrong_arguments_are_refused(void **state) {
    tly_format own = *tly_format_find(TLY_F16);
    tly_convert_options options = {.size = sizeof options, .rounding = 7};
    tly_context *context;
    tly_error error;
    uint32_t word = 0;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    own.id = 0;
    assert_int_equal(
        tly_convert(context, &own, &word, 0, tly_format_find(TLY_I8), "", 0, 1, &options, NULL),
        TLY_INVALID_ARGUMENT);
    own.exponent_bits = 6; /* fields that do not fill the bits */
    assert_int_equal(
        tly_convert(context, &own, &word, 0, tly_format_find(TLY_I8), "", 0, 1, NULL, NULL),
        TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_convert(context, tly_format_find(TLY_C64), &word, 0,
                                 tly_format_find(TLY_F32), &word, 0, 1, NULL, NULL),
                     TLY_UNSUPPORTED);
    assert_int_equal(tly_convert(context, tly_format_find(TLY_F32), &word, UINT64_MAX / 2,
                                 tly_format_find(TLY_F16), &word, 0, 1, NULL, NULL),
                     TLY_OVERFLOW);
    assert_null(tly_format_of_tile(15));
    assert_null(tly_format_find(0));
    assert_int_equal(tly_format_of_tile(14)->id, TLY_FORMAT_HIF4);
    assert_int_equal(tly_format_of_tile(11)->tile_lanes, 2);
    assert_int_equal(tly_format_of_tile(9)->tile_bits, 8);
    assert_ptr_equal(tly_format_by_name("hf32"), tly_format_of_tile(3));
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_its_value),
        cmocka_unit_test(rounding_takes_the_right_neighbour),
        cmocka_unit_test(sixteen_bits_into_fewer),
        cmocka_unit_test(zeros_infinities_and_nans),
        cmocka_unit_test(the_vectors_of_the_format),
        cmocka_unit_test(parts_of_packed_arrays),
        cmocka_unit_test(wrong_arguments_are_refused),
    };
    return cmocka_run_group_tests_name("num/convert", tests, NULL, NULL);
}
