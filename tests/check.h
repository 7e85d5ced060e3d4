/* SPDX-License-Identifier: Apache-2.0 */
/* What every test program includes: cmocka with the headers that it wants before it. */
#ifndef TLY_TESTS_CHECK_H
#define TLY_TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <tilery/status.h>

/* The call succeeds; otherwise its message is shown. `err` is the tly_error given to it. */
#define CHECK_OK(call, err)                                                                        \
    do {                                                                                           \
        tly_status status_ = (call);                                                               \
        if (status_ != TLY_OK) {                                                                   \
            fail_msg("%s: %s: %s (%s)", #call, tly_status_name(status_), (err)->message,           \
                     (err)->rule);                                                                 \
        }                                                                                          \
    } while (0)

/* The call fails with this status and names this rule. */
#define CHECK_RULE(call, err, wanted, wanted_rule)                                                 \
    do {                                                                                           \
        tly_status status_ = (call);                                                               \
        if (status_ != (wanted)) {                                                                 \
            fail_msg("%s: %s, wanted %s", #call, tly_status_name(status_),                         \
                     tly_status_name(wanted));                                                     \
        }                                                                                          \
        assert_int_equal((err)->status, (wanted));                                                 \
        assert_string_equal((err)->rule, (wanted_rule));                                           \
        assert_true((err)->message[0] != '\0');                                                    \
    } while (0)

/* A generator of random numbers whose seed is printed by the test that uses it. */
typedef struct check_rng {
    uint64_t state;
} check_rng;

static inline uint64_t check_random(check_rng *rng) {
    uint64_t z = (rng->state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* How often a randomised test repeats: `normal` times in `make check`; `make proof` sets
 * TILERY_ROUNDS for the tests named in tables/proofs.toml. */
static inline uint64_t check_rounds(uint64_t normal) {
    const char *text = getenv("TILERY_ROUNDS");
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : normal;
}

/* Where its random numbers start: `normal`, or TILERY_SEED where that is set (`make proof`). */
static inline uint64_t check_seed(uint64_t normal) {
    const char *text = getenv("TILERY_SEED");
    return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : normal;
}

/* Uniform in 0 .. bound-1; bound > 0. */
static inline uint64_t check_below(check_rng *rng, uint64_t bound) {
    return check_random(rng) % bound;
}

#endif
