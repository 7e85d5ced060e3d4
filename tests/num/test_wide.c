/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of 32 bits and more against MPFR: results and flags, in every rounding mode it has. */
#include "check.h"

#include <string.h>

#include <mpfr.h>

#include <tilery/convert.h>

typedef struct wide {
    tly_format_id id;
    int exponent_bits, mantissa_bits; /* stored */
    int low;
} wide;

static const wide formats[] = {{TLY_F32, 8, 23, 0},          {TLY_F64, 11, 52, 0},
                               {TLY_F128, 15, 112, 0},       {TLY_FORMAT_TF32, 8, 10, 13},
                               {TLY_FORMAT_HF32, 8, 11, 12}, {TLY_F16, 5, 10, 0}};

__extension__ typedef unsigned __int128 u128;

static u128 whole(tly_code c) {
    return (u128)c.high << 64 | c.low;
}

static tly_code parts(u128 v) {
    return (tly_code){(uint64_t)v, (uint64_t)(v >> 64)};
}

/* The exact value of bits. */
static void set_value(mpfr_t x, const wide *f, u128 bits) {
    int bias = (1 << (f->exponent_bits - 1)) - 1, width = 1 + f->exponent_bits + f->mantissa_bits;
    int exponent, negative;
    u128 mantissa;
    bits >>= f->low;
    mantissa = bits & (((u128)1 << f->mantissa_bits) - 1);
    exponent = (int)(bits >> f->mantissa_bits & ((1u << f->exponent_bits) - 1));
    negative = (int)(bits >> (width - 1) & 1);
    mantissa |= exponent != 0 ? (u128)1 << f->mantissa_bits : 0;
    exponent = (exponent != 0 ? exponent : 1) - bias - f->mantissa_bits;
    mpfr_set_ui(x, (unsigned long)(mantissa >> 64), MPFR_RNDN);
    mpfr_mul_2ui(x, x, 64, MPFR_RNDN);
    mpfr_add_ui(x, x, (unsigned long)(uint64_t)mantissa, MPFR_RNDN);
    mpfr_mul_2si(x, x, exponent, MPFR_RNDN);
    mpfr_setsign(x, x, negative, MPFR_RNDN);
}

/* The bits of a value that the format holds. */
static u128 get_bits(mpfr_t x, const wide *f) {
    int bias = (1 << (f->exponent_bits - 1)) - 1, top = (1 << f->exponent_bits) - 1;
    u128 sign = mpfr_signbit(x) != 0, mantissa;
    long exponent;
    mpz_t z;
    sign <<= f->exponent_bits + f->mantissa_bits;
    if (mpfr_inf_p(x)) {
        return (sign | (u128)top << f->mantissa_bits) << f->low;
    }
    if (mpfr_zero_p(x)) {
        return sign << f->low;
    }
    exponent = mpfr_get_exp(x) - 1 + bias; /* biased, of the leading bit */
    exponent = exponent < 1 ? 1 : exponent;
    mpfr_mul_2si(x, x, f->mantissa_bits + bias - exponent, MPFR_RNDN);
    mpz_init(z);
    mpfr_get_z(z, x, MPFR_RNDN);
    mpz_abs(z, z);
    {
        mpz_t high;
        mpz_init(high);
        mpz_tdiv_q_2exp(high, z, 64);
        mantissa = (u128)mpz_get_ui(high) << 64;
        mpz_tdiv_r_2exp(z, z, 64);
        mantissa |= mpz_get_ui(z);
        mpz_clear(high);
    }
    mpz_clear(z);
    return (sign | (((u128)(exponent - 1) << f->mantissa_bits) + mantissa)) << f->low;
}

