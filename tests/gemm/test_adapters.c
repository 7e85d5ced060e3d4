/* SPDX-License-Identifier: Apache-2.0 */
/* Every adapter of this build, through the public interface: what it asks for, what it makes of it,
 * and what it refuses. */
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <tilery/context.h>
#include <tilery/gemm.h>
#include <tilery/nest.h>
#include <tilery/pack.h>

#include "guarded.h"

static tly_context *context;
static tly_gemm_list *adapters;

/* ---- An allocator that hands out ones (a NaN in every format) and counts ---- */

static int64_t bytes_held;

static void *poisoned(void *user, void *old, size_t old_size, size_t new_size, size_t alignment) {
    void *block = NULL;
    (void)user;
    if (new_size != 0) {
        if (posix_memalign(&block, alignment < 64 ? 64 : alignment, new_size) != 0) {
            return NULL;
        }
        memset(block, 0xFF, new_size);
        if (old != NULL) {
            memcpy(block, old, old_size < new_size ? old_size : new_size);
        }
    }
    free(old);
    bytes_held += (int64_t)new_size - (int64_t)old_size;
    return block;
}

typedef struct types {
    tly_dtype a, b, c;
} types;

static const types all_types[] = {
    {TLY_F32, TLY_F32, TLY_F32},
    {TLY_F64, TLY_F64, TLY_F64},
    {TLY_BF16, TLY_BF16, TLY_F32},
    {TLY_U8, TLY_I8, TLY_I32},
};

static uint32_t len_of(tly_dtype dtype) {
    return tly_dtype_bits(dtype) / 8;
}

/* ---- Values ---- */

static double value_of(tly_dtype dtype, const uint8_t *p) {
    float f;
    double d;
    uint16_t half;
    uint32_t bits;
    int32_t i;
    switch (dtype) {
    case TLY_F32:
        memcpy(&f, p, 4);
        return f;
    case TLY_F64:
        memcpy(&d, p, 8);
        return d;
    case TLY_BF16:
        memcpy(&half, p, 2);
        bits = (uint32_t)half << 16;
        memcpy(&f, &bits, 4);
        return f;
    case TLY_U8:
        return *p;
    case TLY_I8:
        return (int8_t)*p;
    case TLY_I32:
        memcpy(&i, p, 4);
        return i;
    default:
        fail_msg("no value for type %02x", dtype);
        return 0;
    }
}

static void random_value(check_rng *rng, tly_dtype dtype, uint8_t *p) {
    const double d = ((double)check_below(rng, 2000001) - 1e6) / 1e6;
    const float f = (float)d;
    switch (dtype) {
    case TLY_F32:
        memcpy(p, &f, 4);
        break;
    case TLY_F64:
        memcpy(p, &d, 8);
        break;
    case TLY_BF16:
        memcpy(p, (const uint8_t *)&f + (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 2 : 0), 2);
        break;
    default:
        *p = (uint8_t)check_random(rng);
    }
}

/* ---- One product ---- */

typedef struct matrix {
    guarded memory;
    uint64_t rows, columns, ld;
    uint32_t element_len;
} matrix;

/* Rows `ld` elements apart, the last one without a gap behind it; gaps and elements are ones: a
 * NaN. */
static matrix matrix_new(uint64_t rows, uint64_t columns, uint64_t ld, tly_dtype dtype,
                         int at_end) {
    const size_t len = rows == 0 ? 0 : ((rows - 1) * ld + columns) * len_of(dtype);
    matrix m = {guarded_new(len, at_end), rows, columns, ld, len_of(dtype)};
    memset(m.memory.bytes, 0xFF, len);
    return m;
}

static uint8_t *at(const matrix *m, uint64_t row, uint64_t column) {
    return m->memory.bytes + (row * m->ld + column) * m->element_len;
}

static void fill(check_rng *rng, const matrix *m, tly_dtype dtype) {
    for (uint64_t r = 0; r < m->rows; r++) {
        for (uint64_t c = 0; c < m->columns; c++) {
            random_value(rng, dtype, at(m, r, c));
        }
    }
}

