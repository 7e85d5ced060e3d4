/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the profile `ieee`, one text for every width of vectors. Included once for each level,
 * after its ieee_ops_*.h. */
#include "pto/profile/ieee_rows.h"

#include <string.h>

#define NUMBER   float
#define BITS     uint32_t
#define SIGNED   int32_t
#define NAN_BITS UINT32_C(0x7FC00000)
#define NAME(n)  LEVEL(n##_f32)
#include "pto/profile/ieee_rows_template.h"
#undef NUMBER
#undef BITS
#undef SIGNED
#undef NAN_BITS
#undef NAME

#define NUMBER   double
#define BITS     uint64_t
#define SIGNED   int64_t
#define NAN_BITS UINT64_C(0x7FF8000000000000)
#define NAME(n)  LEVEL(n##_f64)
#include "pto/profile/ieee_rows_template.h"

/* --- flags as the processor raises them ------------------------------------------------------- */

enum { EXCEPTIONS = 0x3F };

/* The control register is slow to write, so it is written only where it changes. What was raised
 * before is raised again at the end, beside what came new. */
static unsigned clear_exceptions(void) {
    unsigned before = _mm_getcsr();
    if ((before & EXCEPTIONS) != 0) {
        _mm_setcsr(before & ~(unsigned)EXCEPTIONS);
    }
    return before;
}

static uint8_t take_exceptions(unsigned before) {
    unsigned now = _mm_getcsr();
    if ((now | before) != now) {
        _mm_setcsr(now | before);
    }
    return (uint8_t)(((now & _MM_EXCEPT_INVALID) != 0 ? TLY_PTO_FLAG_INVALID : 0) |
                     ((now & _MM_EXCEPT_DIV_ZERO) != 0 ? TLY_PTO_FLAG_DIVIDE_BY_ZERO : 0) |
                     ((now & _MM_EXCEPT_OVERFLOW) != 0 ? TLY_PTO_FLAG_OVERFLOW : 0) |
                     ((now & _MM_EXCEPT_UNDERFLOW) != 0 ? TLY_PTO_FLAG_UNDERFLOW : 0) |
                     ((now & _MM_EXCEPT_INEXACT) != 0 ? TLY_PTO_FLAG_INEXACT : 0));
}

/* Loops between the two are functions of their own, not inlined, so that nothing moves across the
 * control register. */
#define BETWEEN static __attribute__((noinline))

static inline vector quiet(vector value) {
    const words nan = {0};
    return v_choose(v_unordered(value, value), (vector)(nan + 0x7FC00000), value);
}

BETWEEN void call(tly_pto_ieee_binary_loop *loop, tly_pto_tile_binary op,
                  const tly_pto_binary_rows *rows) {
    loop(op, rows);
}

static void flagged(tly_pto_ieee_binary_loop *loop, tly_pto_tile_binary op,
                    const tly_pto_binary_rows *rows, uint8_t *flags) {
    unsigned before = clear_exceptions();
    call(loop, op, rows);
    *flags |= take_exceptions(before);
}

#define FUSED(NAME, NUMBER, FMA)                                                                   \
    BETWEEN void NAME##_loop(const NUMBER *left, const NUMBER *right, const NUMBER *addend,        \
                             NUMBER *restrict out, size_t count) {                                 \
        for (size_t i = 0; i < count; i++) {                                                       \
            out[i] = QUIET(FMA(left[i], right[i], addend[i]));                                     \
        }                                                                                          \
    }                                                                                              \
    static void NAME(const tly_pto_fused_row *row, uint8_t *flags) {                               \
        unsigned before = clear_exceptions();                                                      \
        NAME##_loop(row->left, row->right, row->addend, row->out, row->count);                     \
        *flags |= take_exceptions(before);                                                         \
    }
#define QUIET(value) LEVEL(quiet_f32)(value)
FUSED(fused_f32, float, __builtin_fmaf)
#undef QUIET
#define QUIET(value) LEVEL(quiet_f64)(value)
FUSED(fused_f64, double, __builtin_fma)
#undef QUIET
#undef FUSED

static inline vector root(bool reciprocal, vector x) {
    if (reciprocal) {
        return quiet(v_set(1.0f) / x);
    }
    return quiet(v_sqrt(x));
}

