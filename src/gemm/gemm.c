/* SPDX-License-Identifier: Apache-2.0 */
/* Products: checks everything that a caller can get wrong, so that adapters need not. */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/context.h"
#include "base/error.h"
#include "gemm/adapter.h"

struct tly_gemm {
    const tly_gemm_adapter *adapter;
    tly_gemm_problem problem;
    tly_panel_profile profile;
    int has_panel;
    uint32_t alignment;
    uint64_t panel_len;
    void *product; /* the module's own */
};

/* What adapters see: an empty product wants what the smallest real one wants. */
static tly_gemm_problem at_least_one(const tly_gemm_problem *problem) {
    tly_gemm_problem made = *problem;
    made.m += made.m == 0;
    made.n += made.n == 0;
    made.k += made.k == 0;
    return made;
}

static tly_status check_problem(const tly_gemm_problem *problem, tly_error *error) {
    const tly_dtype types[] = {problem->a_dtype, problem->b_dtype, problem->c_dtype};
    if (problem->size != sizeof *problem) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "options-size",
                             "tly_gemm_problem.size is %zu, expected %zu", problem->size,
                             sizeof *problem);
    }
    if (problem->stored_nk > 1 || problem->reserved != 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "problem-fields",
                             "tly_gemm_problem.stored_nk is 0 or 1 and reserved is 0");
    }
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        const uint32_t bits = tly_dtype_bits(types[i]);
        if (bits == 0 || bits % 8 != 0) {
            return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "element-type",
                                 "element type 0x%02x of operand %c is not one to multiply",
                                 types[i], "ABC"[i]);
        }
    }
    return TLY_OK;
}

tly_status tly_gemm_query(const tly_gemm_adapter *adapter, const tly_gemm_problem *problem,
                          tly_panel_profile *out_profile, tly_error *error) {
    tly_gemm_problem asked;
    tly_status status = check_problem(problem, error);
    if (status != TLY_OK) {
        return status;
    }
    asked = at_least_one(problem);
    return adapter->module->query(adapter->library, &asked, out_profile, error);
}

static tly_status check_profile(tly_gemm *gemm, const tly_panel_profile *profile,
                                tly_error *error) {
    const tly_gemm_problem *problem = &gemm->problem;
    const uint64_t shape[2] = {problem->stored_nk ? problem->n : problem->k,
                               problem->stored_nk ? problem->k : problem->n};
    tly_status status = tly_panel_check(profile, error);
    if (status != TLY_OK) {
        return status;
    }
    if (profile->role != TLY_PANEL_B || profile->rank != 2 ||
        profile->k_axis != (problem->stored_nk ? 1 : 0) || profile->dtype != problem->b_dtype) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "profile-problem",
                             "the profile is not one for operand B of this product: role, element "
                             "type or axes differ");
    }
    gemm->profile = *profile;
    gemm->has_panel = 1;
    return tly_panel_bind(profile, 2, shape, NULL, &gemm->panel_len, error);
}

/* The bytes of each matrix fit in the address space, which every offset computed later relies on.
 */
static int too_large(const tly_gemm_problem *problem) {
    const uint64_t extents[3][2] = {
        {problem->m, problem->k}, {problem->k, problem->n}, {problem->m, problem->n}};
    for (int i = 0; i < 3; i++) {
        uint64_t len;
        if (tly_base_mul_u64(extents[i][0], extents[i][1], &len) ||
            tly_base_mul_u64(len, 8, &len) || len > PTRDIFF_MAX) {
            return 1;
        }
    }
    return 0;
}

