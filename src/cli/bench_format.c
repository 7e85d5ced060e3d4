/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench format: the tensor format. One row per figure. */
#include "cli/bench_format.h"

static const tly_bench_case cases[] = {
    {"format.decode.53", "cycles", TLY_BENCH_BETTER_LOWER,
     "time-stamp ticks to read a descriptor of 53 bytes, every check, against a check sum of it",
     tly_bench_format_decode_53},
    {"format.decode.273", "cycles", TLY_BENCH_BETTER_LOWER,
     "the same with quantization, shard and statistics, 273 bytes", tly_bench_format_decode_273},
    {"format.open.2000", "cycles", TLY_BENCH_BETTER_LOWER,
     "time-stamp ticks for each tensor of a container that is opened, against a check sum of its "
     "index",
     tly_bench_format_open},
    {"format.read.256MiB", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "a tensor out of a container, against a loop of read(); both from the page cache",
     tly_bench_format_read},
    {"format.convert.f32_bf16", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "f32 into bf16 against memcpy of as many bytes", tly_bench_format_f32_bf16},
    {"format.convert.f32_f16", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "f32 into f16 against memcpy of as many bytes", tly_bench_format_f32_f16},
    {"format.convert.f32_e4m3", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "f32 into float8_e4m3 against memcpy of as many bytes", tly_bench_format_f32_e4m3},
    {"format.convert.bf16_f32", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "bf16 into f32 against memcpy of as many bytes", tly_bench_format_bf16_f32},
    {"format.transcode.row_morton", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "a row-major matrix into Morton order, checks and plan included, against memcpy",
     tly_bench_format_row_morton},
    {"format.transcode.row_tiled", "GB/s", TLY_BENCH_BETTER_HIGHER,
     "a row-major matrix into tiles of 32 x 32, checks and plan included, against memcpy",
     tly_bench_format_row_tiled},
};

extern const tly_bench_group tly_bench_format;

const tly_bench_group tly_bench_format = {"format", "the tensor format: descriptors and containers",
                                          cases, sizeof cases / sizeof cases[0],
                                          TLY_BENCH_PROCESSOR_TIME};
