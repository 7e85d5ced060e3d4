/* SPDX-License-Identifier: Apache-2.0 */
/* Numerics of pto-v0 against the published numeric vectors of PTO 0.58.3
 * (spec/evidence/pto-isa-0583-hardware-numeric-vectors) and against slow models: every code of a
 * format is tried, and the best one taken. */
#include "check.h"

#include <math.h>
#include <string.h>
#include <stdio.h>

#include "pto/profile/element.h"
#include "pto/profile/quant_mode.h"
#include "pto/profile/real.h"
#include "pto/profile/scalar.h"

static const tly_pto_profile *const v0 = &tly_pto_profile_v0;

enum { QUIET_NAN_FP32 = 0x7fc00000 };

static void test_canonical_nans(void **state) {
    (void)state;
    static const struct {
        uint32_t dtype;
        uint64_t nan;
    } rows[] = {{TLY_PTO_FP64, UINT64_C(0x7ff8000000000000)},
                {TLY_PTO_FP32, 0x7fc00000},
                {TLY_PTO_TF32, 0x7fc00000},
                {TLY_PTO_HF32, 0x7fc00000},
                {TLY_PTO_FP16, 0x7e00},
                {TLY_PTO_BF16, 0x7fc0},
                {TLY_PTO_HIF8, 0x80},
                {TLY_PTO_E4M3, 0x7f},
                {TLY_PTO_E5M2, 0x7e},
                {TLY_PTO_E8M0, 0xff}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(tly_pto_formats[rows[i].dtype].canonical_nan, rows[i].nan);
        assert_int_equal(tly_pto_classify(rows[i].dtype, rows[i].nan), TLY_PTO_VALUE_QUIET_NAN);
    }
}

static void test_low_precision_encodings(void **state) {
    (void)state;
    static const struct {
        uint32_t dtype;
        uint64_t code;
        double value;
    } rows[] = {{TLY_PTO_HIF8, 0x00, 0},
                {TLY_PTO_HIF8, 0x01, 0x1p-22},
                {TLY_PTO_HIF8, 0x07, 0x1p-16},
                {TLY_PTO_HIF8, 0x08, 1},
                {TLY_PTO_HIF8, 0x6e, 32768},
                {TLY_PTO_E4M3, 0x01, 0x1p-9},
                {TLY_PTO_E4M3, 0x7e, 448},
                {TLY_PTO_E5M2, 0x01, 0x1p-16},
                {TLY_PTO_E5M2, 0x7b, 57344},
                {TLY_PTO_E3M2, 0x01, 0.0625},
                {TLY_PTO_E3M2, 0x1f, 28},
                {TLY_PTO_E2M3, 0x01, 0.125},
                {TLY_PTO_E2M3, 0x1f, 7.5},
                {TLY_PTO_E8M0, 0x00, 0x1p-127},
                {TLY_PTO_E8M0, 0x7f, 1},
                {TLY_PTO_E8M0, 0xfe, 0x1p127},
                {TLY_PTO_E1M2X2, 0x1, 0.25},
                {TLY_PTO_E1M2X2, 0x9, -0.25},
                {TLY_PTO_HIF4X2, 0x1, 0.25},
                {TLY_PTO_HIF4X2, 0x9, -0.25},
                {TLY_PTO_E2M1X2, 0x1, 0.5},
                {TLY_PTO_E2M1X2, 0x9, -0.5},
                {TLY_PTO_FP16, 0x3c00, 1},
                {TLY_PTO_BF16, 0xbf80, -1},
                {TLY_PTO_TF32, 0x3f800000, 1},
                {TLY_PTO_FP32, 1, 0x1p-149},
                {TLY_PTO_HF32, 0x00001000, 0x1p-137}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_true(tly_pto_real_of(rows[i].dtype, rows[i].code) == rows[i].value);
    }
    assert_int_equal(tly_pto_classify(TLY_PTO_HIF8, 0x6f), TLY_PTO_VALUE_INFINITY);
    assert_int_equal(tly_pto_classify(TLY_PTO_HIF8, 0xef), TLY_PTO_VALUE_NEGATIVE_INFINITY);
    assert_int_equal(tly_pto_classify(TLY_PTO_E5M2, 0x7c), TLY_PTO_VALUE_INFINITY);
    assert_int_equal(tly_pto_classify(TLY_PTO_FP32, 1), TLY_PTO_VALUE_SUBNORMAL);
    assert_int_equal(tly_pto_classify(TLY_PTO_FP32, 0x7fffff), TLY_PTO_VALUE_SUBNORMAL);
    assert_int_equal(tly_pto_classify(TLY_PTO_FP32, 0x800000), TLY_PTO_VALUE_NORMAL);
    assert_int_equal(tly_pto_classify(TLY_PTO_FP32, 0xffbfffff), TLY_PTO_VALUE_SIGNALING_NAN);
    assert_int_equal(tly_pto_classify(TLY_PTO_TF32, 0x3f800001), TLY_PTO_VALUE_INVALID);
    assert_int_equal(tly_pto_classify(TLY_PTO_E3M2, 0x40), TLY_PTO_VALUE_INVALID);
}

