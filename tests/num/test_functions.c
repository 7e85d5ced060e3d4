/* SPDX-License-Identifier: Apache-2.0 */
/* Exponential, logarithm, roots and reciprocals, rounded once, against MPFR: every operand of the
 * 16-bit formats, and random ones of FP32 and FP64. `make proof` takes many more. */
#include <stdint.h>

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

/* --- all 128 bits of a result ----------------------------------------------------------------- */

enum { WIDE = 128, WIDER = 200 };

/* Fractions that divide and root step by step find hard: many zeros, many ones, few bits. */
static tly_num_bits fraction(check_rng *rng) {
    tly_num_bits bits = (tly_num_bits)check_random(rng) << 64 | check_random(rng);
    switch (check_below(rng, 5)) {
    case 0:
        bits &= ~(tly_num_bits)0 << check_below(rng, WIDE);
        break;
    case 1:
        bits |= ~(tly_num_bits)0 >> check_below(rng, WIDE);
        break;
    case 2:
        bits |= ~(tly_num_bits)0 << check_below(rng, WIDE);
        break;
    default:
        break;
    }
    return bits | (tly_num_bits)1 << 127;
}

static tly_number normal(tly_num_bits bits, int32_t exponent, uint8_t negative) {
    return (tly_number){bits, exponent, TLY_NUMBER_NORMAL, negative};
}

static void to_mpfr(mpfr_t out, tly_number n) {
    mpfr_t low;
    mpfr_init2(low, WIDE);
    mpfr_set_uj_2exp(out, (uint64_t)(n.fraction >> 64), n.exponent - 63, MPFR_RNDN);
    mpfr_set_uj_2exp(low, (uint64_t)n.fraction, n.exponent - 127, MPFR_RNDN);
    mpfr_add(out, out, low, MPFR_RNDN);
    mpfr_setsign(out, out, n.negative, MPFR_RNDN);
    mpfr_clear(low);
}

/* A result cut off at 128 bits, with the lowest one set if something was. */
static void check_cut_off(const char *name, tly_number got, mpfr_t wanted, int inexact) {
    mpfr_t value;
    mpfr_init2(value, WIDE);
    if (inexact != 0 && (got.fraction & 1) == 0) {
        fail_msg("%s: not noted that it is inexact", name);
    }
    to_mpfr(value, got);
    mpfr_sub(value, value, wanted, MPFR_RNDN);
    /* the same, or the bit that notes it */
    if (!mpfr_zero_p(value) &&
        !(inexact != 0 && mpfr_cmp_ui_2exp(value, 1, got.exponent - 127) == 0)) {
        fail_msg("%s: wrong beyond its last bit (%016llx%016llx)", name,
                 (unsigned long long)(got.fraction >> 64), (unsigned long long)got.fraction);
    }
    mpfr_clear(value);
}

static void quotients_and_roots(void **state) {
    mpfr_t a, b, out;
    check_rng rng = {check_seed(5)};
    (void)state;
    mpfr_inits2(WIDE, a, b, out, (mpfr_ptr)0);
    for (uint64_t i = 0; i < check_rounds(20000); i++) {
        tly_number x = normal(fraction(&rng), (int32_t)check_below(&rng, 99) - 50, 0);
        tly_number y = normal(fraction(&rng), (int32_t)check_below(&rng, 99) - 50, 0);
        if (check_below(&rng, 8) == 0) { /* near 1, or exact */
            y.fraction = x.fraction - check_below(&rng, 3);
            y.fraction |= (tly_num_bits)1 << 127;
        }
        to_mpfr(a, x);
        to_mpfr(b, y);
        int inexact = mpfr_div(out, a, b, MPFR_RNDZ);
        check_cut_off("quotient", tly_num_divide(x, y), out, inexact);
        if (check_below(&rng, 4) == 0) { /* a square */
            uint64_t root = check_random(&rng) >> check_below(&rng, 40) | 1;
            int shift = __builtin_clzll(root);
            tly_num_bits square = (tly_num_bits)(root << shift) * (root << shift);
            int odd = square >> 127 == 0;
            x = normal(square << odd, 1 - odd, 0);
            to_mpfr(a, x);
        }
        inexact = mpfr_sqrt(out, a, MPFR_RNDZ);
        check_cut_off("root", tly_num_square_root(x), out, inexact);
    }
    mpfr_clears(a, b, out, (mpfr_ptr)0);
}

/* Exponential and logarithm of numbers of up to 53 bits are within 2^-110: what rounding to FP32
 * and FP64 rests on. */
static void within_their_bound(void **state) {
    mpfr_t x, wanted, got;
    check_rng rng = {check_seed(6)};
    (void)state;
    mpfr_inits2(WIDER, x, wanted, got, (mpfr_ptr)0);
    for (uint64_t i = 0; i < check_rounds(4000); i++) {
        tly_num_bits bits = fraction(&rng) & ~(tly_num_bits)0 << 75;
        int32_t exponent = check_below(&rng, 3) != 0 ? (int32_t)check_below(&rng, 14) - 4
                                                     : (int32_t)check_below(&rng, 150) - 140;
        tly_number n = normal(bits, exponent, (uint8_t)check_below(&rng, 2));
        uint32_t which = (uint32_t)check_below(&rng, 2); /* exp, log */
        if (which == 1) {
            n.negative = 0;
            n.exponent = check_below(&rng, 4) == 0 ? n.exponent : (int32_t)check_below(&rng, 2) - 1;
        } else if (n.exponent > 9) {
            n.exponent = 9;
        }
        to_mpfr(x, n);
        functions[which].theirs(wanted, x, MPFR_RNDN);
        tly_number ours = functions[which].ours(n);
        if (ours.klass == TLY_NUMBER_ZERO || mpfr_zero_p(wanted)) {
            assert_true(ours.klass == TLY_NUMBER_ZERO && mpfr_zero_p(wanted));
            continue;
        }
        to_mpfr(got, ours);
        mpfr_sub(got, got, wanted, MPFR_RNDN);
        mpfr_mul_2ui(got, got, 110, MPFR_RNDN);
        if (mpfr_cmpabs(got, wanted) > 0) {
            fail_msg("%s of %a: off by more than 2^-110", functions[which].name,
                     mpfr_get_d(x, MPFR_RNDN));
        }
    }
    mpfr_clears(x, wanted, got, (mpfr_ptr)0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(quotients_and_roots),
        cmocka_unit_test(within_their_bound),
        cmocka_unit_test(sixteen_bits),
        cmocka_unit_test(floats),
        cmocka_unit_test(doubles),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpfr_free_cache();
    mpfr_mp_memory_cleanup();
    return failed;
}
