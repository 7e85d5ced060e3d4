/* SPDX-License-Identifier: Apache-2.0 */
/* Which pairs of formats have a loop of their own. */
#include "num/fast.h"

#include <stddef.h>

static const tly_format_id ids[NUM_FAST_TYPES] = {
    [NUM_FAST_F32] = TLY_F32,     [NUM_FAST_F16] = TLY_F16,     [NUM_FAST_BF16] = TLY_BF16,
    [NUM_FAST_E4M3] = TLY_F8E4M3, [NUM_FAST_E5M2] = TLY_F8E5M2, [NUM_FAST_F64] = TLY_F64,
};

static int32_t type_of(const tly_format *format) {
    for (int32_t t = 0; t < NUM_FAST_TYPES; t++) {
        if (format == tly_format_find(ids[t])) {
            return t;
        }
    }
    return -1;
}

const num_fast_table *num_fast_level(tly_simd simd) {
#if defined(__x86_64__)
    if (simd >= TLY_SIMD_AVX512) {
        return &num_fast_avx512;
    }
    if (simd == TLY_SIMD_AVX2) {
        return &num_fast_avx2;
    }
#endif
    (void)simd;
    return &num_fast_portable;
}

num_fast_fn *num_fast_find(tly_simd simd, const tly_format *dst, const tly_format *src,
                           tly_num_control control) {
    int32_t to = type_of(dst), from = type_of(src);
    if (to < 0 || from < 0 || control.rounding != TLY_ROUND_NEAREST_EVEN || control.canonical_nan ||
        (control.saturate && (to == NUM_FAST_F32 || to == NUM_FAST_F64))) {
        return NULL; /* infinities that become the largest f32 or f64 are for the long way */
    }
    return (*num_fast_level(simd))[to][from];
}
