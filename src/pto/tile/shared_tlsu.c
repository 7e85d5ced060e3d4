/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and moves with a shared tile: each processing element of the mask moves its
 * quarter, by its own registers (asl/block/model/dispatch/shared-tlsu). */
#include <string.h>

#include "pto/events.h"
#include "pto/memory.h"
#include "pto/tile/allocate.h"
#include "pto/tile/header.h"
#include "pto/tile/legal.h"
#include "pto/tile/resolve.h"
#include "pto/tile/shared.h"
#include "pto/tile/tlsu.h"
#include "pto/tile/transfer.h"
#include "pto/tile/transport.h"

/* Functions of the memory operations that reach a shared tile. */
enum {
    LOAD = 0,
    STORE = 1,
    WRITE = 9, /* local to shared */
    WRITE_PUBLISH = 10,
    READ = 11, /* shared to local, all quarters */
    READ_PARTIAL = 12,
    STORE_PARTIAL = 14
};

enum { ALL = 15, MAX_LOCAL_SIZE_CODE = 10 };

/* Packed tiles have an index for every element even where their fractals do not divide them; the
 * elements that meet then are written in order. */
static bool indexing_defined(const tly_pto_tile *tile) {
    return tly_pto_tile_is_packed(tile) || tly_pto_generic_indexing(tile);
}

/* What the header says about the shared tile. */
typedef struct shared_side {
    uint32_t function;
    uint32_t id;
    uint32_t size_code;
    uint32_t mask;
    uint32_t part; /* of the mask: the elements whose quarters this machine moves */
} shared_side;

static const tly_pto_tile_binding *only_binding(const tly_pto_machine *m) {
    return &m->core.context.header.tile_bindings[0];
}

/* ------------------------------------------------------------------------------------------ */

/* Rows of all four processing elements, which share all but base and stride. */
typedef struct quarters {
    tly_pto_rows rows[TLY_PTO_NUM_PES];
    bool same; /* the four take the same rows */
} quarters;

static quarters quarters_of(const tly_pto_machine *m, const tly_pto_tile *tile) {
    const tly_pto_header *header = &m->core.context.header;
    bool bound = header->scalar_bindings[0].valid;
    bool in_elements = bound && m->release != TLY_ISA_0_58_3;
    quarters q = {.same = true};
    for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
        uint64_t stride = bound ? tly_pto_pe_register(m, pe, 1)
                                : tly_pto_dense_stride(tile->columns, tile->data_type);
        q.rows[pe] = (tly_pto_rows){
            .base = tly_pto_pe_register(m, pe, 0),
            .stride = in_elements ? stride * tly_pto_dtype_bits(tile->data_type) / 8 : stride,
            .num_rows = tile->valid_rows,
            .num_columns = tile->valid_columns,
            .dtype = tile->data_type};
        q.same =
            q.same && q.rows[pe].base == q.rows[0].base && q.rows[pe].stride == q.rows[0].stride;
    }
    return q;
}

/* The first element, row by row, that its processing element may not access raises the fault. */
static bool check_quarters(tly_pto_machine *m, const quarters *q, const tly_pto_tile *tile,
                           uint32_t mask) {
    uint32_t size = tly_pto_access_len(tile->data_type);
    if (q->same && mask == ALL) {
        return tly_pto_check_rows(m, &q->rows[0]);
    }
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column++) {
            uint32_t pe = tly_pto_shared_quarter(tile, tly_pto_tile_index(tile, row, column));
            if (tly_pto_mask_has(mask, pe) &&
                !tly_pto_check_access(m, tly_pto_rows_address(&q->rows[pe], row, column), size,
                                      size)) {
                return false;
            }
        }
    }
    return true;
}

static bool in_high_nibble(const tly_pto_tile *tile, uint32_t column) {
    return tly_pto_dtype_is_four_bit(tile->data_type) && column % 2 == 1;
}

static void load_element(tly_pto_machine *m, const quarters *q, const tly_pto_tile *tile,
                         tly_pto_elements *e, uint32_t row, uint32_t column, uint32_t mask) {
    uint32_t index = tly_pto_tile_index(tile, row, column);
    uint32_t pe = tly_pto_shared_quarter(tile, index);
    if (!tly_pto_mask_has(mask, pe)) {
        return;
    }
    uint32_t size = tly_pto_access_len(tile->data_type);
    uint64_t address = tly_pto_rows_address(&q->rows[pe], row, column);
    uint64_t raw = tly_pto_peek(m, address, size);
    uint8_t current = m->core.current_pe;
    m->core.current_pe = (uint8_t)pe;
    tly_pto_record_load(m, address, size, raw, tly_pto_bundle_order(m));
    m->core.current_pe = current;
    tly_pto_element_write(
        e, tile, index, tly_pto_decode_element(raw, tile->data_type, in_high_nibble(tile, column)));
    tly_pto_element_define(e, tile, index, true);
}

