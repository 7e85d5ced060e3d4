/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/plan.h"

#include <stddef.h>
#include <string.h>

#include "pto/registers.h"
#include "pto/tile/allocate.h"
#include "pto/tile/header.h"
#include "pto/tile/legal.h"

enum {
    HAND_TILES = 16,
    HAND_MASK = 0xffff,
    MAX_REGISTERS = 3,
    MAX_DIAGONAL = 65535,
    STATUS_SHIFT = 32 /* of numeric status flags in CORE_STATE */
};

enum { FP32_ONE = 0x3f800000 };

bool tly_pto_plan_refuse(tly_pto_plan *plan, tly_pto_rule rule, uint64_t a, uint64_t b, uint64_t c,
                         uint64_t d) {
    plan->reason = (tly_pto_reason){.rule = (uint16_t)rule, .values = {a, b, c, d}};
    return false;
}

/* What is counted while the bindings are gone through: here and not in the plan, so that it stays
 * in registers. */
typedef struct tally {
    uint32_t bindings;
    uint32_t destinations;
    uint32_t sources;
    uint32_t first_mask;
    uint32_t other_mask;
    uint32_t all_masks;
    bool terminated;
    bool closed;
} tally;

static void add_source(tly_pto_plan *plan, tally *t, uint8_t tile) {
    if (t->sources < TLY_PTO_MAX_SOURCES) {
        plan->sources[t->sources] = tile;
    }
    t->sources++;
}

static void add_binding(tly_pto_plan *plan, tally *t, const tly_pto_tile_binding *binding,
                        uint32_t index) {
    if (t->bindings == 0) {
        t->first_mask = t->other_mask = binding->pe_mask;
    } else if (t->other_mask == t->first_mask) {
        t->other_mask = binding->pe_mask;
    }
    t->all_masks |= binding->pe_mask;
    t->terminated = binding->last && !t->closed;
    t->closed |= binding->last;
    t->bindings++;
    if (binding->destination_valid) {
        if (t->destinations < TLY_PTO_MAX_DESTINATIONS) {
            plan->destination_bindings[t->destinations] = (uint8_t)index;
        }
        t->destinations++;
    }
    if (binding->source0_valid) {
        add_source(plan, t, binding->source0);
    }
    if (binding->source1_valid) {
        add_source(plan, t, binding->source1);
    }
}

static void record(tly_pto_plan *plan, const tally *t) {
    plan->num_bindings = (uint8_t)t->bindings;
    plan->num_destinations = (uint8_t)t->destinations;
    plan->num_sources = (uint8_t)t->sources;
    plan->pe_mask = (uint8_t)t->first_mask;
    plan->other_mask = (uint8_t)t->other_mask;
    plan->all_masks = (uint8_t)t->all_masks;
    plan->terminated = t->terminated;
}

/* Whether a binding from `first` on is valid. Programs fill them in order; hosts need not. */
static bool any_valid(const tly_pto_header *header, uint32_t first) {
    bool any = false;
    for (uint32_t i = first; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        any |= header->tile_bindings[i].valid;
    }
    return any;
}

void tly_pto_plan_begin(const tly_pto_machine *m, uint32_t operation, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    memset(plan, 0, offsetof(tly_pto_plan, results));
    plan->row = &tly_pto_tile_rows[operation];
    plan->operation = (uint8_t)operation;
    plan->data_type =
        header->operation.data_type_valid ? header->operation.data_type : TLY_PTO_DTYPE_NONE;
    plan->layout = (uint8_t)tly_pto_result_layout(header->data.data_layout);
    plan->pad = header->data_attributes_present ? header->data.pad_value : TLY_PTO_PAD_NULL;
    plan->control.rounding = (uint8_t)tly_pto_bundle_rounding(header->data.rounding_mode);
    plan->control.saturating = header->data.saturating;
    plan->num_shared = (uint8_t)tly_pto_num_shared_bindings(header);
    tally t = {0};
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        if (header->tile_bindings[i].valid) {
            add_binding(plan, &t, &header->tile_bindings[i], i);
        } else if (header->in_order || !any_valid(header, i)) {
            break;
        }
    }
    record(plan, &t);
}

bool tly_pto_plan_is_idle(const tly_pto_machine *m, const tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    return plan->num_bindings == 0 ? header->zero_participation_seen && plan->num_shared == 0
                                   : plan->all_masks == 0;
}

/* ------------------------------------------------------------------------------------------ */

static uint32_t num_registers(const tly_pto_plan *plan) {
    return tly_pto_allocation_bytes(plan->row->takes, 1) + (plan->row->takes >> 4);
}

