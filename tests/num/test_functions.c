/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential, logarithm, roots and reciprocals, rounded once, against MPFR: every operand of the
 * 16-bit formats, and random ones of FP32 and FP64. `make proof` takes many more. */
#include <mpfr.h>
#include <string.h>

#include "check.h"
#include "num/number.h"

typedef tly_number (*function)(tly_number x);

static tly_number reciprocal(tly_number x) {
    return tly_num_divide((tly_number){(tly_num_bits)1 << 127, 0, TLY_NUMBER_NORMAL, 0}, x);
}

static tly_number reciprocal_root(tly_number x) {
    return reciprocal(tly_num_square_root(x));
}

static const struct {
    const char *name;
    function ours;
    int (*theirs)(mpfr_t, mpfr_srcptr, mpfr_rnd_t);
} functions[] = {{"exp", tly_num_exp, mpfr_exp},
                 {"log", tly_num_log, mpfr_log},
                 {"sqrt", tly_num_square_root, mpfr_sqrt},
                 {"rec_sqrt", reciprocal_root, mpfr_rec_sqrt}};

/* What MPFR makes of x in a format of p bits with this exponent range, as bits of the format. */
static uint64_t oracle(const tly_format *format, int (*f)(mpfr_t, mpfr_srcptr, mpfr_rnd_t),
                       double x) {
    mpfr_t in, out;
    int emin = 1 - format->bias - format->mantissa_bits + 1;
    int emax = (1 << format->exponent_bits) - 1 - format->bias;
    mpfr_init2(in, 53);
    mpfr_init2(out, format->mantissa_bits + 1u);
    mpfr_set_emin(-1073);
    mpfr_set_emax(1024);
    mpfr_set_d(in, x, MPFR_RNDN);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
    int inexact = f(out, in, MPFR_RNDN);
    mpfr_subnormalize(out, inexact, MPFR_RNDN);
    double value = mpfr_get_d(out, MPFR_RNDN);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_clear(in);
    mpfr_clear(out);
    uint64_t bits = 0;
    uint32_t flags = 0;
    memcpy(&bits, &value, sizeof bits);
    return (uint64_t)tly_num_round(format, tly_num_unpack(tly_format_find(TLY_F64), bits),
                                   (tly_num_control){0}, &flags);
}

static int is_nan(const tly_format *format, uint64_t bits) {
    uint8_t klass = tly_num_unpack(format, bits).klass;
    return klass == TLY_NUMBER_QUIET_NAN || klass == TLY_NUMBER_SIGNALING_NAN;
}

static void compare(const tly_format *format, uint32_t which, uint64_t bits) {
    uint32_t flags = 0;
    tly_number x = tly_num_unpack(format, bits);
    if (x.klass == TLY_NUMBER_ZERO && x.negative) {
        return; /* MPFR has no sign for the infinity of 1 / sqrt(-0) */
    }
    uint64_t ours =
        (uint64_t)tly_num_round(format, functions[which].ours(x), (tly_num_control){0}, &flags);
    uint64_t wide =
        (uint64_t)tly_num_round(tly_format_find(TLY_F64), x, (tly_num_control){0}, &flags);
    double value = 0;
    memcpy(&value, &wide, sizeof value);
    uint64_t theirs = oracle(format, functions[which].theirs, value);
    if (ours != theirs && !(is_nan(format, ours) && is_nan(format, theirs))) {
        fail_msg("%s of %a in %s: %llx, MPFR %llx", functions[which].name, value, format->name,
                 (unsigned long long)ours, (unsigned long long)theirs);
    }
}

static void every_operand_of(tly_format_id id) {
    const tly_format *format = tly_format_find(id);
    uint64_t step = check_rounds(1) > 1 ? 1 : 7; /* all of them in `make proof` */
    for (uint32_t which = 0; which < 4; which++) {
        for (uint64_t bits = 0; bits < 0x10000; bits += step) {
            compare(format, which, bits);
        }
    }
}

static void sixteen_bits(void **state) {
    (void)state;
    every_operand_of(TLY_F16);
    every_operand_of(TLY_BF16);
}

static void random_operands(tly_format_id id, uint64_t seed) {
    const tly_format *format = tly_format_find(id);
    check_rng rng = {check_seed(seed)};
    uint64_t bias = (uint64_t)format->bias;
    for (uint64_t i = 0; i < check_rounds(4000); i++) {
        uint64_t bits = check_random(&rng);
        if (i % 4 != 0) { /* most where the functions do something */
            uint64_t exponent = bias - 12 + check_below(&rng, 22);
            bits = (bits & ((UINT64_C(1) << format->mantissa_bits) - 1)) |
                   exponent << format->mantissa_bits | check_below(&rng, 2) << (format->bits - 1);
        }
        compare(format, (uint32_t)(i / 4 % 4), format->bits < 64 ? bits & 0xFFFFFFFF : bits);
    }
}

static void floats(void **state) {
    (void)state;
    random_operands(TLY_F32, 3);
}

static void doubles(void **state) {
    (void)state;
    random_operands(TLY_F64, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sixteen_bits),
        cmocka_unit_test(floats),
        cmocka_unit_test(doubles),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpfr_free_cache();
    mpfr_mp_memory_cleanup();
    return failed;
}
