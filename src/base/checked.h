/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on sizes that says when a result does not fit. Each returns 0 on success, 1 on
 * overflow; the result is undefined then. */
#ifndef TLY_BASE_CHECKED_H
#define TLY_BASE_CHECKED_H

#include <stdint.h>

static inline int tly_base_add_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return __builtin_add_overflow(a, b, out);
}

static inline int tly_base_sub_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return __builtin_sub_overflow(a, b, out);
}

static inline int tly_base_mul_u64(uint64_t a, uint64_t b, uint64_t *out) {
    return __builtin_mul_overflow(a, b, out);
}

static inline int tly_base_add_i64(int64_t a, int64_t b, int64_t *out) {
    return __builtin_add_overflow(a, b, out);
}

/* count * stride with an unsigned count. */
static inline int tly_base_mul_u64_i64(uint64_t count, int64_t stride, int64_t *out) {
    return __builtin_mul_overflow(count, stride, out);
}

/* Rounds up to a multiple of `unit` (> 0). */
static inline int tly_base_round_up_u64(uint64_t value, uint64_t unit, uint64_t *out) {
    uint64_t rest = value % unit;
    if (rest == 0) {
        *out = value;
        return 0;
    }
    return __builtin_add_overflow(value, unit - rest, out);
}

static inline int tly_base_is_power_of_two(uint64_t value) {
    return value != 0 && (value & (value - 1)) == 0;
}

#endif
