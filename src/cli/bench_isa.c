/* SPDX-License-Identifier: Apache-2.0 */
/* tilery bench isa: decoding, assembling and disassembling. The reference for text is GNU as and
 * objdump, run as whole processes on x86 code, less what they take on next to nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tilery/asm.h>

#include "asm/bundle.h"
#include "base/error.h"
#include "cli/bench.h"
#include "isa/table.h"

#define NUM_WORDS 4096
#define NUM_LINES 200000

/* A reproducible mix: what programs are made of, in proportion, and every other form now and then.
 */
static const char *const common[] = {
    "ADD",   "ADDI",  "SUB",     "AND",     "OR",          "SLLI",     "SRLI",    "LDI",
    "LWI",   "SDI",   "SWI",     "LD",      "SD",          "CMP.EQ",   "SETC.NE", "SETC.LTI",
    "C.ADD", "C.LDI", "C.MOVR",  "C.MOVI",  "C.SETC.EQ",   "C.BSTART", "C.BSTOP", "BSTART.STD",
    "MUL",   "CSEL",  "HL.LDIP", "HL.ADDI", "BSTART.TEPL", "B.IOT",    "B.DATR",  "C.B.DIMI",
};

static uint64_t next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* A legal word of the mix. */
static tly_isa_insn pick(uint64_t *state) {
    for (;;) {
        uint32_t number = (uint32_t)(next(state) % tly_isa_num_forms());
        const tly_isa_form_row *form;
        tly_isa_insn insn;
        uint64_t word;
        if (next(state) % 8 != 0) {
            const char *name = common[next(state) % (sizeof common / sizeof common[0])];
            const uint16_t *forms;
            size_t used;
            uint32_t count = tly_isa_find_mnemonic(name, strlen(name), &forms, &used);
            number = forms[next(state) % count];
        }
        form = tly_isa_form_at(number);
        word = (next(state) >> (64 - form->bits) & ~form->mask) | form->match;
        if (tly_isa_decode(word, form->bits / 8u, TLY_ISA_0_58_3, &insn, NULL) == TLY_OK) {
            return insn;
        }
    }
}

typedef struct words {
    uint64_t word[NUM_WORDS];
    uint8_t len[NUM_WORDS];
    int64_t sum; /* keeps the work from being removed */
} words;

static tly_status decode_all(void *user, uint64_t turn, tly_error *error) {
    words *w = user;
    int64_t sum = 0;
    (void)turn;
    for (uint32_t i = 0; i < NUM_WORDS; i++) {
        tly_isa_insn insn;
        tly_status status = tly_isa_decode(w->word[i], w->len[i], TLY_ISA_0_58_3, &insn, error);
        if (status != TLY_OK) {
            return status;
        }
        sum += insn.fields[0] + insn.form;
    }
    w->sum += sum;
    return TLY_OK;
}

/* The obvious way: every form of the table is asked until one fits. */
static tly_status scan_all(void *user, uint64_t turn, tly_error *error) {
    words *w = user;
    (void)turn, (void)error;
    for (uint32_t i = 0; i < NUM_WORDS; i++) {
        int32_t best = -1;
        int best_bits = -1;
        for (uint32_t n = 0; n < tly_isa_num_forms(); n++) {
            const tly_isa_form_row *form = tly_isa_form_at(n);
            int bits = __builtin_popcountll(form->mask);
            if (form->bits == w->len[i] * 8 && (w->word[i] & form->mask) == form->match &&
                (form->releases >> TLY_ISA_0_58_3 & 1) != 0 && bits > best_bits) {
                best = (int32_t)n;
                best_bits = bits;
            }
        }
        w->sum += best;
    }
    return TLY_OK;
}

static tly_status run_decode(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    words *w = calloc(1, sizeof *w);
    uint64_t state = 1;
    tly_bench_side sides[] = {{"decode", decode_all, w}, {"scan", scan_all, w}};
    tly_bench_times times[2];
    double per_word = tly_bench_ticks_per_second() / NUM_WORDS;
    tly_status status;
    if (w == NULL) {
        return tly_base_fail(error, TLY_OUT_OF_MEMORY, TLY_NO_OFFSET, "", "no memory");
    }
    if (per_word == 0) {
        free(w);
        tly_bench_skip(bench, self, "there is no time-stamp counter here");
        return TLY_OK;
    }
    for (uint32_t i = 0; i < NUM_WORDS; i++) {
        tly_isa_insn insn = pick(&state);
        w->word[i] = insn.word;
        w->len[i] = insn.len;
    }
    status = tly_bench_compare(bench, sides, 2, times, error);
    if (status == TLY_OK) {
        tly_bench_report(bench, self, self->name, times[0].median * per_word,
                         times[1].median * per_word, times[0].runs, times[0].spread,
                         "reference: a scan of all forms; the bound is 25");
    }
    tly_bench_keep(w);
    free(w);
    return status;
}

