/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include <tilery/tensor.h>

/* The example of the format's own text (metadata, Worked Example). */
static const uint8_t example[61] = {
    0x48, 0x52, 0x52, 0x59, 1, 0, 0x3D, 0, 0, 0, 0, 0,    0, 0, 3, 1, 2, 0, 0, 0, 3,
    0,    0,    0,    0,    0, 0, 0,    4, 0, 0, 0, 0,    0, 0, 0, 0, 0, 0, 0, 0, 0,
    0,    0,    1,    0xC0, 0, 0, 0,    0, 0, 0, 0, 0x40, 0, 0, 0, 0, 0, 0, 0};

static void the_worked_example_is_read_and_written(void **state) {
    uint8_t work[sizeof example + 32];
    uint8_t out[sizeof example];
    tly_descriptor d;
    tly_error error;
    uint32_t len;
    size_t out_len;
    (void)state;
    CHECK_OK(tly_descriptor_len(example, TLY_DESCRIPTOR_PREFIX_LEN, &len, &error), &error);
    assert_int_equal(len, sizeof example);
    CHECK_OK(tly_descriptor_decode(example, sizeof example, work, sizeof work, &d, &len, &error),
             &error);
    assert_int_equal(d.dtype, TLY_F32);
    assert_int_equal(d.rank, 2);
    assert_int_equal(d.shape[1], 4);
    assert_int_equal(d.buffers[0].byte_size, 192);
    CHECK_OK(tly_descriptor_encode(&d, NULL, 0, &out_len, &error), &error);
    assert_int_equal(out_len, sizeof example);
    CHECK_OK(tly_descriptor_encode(&d, out, sizeof out, &out_len, &error), &error);
    assert_memory_equal(out, example, sizeof example);
    assert_int_equal(tly_descriptor_encode(&d, out, sizeof out - 1, &out_len, &error), TLY_LIMIT);
}

static void work_memory_may_lie_anywhere_but_must_reach(void **state) {
    uint64_t memory[32];
    tly_descriptor d;
    tly_error error;
    (void)state;
    for (size_t skew = 0; skew < 16; skew++) {
        size_t enough = 0;
        for (size_t len = 0; len <= sizeof example + 32; len++) {
            tly_status status = tly_descriptor_decode(
                example, sizeof example, (uint8_t *)memory + skew, len, &d, NULL, &error);
            if (status == TLY_OK) {
                enough = enough != 0 ? enough : len;
                assert_int_equal((uintptr_t)d.shape % 8, 0);
                assert_true((const uint8_t *)(d.buffers + 1) <= (uint8_t *)memory + skew + len);
                assert_int_equal(d.shape[0], 3);
            } else {
                assert_int_equal(status, TLY_LIMIT);
                assert_int_equal(enough, 0);
            }
        }
        assert_true(enough != 0 && enough <= sizeof example + 32);
    }
}

static void every_prefix_is_refused(void **state) {
    uint8_t work[256];
    tly_descriptor d;
    tly_error error;
    (void)state;
    for (size_t len = 0; len < sizeof example; len++) {
        uint8_t *copy = malloc(len + 1);
        memcpy(copy, example, len);
        copy = realloc(copy, len != 0 ? len : 1);
        CHECK_RULE(tly_descriptor_decode(copy, len, work, sizeof work, &d, NULL, &error), &error,
                   TLY_TRUNCATED, "D-LEN-AVAIL");
        free(copy);
    }
    assert_int_equal(tly_descriptor_decode(example, 5, work, sizeof work, &d, NULL, NULL),
                     TLY_TRUNCATED);
}

static void versions_and_private_parts_are_refused_as_unsupported(void **state) {
    uint8_t bytes[sizeof example];
    uint8_t work[256];
    tly_descriptor d;
    tly_error error;
    (void)state;
    memcpy(bytes, example, sizeof bytes);
    bytes[16] = 65;
    CHECK_RULE(tly_descriptor_decode(bytes, sizeof bytes, work, sizeof work, &d, NULL, &error),
               &error, TLY_MALFORMED, "D-RANK");
    assert_int_equal(error.offset, 16);
    bytes[4] = 2;
    CHECK_RULE(tly_descriptor_decode(bytes, sizeof bytes, work, sizeof work, &d, NULL, &error),
               &error, TLY_UNSUPPORTED, "D-VER-MAJOR");
    assert_int_equal(error.offset, 4);
}

