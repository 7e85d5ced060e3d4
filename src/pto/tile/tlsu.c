/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and moves among local tiles, and transports from and to the layouts of the matrix
 * unit (asl/tile/model/memory, asl/block/model/dispatch/tlsu-layout-conversion). */
#include "pto/tile/tlsu.h"

#include "base/checked.h"
#include "pto/events.h"
#include "pto/memory.h"
#include "pto/team.h"
#include "pto/tile/allocate.h"
#include "pto/tile/cube.h"
#include "pto/tile/header.h"
#include "pto/tile/legal.h"
#include "pto/tile/resolve.h"
#include "pto/tile/shared.h"
#include "pto/tile/transfer.h"
#include "pto/tile/transport.h"

/* The rows that the valid region of a tile is moved from or to. Until release 0.58.2 the stride in
 * a register counts elements. */
static tly_pto_rows rows_of(const tly_pto_machine *m, const tly_pto_tile *tile, uint64_t base,
                            uint64_t stride) {
    bool in_elements =
        m->release != TLY_ISA_0_58_3 && m->core.context.header.scalar_bindings[0].valid;
    return (tly_pto_rows){.base = base,
                          .stride = in_elements ? stride * tly_pto_dtype_bits(tile->data_type) / 8
                                                : stride,
                          .num_rows = tile->valid_rows,
                          .num_columns = tile->valid_columns,
                          .dtype = tile->data_type};
}

bool tly_pto_check_tload(const tly_pto_machine *m, tly_pto_plan *plan) {
    if (!tly_pto_tile_legal(m, &plan->results[0])) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_RESULT_LAYOUT, plan->operation,
                                   plan->results[0].layout, plan->results[0].rows,
                                   plan->results[0].columns);
    }
    return true;
}

bool tly_pto_run_tload(tly_pto_machine *m, tly_pto_plan *plan) {
    tly_pto_tile *tile = &plan->results[0];
    tly_pto_rows rows = rows_of(m, tile, plan->address, plan->scalar0);
    if (!tly_pto_check_rows(m, &rows)) {
        return false;
    }
    tly_pto_load_rows(m, &rows, tile, tly_pto_plan_result_elements(m, plan, 0), TLY_PTO_PAD_NULL);
    tly_pto_result_defined(tile);
    return true;
}

bool tly_pto_check_tstore(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_source_defined(m, plan, 0);
}

static bool store_tile(tly_pto_machine *m, uint32_t source, uint64_t base, uint64_t stride) {
    const tly_pto_tile *tile = &m->core.tiles[source];
    tly_pto_rows rows = rows_of(m, tile, base, stride);
    if (!tly_pto_check_rows(m, &rows)) {
        return false;
    }
    tly_pto_store_rows(m, &rows, tile, &m->tiles->local[source]);
    return true;
}

bool tly_pto_run_tstore(tly_pto_machine *m, tly_pto_plan *plan) {
    return store_tile(m, plan->sources[0], plan->address, plan->scalar0);
}

bool tly_pto_check_tmov(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_source_defined(m, plan, 0) &&
           tly_pto_check_result_matches(m, plan, 0, 0, true);
}

/* The result takes the elements of the source, which is a tile of `from`, and what is defined. */
static void copy_contents(tly_pto_machine *m, const tly_pto_machine *from, tly_pto_plan *plan) {
    const tly_pto_tile *source = tly_pto_plan_source(from, plan, 0);
    tly_pto_elements_copy(tly_pto_plan_result_elements(m, plan, 0),
                          tly_pto_plan_source_elements(from, plan, 0), source);
    plan->results[0].contents_defined = source->contents_defined;
    plan->results[0].defined_valid_elements = source->defined_valid_elements;
}

