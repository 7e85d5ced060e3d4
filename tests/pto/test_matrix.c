/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix operations against sums over the elements, one by one: local and shared operands, scales,
 * bias, accumulators, row and group maxima; and products of bytes in cells on every level of vector
 * code; and real arithmetic. */
#include "guest.h"

#include <math.h>

#include "pto/profile/profile.h"
#include "pto/tile/shape.h"

enum {
    MEMORY_LEN = 1 << 20,
    LEFT_AT = 0x10000,
    RIGHT_AT = 0x40000,
    LEFT_SCALE_AT = 0x80000,
    RIGHT_SCALE_AT = 0x88000,
    BIAS_AT = 0x90000,
    TILE_M = 32 /* first tile of hand m: results */
};

/* One product: what the operands hold, as words. */
typedef struct product {
    uint32_t m, n, k;
    const char *left_type, *right_type, *sum_type;
    uint32_t left, right; /* types */
    bool scaled;
    bool shared_right, shared_left, trans_a, trans_b;
    bool bias;
    bool wide; /* CUBE_M32 */
} product;

static uint64_t memory_word(const guest *g, uint64_t at, uint32_t index, uint32_t dtype) {
    uint32_t bits = tly_pto_dtype_bits(dtype);
    uint64_t raw = 0;
    for (uint32_t i = 0; i < bits / 8; i++) {
        raw |= (uint64_t)g->m->memory.bytes[at + (uint64_t)index * bits / 8 + i] << (8 * i);
    }
    return tly_pto_dtype_is_signed(dtype) ? tly_pto_sign_extend(raw, bits) : raw;
}

/* Row and column of A (m x k) or B (k x n) as memory holds them: transposed where the operand is.
 */
static uint64_t left_word(const guest *g, const product *p, uint32_t row, uint32_t inner) {
    return memory_word(g, LEFT_AT, p->trans_a ? inner * p->m + row : row * p->k + inner, p->left);
}

static uint64_t right_word(const guest *g, const product *p, uint32_t inner, uint32_t column) {
    return memory_word(g, RIGHT_AT, p->trans_b ? column * p->k + inner : inner * p->n + column,
                       p->right);
}

static uint64_t model(const guest *g, const product *p, uint32_t row, uint32_t column) {
    uint64_t sum = 0;
    uint32_t blocks = (p->k + 31) / 32;
    for (uint32_t inner = 0; inner < p->k; inner++) {
        uint64_t left = left_word(g, p, row, inner), right = right_word(g, p, inner, column);
        if (p->scaled) {
            left *= memory_word(g, LEFT_SCALE_AT, row * blocks + inner / 32, TLY_PTO_E8M0);
            right *= memory_word(g, RIGHT_SCALE_AT, inner / 32 * p->n + column, TLY_PTO_E8M0);
        }
        sum += left * right;
    }
    return sum + (p->bias ? memory_word(g, BIAS_AT, column, TLY_PTO_S32) : 0);
}

static void load_shared(guest *g, const char *type, uint64_t at, uint32_t rows, uint32_t columns,
                        uint32_t dtype, uint32_t id) {
    char text[400];
    uint32_t power = 1;
    while ((uint64_t)power * 128 < (uint64_t)rows * columns * tly_pto_dtype_bits(dtype) / 8) {
        power *= 2;
    }
    guest_set(g, 2, at);
    guest_set(g, 3, (uint64_t)columns * tly_pto_dtype_bits(dtype) / 8);
    snprintf(text, sizeof(text),
             "BSTART.TLOAD %s\nB.DIM zero, %u, ->lb0\nB.DIM zero, %u, ->lb1\n"
             "B.DIM zero, %u, ->lb2\nB.IOR [a0, a1, zero], ->zero\n"
             "B.IOS mask=1111, ->S%u<%u%s>\nBSTOP\n",
             type, columns, rows, columns, id, power * 128 < 1024 ? power * 128 : power / 8,
             power * 128 < 1024 ? "B" : "KB");
    guest_run(g, text);
}

