/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/bench_pto_product.h"

#include <stdlib.h>

#include <tilery/pack.h>

#include "base/error.h"

static tly_status pack_right(tly_bench_product *p, tly_bench *bench,
                             const tly_panel_profile *profile, const void *right,
                             tly_error *error) {
    const uint64_t shape[2] = {p->k, p->n};
    tly_nest dense, panel;
    tly_pack_plan *plan = NULL;
    p->panel_len = tly_gemm_panel_len(p->gemm);
    p->panel = aligned_alloc(4096, (size_t)(p->panel_len + 4095) / 4096 * 4096);
    if (p->panel == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    tly_status status = tly_nest_row_major(&dense, 2, shape);
    if (status == TLY_OK) {
        status = tly_panel_bind(profile, 2, shape, &panel, NULL, error);
    }
    if (status == TLY_OK) {
        status = tly_pack_plan_new(tly_bench_context(bench), &panel, &dense,
                                   tly_dtype_bits(p->b_dtype), NULL, &plan, error);
    }
    if (status == TLY_OK) {
        tly_pack_run(plan, p->panel, right);
    }
    tly_pack_plan_free(plan);
    return status;
}

tly_status tly_bench_product_open(tly_bench_product *p, tly_bench *bench, const void *left,
                                  const void *right, tly_error *error) {
    const tly_gemm_problem problem = {.size = sizeof(problem),
                                      .m = p->m,
                                      .n = p->n,
                                      .k = p->k,
                                      .a_dtype = p->a_dtype,
                                      .b_dtype = p->b_dtype,
                                      .c_dtype = p->c_dtype};
    tly_panel_profile profile = {.size = sizeof(profile)};
    p->left = left;
    p->product = calloc((size_t)p->m * p->n, tly_dtype_bits(p->c_dtype) / 8);
    if (p->product == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    tly_status status = tly_gemm_open(tly_bench_context(bench), "onednn", &p->adapter, error);
    if (status == TLY_OK) {
        status = tly_gemm_query(p->adapter, &problem, &profile, error);
    }
    if (status == TLY_OK) {
        status = tly_gemm_prepare(p->adapter, &problem, &profile, &p->gemm, error);
    }
    return status == TLY_OK ? pack_right(p, bench, &profile, right, error) : status;
}

void tly_bench_product_close(tly_bench_product *p) {
    tly_gemm_free(p->gemm);
    tly_gemm_close(p->adapter);
    free(p->panel);
    free(p->product);
}

tly_status tly_bench_product_run(void *user, uint64_t turn, tly_error *error) {
    tly_bench_product *p = user;
    (void)turn;
    tly_status status =
        tly_gemm_run(p->gemm, p->left, p->k, p->panel, p->panel_len, p->product, p->n, error);
    tly_bench_keep(p->product);
    return status;
}
