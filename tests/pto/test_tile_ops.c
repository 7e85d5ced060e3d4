/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise operations, reductions and expansions against the model. */
#include "tile_model.h"

static uint64_t model_binary(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    return combine((tly_pto_tile_binary)o->op, o->dtype, at(0, row, column),
                   at(o->second, row, column));
}

static const char *const binary_names[] = {"TADD", "TSUB", "TMUL", "TMAX", "TMIN", "TAND",
                                           "TOR",  "TXOR", "TSHL", "TSHR", "TDIV", "TREM"};

static uint32_t binary_types(uint32_t op) {
    return op >= TLY_PTO_TILE_AND && op <= TLY_PTO_TILE_SHR ? TLY_PTO_TYPES_BYTE_INTEGER
                                                            : TLY_PTO_TYPES_ARITHMETIC;
}

static void try_binary(uint32_t op) {
    operation o = {.op = op, .dtype = random_type(binary_types(op)), .second = below(4) != 0};
    uint32_t pad = random_pad(o.dtype);
    o.e = random_extent(o.dtype);
    make_source(0, o.dtype, o.e, 0);
    make_source(1, o.dtype, o.e, 0);
    if (op >= TLY_PTO_TILE_DIV) {
        no_zeros(o.second);
    }
    start(binary_names[op], o.dtype);
    datr(pad, "FP64");
    dimensions(o.e);
    finish(o.second != 0 ? "t#1, t#2" : "t#1, t#1", o.e.bytes);
    check_result(RESULT, o.dtype, o.e, pad, model_binary, &o);
}

static uint64_t model_scalar(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    return combine((tly_pto_tile_binary)o->op, o->dtype, at(0, row, column), o->scalar);
}

static void try_scalar(uint32_t op) {
    char name[16];
    operation o = {.op = op, .dtype = random_type(binary_types(op))};
    uint32_t pad = random_pad(o.dtype), bits = tly_pto_dtype_bits(o.dtype);
    o.e = random_extent(o.dtype);
    make_source(0, o.dtype, o.e, 0);
    m->core.gprs[0][2] = random_word(o.dtype, true);
    if (op >= TLY_PTO_TILE_DIV && cut(m->core.gprs[0][2], bits) == 0) {
        m->core.gprs[0][2] = 3;
    }
    if (o.dtype == TLY_PTO_TF32 || o.dtype == TLY_PTO_HF32) {
        m->core.gprs[0][2] &= ~UINT64_C(0x1fff);
    }
    o.scalar = cut(m->core.gprs[0][2], bits);
    snprintf(name, sizeof name, "%sS", binary_names[op]);
    start(name, o.dtype);
    datr(pad, "FP64");
    dimensions(o.e);
    insn("B.IOR [a0, zero, zero], ->zero");
    finish("t#1", o.e.bytes);
    check_result(RESULT, o.dtype, o.e, pad, model_scalar, &o);
}

static uint64_t model_unary(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    return change((tly_pto_tile_unary)o->op, o->dtype, at(0, row, column));
}

static void try_unary(uint32_t op) {
    static const char *const names[] = {"TABS", "TNOT",   "TNEG", "TRELU", "TSQRT",
                                        "TLOG", "TRECIP", "TEXP", "TRSQRT"};
    uint32_t types = op == TLY_PTO_TILE_NOT   ? TLY_PTO_TYPES_BYTE_INTEGER
                     : op < TLY_PTO_TILE_SQRT ? TLY_PTO_TYPES_ARITHMETIC
                                              : TLY_PTO_TYPES_ORDERED_FLOATING;
    operation o = {.op = op, .dtype = random_type(types)};
    uint32_t pad = random_pad(o.dtype);
    o.e = random_extent(o.dtype);
    make_source(0, o.dtype, o.e, 0);
    start(names[op], o.dtype);
    datr(pad, "FP64");
    dimensions(o.e);
    finish("t#1", o.e.bytes);
    check_result(RESULT, o.dtype, o.e, pad, model_unary, &o);
}

static uint64_t model_fma(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    uint8_t flags = 0;
    uint64_t a = at(0, row, column), b = at(1, row, column), c = at(2, row, column);
    return tly_pto_dtype_is_integer(o->dtype)
               ? cut(a * b + c, tly_pto_dtype_bits(o->dtype))
               : tly_pto_element_fused(m->profile, o->dtype, a, b, c, &flags);
}

