/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto --profile ieee: 1024 x 1024 x 1024 by TLOAD, TMATMUL and TSTORE, blocks of 32 x
 * 32 and 512 steps of K. A block row of A stays in two tiles, B comes in pieces. No instruction
 * gives a tile back: between the pieces the host releases those that are done with, as it starts
 * the program again with other addresses. A team has a block row for each element at a time. */
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
#include "pto/team.h"
#include "pto/tile/allocate.h"

enum { SIZE = 1024, ROWS = 32, COLUMNS = 32, DEPTH = 512, PIECES = SIZE / DEPTH };
/* Rows are 16 elements longer than the matrix is wide, so that they do not all meet in the same
 * sets of the caches. */
enum { PITCH = SIZE + 16, CODE = 0x1000, A_AT = 0x100000 };
enum { B_AT = A_AT + SIZE * PITCH * 4, C_AT = B_AT + SIZE * PITCH * 4 };
enum { MEMORY_LEN = C_AT + SIZE * PITCH * 4, TEXT_LEN = 2048, CODE_LEN = 512, CODE_STEP = 0x400 };
enum { HAND = 16, A0 = 2, NUM_ARGUMENTS = 4, MAX_STEPS = 64, STOP = 0x800, ELEMENTS = 4 };

/* The programs: a row of A; the first and the second piece of a block of C. */
enum { LOAD_A, FIRST, SECOND, NUM_PROGRAMS };

static const char load_a[] = "BSTART.TLOAD %1$s\nB.DATR ND2M32, DTYPE_NONE, Zero\n"
                             "B.DIM zero, 512, ->lb0\nB.DIM zero, 32, ->lb1\n"
                             "B.IOR [a0, a1, zero], ->zero\n"
                             "B.IOT mask=%3$s, last, ->t<%2$s>\nBSTOP\n"
                             "BSTART.TLOAD %1$s\nB.DATR ND2M32, DTYPE_NONE, Zero\n"
                             "B.DIM zero, 512, ->lb0\nB.DIM zero, 32, ->lb1\n"
                             "B.IOR [a2, a1, zero], ->zero\n"
                             "B.IOT mask=%3$s, last, ->t<%2$s>\nBSTOP\n";

static const char first[] = "BSTART.TLOAD %1$s\nB.DATR ND2N8, DTYPE_NONE, Zero\n"
                            "B.DIM zero, 32, ->lb0\nB.DIM zero, 512, ->lb1\n"
                            "B.IOR [a0, a1, zero], ->zero\n"
                            "B.IOT mask=%3$s, last, ->u<%2$s>\nBSTOP\n"
                            "BSTART.TMATMUL %1$s\nB.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0\n"
                            "B.DIM zero, 32, ->lb0\nB.DIM zero, 32, ->lb1\n"
                            "B.DIM zero, 512, ->lb2\n"
                            "B.IOT t#1, u#1, mask=%3$s, last, ->m<4KB>\nBSTOP\n";

static const char second[] = "BSTART.TLOAD %1$s\nB.DATR ND2N8, DTYPE_NONE, Zero\n"
                             "B.DIM zero, 32, ->lb0\nB.DIM zero, 512, ->lb1\n"
                             "B.IOR [a0, a1, zero], ->zero\n"
                             "B.IOT mask=%3$s, last, ->u<%2$s>\nBSTOP\n"
                             "BSTART.TMATMUL.ACC %1$s\nB.FPATR 0, 0, 0, 0, 0, 0, 0, 0, 0\n"
                             "B.DIM zero, 32, ->lb0\nB.DIM zero, 32, ->lb1\n"
                             "B.DIM zero, 512, ->lb2\n"
                             "B.IOT m#1, t#2, mask=%3$s\n"
                             "B.IOT u#1, mask=%3$s, last, ->n<4KB>\nBSTOP\n"
                             "BSTART.TSTORE FP32\nB.DATR M322ND, DTYPE_NONE, Zero\n"
                             "B.DIM zero, 32, ->lb0\nB.DIM zero, 32, ->lb1\n"
                             "B.IOR [a2, a3, zero], ->zero\n"
                             "B.IOT n#1, mask=%3$s, last\nBSTOP\n";

typedef struct blocked {
    tly_pto_team *team; /* NULL: one machine for itself */
    tly_pto_machine *machines[ELEMENTS];
    uint32_t num_machines;
    uint32_t threads;
    uint32_t width; /* bytes of an element of A and B */
    uint64_t start[ELEMENTS][NUM_PROGRAMS];
} blocked;

/* Appended to each program. */
static const char to_stop[] = "BSTART DIRECT, 0x800\nBSTOP\n";