static void load_cells(guest *g, const char *type, const char *code, uint64_t at, uint32_t rows,
                       uint32_t columns, uint32_t dtype, const char *hand) {
    char text[400];
    guest_set(g, 2, at);
    guest_set(g, 3, (uint64_t)columns * tly_pto_dtype_bits(dtype) / 8);
    snprintf(text, sizeof(text),
             "BSTART.TLOAD %s\nB.DATR %s, DTYPE_NONE, Max\nB.DIM zero, %u, ->lb0\n"
             "B.DIM zero, %u, ->lb1\nB.IOR [a0, a1, zero], ->zero\n"
             "B.IOT mask=1111, last, ->%s<8KB>\nBSTOP\n",
             type, code, columns, rows, hand);
    guest_run(g, text);
}

static void load_rows(guest *g, const char *type, uint64_t at, uint32_t rows, uint32_t columns,
                      uint32_t dtype, const char *hand) {
    char text[400];
    uint32_t power = 1;
    while (power < columns) {
        power *= 2;
    }
    guest_set(g, 2, at);
    guest_set(g, 3, (uint64_t)columns * tly_pto_dtype_bits(dtype) / 8);
    snprintf(text, sizeof(text),
             "BSTART.TLOAD %s\nB.DIM zero, %u, ->lb0\nB.DIM zero, %u, ->lb1\n"
             "B.DIM zero, %u, ->lb2\nB.IOR [a0, a1, zero], ->zero\n"
             "B.IOT mask=1111, last, ->%s<2KB>\nBSTOP\n",
             type, columns, rows, power, hand);
    guest_run(g, text);
}

/* Executes the product; the result is tile TILE_M. */
static void multiply(guest *g, const product *p) {
    char text[800];
    const char *name = p->scaled ? (p->bias ? "TMATMULMX.BIAS" : "TMATMULMX")
                                 : (p->bias ? "TMATMUL.BIAS" : "TMATMUL");
    uint32_t blocks = (p->k + 31) / 32;
    size_t len = 0;
    if (p->shared_left) {
        load_shared(g, p->left_type, LEFT_AT, p->trans_a ? p->k : p->m, p->trans_a ? p->m : p->k,
                    p->left, 1);
    } else {
        load_cells(g, p->left_type, p->wide ? "ND2M32" : "ND2M16", LEFT_AT, p->m, p->k, p->left,
                   "t");
    }
    if (p->shared_right) {
        load_shared(g, p->right_type, RIGHT_AT, p->trans_b ? p->n : p->k, p->trans_b ? p->k : p->n,
                    p->right, 2);
    } else {
        load_cells(g, p->right_type, "ND2N8", RIGHT_AT, p->k, p->n, p->right, "u");
    }
    if (p->scaled) {
        load_rows(g, "E8M0", LEFT_SCALE_AT, p->m, blocks, TLY_PTO_E8M0, "n");
        load_rows(g, "E8M0", RIGHT_SCALE_AT, blocks, p->n, TLY_PTO_E8M0, "n");
    }
    if (p->bias) {
        load_rows(g, p->sum_type, BIAS_AT, 1, p->n, TLY_PTO_S32, "t");
    }
    len += (size_t)snprintf(text + len, sizeof(text) - len,
                            "BSTART.%s %s\nB.DATR NORM, %s, Zero\n"
                            "B.FPATR 0, 0, 0, 0, 0, 0, 0, %u, %u\nB.DIM zero, %u, ->lb0\n"
                            "B.DIM zero, %u, ->lb1\nB.DIM zero, %u, ->lb2\n",
                            name, p->left_type, p->right_type, p->trans_a, p->trans_b, p->m, p->n,
                            p->k);
    const char *bias = !p->bias ? "" : p->shared_left ? "t#1, " : "t#2, ";
    if (p->shared_left) {
        snprintf(text + len, sizeof(text) - len,
                 "B.IOT %smask=1111, last, ->m<8KB>\nB.IOS S1, mask=1111\nB.IOS S2, mask=1111\n",
                 bias);
    } else if (p->shared_right) {
        snprintf(text + len, sizeof(text) - len,
                 "B.IOT t#1, %smask=1111, last, ->m<8KB>\nB.IOS S2, mask=1111\n", bias);
    } else if (p->scaled) {
        snprintf(text + len, sizeof(text) - len,
                 "B.IOT t#1, n#1, mask=1111\nB.IOT u#1, n#2, mask=1111, last, ->m<8KB>\n");
    } else if (p->bias) {
        snprintf(text + len, sizeof(text) - len,
                 "B.IOT t#1, u#1, mask=1111\nB.IOT t#2, mask=1111, last, ->m<8KB>\n");
    } else {
        snprintf(text + len, sizeof(text) - len, "B.IOT t#1, u#1, mask=1111, last, ->m<8KB>\n");
    }
    guest_run(g, text);
    guest_run(g, "BSTOP\n");
}

