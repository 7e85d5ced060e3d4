/* SPDX-License-Identifier: Apache-2.0 */
/* What the processor and the operating system offer. The compiler's own detection reads CPUID and
 * XCR0, so that a register file which the system does not save counts as absent. */
#include <tilery/context.h>

#if defined(__x86_64__)
/* What no list of features names that both compilers have. */

/* Conversions between float16 and float32, which came one generation before AVX2. */
static int has_f16c(void) {
    uint32_t a = 1, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (c >> 29 & 1) != 0;
}

/* Arithmetic of float16; processors with AVX-512 have this leaf. */
static int has_fp16(void) {
    uint32_t a = 7, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (d >> 23 & 1) != 0;
}
#endif

tly_simd tly_simd_available(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    /* Each level has those below it. */
    if (!has_f16c() || !__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        return TLY_SIMD_PORTABLE;
    }
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512dq") || !__builtin_cpu_supports("avx512vl")) {
        return TLY_SIMD_AVX2;
    }
    if (!__builtin_cpu_supports("avx512vnni")) {
        return TLY_SIMD_AVX512;
    }
    return has_fp16() ? TLY_SIMD_AVX512_FP16 : TLY_SIMD_AVX512_VNNI;
#else
    return TLY_SIMD_PORTABLE;
#endif
}

const char *tly_simd_name(tly_simd simd) {
    switch (simd) {
    case TLY_SIMD_AUTO:
        return "auto";
    case TLY_SIMD_PORTABLE:
        return "portable";
    case TLY_SIMD_AVX2:
        return "avx2";
    case TLY_SIMD_AVX512:
        return "avx512";
    case TLY_SIMD_AVX512_VNNI:
        return "avx512vnni";
    case TLY_SIMD_AVX512_FP16:
        return "avx512fp16";
    }
    return "?";
}
