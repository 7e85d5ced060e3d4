/* SPDX-License-Identifier: Apache-2.0 */
/* The inner loops of the engine. One template (kernels_template.h) makes them for each vector
 * level; every level writes the same bytes. */
#ifndef TLY_PACK_KERNELS_H
#define TLY_PACK_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include <tilery/context.h>

/* ns times nr tiles of np x nq elements of `width` bytes. All strides in bytes, and of any sign.
 * Only the elements themselves are read and written, at any alignment. */
typedef struct pack_job {
    uint8_t *dst;
    const uint8_t *src;
    size_t np, nq, nr, ns;
    int64_t p_dst, p_src;
    int64_t q_dst, q_src;
    int64_t r_dst, r_src;
    int64_t s_dst, s_src;
    size_t width;
    int stream; /* write round the cache where alignment allows it; the caller fences */
} pack_job;

/* Goes through the ns rounds itself, because a call for a few rows costs as much as the rows, and
 * leaves dst and src behind the last. */
typedef void pack_kernel(pack_job *job);

static inline void pack_next_round(pack_job *job) {
    job->dst += job->s_dst;
    job->src += job->s_src;
}

/* Which of them a path calls, by log2 of the width where they come in widths (1, 2, 4, 8). */
typedef struct pack_kernels {
    /* q_dst == q_src == width: every row of nq elements is contiguous on both sides. */
    pack_kernel *rows;
    /* q_dst == width, p_src == width: a tile is transposed. */
    pack_kernel *transpose[4];
    /* As transpose with p_dst == nq * width and nq == 2 or 4: rows zipped into one run. */
    pack_kernel *zip2[4];
    pack_kernel *zip4[4];
    void (*fence)(void);
} pack_kernels;

extern const pack_kernels pack_kernels_portable;
#if defined(__x86_64__)
extern const pack_kernels pack_kernels_avx2;
extern const pack_kernels pack_kernels_avx512;
#endif

/* The kernels of a level that this machine has. Thread-safe. */
const pack_kernels *pack_kernels_for(tly_simd simd);

/* Any strides, one element at a time. */
void pack_strided(pack_job *job);

/* count elements: dst[i] = the element at byte offsets[i] of src. */
void pack_gather(uint8_t *dst, const uint8_t *src, const int64_t *offsets, size_t count,
                 size_t width);

#endif
