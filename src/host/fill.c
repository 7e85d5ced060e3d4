/* SPDX-License-Identifier: Apache-2.0 */
#include "host/fill.h"

#include <inttypes.h>
#include <string.h>

#include <tilery/panel.h>

#include "base/error.h"
#include "host/types.h"
#include "isa/table.h"
#include "pto/machine.h"
#include "pto/tile/shape.h"
#include "pto/tile/store.h"
#include "pto/tile/transport.h"

enum { CAPACITY_UNIT = 128 };

/* What a tensor is as a tile. */
typedef struct wanted {
    tly_pto_tile_shape shape;
    uint64_t panel_len; /* bytes; cells only */
} wanted;

static tly_status unsupported(tly_error *error, const char *rule, const char *what) {
    return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, rule, "%s", what);
}

/* The layout of cells that a panel is; the two axes may be stored either way round. */
static tly_status cells_of(const tly_descriptor *d, wanted *out, tly_error *error) {
    static const char *const names[] = {"cube_m16", "cube_m32", "cube_n8"};
    tly_panel_profile given, built_in;
    tly_status status = tly_panel_decode(d->private_data, d->private_len, &given, error);
    for (uint32_t i = 0; i < sizeof names / sizeof names[0] && status == TLY_OK; i++) {
        for (int transposed = 0; transposed <= 1; transposed++) {
            if (tly_panel_by_name(names[i], d->dtype, transposed, &built_in, NULL) != TLY_OK ||
                !tly_panel_same_layout(&given, &built_in)) {
                continue;
            }
            bool swapped = given.role == TLY_PANEL_B ? given.k_axis == 1 : given.k_axis == 0;
            uint64_t rows = d->shape[swapped ? 1 : 0], columns = d->shape[swapped ? 0 : 1];
            out->shape.layout = TLY_PTO_LAYOUT_CUBE_M16 + i;
            out->shape.valid_rows = rows > UINT32_MAX ? UINT32_MAX : (uint32_t)rows;
            out->shape.valid_columns = columns > UINT32_MAX ? UINT32_MAX : (uint32_t)columns;
            return tly_panel_bind(&given, d->rank, d->shape, NULL, &out->panel_len, error);
        }
    }
    return status == TLY_OK
               ? unsupported(error, "tile-layout",
                             "the panel is not one of CUBE cells; there are cube_m16, cube_m32 "
                             "and cube_n8")
               : status;
}

static tly_status rows_of(const tly_descriptor *d, wanted *out, tly_error *error) {
    uint64_t rows = d->rank == 2 ? d->shape[0] : 1, columns = d->shape[d->rank - 1];
    uint32_t physical = 1;
    if (rows == 0 || columns == 0 || rows > TLY_PTO_TILE_MAX_EXTENT ||
        columns > TLY_PTO_TILE_MAX_EXTENT) {
        return unsupported(error, "tile-shape", "a tile has 1 to 65535 rows and columns");
    }
    while (physical < columns) {
        physical *= 2;
    }
    out->shape.layout = TLY_PTO_LAYOUT_ROW_MAJOR;
    out->shape.valid_rows = out->shape.rows = (uint32_t)rows;
    out->shape.valid_columns = (uint32_t)columns;
    out->shape.columns = physical;
    return TLY_OK;
}

/* Too large or nothing at all: allocation says so. */
static void set_capacity(wanted *w, uint64_t len) {
    uint64_t capacity = (len + CAPACITY_UNIT - 1) / CAPACITY_UNIT * CAPACITY_UNIT;
    w->shape.capacity_bytes = capacity > UINT32_MAX - CAPACITY_UNIT ? UINT32_MAX
                              : capacity == 0                       ? CAPACITY_UNIT
                                                                    : (uint32_t)capacity;
}

static tly_status wanted_of(const tly_descriptor *d, wanted *out, tly_error *error) {
    memset(out, 0, sizeof *out);
    out->shape.size = sizeof out->shape;
    out->shape.pe_mask = 8; /* element 0 */
    if (!tly_host_code(d->dtype, &out->shape.data_type)) {
        return unsupported(error, "tile-type", "no tile has elements of the tensor's type");
    }
    if (d->rank == 0 || d->rank > 2) {
        return unsupported(error, "tile-shape", "a tile is a matrix or a vector");
    }
    tly_status status;
    uint64_t len;
    if (d->layout == TLY_PANEL_LAYOUT_TAG && d->private_id == TLY_PANEL_LAYOUT_ID) {
        status = cells_of(d, out, error);
        len = tly_pto_cube_shape_of(out->shape.layout, out->shape.valid_rows,
                                    out->shape.valid_columns, out->shape.data_type)
                  .storage_bytes;
    } else if (d->layout == TLY_LAYOUT_ROW_MAJOR && d->byte_offset == 0 && d->num_buffers == 1) {
        status = rows_of(d, out, error);
        len = ((uint64_t)out->shape.rows * out->shape.columns *
                   tly_isa_dtype_bits(out->shape.data_type) +
               7) /
              8;
    } else {
        return unsupported(error, "tile-layout",
                           "a tile is filled from a row-major tensor or a panel of CUBE cells");
    }
    set_capacity(out, len);
    return status;
}

