/* SPDX-License-Identifier: Apache-2.0 */
/* A slow model of operations on local tiles: for each element of the result, what it must be, told
 * from the elements of the sources by row and column. Shapes, types, valid regions, pad values and
 * aliases are random; so are the words of the sources, which need not be those that their bits give
 * back. Integers are computed here, floating-point values by the profile's functions. */
#ifndef TLY_TESTS_TILE_MODEL_H
#define TLY_TESTS_TILE_MODEL_H

#include "check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <tilery/asm.h>
#include <tilery/pto.h>

#include "isa/table.h"
#include "pto/exec.h"
#include "pto/fault.h"
#include "pto/profile/element.h"
#include "pto/tile/allocate.h"
#include "pto/tile/header.h"
#include "pto/tile/lanes.h"
#include "pto/tile/legal.h"

typedef __int128 wide;

enum { RESULT = 32, SECOND = 48, PAD_NONE = 4 /* no B.DATR */ };

static tly_context *context;
static tly_pto_machine *m;
static check_rng rng;
static char what[160]; /* the bundle that is tried */

static inline uint32_t below(uint32_t bound) {
    return (uint32_t)check_below(&rng, bound);
}

/* ---- Sources ---- */

static inline uint64_t cut(uint64_t word, uint32_t bits) {
    return bits == 64 ? word : word & ((UINT64_C(1) << bits) - 1);
}

static inline uint64_t extended(uint64_t word, uint32_t bits) {
    return (uint64_t)((int64_t)(word << (64 - bits)) >> (64 - bits));
}

/* Numbers of every kind; the low bits of TF32 and HF32 stay zero. */
static inline uint64_t random_word(uint32_t dtype, bool plain) {
    static const uint64_t special[] = {
        0,          1,          2,          0x7f,       0x80,       0x3c00,
        0x7c00,     0x7c01,     0x7fff,     0x8000,     0x3f800000, 0x7f800000,
        0x7f800001, 0xff800000, 0x7fffffff, 0x80000000, UINT64_MAX, (uint64_t)INT64_MIN};
    uint32_t bits = tly_pto_dtype_bits(dtype);
    uint64_t word =
        below(4) == 0 ? special[below(sizeof special / sizeof *special)] : check_random(&rng);
    word = below(3) == 0 ? word & 7 : word;
    if (dtype == TLY_PTO_TF32 || dtype == TLY_PTO_HF32) {
        word &= ~UINT64_C(0x1fff);
    }
    if (!plain && below(40) == 0) {
        return word;
    }
    return tly_pto_dtype_is_signed(dtype) && below(2) ? extended(cut(word, bits), bits)
                                                      : cut(word, bits);
}

typedef struct extent {
    uint32_t bytes, columns, valid_rows, valid_columns;
} extent;

/* Any shape of at most 4 KiB whose tile exists. */
static inline extent random_extent(uint32_t dtype) {
    for (;;) {
        extent e = {128u << below(6), 1u << below(7), 0, 0};
        uint32_t rows = tly_pto_derived_rows(e.bytes, e.columns, dtype);
        if (rows != 0) {
            bool whole = below(4) == 0;
            uint32_t most = rows < 24 ? rows : 24;
            e.valid_rows = whole && rows <= 64 ? rows : 1 + below(most);
            e.valid_columns = whole ? e.columns : 1 + below(e.columns);
            return e;
        }
    }
}

static inline const char *type_name(uint32_t dtype) {
    return tly_isa_name_of(TLY_NAMES_DTYPE, dtype);
}

static inline void make_source(uint32_t tile, uint32_t dtype, extent e, uint32_t layout) {
    tly_pto_tile t =
        tly_pto_numeric_tile(e.bytes, e.columns, e.valid_rows, e.valid_columns, dtype, layout);
    bool plain = below(2) == 0, with_padding = below(3) == 0;
    tly_pto_elements *elements = &m->tiles->local[tile];
    t.contents_defined = true;
    t.defined_valid_elements = (uint32_t)t.valid_rows * t.valid_columns;
    tly_pto_elements_clear(elements);
    tly_pto_install_tile(m, tile, &t, 8);
    for (uint32_t row = 0; row < t.rows; row++) {
        for (uint32_t column = 0; column < t.columns; column++) {
            if (with_padding || (row < t.valid_rows && column < t.valid_columns)) {
                uint32_t at = tly_pto_tile_index(&t, row, column);
                tly_pto_element_write(elements, &t, at, random_word(dtype, plain));
                tly_pto_element_define(elements, &t, at, true);
            }
        }
    }
}

static inline void make_mask(uint32_t tile, const tly_pto_tile *like) {
    tly_pto_tile t = tly_pto_predicate_tile(4096, like->rows, like->columns, like->valid_rows,
                                            like->valid_columns);
    t.contents_defined = true;
    t.defined_valid_elements = (uint32_t)t.valid_rows * t.valid_columns;
    tly_pto_elements_clear(&m->tiles->local[tile]);
    tly_pto_install_tile(m, tile, &t, 8);
    for (uint32_t i = 0; i < tly_pto_tile_elements(&t); i++) {
        tly_pto_predicate_write(&m->tiles->local[tile], &t, i, below(2) != 0);
    }
    m->tiles->local[tile].defined = TLY_PTO_DEFINED_ALL;
}

