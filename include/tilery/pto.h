/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TILERY_PTO_H
#define TILERY_PTO_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/export.h>
#include <tilery/isa.h>
#include <tilery/status.h>

TLY_BEGIN_DECLS

/* The PTO machine: one core of four processing elements, its memory, its tiles. Guest faults are
 * values of the machine, not errors of a call. */

typedef struct tly_pto_machine tly_pto_machine;

typedef struct tly_pto_options {
    size_t size;           /* sizeof(tly_pto_options) */
    uint64_t memory_bytes; /* 0: 1 GiB. Reserved, and taken from the system where it is touched */
    uint64_t app_limit;    /* bytes of memory that rings 2 to 15 see; 0: three quarters */
    uint32_t num_queues;   /* general queues that can exist at once; 0: 16 */
    int32_t release;       /* tly_isa_release that the code is written for; 0 with use_release 0:
                              0.58.3 */
    uint32_t use_release;  /* 1: `release` is given */
    const char *profile;   /* numeric behaviour; NULL: "pto-v0" */
} tly_pto_options;

/* A machine in its reset state. `options` may be NULL. Errors: INVALID_ARGUMENT, NOT_FOUND (no such
 * profile), OUT_OF_MEMORY. Single-owner; any number of machines may exist. */
TLY_API tly_status tly_pto_new(const tly_context *context, const tly_pto_options *options,
                               tly_pto_machine **out_machine, tly_error *error);
TLY_API void tly_pto_free(tly_pto_machine *machine); /* takes NULL */

/* Reset: all state as after tly_pto_new, memory zero (arch/profile/reset). */
TLY_API void tly_pto_reset(tly_pto_machine *machine);

/* Memory. Errors: INVALID_ARGUMENT (the range does not lie in memory; nothing is copied). Writing
 * code is seen by the next fetch. */
TLY_API tly_status tly_pto_memory_read(const tly_pto_machine *machine, uint64_t address,
                                       void *out_bytes, uint64_t len, tly_error *error);
TLY_API tly_status tly_pto_memory_write(tly_pto_machine *machine, uint64_t address,
                                        const void *bytes, uint64_t len, tly_error *error);
TLY_API uint64_t tly_pto_memory_len(const tly_pto_machine *machine);

/* State by name: "tpc", "gpr[0][4]" (element, register), "t_queue[0]",
 * "bundle_tile_bindings[3].pe_mask", "trap_context[1].tpc", "tile[16].rows". tly_pto_field_info
 * lists the names, with "[]" for each index. Errors: NOT_FOUND; tly_pto_set: INVALID_ARGUMENT for a
 * value that a field cannot have (rule "pto-value"). */
TLY_API tly_status tly_pto_get(const tly_pto_machine *machine, const char *name,
                               uint64_t *out_value, tly_error *error);
TLY_API tly_status tly_pto_set(tly_pto_machine *machine, const char *name, uint64_t value,
                               tly_error *error);

typedef struct tly_pto_field_description {
    size_t size;          /* sizeof(tly_pto_field_description), set by the caller */
    const char *name;     /* static */
    uint32_t len;         /* bytes of a value */
    uint32_t num_indexes; /* 0, 1 or 2 */
    uint32_t counts[2];   /* of the machine asked */
    uint32_t is_saved;    /* also a field of "trap_context[]." */
    uint32_t num_names;   /* values with a name: below this number */
} tly_pto_field_description;

/* Fields by number, from 0. Errors: NOT_FOUND (beyond the last one), INVALID_ARGUMENT. */
TLY_API tly_status tly_pto_field_info(const tly_pto_machine *machine, uint32_t number,
                                      tly_pto_field_description *out_description);

/* Name of a value of a field ("TileMatrix" of barg.block_type), NULL without one. Static. */
TLY_API const char *tly_pto_value_name(uint32_t field, uint64_t value);

/* Why the last instruction was refused. */
typedef struct tly_pto_refusal {
    size_t size;       /* sizeof(tly_pto_refusal), set by the caller */
    uint32_t fault;    /* 0: it was not */
    uint32_t reserved; /* 0 */
    uint64_t address;  /* fault address */
    const char *name;  /* of the fault, "DataPage"; static */
    const char *rule;  /* stable name of the rule that was broken, "" where there is none; static */
    char text[256];    /* a sentence with the values */
} tly_pto_refusal;

TLY_API void tly_pto_refusal_get(const tly_pto_machine *machine, tly_pto_refusal *out_refusal);

typedef enum tly_pto_end {
    TLY_PTO_END_STOP,  /* TPC reached the stop address */
    TLY_PTO_END_FAULT, /* a step was refused, and the ring that took the trap has no vector */
    TLY_PTO_END_LIMIT, /* the number of steps is used up */
    TLY_PTO_END_FETCH, /* TPC is odd, or the instruction does not lie in memory */
    TLY_PTO_END_ASKED, /* the observer said so */
    TLY_PTO_END_OTHER  /* another element of its team ended the run (tilery/pto_team.h) */
} tly_pto_end;

/* One step, as the observer sees it when it is over. */
typedef struct tly_pto_step {
    uint64_t pc;
    uint64_t word;
    uint8_t bits;         /* of the word */
    uint8_t entered_body; /* the body was entered just before this step */
    uint8_t executed;     /* 0: refused; tly_pto_refusal_get says why */
} tly_pto_step;

/* Returns 0 to end the run after this step. */
typedef int (*tly_pto_observer)(void *user, tly_pto_machine *machine, const tly_pto_step *step);

