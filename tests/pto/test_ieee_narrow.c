/* SPDX-License-Identifier: Apache-2.0 */
/* FP16, BF16, E5M2 and E4M3 go through FP32 in rows, fused operations of all types through the
 * processor's: at every level of vector code they have the bits and the flags of one rounding. */
#include "pto/stored_rows.h"

#include "pto/profile/element.h"

enum { ROWS = 3, MOST = 300 }; /* more than is widened at once */

static const tly_pto_profile *const ieee = &tly_pto_profile_ieee;
static const uint8_t narrow[] = {TLY_PTO_FP16, TLY_PTO_BF16, TLY_PTO_E5M2, TLY_PTO_E4M3};

/* Any number; the smallest ones; numbers near 1; and those whose products and quotients lie at the
 * lower end of the range. */
static uint64_t number(check_rng *rng, uint32_t dtype) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    uint64_t bits = tly_pto_low_bits(check_random(rng), f->bits);
    uint64_t rest =
        bits & (tly_pto_low_bits(UINT64_MAX, f->fraction_bits) | tly_pto_sign_mask(dtype));
    uint64_t middle = (uint64_t)f->bias;
    switch (check_below(rng, 6)) {
    case 0:
        return rest;
    case 1:
        return rest | (middle + check_below(rng, 5) - 2) << f->fraction_bits;
    case 2:
        return rest | (middle / 2 + check_below(rng, 9) - 4) << f->fraction_bits;
    case 3:
        return rest | (middle * 2 - check_below(rng, 6)) << f->fraction_bits;
    default:
        return bits;
    }
}

static void arithmetic(void **state) {
    static const tly_pto_tile_binary ops[] = {TLY_PTO_TILE_ADD, TLY_PTO_TILE_SUB, TLY_PTO_TILE_MUL,
                                              TLY_PTO_TILE_DIV};
    static _Alignas(8) uint8_t a[ROWS * MOST * 2], b[ROWS * MOST * 2];
    static _Alignas(8) uint8_t out[ROWS * MOST * 2];
    check_rng rng = {check_seed(64)};
    (void)state;
    needs_numbers_as_stored();
    for (uint64_t i = 0; i < check_rounds(700); i++) {
        uint32_t dtype = narrow[check_below(&rng, sizeof narrow)];
        tly_pto_tile_binary op = ops[check_below(&rng, 4)];
        size_t count = 1 + check_below(&rng, i % 4 != 0 ? 4 : MOST);
        bool broadcast = check_below(&rng, 3) == 0, in_place = check_below(&rng, 4) == 0;
        size_t stride = broadcast ? 1 + check_below(&rng, MOST) : MOST * check_below(&rng, 2);
        for (size_t k = 0; k < ROWS * MOST; k++) {
            store(dtype, a, k, number(&rng, dtype));
            store(dtype, b, k, number(&rng, dtype));
        }
        const tly_pto_binary_rows rows =
            stored_rows(dtype, in_place ? out : a, b, out, MOST, stride, ROWS, count, broadcast);
        for (uint32_t l = 0; l < num_levels; l++) {
            for (int flagged = 0; flagged < 2; flagged++) {
                uint8_t flags = 0, wanted = 0;
                memcpy(out, a, sizeof out);
                if (!ieee->binary_rows(levels[l], op, dtype, &rows, flagged ? &flags : NULL)) {
                    assert_true(flagged && levels[l] == TLY_SIMD_PORTABLE);
                    continue;
                }
                for (size_t k = 0; k < ROWS * count; k++) {
                    size_t at = k / count * MOST + k % count;
                    size_t other = k / count * stride + (broadcast ? 0 : k % count);
                    uint64_t x = stored(dtype, a, at), y = stored(dtype, b, other);
                    uint64_t bits = tly_pto_element_binary(ieee, op, dtype, x, y, &wanted);
                    if (bits != stored(dtype, out, at)) {
                        fail_msg("type %u: operation %d of %llx and %llx: %llx, one by one %llx",
                                 dtype, op, (unsigned long long)x, (unsigned long long)y,
                                 (unsigned long long)stored(dtype, out, at),
                                 (unsigned long long)bits);
                    }
                }
                if (flagged && flags != wanted) {
                    fail_msg("type %u: operation %d of %zu and more, of %llx: flags %x, not %x",
                             dtype, op, count, (unsigned long long)stored(dtype, a, 0), flags,
                             wanted);
                }
            }
        }
    }
}

