/* SPDX-License-Identifier: Apache-2.0 */
#include "kern/gemm.h"

static const tly_kern_gemm *find_in(const tly_kern_gemm *table, tly_dtype a_dtype,
                                    tly_dtype b_dtype, tly_dtype c_dtype, uint32_t group,
                                    uint64_t width) {
    for (; table->run != NULL; table++) {
        if (table->a_dtype == a_dtype && table->b_dtype == b_dtype && table->c_dtype == c_dtype &&
            (group == 0 || table->group == group) && width % table->width_unit == 0) {
            return table;
        }
    }
    return NULL;
}

const tly_kern_gemm *tly_kern_gemm_find(tly_simd simd, tly_dtype a_dtype, tly_dtype b_dtype,
                                        tly_dtype c_dtype, uint32_t group, uint64_t width) {
    const tly_kern_gemm *found = NULL;
#if defined(__x86_64__)
    if (simd >= TLY_SIMD_AVX512_VNNI) {
        found = find_in(tly_kern_gemm_avx512vnni, a_dtype, b_dtype, c_dtype, group, width);
    }
    if (simd >= TLY_SIMD_AVX512 && found == NULL) {
        found = find_in(tly_kern_gemm_avx512, a_dtype, b_dtype, c_dtype, group, width);
    }
    if (simd >= TLY_SIMD_AVX2 && found == NULL) {
        found = find_in(tly_kern_gemm_avx2, a_dtype, b_dtype, c_dtype, group, width);
    }
#else
    (void)simd;
#endif
    if (found == NULL) {
        found = find_in(tly_kern_gemm_portable, a_dtype, b_dtype, c_dtype, group, width);
    }
    return found;
}
