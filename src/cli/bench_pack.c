/* SPDX-License-Identifier: Apache-2.0 */
/* The packing engine on one thread: 64 MiB from a plain matrix into another layout, against the
 * faster of memcpy and a copy that bypasses the cache. */
#include <stdio.h>
#include <string.h>

#include <tilery/pack.h>
#include <tilery/panel.h>

#include "base/error.h"
#include "cli/bench.h"

extern const tly_bench_group tly_bench_pack;

/* What a case packs. Layouts that are no panels have these names: */
#define ROW    "row-major"
#define COL    "column-major"
#define TILED  "tiles of 32 x 32"
#define MORTON "Morton"

typedef struct job_kind {
    const char *layout; /* one of the above, or a built-in panel profile */
    tly_dtype dtype;
    int stored_nk; /* the stored matrix is N x K */
    uint64_t k, n;
    int pieces; /* unit by unit into one small buffer, as a server does */
} job_kind;

/* name, summary, and the fields of job_kind */
#define KINDS(X)                                                                                   \
    X("f32.panel64", "f32 K x N into BA16a64b", "ba16a64b", TLY_F32, 0, 4096, 4096, 0)             \
    X("f32.panel64_nk", "f32 N x K into BA16a64b", "ba16a64b", TLY_F32, 1, 4096, 4096, 0)          \
    X("f32.panel64_pieces", "f32 K x N into BA16a64b, unit by unit into one buffer", "ba16a64b",   \
      TLY_F32, 0, 4096, 4096, 1)                                                                   \
    X("bf16.panel64_vnni2", "bf16 K x N into BA16a64b2a", "ba16a64b2a", TLY_BF16, 0, 4096, 8192,   \
      0)                                                                                           \
    X("bf16.panel64_vnni2_nk", "bf16 N x K into BA16a64b2a", "ba16a64b2a", TLY_BF16, 1, 4096,      \
      8192, 0)                                                                                     \
    X("u8.panel64_vnni4", "u8 K x N into BA16a64b4a", "ba16a64b4a", TLY_U8, 0, 8192, 8192, 0)      \
    X("u8.panel64_vnni4_nk", "u8 N x K into BA16a64b4a", "ba16a64b4a", TLY_U8, 1, 8192, 8192, 0)   \
    X("f32.panel8x8", "f32 K x N into panels of 8 columns", "oi8i8o", TLY_F32, 0, 4096, 4096, 0)   \
    X("f32.panel8x8_nk", "f32 N x K into panels of 8 columns", "oi8i8o", TLY_F32, 1, 4096, 4096,   \
      0)                                                                                           \
    X("f32.cube_n8", "f32 K x N into CUBE_N8 cells", "cube_n8", TLY_F32, 0, 4096, 4096, 0)         \
    X("bf16.cube_n8", "bf16 K x N into CUBE_N8 cells", "cube_n8", TLY_BF16, 0, 4096, 8192, 0)      \
    X("u8.cube_n8", "u8 K x N into CUBE_N8 cells", "cube_n8", TLY_U8, 0, 8192, 8192, 0)            \
    X("u8.cube_n8_nk", "u8 N x K into CUBE_N8 cells", "cube_n8", TLY_U8, 1, 8192, 8192, 0)         \
    X("f32.row_to_row", "f32 row-major into the same", ROW, TLY_F32, 0, 4096, 4096, 0)             \
    X("f32.row_to_col", "f32 row-major into column-major", COL, TLY_F32, 0, 4096, 4096, 0)         \
    X("u16.row_to_col", "u16 row-major into column-major", COL, TLY_U16, 0, 4096, 8192, 0)         \
    X("u8.row_to_col", "u8 row-major into column-major", COL, TLY_U8, 0, 8192, 8192, 0)            \
    X("f32.row_to_tiled", "f32 row-major into tiles of 32 x 32", TILED, TLY_F32, 0, 4096, 4096, 0) \
    X("f32.row_to_morton", "f32 row-major into Morton order", MORTON, TLY_F32, 0, 4096, 4096, 0)

#define KIND(name, summary, layout, dtype, nk, k, n, pieces) {layout, dtype, nk, k, n, pieces},
static const job_kind kinds[] = {KINDS(KIND)};

typedef struct job {
    tly_pack_plan *plan;
    const tly_bench_ring *src, *dst;
    size_t len;
    size_t piece; /* bytes at a time into the same place; len: all at once, into rotating places */
} job;

static void *place(const job *j, uint64_t turn) {
    return tly_bench_ring_at(j->dst, j->piece < j->len ? 0 : turn);
}

static tly_status pack_once(void *user, uint64_t turn, tly_error *error) {
    const job *j = user;
    const void *src = tly_bench_ring_at(j->src, turn);
    (void)error;
    if (j->piece < j->len) {
        for (uint64_t u = 0; u < tly_pack_num_units(j->plan); u++) {
            tly_pack_run_units(j->plan, u, 1, place(j, turn), src);
        }
    } else {
        tly_pack_run(j->plan, place(j, turn), src);
    }
    return TLY_OK;
}