/* ---- Whole processes: ours and the GNU tools on files of as many lines ---- */

typedef struct files {
    char folder[64];
    char pto_text[96], pto_program[96], x86_text[96], x86_object[96];
} files;

static void count_warning(void *user, const char *rule, const char *message) {
    (void)rule, (void)message;
    ++*(int *)user;
}

/* One line; `address` goes on behind it. */
static void write_insn(FILE *out, const tly_isa_insn *insn, uint64_t *address) {
    char text[TLY_ASM_MAX_TEXT];
    tly_asm_format(insn, *address, NULL, text, sizeof text, NULL);
    fprintf(out, "        %s\n", text);
    *address += insn->len;
}

/* A tile operation with its two sources and its end. Returns the number of lines. */
static uint32_t write_tile_bundle(FILE *out, uint64_t random, uint64_t *address) {
    static const char *const starts[] = {"BSTART.VEC TADD, FP32", "BSTART.VEC TSUB, FP16",
                                         "BSTART.VEC TMUL, FP32", "BSTART.VEC TMAX, FP16"};
    const char *lines[] = {starts[random % 4], "B.IOT t#1, u#2, mask=1111, last, ->t<4KB>",
                           "BSTOP"};
    for (uint32_t i = 0; i < 3; i++) {
        tly_isa_insn insn;
        if (tly_asm_parse_insn(lines[i], strlen(lines[i]), *address, TLY_ISA_0_58_3, &insn, NULL) ==
            TLY_OK) {
            write_insn(out, &insn, address);
        }
    }
    return 3;
}

/* The mix, with every bundle well formed: the assembler checks bundles and has nothing to say. */
static void write_pto(FILE *out) {
    uint64_t state = 2, address = 0x10000;
    tly_bundle bundle = {0};
    for (uint32_t i = 0; i < NUM_LINES;) {
        tly_isa_insn insn = pick(&state);
        tly_bundle ahead = bundle;
        int warnings = 0;
        tly_bundle_step(&ahead, &insn, 0, count_warning, &warnings);
        if (warnings != 0 || (ahead.op != NULL && i + 3 > NUM_LINES)) {
            continue;
        }
        if (ahead.op != NULL) {
            i += write_tile_bundle(out, next(&state), &address);
            bundle.open = 0;
        } else {
            write_insn(out, &insn, &address);
            bundle = ahead;
            i++;
        }
    }
}

/* Plain integer code as compilers write it. */
static void write_x86(FILE *out) {
    static const char *const regs[] = {"rax", "rcx", "rdx", "rbx", "rsi", "rdi", "r8", "r9"};
    static const char *const forms[] = {
        "addq %%%s, %%%s",     "movq %%%s, 16(%%%s)",
        "movq 24(%%%s), %%%s", "leaq 8(%%%s,%%%s,4), %%rax",
        "subq %%%s, %%%s",     "cmpq %%%s, %%%s",
        "imulq %%%s, %%%s",    "xorq %%%s, %%%s",
        "testq %%%s, %%%s",    "andq %%%s, %%%s",
        "movq %%%s, %%%s",     "orq %%%s, %%%s",
    };
    uint64_t state = 3;
    for (uint32_t i = 0; i < NUM_LINES; i++) {
        uint64_t r = next(&state);
        fputs("        ", out);
        if (r % 16 >= 12) {
            fprintf(out, r % 2 != 0 ? "addq $%u, %%rax" : "jne .+%u", (unsigned)(r >> 32 & 63) + 2);
        } else {
            /* every form takes two registers */
            fprintf(out, forms[r % 16], regs[r >> 8 & 7], regs[r >> 16 & 7]);
        }
        fputc('\n', out);
    }
}

static tly_status write_file(const char *path, void (*fill)(FILE *out), tly_error *error) {
    FILE *out = fopen(path, "we");
    if (out == NULL) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot write %s", path);
    }
    fill(out);
    return fclose(out) == 0
               ? TLY_OK
               : tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot write %s", path);
}

static const char *find_tool(const char *const *places) {
    for (; *places != NULL; places++) {
        if (access(*places, X_OK) == 0) {
            return *places;
        }
    }
    return NULL;
}

