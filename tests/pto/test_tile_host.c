/* SPDX-License-Identifier: Apache-2.0 */
/* Tiles that a host allocates, releases and copies. */
#include "check.h"

#include <string.h>

#include <tilery/pto.h>

#include "pto/tile/allocate.h"
#include "pto/tile/legal.h"

static tly_context *context;
static tly_pto_machine *m;

static tly_pto_tile_shape shape_of(uint32_t bytes, uint32_t dtype, uint32_t rows,
                                   uint32_t columns) {
    return (tly_pto_tile_shape){.size = sizeof(tly_pto_tile_shape),
                                .capacity_bytes = bytes,
                                .pe_mask = 15,
                                .data_type = dtype,
                                .rows = rows,
                                .columns = columns,
                                .valid_rows = rows,
                                .valid_columns = columns};
}

static void refused(uint32_t tile, const tly_pto_tile_shape *shape, tly_pto_fault fault,
                    const char *rule) {
    static tly_pto_core before;
    tly_pto_refusal why = {.size = sizeof why};
    before = m->core;
    assert_int_equal(tly_pto_tile_allocate(m, tile, shape, &why), 0);
    assert_int_equal(why.fault, fault);
    assert_string_equal(why.rule, rule);
    assert_true(strlen(why.text) > 10 && strchr(why.text, '{') == NULL);
    assert_memory_equal(&before, &m->core, sizeof before);
    assert_int_equal(tly_pto_tile_allocate(m, tile, shape, NULL), 0);
}

static void taken(uint32_t tile, const tly_pto_tile_shape *shape) {
    tly_pto_refusal why = {.size = sizeof why};
    if (!tly_pto_tile_allocate(m, tile, shape, &why)) {
        fail_msg("%s: %s", why.rule, why.text);
    }
    assert_int_equal(why.fault, 0);
}

static void every_check_has_its_fault_and_its_rule(void **state) {
    (void)state;
    tly_pto_reset(m);
    tly_pto_tile_shape s = shape_of(1024, TLY_PTO_FP32, 16, 16);
    refused(64, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-number");
    s.size--;
    refused(0, &s, TLY_PTO_FAULT_TILE_LEGALITY, "tile-shape-version");
    s = shape_of(1024, TLY_PTO_FP32, 16, 16);
    s.pe_mask = 0;
    refused(0, &s, TLY_PTO_FAULT_TILE_LEGALITY, "tile-mask-empty");
    s.pe_mask = 16;
    refused(0, &s, TLY_PTO_FAULT_TILE_LEGALITY, "tile-mask-empty");
    s = shape_of(0, TLY_PTO_FP32, 16, 16);
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-capacity-unit");
    s = shape_of(1000, TLY_PTO_FP32, 1, 1);
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-capacity-unit");
    s = shape_of(65536 + 128, TLY_PTO_FP32, 1, 1);
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-capacity-unit");
    s = shape_of(1024, 15, 16, 16);
    refused(0, &s, TLY_PTO_FAULT_TILE_LEGALITY, "tile-type-reserved");
    s = shape_of(1024, TLY_PTO_FP32, 16, 16);
    s.layout = TLY_PTO_LAYOUT_IMPLEMENTATION;
    refused(0, &s, TLY_PTO_FAULT_TILE_LEGALITY, "tile-layout-reserved");
    s = shape_of(1024, TLY_PTO_FP32, 0, 16);
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-extent-zero");
    s = shape_of(1024, TLY_PTO_FP32, 16, 16);
    s.valid_columns = 17;
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-region-outside");
    s = shape_of(1024, TLY_PTO_FP32, 17, 16);
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-storage");
    s = shape_of(1024, TLY_PTO_FP32, 2, 24);
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-columns");
    s = shape_of(65536, TLY_PTO_U8, 65535, 1);
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-result-capacity");
    s = shape_of(128, TLY_PTO_FP32, 8, 4);
    s.layout = TLY_PTO_LAYOUT_ZN;
    refused(0, &s, TLY_PTO_FAULT_TILE_LEGALITY, "tile-result-fractals");
    s = shape_of(128, TLY_PTO_FP32, 17, 2);
    s.layout = TLY_PTO_LAYOUT_CUBE_M16;
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-cells");
    s = shape_of(65536, 0, 512, 128);
    s.is_predicate = 1;
    refused(0, &s, TLY_PTO_FAULT_TILE_ALLOCATION, "tile-predicates");
}

static void storage_is_counted_in_bits(void **state) {
    (void)state;
    tly_pto_reset(m);
    tly_pto_tile_shape s = shape_of(128, TLY_PTO_U4X2, 16, 16);
    taken(0, &s);
    assert_int_equal(m->core.tiles[0].rows, 16);
    s = shape_of(128, TLY_PTO_U8, 8, 8); /* capacity has room for more rows */
    taken(1, &s);
    assert_int_equal(m->core.tiles[1].rows, 16);
    s = shape_of(128, 0, 32, 32);
    s.is_predicate = 1;
    taken(2, &s);
    assert_int_equal(m->core.tiles[2].storage_kind, TLY_PTO_PREDICATE);
}

/* The sum over all masks and capacities, told from the descriptors. */
static uint64_t sum(void) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
            bool takes = (m->core.tile_allocation_masks[i] >> pe & 1) != 0;
            total += m->core.tiles[i].allocated && takes ? m->core.tiles[i].capacity_bytes : 0;
        }
    }
    return total;
}

