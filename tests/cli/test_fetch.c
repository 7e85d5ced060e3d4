/* SPDX-License-Identifier: Apache-2.0 */
/* A server that changes its mind between two answers. */
#include "check.h"

#include "cli/fetch.h"

static void another_tensor_is_refused(void **state) {
    static const uint64_t shape[] = {60, 60}, wider[] = {60, 64}, longer[] = {60, 60, 1};
    tly_tensor_facts facts = {.dtype = TLY_F32, .rank = 2, .shape = {60, 60}};
    tly_descriptor answer;
    tly_buffer_info buffer;
    tly_error err;
    (void)state;
    assert_int_equal(tly_descriptor_init_row_major(&answer, &buffer, TLY_F32, 2, shape), TLY_OK);
    CHECK_OK(tly_fetch_expect(&facts, &answer, "w", &err), &err);
    answer.dtype = TLY_I32;
    CHECK_RULE(tly_fetch_expect(&facts, &answer, "w", &err), &err, TLY_MISMATCH, "tensor-changed");
    /* A panel of 64 columns has the same bytes for both. */
    assert_int_equal(tly_descriptor_init_row_major(&answer, &buffer, TLY_F32, 2, wider), TLY_OK);
    CHECK_RULE(tly_fetch_expect(&facts, &answer, "w", &err), &err, TLY_MISMATCH, "tensor-changed");
    assert_int_equal(tly_descriptor_init_row_major(&answer, &buffer, TLY_F32, 3, longer), TLY_OK);
    CHECK_RULE(tly_fetch_expect(&facts, &answer, "w", &err), &err, TLY_MISMATCH, "tensor-changed");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(another_tensor_is_refused)};
    return cmocka_run_group_tests_name("cli/fetch", tests, NULL, NULL);
}
