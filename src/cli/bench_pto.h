/* SPDX-License-Identifier: Apache-2.0 */
/* Cases of tilery bench pto. */
#ifndef TLY_CLI_BENCH_PTO_H
#define TLY_CLI_BENCH_PTO_H

#include "cli/bench.h"

tly_status tly_bench_run_scalar_loop(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error);
tly_status tly_bench_run_scalar_memory(tly_bench *bench, const tly_bench_case *self,
                                       tly_error *error);
tly_status tly_bench_run_vs_qemu(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_run_reset(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_run_start(tly_bench *bench, const tly_bench_case *self, tly_error *error);

tly_status tly_bench_run_tile_bundle(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error);
tly_status tly_bench_run_tile_tadd(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_run_tile_tload(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_run_tile_tstore(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error);
tly_status tly_bench_run_tile_tload_nd2n8(tly_bench *bench, const tly_bench_case *self,
                                          tly_error *error);
tly_status tly_bench_run_tile_tmatmul(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error);

/* tilery bench pto --profile ieee */
tly_status tly_bench_run_ieee_tadd(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_run_ieee_tmul(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_run_ieee_tcvt(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_run_ieee_texp(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_run_ieee_softmax(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error);
tly_status tly_bench_run_ieee_types(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_run_ieee_gemm_f32(tly_bench *bench, const tly_bench_case *self,
                                       tly_error *error);
tly_status tly_bench_run_ieee_gemm_bf16(tly_bench *bench, const tly_bench_case *self,
                                        tly_error *error);
tly_status tly_bench_run_ieee_gemm_threads(tly_bench *bench, const tly_bench_case *self,
                                           tly_error *error);

#endif
