/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/shape.h"

#include "base/checked.h"

enum { MAX_CELLS = 16384, N8_COLUMNS = 8 };

uint32_t tly_pto_minimum_capacity(uint32_t columns, uint32_t valid_rows, uint32_t valid_columns,
                                  uint32_t dtype) {
    for (uint32_t code = 1; code <= TLY_PTO_MAX_SIZE_CODE; code++) {
        uint32_t bytes = tly_pto_size_code_bytes(code);
        if (tly_pto_shape_legal(bytes, columns, valid_rows, valid_columns, dtype)) {
            return bytes;
        }
    }
    return 0;
}

/* Rounds up to whole cells; 0 when that is no extent any more. */
static uint32_t whole_cells(uint32_t extent, uint32_t cell) {
    uint32_t aligned = (extent + cell - 1) / cell * cell;
    return aligned > TLY_PTO_TILE_MAX_EXTENT ? 0 : aligned;
}

tly_pto_cube_shape tly_pto_cube_shape_of(uint32_t layout, uint32_t valid_rows,
                                         uint32_t valid_columns, uint32_t dtype) {
    const tly_pto_cube_shape none = {0};
    uint32_t bits = tly_pto_dtype_bits(dtype);
    if (!tly_pto_layout_is_cube(layout) || dtype == TLY_PTO_HIF4X2 || bits == 64 ||
        valid_rows == 0 || valid_columns == 0) {
        return none;
    }
    tly_pto_cube_shape s = none;
    uint32_t cell_elements = TLY_PTO_CELL_BYTES * 8 / bits;
    if (layout == TLY_PTO_LAYOUT_CUBE_N8) {
        s.cell_columns = N8_COLUMNS;
        s.cell_rows = cell_elements / N8_COLUMNS;
        s.rows = whole_cells(valid_rows, s.cell_rows);
    } else {
        s.cell_rows = layout == TLY_PTO_LAYOUT_CUBE_M16 ? 16 : 32;
        s.cell_columns = cell_elements / s.cell_rows;
        s.rows = valid_rows > s.cell_rows ? 0 : s.cell_rows;
    }
    s.columns = whole_cells(valid_columns, s.cell_columns);
    if (s.rows == 0 || s.columns == 0) {
        return none;
    }
    uint32_t column_cells = s.columns / s.cell_columns;
    bool by_rows = layout == TLY_PTO_LAYOUT_CUBE_N8;
    s.k_repeat = by_rows ? s.rows / s.cell_rows : column_cells;
    s.n_repeat = by_rows ? column_cells : 1;
    uint64_t cells = (uint64_t)s.k_repeat * s.n_repeat;
    if (cells > MAX_CELLS || cells * TLY_PTO_CELL_BYTES > TLY_PTO_TILE_CAPACITY ||
        cells * cell_elements > TLY_PTO_WIDE_ELEMENTS) {
        return none;
    }
    s.cell_count = (uint32_t)cells;
    s.storage_bytes = s.cell_count * TLY_PTO_CELL_BYTES;
    return s;
}

/* Inside of an M16 cell of four-bit elements the middle quarters of a row stand exchanged. */
static uint32_t exchange_quarters(uint32_t column) {
    return column >= 4 && column < 8    ? column + 4
           : column >= 8 && column < 12 ? column - 4
                                        : column;
}

static bool quarters_exchanged(const tly_pto_tile *tile) {
    return tile->layout == TLY_PTO_LAYOUT_CUBE_M16 && tly_pto_dtype_bits(tile->data_type) == 4;
}

static uint32_t cube_index(const tly_pto_tile *tile, uint32_t row, uint32_t column) {
    uint32_t cell_elements = TLY_PTO_CELL_BYTES * 8 / tly_pto_dtype_bits(tile->data_type);
    if (tile->layout == TLY_PTO_LAYOUT_CUBE_N8) {
        uint32_t cell_rows = cell_elements / N8_COLUMNS;
        uint32_t cell = column / N8_COLUMNS * tile->cube_k_repeat + row / cell_rows;
        return cell * cell_elements + column % N8_COLUMNS * cell_rows + row % cell_rows;
    }
    uint32_t cell_rows = tile->layout == TLY_PTO_LAYOUT_CUBE_M16 ? 16 : 32;
    uint32_t cell_columns = cell_elements / cell_rows;
    uint32_t inner = column % cell_columns;
    if (quarters_exchanged(tile)) {
        inner = exchange_quarters(inner);
    }
    return column / cell_columns * cell_elements + row * cell_columns + inner;
}

