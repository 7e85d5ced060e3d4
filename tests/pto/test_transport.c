/* SPDX-License-Identifier: Apache-2.0 */
/* Rows in memory and elements in tiles: the bytes of cells are those of the panel profiles, every
 * layout is what its index says, and the first element that may not be accessed raises the
 * fault. */
#include "guest.h"

#include <tilery/pack.h>
#include <tilery/panel.h>

#include "pto/memory.h"
#include "pto/tile/lanes.h"
#include "pto/tile/transport.h"

enum { MEMORY_LEN = 1 << 20, ROWS_AT = 4096, BACK_AT = 1 << 19 };

static const char *const type_names[] = {"U8", "E4M3", "S16", "BF16", "U32", "FP32", "S4X2"};
static const uint8_t types[] = {TLY_PTO_U8,  TLY_PTO_E4M3, TLY_PTO_S16, TLY_PTO_BF16,
                                TLY_PTO_U32, TLY_PTO_FP32, TLY_PTO_S4X2};
enum { NUM_TYPES = sizeof(types) };

/* Cells of four-bit elements have no panel profile; these are their loops. */
static void four_bit_nest(uint32_t layout, uint64_t rows, uint64_t columns, tly_nest *out) {
    const tly_loop m16[] = {{1, 0, 16, (columns + 15) / 16, 256},
                            {0, 0, 1, 16, 16},
                            {1, 0, 4, 2, 8},
                            {1, 0, 8, 2, 4},
                            {1, 0, 1, 4, 1}};
    const tly_loop m32[] = {{1, 0, 8, (columns + 7) / 8, 256}, {0, 0, 1, 32, 8}, {1, 0, 1, 8, 1}};
    const uint64_t k_cells = (rows + 31) / 32;
    const tly_loop n8[] = {{1, 0, 8, (columns + 7) / 8, (int64_t)k_cells * 256},
                           {0, 0, 32, k_cells, 256},
                           {1, 0, 1, 8, 32},
                           {0, 0, 1, 32, 1}};
    const tly_loop *loops = layout == TLY_PTO_LAYOUT_CUBE_M16   ? m16
                            : layout == TLY_PTO_LAYOUT_CUBE_M32 ? m32
                                                                : n8;
    out->rank = 2;
    out->num_loops = layout == TLY_PTO_LAYOUT_CUBE_M16   ? 5
                     : layout == TLY_PTO_LAYOUT_CUBE_M32 ? 3
                                                         : 4;
    out->shape[0] = rows;
    out->shape[1] = columns;
    memcpy(out->loops, loops, sizeof(*loops) * out->num_loops);
}

/* What the packing engine makes of a dense matrix for the panel profile of the layout. */
static uint64_t pack_panel(guest *g, uint32_t layout, uint32_t bits, uint64_t rows,
                           uint64_t columns, const uint8_t *matrix, uint8_t *out) {
    static const char *const names[] = {"cube_m16", "cube_m32", "cube_n8"};
    static const tly_dtype dtypes[] = {TLY_I8, TLY_F16, TLY_F32};
    const uint64_t shape[2] = {rows, columns};
    tly_nest panel, dense;
    tly_pack_plan *plan;
    tly_error err = {0};
    CHECK_OK(tly_nest_row_major(&dense, 2, shape), &err);
    if (bits == 4) {
        four_bit_nest(layout, rows, columns, &panel);
        dense.loops[0].stride = (int64_t)(columns + 1) / 2 * 2; /* rows begin at bytes */
    } else {
        tly_panel_profile profile = {.size = sizeof(profile)};
        CHECK_OK(tly_panel_by_name(names[layout - TLY_PTO_LAYOUT_CUBE_M16],
                                   dtypes[bits == 8    ? 0
                                          : bits == 16 ? 1
                                                       : 2],
                                   0, &profile, &err),
                 &err);
        CHECK_OK(tly_panel_bind(&profile, 2, shape, &panel, NULL, &err), &err);
    }
    CHECK_OK(tly_pack_plan_new(g->context, &panel, &dense, bits, NULL, &plan, &err), &err);
    uint64_t len = tly_pack_dst_len(plan);
    tly_pack_run(plan, out, matrix);
    tly_pack_plan_free(plan);
    return len;
}