static tly_status assemble(blocked *b, uint32_t element, uint32_t program, const char *format,
                           const char *dtype, const char *size, const tly_context *context,
                           tly_error *error) {
    static const char *const masks[ELEMENTS] = {"1000", "0100", "0010", "0001"};
    char text[TEXT_LEN];
    uint8_t code[CODE_LEN];
    size_t len = 0;
    uint64_t at = CODE + (uint64_t)(element * NUM_PROGRAMS + program) * CODE_STEP;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(text, sizeof text, format, dtype, size, masks[element]);
#pragma GCC diagnostic pop
    strcat(text, to_stop);
    b->start[element][program] = at;
    tly_status status = tly_asm_assemble_flat(context, text, strlen(text), at, TLY_ISA_0_58_3, code,
                                              sizeof code, &len, error);
    return status == TLY_OK ? tly_pto_memory_write(b->machines[element], at, code, len, error)
                            : status;
}

static tly_status refuse(const tly_pto_machine *m, tly_error *error) {
    char reason[256];
    tly_pto_reason_text(&m->reason, reason, sizeof(reason));
    return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-pto",
                         "the program ended before its end: %s", reason);
}

static tly_status play_team(const blocked *b, tly_error *error) {
    const tly_pto_team_run_options options = {
        .size = sizeof(options), .threads = b->threads, .stop_pc = STOP, .max_steps = MAX_STEPS};
    tly_pto_team_run_result result = {.size = sizeof(result)};
    tly_status status = tly_pto_team_run(b->team, &options, &result, error);
    for (uint32_t i = 0; i < b->num_machines && status == TLY_OK; i++) {
        status =
            result.elements[i].end == TLY_PTO_END_STOP ? TLY_OK : refuse(b->machines[i], error);
    }
    return status;
}

/* Runs a program on every machine, each with arguments of its own. */
static tly_status play(const blocked *b, uint32_t program,
                       const uint64_t (*arguments)[NUM_ARGUMENTS], tly_error *error) {
    for (uint32_t i = 0; i < b->num_machines; i++) {
        memcpy(&b->machines[i]->core.gprs[i][A0], arguments[i], sizeof(arguments[i]));
        b->machines[i]->core.context.tpc = b->start[i][program];
    }
    if (b->team != NULL) {
        return play_team(b, error);
    }
    tly_pto_run_options options = {
        .size = sizeof(options), .stop_pc = STOP, .max_steps = MAX_STEPS};
    tly_pto_run_result result;
    tly_pto_run(b->machines[0], &options, &result);
    return result.end == TLY_PTO_END_STOP ? TLY_OK : refuse(b->machines[0], error);
}

static void release(const blocked *b, uint32_t tile) {
    for (uint32_t i = 0; i < b->num_machines; i++) {
        tly_pto_release_tile(b->machines[i], tile);
    }
}

/* As many block rows as there are machines, from `row` on. */
static tly_status run_rows(const blocked *b, uint32_t row, tly_error *error) {
    const uint64_t pitch = (uint64_t)PITCH * b->width;
    uint64_t arguments[ELEMENTS][NUM_ARGUMENTS];
    for (uint32_t i = 0; i < b->num_machines; i++) {
        uint64_t left = A_AT + (row + i * ROWS) * pitch;
        arguments[i][0] = left;
        arguments[i][1] = pitch;
        arguments[i][2] = left + (uint64_t)DEPTH * b->width;
        arguments[i][3] = (uint64_t)PITCH * 4;
    }
    tly_status status = play(b, LOAD_A, arguments, error);
    for (uint32_t column = 0; column < SIZE && status == TLY_OK; column += COLUMNS) {
        uint64_t right = B_AT + (uint64_t)column * b->width;
        for (uint32_t i = 0; i < b->num_machines; i++) {
            arguments[i][0] = right;
        }
        status = play(b, FIRST, arguments, error);
        release(b, HAND);
        for (uint32_t i = 0; i < b->num_machines; i++) {
            arguments[i][0] = right + DEPTH * pitch;
            arguments[i][2] = C_AT + ((uint64_t)(row + i * ROWS) * PITCH + column) * 4;
        }
        if (status == TLY_OK) {
            status = play(b, SECOND, arguments, error);
        }
        release(b, HAND);
        release(b, 2 * HAND);
        release(b, 3 * HAND);
    }
    for (uint32_t i = 0; i < PIECES; i++) {
        release(b, i);
    }
    return status;
}

