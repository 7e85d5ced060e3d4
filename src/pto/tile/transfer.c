/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/transfer.h"

#include "base/checked.h"
#include "pto/tile/allocate.h"
#include "pto/tile/cube.h"
#include "pto/tile/header.h"

bool tly_pto_check_transfer(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    if (tly_pto_num_shared_bindings(header) != 0) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TLSU_SHARED_OPERAND, plan->operation, 0, 0,
                                   0);
    }
    if (header->fixed_point.valid) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_MATRIX_ATTRIBUTES, plan->operation, 0, 0,
                                   0);
    }
    return tly_pto_plan_check_bindings(m, plan) && tly_pto_plan_read_registers(m, plan) &&
           tly_pto_plan_check_masks(m, plan);
}

bool tly_pto_reserve_result(const tly_pto_machine *m, tly_pto_plan *plan, uint32_t valid_rows,
                            uint32_t valid_columns, uint32_t columns, tly_pto_fault *out_fault) {
    const tly_pto_header *header = &m->core.context.header;
    uint32_t capacity = tly_pto_size_code_bytes(
        header->tile_bindings[plan->destination_bindings[0]].destination_size);
    if (!tly_pto_plan_reserve(m, plan, out_fault)) {
        return false;
    }
    if (!tly_pto_shape_legal(capacity, columns, valid_rows, valid_columns, plan->data_type)) {
        *out_fault = TLY_PTO_FAULT_TILE_ALLOCATION;
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_RESULT_CAPACITY, valid_rows, columns,
                                   plan->data_type, capacity);
    }
    plan->results[0] = tly_pto_numeric_tile(capacity, columns, valid_rows, valid_columns,
                                            plan->data_type, plan->layout);
    return true;
}

uint64_t tly_pto_pe_register(const tly_pto_machine *m, uint32_t pe, uint32_t slot) {
    const tly_pto_scalar_binding *binding = &m->core.context.header.scalar_bindings[0];
    uint32_t selector = slot == 0 ? binding->source0 : binding->source1;
    return binding->valid && selector < TLY_PTO_NUM_GPRS ? m->core.gprs[pe][selector] : 0;
}

bool tly_pto_cube_tile_legal(const tly_pto_machine *m, const tly_pto_tile *tile) {
    if (!tile->allocated || tile->storage_kind != TLY_PTO_NUMERIC ||
        tile->location != TLY_PTO_LOCATION_MATRIX) {
        return false;
    }
    tly_pto_tile wanted = tly_pto_cube_tile(m, tile->capacity_bytes, tile->valid_rows,
                                            tile->valid_columns, tile->data_type, tile->layout);
    return wanted.allocated && tile->rows == wanted.rows && tile->columns == wanted.columns &&
           tile->cube_k_repeat == wanted.cube_k_repeat &&
           tile->cube_n_repeat == wanted.cube_n_repeat &&
           tile->cube_cell_count == wanted.cube_cell_count &&
           tile->cube_storage_bytes == wanted.cube_storage_bytes;
}
