/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes, dimensions and hints (asl/block/attributes, asl/block/model/schema). */
#include "pto/block/header.h"

#include <string.h>

#include "isa/fields.h"
#include "pto/block/command.h"
#include "pto/block/transfer.h"
#include "pto/fault.h"
#include "pto/registers.h"

enum { PAD_NULL = 3, DIMENSION_MASK = 0xFFFF };

static void clear_bindings(tly_pto_header *header) {
    const uint32_t num_scalar = header->in_order ? 1 : TLY_PTO_NUM_SCALAR_BINDINGS;
    for (uint32_t i = 0; i < num_scalar; i++) {
        header->scalar_bindings[i].valid = false;
        header->scalar_bindings[i].source_count = 0;
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        tly_pto_tile_binding *binding = &header->tile_bindings[i];
        if (header->in_order && !binding->valid) {
            break;
        }
        binding->valid = false;
        binding->destination_valid = false;
        binding->destination_allocated_by_bundle = false;
        binding->source0_valid = false;
        binding->source1_valid = false;
        binding->last = false;
    }
    memset(header->shared_bindings, 0, sizeof(header->shared_bindings));
}

static void clear_attributes(tly_pto_header *header) {
    header->argument = 0;
    header->argument_kind = 0;
    header->zero_participation_seen = false;
    header->data_attributes_present = false;
    memset(header->dimension_present, 0, sizeof(header->dimension_present));
    memset(header->dimensions, 0, sizeof(header->dimensions));
    memset(&header->control, 0, sizeof(header->control));
    memset(&header->hint, 0, sizeof(header->hint));
    memset(&header->fixed_point, 0, sizeof(header->fixed_point));
    header->data = (tly_pto_data_attributes){.pad_value = PAD_NULL};
}

void tly_pto_clear_header(tly_pto_header *header) {
    header->commit_target_set = false;
    header->condition_set = false;
    header->system_terminal_pending = false;
    if (!header->untouched) {
        clear_bindings(header);
        clear_attributes(header);
        header->untouched = true;
        header->in_order = true;
    }
    memset(&header->operation, 0, sizeof(header->operation));
    header->data.data_type = TLY_PTO_DTYPE_NONE;
}

bool tly_pto_header_open(tly_pto_machine *m, const tly_isa_insn *insn) {
    if (!m->core.context.bundle_active) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_HEADER_NO_BLOCK,
                              insn->form, 0, 0, 0);
    }
    if (m->core.context.bundle_body_active) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_HEADER_IN_BODY,
                              insn->form, m->core.context.bpc, 0, 0);
    }
    return true;
}

static bool refuse_second(tly_pto_machine *m, const tly_isa_insn *insn) {
    return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_HEADER_TWICE, insn->form,
                          m->core.context.bpc, 0, 0);
}

bool tly_pto_set_control_attributes(tly_pto_machine *m, const tly_isa_insn *insn,
                                    const tly_pto_command *command) {
    (void)command;
    tly_pto_header *header = &m->core.context.header;
    if (!tly_pto_header_open(m, insn)) {
        return false;
    }
    if (header->control.present) {
        return refuse_second(m, insn);
    }
    header->untouched = false;
    header->control = (tly_pto_control_attributes){
        .present = true,
        .trap_enabled = insn->fields[TLY_FIELD_B_CATR_TRAP] != 0,
        .atomic = insn->fields[TLY_FIELD_B_CATR_ATOM] != 0,
        .acquire = insn->fields[TLY_FIELD_B_CATR_AQ] != 0,
        .release = insn->fields[TLY_FIELD_B_CATR_RL] != 0,
        .far = insn->fields[TLY_FIELD_B_CATR_FAR] != 0,
        .dimension_reduction = insn->fields[TLY_FIELD_B_CATR_DR] != 0,
    };
    tly_pto_advance(m, insn);
    return true;
}

/* The table of forms admits the element types and layouts that exist, so nothing is left to
 * check. */
