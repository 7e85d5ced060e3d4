/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <math.h>
#include <string.h>

#include "cli/counted.h"
#include "cli/operand.h"

static void types_go_together(void **state) {
    tly_dtype a, c;
    (void)state;
    assert_true(tly_operand_types(TLY_BF16, &a, &c) && a == TLY_BF16 && c == TLY_F32);
    assert_true(tly_operand_types(TLY_I8, &a, &c) && a == TLY_U8 && c == TLY_I32);
    assert_true(tly_operand_types(TLY_F64, &a, &c) && a == TLY_F64 && c == TLY_F64);
    assert_false(tly_operand_types(TLY_I64, &a, &c));
    assert_false(tly_operand_types(0, &a, &c));
}

static void values_are_in_range_and_repeat(void **state) {
    static const tly_dtype types[] = {TLY_F32, TLY_F64, TLY_BF16};
    double bytes[512], again[512];
    (void)state;
    for (size_t t = 0; t < 3; t++) {
        int negative = 0, large = 0;
        memset(bytes, 0, sizeof bytes);
        memset(again, 0, sizeof again);
        tly_operand_fill(types[t], bytes, 500, 9);
        tly_operand_fill(types[t], again, 500, 9);
        assert_memory_equal(bytes, again, sizeof bytes);
        tly_operand_fill(types[t], again, 500, 10);
        assert_memory_not_equal(bytes, again, sizeof bytes);
        for (uint64_t i = 0; i < 500; i++) {
            double value = tly_operand_value(types[t], bytes, i);
            assert_true(value >= -1 && value < 1);
            negative += value < 0;
            large += fabs(value) > 0.5;
        }
        assert_true(negative > 100 && negative < 400 && large > 100 && large < 400);
    }
}

static void reference_of_a_small_product(void **state) {
    const float a[] = {1, 2, 3, 4, 5, 6};       /* 2 x 3 */
    const float b[] = {7, 8, 9, 10, 11, 12};    /* 3 x 2 */
    const float b_nk[] = {7, 9, 11, 8, 10, 12}; /* 2 x 3 */
    const double wanted[] = {58, 64, 139, 154};
    double c[4];
    (void)state;
    tly_operand_reference(TLY_F32, a, TLY_F32, b, 0, 2, 2, 3, c);
    assert_memory_equal(c, wanted, sizeof c);
    tly_operand_reference(TLY_F32, a, TLY_F32, b_nk, 1, 2, 2, 3, c);
    assert_memory_equal(c, wanted, sizeof c);
    tly_operand_reference(TLY_U8, "\xFF\x01", TLY_I8, "\x80\x7F", 1, 1, 1, 2, c);
    assert_true(c[0] == 255.0 * -128 + 127);
    tly_operand_reference(TLY_F32, a, TLY_F32, b, 0, 1, 1, 0, c);
    assert_true(c[0] == 0);
}

static void errors_are_relative_to_the_largest(void **state) {
    const double reference[] = {1, -4, 0};
    float exact[] = {1, -4, 0}, off[] = {1, -4, 0.5f}, bad[] = {NAN, -4, 0}, zero[] = {0, 0.25f};
    (void)state;
    assert_true(tly_operand_error(TLY_F32, exact, reference, 3) == 0);
    assert_true(tly_operand_error(TLY_F32, off, reference, 3) == 0.125);
    assert_true(isinf(tly_operand_error(TLY_F32, bad, reference, 3)));
    assert_true(tly_operand_error(TLY_F32, zero, (const double[]){0, 0}, 2) == 0.25);
    assert_true(tly_operand_error(TLY_F32, zero, reference, 0) == 0);
}

static void memory_is_counted(void **state) {
    tly_counted counted;
    tly_allocator allocator;
    uint8_t *block;
    (void)state;
    tly_counted_init(&counted);
    allocator = tly_counted_allocator(&counted);
    block = allocator.resize(allocator.user, NULL, 0, 1000, 64);
    assert_non_null(block);
    assert_true((uintptr_t)block % 64 == 0 && counted.now == 1000);
    memset(block, 7, 1000);
    block = allocator.resize(allocator.user, block, 1000, 3000, 64);
    assert_true(block[0] == 7 && block[999] == 7);
    assert_true(counted.now == 3000 && counted.peak == 4000);
    assert_null(allocator.resize(allocator.user, block, 3000, 0, 64));
    assert_true(counted.now == 0 && counted.peak == 4000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_go_together),
        cmocka_unit_test(values_are_in_range_and_repeat),
        cmocka_unit_test(reference_of_a_small_product),
        cmocka_unit_test(errors_are_relative_to_the_largest),
        cmocka_unit_test(memory_is_counted),
    };
    return cmocka_run_group_tests_name("cli/operand", tests, NULL, NULL);
}
