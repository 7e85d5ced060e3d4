/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and cells of the profile `ieee` give the bits and flags of its functions on single elements,
 * at every level of vector code. */
#include "pto/stored_rows.h"

#include "pto/profile/element.h"
#include "pto/profile/ieee_cells.h"
#include "pto/profile/ieee_rows.h"

static const tly_pto_profile *const ieee = &tly_pto_profile_ieee;
/* Bits of FP32 that matter: numbers near 1, the ends of the range, specials of all kinds. */
static uint32_t single(check_rng *rng) {
    static const uint32_t special[] = {0,          0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000,
                                       0x7F800001, 0xFFC12345, 0x00000001, 0x007FFFFF, 0x00800000,
                                       0x7F7FFFFF, 0x3F800000, 0xC2AE0000, 0x42B17218, 0xC2CFF1B5,
                                       0xC16912CD, 0x65D890D3, 0x083A18E3};
    switch (check_below(rng, 6)) {
    case 0:
        return special[check_below(rng, sizeof special / sizeof special[0])];
    case 1:
        return (uint32_t)check_random(rng);
    default:
        return (uint32_t)(check_random(rng) & 0x807FFFFF) | (uint32_t)(118 + check_below(rng, 17))
                                                                << 23;
    }
}

enum { MOST = 253 };

enum { ROWS = 3 };

/* The right operand is a row for each, one row for all, or one element for each. */
static void binary_rows(void **state) {
    static const tly_pto_tile_binary ops[] = {TLY_PTO_TILE_ADD, TLY_PTO_TILE_SUB, TLY_PTO_TILE_MUL,
                                              TLY_PTO_TILE_DIV, TLY_PTO_TILE_MAX, TLY_PTO_TILE_MIN};
    check_rng rng = {check_seed(21)};
    (void)state;
    needs_numbers_as_stored();
    for (uint64_t i = 0; i < check_rounds(300); i++) {
        uint32_t a[ROWS * MOST], b[ROWS * MOST], out[ROWS * MOST];
        uint64_t wide_a[ROWS * MOST], wide_b[ROWS * MOST], wide_out[ROWS * MOST];
        tly_pto_tile_binary op = ops[check_below(&rng, 6)];
        size_t count = 1 + check_below(&rng, i % 2 == 0 ? 9 : MOST);
        bool broadcast = check_below(&rng, 3) == 0;
        size_t stride = broadcast ? 1 + check_below(&rng, MOST) : MOST * check_below(&rng, 2);
        for (size_t k = 0; k < ROWS * MOST; k++) {
            a[k] = single(&rng);
            b[k] = single(&rng);
            wide_a[k] = check_random(&rng);
            wide_b[k] = check_below(&rng, 2) != 0 ? check_random(&rng) : wide_a[k] ^ 1;
        }
        tly_pto_binary_rows rows =
            stored_rows(TLY_PTO_FP32, a, b, out, MOST, stride, ROWS, count, broadcast);
        tly_pto_binary_rows wide = stored_rows(TLY_PTO_FP64, wide_a, wide_b, wide_out, MOST, stride,
                                               ROWS, count, broadcast);
        for (uint32_t l = 0; l < num_levels; l++) {
            uint8_t flags = 0, wanted = 0, ignored = 0;
            assert_true(ieee->binary_rows(levels[l], op, TLY_PTO_FP64, &wide, NULL));
            assert_true(ieee->binary_rows(levels[l], op, TLY_PTO_FP32, &rows, NULL));
            for (size_t k = 0; k < ROWS * count; k++) {
                size_t at = k / count * MOST + k % count;
                size_t other = k / count * stride + (broadcast ? 0 : k % count);
                assert_int_equal(out[at], tly_pto_element_binary(ieee, op, TLY_PTO_FP32, a[at],
                                                                 b[other], &wanted));
                assert_int_equal(wide_out[at],
                                 tly_pto_element_binary(ieee, op, TLY_PTO_FP64, wide_a[at],
                                                        wide_b[other], &ignored));
            }
            memset(out, 0, sizeof out);
            if (ieee->binary_rows(levels[l], op, TLY_PTO_FP32, &rows, &flags)) {
                for (size_t k = 0; k < ROWS * count; k++) {
                    size_t at = k / count * MOST + k % count;
                    size_t other = k / count * stride + (broadcast ? 0 : k % count);
                    assert_int_equal(out[at], tly_pto_element_binary(ieee, op, TLY_PTO_FP32, a[at],
                                                                     b[other], &ignored));
                }
                assert_int_equal(flags, wanted);
            }
        }
    }
}

