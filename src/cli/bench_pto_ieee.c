/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto --profile ieee: operations on tiles of FP32 against plain C over as much data.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/bench_pto.h"
#include "cli/bench_pto_rig.h"
#include "cli/bench_vector_avx2.h"
#include "pto/profile/profile.h"

enum { TILE_LEN = TLY_BENCH_PTO_TILE_LEN, NUMBERS = TILE_LEN / 4, ROWS = 64, COLUMNS = 128 };
enum { MEMORY_LEN = 1 << 20, MAX_LINES = 5, MAX_REPEATS = 6 };

#define COUNT(lines) (uint32_t)(sizeof(lines) / sizeof((lines)[0]))

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define NATIVE __attribute__((target("avx2"), optimize("O3")))
#else
#define NATIVE
#endif

/* Numbers of both sides, and results of the reference. */
typedef struct numbers {
    float *left;
    float *right;
    float *out;
    void *exp; /* of the C library; NULL: none */
} numbers;

typedef struct ieee_case {
    const char *const *program; /* `repeats` of it make one turn */
    uint32_t num_lines;
    uint32_t repeats;
    int (*reference)(const numbers *n); /* once; 0: not here */
    double bytes;                       /* of one repeat, read and written */
    const char *note;
} ieee_case;

typedef struct reference_side {
    const ieee_case *of;
    numbers n;
} reference_side;

static tly_status run_machine(void *user, uint64_t turn, tly_error *error) {
    (void)turn;
    return tly_bench_rig_run(user, error);
}

static tly_status run_reference(void *user, uint64_t turn, tly_error *error) {
    reference_side *side = user;
    (void)turn, (void)error;
    for (uint32_t i = 0; i < side->of->repeats; i++) {
        side->of->reference(&side->n);
        tly_bench_keep(side->n.out);
    }
    return TLY_OK;
}

