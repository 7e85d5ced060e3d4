/* SPDX-License-Identifier: Apache-2.0 */
/* The profile `ieee` against MPFR: every hook over random and special operands, in every format
 * that has exponents and in every direction. The model knows formats from a table of its own. */
#include <math.h>
#include <mpfr.h>
#include <string.h>

#include "check.h"
#include "pto/profile/element.h"
#include "pto/profile/profile.h"

typedef struct row {
    uint8_t dtype;
    uint8_t exponent_bits;
    uint8_t mantissa_bits;
    uint8_t low_zeros;
    bool has_infinity;
} row;

static const row rows[] = {{TLY_PTO_FP64, 11, 52, 0, true}, {TLY_PTO_FP32, 8, 23, 0, true},
                           {TLY_PTO_TF32, 8, 10, 13, true}, {TLY_PTO_HF32, 8, 11, 12, true},
                           {TLY_PTO_FP16, 5, 10, 0, true},  {TLY_PTO_BF16, 8, 7, 0, true},
                           {TLY_PTO_E5M2, 5, 2, 0, true},   {TLY_PTO_E4M3, 4, 3, 0, false}};

enum { NUM_ROWS = sizeof(rows) / sizeof(rows[0]), EXACT_BITS = 4400 };

static const struct {
    tly_pto_rounding ours;
    mpfr_rnd_t theirs;
} directions[] = {{TLY_PTO_ROUND_NEAREST_EVEN, MPFR_RNDN},
                  {TLY_PTO_ROUND_DOWN, MPFR_RNDD},
                  {TLY_PTO_ROUND_UP, MPFR_RNDU},
                  {TLY_PTO_ROUND_ZERO, MPFR_RNDZ}};

static const tly_pto_profile *const ieee = &tly_pto_profile_ieee;

static int32_t bias_of(const row *r) {
    return (1 << (r->exponent_bits - 1)) - 1;
}

static uint64_t max_exponent(const row *r) {
    return (UINT64_C(1) << r->exponent_bits) - 1;
}

static uint64_t sign_of(const row *r) {
    return UINT64_C(1) << (r->exponent_bits + r->mantissa_bits + r->low_zeros);
}

static uint64_t canonical_nan(const row *r) {
    return r->has_infinity
               ? (max_exponent(r) << r->mantissa_bits | UINT64_C(1) << (r->mantissa_bits - 1))
                     << r->low_zeros
               : ((UINT64_C(1) << (r->exponent_bits + r->mantissa_bits)) - 1);
}

static bool is_nan(const row *r, uint64_t bits) {
    uint64_t body = (bits & (sign_of(r) - 1)) >> r->low_zeros;
    uint64_t mantissa = body & ((UINT64_C(1) << r->mantissa_bits) - 1);
    return body >> r->mantissa_bits == max_exponent(r) &&
           (r->has_infinity ? mantissa != 0 : mantissa == (UINT64_C(1) << r->mantissa_bits) - 1);
}

static bool is_signaling(const row *r, uint64_t bits) {
    return r->has_infinity && is_nan(r, bits) &&
           (bits >> r->low_zeros >> (r->mantissa_bits - 1) & 1) == 0;
}

/* Exact; NaN for NaN. */
static double decode(const row *r, uint64_t bits) {
    uint64_t body = (bits & (sign_of(r) - 1)) >> r->low_zeros;
    uint64_t mantissa = body & ((UINT64_C(1) << r->mantissa_bits) - 1);
    int32_t exponent = (int32_t)(body >> r->mantissa_bits);
    double value = 0;
    if (is_nan(r, bits)) {
        return NAN;
    }
    if (r->has_infinity && (uint64_t)exponent == max_exponent(r)) {
        value = INFINITY;
    } else if (exponent == 0) {
        value = ldexp((double)mantissa, 1 - bias_of(r) - r->mantissa_bits);
    } else {
        value = ldexp((double)(mantissa | UINT64_C(1) << r->mantissa_bits),
                      exponent - bias_of(r) - r->mantissa_bits);
    }
    return (bits & sign_of(r)) != 0 ? -value : value;
}

