/* SPDX-License-Identifier: Apache-2.0 */
/* Tile operations: the table of all 109, and what one execution has resolved before it does
 * anything (asl/block/model/dispatch/tile-execution). */
#ifndef TLY_PTO_TILE_OPERATION_H
#define TLY_PTO_TILE_OPERATION_H

#include "pto/machine.h"
#include "pto/profile/profile.h"
#include "pto/tile/store.h"

typedef enum tly_pto_tile_op {
#define TLY_PTO_OP(name, ...) TLY_PTO_OP_##name,
#include "pto/tile/operations.def"
#undef TLY_PTO_OP
    TLY_PTO_NUM_TILE_OPS
} tly_pto_tile_op;

/* Operands that a row may name besides its destinations and sources. */
enum {
    TLY_PTO_TAKES_ADDRESS = 1,
    TLY_PTO_TAKES_SCALAR0 = 2,
    TLY_PTO_TAKES_SCALAR1 = 4,
    TLY_PTO_TAKES_DIAGONAL = 8,
    TLY_PTO_TAKES_FLAG = 16
};

/* Fields of B.DATR that a row admits other than zero. */
enum {
    TLY_PTO_DATR_COMPARISON = 1,
    TLY_PTO_DATR_PAD = 2,
    TLY_PTO_DATR_SATURATION = 4,
    TLY_PTO_DATR_CANONICALIZE = 8,
    TLY_PTO_DATR_TYPE = 16,
    TLY_PTO_DATR_ROUNDING = 32,
    TLY_PTO_DATR_LAYOUT = 64
};

enum { TLY_PTO_MAX_DESTINATIONS = 3, TLY_PTO_MAX_SOURCES = 8 };

typedef struct tly_pto_plan tly_pto_plan;

/* Checks fill the plan's reason and return false; they have no effect on the machine. */
typedef bool (*tly_pto_plan_check)(const tly_pto_machine *machine, tly_pto_plan *plan);

/* Runs write the elements of plan->results and nothing else of tiles; the descriptors are
 * committed afterwards. A run that can be refused (by memory) raises the fault itself before it has
 * any effect, and returns false. */
typedef bool (*tly_pto_plan_run)(tly_pto_machine *machine, tly_pto_plan *plan);

/* The whole operation, for those that have a path of their own. */
typedef bool (*tly_pto_bundle_run)(tly_pto_machine *machine);

typedef struct tly_pto_tile_row {
    uint8_t family; /* tly_pto_class of the bundle */
    uint8_t code;   /* mode and function */
    uint8_t num_destinations;
    uint8_t num_sources;
    uint8_t takes;
    uint8_t datr;
    uint8_t variant; /* which of the operations that share the functions below */
    uint8_t header;  /* what the header must look like: tly_pto_header_kind (schema.h) */
    uint8_t resolve; /* where the results' shapes come from: tly_pto_resolve_kind (resolve.h) */
    uint32_t types;  /* of the operation, where the header is closed */
    tly_pto_plan_check schema; /* what else the header must say; may be NULL */
    tly_pto_plan_check check;  /* operands, once the results are resolved */
    tly_pto_plan_run run;
    tly_pto_bundle_run own; /* instead of all the rest */
} tly_pto_tile_row;

extern const tly_pto_tile_row tly_pto_tile_rows[TLY_PTO_NUM_TILE_OPS];

/* One execution. Sources and destinations stand in the order of the bindings. */
struct tly_pto_plan {
    const tly_pto_tile_row *row;
    uint8_t operation; /* tly_pto_tile_op */
    uint8_t data_type; /* that the block's start names; TLY_PTO_DTYPE_NONE for some TMOV */
    uint8_t layout;    /* of results: tly_pto_layout */
    uint8_t pad;       /* code of B.DATR; 3, which leaves padding undefined, without one */
    uint8_t num_bindings;
    uint8_t num_shared; /* shared tiles bound */
    bool terminated;    /* the last binding and no other is marked last */
    uint8_t pe_mask;    /* of the first binding */
    uint8_t other_mask; /* of the first one that has another mask, else pe_mask */
    uint8_t all_masks;  /* joined */
    uint8_t num_destinations;
    uint8_t num_sources;
    uint8_t destination_bindings[TLY_PTO_MAX_DESTINATIONS];
    uint8_t destinations[TLY_PTO_MAX_DESTINATIONS];
    uint8_t sources[TLY_PTO_MAX_SOURCES];
    uint64_t address;
    uint64_t scalar0;
    uint64_t scalar1;
    int32_t diagonal;
    bool flag;
    uint8_t flags; /* numeric status that the run raised; committed with the results */
    tly_pto_numeric_control control;
    tly_pto_tile results[TLY_PTO_MAX_DESTINATIONS]; /* descriptors to be */
    tly_pto_reason reason;                          /* of a check that failed */
};

/* What the bundle's header selects: TLY_PTO_NUM_TILE_OPS if no operation has that code. */
uint32_t tly_pto_select_tile_operation(const tly_pto_machine *machine);

/* Fills reason and returns false. */
bool tly_pto_plan_refuse(tly_pto_plan *plan, tly_pto_rule rule, uint64_t a, uint64_t b, uint64_t c,
                         uint64_t d);

static inline const tly_pto_tile *tly_pto_plan_source(const tly_pto_machine *m,
                                                      const tly_pto_plan *plan, uint32_t ordinal) {
    return &m->core.tiles[plan->sources[ordinal]];
}

static inline tly_pto_elements *
tly_pto_plan_source_elements(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t ordinal) {
    return &m->tiles->local[plan->sources[ordinal]];
}

static inline tly_pto_elements *
tly_pto_plan_result_elements(const tly_pto_machine *m, const tly_pto_plan *plan, uint32_t ordinal) {
    return &m->tiles->local[plan->destinations[ordinal]];
}

/* The result's valid region is defined. */
static inline void tly_pto_result_defined(tly_pto_tile *tile) {
    tile->contents_defined = true;
    tile->defined_valid_elements = (uint32_t)tile->valid_rows * tile->valid_columns;
}

#endif