bool tly_pto_run_tmov(tly_pto_machine *m, tly_pto_plan *plan) {
    copy_contents(m, m, plan);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

enum { LAYOUT_FIRST_LOAD = 21, LAYOUT_FIRST_STORE = 24, MAX_DIMENSION = 65535 };

static uint32_t cells_of_code(uint32_t code) {
    static const uint8_t layouts[] = {TLY_PTO_LAYOUT_CUBE_M32, TLY_PTO_LAYOUT_CUBE_M16,
                                      TLY_PTO_LAYOUT_CUBE_N8};
    return layouts[(code - LAYOUT_FIRST_LOAD) % 3];
}

static bool dimension_legal(const tly_pto_header *header, uint32_t index) {
    return header->dimension_present[index] && header->dimensions[index] >= 1 &&
           header->dimensions[index] <= MAX_DIMENSION;
}

/* The operation that the code selects among those of memory, whatever the class of the block. */
static uint32_t memory_operation(const tly_pto_header *header) {
    const tly_pto_operation *o = &header->operation;
    uint32_t code =
        o->mode_valid ? (uint32_t)o->mode << 5 | (o->selector & 31) : o->selector & 1023u;
    if (o->operation_class == TLY_PTO_CLASS_TILE_MEMORY && !o->mode_valid) {
        uint32_t function = o->selector & 31;
        code = function >= 9 && function <= 12 ? 2 : function == 14 ? 1 : code;
    }
    for (uint32_t i = TLY_PTO_OP_TLOAD; i <= TLY_PTO_OP_GMOV; i++) {
        if (tly_pto_tile_rows[i].code == code) {
            return i;
        }
    }
    return TLY_PTO_NUM_TILE_OPS;
}

static bool check_transport(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    const tly_pto_data_attributes *data = &header->data;
    uint32_t function = header->operation.selector & 31;
    uint32_t layout = cells_of_code(data->data_layout);
    if (!dimension_legal(header, 0) || !dimension_legal(header, 1) ||
        header->dimension_present[2]) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_CUBE_DIMENSIONS, layout,
                                   header->dimensions[0], header->dimensions[1], 0);
    }
    if (data->data_type != TLY_PTO_DTYPE_NONE || data->comparison_mode != 0 ||
        data->rounding_mode != 0 || data->saturating || data->canonicalize) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_CUBE_ATTRIBUTES, layout, data->data_type,
                                   0, 0);
    }
    bool load = data->data_layout < LAYOUT_FIRST_STORE;
    if (header->operation.operation_class != TLY_PTO_CLASS_TILE_MEMORY ||
        !header->operation.selector_valid || function != (load ? 0u : 1u)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_CUBE_DIRECTION, plan->operation,
                                   data->data_layout, 0, 0);
    }
    if (!tly_pto_check_transfer(m, plan)) {
        return false;
    }
    if (plan->num_bindings != 1) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_BINDING_SHAPE, plan->operation,
                                   plan->num_bindings, 1, 0);
    }
    if (tly_pto_dtype_bits(plan->data_type) == 64 || plan->data_type == TLY_PTO_HIF4X2) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_CUBE_TYPE, plan->data_type, layout, 0,
                                   0);
    }
    return true;
}

static bool load_cells(tly_pto_machine *m, tly_pto_plan *plan, uint32_t layout, uint32_t valid_rows,
                       uint32_t valid_columns) {
    const tly_pto_header *header = &m->core.context.header;
    tly_pto_fault fault = TLY_PTO_FAULT_TILE_ALLOCATION;
    tly_pto_tile *tile = &plan->results[0];
    uint32_t capacity = tly_pto_size_code_bytes(
        header->tile_bindings[plan->destination_bindings[0]].destination_size);
    *tile = tly_pto_cube_tile(m, capacity, valid_rows, valid_columns, plan->data_type, layout);
    if (!tile->allocated) {
        tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_CUBE_SHAPE, layout, valid_rows, valid_columns,
                            capacity);
        return tly_pto_plan_raise(m, plan, fault);
    }
    if (!tly_pto_plan_reserve(m, plan, &fault)) {
        return tly_pto_plan_raise(m, plan, fault);
    }
    tly_pto_rows rows = rows_of(m, tile, plan->address, plan->scalar0);
    if (!tly_pto_check_rows(m, &rows)) {
        tly_pto_plan_roll_back(m, plan);
        return false;
    }
    tly_pto_load_rows(m, &rows, tile, tly_pto_plan_result_elements(m, plan, 0), plan->pad);
    tly_pto_result_defined(tile);
    tly_pto_plan_commit(m, plan);
    return true;
}

