/* SPDX-License-Identifier: Apache-2.0 */
/* Operands of the block: B.IOR, B.IOT, B.IOS (asl/block/operands, asl/block/model/operands). */
#include "isa/fields.h"
#include "pto/block/command.h"
#include "pto/block/header.h"
#include "pto/fault.h"

/* Selectors of tile memory operations that move from local to shared tiles. */
enum { TMOV_L2S_INSERT = 9, TMOV_L2S_PUBLISH = 10, GMOV = 13, SELECTOR_MASK = 31 };

/* Elements of a mode, element 0 in bit 3 (asl/block/model/schema/profile-encoding). */
static const uint8_t masks_of_modes[] = {0x0, 0x8, 0x4, 0x2, 0x1, 0xC, 0xE, 0xF};

bool tly_pto_bind_scalars(tly_pto_machine *m, const tly_isa_insn *insn,
                          const tly_pto_command *command) {
    (void)command;
    tly_pto_header *header = &m->core.context.header;
    if (!tly_pto_header_open(m, insn)) {
        return false;
    }
    if (header->scalar_bindings[0].valid) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_HEADER_TWICE,
                              insn->form, m->core.context.bpc, 0, 0);
    }
    header->untouched = false;
    header->scalar_bindings[0] = (tly_pto_scalar_binding){
        .valid = true,
        .destination = (uint8_t)insn->fields[TLY_FIELD_B_IOR_REG_DST],
        .source0 = (uint8_t)insn->fields[TLY_FIELD_B_IOR_REG_SRC0],
        .source1 = (uint8_t)insn->fields[TLY_FIELD_B_IOR_REG_SRC1],
        .source2 = (uint8_t)insn->fields[TLY_FIELD_B_IOR_REG_SRC2],
        .source_count = 3,
    };
    tly_pto_advance(m, insn);
    return true;
}

static bool has_function(const tly_pto_operation *operation, uint32_t function) {
    return operation->valid && operation->operation_class == TLY_PTO_CLASS_TILE_MEMORY &&
           operation->selector_valid && (operation->selector & SELECTOR_MASK) == function;
}

/* GMOV is for all, whoever gets a result. */
static bool takes_part(const tly_pto_machine *m, uint8_t mask) {
    return (mask & tly_pto_acting_elements(m)) != 0 ||
           has_function(&m->core.context.header.operation, GMOV);
}

/* To an element of a team that is not among them, it is a binding of no element. */
static uint8_t elements_of(const tly_pto_machine *m, const tly_isa_insn *insn,
                           const tly_pto_tile_places *places) {
    const uint32_t value = (uint32_t)insn->fields[places->elements];
    const uint8_t mask = places->elements_are_mask ? (uint8_t)value : masks_of_modes[value];
    return m->team == NULL || takes_part(m, mask) ? mask : 0;
}

/* A binding of no element does nothing, wherever it stands; a header remembers that it saw one. */
static bool take_part_in_nothing(tly_pto_machine *m, const tly_isa_insn *insn) {
    if (m->core.context.bundle_active && !m->core.context.bundle_body_active) {
        m->core.context.header.untouched = false;
        m->core.context.header.zero_participation_seen = true;
    }
    tly_pto_advance(m, insn);
    return true;
}

/* All bindings of a block name the same elements. */
static bool same_elements(tly_pto_machine *m, uint8_t mask, bool with_shared) {
    const tly_pto_header *header = &m->core.context.header;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        if (header->in_order && !header->tile_bindings[i].valid) {
            break;
        }
        if (header->tile_bindings[i].valid && header->tile_bindings[i].pe_mask != mask) {
            return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_BINDING_MASK, mask,
                                  header->tile_bindings[i].pe_mask, 0, 0);
        }
    }
    for (uint32_t i = 0; with_shared && i < TLY_PTO_NUM_SHARED_BINDINGS; i++) {
        if (header->shared_bindings[i].valid && header->shared_bindings[i].pe_mask != mask) {
            return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_BINDING_MASK, mask,
                                  header->shared_bindings[i].pe_mask, 0, 0);
        }
    }
    return true;
}

