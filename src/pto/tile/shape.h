/* SPDX-License-Identifier: Apache-2.0 */
/* Geometry of tiles: rows from capacity, cells of the matrix unit, and where an element of a row
 * and a column stands (asl/tile/model/shape, asl/tile/model/definedness/elements). */
#ifndef TLY_PTO_TILE_SHAPE_H
#define TLY_PTO_TILE_SHAPE_H

#include "pto/state.h"
#include "pto/tile/dtype.h"

enum {
    TLY_PTO_CELL_BYTES = 128,        /* of a matrix cell, and the unit of capacity */
    TLY_PTO_TILE_MAX_EXTENT = 65535, /* rows or columns */
    TLY_PTO_MAX_SIZE_CODE = 12,
    TLY_PTO_FRACTAL_ROWS = 16,
    TLY_PTO_WIDE_ELEMENTS = 32768 /* a tile of more elements keeps nothing but their bits */
};

/* 128 << (code - 1) for the codes 1 to 12, else 0. */
static inline uint32_t tly_pto_size_code_bytes(uint32_t code) {
    return code == 0 || code > TLY_PTO_MAX_SIZE_CODE ? 0
                                                     : (uint32_t)TLY_PTO_CELL_BYTES << (code - 1);
}

/* Rows that fill `capacity_bytes` exactly; 0 when there is no legal number. */
static inline uint32_t tly_pto_derived_rows(uint32_t capacity_bytes, uint32_t columns,
                                            uint32_t dtype) {
    if (columns > TLY_PTO_TILE_MAX_EXTENT || (columns & (columns - 1)) != 0 || columns == 0) {
        return 0;
    }
    uint32_t capacity_bits = capacity_bytes * 8;
    uint32_t row_bits = columns * tly_pto_dtype_bits(dtype); /* a power of two, as both factors */
    uint32_t rows = capacity_bits >> __builtin_ctz(row_bits);
    return (capacity_bits & (row_bits - 1)) != 0 || rows > TLY_PTO_TILE_MAX_EXTENT ? 0 : rows;
}

/* Elements that the capacity holds. */
static inline uint32_t tly_pto_element_capacity(uint32_t capacity_bytes, uint32_t dtype) {
    return capacity_bytes * 8 / tly_pto_dtype_bits(dtype);
}

/* Whether a generic tile of this shape exists. */
static inline bool tly_pto_shape_legal(uint32_t capacity_bytes, uint32_t columns,
                                       uint32_t valid_rows, uint32_t valid_columns,
                                       uint32_t dtype) {
    uint32_t rows = tly_pto_derived_rows(capacity_bytes, columns, dtype);
    /* rows and columns fill the capacity, so what lies inside of them fits */
    return rows != 0 && valid_rows <= rows && valid_columns <= columns;
}

/* The smallest size code's bytes for the shape; 0 when none is large enough. */
uint32_t tly_pto_minimum_capacity(uint32_t columns, uint32_t valid_rows, uint32_t valid_columns,
                                  uint32_t dtype);

static inline bool tly_pto_layout_is_cube(uint32_t layout) {
    return layout >= TLY_PTO_LAYOUT_CUBE_M16 && layout <= TLY_PTO_LAYOUT_CUBE_N8;
}

/* What the matrix unit's layouts derive from a valid region. All members are 0 when the layout is
 * none of them, the element type has no cells or the region is too large for a tile. */
typedef struct tly_pto_cube_shape {
    uint32_t cell_rows;
    uint32_t cell_columns;
    uint32_t rows;
    uint32_t columns;
    uint32_t k_repeat;
    uint32_t n_repeat;
    uint32_t cell_count;
    uint32_t storage_bytes;
} tly_pto_cube_shape;

tly_pto_cube_shape tly_pto_cube_shape_of(uint32_t layout, uint32_t valid_rows,
                                         uint32_t valid_columns, uint32_t dtype);

/* Elements of a row of a ZN or NZ fractal. */
static inline uint32_t tly_pto_fractal_columns(uint32_t dtype) {
    return 256 / tly_pto_dtype_bits(dtype);
}

/* Whether rows and columns address elements one by one: no cell layout, no opaque layout, whole
 * fractals. */
static inline bool tly_pto_generic_indexing(const tly_pto_tile *tile) {
    switch (tile->layout) {
    case TLY_PTO_LAYOUT_ROW_MAJOR:
    case TLY_PTO_LAYOUT_COLUMN_MAJOR:
        return true;
    case TLY_PTO_LAYOUT_ZN:
    case TLY_PTO_LAYOUT_NZ:
        return tile->rows % TLY_PTO_FRACTAL_ROWS == 0 &&
               tile->columns % tly_pto_fractal_columns(tile->data_type) == 0;
    default:
        return false;
    }
}

/* Whether the reference keeps the bits of the elements and no more: four-bit elements outside of
 * cells, and tiles of more than TLY_PTO_WIDE_ELEMENTS elements. */
static inline bool tly_pto_tile_is_packed(const tly_pto_tile *tile) {
    return !tly_pto_layout_is_cube(tile->layout) &&
           (tly_pto_dtype_is_four_bit(tile->data_type) ||
            (uint32_t)tile->rows * tile->columns > TLY_PTO_WIDE_ELEMENTS);
}

/* Number of elements, padding included. */
static inline uint32_t tly_pto_tile_elements(const tly_pto_tile *tile) {
    return (uint32_t)tile->rows * tile->columns;
}

/* Bytes that the elements take, padding included; one bit each for predicates. */
static inline uint32_t tly_pto_tile_bytes(const tly_pto_tile *tile) {
    uint64_t bits =
        tile->storage_kind == TLY_PTO_PREDICATE ? 1 : tly_pto_dtype_bits(tile->data_type);
    return (uint32_t)((bits * tly_pto_tile_elements(tile) + 7) / 8);
}

/* Number of the element at `row` and `column` in the order in which the tile's layout stores
 * them. Both lie inside of the tile; predicates are stored by rows. */
uint32_t tly_pto_tile_index(const tly_pto_tile *tile, uint32_t row, uint32_t column);

/* The inverse. */
void tly_pto_tile_position(const tly_pto_tile *tile, uint32_t index, uint32_t *out_row,
                           uint32_t *out_column);

#endif
