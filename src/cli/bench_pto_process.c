/* SPDX-License-Identifier: Apache-2.0 */
/* pto.vs_qemu and pto.start: whole processes on the other side. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "cli/bench_pto.h"
#include "cli/bench_pto_program.h"
#include "cli/bench_pto_qemu.h"

enum { DATA = 0x100000, MAX_ROUNDS = 5, PATH_LEN = 160 };

static const char *const compiler = "/usr/bin/riscv64-linux-gnu-gcc";
static const char *const emulator = "/usr/bin/qemu-riscv64";

static tly_status make_folder(char *out_folder, tly_error *error) {
    const char *base = getenv("TMPDIR");
    snprintf(out_folder, PATH_LEN, "%.100s/tilery-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(out_folder) != NULL ? TLY_OK
                                       : tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "",
                                                       "cannot make a folder at %s", out_folder);
}

static tly_status write_text(const char *path, const char *text, tly_error *error) {
    FILE *file = fopen(path, "w");
    bool written = file != NULL && fputs(text, file) >= 0;
    if (file != NULL && fclose(file) != 0) {
        written = false;
    }
    return written ? TLY_OK
                   : tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot write %s", path);
}

/* Instructions that the emulator executes for this many repetitions: it logs each. */
static tly_status count_riscv(const char *program, uint32_t algorithm, uint32_t times,
                              uint64_t *out_count, tly_error *error) {
    char command[2 * PATH_LEN];
    char line[512];
    uint64_t count = 0;
    snprintf(command, sizeof(command), "%s -singlestep -d exec,nochain %s %u %u 2>&1", emulator,
             program, algorithm, times);
    FILE *log = popen(command, "r");
    while (log != NULL && fgets(line, sizeof(line), log) != NULL) {
        count += strncmp(line, "Trace ", 6) == 0;
    }
    if (log == NULL || pclose(log) != 0 || count == 0) {
        return tly_base_fail(error, TLY_INTERNAL, TLY_NO_OFFSET, "bench-qemu",
                             "%s does not log its instructions", emulator);
    }
    *out_count = count;
    return TLY_OK;
}

static tly_status time_riscv(const char *program, uint32_t algorithm, uint32_t times,
                             double *out_seconds, tly_error *error) {
    char number[16], repetitions[16];
    const char *argv[] = {emulator, program, number, repetitions, NULL};
    snprintf(number, sizeof(number), "%u", algorithm);
    snprintf(repetitions, sizeof(repetitions), "%u", times);
    return tly_bench_spawn(argv, out_seconds, error);
}