static uint64_t model_select(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    const tly_pto_tile *mask = &m->core.tiles[2];
    bool yes = tly_pto_predicate_read(&m->tiles->local[2], row * mask->columns + column);
    return yes ? at(0, row, column) : o->second != 0 ? at(1, row, column) : o->scalar;
}

static void try_three_operands(void) {
    char size[16];
    operation o = {.dtype = random_type(TLY_PTO_TYPES_ARITHMETIC), .second = below(2)};
    uint32_t kind = below(3), pad = random_pad(o.dtype);
    o.e = random_extent(o.dtype);
    for (uint32_t i = 0; i < 3; i++) {
        make_source(i, o.dtype, o.e, 0);
    }
    if (kind != 0) {
        make_mask(2, &m->core.tiles[0]);
    }
    m->core.gprs[0][2] = check_random(&rng);
    o.second = kind == 1;
    o.scalar = cut(m->core.gprs[0][2] & ~UINT64_C(0x1fff), tly_pto_dtype_bits(o.dtype));
    m->core.gprs[0][2] &= ~UINT64_C(0x1fff);
    if (tly_pto_tile_elements(&m->core.tiles[0]) > 4096) {
        return; /* more predicates than the mask tile holds */
    }
    start(kind == 0 ? "TFMA" : kind == 1 ? "TSEL" : "TSELS", o.dtype);
    datr(pad, "FP64");
    dimensions(o.e);
    if (kind == 2) {
        insn("B.IOR [a0, zero, zero], ->zero");
        finish("t#3, t#1", o.e.bytes);
    } else {
        insn("B.IOT %s, mask=1000", kind == 0 ? "t#1, t#2" : "t#3, t#1");
        insn("B.IOT %s, mask=1000, last, ->m<%s>", kind == 0 ? "t#3" : "t#2",
             size_name(o.e.bytes, size));
        insn("C.BSTOP");
    }
    check_result(RESULT, o.dtype, o.e, pad, kind == 0 ? model_fma : model_select, &o);
}

/* ---- Comparison ---- */

static bool compares(uint32_t code, uint32_t dtype, uint64_t left, uint64_t right) {
    static const tly_pto_comparison floats[] = {TLY_PTO_COMPARE_EQ, TLY_PTO_COMPARE_NE,
                                                TLY_PTO_COMPARE_LT, TLY_PTO_COMPARE_GT,
                                                TLY_PTO_COMPARE_LE, TLY_PTO_COMPARE_GE};
    uint8_t flags = 0;
    if (!tly_pto_dtype_is_integer(dtype)) {
        return tly_pto_element_compare(m->profile, floats[code], dtype, left, right, &flags);
    }
    wide a = value_of(left, dtype), b = value_of(right, dtype);
    const bool answers[] = {a == b, a != b, a<b, a> b, a <= b, a >= b};
    return answers[code];
}

static void try_compare(void) {
    bool scalar = below(2) != 0;
    uint32_t dtype = random_type(TLY_PTO_TYPES_ARITHMETIC), pad = below(5), code = 0;
    extent e = random_extent(dtype);
    static const char *const pads[] = {"Zero", "Max", "Min", "Null"};
    make_source(0, dtype, e, 0);
    make_source(1, dtype, e, 0);
    const tly_pto_tile *source = &m->core.tiles[0];
    if (tly_pto_tile_elements(source) > 4096) {
        return;
    }
    m->core.gprs[0][2] = random_word(dtype, true) & ~UINT64_C(0x1fff);
    start(scalar ? "TCMPS" : "TCMP", dtype);
    if (pad != PAD_NONE) {
        code = below(6);
        insn("B.DATR NORM, FP64, %s, cmode%u", pads[pad], code);
    }
    dimensions(e);
    if (scalar) {
        insn("B.IOR [a0, zero, zero], ->zero");
    }
    finish(scalar ? "t#1" : "t#1, t#2", 4096);
    const tly_pto_tile *t = &m->core.tiles[RESULT];
    assert_int_equal(t->storage_kind, TLY_PTO_PREDICATE);
    assert_true(t->rows == source->rows && t->columns == source->columns && t->contents_defined &&
                t->valid_rows == e.valid_rows && t->valid_columns == e.valid_columns);
    for (uint32_t row = 0; row < t->rows; row++) {
        for (uint32_t column = 0; column < t->columns; column++) {
            uint32_t i = row * t->columns + column;
            bool valid = row < e.valid_rows && column < e.valid_columns;
            uint64_t right = scalar ? cut(m->core.gprs[0][2], tly_pto_dtype_bits(dtype)) : 0;
            bool wanted = valid ? compares(code, dtype, at(0, row, column),
                                           scalar ? right : at(1, row, column))
                                : pad == TLY_PTO_PAD_MAX;
            if (tly_pto_predicate_read(&m->tiles->local[RESULT], i) != wanted) {
                fail_msg("%s (comparison %u): predicate %u, %u must be %d", what, code, row, column,
                         wanted);
            }
            assert_int_equal(tly_pto_element_is_defined(&m->tiles->local[RESULT], t, i),
                             valid || pad < TLY_PTO_PAD_NULL);
        }
    }
    tly_pto_release_tile(m, RESULT);
}

