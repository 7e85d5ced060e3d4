/* SPDX-License-Identifier: Apache-2.0 */
/* oneDNN's matrix product on one core, what tilery bench pto compares TMATMUL with. */
#ifndef TLY_CLI_BENCH_PTO_PRODUCT_H
#define TLY_CLI_BENCH_PTO_PRODUCT_H

#include <tilery/gemm.h>

#include "cli/bench.h"

typedef struct tly_bench_product {
    uint32_t m; /* these six are the caller's */
    uint32_t n;
    uint32_t k;
    tly_dtype a_dtype;
    tly_dtype b_dtype;
    tly_dtype c_dtype;
    tly_gemm_adapter *adapter;
    tly_gemm *gemm;
    const void *left; /* M x K, the caller's */
    uint8_t *panel;   /* B as the library wants it, made once */
    uint64_t panel_len;
    void *product; /* M x N */
} tly_bench_product;

/* `left` and `right` are row-major; `left` is kept, `right` is packed. Errors: MODULE, UNSUPPORTED,
 * NO_PANEL, OUT_OF_MEMORY. */
tly_status tly_bench_product_open(tly_bench_product *product, tly_bench *bench, const void *left,
                                  const void *right, tly_error *error);
void tly_bench_product_close(tly_bench_product *product);

/* A tly_bench_fn; `user` is the product. */
tly_status tly_bench_product_run(void *user, uint64_t turn, tly_error *error);

#endif
