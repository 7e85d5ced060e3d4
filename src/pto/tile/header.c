/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/header.h"

#include "pto/tile/legal.h"

enum { MAX_EXTENT = TLY_PTO_TILE_MAX_EXTENT };

#define ND TLY_PTO_LAYOUT_ROW_MAJOR
#define DN TLY_PTO_LAYOUT_COLUMN_MAJOR
#define ZN TLY_PTO_LAYOUT_ZN
#define NZ TLY_PTO_LAYOUT_NZ

const tly_pto_layout_pair tly_pto_layout_pairs[TLY_PTO_NUM_LAYOUT_CODES] = {
    [0] = {ND, ND},  [1] = {ND, DN},  [3] = {ND, ZN},  [4] = {ND, NZ},  [6] = {DN, ND},
    [8] = {DN, ZN},  [9] = {DN, NZ},  [17] = {ZN, ND}, [18] = {ZN, DN}, [20] = {ZN, NZ},
    [27] = {NZ, ND}, [28] = {NZ, DN}, [30] = {NZ, ZN},
};

bool tly_pto_shared_tile_legal(const tly_pto_machine *m, uint32_t shared_id) {
    const tly_pto_shared_tile *shared = &m->core.shared_tiles[shared_id];
    const tly_pto_tile *tile = &shared->tile;
    uint32_t bytes = tile->capacity_bytes;
    return shared->descriptor_valid && tile->allocated && shared->allocation_mask != 0 &&
           (shared->initialized_mask & ~shared->allocation_mask) == 0 &&
           bytes >= TLY_PTO_CELL_BYTES && bytes % TLY_PTO_CELL_BYTES == 0 &&
           bytes <= TLY_PTO_SHARED_TILE_MAX && bytes <= m->core.base.tile_capacity &&
           tile->rows != 0 &&
           tile->rows == tly_pto_derived_rows(bytes, tile->columns, tile->data_type) &&
           tile->valid_rows <= tile->rows && tile->valid_columns <= tile->columns &&
           tly_pto_generic_indexing(tile);
}

bool tly_pto_bindings_terminated(const tly_pto_header *header) {
    bool any = false, last = false;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        if (header->tile_bindings[i].valid) {
            if (last) {
                return false;
            }
            any = true;
            last = header->tile_bindings[i].last;
        }
    }
    return any && last;
}

/* The tile whose shape stands in for dimensions that are not given. */
static const tly_pto_tile *shape_source(const tly_pto_machine *m, bool has_source,
                                        uint32_t source) {
    const tly_pto_header *header = &m->core.context.header;
    if (has_source && tly_pto_local_configured(m, source)) {
        return &m->core.tiles[source];
    }
    if (tly_pto_num_shared_bindings(header) == 1 && header->shared_bindings[0].valid &&
        tly_pto_shared_tile_legal(m, header->shared_bindings[0].shared_id)) {
        return &m->core.shared_tiles[header->shared_bindings[0].shared_id].tile;
    }
    return NULL;
}

static bool in_range(uint64_t extent) {
    return extent >= 1 && extent <= MAX_EXTENT;
}

uint32_t tly_pto_inferred_valid_columns(const tly_pto_machine *m, bool has_source,
                                        uint32_t source) {
    uint64_t given = m->core.context.header.dimensions[0];
    const tly_pto_tile *tile = in_range(given) ? NULL : shape_source(m, has_source, source);
    return in_range(given) ? (uint32_t)given : tile != NULL ? tile->valid_columns : 1;
}

uint32_t tly_pto_inferred_valid_rows(const tly_pto_machine *m, bool has_source, uint32_t source) {
    uint64_t given = m->core.context.header.dimensions[1];
    const tly_pto_tile *tile = in_range(given) ? NULL : shape_source(m, has_source, source);
    return in_range(given) ? (uint32_t)given : tile != NULL ? tile->valid_rows : 1;
}

uint32_t tly_pto_inferred_columns(const tly_pto_machine *m, bool has_source, uint32_t source) {
    uint64_t given = m->core.context.header.dimensions[2];
    if (in_range(given)) {
        return (uint32_t)given;
    }
    const tly_pto_tile *tile = shape_source(m, has_source, source);
    return tile != NULL ? tile->columns : tly_pto_inferred_valid_columns(m, false, 0);
}