static void check_product(guest *g, const product *p) {
    const tly_pto_tile *tile = &g->m->core.tiles[TILE_M];
    const tly_pto_elements *e = &g->m->tiles->local[TILE_M];
    assert_int_equal(tile->valid_rows, p->m);
    assert_int_equal(tile->valid_columns, p->n);
    for (uint32_t row = 0; row < p->m; row++) {
        for (uint32_t column = 0; column < p->n; column++) {
            uint64_t got = tly_pto_element_read(e, tile, tly_pto_tile_index(tile, row, column));
            uint64_t wanted = model(g, p, row, column);
            if (got != wanted) {
                fail_msg("%s x %s, %u x %u x %u, element %u, %u: 0x%llx, wanted 0x%llx",
                         p->left_type, p->right_type, p->m, p->n, p->k, row, column,
                         (unsigned long long)got, (unsigned long long)wanted);
            }
        }
    }
}

static void randomise(guest *g, check_rng *rng) {
    guest_release_tiles(g);
    guest_fill(g, rng, LEFT_AT, 0x8000);
    guest_fill(g, rng, RIGHT_AT, 0x8000);
    guest_fill(g, rng, LEFT_SCALE_AT, 0x1000);
    guest_fill(g, rng, RIGHT_SCALE_AT, 0x1000);
    guest_fill(g, rng, BIAS_AT, 0x1000);
}

typedef struct pair {
    const char *left, *right, *sum;
    uint8_t left_type, right_type;
} pair;

static const pair pairs[] = {{"S8", "S8", "S32", TLY_PTO_S8, TLY_PTO_S8},
                             {"U8", "U8", "U32", TLY_PTO_U8, TLY_PTO_U8},
                             {"S16", "S8", "S32", TLY_PTO_S16, TLY_PTO_S8},
                             {"U8", "U16", "U32", TLY_PTO_U8, TLY_PTO_U16},
                             {"FP16", "E4M3", "FP32", TLY_PTO_FP16, TLY_PTO_E4M3},
                             {"FP32", "BF16", "FP32", TLY_PTO_FP32, TLY_PTO_BF16}};
static const pair mx_pairs[] = {{"E4M3", "E5M2", "FP32", TLY_PTO_E4M3, TLY_PTO_E5M2},
                                {"E5M2", "E4M3", "FP32", TLY_PTO_E5M2, TLY_PTO_E4M3}};

static product random_product(check_rng *rng, bool scaled) {
    const pair *chosen = scaled ? &mx_pairs[check_below(rng, 2)] : &pairs[check_below(rng, 6)];
    product p = {.left_type = chosen->left,
                 .right_type = chosen->right,
                 .sum_type = chosen->sum,
                 .left = chosen->left_type,
                 .right = chosen->right_type,
                 .scaled = scaled};
    p.wide = check_below(rng, 2) == 0;
    p.m = 1 + (uint32_t)check_below(rng, p.wide ? 32 : 16);
    p.n = 1 + (uint32_t)check_below(rng, 40);
    p.k = 1 + (uint32_t)check_below(rng, 48);
    return p;
}

