/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_vector_avx2.h"

#if defined(__x86_64__)
#include <dlfcn.h>
#include <immintrin.h>

#define VECTOR __attribute__((target("avx2,fma,f16c")))

VECTOR static void to_half(const float *value, uint16_t *out, size_t count) {
    for (size_t i = 0; i < count; i += 8) {
        _mm_storeu_si128((__m128i *)(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(value + i), _MM_FROUND_TO_NEAREST_INT));
    }
}

int tly_bench_to_half(const float *value, uint16_t *out, size_t count) {
    if (!__builtin_cpu_supports("avx2")) { /* all of them convert halves, too */
        return 0;
    }
    to_half(value, out, count);
    return 1;
}

typedef __m256 vector_exp(__m256 x);

VECTOR static void exp_loop(vector_exp *of, const float *value, float *out, size_t count) {
    for (size_t i = 0; i < count; i += 8) {
        _mm256_storeu_ps(out + i, of(_mm256_loadu_ps(value + i)));
    }
}

/* The library stays loaded: a process measures with it until it ends. */
void *tly_bench_exp_find(void) {
    void *library = dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL);
    return library != NULL && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")
               ? dlsym(library, "_ZGVdN8v_expf")
               : NULL;
}

void tly_bench_exp(void *found, const float *value, float *out, size_t count) {
    vector_exp *of = NULL;
    *(void **)&of = found;
    exp_loop(of, value, out, count);
}
#else
int tly_bench_to_half(const float *value, uint16_t *out, size_t count) {
    (void)value, (void)out, (void)count;
    return 0;
}

void *tly_bench_exp_find(void) {
    return NULL;
}

void tly_bench_exp(void *found, const float *value, float *out, size_t count) {
    (void)found, (void)value, (void)out, (void)count;
}
#endif
