/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel of kern/gemm.h. Included several times by gemm_portable.c, gemm_avx2.c and others
 * of that name, each time with these defined (they are undefined again at the end):
 *
 *   NAME               suffix of the functions made
 *   A_ELEMENT, B_ELEMENT
 *   ACC                accumulator, element of C, and what elements of A are widened to
 *   WIDEN_A(x)         element of A -> ACC
 *   VEC, LANES         vector of accumulators
 *   GROUP              rows of K side by side in the panel
 *   B_VEC(p, g)        row g of the group at p: LANES columns, widened
 *   V_ZERO()  V_SPLAT(const ACC *)  V_FMA(a, b, c): a * b + c  V_LOAD(const ACC *)  V_STORE(ACC *,
 * v) TILE_VECS          vectors in a row of a tile, at most
 *
 * and, where several rows of K are one step of the loops (a B_ELEMENT then has them all):
 *
 *   STEP_ROWS          how many; 1 without it
 *   A_STEP(args, row, step)   elements of A for a step as ACC, zero beyond K
 *
 * A tile is TILE_ROWS rows of A. With one tile of rows the panels are read in one pass from the
 * first byte to the last, which is what memory likes best. With more, K is cut into blocks, so that
 * a block of a panel stays in the cache for all of them; partial sums rest in C, which changes no
 * bit. */
#include <stdint.h>
#include <string.h>

#include "kern/gemm.h"

#ifndef TILE_ROWS
#define TILE_ROWS      8
#define K_BLOCK        512  /* a multiple of every GROUP */
#define PREFETCH_BYTES 2048 /* ahead in the panel; measured, see docs/internals/performance.md */
#define CAT2(a, b)     a##_##b
#define CAT(a, b)      CAT2(a, b)
#define UNROLL         _Pragma("GCC unroll 16")
#define ALWAYS_INLINE  static inline __attribute__((always_inline))
#endif
#define FN(verb) CAT(verb, NAME)
#ifndef STEP_ROWS
#define STEP_ROWS 1
#define A_STEP(args, row, step)                                                                    \
    WIDEN_A(((const A_ELEMENT *)(args)->a)[(row) * (args)->lda + (step)])
#endif

/* acc += A * B for `rows` rows and `vecs` vectors, both constant where this is inlined. `a` is
 * packed [k][TILE_ROWS]; `b` is the first group of the strip, the next one `step` elements on. */
ALWAYS_INLINE void FN(tile)(const int rows, const int vecs, uint64_t k, const ACC *a,
                            const B_ELEMENT *b, uint64_t step, ACC *c, uint64_t ldc, int first) {
    VEC acc[TILE_ROWS][TILE_VECS];
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int v = 0; v < vecs; v++) {
            acc[r][v] = first ? V_ZERO() : V_LOAD(c + (uint64_t)r * ldc + v * LANES);
        }
    }
    for (; k >= GROUP; k -= GROUP, b += step) {
        __builtin_prefetch((const char *)b + PREFETCH_BYTES);
        UNROLL for (int g = 0; g < GROUP; g++, a += TILE_ROWS) {
            VEC row[TILE_VECS];
            UNROLL for (int v = 0; v < vecs; v++) {
                row[v] = B_VEC(b + v * LANES * GROUP, g);
            }
            UNROLL for (int r = 0; r < rows; r++) {
                const VEC x = V_SPLAT(a + r);
                UNROLL for (int v = 0; v < vecs; v++) {
                    acc[r][v] = V_FMA(x, row[v], acc[r][v]);
                }
            }
        }
    }
#if GROUP > 1
    for (uint64_t g = 0; g < k; g++, a += TILE_ROWS) { /* the last group is not full */
        UNROLL for (int v = 0; v < vecs; v++) {
            const VEC row = B_VEC(b + v * LANES * GROUP, g);
            UNROLL for (int r = 0; r < rows; r++) {
                acc[r][v] = V_FMA(V_SPLAT(a + r), row, acc[r][v]);
            }
        }
    }
#endif
    UNROLL for (int r = 0; r < rows; r++) {
        UNROLL for (int v = 0; v < vecs; v++) {
            V_STORE(c + (uint64_t)r * ldc + v * LANES, acc[r][v]);
        }
    }
}

/* A tile of up to TILE_ROWS rows and `vecs` vectors of columns, of which only `rows` x `cols`
 * exist: where they are fewer, the tile is made beside C and its valid part copied. */
ALWAYS_INLINE void FN(strip)(const int vecs, uint64_t rows, uint64_t cols, uint64_t k, const ACC *a,
                             const B_ELEMENT *b, uint64_t step, ACC *c, uint64_t ldc, int first) {
    ACC edge[TILE_ROWS * TILE_VECS * LANES];
    const uint64_t full = (uint64_t)vecs * LANES;
    const int whole = cols == full && (rows == 1 || rows == 2 || rows == 4 || rows == TILE_ROWS);
    ACC *out = whole ? c : edge;
    const uint64_t out_ld = whole ? ldc : full;
    if (!whole) {
        memset(edge, 0, sizeof edge);
        for (uint64_t r = 0; r < rows && !first; r++) {
            memcpy(edge + r * full, c + r * ldc, cols * sizeof(ACC));
        }
    }
    if (rows > 4) {
        FN(tile)(TILE_ROWS, vecs, k, a, b, step, out, out_ld, first);
    } else if (rows > 2) {
        FN(tile)(4, vecs, k, a, b, step, out, out_ld, first);
    } else if (rows == 2) {
        FN(tile)(2, vecs, k, a, b, step, out, out_ld, first);
    } else {
        FN(tile)(1, vecs, k, a, b, step, out, out_ld, first);
    }
    for (uint64_t r = 0; r < rows && !whole; r++) {
        memcpy(c + r * ldc, edge + r * full, cols * sizeof(ACC));
    }
}