static bool store_cells(tly_pto_machine *m, tly_pto_plan *plan, uint32_t layout,
                        uint32_t valid_rows, uint32_t valid_columns) {
    uint32_t source = plan->sources[0];
    const tly_pto_tile *tile = &m->core.tiles[source];
    uint32_t mask = m->core.context.header.tile_bindings[0].pe_mask;
    if (!tly_pto_cube_tile_legal(m, tile) || !tile->contents_defined ||
        tile->data_type != plan->data_type || tile->layout != layout) {
        tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_CUBE_SOURCE, source, layout, plan->data_type,
                            0);
    } else if (tile->valid_rows != valid_rows || tile->valid_columns != valid_columns) {
        tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_CUBE_EXTENT, source, valid_rows, valid_columns,
                            0);
    } else if ((m->core.tile_allocation_masks[source] & mask) != mask) {
        tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SOURCE_MASK, source, mask,
                            m->core.tile_allocation_masks[source], 0);
    } else {
        return store_tile(m, source, plan->address, plan->scalar0);
    }
    return tly_pto_plan_raise(m, plan, TLY_PTO_FAULT_TILE_LEGALITY);
}

bool tly_pto_execute_cube_transport(tly_pto_machine *m) {
    const tly_pto_header *header = &m->core.context.header;
    uint32_t operation = memory_operation(header);
    tly_pto_plan plan;
    tly_pto_plan_begin(m, operation < TLY_PTO_NUM_TILE_OPS ? operation : TLY_PTO_OP_TLOAD, &plan);
    if (tly_pto_plan_is_idle(m, &plan)) {
        return true;
    }
    if (operation == TLY_PTO_NUM_TILE_OPS) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION,
                              TLY_PTO_RULE_TILE_OPERATION_UNKNOWN, header->operation.selector, 0, 0,
                              0);
    }
    if (!check_transport(m, &plan)) {
        return tly_pto_plan_raise(m, &plan, TLY_PTO_FAULT_TILE_LEGALITY);
    }
    uint32_t layout = cells_of_code(header->data.data_layout);
    uint32_t valid_columns = (uint32_t)header->dimensions[0];
    uint32_t valid_rows = (uint32_t)header->dimensions[1];
    if (!header->scalar_bindings[0].valid) {
        plan.scalar0 = tly_pto_dense_stride(valid_columns, plan.data_type);
    }
    return header->data.data_layout < LAYOUT_FIRST_STORE
               ? load_cells(m, &plan, layout, valid_rows, valid_columns)
               : store_cells(m, &plan, layout, valid_rows, valid_columns);
}

/* ------------------------------------------------------------------------------------------ */

/* What one processing element fetches: strides count elements here. */
typedef struct fetch {
    uint64_t base;
    uint64_t stride;
    uint32_t num_rows;
    uint32_t num_columns;
    uint32_t dtype;
} fetch;

static uint64_t fetch_address(const fetch *f, uint32_t row, uint32_t column) {
    uint64_t index = row * f->stride + column;
    return f->base +
           (tly_pto_dtype_is_four_bit(f->dtype) ? index / 2 : index * tly_pto_access_len(f->dtype));
}

