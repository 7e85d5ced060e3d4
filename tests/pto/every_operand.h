/* SPDX-License-Identifier: Apache-2.0 */
/* SQRT, LOG, RECIP, EXP and RSQRT of FP32 operands in blocks, by as many threads as there are
 * processors: what the profile `ieee` has to give, results and flags. The C library's doubles say
 * it; where a double does not decide the rounding, MPFR does. A test goes through the blocks with
 * `check_block`; `make check` takes a sample, and `make proof` sets the number of operands to 2^32,
 * which is all of them. */
#ifndef TLY_TESTS_PTO_EVERY_OPERAND_H
#define TLY_TESTS_PTO_EVERY_OPERAND_H

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <mpfr.h>

#include "check.h"
#include "pto/profile/element.h"

enum { BLOCK = 4096, NUM_BLOCKS = 1 << 20, MAX_THREADS = 64, PRECISION = 200 };

#define NAN_BITS      UINT32_C(0x7FC00000)
#define INFINITY_BITS UINT32_C(0x7F800000)
#define SIGN          UINT32_C(0x80000000)

static const tly_pto_profile *const ieee = &tly_pto_profile_ieee;

typedef struct answer {
    uint32_t bits;
    uint8_t flags;
} answer;

/* What one thread knows. */
typedef struct worker {
    struct run *run;
    mpfr_t in, out;
    uint64_t num_operands;
    uint64_t num_exact; /* decided by MPFR */
    double nearest;     /* to the middle of two numbers, in units of their distance */
    uint32_t hardest;
    char failure[160];
} worker;

typedef answer oracle(worker *w, float x);

/* One function over some of the blocks. */
typedef struct run {
    const char *name;
    tly_pto_tile_unary op;
    oracle *of;
    uint64_t num_blocks;
    uint64_t offset; /* of the first block of a sample */
    uint32_t any;    /* a random number, the same for all blocks */
    uint64_t next;   /* taken by the threads in turn */
} run;

static float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* --- the oracle ----------------------------------------------------------------------------- */

typedef int exact_function(mpfr_t, mpfr_srcptr, mpfr_rnd_t);

/* The float nearest to f(x), of which y is an approximation with at most this relative error. */
static float nearest(worker *w, exact_function *f, float x, double y, double error) {
    float low = (float)(y * (1 - error)), high = (float)(y * (1 + error));
    if (low == high) {
        return low;
    }
    w->num_exact++;
    mpfr_set_flt(w->in, x, MPFR_RNDN);
    f(w->out, w->in, MPFR_RNDN);
    float result = mpfr_get_flt(w->out, MPFR_RNDN);
    float other = nextafterf(result, mpfr_cmp_d(w->out, result) > 0 ? INFINITY : -INFINITY);
    mpfr_sub_d(w->out, w->out, ((double)result + other) / 2, MPFR_RNDN);
    double distance = fabs(mpfr_get_d(w->out, MPFR_RNDN) / ((double)other - result));
    if (distance < w->nearest) {
        w->nearest = distance;
        w->hardest = bits_of(x);
    }
    return result;
}

/* `unrounded` is near enough to tell whether 24 bits of it, with any exponent, are below 2^-126. */
static answer rounded(float value, double unrounded, bool inexact) {
    uint8_t flags = 0;
    if (inexact) {
        flags = TLY_PTO_FLAG_INEXACT;
        flags |= isinf(value) ? TLY_PTO_FLAG_OVERFLOW : 0;
        flags |= fabs(unrounded) < 0x1p-126 - 0x1p-151 ? TLY_PTO_FLAG_UNDERFLOW : 0;
    }
    return (answer){bits_of(value), flags};
}

static answer invalid(void) {
    return (answer){NAN_BITS, TLY_PTO_FLAG_INVALID};
}

static answer divided_by_zero(uint32_t sign) {
    return (answer){INFINITY_BITS | sign, TLY_PTO_FLAG_DIVIDE_BY_ZERO};
}

/* The root of a number of 24 bits, rounded to 53 and then to 24, is rounded as if once; so is the
 * quotient of two. Products of two floats are exact as doubles. */
static answer square_root(worker *w, float x) {
    (void)w;
    if (x < 0) {
        return invalid();
    }
    float y = (float)sqrt((double)x);
    return rounded(y, y, isfinite(x) && (double)y * y != x);
}

static answer reciprocal(worker *w, float x) {
    (void)w;
    if (x == 0) {
        return divided_by_zero(bits_of(x) & SIGN);
    }
    float y = (float)(1.0 / x);
    return rounded(y, 1.0 / x, isfinite(x) && (double)y * x != 1);
}

/* Exact only where y is a power of two: x = 1 / y^2 has few bits then, and no factor but 2. */
static answer reciprocal_root(worker *w, float x) {
    if (x == 0) {
        return divided_by_zero(bits_of(x) & SIGN);
    }
    if (x < 0) {
        return invalid();
    }
    float y = nearest(w, mpfr_rec_sqrt, x, 1.0 / sqrt((double)x), 0x1p-50);
    int exponent;
    bool exact = frexpf(y, &exponent) == 0.5f && (double)y * y * x == 1;
    return rounded(y, y, isfinite(x) && !exact);
}

/* The C library promises less than one unit in the last place of a double, 2^-52. */
static answer exponential(worker *w, float x) {
    double y = exp((double)x);
    return rounded(nearest(w, mpfr_exp, x, y, 0x1p-48), y, isfinite(x) && x != 0);
}

