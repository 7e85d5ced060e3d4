/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto.tile.tmatmul_s8: one TMATMUL of bytes, M = 32, K = 512, N = 128, against
 * oneDNN's product of the same shape on one core. oneDNN takes its A unsigned, which is the faster
 * case. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/bench_pto.h"
#include "cli/bench_pto_product.h"
#include "cli/bench_pto_rig.h"
#include "pto/tile/store.h"

enum { M = 32, K = 512, N = 128, MEMORY_LEN = 1 << 20, LEFT_AT = TLY_BENCH_PTO_DATA };
enum { RIGHT_AT = LEFT_AT + M * K, REGISTER_A0 = 2, FIRST_RESULT = 32 };

#define COUNT(lines) (uint32_t)(sizeof(lines) / sizeof((lines)[0]))

static tly_status run_machine(void *user, uint64_t turn, tly_error *error) {
    (void)turn;
    return tly_bench_rig_run(user, error);
}

/* 0 .. 63 on the left, -64 .. 63 on the right. */
static void make_numbers(uint8_t *memory) {
    for (uint32_t i = 0; i < M * K; i++) {
        memory[LEFT_AT + i] &= 63;
    }
    for (uint32_t i = 0; i < K * N; i++) {
        memory[RIGHT_AT + i] = (uint8_t)((memory[RIGHT_AT + i] & 127) - 64);
    }
}

/* Both sides have computed the same; the machine's result is the tile behind the first sum. */
static tly_status compare_products(const tly_bench_rig *r, const tly_bench_product *f,
                                   tly_error *error) {
    const tly_pto_tile *tile = &r->m->core.tiles[FIRST_RESULT + 1];
    const tly_pto_elements *e = &r->m->tiles->local[FIRST_RESULT + 1];
    for (uint32_t row = 0; row < M; row++) {
        for (uint32_t column = 0; column < N; column++) {
            uint64_t sum = tly_pto_element_read(e, tile, tly_pto_tile_index(tile, row, column));
            if ((int64_t)sum != ((const int32_t *)f->product)[row * N + column]) {
                return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-pto",
                                     "element %u, %u is %lld here and %d in oneDNN", row, column,
                                     (long long)sum,
                                     ((const int32_t *)f->product)[row * N + column]);
            }
        }
    }
    return TLY_OK;
}

static tly_status make_program(tly_bench_rig *r, tly_error *error) {
    static const char *const load_left[] = {"BSTART.TLOAD S8",
                                            "B.DATR ND2M32, DTYPE_NONE, Zero",
                                            "B.DIM zero, 256, ->lb0",
                                            "B.DIM zero, 32, ->lb1",
                                            "B.IOR [a0, a1, zero], ->zero",
                                            "B.IOT mask=1000, last, ->t<8KB>",
                                            "BSTOP"};
    static const char *const load_right[] = {"BSTART.TLOAD S8",
                                             "B.DATR ND2N8, DTYPE_NONE, Zero",
                                             "B.DIM zero, 128, ->lb0",
                                             "B.DIM zero, 256, ->lb1",
                                             "B.IOR [a2, a3, zero], ->zero",
                                             "B.IOT mask=1000, last, ->u<32KB>",
                                             "BSTOP"};
    static const char *const multiply[] = {"BSTART.TMATMUL S8",
                                           "B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0",
                                           "B.DIM zero, 32, ->lb0",
                                           "B.DIM zero, 128, ->lb1",
                                           "B.DIM zero, 256, ->lb2",
                                           "B.IOT t#1, u#1, mask=1000, last, ->m<16KB>",
                                           "BSTOP",
                                           "BSTART.TMATMUL.ACC S8",
                                           "B.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0",
                                           "B.DIM zero, 32, ->lb0",
                                           "B.DIM zero, 128, ->lb1",
                                           "B.DIM zero, 256, ->lb2",
                                           "B.IOT m#1, t#2, mask=1000",
                                           "B.IOT u#2, mask=1000, last, ->m<16KB>",
                                           "BSTOP"};
    tly_status status = TLY_OK;
    for (uint32_t half = 0; status == TLY_OK && half < 2; half++) {
        const uint64_t registers[] = {LEFT_AT + half * K / 2, K, RIGHT_AT + half * K / 2 * N, N};
        memcpy(&r->m->core.gprs[0][REGISTER_A0], registers, sizeof(registers));
        status = tly_bench_rig_add_all(r, load_left, COUNT(load_left), error);
        if (status == TLY_OK) {
            status = tly_bench_rig_add_all(r, load_right, COUNT(load_right), error);
        }
        if (status == TLY_OK) {
            status = tly_bench_rig_prepare(r, error);
        }
    }
    return status == TLY_OK ? tly_bench_rig_add_all(r, multiply, COUNT(multiply), error) : status;
}

tly_status tly_bench_run_tile_tmatmul(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error) {
    tly_bench_rig r;
    tly_bench_product f = {
        .m = M, .n = N, .k = K, .a_dtype = TLY_U8, .b_dtype = TLY_I8, .c_dtype = TLY_I32};
    tly_bench_side sides[] = {{"tmatmul", run_machine, &r}, {"onednn", tly_bench_product_run, &f}};
    tly_bench_times times[2];
    tly_error missing = {0};
    tly_status status = tly_bench_rig_init(&r, bench, MEMORY_LEN, error);
    if (status == TLY_OK) {
        make_numbers(r.m->memory.bytes);
        status = make_program(&r, error);
    }
    setenv("TILERY_ONEDNN_INT8", "1", 1); /* the sums of these numbers stay below 2^15 */
    if (status == TLY_OK &&
        tly_bench_product_open(&f, bench, r.m->memory.bytes + LEFT_AT, r.m->memory.bytes + RIGHT_AT,
                               &missing) != TLY_OK) {
        tly_bench_skip(bench, self, "%s", missing.message);
    } else if (status == TLY_OK) {
        status = tly_bench_compare_work(bench, sides, 2, times, error);
        if (status == TLY_OK) {
            r.results = 0; /* once more, and the result stays */
            status = tly_bench_rig_run(&r, error);
        }
        if (status == TLY_OK) {
            status = compare_products(&r, &f, error);
        }
        if (status == TLY_OK) {
            tly_bench_report_rate(bench, self, self->name, 2.0 * M * N * K / 1e9, &times[0],
                                  &times[1], "Gop/s; the bound is 0.3");
        }
    }
    unsetenv("TILERY_ONEDNN_INT8");
    tly_bench_product_close(&f);
    tly_pto_machine_free(r.m);
    return status;
}