static bool check_fetch(tly_pto_machine *m, const fetch *f) {
    uint32_t size = tly_pto_access_len(f->dtype);
    if (!tly_pto_dtype_is_four_bit(f->dtype)) {
        const tly_pto_rows rows = {f->base, f->stride * size, f->num_rows, f->num_columns,
                                   f->dtype};
        return tly_pto_check_rows(m, &rows);
    }
    for (uint32_t row = 0; row < f->num_rows; row++) {
        for (uint32_t column = 0; column < f->num_columns; column++) {
            if (!tly_pto_check_access(m, fetch_address(f, row, column), 1, 1)) {
                return false;
            }
        }
    }
    return true;
}

static void record_fetch(tly_pto_machine *m, const fetch *f, uint32_t pe) {
    uint32_t size = tly_pto_access_len(f->dtype);
    uint8_t current = m->core.current_pe;
    m->core.current_pe = (uint8_t)pe;
    for (uint32_t row = 0; row < f->num_rows; row++) {
        for (uint32_t column = 0; column < f->num_columns; column++) {
            uint64_t address = fetch_address(f, row, column);
            tly_pto_record_load(m, address, size, tly_pto_peek(m, address, size),
                                tly_pto_bundle_order(m));
        }
    }
    m->core.current_pe = current;
}

static bool dimensions_plausible(const tly_pto_header *header) {
    for (uint32_t i = 0; i < TLY_PTO_NUM_DIMENSIONS; i++) {
        if (header->dimension_present[i] && !dimension_legal(header, i)) {
            return false;
        }
    }
    return true;
}

static bool acts_for(const tly_pto_machine *m, uint32_t pe) {
    return tly_pto_mask_has(tly_pto_acting_elements(m), pe);
}

bool tly_pto_execute_prefetch(tly_pto_machine *m) {
    const tly_pto_header *header = &m->core.context.header;
    tly_pto_plan plan;
    tly_pto_plan_begin(m, TLY_PTO_OP_TPREFETCH, &plan);
    uint32_t valid_columns = tly_pto_inferred_valid_columns(m, false, 0);
    uint32_t valid_rows = tly_pto_inferred_valid_rows(m, false, 0);
    uint32_t columns = tly_pto_inferred_columns(m, false, 0);
    if (!tly_pto_check_type(&plan, plan.data_type,
                            TLY_PTO_TYPES_CARRIED | TLY_PTO_TYPES_FOUR_BIT) ||
        !tly_pto_check_transfer(m, &plan)) {
        return tly_pto_plan_raise(m, &plan, TLY_PTO_FAULT_TILE_LEGALITY);
    }
    if (!dimensions_plausible(header) || valid_columns > columns ||
        !tly_base_is_power_of_two(columns) ||
        (uint64_t)valid_rows * valid_columns > TLY_PTO_WIDE_ELEMENTS) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TLSU_REGION,
                              plan.operation, valid_rows, valid_columns, columns);
    }
    if (!tly_pto_plan_check_attributes(m, &plan)) {
        return tly_pto_plan_raise(m, &plan, TLY_PTO_FAULT_TILE_LEGALITY);
    }
    fetch fetches[TLY_PTO_NUM_PES];
    for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
        uint64_t stride =
            header->scalar_bindings[0].valid ? tly_pto_pe_register(m, pe, 1) : columns;
        fetches[pe] = (fetch){tly_pto_pe_register(m, pe, 0), stride, valid_rows, valid_columns,
                              plan.data_type};
        if (acts_for(m, pe) && !check_fetch(m, &fetches[pe])) {
            return false;
        }
    }
    for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES && m->capture_enabled; pe++) {
        if (acts_for(m, pe)) {
            record_fetch(m, &fetches[pe], pe);
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ */

/* The machine that holds the source: in a team that of the peer which this element names, NULL if
 * there is none; alone there is one tile for all four. */
static const tly_pto_machine *gmov_source_of(const tly_pto_machine *m) {
    return m->team != NULL ? tly_pto_team_machine(m->team, tly_pto_pe_register(m, m->element, 0))
                           : m;
}

static bool check_gmov_peers(const tly_pto_machine *m, tly_pto_plan *plan) {
    uint32_t limit = m->team != NULL ? tly_pto_team_size(m->team) : TLY_PTO_NUM_PES;
    for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
        uint64_t peer = tly_pto_pe_register(m, pe, 0);
        if (acts_for(m, pe) && peer >= limit) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_PEER, pe, peer, limit - 1, 0);
        }
    }
    return true;
}