static void cube_position(const tly_pto_tile *tile, uint32_t index, uint32_t *row,
                          uint32_t *column) {
    uint32_t cell_elements = TLY_PTO_CELL_BYTES * 8 / tly_pto_dtype_bits(tile->data_type);
    uint32_t cell = index / cell_elements, local = index % cell_elements;
    if (tile->layout == TLY_PTO_LAYOUT_CUBE_N8) {
        uint32_t cell_rows = cell_elements / N8_COLUMNS;
        *row = cell % tile->cube_k_repeat * cell_rows + local % cell_rows;
        *column = cell / tile->cube_k_repeat * N8_COLUMNS + local / cell_rows;
        return;
    }
    uint32_t cell_rows = tile->layout == TLY_PTO_LAYOUT_CUBE_M16 ? 16 : 32;
    uint32_t cell_columns = cell_elements / cell_rows;
    uint32_t inner = local % cell_columns;
    if (quarters_exchanged(tile)) {
        inner = exchange_quarters(inner);
    }
    *row = local / cell_columns;
    *column = cell * cell_columns + inner;
}

uint32_t tly_pto_tile_index(const tly_pto_tile *tile, uint32_t row, uint32_t column) {
    switch (tile->layout) {
    case TLY_PTO_LAYOUT_COLUMN_MAJOR:
        return column * tile->rows + row;
    case TLY_PTO_LAYOUT_ZN: {
        uint32_t inner = tly_pto_fractal_columns(tile->data_type);
        uint32_t block = row / TLY_PTO_FRACTAL_ROWS * (tile->columns / inner) + column / inner;
        return block * TLY_PTO_FRACTAL_ROWS * inner + column % inner * TLY_PTO_FRACTAL_ROWS +
               row % TLY_PTO_FRACTAL_ROWS;
    }
    case TLY_PTO_LAYOUT_NZ: {
        uint32_t inner = tly_pto_fractal_columns(tile->data_type);
        uint32_t block =
            column / inner * (tile->rows / TLY_PTO_FRACTAL_ROWS) + row / TLY_PTO_FRACTAL_ROWS;
        return block * TLY_PTO_FRACTAL_ROWS * inner + row % TLY_PTO_FRACTAL_ROWS * inner +
               column % inner;
    }
    case TLY_PTO_LAYOUT_CUBE_M16:
    case TLY_PTO_LAYOUT_CUBE_M32:
    case TLY_PTO_LAYOUT_CUBE_N8:
        return cube_index(tile, row, column);
    default:
        return row * tile->columns + column;
    }
}

void tly_pto_tile_position(const tly_pto_tile *tile, uint32_t index, uint32_t *out_row,
                           uint32_t *out_column) {
    switch (tile->layout) {
    case TLY_PTO_LAYOUT_COLUMN_MAJOR:
        *out_row = index % tile->rows;
        *out_column = index / tile->rows;
        return;
    case TLY_PTO_LAYOUT_ZN: {
        uint32_t inner = tly_pto_fractal_columns(tile->data_type);
        uint32_t block = index / (TLY_PTO_FRACTAL_ROWS * inner),
                 local = index % (TLY_PTO_FRACTAL_ROWS * inner);
        *out_row =
            block / (tile->columns / inner) * TLY_PTO_FRACTAL_ROWS + local % TLY_PTO_FRACTAL_ROWS;
        *out_column = block % (tile->columns / inner) * inner + local / TLY_PTO_FRACTAL_ROWS;
        return;
    }
    case TLY_PTO_LAYOUT_NZ: {
        uint32_t inner = tly_pto_fractal_columns(tile->data_type);
        uint32_t block = index / (TLY_PTO_FRACTAL_ROWS * inner),
                 local = index % (TLY_PTO_FRACTAL_ROWS * inner);
        *out_row =
            block % (tile->rows / TLY_PTO_FRACTAL_ROWS) * TLY_PTO_FRACTAL_ROWS + local / inner;
        *out_column = block / (tile->rows / TLY_PTO_FRACTAL_ROWS) * inner + local % inner;
        return;
    }
    case TLY_PTO_LAYOUT_CUBE_M16:
    case TLY_PTO_LAYOUT_CUBE_M32:
    case TLY_PTO_LAYOUT_CUBE_N8:
        cube_position(tile, index, out_row, out_column);
        return;
    default:
        *out_row = index / tile->columns;
        *out_column = index % tile->columns;
        return;
    }
}
