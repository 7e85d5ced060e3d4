/* SPDX-License-Identifier: Apache-2.0 */
/* Reading the words that name codes, and the operands that fill several fields at once. */
#ifndef TLY_ASM_LISTS_H
#define TLY_ASM_LISTS_H

#include "asm/expr.h"
#include "isa/table.h"

/* Each takes what it is named for and returns 1, or takes nothing and returns 0. */
int tly_asm_register(tly_asm_reader *r, int destination, uint32_t *out_code);
int tly_asm_tile(tly_asm_reader *r, uint32_t *out_code);
int tly_asm_mask(tly_asm_reader *r, uint32_t *out_mask);
int tly_asm_name(tly_asm_reader *r, tly_isa_names table, uint32_t *out_code);
int tly_asm_system_register(tly_asm_reader *r, uint32_t *out_address);

/* An operand of several fields (order, qflags, convert, shared, tepl, catr, datr, hint). `values`
 * gets one value for each of the `count` fields. `engine`: that of the mnemonic, or NULL. */
tly_status tly_asm_list(tly_asm_reader *r, const tly_isa_form_row *form, uint32_t kind,
                        const uint8_t *fields, uint32_t count, const char *engine,
                        const tly_asm_env *env, int64_t *values, tly_error *error);

#endif
