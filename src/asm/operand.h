/* SPDX-License-Identifier: Apache-2.0 */
/* What printing and parsing share about operands: how fields become addresses and back. */
#ifndef TLY_ASM_OPERAND_H
#define TLY_ASM_OPERAND_H

#include <stdint.h>

#include "isa/table.h"

/* Address that a PC-relative operand of this kind names, from an instruction at `address`. */
uint64_t tly_asm_target(uint32_t kind, uint64_t address, int64_t field);

/* The reverse: field for a target. Returns 0 if no value of a field reaches it exactly (a distance
 * that is not a multiple of the unit); the range is for the caller to check. */
int tly_asm_field_for(uint32_t kind, uint64_t address, uint64_t target, int64_t *out_field);

/* Page counts are signed although their fields are stored as plain bits. */
int64_t tly_asm_page_value(const tly_isa_form_row *form, uint32_t field, int64_t stored);

/* Name table of the source of a conversion, and the code there of its stored selector (0 or 1). */
tly_isa_names tly_asm_source_type(uint32_t kind);
uint32_t tly_asm_source_type_code(uint32_t kind, uint32_t selector);

/* Value of a field by name, which the form must have. */
int64_t tly_asm_field(const tly_isa_insn *insn, const tly_isa_form_row *form, const char *name);

#endif
