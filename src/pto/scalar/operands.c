/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/scalar/operands.h"

/* Compressed forms without a field for it push T, and read T#1: the value of a store, the only
 * source of others. */
static void name_implicit(const tly_isa_form_row *form, uint32_t roles, tly_pto_operands *o) {
    if ((roles >> TLY_ROLE_DESTINATION & 1) == 0) {
        o->destination = TLY_PTO_PUSH_T;
    }
    if (form->access.action == TLY_ACCESS_STORE) {
        o->third = TLY_PTO_SELECTOR_T;
        o->has_third = true;
    } else if ((roles >> TLY_ROLE_LEFT & 1) == 0) {
        o->left = TLY_PTO_SELECTOR_T;
    }
}

void tly_pto_operands_of(const tly_isa_insn *insn, tly_pto_operands *out_operands) {
    const tly_isa_form_row *form = tly_isa_form_at(insn->form);
    uint32_t roles = 0;
    tly_pto_operands o = {.form = insn->form, .len = insn->len};
    for (uint32_t i = 0; i < form->num_fields; i++) {
        int64_t value = insn->fields[i];
        uint32_t role = tly_isa_field_at(form, i)->role;
        roles |= 1u << role;
        switch (role) {
        case TLY_ROLE_DESTINATION:
            o.destination = (uint8_t)value;
            break;
        case TLY_ROLE_SECOND_DESTINATION:
            o.second_destination = (uint8_t)value;
            break;
        case TLY_ROLE_LEFT:
            o.left = (uint8_t)value;
            break;
        case TLY_ROLE_RIGHT:
            o.right = (uint8_t)value;
            break;
        case TLY_ROLE_THIRD:
            o.third = (uint8_t)value;
            o.has_third = true;
            break;
        case TLY_ROLE_FOURTH:
            o.fourth = (uint8_t)value;
            break;
        case TLY_ROLE_MODIFIER:
            o.modifier = (uint8_t)value;
            break;
        case TLY_ROLE_SHIFT:
            o.shift = (uint8_t)value;
            o.has_shift = true;
            break;
        case TLY_ROLE_IMMEDIATE:
            o.immediate = value;
            break;
        case TLY_ROLE_EXTRA:
            o.extra = (uint32_t)value;
            break;
        case TLY_ROLE_ACQUIRE:
            o.order |= value != 0 ? TLY_PTO_ORDER_ACQUIRE : 0;
            break;
        case TLY_ROLE_RELEASE:
            o.order |= value != 0 ? TLY_PTO_ORDER_RELEASE : 0;
            break;
        default:
            break;
        }
    }
    if (o.len == 2) {
        name_implicit(form, roles, &o);
    }
    *out_operands = o;
}

/* Forms that read T#1 without a field and need it. */
static bool needs_implicit(uint32_t form) {
    return form == TLY_FORM_C_SDI || form == TLY_FORM_C_SWI || form == TLY_FORM_C_SLLI ||
           form == TLY_FORM_C_SRLI;
}

bool tly_pto_sources_valid(const tly_pto_machine *m, const tly_pto_operands *o,
                           uint32_t *out_selector) {
    const tly_isa_form_row *form = tly_isa_form_at(o->form);
    for (uint32_t i = 0; i < form->num_fields; i++) {
        uint32_t selector = 0;
        switch (tly_isa_field_at(form, i)->role) {
        case TLY_ROLE_LEFT:
            selector = o->left;
            break;
        case TLY_ROLE_RIGHT:
            selector = o->right;
            break;
        case TLY_ROLE_THIRD:
            selector = o->third;
            break;
        case TLY_ROLE_FOURTH:
            selector = o->fourth;
            break;
        default:
            break;
        }
        if (!tly_pto_source_available(m, selector)) {
            *out_selector = selector;
            return false;
        }
    }
    if (needs_implicit(o->form) && !tly_pto_source_available(m, TLY_PTO_SELECTOR_T)) {
        *out_selector = TLY_PTO_SELECTOR_T;
        return false;
    }
    return true;
}