static double largest(const row *r) {
    uint64_t body = r->has_infinity ? (max_exponent(r) << r->mantissa_bits) - 1
                                    : (UINT64_C(1) << (r->exponent_bits + r->mantissa_bits)) - 2;
    return decode(r, body << r->low_zeros);
}

/* A value that the format has, as its bits. */
static uint64_t encode(const row *r, double value) {
    uint64_t sign = signbit(value) ? sign_of(r) : 0, body = 0;
    int exponent = 0;
    if (isnan(value)) {
        return canonical_nan(r);
    }
    value = fabs(value);
    if (isinf(value) || value > largest(r)) {
        return r->has_infinity ? sign | (max_exponent(r) << r->mantissa_bits) << r->low_zeros
                               : canonical_nan(r);
    }
    if (value != 0) {
        frexp(value, &exponent);
        exponent -= 1;
        if (exponent < 1 - bias_of(r)) {
            body = (uint64_t)ldexp(value, r->mantissa_bits - 1 + bias_of(r));
        } else {
            body = (uint64_t)(exponent + bias_of(r)) << r->mantissa_bits;
            body += (uint64_t)ldexp(value, r->mantissa_bits - exponent) -
                    (UINT64_C(1) << r->mantissa_bits);
        }
    }
    return sign | body << r->low_zeros;
}

/* What an exact value becomes in a format. */
static uint64_t round_exact(const row *r, mpfr_t exact, mpfr_rnd_t direction) {
    mpfr_t out;
    mpfr_init2(out, r->mantissa_bits + 1u);
    mpfr_set_emin(2 - bias_of(r) - r->mantissa_bits);
    mpfr_set_emax(r->has_infinity ? bias_of(r) + 1 : bias_of(r) + 2);
    int ternary = mpfr_set(out, exact, direction);
    ternary = mpfr_check_range(out, ternary, direction);
    mpfr_subnormalize(out, ternary, direction);
    double value = mpfr_get_d(out, MPFR_RNDN);
    mpfr_set_emin(mpfr_get_emin_min());
    mpfr_set_emax(mpfr_get_emax_max());
    mpfr_clear(out);
    return encode(r, value);
}

/* A number above the largest one of a format without infinities stays there in these directions. */
static uint64_t limit(const row *r, uint64_t bits, mpfr_t exact, mpfr_rnd_t direction) {
    bool negative = mpfr_signbit(exact) != 0;
    bool stays = direction == MPFR_RNDZ || (direction == MPFR_RNDD && !negative) ||
                 (direction == MPFR_RNDU && negative);
    if (r->has_infinity || mpfr_inf_p(exact) || mpfr_nan_p(exact) || !stays ||
        mpfr_cmpabs(exact, exact) != 0) {
        return bits;
    }
    mpfr_t most;
    mpfr_init2(most, 53);
    mpfr_set_d(most, largest(r), MPFR_RNDN);
    bool beyond = mpfr_cmpabs(exact, most) > 0;
    mpfr_clear(most);
    return beyond ? encode(r, negative ? -largest(r) : largest(r)) : bits;
}

/* Operands that matter: near each other, near the ends, specials. */
static uint64_t operand(check_rng *rng, const row *r) {
    uint64_t mantissa = check_random(rng) & ((UINT64_C(1) << r->mantissa_bits) - 1);
    uint64_t exponent = (uint64_t)bias_of(r) - 2 + check_below(rng, 5);
    switch (check_below(rng, 8)) {
    case 0:
        exponent = check_below(rng, 2);
        break;
    case 1:
        exponent = max_exponent(r) - check_below(rng, 3);
        break;
    case 2:
    case 3:
        exponent = check_below(rng, max_exponent(r));
        break;
    default:
        break;
    }
    if (check_below(rng, 4) == 0) {
        mantissa = check_below(rng, 2) == 0 ? 0 : (UINT64_C(1) << r->mantissa_bits) - 1;
    }
    return (check_below(rng, 2) != 0 ? sign_of(r) : 0) | (exponent << r->mantissa_bits | mantissa)
                                                             << r->low_zeros;
}

