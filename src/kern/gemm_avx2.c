/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of gemm_template.h for AVX2 and FMA. Nine of sixteen registers hold eight sums and
 * the row of B; elements of A are broadcast from memory. */
#include <immintrin.h>
#include <string.h>

#include "kern/gemm.h"

static inline __m256i load_256(const void *p) {
    return _mm256_loadu_si256((const __m256i *)p);
}
static inline __m128i load_128(const void *p) {
    return _mm_loadu_si128((const __m128i *)p);
}
static inline __m128i load_64(const void *p) {
    return _mm_loadl_epi64((const __m128i *)p);
}
static inline void store_256(void *p, __m256i v) {
    _mm256_storeu_si256((__m256i *)p, v);
}

/* bf16 pairs: the element with the higher index is the upper half of each 32 bits. */
static inline __m256 bf16_of_pair(const void *p, uint64_t g) {
    const __m256i pair = load_256(p);
    return _mm256_castsi256_ps(g != 0 ? _mm256_and_si256(pair, _mm256_set1_epi32((int)0xFFFF0000u))
                                      : _mm256_slli_epi32(pair, 16));
}

static inline __m256 bf16_of_row(const void *p) {
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load_128(p)), 16));
}

static inline __m256i i8_of_quad(const void *p, uint64_t g) {
    return _mm256_srai_epi32(_mm256_sll_epi32(load_256(p), _mm_cvtsi32_si128(24 - 8 * (int)g)), 24);
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
#define VEC            __m256
#define LANES          8
#define GROUP          1
#define B_VEC(p, g)    _mm256_loadu_ps(p)
#define V_ZERO()       _mm256_setzero_ps()
#define V_SPLAT(p)     _mm256_broadcast_ss(p)
#define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define V_LOAD(p)      _mm256_loadu_ps(p)
#define V_STORE(p, v)  _mm256_storeu_ps(p, v)
#define TILE_VECS      1
#include "kern/gemm_template.h"

#define NAME           f64
#define A_ELEMENT      double
#define B_ELEMENT      double
#define ACC            double
#define WIDEN_A(x)     (x)
#define VEC            __m256d
#define LANES          4
#define GROUP          1
#define B_VEC(p, g)    _mm256_loadu_pd(p)
#define V_ZERO()       _mm256_setzero_pd()
#define V_SPLAT(p)     _mm256_broadcast_sd(p)
#define V_FMA(a, b, c) _mm256_fmadd_pd(a, b, c)
#define V_LOAD(p)      _mm256_loadu_pd(p)
#define V_STORE(p, v)  _mm256_storeu_pd(p, v)
#define TILE_VECS      1
#include "kern/gemm_template.h"

#define NAME           bf16
#define A_ELEMENT      uint16_t
#define B_ELEMENT      uint16_t
#define ACC            float
#define WIDEN_A(x)     widen_bf16(x)
#define VEC            __m256
#define LANES          8
#define GROUP          1
#define B_VEC(p, g)    bf16_of_row(p)
#define V_ZERO()       _mm256_setzero_ps()
#define V_SPLAT(p)     _mm256_broadcast_ss(p)
#define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define V_LOAD(p)      _mm256_loadu_ps(p)
#define V_STORE(p, v)  _mm256_storeu_ps(p, v)
#define TILE_VECS      1
#include "kern/gemm_template.h"

#define NAME           bf16x2
#define A_ELEMENT      uint16_t
#define B_ELEMENT      uint16_t
#define ACC            float
#define WIDEN_A(x)     widen_bf16(x)
#define VEC            __m256
#define LANES          8
#define GROUP          2
#define B_VEC(p, g)    bf16_of_pair(p, g)
#define V_ZERO()       _mm256_setzero_ps()
#define V_SPLAT(p)     _mm256_broadcast_ss(p)
#define V_FMA(a, b, c) _mm256_fmadd_ps(a, b, c)
#define V_LOAD(p)      _mm256_loadu_ps(p)
#define V_STORE(p, v)  _mm256_storeu_ps(p, v)
#define TILE_VECS      1
#include "kern/gemm_template.h"

/* Both factors fit in 16 bits and the upper half of A's lanes is zero, so that the pairwise
 * multiply is one exact product. */
#define NAME           u8s8
#define A_ELEMENT      uint8_t
#define B_ELEMENT      int8_t
#define ACC            int32_t
#define WIDEN_A(x)     (x)
#define VEC            __m256i
#define LANES          8
#define GROUP          1
#define B_VEC(p, g)    _mm256_cvtepi8_epi32(load_64(p))
#define V_ZERO()       _mm256_setzero_si256()
#define V_SPLAT(p)     _mm256_set1_epi32(*(p))
#define V_FMA(a, b, c) _mm256_add_epi32(_mm256_madd_epi16(a, b), c)
#define V_LOAD(p)      load_256(p)
#define V_STORE(p, v)  store_256(p, v)
#define TILE_VECS      1
#include "kern/gemm_template.h"

#define NAME           u8s8x4
#define A_ELEMENT      uint8_t
#define B_ELEMENT      int8_t
#define ACC            int32_t
#define WIDEN_A(x)     (x)
#define VEC            __m256i
#define LANES          8
#define GROUP          4
#define B_VEC(p, g)    i8_of_quad(p, g)
#define V_ZERO()       _mm256_setzero_si256()
#define V_SPLAT(p)     _mm256_set1_epi32(*(p))
#define V_FMA(a, b, c) _mm256_add_epi32(_mm256_madd_epi16(a, b), c)
#define V_LOAD(p)      load_256(p)
#define V_STORE(p, v)  store_256(p, v)
#define TILE_VECS      1
#include "kern/gemm_template.h"

#define ROW(a, b, c, group, unit, name)                                                            \
    { a, b, c, group, TLY_SIMD_AVX2, unit, unit, 0, run_##name, scratch_len_##name }

const tly_kern_gemm tly_kern_gemm_avx2[] = {
    ROW(TLY_F32, TLY_F32, TLY_F32, 1, 8, f32),
    ROW(TLY_F64, TLY_F64, TLY_F64, 1, 4, f64),
    ROW(TLY_BF16, TLY_BF16, TLY_F32, 2, 8, bf16x2),
    ROW(TLY_BF16, TLY_BF16, TLY_F32, 1, 8, bf16),
    ROW(TLY_U8, TLY_I8, TLY_I32, 4, 8, u8s8x4),
    ROW(TLY_U8, TLY_I8, TLY_I32, 1, 8, u8s8),
    {0},
};