static void products_of_local_tiles(void **state) {
    (void)state;
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(81)};
    for (uint64_t round = 0; round < check_rounds(120); round++) {
        product p = random_product(&rng, false);
        p.bias = tly_pto_dtype_is_signed(p.left) && check_below(&rng, 2) == 0;
        randomise(&g, &rng);
        multiply(&g, &p);
        check_product(&g, &p);
    }
    guest_free(&g);
}

static void products_with_scales(void **state) {
    (void)state;
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(82)};
    for (uint64_t round = 0; round < check_rounds(40); round++) {
        product p = random_product(&rng, true);
        randomise(&g, &rng);
        multiply(&g, &p);
        check_product(&g, &p);
    }
    guest_free(&g);
}

static void products_with_shared_tiles(void **state) {
    (void)state;
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(83)};
    for (uint64_t round = 0; round < check_rounds(80); round++) {
        product p = random_product(&rng, false);
        p.m = 1u << check_below(&rng, p.wide ? 6 : 5);
        p.n = 1u << check_below(&rng, 6);
        p.k = 1u << check_below(&rng, 6);
        p.shared_right = true;
        p.shared_left = check_below(&rng, 2) == 0;
        p.trans_b = check_below(&rng, 2) == 0;
        p.trans_a = p.shared_left && check_below(&rng, 2) == 0;
        randomise(&g, &rng);
        multiply(&g, &p);
        check_product(&g, &p);
    }
    guest_free(&g);
}

/* The result of a product is the accumulator of the next one. */
static void accumulation(void **state) {
    (void)state;
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(84)};
    product p = {.m = 7,
                 .n = 21,
                 .k = 33,
                 .left_type = "S8",
                 .right_type = "S8",
                 .left = TLY_PTO_S8,
                 .right = TLY_PTO_S8};
    randomise(&g, &rng);
    multiply(&g, &p);
    guest_run(&g, "BSTART.TMATMUL.ACC S8\nB.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0\nB.DIM zero, 7, ->lb0\n"
                  "B.DIM zero, 21, ->lb1\nB.DIM zero, 33, ->lb2\nB.IOT m#1, t#1, mask=1111\n"
                  "B.IOT u#1, mask=1111, last, ->m<8KB>\nBSTOP\n");
    const tly_pto_tile *tile = &g.m->core.tiles[TILE_M + 1];
    for (uint32_t row = 0; row < p.m; row++) {
        for (uint32_t column = 0; column < p.n; column++) {
            uint32_t index = tly_pto_tile_index(tile, row, column);
            assert_true(tly_pto_element_read(&g.m->tiles->local[TILE_M + 1], tile, index) ==
                        2 * model(&g, &p, row, column));
        }
    }
    guest_free(&g);
}

static int64_t largest(const guest *g, const product *p, uint32_t row, uint32_t first,
                       uint32_t last) {
    int64_t best = INT64_MIN;
    for (uint32_t column = first; column < last; column++) {
        int64_t value = (int64_t)model(g, p, row, column);
        best = value > best ? value : best;
    }
    return best;
}

