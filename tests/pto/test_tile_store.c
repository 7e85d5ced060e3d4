/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tiles against an array of words and an array of flags. */
#include "check.h"

#include <string.h>

#include "pto/tile/store.h"

enum { MAX_ELEMENTS = 524288 };

static const uint8_t types[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  11, 12, 13,
                                14, 16, 17, 18, 19, 20, 24, 25, 26, 27, 28};

static tly_context *context;
static tly_pto_tile_store *store;
static uint64_t model[MAX_ELEMENTS];
static bool flags[MAX_ELEMENTS];

static uint64_t cut(uint64_t word, uint32_t bits) {
    return bits == 64 ? word : word & ((UINT64_C(1) << bits) - 1);
}

/* A tile of any legal shape whose capacity is at most 8 KiB. */
static tly_pto_tile random_tile(check_rng *rng) {
    for (;;) {
        tly_pto_tile t = {.allocated = true};
        t.data_type = types[check_below(rng, sizeof types)];
        t.layout = (uint8_t)check_below(rng, TLY_PTO_LAYOUT_IMPLEMENTATION);
        t.capacity_bytes = tly_pto_size_code_bytes(1 + (uint32_t)check_below(rng, 7));
        t.valid_rows = (uint16_t)(1 + check_below(rng, 40));
        t.valid_columns = (uint16_t)(1 + check_below(rng, 40));
        if (tly_pto_layout_is_cube(t.layout)) {
            tly_pto_cube_shape s =
                tly_pto_cube_shape_of(t.layout, t.valid_rows, t.valid_columns, t.data_type);
            if (s.rows == 0 || s.storage_bytes > t.capacity_bytes) {
                continue;
            }
            t.rows = (uint16_t)s.rows;
            t.columns = (uint16_t)s.columns;
            t.cube_k_repeat = (uint16_t)s.k_repeat;
            t.cube_n_repeat = (uint16_t)s.n_repeat;
            return t;
        }
        t.columns = (uint16_t)(1u << check_below(rng, 8));
        t.rows = (uint16_t)tly_pto_derived_rows(t.capacity_bytes, t.columns, t.data_type);
        if (tly_pto_shape_legal(t.capacity_bytes, t.columns, t.valid_rows, t.valid_columns,
                                t.data_type) &&
            tly_pto_generic_indexing(&t)) {
            return t;
        }
    }
}

static uint64_t random_word(check_rng *rng, uint32_t bits) {
    uint64_t v = cut(check_random(rng), bits);
    switch (check_below(rng, 8)) {
    case 0:
        return check_random(rng);
    case 1:
    case 2:
        return (uint64_t)((int64_t)(v << (64 - bits)) >> (64 - bits));
    default:
        return v;
    }
}

static void indices_are_a_bijection_and_its_inverse(void **state) {
    (void)state;
    check_rng rng = {check_seed(11)};
    for (uint64_t round = 0; round < 300; round++) {
        tly_pto_tile t = random_tile(&rng);
        uint32_t count = tly_pto_tile_elements(&t);
        memset(flags, 0, count);
        for (uint32_t row = 0; row < t.rows; row++) {
            for (uint32_t column = 0; column < t.columns; column++) {
                uint32_t i = tly_pto_tile_index(&t, row, column), r, c;
                assert_in_range(i, 0, count - 1);
                assert_false(flags[i]);
                flags[i] = true;
                tly_pto_tile_position(&t, i, &r, &c);
                assert_int_equal(r, row);
                assert_int_equal(c, column);
            }
        }
    }
}

static void compare(const tly_pto_elements *e, const tly_pto_tile *t, check_rng *rng) {
    uint32_t count = tly_pto_tile_elements(t);
    static uint64_t words[MAX_ELEMENTS];
    uint32_t first = (uint32_t)check_below(rng, count);
    tly_pto_elements_read(e, t, first, count - first, words);
    for (uint32_t i = 0; i < count; i++) {
        assert_true(tly_pto_element_read(e, t, i) == model[i]);
        assert_true(i < first || words[i - first] == model[i]);
        assert_int_equal(tly_pto_element_is_defined(e, t, i), flags[i]);
    }
}

