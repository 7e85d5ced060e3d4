/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bytes for AVX-512 with VNNI: four rows of K are one step, vpdpbusd, which multiplies
 * unsigned by signed bytes and adds four products to a sum without saturation: exact modulo 2^32.
 * The tests also compile this file through SIMDe. */
#include <immintrin.h>
#include <string.h>

#include "kern/gemm.h"

enum { QUAD = 4 };

typedef struct quad {
    int8_t rows[QUAD];
} quad;

/* Elements of a row of A for one step; those beyond K are zero, so that padding of B counts for
 * nothing. */
static inline int32_t quad_of(const tly_kern_gemm_args *args, uint64_t row, uint64_t step) {
    const uint8_t *a = (const uint8_t *)args->a + row * args->lda + step * QUAD;
    const uint64_t left = args->k - step * QUAD;
    int32_t bytes = 0;
    if (left >= QUAD) {
        memcpy(&bytes, a, QUAD);
    } else {
        memcpy(&bytes, a, left);
    }
    return bytes;
}

#define NAME                    u8s8x4
#define A_ELEMENT               uint8_t
#define B_ELEMENT               quad
#define ACC                     int32_t
#define STEP_ROWS               QUAD
#define A_STEP(args, row, step) quad_of(args, row, step)
#define VEC                     __m512i
#define LANES                   16
#define GROUP                   1
#define B_VEC(p, g)             _mm512_loadu_si512(p)
#define V_ZERO()                _mm512_setzero_si512()
#define V_SPLAT(p)              _mm512_set1_epi32(*(p))
#define V_FMA(a, b, c)          _mm512_dpbusd_epi32(c, a, b)
#define V_LOAD(p)               _mm512_loadu_si512(p)
#define V_STORE(p, v)           _mm512_storeu_si512(p, v)
#define TILE_VECS               2
#include "kern/gemm_template.h"

const tly_kern_gemm tly_kern_gemm_avx512vnni[] = {
    {TLY_U8, TLY_I8, TLY_I32, QUAD, TLY_SIMD_AVX512_VNNI, 16, 32, 0, run_u8s8x4,
     scratch_len_u8s8x4},
    {0},
};