static tly_status run_machine(void *user, uint64_t turn, tly_error *error) {
    const blocked *b = user;
    tly_status status = TLY_OK;
    (void)turn;
    for (uint32_t row = 0; row < SIZE && status == TLY_OK; row += ROWS * b->num_machines) {
        status = run_rows(b, row, error);
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
            memcpy(b->machines[0]->memory.bytes + at, &bits, 4);
        } else {
            uint16_t half = (uint16_t)(bits >> 16);
            memcpy(b->machines[0]->memory.bytes + at, &half, 2);
        }
    }
}

/* Both sides have computed the same, as near as two orders of summation can be. */
static tly_status compare_products(const blocked *b, const tly_bench_product *p, tly_error *error) {
    const float *theirs = p->product;
    for (uint32_t i = 0; i < SIZE * SIZE; i++) {
        float ours = 0;
        memcpy(&ours,
               b->machines[0]->memory.bytes + C_AT + ((uint64_t)(i / SIZE) * PITCH + i % SIZE) * 4,
               4);
        if (!(fabsf(ours - theirs[i]) <= 1e-3f)) {
            return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-pto",
                                 "element %u is %g here and %g in oneDNN", i, (double)ours,
                                 (double)theirs[i]);
        }
    }
    return TLY_OK;
}

static tly_status prepare(blocked *b, tly_bench *bench, uint32_t num_machines, const char *dtype,
                          const char *size, tly_error *error) {
    static const char *const programs[NUM_PROGRAMS] = {load_a, first, second};
    const tly_context *context = tly_bench_context(bench);
    tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                             .app_limit = MEMORY_LEN,
                             .num_queues = 1,
                             .release = TLY_ISA_0_58_3,
                             .profile = &tly_pto_profile_ieee};
    tly_status status = num_machines == 1
                            ? tly_pto_machine_new(context, &config, &b->machines[0], error)
                            : tly_pto_team_make(context, &config, num_machines, &b->team, error);
    if (status != TLY_OK) {
        return status;
    }
    b->num_machines = num_machines;
    for (uint32_t i = 0; i < num_machines && b->team != NULL; i++) {
        b->machines[i] = tly_pto_team_machine(b->team, i);
    }
    for (uint32_t i = 0; i < num_machines * NUM_PROGRAMS && status == TLY_OK; i++) {
        status = assemble(b, i / NUM_PROGRAMS, i % NUM_PROGRAMS, programs[i % NUM_PROGRAMS], dtype,
                          size, context, error);
    }
    return status;
}

static void cleanup(blocked *b) {
    if (b->team == NULL) {
        tly_pto_machine_free(b->machines[0]);
    }
    tly_pto_team_free(b->team);
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
        singles != NULL ? prepare(&b, bench, 1, dtype, width == 4 ? "64KB" : "32KB", error)
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
    cleanup(&b);
    return status;
}

/* One product on one thread, one on two: the same bits. `singles` has room for the first. */
static tly_status compare_threads(blocked *one, blocked *two, float *singles, tly_error *error) {
    const size_t len = (size_t)SIZE * PITCH * 4;
    const uint8_t *product = one->machines[0]->memory.bytes + C_AT;
    tly_status status = run_machine(one, 0, error);
    memcpy(singles, product, len);
    if (status == TLY_OK) {
        status = run_machine(two, 0, error);
    }
    if (status == TLY_OK && memcmp(singles, product, len) != 0) {
        status = tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-pto",
                               "two threads gave other bits than one");
    }
    return status;
}

/* The group is pinned to one processor, this case is not. */
tly_status tly_bench_run_ieee_gemm_threads(tly_bench *bench, const tly_bench_case *self,
                                           tly_error *error) {
    blocked b = {.width = 4}, one, two;
    tly_bench_side sides[] = {{"two threads", run_machine, &two},
                              {"one thread", run_machine, &one}};
    tly_bench_times times[2];
    float *singles = malloc(sizeof(float) * 2 * SIZE * SIZE);
    tly_status status =
        singles != NULL ? prepare(&b, bench, ELEMENTS, "FP32", "64KB", error)
                        : tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    if (status == TLY_OK) {
        make_numbers(&b, singles);
        one = two = b;
        one.threads = 1;
        two.threads = 2;
        tly_bench_unpin();
        status = compare_threads(&one, &two, singles, error);
    }
    if (status == TLY_OK) {
        status = tly_bench_compare(bench, sides, 2, times, error);
    }
    tly_bench_pin();
    if (status == TLY_OK) {
        tly_bench_report_rate(bench, self, self->name, 2.0 * SIZE * SIZE * SIZE / 1e9, &times[0],
                              &times[1],
                              "four elements on two threads, against one thread; every bit equal");
    }
    free(singles);
    cleanup(&b);
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
