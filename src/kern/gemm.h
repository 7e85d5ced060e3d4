/* SPDX-License-Identifier: Apache-2.0 */
/* Our own matrix product: C (M x N, row-major) = A (M x K, row-major) * B, with B in panels.
 *
 * A panel is `width` columns of B. It holds K in groups of `group` rows; a group is `width` columns
 * of `group` elements:  [N / width][K / group][N: width][K: group].
 *
 * The result is defined bit for bit, so that every vector level and every width gives the same
 * bytes: each element of C starts at 0 and takes one fused multiply-add per index of K, in
 * ascending order (bf16 operands are widened first, which is exact). Integer products are exact
 * modulo 2^32. Only the payload of a NaN is left open. Padding inside panels is never part of a
 * result. */
#ifndef TLY_KERN_GEMM_H
#define TLY_KERN_GEMM_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>
#include <tilery/dtype.h>

typedef struct tly_kern_gemm_args {
    uint64_t m, n, k; /* all >= 1 */
    const void *a;
    uint64_t lda; /* elements */
    const void *panels;
    uint64_t panel_stride; /* elements from one panel to the next */
    uint64_t width;        /* columns of a panel */
    void *c;
    uint64_t ldc;  /* elements */
    void *scratch; /* tly_kern_gemm.scratch_len bytes for (m, k), aligned to 64 */
} tly_kern_gemm_args;

/* One kernel: element types, the group it reads, and what it runs on. */
typedef struct tly_kern_gemm {
    tly_dtype a_dtype, b_dtype, c_dtype;
    uint8_t group;      /* rows of K that lie side by side */
    uint8_t simd;       /* tly_simd */
    uint8_t width_unit; /* `width` is a multiple of it */
    uint8_t best_width; /* what to ask a server for */
    uint8_t reserved;
    void (*run)(const tly_kern_gemm_args *args);     /* cannot fail */
    uint64_t (*scratch_len)(uint64_t m, uint64_t k); /* bytes; saturates at UINT64_MAX */
} tly_kern_gemm;

/* The kernel for these types, group and width at the level `simd` or, where that level has none, at
 * the next lower one. NULL if there is none. `group` 0: the one this kernel likes best; `width` 0:
 * any. Thread-safe. */
const tly_kern_gemm *tly_kern_gemm_find(tly_simd simd, tly_dtype a_dtype, tly_dtype b_dtype,
                                        tly_dtype c_dtype, uint32_t group, uint64_t width);

/* Kernels of one level; the tables end with a row whose `run` is NULL. */
extern const tly_kern_gemm tly_kern_gemm_portable[];
extern const tly_kern_gemm tly_kern_gemm_avx2[];
extern const tly_kern_gemm tly_kern_gemm_avx512[];
extern const tly_kern_gemm tly_kern_gemm_avx512vnni[];

#endif