/* ---- Reduction and expansion ---- */

static uint64_t model_reduction(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    const tly_pto_tile *t = &m->core.tiles[0];
    uint32_t count = o->flag ? t->valid_rows : t->valid_columns, best = 0;
    uint64_t sum = o->op == TLY_PTO_REDUCE_PRODUCT ? tly_pto_one(o->dtype) : 0;
    static const tly_pto_tile_binary steps[] = {TLY_PTO_TILE_ADD, TLY_PTO_TILE_MUL,
                                                TLY_PTO_TILE_MIN, TLY_PTO_TILE_MAX,
                                                TLY_PTO_TILE_MIN, TLY_PTO_TILE_MAX};
    for (uint32_t i = 0; i < count; i++) {
        uint64_t word = o->flag ? at(0, i, column) : at(0, row, i);
        if (i == 0 && o->op >= TLY_PTO_REDUCE_MIN) {
            sum = word;
            continue;
        }
        uint64_t next = combine(steps[o->op], o->dtype, sum, word);
        best = next == word && next != sum ? i : best;
        sum = next;
    }
    return o->op >= TLY_PTO_REDUCE_ARGMIN ? best : sum;
}

static void try_reduction(uint32_t op, bool columns) {
    static const char *const names[] = {"SUM", "PROD", "MIN", "MAX", "ARGMIN", "ARGMAX"};
    bool index = op >= TLY_PTO_REDUCE_ARGMIN;
    operation o = {.op = op,
                   .dtype = random_type(index ? TLY_PTO_TYPES_NARROW : TLY_PTO_TYPES_ARITHMETIC),
                   .flag = columns};
    char name[32];
    uint32_t to = index ? TLY_PTO_U32 : o.dtype;
    o.e = random_extent(o.dtype);
    make_source(0, o.dtype, o.e, 0);
    extent r = {8192, columns ? o.e.columns : 1, columns ? 1 : o.e.valid_rows,
                columns ? o.e.valid_columns : 1};
    snprintf(name, sizeof name, "T%s%s", columns ? "COL" : "ROW", names[op]);
    start(name, o.dtype);
    dimensions(o.e);
    finish("t#1", r.bytes);
    check_result(RESULT, to, r, PAD_NONE, model_reduction, &o);
}

static uint64_t model_expand(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    uint8_t flags = 0;
    uint64_t other = at(o->second, o->flag ? 0 : row, o->flag ? column : 0);
    static const tly_pto_tile_binary ops[] = {0,
                                              TLY_PTO_TILE_ADD,
                                              TLY_PTO_TILE_SUB,
                                              TLY_PTO_TILE_MUL,
                                              TLY_PTO_TILE_DIV,
                                              TLY_PTO_TILE_MAX,
                                              TLY_PTO_TILE_MIN};
    switch (o->op) {
    case TLY_PTO_EXPAND_COPY:
        return other;
    case TLY_PTO_EXPAND_EXPDIF:
        return tly_pto_element_expand(m->profile, TLY_PTO_EXPAND_EXPDIF, o->dtype, o->to,
                                      at(0, row, column), other, &flags);
    default:
        return combine(ops[o->op], o->dtype, at(0, row, column), other);
    }
}

