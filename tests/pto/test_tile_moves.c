/* SPDX-License-Identifier: Apache-2.0 */
/* Movements, histograms and orders against the model. */
#include "tile_model.h"

#include "pto/tile/handlers.h"
#include "pto/tile/plan.h"

/* ---- Movement ---- */

static uint64_t model_moved(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    const tly_pto_tile *t = &m->core.tiles[0];
    switch (o->op) {
    case TLY_PTO_OP_TEXTRACT:
        return at(0, row + o->row, column + o->column);
    case TLY_PTO_OP_TTRANS:
        return at(0, column, row);
    case TLY_PTO_OP_TCONCAT:
        return column < t->valid_columns ? at(0, row, column)
                                         : at(1, row, column - t->valid_columns);
    case TLY_PTO_OP_TGATHER:
        return at(0, (uint32_t)cut(at(1, row, column), 16), column);
    default: /* TCVT */
        return 0;
    }
}

static uint32_t random_moved_type(uint32_t types) {
    return random_type(types & ~TLY_PTO_TYPE(TLY_PTO_E3M2) & ~TLY_PTO_TYPE(TLY_PTO_E2M3));
}

/* B.DATR makes the result FP64, so other layouts come with that type. */
static uint32_t choose_layout(uint32_t dtype, extent e) {
    if (dtype != TLY_PTO_FP64) {
        return PAD_NONE;
    }
    uint32_t code = random_layout(dtype, e);
    insn("B.DATR %s, FP64, Zero", layout_codes[code]);
    return code;
}

static void check_moved(uint32_t dtype, extent e, uint32_t code, uint32_t pad, operation *o) {
    uint32_t layout = code == PAD_NONE ? TLY_PTO_LAYOUT_ROW_MAJOR : layout_results[code];
    assert_int_equal(m->core.tiles[RESULT].layout, layout);
    check_result(RESULT, dtype, e, pad, model_moved, o);
}

static void try_extract(void) {
    operation o = {.op = TLY_PTO_OP_TEXTRACT, .dtype = random_moved_type(TLY_PTO_TYPES_MOVED)};
    o.e = random_extent(o.dtype);
    /* the offsets are the result's extent too (LB0, LB1) */
    o.row = 1 + below(o.e.valid_columns);
    o.column = 1 + below(o.e.valid_rows);
    extent r = {o.e.bytes, o.e.columns, o.column, o.row};
    if (o.row + r.valid_rows > o.e.valid_rows || o.column + r.valid_columns > o.e.valid_columns) {
        return;
    }
    make_source(0, o.dtype, o.e, layout_results[random_layout(o.dtype, o.e)]);
    start("TEXTRACT", o.dtype);
    uint32_t code = choose_layout(o.dtype, r);
    insn("B.DIM zero, %u, ->lb0", o.row);
    insn("B.DIM zero, %u, ->lb1", o.column);
    finish("t#1", r.bytes);
    check_moved(o.dtype, r, code, code == PAD_NONE ? PAD_NONE : TLY_PTO_PAD_ZERO, &o);
}

static void try_transpose(void) {
    operation o = {.op = TLY_PTO_OP_TTRANS, .dtype = random_moved_type(TLY_PTO_TYPES_MOVED)};
    o.e = random_extent(o.dtype);
    extent r = {o.e.bytes, 1, o.e.valid_columns, o.e.valid_rows};
    while (r.columns < r.valid_columns) {
        r.columns *= 2;
    }
    if (!tly_pto_shape_legal(r.bytes, r.columns, r.valid_rows, r.valid_columns, o.dtype)) {
        return;
    }
    make_source(0, o.dtype, o.e, layout_results[random_layout(o.dtype, o.e)]);
    start("TTRANS", o.dtype);
    uint32_t code = choose_layout(o.dtype, r);
    dimensions(r);
    finish("t#1", r.bytes);
    check_moved(o.dtype, r, code, PAD_NONE, &o);
}