/* Columns [0, cols) of one panel for all rows, K rows [k0, k0 + k). */
static void FN(panel)(const tly_kern_gemm_args *args, const ACC *packed, const B_ELEMENT *panel,
                      ACC *c, uint64_t cols, uint64_t k, int first) {
    const uint64_t step = args->width * GROUP;
    for (uint64_t m = 0; m < args->m; m += TILE_ROWS) {
        const uint64_t rows = args->m - m < TILE_ROWS ? args->m - m : TILE_ROWS;
        const ACC *a = packed + m * k;
        ACC *row = c + m * args->ldc;
        uint64_t s = 0;
#if TILE_VECS > 1
        for (; cols > s + LANES * (TILE_VECS - 1) && args->width - s >= LANES * TILE_VECS;
             s += LANES * TILE_VECS) {
            const uint64_t left = cols - s;
            FN(strip)
            (TILE_VECS, rows, left < LANES * TILE_VECS ? left : LANES * TILE_VECS, k, a,
             panel + s * GROUP, step, row + s, args->ldc, first);
        }
#endif
        for (; s < cols; s += LANES) {
            FN(strip)
            (1, rows, cols - s < LANES ? cols - s : LANES, k, a, panel + s * GROUP, step, row + s,
             args->ldc, first);
        }
    }
}

/* Steps [k0, k0 + k) of A, widened, as [m / TILE_ROWS][k][TILE_ROWS]; rows that do not exist are
 * zero. */
static void FN(pack_a)(const tly_kern_gemm_args *args, uint64_t k0, uint64_t k, ACC *packed) {
    for (uint64_t m = 0; m < args->m; m += TILE_ROWS) {
        const uint64_t rows = args->m - m < TILE_ROWS ? args->m - m : TILE_ROWS;
        if (rows == TILE_ROWS) {
            for (uint64_t i = 0; i < k; i++) {
                UNROLL for (uint64_t r = 0; r < TILE_ROWS; r++) {
                    packed[i * TILE_ROWS + r] = A_STEP(args, m + r, k0 + i);
                }
            }
        } else {
            for (uint64_t i = 0; i < k; i++) {
                for (uint64_t r = 0; r < TILE_ROWS; r++) {
                    packed[i * TILE_ROWS + r] = r < rows ? A_STEP(args, m + r, k0 + i) : 0;
                }
            }
        }
        packed += k * TILE_ROWS;
    }
}

static uint64_t FN(steps_of)(uint64_t k) {
    return k / STEP_ROWS + (k % STEP_ROWS != 0);
}

static void FN(run)(const tly_kern_gemm_args *args) {
    const uint64_t steps = FN(steps_of)(args->k);
    const uint64_t block = args->m > TILE_ROWS && steps > K_BLOCK ? K_BLOCK : steps;
    for (uint64_t k0 = 0; k0 < steps; k0 += block) {
        const uint64_t k = steps - k0 < block ? steps - k0 : block;
        const B_ELEMENT *panel = (const B_ELEMENT *)args->panels + k0 * args->width;
        FN(pack_a)(args, k0, k, args->scratch);
        for (uint64_t n = 0; n < args->n; n += args->width) {
            const uint64_t cols = args->n - n < args->width ? args->n - n : args->width;
            FN(panel)(args, args->scratch, panel, (ACC *)args->c + n, cols, k, k0 == 0);
            panel += args->panel_stride / STEP_ROWS;
        }
    }
}

static uint64_t FN(scratch_len)(uint64_t m, uint64_t k) {
    const uint64_t steps = FN(steps_of)(k);
    const uint64_t block = m > TILE_ROWS && steps > K_BLOCK ? K_BLOCK : steps;
    uint64_t rows, len;
    if (__builtin_add_overflow(m, TILE_ROWS - 1, &rows) ||
        __builtin_mul_overflow(rows / TILE_ROWS * TILE_ROWS * sizeof(ACC), block, &len) ||
        rows > UINT64_MAX / TILE_ROWS / sizeof(ACC)) {
        return UINT64_MAX;
    }
    return len;
}

#undef NAME
#undef A_ELEMENT
#undef B_ELEMENT
#undef ACC
#undef WIDEN_A
#undef STEP_ROWS
#undef A_STEP
#undef VEC
#undef LANES
#undef GROUP
#undef B_VEC
#undef V_ZERO
#undef V_SPLAT
#undef V_FMA
#undef V_LOAD
#undef V_STORE
#undef TILE_VECS
#undef FN
