/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto.tile: what a tile bundle costs, and what its elements cost. A program allocates
 * tiles and never frees one, so the host gives the results back between two runs. */
#include <stdlib.h>
#include <string.h>

#include <tilery/asm.h>

#include "base/error.h"
#include "cli/bench_pto.h"
#include "pto/create.h"
#include "pto/memory.h"
#include "pto/run.h"
#include "pto/tile/allocate.h"

/* What -march=native would give on the machine that measures, as far as plain loops gain from it.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define TLY_BENCH_NATIVE __attribute__((target("avx2"), optimize("O3")))
#else
#define TLY_BENCH_NATIVE
#endif

enum {
    MEMORY_LEN = 1 << 20,
    CODE = 0x1000,
    DATA = 0x10000,
    MAX_LINES = 512,
    HAND = 16,
    TILE_LEN = 32768,
    NUM_SUMS = 6 /* results of 32 KiB that fit beside two sources */
};

/* A machine with a program at CODE. */
typedef struct rig {
    tly_pto_machine *m;
    uint64_t stop;
    uint64_t results; /* bit i: tile i is a result, given back after a run */
} rig;

static tly_status assemble(rig *r, const char *const *lines, uint32_t num_lines, tly_error *error) {
    for (uint32_t i = 0; i < num_lines; i++) {
        tly_isa_insn insn;
        tly_status status =
            tly_asm_parse_insn(lines[i], strlen(lines[i]), r->stop, TLY_ISA_0_58_3, &insn, error);
        if (status != TLY_OK) {
            return status;
        }
        memcpy(r->m->memory.bytes + r->stop, &insn.word, insn.len);
        tly_pto_memory_changed(r->m, r->stop, insn.len);
        r->stop += insn.len;
    }
    return TLY_OK;
}

/* From `at` to the end of the program. */
static tly_status play(rig *r, uint64_t at, tly_error *error) {
    r->m->core.context.tpc = at;
    tly_pto_run_options options = {
        .size = sizeof options, .stop_pc = r->stop, .max_steps = MAX_LINES};
    tly_pto_run_result result;
    tly_pto_run(r->m, &options, &result);
    if (result.end != TLY_PTO_END_STOP) {
        return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-pto",
                             "the program ended at 0x%llx with fault %u",
                             (unsigned long long)r->m->core.context.tpc, r->m->core.last_fault);
    }
    return TLY_OK;
}

static tly_status once(void *user, uint64_t turn, tly_error *error) {
    rig *r = user;
    (void)turn;
    tly_status status = play(r, CODE, error);
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        if ((r->results >> i & 1) != 0 && r->m->core.tiles[i].allocated) {
            tly_pto_release_tile(r->m, i);
        }
    }
    return status;
}

#define COUNT(lines) (uint32_t)(sizeof(lines) / sizeof((lines)[0]))

static tly_status rig_init(rig *r, tly_bench *bench, tly_error *error) {
    tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                             .app_limit = MEMORY_LEN,
                             .num_queues = 1,
                             .release = TLY_ISA_0_58_3};
    memset(r, 0, sizeof *r);
    r->stop = CODE;
    tly_status status = tly_pto_machine_new(tly_bench_context(bench), &config, &r->m, error);
    if (status == TLY_OK) {
        for (uint32_t i = 0; i < TILE_LEN; i++) {
            r->m->memory.bytes[DATA + i] = (uint8_t)(i * 37 + (i >> 8));
        }
        r->m->core.gprs[0][3] = DATA;
    }
    return status;
}

/* Loads the sources, which stay; then the program is what follows. */
static tly_status rig_load(rig *r, const char *const *lines, uint32_t num_lines, tly_error *error) {
    tly_status status = assemble(r, lines, num_lines, error);
    if (status == TLY_OK) {
        status = play(r, CODE, error);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        r->results |= r->m->core.tiles[i].allocated ? 0 : UINT64_C(1) << i;
    }
    r->stop = CODE;
    return status;
}

/* ---- The smallest bundle ---- */

static tly_status copy_tiles(void *user, uint64_t turn, tly_error *error) {
    rig *r = user;
    (void)turn, (void)error;
    for (uint32_t i = 0; i < HAND; i++) {
        memcpy(r->m->memory.bytes + DATA + 128 * (i + 1), r->m->memory.bytes + DATA, 128);
        tly_bench_keep(r->m->memory.bytes + DATA);
    }
    return TLY_OK;
}