static void try_concat(void) {
    operation o = {.op = TLY_PTO_OP_TCONCAT, .dtype = random_moved_type(TLY_PTO_TYPES_MOVED)};
    extent a = random_extent(o.dtype), b = random_extent(o.dtype);
    b.valid_rows = a.valid_rows;
    extent r = {16384, 1, a.valid_rows, a.valid_columns + b.valid_columns};
    while (r.columns < r.valid_columns) {
        r.columns *= 2;
    }
    if (!tly_pto_shape_legal(b.bytes, b.columns, b.valid_rows, b.valid_columns, o.dtype) ||
        !tly_pto_shape_legal(r.bytes, r.columns, r.valid_rows, r.valid_columns, o.dtype)) {
        return;
    }
    make_source(0, o.dtype, a, layout_results[random_layout(o.dtype, a)]);
    make_source(1, o.dtype, b, layout_results[random_layout(o.dtype, b)]);
    start("TCONCAT", o.dtype);
    uint32_t code = choose_layout(o.dtype, r);
    dimensions(r);
    finish("t#1, t#2", r.bytes);
    check_moved(o.dtype, r, code, PAD_NONE, &o);
}

static uint64_t model_insert(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    const tly_pto_tile *patch = &m->core.tiles[1];
    bool inside = row >= o->row && column >= o->column && row - o->row < patch->valid_rows &&
                  column - o->column < patch->valid_columns;
    return inside ? at(1, row - o->row, column - o->column) : at(0, row, column);
}

/* The old tile's padding, and what is defined of it, come along. */
static void try_insert(void) {
    operation o = {.dtype = random_moved_type(TLY_PTO_TYPES_MOVED)};
    o.e = random_extent(o.dtype);
    extent patch = random_extent(o.dtype);
    /* the offsets are the result's extent too */
    o.row = o.e.valid_columns;
    o.column = o.e.valid_rows;
    patch.valid_rows = 1;
    patch.valid_columns = 1;
    if (o.row >= o.e.valid_rows || o.column >= o.e.valid_columns) {
        return;
    }
    make_source(0, o.dtype, o.e, 0);
    make_source(1, o.dtype, patch, 0);
    start("TINSERT", o.dtype);
    dimensions(o.e);
    finish("t#1, t#2", o.e.bytes);
    const tly_pto_tile *t = &m->core.tiles[RESULT];
    for (uint32_t row = 0; row < t->rows; row++) {
        for (uint32_t column = 0; column < t->columns; column++) {
            bool was = tly_pto_element_is_defined(&m->tiles->local[0], &m->core.tiles[0],
                                                  tly_pto_tile_index(t, row, column));
            assert_true(at(RESULT, row, column) == model_insert(row, column, &o));
            assert_int_equal(tly_pto_element_is_defined(&m->tiles->local[RESULT], t,
                                                        tly_pto_tile_index(t, row, column)),
                             was);
        }
    }
    tly_pto_release_tile(m, RESULT);
}

static uint64_t model_fill_pad(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    const tly_pto_tile *t = &m->core.tiles[0];
    return row < t->valid_rows && column < t->valid_columns ? at(0, row, column) : o->scalar;
}

static void try_fill_pad(void) {
    operation o = {.dtype = random_moved_type(TLY_PTO_TYPES_CARRIED)};
    o.e = random_extent(o.dtype);
    extent r = o.e;
    r.valid_rows = o.e.valid_rows + below(2);
    r.valid_columns = o.e.valid_columns + below(o.e.columns - o.e.valid_columns + 1);
    r.bytes *= 2;
    m->core.gprs[0][2] = check_random(&rng);
    o.scalar = cut(m->core.gprs[0][2], tly_pto_dtype_bits(o.dtype));
    if (!tly_pto_shape_legal(r.bytes, r.columns, r.valid_rows, r.valid_columns, o.dtype)) {
        return;
    }
    make_source(0, o.dtype, o.e, layout_results[random_layout(o.dtype, o.e)]);
    start("TFILLPAD", o.dtype);
    dimensions(r);
    insn("B.IOR [a0, zero, zero], ->zero");
    finish("t#1", r.bytes);
    /* all of it is defined, as if everything were valid */
    tly_pto_tile *t = &m->core.tiles[RESULT];
    assert_int_equal(t->defined_valid_elements, r.valid_rows * r.valid_columns);
    r.valid_rows = t->rows;
    r.valid_columns = t->columns;
    t->valid_rows = t->rows;
    t->valid_columns = t->columns;
    t->defined_valid_elements = r.valid_rows * r.valid_columns;
    check_result(RESULT, o.dtype, r, PAD_NONE, model_fill_pad, &o);
}

