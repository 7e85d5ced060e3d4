/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on tiles in the profile `ieee`: with its row functions and without them, where each
 * element goes by itself, everything comes out alike: elements, definedness, flags. */
#include "tile_model.h"

enum { MOST = 8192 };

/* A result, and what the machine keeps of it. */
typedef struct outcome {
    tly_pto_tile tile;
    uint64_t words[MOST];
    bool defined[MOST];
    uint64_t core_state;
} outcome;

static tly_pto_profile by_element; /* `ieee` without rows */

static const char *pick(const char *const *names, uint32_t count) {
    return names[below(count)];
}

static uint32_t random_float(void) {
    static const uint8_t types[] = {TLY_PTO_FP32, TLY_PTO_FP32, TLY_PTO_FP32, TLY_PTO_FP64,
                                    TLY_PTO_FP16, TLY_PTO_BF16, TLY_PTO_E5M2};
    return types[below(sizeof types)];
}

/* Any type of arithmetic. */
static uint32_t any_type(void) {
    return below(3) == 0 ? random_type(TLY_PTO_TYPES_ARITHMETIC) : random_float();
}

/* Keeps words instead of bytes, so that no operation goes by rows. */
static void keep_words(uint32_t tile) {
    tly_pto_elements *e = &m->tiles->local[tile];
    const tly_pto_tile *t = &m->core.tiles[tile];
    if (m->profile == &by_element) {
        tly_pto_elements_read(e, t, 0, tly_pto_tile_elements(t), e->words);
        e->extensions = TLY_PTO_WORDS_KEPT;
    }
}

/* Anything at all, or numbers of which sums and products are often exact: quarters up to 64. */
static void source(uint32_t tile, uint32_t dtype, extent e) {
    static const tly_pto_numeric_control control = {TLY_PTO_ROUND_NEAREST_EVEN, false};
    bool tame = below(3) != 0, masked = below(3) == 0;
    make_source(tile, dtype, e, 0);
    const tly_pto_tile *t = &m->core.tiles[tile];
    tame &= tly_pto_dtype_is_floating(dtype);
    for (uint32_t i = 0; tame && i < tly_pto_tile_elements(t); i++) {
        uint8_t ignored = 0;
        float number = masked && below(3) != 0 ? -1e9f : (float)below(512) * 0.25f - 64;
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        uint64_t word = dtype == TLY_PTO_FP32
                            ? bits
                            : by_element.convert(TLY_PTO_FP32, dtype, &control, bits, &ignored);
        if (tly_pto_element_is_defined(&m->tiles->local[tile], t, i)) {
            tly_pto_element_write(&m->tiles->local[tile], t, i, word);
        }
    }
    keep_words(tile);
}

/* ---- Bundles: all of them leave their result in hand M ---- */

static void two_tiles(void) {
    static const char *const names[] = {"TADD", "TSUB", "TMUL", "TMAX", "TMIN", "TDIV", "TREM"};
    uint32_t dtype = any_type(), second = below(4) != 0;
    extent e = random_extent(dtype);
    source(0, dtype, e);
    source(1, dtype, e);
    start(pick(names, tly_pto_dtype_is_integer(dtype) ? 5 : 7), dtype);
    dimensions(e);
    finish(second != 0 ? "t#1, t#2" : "t#1, t#1", e.bytes);
}

static void three_tiles(void) {
    char size[16];
    uint32_t dtype = any_type();
    extent e = random_extent(dtype);
    for (uint32_t i = 0; i < 3; i++) {
        source(i, dtype, e);
    }
    start("TFMA", dtype);
    dimensions(e);
    insn("B.IOT t#1, t#2, mask=1000");
    insn("B.IOT t#%u, mask=1000, last, ->m<%s>", 1 + below(3), size_name(e.bytes, size));
    insn("C.BSTOP");
}

static void tile_and_scalar(void) {
    static const char *const names[] = {"TADDS", "TSUBS", "TMULS", "TMAXS", "TMINS", "TDIVS"};
    uint32_t dtype = any_type();
    extent e = random_extent(dtype);
    source(0, dtype, e);
    /* a float's upper bits are 2.5 in FP32, and what they are in the others */
    m->core.gprs[0][2] = below(2) != 0 && dtype != TLY_PTO_TF32 && dtype != TLY_PTO_HF32
                             ? UINT64_C(0x4020000040204100)
                             : random_word(dtype, true);
    start(pick(names, tly_pto_dtype_is_integer(dtype) ? 5 : 6), dtype);
    dimensions(e);
    insn("B.IOR [a0, zero, zero], ->zero");
    finish("t#1", e.bytes);
}

static void one_tile(void) {
    static const char *const names[] = {"TABS", "TNEG", "TRELU",  "TSQRT",
                                        "TLOG", "TEXP", "TRECIP", "TRSQRT"};
    uint32_t dtype = any_type();
    extent e = random_extent(dtype);
    source(0, dtype, e);
    start(pick(names, tly_pto_dtype_is_integer(dtype) ? 3 : 8), dtype);
    dimensions(e);
    finish("t#1", e.bytes);
}

static void comparison(void) {
    uint32_t dtype = any_type(), scalar = below(2);
    extent e = random_extent(dtype);
    source(0, dtype, e);
    source(1, dtype, e);
    m->core.gprs[0][2] = random_word(dtype, true);
    start(scalar ? "TCMPS" : "TCMP", dtype);
    insn("B.DATR NORM, FP64, Zero, cmode%u", below(6));
    dimensions(e);
    if (scalar) {
        insn("B.IOR [a0, zero, zero], ->zero");
    }
    finish(scalar ? "t#1" : "t#1, t#2", 4096);
}