bool tly_pto_set_data_attributes(tly_pto_machine *m, const tly_isa_insn *insn,
                                 const tly_pto_command *command) {
    (void)command;
    tly_pto_header *header = &m->core.context.header;
    if (!tly_pto_header_open(m, insn)) {
        return false;
    }
    if (header->data_attributes_present) {
        return refuse_second(m, insn);
    }
    header->untouched = false;
    header->data_attributes_present = true;
    header->data = (tly_pto_data_attributes){
        .data_type_present = true,
        .data_type = (uint8_t)insn->fields[TLY_FIELD_B_DATR_DATA_TYPE],
        .data_layout = (uint8_t)insn->fields[TLY_FIELD_B_DATR_LAYOUT],
        .pad_value = (uint8_t)insn->fields[TLY_FIELD_B_DATR_PAD_VALUE_OR_BYTE_ID],
        .comparison_mode = (uint8_t)insn->fields[TLY_FIELD_B_DATR_CMODE],
        .rounding_mode = (uint8_t)insn->fields[TLY_FIELD_B_DATR_RMODE],
        .saturating = insn->fields[TLY_FIELD_B_DATR_SAT] != 0,
        .canonicalize = insn->fields[TLY_FIELD_B_DATR_CANONICALIZE] != 0,
    };
    tly_pto_advance(m, insn);
    return true;
}

static bool any_binding(const tly_pto_header *header) {
    if (header->scalar_bindings[0].valid) {
        return true;
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        if (header->tile_bindings[i].valid) {
            return true;
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_BINDINGS; i++) {
        if (header->shared_bindings[i].valid) {
            return true;
        }
    }
    return false;
}

/* Fields of B.FPATR that only make sense together (asl/block/attributes/B.FPATR). */
static bool check_fixed_point(tly_pto_machine *m, const tly_pto_fixed_point *wanted) {
    if (wanted->row_max_init && !wanted->row_max_en) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_FPATR_ROW_INIT, 0, 0, 0,
                              0);
    }
    if (wanted->group_max_en != (wanted->group_n_code != 0)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_FPATR_GROUP,
                              wanted->group_max_en, wanted->group_n_code, 0, 0);
    }
    if (wanted->max_abs_en && !wanted->row_max_en && !wanted->group_max_en) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_FPATR_ABS, 0, 0, 0, 0);
    }
    return true;
}

/* 0.58.1 and 0.58.2 have the form without transpositions: the places of those are empty then. */
bool tly_pto_set_fixed_point(tly_pto_machine *m, const tly_isa_insn *insn,
                             const tly_pto_command *command) {
    (void)command;
    tly_pto_header *header = &m->core.context.header;
    const tly_pto_fixed_point wanted = {
        .valid = true,
        .pre_quant_mode = (uint8_t)insn->fields[TLY_FIELD_B_FPATR_PRE_QUANT_MODE],
        .relu_mode = (uint8_t)insn->fields[TLY_FIELD_B_FPATR_RELU_MODE],
        .group_n_code = (uint8_t)insn->fields[TLY_FIELD_B_FPATR_GROUP_NCODE],
        .row_max_en = insn->fields[TLY_FIELD_B_FPATR_ROW_MAX_EN] != 0,
        .group_max_en = insn->fields[TLY_FIELD_B_FPATR_GROUP_MAX_EN] != 0,
        .row_max_init = insn->fields[TLY_FIELD_B_FPATR_ROW_MAX_INIT] != 0,
        .max_abs_en = insn->fields[TLY_FIELD_B_FPATR_MAX_ABS_EN] != 0,
        .trans_a = insn->fields[TLY_FIELD_B_FPATR_TRANS_A] != 0,
        .trans_b = insn->fields[TLY_FIELD_B_FPATR_TRANS_B] != 0,
    };
    if (!tly_pto_header_open(m, insn)) {
        return false;
    }
    if (header->fixed_point.valid) {
        return refuse_second(m, insn);
    }
    if (header->operation.valid && header->operation.operation_class != TLY_PTO_CLASS_TILE_MATRIX) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_FPATR_NOT_MATRIX,
                              m->core.context.bpc, 0, 0, 0);
    }
    if (any_binding(header)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_FPATR_LATE, 0, 0, 0, 0);
    }
    if (!check_fixed_point(m, &wanted)) {
        return false;
    }
    header->untouched = false;
    header->fixed_point = wanted;
    tly_pto_advance(m, insn);
    return true;
}

