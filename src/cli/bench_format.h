/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases of `tilery bench format` run; the table of cases is in bench_format.c. */
#ifndef TLY_CLI_BENCH_FORMAT_H
#define TLY_CLI_BENCH_FORMAT_H

#include "cli/bench.h"

/* Reading: descriptors and containers (bench_format_read.c). */
tly_status tly_bench_format_decode_53(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error);
tly_status tly_bench_format_decode_273(tly_bench *bench, const tly_bench_case *self,
                                       tly_error *error);
tly_status tly_bench_format_open(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_format_read(tly_bench *bench, const tly_bench_case *self, tly_error *error);

/* Conversions and transcoding (bench_format_convert.c). */
tly_status tly_bench_format_f32_bf16(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error);
tly_status tly_bench_format_f32_f16(tly_bench *bench, const tly_bench_case *self, tly_error *error);
tly_status tly_bench_format_f32_e4m3(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error);
tly_status tly_bench_format_bf16_f32(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error);
tly_status tly_bench_format_row_morton(tly_bench *bench, const tly_bench_case *self,
                                       tly_error *error);
tly_status tly_bench_format_row_tiled(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error);

#endif