static void reduction(void) {
    static const char *const names[] = {"SUM", "PROD", "MIN", "MAX", "ARGMAX", "ARGMIN"};
    bool columns = below(2) != 0;
    uint32_t dtype = any_type();
    char name[32];
    extent e = random_extent(dtype);
    source(0, dtype, e);
    snprintf(name, sizeof name, "T%s%s", columns ? "COL" : "ROW",
             pick(names, tly_pto_dtype_in(dtype, TLY_PTO_TYPES_NARROW) ? 6 : 4));
    start(name, dtype);
    dimensions(e);
    finish("t#1", 8192);
}

static void expansion(void) {
    static const char *const names[] = {"ADD", "SUB", "MUL", "MAX", "MIN", "DIV"};
    static const uint8_t exponentials[] = {TLY_PTO_FP32, TLY_PTO_FP16, TLY_PTO_BF16};
    bool columns = below(2) != 0, exponential = below(4) == 0;
    uint32_t dtype = exponential ? exponentials[below(3)] : any_type();
    bool mixed = exponential && dtype != TLY_PTO_FP32 && below(2) != 0;
    const char *step =
        exponential ? "EXPDIF" : pick(names, tly_pto_dtype_is_integer(dtype) ? 5 : 6);
    char name[32];
    extent e = random_extent(dtype);
    extent other = {4096, columns ? e.columns : 1, columns ? 1 : e.valid_rows,
                    columns ? e.valid_columns : 1};
    if (tly_pto_derived_rows(other.bytes, other.columns, dtype) < other.valid_rows) {
        other.bytes = 8192;
    }
    source(0, dtype, e);
    source(1, dtype, other);
    snprintf(name, sizeof name, "T%sEXPAND%s", columns ? "COL" : "ROW", step);
    start(name, dtype);
    if (mixed) {
        insn("B.DATR NORM, FP32, Null");
    }
    dimensions(e);
    finish("t#1, t#2", mixed ? 2 * e.bytes : e.bytes);
}

/* One of two that cover the result, the other may be smaller. */
static void parts(void) {
    static const char *const names[] = {"TPARTADD", "TPARTMUL", "TPARTMAX", "TPARTMIN"};
    uint32_t dtype = random_type(TLY_PTO_TYPES_NARROW), whole = below(2);
    extent e = random_extent(dtype), part = e;
    part.valid_rows = 1 + below(e.valid_rows);
    part.valid_columns = 1 + below(e.valid_columns);
    source(whole, dtype, e);
    source(1 - whole, dtype, part);
    start(pick(names, 4), dtype);
    dimensions(e);
    finish("t#1, t#2", e.bytes);
}

static void conversion(void) {
    uint32_t from = any_type(), to = any_type();
    extent e = {4096, 1u << below(7), 0, 0};
    uint32_t rows = tly_pto_derived_rows(e.bytes, e.columns, from);
    e.valid_rows = 1 + below(rows < 24 ? rows : 24);
    e.valid_columns = 1 + below(e.columns);
    source(0, from, e);
    start("TCVT", from);
    insn("B.DATR NORM, %s, Zero%s", type_name(to), below(4) == 0 ? ", sat" : "");
    dimensions(e);
    finish("t#1", e.bytes * tly_pto_dtype_bits(to) / tly_pto_dtype_bits(from));
}

/* ---- */

static void play(void (*bundle)(void), const tly_pto_profile *profile, outcome *out) {
    m->profile = profile;
    m->core.base.core_state = 0;
    bundle();
    out->core_state = m->core.base.core_state;
    out->tile = m->core.tiles[RESULT];
    assert_true(out->tile.allocated && tly_pto_tile_elements(&out->tile) <= MOST);
    for (uint32_t i = 0; i < tly_pto_tile_elements(&out->tile); i++) {
        out->defined[i] = tly_pto_element_is_defined(&m->tiles->local[RESULT], &out->tile, i);
        out->words[i] = tly_pto_element_read(&m->tiles->local[RESULT], &out->tile, i);
    }
    tly_pto_release_tile(m, RESULT);
}

static void both_ways(void (*bundle)(void)) {
    static outcome rows, elements;
    check_rng before = rng;
    play(bundle, &tly_pto_profile_ieee, &rows);
    rng = before;
    play(bundle, &by_element, &elements);
    for (uint32_t i = 0; i < tly_pto_tile_elements(&elements.tile); i++) {
        if (rows.words[i] != elements.words[i] || rows.defined[i] != elements.defined[i]) {
            fail_msg("%s: element %u is %llx (%d), by itself %llx (%d)", what, i,
                     (unsigned long long)rows.words[i], rows.defined[i],
                     (unsigned long long)elements.words[i], elements.defined[i]);
        }
    }
    if (rows.core_state != elements.core_state) {
        fail_msg("%s: flags %llx, of single elements %llx", what,
                 (unsigned long long)rows.core_state, (unsigned long long)elements.core_state);
    }
    assert_memory_equal(&rows.tile, &elements.tile, sizeof rows.tile);
}

static void rows_are_their_elements(void **state) {
    static void (*const bundles[])(void) = {two_tiles, three_tiles, tile_and_scalar,
                                            one_tile,  reduction,   comparison,
                                            expansion, parts,       conversion};
    (void)state;
    rng.state = check_seed(35);
    for (uint64_t round = 0; round < check_rounds(120); round++) {
        for (uint32_t i = 0; i < sizeof bundles / sizeof bundles[0]; i++) {
            both_ways(bundles[i]);
        }
    }
}

int main(void) {
    by_element = tly_pto_profile_ieee;
    by_element.binary_rows = NULL;
    by_element.fused_row = NULL;
    by_element.unary_row = NULL;
    by_element.convert_row = NULL;
    by_element.reduce_rows = NULL;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_their_elements),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