static void same(const row *r, const char *what, uint64_t got, uint64_t wanted, uint64_t a,
                 uint64_t b, uint64_t c) {
    if (got != wanted) {
        fail_msg("%s, type %u, of %llx %llx %llx: %llx, MPFR %llx", what, r->dtype,
                 (unsigned long long)a, (unsigned long long)b, (unsigned long long)c,
                 (unsigned long long)got, (unsigned long long)wanted);
    }
}

/* Zero by cancellation: +0, and -0 downwards; MPFR agrees. Its zero products keep their sign. */
static uint64_t model_binary(const row *r, uint32_t op, mpfr_rnd_t direction, uint64_t a,
                             uint64_t b) {
    mpfr_t x, y, exact;
    mpfr_init2(x, 53);
    mpfr_init2(y, 53);
    mpfr_init2(exact, EXACT_BITS);
    mpfr_set_d(x, decode(r, a), MPFR_RNDN);
    mpfr_set_d(y, decode(r, b), MPFR_RNDN);
    switch (op) {
    case TLY_PTO_FLOAT_ADD:
        mpfr_add(exact, x, y, direction);
        break;
    case TLY_PTO_FLOAT_SUB:
        mpfr_sub(exact, x, y, direction);
        break;
    case TLY_PTO_FLOAT_MUL:
        mpfr_mul(exact, x, y, direction);
        break;
    default: /* rounded towards zero at so many bits, a quotient is on the right side of all */
        if (mpfr_div(exact, x, y, MPFR_RNDZ) != 0) {
            mpfr_t nudge;
            mpfr_init2(nudge, EXACT_BITS);
            mpfr_set(nudge, exact, MPFR_RNDN);
            mpfr_signbit(exact) ? mpfr_nextbelow(nudge) : mpfr_nextabove(nudge);
            mpfr_set(exact, nudge, MPFR_RNDN);
            mpfr_clear(nudge);
        }
        break;
    }
    uint64_t bits = limit(r, round_exact(r, exact, direction), exact, direction);
    mpfr_clear(x);
    mpfr_clear(y);
    mpfr_clear(exact);
    return bits;
}

static void arithmetic(void **state) {
    check_rng rng = {check_seed(11)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(30000); i++) {
        const row *r = &rows[check_below(&rng, NUM_ROWS)];
        uint32_t op = (uint32_t)check_below(&rng, 4), d = (uint32_t)check_below(&rng, 4);
        uint64_t a = operand(&rng, r), b = operand(&rng, r);
        uint8_t flags = 0;
        uint64_t got = ieee->scalar_binary((tly_pto_float_binary)op, directions[d].ours, r->dtype,
                                           a, b, &flags);
        same(r, "arithmetic", got, model_binary(r, op, directions[d].theirs, a, b), a, b, op);
        bool signals = is_signaling(r, a) || is_signaling(r, b);
        bool fresh_nan = got == canonical_nan(r) && !is_nan(r, a) && !is_nan(r, b) &&
                         (r->has_infinity || (flags & TLY_PTO_FLAG_OVERFLOW) == 0);
        bool by_zero = op == TLY_PTO_FLOAT_DIV && decode(r, b) == 0 && decode(r, a) != 0 &&
                       isfinite(decode(r, a));
        assert_int_equal((flags & TLY_PTO_FLAG_INVALID) != 0,
                         signals || (fresh_nan && !(by_zero && !r->has_infinity)));
        assert_int_equal((flags & TLY_PTO_FLAG_DIVIDE_BY_ZERO) != 0, by_zero);
    }
}