static answer logarithm(worker *w, float x) {
    if (x == 0) {
        return divided_by_zero(SIGN);
    }
    if (x < 0) {
        return invalid();
    }
    double y = log((double)x);
    return rounded(nearest(w, mpfr_log, x, y, 0x1p-48), y, isfinite(x) && x != 1);
}

static answer answer_of(worker *w, float x) {
    if (isnan(x)) {
        bool signaling = (bits_of(x) & UINT32_C(0x00400000)) == 0;
        return (answer){NAN_BITS, signaling ? TLY_PTO_FLAG_INVALID : 0};
    }
    return w->run->of(w, x);
}

/* --- the sweep ------------------------------------------------------------------------------ */

static bool agrees(worker *w, const char *who, uint32_t operand, answer got, answer wanted) {
    if (got.bits != wanted.bits || got.flags != wanted.flags) {
        snprintf(w->failure, sizeof w->failure,
                 "%s of %08x, %s: %08x and flags %x, not %08x and %x", w->run->name, operand, who,
                 got.bits, got.flags, wanted.bits, wanted.flags);
        return false;
    }
    return true;
}

/* Whether the operands from `operands[0]` on give what is wanted; else `failure` says what is
 * wrong. */
static bool check_block(worker *w, const uint32_t *operands, const answer *wanted);

static bool check_operands(worker *w, uint32_t first) {
    uint32_t operands[BLOCK];
    answer wanted[BLOCK];
    for (uint32_t i = 0; i < BLOCK; i++) {
        operands[i] = first + i;
        wanted[i] = answer_of(w, float_of(first + i));
    }
    w->num_operands += BLOCK;
    return check_block(w, operands, wanted);
}

static void *work(void *user) {
    worker *w = user;
    run *r = w->run;
    mpfr_inits2(PRECISION, w->in, w->out, (mpfr_ptr)0);
    for (;;) {
        uint64_t i = __atomic_fetch_add(&r->next, 1, __ATOMIC_RELAXED);
        if (i >= r->num_blocks) {
            break;
        }
        uint64_t block = r->offset + i * (NUM_BLOCKS / r->num_blocks);
        if (!check_operands(w, (uint32_t)(block % NUM_BLOCKS) * BLOCK)) {
            break;
        }
    }
    mpfr_clears(w->in, w->out, (mpfr_ptr)0);
    mpfr_free_cache();
    return NULL;
}

static void sweep(const char *name, tly_pto_tile_unary op, oracle *of) {
    check_rng rng = {check_seed(31)};
    uint64_t num_blocks = check_rounds(UINT64_C(40) * BLOCK) / BLOCK;
    num_blocks = num_blocks == 0 ? 1 : num_blocks < NUM_BLOCKS ? num_blocks : NUM_BLOCKS;
    run r = {.name = name,
             .op = op,
             .of = of,
             .num_blocks = num_blocks,
             .offset = check_below(&rng, NUM_BLOCKS),
             .any = (uint32_t)check_random(&rng)};
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    uint32_t num_threads = processors < 1             ? 1
                           : processors < MAX_THREADS ? (uint32_t)processors
                                                      : MAX_THREADS;
    static worker workers[MAX_THREADS];
    pthread_t threads[MAX_THREADS];
    uint64_t num_operands = 0, num_exact = 0;
    const worker *hardest = &workers[0];
    for (uint32_t i = 0; i < num_threads; i++) {
        workers[i] = (worker){.run = &r, .nearest = 1};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (uint32_t i = 0; i < num_threads; i++) {
        pthread_join(threads[i], NULL);
        num_operands += workers[i].num_operands;
        num_exact += workers[i].num_exact;
        hardest = workers[i].nearest < hardest->nearest ? &workers[i] : hardest;
    }
    for (uint32_t i = 0; i < num_threads; i++) {
        if (workers[i].failure[0] != '\0') {
            fail_msg("%s", workers[i].failure);
        }
    }
    assert_int_equal(num_operands, num_blocks * BLOCK);
    printf(
        "# %s: %llu operands, %llu of them decided by MPFR; hardest %08x, 2^%.2f from a middle\n",
        name, (unsigned long long)num_operands, (unsigned long long)num_exact, hardest->hardest,
        log2(hardest->nearest));
}

static void exponentials(void **state) {
    (void)state;
    sweep("EXP", TLY_PTO_TILE_EXP, exponential);
}

static void logarithms(void **state) {
    (void)state;
    sweep("LOG", TLY_PTO_TILE_LOG, logarithm);
}

static void square_roots(void **state) {
    (void)state;
    sweep("SQRT", TLY_PTO_TILE_SQRT, square_root);
}

static void reciprocals(void **state) {
    (void)state;
    sweep("RECIP", TLY_PTO_TILE_RECIP, reciprocal);
}

static void reciprocal_roots(void **state) {
    (void)state;
    sweep("RSQRT", TLY_PTO_TILE_RSQRT, reciprocal_root);
}

static int run_every_operand(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exponentials),     cmocka_unit_test(logarithms),
        cmocka_unit_test(square_roots),     cmocka_unit_test(reciprocals),
        cmocka_unit_test(reciprocal_roots),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    mpfr_free_cache();
    mpfr_mp_memory_cleanup();
    return failed;
}

#endif
