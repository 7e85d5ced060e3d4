/* SPDX-License-Identifier: Apache-2.0 */
/* OpenBLAS as an adapter. It packs B inside each call and has no way to hand it packed panels, so
 * the answer to every query is that it wants B plain. */
#include <cblas.h>
#include <limits.h>
#include <stdio.h>

#include <tilery/gemm_module.h>

typedef struct product {
    const tly_gemm_host *host;
    tly_gemm_problem problem;
} product;

static tly_status openblas_open(const tly_gemm_host *host, void **out_library, char *version,
                                tly_error *error) {
    const tly_gemm_host **kept = host->alloc(host->user, sizeof *kept, _Alignof(void *));
    int used = 0;
    if (kept == NULL) {
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for the adapter");
    }
    *kept = host;
    /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...": the first two words. */
    sscanf(openblas_get_config(), "%*s%*[ ]%*s%n", &used);
    snprintf(version, TLY_GEMM_VERSION_LEN, "%.*s (%s)", used, openblas_get_config(),
             openblas_get_corename());
    *out_library = kept;
    return TLY_OK;
}

static void openblas_close(void *library) {
    const tly_gemm_host **kept = library;
    const tly_gemm_host *host = *kept;
    host->free(host->user, kept, sizeof *kept, _Alignof(void *));
}

static tly_status check_problem(const tly_gemm_host *host, const tly_gemm_problem *p,
                                tly_error *error) {
    const int f32 = p->a_dtype == TLY_F32 && p->b_dtype == TLY_F32 && p->c_dtype == TLY_F32;
    const int f64 = p->a_dtype == TLY_F64 && p->b_dtype == TLY_F64 && p->c_dtype == TLY_F64;
    if (!f32 && !f64) {
        return host->fail(error, TLY_UNSUPPORTED, "element-type",
                          "the OpenBLAS adapter multiplies f32 and f64");
    }
    if (p->m > INT_MAX || p->n > INT_MAX || p->k > INT_MAX) {
        return host->fail(error, TLY_UNSUPPORTED, "product-size",
                          "OpenBLAS counts in 32 bits: this product is too large");
    }
    return TLY_OK;
}

static tly_status no_panel(const tly_gemm_host *host, tly_error *error) {
    return host->fail(error, TLY_NO_PANEL, "no-panel-wanted",
                      "no panel wanted: OpenBLAS takes plain matrices only and packs in each call");
}

static tly_status openblas_query(void *library, const tly_gemm_problem *problem,
                                 tly_panel_profile *out_profile, tly_error *error) {
    const tly_gemm_host *host = *(const tly_gemm_host **)library;
    tly_status status = check_problem(host, problem, error);
    (void)out_profile;
    return status == TLY_OK ? no_panel(host, error) : status;
}

static tly_status openblas_prepare(void *library, const tly_gemm_problem *problem,
                                   const tly_panel_profile *profile, void **out_product,
                                   uint32_t *out_alignment, tly_error *error) {
    const tly_gemm_host *host = *(const tly_gemm_host **)library;
    product *p;
    tly_status status = check_problem(host, problem, error);
    if (status != TLY_OK) {
        return status;
    }
    if (profile != NULL) {
        return no_panel(host, error);
    }
    p = host->alloc(host->user, sizeof *p, _Alignof(product));
    if (p == NULL) {
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for a product");
    }
    p->host = host;
    p->problem = *problem;
    *out_alignment = 1;
    *out_product = p;
    return TLY_OK;
}

static void openblas_release(void *made) {
    product *p = made;
    p->host->free(p->host->user, p, sizeof *p, _Alignof(product));
}

/* Never called: no product has a panel. */
static tly_status openblas_run(void *made, const void *a, uint64_t lda, const void *panel, void *c,
                               uint64_t ldc, tly_error *error) {
    const product *p = made;
    (void)a, (void)lda, (void)panel, (void)c, (void)ldc;
    return no_panel(p->host, error);
}

static tly_status openblas_plain(void *made, const void *a, uint64_t lda, const void *b,
                                 uint64_t ldb, void *c, uint64_t ldc, tly_error *error) {
    const product *p = made;
    const blasint m = (blasint)p->problem.m, n = (blasint)p->problem.n, k = (blasint)p->problem.k;
    const enum CBLAS_TRANSPOSE form = p->problem.stored_nk ? CblasTrans : CblasNoTrans;
    if (lda > INT_MAX || ldb > INT_MAX || ldc > INT_MAX) {
        return p->host->fail(error, TLY_UNSUPPORTED, "product-size",
                             "OpenBLAS counts in 32 bits: a leading dimension is too large");
    }
    if (p->problem.a_dtype == TLY_F32) {
        cblas_sgemm(CblasRowMajor, CblasNoTrans, form, m, n, k, 1, a, (blasint)lda, b, (blasint)ldb,
                    0, c, (blasint)ldc);
    } else {
        cblas_dgemm(CblasRowMajor, CblasNoTrans, form, m, n, k, 1, a, (blasint)lda, b, (blasint)ldb,
                    0, c, (blasint)ldc);
    }
    return TLY_OK;
}

TLY_API const tly_gemm_module *tly_gemm_module_get(void);

const tly_gemm_module *tly_gemm_module_get(void) {
    static const tly_gemm_module module = {
        .abi = TLY_GEMM_MODULE_ABI,
        .size = sizeof(tly_gemm_module),
        .name = "openblas",
        .open = openblas_open,
        .close = openblas_close,
        .query = openblas_query,
        .prepare = openblas_prepare,
        .release = openblas_release,
        .run = openblas_run,
        .plain = openblas_plain,
        .pack = NULL,
    };
    return &module;
}