static void store_element(tly_pto_machine *m, const quarters *q, const tly_pto_tile *tile,
                          const shared_side *s, uint32_t row, uint32_t column) {
    uint32_t index = tly_pto_tile_index(tile, row, column);
    uint32_t pe = tly_pto_shared_quarter(tile, index);
    if (!tly_pto_mask_has(s->part, pe)) {
        return;
    }
    uint32_t size = tly_pto_access_len(tile->data_type);
    uint64_t address = tly_pto_rows_address(&q->rows[pe], row, column);
    uint64_t word = tly_pto_shared_word(m, s->id, index);
    if (tly_pto_dtype_is_four_bit(tile->data_type)) {
        uint32_t shift = column % 2 * 4;
        word = (tly_pto_peek(m, address, 1) & ~(UINT64_C(15) << shift)) | (word & 15) << shift;
    }
    word = tly_pto_low_bits(word, size * 8);
    tly_pto_poke(m, address, size, word);
    uint8_t current = m->core.current_pe;
    m->core.current_pe = (uint8_t)pe;
    tly_pto_record_store(m, address, size, word, tly_pto_bundle_order(m));
    m->core.current_pe = current;
}

/* ------------------------------------------------------------------------------------------ */

static bool check_load(const tly_pto_machine *m, tly_pto_plan *plan, const shared_side *s) {
    const uint64_t *lb = m->core.context.header.dimensions;
    uint32_t capacity = tly_pto_size_code_bytes(s->size_code);
    if (capacity == 0 || plan->num_bindings != 0) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_DIRECTION, plan->operation,
                                   s->size_code, plan->num_bindings, 0);
    }
    if (lb[0] < 1 || lb[0] > TLY_PTO_TILE_MAX_EXTENT || lb[1] < 1 ||
        lb[1] > TLY_PTO_TILE_MAX_EXTENT || lb[2] > TLY_PTO_TILE_MAX_EXTENT || lb[0] > lb[2]) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_EXTENT, lb[1], lb[0], lb[2], 0);
    }
    if (!tly_pto_shape_legal(capacity, (uint32_t)lb[2], (uint32_t)lb[1], (uint32_t)lb[0],
                             plan->data_type)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_SHAPE, lb[1], lb[2],
                                   plan->data_type, capacity);
    }
    tly_pto_tile tile = tly_pto_numeric_tile(capacity, (uint32_t)lb[2], (uint32_t)lb[1],
                                             (uint32_t)lb[0], plan->data_type, plan->layout);
    if (!tly_pto_shared_writable(m, s->id, &tile, s->mask)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_UPDATE, s->id, s->mask,
                                   m->core.shared_tiles[s->id].allocation_mask, 0);
    }
    if (!indexing_defined(&tile)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_RESULT_LAYOUT, plan->operation,
                                   tile.layout, tile.rows, tile.columns);
    }
    plan->results[0] = tile;
    return true;
}