static void try_expansion(uint32_t op, bool columns) {
    static const char *const names[] = {"", "ADD", "SUB", "MUL", "DIV", "MAX", "MIN", "EXPDIF"};
    bool copy = op == TLY_PTO_EXPAND_COPY, expdif = op == TLY_PTO_EXPAND_EXPDIF;
    uint32_t types = expdif ? TLY_PTO_TYPE(TLY_PTO_FP32) | TLY_PTO_TYPE(TLY_PTO_FP16) |
                                  TLY_PTO_TYPE(TLY_PTO_BF16)
                            : TLY_PTO_TYPES_ARITHMETIC;
    operation o = {.op = op, .dtype = random_type(types), .flag = columns, .second = copy ? 0 : 1};
    uint32_t pad = expdif ? PAD_NONE : random_pad(o.dtype);
    char name[32];
    o.to = expdif && below(2) ? TLY_PTO_FP32 : o.dtype;
    o.e = random_extent(o.dtype);
    extent b = {4096, columns ? o.e.columns : 1, columns ? 1 : o.e.valid_rows,
                columns ? o.e.valid_columns : 1};
    if (tly_pto_derived_rows(b.bytes, b.columns, o.dtype) < b.valid_rows) {
        return;
    }
    make_source(0, o.dtype, o.e, 0);
    make_source(o.second, o.dtype, b, 0);
    if (op == TLY_PTO_EXPAND_DIV) {
        no_zeros(1);
    }
    extent r = o.e;
    r.bytes = o.e.bytes * tly_pto_dtype_bits(o.to) / tly_pto_dtype_bits(o.dtype);
    snprintf(name, sizeof name, "T%sEXPAND%s", columns ? "COL" : "ROW", names[op]);
    start(name, o.dtype);
    datr(pad, "FP64");
    if (expdif && o.to != o.dtype) {
        pad = TLY_PTO_PAD_NULL;
        datr(pad, type_name(o.to));
    }
    dimensions(o.e);
    finish(copy ? "t#1" : "t#1, t#2", r.bytes);
    check_result(RESULT, o.to, r, pad == TLY_PTO_PAD_NULL ? PAD_NONE : pad, model_expand, &o);
}

/* ---- Conversion ---- */

static uint64_t model_convert(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    uint8_t flags = 0;
    const tly_pto_numeric_control control = {.rounding = tly_pto_dtype_is_floating(o->dtype) &&
                                                                 !tly_pto_dtype_is_floating(o->to)
                                                             ? TLY_PTO_ROUND_ZERO
                                                             : TLY_PTO_ROUND_NEAREST_EVEN,
                                             .saturating = o->flag};
    return tly_pto_element_convert(m->profile, o->dtype, o->to, &control, at(0, row, column),
                                   &flags);
}

static void try_convert(void) {
    static const char *const pads[] = {"Zero", "Max", "Min", "Null"};
    operation o = {.dtype = random_type(TLY_PTO_TYPES_ARITHMETIC),
                   .to = random_type(TLY_PTO_TYPES_ARITHMETIC),
                   .flag = below(2) != 0};
    uint32_t pad = below(4);
    o.e = random_extent(o.dtype);
    extent r = o.e;
    r.bytes = o.e.bytes * tly_pto_dtype_bits(o.to) / tly_pto_dtype_bits(o.dtype);
    if (r.bytes < 128) {
        return;
    }
    uint32_t code = random_layout(o.to, r);
    make_source(0, o.dtype, o.e, 0);
    start("TCVT", o.dtype);
    insn("B.DATR %s, %s, %s%s", layout_codes[code], type_name(o.to), pads[pad],
         o.flag ? ", sat" : "");
    dimensions(o.e);
    finish("t#1", r.bytes);
    assert_int_equal(m->core.tiles[RESULT].layout, layout_results[code]);
    check_result(RESULT, o.to, r, pad == TLY_PTO_PAD_NULL ? PAD_NONE : pad, model_convert, &o);
}

/* ---- Parts, sequences, triangles, histograms, order ---- */