BETWEEN void root_loop(bool reciprocal, const float *value, float *out, size_t count) {
    float rest[LANES];
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        v_store(out + at, root(reciprocal, v_load(value + at)));
    }
    if (at < count) {
        v_store(rest, v_set(1.0f));
        memcpy(rest, value + at, (count - at) * sizeof(float));
        v_store(rest, root(reciprocal, v_load(rest)));
        memcpy(out + at, rest, (count - at) * sizeof(float));
    }
}

static void roots(bool reciprocal, const float *value, float *out, size_t count, uint8_t *flags) {
    unsigned before = clear_exceptions();
    root_loop(reciprocal, value, out, count);
    *flags |= take_exceptions(before);
}

/* --- FP16 ------------------------------------------------------------------------------------- */

enum { BLOCK = 8 }; /* vectors */

/* A block whose NaNs stay what they are; false if there is one. */
static inline bool narrow_block(const float *value, uint16_t *out) {
    lanes nan = l_none();
    for (size_t i = 0; i < BLOCK; i += 2) {
        vector x = v_load(value + i * LANES), y = v_load(value + (i + 1) * LANES);
        nan = l_or(nan, v_unordered(x, y));
        h_store(out + i * LANES, h_of(x));
        h_store(out + (i + 1) * LANES, h_of(y));
    }
    return l_bits(nan) == 0;
}

BETWEEN void narrow_loop(const float *value, uint16_t *out, size_t count) {
    float rest[LANES] = {0};
    uint16_t narrow[LANES];
    size_t at = 0;
    while (at + LANES <= count) {
        if (at + BLOCK * LANES <= count && narrow_block(value + at, out + at)) {
            at += BLOCK * LANES;
            continue;
        }
        /* Up to the end of the block, or of the row. Signaling NaNs raise INVALID on the way. */
        size_t end = at + BLOCK * LANES <= count ? at + BLOCK * LANES : count;
        for (; at + LANES <= end; at += LANES) {
            h_store(out + at, h_of(quiet(v_load(value + at))));
        }
    }
    if (at < count) {
        memcpy(rest, value + at, (count - at) * sizeof(float));
        h_store(narrow, h_of(quiet(v_load(rest))));
        memcpy(out + at, narrow, (count - at) * sizeof(uint16_t));
    }
}

static void f32_to_f16(const void *value, void *out, size_t count, uint8_t *flags) {
    unsigned before = clear_exceptions();
    narrow_loop(value, out, count);
    *flags |= take_exceptions(before);
}

BETWEEN void widen_loop(const uint16_t *value, float *out, size_t count) {
    uint16_t rest[LANES] = {0};
    float wide[LANES];
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        v_store(out + at, quiet(v_of_halves(h_load(value + at))));
    }
    if (at < count) {
        memcpy(rest, value + at, (count - at) * sizeof(uint16_t));
        v_store(wide, quiet(v_of_halves(h_load(rest))));
        memcpy(out + at, wide, (count - at) * sizeof(float));
    }
}

static void f16_to_f32(const void *value, void *out, size_t count, uint8_t *flags) {
    unsigned before = clear_exceptions();
    widen_loop(value, out, count);
    *flags |= take_exceptions(before);
}

/* Arithmetic goes by way of FP32. That has more than twice the bits of FP16 and two more, so that
 * rounding to it first changes no result (nor does it where the result is subnormal: sums are exact
 * there, products always, and no inexact quotient of two FP16 numbers comes as near to a third as
 * 2^-23 of it). For the same reason both roundings together raise the flags of the one. */
static inline vector half_result(tly_pto_tile_binary op, vector a, vector b) {
    switch (op) {
    case TLY_PTO_TILE_ADD:
        return a + b;
    case TLY_PTO_TILE_SUB:
        return a - b;
    case TLY_PTO_TILE_MUL:
        return a * b;
    default:
        return a / b;
    }
}

static inline halves half_step(tly_pto_tile_binary op, halves a, halves b) {
    return h_of(quiet(half_result(op, v_of_halves(a), v_of_halves(b))));
}

enum { HALVES = LANES };
#include "pto/profile/ieee_halves_template.h"

#undef NAME
#define NAME(n) LEVEL(n)
#include "pto/profile/ieee_bf16_template.h"
#undef NAME

/* --- reductions ------------------------------------------------------------------------------- */

/* Bits of a sum in sixteen lanes, joined half by half. Elements that are not there are -0, which
 * changes no lane: each begins with +0. */