static void try_gather(void) {
    operation o = {.op = TLY_PTO_OP_TGATHER,
                   .dtype = random_moved_type(TLY_PTO_TYPES_ALL & ~TLY_PTO_TYPES_FOUR_BIT)};
    uint32_t index_type = below(2) ? TLY_PTO_U16 : TLY_PTO_S16;
    o.e = random_extent(o.dtype);
    extent i = random_extent(index_type);
    if (i.valid_columns > o.e.valid_columns ||
        !tly_pto_shape_legal(4096, i.columns, i.valid_rows, i.valid_columns, o.dtype)) {
        return;
    }
    make_source(0, o.dtype, o.e, layout_results[random_layout(o.dtype, o.e)]);
    make_source(1, index_type, i, layout_results[random_layout(index_type, i)]);
    for (uint32_t row = 0; row < i.valid_rows; row++) {
        for (uint32_t column = 0; column < i.valid_columns; column++) {
            tly_pto_element_write(&m->tiles->local[1], &m->core.tiles[1],
                                  tly_pto_tile_index(&m->core.tiles[1], row, column),
                                  below(o.e.valid_rows));
        }
    }
    extent r = {4096, i.columns, i.valid_rows, i.valid_columns};
    start("TGATHER", o.dtype);
    uint32_t code = choose_layout(o.dtype, r);
    dimensions(r);
    finish("t#1, t#2", r.bytes);
    check_moved(o.dtype, r, code, PAD_NONE, &o);
}

static uint64_t model_scatter(uint32_t row, uint32_t column, void *user) {
    const tly_pto_tile *t = &m->core.tiles[0];
    (void)user;
    for (uint32_t from = 0; column < t->valid_columns && from < t->valid_rows; from++) {
        if (at(1, from, column) == row) {
            return at(0, from, column);
        }
    }
    return 0;
}

/* Each column's indices are a permutation of as many rows. */
static void try_scatter(void) {
    operation o = {.dtype = random_moved_type(TLY_PTO_TYPES_ALL & ~TLY_PTO_TYPES_FOUR_BIT)};
    o.e = random_extent(o.dtype);
    extent i = o.e, r = {8192, o.e.columns, o.e.valid_rows + below(3), o.e.valid_columns};
    i.bytes = 8192;
    if (!tly_pto_shape_legal(i.bytes, i.columns, i.valid_rows, i.valid_columns, TLY_PTO_U32) ||
        !tly_pto_shape_legal(r.bytes, r.columns, r.valid_rows, r.valid_columns, o.dtype)) {
        return;
    }
    make_source(0, o.dtype, o.e, layout_results[random_layout(o.dtype, o.e)]);
    make_source(1, TLY_PTO_U32, i, 0);
    for (uint32_t column = 0; column < i.valid_columns; column++) {
        uint32_t turn = below(r.valid_rows);
        for (uint32_t row = 0; row < i.valid_rows; row++) {
            tly_pto_element_write(&m->tiles->local[1], &m->core.tiles[1], row * i.columns + column,
                                  (row * (r.valid_rows - 1) + turn) % r.valid_rows);
        }
    }
    start("TSCATTER", o.dtype);
    dimensions(r);
    finish("t#1, t#2", r.bytes);
    tly_pto_tile *t = &m->core.tiles[RESULT];
    r.valid_rows = t->valid_rows = t->rows;
    r.valid_columns = t->valid_columns = t->columns;
    t->defined_valid_elements = r.valid_rows * r.valid_columns;
    check_result(RESULT, o.dtype, r, PAD_NONE, model_scatter, &o);
}

/* ---- Histograms, order ---- */

static uint64_t model_histogram(uint32_t row, uint32_t column, void *user) {
    const operation *o = user;
    const tly_pto_tile *t = &m->core.tiles[0];
    uint64_t count = 0;
    uint32_t num_bytes = tly_pto_dtype_bits(o->dtype) / 8;
    for (uint32_t i = 0; i < t->valid_columns; i++) {
        uint64_t word = at(0, row, i);
        bool counts = true;
        for (uint32_t byte = num_bytes - 1; byte > o->op; byte--) {
            uint32_t filter_row = o->dtype == TLY_PTO_U32 ? num_bytes - 1 - byte : row;
            counts &= (word >> byte * 8 & 255) == (at(1, filter_row, 0) & 255);
        }
        count += counts && (word >> o->op * 8 & 255) <= column;
    }
    return count;
}