static void test_comparison_of_zeros_and_nans(void **state) {
    (void)state;
    uint8_t flags = 0;
    const uint32_t one = 0x3f800000, negative_zero = 0x80000000;
    assert_true(v0->compare(TLY_PTO_COMPARE_EQ, TLY_PTO_FP32, 0, negative_zero, &flags));
    assert_false(v0->compare(TLY_PTO_COMPARE_LT, TLY_PTO_FP32, negative_zero, 0, &flags));
    assert_true(v0->compare(TLY_PTO_COMPARE_NE, TLY_PTO_FP32, QUIET_NAN_FP32, one, &flags));
    assert_false(v0->compare(TLY_PTO_COMPARE_GE, TLY_PTO_FP32, QUIET_NAN_FP32, one, &flags));
    assert_int_equal(flags, 0);
    assert_false(v0->compare(TLY_PTO_COMPARE_EQ, TLY_PTO_FP32, 0x7f800001, one, &flags));
    assert_int_equal(flags, TLY_PTO_FLAG_INVALID);
    flags = 0;
    assert_int_equal(
        tly_pto_element_binary(v0, TLY_PTO_TILE_MIN, TLY_PTO_FP32, 0, negative_zero, &flags),
        negative_zero);
    assert_int_equal(
        tly_pto_element_binary(v0, TLY_PTO_TILE_MAX, TLY_PTO_FP32, 0, negative_zero, &flags), 0);
    /* scalar comparison is false with a NaN, also for NE */
    assert_false(tly_pto_scalar_compare(TLY_PTO_COMPARE_NE, 1, QUIET_NAN_FP32, one));
    assert_int_equal(tly_pto_scalar_min_max(true, 1, negative_zero, negative_zero), negative_zero);
    assert_int_equal(tly_pto_scalar_min_max(true, 1, 0, negative_zero), 0);
    assert_int_equal(tly_pto_scalar_min_max(false, 1, 0, negative_zero), negative_zero);
}

static void test_reductions(void **state) {
    (void)state;
    static const uint32_t values[] = {0x40a00000, 0x40e00000, 0x40e00000, 0x40400000}; /* 5 7 7 3 */
    uint8_t flags = 0;
    bool selected;
    uint32_t index = 0;
    uint64_t best = v0->reduce_initial(TLY_PTO_REDUCE_ARGMAX, TLY_PTO_FP32, values[0]);
    for (uint32_t i = 1; i < 4; i++) {
        best = v0->reduce_step(TLY_PTO_REDUCE_ARGMAX, TLY_PTO_FP32, best, values[i], &selected,
                               &flags);
        index = selected ? i : index;
    }
    assert_int_equal(index, 1);
    best = v0->reduce_initial(TLY_PTO_REDUCE_MIN, TLY_PTO_FP32, QUIET_NAN_FP32);
    best = v0->reduce_step(TLY_PTO_REDUCE_MIN, TLY_PTO_FP32, best, 0x40800000, &selected, &flags);
    best = v0->reduce_step(TLY_PTO_REDUCE_MIN, TLY_PTO_FP32, best, 0xc0000000, &selected, &flags);
    assert_int_equal(best, 0xc0000000);
    assert_int_equal(flags, 0);
}

