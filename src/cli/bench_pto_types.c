/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench pto --profile ieee: operations on tiles of many types, by rows of stored elements,
 * against the same operation that takes every element by itself. */
#include <stdio.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "cli/bench_pto.h"
#include "cli/bench_pto_rig.h"
#include "pto/profile/profile.h"
#include "pto/tile/store.h"

enum { ROWS = 64, COLUMNS = 128, NUMBERS = ROWS * COLUMNS, MEMORY_LEN = 1 << 20, NUM_SOURCES = 3 };

typedef struct type_case {
    const char *name;
    const char *start; /* operation and type of the sources */
    uint32_t dtype;
    uint32_t num_sources;
    const char *attributes; /* of B.DATR; NULL: none */
    const char *result_len;
} type_case;

static const type_case type_cases[] = {
    {"tadd.bf16", "VEC TADD, BF16", TLY_PTO_BF16, 2, NULL, "16KB"},
    {"tadd.e4m3", "VEC TADD, E4M3", TLY_PTO_E4M3, 2, NULL, "8KB"},
    {"tmax.fp16", "VEC TMAX, FP16", TLY_PTO_FP16, 2, NULL, "16KB"},
    {"tcmp.bf16", "VEC TCMP, BF16", TLY_PTO_BF16, 2, NULL, "8KB"},
    {"tfma.fp32", "VEC TFMA, FP32", TLY_PTO_FP32, 3, NULL, "32KB"},
    {"tfma.bf16", "VEC TFMA, BF16", TLY_PTO_BF16, 3, NULL, "16KB"},
    {"texp.fp16", "SFU TEXP, FP16", TLY_PTO_FP16, 1, NULL, "16KB"},
    {"texp.bf16", "SFU TEXP, BF16", TLY_PTO_BF16, 1, NULL, "16KB"},
    {"trsqrt.fp16", "SFU TRSQRT, FP16", TLY_PTO_FP16, 1, NULL, "16KB"},
    {"trowsum.bf16", "SFU TROWSUM, BF16", TLY_PTO_BF16, 1, NULL, "128B"},
    {"trowargmax.fp16", "SFU TROWARGMAX, FP16", TLY_PTO_FP16, 1, NULL, "256B"},
    {"tcolmax.fp32", "SFU TCOLMAX, FP32", TLY_PTO_FP32, 1, NULL, "512B"},
    {"tcvt.fp32.e4m3", "VEC TCVT, FP32", TLY_PTO_FP32, 1, "NORM, E4M3, Null, sat", "8KB"},
    {"tcvt.fp32.s8", "VEC TCVT, FP32", TLY_PTO_FP32, 1, "NORM, S8, Null, sat", "8KB"},
};

static tly_status run_machine(void *user, uint64_t turn, tly_error *error) {
    (void)turn;
    return tly_bench_rig_run(user, error);
}

/* Positive numbers below 4 in the memory of the machine, for each source. */
static tly_status put_numbers(tly_bench_rig *r, const type_case *of, tly_error *error) {
    static const tly_pto_numeric_control nearest = {TLY_PTO_ROUND_NEAREST_EVEN, false};
    size_t width = tly_pto_dtype_bits(of->dtype) / 8;
    uint8_t *to = r->m->memory.bytes + TLY_BENCH_PTO_DATA, ignored = 0;
    for (uint32_t i = 0; i < NUM_SOURCES * NUMBERS; i++) {
        float number = (float)((i * 2654435761u) >> 8) * 0x1p-22f + 0x1p-4f;
        uint32_t bits;
        memcpy(&bits, &number, sizeof bits);
        uint64_t word =
            of->dtype == TLY_PTO_FP32
                ? bits
                : tly_pto_profile_ieee.convert(TLY_PTO_FP32, of->dtype, &nearest, bits, &ignored);
        word = TLY_BASE_LE64(word);
        memcpy(to + i * width, &word, width);
    }
    for (uint32_t i = 0; i < NUM_SOURCES; i++) {
        char line[64];
        r->m->core.gprs[0][3 + i] = TLY_BENCH_PTO_DATA + i * NUMBERS * width;
        snprintf(line, sizeof line, "BSTART.TLOAD %s", strchr(of->start, ',') + 2);
        tly_status status = tly_bench_rig_add(r, line, error);
        snprintf(line, sizeof line, "B.IOR [a%u, zero, zero], ->zero", i + 1);
        const char *const rest[] = {"B.DIM zero, 128, ->lb0", "B.DIM zero, 64, ->lb1", line};
        status = status == TLY_OK ? tly_bench_rig_add_all(r, rest, 3, error) : status;
        snprintf(line, sizeof line, "B.IOT mask=1000, last, ->t<%zuKB>", NUMBERS * width / 1024);
        status = status == TLY_OK ? tly_bench_rig_add(r, line, error) : status;
        status = status == TLY_OK ? tly_bench_rig_add(r, "BSTOP", error) : status;
        if (status != TLY_OK) {
            return status;
        }
    }
    return tly_bench_rig_prepare(r, error);
}