tly_status tly_gemm_prepare(const tly_gemm_adapter *adapter, const tly_gemm_problem *problem,
                            const tly_panel_profile *profile, tly_gemm **out_gemm,
                            tly_error *error) {
    tly_gemm *gemm;
    tly_gemm_problem asked;
    tly_status status = check_problem(problem, error);
    *out_gemm = NULL;
    if (status != TLY_OK) {
        return status;
    }
    asked = at_least_one(problem);
    if (too_large(problem)) {
        return tly_base_fail(error, TLY_OVERFLOW, TLY_NO_OFFSET, "product-size",
                             "a matrix of this product does not fit in memory");
    }
    gemm = tly_base_calloc(adapter->context, sizeof *gemm, _Alignof(tly_gemm));
    if (gemm == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "",
                             "no memory for a product");
    }
    gemm->adapter = adapter;
    gemm->problem = *problem;
    gemm->alignment = 1;
    if (profile != NULL) {
        status = check_profile(gemm, profile, error);
    }
    if (status == TLY_OK) {
        status = adapter->module->prepare(adapter->library, &asked, profile, &gemm->product,
                                          &gemm->alignment, error);
    }
    if (status != TLY_OK) {
        tly_base_free(adapter->context, gemm, sizeof *gemm, _Alignof(tly_gemm));
        return status;
    }
    *out_gemm = gemm;
    return TLY_OK;
}

void tly_gemm_free(tly_gemm *gemm) {
    if (gemm != NULL) {
        gemm->adapter->module->release(gemm->product);
        tly_base_free(gemm->adapter->context, gemm, sizeof *gemm, _Alignof(tly_gemm));
    }
}

uint64_t tly_gemm_panel_len(const tly_gemm *gemm) {
    return gemm->panel_len;
}

uint32_t tly_gemm_panel_alignment(const tly_gemm *gemm) {
    return gemm->alignment;
}

tly_status tly_gemm_accepts(const tly_gemm *gemm, const void *layout_data, size_t len,
                            tly_error *error) {
    char wanted[256], got[256];
    tly_panel_profile answer;
    tly_status status;
    if (!gemm->has_panel) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "panel-layout",
                             "this product was prepared for a plain B, and a panel arrived");
    }
    status = tly_panel_decode(layout_data, len, &answer, error);
    if (status != TLY_OK) {
        return status;
    }
    if (!tly_panel_same_layout(&answer, &gemm->profile)) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "panel-layout",
                             "the answer has the layout %.180s, wanted was %.180s",
                             tly_panel_describe(&answer, got, sizeof got),
                             tly_panel_describe(&gemm->profile, wanted, sizeof wanted));
    }
    return TLY_OK;
}

static tly_status check_matrix(const void *start, tly_dtype dtype, uint64_t rows, uint64_t columns,
                               uint64_t ld, char operand, tly_error *error) {
    const uint32_t element_len = tly_dtype_bits(dtype) / 8;
    uint64_t extent;
    if (start == NULL || (uintptr_t)start % element_len != 0) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "matrix-alignment",
                             "%c is at %p: not an address of an element of %u bytes", operand,
                             start, element_len);
    }
    if (rows > 1 && (ld < columns || tly_base_mul_u64(rows, ld, &extent) ||
                     tly_base_mul_u64(extent, element_len, &extent) || extent > PTRDIFF_MAX)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "leading-dimension",
                             "rows of %c have %llu elements, so they cannot be %llu apart", operand,
                             (unsigned long long)columns, (unsigned long long)ld);
    }
    return TLY_OK;
}

/* Leading dimensions do not matter where there is one row; libraries still look at them. */
static uint64_t row_step(uint64_t rows, uint64_t columns, uint64_t ld) {
    return rows > 1 ? ld : columns;
}

/* Checks A and C, and finishes products that need no multiplication (*out_done). */
static tly_status begin(const tly_gemm *gemm, const void *a, uint64_t lda, void *c, uint64_t ldc,
                        int *out_done, tly_error *error) {
    const tly_gemm_problem *p = &gemm->problem;
    tly_status status;
    *out_done = 1;
    if (p->m == 0 || p->n == 0) {
        return TLY_OK;
    }
    status = check_matrix(c, p->c_dtype, p->m, p->n, ldc, 'C', error);
    if (status != TLY_OK) {
        return status;
    }
    if (p->k == 0) {
        const uint64_t element_len = tly_dtype_bits(p->c_dtype) / 8;
        for (uint64_t m = 0; m < p->m; m++) {
            memset((char *)c + m * ldc * element_len, 0, p->n * element_len);
        }
        return TLY_OK;
    }
    *out_done = 0;
    return check_matrix(a, p->a_dtype, p->m, p->k, lda, 'A', error);
}

