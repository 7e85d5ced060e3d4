/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels a vector level has, and the two that need no vectors. */
#include "pack/kernels.h"

#include <string.h>

const pack_kernels *pack_kernels_for(tly_simd simd) {
#if defined(__x86_64__)
    if (simd >= TLY_SIMD_AVX512) {
        return &pack_kernels_avx512;
    }
    if (simd == TLY_SIMD_AVX2) {
        return &pack_kernels_avx2;
    }
#endif
    (void)simd;
    return &pack_kernels_portable;
}

static inline __attribute__((always_inline)) void strided_round(const pack_job *job, size_t width) {
    for (size_t r = 0; r < job->nr; r++) {
        for (size_t p = 0; p < job->np; p++) {
            uint8_t *dst = job->dst + (int64_t)r * job->r_dst + (int64_t)p * job->p_dst;
            const uint8_t *src = job->src + (int64_t)r * job->r_src + (int64_t)p * job->p_src;
            for (size_t q = 0; q < job->nq; q++) {
                memcpy(dst, src, width);
                dst += job->q_dst;
                src += job->q_src;
            }
        }
    }
}

static inline __attribute__((always_inline)) void strided(pack_job *job, size_t width) {
    for (size_t s = 0; s < job->ns; s++) {
        strided_round(job, width);
        pack_next_round(job);
    }
}

void pack_strided(pack_job *job) {
    switch (job->width) {
    case 1:
        strided(job, 1);
        break;
    case 2:
        strided(job, 2);
        break;
    case 4:
        strided(job, 4);
        break;
    default:
        strided(job, 8);
        break;
    }
}

static inline __attribute__((always_inline)) void
gather(uint8_t *dst, const uint8_t *src, const int64_t *offsets, size_t count, size_t width) {
    for (size_t i = 0; i < count; i++) {
        memcpy(dst + i * width, src + offsets[i], width);
    }
}

void pack_gather(uint8_t *dst, const uint8_t *src, const int64_t *offsets, size_t count,
                 size_t width) {
    switch (width) {
    case 1:
        gather(dst, src, offsets, count, 1);
        break;
    case 2:
        gather(dst, src, offsets, count, 2);
        break;
    case 4:
        gather(dst, src, offsets, count, 4);
        break;
    default:
        gather(dst, src, offsets, count, 8);
        break;
    }
}
