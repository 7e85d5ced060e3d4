/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions of elements, and copies into other layouts, on one thread and cold memory. */
#include <string.h>

#include <tilery/convert.h>
#include <tilery/transcode.h>

#include "base/error.h"
#include "cli/bench_format.h"

#define SIDE UINT64_C(4096) /* a matrix of so many rows and columns */

typedef struct conversion {
    const tly_context *context;
    const tly_format *dst, *src;
    tly_bench_ring from, to;
} conversion;

static tly_status convert_once(void *user, uint64_t turn, tly_error *error) {
    const conversion *c = user;
    tly_status status = tly_convert(c->context, c->dst, tly_bench_ring_at(&c->to, turn), 0, c->src,
                                    tly_bench_ring_at(&c->from, turn), 0, SIDE * SIDE, NULL, NULL);
    return status == TLY_OK
               ? TLY_OK
               : tly_base_fail(error, status, TLY_NO_OFFSET, "", "the conversion failed");
}

/* As many bytes read and written as the conversion reads and writes together. */
static tly_status copy_as_much(void *user, uint64_t turn, tly_error *error) {
    const conversion *c = user;
    size_t half = (c->from.slot_len + c->to.slot_len) / 2;
    uint8_t *to = tly_bench_ring_at(&c->to, turn + 3);
    const uint8_t *from = tly_bench_ring_at(&c->from, turn + 3);
    (void)error;
    while (half > 0) { /* the narrower buffer is too short for one copy */
        size_t len = half < c->to.slot_len ? half : c->to.slot_len;
        len = len < c->from.slot_len ? len : c->from.slot_len;
        memcpy(to, from, len);
        tly_bench_keep(to);
        half -= len;
        to = tly_bench_ring_at(&c->to, turn + 4);
        from = tly_bench_ring_at(&c->from, turn + 4);
    }
    return TLY_OK;
}

static tly_status convert(tly_bench *bench, const tly_bench_case *self, tly_format_id dst,
                          tly_format_id src, tly_error *error) {
    conversion c = {.context = tly_bench_context(bench),
                    .dst = tly_format_find(dst),
                    .src = tly_format_find(src)};
    const tly_bench_side sides[] = {{"convert", convert_once, &c}, {"memcpy", copy_as_much, &c}};
    tly_bench_times times[2];
    size_t from_len = SIDE * SIDE * c.src->bits / 8, to_len = SIDE * SIDE * c.dst->bits / 8;
    tly_status status =
        tly_bench_ring_init(&c.from, from_len, TLY_BENCH_COLD_LEN / 2,
                            src == TLY_F32 ? tly_bench_fill_f32 : tly_bench_fill_bf16, error);
    if (status == TLY_OK) {
        status = tly_bench_ring_init(&c.to, to_len, TLY_BENCH_COLD_LEN / 2, NULL, error);
        if (status == TLY_OK) {
            status = tly_bench_compare(bench, sides, 2, times, error);
            tly_bench_ring_cleanup(&c.to);
        }
        tly_bench_ring_cleanup(&c.from);
    }
    if (status == TLY_OK) {
        tly_bench_report_rate(bench, self, self->name, (double)(from_len + to_len) * 1e-9,
                              &times[0], &times[1], "bytes read and written");
    }
    return status;
}

tly_status tly_bench_format_f32_bf16(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error) {
    return convert(bench, self, TLY_BF16, TLY_F32, error);
}

tly_status tly_bench_format_f32_f16(tly_bench *bench, const tly_bench_case *self,
                                    tly_error *error) {
    return convert(bench, self, TLY_F16, TLY_F32, error);
}

tly_status tly_bench_format_f32_e4m3(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error) {
    return convert(bench, self, TLY_F8E4M3, TLY_F32, error);
}

tly_status tly_bench_format_bf16_f32(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error) {
    return convert(bench, self, TLY_F32, TLY_BF16, error);
}

/* ---- layouts -----------------------------------------------------------------------------------
 */

typedef struct transcoding {
    const tly_context *context;
    const tly_descriptor *layout;
    uint64_t shape[2];
    tly_bench_ring from, to;
} transcoding;

/* All of it: checks, plan and copy. */
static tly_status transcode_once(void *user, uint64_t turn, tly_error *error) {
    const transcoding *t = user;
    const void *source[] = {tly_bench_ring_at(&t->from, turn)};
    void *target[] = {tly_bench_ring_at(&t->to, turn)};
    tly_descriptor d;
    tly_buffer_info info;
    tly_tensor tensor = {.descriptor = &d, .buffers = source};
    tly_transcode *plan;
    tly_status status = tly_descriptor_init_row_major(&d, &info, TLY_F32, 2, t->shape);
    if (status != TLY_OK) {
        return tly_base_fail(error, status, TLY_NO_OFFSET, "", "no descriptor for the matrix");
    }
    status = tly_transcode_new(t->context, &tensor, t->layout, NULL, &plan, error);
    if (status == TLY_OK) {
        status = tly_transcode_run(plan, target, error);
        tly_transcode_free(plan);
    }
    return status;
}

static tly_status copy_once(void *user, uint64_t turn, tly_error *error) {
    const transcoding *t = user;
    (void)error;
    memcpy(tly_bench_ring_at(&t->to, turn + 3), tly_bench_ring_at(&t->from, turn + 3),
           t->from.slot_len);
    tly_bench_keep(tly_bench_ring_at(&t->to, turn + 3));
    return TLY_OK;
}

static tly_status transcode(tly_bench *bench, const tly_bench_case *self,
                            const tly_descriptor *layout, tly_error *error) {
    transcoding t = {tly_bench_context(bench), layout, {SIDE, SIDE}, {0}, {0}};
    const tly_bench_side sides[] = {{"transcode", transcode_once, &t}, {"memcpy", copy_once, &t}};
    tly_bench_times times[2];
    size_t len = SIDE * SIDE * 4;
    tly_status status =
        tly_bench_ring_init(&t.from, len, TLY_BENCH_COLD_LEN / 2, tly_bench_fill_f32, error);
    if (status == TLY_OK) {
        status = tly_bench_ring_init(&t.to, len, TLY_BENCH_COLD_LEN / 2, NULL, error);
        if (status == TLY_OK) {
            status = tly_bench_compare(bench, sides, 2, times, error);
            tly_bench_ring_cleanup(&t.to);
        }
        tly_bench_ring_cleanup(&t.from);
    }
    if (status == TLY_OK) {
        tly_bench_report_rate(bench, self, self->name, (double)len * 1e-9, &times[0], &times[1],
                              "4096 x 4096 f32");
    }
    return status;
}

tly_status tly_bench_format_row_morton(tly_bench *bench, const tly_bench_case *self,
                                       tly_error *error) {
    static const uint32_t bits[] = {12, 12};
    const tly_descriptor layout = {.layout = TLY_LAYOUT_MORTON, .morton_bits = bits};
    return transcode(bench, self, &layout, error);
}

tly_status tly_bench_format_row_tiled(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error) {
    static const uint64_t tile[] = {32, 32};
    const tly_descriptor layout = {.layout = TLY_LAYOUT_TILED,
                                   .num_levels = 1,
                                   .levels[0] = {tile, NULL, NULL, TLY_TILE_ROW, TLY_TILE_ROW}};
    return transcode(bench, self, &layout, error);
}