static void test_rounding_selection(void **state) {
    (void)state;
    static const uint8_t scalar[8] = {TLY_PTO_ROUND_NEAREST_EVEN, TLY_PTO_ROUND_DOWN,
                                      TLY_PTO_ROUND_UP, TLY_PTO_ROUND_ZERO};
    static const uint8_t bundle_of_public[7] = {0, 1, 5, 3, 4, 2, 6};
    tly_pto_rounding rounding;
    for (uint32_t code = 0; code < 8; code++) {
        assert_int_equal(tly_pto_scalar_rounding(code), code < 4 ? scalar[code] : 0);
        assert_int_equal(tly_pto_conversion_rounding(code, &rounding), code < 7);
        if (code < 7) {
            assert_int_equal(rounding, tly_pto_bundle_rounding(bundle_of_public[code]));
        }
    }
    assert_int_equal(tly_pto_bundle_rounding(7), TLY_PTO_ROUND_HALF_UP);
}

static void test_rounding_to_integers(void **state) {
    (void)state;
    static const struct {
        double value;
        int64_t wanted;
        tly_pto_rounding rounding;
    } rows[] = {{2.5, 2, TLY_PTO_ROUND_NEAREST_EVEN},
                {3.5, 4, TLY_PTO_ROUND_NEAREST_EVEN},
                {-1.9, -1, TLY_PTO_ROUND_ZERO},
                {-1.1, -2, TLY_PTO_ROUND_DOWN},
                {1.1, 2, TLY_PTO_ROUND_UP},
                {2.1, 2, TLY_PTO_ROUND_NEAREST_AWAY},
                {-2.1, -2, TLY_PTO_ROUND_NEAREST_AWAY},
                {2.5, 3, TLY_PTO_ROUND_NEAREST_AWAY},
                {-2.5, -3, TLY_PTO_ROUND_NEAREST_AWAY},
                {2.0, 2, TLY_PTO_ROUND_ODD},
                {2.25, 3, TLY_PTO_ROUND_ODD},
                {-2.25, -3, TLY_PTO_ROUND_ODD},
                {2.5, 3, TLY_PTO_ROUND_HALF_UP},
                {-2.5, -2, TLY_PTO_ROUND_HALF_UP}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tly_pto_integer got = tly_pto_round_real(rows[i].value, 0, rows[i].rounding);
        assert_int_equal((int64_t)got.low, rows[i].wanted);
    }
    uint8_t flags = 0;
    tly_pto_integer big = tly_pto_round_real(127.5, 0, TLY_PTO_ROUND_NEAREST_AWAY);
    assert_int_equal(tly_pto_encode_integer(&big, TLY_PTO_S8, true, &flags), 127);
    big = tly_pto_round_real(-128.5, 0, TLY_PTO_ROUND_NEAREST_AWAY);
    assert_int_equal((int64_t)tly_pto_encode_integer(&big, TLY_PTO_S8, true, &flags), -128);
}

