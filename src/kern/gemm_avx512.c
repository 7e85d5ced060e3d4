/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of gemm_template.h for AVX-512 (F, BW, DQ, VL). A tile is eight rows of two vectors:
 * the sums take sixteen of thirty-two registers. The tests also compile this file through SIMDe, so
 * that it runs on machines without AVX-512. */
#include <immintrin.h>
#include <string.h>

#include "kern/gemm.h"

/* bf16 pairs: the element with the higher index is the upper half of each 32 bits. */
static inline __m512 bf16_of_pair(const void *p, uint64_t g) {
    const __m512i pair = _mm512_loadu_si512(p);
    return _mm512_castsi512_ps(g != 0 ? _mm512_and_si512(pair, _mm512_set1_epi32((int)0xFFFF0000u))
                                      : _mm512_slli_epi32(pair, 16));
}

static inline __m512 bf16_of_row(const void *p) {
    const __m256i row = _mm256_loadu_si256((const __m256i *)p);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(row), 16));
}

static inline __m512i i8_of_row(const void *p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p));
}

static inline __m512i i8_of_quad(const void *p, uint64_t g) {
    const __m512i quad = _mm512_loadu_si512(p);
    return _mm512_srai_epi32(_mm512_sll_epi32(quad, _mm_cvtsi32_si128(24 - 8 * (int)g)), 24);
}

static inline float widen_bf16(uint16_t x) {
    const uint32_t bits = (uint32_t)x << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

#define NAME           f32
#define A_ELEMENT      float
#define B_ELEMENT      float
#define ACC            float
#define WIDEN_A(x)     (x)
#define VEC            __m512
#define LANES          16
#define GROUP          1
#define B_VEC(p, g)    _mm512_loadu_ps(p)
#define V_ZERO()       _mm512_setzero_ps()
#define V_SPLAT(p)     _mm512_set1_ps(*(p))
#define V_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define V_LOAD(p)      _mm512_loadu_ps(p)
#define V_STORE(p, v)  _mm512_storeu_ps(p, v)
#define TILE_VECS      2
#include "kern/gemm_template.h"

#define NAME           f64
#define A_ELEMENT      double
#define B_ELEMENT      double
#define ACC            double
#define WIDEN_A(x)     (x)
#define VEC            __m512d
#define LANES          8
#define GROUP          1
#define B_VEC(p, g)    _mm512_loadu_pd(p)
#define V_ZERO()       _mm512_setzero_pd()
#define V_SPLAT(p)     _mm512_set1_pd(*(p))
#define V_FMA(a, b, c) _mm512_fmadd_pd(a, b, c)
#define V_LOAD(p)      _mm512_loadu_pd(p)
#define V_STORE(p, v)  _mm512_storeu_pd(p, v)
#define TILE_VECS      2
#include "kern/gemm_template.h"

#define NAME           bf16
#define A_ELEMENT      uint16_t
#define B_ELEMENT      uint16_t
#define ACC            float
#define WIDEN_A(x)     widen_bf16(x)
#define VEC            __m512
#define LANES          16
#define GROUP          1
#define B_VEC(p, g)    bf16_of_row(p)
#define V_ZERO()       _mm512_setzero_ps()
#define V_SPLAT(p)     _mm512_set1_ps(*(p))
#define V_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define V_LOAD(p)      _mm512_loadu_ps(p)
#define V_STORE(p, v)  _mm512_storeu_ps(p, v)
#define TILE_VECS      2
#include "kern/gemm_template.h"

#define NAME           bf16x2
#define A_ELEMENT      uint16_t
#define B_ELEMENT      uint16_t
#define ACC            float
#define WIDEN_A(x)     widen_bf16(x)
#define VEC            __m512
#define LANES          16
#define GROUP          2
#define B_VEC(p, g)    bf16_of_pair(p, g)
#define V_ZERO()       _mm512_setzero_ps()
#define V_SPLAT(p)     _mm512_set1_ps(*(p))
#define V_FMA(a, b, c) _mm512_fmadd_ps(a, b, c)
#define V_LOAD(p)      _mm512_loadu_ps(p)
#define V_STORE(p, v)  _mm512_storeu_ps(p, v)
#define TILE_VECS      2
#include "kern/gemm_template.h"

/* Both factors fit in 16 bits and the upper half of A's lanes is zero, so that the pairwise
 * multiply is one exact product. */
#define NAME           u8s8
#define A_ELEMENT      uint8_t
#define B_ELEMENT      int8_t
#define ACC            int32_t
#define WIDEN_A(x)     (x)
#define VEC            __m512i
#define LANES          16
#define GROUP          1
#define B_VEC(p, g)    i8_of_row(p)
#define V_ZERO()       _mm512_setzero_si512()
#define V_SPLAT(p)     _mm512_set1_epi32(*(p))
#define V_FMA(a, b, c) _mm512_add_epi32(_mm512_madd_epi16(a, b), c)
#define V_LOAD(p)      _mm512_loadu_si512(p)
#define V_STORE(p, v)  _mm512_storeu_si512(p, v)
#define TILE_VECS      2
#include "kern/gemm_template.h"

#define NAME           u8s8x4
#define A_ELEMENT      uint8_t
#define B_ELEMENT      int8_t
#define ACC            int32_t
#define WIDEN_A(x)     (x)
#define VEC            __m512i
#define LANES          16
#define GROUP          4
#define B_VEC(p, g)    i8_of_quad(p, g)
#define V_ZERO()       _mm512_setzero_si512()
#define V_SPLAT(p)     _mm512_set1_epi32(*(p))
#define V_FMA(a, b, c) _mm512_add_epi32(_mm512_madd_epi16(a, b), c)
#define V_LOAD(p)      _mm512_loadu_si512(p)
#define V_STORE(p, v)  _mm512_storeu_si512(p, v)
#define TILE_VECS      2
#include "kern/gemm_template.h"

#define ROW(a, b, c, group, unit, name)                                                            \
    { a, b, c, group, TLY_SIMD_AVX512, unit, 2 * unit, 0, run_##name, scratch_len_##name }

const tly_kern_gemm tly_kern_gemm_avx512[] = {
    ROW(TLY_F32, TLY_F32, TLY_F32, 1, 16, f32),
    ROW(TLY_F64, TLY_F64, TLY_F64, 1, 8, f64),
    ROW(TLY_BF16, TLY_BF16, TLY_F32, 2, 16, bf16x2),
    ROW(TLY_BF16, TLY_BF16, TLY_F32, 1, 16, bf16),
    ROW(TLY_U8, TLY_I8, TLY_I32, 4, 16, u8s8x4),
    ROW(TLY_U8, TLY_I8, TLY_I32, 1, 16, u8s8),
    {0},
};
