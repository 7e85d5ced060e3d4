/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto.tile.tload, .tstore and .tload_nd2n8: tiles of 32 KiB from and to memory,
 * against memcpy over the same addresses, which go round in 4 MiB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/bench_pto.h"
#include "cli/bench_pto_rig.h"

enum {
    NUM_TILES = 6, /* in one run of the program */
    RING_LEN = 4 << 20,
    NUM_SLOTS = RING_LEN / TLY_BENCH_PTO_TILE_LEN,
    MEMORY_LEN = TLY_BENCH_PTO_DATA + RING_LEN,
    FIRST_ADDRESS = 2, /* register a0; the others follow */
    STRIDE = FIRST_ADDRESS + NUM_TILES
};

/* The same moves by the machine and by memcpy. */
typedef struct moves {
    tly_bench_rig rig;
    uint8_t *buffers; /* NUM_TILES of them */
    bool store;
} moves;

static uint64_t slot_at(uint64_t turn, uint32_t tile) {
    return TLY_BENCH_PTO_DATA + (turn * NUM_TILES + tile) % NUM_SLOTS * TLY_BENCH_PTO_TILE_LEN;
}

static tly_status run_machine(void *user, uint64_t turn, tly_error *error) {
    moves *v = user;
    for (uint32_t i = 0; i < NUM_TILES; i++) {
        v->rig.m->core.gprs[0][FIRST_ADDRESS + i] = slot_at(turn, i);
    }
    return tly_bench_rig_run(&v->rig, error);
}

static tly_status run_memcpy(void *user, uint64_t turn, tly_error *error) {
    moves *v = user;
    (void)error;
    for (uint32_t i = 0; i < NUM_TILES; i++) {
        uint8_t *memory = v->rig.m->memory.bytes + slot_at(turn, i);
        uint8_t *buffer = v->buffers + (size_t)i * TLY_BENCH_PTO_TILE_LEN;
        memcpy(v->store ? memory : buffer, v->store ? buffer : memory, TLY_BENCH_PTO_TILE_LEN);
        tly_bench_keep(buffer);
    }
    return TLY_OK;
}

/* The program: `lines` for each tile, with its address register and its number in them. */
static tly_status add_moves(moves *v, const char *const *lines, uint32_t num_lines,
                            tly_error *error) {
    tly_status status = TLY_OK;
    for (uint32_t tile = 0; tile < NUM_TILES; tile++) {
        for (uint32_t i = 0; status == TLY_OK && i < num_lines; i++) {
            char text[128];
            const char *place = strchr(lines[i], '@'); /* of the tile's number */
            int before = place != NULL ? (int)(place - lines[i]) : (int)strlen(lines[i]);
            if (place != NULL) {
                snprintf(text, sizeof(text), "%.*s%u%s", before, lines[i],
                         place[1] == '+' ? tile + 1 : tile, place + (place[1] == '+' ? 2 : 1));
            } else {
                snprintf(text, sizeof(text), "%s", lines[i]);
            }
            status = tly_bench_rig_add(&v->rig, text, error);
        }
    }
    return status;
}

#define COUNT(lines) (uint32_t)(sizeof(lines) / sizeof((lines)[0]))

static const char *const loads[] = {"BSTART.TLOAD S32",
                                    "B.DIM zero, 64, ->lb0",
                                    "B.DIM zero, 128, ->lb1",
                                    "B.IOR [a@, a6, zero], ->zero",
                                    "B.IOT mask=1000, last, ->t<32KB>",
                                    "BSTOP"};
static const char *const stores[] = {"BSTART.TSTORE S32", "B.IOR [a@, a6, zero], ->zero",
                                     "B.IOT t#@+, mask=1000, last", "BSTOP"};
static const char *const cell_loads[] = {"BSTART.TLOAD S8",
                                         "B.DATR ND2N8, DTYPE_NONE, Zero",
                                         "B.DIM zero, 64, ->lb0",
                                         "B.DIM zero, 512, ->lb1",
                                         "B.IOR [a@, a6, zero], ->zero",
                                         "B.IOT mask=1000, last, ->m<32KB>",
                                         "BSTOP"};

static tly_status compare_moves(tly_bench *bench, const tly_bench_case *self, moves *v,
                                const char *note, tly_error *error) {
    tly_bench_side sides[] = {{"machine", run_machine, v}, {"memcpy", run_memcpy, v}};
    tly_bench_times times[2];
    tly_status status = tly_bench_compare_work(bench, sides, 2, times, error);
    if (status == TLY_OK) {
        tly_bench_report_rate(bench, self, self->name,
                              (double)NUM_TILES * TLY_BENCH_PTO_TILE_LEN / 1e9, &times[0],
                              &times[1], note);
    }
    return status;
}

static tly_status measure(tly_bench *bench, const tly_bench_case *self, const char *const *lines,
                          uint32_t num_lines, uint64_t stride, bool store, const char *note,
                          tly_error *error) {
    moves v = {.store = store};
    tly_status status = tly_bench_rig_init(&v.rig, bench, MEMORY_LEN, error);
    v.buffers = aligned_alloc(4096, (size_t)NUM_TILES * TLY_BENCH_PTO_TILE_LEN);
    if (status == TLY_OK && v.buffers == NULL) {
        status = tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    if (status == TLY_OK) {
        memset(v.buffers, 1, (size_t)NUM_TILES * TLY_BENCH_PTO_TILE_LEN);
        for (uint32_t i = 0; i < NUM_TILES; i++) {
            v.rig.m->core.gprs[0][FIRST_ADDRESS + i] = slot_at(0, i);
        }
        v.rig.m->core.gprs[0][STRIDE] = stride;
    }
    if (status == TLY_OK && store) { /* what is stored is loaded once */
        status = add_moves(&v, loads, COUNT(loads), error);
        if (status == TLY_OK) {
            status = tly_bench_rig_prepare(&v.rig, error);
        }
    }
    if (!store) {
        v.rig.results = UINT64_MAX;
    }
    if (status == TLY_OK) {
        status = add_moves(&v, lines, num_lines, error);
    }
    if (status == TLY_OK) {
        status = compare_moves(bench, self, &v, note, error);
    }
    free(v.buffers);
    tly_pto_machine_free(v.rig.m);
    return status;
}

tly_status tly_bench_run_tile_tload(tly_bench *bench, const tly_bench_case *self,
                                    tly_error *error) {
    return measure(bench, self, loads, COUNT(loads), 256, false, "the bound is 0.6", error);
}

tly_status tly_bench_run_tile_tstore(tly_bench *bench, const tly_bench_case *self,
                                     tly_error *error) {
    return measure(bench, self, stores, COUNT(stores), 256, true, "the bound is 0.6", error);
}

tly_status tly_bench_run_tile_tload_nd2n8(tly_bench *bench, const tly_bench_case *self,
                                          tly_error *error) {
    return measure(bench, self, cell_loads, COUNT(cell_loads), 64, false,
                   "512 x 64 bytes into cells; the bound is 0.5", error);
}
