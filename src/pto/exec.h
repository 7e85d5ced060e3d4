/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of the machine's parts into each other. Each executes one instruction or one
 * operation completely: checks, effects, trap and TPC. */
#ifndef TLY_PTO_EXEC_H
#define TLY_PTO_EXEC_H

#include "pto/machine.h"
#include "pto/scalar/operands.h"

/* A word, taken apart. */
typedef struct tly_pto_decoded {
    uint64_t word;
    uint8_t bits;
    bool known;       /* a form of the machine's release has its pattern; otherwise nothing below */
    bool legal;       /* the form admits its fields */
    bool is_command;  /* bundle command, not scalar */
    bool starts_tile; /* begins the block of a tile operation */
    bool opens_tile; /* the same, and nothing is wrong with it: it opens the block of `operation` */
    tly_pto_operation operation;
    const struct tly_pto_command *command; /* of a legal one, else NULL */
    tly_isa_insn insn;
    tly_pto_operands operands; /* of a scalar instruction */
} tly_pto_decoded;

/* `bits` is 16, 32, 48 or 64. */
void tly_pto_decode(const tly_pto_machine *machine, uint64_t word, uint32_t bits,
                    tly_pto_decoded *out_decoded);

/* Executes it at TPC; returns whether it was executed. */
bool tly_pto_execute_decoded(tly_pto_machine *machine, const tly_pto_decoded *decoded);

/* One word at TPC, whatever it is (asl/arch/dispatch/top-level). `bits` is 16, 32, 48 or 64.
 * Returns whether it was executed. The plain path: nothing predecoded. */
bool tly_pto_execute(tly_pto_machine *machine, uint64_t word, uint32_t bits);

/* A decoded scalar instruction, after tly_pto_begin_attempt (asl/scalar/model/dispatch). Where it
 * may stand is checked before its fields, so it comes here with fields that its form does not
 * admit, too. */
bool tly_pto_execute_scalar(tly_pto_machine *machine, const tly_pto_decoded *decoded);

/* Commits the active block with `continuation` as the next address
 * (asl/block/model/commit/validation). */
bool tly_pto_complete_bundle(tly_pto_machine *machine, uint64_t continuation);

/* The tile operation that the complete header selects (asl/block/model/dispatch/tile-execution). */
bool tly_pto_execute_tile_operation(tly_pto_machine *machine);

/* The body of the active block begins (asl/block/model/lifecycle/enter-stop). */
bool tly_pto_enter_body(tly_pto_machine *machine);

#endif
