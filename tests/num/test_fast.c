/* SPDX-License-Identifier: Apache-2.0 */
/* The loops for common pairs give, on every vector level, what the long way gives. */
#include "check.h"

#include <stdio.h>
#include <string.h>

#include "guarded.h"
#include "num/fast.h"
#include "num/packed.h"

#ifdef TLY_TEST_EMULATED_AVX512
extern num_fast_table num_fast_emulated;
#endif

static const tly_format_id ids[NUM_FAST_TYPES] = {TLY_F32,    TLY_F16,    TLY_BF16,
                                                  TLY_F8E4M3, TLY_F8E5M2, TLY_F64};

static uint32_t levels(const num_fast_table **out) {
    uint32_t n = 0;
    for (int32_t simd = TLY_SIMD_PORTABLE; simd <= (int32_t)tly_simd_available(); simd++) {
        out[n++] = num_fast_level((tly_simd)simd);
    }
#ifdef TLY_TEST_EMULATED_AVX512
    out[n++] = &num_fast_emulated;
#endif
    return n;
}

/* Codes of f32 that matter: beside the borders of all narrower formats, and random ones. */
static uint32_t interesting(check_rng *rng) {
    uint64_t r = check_random(rng);
    uint32_t code = (uint32_t)r;
    switch (r >> 32 & 3) {
    case 0:
        return code;
    case 1: /* few mantissa bits, and one more or less */
        return (code & 0xFFF80000) + (uint32_t)(r >> 40 & 2) - 1;
    case 2: /* exponents from 2^-30 to 2^33 */
        return (code & 0x807FFFFF) | (97 + (uint32_t)(r >> 40 & 63)) << 23;
    default:
        return (code & 0x807FF000) | (97 + (uint32_t)(r >> 40 & 63)) << 23;
    }
}

/* Codes of f64: those of f32 with more below, and random ones. */
static uint64_t interesting_wide(check_rng *rng) {
    uint64_t r = check_random(rng), exponent = 1023 - 152 + check_below(rng, 284);
    if (check_below(rng, 4) == 0) {
        return r;
    }
    r = (r & UINT64_C(0x800FFFFFFFFFFFFF)) | exponent << 52;
    switch (check_below(rng, 3)) {
    case 0:
        return r;
    case 1:
        return r & ~UINT64_C(0x0FFFFFFF); /* a tie, or exact */
    default:
        return (r & ~UINT64_C(0x0FFFFFFF)) + (check_below(rng, 3) - 1);
    }
}

static void every_level_agrees_with_the_long_way(void **state) {
    enum { NUM = 65536 };
    static uint8_t src[NUM * 8 + 8], wanted[NUM * 8];
    const num_fast_table *tables[TLY_SIMD_AVX512_FP16 + 1];
    uint32_t num_levels = levels(tables);
    check_rng rng = {check_seed(1)};
    tly_context *context;
    tly_error error;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    for (uint32_t from = 0; from < NUM_FAST_TYPES; from++) {
        const tly_format *s = tly_format_find(ids[from]);
        for (uint32_t i = 0; i < NUM; i++) { /* all codes of formats of 8 and 16 bits */
            uint64_t code = from == NUM_FAST_F32   ? interesting(&rng)
                            : from == NUM_FAST_F64 ? interesting_wide(&rng)
                                                   : i;
            tly_num_store_codes(src + 1, i, 1, s->bits, &code, &code);
        }
        for (uint32_t to = 0; to < NUM_FAST_TYPES; to++) {
            const tly_format *d = tly_format_find(ids[to]);
            size_t len = (size_t)NUM * d->bits / 8;
            uint32_t ways = to == NUM_FAST_F32 || to == NUM_FAST_F64 ? 1 : 2;
            if ((*tables[0])[to][from] == NULL) {
                assert_true(to == from || to == NUM_FAST_F64 || from == NUM_FAST_F64);
                continue;
            }
            for (uint32_t saturate = 0; saturate < ways; saturate++) {
                tly_convert_options options = {.size = sizeof options, .saturate = saturate};
                uint32_t flags;
                assert_int_equal(
                    tly_convert(context, d, wanted, 0, s, src + 1, 0, NUM, &options, &flags),
                    TLY_OK);
                for (uint32_t n = 0; n < num_levels; n++) {
                    /* Ends at a page that must not be touched, and is not aligned. */
                    guarded out = guarded_new(len, 1),
                            in = guarded_new((size_t)NUM * s->bits / 8, 1);
                    uint32_t skip = (uint32_t)check_below(&rng, 40);
                    size_t d_skip = skip * (size_t)d->bits / 8, s_skip = skip * (size_t)s->bits / 8;
                    memcpy(in.bytes, src + 1, (size_t)NUM * s->bits / 8);
                    (*tables[n])[to][from](out.bytes + d_skip, in.bytes + s_skip, NUM - skip,
                                           saturate);
                    for (size_t i = 0; i < len; i++) {
                        if (out.bytes[i] != (i < d_skip ? 0 : wanted[i])) {
                            fail_msg("level %u, %s to %s: byte %zu is %02x, not %02x", n, s->name,
                                     d->name, i, out.bytes[i], wanted[i]);
                        }
                    }
                    guarded_free(&out);
                    guarded_free(&in);
                }
            }
        }
    }
    tly_context_free(context);
}

/* All of the public function's answers come out the same without asking for flags. */
static void asking_for_flags_changes_nothing(void **state) {
    enum { NUM = 4096 };
    static uint8_t src[NUM * 16], a[NUM * 16], b[NUM * 16];
    check_rng rng = {check_seed(2)};
    tly_context *context;
    tly_error error;
    (void)state;
    CHECK_OK(tly_context_new(NULL, &context, &error), &error);
    for (size_t i = 0; i < sizeof src; i++) {
        src[i] = (uint8_t)check_random(&rng);
    }
    for (uint32_t s = 0; s < 512; s++) {
        for (uint32_t d = 0; d < 512; d++) {
            const tly_format *from = tly_format_find((tly_format_id)s);
            const tly_format *to = tly_format_find((tly_format_id)d);
            tly_convert_options options = {.size = sizeof options, .saturate = s & 1};
            uint32_t flags, num = from != NULL && from->bits <= 8 ? 300 : 60;
            if (from == NULL || to == NULL ||
                (from->klass == TLY_CLASS_COMPLEX) != (to->klass == TLY_CLASS_COMPLEX)) {
                continue;
            }
            memset(a, 0, 300 * 16);
            memset(b, 0, 300 * 16);
            assert_int_equal(tly_convert(context, to, a, 0, from, src, 0, num, &options, NULL),
                             TLY_OK);
            assert_int_equal(tly_convert(context, to, b, 0, from, src, 0, num, &options, &flags),
                             TLY_OK);
            assert_memory_equal(a, b, 300 * 16);
        }
    }
    tly_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_level_agrees_with_the_long_way),
        cmocka_unit_test(asking_for_flags_changes_nothing),
    };
    return cmocka_run_group_tests_name("num/fast", tests, NULL, NULL);
}
