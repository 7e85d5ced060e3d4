/* SPDX-License-Identifier: Apache-2.0 */
/* How one block gives way to the next. */
#ifndef TLY_PTO_BLOCK_TRANSFER_H
#define TLY_PTO_BLOCK_TRANSFER_H

#include "pto/machine.h"

typedef struct tly_pto_opening {
    uint8_t kind;     /* tly_pto_kind */
    uint8_t transfer; /* tly_pto_transfer */
    bool taken;
    bool trace; /* its BPC is where the block before went, not where its own instruction stands */
    uint64_t target;
    uint64_t sequential;
    uint64_t return_target;
} tly_pto_opening;

struct tly_pto_command;

/* What a start at `pc` opens, as far as its word says it: the targets of returns and indirect
 * transfers come from the state. */
void tly_pto_describe_start(const tly_isa_insn *insn, const struct tly_pto_command *command,
                            uint64_t pc, tly_pto_opening *out_opening,
                            tly_pto_operation *out_operation);

/* The operation of a start of tiles that may always stand; false where it may not. */
bool tly_pto_describe_tile_start(const tly_isa_insn *insn, const struct tly_pto_command *command,
                                 tly_pto_operation *out_operation);

/* Executes such a start: what tly_pto_start_block does, without describing it again. */
bool tly_pto_start_tile_block(tly_pto_machine *machine, uint32_t len, uint8_t kind,
                              const tly_pto_operation *operation);

/* Retires the active block, if there is one, without following its target, and opens a block at
 * TPC (asl/block/model/lifecycle/begin). Returns false when either was refused. */
bool tly_pto_open_block(tly_pto_machine *machine, const tly_pto_opening *opening);

#endif
