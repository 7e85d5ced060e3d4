/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers and scatters: every element has an address of its own, base plus a byte displacement
 * from a tile of integers. All addresses are checked before the first access
 * (asl/tile/model/memory/gather-scatter, atomics). Where two lanes of a scatter meet, the
 * architecture leaves the order open; here it is that of rows and columns. */
#include "base/checked.h"
#include "pto/events.h"
#include "pto/memory.h"
#include "pto/tile/allocate.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"
#include "pto/tile/tlsu.h"
#include "pto/tile/transfer.h"
#include "pto/tile/transport.h"

/* Which sources of an operation are what; NONE where it has none of the kind. */
enum { NONE = -1 };

typedef struct roles {
    int8_t data; /* what is stored */
    int8_t indices;
    int8_t mask;
    int8_t expected;
    int8_t replacement;
    uint8_t num_bindings;
} roles;

static const roles gather_roles = {NONE, 0, NONE, NONE, NONE, 1};
static const roles gather_mask_roles = {NONE, 0, 1, NONE, NONE, 1};
static const roles scatter_roles = {0, 1, NONE, NONE, NONE, 1};
static const roles scatter_mask_roles = {0, 1, 2, NONE, NONE, 2};
static const roles cas_roles = {NONE, 0, NONE, 1, 2, 2};

/* The order in which B.IOT names the tiles: two sources first where there are two commands, the
 * destination in the last one, no size code where there is no destination. */
static bool bindings_in_order(const tly_pto_header *header, const tly_pto_plan *plan,
                              const roles *r) {
    const tly_pto_tile_binding *first = &header->tile_bindings[0];
    const tly_pto_tile_binding *last = &header->tile_bindings[r->num_bindings - 1];
    bool gathers = r->data == NONE;
    if (plan->num_bindings != r->num_bindings || last->destination_valid != gathers ||
        (!gathers && last->destination_size != 0) || !last->source0_valid || !last->last) {
        return false;
    }
    if (r->num_bindings == 1) {
        return last->source1_valid == (plan->row->num_sources == 2);
    }
    return !first->destination_valid && first->destination_size == 0 && first->source0_valid &&
           first->source1_valid && !first->last && !last->source1_valid;
}

static bool region_legal(const tly_pto_header *header, const tly_pto_extent *extent) {
    for (uint32_t i = 0; i < TLY_PTO_NUM_DIMENSIONS; i++) {
        if (header->dimension_present[i] &&
            (header->dimensions[i] == 0 || header->dimensions[i] > TLY_PTO_TILE_MAX_EXTENT)) {
            return false;
        }
    }
    return header->dimension_present[0] && extent->valid_columns <= extent->columns &&
           tly_base_is_power_of_two(extent->columns) &&
           (uint64_t)extent->valid_rows * extent->valid_columns <= TLY_PTO_WIDE_ELEMENTS;
}

static bool check_extent(const tly_pto_machine *m, tly_pto_plan *plan, int ordinal,
                         const tly_pto_extent *extent) {
    if (ordinal == NONE) {
        return true;
    }
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, (uint32_t)ordinal);
    if (tile->valid_rows != extent->valid_rows || tile->valid_columns != extent->valid_columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SOURCE_EXTENT, plan->operation,
                                   plan->sources[ordinal], extent->valid_rows,
                                   extent->valid_columns);
    }
    return true;
}

/* Operands that have to be of the type and layout of the block. */
static bool check_data(const tly_pto_machine *m, tly_pto_plan *plan, int ordinal) {
    return ordinal == NONE ||
           (tly_pto_check_source_defined(m, plan, (uint32_t)ordinal) &&
            tly_pto_check_source_type(m, plan, (uint32_t)ordinal, plan->data_type));
}

static bool check_layout(const tly_pto_machine *m, tly_pto_plan *plan, int ordinal) {
    return ordinal == NONE || tly_pto_check_source_layout(m, plan, (uint32_t)ordinal, plan->layout);
}

static bool check_operands(const tly_pto_machine *m, tly_pto_plan *plan, const roles *r,
                           const tly_pto_extent *extent) {
    const tly_pto_tile *indices = tly_pto_plan_source(m, plan, (uint32_t)r->indices);
    if (!tly_pto_check_source_defined(m, plan, (uint32_t)r->indices) ||
        !check_data(m, plan, r->data) || !check_data(m, plan, r->expected) ||
        !check_data(m, plan, r->replacement)) {
        return false;
    }
    if (r->mask != NONE && !tly_pto_check_source_predicate(m, plan, (uint32_t)r->mask)) {
        return false;
    }
    if (!tly_pto_dtype_is_integer(indices->data_type)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_INDEX_TYPE, plan->operation,
                                   plan->sources[r->indices], indices->data_type, 0);
    }
    if (tly_pto_dtype_is_four_bit(plan->data_type)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_ELEMENT_TYPE, plan->operation,
                                   plan->data_type, 0, 0);
    }
    if (!check_extent(m, plan, r->data, extent) || !check_extent(m, plan, r->indices, extent) ||
        !check_extent(m, plan, r->mask, extent) || !check_extent(m, plan, r->expected, extent) ||
        !check_extent(m, plan, r->replacement, extent)) {
        return false;
    }
    if (r->data != NONE) {
        const tly_pto_tile *data = tly_pto_plan_source(m, plan, (uint32_t)r->data);
        if (data->columns != extent->columns) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SOURCE_COLUMNS, plan->operation,
                                       plan->sources[r->data], extent->columns, data->columns);
        }
    }
    /* a gather without a mask, and compare and swap, take indices in any layout */
    bool same_layout = r->data != NONE || r->mask != NONE;
    return !same_layout || (check_layout(m, plan, r->data) && check_layout(m, plan, r->indices) &&
                            check_layout(m, plan, r->mask));
}

