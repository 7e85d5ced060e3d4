/* SPDX-License-Identifier: Apache-2.0 */
/* Included before src/pack/pack_avx512.c (compiler option -include): its intrinsics become SIMDe's,
 * which need AVX2 only. */
#ifndef TLY_TESTS_PACK_EMULATED_AVX512_H
#define TLY_TESTS_PACK_EMULATED_AVX512_H

#define SIMDE_ENABLE_NATIVE_ALIASES
#include <simde/x86/avx512.h>

/* SIMDe 0.7.4 lacks this one. Like the real one it insists on alignment. */
static inline void emulated_stream(void *p, simde__m512i v) {
    simde_mm256_stream_si256((simde__m256i *)p, simde_mm512_castsi512_si256(v));
    simde_mm256_stream_si256((simde__m256i *)p + 1, simde_mm512_extracti64x4_epi64(v, 1));
}
#define _mm512_stream_si512(p, v) emulated_stream(p, v)

#endif