static void cells_hold_the_bytes_of_panels(void **state) {
    (void)state;
    static const char *const codes[] = {"ND2M16", "ND2M32", "ND2N8"};
    static uint8_t wanted[1 << 18];
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(71)};
    for (uint64_t round = 0; round < check_rounds(400); round++) {
        uint32_t type = (uint32_t)check_below(&rng, NUM_TYPES);
        uint32_t bits = tly_pto_dtype_bits(types[type]);
        uint32_t code = (uint32_t)check_below(&rng, 3);
        uint32_t layout = TLY_PTO_LAYOUT_CUBE_M16 + code;
        uint32_t rows = 1 + (uint32_t)check_below(&rng, code == 0 ? 16 : code == 1 ? 32 : 90);
        uint32_t columns = 1 + (uint32_t)check_below(&rng, 90);
        char text[400];
        guest_release_tiles(&g);
        guest_fill(&g, &rng, ROWS_AT, (uint64_t)rows * columns * 4);
        guest_set(&g, 2, ROWS_AT);
        guest_set(&g, 3, ((uint64_t)columns * bits + 7) / 8);
        snprintf(text, sizeof(text),
                 "BSTART.TLOAD %s\nB.DATR %s, DTYPE_NONE, Zero\nB.DIM zero, %u, ->lb0\n"
                 "B.DIM zero, %u, ->lb1\nB.IOR [a0, a1, zero], ->zero\n"
                 "B.IOT mask=1000, last, ->m<64KB>\nBSTOP\n",
                 type_names[type], codes[code], columns, rows);
        guest_run(&g, text);
        uint64_t len =
            pack_panel(&g, layout, bits, rows, columns, g.m->memory.bytes + ROWS_AT, wanted);
        const tly_pto_tile *tile = &g.m->core.tiles[32];
        assert_int_equal(tile->layout, layout);
        assert_int_equal(tile->cube_storage_bytes, len);
        assert_memory_equal(g.m->tiles->local[32].bytes, wanted, len);
    }
    guest_free(&g);
}

/* A tile of a random shape and layout; not allocated if the shape does not exist. */
static tly_pto_tile random_tile(guest *g, check_rng *rng) {
    static const uint8_t all[] = {TLY_PTO_FP64, TLY_PTO_S64,    TLY_PTO_FP32, TLY_PTO_S32,
                                  TLY_PTO_S16,  TLY_PTO_FP16,   TLY_PTO_S8,   TLY_PTO_U8,
                                  TLY_PTO_S4X2, TLY_PTO_E2M1X2, TLY_PTO_U4X2};
    uint32_t dtype = all[check_below(rng, sizeof(all))];
    uint32_t layout = (uint32_t)check_below(rng, 7);
    uint32_t capacity = 128u << check_below(rng, 9);
    if (tly_pto_layout_is_cube(layout)) {
        return tly_pto_cube_tile(g->m, capacity, 1 + (uint32_t)check_below(rng, 32),
                                 1 + (uint32_t)check_below(rng, 40), dtype, layout);
    }
    uint32_t columns = 1u << check_below(rng, 8);
    uint32_t rows = tly_pto_derived_rows(capacity, columns, dtype);
    tly_pto_tile tile = {0};
    if (rows == 0) {
        return tile;
    }
    tile = tly_pto_numeric_tile(capacity, columns, 1 + (uint32_t)check_below(rng, rows),
                                1 + (uint32_t)check_below(rng, columns), dtype, layout);
    if (check_below(rng, 3) == 0) {
        tile.valid_rows = tile.rows;
        tile.valid_columns = tile.columns;
    }
    tile.allocated = tly_pto_generic_indexing(&tile);
    return tile;
}