/* Instructions per second of the machine; it starts anew each time. */
static tly_status rate_pto(tly_pto_machine *m, const tly_bench_algorithm *algorithm,
                           double *out_rate, tly_error *error) {
    uint64_t cycles = 0;
    tly_pto_reset(m);
    tly_status status = tly_bench_program_load(m, algorithm->pto, error);
    if (status == TLY_OK) {
        status = tly_pto_set(m, "gpr[0][3]", DATA, error);
    }
    if (status == TLY_OK) {
        status = tly_pto_set(m, "gpr[0][4]", algorithm->pto_times, error);
    }
    uint64_t end = tly_bench_program_end(m, algorithm->pto);
    double begin = tly_bench_now();
    if (status == TLY_OK) {
        status = tly_bench_program_run(m, end, UINT64_MAX, 0, TLY_PTO_END_STOP, error);
    }
    double seconds = tly_bench_now() - begin;
    if (status == TLY_OK) {
        status = tly_pto_get(m, "cycle", &cycles, error);
    }
    *out_rate = (double)cycles / seconds;
    return status;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Our rate over the emulator's, the median of rounds that follow each other. */
static tly_status compare_algorithm(tly_pto_machine *m, const char *program, uint32_t number,
                                    uint32_t rounds, double *out_ratio, tly_error *error) {
    const tly_bench_algorithm *algorithm = &tly_bench_algorithms[number];
    double ratios[MAX_ROUNDS];
    uint64_t counts[2];
    tly_status status = count_riscv(program, number, 1, &counts[0], error);
    if (status == TLY_OK) {
        status = count_riscv(program, number, 2, &counts[1], error);
    }
    for (uint32_t i = 0; status == TLY_OK && i < rounds; i++) {
        double ours = 0, once = 0, all = 0;
        status = rate_pto(m, algorithm, &ours, error);
        if (status == TLY_OK) {
            status = time_riscv(program, number, 1, &once, error);
        }
        if (status == TLY_OK) {
            status = time_riscv(program, number, 1 + algorithm->riscv_times, &all, error);
        }
        if (status == TLY_OK) {
            double theirs = (double)(counts[1] - counts[0]) * algorithm->riscv_times / (all - once);
            ratios[i] = ours / theirs;
        }
    }
    if (status == TLY_OK) {
        qsort(ratios, rounds, sizeof(ratios[0]), by_size);
        *out_ratio = ratios[rounds / 2];
    }
    return status;
}

tly_status tly_bench_run_vs_qemu(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    char folder[PATH_LEN], source[PATH_LEN + 16], program[PATH_LEN + 16], note[256] = "";
    tly_pto_machine *m = NULL;
    uint32_t rounds = tly_bench_runs(bench) < MAX_ROUNDS ? tly_bench_runs(bench) : MAX_ROUNDS;
    double product = 1;
    if (access(compiler, X_OK) != 0 || access(emulator, X_OK) != 0) {
        tly_bench_skip(bench, self,
                       "%s and %s are needed (packages gcc-riscv64-linux-gnu, "
                       "libc6-dev-riscv64-cross and qemu-user)",
                       compiler, emulator);
        return TLY_OK;
    }
    tly_status status = make_folder(folder, error);
    if (status != TLY_OK) {
        return status;
    }
    snprintf(source, sizeof(source), "%s/five.c", folder);
    snprintf(program, sizeof(program), "%s/five", folder);
    status = write_text(source, tly_bench_riscv_source, error);
    if (status == TLY_OK) {
        const char *argv[] = {compiler, "-O2", "-static", source, "-o", program, NULL};
        status = tly_bench_spawn(argv, NULL, error);
    }
    if (status == TLY_OK) {
        status = tly_bench_program_new(bench, tly_bench_algorithms[0].pto, &m, error);
    }
    for (uint32_t i = 0; status == TLY_OK && i < TLY_BENCH_NUM_ALGORITHMS; i++) {
        double ratio = 0;
        status = compare_algorithm(m, program, i, rounds, &ratio, error);
        product *= ratio;
        size_t len = strlen(note);
        snprintf(note + len, sizeof(note) - len, "%s%s %.3f", i == 0 ? "" : ", ",
                 tly_bench_algorithms[i].name, ratio);
    }
    if (status == TLY_OK) {
        tly_bench_report(bench, self, self->name, pow(product, 1.0 / TLY_BENCH_NUM_ALGORITHMS),
                         0.08, rounds, 0, note);
    }
    tly_pto_free(m);
    unlink(source);
    unlink(program);
    rmdir(folder);
    return status;
}

typedef struct command {
    const char *argv[6];
} command;

static tly_status spawn(void *user, uint64_t turn, tly_error *error) {
    const command *c = user;
    (void)turn;
    return tly_bench_spawn(c->argv, NULL, error);
}

tly_status tly_bench_run_start(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    static const char text[] = "        .globl _start, cross_model_stop\n"
                               "_start: C.BSTART.STD FALL\n"
                               "        addi zero, 5, ->a0\n"
                               "        addi a0, 7, ->t\n"
                               "        add t#1, a0, ->a1\n"
                               "        slli a1, 3, ->a2\n"
                               "        xor a2, a1, ->a3\n"
                               "        sub a3, a0, ->t\n"
                               "        mul t#1, a1, ->a4\n"
                               "        addi a4, 1, ->a5\n"
                               "cross_model_stop:\n"
                               "        C.BSTOP\n";
    char folder[PATH_LEN], path[PATH_LEN + 16], program[PATH_LEN + 16], exe[512];
    tly_bench_times times[2];
    ssize_t len = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
    tly_status status = make_folder(folder, error);
    if (status != TLY_OK) {
        return status;
    }
    exe[len > 0 ? len : 0] = '\0';
    snprintf(path, sizeof(path), "%s/ten.s", folder);
    snprintf(program, sizeof(program), "%s/ten.elf", folder);
    command assemble = {{exe, "asm", path, "-o", program, NULL}};
    command ours = {{exe, "run", program, NULL}};
    command theirs = {{"/bin/true", NULL}};
    tly_bench_side sides[] = {{"tilery run", spawn, &ours}, {"/bin/true", spawn, &theirs}};
    status = write_text(path, text, error);
    if (status == TLY_OK) {
        status = spawn(&assemble, 0, error);
    }
    if (status == TLY_OK) {
        status = tly_bench_compare(bench, sides, 2, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report_time(bench, self, self->name, 1e3, &times[0], &times[1],
                              "whole processes, the program an ELF file");
    }
    unlink(path);
    unlink(program);
    rmdir(folder);
    return status;
}
