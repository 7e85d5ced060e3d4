/* SPDX-License-Identifier: Apache-2.0 */
/* Predecoded code. A unit is a run of instructions from one address on, in one state of the block
 * around them: what the state decides (where a form may stand, which queue entries hold values,
 * what a start or a stop does) is decided when the unit is made. Its operations are executed one
 * behind the other by fast/loop.c; whatever they do not settle is left to the plain path, which
 * executes that one instruction from the architectural state.
 *
 * Nothing here is architectural, and nothing is allocated while a machine runs: units stand in an
 * arena; when it is full, or when bytes that code was made from change, all are forgotten. */
#ifndef TLY_PTO_FAST_CODE_H
#define TLY_PTO_FAST_CODE_H

#include "pto/exec.h"
#include "pto/machine.h"
#include "pto/scalar/scalar.h"

/* What a unit was made for: bits of a mode. */
enum {
    TLY_PTO_MODE_ACTIVE = 1 << 0,
    TLY_PTO_MODE_BODY = 1 << 1,
    TLY_PTO_MODE_CONDITION_SET = 1 << 2,
    TLY_PTO_MODE_TARGET_SET = 1 << 3,
    TLY_PTO_MODE_KIND = 4,     /* two bits: STANDARD, FLOATING or SYSTEM */
    TLY_PTO_MODE_TRANSFER = 6, /* three bits */
    TLY_PTO_MODE_T_VALID = 9,  /* bit i: t_queue[i] holds a value */
    TLY_PTO_MODE_U_VALID = 13,
    TLY_PTO_MODE_ELEMENT = 17 /* two bits: the current processing element */
};

/* The state of the block as a place in a unit knows it, where it is not in the machine's state: a
 * start or a stop in the unit decided it. */
typedef struct tly_pto_block_state {
    bool active;
    bool body;
    bool condition_set;
    bool target_set;
    bool taken;
    bool taken_in_state; /* core.context.barg has it */
    bool bpcn_in_state;
    uint8_t kind;
    uint8_t transfer;
    uint64_t bpc;
    uint64_t bpcn;
    uint64_t sequential;
    uint64_t return_target;
    tly_pto_operation operation;
} tly_pto_block_state;

struct tly_pto_unit;

/* Registers and queue entries are places: byte offsets into the machine. */
typedef struct tly_pto_op {
    const void *label; /* where fast/loop.c executes it */
    uint16_t d;
    uint16_t a;
    uint16_t b;
    uint16_t c;
    union {
        uint64_t imm;
        struct tly_pto_unit *link; /* of an exit; NULL: not known yet */
        const struct tly_pto_call *call;
    };
    union {
        struct {
            uint16_t d2;
            uint8_t modifier;
            uint8_t shift;
            uint32_t extra;
        };
        struct tly_pto_unit *other_link; /* of a conditional exit: not taken */
    };
} tly_pto_op;

/* A routine of the plain path with its operands. */
typedef struct tly_pto_call {
    tly_pto_scalar_routine routine;
    tly_pto_operands operands;
} tly_pto_call;

enum { TLY_PTO_NO_SNAPSHOT = 0xFFFF };

/* What has to be known to leave a unit before one of its operations. */
typedef struct tly_pto_where {
    uint64_t pc;
    uint16_t snapshot;
    uint8_t step;     /* instructions of the unit before this one */
    uint8_t t_pushes; /* not yet in the queues */
    uint8_t u_pushes;
} tly_pto_where;

/* Where an exit goes. A conditional one has two, taken first. */
typedef struct tly_pto_target {
    uint64_t pc;
    uint32_t mode;
} tly_pto_target;

typedef struct tly_pto_unit {
    uint64_t pc;
    uint32_t mode;
    uint32_t num_steps;
    struct tly_pto_unit *next_in_bucket;
    const tly_pto_where *where; /* for each operation */
    const tly_pto_block_state *snapshots;
    const tly_pto_target *targets; /* of the exit */
    tly_pto_op ops[];
} tly_pto_unit;

typedef struct tly_pto_code tly_pto_code;

/* Errors: OUT_OF_MEMORY. `memory_bytes` is the size of guest memory. */
tly_status tly_pto_code_new(const tly_context *context, uint64_t memory_bytes,
                            tly_pto_code **out_code, tly_error *error);
void tly_pto_code_free(const tly_context *context, tly_pto_code *code);