static bool run_load(tly_pto_machine *m, const tly_pto_plan *plan, const shared_side *s) {
    const tly_pto_tile *tile = &plan->results[0];
    tly_pto_elements *e = &m->tiles->shared[s->id];
    bool fresh = !m->core.shared_tiles[s->id].descriptor_valid;
    quarters q = quarters_of(m, tile);
    if (!check_quarters(m, &q, tile, s->part)) {
        return false;
    }
    if (fresh && q.same && s->part == ALL && !m->capture_enabled &&
        tly_pto_generic_indexing(tile)) {
        tly_pto_load_rows(m, &q.rows[0], tile, e, TLY_PTO_PAD_NULL);
    } else {
        if (fresh) {
            tly_pto_elements_clear(e);
        }
        for (uint32_t row = 0; row < tile->valid_rows; row++) {
            for (uint32_t column = 0; column < tile->valid_columns; column++) {
                load_element(m, &q, tile, e, row, column, s->part);
            }
        }
    }
    tly_pto_shared_wrote(m, s->id, tile, s->mask, s->part, true);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

/* The descriptor that a reader sees: what it asks for, and the shared tile's capacity, or that of
 * the smallest tile that would do. All but `capacity` comes from LB0 to LB2, else from the tile. */
static tly_pto_tile view_of(const tly_pto_plan *plan, uint32_t capacity, uint32_t columns,
                            uint32_t valid_rows, uint32_t valid_columns) {
    return tly_pto_numeric_tile(capacity, columns, valid_rows, valid_columns, plan->data_type,
                                plan->layout);
}

static uint64_t store_dimension(const tly_pto_header *header, uint32_t index, uint64_t otherwise) {
    if (!header->dimension_present[index]) {
        return otherwise;
    }
    return header->dimensions[index] <= TLY_PTO_TILE_MAX_EXTENT ? header->dimensions[index] : 0;
}

static bool check_store(const tly_pto_machine *m, tly_pto_plan *plan, const shared_side *s) {
    const tly_pto_header *header = &m->core.context.header;
    const tly_pto_shared_tile *shared = &m->core.shared_tiles[s->id];
    if (s->function == STORE && s->mask != ALL) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_STORE_MASK, s->id, s->mask, 0, 0);
    }
    if (s->size_code != 0 || plan->num_bindings != 0) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_DIRECTION, plan->operation,
                                   s->size_code, plan->num_bindings, 0);
    }
    bool known = shared->descriptor_valid;
    uint32_t valid_columns =
        (uint32_t)store_dimension(header, 0, known ? shared->tile.valid_columns : 1);
    uint32_t valid_rows = (uint32_t)store_dimension(header, 1, known ? shared->tile.valid_rows : 1);
    uint32_t columns =
        (uint32_t)store_dimension(header, 2, known ? shared->tile.columns : valid_columns);
    if (valid_columns < 1 || valid_rows < 1 || columns < 1 || valid_columns > columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_EXTENT, valid_rows, valid_columns,
                                   columns, 0);
    }
    uint32_t capacity =
        known ? shared->tile.capacity_bytes
              : tly_pto_minimum_capacity(columns, valid_rows, valid_columns, plan->data_type);
    plan->results[0] = view_of(plan, capacity, columns, valid_rows, valid_columns);
    if (capacity == 0 || !tly_pto_shared_readable(m, s->id, &plan->results[0])) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_READ, s->id, valid_rows,
                                   valid_columns, plan->data_type);
    }
    if (!indexing_defined(&plan->results[0])) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_RESULT_LAYOUT, plan->operation,
                                   plan->layout, plan->results[0].rows, columns);
    }
    return true;
}

static bool run_store(tly_pto_machine *m, const tly_pto_plan *plan, const shared_side *s) {
    const tly_pto_tile *tile = &plan->results[0];
    quarters q = quarters_of(m, tile);
    if (!check_quarters(m, &q, tile, s->part)) {
        return false;
    }
    if (q.same && s->part == ALL && m->core.shared_tiles[s->id].initialized_mask == ALL &&
        !m->capture_enabled) {
        tly_pto_store_rows(m, &q.rows[0], tile, &m->tiles->shared[s->id]);
        return true;
    }
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column++) {
            store_element(m, &q, tile, s, row, column);
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ */

static bool check_same_masks(const tly_pto_machine *m, tly_pto_plan *plan, const shared_side *s) {
    if (only_binding(m)->pe_mask != s->mask) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_MASKS, s->mask,
                                   only_binding(m)->pe_mask, 0, 0);
    }
    return true;
}

static bool check_write(const tly_pto_machine *m, tly_pto_plan *plan, const shared_side *s) {
    const tly_pto_tile_binding *binding = only_binding(m);
    const tly_pto_shared_tile *shared = &m->core.shared_tiles[s->id];
    uint32_t capacity = tly_pto_size_code_bytes(s->size_code);
    if (plan->num_bindings != 1 || binding->destination_valid || !binding->source0_valid ||
        binding->source1_valid || !binding->last || binding->destination_size != 0 ||
        capacity == 0) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_DIRECTION, plan->operation,
                                   s->size_code, plan->num_bindings, 0);
    }
    if (!check_same_masks(m, plan, s) || !tly_pto_check_source_defined(m, plan, 0)) {
        return false;
    }
    tly_pto_tile tile = *tly_pto_plan_source(m, plan, 0);
    tile.location = TLY_PTO_LOCATION_ANY;
    if (tile.capacity_bytes != capacity) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_CAPACITY_DIFFERS, plan->operation,
                                   capacity, tile.capacity_bytes, 0);
    }
    if (!tly_pto_shared_writable(m, s->id, &tile, s->mask)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_UPDATE, s->id, s->mask,
                                   shared->allocation_mask, 0);
    }
    if (s->function == WRITE_PUBLISH && shared->descriptor_valid &&
        (shared->initialized_mask | s->mask) != shared->allocation_mask) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_PUBLISH, s->id, s->mask,
                                   shared->allocation_mask, 0);
    }
    plan->results[0] = tile;
    return true;
}