bool tly_pto_plan_check_bindings(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    if (plan->num_destinations != plan->row->num_destinations) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DESTINATION_COUNT, plan->operation,
                                   plan->num_destinations, plan->row->num_destinations, 0);
    }
    if (plan->num_sources != plan->row->num_sources) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SOURCE_COUNT, plan->operation,
                                   plan->num_sources, plan->row->num_sources, 0);
    }
    if (plan->num_bindings > 0 && !plan->terminated) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_BINDINGS_OPEN, plan->operation, 0, 0, 0);
    }
    const tly_pto_scalar_binding *scalar = &header->scalar_bindings[0];
    uint32_t count = num_registers(plan);
    if (scalar->valid &&
        (scalar->destination != 0 || (count < 3 && scalar->source2 != 0) ||
         (count < 2 && scalar->source1 != 0) || (count < 1 && scalar->source0 != 0))) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_REGISTER_COUNT, plan->operation, count,
                                   0, 0);
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ */

static bool read_quantization(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    uint32_t dtype = TLY_PTO_FP64;
    if (plan->operation == TLY_PTO_OP_TDEQUANT) {
        dtype = plan->data_type;
    } else if (header->data.data_type_present && tly_pto_dtype_valid(header->data.data_type)) {
        dtype = header->data.data_type;
    }
    if (!tly_pto_quantization_scale_legal(plan->scalar0)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_SCALE, plan->operation, plan->scalar0, 0,
                                   0);
    }
    if (!tly_pto_zero_point_legal(plan->scalar1, dtype)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_ZERO_POINT, plan->operation,
                                   plan->scalar1, dtype, 0);
    }
    return true;
}

/* What an operation uses when there is no B.IOR. */
static void default_registers(const tly_pto_machine *m, tly_pto_plan *plan) {
    switch (plan->operation) {
    case TLY_PTO_OP_TQUANT:
    case TLY_PTO_OP_TDEQUANT:
        plan->scalar0 = FP32_ONE;
        break;
    case TLY_PTO_OP_TLOAD:
    case TLY_PTO_OP_TSTORE: {
        uint32_t source = plan->num_sources > 0 ? plan->sources[0] : 0;
        bool from_source = plan->operation == TLY_PTO_OP_TSTORE;
        uint64_t columns = tly_pto_inferred_columns(m, from_source, source);
        plan->scalar0 = (columns * tly_pto_dtype_bits(plan->data_type) + 7) / 8;
        break;
    }
    case TLY_PTO_OP_TPREFETCH:
        plan->scalar0 = m->core.context.header.dimensions[2];
        break;
    default:
        break;
    }
}

bool tly_pto_plan_read_registers(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_scalar_binding *binding = &m->core.context.header.scalar_bindings[0];
    uint32_t takes = plan->row->takes;
    if (!binding->valid) {
        default_registers(m, plan);
        return true;
    }
    const uint8_t selectors[MAX_REGISTERS] = {binding->source0, binding->source1, binding->source2};
    uint64_t values[MAX_REGISTERS] = {0};
    uint32_t count = num_registers(plan);
    for (uint32_t i = 0; i < count && i < MAX_REGISTERS; i++) {
        values[i] = tly_pto_read_source(m, selectors[i]);
    }
    uint32_t slot = 0;
    if ((takes & TLY_PTO_TAKES_ADDRESS) != 0) {
        plan->address = values[slot++];
    }
    if ((takes & TLY_PTO_TAKES_SCALAR0) != 0) {
        plan->scalar0 = values[slot++];
    }
    if ((takes & TLY_PTO_TAKES_SCALAR1) != 0) {
        plan->scalar1 = values[slot++];
        if (!read_quantization(m, plan)) {
            return false;
        }
    }
    if ((takes & TLY_PTO_TAKES_DIAGONAL) != 0) {
        int64_t diagonal = (int64_t)values[slot++];
        if (diagonal < -MAX_DIAGONAL || diagonal > MAX_DIAGONAL) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DIAGONAL, plan->operation,
                                       (uint64_t)diagonal, 0, 0);
        }
        plan->diagonal = (int32_t)diagonal;
    }
    if ((takes & TLY_PTO_TAKES_FLAG) != 0) {
        uint64_t flag = values[slot];
        if (flag > 1) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_FLAG, plan->operation, flag, 0, 0);
        }
        plan->flag = flag == 1;
    }
    return true;
}

/* ------------------------------------------------------------------------------------------ */