static void elements_are_what_was_written(void **state) {
    (void)state;
    check_rng rng = {check_seed(12)};
    tly_pto_elements *e = &store->local[3], *copy = &store->scratch[1];
    for (uint64_t round = 0; round < 150; round++) {
        tly_pto_tile t = random_tile(&rng);
        uint32_t count = tly_pto_tile_elements(&t), bits = tly_pto_dtype_bits(t.data_type);
        bool packed = tly_pto_tile_is_packed(&t);
        tly_pto_elements_clear(e);
        memset(model, 0, count * sizeof *model);
        memset(flags, 0, count);
        compare(e, &t, &rng);
        if (check_below(&rng, 2) != 0) {
            e->defined = TLY_PTO_DEFINED_VALID;
            for (uint32_t i = 0; i < (uint32_t)t.valid_rows * t.valid_columns; i++) {
                flags[tly_pto_tile_index(&t, i / t.valid_columns, i % t.valid_columns)] = true;
            }
            assert_true(tly_pto_valid_region_defined(e, &t));
        }
        for (uint32_t step = 0; step < 12; step++) {
            uint32_t first = (uint32_t)check_below(&rng, count);
            uint32_t run = 1 + (uint32_t)check_below(&rng, count - first);
            uint64_t words[8192 * 2];
            for (uint32_t i = 0; i < run; i++) {
                words[i] = step < 6 ? cut(check_random(&rng), bits) : random_word(&rng, bits);
                model[first + i] = packed ? cut(words[i], bits) : words[i];
            }
            tly_pto_elements_write(e, &t, first, run, words);
            uint32_t at = (uint32_t)check_below(&rng, count);
            flags[at] = check_below(&rng, 2) != 0;
            tly_pto_element_define(e, &t, at, flags[at]);
            compare(e, &t, &rng);
        }
        tly_pto_elements_copy(copy, e, &t);
        compare(copy, &t, &rng);
    }
}

static void a_payload_word_of_a_packed_tile_is_sixteen_nibbles(void **state) {
    (void)state;
    tly_pto_tile t = {.data_type = TLY_PTO_U4X2, .rows = 16, .columns = 16, .capacity_bytes = 128};
    tly_pto_elements *e = &store->local[0];
    tly_pto_elements_clear(e);
    assert_int_equal(tly_pto_payload_len(&t), 16);
    for (uint32_t i = 0; i < 16; i++) {
        tly_pto_element_write(e, &t, 32 + i, 15 - i);
    }
    assert_true(tly_pto_payload_read(e, &t, 2) == UINT64_C(0x0123456789abcdef));
    tly_pto_payload_write(e, &t, 1, UINT64_C(0xfedcba9876543210));
    assert_int_equal(tly_pto_element_read(e, &t, 16 + 5), 5);
}

static void eight_predicates_are_a_byte(void **state) {
    (void)state;
    tly_pto_tile t = {.storage_kind = TLY_PTO_PREDICATE,
                      .data_type = TLY_PTO_U8,
                      .rows = 4,
                      .columns = 8,
                      .capacity_bytes = 128};
    tly_pto_elements *e = &store->local[1];
    tly_pto_elements_clear(e);
    assert_int_equal(tly_pto_payload_len(&t), 4);
    tly_pto_predicate_write(e, &t, 9, true);
    tly_pto_predicate_write(e, &t, 15, true);
    assert_int_equal(tly_pto_payload_read(e, &t, 1), 0x82);
    tly_pto_predicate_write(e, &t, 15, false);
    assert_true(tly_pto_predicate_read(e, 9));
    assert_false(tly_pto_predicate_read(e, 15));
}

static int set_up(void **state) {
    (void)state;
    tly_error err;
    return tly_context_new(NULL, &context, &err) != TLY_OK ||
           tly_pto_tile_store_new(context, &store, &err) != TLY_OK;
}

static int tear_down(void **state) {
    (void)state;
    tly_pto_tile_store_free(context, store);
    tly_context_free(context);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_are_a_bijection_and_its_inverse),
        cmocka_unit_test(elements_are_what_was_written),
        cmocka_unit_test(a_payload_word_of_a_packed_tile_is_sixteen_nibbles),
        cmocka_unit_test(eight_predicates_are_a_byte),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
