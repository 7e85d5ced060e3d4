/* SPDX-License-Identifier: Apache-2.0 */
#include "pto/profile/ieee_rows.h"

#include <immintrin.h>
#include <string.h>

#define NUMBER   float
#define BITS     uint32_t
#define NAN_BITS UINT32_C(0x7FC00000)
#define NAME(n)  n##_f32_avx2
#include "pto/profile/ieee_rows_template.h"
#undef NUMBER
#undef BITS
#undef NAN_BITS
#undef NAME

#define NUMBER   double
#define BITS     uint64_t
#define NAN_BITS UINT64_C(0x7FF8000000000000)
#define NAME(n)  n##_f64_avx2
#include "pto/profile/ieee_rows_template.h"

enum { LANES = 8, EXCEPTIONS = 0x3F };

/* --- flags as the processor raises them ------------------------------------------------------- */

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

static inline __m256 quiet(__m256 value) {
    const __m256 nan = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000));
    return _mm256_blendv_ps(value, nan, _mm256_cmp_ps(value, value, _CMP_UNORD_Q));
}

static __attribute__((noinline)) void call(tly_pto_ieee_binary_loop *loop, tly_pto_tile_binary op,
                                           const tly_pto_binary_rows *rows) {
    loop(op, rows);
}

void tly_pto_ieee_flagged_avx2(tly_pto_ieee_binary_loop *loop, tly_pto_tile_binary op,
                               const tly_pto_binary_rows *rows, uint8_t *flags) {
    unsigned before = clear_exceptions();
    call(loop, op, rows);
    *flags |= take_exceptions(before);
}

static inline __m256 root8(bool reciprocal, __m256 x) {
    return quiet(reciprocal ? _mm256_div_ps(_mm256_set1_ps(1.0f), x) : _mm256_sqrt_ps(x));
}

/* Not inlined, so that nothing moves across the control register. */
static __attribute__((noinline)) void root_loop(bool reciprocal, const float *value, float *out,
                                                size_t count) {
    float rest[LANES];
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        _mm256_storeu_ps(out + at, root8(reciprocal, _mm256_loadu_ps(value + at)));
    }
    if (at < count) {
        for (size_t i = 0; i < LANES; i++) {
            rest[i] = at + i < count ? value[at + i] : 1.0f;
        }
        _mm256_storeu_ps(rest, root8(reciprocal, _mm256_loadu_ps(rest)));
        memcpy(out + at, rest, (count - at) * sizeof(float));
    }
}

void tly_pto_ieee_root_f32_avx2(bool reciprocal, const void *value, void *out, size_t count,
                                uint8_t *flags) {
    unsigned before = clear_exceptions();
    root_loop(reciprocal, value, out, count);
    *flags |= take_exceptions(before);
}

static inline __m128i to_half(__m256 x) {
    const __m256i nan = _mm256_set1_epi32(0x7FC00000);
    /* the signaling ones raise INVALID in the comparison */
    __m256 is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
    return _mm256_cvtps_ph(_mm256_blendv_ps(x, _mm256_castsi256_ps(nan), is_nan),
                           _MM_FROUND_TO_NEAREST_INT);
}

enum { BLOCK = 8 }; /* vectors */

/* A block whose NaNs stay what they are; 0 if there is one. */
static inline int narrow_block(const float *value, uint16_t *out) {
    __m256 nan = _mm256_setzero_ps();
    for (size_t i = 0; i < BLOCK; i += 2) {
        __m256 x = _mm256_loadu_ps(value + i * LANES);
        __m256 y = _mm256_loadu_ps(value + (i + 1) * LANES);
        nan = _mm256_or_ps(nan, _mm256_cmp_ps(x, y, _CMP_UNORD_Q));
        _mm_storeu_si128((__m128i *)(out + i * LANES),
                         _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
        _mm_storeu_si128((__m128i *)(out + (i + 1) * LANES),
                         _mm256_cvtps_ph(y, _MM_FROUND_TO_NEAREST_INT));
    }
    return _mm256_movemask_ps(nan) == 0;
}

static __attribute__((noinline)) void narrow_loop(const float *value, uint16_t *out, size_t count) {
    float rest[LANES] = {0};
    uint16_t halves[LANES];
    size_t at = 0;
    while (at + LANES <= count) {
        if (at + BLOCK * LANES <= count && narrow_block(value + at, out + at)) {
            at += BLOCK * LANES;
            continue;
        }
        /* up to the end of the block, or of the row */
        size_t end = at + BLOCK * LANES <= count ? at + BLOCK * LANES : count;
        for (; at + LANES <= end; at += LANES) {
            _mm_storeu_si128((__m128i *)(out + at), to_half(_mm256_loadu_ps(value + at)));
        }
    }
    if (at < count) {
        memcpy(rest, value + at, (count - at) * sizeof(float));
        _mm_storeu_si128((__m128i *)halves, to_half(_mm256_loadu_ps(rest)));
        memcpy(out + at, halves, (count - at) * sizeof(uint16_t));
    }
}

void tly_pto_ieee_f32_to_f16_avx2(const void *value, void *out, size_t count, uint8_t *flags) {
    unsigned before = clear_exceptions();
    narrow_loop(value, out, count);
    *flags |= take_exceptions(before);
}

static __attribute__((noinline)) void widen_loop(const uint16_t *value, float *out, size_t count) {
    uint16_t rest[LANES] = {0};
    float wide[LANES];
    size_t at = 0;
    for (; at + LANES <= count; at += LANES) {
        __m128i half = _mm_loadu_si128((const __m128i *)(value + at));
        _mm256_storeu_ps(out + at, quiet(_mm256_cvtph_ps(half)));
    }
    if (at < count) {
        memcpy(rest, value + at, (count - at) * sizeof(uint16_t));
        _mm256_storeu_ps(wide, quiet(_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)rest))));
        memcpy(out + at, wide, (count - at) * sizeof(float));
    }
}

