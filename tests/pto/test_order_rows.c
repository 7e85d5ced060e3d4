/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that depend on the bits of numbers only give what the functions on single elements say, for
 * every type with an order. */
#include "pto/stored_rows.h"

#include "pto/profile/element.h"
#include "pto/profile/order_rows.h"

enum { ROWS = 3, MOST = 77 };

static const uint8_t dtypes[] = {TLY_PTO_FP64, TLY_PTO_FP32, TLY_PTO_TF32, TLY_PTO_HF32,
                                 TLY_PTO_FP16, TLY_PTO_BF16, TLY_PTO_E4M3, TLY_PTO_E5M2};

/* Any encoding, specials often; with `numbers` no NaN. */
static uint64_t code(check_rng *rng, uint32_t dtype, bool numbers) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    for (;;) {
        uint64_t bits = check_random(rng);
        switch (check_below(rng, 6)) {
        case 0:
            bits = tly_pto_infinity(dtype) + check_below(rng, 3) - 1;
            break;
        case 1:
            bits = check_below(rng, 3);
            break;
        case 2:
            bits = f->canonical_nan ^ check_below(rng, 4)
                                          << (f->low_zero_bits + f->fraction_bits - 2);
            break;
        default:
            break;
        }
        bits ^= check_below(rng, 2) << (f->bits - 1);
        bits = tly_pto_low_bits(bits, f->bits) & ~((UINT64_C(1) << f->low_zero_bits) - 1);
        if (!numbers || !tly_pto_class_is_nan(tly_pto_classify(dtype, bits))) {
            return bits;
        }
    }
}

static void fill(check_rng *rng, uint32_t dtype, bool numbers, uint8_t *out, size_t count) {
    for (size_t i = 0; i < count; i++) {
        store(dtype, out, i, code(rng, dtype, numbers));
    }
}

static void largest_and_smallest_of_two(void **state) {
    static _Alignas(8) uint8_t a[ROWS * MOST * 8], b[ROWS * MOST * 8], out[ROWS * MOST * 8];
    check_rng rng = {check_seed(61)};
    (void)state;
    needs_numbers_as_stored();
    for (uint64_t i = 0; i < check_rounds(1500); i++) {
        uint32_t dtype = dtypes[check_below(&rng, sizeof dtypes)];
        size_t count = 1 + check_below(&rng, i % 2 == 0 ? 4 : MOST);
        bool broadcast = check_below(&rng, 3) == 0, numbers = check_below(&rng, 2) != 0;
        size_t stride = broadcast ? 1 + check_below(&rng, MOST) : MOST * check_below(&rng, 2);
        tly_pto_tile_binary op = i % 3 == 0 ? TLY_PTO_TILE_MIN : TLY_PTO_TILE_MAX;
        uint8_t flags = 0, wanted = 0;
        fill(&rng, dtype, numbers, a, ROWS * MOST);
        fill(&rng, dtype, numbers, b, ROWS * MOST);
        const tly_pto_binary_rows rows =
            stored_rows(dtype, a, b, out, MOST, stride, ROWS, count, broadcast);
        assert_true(tly_pto_order_binary_rows(op, dtype, &rows, i % 5 == 0 ? NULL : &flags));
        for (size_t k = 0; k < ROWS * count; k++) {
            size_t at = k / count * MOST + k % count;
            size_t other = k / count * stride + (broadcast ? 0 : k % count);
            uint64_t x = stored(dtype, a, at), y = stored(dtype, b, other);
            uint64_t expected =
                tly_pto_element_binary(&tly_pto_profile_v0, op, dtype, x, y, &wanted);
            if (stored(dtype, out, at) != expected) {
                fail_msg("%d of %llx and %llx of type %u: %llx, one by one %llx", op,
                         (unsigned long long)x, (unsigned long long)y, dtype,
                         (unsigned long long)stored(dtype, out, at), (unsigned long long)expected);
            }
        }
        assert_int_equal(flags, i % 5 == 0 ? 0 : wanted);
    }
    assert_false(
        tly_pto_order_binary_rows(TLY_PTO_TILE_ADD, TLY_PTO_FP16, &(tly_pto_binary_rows){0}, NULL));
    assert_false(
        tly_pto_order_binary_rows(TLY_PTO_TILE_MAX, TLY_PTO_HIF8, &(tly_pto_binary_rows){0}, NULL));
}

static void signs(void **state) {
    static const tly_pto_tile_unary ops[] = {TLY_PTO_TILE_ABS, TLY_PTO_TILE_NEG, TLY_PTO_TILE_RELU};
    static _Alignas(8) uint8_t a[MOST * 8], out[MOST * 8];
    check_rng rng = {check_seed(62)};
    (void)state;
    needs_numbers_as_stored();
    for (uint64_t i = 0; i < check_rounds(2000); i++) {
        uint32_t dtype = dtypes[check_below(&rng, sizeof dtypes)];
        size_t count = 1 + check_below(&rng, i % 2 == 0 ? 3 : MOST);
        tly_pto_tile_unary op = ops[check_below(&rng, 3)];
        uint8_t flags = 0, wanted = 0;
        fill(&rng, dtype, false, a, count);
        uint8_t *to = check_below(&rng, 2) != 0 ? out : a; /* in place as well */
        uint64_t before[MOST];
        for (size_t k = 0; k < count; k++) {
            before[k] = stored(dtype, a, k);
        }
        assert_true(tly_pto_order_unary_row(op, dtype, a, to, count, &flags));
        for (size_t k = 0; k < count; k++) {
            assert_int_equal(
                stored(dtype, to, k),
                tly_pto_element_unary(&tly_pto_profile_v0, op, dtype, before[k], &wanted));
        }
        assert_int_equal(flags, wanted);
    }
    assert_false(tly_pto_order_unary_row(TLY_PTO_TILE_SQRT, TLY_PTO_FP32, NULL, NULL, 0, NULL));
}

static void extremes(void **state) {
    static _Alignas(8) uint8_t a[MOST * 8];
    check_rng rng = {check_seed(63)};
    (void)state;
    needs_numbers_as_stored();
    for (uint64_t i = 0; i < check_rounds(2000); i++) {
        uint32_t dtype = dtypes[check_below(&rng, sizeof dtypes)];
        size_t count = 1 + check_below(&rng, i % 2 == 0 ? 5 : MOST);
        bool maximum = check_below(&rng, 2) != 0, nan = false;
        tly_pto_tile_binary op = maximum ? TLY_PTO_TILE_MAX : TLY_PTO_TILE_MIN;
        uint8_t flags = 0;
        fill(&rng, dtype, check_below(&rng, 4) != 0, a, count);
        uint64_t expected = stored(dtype, a, 0), got = 0;
        for (size_t k = 0; k < count; k++) {
            uint64_t x = stored(dtype, a, k);
            nan |= tly_pto_class_is_nan(tly_pto_classify(dtype, x));
            expected = tly_pto_element_binary(&tly_pto_profile_v0, op, dtype, expected, x, &flags);
        }
        assert_int_equal(tly_pto_order_extreme(maximum, dtype, a, count, &got), !nan);
        if (!nan) {
            assert_int_equal(got, expected);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(largest_and_smallest_of_two),
        cmocka_unit_test(signs),
        cmocka_unit_test(extremes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