static void encode_refuses_what_decode_would(void **state) {
    uint64_t shape[2] = {3, 4};
    uint8_t out[256];
    tly_buffer_info buffer;
    tly_descriptor d;
    tly_error error;
    size_t len;
    (void)state;
    assert_int_equal(tly_descriptor_init_row_major(&d, &buffer, TLY_F32, 2, shape), TLY_OK);
    assert_int_equal(buffer.byte_size, 48);
    buffer.alignment = 48;
    CHECK_RULE(tly_descriptor_encode(&d, out, sizeof out, &len, &error), &error, TLY_MALFORMED,
               "B-ALIGN-POW2");
    buffer.alignment = 64;
    d.byte_offset = 49;
    CHECK_RULE(tly_descriptor_encode(&d, out, sizeof out, &len, &error), &error, TLY_MALFORMED,
               "D-BYTEOFF");
    d.byte_offset = 0;
    d.dtype = 0x4C;
    CHECK_RULE(tly_descriptor_encode(&d, out, sizeof out, &len, &error), &error, TLY_MALFORMED,
               "D-TYPE-UNKNOWN");
    d.dtype = TLY_F32;
    d.rank = 65;
    CHECK_RULE(tly_descriptor_encode(&d, out, sizeof out, &len, &error), &error,
               TLY_INVALID_ARGUMENT, "D-RANK");
    d.rank = 2;
    d.layout = TLY_LAYOUT_STRIDED;
    assert_int_equal(tly_descriptor_encode(&d, out, sizeof out, &len, &error),
                     TLY_INVALID_ARGUMENT);
    d.layout = TLY_LAYOUT_TILED;
    assert_int_equal(tly_descriptor_encode(&d, out, sizeof out, &len, &error),
                     TLY_INVALID_ARGUMENT);
    d.layout = TLY_LAYOUT_MORTON;
    assert_int_equal(tly_descriptor_encode(&d, out, sizeof out, &len, &error),
                     TLY_INVALID_ARGUMENT);
    d.num_levels = 1;
    d.layout = TLY_LAYOUT_TILED;
    d.levels[0] = (tly_tile_level){shape, NULL, NULL, TLY_TILE_ROW, TLY_TILE_NESTED};
    CHECK_RULE(tly_descriptor_encode(&d, out, sizeof out, &len, &error), &error,
               TLY_INVALID_ARGUMENT, "L-TILED-INNER");
}

static void private_layouts_carry_their_data(void **state) {
    static const uint8_t data[] = {1, 2, 3, 4, 5};
    uint64_t shape[2] = {512, 128};
    uint8_t out[256];
    uint8_t work[256];
    tly_buffer_info buffer;
    tly_descriptor d;
    tly_descriptor again;
    tly_nest nest;
    tly_error error;
    size_t len;
    (void)state;
    assert_int_equal(tly_descriptor_init_private(&d, &buffer, TLY_BF16, 2, shape, 0xF0, 77, data,
                                                 sizeof data, 131072, 4096),
                     TLY_OK);
    CHECK_OK(tly_descriptor_encode(&d, out, sizeof out, &len, &error), &error);
    CHECK_OK(tly_descriptor_decode(out, len, work, sizeof work, &again, NULL, &error), &error);
    assert_int_equal(again.layout, 0xF0);
    assert_int_equal(again.private_id, 77);
    assert_int_equal(again.private_len, sizeof data);
    assert_memory_equal(again.private_data, data, sizeof data);
    assert_int_equal(again.buffers[0].alignment, 4096);
    CHECK_OK(tly_descriptor_check_buffers(&again, &error), &error);
    assert_int_equal(tly_descriptor_nest(&again, &nest, &error), TLY_LAYOUT_UNAVAILABLE);
    assert_int_equal(tly_descriptor_init_private(&d, &buffer, TLY_BF16, 2, shape, 0x05, 77, data,
                                                 sizeof data, 131072, 4096),
                     TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_descriptor_init_private(&d, &buffer, TLY_BF16, 2, shape, 0xF0, 77, data,
                                                 sizeof data, 131072, 96),
                     TLY_INVALID_ARGUMENT);
}

