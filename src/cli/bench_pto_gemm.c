/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto --profile ieee: 1024 x 1024 x 1024 by TLOAD, TMATMUL and TSTORE, blocks of 32 x
 * 32 and 512 steps of K. A block row of A stays in two tiles, B comes in pieces. No instruction
 * gives a tile back: between the pieces the host releases those that are done with, as it starts
 * the program again with other addresses. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <tilery/asm.h>

#include "base/error.h"
#include "cli/bench_pto.h"
#include "cli/bench_pto_product.h"
#include "pto/create.h"
#include "pto/memory.h"
#include "pto/profile/profile.h"
#include "pto/run.h"
#include "pto/tile/allocate.h"

enum { SIZE = 1024, ROWS = 32, COLUMNS = 32, DEPTH = 512, PIECES = SIZE / DEPTH };
/* Rows are 16 elements longer than the matrix is wide, so that they do not all meet in the same
 * sets of the caches. */
enum { PITCH = SIZE + 16, CODE = 0x1000, A_AT = 0x100000 };
enum { B_AT = A_AT + SIZE * PITCH * 4, C_AT = B_AT + SIZE * PITCH * 4 };
enum { MEMORY_LEN = C_AT + SIZE * PITCH * 4, TEXT_LEN = 2048, CODE_LEN = 512, CODE_STEP = 0x400 };
enum { HAND = 16, A0 = 2, MAX_STEPS = 64 };

/* The programs: a row of A; the first and the second piece of a block of C. */
enum { LOAD_A, FIRST, SECOND, NUM_PROGRAMS };

static const char load_a[] = "BSTART.TLOAD %1$s\nB.DATR ND2M32, DTYPE_NONE, Zero\n"
                             "B.DIM zero, 512, ->lb0\nB.DIM zero, 32, ->lb1\n"
                             "B.IOR [a0, a1, zero], ->zero\n"
                             "B.IOT mask=1000, last, ->t<%2$s>\nBSTOP\n"
                             "BSTART.TLOAD %1$s\nB.DATR ND2M32, DTYPE_NONE, Zero\n"
                             "B.DIM zero, 512, ->lb0\nB.DIM zero, 32, ->lb1\n"
                             "B.IOR [a2, a1, zero], ->zero\n"
                             "B.IOT mask=1000, last, ->t<%2$s>\nBSTOP\n";

static const char first[] = "BSTART.TLOAD %1$s\nB.DATR ND2N8, DTYPE_NONE, Zero\n"
                            "B.DIM zero, 32, ->lb0\nB.DIM zero, 512, ->lb1\n"
                            "B.IOR [a0, a1, zero], ->zero\n"
                            "B.IOT mask=1000, last, ->u<%2$s>\nBSTOP\n"
                            "BSTART.TMATMUL %1$s\nB.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0\n"
                            "B.DIM zero, 32, ->lb0\nB.DIM zero, 32, ->lb1\n"
                            "B.DIM zero, 512, ->lb2\n"
                            "B.IOT t#1, u#1, mask=1000, last, ->m<4KB>\nBSTOP\n";

static const char second[] = "BSTART.TLOAD %1$s\nB.DATR ND2N8, DTYPE_NONE, Zero\n"
                             "B.DIM zero, 32, ->lb0\nB.DIM zero, 512, ->lb1\n"
                             "B.IOR [a0, a1, zero], ->zero\n"
                             "B.IOT mask=1000, last, ->u<%2$s>\nBSTOP\n"
                             "BSTART.TMATMUL.ACC %1$s\nB.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0\n"
                             "B.DIM zero, 32, ->lb0\nB.DIM zero, 32, ->lb1\n"
                             "B.DIM zero, 512, ->lb2\n"
                             "B.IOT m#1, t#2, mask=1000\n"
                             "B.IOT u#1, mask=1000, last, ->n<4KB>\nBSTOP\n"
                             "BSTART.TSTORE FP32\nB.DATR M322ND, DTYPE_NONE, Zero\n"
                             "B.DIM zero, 32, ->lb0\nB.DIM zero, 32, ->lb1\n"
                             "B.IOR [a2, a3, zero], ->zero\n"
                             "B.IOT n#1, mask=1000, last\nBSTOP\n";