/* floor(n / 2^20) in plain integers, by the definition of each mode. */
static int64_t rounded_model(int64_t n, tly_pto_rounding rounding) {
    const int64_t unit = 1 << 20;
    int64_t lower = n >= 0 ? n / unit : -((-n + unit - 1) / unit);
    int64_t rest = n - lower * unit;
    if (rest == 0) {
        return lower;
    }
    switch (rounding) {
    case TLY_PTO_ROUND_NEAREST_EVEN:
        return rest * 2 > unit || (rest * 2 == unit && lower % 2 != 0) ? lower + 1 : lower;
    case TLY_PTO_ROUND_DOWN:
        return lower;
    case TLY_PTO_ROUND_UP:
        return lower + 1;
    case TLY_PTO_ROUND_ZERO:
        return n < 0 ? lower + 1 : lower;
    case TLY_PTO_ROUND_NEAREST_AWAY:
        return rest * 2 > unit || (rest * 2 == unit && n > 0) ? lower + 1 : lower;
    case TLY_PTO_ROUND_ODD:
        return lower % 2 != 0 ? lower : lower + 1;
    case TLY_PTO_ROUND_HALF_UP:
        return rest * 2 >= unit ? lower + 1 : lower;
    }
    return 0;
}

static void test_rounding_against_integers(void **state) {
    (void)state;
    check_rng rng = {check_seed(41)};
    for (uint64_t i = 0; i < check_rounds(200000); i++) {
        int64_t n = (int64_t)check_below(&rng, 1 << 25) - (1 << 24);
        if (check_below(&rng, 2) == 0) {
            n = n / (1 << 19) * (1 << 19); /* ties */
        }
        int64_t offset = (int64_t)check_below(&rng, 9) - 4;
        tly_pto_rounding rounding = (tly_pto_rounding)check_below(&rng, 7);
        tly_pto_integer got = tly_pto_round_real(ldexp((double)n, -20), offset, rounding);
        if ((int64_t)got.low != rounded_model(n + offset * (1 << 20), rounding)) {
            fail_msg("%lld / 2^20 + %lld, mode %d: %lld", (long long)n, (long long)offset,
                     (int)rounding, (long long)got.low);
        }
    }
    /* beyond 53 bits the low word is exact, and its sign is known */
    tly_pto_integer got = tly_pto_round_real(-0x1.8p63, 3, TLY_PTO_ROUND_ZERO);
    assert_int_equal(got.beyond, -1);
    assert_true(got.low == 0 - (UINT64_C(3) << 62) + 3);
}

/* Every finite code of a format is tried: the ways in which the reference chooses. */
static uint64_t encoded_model(double value, uint32_t dtype, tly_pto_rounding rounding,
                              const double *values, uint32_t num_codes, double maximum) {
    bool negative = value < 0;
    double target = fabs(value);
    uint32_t lower = 0, upper = 0;
    bool have_upper = false;
    for (uint32_t code = 0; code < num_codes / 2; code++) {
        if (isnan(values[code]) || values[code] > maximum) {
            continue;
        }
        if (values[code] <= target && values[code] >= values[lower]) {
            lower = code;
        }
        if (values[code] >= target && (!have_upper || values[code] < values[upper])) {
            upper = code;
            have_upper = true;
        }
    }
    uint32_t sign = negative ? num_codes / 2 : 0;
    uint32_t chosen = lower;
    if (values[lower] != target) {
        double twice = 2 * target, sum = values[lower] + values[upper];
        switch (rounding) {
        case TLY_PTO_ROUND_DOWN:
            chosen = negative ? upper : lower;
            break;
        case TLY_PTO_ROUND_UP:
            chosen = negative ? lower : upper;
            break;
        case TLY_PTO_ROUND_ZERO:
            break;
        case TLY_PTO_ROUND_ODD:
            chosen = lower % 2 != 0 ? lower : upper;
            break;
        case TLY_PTO_ROUND_NEAREST_EVEN:
            chosen = twice > sum || (twice == sum && lower % 2 != 0) ? upper : lower;
            break;
        case TLY_PTO_ROUND_NEAREST_AWAY:
            chosen = twice >= sum ? upper : lower;
            break;
        case TLY_PTO_ROUND_HALF_UP:
            chosen = twice > sum || (twice == sum && !negative) ? upper : lower;
            break;
        }
    }
    bool signed_zero = dtype == TLY_PTO_FP16 || dtype == TLY_PTO_BF16;
    return chosen == 0 && !signed_zero ? 0 : chosen | sign;
}

