/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/tile/cube.h"
#include "pto/tile/handlers.h"
#include "pto/tile/header.h"
#include "pto/tile/legal.h"
#include "pto/tile/resolve.h"
#include "pto/tile/tlsu.h"

/* The words of operations.def. */
enum {
    ADDRESS = TLY_PTO_TAKES_ADDRESS,
    SCALAR0 = TLY_PTO_TAKES_SCALAR0,
    SCALAR1 = TLY_PTO_TAKES_SCALAR1,
    DIAGONAL = TLY_PTO_TAKES_DIAGONAL,
    FLAG = TLY_PTO_TAKES_FLAG
};
enum {
    COMPARISON = TLY_PTO_DATR_COMPARISON,
    PAD = TLY_PTO_DATR_PAD,
    SATURATION = TLY_PTO_DATR_SATURATION,
    CANONICALIZE = TLY_PTO_DATR_CANONICALIZE,
    TYPE = TLY_PTO_DATR_TYPE,
    ROUNDING = TLY_PTO_DATR_ROUNDING,
    LAYOUT = TLY_PTO_DATR_LAYOUT
};
enum {
    BY_COLUMN = TLY_PTO_BY_COLUMN,
    FREE = TLY_PTO_HEADER_FREE,
    D = TLY_PTO_HEADER_D,
    D_S = TLY_PTO_HEADER_D_S,
    D_SS = TLY_PTO_HEADER_D_SS,
    SS_DS = TLY_PTO_HEADER_SS_DS,
    STREAM = TLY_PTO_HEADER_STREAM,
    DIMS = TLY_PTO_HEADER_DIMS,
    ROWS = TLY_PTO_HEADER_ROWS,
    NO_SCALAR = TLY_PTO_HEADER_NO_SCALAR,
    NO_DATR = TLY_PTO_HEADER_NO_DATR
};
#define TYPES_NONE         0
#define TYPES_ALL          TLY_PTO_TYPES_ALL
#define TYPES_ARITHMETIC   TLY_PTO_TYPES_ARITHMETIC
#define TYPES_BYTE_INTEGER TLY_PTO_TYPES_BYTE_INTEGER
#define TYPES_NARROW       TLY_PTO_TYPES_NARROW
#define TYPES_HISTOGRAM    (TLY_PTO_TYPE(TLY_PTO_U16) | TLY_PTO_TYPE(TLY_PTO_U32))
#define TYPES_SORT         (TLY_PTO_TYPE(TLY_PTO_FP16) | TLY_PTO_TYPE(TLY_PTO_FP32))
#define TYPES_SEQUENCE                                                                             \
    (TLY_PTO_TYPE(TLY_PTO_S32) | TLY_PTO_TYPE(TLY_PTO_S16) | TLY_PTO_TYPE(TLY_PTO_U32) |           \
     TLY_PTO_TYPE(TLY_PTO_U16))
#define TYPES_TRIANGLE (TYPES_SEQUENCE | TYPES_SORT)

#define PLAIN(f)       NULL, tly_pto_check_##f, tly_pto_run_##f, NULL
#define SCHEMA(f)      tly_pto_schema_##f, tly_pto_check_##f, tly_pto_run_##f, NULL
#define HEADER_ONLY(f) tly_pto_schema_##f, NULL, tly_pto_run_##f, NULL
#define RUN_ONLY(f)    NULL, NULL, tly_pto_run_##f, NULL
#define OWN(f)         NULL, NULL, NULL, tly_pto_execute_##f

const tly_pto_tile_row tly_pto_tile_rows[TLY_PTO_NUM_TILE_OPS] = {
#define TLY_PTO_OP(name, class, code, destinations, sources, takes, datr, variant, header,         \
                   resolve, types, ...)                                                            \
    {                                                                                              \
        TLY_PTO_CLASS_TILE_##class,                                                                \
        code,                                                                                      \
        destinations,                                                                              \
        sources,                                                                                   \
        takes,                                                                                     \
        datr,                                                                                      \
        variant,                                                                                   \
        header,                                                                                    \
        TLY_PTO_RESOLVE_##resolve,                                                                 \
        TYPES_##types,                                                                             \
        __VA_ARGS__},
#include "pto/tile/operations.def"
#undef TLY_PTO_OP
};

/* The operations of a class by their code. */
enum { NUM_CODES = 128, NUM_CLASSES = TLY_PTO_CLASS_TILE_MATRIX + 1 };

/* Plus one; 0 where there is none. */
static const uint8_t selected[NUM_CLASSES][NUM_CODES] = {
#define TLY_PTO_OP(name, class, code, ...)                                                         \
    [TLY_PTO_CLASS_TILE_##class][code] = TLY_PTO_OP_##name + 1,
#include "pto/tile/operations.def"
#undef TLY_PTO_OP
};

/* Functions of TLSU starts that name TMOV or TSTORE once more, for shared tiles. */
static uint32_t memory_code(const tly_pto_operation *operation, uint32_t code) {
    if (operation->mode_valid) {
        return code;
    }
    switch (operation->selector & 31) {
    case 9:
    case 10:
    case 11:
    case 12:
        return 2;
    case 14:
        return 1;
    default:
        return code;
    }
}

uint32_t tly_pto_select_tile_operation(const tly_pto_machine *m) {
    const tly_pto_operation *operation = &m->core.context.header.operation;
    uint32_t class = operation->operation_class;
    uint32_t code = operation->mode_valid
                        ? (uint32_t)operation->mode << 5 | (operation->selector & 31)
                        : operation->selector;
    if (class == TLY_PTO_CLASS_TILE_MEMORY) {
        code = memory_code(operation, code);
    }
    uint32_t row = class < NUM_CLASSES && code < NUM_CODES ? selected[class][code] : 0;
    return row != 0 ? row - 1 : TLY_PTO_NUM_TILE_OPS;
}