typedef struct blocked {
    tly_pto_machine *m;
    uint32_t width; /* bytes of an element of A and B */
    uint64_t start[NUM_PROGRAMS];
    uint64_t stop[NUM_PROGRAMS];
} blocked;

static tly_status assemble(blocked *b, uint32_t program, const char *format, const char *dtype,
                           const char *size, const tly_context *context, tly_error *error) {
    char text[TEXT_LEN];
    uint8_t code[CODE_LEN];
    size_t len = 0;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, dtype, size);
#pragma GCC diagnostic pop
    b->start[program] = CODE + (uint64_t)program * CODE_STEP;
    tly_status status = tly_asm_assemble_flat(context, text, strlen(text), b->start[program],
                                              TLY_ISA_0_58_3, code, sizeof code, &len, error);
    if (status == TLY_OK) {
        memcpy(b->m->memory.bytes + b->start[program], code, len);
        tly_pto_memory_changed(b->m, b->start[program], len);
        b->stop[program] = b->start[program] + len;
    }
    return status;
}

static tly_status play(blocked *b, uint32_t program, uint64_t a0, uint64_t a1, uint64_t a2,
                       uint64_t a3, tly_error *error) {
    const uint64_t registers[] = {a0, a1, a2, a3};
    tly_pto_run_options options = {
        .size = sizeof(options), .stop_pc = b->stop[program], .max_steps = MAX_STEPS};
    tly_pto_run_result result;
    memcpy(&b->m->core.gprs[0][A0], registers, sizeof(registers));
    b->m->core.context.tpc = b->start[program];
    tly_pto_run(b->m, &options, &result);
    if (result.end != TLY_PTO_END_STOP) {
        char reason[256];
        tly_pto_reason_text(&b->m->reason, reason, sizeof(reason));
        return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-pto",
                             "the program ended before its end: %s", reason);
    }
    return TLY_OK;
}

static tly_status run_row(blocked *b, uint32_t row, tly_error *error) {
    uint64_t pitch = (uint64_t)PITCH * b->width;
    uint64_t left = A_AT + row * pitch;
    tly_status status = play(b, LOAD_A, left, pitch, left + (uint64_t)DEPTH * b->width, 0, error);
    for (uint32_t column = 0; column < SIZE && status == TLY_OK; column += COLUMNS) {
        uint64_t right = B_AT + (uint64_t)column * b->width;
        uint64_t result = C_AT + ((uint64_t)row * PITCH + column) * 4;
        status = play(b, FIRST, right, pitch, 0, 0, error);
        tly_pto_release_tile(b->m, HAND);
        if (status == TLY_OK) {
            status = play(b, SECOND, right + DEPTH * pitch, pitch, result, PITCH * 4, error);
        }
        tly_pto_release_tile(b->m, HAND);
        tly_pto_release_tile(b->m, 2 * HAND);
        tly_pto_release_tile(b->m, 3 * HAND);
    }
    for (uint32_t i = 0; i < PIECES; i++) {
        tly_pto_release_tile(b->m, i);
    }
    return status;
}

static tly_status run_machine(void *user, uint64_t turn, tly_error *error) {
    tly_status status = TLY_OK;
    (void)turn;
    for (uint32_t row = 0; row < SIZE && status == TLY_OK; row += ROWS) {
        status = run_row(user, row, error);
    }
    return status;
}

/* Numbers between -1 and 1 that both types have, and the same ones in FP32 for oneDNN. */
static void make_numbers(blocked *b, float *singles) {
    for (uint32_t i = 0; i < 2 * SIZE * SIZE; i++) {
        float value = (float)((i * 2654435761u) >> 25) * 0x1p-6f - 1.0f;
        uint32_t bits = 0;
        memcpy(&bits, &value, sizeof bits);
        singles[i] = value;
        uint32_t place = i % (SIZE * SIZE);
        uint64_t at = (i < SIZE * SIZE ? A_AT : B_AT) +
                      ((uint64_t)(place / SIZE) * PITCH + place % SIZE) * b->width;
        if (b->width == 4) {
            memcpy(b->m->memory.bytes + at, &bits, 4);
        } else {
            uint16_t half = (uint16_t)(bits >> 16);
            memcpy(b->m->memory.bytes + at, &half, 2);
        }
    }
}