/* A row that goes into itself: each step sees what the one before has left. */
static void sums_in_place(void **state) {
    static _Alignas(8) uint8_t a[16 * 40 * 2], sums[16 * 2], wanted[16 * 2];
    check_rng rng = {check_seed(65)};
    (void)state;
    needs_numbers_as_stored();
    for (uint64_t i = 0; i < check_rounds(100); i++) {
        uint32_t dtype = narrow[check_below(&rng, sizeof narrow)];
        size_t count = 1 + check_below(&rng, 16), num_rows = 1 + check_below(&rng, 40);
        uint8_t ignored = 0;
        for (size_t k = 0; k < num_rows * count; k++) {
            store(dtype, a, k, number(&rng, dtype));
        }
        memset(wanted, 0, sizeof wanted);
        for (size_t k = 0; k < num_rows * count; k++) {
            store(dtype, wanted, k % count,
                  tly_pto_element_binary(ieee, TLY_PTO_TILE_ADD, dtype,
                                         stored(dtype, wanted, k % count), stored(dtype, a, k),
                                         &ignored));
        }
        for (uint32_t l = 0; l < num_levels; l++) {
            const tly_pto_binary_rows rows = {.left = sums,
                                              .right = a,
                                              .out = sums,
                                              .right_stride = count * bytes_of(dtype),
                                              .num_rows = num_rows,
                                              .count = count};
            memset(sums, 0, sizeof sums);
            assert_true(ieee->binary_rows(levels[l], TLY_PTO_TILE_ADD, dtype, &rows, NULL));
            assert_memory_equal(sums, wanted, count * bytes_of(dtype));
        }
    }
}

/* All operands, one at a time, so that flags are those of each; then all in one row. */
static void functions_of_all_numbers(void **state) {
    static const tly_pto_tile_unary ops[] = {TLY_PTO_TILE_EXP, TLY_PTO_TILE_LOG, TLY_PTO_TILE_SQRT,
                                             TLY_PTO_TILE_RECIP, TLY_PTO_TILE_RSQRT};
    static _Alignas(8) uint8_t all[65536 * 2], out[65536 * 2];
    uint32_t step = check_rounds(0) > 1000 ? 1 : 7; /* all of them in make proof */
    check_rng rng = {check_seed(66)};
    (void)state;
    needs_numbers_as_stored();
    for (uint32_t t = 0; t < sizeof narrow; t++) {
        uint32_t dtype = narrow[t], num = 1U << tly_pto_dtype_bits(dtype), passed = 0;
        for (uint32_t o = 0; o < sizeof ops / sizeof ops[0]; o++) {
            uint32_t of_type = num == 256 ? 1 : step;
            for (uint32_t code = (uint32_t)check_below(&rng, of_type); code < num;
                 code += of_type) {
                uint8_t wanted = 0;
                _Alignas(8) uint8_t one[2];
                uint64_t bits = tly_pto_element_unary(ieee, ops[o], dtype, code, &wanted);
                store(dtype, all, passed, code);
                for (uint32_t l = 0; l < num_levels; l++) {
                    uint8_t flags = 0;
                    assert_true(ieee->unary_row(levels[l], ops[o], dtype,
                                                all + passed * bytes_of(dtype), one, 1, &flags));
                    if (stored(dtype, one, 0) != bits || flags != wanted) {
                        fail_msg("type %u: operation %d of %x: %llx flags %x, not %llx flags %x",
                                 dtype, ops[o], code, (unsigned long long)stored(dtype, one, 0),
                                 flags, (unsigned long long)bits, wanted);
                    }
                }
                store(dtype, out, passed++, bits);
            }
            for (uint32_t l = 0; l < num_levels; l++) {
                static _Alignas(8) uint8_t row[65536 * 2];
                uint8_t flags = 0;
                memcpy(row, all, passed * bytes_of(dtype)); /* in place */
                assert_true(ieee->unary_row(levels[l], ops[o], dtype, row, row, passed, &flags));
                assert_memory_equal(row, out, passed * bytes_of(dtype));
            }
            passed = 0;
        }
    }
}

