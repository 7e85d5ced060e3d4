/* SPDX-License-Identifier: Apache-2.0 */
/* Included before src/num/fast_avx512.c (compiler option -include): SIMDe 0.7.4 has most of
 * AVX-512, but not these two, which are two halves of AVX2's. */
#ifndef TLY_TESTS_NUM_EMULATED_AVX512_H
#define TLY_TESTS_NUM_EMULATED_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

#include <immintrin.h>

static inline simde__m512 emulated_cvtph_ps(__m256i v) {
    simde__m512 out;
    float *lanes = (float *)&out;
    _mm256_storeu_ps(lanes, _mm256_cvtph_ps(_mm256_castsi256_si128(v)));
    _mm256_storeu_ps(lanes + 8, _mm256_cvtph_ps(_mm256_extracti128_si256(v, 1)));
    return out;
}

static inline __m256i emulated_cvtps_ph(simde__m512 v) {
    const float *lanes = (const float *)&v;
    __m128i low = _mm256_cvtps_ph(_mm256_loadu_ps(lanes), _MM_FROUND_TO_NEAREST_INT);
    __m128i high = _mm256_cvtps_ph(_mm256_loadu_ps(lanes + 8), _MM_FROUND_TO_NEAREST_INT);
    return _mm256_set_m128i(high, low);
}

#undef _mm512_cvtph_ps
#undef _mm512_cvtps_ph
#define _mm512_cvtph_ps(v)       emulated_cvtph_ps(v)
#define _mm512_cvtps_ph(v, mode) emulated_cvtps_ph(v)

#endif
