/* SPDX-License-Identifier: Apache-2.0 */
/* What ieee_vector_rows_template.h and ieee_functions_template.h ask for, in AVX-512 (F, BW, DQ,
 * VL). */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define LEVEL(name) name##_avx512

enum { LANES = 16 };

typedef __m512 vector;
typedef int32_t words __attribute__((vector_size(64)));
typedef uint32_t unsigned_words __attribute__((vector_size(64)));
typedef __m256i halves;
typedef __mmask16 lanes;
typedef __m512d doubles;
typedef uint64_t long_words __attribute__((vector_size(64)));

static inline vector v_load(const float *p) {
    return _mm512_loadu_ps(p);
}
static inline void v_store(float *p, vector v) {
    _mm512_storeu_ps(p, v);
}
static inline vector v_set(float number) {
    return _mm512_set1_ps(number);
}
static inline vector v_sqrt(vector v) {
    return _mm512_sqrt_ps(v);
}
static inline lanes v_less(vector a, vector b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ);
}
static inline lanes v_equal(vector a, vector b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ);
}
static inline lanes v_unequal(vector a, vector b) { /* false where there is a NaN */
    return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_OQ);
}
static inline lanes v_unordered(vector a, vector b) {
    return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q);
}
static inline lanes l_none(void) {
    return 0;
}
static inline lanes l_and(lanes a, lanes b) {
    return a & b;
}
static inline lanes l_or(lanes a, lanes b) {
    return a | b;
}
static inline lanes l_without(lanes a, lanes b) {
    return (lanes)(a & ~b);
}
static inline uint32_t l_bits(lanes l) {
    return l;
}
static inline vector v_choose(lanes l, vector there, vector elsewhere) {
    return _mm512_mask_blend_ps(l, elsewhere, there);
}

/* --- halves ----------------------------------------------------------------------------------- */

static inline halves h_load(const uint16_t *p) {
    return _mm256_loadu_si256((const __m256i *)(const void *)p);
}
static inline void h_store(uint16_t *p, halves h) {
    _mm256_storeu_si256((__m256i *)(void *)p, h);
}
static inline halves h_of(vector v) {
    return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
static inline vector v_of_halves(halves h) {
    return _mm512_cvtph_ps(h);
}

/* --- integers --------------------------------------------------------------------------------- */

static inline words w_max(words a, words b) {
    return (words)_mm512_max_epi32((__m512i)a, (__m512i)b);
}
static inline words w_min(words a, words b) {
    return (words)_mm512_min_epi32((__m512i)a, (__m512i)b);
}
static inline int32_t w_largest(words w) {
    return _mm512_reduce_max_epi32((__m512i)w);
}
static inline int32_t w_smallest(words w) {
    return _mm512_reduce_min_epi32((__m512i)w);
}

/* --- sixteen lanes of sums -------------------------------------------------------------------- */

typedef __m512 sixteen;

static inline sixteen s_zero(void) {
    return _mm512_setzero_ps();
}
static inline sixteen s_add(sixteen s, const float *p) {
    return s + _mm512_loadu_ps(p);
}
static inline __m256 s_join(sixteen s) { /* lane i + lane i + 8 */
    return _mm512_castps512_ps256(s) + _mm512_extractf32x8_ps(s, 1);
}

/* --- doubles ---------------------------------------------------------------------------------- */

static inline doubles d_set(double number) {
    return _mm512_set1_pd(number);
}
static inline doubles d_fma(doubles a, doubles b, doubles c) {
    return _mm512_fmadd_pd(a, b, c);
}
static inline doubles d_fms(doubles a, doubles b, doubles c) { /* a * b - c */
    return _mm512_fmsub_pd(a, b, c);
}
static inline doubles d_fnma(doubles a, doubles b, doubles c) { /* c - a * b */
    return _mm512_fnmadd_pd(a, b, c);
}
static inline long_words d_bits(doubles d) {
    return (long_words)d;
}
static inline doubles d_of_bits(long_words w) {
    return (doubles)w;
}
static inline doubles d_sqrt(doubles d) {
    return _mm512_sqrt_pd(d);
}
static inline bool d_all_zero(doubles d) {
    return _mm512_cmp_pd_mask(d, _mm512_setzero_pd(), _CMP_NEQ_OQ) == 0;
}
static inline doubles d_low(vector v) {
    return _mm512_cvtps_pd(_mm512_castps512_ps256(v));
}
static inline doubles d_high(vector v) {
    return _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
}
static inline vector v_of_doubles(doubles low, doubles high) {
    const __m512 half = _mm512_castps256_ps512(_mm512_cvtpd_ps(low));
    return _mm512_insertf32x8(half, _mm512_cvtpd_ps(high), 1);
}

/* --- for ieee_exp_template.h ------------------------------------------------------------------ */

static inline vector v_fma(vector a, vector b, vector c) {
    return _mm512_fmadd_ps(a, b, c);
}
static inline vector v_fnma(vector a, vector b, vector c) { /* c - a * b */
    return _mm512_fnmadd_ps(a, b, c);
}
/* The words of an aligned table of 8 that the lowest 3 bits of v choose. */
static inline vector v_pick(const void *table, vector v) {
    const __m512 twice = _mm512_broadcast_f32x8(_mm256_load_ps(table));
    return _mm512_permutexvar_ps(_mm512_castps_si512(v), twice);
}
