/* SPDX-License-Identifier: Apache-2.0 */
/* The bundle and command forms: one row each, and the routines that execute them. */
#ifndef TLY_PTO_BLOCK_COMMAND_H
#define TLY_PTO_BLOCK_COMMAND_H

#include "pto/machine.h"

struct tly_pto_command;

/* Executes a decoded command completely, TPC included. Returns false when it was refused. */
typedef bool tly_pto_command_fn(tly_pto_machine *machine, const tly_isa_insn *insn,
                                const struct tly_pto_command *command);

/* No such field: a place in tly_isa_insn.fields that does not exist. */
enum { TLY_PTO_NO_FIELD = 0xFF };

/* What a start begins, and where its operands stand in tly_isa_insn.fields. */
typedef struct tly_pto_start {
    uint8_t kind;         /* tly_pto_kind */
    uint8_t klass;        /* tly_pto_class */
    uint8_t transfer;     /* tly_pto_transfer, where no field says it */
    uint8_t selector;     /* of the tile operation, where no fields say it */
    uint8_t identity;     /* number of the form in the specification's list of commands */
    uint8_t offset_place; /* distance to the target in halfwords */
    uint8_t return_place; /* distance to the return address in halfwords */
    uint8_t branch_place; /* branch type */
    uint8_t dtype_place;  /* element type */
    uint8_t mode_place;   /* mode of a tile operation; its function comes next */
} tly_pto_start;

/* Where the operands of B.IOT and B.IOS stand. */
typedef struct tly_pto_tile_places {
    uint8_t sources[2];
    uint8_t last;
    uint8_t size;
    uint8_t elements; /* participating processing elements */
    uint8_t destination;
    bool elements_are_mask; /* up to 0.58.2; a mode since */
} tly_pto_tile_places;

typedef struct tly_pto_command {
    tly_pto_command_fn *execute; /* NULL: this machine has no such command */
    bool ends_block;             /* allowed behind the request that closes a system block */
    union {
        tly_pto_start start;
        tly_pto_tile_places tiles;
        uint8_t dimension;  /* of B.DIM */
        uint8_t frame_kind; /* tly_pto_frame_kind */
    };
} tly_pto_command;

/* The row of a form; its `execute` is NULL for scalar forms and for commands that this machine
 * does not have. */
const tly_pto_command *tly_pto_command_of(uint32_t form);

/* Executes a command that may not stand here, or that this machine does not have. */
tly_pto_command_fn tly_pto_execute_command_checked;

/* A command of this row whose fields its form admits, after tly_pto_begin_attempt
 * (asl/block/model/dispatch). */
static inline bool tly_pto_execute_command(tly_pto_machine *m, const tly_isa_insn *insn,
                                           const tly_pto_command *command) {
    return m->core.context.header.system_terminal_pending || command->execute == NULL
               ? tly_pto_execute_command_checked(m, insn, command)
               : command->execute(m, insn, command);
}

static inline void tly_pto_advance(tly_pto_machine *m, const tly_isa_insn *insn) {
    m->core.context.tpc += insn->len;
}

tly_pto_command_fn tly_pto_set_control_attributes;
tly_pto_command_fn tly_pto_set_data_attributes;
tly_pto_command_fn tly_pto_set_fixed_point;
tly_pto_command_fn tly_pto_set_dimension_sum;
tly_pto_command_fn tly_pto_set_dimension_immediate;
tly_pto_command_fn tly_pto_set_hint;
tly_pto_command_fn tly_pto_start_trace;
tly_pto_command_fn tly_pto_bind_scalars;
tly_pto_command_fn tly_pto_bind_shared;
tly_pto_command_fn tly_pto_bind_tiles;
tly_pto_command_fn tly_pto_start_block;
tly_pto_command_fn tly_pto_stop_block;
tly_pto_command_fn tly_pto_run_frame;
tly_pto_command_fn tly_pto_copy_memory;
tly_pto_command_fn tly_pto_set_memory;
tly_pto_command_fn tly_pto_move_queue;
tly_pto_command_fn tly_pto_pop_queue;
tly_pto_command_fn tly_pto_push_queue_entry;
tly_pto_command_fn tly_pto_refuse_command;

#endif
