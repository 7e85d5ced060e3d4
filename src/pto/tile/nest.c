/* SPDX-License-Identifier: Apache-2.0 */
/* Layouts of tiles as loop nests. tly_pto_tile_index is the same, element by element. */
#include "pto/tile/transport.h"

enum { ROWS, COLUMNS };
enum { FRACTAL_ROWS = 16, N8_COLUMNS = 8, QUARTER = 4 };

static void put(tly_nest *nest, uint32_t axis, uint64_t step, uint64_t count, uint64_t stride) {
    nest->loops[nest->num_loops++] =
        (tly_loop){.axis = axis, .step = step, .count = count, .stride = (int64_t)stride};
}

static void put_fractal(tly_nest *nest, const tly_pto_tile *tile) {
    uint64_t inner = tly_pto_fractal_columns(tile->data_type);
    uint64_t block = FRACTAL_ROWS * inner;
    uint64_t block_rows = tile->rows / FRACTAL_ROWS, block_columns = tile->columns / inner;
    if (tile->layout == TLY_PTO_LAYOUT_ZN) {
        put(nest, ROWS, FRACTAL_ROWS, block_rows, block_columns * block);
        put(nest, COLUMNS, inner, block_columns, block);
        put(nest, COLUMNS, 1, inner, FRACTAL_ROWS);
        put(nest, ROWS, 1, FRACTAL_ROWS, 1);
    } else {
        put(nest, COLUMNS, inner, block_columns, block_rows * block);
        put(nest, ROWS, FRACTAL_ROWS, block_rows, block);
        put(nest, ROWS, 1, FRACTAL_ROWS, inner);
        put(nest, COLUMNS, 1, inner, 1);
    }
}

static void put_cells(tly_nest *nest, const tly_pto_tile *tile) {
    uint32_t bits = tly_pto_dtype_bits(tile->data_type);
    uint64_t cell = TLY_PTO_CELL_BYTES * 8 / bits;
    if (tile->layout == TLY_PTO_LAYOUT_CUBE_N8) {
        uint64_t cell_rows = cell / N8_COLUMNS;
        put(nest, COLUMNS, N8_COLUMNS, tile->cube_n_repeat, tile->cube_k_repeat * cell);
        put(nest, ROWS, cell_rows, tile->cube_k_repeat, cell);
        put(nest, COLUMNS, 1, N8_COLUMNS, cell_rows);
        put(nest, ROWS, 1, cell_rows, 1);
        return;
    }
    uint64_t cell_rows = tile->layout == TLY_PTO_LAYOUT_CUBE_M16 ? 16 : 32;
    uint64_t cell_columns = cell / cell_rows;
    put(nest, COLUMNS, cell_columns, tile->cube_k_repeat, cell);
    put(nest, ROWS, 1, cell_rows, cell_columns);
    if (bits == 4 && tile->layout == TLY_PTO_LAYOUT_CUBE_M16) {
        /* the middle quarters of a row of a cell stand exchanged */
        put(nest, COLUMNS, QUARTER, 2, 2 * QUARTER);
        put(nest, COLUMNS, 2 * QUARTER, 2, QUARTER);
        put(nest, COLUMNS, 1, QUARTER, 1);
    } else {
        put(nest, COLUMNS, 1, cell_columns, 1);
    }
}

void tly_pto_tile_nest(const tly_pto_tile *tile, tly_nest *out) {
    out->rank = 2;
    out->num_loops = 0;
    out->shape[ROWS] = tile->valid_rows;
    out->shape[COLUMNS] = tile->valid_columns;
    switch (tile->layout) {
    case TLY_PTO_LAYOUT_COLUMN_MAJOR:
        put(out, COLUMNS, 1, tile->columns, tile->rows);
        put(out, ROWS, 1, tile->rows, 1);
        return;
    case TLY_PTO_LAYOUT_ZN:
    case TLY_PTO_LAYOUT_NZ:
        put_fractal(out, tile);
        return;
    case TLY_PTO_LAYOUT_CUBE_M16:
    case TLY_PTO_LAYOUT_CUBE_M32:
    case TLY_PTO_LAYOUT_CUBE_N8:
        put_cells(out, tile);
        return;
    default:
        put(out, ROWS, 1, tile->rows, tile->columns);
        put(out, COLUMNS, 1, tile->columns, 1);
        return;
    }
}