static bool check_indexed(const tly_pto_machine *m, tly_pto_plan *plan, const roles *r,
                          const tly_pto_extent *extent) {
    const tly_pto_header *header = &m->core.context.header;
    if (!header->scalar_bindings[0].valid) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_NO_REGISTERS, plan->operation, 0, 0, 0);
    }
    if (!tly_pto_check_transfer(m, plan)) {
        return false;
    }
    if (!region_legal(header, extent)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_REGION, plan->operation,
                                   extent->valid_rows, extent->valid_columns, extent->columns);
    }
    if (!bindings_in_order(header, plan, r)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_BINDING_SHAPE, plan->operation,
                                   plan->num_bindings, r->num_bindings, 0);
    }
    return tly_pto_plan_check_attributes(m, plan) && check_operands(m, plan, r, extent);
}

/* ------------------------------------------------------------------------------------------ */

/* One execution, once its operands are known to be legal. */
typedef struct lanes {
    const tly_pto_plan *plan;
    const roles *r;
    const tly_pto_tile *indices;
    const tly_pto_elements *index_elements;
    uint32_t size;
    uint32_t rows;
    uint32_t columns;
} lanes;

static lanes lanes_of(const tly_pto_machine *m, const tly_pto_plan *plan, const roles *r,
                      const tly_pto_extent *extent) {
    return (lanes){plan,
                   r,
                   tly_pto_plan_source(m, plan, (uint32_t)r->indices),
                   tly_pto_plan_source_elements(m, plan, (uint32_t)r->indices),
                   tly_pto_access_len(plan->data_type),
                   extent->valid_rows,
                   extent->valid_columns};
}

static bool is_active(const tly_pto_machine *m, const lanes *l, uint32_t row, uint32_t column) {
    if (l->r->mask == NONE) {
        return true;
    }
    const tly_pto_tile *mask = tly_pto_plan_source(m, l->plan, (uint32_t)l->r->mask);
    return tly_pto_predicate_read(tly_pto_plan_source_elements(m, l->plan, (uint32_t)l->r->mask),
                                  tly_pto_tile_index(mask, row, column));
}

/* The reference reads these operands from its array of words even where several elements share a
 * word (four-bit indices, tiles of more than 32768 elements): lane i takes word i, and the element
 * in its lowest bits. */
static uint64_t payload_word(const tly_pto_elements *e, const tly_pto_tile *tile, uint32_t index) {
    return index < tly_pto_payload_len(tile) ? tly_pto_payload_read(e, tile, index) : 0;
}

static uint64_t address_of(const lanes *l, uint32_t row, uint32_t column) {
    uint64_t word =
        payload_word(l->index_elements, l->indices, tly_pto_tile_index(l->indices, row, column));
    return l->plan->address + tly_pto_canonical(word, l->indices->data_type);
}

static bool check_addresses(tly_pto_machine *m, const lanes *l) {
    for (uint32_t row = 0; row < l->rows; row++) {
        for (uint32_t column = 0; column < l->columns; column++) {
            if (is_active(m, l, row, column) &&
                !tly_pto_check_access(m, address_of(l, row, column), l->size, l->size)) {
                return false;
            }
        }
    }
    return true;
}

static uint64_t source_word(const tly_pto_machine *m, const lanes *l, int ordinal, uint32_t row,
                            uint32_t column) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, l->plan, (uint32_t)ordinal);
    return payload_word(tly_pto_plan_source_elements(m, l->plan, (uint32_t)ordinal), tile,
                        tly_pto_tile_index(tile, row, column));
}

/* Everything outside of the lanes, and lanes that the mask leaves out, hold the pad value. */
static void fill_padding(const lanes *l, const tly_pto_tile *result, tly_pto_elements *e) {
    uint64_t word = tly_pto_pad_value(l->plan->pad, l->plan->data_type);
    tly_pto_elements_clear(e);
    for (uint32_t i = 0; word != 0 && i < tly_pto_tile_elements(result); i++) {
        tly_pto_element_write(e, result, i, word);
    }
}