static void try_histogram(void) {
    static const char *const bytes[] = {"Zero", "Max", "Min", "Null"};
    operation o = {.dtype = below(2) ? TLY_PTO_U16 : TLY_PTO_U32};
    o.op = below(tly_pto_dtype_bits(o.dtype) / 8);
    o.e = random_extent(o.dtype);
    make_source(0, o.dtype, o.e, 0);
    make_source(1, TLY_PTO_U8, (extent){128, 1, o.dtype == TLY_PTO_U32 ? 3 : o.e.valid_rows, 1}, 0);
    for (uint32_t i = 0; i < tly_pto_tile_elements(&m->core.tiles[0]); i++) {
        if (below(2)) { /* most pass the filter */
            tly_pto_element_write(&m->tiles->local[0], &m->core.tiles[0], i, below(65536) & 0x0303);
        }
    }
    extent r = {65536, 256, o.e.valid_rows, 256};
    start("THISTOGRAM", o.dtype);
    insn("B.DATR NORM, U32, %s", bytes[o.op]);
    finish("t#1, t#2", r.bytes);
    check_result(RESULT, TLY_PTO_U32, r, PAD_NONE, model_histogram, &o);
}

/* Numbers in order: the value of the bits, NaNs behind all. */
static int rank(uint32_t dtype, uint64_t left, uint64_t right, bool descending) {
    uint32_t bits = tly_pto_dtype_bits(dtype);
    uint64_t infinity = dtype == TLY_PTO_FP32 ? 0x7f800000 : 0x7c00, sign = UINT64_C(1)
                                                                            << (bits - 1);
    bool left_nan = (left & ~sign) > infinity, right_nan = (right & ~sign) > infinity;
    int64_t a = (left & sign) != 0 ? -(int64_t)(left & ~sign) : (int64_t)left;
    int64_t b = (right & sign) != 0 ? -(int64_t)(right & ~sign) : (int64_t)right;
    if (left_nan || right_nan) {
        return left_nan - right_nan;
    }
    return descending ? (a < b) - (a > b) : (a > b) - (a < b);
}

static void try_sort(void) {
    char size[16];
    uint32_t dtype = below(2) ? TLY_PTO_FP32 : TLY_PTO_FP16, group = 1 + below(64);
    bool descending = below(2) != 0;
    extent e = random_extent(dtype);
    make_source(0, dtype, e, 0);
    const tly_pto_tile *t = &m->core.tiles[0];
    for (uint32_t i = 0; i < tly_pto_tile_elements(t); i++) {
        uint64_t word = tly_pto_element_read(&m->tiles->local[0], t, i);
        tly_pto_element_write(&m->tiles->local[0], t, i, cut(word, tly_pto_dtype_bits(dtype)));
    }
    m->core.gprs[0][2] = descending;
    start("TSORT", dtype);
    insn("B.DIM zero, %u, ->lb0", group);
    insn("B.IOR [a0, zero, zero], ->zero");
    insn("B.IOT t#1, mask=1000, ->m<%s>", size_name(e.bytes, size));
    insn("B.IOT mask=1000, last, ->n<%s>",
         size_name(e.bytes * 32 / tly_pto_dtype_bits(dtype), size));
    insn("C.BSTOP");
    for (uint32_t row = 0; row < e.valid_rows; row++) {
        for (uint32_t column = 0; column < e.valid_columns; column++) {
            uint32_t begin = column / group * group, end = begin + group;
            uint64_t index = at(SECOND, row, column);
            end = end < e.valid_columns ? end : e.valid_columns;
            assert_true(index < end - begin);
            assert_true(at(RESULT, row, column) == at(0, row, begin + (uint32_t)index));
            if (column + 1 < end) {
                int order =
                    rank(dtype, at(RESULT, row, column), at(RESULT, row, column + 1), descending);
                /* equal ones keep their order */
                assert_true(order < 0 || (order == 0 && index < at(SECOND, row, column + 1)));
            }
        }
    }
    assert_int_equal(m->core.tiles[SECOND].data_type, TLY_PTO_U32);
    tly_pto_release_tile(m, RESULT);
    tly_pto_release_tile(m, SECOND);
}

static int by_rank(const void *a, const void *b) {
    uint64_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return rank(TLY_PTO_FP32, left, right, false);
}