/* Forgets all units; a reset forgets which lines were written over as well. */
void tly_pto_code_flush(tly_pto_code *code);
void tly_pto_code_reset(tly_pto_code *code);

/* Bytes of memory have changed. A guest that writes over its code again and again ends up with
 * lines that no code is made from. */
void tly_pto_code_wrote(tly_pto_code *code, uint64_t address, uint64_t len, bool by_guest);

/* The unit at an address in a mode, made if need be; NULL where none can be: at the stop address,
 * and where no instruction can be fetched. It may flush, which changes the generation. */
tly_pto_unit *tly_pto_code_find(tly_pto_machine *machine, uint64_t pc, uint32_t mode);

/* The decoded instruction at an address, kept for the plain path; `room` is for one that cannot be
 * kept. It stays as it is until the instruction has been executed. NULL: none can be fetched. */
const tly_pto_decoded *tly_pto_code_instruction(tly_pto_machine *machine, uint64_t pc,
                                                tly_pto_decoded *room);

/* Whether the instruction at this address is kept and begins the block of a tile operation, for
 * which no unit is needed. */
bool tly_pto_code_starts_tile(const tly_pto_code *code, uint64_t pc);

/* The header of a tile operation is open. */
static inline bool tly_pto_in_tile_header(const tly_pto_machine *m) {
    return m->core.context.bundle_active && m->core.context.barg.block_type > TLY_PTO_KIND_SYSTEM;
}

/* Blocks of tile operations, one behind the other, at most *left instructions, which it counts
 * down; nothing has to be asked between their commands. Returns whether a step of the plain path
 * has to follow. */
bool tly_pto_run_tile_blocks(tly_pto_machine *machine, uint64_t *left, bool *out_refused);

/* The same for an element of a team, up to an instruction that is a turn. */
bool tly_pto_run_tile_blocks_apart(tly_pto_machine *machine, uint64_t *left, bool *out_refused);

uint64_t tly_pto_code_generation(const tly_pto_code *code);

/* One byte for each line of memory; negative as int8_t: stores are left to the plain path, for code
 * was made from it, or another element of a team has an interest in it. */
const int8_t *tly_pto_code_lines(const tly_pto_code *code);

/* For a team (pto/team.h). From now on it is noted which instructions code is made from. Errors:
 * OUT_OF_MEMORY. */
tly_status tly_pto_code_take_notes(tly_pto_code *code, tly_error *error);

/* Compares what was noted, all of it or what is new, with memory. Where it differs all units are
 * forgotten, and the result is false; else `out_first` is the first note that was new. */
bool tly_pto_code_confirm(tly_pto_machine *machine, bool all, uint32_t *out_first);

/* Every byte that the notes are of lies from `out_first` on and before `out_end`. */
void tly_pto_code_noted(const tly_pto_code *code, uint64_t *out_first, uint64_t *out_end);

/* Predecoded stores to lines of the other's notes, from `first` on, go to the plain path. */
void tly_pto_code_see(tly_pto_code *code, const tly_pto_code *other, uint32_t first);

/* The same for a line where another element has a reservation, until it has none. */
void tly_pto_code_reserve_line(tly_pto_code *code, uint64_t line, bool reserved);

/* Units end before this address. */
void tly_pto_code_set_stop(tly_pto_code *code, uint64_t stop_pc);

/* fast/state.c: the mode of the machine's state; false where no unit can be made for it. */
bool tly_pto_mode_of(const tly_pto_machine *machine, uint32_t *out_mode);

/* Puts what a snapshot knows into the machine's state. */
void tly_pto_restore_block(tly_pto_machine *machine, const tly_pto_block_state *snapshot);

/* Puts pushes of the unit into the queues of the machine's state. */
void tly_pto_flush_queues(tly_pto_machine *machine, uint32_t t_pushes, uint32_t u_pushes);

/* fast/loop.c */
typedef struct tly_pto_fast_result {
    bool must_step; /* the next instruction is the plain path's */
    bool refused;   /* the last instruction raised a fault */
} tly_pto_fast_result;

/* Runs units from `unit` on, at most *steps instructions, which it counts down. The machine's state
 * is complete when it returns. */
void tly_pto_fast_run(tly_pto_machine *machine, tly_pto_unit *unit, uint64_t *steps,
                      tly_pto_fast_result *out_result);

/* Addresses of the operations in fast/loop.c, by their number in fast/ops.h. */
const void *const *tly_pto_fast_labels(void);

#endif