/* Both sides have computed the same, as near as two orders of summation can be. */
static tly_status compare_products(const blocked *b, const tly_bench_product *p, tly_error *error) {
    const float *theirs = p->product;
    for (uint32_t i = 0; i < SIZE * SIZE; i++) {
        float ours = 0;
        memcpy(&ours, b->m->memory.bytes + C_AT + ((uint64_t)(i / SIZE) * PITCH + i % SIZE) * 4, 4);
        if (!(fabsf(ours - theirs[i]) <= 1e-3f)) {
            return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-pto",
                                 "element %u is %g here and %g in oneDNN", i, (double)ours,
                                 (double)theirs[i]);
        }
    }
    return TLY_OK;
}

static tly_status prepare(blocked *b, tly_bench *bench, const char *dtype, const char *size,
                          tly_error *error) {
    const tly_context *context = tly_bench_context(bench);
    tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                             .app_limit = MEMORY_LEN,
                             .num_queues = 1,
                             .release = TLY_ISA_0_58_3,
                             .profile = &tly_pto_profile_ieee};
    tly_status status = tly_pto_machine_new(context, &config, &b->m, error);
    if (status == TLY_OK) {
        status = assemble(b, LOAD_A, load_a, dtype, size, context, error);
    }
    if (status == TLY_OK) {
        status = assemble(b, FIRST, first, dtype, size, context, error);
    }
    return status == TLY_OK ? assemble(b, SECOND, second, dtype, size, context, error) : status;
}

static tly_status measure(tly_bench *bench, const tly_bench_case *self, const char *dtype,
                          uint32_t width, const char *note, tly_error *error) {
    blocked b = {.width = width};
    tly_bench_product p = {.m = SIZE,
                           .n = SIZE,
                           .k = SIZE,
                           .a_dtype = TLY_F32,
                           .b_dtype = TLY_F32,
                           .c_dtype = TLY_F32};
    tly_bench_side sides[] = {{"machine", run_machine, &b}, {"onednn", tly_bench_product_run, &p}};
    tly_bench_times times[2];
    tly_error missing = {0};
    float *singles = malloc(sizeof(float) * 2 * SIZE * SIZE);
    tly_status status =
        singles != NULL ? prepare(&b, bench, dtype, width == 4 ? "64KB" : "32KB", error)
                        : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    if (status == TLY_OK) {
        make_numbers(&b, singles);
    }
    if (status == TLY_OK &&
        tly_bench_product_open(&p, bench, singles, singles + SIZE * SIZE, &missing) != TLY_OK) {
        tly_bench_skip(bench, self, "%s", missing.message);
    } else if (status == TLY_OK) {
        status = tly_bench_compare(bench, sides, 2, times, error);
        if (status == TLY_OK) {
            status = compare_products(&b, &p, error);
        }
        if (status == TLY_OK) {
            tly_bench_report_rate(bench, self, self->name, 2.0 * SIZE * SIZE * SIZE / 1e9,
                                  &times[0], &times[1], note);
        }
    }
    tly_bench_product_close(&p);
    free(singles);
    tly_pto_machine_free(b.m);
    return status;
}

tly_status tly_bench_run_ieee_gemm_f32(tly_bench *bench, const tly_bench_case *self,
                                       tly_error *error) {
    return measure(bench, self, "FP32", 4,
                   "Gflop/s with loads and stores, against oneDNN on its own panels; the bound is "
                   "0.6",
                   error);
}

tly_status tly_bench_run_ieee_gemm_bf16(tly_bench *bench, const tly_bench_case *self,
                                        tly_error *error) {
    return measure(bench, self, "BF16", 2,
                   "BF16 into FP32, against oneDNN's f32 of the same shape; the bound is 0.5",
                   error);
}