static void maxima_of_rows_and_groups(void **state) {
    (void)state;
    enum { ROW_MAX = 48, GROUP_MAX = 49, GROUP = 8, NUM_GROUPS = 4 };
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(85)};
    product p = {.m = 9,
                 .n = 30,
                 .k = 5,
                 .left_type = "S8",
                 .right_type = "S8",
                 .left = TLY_PTO_S8,
                 .right = TLY_PTO_S8};
    randomise(&g, &rng);
    load_cells(&g, "S8", "ND2M16", LEFT_AT, p.m, p.k, p.left, "t");
    load_cells(&g, "S8", "ND2N8", RIGHT_AT, p.k, p.n, p.right, "u");
    guest_run(&g, "BSTART.TMATMUL S8\nB.FPATR 0, 0, 1, 1, 1, 0, 0, 0, 0\nB.DIM zero, 9, ->lb0\n"
                  "B.DIM zero, 30, ->lb1\nB.DIM zero, 5, ->lb2\nB.IOT t#1, u#1, mask=1111, "
                  "->m<8KB>\nB.IOT mask=1111, ->n<1KB>\nB.IOT mask=1111, last, ->n<1KB>\nBSTOP\n");
    check_product(&g, &p);
    const tly_pto_tile *rows = &g.m->core.tiles[ROW_MAX], *groups = &g.m->core.tiles[GROUP_MAX];
    assert_int_equal(rows->valid_columns, 1);
    assert_int_equal(groups->valid_columns, NUM_GROUPS);
    for (uint32_t row = 0; row < p.m; row++) {
        assert_true((int64_t)tly_pto_element_read(&g.m->tiles->local[ROW_MAX], rows, row) ==
                    largest(&g, &p, row, 0, p.n));
        for (uint32_t i = 0; i < NUM_GROUPS; i++) {
            uint32_t last = (i + 1) * GROUP < p.n ? (i + 1) * GROUP : p.n;
            assert_true((int64_t)tly_pto_element_read(&g.m->tiles->local[GROUP_MAX], groups,
                                                      row * NUM_GROUPS + i) ==
                        largest(&g, &p, row, i * GROUP, last));
        }
    }
    guest_free(&g);
}

/* Large products of bytes, every level of vector code, padding full of large numbers. */
static void products_of_bytes_on_every_level(void **state) {
    (void)state;
    for (int simd = TLY_SIMD_PORTABLE; simd <= (int)tly_simd_available(); simd++) {
        guest g = guest_make(MEMORY_LEN, (tly_simd)simd);
        check_rng rng = {check_seed(86)};
        for (uint32_t round = 0; round < 12; round++) {
            product p = {.m = 1 + (uint32_t)check_below(&rng, 32),
                         .n = 1 + (uint32_t)check_below(&rng, 30),
                         .k = 100 + (uint32_t)check_below(&rng, 150),
                         .wide = true};
            const pair *chosen = &pairs[round % 2];
            p.left_type = chosen->left;
            p.right_type = chosen->right;
            p.left = chosen->left_type;
            p.right = chosen->right_type;
            randomise(&g, &rng);
            if (round < 4) { /* the largest sums that there are */
                memset(g.m->memory.bytes + LEFT_AT, round < 2 ? 0x80 : 0xff, 0x8000);
                memset(g.m->memory.bytes + RIGHT_AT, round < 2 ? 0x80 : 0xff, 0x8000);
            }
            multiply(&g, &p);
            check_product(&g, &p);
        }
        guest_free(&g);
    }
}

