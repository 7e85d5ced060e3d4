/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel of every vector level against the definition: one multiply-add after the other. The
 * bytes must be equal. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/context.h>

#include "base/bytes.h"
#include "guarded.h"
#include "kern/gemm.h"

#ifdef TLY_TEST_EMULATED_AVX512
extern const tly_kern_gemm tly_kern_gemm_emulated[];
extern const tly_kern_gemm tly_kern_gemm_emulated_vnni[];
#endif

static uint32_t len_of(tly_dtype dtype) {
    return tly_dtype_bits(dtype) / 8;
}

static float bf16_value(uint16_t bits) {
    const uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

/* One element of A or B, in the byte order of the host. */
static void random_element(check_rng *rng, tly_dtype dtype, uint8_t *out) {
    const double value = ((double)check_below(rng, 2000001) - 1e6) / 1e6;
    const float f = (float)value;
    uint32_t bits;
    switch (dtype) {
    case TLY_F32:
        memcpy(out, &f, sizeof f);
        break;
    case TLY_F64:
        memcpy(out, &value, sizeof value);
        break;
    case TLY_BF16: {
        uint16_t upper;
        memcpy(&bits, &f, sizeof bits);
        upper = (uint16_t)(bits >> 16);
        memcpy(out, &upper, sizeof upper);
        break;
    }
    default:
        *out = (uint8_t)check_random(rng);
    }
}

/* A sequence of multiply-adds for one element of C: the definition. */
static void define_element(const tly_kern_gemm *kernel, uint64_t k, const uint8_t *a,
                           const uint8_t *b, uint64_t b_step, uint8_t *out) {
    if (kernel->a_dtype == TLY_F64) {
        double sum = 0;
        for (uint64_t i = 0; i < k; i++) {
            double x, y;
            memcpy(&x, a + i * 8, 8);
            memcpy(&y, b + i * b_step, 8);
            sum = fma(x, y, sum);
        }
        memcpy(out, &sum, 8);
    } else if (kernel->a_dtype == TLY_U8) {
        uint32_t sum = 0;
        for (uint64_t i = 0; i < k; i++) {
            sum += (uint32_t)(a[i] * (int)(int8_t)b[i * b_step]);
        }
        memcpy(out, &sum, 4);
    } else {
        float sum = 0;
        for (uint64_t i = 0; i < k; i++) {
            float x, y;
            if (kernel->a_dtype == TLY_F32) {
                memcpy(&x, a + i * 4, 4);
                memcpy(&y, b + i * b_step, 4);
            } else {
                uint16_t p, q;
                memcpy(&p, a + i * 2, 2);
                memcpy(&q, b + i * b_step, 2);
                x = bf16_value(p);
                y = bf16_value(q);
            }
            sum = fmaf(x, y, sum);
        }
        memcpy(out, &sum, 4);
    }
}

static void store_le(uint8_t *out, const uint8_t *element, uint32_t len) {
    for (uint32_t i = 0; i < len; i++) {
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        out[i] = element[len - 1 - i];
#else
        out[i] = element[i];
#endif
    }
}

typedef struct shape {
    uint64_t m, n, k, lda, ldc, width, k_round;
} shape;

/* Runs one product in memory that ends at forbidden pages. Padding of the panel and the scratch are
 * all ones: a NaN in every format. */
static void one_product(check_rng *rng, const tly_kern_gemm *kernel, const shape *s) {
    const uint32_t a_len = len_of(kernel->a_dtype), b_len = len_of(kernel->b_dtype);
    const uint32_t c_len = len_of(kernel->c_dtype);
    const uint64_t group = kernel->group;
    const uint64_t k_padded = (s->k + s->k_round - 1) / s->k_round * s->k_round;
    const uint64_t stride = k_padded * s->width;
    const uint64_t num_panels = (s->n + s->width - 1) / s->width;
    const int at_end = (int)check_below(rng, 2);
    guarded a = guarded_new(((s->m - 1) * s->lda + s->k) * a_len, at_end);
    guarded b = guarded_new(s->k * s->n * b_len, at_end);
    guarded panels = guarded_new(num_panels * stride * b_len, at_end);
    guarded c = guarded_new(((s->m - 1) * s->ldc + s->n) * c_len, at_end);
    const uint64_t scratch_len = kernel->scratch_len(s->m, s->k);
    uint8_t *scratch = aligned_alloc(64, (scratch_len + 63) / 64 * 64);
    uint8_t wanted[8];
    tly_kern_gemm_args args = {.m = s->m,
                               .n = s->n,
                               .k = s->k,
                               .a = a.bytes,
                               .lda = s->lda,
                               .panels = panels.bytes,
                               .panel_stride = stride,
                               .width = s->width,
                               .c = c.bytes,
                               .ldc = s->ldc,
                               .scratch = scratch};
    memset(scratch, 0xFF, scratch_len);
    memset(a.bytes, 0xFF, ((s->m - 1) * s->lda + s->k) * a_len);
    memset(panels.bytes, 0xFF, num_panels * stride * b_len);
    memset(c.bytes, 0xA5, ((s->m - 1) * s->ldc + s->n) * c_len);
    for (uint64_t m = 0; m < s->m; m++) {
        for (uint64_t k = 0; k < s->k; k++) {
            random_element(rng, kernel->a_dtype, a.bytes + (m * s->lda + k) * a_len);
        }
    }
    for (uint64_t k = 0; k < s->k; k++) {
        for (uint64_t n = 0; n < s->n; n++) {
            const uint64_t at = n / s->width * stride + k / group * group * s->width +
                                n % s->width * group + k % group;
            random_element(rng, kernel->b_dtype, b.bytes + (k * s->n + n) * b_len);
            store_le(panels.bytes + at * b_len, b.bytes + (k * s->n + n) * b_len, b_len);
        }
    }
    kernel->run(&args);
    for (uint64_t m = 0; m < s->m; m++) {
        for (uint64_t n = 0; n < s->n; n++) {
            define_element(kernel, s->k, a.bytes + m * s->lda * a_len, b.bytes + n * b_len,
                           s->n * b_len, wanted);
            if (memcmp(wanted, c.bytes + (m * s->ldc + n) * c_len, c_len) != 0) {
                fail_msg("%s type %02x group %d: %d x %d x %d, width %d: C[%d][%d] differs",
                         tly_simd_name((tly_simd)kernel->simd), kernel->b_dtype, kernel->group,
                         (int)s->m, (int)s->n, (int)s->k, (int)s->width, (int)m, (int)n);
            }
        }
        for (uint64_t i = s->n * c_len; i < s->ldc * c_len && m + 1 < s->m; i++) {
            assert_int_equal(c.bytes[m * s->ldc * c_len + i], 0xA5);
        }
    }
    free(scratch);
    guarded_free(&a);
    guarded_free(&b);
    guarded_free(&panels);
    guarded_free(&c);
}

static void all_tails(const tly_kern_gemm *table) {
    check_rng rng = {.state = 20261130};
    for (const tly_kern_gemm *kernel = table; kernel->run != NULL; kernel++) {
        const uint64_t unit = kernel->width_unit;
        /* All rows of a tile and one more, columns around each edge, K around the group. */
        for (uint64_t m = 1; m <= 9; m++) {
            for (uint64_t n = 1; n <= 2 * unit + 1; n += 1 + (unit > 8 && n + 2 < 2 * unit)) {
                for (uint64_t k = 1; k <= 5; k++) {
                    const shape s = {m, n, k, k + m % 3, n + k % 2, unit, kernel->group};
                    one_product(&rng, kernel, &s);
                }
            }
        }
    }
}

static void random_shapes(const tly_kern_gemm *table) {
    check_rng rng = {.state = 7};
    for (const tly_kern_gemm *kernel = table; kernel->run != NULL; kernel++) {
        for (int i = 0; i < 60; i++) {
            const uint64_t width = kernel->width_unit * (1 + check_below(&rng, 9));
            /* More than one block of K now and then, with more than one tile of rows. */
            const uint64_t k =
                i % 10 == 0 ? 500 + check_below(&rng, 600) : 1 + check_below(&rng, 70);
            const uint64_t m = 1 + check_below(&rng, 20), n = 1 + check_below(&rng, 90);
            const shape s = {m,
                             n,
                             k,
                             k + check_below(&rng, 3),
                             n + check_below(&rng, 3),
                             width,
                             kernel->group * (1 + check_below(&rng, 4))};
            one_product(&rng, kernel, &s);
        }
    }
}

static void portable_follows_the_definition(void **state) {
    (void)state;
    all_tails(tly_kern_gemm_portable);
    random_shapes(tly_kern_gemm_portable);
}

static void avx2_follows_the_definition(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (tly_simd_available() >= TLY_SIMD_AVX2) {
        all_tails(tly_kern_gemm_avx2);
        random_shapes(tly_kern_gemm_avx2);
        return;
    }
#endif
    print_message("# this processor has no AVX2\n");
    skip();
}

static void avx512_follows_the_definition(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (tly_simd_available() >= TLY_SIMD_AVX512) {
        all_tails(tly_kern_gemm_avx512);
        random_shapes(tly_kern_gemm_avx512);
        return;
    }
#endif
#ifdef TLY_TEST_EMULATED_AVX512
    if (tly_simd_available() >= TLY_SIMD_AVX2) {
        all_tails(tly_kern_gemm_emulated);
        random_shapes(tly_kern_gemm_emulated);
        return;
    }
#endif
    print_message("# neither AVX-512 nor what its emulation needs\n");
    skip();
}

static void vnni_follows_the_definition(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (tly_simd_available() >= TLY_SIMD_AVX512_VNNI) {
        all_tails(tly_kern_gemm_avx512vnni);
        random_shapes(tly_kern_gemm_avx512vnni);
        return;
    }
#endif
#ifdef TLY_TEST_EMULATED_AVX512
    if (tly_simd_available() >= TLY_SIMD_AVX2) {
        all_tails(tly_kern_gemm_emulated_vnni);
        random_shapes(tly_kern_gemm_emulated_vnni);
        return;
    }
#endif
    print_message("# neither AVX-512 with VNNI nor what its emulation needs\n");
    skip();
}

static void a_level_that_lacks_a_kernel_falls_back(void **state) {
    const tly_kern_gemm *found;
    (void)state;
    /* A width that no vector divides. */
    found = tly_kern_gemm_find(TLY_SIMD_AVX512, TLY_F32, TLY_F32, TLY_F32, 1, 7);
    assert_non_null(found);
    assert_int_equal(found->simd, TLY_SIMD_PORTABLE);
    assert_null(tly_kern_gemm_find(TLY_SIMD_AVX512, TLY_F32, TLY_F32, TLY_F32, 3, 8));
    assert_null(tly_kern_gemm_find(TLY_SIMD_PORTABLE, TLY_F32, TLY_F64, TLY_F32, 1, 8));
    /* The level decides, not the processor: this one is never run here. */
    found = tly_kern_gemm_find(TLY_SIMD_PORTABLE, TLY_F32, TLY_F32, TLY_F32, 0, 0);
    assert_int_equal(found->simd, TLY_SIMD_PORTABLE);
#if defined(__x86_64__)
    found = tly_kern_gemm_find(TLY_SIMD_AVX2, TLY_F32, TLY_F32, TLY_F32, 0, 0);
    assert_int_equal(found->simd, TLY_SIMD_AVX2);
    found = tly_kern_gemm_find(TLY_SIMD_AVX512, TLY_F32, TLY_F32, TLY_F32, 0, 0);
    assert_int_equal(found->simd, TLY_SIMD_AVX512);
    found = tly_kern_gemm_find(TLY_SIMD_AVX512_VNNI, TLY_U8, TLY_I8, TLY_I32, 0, 0);
    assert_int_equal(found->simd, TLY_SIMD_AVX512_VNNI);
    found = tly_kern_gemm_find(TLY_SIMD_AVX512_VNNI, TLY_F32, TLY_F32, TLY_F32, 0, 0);
    assert_int_equal(found->simd, TLY_SIMD_AVX512);
#endif
}

static void scratch_of_absurd_shapes_saturates(void **state) {
    (void)state;
    for (const tly_kern_gemm *kernel = tly_kern_gemm_portable; kernel->run != NULL; kernel++) {
        assert_true(kernel->scratch_len(UINT64_MAX, 1) == UINT64_MAX);
        assert_true(kernel->scratch_len(UINT64_MAX / 8, UINT64_MAX / 8) == UINT64_MAX);
        assert_true(kernel->scratch_len(1, UINT64_MAX) == UINT64_MAX);
        assert_true(kernel->scratch_len(1, 1) >= 8 * 4);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(portable_follows_the_definition),
        cmocka_unit_test(avx2_follows_the_definition),
        cmocka_unit_test(avx512_follows_the_definition),
        cmocka_unit_test(vnni_follows_the_definition),
        cmocka_unit_test(a_level_that_lacks_a_kernel_falls_back),
        cmocka_unit_test(scratch_of_absurd_shapes_saturates),
    };
    return cmocka_run_group_tests_name("kern/gemm", tests, NULL, NULL);
}
