/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions in assembly text: numbers, symbols, + - * / % << >> & | ^ ~ and brackets. */
#ifndef TLY_ASM_EXPR_H
#define TLY_ASM_EXPR_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/isa.h>

#include "asm/reader.h"

/* number + symbol. Symbol 0: a plain number. */
typedef struct tly_asm_value {
    int64_t number;
    uint32_t symbol;
    uint32_t unknown; /* in the first pass: something that is defined later took part */
} tly_asm_value;

/* What surrounds an instruction or a directive. */
typedef struct tly_asm_env {
    tly_isa_release release;
    uint64_t address; /* of the instruction; value of `.` */
    uint32_t here;    /* symbol that `.` is counted from, 0 where addresses are final */
    uint32_t has_absolute;
    uint64_t absolute; /* final address of the instruction, where it is known already */
    /* Value of a symbol: a number where its address is final, else itself. NULL: there are no
     * symbols. Errors: MALFORMED (undefined, and it must be defined). */
    tly_status (*resolve)(void *user, const char *name, size_t len, tly_asm_value *out_value,
                          tly_error *error);
    /* a - b of two symbols, where both lie in one section. Returns 0 if it cannot be known. */
    int (*difference)(void *user, uint32_t a, uint32_t b, int64_t *out_value);
    void *user;
    int *guessed; /* set to 1 when a value is not known yet, or may still change; NULL: nobody asks
                   */
} tly_asm_env;

/* Takes an expression. Errors: MALFORMED with the offset in the line. */
tly_status tly_asm_expr(tly_asm_reader *r, const tly_asm_env *env, tly_asm_value *out_value,
                        tly_error *error);

/* Takes an expression that must be a plain number now. */
tly_status tly_asm_constant(tly_asm_reader *r, const tly_asm_env *env, int64_t *out_value,
                            tly_error *error);

#endif