static void run_write(tly_pto_machine *m, const tly_pto_plan *plan, const shared_side *s) {
    const tly_pto_tile *tile = &plan->results[0];
    const tly_pto_elements *from = tly_pto_plan_source_elements(m, plan, 0);
    tly_pto_elements *e = &m->tiles->shared[s->id];
    bool fresh = !m->core.shared_tiles[s->id].descriptor_valid;
    if ((fresh && s->part == s->mask) || (s->part == ALL && from->defined == TLY_PTO_DEFINED_ALL)) {
        tly_pto_elements_copy(e, from, tile);
    } else {
        if (fresh) {
            tly_pto_elements_clear(e);
        }
        for (uint32_t i = 0; i < tly_pto_tile_elements(tile); i++) {
            if (tly_pto_mask_has(s->part, tly_pto_shared_quarter(tile, i)) &&
                tly_pto_element_is_defined(from, tile, i)) {
                tly_pto_element_write(e, tile, i, tly_pto_element_read(from, tile, i));
                tly_pto_element_define(e, tile, i, true);
            }
        }
    }
    tly_pto_shared_wrote(m, s->id, tile, s->mask, s->part, s->function == WRITE_PUBLISH);
}

/* ------------------------------------------------------------------------------------------ */

static bool check_read(const tly_pto_machine *m, tly_pto_plan *plan, const shared_side *s) {
    const tly_pto_tile_binding *binding = only_binding(m);
    const tly_pto_shared_tile *shared = &m->core.shared_tiles[s->id];
    if (plan->num_bindings != 1 || !binding->destination_valid || binding->source0_valid ||
        binding->source1_valid || !binding->last || binding->destination_size < 1 ||
        binding->destination_size > MAX_LOCAL_SIZE_CODE || s->size_code != 0) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_DIRECTION, plan->operation,
                                   s->size_code, plan->num_bindings, 0);
    }
    if (!check_same_masks(m, plan, s)) {
        return false;
    }
    uint32_t capacity = tly_pto_size_code_bytes(binding->destination_size);
    uint32_t valid_rows = tly_pto_inferred_valid_rows(m, false, 0);
    uint32_t valid_columns = tly_pto_inferred_valid_columns(m, false, 0);
    uint32_t columns = tly_pto_inferred_columns(m, false, 0);
    if (valid_rows < 1 || valid_columns < 1 || columns < 1 || valid_columns > columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_EXTENT, valid_rows, valid_columns,
                                   columns, 0);
    }
    tly_pto_tile view = view_of(plan, capacity, columns, valid_rows, valid_columns);
    if (!tly_pto_shared_readable(m, s->id, &view)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_READ, s->id, valid_rows,
                                   valid_columns, plan->data_type);
    }
    if (s->function == READ &&
        (s->mask != ALL || shared->allocation_mask != ALL || !tly_pto_shared_published(m, s->id))) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_UNPUBLISHED, s->id, 0, 0, 0);
    }
    return true;
}

static void read_elements(tly_pto_machine *m, const tly_pto_tile *tile, tly_pto_elements *e,
                          const shared_side *s) {
    const tly_pto_shared_tile *shared = &m->core.shared_tiles[s->id];
    if (s->mask == ALL && shared->descriptor_valid && shared->initialized_mask == ALL) {
        tly_pto_elements_copy(e, &m->tiles->shared[s->id], tile);
        e->defined = TLY_PTO_DEFINED_ALL;
        return;
    }
    tly_pto_elements_clear(e);
    for (uint32_t i = 0; i < tly_pto_tile_elements(tile); i++) {
        if (tly_pto_mask_has(s->mask, tly_pto_shared_quarter(tile, i))) {
            tly_pto_element_write(e, tile, i, tly_pto_shared_word(m, s->id, i));
            tly_pto_element_define(e, tile, i, true);
        }
    }
}