/* Bits of FP16 that matter: any, subnormal ones, and pairs whose result lies near a border. */
static uint16_t half_number(check_rng *rng) {
    uint16_t bits = (uint16_t)check_random(rng);
    switch (check_below(rng, 4)) {
    case 0:
        return bits & 0x83FF;
    case 1:
        return (bits & 0x83FF) | (uint16_t)(check_below(rng, 31) << 10);
    default:
        return bits;
    }
}

/* FP16, which goes through FP32, has the results and the flags of one rounding. */
static void half_rows(void **state) {
    static const tly_pto_tile_binary ops[] = {TLY_PTO_TILE_ADD, TLY_PTO_TILE_SUB, TLY_PTO_TILE_MUL,
                                              TLY_PTO_TILE_DIV};
    check_rng rng = {check_seed(26)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(1000); i++) {
        uint16_t a[ROWS * MOST], b[ROWS * MOST], out[ROWS * MOST];
        tly_pto_tile_binary op = ops[check_below(&rng, 4)];
        size_t count = 1 + check_below(&rng, i % 2 == 0 ? 3 : MOST);
        bool broadcast = check_below(&rng, 3) == 0;
        size_t stride = broadcast ? 1 + check_below(&rng, MOST) : MOST * check_below(&rng, 2);
        for (size_t k = 0; k < ROWS * MOST; k++) {
            a[k] = half_number(&rng);
            b[k] = half_number(&rng);
        }
        tly_pto_binary_rows rows =
            stored_rows(TLY_PTO_FP16, a, b, out, MOST, stride, ROWS, count, broadcast);
        for (uint32_t l = 0; l < num_levels; l++) {
            uint8_t flags = 0, wanted = 0;
            bool covered = ieee->binary_rows(levels[l], op, TLY_PTO_FP16, &rows, &flags);
            assert_int_equal(covered, levels[l] >= TLY_SIMD_AVX2);
            for (size_t k = 0; k < ROWS * count && covered; k++) {
                size_t at = k / count * MOST + k % count;
                size_t other = k / count * stride + (broadcast ? 0 : k % count);
                uint64_t bits =
                    tly_pto_element_binary(ieee, op, TLY_PTO_FP16, a[at], b[other], &wanted);
                if (bits != out[at]) {
                    fail_msg("operation %d of %04x and %04x: %04x, one by one %04x", op, a[at],
                             b[other], out[at], (uint32_t)bits);
                }
            }
            assert_int_equal(flags, wanted);
        }
    }
    assert_false(ieee->binary_rows(levels[num_levels - 1], TLY_PTO_TILE_MAX, TLY_PTO_FP16,
                                   &(tly_pto_binary_rows){0}, NULL));
}

static void unary_rows(void **state) {
    static const tly_pto_tile_unary ops[] = {TLY_PTO_TILE_EXP, TLY_PTO_TILE_LOG, TLY_PTO_TILE_SQRT,
                                             TLY_PTO_TILE_RECIP, TLY_PTO_TILE_RSQRT};
    check_rng rng = {check_seed(22)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(1500); i++) {
        uint32_t a[MOST], out[MOST];
        tly_pto_tile_unary op = ops[check_below(&rng, 5)];
        size_t count = 1 + check_below(&rng, i % 2 == 0 ? 3 : MOST);
        uint32_t mask = check_below(&rng, 2) != 0 ? 0xFF800000 : 0xCE6E6B28; /* -inf, -1e9 */
        size_t masked = i % 4 == 3 ? check_below(&rng, count) : count;       /* from it on */
        for (size_t k = 0; k < count; k++) {
            a[k] = k < masked ? single(&rng) : mask;
        }
        for (uint32_t l = 0; l < num_levels; l++) {
            uint8_t flags = 0, wanted = 0;
            if (!ieee->unary_row(levels[l], op, TLY_PTO_FP32, a, out, count, &flags)) {
                continue;
            }
            for (size_t k = 0; k < count; k++) {
                uint64_t bits = tly_pto_element_unary(ieee, op, TLY_PTO_FP32, a[k], &wanted);
                if (bits != out[k]) {
                    fail_msg("operation %d of %08x: %08x, one by one %08x", op, a[k], out[k],
                             (uint32_t)bits);
                }
            }
            assert_int_equal(flags, wanted);
        }
    }
}