static inline uint32_t sum_row(const float *value, size_t count) {
    float rest[16];
    sixteen sums = s_zero();
    size_t at = 0;
    for (; at + 16 <= count; at += 16) {
        sums = s_add(sums, value + at);
    }
    if (at < count) {
        for (size_t i = 0; i < 16; i++) {
            rest[i] = at + i < count ? value[at + i] : -0.0f;
        }
        sums = s_add(sums, rest);
    }
    __m256 eight = s_join(sums);
    __m128 four = _mm256_castps256_ps128(eight) + _mm256_extractf128_ps(eight, 1);
    /* lanes that count for nothing add zeros, and raise nothing */
    __m128 zero = _mm_setzero_ps();
    four = _mm_movelh_ps(four, zero) + _mm_movehl_ps(zero, four);
    four = _mm_add_ss(four, _mm_shuffle_ps(four, four, 1));
    float sum = _mm_cvtss_f32(four);
    return sum != sum ? UINT32_C(0x7FC00000) : (uint32_t)_mm_cvtsi128_si32(_mm_castps_si128(four));
}

BETWEEN void sum_loop(const char *value, size_t stride, size_t num_rows, size_t count,
                      uint64_t *out_values) {
    for (size_t i = 0; i < num_rows; i++) {
        out_values[i] = sum_row((const float *)(const void *)(value + i * stride), count);
    }
}

static void sums(const void *value, size_t stride, size_t num_rows, size_t count,
                 uint64_t *out_values, uint8_t *flags) {
    unsigned before = clear_exceptions();
    sum_loop(value, stride, num_rows, count, out_values);
    *flags |= take_exceptions(before);
}

/* Integers in the order of the numbers: negative ones have all bits but the sign turned over. */
static inline words order_of(vector value) {
    const words bits = (words)value;
    return bits ^ (words)((unsigned_words)(bits >> 31) >> 1);
}

/* Bits of the largest or smallest number; false, with nothing done, if there is a NaN. What the
 * last vector lacks is the first element once more. */
static inline bool extreme_row(bool maximum, const float *value, size_t count,
                               uint64_t *out_value) {
    float rest[LANES];
    lanes nan = l_none();
    words best = order_of(v_set(value[0]));
    for (size_t at = 0; at < count; at += LANES) {
        const float *from = value + at;
        if (count - at < LANES) {
            v_store(rest, v_set(value[0]));
            memcpy(rest, from, (count - at) * sizeof(float));
            from = rest;
        }
        vector x = v_load(from);
        nan = l_or(nan, v_unordered(x, x));
        best = maximum ? w_max(best, order_of(x)) : w_min(best, order_of(x));
    }
    if (l_bits(nan) != 0) {
        return false;
    }
    int32_t key = maximum ? w_largest(best) : w_smallest(best);
    *out_value = (uint32_t)(key ^ (int32_t)((uint32_t)(key >> 31) >> 1));
    return true;
}

static inline size_t extreme_rows(bool maximum, const char *value, size_t stride, size_t num_rows,
                                  size_t count, uint64_t *out_values) {
    size_t i = 0;
    while (i < num_rows && extreme_row(maximum, (const float *)(const void *)(value + i * stride),
                                       count, &out_values[i])) {
        i++;
    }
    return i;
}

static size_t extremes(bool maximum, const void *value, size_t stride, size_t num_rows,
                       size_t count, uint64_t *out_values) {
    return maximum ? extreme_rows(true, value, stride, num_rows, count, out_values)
                   : extreme_rows(false, value, stride, num_rows, count, out_values);
}

const tly_pto_ieee_row_kernels LEVEL(tly_pto_ieee_rows) = {
    .binary_f32 = LEVEL(tly_pto_ieee_binary_f32),
    .binary_f64 = LEVEL(tly_pto_ieee_binary_f64),
    .binary_f16 = binary_f16,
    .flagged = flagged,
    .sums = sums,
    .extremes = extremes,
    .exp = LEVEL(tly_pto_ieee_exp_f32),
    .log = LEVEL(tly_pto_ieee_log_f32),
    .rsqrt = LEVEL(tly_pto_ieee_rsqrt_f32),
    .roots = roots,
    .fused_f32 = fused_f32,
    .fused_f64 = fused_f64,
    .f32_to_f16 = f32_to_f16,
    .f16_to_f32 = f16_to_f32,
    .f32_to_bf16 = LEVEL(f32_to_bf16),
    .bf16_to_f32 = LEVEL(bf16_to_f32),
};