static bool set_dimension(tly_pto_machine *m, const tly_isa_insn *insn, uint32_t index,
                          uint64_t value) {
    tly_pto_header *header = &m->core.context.header;
    if (!tly_pto_header_open(m, insn)) {
        return false;
    }
    if (header->dimension_present[index]) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_DIMENSION_TWICE, index,
                              header->dimensions[index], 0, 0);
    }
    header->untouched = false;
    header->dimension_present[index] = true;
    header->dimensions[index] = value;
    tly_pto_advance(m, insn);
    return true;
}

/* Sixteen bits of register plus immediate are kept. */
bool tly_pto_set_dimension_sum(tly_pto_machine *m, const tly_isa_insn *insn,
                               const tly_pto_command *command) {
    uint64_t base = tly_pto_read_gpr(m, (uint32_t)insn->fields[TLY_FIELD_B_DIM_LB0_REG_SRC]);
    uint64_t sum = base + (uint64_t)insn->fields[TLY_FIELD_B_DIM_LB0_UIMM17];
    return set_dimension(m, insn, command->dimension, sum & DIMENSION_MASK);
}

bool tly_pto_set_dimension_immediate(tly_pto_machine *m, const tly_isa_insn *insn,
                                     const tly_pto_command *command) {
    (void)command;
    return set_dimension(m, insn, (uint32_t)insn->fields[TLY_FIELD_C_B_DIMI_LOOP_NEST],
                         (uint64_t)insn->fields[TLY_FIELD_C_B_DIMI_IMM8]);
}

static void record_hint(tly_pto_machine *m, const tly_isa_insn *insn, const tly_pto_hint *hint) {
    m->core.context.header.untouched = false;
    m->core.context.header.hint = *hint;
    m->core.requests.bundle_hint_payload = insn->word;
    m->core.requests.bundle_hint_epoch++;
}

bool tly_pto_set_hint(tly_pto_machine *m, const tly_isa_insn *insn,
                      const tly_pto_command *command) {
    (void)command;
    if (!tly_pto_header_open(m, insn)) {
        return false;
    }
    if (m->core.context.header.hint.present) {
        return refuse_second(m, insn);
    }
    const tly_pto_hint hint = {
        .present = true,
        .branch_valid = insn->fields[TLY_FIELD_B_HINT_V] != 0,
        .branch_likely = insn->fields[TLY_FIELD_B_HINT_L_UL] != 0,
        .temperature = (uint8_t)insn->fields[TLY_FIELD_B_HINT_TEMP],
        .prefetch_size = (uint16_t)insn->fields[TLY_FIELD_B_HINT_PREFETCH_SIZE],
    };
    record_hint(m, insn, &hint);
    tly_pto_advance(m, insn);
    return true;
}

/* TRACE.begin and TRACE.end are blocks of their own: they retire the block before and open an
 * empty one. */
bool tly_pto_start_trace(tly_pto_machine *m, const tly_isa_insn *insn,
                         const tly_pto_command *command) {
    (void)command;
    const uint64_t next = m->core.context.tpc + insn->len;
    const tly_pto_opening opening = {
        .kind = TLY_PTO_KIND_STANDARD,
        .transfer = TLY_PTO_TRANSFER_FALLTHROUGH,
        .taken = true,
        .trace = true,
        .target = next,
        .sequential = next,
        .return_target = next,
    };
    if (!tly_pto_open_block(m, &opening)) {
        return false;
    }
    const tly_pto_hint hint = {
        .present = true,
        .trace = true,
        .trace_end = insn->fields[TLY_FIELD_B_HINT_TRACE_B_E] != 0,
    };
    record_hint(m, insn, &hint);
    return true;
}
