/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/resolve.h"

#include "base/checked.h"
#include "pto/tile/allocate.h"
#include "pto/tile/header.h"
#include "pto/tile/legal.h"
#include "pto/tile/plan.h"

enum { NUM_BINS = 256 };

typedef struct shape {
    uint32_t valid_rows;
    uint32_t valid_columns;
    uint32_t columns;
    uint32_t dtype;
} shape;

static bool returns_index(const tly_pto_plan *plan) {
    return plan->row->variant == TLY_PTO_REDUCE_ARGMIN ||
           plan->row->variant == TLY_PTO_REDUCE_ARGMAX;
}

static uint32_t power_of_two_above(uint32_t count) {
    uint32_t power = 1;
    while (power < count) {
        power *= 2;
    }
    return power;
}

/* Shape of the first result; `dtype` is the type that the header gives. */
static shape primary_shape(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t dtype) {
    const tly_pto_tile *source = plan->num_sources > 0 ? tly_pto_plan_source(m, plan, 0) : NULL;
    tly_pto_extent extent;
    switch (plan->row->resolve) {
    case TLY_PTO_RESOLVE_HEADER:
    case TLY_PTO_RESOLVE_EXPDIF:
        extent = tly_pto_header_extent(&m->core.context.header);
        return (shape){extent.valid_rows, extent.valid_columns, extent.columns, dtype};
    case TLY_PTO_RESOLVE_ROW_REDUCTION:
        return (shape){source->valid_rows, 1, 1,
                       returns_index(plan) ? TLY_PTO_U32 : source->data_type};
    case TLY_PTO_RESOLVE_COLUMN_REDUCTION:
        return (shape){1, source->valid_columns, source->columns,
                       returns_index(plan) ? TLY_PTO_U32 : source->data_type};
    case TLY_PTO_RESOLVE_HISTOGRAM:
        return (shape){source->valid_rows, NUM_BINS, NUM_BINS, dtype};
    case TLY_PTO_RESOLVE_SORT:
        return (shape){source->valid_rows, source->valid_columns, source->columns,
                       source->data_type};
    case TLY_PTO_RESOLVE_MERGE: {
        uint32_t columns =
            (uint32_t)source->valid_columns + tly_pto_plan_source(m, plan, 1)->valid_columns;
        return (shape){1, columns, power_of_two_above(columns), source->data_type};
    }
    default: {
        bool has_source = plan->num_sources > 0;
        tly_pto_inferred_extent(m, has_source, has_source ? plan->sources[0] : 0, &extent);
        return (shape){extent.valid_rows, extent.valid_columns, extent.columns, dtype};
    }
    }
}

static uint32_t capacity_of(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t ordinal) {
    const tly_pto_header *header = &m->core.context.header;
    return tly_pto_size_code_bytes(
        header->tile_bindings[plan->destination_bindings[ordinal]].destination_size);
}

/* Predicates take the rows and columns of the numbers that were compared. */
static bool resolve_predicate(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_tile *source = tly_pto_plan_source(m, plan, 0);
    uint32_t capacity = capacity_of(m, plan, 0);
    plan->results[0] = tly_pto_predicate_tile(capacity, source->rows, source->columns,
                                              source->valid_rows, source->valid_columns);
    if (tly_pto_tile_bytes(&plan->results[0]) > capacity) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_PREDICATE_CAPACITY, plan->operation,
                                   source->rows, source->columns, capacity);
    }
    return true;
}

static bool refuse_shape(tly_pto_plan *plan, const shape *s, uint32_t capacity) {
    if (!tly_base_is_power_of_two(s->columns)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_RESULT_COLUMNS, plan->operation,
                                   s->columns, 0, 0);
    }
    if (s->valid_columns > s->columns) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_RESULT_REGION, plan->operation,
                                   s->valid_columns, s->columns, 0);
    }
    return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_RESULT_CAPACITY, s->valid_rows, s->columns,
                               s->dtype, capacity);
}

bool tly_pto_resolve_results(const tly_pto_machine *m, tly_pto_plan *plan,
                             tly_pto_fault *out_fault) {
    uint32_t dtype;
    if (!tly_pto_effective_type(m, plan, &dtype)) {
        *out_fault = TLY_PTO_FAULT_TILE_LEGALITY;
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_TYPE_UNKNOWN, plan->operation, 0, 0, 0);
    }
    if (!tly_pto_plan_reserve(m, plan, out_fault)) {
        return false;
    }
    if (plan->row->resolve == TLY_PTO_RESOLVE_PREDICATE) {
        return resolve_predicate(m, plan);
    }
    if (plan->row->resolve == TLY_PTO_RESOLVE_EXPDIF) {
        const tly_pto_header *header = &m->core.context.header;
        dtype = header->data_attributes_present && header->data.data_type != TLY_PTO_DTYPE_NONE
                    ? header->data.data_type
                    : plan->data_type;
    }
    shape s = plan->num_destinations > 0 ? primary_shape(m, plan, dtype) : (shape){0};
    for (uint32_t i = 0; i < plan->num_destinations; i++) {
        uint32_t capacity = capacity_of(m, plan, i);
        if (!tly_pto_shape_legal(capacity, s.columns, s.valid_rows, s.valid_columns, s.dtype)) {
            return refuse_shape(plan, &s, capacity);
        }
        plan->results[i] = tly_pto_numeric_tile(capacity, s.columns, s.valid_rows, s.valid_columns,
                                                s.dtype, plan->layout);
        s.dtype = TLY_PTO_U32; /* of a second result, which holds indices */
    }
    return true;
}