bool tly_pto_bind_shared(tly_pto_machine *m, const tly_isa_insn *insn,
                         const tly_pto_command *command) {
    tly_pto_header *header = &m->core.context.header;
    const uint8_t mask = elements_of(m, insn, &command->tiles);
    const uint8_t id = (uint8_t)insn->fields[TLY_FIELD_B_IOS_SHARED_TID];
    if (mask == 0) {
        return take_part_in_nothing(m, insn);
    }
    if (!tly_pto_header_open(m, insn) || !same_elements(m, mask, true)) {
        return false;
    }
    tly_pto_shared_binding *free_binding = NULL;
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_BINDINGS; i++) {
        tly_pto_shared_binding *binding = &header->shared_bindings[i];
        if (binding->valid && binding->shared_id == id) {
            return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_SHARED_TWICE, id, 0,
                                  0, 0);
        }
        if (!binding->valid && free_binding == NULL) {
            free_binding = binding;
        }
    }
    if (free_binding == NULL) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_SHARED_MANY, id,
                              TLY_PTO_NUM_SHARED_BINDINGS, 0, 0);
    }
    header->untouched = false;
    *free_binding = (tly_pto_shared_binding){
        .valid = true,
        .shared_id = id,
        .size_code = (uint8_t)insn->fields[command->tiles.size],
        .pe_mask = mask,
    };
    tly_pto_advance(m, insn);
    return true;
}

static bool moves_to_shared(const tly_pto_operation *operation) {
    return has_function(operation, TMOV_L2S_INSERT) || has_function(operation, TMOV_L2S_PUBLISH);
}

static uint8_t tile_at(const tly_isa_insn *insn, uint32_t place) {
    return place == TLY_PTO_NO_FIELD ? 0 : (uint8_t)insn->fields[place];
}

/* The first binding that is free, NULL if none is; `out_closed` tells whether one before was the
 * last of its stream. */
static tly_pto_tile_binding *next_binding(tly_pto_header *header, bool *out_closed) {
    tly_pto_tile_binding *free_binding = NULL;
    *out_closed = false;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_BINDINGS; i++) {
        tly_pto_tile_binding *binding = &header->tile_bindings[i];
        *out_closed = *out_closed || (binding->valid && binding->last);
        if (!binding->valid && free_binding == NULL) {
            free_binding = binding;
            if (header->in_order) {
                break;
            }
        }
    }
    return free_binding;
}

/* The table of forms admits the sizes that local tiles can have, and four hands. */
bool tly_pto_bind_tiles(tly_pto_machine *m, const tly_isa_insn *insn,
                        const tly_pto_command *command) {
    tly_pto_header *header = &m->core.context.header;
    const tly_pto_tile_places *places = &command->tiles;
    const uint8_t mask = elements_of(m, insn, places);
    const bool has_destination = places->destination != TLY_PTO_NO_FIELD;
    bool closed = false;
    if (mask == 0) {
        return take_part_in_nothing(m, insn);
    }
    if (!tly_pto_header_open(m, insn)) {
        return false;
    }
    tly_pto_tile_binding *binding = next_binding(header, &closed);
    if (closed) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_BUNDLE_CONTROL, TLY_PTO_RULE_BINDING_CLOSED,
                              m->core.context.bpc, 0, 0, 0);
    }
    if (!same_elements(m, mask, false)) {
        return false;
    }
    if (has_destination && moves_to_shared(&header->operation)) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_BINDING_TO_SHARED, 0, 0,
                              0, 0);
    }
    if (binding == NULL) {
        return tly_pto_refuse(m, TLY_PTO_FAULT_TILE_LEGALITY, TLY_PTO_RULE_BINDING_MANY,
                              TLY_PTO_NUM_TILE_BINDINGS, 0, 0, 0);
    }
    header->untouched = false;
    *binding = (tly_pto_tile_binding){
        .valid = true,
        .destination_valid = has_destination,
        .destination = tile_at(insn, places->destination),
        .destination_hand = tile_at(insn, places->destination),
        .destination_size = tile_at(insn, places->size),
        .pe_mask = mask,
        .source0_valid = places->sources[0] != TLY_PTO_NO_FIELD,
        .source1_valid = places->sources[1] != TLY_PTO_NO_FIELD,
        .source0 = tile_at(insn, places->sources[0]),
        .source1 = tile_at(insn, places->sources[1]),
        .last = insn->fields[places->last] != 0,
    };
    tly_pto_advance(m, insn);
    return true;
}