tly_status tly_bench_run_tile_bundle(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error) {
    static const char *const load[] = {"BSTART.TLOAD U8", "B.DIM zero, 128, ->lb0",
                                       "B.IOR [a1, zero, zero], ->zero",
                                       "B.IOT mask=1000, last, ->t<128B>", "BSTOP"};
    static const char *const moves[] = {"BSTART.TMOV U8", "B.IOT t#1, mask=1000, last, ->u<128B>",
                                        "BSTOP"};
    rig r;
    tly_bench_side sides[] = {{"bundle", once, &r}, {"memcpy", copy_tiles, &r}};
    tly_bench_times times[2];
    double scale = tly_bench_ticks_per_second() / HAND;
    tly_status status = rig_init(&r, bench, error);
    if (status == TLY_OK) {
        status = rig_load(&r, load, COUNT(load), error);
    }
    for (uint32_t i = 0; status == TLY_OK && i < HAND; i++) {
        status = assemble(&r, moves, COUNT(moves), error);
    }
    if (status == TLY_OK) {
        status = tly_bench_compare_work(bench, sides, 2, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report(bench, self, self->name, times[0].median * scale, times[1].median * scale,
                         times[0].runs, times[0].spread,
                         "three instructions and the release; the bound is 300");
    }
    tly_pto_machine_free(r.m);
    return status;
}

/* ---- Sums ---- */

typedef struct loop {
    int32_t *left, *right, *sums; /* NUM_SUMS results */
} loop;

TLY_BENCH_NATIVE static void add(int32_t *restrict sum, const int32_t *restrict left,
                                 const int32_t *restrict right, size_t count) {
    for (size_t i = 0; i < count; i++) {
        sum[i] = (int32_t)((uint32_t)left[i] + (uint32_t)right[i]);
    }
}

static tly_status add_all(void *user, uint64_t turn, tly_error *error) {
    loop *l = user;
    (void)turn, (void)error;
    for (uint32_t i = 0; i < NUM_SUMS; i++) {
        add(l->sums + i * (TILE_LEN / 4), l->left, l->right, TILE_LEN / 4);
        tly_bench_keep(l->sums);
    }
    return TLY_OK;
}

static tly_status measure_sums(tly_bench *bench, const tly_bench_case *self, rig *r, loop *l,
                               tly_error *error) {
    static const char *const sums[] = {"BSTART.VEC TADD, S32", "B.DIM zero, 64, ->lb0",
                                       "B.DIM zero, 128, ->lb1",
                                       "B.IOT t#1, t#2, mask=1000, last, ->u<32KB>", "BSTOP"};
    tly_bench_side sides[] = {{"tadd", once, r}, {"loop", add_all, l}};
    tly_bench_times times[2];
    tly_status status = TLY_OK;
    for (uint32_t i = 0; status == TLY_OK && i < NUM_SUMS; i++) {
        status = assemble(r, sums, COUNT(sums), error);
    }
    if (status == TLY_OK) {
        status = tly_bench_compare_work(bench, sides, 2, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report_rate(bench, self, self->name, NUM_SUMS * 3.0 * TILE_LEN / 1e9, &times[0],
                              &times[1], "bytes read and written; the bound is 0.6");
    }
    return status;
}

tly_status tly_bench_run_tile_tadd(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    static const char *const load[] = {"BSTART.TLOAD S32",
                                       "B.DIM zero, 64, ->lb0",
                                       "B.DIM zero, 128, ->lb1",
                                       "B.IOR [a1, zero, zero], ->zero",
                                       "B.IOT mask=1000, last, ->t<32KB>",
                                       "BSTOP",
                                       "BSTART.TLOAD S32",
                                       "B.DIM zero, 64, ->lb0",
                                       "B.DIM zero, 128, ->lb1",
                                       "B.IOR [a1, zero, zero], ->zero",
                                       "B.IOT mask=1000, last, ->t<32KB>",
                                       "BSTOP"};
    rig r;
    loop l = {0};
    tly_status status = rig_init(&r, bench, error);
    if (status == TLY_OK) {
        status = rig_load(&r, load, COUNT(load), error);
    }
    l.left = aligned_alloc(4096, (size_t)TILE_LEN * (NUM_SUMS + 2));
    if (status == TLY_OK && l.left == NULL) {
        status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    if (status == TLY_OK) {
        memcpy(l.left, r.m->memory.bytes + DATA, TILE_LEN);
        l.right = l.left + TILE_LEN / 4;
        memcpy(l.right, l.left, TILE_LEN);
        l.sums = l.right + TILE_LEN / 4;
        status = measure_sums(bench, self, &r, &l, error);
    }
    free(l.left);
    tly_pto_machine_free(r.m);
    return status;
}