static inline uint64_t at(uint32_t tile, uint32_t row, uint32_t column) {
    const tly_pto_tile *t = &m->core.tiles[tile];
    return tly_pto_element_read(&m->tiles->local[tile], t, tly_pto_tile_index(t, row, column));
}

/* ---- Bundles ---- */

static inline void insn(const char *format, ...) {
    char text[128];
    tly_isa_insn made;
    tly_error err;
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (tly_asm_parse_insn(text, strlen(text), 0, TLY_ISA_0_58_3, &made, &err) != TLY_OK) {
        fail_msg("%s: %s", text, err.message);
    }
    if (!tly_pto_execute(m, made.word, made.len * 8u)) {
        char why[256];
        tly_pto_reason_text(&m->reason, why, sizeof why);
        fail_msg("%s: %s: %s", what, text, why);
    }
}

static inline const char *size_name(uint32_t bytes, char *buffer) {
    sprintf(buffer, bytes < 1024 ? "%uB" : "%uKB", bytes < 1024 ? bytes : bytes / 1024);
    return buffer;
}

/* The pad codes' names; B.DATR makes the result FP64 where it gives no type. */
static inline void datr(uint32_t pad, const char *type) {
    static const char *const names[] = {"Zero", "Max", "Min", "Null"};
    if (pad != PAD_NONE) {
        insn("B.DATR NORM, %s, %s", type, names[pad]);
    }
}

static inline uint32_t random_pad(uint32_t dtype) {
    return dtype == TLY_PTO_FP64 ? below(5) : PAD_NONE;
}

static inline void start(const char *name, uint32_t dtype) {
    snprintf(what, sizeof what, "%s %s", name, type_name(dtype));
    tly_pto_clear_fault(m);
    insn("BSTART.TEPL %s, %s", name, type_name(dtype));
}

static inline void dimensions(extent e) {
    insn("B.DIM zero, %u, ->lb0", e.valid_columns);
    insn("B.DIM zero, %u, ->lb1", e.valid_rows);
    insn("B.DIM zero, %u, ->lb2", e.columns);
}

/* Sources are t#1 ..; the result goes to hand M. */
static inline void finish(const char *sources, uint32_t bytes) {
    char size[16];
    insn("B.IOT %s%smask=1000, last, ->m<%s>", sources, sources[0] != '\0' ? ", " : "",
         size_name(bytes, size));
    insn("C.BSTOP");
}

/* ---- What must have come out ---- */

typedef uint64_t (*model)(uint32_t row, uint32_t column, void *user);

/* Every element, every flag, the descriptor. */
static inline void check_result(uint32_t tile, uint32_t dtype, extent e, uint32_t pad,
                                model expected, void *user) {
    const tly_pto_tile *t = &m->core.tiles[tile];
    const tly_pto_elements *elements = &m->tiles->local[tile];
    uint64_t padding = pad == PAD_NONE ? 0 : tly_pto_pad_value(pad, dtype);
    bool packed = tly_pto_tile_is_packed(t);
    if (!t->allocated || !t->contents_defined || t->data_type != dtype ||
        t->rows != tly_pto_derived_rows(e.bytes, e.columns, dtype) || t->columns != e.columns ||
        t->valid_rows != e.valid_rows || t->valid_columns != e.valid_columns ||
        t->capacity_bytes != e.bytes ||
        t->defined_valid_elements != e.valid_rows * e.valid_columns ||
        m->core.tile_allocation_masks[tile] != 8) {
        fail_msg("%s: the descriptor is wrong", what);
    }
    for (uint32_t row = 0; row < t->rows; row++) {
        for (uint32_t column = 0; column < t->columns; column++) {
            uint32_t index = tly_pto_tile_index(t, row, column);
            bool valid = row < e.valid_rows && column < e.valid_columns;
            uint64_t wanted = valid ? expected(row, column, user) : padding;
            wanted = packed ? cut(wanted, tly_pto_dtype_bits(dtype)) : wanted;
            uint64_t got = tly_pto_element_read(elements, t, index);
            bool defined = valid || pad < TLY_PTO_PAD_NULL;
            if (got != wanted || tly_pto_element_is_defined(elements, t, index) != defined) {
                fail_msg("%s: element %u, %u is 0x%llx (%d), must be 0x%llx (%d)", what, row,
                         column, (unsigned long long)got,
                         tly_pto_element_is_defined(elements, t, index), (unsigned long long)wanted,
                         defined);
            }
        }
    }
    tly_pto_release_tile(m, tile);
}

/* ---- Integers, computed in the open ---- */

static inline wide value_of(uint64_t word, uint32_t dtype) {
    uint32_t bits = tly_pto_dtype_bits(dtype);
    return tly_pto_dtype_is_signed(dtype) ? (wide)(int64_t)extended(word, bits)
                                          : (wide)cut(word, bits);
}

