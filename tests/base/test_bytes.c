/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include "base/bytes.h"
#include "base/checked.h"

static void loads_are_little_endian(void **state) {
    static const uint8_t bytes[9] = {0xFF, 1, 2, 3, 4, 5, 6, 7, 8};
    (void)state;
    assert_int_equal(tly_base_load_u16(bytes + 1), 0x0201);
    assert_int_equal(tly_base_load_u32(bytes + 1), 0x04030201);
    assert_true(tly_base_load_u64(bytes + 1) == UINT64_C(0x0807060504030201));
}

static void stores_read_back(void **state) {
    uint8_t bytes[8] = {0};
    (void)state;
    tly_base_store_u64(bytes, UINT64_C(0x1122334455667788));
    assert_int_equal(bytes[0], 0x88);
    assert_int_equal(bytes[7], 0x11);
    tly_base_store_u32(bytes, 0xA1B2C3D4);
    assert_int_equal(bytes[0], 0xD4);
    tly_base_store_u16(bytes, 0x0102);
    assert_int_equal(bytes[0], 2);
}

static void cursor_never_passes_the_end(void **state) {
    static const uint8_t bytes[3] = {1, 2, 3};
    tly_cursor c = tly_cursor_make(bytes, sizeof bytes);
    uint32_t u32;
    uint16_t u16;
    uint8_t u8;
    const uint8_t *p;
    (void)state;
    assert_false(tly_cursor_u32(&c, &u32));
    assert_int_equal(tly_cursor_offset(&c), 0);
    assert_true(tly_cursor_u16(&c, &u16));
    assert_int_equal(u16, 0x0201);
    assert_false(tly_cursor_take(&c, UINT64_MAX, &p));
    assert_true(tly_cursor_u8(&c, &u8));
    assert_int_equal(u8, 3);
    assert_false(tly_cursor_u8(&c, &u8));
    assert_int_equal(tly_cursor_left(&c), 0);
}

static void arithmetic_says_overflow(void **state) {
    uint64_t out;
    int64_t s;
    (void)state;
    assert_int_equal(tly_base_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 32, &out), 1);
    assert_int_equal(tly_base_mul_u64(UINT64_C(1) << 32, UINT64_C(1) << 31, &out), 0);
    assert_int_equal(tly_base_add_u64(UINT64_MAX, 1, &out), 1);
    assert_int_equal(tly_base_round_up_u64(UINT64_MAX - 1, 64, &out), 1);
    assert_int_equal(tly_base_round_up_u64(65, 64, &out), 0);
    assert_true(out == 128);
    assert_int_equal(tly_base_mul_u64_i64(UINT64_C(1) << 62, -2, &s), 0);
    assert_int_equal(tly_base_mul_u64_i64(UINT64_C(1) << 62, 2, &s), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(loads_are_little_endian),
        cmocka_unit_test(stores_read_back),
        cmocka_unit_test(cursor_never_passes_the_end),
        cmocka_unit_test(arithmetic_says_overflow),
    };
    return cmocka_run_group_tests_name("base/bytes", tests, NULL, NULL);
}