bool tly_pto_plan_check_attributes(const tly_pto_machine *m, tly_pto_plan *plan) {
    const tly_pto_header *header = &m->core.context.header;
    const tly_pto_data_attributes *data = &header->data;
    if (!header->data_attributes_present) {
        return true;
    }
    const struct {
        uint8_t field;
        uint8_t value;
        tly_pto_rule rule;
    } fields[] = {
        {TLY_PTO_DATR_COMPARISON, data->comparison_mode, TLY_PTO_RULE_TILE_DATR_COMPARISON},
        {TLY_PTO_DATR_PAD, data->pad_value, TLY_PTO_RULE_TILE_DATR_PAD},
        {TLY_PTO_DATR_SATURATION, data->saturating, TLY_PTO_RULE_TILE_DATR_SATURATION},
        {TLY_PTO_DATR_CANONICALIZE, data->canonicalize, TLY_PTO_RULE_TILE_DATR_CANONICALIZE},
        {TLY_PTO_DATR_TYPE, data->data_type, TLY_PTO_RULE_TILE_DATR_TYPE},
        {TLY_PTO_DATR_ROUNDING, data->rounding_mode, TLY_PTO_RULE_TILE_DATR_ROUNDING},
        {TLY_PTO_DATR_LAYOUT, data->data_layout, TLY_PTO_RULE_TILE_DATR_LAYOUT},
    };
    for (uint32_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (fields[i].value != 0 && (plan->row->datr & fields[i].field) == 0) {
            return tly_pto_plan_refuse(plan, fields[i].rule, plan->operation, fields[i].value, 0,
                                       0);
        }
    }
    /* TLOAD and TSTORE have a pad field for the layouts of the matrix unit only */
    if (data->pad_value != 0 && !tly_pto_layout_code_is_cube(data->data_layout) &&
        (plan->operation == TLY_PTO_OP_TLOAD || plan->operation == TLY_PTO_OP_TSTORE)) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_DATR_PAD, plan->operation,
                                   data->pad_value, 0, 0);
    }
    return true;
}

bool tly_pto_plan_check_masks(const tly_pto_machine *m, tly_pto_plan *plan) {
    (void)m;
    return plan->other_mask == plan->pe_mask ||
           tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_MASKS_DIFFER, plan->pe_mask,
                               plan->other_mask, 0, 0);
}

static bool moved_type(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t *out_dtype) {
    if (plan->num_sources > 0) {
        if (tly_pto_local_configured(m, plan->sources[0])) {
            *out_dtype = tly_pto_plan_source(m, plan, 0)->data_type;
            return true;
        }
    }
    return false;
}

bool tly_pto_effective_type(const tly_pto_machine *m, const tly_pto_plan *plan,
                            uint32_t *out_dtype) {
    const tly_pto_data_attributes *data = &m->core.context.header.data;
    if (data->data_type_present && tly_pto_dtype_valid(data->data_type)) {
        *out_dtype = data->data_type;
        return true;
    }
    if (tly_pto_dtype_valid(plan->data_type)) {
        *out_dtype = plan->data_type;
        return true;
    }
    return plan->operation == TLY_PTO_OP_TMOV && moved_type(m, plan, out_dtype);
}

/* ------------------------------------------------------------------------------------------ */

static const tly_pto_tile_binding *binding_of(const tly_pto_machine *m, const tly_pto_plan *plan,
                                              uint32_t ordinal) {
    return &m->core.context.header.tile_bindings[plan->destination_bindings[ordinal]];
}

bool tly_pto_plan_reserve(const tly_pto_machine *m, tly_pto_plan *plan, tly_pto_fault *out_fault) {
    uint64_t taken = tly_pto_allocated_tiles(m); /* bit i: tile i is no free one */
    uint64_t wanted = 0, in_use = tly_pto_capacity_in_use(m);
    *out_fault = TLY_PTO_FAULT_TILE_ALLOCATION;
    for (uint32_t i = 0; i < plan->num_destinations; i++) {
        const tly_pto_tile_binding *binding = binding_of(m, plan, i);
        uint32_t hand = binding->destination_hand;
        uint32_t in_hand = (uint32_t)(~taken >> hand * HAND_TILES) & HAND_MASK;
        if (in_hand == 0) {
            return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_HAND_FULL, plan->operation, hand, 0,
                                       0);
        }
        uint32_t tile = hand * HAND_TILES + (uint32_t)__builtin_ctz(in_hand);
        taken |= UINT64_C(1) << tile;
        plan->destinations[i] = (uint8_t)tile;
        wanted += tly_pto_allocation_bytes(binding->pe_mask,
                                           tly_pto_size_code_bytes(binding->destination_size));
    }
    if (in_use + wanted > m->core.base.tile_capacity) {
        return tly_pto_plan_refuse(plan, TLY_PTO_RULE_TILE_CAPACITY, plan->operation, wanted,
                                   in_use, m->core.base.tile_capacity);
    }
    return true;
}

void tly_pto_plan_commit(tly_pto_machine *m, const tly_pto_plan *plan) {
    for (uint32_t i = 0; i < plan->num_destinations; i++) {
        tly_pto_tile_binding *binding =
            &m->core.context.header.tile_bindings[plan->destination_bindings[i]];
        tly_pto_install_tile(m, plan->destinations[i], &plan->results[i], binding->pe_mask);
        binding->destination = plan->destinations[i];
        binding->destination_allocated_by_bundle = true;
    }
    m->core.base.core_state |= (uint64_t)plan->flags << STATUS_SHIFT;
}

void tly_pto_plan_roll_back(tly_pto_machine *m, const tly_pto_plan *plan) {
    for (uint32_t i = 0; i < plan->num_destinations; i++) {
        tly_pto_release_tile(m, plan->destinations[i]);
    }
}