static uint64_t model_partial(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    const tly_pto_tile *a = &m->core.tiles[0], *b = &m->core.tiles[1];
    bool in_a = row < a->valid_rows && column < a->valid_columns;
    bool in_b = row < b->valid_rows && column < b->valid_columns;
    return in_a && in_b ? combine((tly_pto_tile_binary)o->op, o->dtype, at(0, row, column),
                                  at(1, row, column))
           : in_a       ? at(0, row, column)
                        : at(1, row, column);
}

static void try_partial(void) {
    static const char *const names[] = {"TPARTADD", "TPARTMUL", "TPARTMAX", "TPARTMIN"};
    static const tly_pto_tile_binary ops[] = {TLY_PTO_TILE_ADD, TLY_PTO_TILE_MUL, TLY_PTO_TILE_MAX,
                                              TLY_PTO_TILE_MIN};
    uint32_t which = below(4), whole = below(2);
    operation o = {.op = ops[which], .dtype = random_type(TLY_PTO_TYPES_NARROW)};
    o.e = random_extent(o.dtype);
    extent part = random_extent(o.dtype);
    part.valid_rows = part.valid_rows < o.e.valid_rows ? part.valid_rows : o.e.valid_rows;
    part.valid_columns =
        part.valid_columns < o.e.valid_columns ? part.valid_columns : o.e.valid_columns;
    make_source(whole, o.dtype, o.e, 0);
    make_source(1 - whole, o.dtype, part, 0);
    start(names[which], o.dtype);
    dimensions(o.e);
    finish("t#1, t#2", o.e.bytes);
    check_result(RESULT, o.dtype, o.e, PAD_NONE, model_partial, &o);
}

static uint64_t model_made(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    wide boundary = (wide)row + o->diagonal;
    if (o->op == TLY_PTO_OP_TCI) {
        return cut(o->flag ? o->scalar - column : o->scalar + column, tly_pto_dtype_bits(o->dtype));
    }
    if (o->op == TLY_PTO_OP_TEXPANDS) {
        return o->scalar;
    }
    bool one = o->flag ? column >= boundary : column <= boundary;
    uint64_t value = o->dtype == TLY_PTO_FP32 ? 0x3f800000 : o->dtype == TLY_PTO_FP16 ? 0x3c00 : 1;
    return one ? value : 0;
}

static void try_made(void) {
    static const char *const names[] = {"TCI", "TTRI", "TEXPANDS"};
    static const uint8_t ops[] = {TLY_PTO_OP_TCI, TLY_PTO_OP_TTRI, TLY_PTO_OP_TEXPANDS};
    uint32_t which = below(3);
    uint32_t integers = TLY_PTO_TYPE(TLY_PTO_S32) | TLY_PTO_TYPE(TLY_PTO_S16) |
                        TLY_PTO_TYPE(TLY_PTO_U32) | TLY_PTO_TYPE(TLY_PTO_U16);
    uint32_t types = which == 2 ? TLY_PTO_TYPES_ARITHMETIC
                     : which == 1
                         ? integers | TLY_PTO_TYPE(TLY_PTO_FP32) | TLY_PTO_TYPE(TLY_PTO_FP16)
                         : integers;
    operation o = {.op = ops[which], .dtype = random_type(types), .flag = below(2) != 0};
    uint32_t pad = which == 2 ? random_pad(o.dtype) : PAD_NONE;
    o.e = random_extent(o.dtype);
    o.diagonal = (int32_t)below(60) - 30;
    if (which == 0) {
        o.e.valid_rows = 1;
    }
    o.scalar = check_random(&rng);
    m->core.gprs[0][2] = which == 1 ? (uint64_t)(int64_t)o.diagonal : o.scalar;
    m->core.gprs[0][3] = o.flag;
    o.scalar = cut(o.scalar, tly_pto_dtype_bits(o.dtype));
    start(names[which], o.dtype);
    datr(pad, "FP64");
    dimensions(o.e);
    insn("B.IOR [a0, %s, zero], ->zero", which == 2 ? "zero" : "a1");
    finish("", o.e.bytes);
    check_result(RESULT, o.dtype, o.e, pad, model_made, &o);
}