/* The panel of stored matrix `b`, element by element from the definition of a nest. */
static guarded panel_by_definition(const tly_panel_profile *profile, const matrix *b, int at_end) {
    const uint64_t shape[2] = {b->rows, b->columns};
    tly_nest nest;
    tly_error error;
    uint64_t len;
    guarded panel;
    CHECK_OK(tly_panel_bind(profile, 2, shape, &nest, &len, &error), &error);
    panel = guarded_new(len, at_end);
    for (uint64_t r = 0; r < b->rows; r++) {
        for (uint64_t c = 0; c < b->columns; c++) {
            const uint64_t index[2] = {r, c};
            int64_t offset;
            assert_int_equal(tly_nest_offset(&nest, index, &offset), TLY_OK);
            memcpy(panel.bytes + offset * b->element_len, at(b, r, c), b->element_len);
        }
    }
    return panel;
}

/* Largest difference over the largest magnitude of the reference (1 for a reference of zeros), from
 * inputs as they are. Gaps between rows of C must still be ones. */
static double relative_error(const tly_gemm_problem *p, const matrix *a, const matrix *b,
                             const matrix *c) {
    double worst = 0, largest = 0;
    for (uint64_t m = 0; m < p->m; m++) {
        for (uint64_t n = 0; n < p->n; n++) {
            double sum = 0;
            double difference;
            for (uint64_t k = 0; k < p->k; k++) {
                sum += value_of(p->a_dtype, at(a, m, k)) *
                       value_of(p->b_dtype, p->stored_nk ? at(b, n, k) : at(b, k, n));
            }
            difference = fabs(sum - value_of(p->c_dtype, at(c, m, n)));
            if (!(difference <= worst)) {
                worst = difference; /* a NaN stays */
            }
            largest = fmax(largest, fabs(sum));
        }
        for (uint64_t i = c->columns; i < c->ld && m + 1 < p->m; i++) {
            for (uint32_t byte = 0; byte < c->element_len; byte++) {
                assert_int_equal(at(c, m, i)[byte], 0xFF);
            }
        }
    }
    return largest > 0 ? worst / largest : worst;
}

typedef struct tally {
    unsigned panels, plains;
} tally;

/* Multiplies from the panel that the adapter wants and by its plain call; both must be right, and
 * the library's own packer must make the same panel. */
static void one_product(check_rng *rng, const tly_gemm_adapter *adapter,
                        const tly_gemm_problem *problem, tally *count) {
    const int at_end = (int)check_below(rng, 2);
    const uint64_t lda = problem->k + check_below(rng, 4), ldc = problem->n + check_below(rng, 4);
    const uint64_t rows = problem->stored_nk ? problem->n : problem->k;
    const uint64_t columns = problem->stored_nk ? problem->k : problem->n;
    matrix a = matrix_new(problem->m, problem->k, lda, problem->a_dtype, at_end);
    matrix b = matrix_new(rows, columns, columns + check_below(rng, 4), problem->b_dtype, at_end);
    matrix c = matrix_new(problem->m, problem->n, ldc, problem->c_dtype, at_end);
    tly_panel_profile profile;
    tly_gemm *gemm;
    tly_error error;
    const char *name = tly_gemm_adapter_name(adapter);
    tly_status status = tly_gemm_query(adapter, problem, &profile, &error);
    fill(rng, &a, problem->a_dtype);
    fill(rng, &b, problem->b_dtype);
    if (status == TLY_OK) {
        guarded panel = panel_by_definition(&profile, &b, at_end);
        uint8_t bytes[TLY_PANEL_MAX_LEN];
        size_t bytes_len;
        count->panels++;
        CHECK_OK(tly_gemm_prepare(adapter, problem, &profile, &gemm, &error), &error);
        CHECK_OK(tly_panel_encode(&profile, bytes, sizeof bytes, &bytes_len, &error), &error);
        CHECK_OK(tly_gemm_accepts(gemm, bytes, bytes_len, &error), &error);
        /* Nobody writes to a fetched buffer. */
        assert_int_equal(mprotect(panel.map, panel.map_len, PROT_READ), 0);
        if ((uintptr_t)panel.bytes % tly_gemm_panel_alignment(gemm) != 0) {
            guarded_free(&panel); /* such a panel is refused: see another test */
            panel = panel_by_definition(&profile, &b, 0);
        }
        CHECK_OK(tly_gemm_run(gemm, a.memory.bytes, lda, panel.bytes, tly_gemm_panel_len(gemm),
                              c.memory.bytes, ldc, &error),
                 &error);
        if (!(relative_error(problem, &a, &b, &c) < 1e-4)) {
            fail_msg("%s from its panel: %d x %d x %d (nk %d, type %02x): relative error %g", name,
                     (int)problem->m, (int)problem->n, (int)problem->k, problem->stored_nk,
                     problem->b_dtype, relative_error(problem, &a, &b, &c));
        }
        if (problem->n > 0 && problem->k > 0) {
            const uint64_t len = tly_gemm_panel_len(gemm);
            uint8_t *packed = aligned_alloc(64, (len + 63) / 64 * 64);
            memset(packed, 0xFF, len);
            status = tly_gemm_pack(gemm, b.memory.bytes, b.ld, packed, len, &error);
            if (status == TLY_OK) {
                assert_memory_equal(packed, panel.bytes, len);
            } else {
                assert_int_equal(status, TLY_UNSUPPORTED);
                assert_string_equal(error.rule, "no-packer");
            }
            free(packed);
        }
        tly_gemm_free(gemm);
        guarded_free(&panel);
    } else if (status != TLY_NO_PANEL && status != TLY_UNSUPPORTED) {
        fail_msg("%s: query: %s", name, error.message);
    }
    memset(c.memory.bytes, 0xFF,
           problem->m == 0 ? 0 : ((problem->m - 1) * ldc + problem->n) * c.element_len);
    status = tly_gemm_prepare(adapter, problem, NULL, &gemm, &error);
    if (status == TLY_OK) {
        status = tly_gemm_plain(gemm, a.memory.bytes, lda, b.memory.bytes, b.ld, c.memory.bytes,
                                ldc, &error);
        tly_gemm_free(gemm);
    }
    if (status == TLY_OK) {
        count->plains++;
        if (!(relative_error(problem, &a, &b, &c) < 1e-4)) {
            fail_msg("%s, plain: %d x %d x %d (nk %d, type %02x): relative error %g", name,
                     (int)problem->m, (int)problem->n, (int)problem->k, problem->stored_nk,
                     problem->b_dtype, relative_error(problem, &a, &b, &c));
        }
    } else if (status != TLY_UNSUPPORTED) {
        fail_msg("%s: plain: %s", name, error.message);
    }
    guarded_free(&a.memory);
    guarded_free(&b.memory);
    guarded_free(&c.memory);
}

