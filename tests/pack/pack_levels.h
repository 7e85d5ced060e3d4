/* SPDX-License-Identifier: Apache-2.0 */
/* Every vector level that can run here: those of this machine, and the AVX-512 kernels through
 * SIMDe where the machine lacks them. */
#ifndef TLY_TESTS_PACK_LEVELS_H
#define TLY_TESTS_PACK_LEVELS_H

#include "pack_model.h"
#include "pack/plan.h"

typedef struct level {
    tly_context *context;
    const pack_kernels *kernels; /* NULL: those of the context */
} level;

#define MAX_LEVELS TLY_SIMD_AVX512_FP16

#ifdef TLY_TEST_EMULATED_AVX512
extern const pack_kernels pack_kernels_emulated;
#endif

static inline uint32_t levels_new(level *out) {
    uint32_t n = 0;
    tly_error err;
    for (int32_t simd = TLY_SIMD_PORTABLE; simd <= (int32_t)tly_simd_available(); simd++) {
        tly_context_options options = {.size = sizeof options, .simd = simd};
        out[n].kernels = NULL;
        CHECK_OK(tly_context_new(&options, &out[n].context, &err), &err);
        n++;
    }
#ifdef TLY_TEST_EMULATED_AVX512
    if (tly_simd_available() == TLY_SIMD_AVX2) {
        tly_context_options options = {.size = sizeof options, .simd = TLY_SIMD_AVX2};
        out[n].kernels = &pack_kernels_emulated;
        CHECK_OK(tly_context_new(&options, &out[n].context, &err), &err);
        n++;
    }
#endif
    return n;
}

static inline void levels_free(level *levels, uint32_t num) {
    while (num-- > 0) {
        tly_context_free(levels[num].context);
    }
}

static inline tly_pack_plan *level_plan(const level *l, const tly_nest *dst, const tly_nest *src,
                                        uint32_t bits, uint64_t padding, uint32_t streaming) {
    tly_pack_options options = {sizeof options, padding, streaming, 0};
    tly_pack_plan *plan = NULL;
    tly_error err;
    CHECK_OK(tly_pack_plan_new(l->context, dst, src, bits, &options, &plan, &err), &err);
    if (l->kernels != NULL) {
        pack_use_kernels(plan, l->kernels);
    }
    return plan;
}

#endif
