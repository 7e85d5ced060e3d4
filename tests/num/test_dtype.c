/* SPDX-License-Identifier: Apache-2.0 */
#include "check.h"

#include <string.h>

#include <tilery/dtype.h>

static void every_tag_is_found_under_both_names(void **state) {
    int known = 0;
    (void)state;
    for (int tag = 0; tag < 256; tag++) {
        const tly_dtype_info *info = tly_dtype_find((tly_dtype)tag);
        if (info == NULL) {
            assert_int_equal(tly_dtype_bits((tly_dtype)tag), 0);
            continue;
        }
        known++;
        assert_int_equal(info->tag, tag);
        assert_int_equal(tly_dtype_by_name(info->name), tag);
        assert_int_equal(tly_dtype_by_name(info->long_name), tag);
        assert_int_equal(tly_dtype_bits((tly_dtype)tag), info->bits);
    }
    assert_true(known >= 12);
    assert_int_equal(tly_dtype_by_name("float31"), 0);
}

static void tags_are_those_of_the_format(void **state) {
    (void)state;
    assert_int_equal(tly_dtype_by_name("f16"), 0x01);
    assert_int_equal(tly_dtype_by_name("bfloat16"), 0x02);
    assert_int_equal(TLY_F32, 0x03);
    assert_int_equal(TLY_F64, 0x04);
    assert_int_equal(TLY_I8, 0x10);
    assert_int_equal(TLY_U64, 0x17);
    assert_int_equal(tly_dtype_bits(TLY_BF16), 16);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_tag_is_found_under_both_names),
        cmocka_unit_test(tags_are_those_of_the_format),
    };
    return cmocka_run_group_tests_name("num/dtype", tests, NULL, NULL);
}