static uint64_t model_quantized(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    uint8_t flags = 0;
    const tly_pto_numeric_control control = {.rounding = TLY_PTO_ROUND_NEAREST_EVEN,
                                             .saturating = o->flag};
    uint64_t word = at(0, row, column);
    return o->op == TLY_PTO_OP_TQUANT ? m->profile->quantize(o->dtype, o->to, &control, 0x3f000000,
                                                             o->scalar, word, &flags)
                                      : m->profile->dequantize(o->dtype, o->to, &control,
                                                               0x3f000000, o->scalar, word, &flags);
}

static void try_quantized(bool back) {
    uint32_t byte = below(2) ? TLY_PTO_S8 : TLY_PTO_U8;
    operation o = {.op = back ? TLY_PTO_OP_TDEQUANT : TLY_PTO_OP_TQUANT,
                   .dtype = back ? byte : TLY_PTO_FP32,
                   .to = back ? TLY_PTO_FP32 : byte,
                   .flag = !back && below(2) != 0,
                   .scalar = below(100)};
    o.e = random_extent(o.dtype);
    extent r = o.e;
    r.bytes = back ? o.e.bytes * 4 : 4096;
    if (!tly_pto_shape_legal(r.bytes, r.columns, r.valid_rows, r.valid_columns, o.to)) {
        return;
    }
    make_source(0, o.dtype, o.e, 0);
    m->core.gprs[0][2] = 0x3f000000;
    m->core.gprs[0][3] = o.scalar;
    start(back ? "TDEQUANT" : "TQUANT", o.dtype);
    insn("B.DATR NORM, %s, Zero%s", type_name(o.to), o.flag ? ", sat" : "");
    dimensions(o.e);
    insn("B.IOR [a0, a1, zero], ->zero");
    finish("t#1", r.bytes);
    check_result(RESULT, o.to, r, PAD_NONE, model_quantized, &o);
}

/* More elements than the reference keeps words for: only their bits are kept. */
static void try_wide(void) {
    static const uint8_t types[] = {TLY_PTO_S8, TLY_PTO_U8, TLY_PTO_E4M3};
    operation o = {.op = below(10), .dtype = types[below(3)], .second = 1};
    if (!tly_pto_dtype_is_integer(o.dtype)) {
        o.op %= TLY_PTO_TILE_AND;
    }
    o.e = (extent){65536, 512, 100 + below(29), 400 + below(113)};
    make_source(0, o.dtype, o.e, 0);
    make_source(1, o.dtype, o.e, 0);
    assert_true(tly_pto_tile_is_packed(&m->core.tiles[0]));
    start(binary_names[o.op], o.dtype);
    dimensions(o.e);
    finish("t#1, t#2", o.e.bytes);
    check_result(RESULT, o.dtype, o.e, PAD_NONE, model_binary, &o);
}

/* ---- Tests ---- */

static void elementwise_operations_give_what_each_element_says(void **state) {
    (void)state;
    rng.state = check_seed(31);
    for (uint64_t round = 0; round < check_rounds(12); round++) {
        for (uint32_t op = 0; op <= TLY_PTO_TILE_REM; op++) {
            try_binary(op);
            try_scalar(op);
        }
        for (uint32_t op = 0; op <= TLY_PTO_TILE_RSQRT; op++) {
            try_unary(op);
        }
        for (uint32_t i = 0; i < 6; i++) {
            try_three_operands();
            try_compare();
            try_convert();
            try_partial();
            try_made();
            try_quantized(false);
            try_quantized(true);
        }
    }
}

static void reductions_and_expansions_go_along_their_axis(void **state) {
    (void)state;
    rng.state = check_seed(32);
    for (uint64_t round = 0; round < check_rounds(15); round++) {
        for (uint32_t op = 0; op <= TLY_PTO_EXPAND_EXPDIF; op++) {
            try_expansion(op, false);
            try_expansion(op, true);
            if (op <= TLY_PTO_REDUCE_ARGMAX) {
                try_reduction(op, false);
                try_reduction(op, true);
            }
        }
    }
}

static void wide_tiles_keep_bits(void **state) {
    (void)state;
    rng.state = check_seed(34);
    tly_pto_reset(m); /* the largest tiles fill the core */
    for (uint64_t round = 0; round < check_rounds(6); round++) {
        try_wide();
    }
    tly_pto_reset(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise_operations_give_what_each_element_says),
        cmocka_unit_test(wide_tiles_keep_bits),
        cmocka_unit_test(reductions_and_expansions_go_along_their_axis),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
