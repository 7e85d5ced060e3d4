/* SPDX-License-Identifier: Apache-2.0 */
/* A copy that bypasses the cache: the reference of packing benchmarks next to memcpy. */
#include <string.h>

#include "cli/bench.h"

#if defined(__x86_64__)
#include <immintrin.h>

__attribute__((target("avx2"))) static void copy_avx2(uint8_t *dst, const uint8_t *src,
                                                      size_t len) {
    size_t head = (size_t)(-(uintptr_t)dst & 31);
    size_t at = head < len ? head : len;
    memcpy(dst, src, at);
    for (; len - at >= 128; at += 128) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(const void *)(src + at));
        __m256i b = _mm256_loadu_si256((const __m256i *)(const void *)(src + at + 32));
        __m256i c = _mm256_loadu_si256((const __m256i *)(const void *)(src + at + 64));
        __m256i d = _mm256_loadu_si256((const __m256i *)(const void *)(src + at + 96));
        _mm256_stream_si256((__m256i *)(void *)(dst + at), a);
        _mm256_stream_si256((__m256i *)(void *)(dst + at + 32), b);
        _mm256_stream_si256((__m256i *)(void *)(dst + at + 64), c);
        _mm256_stream_si256((__m256i *)(void *)(dst + at + 96), d);
    }
    _mm_sfence();
    memcpy(dst + at, src + at, len - at);
}
#endif

void tly_bench_copy_streaming(void *dst, const void *src, size_t len) {
#if defined(__x86_64__)
    if (tly_simd_available() >= TLY_SIMD_AVX2) {
        copy_avx2(dst, src, len);
        return;
    }
#endif
    memcpy(dst, src, len);
}