static tly_gemm_problem problem_of(const types *t, uint64_t m, uint64_t n, uint64_t k, int nk) {
    const tly_gemm_problem p = {.size = sizeof p,
                                .m = m,
                                .n = n,
                                .k = k,
                                .a_dtype = t->a,
                                .b_dtype = t->b,
                                .c_dtype = t->c,
                                .stored_nk = (uint8_t)nk};
    return p;
}

/* ---- Tests ---- */

static void products_with_all_tails_are_right(void **state) {
    static const uint64_t small[] = {0, 1, 2, 3, 5, 8, 9, 16, 17};
    const size_t num = sizeof small / sizeof small[0];
    (void)state;
    for (uint32_t i = 0; i < tly_gemm_list_num(adapters); i++) {
        const char *name = tly_gemm_list_name(adapters, i);
        check_rng rng = {.state = 11};
        tly_gemm_adapter *adapter;
        tly_error error;
        CHECK_OK(tly_gemm_open(context, name, &adapter, &error), &error);
        for (size_t t = 0; t < sizeof all_types / sizeof all_types[0]; t++) {
            tally count = {0, 0};
            /* A third of the cube, another third for each library and type. */
            for (size_t x = (i + t) % 3; x < num * num * num; x += 3) {
                const tly_gemm_problem p =
                    problem_of(&all_types[t], small[x / num / num], small[x / num % num],
                               small[x % num], (int)check_below(&rng, 2));
                one_product(&rng, adapter, &p, &count);
            }
            for (int x = 0; x < 12; x++) {
                const tly_gemm_problem p =
                    problem_of(&all_types[t], 1 + check_below(&rng, 40), 1 + check_below(&rng, 150),
                               1 + check_below(&rng, 700), x % 2);
                one_product(&rng, adapter, &p, &count);
            }
            print_message("# %s, type %02x: %u products from panels, %u plain (%s)\n", name,
                          all_types[t].b, count.panels, count.plains,
                          tly_gemm_adapter_version(adapter));
            if (t == 0) {
                /* f32 is the heart of every adapter; OpenBLAS alone never wants a panel. */
                assert_int_equal(count.panels > 0, strcmp(name, "openblas") != 0);
                assert_true(count.plains > 0);
            }
        }
        tly_gemm_close(adapter);
    }
}