static float as_float(uint64_t word) {
    uint32_t bits = (uint32_t)word;
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

/* Words become numbers of both signs between 1/2 and 8, so that nothing overflows. */
static void make_moderate(guest *g, uint64_t at, uint64_t len) {
    for (uint64_t i = 3; i < len; i += 4) {
        uint8_t *last = g->m->memory.bytes + at + i;
        last[0] = (uint8_t)((last[0] & 0x80) | (0x3f + (last[0] & 1)));
        last[-1] &= 0x7f;
    }
}

static uint64_t result_word(const guest *g, uint32_t tile, uint32_t row, uint32_t column) {
    const tly_pto_tile *t = &g->m->core.tiles[tile];
    return tly_pto_element_read(&g->m->tiles->local[tile], t, tly_pto_tile_index(t, row, column));
}

static float real_sum(const guest *g, const product *p, float sum, uint32_t row, uint32_t column) {
    for (uint32_t inner = 0; inner < p->k; inner++) {
        sum = fmaf(as_float(left_word(g, p, row, inner)), as_float(right_word(g, p, inner, column)),
                   sum);
    }
    return sum;
}

/* The product once more onto itself. */
static void accumulate_real(guest *g, const product *p) {
    char text[400];
    snprintf(text, sizeof(text),
             "BSTART.TMATMUL.ACC FP32\nB.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0\nB.DIM zero, %u, ->lb0\n"
             "B.DIM zero, %u, ->lb1\nB.DIM zero, %u, ->lb2\nB.IOT m#1, t#1, mask=1111\n"
             "B.IOT u#1, mask=1111, last, ->m<8KB>\nBSTOP\n",
             p->m, p->n, p->k);
    guest_run(g, text);
    for (uint32_t row = 0; row < p->m; row++) {
        for (uint32_t column = 0; column < p->n; column++) {
            float once = as_float(result_word(g, TILE_M, row, column));
            assert_true(as_float(result_word(g, TILE_M + 1, row, column)) ==
                        real_sum(g, p, once, row, column));
        }
    }
}

/* What lies outside of the valid region is 0 and not defined. */
static void check_padding(const guest *g, const product *p, uint32_t tile) {
    const tly_pto_tile *t = &g->m->core.tiles[tile];
    for (uint32_t row = 0; row < t->rows; row++) {
        for (uint32_t column = 0; column < t->columns; column++) {
            bool inside = row < p->m && column < p->n;
            uint32_t index = tly_pto_tile_index(t, row, column);
            assert_true(inside || result_word(g, tile, row, column) == 0);
            assert_int_equal(tly_pto_element_is_defined(&g->m->tiles->local[tile], t, index),
                             inside);
        }
    }
}

/* Real arithmetic in the same cells: K ascending, one fused multiply-add each. */
static void products_of_real_numbers(void **state) {
    (void)state;
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(87)};
    g.m->profile = &tly_pto_profile_ieee;
    for (uint64_t round = 0; round < check_rounds(30); round++) {
        product p = {.left_type = "FP32",
                     .right_type = "FP32",
                     .sum_type = "FP32",
                     .left = TLY_PTO_FP32,
                     .right = TLY_PTO_FP32,
                     .wide = check_below(&rng, 2) == 0,
                     .bias = check_below(&rng, 2) == 0};
        p.m = 1 + (uint32_t)check_below(&rng, p.wide ? 32 : 16);
        p.n = 1 + (uint32_t)check_below(&rng, 40);
        p.k = 1 + (uint32_t)check_below(&rng, 48);
        randomise(&g, &rng);
        make_moderate(&g, LEFT_AT, 0x8000);
        make_moderate(&g, RIGHT_AT, 0x8000);
        make_moderate(&g, BIAS_AT, 0x1000);
        multiply(&g, &p);
        for (uint32_t row = 0; row < p.m; row++) {
            for (uint32_t column = 0; column < p.n; column++) {
                float sum = real_sum(&g, &p, 0, row, column);
                if (p.bias) {
                    sum += as_float(memory_word(&g, BIAS_AT, column, TLY_PTO_FP32));
                }
                assert_true(as_float(result_word(&g, TILE_M, row, column)) == sum);
            }
        }
        check_padding(&g, &p, TILE_M);
        if (!p.bias) {
            accumulate_real(&g, &p);
            check_padding(&g, &p, TILE_M + 1);
        }
    }
    guest_free(&g);
}

/* Bytes that are moderate numbers of FP8, so that sums stay finite, now and then anything. */
static void tame_bytes(guest *g, check_rng *rng, uint64_t at, uint64_t len, uint8_t middle) {
    bool wild = check_below(rng, 4) == 0;
    for (uint64_t i = 0; i < len && !wild; i++) {
        uint8_t *byte = &g->m->memory.bytes[at + i];
        *byte = (uint8_t)((*byte & 0x87) | middle) ^ (uint8_t)(*byte & 0x08);
    }
}