static uint64_t model_load(const guest *g, const tly_pto_rows *rows, uint32_t row,
                           uint32_t column) {
    uint32_t bits = tly_pto_dtype_bits(rows->dtype);
    uint64_t at = rows->base + row * rows->stride + (uint64_t)column * bits / 8;
    uint64_t raw = 0;
    for (uint32_t i = 0; i < (bits + 7) / 8; i++) {
        raw |= (uint64_t)g->m->memory.bytes[at + i] << (8 * i);
    }
    if (bits == 4) {
        return raw >> (column % 2 * 4) & 15;
    }
    return tly_pto_dtype_is_signed(rows->dtype) ? tly_pto_sign_extend(raw, bits) : raw;
}

static void check_loaded(const guest *g, const tly_pto_rows *rows, const tly_pto_tile *tile,
                         const tly_pto_elements *e, uint32_t pad) {
    bool cells = tly_pto_layout_is_cube(tile->layout);
    for (uint32_t row = 0; row < tile->rows; row++) {
        for (uint32_t column = 0; column < tile->columns; column++) {
            uint32_t index = tly_pto_tile_index(tile, row, column);
            bool valid = row < tile->valid_rows && column < tile->valid_columns;
            uint64_t wanted = valid   ? model_load(g, rows, row, column)
                              : cells ? tly_pto_pad_value(pad, tile->data_type)
                                      : 0;
            uint64_t got = tly_pto_element_read(e, tile, index);
            if (got != wanted) {
                fail_msg("layout %u, type %u, element %u, %u: 0x%llx, wanted 0x%llx", tile->layout,
                         tile->data_type, row, column, (unsigned long long)got,
                         (unsigned long long)wanted);
            }
            assert_int_equal(tly_pto_element_is_defined(e, tile, index),
                             valid || (cells && pad != 3));
        }
    }
}

/* Memory after all elements were stored one by one. */
static void model_store(const tly_pto_rows *rows, const tly_pto_tile *tile,
                        const tly_pto_elements *e, uint8_t *memory) {
    uint32_t bits = tly_pto_dtype_bits(rows->dtype);
    for (uint32_t row = 0; row < rows->num_rows; row++) {
        for (uint32_t column = 0; column < rows->num_columns; column++) {
            uint64_t word = tly_pto_element_read(e, tile, tly_pto_tile_index(tile, row, column));
            uint64_t address = rows->base + row * rows->stride + (uint64_t)column * bits / 8;
            uint8_t *at = memory + address;
            if (bits == 4) {
                uint32_t shift = column % 2 * 4;
                *at = (uint8_t)((*at & ~(15u << shift)) | (word & 15) << shift);
                continue;
            }
            for (uint32_t i = 0; i < bits / 8; i++) {
                at[i] = (uint8_t)(word >> (8 * i));
            }
        }
    }
}

static void every_layout_is_what_its_index_says(void **state) {
    (void)state;
    static uint8_t wanted[MEMORY_LEN];
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(72)};
    tly_pto_elements *e = &g.m->tiles->local[0];
    guest_fill(&g, &rng, 0, MEMORY_LEN);
    for (uint64_t round = 0; round < check_rounds(700); round++) {
        tly_pto_tile tile = random_tile(&g, &rng);
        if (!tile.allocated) {
            continue;
        }
        uint32_t size = tly_pto_access_len(tile.data_type);
        uint64_t dense = tly_pto_dense_stride(tile.valid_columns, tile.data_type);
        uint64_t strides[] = {
            dense, dense + size * check_below(&rng, 9), 0 - dense, size, 0 - (uint64_t)size, 0};
        uint64_t stride = strides[check_below(&rng, 6)];
        uint32_t pad = (uint32_t)check_below(&rng, 4);
        tly_pto_rows rows = {.base = BACK_AT,
                             .stride = stride,
                             .num_rows = tile.valid_rows,
                             .num_columns = tile.valid_columns,
                             .dtype = tile.data_type};
        assert_true(tly_pto_check_rows(g.m, &rows));
        tly_pto_load_rows(g.m, &rows, &tile, e, pad);
        check_loaded(&g, &rows, &tile, e, pad);
        rows.base += size * check_below(&rng, 64);
        memcpy(wanted, g.m->memory.bytes, MEMORY_LEN);
        model_store(&rows, &tile, e, wanted);
        tly_pto_store_rows(g.m, &rows, &tile, e);
        if (memcmp(wanted, g.m->memory.bytes, MEMORY_LEN) != 0) {
            fail_msg("stored otherwise: layout %u, type %u, %u x %u, stride %lld", tile.layout,
                     tile.data_type, tile.valid_rows, tile.valid_columns, (long long)stride);
        }
    }
    guest_free(&g);
}