typedef struct tly_pto_run_options {
    size_t size; /* sizeof(tly_pto_run_options) */
    uint64_t stop_pc;
    uint64_t max_steps;
    tly_pto_observer observer; /* NULL: the fast path may run */
    void *user;
    uint32_t plain; /* 1: never the fast path; the results are the same */
} tly_pto_run_options;

typedef struct tly_pto_run_result {
    int32_t end; /* tly_pto_end */
    uint32_t reserved;
    uint64_t num_steps;
} tly_pto_run_result;

/* Fetches and executes from TPC until something ends it. A body is entered at the first instruction
 * of a Standard, Floating or System block that is no command. */
TLY_API void tly_pto_run(tly_pto_machine *machine, const tly_pto_run_options *options,
                         tly_pto_run_result *out_result);

/* Executes one instruction from memory at TPC. Returns why not: TLY_PTO_END_LIMIT after a step that
 * was executed or refused (`out_step`, nullable, says which), TLY_PTO_END_FETCH if there is none.
 */
TLY_API int32_t tly_pto_step_once(tly_pto_machine *machine, tly_pto_step *out_step);

/* Executes one word at TPC, which is not fetched from memory. `bits` is 16, 32, 48 or 64. Returns 1
 * if it was executed, 0 if it was refused. */
TLY_API int tly_pto_execute_word(tly_pto_machine *machine, uint64_t word, uint32_t bits);

/* An interrupt `id` (0 .. 63) with a cause of 24 bits: made pending, and taken where it is enabled
 * (arch/memory-model/fault-precision). */
TLY_API void tly_pto_interrupt(tly_pto_machine *machine, uint32_t id, uint32_t cause);

/* Tiles by the host: transitions of a local tile (0 .. 63; 16 for each of the hands T, U, M, N)
 * with the checks of a bundle. A refusal has the fault and the rule that a bundle would get, but no
 * trap is taken; `out_refusal` (nullable, its size set) gets them, and the machine is as it was. */
typedef struct tly_pto_tile_shape {
    size_t size;             /* sizeof(tly_pto_tile_shape) */
    uint32_t capacity_bytes; /* for each processing element: a multiple of 128 up to 65536 */
    uint32_t pe_mask;        /* elements that take part, 1 .. 15; 8 is element 0 */
    uint32_t is_predicate;   /* 1: bits; data_type and layout are not looked at */
    uint32_t data_type;      /* code of an element type: 0 FP64, 1 FP32 ... 28 U4X2 */
    uint32_t layout;         /* as "tile[].layout" names them; 0: by rows */
    uint32_t rows;           /* rows, columns: not looked at for layouts of the matrix unit */
    uint32_t columns;
    uint32_t valid_rows;
    uint32_t valid_columns;
} tly_pto_tile_shape;

/* Gives a tile a descriptor; nothing is defined then. A numeric tile gets all rows that its
 * capacity has room for, which are `rows` at least; its columns are a power of two. A tile that is
 * allocated gives its share of the core's capacity back first. Returns 1, or 0 for a refusal:
 * TileAllocation for shapes and capacities, TileLegality for masks, types and layouts
 * (asl/tile/model/state/allocation). */
TLY_API int tly_pto_tile_allocate(tly_pto_machine *machine, uint32_t tile,
                                  const tly_pto_tile_shape *shape, tly_pto_refusal *out_refusal);

/* Gives a tile back: its descriptor and its elements are those of a tile that never was. Returns 1;
 * 0 if there is no such tile. */
TLY_API int tly_pto_tile_release(tly_pto_machine *machine, uint32_t tile,
                                 tly_pto_refusal *out_refusal);

/* Makes one tile what another one is: descriptor, mask, elements and which of them are defined.
 * Returns 1, or 0 for a refusal: TileLegality if the source is not allocated, TileAllocation if the
 * core's capacity does not allow it. */
TLY_API int tly_pto_tile_copy(tly_pto_machine *machine, uint32_t destination, uint32_t source,
                              tly_pto_refusal *out_refusal);

/* Everything of a machine at one moment: state, memory, tiles. A snapshot belongs to machines with
 * as much memory and as many queues as the one it was taken of. Single-owner. */
typedef struct tly_pto_snapshot tly_pto_snapshot;

/* Errors: OUT_OF_MEMORY. */
TLY_API tly_status tly_pto_save(const tly_pto_machine *machine, tly_pto_snapshot **out_snapshot,
                                tly_error *error);

/* Puts a machine into the saved state. The snapshot stays. Errors: INVALID_ARGUMENT (another size
 * of memory or number of queues; nothing is changed). */
TLY_API tly_status tly_pto_restore(tly_pto_machine *machine, const tly_pto_snapshot *snapshot,
                                   tly_error *error);
TLY_API void tly_pto_snapshot_free(tly_pto_snapshot *snapshot); /* takes NULL */

/* One access of an instruction to memory, before tile operations: those report whole rows. */
typedef struct tly_pto_access {
    uint64_t address;
    uint64_t len;   /* bytes */
    uint64_t value; /* of accesses up to 8 bytes, else 0 */
    uint32_t is_write;
    uint32_t pe;
} tly_pto_access;

/* Called for each access that is performed. The machine must not be changed. NULL ends it. While
 * one is set, runs take the plain path. */
typedef void (*tly_pto_access_fn)(void *user, const tly_pto_access *access);
TLY_API void tly_pto_watch_memory(tly_pto_machine *machine, tly_pto_access_fn watch, void *user);

/* Called for each trap and interrupt when its ring has been entered. NULL ends it. */
typedef void (*tly_pto_trap_fn)(void *user, const tly_pto_machine *machine, uint32_t ring);
TLY_API void tly_pto_watch_traps(tly_pto_machine *machine, tly_pto_trap_fn watch, void *user);

TLY_END_DECLS

#endif