static tly_status copy_once(void *user, uint64_t turn, tly_error *error) {
    const job *j = user;
    const uint8_t *src = tly_bench_ring_at(j->src, turn + 3);
    (void)error;
    for (size_t at = 0; at < j->len; at += j->piece) {
        memcpy(place(j, turn + 3), src + at, j->piece);
        tly_bench_keep(place(j, turn + 3));
    }
    return TLY_OK;
}

static tly_status stream_once(void *user, uint64_t turn, tly_error *error) {
    const job *j = user;
    const uint8_t *src = tly_bench_ring_at(j->src, turn + 5);
    (void)error;
    for (size_t at = 0; at < j->len; at += j->piece) {
        tly_bench_copy_streaming(place(j, turn + 5), src + at, j->piece);
    }
    return TLY_OK;
}

static tly_status make_nest(const job_kind *kind, const uint64_t *shape, tly_nest *out,
                            tly_error *error) {
    static const uint64_t tile[] = {32, 32};
    const tly_tile_level level = {tile, NULL, NULL, TLY_TILE_ROW, TLY_TILE_ROW};
    tly_panel_profile profile;
    uint32_t bits[2];
    uint64_t len;
    tly_status status;
    if (strcmp(kind->layout, ROW) == 0) {
        return tly_nest_row_major(out, 2, shape);
    }
    if (strcmp(kind->layout, COL) == 0) {
        return tly_nest_col_major(out, 2, shape);
    }
    if (strcmp(kind->layout, TILED) == 0) {
        return tly_nest_tiled(out, 2, shape, &level, 1);
    }
    if (strcmp(kind->layout, MORTON) == 0) {
        for (int d = 0; d < 2; d++) {
            for (bits[d] = 1; UINT64_C(1) << bits[d] < shape[d];) {
                bits[d]++;
            }
        }
        return tly_nest_morton(out, 2, shape, bits);
    }
    profile.size = sizeof profile;
    status = tly_panel_by_name(kind->layout, kind->dtype, kind->stored_nk, &profile, error);
    return status != TLY_OK ? status : tly_panel_bind(&profile, 2, shape, out, &len, error);
}

static tly_status run_pack(tly_bench *bench, const tly_bench_case *self, tly_error *error);

#define CASE(name, summary, layout, dtype, nk, k, n, pieces)                                       \
    {"pack." name, "GB/s", TLY_BENCH_BETTER_HIGHER, summary " against the faster plain copy",      \
     run_pack},
static const tly_bench_case cases[] = {KINDS(CASE)}; /* in the order of `kinds` */

static tly_status measure(tly_bench *bench, const tly_bench_case *self, job *j, tly_error *error) {
    const tly_bench_side sides[] = {
        {"pack", pack_once, j}, {"memcpy", copy_once, j}, {"streaming copy", stream_once, j}};
    tly_bench_times times[3];
    char note[96];
    tly_status status = tly_bench_compare(bench, sides, 3, times, error);
    if (status == TLY_OK) {
        int faster = times[2].median < times[1].median ? 2 : 1;
        snprintf(note, sizeof note, "path %s; reference: %s", tly_pack_path(j->plan),
                 sides[faster].label);
        tly_bench_report_rate(bench, self, self->name, (double)j->len * 1e-9, &times[0],
                              &times[faster], note);
    }
    return status;
}

static tly_status run_pack(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    const job_kind *kind = &kinds[self - cases];
    const uint64_t shape[2] = {kind->stored_nk ? kind->n : kind->k,
                               kind->stored_nk ? kind->k : kind->n};
    uint32_t bits = tly_dtype_bits(kind->dtype);
    tly_bench_ring src_ring = {0}, dst_ring = {0};
    job j = {NULL, &src_ring, &dst_ring, (size_t)(kind->k * kind->n * bits / 8), 0};
    tly_nest dst, src;
    tly_status status = make_nest(kind, shape, &dst, error);
    if (status == TLY_OK) {
        status = tly_nest_row_major(&src, 2, shape);
    }
    if (status == TLY_OK) {
        status =
            tly_pack_plan_new(tly_bench_context(bench), &dst, &src, bits, NULL, &j.plan, error);
    }
    if (status == TLY_OK) {
        j.piece = kind->pieces ? (size_t)tly_pack_unit_len(j.plan) : j.len;
        /* The pieces go to one place again and again: then the sources alone defeat the cache. */
        status = tly_bench_ring_init(&src_ring, j.len,
                                     kind->pieces ? TLY_BENCH_COLD_LEN : TLY_BENCH_COLD_LEN / 2,
                                     tly_bench_fill_bytes, error);
    }
    if (status == TLY_OK) {
        status = tly_bench_ring_init(&dst_ring, j.piece, kind->pieces ? 0 : TLY_BENCH_COLD_LEN / 2,
                                     NULL, error);
    }
    if (status == TLY_OK) {
        status = measure(bench, self, &j, error);
    }
    tly_bench_ring_cleanup(&src_ring);
    tly_bench_ring_cleanup(&dst_ring);
    tly_pack_plan_free(j.plan);
    return status;
}

const tly_bench_group tly_bench_pack = {"pack", "the packing engine", cases,
                                        sizeof cases / sizeof *cases, 1};