static void sizes_are_found_or_overflow(void **state) {
    uint64_t shape[3] = {UINT64_C(1) << 32, UINT64_C(1) << 32, 0};
    tly_buffer_info buffers[2] = {{.byte_size = UINT64_MAX - 1}, {.byte_size = 1}};
    tly_descriptor d;
    tly_error error;
    uint64_t count;
    (void)state;
    assert_int_equal(tly_descriptor_init_row_major(&d, buffers, TLY_F32, 2, shape), TLY_OVERFLOW);
    assert_int_equal(tly_descriptor_num_elements(&d, &count), TLY_OVERFLOW);
    /* One extent of 0 makes the tensor empty, however large the others. */
    assert_int_equal(tly_descriptor_init_row_major(&d, buffers, TLY_F32, 3, shape), TLY_OK);
    assert_int_equal(tly_descriptor_num_elements(&d, &count), TLY_OK);
    assert_int_equal(count, 0);
    assert_int_equal(buffers[0].byte_size, 0);
    assert_int_equal(tly_descriptor_init_row_major(&d, buffers, TLY_U4, 0, NULL), TLY_OK);
    assert_int_equal(buffers[0].byte_size, 1);
    assert_int_equal(tly_descriptor_num_elements(&d, &count), TLY_OK);
    assert_int_equal(count, 1);
    assert_int_equal(tly_descriptor_init_row_major(&d, buffers, TLY_F6E2M3, 1, (uint64_t[]){5}),
                     TLY_OK);
    assert_int_equal(buffers[0].byte_size, 6);
    assert_int_equal(tly_descriptor_init_row_major(&d, buffers, 0x4C, 1, (uint64_t[]){5}),
                     TLY_UNSUPPORTED);
    assert_int_equal(
        tly_descriptor_init_row_major(&d, buffers, TLY_F32, 1, (uint64_t[]){TLY_DYNAMIC}),
        TLY_INVALID_ARGUMENT);
    assert_int_equal(tly_descriptor_num_elements(&d, &count), TLY_INVALID_ARGUMENT);
    CHECK_OK(tly_descriptor_check_buffers(&d, &error), &error);
    buffers[0].byte_size = UINT64_MAX - 1;
    d.num_buffers = 2;
    d.buffers = buffers;
    assert_int_equal(tly_descriptor_data_len(&d, &count), TLY_OK);
    buffers[1].byte_size = 2;
    assert_int_equal(tly_descriptor_data_len(&d, &count), TLY_OVERFLOW);
}

static void negative_strides_need_room_in_front(void **state) {
    uint64_t shape[2] = {3, 4};
    int64_t strides[2] = {-4, 1};
    tly_buffer_info buffer = {.byte_size = 48, .alignment = 64};
    tly_descriptor d = {.dtype = TLY_F32,
                        .layout = TLY_LAYOUT_STRIDED,
                        .rank = 2,
                        .num_buffers = 1,
                        .shape = shape,
                        .strides = strides,
                        .buffers = &buffer,
                        .byte_offset = 32};
    tly_error error;
    uint64_t before;
    uint64_t after;
    (void)state;
    assert_int_equal(tly_descriptor_span(&d, &before, &after), TLY_OK);
    assert_int_equal(before, 32);
    assert_int_equal(after, 16);
    CHECK_OK(tly_descriptor_check_buffers(&d, &error), &error);
    d.byte_offset = 28;
    CHECK_RULE(tly_descriptor_check_buffers(&d, &error), &error, TLY_MALFORMED, "B-SIZE");
    d.byte_offset = 36;
    CHECK_RULE(tly_descriptor_check_buffers(&d, &error), &error, TLY_MALFORMED, "B-SIZE");
    strides[0] = INT64_MIN;
    CHECK_RULE(tly_descriptor_check_buffers(&d, &error), &error, TLY_OVERFLOW, "B-SIZE");
}