void tly_pto_inferred_extent(const tly_pto_machine *m, bool has_source, uint32_t source,
                             tly_pto_extent *out_extent) {
    const uint64_t *given = m->core.context.header.dimensions;
    bool all = in_range(given[0]) && in_range(given[1]) && in_range(given[2]);
    const tly_pto_tile *tile = all ? NULL : shape_source(m, has_source, source);
    out_extent->valid_rows = in_range(given[1]) ? (uint32_t)given[1]
                             : tile != NULL     ? tile->valid_rows
                                                : 1;
    out_extent->valid_columns = in_range(given[0]) ? (uint32_t)given[0]
                                : tile != NULL     ? tile->valid_columns
                                                   : 1;
    out_extent->columns = in_range(given[2]) ? (uint32_t)given[2]
                          : tile != NULL     ? tile->columns
                                             : tly_pto_inferred_valid_columns(m, false, 0);
}

tly_pto_extent tly_pto_header_extent(const tly_pto_header *header) {
    tly_pto_extent extent = {.valid_columns = (uint32_t)header->dimensions[0]};
    extent.valid_rows = header->dimension_present[1] ? (uint32_t)header->dimensions[1] : 1;
    extent.columns =
        header->dimension_present[2] ? (uint32_t)header->dimensions[2] : extent.valid_columns;
    return extent;
}

bool tly_pto_check_dimensions(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    if (!header->dimension_present[0]) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DIMENSION_MISSING, plan->operation, 0, 0,
                                   0);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_DIMENSIONS; i++) {
        if (header->dimension_present[i] && !in_range(header->dimensions[i])) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DIMENSION_RANGE, plan->operation, i,
                                       header->dimensions[i], MAX_EXTENT);
        }
    }
    return true;
}

bool tly_pto_check_source_extent(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t ordinal) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, ordinal);
    tly_pto_extent extent = tly_pto_header_extent(&m->core.context.header);
    if (tile->valid_rows != extent.valid_rows || tile->valid_columns != extent.valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_REGION, tile->valid_rows,
                                   tile->valid_columns, extent.valid_rows, extent.valid_columns);
    }
    if (tile->columns != extent.columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_COLUMNS, plan->operation,
                                   plan->sources[ordinal], tile->columns, extent.columns);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ */

typedef struct shape_of_binding {
    bool destination;
    uint8_t sources;
} shape_of_binding;

/* The bindings of a kind, the last one marked. */
static const struct {
    uint8_t count;
    shape_of_binding bindings[2];
} patterns[TLY_PTO_HEADER_KIND] = {
    [TLY_PTO_HEADER_D] = {1, {{true, 0}}},
    [TLY_PTO_HEADER_D_S] = {1, {{true, 1}}},
    [TLY_PTO_HEADER_D_SS] = {1, {{true, 2}}},
    [TLY_PTO_HEADER_SS_DS] = {2, {{false, 2}, {true, 1}}},
};

static bool check_pattern(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t kind) {
    const tly_pto_header *header = &m->core.context.header;
    uint32_t count = patterns[kind].count;
    if (plan->num_bindings != count) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_BINDING_COUNT, plan->operation,
                                   plan->num_bindings, count, 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        const tly_pto_tile_binding *binding = &header->tile_bindings[i];
        shape_of_binding wanted = patterns[kind].bindings[i];
        if (binding->destination_valid != wanted.destination ||
            binding->source0_valid != (wanted.sources > 0) ||
            binding->source1_valid != (wanted.sources > 1)) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_BINDING_OPERANDS, plan->operation,
                                       i + 1, 0, 0);
        }
    }
    return true;
}

bool tly_pto_check_header(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    uint32_t wanted = plan->row->header, kind = wanted & TLY_PTO_HEADER_KIND;
    if (kind == TLY_PTO_HEADER_FREE) {
        return true;
    }
    if (kind != TLY_PTO_HEADER_STREAM && !check_pattern(m, plan, kind)) {
        return false;
    }
    if ((wanted & TLY_PTO_HEADER_NO_SCALAR) != 0 && header->scalar_bindings[0].valid) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_REGISTERS_NOT_TAKEN, plan->operation, 0,
                                   0, 0);
    }
    if ((wanted & TLY_PTO_HEADER_NO_DATR) != 0 && header->data_attributes_present) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DATR_NOT_TAKEN, plan->operation, 0, 0,
                                   0);
    }
    if ((wanted & TLY_PTO_HEADER_DIMS) != 0 && !tly_pto_check_dimensions(m, plan)) {
        return false;
    }
    if (!tly_pto_check_type(plan, plan->data_type, plan->row->types)) {
        return false;
    }
    if ((wanted & TLY_PTO_HEADER_ROWS) != 0 && plan->layout != TLY_PTO_LAYOUT_ROW_MAJOR) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_RESULT_LAYOUT, plan->operation,
                                   plan->layout, 0, 0);
    }
    return plan->row->schema == NULL || plan->row->schema(m, plan);
}