static void fused(void **state) {
    check_rng rng = {check_seed(12)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(20000); i++) {
        const row *r = &rows[check_below(&rng, NUM_ROWS)];
        uint32_t op = (uint32_t)check_below(&rng, 4), d = (uint32_t)check_below(&rng, 4);
        uint64_t a = operand(&rng, r), b = operand(&rng, r), c = operand(&rng, r);
        bool negate = op >= TLY_PTO_FLOAT_NMADD;
        bool subtract = op == TLY_PTO_FLOAT_MSUB || op == TLY_PTO_FLOAT_NMSUB;
        double p = decode(r, a), z = decode(r, c);
        uint8_t flags = 0;
        mpfr_t x, y, addend, exact;
        mpfr_init2(x, 53);
        mpfr_init2(y, 53);
        mpfr_init2(addend, 53);
        mpfr_init2(exact, EXACT_BITS);
        mpfr_set_d(x, negate ? -p : p, MPFR_RNDN);
        mpfr_set_d(y, decode(r, b), MPFR_RNDN);
        mpfr_set_d(addend, negate != subtract ? -z : z, MPFR_RNDN);
        mpfr_fma(exact, x, y, addend, directions[d].theirs);
        uint64_t wanted =
            limit(r, round_exact(r, exact, directions[d].theirs), exact, directions[d].theirs);
        mpfr_clear(x);
        mpfr_clear(y);
        mpfr_clear(addend);
        mpfr_clear(exact);
        uint64_t got = ieee->scalar_fused((tly_pto_float_fused)op, directions[d].ours, r->dtype, c,
                                          a, b, &flags);
        same(r, "fused", got, wanted, a, b, c);
    }
}

/* Through the element function, which knows the special values. */
static void functions(void **state) {
    static int (*const theirs[])(mpfr_t, mpfr_srcptr,
                                 mpfr_rnd_t) = {[TLY_PTO_TILE_SQRT] = mpfr_sqrt,
                                                [TLY_PTO_TILE_LOG] = mpfr_log,
                                                [TLY_PTO_TILE_EXP] = mpfr_exp,
                                                [TLY_PTO_TILE_RSQRT] = mpfr_rec_sqrt};
    check_rng rng = {check_seed(13)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(15000); i++) {
        const row *r = &rows[check_below(&rng, NUM_ROWS)];
        uint32_t op = TLY_PTO_TILE_SQRT + (uint32_t)check_below(&rng, 5);
        uint64_t a = operand(&rng, r);
        uint8_t flags = 0;
        mpfr_t x, exact;
        if (decode(r, a) == 0 || is_nan(r, a)) {
            continue; /* the architecture's own answers, tested with the operations */
        }
        mpfr_init2(x, 53);
        mpfr_init2(exact, 400);
        mpfr_set_d(x, decode(r, a), MPFR_RNDN);
        if (op == TLY_PTO_TILE_RECIP) {
            mpfr_ui_div(exact, 1, x, MPFR_RNDN);
        } else {
            theirs[op](exact, x, MPFR_RNDN);
        }
        uint64_t wanted = round_exact(r, exact, MPFR_RNDN);
        mpfr_clear(x);
        mpfr_clear(exact);
        same(r, "function",
             tly_pto_element_unary(ieee, (tly_pto_tile_unary)op, r->dtype, a, &flags), wanted, a,
             op, 0);
    }
}

static void modulo(void **state) {
    check_rng rng = {check_seed(14)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(10000); i++) {
        const row *r = &rows[check_below(&rng, NUM_ROWS)];
        uint64_t a = operand(&rng, r), b = operand(&rng, r);
        double x = decode(r, a), y = decode(r, b);
        uint8_t flags = 0;
        uint64_t wanted = canonical_nan(r);
        if (isfinite(x) && y != 0 && !isnan(y)) {
            mpfr_t u, v, exact;
            mpfr_init2(u, 53);
            mpfr_init2(v, 53);
            mpfr_init2(exact, EXACT_BITS);
            mpfr_set_d(u, x, MPFR_RNDN);
            mpfr_set_d(v, y, MPFR_RNDN);
            mpfr_fmod(exact, u, v, MPFR_RNDN);
            if (mpfr_zero_p(exact)) {
                mpfr_setsign(exact, exact, signbit(y) != 0, MPFR_RNDN);
            } else if ((mpfr_signbit(exact) != 0) != (signbit(y) != 0)) {
                mpfr_add(exact, exact, v, MPFR_RNDN);
            }
            wanted = round_exact(r, exact, MPFR_RNDN);
            mpfr_clear(u);
            mpfr_clear(v);
            mpfr_clear(exact);
        }
        same(r, "modulo", ieee->modulo(r->dtype, a, b, &flags), wanted, a, b, 0);
    }
}