/* Part `part` of `num_parts` of a panel, and where its bytes begin. Cells follow each other along
 * the columns (of B, or K of A), so a part is one run of bytes. */
static tly_status part_of(const wanted *whole, uint32_t part, uint32_t num_parts, wanted *out,
                          uint64_t *out_at, tly_error *error) {
    const uint32_t layout = whole->shape.layout, dtype = whole->shape.data_type;
    const uint32_t columns = whole->shape.valid_columns;
    const uint32_t width = tly_pto_cube_shape_of(layout, 1, 1, dtype).cell_columns;
    *out = *whole;
    *out_at = 0;
    if (num_parts == 1 && width != 0 && whole->panel_len > TLY_PTO_LOCAL_TILE_MAX) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "tile-parts",
                             "a panel of %" PRIu64 " bytes goes into several tiles; one holds %u",
                             whole->panel_len, TLY_PTO_LOCAL_TILE_MAX);
    }
    if (num_parts == 1) {
        return TLY_OK;
    }
    if (width == 0) {
        return unsupported(error, "tile-parts", "only a panel of cells goes into several tiles");
    }
    const uint32_t units = columns / width + (columns % width != 0);
    const uint32_t units_each = units / num_parts + (units % num_parts != 0);
    if (units == 0 || units_each * (num_parts - 1) >= units) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "tile-parts",
                             "%u columns in cells of %u are too few for %u tiles", columns, width,
                             num_parts);
    }
    const uint32_t first = part * units_each;
    const uint32_t num = units - first < units_each ? units - first : units_each;
    const uint32_t behind = columns - first * width;
    const uint64_t unit_len = whole->panel_len / units;
    *out_at = first * unit_len;
    out->panel_len = num * unit_len;
    out->shape.valid_columns = behind < num * width ? behind : num * width;
    set_capacity(
        out, tly_pto_cube_shape_of(layout, whole->shape.valid_rows, out->shape.valid_columns, dtype)
                 .storage_bytes);
    return TLY_OK;
}

static void copy_rows(const tly_pto_tile *tile, tly_pto_elements *e, const uint8_t *bytes) {
    uint32_t bits = tly_isa_dtype_bits(tile->data_type);
    uint64_t len = (uint64_t)tile->valid_columns * bits / 8;
    tly_pto_elements_prepare(e, tile);
    e->extensions = (uint8_t)tly_pto_loaded_extension(tile->data_type);
    for (uint32_t row = 0; row < tile->valid_rows && bits >= 8; row++) {
        memcpy(e->bytes + (uint64_t)row * tile->columns * bits / 8, bytes + row * len, len);
    }
    for (uint64_t i = 0; bits < 8 && i < (uint64_t)tile->valid_rows * tile->valid_columns; i++) {
        uint32_t row = (uint32_t)(i / tile->valid_columns);
        uint32_t at = row * tile->columns + (uint32_t)(i % tile->valid_columns);
        tly_pto_element_write(e, tile, at, bytes[i / 2] >> (i % 2 * 4) & 15);
    }
}

static void copy_cells(const tly_pto_tile *tile, tly_pto_elements *e, const uint8_t *bytes,
                       uint64_t len) {
    uint32_t room = tly_pto_tile_bytes(tile);
    uint64_t taken = len < room ? len : room;
    tly_pto_elements_overwrite(e, tile, tly_pto_loaded_extension(tile->data_type));
    memcpy(e->bytes, bytes, taken);
    memset(e->bytes + taken, 0, room - taken);
}

static tly_status fill_tile(tly_pto_machine *m, uint32_t index, const wanted *w,
                            const uint8_t *bytes, tly_error *error) {
    tly_pto_refusal why = {.size = sizeof why};
    if (!tly_pto_tile_allocate(m, index, &w->shape, &why)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, why.rule, "%s: %s",
                             why.name, why.text);
    }
    const tly_pto_tile *tile = &m->core.tiles[index];
    tly_pto_elements *e = &m->tiles->local[index];
    if (tly_pto_layout_is_cube(tile->layout)) {
        copy_cells(tile, e, bytes, w->panel_len);
    } else {
        copy_rows(tile, e, bytes);
    }
    e->defined = TLY_PTO_DEFINED_VALID;
    m->core.tiles[index].contents_defined = true;
    return TLY_OK;
}

tly_status tly_host_fill_tiles(tly_pto_machine *m, const uint32_t *tiles, uint32_t num_tiles,
                               const tly_descriptor *descriptor, const void *bytes,
                               tly_error *error) {
    wanted whole, part;
    uint64_t at = 0;
    tly_status status = wanted_of(descriptor, &whole, error);
    for (uint32_t i = 0; i < num_tiles && status == TLY_OK; i++) {
        status = part_of(&whole, i, num_tiles, &part, &at, error);
        if (status == TLY_OK) {
            status = fill_tile(m, tiles[i], &part, (const uint8_t *)bytes + at, error);
        }
    }
    return status;
}