/* Products of any types, scales and places, step by step with the profile's own steps. */
static void products_of_values(void **state) {
    static const pair of[] = {{"FP16", "E4M3", "FP32", TLY_PTO_FP16, TLY_PTO_E4M3},
                              {"FP32", "BF16", "FP32", TLY_PTO_FP32, TLY_PTO_BF16},
                              {"E4M3", "E4M3", "FP32", TLY_PTO_E4M3, TLY_PTO_E4M3},
                              {"E5M2", "E4M3", "FP32", TLY_PTO_E5M2, TLY_PTO_E4M3}};
    (void)state;
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(88)};
    g.m->profile = &tly_pto_profile_ieee;
    for (uint64_t round = 0; round < check_rounds(60); round++) {
        uint32_t kind = (uint32_t)check_below(&rng, 3);
        product p = random_product(&rng, kind == 0);
        if (kind != 0) {
            const pair *chosen = &of[check_below(&rng, 4)];
            p.left_type = chosen->left;
            p.right_type = chosen->right;
            p.sum_type = chosen->sum;
            p.left = chosen->left_type;
            p.right = chosen->right_type;
        }
        if (kind == 2) {
            p.m = 1u << check_below(&rng, p.wide ? 6 : 5);
            p.n = 1u << check_below(&rng, 6);
            p.k = 1u << check_below(&rng, 6);
            p.shared_right = true;
            p.shared_left = check_below(&rng, 2) == 0;
            p.trans_b = check_below(&rng, 2) == 0;
            p.trans_a = p.shared_left && check_below(&rng, 2) == 0;
        }
        randomise(&g, &rng);
        tame_bytes(&g, &rng, LEFT_AT, 0x8000, 0x30);
        tame_bytes(&g, &rng, RIGHT_AT, 0x8000, 0x30);
        if (check_below(&rng, 4) != 0) { /* scales near 1, otherwise out of all ranges */
            tame_bytes(&g, &rng, LEFT_SCALE_AT, 0x1000, 0x78);
            tame_bytes(&g, &rng, RIGHT_SCALE_AT, 0x1000, 0x78);
        }
        multiply(&g, &p);
        const tly_pto_matrix_types types = {.accumulator = TLY_PTO_FP32,
                                            .left = (uint8_t)p.left,
                                            .right = (uint8_t)p.right,
                                            .left_scale = TLY_PTO_E8M0,
                                            .right_scale = TLY_PTO_E8M0,
                                            .left_scaled = p.scaled,
                                            .right_scaled = p.scaled};
        uint32_t blocks = (p.k + 31) / 32;
        for (uint32_t at = 0; at < p.m * p.n; at++) {
            uint32_t row = at / p.n, column = at % p.n;
            uint64_t sum = 0;
            for (uint32_t k = 0; k < p.k; k++) {
                sum = g.m->profile->matrix_step(
                    &types, sum, left_word(&g, &p, row, k), right_word(&g, &p, k, column),
                    memory_word(&g, LEFT_SCALE_AT, row * blocks + k / 32, TLY_PTO_E8M0),
                    memory_word(&g, RIGHT_SCALE_AT, k / 32 * p.n + column, TLY_PTO_E8M0));
            }
            if (result_word(&g, TILE_M, row, column) != sum) {
                fail_msg("%s x %s, %u x %u x %u, element %u, %u: %llx, by steps %llx", p.left_type,
                         p.right_type, p.m, p.n, p.k, row, column,
                         (unsigned long long)result_word(&g, TILE_M, row, column),
                         (unsigned long long)sum);
            }
        }
    }
    guest_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_local_tiles),
        cmocka_unit_test(products_with_scales),
        cmocka_unit_test(products_with_shared_tiles),
        cmocka_unit_test(accumulation),
        cmocka_unit_test(maxima_of_rows_and_groups),
        cmocka_unit_test(products_of_bytes_on_every_level),
        cmocka_unit_test(products_of_real_numbers),
        cmocka_unit_test(products_of_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
