/* SPDX-License-Identifier: Apache-2.0 */
#include <immintrin.h>

/* The sums of the lanes of four vectors. */
static inline __m128i sums(__m256i v0, __m256i v1, __m256i v2, __m256i v3) {
    __m256i low = _mm256_hadd_epi32(v0, v1), high = _mm256_hadd_epi32(v2, v3);
    __m256i all = _mm256_hadd_epi32(low, high);
    return _mm_add_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
}