/* Codes of a format: any, numbers near the ends of what another format holds, and their middles. */
static uint32_t code_of(check_rng *rng, uint32_t dtype) {
    uint32_t bits = tly_pto_dtype_bits(dtype);
    if (bits < 32) {
        return (uint32_t)check_random(rng) & ((1u << bits) - 1);
    }
    static const uint8_t ends[] = {0,   1,   96,  97,  102, 103, 112, 113, 117, 120,
                                   121, 134, 135, 142, 143, 157, 158, 159, 254};
    switch (check_below(rng, 3)) {
    case 0:
        return single(rng);
    case 1: /* many zeros or ones behind: ties, and what is near them */
        return ((uint32_t)check_random(rng) << check_below(rng, 24)) +
               (uint32_t)check_below(rng, 3) - 1;
    default:
        return (uint32_t)(check_random(rng) & 0x807FFFFF) |
               (uint32_t)ends[check_below(rng, sizeof ends)] << 23;
    }
}

/* What goes by rows: between numbers, and from integers, to nearest even only where it matters. */
static bool converts(uint32_t from, uint32_t to, const tly_pto_numeric_control *control) {
    bool nearest = control->rounding == TLY_PTO_ROUND_NEAREST_EVEN;
    if (tly_pto_dtype_is_integer(from)) {
        return to == TLY_PTO_FP32 ? from != TLY_PTO_S32 || nearest : from != TLY_PTO_S32 && nearest;
    }
    return tly_pto_dtype_is_integer(to) || nearest;
}

static void convert_rows(void **state) {
    static const uint8_t dtypes[] = {TLY_PTO_FP32, TLY_PTO_FP16, TLY_PTO_BF16, TLY_PTO_E5M2,
                                     TLY_PTO_E4M3, TLY_PTO_S8,   TLY_PTO_U8,   TLY_PTO_S16,
                                     TLY_PTO_U16,  TLY_PTO_S32};
    check_rng rng = {check_seed(23)};
    (void)state;
    needs_numbers_as_stored();
    for (uint64_t i = 0; i < check_rounds(2500); i++) {
        uint32_t num_from = check_below(&rng, 2) != 0 ? 5 : 10, num_to = num_from == 10 ? 5 : 10;
        uint32_t from = dtypes[check_below(&rng, num_from)], to = dtypes[check_below(&rng, num_to)];
        const tly_pto_numeric_control control = {
            check_below(&rng, 2) != 0 ? (uint8_t)check_below(&rng, TLY_PTO_ROUND_HALF_UP + 1)
                                      : TLY_PTO_ROUND_NEAREST_EVEN,
            check_below(&rng, 2) != 0};
        uint32_t codes[ROWS * MOST], from_len = tly_pto_dtype_bits(from) / 8;
        uint32_t to_len = tly_pto_dtype_bits(to) / 8;
        _Alignas(8) uint8_t in[ROWS * MOST * 4], out[ROWS * MOST * 4 + 1];
        /* few enough that flags are not all raised, or more than a chunk */
        size_t count = 1 + check_below(&rng, i % 2 == 0 ? 2 : ROWS * MOST);
        for (size_t k = 0; k < count; k++) {
            codes[k] = code_of(&rng, from);
            if (i % 4 == 3 && tly_pto_class_is_nan(tly_pto_classify(from, codes[k]))) {
                codes[k] = 0; /* no NaN at all */
            }
            memcpy(in + k * from_len, &codes[k], from_len);
        }
        for (uint32_t l = 0; l < num_levels; l++) {
            uint8_t flags = 0, wanted = 0;
            memset(out, 0xA5, sizeof out);
            if (from == to) {
                continue;
            }
            bool covered = ieee->convert_row(levels[l], from, to, &control, in, out, count, &flags);
            assert_int_equal(covered, converts(from, to, &control));
            if (!covered) {
                continue;
            }
            for (size_t k = 0; k < count; k++) {
                uint32_t got = 0;
                memcpy(&got, out + k * to_len, to_len);
                uint64_t value =
                    tly_pto_raw(ieee->convert(from, to, &control, codes[k], &wanted), to);
                if (got != value) {
                    fail_msg("type %u to %u of %x at level %d: %x, one by one %llx", from, to,
                             codes[k], levels[l], got, (unsigned long long)value);
                }
            }
            if (flags != wanted) {
                fail_msg("type %u to %u of %x and %zu more at level %d: flags %x, one by one %x",
                         from, to, codes[0], count - 1, levels[l], flags, wanted);
            }
            assert_int_equal(out[count * to_len], 0xA5);
        }
    }
}