static void gather(tly_pto_machine *m, const lanes *l, const tly_pto_tile *result,
                   tly_pto_elements *e) {
    fill_padding(l, result, e);
    for (uint32_t row = 0; row < l->rows; row++) {
        for (uint32_t column = 0; column < l->columns; column++) {
            if (is_active(m, l, row, column)) {
                uint64_t address = address_of(l, row, column);
                uint64_t raw = tly_pto_peek(m, address, l->size);
                tly_pto_record_load(m, address, l->size, raw, tly_pto_bundle_order(m));
                tly_pto_element_write(e, result, tly_pto_tile_index(result, row, column),
                                      tly_pto_decode_element(raw, l->plan->data_type, false));
            }
        }
    }
}

static void scatter(tly_pto_machine *m, const lanes *l) {
    for (uint32_t row = 0; row < l->rows; row++) {
        for (uint32_t column = 0; column < l->columns; column++) {
            if (is_active(m, l, row, column)) {
                uint64_t address = address_of(l, row, column);
                uint64_t word = source_word(m, l, l->r->data, row, column);
                tly_pto_poke(m, address, l->size, word);
                tly_pto_record_store(m, address, l->size, tly_pto_low_bits(word, l->size * 8),
                                     tly_pto_bundle_order(m));
            }
        }
    }
}

static void compare_and_swap(tly_pto_machine *m, const lanes *l, const tly_pto_tile *result,
                             tly_pto_elements *e) {
    uint32_t bits = l->size * 8;
    fill_padding(l, result, e);
    for (uint32_t row = 0; row < l->rows; row++) {
        for (uint32_t column = 0; column < l->columns; column++) {
            uint64_t address = address_of(l, row, column);
            uint64_t old = tly_pto_peek(m, address, l->size);
            uint64_t expected = source_word(m, l, l->r->expected, row, column);
            uint64_t wanted =
                tly_pto_low_bits(source_word(m, l, l->r->replacement, row, column), bits);
            bool equal = old == tly_pto_low_bits(expected, bits);
            if (equal) {
                tly_pto_poke(m, address, l->size, wanted);
            }
            tly_pto_record_atomic(m, address, l->size, old, wanted, equal, tly_pto_bundle_order(m));
            tly_pto_element_write(e, result, tly_pto_tile_index(result, row, column),
                                  tly_pto_decode_element(old, l->plan->data_type, false));
        }
    }
}

/* ------------------------------------------------------------------------------------------ */

static bool into_tile(tly_pto_machine *m, tly_pto_plan *plan, const roles *r,
                      const tly_pto_extent *extent) {
    tly_pto_fault fault;
    tly_pto_tile *result = &plan->results[0];
    if (!tly_pto_reserve_result(m, plan, extent->valid_rows, extent->valid_columns, extent->columns,
                                &fault)) {
        return tly_pto_plan_raise(m, plan, fault);
    }
    if (!tly_pto_tile_legal(m, result)) {
        tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_RESULT_LAYOUT, plan->operation, result->layout,
                            result->rows, result->columns);
        tly_pto_plan_roll_back(m, plan);
        return tly_pto_plan_raise(m, plan, TLY_PTO_FAULT_TILE_LEGALITY);
    }
    lanes l = lanes_of(m, plan, r, extent);
    if (!check_addresses(m, &l)) {
        tly_pto_plan_roll_back(m, plan);
        return false;
    }
    tly_pto_elements *e = tly_pto_plan_result_elements(m, plan, 0);
    if (r->expected != NONE) {
        compare_and_swap(m, &l, result, e);
    } else {
        gather(m, &l, result, e);
    }
    e->defined = TLY_PTO_DEFINED_ALL;
    tly_pto_result_defined(result);
    tly_pto_plan_commit(m, plan);
    return true;
}

static bool execute(tly_pto_machine *m, uint32_t operation, const roles *r) {
    tly_pto_plan plan;
    tly_pto_plan_begin(m, operation, &plan);
    if (tly_pto_plan_is_idle(m, &plan)) {
        return true;
    }
    tly_pto_extent extent = tly_pto_header_extent(&m->core.context.header);
    if (!check_indexed(m, &plan, r, &extent)) {
        return tly_pto_plan_raise(m, &plan, TLY_PTO_FAULT_TILE_LEGALITY);
    }
    if (r->data == NONE) {
        return into_tile(m, &plan, r, &extent);
    }
    lanes l = lanes_of(m, &plan, r, &extent);
    if (!check_addresses(m, &l)) {
        return false;
    }
    scatter(m, &l);
    return true;
}

bool tly_pto_execute_gather(tly_pto_machine *m) {
    return execute(m, TLY_PTO_OP_MGATHER, &gather_roles);
}

bool tly_pto_execute_scatter(tly_pto_machine *m) {
    return execute(m, TLY_PTO_OP_MSCATTER, &scatter_roles);
}

bool tly_pto_execute_gather_mask(tly_pto_machine *m) {
    return execute(m, TLY_PTO_OP_MGATHER_MASK, &gather_mask_roles);
}

bool tly_pto_execute_scatter_mask(tly_pto_machine *m) {
    return execute(m, TLY_PTO_OP_MSCATTER_MASK, &scatter_mask_roles);
}

bool tly_pto_execute_gather_cas(tly_pto_machine *m) {
    return execute(m, TLY_PTO_OP_MGATHER_CAS, &cas_roles);
}
