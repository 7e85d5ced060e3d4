/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, stores and moves of local tiles, element by element, until tlsu.c and cube.c join the
 * build; this file goes when they come. */
#include "pto/fault.h"
#include "pto/memory.h"
#include "pto/tile/cube.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"
#include "pto/tile/tlsu.h"

static bool absent(tly_pto_machine *m) {
    return tly_pto_refuse(m, TLY_PTO_FAULT_ILLEGAL_INSTRUCTION, TLY_PTO_RULE_OPERATION_CLASS,
                          m->core.context.bpc, m->core.context.header.operation.operation_class, 0,
                          0);
}

bool tly_pto_execute_cube_transport(tly_pto_machine *m) {
    return absent(m);
}
bool tly_pto_execute_shared_tlsu(tly_pto_machine *m) {
    return absent(m);
}
bool tly_pto_execute_prefetch(tly_pto_machine *m) {
    return absent(m);
}
bool tly_pto_execute_gather(tly_pto_machine *m) {
    return absent(m);
}
bool tly_pto_execute_scatter(tly_pto_machine *m) {
    return absent(m);
}
bool tly_pto_execute_gather_mask(tly_pto_machine *m) {
    return absent(m);
}
bool tly_pto_execute_scatter_mask(tly_pto_machine *m) {
    return absent(m);
}
bool tly_pto_execute_gather_cas(tly_pto_machine *m) {
    return absent(m);
}
bool tly_pto_execute_gmov(tly_pto_machine *m) {
    return absent(m);
}
bool tly_pto_execute_matrix(tly_pto_machine *m) {
    return absent(m);
}

static uint64_t address_of(const tly_pto_plan *plan, const tly_pto_tile *tile, uint32_t row,
                           uint32_t column) {
    return plan->address + row * plan->scalar0 +
           (uint64_t)column * tly_pto_dtype_bits(tile->data_type) / 8;
}

static bool reachable(tly_pto_machine *m, const tly_pto_plan *plan, const tly_pto_tile *tile) {
    uint32_t bits = tly_pto_dtype_bits(tile->data_type), bytes = bits < 8 ? 1 : bits / 8;
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column++) {
            if (!tly_pto_check_access(m, address_of(plan, tile, row, column), bytes, bytes)) {
                return false;
            }
        }
    }
    return true;
}

bool tly_pto_check_tload(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_result_legal(m, plan, 0);
}

bool tly_pto_run_tload(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = &plan->results[0];
    uint32_t bits = tly_pto_dtype_bits(tile->data_type), bytes = bits < 8 ? 1 : bits / 8;
    if (!reachable(m, plan, tile)) {
        return false;
    }
    tly_pto_elements *out = tly_pto_begin_result(m, plan, 0);
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column++) {
            uint64_t word = tly_pto_peek(m, address_of(plan, tile, row, column), bytes);
            word =
                bits == 4 ? word >> column % 2 * 4 & 15 : tly_pto_canonical(word, tile->data_type);
            tly_pto_element_write(out, tile, tly_pto_tile_index(tile, row, column), word);
        }
    }
    tly_pto_finish_result(m, plan, 0, 3);
    return true;
}

bool tly_pto_check_tstore(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_source_defined(m, plan, 0);
}

bool tly_pto_run_tstore(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *tile = tly_pto_plan_source(m, plan, 0);
    uint32_t bits = tly_pto_dtype_bits(tile->data_type), bytes = bits < 8 ? 1 : bits / 8;
    if (!reachable(m, plan, tile)) {
        return false;
    }
    for (uint32_t row = 0; row < tile->valid_rows; row++) {
        for (uint32_t column = 0; column < tile->valid_columns; column++) {
            uint64_t address = address_of(plan, tile, row, column);
            uint64_t word = tly_pto_element_read(tly_pto_plan_source_elements(m, plan, 0), tile,
                                                 tly_pto_tile_index(tile, row, column));
            if (bits == 4) {
                uint64_t old = tly_pto_peek(m, address, 1);
                uint32_t shift = column % 2 * 4;
                word = (old & ~(UINT64_C(15) << shift)) | (word & 15) << shift;
            }
            tly_pto_poke(m, address, bytes, word);
        }
    }
    return true;
}

bool tly_pto_check_tmov(const tly_pto_machine *m, tly_pto_plan *plan) {
    return tly_pto_check_source_defined(m, plan, 0) &&
           tly_pto_check_result_matches(m, plan, 0, 0, true);
}

bool tly_pto_run_tmov(tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    tly_pto_elements_copy(tly_pto_plan_result_elements(m, plan, 0),
                          tly_pto_plan_source_elements(m, plan, 0), source);
    plan->results[0].contents_defined = source->contents_defined;
    plan->results[0].defined_valid_elements = source->defined_valid_elements;
    return true;
}