/* The first and the last product of a matrix whose rows lie more than 2^31 elements apart. Address
 * space only: the pages between are never touched. */
static void offsets_beyond_32_bits_are_right(void **state) {
    const uint64_t ld = (UINT64_C(1) << 31) + 77;
    const size_t len = (ld + 8) * sizeof(float);
    float *a =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    float *c =
        mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    const tly_gemm_problem p = problem_of(&all_types[0], 2, 8, 8, 0);
    (void)state;
    if (a == MAP_FAILED || c == MAP_FAILED) {
        print_message("# no address space for two matrices of 8 GiB\n");
        skip();
    }
    for (uint64_t k = 0; k < 8; k++) {
        a[k] = 1;
        a[ld + k] = 2;
    }
    for (uint32_t i = 0; i < tly_gemm_list_num(adapters); i++) {
        const char *name = tly_gemm_list_name(adapters, i);
        matrix b = matrix_new(8, 8, 8, TLY_F32, 1);
        tly_panel_profile profile;
        tly_gemm_adapter *adapter;
        tly_gemm *gemm;
        tly_error error;
        tly_status status;
        check_rng rng = {.state = 5};
        fill(&rng, &b, TLY_F32);
        CHECK_OK(tly_gemm_open(context, name, &adapter, &error), &error);
        if (tly_gemm_query(adapter, &p, &profile, &error) == TLY_OK) {
            guarded panel = panel_by_definition(&profile, &b, 0);
            CHECK_OK(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error);
            status =
                tly_gemm_run(gemm, a, ld, panel.bytes, tly_gemm_panel_len(gemm), c, ld, &error);
            guarded_free(&panel);
        } else {
            CHECK_OK(tly_gemm_prepare(adapter, &p, NULL, &gemm, &error), &error);
            status = tly_gemm_plain(gemm, a, ld, b.memory.bytes, 8, c, ld, &error);
        }
        if (status == TLY_UNSUPPORTED) { /* a library that counts in 32 bits says so */
            assert_string_equal(error.rule, "product-size");
        } else {
            CHECK_OK(status, &error);
            for (uint64_t n = 0; n < 8; n++) {
                double sum = 0;
                for (uint64_t k = 0; k < 8; k++) {
                    sum += value_of(TLY_F32, at(&b, k, n));
                }
                assert_true(fabs(c[n] - sum) < 1e-5);
                assert_true(fabs(c[ld + n] - 2 * sum) < 1e-5);
            }
        }
        tly_gemm_free(gemm);
        tly_gemm_close(adapter);
        guarded_free(&b.memory);
    }
    munmap(a, len);
    munmap(c, len);
}

/* A panel may start anywhere that the adapter says it may; elsewhere it is refused, never misread.
 */
static void every_alignment_is_right_or_refused(void **state) {
    const tly_gemm_problem p = problem_of(&all_types[0], 9, 70, 33, 1);
    (void)state;
    for (uint32_t i = 0; i < tly_gemm_list_num(adapters); i++) {
        const char *name = tly_gemm_list_name(adapters, i);
        check_rng rng = {.state = 3};
        matrix a = matrix_new(p.m, p.k, p.k, TLY_F32, 1);
        matrix b = matrix_new(p.n, p.k, p.k, TLY_F32, 1);
        matrix c = matrix_new(p.m, p.n, p.n, TLY_F32, 1);
        tly_panel_profile profile;
        tly_gemm_adapter *adapter;
        tly_gemm *gemm;
        tly_error error;
        fill(&rng, &a, TLY_F32);
        fill(&rng, &b, TLY_F32);
        CHECK_OK(tly_gemm_open(context, name, &adapter, &error), &error);
        if (tly_gemm_query(adapter, &p, &profile, &error) == TLY_OK) {
            guarded panel = panel_by_definition(&profile, &b, 0);
            unsigned refused = 0;
            uint64_t len;
            uint8_t *room;
            CHECK_OK(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error);
            len = tly_gemm_panel_len(gemm);
            room = aligned_alloc(64, (len + 127) / 64 * 64);
            for (uint64_t offset = 0; offset < 64; offset++) {
                tly_status status;
                memcpy(room + offset, panel.bytes, len);
                memset(c.memory.bytes, 0xFF, p.m * p.n * 4);
                status = tly_gemm_run(gemm, a.memory.bytes, p.k, room + offset, len, c.memory.bytes,
                                      p.n, &error);
                if (offset % tly_gemm_panel_alignment(gemm) != 0) {
                    CHECK_RULE(status, &error, TLY_INVALID_ARGUMENT, "panel-alignment");
                    refused++;
                } else {
                    CHECK_OK(status, &error);
                    assert_true(relative_error(&p, &a, &b, &c) < 1e-4);
                }
            }
            assert_true(refused >= 48 && refused < 64); /* an odd address is no f32's */
            free(room);
            tly_gemm_free(gemm);
            guarded_free(&panel);
        }
        tly_gemm_close(adapter);
        guarded_free(&a.memory);
        guarded_free(&b.memory);
        guarded_free(&c.memory);
    }
}