/* Sixteen lanes, then half by half, one element at a time. */
static uint64_t sum_slowly(const uint32_t *values, size_t count, uint8_t *flags) {
    uint64_t lanes[16] = {0};
    for (size_t i = 0; i < count; i++) {
        lanes[i % 16] = tly_pto_element_binary(ieee, TLY_PTO_TILE_ADD, TLY_PTO_FP32, lanes[i % 16],
                                               values[i], flags);
    }
    for (uint32_t half = 8; half > 0; half /= 2) {
        for (uint32_t i = 0; i < half; i++) {
            lanes[i] = tly_pto_element_binary(ieee, TLY_PTO_TILE_ADD, TLY_PTO_FP32, lanes[i],
                                              lanes[i + half], flags);
        }
    }
    return lanes[0];
}

static uint64_t extreme_slowly(tly_pto_reduction op, const uint32_t *values, size_t count,
                               uint8_t *flags) {
    uint64_t extreme = values[0];
    bool selected = false;
    for (size_t k = 1; k < count; k++) {
        extreme = ieee->reduce_step(op, TLY_PTO_FP32, extreme, values[k], &selected, flags);
    }
    return extreme;
}

static bool has_nan(const uint32_t *values, size_t count) {
    bool found = false;
    for (size_t k = 0; k < count; k++) {
        found |= (values[k] & 0x7FFFFFFF) > 0x7F800000;
    }
    return found;
}

static void reduced_rows(void **state) {
    check_rng rng = {check_seed(25)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(700); i++) {
        uint32_t a[ROWS][MOST];
        size_t count = 1 + check_below(&rng, MOST);
        uint32_t wild = (uint32_t)check_below(&rng, 6); /* a row with anything, often none */
        for (size_t k = 0; k < ROWS * MOST; k++) {
            uint32_t *x = &a[k / MOST][k % MOST];
            *x = k / MOST == wild ? single(&rng)
                                  : (uint32_t)(check_random(&rng) & 0x807FFFFF) |
                                        (uint32_t)(100 + check_below(&rng, 60)) << 23;
            *x = check_below(&rng, 9) == 0 ? (uint32_t)check_below(&rng, 2) << 31 : *x;
        }
        for (uint32_t l = 0; l < num_levels; l++) {
            uint8_t flags = 0, wanted = 0;
            uint64_t got[ROWS] = {0};
            if (ieee->reduce_rows(levels[l], TLY_PTO_REDUCE_SUM, TLY_PTO_FP32, a, sizeof a[0], ROWS,
                                  count, got, &flags) == ROWS) {
                for (uint32_t row = 0; row < ROWS; row++) {
                    assert_int_equal(got[row], sum_slowly(a[row], count, &wanted));
                }
                assert_int_equal(flags, wanted);
            }
            tly_pto_reduction op = i % 2 == 0 ? TLY_PTO_REDUCE_MIN : TLY_PTO_REDUCE_MAX;
            size_t done = ieee->reduce_rows(levels[l], op, TLY_PTO_FP32, a, sizeof a[0], ROWS,
                                            count, got, &flags);
            for (uint32_t row = 0; row < done; row++) {
                assert_int_equal(got[row], extreme_slowly(op, a[row], count, &wanted));
            }
            assert_true(levels[l] == TLY_SIMD_PORTABLE || done == ROWS || has_nan(a[done], count));
            assert_int_equal(flags, wanted);
        }
    }
}

enum { MAX_M = 32, MAX_N = 24, MAX_K = 300, CELL_BYTES = 128 };

typedef struct product {
    tly_pto_matrix_types types;
    uint32_t m, n, k, rows;
    uint8_t left[(MAX_K + 8) * MAX_M * 4];
    uint8_t right[(MAX_K + 8) * MAX_N * 4];
    uint64_t sums[MAX_M * MAX_N];
    uint64_t wanted[MAX_M * MAX_N];
} product;

static uint64_t element(const uint8_t *cells, uint32_t dtype, uint32_t lines, uint32_t line,
                        uint32_t k, uint32_t num_k) {
    uint32_t width = (uint32_t)bytes_of(dtype), cell = CELL_BYTES / (lines * width);
    uint32_t cells_of_k = (num_k + cell - 1) / cell;
    size_t at = ((size_t)(line / lines) * cells_of_k + k / cell) * lines * cell +
                (size_t)(line % lines) * cell + k % cell;
    uint64_t value = 0;
    memcpy(&value, cells + at * width, width);
    return value;
}

