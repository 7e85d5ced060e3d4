/* SPDX-License-Identifier: Apache-2.0 */
/* Allocation, release and copy of tiles by a host. */
#include <string.h>

#include <tilery/pto.h>

#include "base/checked.h"
#include "pto/fields.h"
#include "pto/tile/allocate.h"
#include "pto/tile/header.h"
#include "pto/tile/legal.h"

/* Fills what the caller wants to know. Always 0. */
static int refuse(tly_pto_refusal *out, tly_pto_fault fault, tly_pto_rule rule, uint64_t a,
                  uint64_t b, uint64_t c, uint64_t d) {
    const tly_pto_reason reason = {.rule = (uint16_t)rule, .values = {a, b, c, d}};
    if (out != NULL) {
        size_t size = out->size;
        memset(out, 0, sizeof *out);
        out->size = size;
        out->fault = fault;
        out->name = tly_pto_fault_name(fault);
        out->rule = tly_pto_rule_name(rule);
        tly_pto_reason_text(&reason, out->text, sizeof out->text);
    }
    return 0;
}

static int accept(tly_pto_refusal *out) {
    refuse(out, TLY_PTO_FAULT_NONE, TLY_PTO_RULE_NONE, 0, 0, 0, 0);
    return 1;
}

static int check_number(uint32_t tile, tly_pto_refusal *out) {
    return tile < TLY_PTO_NUM_TILES ||
           refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_NUMBER, tile, 0, 0, 0);
}

/* The others' share of the core's capacity and this tile's must fit; the old share of this tile
 * does not count. */
static int check_core_capacity(const tly_pto_machine *m, uint32_t tile, uint32_t capacity_bytes,
                               uint32_t pe_mask, tly_pto_refusal *out) {
    const tly_pto_tile *old = &m->core.tiles[tile];
    uint64_t others = tly_pto_capacity_in_use(m);
    uint64_t wanted = tly_pto_allocation_bytes(pe_mask, capacity_bytes);
    if (old->allocated) {
        others -=
            tly_pto_allocation_bytes(m->core.tile_allocation_masks[tile], old->capacity_bytes);
    }
    return others + wanted <= m->core.base.tile_capacity ||
           refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_CORE_CAPACITY, tile, wanted,
                  others, m->core.base.tile_capacity);
}

/* Rows, columns and the valid region, where they are given. */
static int check_extents(const tly_pto_tile_shape *s, tly_pto_refusal *out) {
    uint64_t bits = s->is_predicate != 0 ? 1 : tly_pto_dtype_bits(s->data_type);
    if (s->rows == 0 || s->columns == 0 || s->rows > TLY_PTO_TILE_MAX_EXTENT ||
        s->columns > TLY_PTO_TILE_MAX_EXTENT) {
        return refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_EXTENT_ZERO, s->rows,
                      s->columns, 0, 0);
    }
    if (s->valid_rows > s->rows || s->valid_columns > s->columns) {
        return refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_REGION_OUTSIDE,
                      s->valid_rows, s->valid_columns, s->rows, s->columns);
    }
    uint64_t storage = (bits * s->rows * s->columns + 7) / 8;
    return storage <= s->capacity_bytes ||
           refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_STORAGE, s->rows,
                  s->columns, storage, s->capacity_bytes);
}

static int make_numeric(const tly_pto_tile_shape *s, tly_pto_tile *out_tile, tly_pto_refusal *out) {
    if (!check_extents(s, out)) {
        return 0;
    }
    if (!tly_base_is_power_of_two(s->columns)) {
        return refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_COLUMNS, s->columns, 0,
                      0, 0);
    }
    if (tly_pto_derived_rows(s->capacity_bytes, s->columns, s->data_type) == 0) {
        return refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_RESULT_CAPACITY,
                      s->rows, s->columns, s->data_type, s->capacity_bytes);
    }
    *out_tile = tly_pto_numeric_tile(s->capacity_bytes, s->columns, s->valid_rows, s->valid_columns,
                                     s->data_type, s->layout);
    return tly_pto_generic_indexing(out_tile) ||
           refuse(out, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TILE_RESULT_FRACTALS, s->layout,
                  out_tile->rows, out_tile->columns, s->data_type);
}