/* Two tiles of numbers between -4 and 4 on hand t; the second is t#1. */
static tly_status load_numbers(tly_bench_rig *r, numbers *n, tly_error *error) {
    static const char *const load[] = {"BSTART.TLOAD FP32",
                                       "B.DIM zero, 128, ->lb0",
                                       "B.DIM zero, 64, ->lb1",
                                       "B.IOR [a1, zero, zero], ->zero",
                                       "B.IOT mask=1000, last, ->t<32KB>",
                                       "BSTOP",
                                       "BSTART.TLOAD FP32",
                                       "B.DIM zero, 128, ->lb0",
                                       "B.DIM zero, 64, ->lb1",
                                       "B.IOR [a2, zero, zero], ->zero",
                                       "B.IOT mask=1000, last, ->t<32KB>",
                                       "BSTOP"};
    float *values = aligned_alloc(4096, (size_t)TILE_LEN * 3);
    if (values == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    for (uint32_t i = 0; i < 2 * NUMBERS; i++) {
        values[i] = (float)((i * 2654435761u) >> 8) * 0x1p-21f - 4.0f;
    }
    *n = (numbers){values, values + NUMBERS, values + 2 * NUMBERS, tly_bench_exp_find()};
    memcpy(r->m->memory.bytes + TLY_BENCH_PTO_DATA, values, (size_t)TILE_LEN * 2);
    r->m->core.gprs[0][3] = TLY_BENCH_PTO_DATA;
    r->m->core.gprs[0][4] = TLY_BENCH_PTO_DATA + TILE_LEN;
    r->m->profile = &tly_pto_profile_ieee;
    tly_status status = tly_bench_rig_add_all(r, load, COUNT(load), error);
    return status == TLY_OK ? tly_bench_rig_prepare(r, error) : status;
}

static tly_status measure(tly_bench *bench, const tly_bench_case *self, const ieee_case *of,
                          tly_error *error) {
    tly_bench_rig r;
    reference_side side = {.of = of};
    tly_bench_side sides[] = {{"machine", run_machine, &r}, {"c", run_reference, &side}};
    tly_bench_times times[2];
    tly_status status = tly_bench_rig_init(&r, bench, MEMORY_LEN, error);
    if (status == TLY_OK) {
        status = load_numbers(&r, &side.n, error);
    }
    for (uint32_t i = 0; status == TLY_OK && i < of->repeats; i++) {
        status = tly_bench_rig_add_all(&r, of->program, of->num_lines, error);
    }
    if (status == TLY_OK && !of->reference(&side.n)) {
        tly_bench_skip(bench, self, "this processor or C library has no reference for it");
    } else if (status == TLY_OK) {
        status = tly_bench_compare(bench, sides, 2, times, error);
        if (status == TLY_OK) {
            tly_bench_report_rate(bench, self, self->name, of->repeats * of->bytes / 1e9, &times[0],
                                  &times[1], of->note);
        }
    }
    free(side.n.left);
    tly_pto_machine_free(r.m);
    return status;
}

/* ---- references ---- */

NATIVE static int add(const numbers *n) {
    const float *restrict left = n->left, *restrict right = n->right;
    float *restrict out = n->out;
    for (size_t i = 0; i < NUMBERS; i++) {
        out[i] = left[i] + right[i];
    }
    return 1;
}

NATIVE static int multiply(const numbers *n) {
    const float *restrict left = n->left, *restrict right = n->right;
    float *restrict out = n->out;
    for (size_t i = 0; i < NUMBERS; i++) {
        out[i] = left[i] * right[i];
    }
    return 1;
}

static int convert(const numbers *n) {
    return tly_bench_to_half(n->left, (uint16_t *)(void *)n->out, NUMBERS);
}

static int exponential(const numbers *n) {
    if (n->exp != NULL) {
        tly_bench_exp(n->exp, n->left, n->out, NUMBERS);
    }
    return n->exp != NULL;
}

/* Rows of exponentials of the distance to the largest, over their sum: two passes in C that the
 * compiler turns into vector code, the exponential of the C library between them. */
NATIVE static int softmax(const numbers *n) {
    if (n->exp == NULL) {
        return 0;
    }
    for (size_t row = 0; row < ROWS; row++) {
        const float *restrict in = n->left + row * COLUMNS;
        float *restrict out = n->out + row * COLUMNS;
        float lanes[8], most = in[0], sum = 0;
        memcpy(lanes, in, sizeof lanes);
        for (size_t i = 8; i < COLUMNS; i += 8) {
            for (size_t l = 0; l < 8; l++) {
                lanes[l] = in[i + l] > lanes[l] ? in[i + l] : lanes[l];
            }
        }
        for (size_t l = 0; l < 8; l++) {
            most = lanes[l] > most ? lanes[l] : most;
        }
        for (size_t i = 0; i < COLUMNS; i++) {
            out[i] = in[i] - most;
        }
        tly_bench_exp(n->exp, out, out, COLUMNS);
        memset(lanes, 0, sizeof lanes);
        for (size_t i = 0; i < COLUMNS; i += 8) {
            for (size_t l = 0; l < 8; l++) {
                lanes[l] += out[i + l];
            }
        }
        for (size_t l = 0; l < 8; l++) {
            sum += lanes[l];
        }
        for (size_t i = 0; i < COLUMNS; i++) {
            out[i] /= sum;
        }
    }
    return 1;
}

/* ---- cases ---- */

tly_status tly_bench_run_ieee_tadd(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    static const char *const program[] = {"BSTART.VEC TADD, FP32", "B.DIM zero, 128, ->lb0",
                                          "B.DIM zero, 64, ->lb1",
                                          "B.IOT t#1, t#2, mask=1000, last, ->u<32KB>", "BSTOP"};
    const ieee_case of = {program, COUNT(program), 4, add, 3.0 * TILE_LEN, "the bound is 0.7"};
    return measure(bench, self, &of, error);
}

tly_status tly_bench_run_ieee_tmul(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    static const char *const program[] = {"BSTART.VEC TMUL, FP32", "B.DIM zero, 128, ->lb0",
                                          "B.DIM zero, 64, ->lb1",
                                          "B.IOT t#1, t#2, mask=1000, last, ->u<32KB>", "BSTOP"};
    const ieee_case of = {program, COUNT(program), 4, multiply, 3.0 * TILE_LEN, "the bound is 0.7"};
    return measure(bench, self, &of, error);
}

tly_status tly_bench_run_ieee_tcvt(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    static const char *const program[] = {
        "BSTART.VEC TCVT, FP32", "B.DATR NORM.normal, FP16, Null",        "B.DIM zero, 128, ->lb0",
        "B.DIM zero, 64, ->lb1", "B.IOT t#2, mask=1000, last, ->u<16KB>", "BSTOP"};
    const ieee_case of = {program, COUNT(program), 4,
                          convert, 1.5 * TILE_LEN, "FP32 to FP16; the bound is 0.7"};
    return measure(bench, self, &of, error);
}

tly_status tly_bench_run_ieee_texp(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    static const char *const program[] = {"BSTART.SFU TEXP, FP32", "B.DIM zero, 128, ->lb0",
                                          "B.DIM zero, 64, ->lb1",
                                          "B.IOT t#2, mask=1000, last, ->u<32KB>", "BSTOP"};
    const ieee_case of = {
        program,
        COUNT(program),
        4,
        exponential,
        2.0 * TILE_LEN,
        "correctly rounded; the reference is within 4 units in the last place; the "
        "bound is 0.5"};
    return measure(bench, self, &of, error);
}

tly_status tly_bench_run_ieee_softmax(tly_bench *bench, const tly_bench_case *self,
                                      tly_error *error) {
    static const char *const program[] = {"BSTART.SFU TROWMAX, FP32",
                                          "B.DIM zero, 128, ->lb0",
                                          "B.DIM zero, 64, ->lb1",
                                          "B.IOT t#2, mask=1000, last, ->u<256B>",
                                          "BSTOP",
                                          "BSTART.SFU TROWEXPANDEXPDIF, FP32",
                                          "B.DIM zero, 128, ->lb0",
                                          "B.DIM zero, 64, ->lb1",
                                          "B.IOT t#2, u#1, mask=1000, last, ->m<32KB>",
                                          "BSTOP",
                                          "BSTART.SFU TROWSUM, FP32",
                                          "B.DIM zero, 128, ->lb0",
                                          "B.DIM zero, 64, ->lb1",
                                          "B.IOT m#1, mask=1000, last, ->u<256B>",
                                          "BSTOP",
                                          "BSTART.SFU TROWEXPANDDIV, FP32",
                                          "B.DIM zero, 128, ->lb0",
                                          "B.DIM zero, 64, ->lb1",
                                          "B.IOT m#1, u#1, mask=1000, last, ->n<32KB>",
                                          "BSTOP"};
    const ieee_case of = {program, COUNT(program), 1,
                          softmax, 2.0 * TILE_LEN, "64 rows of 128; the bound is 0.5"};
    return measure(bench, self, &of, error);
}