static void check_encoding(uint32_t dtype, uint32_t num_codes, double maximum, int least,
                           uint64_t rounds) {
    double *values = malloc(num_codes * sizeof(*values));
    assert_non_null(values);
    for (uint32_t code = 0; code < num_codes; code++) {
        tly_pto_value_class class = tly_pto_classify(dtype, code);
        values[code] = tly_pto_class_is_nan(class) || tly_pto_class_is_infinity(class)
                           ? NAN
                           : tly_pto_real_of(dtype, code);
    }
    check_rng rng = {check_seed(43) + dtype};
    for (uint64_t i = 0; i < rounds; i++) {
        tly_pto_rounding rounding = (tly_pto_rounding)check_below(&rng, 7);
        uint32_t code = (uint32_t)check_below(&rng, num_codes / 2 - 1);
        double value;
        if (check_below(&rng, 2) == 0) { /* in the middle of two codes, or close to it */
            value = isnan(values[code]) || isnan(values[code + 1])
                        ? 1
                        : (values[code] + values[code + 1]) / 2;
            value += ldexp((double)((int64_t)check_below(&rng, 3) - 1), least - 10);
        } else {
            value =
                ldexp((double)(check_random(&rng) >> 24), (int)check_below(&rng, 40) + least - 42);
        }
        value = check_below(&rng, 2) == 0 ? -value : value;
        if (fabs(value) > maximum || value == 0) {
            continue;
        }
        uint8_t flags = 0;
        tly_pto_numeric_control control = {(uint8_t)rounding, true};
        uint64_t got = tly_pto_encode_real(value, dtype, &control, &flags);
        uint64_t wanted = encoded_model(value, dtype, rounding, values, num_codes, maximum);
        if (got != wanted) {
            fail_msg("type %u, mode %d, %a: 0x%llx, wanted 0x%llx", dtype, (int)rounding, value,
                     (unsigned long long)got, (unsigned long long)wanted);
        }
        assert_int_equal((flags & TLY_PTO_FLAG_INEXACT) != 0, values[got] != value);
    }
    free(values);
}

static void test_encoding_against_all_codes(void **state) {
    (void)state;
    check_encoding(TLY_PTO_E4M3, 256, 448, -9, check_rounds(20000));
    check_encoding(TLY_PTO_HIF8, 256, 32768, -22, check_rounds(20000));
    check_encoding(TLY_PTO_FP16, 65536, 65504, -24, 300);
    check_encoding(TLY_PTO_BF16, 65536, 0x1.fep127, -133, 300);
}

static void test_fp32_against_the_processor(void **state) {
    (void)state;
    check_rng rng = {check_seed(44)};
    for (uint64_t i = 0; i < check_rounds(100000); i++) {
        double value = ldexp((double)(check_random(&rng) >> 16), (int)check_below(&rng, 250) - 190);
        uint8_t flags = 0;
        tly_pto_numeric_control control = {TLY_PTO_ROUND_NEAREST_EVEN, false};
        union {
            float number;
            uint32_t bits;
        } wanted = {(float)value};
        assert_int_equal(tly_pto_encode_real(value, TLY_PTO_FP32, &control, &flags), wanted.bits);
        assert_int_equal((flags & TLY_PTO_FLAG_INEXACT) != 0, (double)wanted.number != value);
        assert_int_equal((flags & TLY_PTO_FLAG_OVERFLOW) != 0, isinf(wanted.number) != 0);
    }
}