static void the_sum_never_exceeds_the_core_and_old_shares_come_back_first(void **state) {
    (void)state;
    check_rng rng = {check_seed(21)};
    tly_pto_reset(m);
    uint64_t refusals = 0;
    for (uint32_t round = 0; round < 4000; round++) {
        tly_pto_refusal why = {.size = sizeof why};
        uint32_t tile = (uint32_t)check_below(&rng, TLY_PTO_NUM_TILES);
        uint64_t before = sum(), old = 0;
        for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
            old += m->core.tile_allocation_masks[tile] >> pe & 1
                       ? m->core.tiles[tile].capacity_bytes
                       : 0;
        }
        tly_pto_tile_shape s = shape_of(128u << check_below(&rng, 10), TLY_PTO_U16, 1, 8);
        s.pe_mask = 1 + (uint32_t)check_below(&rng, 15);
        uint64_t wanted = (uint64_t)__builtin_popcount(s.pe_mask) * s.capacity_bytes;
        int done = tly_pto_tile_allocate(m, tile, &s, &why);
        assert_int_equal(done, before - old + wanted <= TLY_PTO_TILE_CAPACITY);
        assert_int_equal(sum(), done ? before - old + wanted : before);
        assert_int_equal(tly_pto_capacity_in_use(m), sum());
        if (!done) {
            refusals++;
            assert_string_equal(why.rule, "tile-core-capacity");
            tile = (uint32_t)check_below(&rng, TLY_PTO_NUM_TILES);
            assert_int_equal(tly_pto_tile_release(m, tile, &why), 1);
            assert_int_equal(m->core.tiles[tile].allocated, 0);
            assert_int_equal(m->core.tile_allocation_masks[tile], 0);
            assert_int_equal(tly_pto_capacity_in_use(m), sum());
        }
    }
    assert_true(refusals > 100);
}

static void a_copy_has_elements_and_what_is_defined(void **state) {
    (void)state;
    tly_pto_reset(m);
    tly_pto_refusal why = {.size = sizeof why};
    tly_pto_tile_shape s = shape_of(256, TLY_PTO_S16, 8, 16);
    assert_int_equal(tly_pto_tile_copy(m, 1, 0, &why), 0);
    assert_string_equal(why.rule, "tile-copy-free");
    taken(0, &s);
    for (uint32_t i = 0; i < 20; i++) {
        tly_pto_element_write(&m->tiles->local[0], &m->core.tiles[0], i, (uint64_t)-1 - i);
        tly_pto_element_define(&m->tiles->local[0], &m->core.tiles[0], i, true);
    }
    assert_int_equal(tly_pto_tile_copy(m, 17, 0, &why), 1);
    for (uint32_t i = 0; i < 128; i++) {
        assert_int_equal(tly_pto_element_is_defined(&m->tiles->local[17], &m->core.tiles[17], i),
                         i < 20);
        assert_true(tly_pto_element_read(&m->tiles->local[17], &m->core.tiles[17], i) ==
                    (i < 20 ? (uint64_t)-1 - i : 0));
    }
    assert_memory_equal(&m->core.tiles[0], &m->core.tiles[17], sizeof m->core.tiles[0]);
    /* what is released is gone */
    assert_int_equal(tly_pto_tile_release(m, 17, &why), 1);
    taken(17, &s);
    assert_true(tly_pto_element_read(&m->tiles->local[17], &m->core.tiles[17], 3) == 0);
    assert_false(tly_pto_element_is_defined(&m->tiles->local[17], &m->core.tiles[17], 3));
    /* a copy that does not fit leaves the destination */
    m->core.base.tile_capacity = 4 * 256 + 128;
    assert_int_equal(tly_pto_tile_release(m, 17, &why), 1);
    assert_int_equal(tly_pto_tile_copy(m, 5, 0, &why), 0);
    assert_string_equal(why.rule, "tile-core-capacity");
    assert_int_equal(m->core.tiles[5].allocated, 0);
    assert_int_equal(tly_pto_tile_copy(m, 0, 0, &why), 1);
}

static int set_up(void **state) {
    (void)state;
    tly_error err;
    tly_pto_options options = {.size = sizeof options, .memory_bytes = 4096};
    return tly_context_new(NULL, &context, &err) != TLY_OK ||
           tly_pto_new(context, &options, &m, &err) != TLY_OK;
}

static int tear_down(void **state) {
    (void)state;
    tly_pto_free(m);
    tly_context_free(context);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_check_has_its_fault_and_its_rule),
        cmocka_unit_test(storage_is_counted_in_bits),
        cmocka_unit_test(the_sum_never_exceeds_the_core_and_old_shares_come_back_first),
        cmocka_unit_test(a_copy_has_elements_and_what_is_defined),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