static void the_first_element_out_of_reach_faults(void **state) {
    (void)state;
    enum { SMALL = 4096 };
    guest g = guest_make(SMALL, TLY_SIMD_AUTO);
    check_rng rng = {check_seed(73)};
    for (uint64_t round = 0; round < check_rounds(20000); round++) {
        static const uint8_t dtypes[] = {TLY_PTO_U8, TLY_PTO_S16, TLY_PTO_FP32, TLY_PTO_U64,
                                         TLY_PTO_U4X2};
        tly_pto_rows rows = {.base = check_below(&rng, 8) == 0 ? 0 - check_below(&rng, 64)
                                                               : check_below(&rng, SMALL + 64),
                             .stride = check_below(&rng, 4) == 0 ? check_random(&rng)
                                                                 : check_below(&rng, 600) - 300,
                             .num_rows = 1 + (uint32_t)check_below(&rng, 12),
                             .num_columns = 1 + (uint32_t)check_below(&rng, 40),
                             .dtype = dtypes[check_below(&rng, sizeof(dtypes))]};
        uint32_t size = tly_pto_access_len(rows.dtype);
        uint32_t fault = TLY_PTO_FAULT_NONE;
        uint64_t address = 0;
        for (uint32_t row = 0; fault == 0 && row < rows.num_rows; row++) {
            for (uint32_t column = 0; fault == 0 && column < rows.num_columns; column++) {
                address = rows.base + row * rows.stride +
                          (uint64_t)column * tly_pto_dtype_bits(rows.dtype) / 8;
                fault = address % size != 0                         ? TLY_PTO_FAULT_DATA_ALIGNMENT
                        : address > SMALL || SMALL - address < size ? TLY_PTO_FAULT_DATA_PAGE
                                                                    : TLY_PTO_FAULT_NONE;
            }
        }
        g.m->core.last_fault = TLY_PTO_FAULT_NONE;
        assert_int_equal(tly_pto_check_rows(g.m, &rows), fault == TLY_PTO_FAULT_NONE);
        assert_int_equal(g.m->core.last_fault, fault);
        if (fault != TLY_PTO_FAULT_NONE) {
            assert_true(g.m->core.fault_address == address);
        }
    }
    guest_free(&g);
}

static void a_store_ends_the_reservation_that_it_meets(void **state) {
    (void)state;
    guest g = guest_make(MEMORY_LEN, TLY_SIMD_AUTO);
    tly_pto_tile tile = tly_pto_cube_tile(g.m, 1024, 4, 4, TLY_PTO_S32, TLY_PTO_LAYOUT_CUBE_M16);
    tly_pto_rows rows = {ROWS_AT, 256, 4, 4, TLY_PTO_S32};
    for (uint32_t row = 0; row < 4; row++) {
        for (uint32_t gap = 0; gap < 2; gap++) {
            g.m->core.reservation = (tly_pto_reservation){true, 4, ROWS_AT + row * 256 + gap * 64};
            tly_pto_store_rows(g.m, &rows, &tile, &g.m->tiles->local[0]);
            assert_int_equal(g.m->core.reservation.valid, gap == 1);
        }
    }
    guest_free(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cells_hold_the_bytes_of_panels),
        cmocka_unit_test(every_layout_is_what_its_index_says),
        cmocka_unit_test(the_first_element_out_of_reach_faults),
        cmocka_unit_test(a_store_ends_the_reservation_that_it_meets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