static void test_powers_of_two(void **state) {
    (void)state;
    enum { UF = TLY_PTO_FLAG_UNDERFLOW, OF = TLY_PTO_FLAG_OVERFLOW, NX = TLY_PTO_FLAG_INEXACT };
    static const struct {
        uint32_t from;
        uint64_t value;
        tly_pto_rounding rounding;
        bool saturating;
        uint64_t wanted;
        uint8_t flags;
    } rows[] = {{TLY_PTO_BF16, 0x3f80, TLY_PTO_ROUND_NEAREST_EVEN, false, 0x7f, 0},
                {TLY_PTO_BF16, 0x3fc0, TLY_PTO_ROUND_NEAREST_EVEN, false, 0x80, NX},
                {TLY_PTO_BF16, 0x3fc0, TLY_PTO_ROUND_DOWN, false, 0x7f, NX},
                {TLY_PTO_FP32, 0x00400000, TLY_PTO_ROUND_NEAREST_EVEN, false, 0x00, 0},
                {TLY_PTO_FP32, 0x00200000, TLY_PTO_ROUND_NEAREST_EVEN, false, 0xff, UF | NX},
                {TLY_PTO_FP32, 0x00200000, TLY_PTO_ROUND_NEAREST_EVEN, true, 0x00, UF | NX},
                {TLY_PTO_FP32, 0x7f000000, TLY_PTO_ROUND_NEAREST_EVEN, false, 0xfe, 0},
                {TLY_PTO_FP32, 0x7f7fffff, TLY_PTO_ROUND_NEAREST_EVEN, false, 0xff, OF | NX},
                {TLY_PTO_BF16, 0x0000, TLY_PTO_ROUND_NEAREST_EVEN, false, 0xff, 1},
                {TLY_PTO_BF16, 0x7f80, TLY_PTO_ROUND_NEAREST_EVEN, true, 0xfe, OF | NX}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        tly_pto_numeric_control control = {(uint8_t)rows[i].rounding, rows[i].saturating};
        uint8_t flags = 0;
        assert_int_equal(v0->convert(rows[i].from, TLY_PTO_E8M0, &control, rows[i].value, &flags),
                         rows[i].wanted);
        assert_int_equal(flags, rows[i].flags);
    }
    /* the middle of two powers is the square root of two of the lower one */
    for (uint32_t bits = 0x3f800001; bits < 0x40000000; bits += 0x1235) {
        tly_pto_numeric_control control = {TLY_PTO_ROUND_NEAREST_EVEN, false};
        uint8_t flags = 0;
        uint64_t got = v0->convert(TLY_PTO_FP32, TLY_PTO_E8M0, &control, bits, &flags);
        assert_int_equal(got, tly_pto_real_of(TLY_PTO_FP32, bits) > sqrt(2.0) ? 0x80 : 0x7f);
    }
}

static uint64_t scale_word(uint32_t fp32_scale, int64_t offset, uint32_t width) {
    return (uint64_t)tly_pto_fp19_from_fp32(fp32_scale) << 13 |
           tly_pto_low_bits((uint64_t)offset, width) << 37;
}

static void test_post_processing(void **state) {
    (void)state;
    enum { NV = TLY_PTO_FLAG_INVALID, OF = TLY_PTO_FLAG_OVERFLOW, NX = TLY_PTO_FLAG_INEXACT };
    enum { ONE = 0x3f800000, TWO = 0x40000000 };
    static const struct {
        uint8_t mode, relu, output;
        bool saturating;
        uint32_t scale;
        int64_t offset;
        uint64_t value, wanted;
        uint8_t flags;
    } rows[] = {{3, 0, TLY_PTO_S8, false, TWO, -1, 3, 0x05, 0},
                {3, 0, TLY_PTO_S8, false, TWO, 0, 70, 0x8c, OF | NX},
                {3, 0, TLY_PTO_S8, true, TWO, 0, 70, 0x7f, OF | NX},
                {26, 0, TLY_PTO_E4M3, false, ONE, 0, 0x3fc00000, 0x3c, 0},
                {25, 0, TLY_PTO_HIF8, false, ONE, 0, 0x3fc00000, 0x0c, 0},
                {24, 2, TLY_PTO_S8, false, ONE, 0, 0xc0800000, 0xfe, 0},
                {24, 0, TLY_PTO_S8, false, ONE, 0, QUIET_NAN_FP32, 0x80, NV},
                {24, 0, TLY_PTO_S8, true, ONE, 0, QUIET_NAN_FP32, 0x00, NV}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint8_t flags = 0;
        tly_pto_post_process how = {.pre_quant_mode = rows[i].mode,
                                    .relu_mode = rows[i].relu,
                                    .output = rows[i].output,
                                    .quant_param = scale_word(rows[i].scale, rows[i].offset, 9),
                                    .relu_param = tly_pto_fp19_from_fp32(0x3f000000),
                                    .control = {TLY_PTO_ROUND_NEAREST_EVEN, rows[i].saturating}};
        assert_true(tly_pto_quant_parameter_legal(rows[i].mode, how.quant_param) ||
                    (rows[i].mode > 24 && rows[i].offset == 0));
        assert_int_equal(tly_pto_raw(v0->post_process(&how, rows[i].value, &flags), rows[i].output),
                         rows[i].wanted);
        assert_int_equal(flags, rows[i].flags);
    }
}