static void try_merge(void) {
    uint32_t counts[] = {1 + below(60), 1 + below(60)}, used[2] = {0, 0};
    for (uint32_t tile = 0; tile < 2; tile++) {
        uint32_t words[64];
        make_source(tile, TLY_PTO_FP32, (extent){256, 64, 1, counts[tile]}, 0);
        for (uint32_t i = 0; i < counts[tile]; i++) {
            words[i] = (uint32_t)random_word(TLY_PTO_FP32, true);
        }
        qsort(words, counts[tile], sizeof *words, by_rank);
        for (uint32_t i = 0; i < counts[tile]; i++) {
            tly_pto_element_write(&m->tiles->local[tile], &m->core.tiles[tile], i, words[i]);
        }
    }
    start("TMRGSORT", TLY_PTO_FP32);
    finish("t#1, t#2", 1024);
    assert_int_equal(m->core.tiles[RESULT].valid_columns, counts[0] + counts[1]);
    for (uint32_t i = 0; i < counts[0] + counts[1]; i++) {
        bool left = used[1] == counts[1] ||
                    (used[0] < counts[0] &&
                     rank(TLY_PTO_FP32, at(0, 0, used[0]), at(1, 0, used[1]), false) <= 0);
        assert_true(at(RESULT, 0, i) == at(left ? 0 : 1, 0, used[left ? 0 : 1]));
        used[left ? 0 : 1]++;
    }
    tly_pto_release_tile(m, RESULT);
}

/* ---- Tests ---- */

static void movements_bring_each_element_to_its_place(void **state) {
    (void)state;
    rng.state = check_seed(33);
    for (uint64_t round = 0; round < check_rounds(60); round++) {
        try_extract();
        try_insert();
        try_transpose();
        try_concat();
        try_fill_pad();
        try_gather();
        try_scatter();
        try_histogram();
        try_sort();
        try_merge();
    }
}

/* Pixels of a padded image under a filter; y and x may lie outside. */
static uint64_t pixel(const tly_pto_feature_map *map, int64_t y, int64_t x, uint32_t channel,
                      uint64_t padding) {
    if (y < 0 || x < 0 || y >= map->height || x >= map->width || channel >= map->logical_channels) {
        return padding;
    }
    uint32_t group = channel / map->channels_per_group, inner = channel % map->channels_per_group;
    uint32_t index =
        (uint32_t)((group * map->height + y) * map->width + x) * map->channels_per_group + inner;
    return tly_pto_element_read(&m->tiles->local[0], &m->core.tiles[0], index);
}

/* No bundle makes tiles of the matrix unit that this operation takes, so the handlers are called
 * with a plan of our own. */
static void windows_of_an_image_become_rows(void **state) {
    (void)state;
    rng.state = check_seed(35);
    const tly_pto_feature_map map = {.valid = true,
                                     .batches = 1,
                                     .depth = 1,
                                     .channel_groups = 2,
                                     .height = 5,
                                     .width = 6,
                                     .channels_per_group = 4,
                                     .filter_height = 3,
                                     .filter_width = 2,
                                     .stride_height = 2,
                                     .stride_width = 1,
                                     .dilation_height = 1,
                                     .dilation_width = 2,
                                     .pad_left = 1,
                                     .pad_right = 1,
                                     .pad_top = 1,
                                     .pad_bottom = 1,
                                     .logical_channels = 7,
                                     .padding = 0x1ab};
    const uint32_t width = (6 + 2 - 3) / 1 + 1, height = (5 + 2 - 3) / 2 + 1,
                   columns = 2 * 3 * 2 * 4;
    make_source(0, TLY_PTO_U8, (extent){256, 16, 16, 16}, 0);
    m->core.tiles[0].location = TLY_PTO_LOCATION_MATRIX;
    m->core.feature_maps[0] = map;
    tly_pto_plan plan;
    tly_pto_plan_begin(m, TLY_PTO_OP_TIMG2COL, &plan);
    plan.num_sources = 1;
    plan.sources[0] = 0;
    plan.num_destinations = 1;
    plan.destinations[0] = RESULT;
    plan.results[0] = tly_pto_numeric_tile(2048, 64, height * width, columns, TLY_PTO_U8, 0);
    plan.results[0].location = TLY_PTO_LOCATION_MATRIX;
    assert_true(tly_pto_check_image(m, &plan));
    assert_true(tly_pto_run_image(m, &plan));
    m->core.tiles[RESULT] = plan.results[0];
    for (uint32_t row = 0; row < height * width; row++) {
        for (uint32_t column = 0; column < columns; column++) {
            uint32_t group = column / 24, fy = column % 24 / 8, fx = column % 8 / 4, c = column % 4;
            int64_t y = (int64_t)(row / width) * 2 + fy - 1;
            int64_t x = (int64_t)(row % width) + fx * 2 - 1;
            assert_true(at(RESULT, row, column) == pixel(&map, y, x, group * 4 + c, 0xab));
        }
    }
    tly_pto_reset(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_of_an_image_become_rows),
        cmocka_unit_test(movements_bring_each_element_to_its_place),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