/* Sums that stand in cells of 32 rows: the same ones. */
static void check_cells(const product *p, tly_pto_matrix_cells job) {
    static uint32_t cells[32 * MAX_N];
    for (uint32_t at = 0; at < p->n * p->m; at++) {
        cells[at / p->m * 32 + at % p->m] = (uint32_t)p->wanted[at];
    }
    job.sums = NULL;
    job.cells = cells;
    assert_true(tly_pto_ieee_cells(&job));
    for (uint32_t at = 0; at < p->n * p->m; at++) {
        assert_int_equal(cells[at / p->m * 32 + at % p->m], p->sums[at]);
    }
}

static void cells_are_steps(void **state) {
    static const uint8_t dtypes[] = {TLY_PTO_FP32, TLY_PTO_FP16, TLY_PTO_BF16};
    static product p;
    static _Alignas(64) uint8_t scratch[262144];
    check_rng rng = {check_seed(24)};
    (void)state;
    needs_numbers_as_stored();
    for (uint64_t i = 0; i < check_rounds(12); i++) {
        p.types = (tly_pto_matrix_types){.accumulator = TLY_PTO_FP32,
                                         .left = dtypes[check_below(&rng, 3)],
                                         .right = dtypes[check_below(&rng, 3)]};
        p.rows = check_below(&rng, 2) != 0 ? 16 : 32;
        p.m = 1 + (uint32_t)check_below(&rng, p.rows);
        p.n = 1 + (uint32_t)check_below(&rng, MAX_N);
        p.k = 1 + (uint32_t)check_below(&rng, i % 4 == 0 ? MAX_K : 20);
        bool tame = check_below(&rng, 3) != 0;
        for (size_t b = 0; b < sizeof p.left; b += 4) {
            uint32_t bits =
                tame ? 0x3C003C00 ^ (uint32_t)(check_random(&rng) & 0x03FF03FF) : single(&rng);
            memcpy(p.left + b, &bits, 4);
        }
        for (size_t b = 0; b < sizeof p.right; b += 4) {
            uint32_t bits =
                tame ? 0x3C003C00 ^ (uint32_t)(check_random(&rng) & 0x83FF83FF) : single(&rng);
            memcpy(p.right + b, &bits, 4);
        }
        for (uint32_t c = 0; c < p.n; c++) {
            for (uint32_t r = 0; r < p.m; r++) {
                uint64_t sum = single(&rng);
                p.wanted[c * p.m + r] = sum;
                for (uint32_t k = 0; k < p.k; k++) {
                    sum = ieee->matrix_step(&p.types, sum,
                                            element(p.left, p.types.left, p.rows, r, k, p.k),
                                            element(p.right, p.types.right, 8, c, k, p.k), 0, 0);
                }
                p.sums[c * p.m + r] = sum;
            }
        }
        for (uint32_t l = 0; l < num_levels; l++) {
            uint64_t sums[MAX_M * MAX_N];
            const tly_pto_matrix_cells job = {.types = &p.types,
                                              .m = p.m,
                                              .n = p.n,
                                              .k = p.k,
                                              .left_rows = p.rows,
                                              .left = p.left,
                                              .right = p.right,
                                              .simd = levels[l],
                                              .sums = sums,
                                              .scratch = scratch,
                                              .scratch_len = sizeof scratch};
            memcpy(sums, p.wanted, sizeof sums);
            assert_true(tly_pto_ieee_cells(&job));
            for (uint32_t at = 0; at < p.n * p.m; at++) {
                if (sums[at] != p.sums[at]) {
                    fail_msg("m %u n %u k %u types %u %u, sum %u at level %d: %llx, steps %llx",
                             p.m, p.n, p.k, p.types.left, p.types.right, at, levels[l],
                             (unsigned long long)sums[at], (unsigned long long)p.sums[at]);
                }
            }
            check_cells(&p, job);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(binary_rows),  cmocka_unit_test(half_rows),
        cmocka_unit_test(unary_rows),   cmocka_unit_test(convert_rows),
        cmocka_unit_test(reduced_rows), cmocka_unit_test(cells_are_steps),
    };
    return cmocka_run_group_tests(tests, find_levels, NULL);
}