static bool run_read(tly_pto_machine *m, tly_pto_plan *plan, const shared_side *s) {
    tly_pto_fault fault;
    tly_pto_tile *result = &plan->results[0];
    if (!tly_pto_resolve_results(m, plan, &fault)) {
        return tly_pto_plan_raise(m, plan, fault);
    }
    if (result->data_type != plan->data_type) { /* B.DATR may name another one */
        tly_pto_plan_roll_back(m, plan);
        return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TLSU_SHARED_RESULT,
                              s->id, 0, 0, 0);
    }
    read_elements(m, result, tly_pto_plan_result_elements(m, plan, 0), s);
    if (s->mask == ALL) {
        tly_pto_result_defined(result);
    }
    tly_pto_plan_commit(m, plan);
    return true;
}

/* ------------------------------------------------------------------------------------------ */

static uint32_t operation_of(uint32_t function) {
    switch (function) {
    case STORE_PARTIAL:
        return TLY_PTO_OP_TSTORE;
    case WRITE:
    case WRITE_PUBLISH:
    case READ:
    case READ_PARTIAL:
        return TLY_PTO_OP_TMOV;
    default:
        return function <= 8 ? TLY_PTO_OP_TLOAD + function : TLY_PTO_NUM_TILE_OPS;
    }
}

/* B.IOR names only the registers that the operation reads. */
static bool registers_legal(const tly_pto_header *header, const tly_pto_plan *plan) {
    const tly_pto_scalar_binding *scalar = &header->scalar_bindings[0];
    int count = __builtin_popcount(plan->row->takes);
    return !scalar->valid || (scalar->destination == 0 && scalar->source2 == 0 &&
                              (count == 2 || (scalar->source0 == 0 && scalar->source1 == 0)));
}

static bool check(const tly_pto_machine *m, tly_pto_plan *plan, const shared_side *s) {
    switch (s->function) {
    case LOAD:
        return check_load(m, plan, s);
    case STORE:
    case STORE_PARTIAL:
        return check_store(m, plan, s);
    case WRITE:
    case WRITE_PUBLISH:
        return check_write(m, plan, s);
    case READ:
    case READ_PARTIAL:
        return check_read(m, plan, s);
    default:
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_FUNCTION, s->function, 0, 0, 0);
    }
}

static bool run(tly_pto_machine *m, tly_pto_plan *plan, const shared_side *s) {
    switch (s->function) {
    case LOAD:
        return run_load(m, plan, s);
    case STORE:
    case STORE_PARTIAL:
        return run_store(m, plan, s);
    case WRITE:
    case WRITE_PUBLISH:
        run_write(m, plan, s);
        return true;
    default:
        return run_read(m, plan, s);
    }
}

bool tly_pto_execute_shared_tlsu(tly_pto_machine *m) {
    tly_pto_header *header = &m->core.context.header;
    tly_pto_shared_binding *binding = &header->shared_bindings[0];
    uint32_t count = tly_pto_num_shared_bindings(header);
    if (count != 1) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_TLSU_SHARED_COUNT, count,
                              0, 0, 0);
    }
    const shared_side s = {header->operation.selector & 31, binding->shared_id, binding->size_code,
                           binding->pe_mask, binding->pe_mask & tly_pto_acting_elements(m)};
    uint32_t operation = operation_of(s.function);
    tly_pto_plan plan;
    if (s.mask == 0) {
        return true;
    }
    if (operation == TLY_PTO_NUM_TILE_OPS) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION,
                              TLY_PTO_RULE_TLSU_SHARED_FUNCTION, s.function, 0, 0, 0);
    }
    tly_pto_plan_begin(m, operation, &plan);
    if (!tly_pto_dtype_valid(plan.data_type)) {
        /* a move may leave its type open: it is that of the shared tile */
        plan.data_type = m->core.shared_tiles[s.id].tile.data_type;
    }
    if (!registers_legal(header, &plan)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_TILE_REGISTER_COUNT,
                              plan.operation, (uint64_t)__builtin_popcount(plan.row->takes), 0, 0);
    }
    if (!tly_pto_plan_check_attributes(m, &plan) || !check(m, &plan, &s)) {
        return tly_pto_plan_raise(m, &plan, TLY_PTO_FAULT_TILE_LEGALITY);
    }
    if (!run(m, &plan, &s)) {
        return false;
    }
    binding->consumed = true;
    return true;
}
