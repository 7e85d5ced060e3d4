/* SPDX-License-Identifier: Apache-2.0 */
/* Tilery's own kernel (kern/gemm.h) as an adapter. */
#include <stdio.h>
#include <string.h>

#include <tilery/version.h>

#include "base/checked.h"
#include "gemm/adapter.h"
#include "gemm/form.h"
#include "kern/gemm.h"

#define SCRATCH_ALIGNMENT 64

typedef struct product {
    const tly_gemm_host *host;
    tly_gemm_problem problem;
    const tly_kern_gemm *kernel; /* for the panels that the product was prepared for */
    uint64_t width;
    uint64_t panel_stride; /* elements */
    const tly_kern_gemm
        *plain_kernel; /* for plain products: the best one, on one panel at a time */
    tly_gemm_form plain_form;
    uint64_t plain_stride; /* elements of that panel */
    uint32_t b_len;        /* bytes of an element of B */
    uint8_t *scratch;      /* the kernel's, then the panel of plain products */
    uint64_t scratch_len;
    uint64_t panel_at; /* offset of that panel */
} product;

static tly_status own_open(const tly_gemm_host *host, void **out_library, char *version,
                           tly_error *error) {
    (void)error;
    memcpy(out_library, &host, sizeof host); /* the host is all that there is */
    snprintf(version, TLY_GEMM_VERSION_LEN, "Tilery %s (%s)", TLY_VERSION_STRING,
             tly_simd_name((tly_simd)host->simd));
    return TLY_OK;
}

static void own_close(void *library) {
    (void)library;
}

static const tly_kern_gemm *find_kernel(const tly_gemm_host *host, const tly_gemm_problem *problem,
                                        uint32_t group, uint64_t width) {
    return tly_kern_gemm_find((tly_simd)host->simd, problem->a_dtype, problem->b_dtype,
                              problem->c_dtype, group, width);
}

static tly_status no_kernel(const tly_gemm_host *host, tly_error *error) {
    return host->fail(error, TLY_UNSUPPORTED, "element-type",
                      "own multiplies f32 by f32 to f32, f64 by f64 to f64, bf16 by bf16 to f32 "
                      "and u8 by i8 to i32");
}

static void best_form(const tly_kern_gemm *kernel, tly_gemm_form *out_form) {
    out_form->width = out_form->n_round = kernel->best_width;
    out_form->group = out_form->k_round = kernel->group;
}

static tly_status own_query(void *library, const tly_gemm_problem *problem,
                            tly_panel_profile *out_profile, tly_error *error) {
    const tly_gemm_host *host = library;
    const tly_kern_gemm *kernel = find_kernel(host, problem, 0, 0);
    tly_gemm_form form;
    char name[TLY_PANEL_NAME_LEN];
    if (kernel == NULL) {
        return no_kernel(host, error);
    }
    best_form(kernel, &form);
    snprintf(name, sizeof name, "tilery/%s", tly_simd_name((tly_simd)kernel->simd));
    tly_gemm_form_profile(&form, problem, name,
                          TLY_VERSION_MAJOR * 10000 + TLY_VERSION_MINOR * 100 + TLY_VERSION_PATCH,
                          out_profile);
    return TLY_OK;
}

static void own_release(void *opened) {
    product *p = opened;
    p->host->free(p->host->user, p->scratch, p->scratch_len, SCRATCH_ALIGNMENT);
    p->host->free(p->host->user, p, sizeof *p, _Alignof(product));
}

/* Scratch for either kernel and one panel. 0 when it cannot be had. */
static int get_scratch(product *p) {
    const uint64_t run_len = p->kernel->scratch_len(p->problem.m, p->problem.k);
    const uint64_t plain_len = p->plain_kernel->scratch_len(p->problem.m, p->problem.k);
    uint64_t panel_len;
    p->panel_at = run_len > plain_len ? run_len : plain_len;
    if (tly_base_round_up_u64(p->panel_at, SCRATCH_ALIGNMENT, &p->panel_at) ||
        tly_base_mul_u64(p->plain_stride, p->b_len, &panel_len) ||
        tly_base_add_u64(p->panel_at, panel_len, &p->scratch_len) || p->scratch_len > PTRDIFF_MAX) {
        return 0;
    }
    p->scratch = p->host->alloc(p->host->user, p->scratch_len, SCRATCH_ALIGNMENT);
    return p->scratch != NULL;
}