void tly_pto_ieee_f16_to_f32_avx2(const void *value, void *out, size_t count, uint8_t *flags) {
    unsigned before = clear_exceptions();
    widen_loop(value, out, count);
    *flags |= take_exceptions(before);
}

/* --- reductions ------------------------------------------------------------------------------- */

/* Bits of a sum. Sixteen lanes in two registers, joined half by half. Elements that are not there
 * are -0, which changes no lane: each begins with +0. */
static inline uint32_t sum_row(const float *value, size_t count) {
    float rest[2 * LANES];
    __m256 low = _mm256_setzero_ps(), high = _mm256_setzero_ps();
    size_t at = 0;
    for (; at + 2 * LANES <= count; at += 2 * LANES) {
        low = _mm256_add_ps(low, _mm256_loadu_ps(value + at));
        high = _mm256_add_ps(high, _mm256_loadu_ps(value + at + LANES));
    }
    if (at < count) {
        for (size_t i = 0; i < 2 * LANES; i++) {
            rest[i] = at + i < count ? value[at + i] : -0.0f;
        }
        low = _mm256_add_ps(low, _mm256_loadu_ps(rest));
        high = _mm256_add_ps(high, _mm256_loadu_ps(rest + LANES));
    }
    low = _mm256_add_ps(low, high);
    __m128 four = _mm_add_ps(_mm256_castps256_ps128(low), _mm256_extractf128_ps(low, 1));
    /* lanes that count for nothing add zeros, and raise nothing */
    __m128 zero = _mm_setzero_ps();
    four = _mm_add_ps(_mm_movelh_ps(four, zero), _mm_movehl_ps(zero, four));
    four = _mm_add_ss(four, _mm_shuffle_ps(four, four, 1));
    float sum = _mm_cvtss_f32(four);
    return sum != sum ? UINT32_C(0x7FC00000) : (uint32_t)_mm_cvtsi128_si32(_mm_castps_si128(four));
}

static __attribute__((noinline)) void sum_loop(const char *value, size_t stride, size_t num_rows,
                                               size_t count, uint64_t *out_values) {
    for (size_t i = 0; i < num_rows; i++) {
        out_values[i] = sum_row((const float *)(const void *)(value + i * stride), count);
    }
}

void tly_pto_ieee_sums_f32_avx2(const void *value, size_t stride, size_t num_rows, size_t count,
                                uint64_t *out_values, uint8_t *flags) {
    unsigned before = clear_exceptions();
    sum_loop(value, stride, num_rows, count, out_values);
    *flags |= take_exceptions(before);
}

/* Integers in the order of the numbers: negative ones have all bits but the sign turned over. */
static inline __m256i order_of(__m256i bits) {
    return _mm256_xor_si256(bits, _mm256_srli_epi32(_mm256_srai_epi32(bits, 31), 1));
}

static inline __m256i farther(bool maximum, __m256i a, __m256i b) {
    return maximum ? _mm256_max_epi32(a, b) : _mm256_min_epi32(a, b);
}

/* Bits of the largest or smallest number; false, with nothing done, if there is a NaN. What the
 * last vector lacks is the first element once more. */
static inline bool extreme_row(bool maximum, const float *value, size_t count,
                               uint64_t *out_value) {
    float rest[LANES];
    __m256 nan = _mm256_setzero_ps();
    __m256i best = order_of(_mm256_castps_si256(_mm256_set1_ps(value[0])));
    for (size_t at = 0; at < count; at += LANES) {
        const float *from = value + at;
        if (count - at < LANES) {
            for (size_t i = 0; i < LANES; i++) {
                rest[i] = at + i < count ? from[i] : value[0];
            }
            from = rest;
        }
        __m256 x = _mm256_loadu_ps(from);
        nan = _mm256_or_ps(nan, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
        best = farther(maximum, best, order_of(_mm256_castps_si256(x)));
    }
    if (_mm256_movemask_ps(nan) != 0) {
        return false;
    }
    best = farther(maximum, best, _mm256_permute2x128_si256(best, best, 1));
    best = farther(maximum, best, _mm256_shuffle_epi32(best, 0x4E)); /* the other two of four */
    best = farther(maximum, best, _mm256_shuffle_epi32(best, 0xB1)); /* the neighbour */
    *out_value = (uint32_t)_mm256_cvtsi256_si32(order_of(best));     /* its own inverse */
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

size_t tly_pto_ieee_extremes_f32_avx2(bool maximum, const void *value, size_t stride,
                                      size_t num_rows, size_t count, uint64_t *out_values) {
    return maximum ? extreme_rows(true, value, stride, num_rows, count, out_values)
                   : extreme_rows(false, value, stride, num_rows, count, out_values);
}