/* The neighbours come from MPFR, the choice between them from the rule. */
static uint64_t model_convert(const row *to, mpfr_t exact, tly_pto_rounding rounding) {
    uint64_t low = round_exact(to, exact, MPFR_RNDD), high = round_exact(to, exact, MPFR_RNDU);
    mpfr_t down, up;
    switch (rounding) {
    case TLY_PTO_ROUND_NEAREST_EVEN:
        return round_exact(to, exact, MPFR_RNDN);
    case TLY_PTO_ROUND_DOWN:
        return limit(to, low, exact, MPFR_RNDD);
    case TLY_PTO_ROUND_UP:
        return limit(to, high, exact, MPFR_RNDU);
    case TLY_PTO_ROUND_ZERO:
        return limit(to, round_exact(to, exact, MPFR_RNDZ), exact, MPFR_RNDZ);
    default:
        break;
    }
    uint64_t zero = limit(to, round_exact(to, exact, MPFR_RNDZ), exact, MPFR_RNDZ);
    if (low == high || mpfr_inf_p(exact)) {
        return rounding == TLY_PTO_ROUND_ODD ? zero : low;
    }
    if (rounding == TLY_PTO_ROUND_ODD) { /* stays finite, as rounding to zero does */
        uint64_t other = zero == low ? high : low;
        return (zero >> to->low_zeros & 1) != 0 || !isfinite(decode(to, other)) ? zero : other;
    }
    mpfr_init2(down, EXACT_BITS);
    mpfr_init2(up, EXACT_BITS);
    double low_value = decode(to, low), high_value = decode(to, high);
    /* beyond the largest number the next one would be as far away as the one before */
    double step = ldexp(1, ilogb(largest(to)) - to->mantissa_bits);
    mpfr_set_d(down, isfinite(low_value) ? low_value : high_value - step, MPFR_RNDN);
    mpfr_set_d(up, isfinite(high_value) ? high_value : low_value + step, MPFR_RNDN);
    mpfr_sub(down, exact, down, MPFR_RNDN);
    mpfr_sub(up, up, exact, MPFR_RNDN);
    int order = mpfr_cmp(down, up);
    bool take_high =
        order > 0 || (order == 0 && (rounding == TLY_PTO_ROUND_HALF_UP || mpfr_sgn(exact) > 0));
    mpfr_clear(down);
    mpfr_clear(up);
    return take_high ? high : low;
}

static void conversions(void **state) {
    check_rng rng = {check_seed(15)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(20000); i++) {
        const row *from = &rows[check_below(&rng, NUM_ROWS)];
        const row *to = &rows[check_below(&rng, NUM_ROWS)];
        tly_pto_numeric_control control = {(uint8_t)check_below(&rng, 7), false};
        uint64_t a = operand(&rng, from);
        uint8_t flags = 0;
        mpfr_t exact;
        if (to->dtype == from->dtype) {
            continue;
        }
        mpfr_init2(exact, 53);
        mpfr_set_d(exact, decode(from, a), MPFR_RNDN);
        uint64_t wanted = mpfr_nan_p(exact) ? canonical_nan(to)
                          : mpfr_zero_p(exact)
                              ? encode(to, decode(from, a))
                              : model_convert(to, exact, (tly_pto_rounding)control.rounding);
        mpfr_clear(exact);
        same(to, "conversion", ieee->convert(from->dtype, to->dtype, &control, a, &flags), wanted,
             a, from->dtype, control.rounding);
    }
}