static tly_status own_prepare(void *library, const tly_gemm_problem *problem,
                              const tly_panel_profile *profile, void **out_product,
                              uint32_t *out_alignment, tly_error *error) {
    const tly_gemm_host *host = library;
    product made = {.host = host, .problem = *problem};
    tly_gemm_form form;
    product *p;
    made.plain_kernel = made.kernel = find_kernel(host, problem, 0, 0);
    if (made.kernel == NULL) {
        return no_kernel(host, error);
    }
    best_form(made.kernel, &form);
    made.plain_form = form;
    if (profile != NULL && !tly_gemm_form_find(profile, &form)) {
        return host->fail(error, TLY_NO_PANEL, "panel-form",
                          "own multiplies from panels made of rows, [N/w][K/g][N:w][K:g]; this is "
                          "another layout");
    }
    made.kernel = find_kernel(host, problem, form.group, form.width);
    if (made.kernel == NULL) {
        return host->fail(error, TLY_NO_PANEL, "panel-form",
                          "own has no kernel for panels with this many rows of K side by side");
    }
    made.width = form.width;
    made.panel_stride = tly_gemm_form_stride(&form, problem->k);
    made.plain_stride = tly_gemm_form_stride(&made.plain_form, problem->k);
    made.b_len = tly_dtype_bits(problem->b_dtype) / 8;
    p = host->alloc(host->user, sizeof *p, _Alignof(product));
    if (p == NULL || !get_scratch(&made)) {
        host->free(host->user, p, sizeof *p, _Alignof(product));
        return host->fail(error, TLY_OUT_OF_MEMORY, "", "no memory for the scratch of a product");
    }
    *p = made;
    *out_alignment = p->b_len;
    *out_product = p;
    return TLY_OK;
}

static tly_status own_run(void *opened, const void *a, uint64_t lda, const void *panel, void *c,
                          uint64_t ldc, tly_error *error) {
    const product *p = opened;
    const tly_kern_gemm_args args = {
        .m = p->problem.m,
        .n = p->problem.n,
        .k = p->problem.k,
        .a = a,
        .lda = lda,
        .panels = panel,
        .panel_stride = p->panel_stride,
        .width = p->width,
        .c = c,
        .ldc = ldc,
        .scratch = p->scratch,
    };
    (void)error;
    p->kernel->run(&args);
    return TLY_OK;
}

/* Copies columns [n, n + cols) of a plain B into one panel. Elements move as they are. */
static void fill_panel(const product *p, const uint8_t *b, uint64_t ldb, uint64_t n, uint64_t cols,
                       uint8_t *panel) {
    const tly_gemm_problem *problem = &p->problem;
    const uint64_t k_step = problem->stored_nk ? 1 : ldb, n_step = problem->stored_nk ? ldb : 1;
    const uint64_t width = p->plain_form.width, group = p->plain_form.group;
    memset(panel, 0, p->plain_stride * p->b_len);
    for (uint64_t g = 0; g < group && g < problem->k; g++) { /* every group-th row of K */
        tly_gemm_copy(p->b_len, (problem->k - g + group - 1) / group, cols,
                      b + (g * k_step + n * n_step) * p->b_len, group * k_step, n_step,
                      panel + g * p->b_len, group * width, group);
    }
}

/* Panel by panel through scratch memory, as a BLAS does. */
static tly_status own_plain(void *opened, const void *a, uint64_t lda, const void *b, uint64_t ldb,
                            void *c, uint64_t ldc, tly_error *error) {
    const product *p = opened;
    const uint64_t c_len = tly_dtype_bits(p->problem.c_dtype) / 8;
    tly_kern_gemm_args args = {
        .m = p->problem.m,
        .k = p->problem.k,
        .a = a,
        .lda = lda,
        .panels = p->scratch + p->panel_at,
        .panel_stride = p->plain_stride,
        .width = p->plain_form.width,
        .ldc = ldc,
        .scratch = p->scratch,
    };
    (void)error;
    for (uint64_t n = 0; n < p->problem.n; n += args.width) {
        args.n = p->problem.n - n < args.width ? p->problem.n - n : args.width;
        args.c = (uint8_t *)c + n * c_len;
        fill_panel(p, b, ldb, n, args.n, p->scratch + p->panel_at);
        p->plain_kernel->run(&args);
    }
    return TLY_OK;
}

const tly_gemm_module tly_gemm_own = {
    .abi = TLY_GEMM_MODULE_ABI,
    .size = sizeof(tly_gemm_module),
    .name = "own",
    .open = own_open,
    .close = own_close,
    .query = own_query,
    .prepare = own_prepare,
    .release = own_release,
    .run = own_run,
    .plain = own_plain,
    .pack = NULL,
};