/* What the packing engine makes is what the definition of a nest says, so it multiplies as well. */
static void panels_of_the_packing_engine_multiply(void **state) {
    (void)state;
    for (uint32_t i = 0; i < tly_gemm_list_num(adapters); i++) {
        tly_gemm_adapter *adapter;
        tly_error error;
        check_rng rng = {.state = 77};
        CHECK_OK(tly_gemm_open(context, tly_gemm_list_name(adapters, i), &adapter, &error), &error);
        for (int x = 0; x < 8; x++) {
            const tly_gemm_problem p =
                problem_of(&all_types[0], 1 + check_below(&rng, 20), 1 + check_below(&rng, 200),
                           1 + check_below(&rng, 300), x % 2);
            const uint64_t shape[2] = {x % 2 ? p.n : p.k, x % 2 ? p.k : p.n};
            matrix a = matrix_new(p.m, p.k, p.k, TLY_F32, 1);
            matrix b = matrix_new(shape[0], shape[1], shape[1], TLY_F32, 1);
            matrix c = matrix_new(p.m, p.n, p.n, TLY_F32, 1);
            tly_panel_profile profile;
            tly_pack_plan *plan;
            tly_nest from, to;
            uint64_t len;
            uint8_t *panel;
            tly_gemm *gemm;
            fill(&rng, &a, TLY_F32);
            fill(&rng, &b, TLY_F32);
            if (tly_gemm_query(adapter, &p, &profile, &error) == TLY_OK) {
                CHECK_OK(tly_panel_bind(&profile, 2, shape, &to, &len, &error), &error);
                CHECK_OK(tly_nest_row_major(&from, 2, shape), &error);
                CHECK_OK(tly_pack_plan_new(context, &to, &from, 32, NULL, &plan, &error), &error);
                panel = aligned_alloc(64, (len + 63) / 64 * 64);
                tly_pack_run(plan, panel, b.memory.bytes);
                CHECK_OK(tly_gemm_prepare(adapter, &p, &profile, &gemm, &error), &error);
                CHECK_OK(tly_gemm_run(gemm, a.memory.bytes, p.k, panel, len, c.memory.bytes, p.n,
                                      &error),
                         &error);
                assert_true(relative_error(&p, &a, &b, &c) < 1e-4);
                tly_gemm_free(gemm);
                tly_pack_plan_free(plan);
                free(panel);
            }
            guarded_free(&a.memory);
            guarded_free(&b.memory);
            guarded_free(&c.memory);
        }
        tly_gemm_close(adapter);
    }
}

/* Runs last: everything that was opened is closed. */
static void nothing_is_left_behind(void **state) {
    (void)state;
    tly_gemm_list_free(adapters);
    tly_context_free(context);
    assert_int_equal(bytes_held, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_with_all_tails_are_right),
        cmocka_unit_test(offsets_beyond_32_bits_are_right),
        cmocka_unit_test(every_alignment_is_right_or_refused),
        cmocka_unit_test(panels_of_the_packing_engine_multiply),
        cmocka_unit_test(nothing_is_left_behind),
    };
    const tly_context_options options = {.size = sizeof options, .allocator = {poisoned, NULL}};
    tly_error error;
    if (tly_context_new(&options, &context, &error) != TLY_OK ||
        tly_gemm_list_new(context, &adapters, &error) != TLY_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    return cmocka_run_group_tests_name("gemm/adapters", tests, NULL, NULL);
}