static void to_integers(void **state) {
    static const struct {
        uint8_t code;
        uint8_t bits;
        bool is_signed;
    } integers[] = {{TLY_PTO_S32, 32, true},  {TLY_PTO_S16, 16, true},  {TLY_PTO_S8, 8, true},
                    {TLY_PTO_U32, 32, false}, {TLY_PTO_U16, 16, false}, {TLY_PTO_U8, 8, false}};
    check_rng rng = {check_seed(16)};
    (void)state;
    for (uint64_t i = 0; i < check_rounds(20000); i++) {
        const row *from = &rows[check_below(&rng, NUM_ROWS)];
        uint32_t t = (uint32_t)check_below(&rng, 6), d = (uint32_t)check_below(&rng, 4);
        tly_pto_numeric_control control = {(uint8_t)directions[d].ours, check_below(&rng, 2) != 0};
        uint64_t a = operand(&rng, from);
        double x = decode(from, a);
        uint8_t flags = 0;
        double most = ldexp(1, integers[t].bits - integers[t].is_signed) - 1;
        double least = integers[t].is_signed ? -most - 1 : 0;
        double whole = d == 0 ? nearbyint(x) : d == 1 ? floor(x) : d == 2 ? ceil(x) : trunc(x);
        uint64_t got = ieee->convert(from->dtype, integers[t].code, &control, a, &flags);
        if (isnan(x)) {
            assert_int_equal(got, 0);
        } else if (whole >= least && whole <= most) {
            assert_int_equal((int64_t)got, (int64_t)whole);
        } else if (control.saturating || isinf(x)) {
            assert_int_equal((int64_t)got, (int64_t)(x < 0 ? least : most));
        } else if (fabs(whole) < 9e18) { /* the low bits */
            uint64_t mask = (UINT64_C(1) << integers[t].bits) - 1;
            assert_int_equal(got & mask, (uint64_t)(int64_t)whole & mask);
        }
        assert_int_equal((flags & TLY_PTO_FLAG_INVALID) != 0 ||
                             (flags & TLY_PTO_FLAG_OVERFLOW) != 0,
                         isnan(x) || whole < least || whole > most);
    }
}

/* One fused multiply-add of exact operands for each step, scales included. */
static void matrix_steps(void **state) {
    static const uint8_t inputs[] = {TLY_PTO_FP32, TLY_PTO_TF32, TLY_PTO_HF32, TLY_PTO_FP16,
                                     TLY_PTO_BF16, TLY_PTO_E5M2, TLY_PTO_E4M3};
    check_rng rng = {check_seed(17)};
    const row *fp32 = &rows[1];
    (void)state;
    for (uint64_t i = 0; i < check_rounds(15000); i++) {
        const row *l = &rows[1], *r = &rows[1];
        uint8_t left = inputs[check_below(&rng, 7)], right = inputs[check_below(&rng, 7)];
        for (uint32_t k = 0; k < NUM_ROWS; k++) {
            l = rows[k].dtype == left ? &rows[k] : l;
            r = rows[k].dtype == right ? &rows[k] : r;
        }
        bool scaled = check_below(&rng, 2) != 0;
        const tly_pto_matrix_types types = {.accumulator = TLY_PTO_FP32,
                                            .left = left,
                                            .right = right,
                                            .left_scale = TLY_PTO_E8M0,
                                            .right_scale = TLY_PTO_E8M0,
                                            .left_scaled = scaled,
                                            .right_scaled = scaled};
        uint64_t a = operand(&rng, l), b = operand(&rng, r), s = operand(&rng, fp32);
        uint64_t p = 90 + check_below(&rng, 75), q = 90 + check_below(&rng, 75);
        mpfr_t x, y, sum, exact;
        mpfr_init2(x, 53);
        mpfr_init2(y, 53);
        mpfr_init2(sum, 53);
        mpfr_init2(exact, EXACT_BITS);
        mpfr_set_d(x, decode(l, a), MPFR_RNDN);
        mpfr_set_d(y, decode(r, b), MPFR_RNDN);
        mpfr_set_d(sum, decode(fp32, s), MPFR_RNDN);
        if (scaled) {
            mpfr_mul_2si(x, x, (long)p - 127, MPFR_RNDN);
            mpfr_mul_2si(y, y, (long)q - 127, MPFR_RNDN);
        }
        mpfr_fma(exact, x, y, sum, MPFR_RNDN);
        uint64_t wanted = round_exact(fp32, exact, MPFR_RNDN);
        mpfr_clear(x);
        mpfr_clear(y);
        mpfr_clear(sum);
        mpfr_clear(exact);
        same(fp32, "matrix step", ieee->matrix_step(&types, s, a, b, p, q), wanted, a, b, s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),   cmocka_unit_test(fused),
        cmocka_unit_test(functions),    cmocka_unit_test(modulo),
        cmocka_unit_test(conversions),  cmocka_unit_test(to_integers),
        cmocka_unit_test(matrix_steps),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpfr_free_cache();
    mpfr_mp_memory_cleanup();
    return failed;
}