static const char *gnu_as(void) {
    static const char *const places[] = {"/usr/bin/x86_64-linux-gnu-as", "/usr/bin/as", NULL};
    return find_tool(places);
}

static const char *gnu_objdump(void) {
    static const char *const places[] = {"/usr/bin/x86_64-linux-gnu-objdump", "/usr/bin/objdump",
                                         NULL};
    return find_tool(places);
}

typedef struct commands {
    const char *argv[8];
} commands;

static tly_status spawn(void *user, uint64_t turn, tly_error *error) {
    const commands *c = user;
    (void)turn;
    return tly_bench_spawn(c->argv, NULL, error);
}

static void remove_files(files *f) {
    unlink(f->pto_text);
    unlink(f->pto_program);
    unlink(f->x86_text);
    unlink(f->x86_object);
    rmdir(f->folder);
}

static tly_status make_files(files *f, tly_error *error) {
    const char *base = getenv("TMPDIR");
    tly_status status;
    snprintf(f->folder, sizeof f->folder, "%.40s/tilery-XXXXXX", base != NULL ? base : "/tmp");
    if (mkdtemp(f->folder) == NULL) {
        return tly_base_fail(error, TLY_IO, TLY_NO_OFFSET, "", "cannot make a folder in %.100s",
                             base != NULL ? base : "/tmp");
    }
    snprintf(f->pto_text, sizeof f->pto_text, "%s/pto.s", f->folder);
    snprintf(f->pto_program, sizeof f->pto_program, "%s/pto.elf", f->folder);
    snprintf(f->x86_text, sizeof f->x86_text, "%s/x86.s", f->folder);
    snprintf(f->x86_object, sizeof f->x86_object, "%s/x86.o", f->folder);
    status = write_file(f->pto_text, write_pto, error);
    return status == TLY_OK ? write_file(f->x86_text, write_x86, error) : status;
}

/* Lines or instructions per second of both sides; processes are counted whole. */
static tly_status run_text(tly_bench *bench, const tly_bench_case *self, int disassemble,
                           tly_error *error) {
    static char self_path[] = "/proc/self/exe";
    const char *as = gnu_as(), *objdump = gnu_objdump();
    files f;
    tly_status status;
    commands ours, theirs;
    tly_bench_side sides[] = {{"tilery", spawn, &ours}, {"gnu", spawn, &theirs}};
    tly_bench_times times[2];
    char exe[512];
    ssize_t len = readlink(self_path, exe, sizeof exe - 1);
    if (as == NULL || objdump == NULL || len <= 0) {
        tly_bench_skip(bench, self, "GNU as and objdump are needed (package binutils)");
        return TLY_OK;
    }
    exe[len] = '\0';
    status = make_files(&f, error);
    ours = (commands){{exe, "asm", f.pto_text, "-o", f.pto_program, NULL}};
    theirs = (commands){{as, "--64", f.x86_text, "-o", f.x86_object, NULL}};
    if (status == TLY_OK && disassemble) {
        status = spawn(&ours, 0, error);
        if (status == TLY_OK) {
            status = spawn(&theirs, 0, error);
        }
        ours = (commands){{exe, "disasm", f.pto_program, NULL}};
        theirs = (commands){{objdump, "-d", f.x86_object, NULL}};
    }
    if (status == TLY_OK) {
        status = tly_bench_compare(bench, sides, 2, times, error);
    }
    if (status == TLY_OK) {
        tly_bench_report_rate(bench, self, self->name, NUM_LINES / 1e6, &times[0], &times[1],
                              "whole processes, files of as many lines");
    }
    remove_files(&f);
    return status;
}

static tly_status run_assemble(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    return run_text(bench, self, 0, error);
}

static tly_status run_disassemble(tly_bench *bench, const tly_bench_case *self, tly_error *error) {
    return run_text(bench, self, 1, error);
}

static const tly_bench_case cases[] = {
    {"isa.decode", "cycles", TLY_BENCH_BETTER_LOWER,
     "time-stamp ticks to decode a word of a mix, against a scan of all forms", run_decode},
    {"isa.assemble", "Mlines/s", TLY_BENCH_BETTER_HIGHER,
     "lines of text to a program, against GNU as on x86 text", run_assemble},
    {"isa.disassemble", "Minsn/s", TLY_BENCH_BETTER_HIGHER,
     "a program to text, against objdump -d on an x86 object", run_disassemble},
};

extern const tly_bench_group tly_bench_isa;

const tly_bench_group tly_bench_isa = {"isa",
                                       "the instruction set: decoder, assembler, disassembler",
                                       cases, sizeof cases / sizeof cases[0], 1};
