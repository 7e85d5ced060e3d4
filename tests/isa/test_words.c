/* SPDX-License-Identifier: Apache-2.0 */
/* Random words of 32, 48 and 64 bits: the decoder equals a scan; `make proof` runs 100 million. */
#include "isa/scan.h"

static void random_words(void **state) {
    check_rng rng = {check_seed(1)};
    uint64_t count = check_rounds(60000);
    (void)state;
    for (uint64_t i = 0; i < count; i++) {
        uint32_t len = 4 + 2 * (uint32_t)check_below(&rng, 3);
        uint64_t word = check_random(&rng) >> (64 - 8 * len);
        if (i % 4 != 0) { /* most random words are illegal: start from a form */
            const tly_isa_form_row *form =
                tly_isa_form_at((uint32_t)check_below(&rng, tly_isa_num_forms()));
            len = form->bits / 8;
            word = (check_random(&rng) >> (64 - 8 * len) & ~form->mask) | form->match;
            if (check_below(&rng, 8) == 0) {
                word ^= UINT64_C(1) << check_below(&rng, form->bits);
            }
        }
        compare(word, len, (tly_isa_release)check_below(&rng, TLY_ISA_NUM_RELEASES));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_words),
    };
    return cmocka_run_group_tests_name("isa/words", tests, NULL, NULL);
}