static void tiles_must_divide_the_tiles_around_them(void **state) {
    uint64_t shape[2] = {8, 8};
    uint64_t outer[2] = {4, 4};
    uint64_t inner[2] = {3, 4};
    tly_buffer_info buffer = {.byte_size = 1024, .alignment = 64};
    tly_descriptor d = {.dtype = TLY_F32,
                        .layout = TLY_LAYOUT_TILED,
                        .rank = 2,
                        .num_buffers = 1,
                        .num_levels = 2,
                        .shape = shape,
                        .buffers = &buffer,
                        .levels = {{outer, NULL, NULL, TLY_TILE_ROW, TLY_TILE_NESTED},
                                   {inner, NULL, NULL, TLY_TILE_ROW, TLY_TILE_COL}}};
    tly_nest nest;
    tly_error error;
    (void)state;
    CHECK_RULE(tly_descriptor_check_buffers(&d, &error), &error, TLY_MALFORMED, "L-TILED-DIVIDE");
    assert_int_not_equal(tly_descriptor_nest(&d, &nest, &error), TLY_OK);
    inner[0] = 2;
    CHECK_OK(tly_descriptor_check_buffers(&d, &error), &error);
    CHECK_OK(tly_descriptor_nest(&d, &nest, &error), &error);
}

/* The bytes that a layout needs, found from its formula, are those that its nest touches. */
static void spans_agree_with_nests(void **state) {
    const uint64_t seed = check_seed(77), rounds = check_rounds(20000);
    check_rng rng = {seed};
    int compared = 0;
    (void)state;
    print_message("# %llu rounds, seed %llu\n", (unsigned long long)rounds,
                  (unsigned long long)seed);
    for (uint64_t round = 0; round < rounds; round++) {
        uint64_t shape[4];
        uint64_t tiles[2][4];
        int64_t strides[3][4];
        uint32_t bits[4];
        tly_descriptor d = {
            .dtype = TLY_F32, .shape = shape, .strides = strides[0], .morton_bits = bits};
        static tly_nest nest;
        tly_error error;
        uint64_t before;
        uint64_t after;
        int64_t low;
        int64_t high;
        uint32_t equal_bits = 3;
        int empty = 0;
        d.rank = 1 + (uint32_t)check_below(&rng, 4);
        d.layout = (uint8_t)(1 + check_below(&rng, 5));
        for (uint32_t k = 0; k < d.rank; k++) {
            shape[k] = check_below(&rng, 20) == 0 ? 0 : 1 + check_below(&rng, 8);
            empty |= shape[k] == 0;
            tiles[1][k] = 1 + check_below(&rng, 3);
            tiles[0][k] = tiles[1][k] * (1 + check_below(&rng, 3));
            bits[k] = equal_bits;
            for (int i = 0; i < 3; i++) {
                strides[i][k] = (int64_t)check_below(&rng, 40) - 20;
            }
        }
        d.num_levels = 1 + (uint32_t)check_below(&rng, 2);
        for (uint32_t n = 0; n < d.num_levels; n++) {
            d.levels[n] = (tly_tile_level){
                tiles[d.num_levels == 1 ? 1 : n], strides[1], strides[2],
                (uint8_t)(1 + check_below(&rng, 3)),
                (uint8_t)(n + 1 < d.num_levels ? TLY_TILE_NESTED : 1 + check_below(&rng, 3))};
        }
        assert_int_equal(tly_descriptor_span(&d, &before, &after), TLY_OK);
        CHECK_OK(tly_descriptor_nest(&d, &nest, &error), &error);
        assert_int_equal(tly_nest_extent(&nest, &low, &high), TLY_OK);
        if (d.layout == TLY_LAYOUT_MORTON) {
            /* The format asks for all codes, the nest needs those up to the shape's. */
            assert_int_equal(before, 0);
            assert_int_equal(after, UINT64_C(4) << (equal_bits * d.rank));
            assert_true((uint64_t)high * 4 <= after);
            continue;
        }
        assert_int_equal(before, empty ? 0 : -low * 4);
        assert_int_equal(after, empty ? 0 : high * 4);
        compared++;
    }
    assert_true(compared > 10000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_example_is_read_and_written),
        cmocka_unit_test(work_memory_may_lie_anywhere_but_must_reach),
        cmocka_unit_test(every_prefix_is_refused),
        cmocka_unit_test(versions_and_private_parts_are_refused_as_unsupported),
        cmocka_unit_test(encode_refuses_what_decode_would),
        cmocka_unit_test(private_layouts_carry_their_data),
        cmocka_unit_test(sizes_are_found_or_overflow),
        cmocka_unit_test(negative_strides_need_room_in_front),
        cmocka_unit_test(tiles_must_divide_the_tiles_around_them),
        cmocka_unit_test(spans_agree_with_nests),
    };
    return cmocka_run_group_tests_name("tensor/descriptor", tests, NULL, NULL);
}