static tly_status add_operation(tly_bench_rig *r, const type_case *of, tly_error *error) {
    static const char *const sources[] = {"t#1, ", "t#1, t#2, ", "t#3, "};
    char start[64], attributes[64], last[64];
    const char *lines[8];
    uint32_t num = 0;
    snprintf(start, sizeof start, "BSTART.%s", of->start);
    lines[num++] = start;
    if (of->attributes != NULL) {
        snprintf(attributes, sizeof attributes, "B.DATR %s", of->attributes);
        lines[num++] = attributes;
    }
    lines[num++] = "B.DIM zero, 128, ->lb0";
    lines[num++] = "B.DIM zero, 64, ->lb1";
    if (of->num_sources == 3) {
        lines[num++] = "B.IOT t#1, t#2, mask=1000";
    }
    snprintf(last, sizeof last, "B.IOT %smask=1000, last, ->u<%s>", sources[of->num_sources - 1],
             of->result_len);
    lines[num++] = last;
    lines[num++] = "BSTOP";
    return tly_bench_rig_add_all(r, lines, num, error);
}

/* Tiles that keep words have no rows of stored elements. */
static void keep_words(tly_bench_rig *r) {
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        const tly_pto_tile *tile = &r->m->core.tiles[i];
        tly_pto_elements *e = &r->m->tiles->local[i];
        if (tile->allocated) {
            tly_pto_elements_read(e, tile, 0, tly_pto_tile_elements(tile), e->words);
            e->extensions = TLY_PTO_WORDS_KEPT;
        }
    }
}

static tly_status prepare(tly_bench_rig *r, tly_bench *bench, const type_case *of,
                          tly_error *error) {
    tly_status status = tly_bench_rig_init(r, bench, MEMORY_LEN, error);
    if (status == TLY_OK) {
        r->m->profile = &tly_pto_profile_ieee;
        status = put_numbers(r, of, error);
    }
    return status == TLY_OK ? add_operation(r, of, error) : status;
}

static tly_status measure(tly_bench *bench, const tly_bench_case *self, const type_case *of,
                          tly_error *error) {
    tly_bench_rig by_rows = {0}, by_element = {0};
    tly_bench_side sides[] = {{"rows", run_machine, &by_rows},
                              {"elements", run_machine, &by_element}};
    tly_bench_times times[2];
    tly_status status = prepare(&by_rows, bench, of, error);
    if (status == TLY_OK) {
        status = prepare(&by_element, bench, of, error);
    }
    if (status == TLY_OK) {
        char name[64];
        keep_words(&by_element);
        status = tly_bench_compare(bench, sides, 2, times, error);
        snprintf(name, sizeof name, "%s.%s", self->name, of->name);
        if (status == TLY_OK) {
            tly_bench_report_time(bench, self, name, 1e9 / NUMBERS, &times[0], &times[1], "");
        }
    }
    tly_pto_machine_free(by_rows.m);
    tly_pto_machine_free(by_element.m);
    return status;
}

tly_status tly_bench_run_ieee_types(tly_bench *bench, const tly_bench_case *self,
                                    tly_error *error) {
    tly_status status = TLY_OK;
    for (size_t i = 0; i < sizeof type_cases / sizeof type_cases[0] && status == TLY_OK; i++) {
        status = measure(bench, self, &type_cases[i], error);
    }
    return status;
}