/* `from` is where the source is. */
static bool check_gmov(const tly_pto_machine *m, const tly_pto_machine *from, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    const tly_pto_tile_binding *binding = &header->tile_bindings[0];
    const tly_pto_tile *source = tly_pto_plan_source(from, plan, 0);
    if (!tly_pto_check_transfer(m, plan)) {
        return false;
    }
    if (plan->num_bindings != 1 || binding->source1_valid) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_BINDING_SHAPE, plan->operation,
                                   plan->num_bindings, 1, 0);
    }
    if (!tly_pto_plan_check_attributes(m, plan) || !tly_pto_check_source_defined(from, plan, 0)) {
        return false;
    }
    if (from->core.tile_allocation_masks[plan->sources[0]] != 15) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SOURCE_MASK, plan->sources[0], 15,
                                   from->core.tile_allocation_masks[plan->sources[0]], 0);
    }
    if (tly_pto_size_code_bytes(binding->destination_size) != source->capacity_bytes) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_CAPACITY_DIFFERS, plan->operation,
                                   tly_pto_size_code_bytes(binding->destination_size),
                                   source->capacity_bytes, 0);
    }
    if (!tly_pto_check_type(plan, plan->data_type,
                            TLY_PTO_TYPES_CARRIED | TLY_PTO_TYPES_FOUR_BIT) ||
        !tly_pto_check_source_type(from, plan, 0, plan->data_type) ||
        !tly_pto_check_source_layout(from, plan, 0, plan->layout)) {
        return false;
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_DIMENSIONS; i++) {
        if (header->dimension_present[i]) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_NO_DIMENSIONS, plan->operation, i, 0,
                                       0);
        }
    }
    return check_gmov_peers(m, plan);
}

static bool check_gmov_result(const tly_pto_machine *from, tly_pto_plan *plan) {
    const tly_pto_tile *source = tly_pto_plan_source(from, plan, 0);
    if (source->location == TLY_PTO_LOCATION_MEMORY ||
        source->location == TLY_PTO_LOCATION_MATRIX) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_LOCATION, plan->operation,
                                   plan->sources[0], 0, 0);
    }
    return tly_pto_check_result_matches(from, plan, 0, 0, true);
}

bool tly_pto_execute_gmov(tly_pto_machine *m) {
    const tly_pto_machine *peer = gmov_source_of(m);
    const tly_pto_machine *from = peer != NULL ? peer : m; /* which check_gmov refuses */
    tly_pto_plan plan;
    tly_pto_fault fault;
    tly_pto_plan_begin(m, TLY_PTO_OP_GMOV, &plan);
    if (!check_gmov(m, from, &plan)) {
        return tly_pto_plan_raise(m, &plan, TLY_PTO_FAULT_TILE_LEGALITY);
    }
    if ((m->core.context.header.tile_bindings[0].pe_mask & tly_pto_acting_elements(m)) == 0) {
        return true; /* it only had to be there */
    }
    if (!tly_pto_resolve_results(m, &plan, &fault)) {
        return tly_pto_plan_raise(m, &plan, fault);
    }
    if (!tly_pto_tile_legal(m, &plan.results[0]) || !check_gmov_result(from, &plan)) {
        tly_pto_plan_roll_back(m, &plan);
        return tly_pto_plan_raise(m, &plan, TLY_PTO_FAULT_TILE_LEGALITY);
    }
    copy_contents(m, from, &plan);
    tly_pto_plan_commit(m, &plan);
    return true;
}
