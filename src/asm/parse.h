/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one instruction: the mnemonic picks forms, the operands pick one of them. */
#ifndef TLY_ASM_PARSE_H
#define TLY_ASM_PARSE_H

#include "asm/expr.h"
#include "isa/table.h"

/* A field whose value waits for the address of a symbol. */
typedef struct tly_asm_fixup {
    uint32_t symbol;
    uint8_t field;
    uint8_t kind; /* TLY_KIND_* of the operand */
    int64_t addend;
} tly_asm_fixup;

typedef struct tly_asm_parsed {
    tly_isa_insn insn; /* fields with a fixup are 0 */
    uint32_t num_fixups;
    tly_asm_fixup fixups[2];
} tly_asm_parsed;

/* Takes an instruction up to the end of the line. Errors: MALFORMED, offset in the line. */
tly_status tly_asm_parse(tly_asm_reader *r, const tly_asm_env *env, tly_asm_parsed *out_parsed,
                         tly_error *error);

#endif
