/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of gemm_template.h in plain C: one lane, any width. A and C are arrays of the host; a
 * panel comes from a file or from the wire, and is little-endian on every host. */
#include <math.h>

#include "base/bytes.h"
#include "kern/gemm.h"

static inline float float_of_bits(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline double double_of_bits(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline int32_t int_fma(int32_t a, int32_t b, int32_t c) {
    return (int32_t)((uint32_t)a * (uint32_t)b + (uint32_t)c);
}

#define NAME           f32
#define A_ELEMENT      float
#define B_ELEMENT      float
#define ACC            float
#define WIDEN_A(x)     (x)
#define VEC            float
#define LANES          1
#define GROUP          1
#define B_VEC(p, g)    float_of_bits(tly_base_load_u32(p))
#define V_ZERO()       0.0f
#define V_SPLAT(p)     (*(p))
#define V_FMA(a, b, c) fmaf(a, b, c)
#define V_LOAD(p)      (*(p))
#define V_STORE(p, v)  (*(p) = (v))
#define TILE_VECS      4
#include "kern/gemm_template.h"

#define NAME           f64
#define A_ELEMENT      double
#define B_ELEMENT      double
#define ACC            double
#define WIDEN_A(x)     (x)
#define VEC            double
#define LANES          1
#define GROUP          1
#define B_VEC(p, g)    double_of_bits(tly_base_load_u64(p))
#define V_ZERO()       0.0
#define V_SPLAT(p)     (*(p))
#define V_FMA(a, b, c) fma(a, b, c)
#define V_LOAD(p)      (*(p))
#define V_STORE(p, v)  (*(p) = (v))
#define TILE_VECS      4
#include "kern/gemm_template.h"

#define NAME           bf16
#define A_ELEMENT      uint16_t
#define B_ELEMENT      uint16_t
#define ACC            float
#define WIDEN_A(x)     float_of_bits((uint32_t)(x) << 16)
#define VEC            float
#define LANES          1
#define GROUP          1
#define B_VEC(p, g)    float_of_bits((uint32_t)tly_base_load_u16(p) << 16)
#define V_ZERO()       0.0f
#define V_SPLAT(p)     (*(p))
#define V_FMA(a, b, c) fmaf(a, b, c)
#define V_LOAD(p)      (*(p))
#define V_STORE(p, v)  (*(p) = (v))
#define TILE_VECS      4
#include "kern/gemm_template.h"

#define NAME           bf16x2
#define A_ELEMENT      uint16_t
#define B_ELEMENT      uint16_t
#define ACC            float
#define WIDEN_A(x)     float_of_bits((uint32_t)(x) << 16)
#define VEC            float
#define LANES          1
#define GROUP          2
#define B_VEC(p, g)    float_of_bits((uint32_t)tly_base_load_u16((p) + (g)) << 16)
#define V_ZERO()       0.0f
#define V_SPLAT(p)     (*(p))
#define V_FMA(a, b, c) fmaf(a, b, c)
#define V_LOAD(p)      (*(p))
#define V_STORE(p, v)  (*(p) = (v))
#define TILE_VECS      4
#include "kern/gemm_template.h"

#define NAME           u8s8
#define A_ELEMENT      uint8_t
#define B_ELEMENT      int8_t
#define ACC            int32_t
#define WIDEN_A(x)     (x)
#define VEC            int32_t
#define LANES          1
#define GROUP          1
#define B_VEC(p, g)    (*(p))
#define V_ZERO()       0
#define V_SPLAT(p)     (*(p))
#define V_FMA(a, b, c) int_fma(a, b, c)
#define V_LOAD(p)      (*(p))
#define V_STORE(p, v)  (*(p) = (v))
#define TILE_VECS      4
#include "kern/gemm_template.h"

#define NAME           u8s8x4
#define A_ELEMENT      uint8_t
#define B_ELEMENT      int8_t
#define ACC            int32_t
#define WIDEN_A(x)     (x)
#define VEC            int32_t
#define LANES          1
#define GROUP          4
#define B_VEC(p, g)    ((p)[g])
#define V_ZERO()       0
#define V_SPLAT(p)     (*(p))
#define V_FMA(a, b, c) int_fma(a, b, c)
#define V_LOAD(p)      (*(p))
#define V_STORE(p, v)  (*(p) = (v))
#define TILE_VECS      4
#include "kern/gemm_template.h"

#define ROW(a, b, c, group, width, name)                                                           \
    { a, b, c, group, TLY_SIMD_PORTABLE, 1, width, 0, run_##name, scratch_len_##name }

const tly_kern_gemm tly_kern_gemm_portable[] = {
    ROW(TLY_F32, TLY_F32, TLY_F32, 1, 8, f32),
    ROW(TLY_F64, TLY_F64, TLY_F64, 1, 4, f64),
    ROW(TLY_BF16, TLY_BF16, TLY_F32, 2, 8, bf16x2),
    ROW(TLY_BF16, TLY_BF16, TLY_F32, 1, 8, bf16),
    ROW(TLY_U8, TLY_I8, TLY_I32, 4, 8, u8s8x4),
    ROW(TLY_U8, TLY_I8, TLY_I32, 1, 8, u8s8),
    {0},
};