/* The descriptor that a shape asks for. */
static int make_tile(const tly_pto_machine *m, uint32_t tile, const tly_pto_tile_shape *s,
                     tly_pto_tile *out_tile, tly_pto_refusal *out) {
    if (!tly_pto_local_capacity_legal(m, s->capacity_bytes)) {
        uint64_t limit = m->core.base.tile_capacity;
        limit = limit < TLY_PTO_LOCAL_TILE_MAX ? limit : TLY_PTO_LOCAL_TILE_MAX;
        return refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_CAPACITY_UNIT,
                      s->capacity_bytes, limit, 0, 0);
    }
    if (s->is_predicate != 0) {
        *out_tile = tly_pto_predicate_tile(s->capacity_bytes, s->rows, s->columns, s->valid_rows,
                                           s->valid_columns);
        return check_extents(s, out) &&
               ((uint64_t)s->rows * s->columns <= TLY_PTO_WIDE_ELEMENTS ||
                refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_PREDICATES, s->rows,
                       s->columns, TLY_PTO_WIDE_ELEMENTS, 0));
    }
    if (!tly_pto_dtype_valid(s->data_type)) {
        return refuse(out, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TILE_TYPE_RESERVED,
                      s->data_type, tile, 0, 0);
    }
    if (s->layout >= TLY_PTO_LAYOUT_IMPLEMENTATION) {
        return refuse(out, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TILE_LAYOUT_RESERVED,
                      s->layout, tile, 0, 0);
    }
    if (!tly_pto_layout_is_cube(s->layout)) {
        return make_numeric(s, out_tile, out);
    }
    if (s->valid_rows <= TLY_PTO_TILE_MAX_EXTENT && s->valid_columns <= TLY_PTO_TILE_MAX_EXTENT) {
        *out_tile = tly_pto_cube_tile(m, s->capacity_bytes, s->valid_rows, s->valid_columns,
                                      s->data_type, s->layout);
    }
    return out_tile->allocated ||
           refuse(out, TLY_PTO_FAULT_TILE_ALLOCATION, TLY_PTO_RULE_TILE_CELLS, s->valid_rows,
                  s->valid_columns, s->data_type, s->layout);
}

int tly_pto_tile_allocate(tly_pto_machine *m, uint32_t tile, const tly_pto_tile_shape *shape,
                          tly_pto_refusal *out) {
    tly_pto_tile made = {0};
    if (!check_number(tile, out)) {
        return 0;
    }
    if (shape->size != sizeof *shape) {
        return refuse(out, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TILE_SHAPE_VERSION,
                      shape->size, sizeof *shape, 0, 0);
    }
    if (shape->pe_mask == 0 || shape->pe_mask > 15) {
        return refuse(out, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TILE_MASK_EMPTY,
                      shape->pe_mask, tile, 0, 0);
    }
    if (!make_tile(m, tile, shape, &made, out) ||
        !check_core_capacity(m, tile, shape->capacity_bytes, shape->pe_mask, out)) {
        return 0;
    }
    tly_pto_elements_clear(&m->tiles->local[tile]);
    tly_pto_install_tile(m, tile, &made, shape->pe_mask);
    return accept(out);
}

int tly_pto_tile_release(tly_pto_machine *m, uint32_t tile, tly_pto_refusal *out) {
    if (!check_number(tile, out)) {
        return 0;
    }
    tly_pto_release_tile(m, tile);
    return accept(out);
}

int tly_pto_tile_copy(tly_pto_machine *m, uint32_t destination, uint32_t source,
                      tly_pto_refusal *out) {
    if (!check_number(destination, out) || !check_number(source, out)) {
        return 0;
    }
    const tly_pto_tile *tile = &m->core.tiles[source];
    uint32_t pe_mask = m->core.tile_allocation_masks[source];
    if (!tile->allocated) {
        return refuse(out, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TILE_COPY_FREE, source, 0, 0,
                      0);
    }
    if (!check_core_capacity(m, destination, tile->capacity_bytes, pe_mask, out)) {
        return 0;
    }
    if (destination != source) {
        tly_pto_elements_copy(&m->tiles->local[destination], &m->tiles->local[source], tile);
        tly_pto_install_tile(m, destination, tile, pe_mask);
    }
    return accept(out);
}
