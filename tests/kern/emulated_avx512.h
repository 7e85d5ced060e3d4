/* SPDX-License-Identifier: Apache-2.0 */
/* Included before a source file with AVX-512 intrinsics (compiler option -include), turns them into
 * SIMDe's, which need AVX2 and FMA only. SIMDe 0.7.4 lacks some or gives them wrong arguments:
 * those are here. */
#ifndef TLY_TESTS_KERN_EMULATED_AVX512_H
#define TLY_TESTS_KERN_EMULATED_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>
#include <simde/x86/fma.h>

#undef _mm512_madd_epi16
#define _mm512_madd_epi16(a, b) simde_mm512_madd_epi16(a, b)

static inline simde__m512i emulated_join(simde__m256i low, simde__m256i high) {
    return simde_mm512_inserti64x4(simde_mm512_castsi256_si512(low), high, 1);
}

static inline simde__m512i emulated_cvtepu16_epi32(simde__m256i v) {
    return emulated_join(simde_mm256_cvtepu16_epi32(simde_mm256_castsi256_si128(v)),
                         simde_mm256_cvtepu16_epi32(simde_mm256_extracti128_si256(v, 1)));
}
#define _mm512_cvtepu16_epi32(v) emulated_cvtepu16_epi32(v)

static inline simde__m512i emulated_cvtepi8_epi32(simde__m128i v) {
    return emulated_join(simde_mm256_cvtepi8_epi32(v),
                         simde_mm256_cvtepi8_epi32(simde_mm_srli_si128(v, 8)));
}
#define _mm512_cvtepi8_epi32(v) emulated_cvtepi8_epi32(v)

static inline simde__m512i emulated_srai_epi32(simde__m512i v, int count) {
    return emulated_join(
        simde_mm256_sra_epi32(simde_mm512_castsi512_si256(v), simde_mm_cvtsi32_si128(count)),
        simde_mm256_sra_epi32(simde_mm512_extracti64x4_epi64(v, 1), simde_mm_cvtsi32_si128(count)));
}
#define _mm512_srai_epi32(v, count) emulated_srai_epi32(v, count)

#endif