static tly_status check_panel(const tly_gemm *gemm, const void *panel, uint64_t panel_len,
                              tly_error *error) {
    if (!gemm->has_panel) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "no-panel",
                             "this product was prepared for a plain B");
    }
    if (panel_len != gemm->panel_len) {
        return tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "panel-length",
                             "the panel has %llu bytes, this product needs %llu",
                             (unsigned long long)panel_len, (unsigned long long)gemm->panel_len);
    }
    if (panel_len != 0 && (panel == NULL || (uintptr_t)panel % gemm->alignment != 0)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "panel-alignment",
                             "the panel is at %p; %s needs a multiple of %u", panel,
                             gemm->adapter->name, gemm->alignment);
    }
    return TLY_OK;
}

tly_status tly_gemm_run(tly_gemm *gemm, const void *a, uint64_t lda, const void *panel,
                        uint64_t panel_len, void *c, uint64_t ldc, tly_error *error) {
    const tly_gemm_problem *p = &gemm->problem;
    int done;
    tly_status status = check_panel(gemm, panel, panel_len, error);
    if (status == TLY_OK) {
        status = begin(gemm, a, lda, c, ldc, &done, error);
        if (status == TLY_OK && !done) {
            status = gemm->adapter->module->run(gemm->product, a, row_step(p->m, p->k, lda), panel,
                                                c, row_step(p->m, p->n, ldc), error);
        }
    }
    return status;
}

static uint64_t b_step(const tly_gemm_problem *p, uint64_t ldb) {
    return p->stored_nk ? row_step(p->n, p->k, ldb) : row_step(p->k, p->n, ldb);
}

static tly_status check_b(const tly_gemm *gemm, const void *b, uint64_t ldb, tly_error *error) {
    const tly_gemm_problem *p = &gemm->problem;
    return check_matrix(b, p->b_dtype, p->stored_nk ? p->n : p->k, p->stored_nk ? p->k : p->n, ldb,
                        'B', error);
}

tly_status tly_gemm_plain(tly_gemm *gemm, const void *a, uint64_t lda, const void *b, uint64_t ldb,
                          void *c, uint64_t ldc, tly_error *error) {
    const tly_gemm_problem *p = &gemm->problem;
    int done;
    tly_status status = begin(gemm, a, lda, c, ldc, &done, error);
    if (status != TLY_OK || done) {
        return status;
    }
    status = check_b(gemm, b, ldb, error);
    if (status != TLY_OK) {
        return status;
    }
    return gemm->adapter->module->plain(gemm->product, a, row_step(p->m, p->k, lda), b,
                                        b_step(p, ldb), c, row_step(p->m, p->n, ldc), error);
}

tly_status tly_gemm_pack(tly_gemm *gemm, const void *b, uint64_t ldb, void *panel,
                         uint64_t panel_len, tly_error *error) {
    tly_status status = check_panel(gemm, panel, panel_len, error);
    if (status != TLY_OK) {
        return status;
    }
    if (gemm->adapter->module->pack == NULL) {
        return tly_base_fail(error, TLY_UNSUPPORTED, TLY_NO_OFFSET, "no-packer",
                             "%s has no packer of its own to call", gemm->adapter->name);
    }
    if (panel_len == 0) {
        return TLY_OK;
    }
    status = check_b(gemm, b, ldb, error);
    if (status != TLY_OK) {
        return status;
    }
    return gemm->adapter->module->pack(gemm->product, b, b_step(&gemm->problem, ldb), panel, error);
}
