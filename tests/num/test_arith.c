/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, products, quotients, roots and fused products of numbers, rounded once, against the
 * processor's own arithmetic in every direction that it has. */
#include <fenv.h>
#include <math.h>
#include <string.h>

#include "check.h"
#include "num/number.h"

typedef enum op { ADD, MULTIPLY, DIVIDE, ROOT, FUSED, NUM_OPS } op;

static const struct {
    int host;
    uint8_t ours;
} directions[] = {{FE_TONEAREST, TLY_ROUND_NEAREST_EVEN},
                  {FE_TOWARDZERO, TLY_ROUND_TO_ZERO},
                  {FE_DOWNWARD, TLY_ROUND_DOWN},
                  {FE_UPWARD, TLY_ROUND_UP}};

static uint64_t bits_of(double value) {
    uint64_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint32_t bits_of_float(float value) {
    uint32_t bits = 0;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Operands that meet: near each other, near the ends of the range, short, special. */
static uint64_t operand(check_rng *rng, uint32_t mantissa_bits, uint32_t exponent_bits) {
    uint64_t mantissa = check_random(rng) & ((UINT64_C(1) << mantissa_bits) - 1);
    uint64_t most = (UINT64_C(1) << exponent_bits) - 1, bias = most / 2, exponent = 0;
    switch (check_below(rng, 8)) {
    case 0:
        exponent = check_below(rng, 3);
        break;
    case 1:
        exponent = most - check_below(rng, 3);
        break;
    case 2:
        exponent = check_below(rng, most);
        break;
    default:
        exponent = bias - 3 + check_below(rng, 7);
        break;
    }
    switch (check_below(rng, 6)) {
    case 0:
        mantissa = 0;
        break;
    case 1:
        mantissa &= UINT64_C(1) << check_below(rng, mantissa_bits);
        break;
    case 2:
        mantissa = ((UINT64_C(1) << mantissa_bits) - 1) ^ (UINT64_C(1) << check_below(rng, 4));
        break;
    default:
        break;
    }
    return check_below(rng, 2) << (mantissa_bits + exponent_bits) | exponent << mantissa_bits |
           mantissa;
}

static tly_number compute(op what, tly_number a, tly_number b, tly_number c) {
    switch (what) {
    case ADD:
        return tly_num_add(a, b);
    case MULTIPLY:
        return tly_num_multiply(a, b);
    case DIVIDE:
        return tly_num_divide(a, b);
    case ROOT:
        return tly_num_square_root(a);
    default:
        return tly_num_fused(a, b, c);
    }
}

static double host_double(op what, double a, double b, double c) {
    volatile double x = a, y = b, z = c, result = 0;
    switch (what) {
    case ADD:
        result = x + y;
        break;
    case MULTIPLY:
        result = x * y;
        break;
    case DIVIDE:
        result = x / y;
        break;
    case ROOT:
        result = sqrt(x);
        break;
    default:
        result = fma(x, y, z);
        break;
    }
    return result;
}

static float host_float(op what, float a, float b, float c) {
    volatile float x = a, y = b, z = c, result = 0;
    switch (what) {
    case ADD:
        result = x + y;
        break;
    case MULTIPLY:
        result = x * y;
        break;
    case DIVIDE:
        result = x / y;
        break;
    case ROOT:
        result = sqrtf(x);
        break;
    default:
        result = fmaf(x, y, z);
        break;
    }
    return result;
}

/* A sum that is exactly zero is -0 when rounding down: tly_num_add gives +0, its callers know the
 * direction. */
static int is_cancelled_zero(op what, uint8_t direction, uint64_t ours, uint64_t host,
                             uint64_t sign) {
    return (what == ADD || what == FUSED) && direction == TLY_ROUND_DOWN && ours == 0 &&
           host == sign;
}

static void doubles_agree_with_the_processor(void **state) {
    const tly_format *f64 = tly_format_find(TLY_F64);
    check_rng rng = {check_seed(1)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(60000); i++) {
        uint64_t in[3];
        double x[3];
        op what = (op)check_below(&rng, NUM_OPS);
        uint32_t d = (uint32_t)check_below(&rng, 4), flags = 0;
        for (uint32_t k = 0; k < 3; k++) {
            in[k] = operand(&rng, 52, 11);
            memcpy(&x[k], &in[k], sizeof x[k]);
        }
        tly_number exact = compute(what, tly_num_unpack(f64, in[0]), tly_num_unpack(f64, in[1]),
                                   tly_num_unpack(f64, in[2]));
        uint64_t ours = (uint64_t)tly_num_round(
            f64, exact, (tly_num_control){.rounding = directions[d].ours}, &flags);
        fesetround(directions[d].host);
        double host = host_double(what, x[0], x[1], x[2]);
        fesetround(FE_TONEAREST);
        if (isnan(host)) {
            double value;
            memcpy(&value, &ours, sizeof value);
            assert_true(isnan(value));
        } else if (!is_cancelled_zero(what, directions[d].ours, ours, bits_of(host),
                                      UINT64_C(1) << 63)) {
            if (ours != bits_of(host)) {
                fail_msg("operation %d direction %d of %a %a %a: %016llx, the processor %016llx",
                         what, d, x[0], x[1], x[2], (unsigned long long)ours,
                         (unsigned long long)bits_of(host));
            }
        }
    }
}

static void floats_agree_with_the_processor(void **state) {
    const tly_format *f32 = tly_format_find(TLY_F32);
    check_rng rng = {check_seed(2)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(60000); i++) {
        uint32_t in[3];
        float x[3];
        op what = (op)check_below(&rng, NUM_OPS);
        uint32_t d = (uint32_t)check_below(&rng, 4), flags = 0;
        for (uint32_t k = 0; k < 3; k++) {
            in[k] = (uint32_t)operand(&rng, 23, 8);
            memcpy(&x[k], &in[k], sizeof x[k]);
        }
        tly_number exact = compute(what, tly_num_unpack(f32, in[0]), tly_num_unpack(f32, in[1]),
                                   tly_num_unpack(f32, in[2]));
        uint32_t ours = (uint32_t)tly_num_round(
            f32, exact, (tly_num_control){.rounding = directions[d].ours}, &flags);
        fesetround(directions[d].host);
        float host = host_float(what, x[0], x[1], x[2]);
        fesetround(FE_TONEAREST);
        if (isnan(host)) {
            float value;
            memcpy(&value, &ours, sizeof value);
            assert_true(isnan(value));
        } else if (!is_cancelled_zero(what, directions[d].ours, ours, bits_of_float(host),
                                      UINT32_C(1) << 31)) {
            if (ours != bits_of_float(host)) {
                fail_msg("operation %d direction %d of %a %a %a: %08x, the processor %08x", what, d,
                         (double)x[0], (double)x[1], (double)x[2], ours, bits_of_float(host));
            }
        }
    }
}

/* What has no value gives a NaN that signals; the rest of the special cases, one by one. */
static void special_operands(void **state) {
    const tly_format *f64 = tly_format_find(TLY_F64);
    tly_number zero = tly_num_unpack(f64, 0), one = tly_num_unpack(f64, bits_of(1.0));
    tly_number inf = tly_num_unpack(f64, bits_of(INFINITY));
    tly_number minus = tly_num_unpack(f64, bits_of(-1.0));
    (void)state;
    assert_int_equal(tly_num_multiply(zero, inf).klass, TLY_NUMBER_SIGNALING_NAN);
    assert_int_equal(tly_num_divide(zero, zero).klass, TLY_NUMBER_SIGNALING_NAN);
    assert_int_equal(tly_num_divide(inf, inf).klass, TLY_NUMBER_SIGNALING_NAN);
    assert_int_equal(tly_num_square_root(minus).klass, TLY_NUMBER_SIGNALING_NAN);
    assert_int_equal(tly_num_divide(one, zero).klass, TLY_NUMBER_INFINITE);
    assert_int_equal(tly_num_divide(minus, zero).negative, 1);
    assert_int_equal(tly_num_divide(one, inf).klass, TLY_NUMBER_ZERO);
    assert_int_equal(tly_num_multiply(minus, zero).negative, 1);
    assert_int_equal(tly_num_square_root(inf).klass, TLY_NUMBER_INFINITE);
    assert_int_equal(tly_num_fused(zero, inf, one).klass, TLY_NUMBER_SIGNALING_NAN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(doubles_agree_with_the_processor),
        cmocka_unit_test(floats_agree_with_the_processor),
        cmocka_unit_test(special_operands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
