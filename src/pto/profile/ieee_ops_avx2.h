/* SPDX-License-Identifier: Apache-2.0 */
/* What ieee_vector_rows_template.h and ieee_functions_template.h ask for, in AVX2 (with FMA and
 * F16C). Where the operators of C do on vectors, these files use them. */
#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

#define LEVEL(name) name##_avx2

enum { LANES = 8 };

typedef __m256 vector;
typedef int32_t words __attribute__((vector_size(32)));
typedef uint32_t unsigned_words __attribute__((vector_size(32)));
typedef __m128i halves;
typedef __m256 lanes; /* all bits of a lane, or none */
typedef __m256d doubles;
typedef uint64_t long_words __attribute__((vector_size(32)));

static inline vector v_load(const float *p) {
    return _mm256_loadu_ps(p);
}
static inline void v_store(float *p, vector v) {
    _mm256_storeu_ps(p, v);
}
static inline vector v_set(float number) {
    return _mm256_set1_ps(number);
}
static inline vector v_sqrt(vector v) {
    return _mm256_sqrt_ps(v);
}
static inline lanes v_less(vector a, vector b) {
    return _mm256_cmp_ps(a, b, _CMP_LT_OQ);
}
static inline lanes v_equal(vector a, vector b) {
    return _mm256_cmp_ps(a, b, _CMP_EQ_OQ);
}
static inline lanes v_unequal(vector a, vector b) { /* false where there is a NaN */
    return _mm256_cmp_ps(a, b, _CMP_NEQ_OQ);
}
static inline lanes v_unordered(vector a, vector b) {
    return _mm256_cmp_ps(a, b, _CMP_UNORD_Q);
}
static inline lanes l_none(void) {
    return _mm256_setzero_ps();
}
static inline lanes l_and(lanes a, lanes b) {
    return _mm256_and_ps(a, b);
}
static inline lanes l_or(lanes a, lanes b) {
    return _mm256_or_ps(a, b);
}
static inline lanes l_without(lanes a, lanes b) {
    return _mm256_andnot_ps(b, a);
}
static inline uint32_t l_bits(lanes l) {
    return (uint32_t)_mm256_movemask_ps(l);
}
static inline vector v_choose(lanes l, vector there, vector elsewhere) {
    return _mm256_blendv_ps(elsewhere, there, l);
}

/* --- halves ----------------------------------------------------------------------------------- */

static inline halves h_load(const uint16_t *p) {
    return _mm_loadu_si128((const __m128i *)(const void *)p);
}
static inline void h_store(uint16_t *p, halves h) {
    _mm_storeu_si128((__m128i *)(void *)p, h);
}
static inline halves h_of(vector v) {
    return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT);
}
static inline vector v_of_halves(halves h) {
    return _mm256_cvtph_ps(h);
}

/* --- integers --------------------------------------------------------------------------------- */

static inline words w_max(words a, words b) {
    return (words)_mm256_max_epi32((__m256i)a, (__m256i)b);
}
static inline words w_min(words a, words b) {
    return (words)_mm256_min_epi32((__m256i)a, (__m256i)b);
}
/* Halves, pairs and neighbours take turns. */
static inline int32_t w_largest(words w) {
    w = w_max(w, (words)_mm256_permute2x128_si256((__m256i)w, (__m256i)w, 1));
    w = w_max(w, (words)_mm256_shuffle_epi32((__m256i)w, 0x4E));
    w = w_max(w, (words)_mm256_shuffle_epi32((__m256i)w, 0xB1));
    return w[0];
}
static inline int32_t w_smallest(words w) {
    w = w_min(w, (words)_mm256_permute2x128_si256((__m256i)w, (__m256i)w, 1));
    w = w_min(w, (words)_mm256_shuffle_epi32((__m256i)w, 0x4E));
    w = w_min(w, (words)_mm256_shuffle_epi32((__m256i)w, 0xB1));
    return w[0];
}

/* --- sixteen lanes of sums -------------------------------------------------------------------- */

typedef struct sixteen {
    __m256 low, high;
} sixteen;

static inline sixteen s_zero(void) {
    return (sixteen){_mm256_setzero_ps(), _mm256_setzero_ps()};
}
static inline sixteen s_add(sixteen s, const float *p) {
    return (sixteen){s.low + _mm256_loadu_ps(p), s.high + _mm256_loadu_ps(p + 8)};
}
static inline __m256 s_join(sixteen s) { /* lane i + lane i + 8 */
    return s.low + s.high;
}

/* --- doubles ---------------------------------------------------------------------------------- */

static inline doubles d_set(double number) {
    return _mm256_set1_pd(number);
}
static inline doubles d_fma(doubles a, doubles b, doubles c) {
    return _mm256_fmadd_pd(a, b, c);
}
static inline doubles d_fms(doubles a, doubles b, doubles c) { /* a * b - c */
    return _mm256_fmsub_pd(a, b, c);
}
static inline doubles d_fnma(doubles a, doubles b, doubles c) { /* c - a * b */
    return _mm256_fnmadd_pd(a, b, c);
}
static inline long_words d_bits(doubles d) {
    return (long_words)d;
}
static inline doubles d_of_bits(long_words w) {
    return (doubles)w;
}
static inline doubles d_sqrt(doubles d) {
    return _mm256_sqrt_pd(d);
}
static inline bool d_all_zero(doubles d) {
    return _mm256_movemask_pd(_mm256_cmp_pd(d, _mm256_setzero_pd(), _CMP_NEQ_OQ)) == 0;
}
static inline doubles d_low(vector v) {
    return _mm256_cvtps_pd(_mm256_castps256_ps128(v));
}
static inline doubles d_high(vector v) {
    return _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
}
static inline vector v_of_doubles(doubles low, doubles high) {
    return _mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low));
}

/* --- for ieee_exp_template.h ------------------------------------------------------------------ */

static inline vector v_fma(vector a, vector b, vector c) {
    return _mm256_fmadd_ps(a, b, c);
}
static inline vector v_fnma(vector a, vector b, vector c) { /* c - a * b */
    return _mm256_fnmadd_ps(a, b, c);
}
/* The words of an aligned table of 8 that the lowest 3 bits of v choose. */
static inline vector v_pick(const void *table, vector v) {
    return _mm256_permutevar8x32_ps(_mm256_load_ps(table), _mm256_castps_si256(v));
}