/* An addend that cancels the product, or nearly; or is far smaller, so that it decides a tie. */
static uint64_t addend_for(check_rng *rng, uint32_t dtype, uint64_t left, uint64_t right) {
    uint8_t ignored = 0;
    uint64_t product = tly_pto_element_binary(ieee, TLY_PTO_TILE_MUL, dtype, left, right, &ignored);
    switch (check_below(rng, 4)) {
    case 0:
        return product ^ tly_pto_sign_mask(dtype);
    case 1:
        return (product ^ tly_pto_sign_mask(dtype)) + check_below(rng, 3) - 1;
    case 2:
        return tly_pto_sign_mask(dtype) * check_below(rng, 2) | (1 + check_below(rng, 200));
    default:
        return number(rng, dtype);
    }
}

/* A product far below the smallest normal number, and that number or a smaller one: what is inexact
 * and too small with the type's precision is decided there, and with more bits elsewhere. */
static void around_smallest(check_rng *rng, uint32_t dtype, uint64_t out[3]) {
    const tly_pto_format *f = &tly_pto_formats[dtype];
    uint64_t exponent =
        check_below(rng, 2) * ((uint64_t)f->bias - (uint64_t)f->bias / 2 - check_below(rng, 9));
    uint64_t smallest = UINT64_C(1) << f->fraction_bits;
    for (uint32_t i = 0; i < 2; i++) {
        out[i] =
            tly_pto_low_bits(check_random(rng), 1 + (uint32_t)check_below(rng, f->fraction_bits)) |
            exponent << f->fraction_bits | tly_pto_sign_mask(dtype) * check_below(rng, 2);
    }
    out[2] =
        (check_below(rng, 2) != 0 ? smallest - check_below(rng, 2) : check_below(rng, smallest)) |
        tly_pto_sign_mask(dtype) * check_below(rng, 2);
}

static void fused(void **state) {
    static const uint8_t dtypes[] = {TLY_PTO_FP32, TLY_PTO_FP64, TLY_PTO_FP16,
                                     TLY_PTO_BF16, TLY_PTO_E5M2, TLY_PTO_E4M3};
    static _Alignas(8) uint8_t x[4][MOST * 8];
    check_rng rng = {check_seed(67)};
    (void)state;
    needs_numbers_as_stored();
    for (uint64_t i = 0; i < check_rounds(2000); i++) {
        uint32_t dtype = dtypes[check_below(&rng, sizeof dtypes)];
        size_t count = i % 2 != 0 ? 1 : 1 + check_below(&rng, i % 4 != 0 ? 4 : MOST);
        for (size_t k = 0; k < count; k++) {
            uint64_t operands[3] = {number(&rng, dtype), number(&rng, dtype)};
            operands[2] = addend_for(&rng, dtype, operands[0], operands[1]);
            if (check_below(&rng, 4) == 0) {
                around_smallest(&rng, dtype, operands);
            }
            for (uint32_t o = 0; o < 3; o++) {
                store(dtype, x[o], k, operands[o]);
            }
        }
        for (uint32_t l = 0; l < num_levels; l++) {
            const tly_pto_fused_row row = {x[0], x[1], x[2], x[3], count};
            uint8_t flags = 0, wanted = 0;
            bool covered = ieee->fused_row(levels[l], dtype, &row, &flags);
            assert_int_equal(covered, levels[l] >= TLY_SIMD_AVX2);
            for (size_t k = 0; k < count && covered; k++) {
                uint64_t a = stored(dtype, x[0], k), b = stored(dtype, x[1], k);
                uint64_t c = stored(dtype, x[2], k), got = stored(dtype, x[3], k);
                uint64_t bits = tly_pto_element_fused(ieee, dtype, a, b, c, &wanted);
                if (bits != got) {
                    fail_msg("type %u: %llx * %llx + %llx: %llx, one by one %llx", dtype,
                             (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
                             (unsigned long long)got, (unsigned long long)bits);
                }
            }
            if (flags != wanted) {
                fail_msg("type %u: %llx * %llx + %llx and %zu more: flags %x, one by one %x", dtype,
                         (unsigned long long)stored(dtype, x[0], 0),
                         (unsigned long long)stored(dtype, x[1], 0),
                         (unsigned long long)stored(dtype, x[2], 0), count - 1, flags, wanted);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(sums_in_place),
        cmocka_unit_test(functions_of_all_numbers),
        cmocka_unit_test(fused),
    };
    return cmocka_run_group_tests(tests, find_levels, NULL);
}
