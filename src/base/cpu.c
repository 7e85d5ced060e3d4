/* SPDX-License-Identifier: Apache-2.0 */
/* What the processor and the operating system offer. The compiler's own detection reads CPUID and
 * XCR0, so that a register file which the system does not save counts as absent. */
#include <tilery/context.h>

#if defined(__x86_64__)
/* Conversions between float16 and float32 came one generation before AVX2; no compiler's list of
 * features that both have names them (CPUID leaf 1, ECX bit 29). */
static int has_f16c(void) {
    uint32_t a = 1, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    return (c >> 29 & 1) != 0;
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
    return __builtin_cpu_supports("avx512vnni") ? TLY_SIMD_AVX512_VNNI : TLY_SIMD_AVX512;
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
    }
    return "?";
}