static void test_quantization_against_doubles(void **state) {
    (void)state;
    check_rng rng = {check_seed(45)};
    for (uint64_t i = 0; i < check_rounds(50000); i++) {
        /* few bits, so that value * scale + zero point is exact in a double */
        int64_t value = (int64_t)check_below(&rng, 4096) - 2048;
        uint32_t to = check_below(&rng, 2) == 0 ? TLY_PTO_S8 : TLY_PTO_U8;
        uint64_t zero = tly_pto_canonical(check_random(&rng), to);
        double scale = ldexp((double)(1 + check_below(&rng, 255)), -9);
        union {
            float number;
            uint32_t bits;
        } v = {(float)value}, s = {(float)scale};
        uint8_t flags = 0;
        tly_pto_numeric_control control = {TLY_PTO_ROUND_NEAREST_EVEN, true};
        uint64_t got = v0->quantize(TLY_PTO_FP32, to, &control, s.bits, zero, v.bits, &flags);
        double exact = (double)value * scale + (double)(int64_t)zero;
        double wanted = nearbyint(exact);
        double low = to == TLY_PTO_S8 ? -128 : 0, high = to == TLY_PTO_S8 ? 127 : 255;
        assert_int_equal(flags, wanted == exact ? 0 : TLY_PTO_FLAG_INEXACT);
        assert_true((double)(int64_t)got == fmin(fmax(wanted, low), high));

        uint64_t code = tly_pto_canonical(check_random(&rng), to);
        union {
            float number;
            uint32_t bits;
        } back;
        flags = 0;
        back.bits =
            (uint32_t)v0->dequantize(to, TLY_PTO_FP32, &control, s.bits, zero, code, &flags);
        assert_true((double)back.number == ((double)(int64_t)code - (double)(int64_t)zero) * scale);
    }
}

/* Rows are their elements: every rounding, saturating or not, anything as a value. */
static void test_quantized_rows(void **state) {
    (void)state;
    check_rng rng = {check_seed(46)};
    for (uint64_t i = 0; i < check_rounds(3000); i++) {
        uint32_t values[40], count = 1 + (uint32_t)check_below(&rng, 40);
        uint32_t to = check_below(&rng, 2) == 0 ? TLY_PTO_S8 : TLY_PTO_U8;
        uint64_t zero = tly_pto_canonical(check_random(&rng), to);
        uint32_t scale = (uint32_t)(check_below(&rng, 0x7FFFFF) |
                                    (i % 3 == 0 ? 1 + check_below(&rng, 253) : 120) << 23);
        tly_pto_numeric_control control = {(uint8_t)check_below(&rng, TLY_PTO_ROUND_HALF_UP + 1),
                                           check_below(&rng, 2) != 0};
        uint8_t codes[40], flags = 0, wanted = 0;
        if (check_below(&rng, 2) == 0) {
            scale &= 0xFF800000; /* halves are met */
        }
        for (uint32_t k = 0; k < count; k++) {
            float number = (float)check_below(&rng, 8192) * 0.5f - 2048;
            memcpy(&values[k], &number, sizeof number);
            values[k] = check_below(&rng, 5) == 0 ? (uint32_t)check_random(&rng) : values[k];
        }
        v0->quantize_row(to, &control, scale, zero, values, codes, count, &flags);
        for (uint32_t k = 0; k < count; k++) {
            uint64_t code =
                v0->quantize(TLY_PTO_FP32, to, &control, scale, zero, values[k], &wanted);
            if (codes[k] != (uint8_t)code) {
                fail_msg("%08x times %08x, %d, rounding %u: %02x, one by one %02x", values[k],
                         scale, (int)(int64_t)zero, control.rounding, codes[k], (uint8_t)code);
            }
        }
        assert_int_equal(flags, wanted);
    }
}

