/* SPDX-License-Identifier: Apache-2.0 */
#include "asm/operand.h"

#include <string.h>

/* Where the distance of a kind is counted from, and in which unit. */
static uint64_t origin(uint32_t kind, uint64_t address, unsigned *out_shift) {
    *out_shift = 1;
    switch (kind) {
    case TLY_KIND_BRANCH1:
        *out_shift = 0;
        return address;
    case TLY_KIND_RET5H: /* from the second halfword, which is a compressed SETRET */
        return address + 2;
    case TLY_KIND_PCREL4:
        *out_shift = 2;
        return address & ~UINT64_C(3);
    default:
        return address;
    }
}

uint64_t tly_asm_target(uint32_t kind, uint64_t address, int64_t field) {
    unsigned shift;
    uint64_t from = origin(kind, address, &shift);
    return from + ((uint64_t)field << shift);
}

int tly_asm_field_for(uint32_t kind, uint64_t address, uint64_t target, int64_t *out_field) {
    unsigned shift;
    uint64_t from = origin(kind, address, &shift);
    int64_t distance = (int64_t)(target - from);
    if ((distance & ((INT64_C(1) << shift) - 1)) != 0) {
        return 0;
    }
    *out_field = distance >> shift;
    return 1;
}

int64_t tly_asm_page_value(const tly_isa_form_row *form, uint32_t field, int64_t stored) {
    uint64_t sign = UINT64_C(1) << (tly_isa_field_at(form, field)->width - 1);
    return (int64_t)(((uint64_t)stored ^ sign) - sign);
}

tly_isa_names tly_asm_source_type(uint32_t kind) {
    return kind == TLY_KIND_CONVERT_FROM_S || kind == TLY_KIND_CONVERT_FROM_U
               ? TLY_NAMES_INTEGER_TYPE
               : TLY_NAMES_FLOAT_TYPE;
}

uint32_t tly_asm_source_type_code(uint32_t kind, uint32_t selector) {
    return kind == TLY_KIND_CONVERT_FROM_S ? selector + 8
                                           : selector; /* sd, sw follow the unsigned */
}

int64_t tly_asm_field(const tly_isa_insn *insn, const tly_isa_form_row *form, const char *name) {
    for (uint32_t i = 0; i < form->num_fields; i++) {
        if (strcmp(tly_isa_field_name(form, i), name) == 0) {
            return insn->fields[i];
        }
    }
    return 0;
}