/* Numbers wrap and keep their sign; patterns are zero above their bits. */
static inline uint64_t as_number(wide value, uint32_t dtype) {
    uint32_t bits = tly_pto_dtype_bits(dtype);
    return tly_pto_dtype_is_signed(dtype) ? extended((uint64_t)value, bits)
                                          : cut((uint64_t)value, bits);
}

static inline uint64_t combine(tly_pto_tile_binary op, uint32_t dtype, uint64_t left,
                               uint64_t right) {
    uint8_t flags = 0;
    uint32_t bits = tly_pto_dtype_bits(dtype);
    if (!tly_pto_dtype_is_integer(dtype)) {
        return tly_pto_element_binary(m->profile, op, dtype, left, right, &flags);
    }
    wide a = value_of(left, dtype), b = value_of(right, dtype);
    uint32_t count = (uint32_t)cut(right, bits) % bits;
    switch (op) {
    case TLY_PTO_TILE_ADD:
        return as_number(a + b, dtype);
    case TLY_PTO_TILE_SUB:
        return as_number(a - b, dtype);
    case TLY_PTO_TILE_MUL:
        return as_number((wide)((unsigned __int128)a * (unsigned __int128)b), dtype);
    case TLY_PTO_TILE_MAX:
        return as_number(a > b ? a : b, dtype);
    case TLY_PTO_TILE_MIN:
        return as_number(a < b ? a : b, dtype);
    case TLY_PTO_TILE_AND:
        return cut(left & right, bits);
    case TLY_PTO_TILE_OR:
        return cut(left | right, bits);
    case TLY_PTO_TILE_XOR:
        return cut(left ^ right, bits);
    case TLY_PTO_TILE_SHL:
        return cut((uint64_t)a << count, bits);
    case TLY_PTO_TILE_SHR:
        return cut((uint64_t)(a >> count), bits);
    case TLY_PTO_TILE_DIV:
        return (uint64_t)(a / b); /* the smallest number by -1 keeps its size */
    default: {
        wide rest = a % b;
        return (uint64_t)(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
    }
    }
}

static inline uint64_t change(tly_pto_tile_unary op, uint32_t dtype, uint64_t word) {
    uint8_t flags = 0;
    uint32_t bits = tly_pto_dtype_bits(dtype);
    if (!tly_pto_dtype_is_integer(dtype)) {
        return tly_pto_element_unary(m->profile, op, dtype, word, &flags);
    }
    wide a = value_of(word, dtype);
    switch (op) {
    case TLY_PTO_TILE_ABS:
        return cut((uint64_t)(a < 0 ? -a : a), bits);
    case TLY_PTO_TILE_NOT:
        return cut(~word, bits);
    case TLY_PTO_TILE_NEG:
        return cut((uint64_t)-a, bits);
    default:
        return a < 0 ? 0 : cut(word, bits);
    }
}

/* Divisors that are no zero. */
static inline void no_zeros(uint32_t tile) {
    const tly_pto_tile *t = &m->core.tiles[tile];
    uint32_t bits = tly_pto_dtype_bits(t->data_type);
    for (uint32_t i = 0; i < tly_pto_tile_elements(t); i++) {
        uint64_t word = tly_pto_element_read(&m->tiles->local[tile], t, i);
        if (cut(word, bits) == 0 && tly_pto_dtype_is_integer(t->data_type)) {
            tly_pto_element_write(&m->tiles->local[tile], t, i, 1);
        }
    }
}

static inline uint32_t random_type(uint32_t types) {
    for (;;) {
        uint32_t dtype = below(29);
        if (tly_pto_dtype_in(dtype, types)) {
            return dtype;
        }
    }
}

typedef struct operation {
    uint32_t op, dtype, to;
    uint32_t second; /* tile of the second source */
    uint64_t scalar;
    uint32_t row, column;
    bool flag;
    int32_t diagonal;
    extent e;
} operation;

static const char *const layout_codes[] = {"NORM", "ND2DN", "ND2ZN", "ND2NZ"};
static const uint8_t layout_results[] = {TLY_PTO_LAYOUT_ROW_MAJOR, TLY_PTO_LAYOUT_COLUMN_MAJOR,
                                         TLY_PTO_LAYOUT_ZN, TLY_PTO_LAYOUT_NZ};

/* A layout whose fractals the shape has, of a source or of a result. */
static inline uint32_t random_layout(uint32_t dtype, extent e) {
    for (;;) {
        uint32_t code = below(4);
        tly_pto_tile t = tly_pto_numeric_tile(e.bytes, e.columns, e.valid_rows, e.valid_columns,
                                              dtype, layout_results[code]);
        if (tly_pto_generic_indexing(&t)) {
            return code;
        }
    }
}

static inline int set_up(void **state) {
    (void)state;
    tly_error err;
    tly_pto_options options = {.size = sizeof options, .memory_bytes = 4096};
    return tly_context_new(NULL, &context, &err) != TLY_OK ||
           tly_pto_new(context, &options, &m, &err) != TLY_OK;
}

static inline int tear_down(void **state) {
    (void)state;
    tly_pto_free(m);
    tly_context_free(context);
    return 0;
}

#endif