static void test_mixed_expdif(void **state) {
    (void)state;
    uint8_t flags = 0;
    assert_int_equal(tly_pto_element_expand(v0, TLY_PTO_EXPAND_EXPDIF, TLY_PTO_FP16, TLY_PTO_FP32,
                                            0x2000, 0x0001, &flags),
                     0x3f810100);
    assert_int_equal(tly_pto_element_expand(v0, TLY_PTO_EXPAND_EXPDIF, TLY_PTO_BF16, TLY_PTO_FP32,
                                            0x3f80, 0x3b00, &flags),
                     0x402da16e);
    /* normal halves widen to their value */
    for (uint32_t half = 0x0400; half < 0x7c00; half++) {
        assert_true(tly_pto_real_of(TLY_PTO_FP32, tly_pto_widen_fp16(half)) ==
                    tly_pto_real_of(TLY_PTO_FP16, half));
    }
}

static void test_integer_elements(void **state) {
    (void)state;
    /* results are those of C on the type itself, for every pair of bytes */
    for (uint32_t left = 0; left < 256; left++) {
        for (uint32_t right = 0; right < 256; right++) {
            int8_t l = (int8_t)left, r = (int8_t)right;
            uint64_t sum = tly_pto_integer_binary(TLY_PTO_TILE_ADD, TLY_PTO_S8, left, right);
            assert_true((int64_t)sum == (int8_t)(l + r));
            assert_int_equal(
                (int64_t)tly_pto_integer_binary(TLY_PTO_TILE_MAX, TLY_PTO_S8, left, right),
                l > r ? l : r);
            assert_int_equal(tly_pto_integer_binary(TLY_PTO_TILE_SHR, TLY_PTO_S8, left, right),
                             (uint8_t)(l >> (right & 7)));
            if (right != 0) {
                int rest = l % r;
                rest += rest != 0 && (rest < 0) != (r < 0) ? r : 0;
                assert_int_equal(
                    (int64_t)tly_pto_integer_binary(TLY_PTO_TILE_REM, TLY_PTO_S8, left, right),
                    rest);
                assert_int_equal(tly_pto_integer_binary(TLY_PTO_TILE_DIV, TLY_PTO_U8, left, right),
                                 left / right);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_canonical_nans),
        cmocka_unit_test(test_low_precision_encodings),
        cmocka_unit_test(test_comparison_of_zeros_and_nans),
        cmocka_unit_test(test_reductions),
        cmocka_unit_test(test_rounding_selection),
        cmocka_unit_test(test_rounding_to_integers),
        cmocka_unit_test(test_rounding_against_integers),
        cmocka_unit_test(test_encoding_against_all_codes),
        cmocka_unit_test(test_fp32_against_the_processor),
        cmocka_unit_test(test_powers_of_two),
        cmocka_unit_test(test_post_processing),
        cmocka_unit_test(test_quantization_against_doubles),
        cmocka_unit_test(test_quantized_rows),
        cmocka_unit_test(test_mixed_expdif),
        cmocka_unit_test(test_integer_elements),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