static void between_wide_formats(void **state) {
    static const mpfr_rnd_t modes[] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};
    check_rng rng = {check_seed(11)};
    uint64_t rounds = check_rounds(60000);
    mpfr_t exact, made;
    (void)state;
    mpfr_init2(exact, 200);
    mpfr_set_emin(mpfr_get_emin_min());
    for (uint64_t round = 0; round < rounds; round++) {
        const wide *from = &formats[check_below(&rng, 6)], *to = &formats[check_below(&rng, 6)];
        int width = 1 + from->exponent_bits + from->mantissa_bits;
        int bias = (1 << (to->exponent_bits - 1)) - 1;
        uint32_t mode = (uint32_t)check_below(&rng, 4), flags = 0;
        u128 bits = (u128)check_random(&rng) << 64 | check_random(&rng), wanted;
        tly_convert_options options = {.size = sizeof options, .rounding = mode};
        tly_code got;
        int ternary;
        bits &= width < 128 ? ((u128)1 << width) - 1 : ~(u128)0;
        switch (check_below(&rng, 4)) { /* often near the ends of the destination, often few bits */
        case 0:
            bits &= ~(u128)0 << (from->mantissa_bits - 8);
            /* fall through */
        case 1:
        case 2: {
            int from_bias = (1 << (from->exponent_bits - 1)) - 1;
            int64_t at = check_below(&rng, 2) ? bias : 1 - bias - (int64_t)check_below(&rng, 120);
            int64_t field = at + (int64_t)check_below(&rng, 5) - 2 + from_bias;
            u128 mask = ((u128)1 << from->exponent_bits) - 1;
            field = field < 0 ? 0 : field;
            field = field > (int64_t)mask - 1 ? (int64_t)mask - 1 : field;
            bits = (bits & ~(mask << from->mantissa_bits)) | (u128)field << from->mantissa_bits;
            break;
        }
        default:
            break;
        }
        if ((bits >> from->mantissa_bits & ((1u << from->exponent_bits) - 1)) ==
                (1u << from->exponent_bits) - 1 ||
            from->id == to->id) {
            continue;
        }
        bits <<= from->low;
        set_value(exact, from, bits);
        mpfr_init2(made, to->mantissa_bits + 1);
        mpfr_set_emax(bias + 1);
        mpfr_set_emin(2 - bias - to->mantissa_bits);
        ternary = mpfr_set(made, exact, modes[mode]);
        mpfr_clear_flags();
        ternary = mpfr_check_range(made, ternary, modes[mode]);
        ternary = mpfr_subnormalize(made, ternary, modes[mode]);
        wanted = get_bits(made, to);
        mpfr_set_emax(mpfr_get_emax_max());
        mpfr_set_emin(mpfr_get_emin_min());
        assert_int_equal(tly_convert_code(tly_format_find(to->id), tly_format_find(from->id),
                                          parts(bits), &options, &got, &flags),
                         TLY_OK);
        if (whole(got) != wanted) {
            fail_msg("%s to %s, mode %u: %016llx%016llx gives %016llx%016llx, not %016llx%016llx",
                     tly_format_find(from->id)->name, tly_format_find(to->id)->name, mode,
                     (unsigned long long)(bits >> 64), (unsigned long long)bits,
                     (unsigned long long)got.high, (unsigned long long)got.low,
                     (unsigned long long)(wanted >> 64), (unsigned long long)wanted);
        }
        assert_int_equal((flags & TLY_FLAG_INEXACT) != 0, ternary != 0);
        mpfr_clear(made);
    }
    mpfr_clear(exact);
    mpfr_free_cache();
}

static void integers_and_floats(void **state) {
    static const mpfr_rnd_t modes[] = {MPFR_RNDN, MPFR_RNDZ, MPFR_RNDD, MPFR_RNDU};
    check_rng rng = {check_seed(12)};
    mpfr_t exact, made;
    (void)state;
    mpfr_init2(exact, 64);
    for (int round = 0; round < 20000; round++) {
        const wide *f = &formats[check_below(&rng, 3)];
        uint32_t mode = (uint32_t)check_below(&rng, 4);
        tly_convert_options options = {.size = sizeof options, .rounding = mode};
        uint64_t v = check_random(&rng) >> check_below(&rng, 64);
        int is_signed = (int)check_below(&rng, 2);
        tly_code got, back;
        if (is_signed) {
            mpfr_set_si(exact, (long)(int64_t)v, MPFR_RNDN);
        } else {
            mpfr_set_ui(exact, v, MPFR_RNDN);
        }
        mpfr_init2(made, f->mantissa_bits + 1);
        mpfr_set(made, exact, modes[mode]);
        assert_int_equal(tly_convert_code(tly_format_find(f->id),
                                          tly_format_find(is_signed ? TLY_I64 : TLY_U64),
                                          (tly_code){v, 0}, &options, &got, NULL),
                         TLY_OK);
        assert_true(whole(got) == get_bits(made, f));
        /* A fraction back to an integer. */
        mpfr_set_prec(made, f->mantissa_bits + 1);
        set_value(made, f, whole(got));
        got = parts(whole(got) - ((u128)check_below(&rng, 12) << f->mantissa_bits));
        if (whole(got) >> f->mantissa_bits << 1 != 0) {
            set_value(made, f, whole(got));
            options.saturate = 1;
            assert_int_equal(tly_convert_code(tly_format_find(TLY_I64), tly_format_find(f->id), got,
                                              &options, &back, NULL),
                             TLY_OK);
            assert_int_equal((int64_t)back.low, mpfr_get_si(made, modes[mode]));
        }
        mpfr_clear(made);
    }
    mpfr_clear(exact);
    mpfr_free_cache();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(between_wide_formats),
        cmocka_unit_test(integers_and_floats),
    };
    return cmocka_run_group_tests_name("num/wide", tests, NULL, NULL);
}
