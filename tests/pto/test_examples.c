/* SPDX-License-Identifier: Apache-2.0 */
/* The programs in examples/pto: each is assembled, linked, written as ELF and read back, runs in 1
 * GiB of memory on processing elements 0 and 3, and leaves what an independent computation gives.
 */
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <tilery/asm.h>
#include <tilery/context.h>

#include "asm/object.h"
#include "pto/create.h"
#include "pto/run.h"
#include "pto/team.h"

enum { MAX_SOURCE = 1 << 16, MAX_STEPS = 20000000, MAX_RESULT = 1 << 20, TEXT_ADDRESS = 0x10000 };
#define MEMORY_LEN (UINT64_C(1) << 30)

/* Writes the result that a program should leave; returns its length. */
typedef size_t (*expectation)(uint8_t *out_result);

typedef struct example {
    const char *name;
    expectation expect;
} example;

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void put(uint8_t *at, uint64_t value, size_t len) {
    for (size_t i = 0; i < len; i++) {
        at[i] = (uint8_t)(value >> (8 * i));
    }
}

static size_t expect_memcpy(uint8_t *out_result) {
    uint64_t state = 1;
    for (size_t i = 0; i < 4099; i++) {
        out_result[i] = out_result[i + 4099] = (uint8_t)(next_random(&state) >> 56);
    }
    return 8198;
}

/* Bit by bit, without a table. */
static uint32_t crc_of(const uint8_t *bytes, size_t len) {
    uint32_t crc = 0xFFFFFFFF;
    for (size_t i = 0; i < 8 * len; i++) {
        uint32_t bit = (bytes[i / 8] >> (i % 8) ^ crc) & 1;
        crc = crc >> 1 ^ (bit != 0 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

static size_t expect_crc(uint8_t *out_result) {
    static uint8_t bytes[10000];
    uint64_t state = 1;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        bytes[i] = (uint8_t)(next_random(&state) >> 56);
    }
    for (uint32_t i = 0; i < 256; i++) { /* an entry is the checksum of a byte after 0xFF...FF */
        const uint8_t byte = (uint8_t)~i;
        put(out_result + 4 * (size_t)i, crc_of(&byte, 1) ^ 0xFF000000, 4);
    }
    put(out_result + 1024, crc_of(bytes, sizeof(bytes)), 4);
    return 1028;
}

static int compare_words(const void *a, const void *b) {
    const int32_t x = *(const int32_t *)a;
    const int32_t y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static size_t expect_sort(uint8_t *out_result) {
    static int32_t words[1000];
    uint64_t state = 1;
    for (size_t i = 0; i < 1000; i++) {
        words[i] = (int32_t)(uint32_t)(next_random(&state) >> 32);
    }
    qsort(words, 1000, sizeof(words[0]), compare_words);
    for (size_t i = 0; i < 1000; i++) {
        put(out_result + 4 * i, (uint32_t)words[i], 4);
    }
    return 4000;
}

/* The queue as a line of values that moves up. */
static size_t expect_queue(uint8_t *out_result) {
    uint64_t line[12];
    size_t len = 0;
    size_t num_taken = 0;
    uint64_t next = 0;
    while (num_taken < 1000) {
        for (; len < 12; next++) {
            const bool head = next % 5 == 4;
            memmove(line + head, line, head ? len * sizeof(line[0]) : 0);
            line[head ? 0 : len++] = next;
            len += head;
        }
        for (size_t i = 0; i < 5; i++) {
            put(out_result + 8 * num_taken++, line[0], 8);
            memmove(line, line + 1, --len * sizeof(line[0]));
        }
    }
    put(out_result + 8000, 12 - len, 8);
    put(out_result + 8008, (12 - len) | UINT64_C(1) << 62, 8);
    put(out_result + 8016, UINT64_C(2) << 62, 8);
    return 8024;
}

static size_t expect_trap(uint8_t *out_result) {
    uint64_t at = 3;
    uint64_t sum = 0;
    uint64_t num_misaligned = 0;
    for (uint64_t left = 200; left > 0; left--) {
        num_misaligned += at % 8 != 0;
        at -= at % 8;
        sum += at / 8 * (at / 8);
        at += 8 + left % 8;
    }
    put(out_result, sum, 8);
    put(out_result + 8, num_misaligned, 8);
    put(out_result + 16, 5 + 12, 8);
    return 24;
}

static size_t expect_vadd(uint8_t *out_result) {
    static uint32_t words[6000];
    uint64_t state = 1;
    for (size_t i = 0; i < 6000; i++) {
        words[i] = (uint32_t)(next_random(&state) >> 32);
    }
    for (size_t i = 0; i < 3000; i++) {
        put(out_result + 4 * i, words[i] + words[3000 + i], 4);
    }
    return 12000;
}

static size_t expect_softmax(uint8_t *out_result) {
    uint64_t state = 1;
    for (size_t row = 0; row < 32; row++) {
        uint32_t words[40];
        uint32_t weights[40];
        uint32_t largest = 0;
        uint32_t sum = 0;
        for (size_t i = 0; i < 40; i++) {
            words[i] = (uint32_t)(next_random(&state) >> 58);
            largest = words[i] > largest ? words[i] : largest;
        }
        for (size_t i = 0; i < 40; i++) {
            uint32_t below = largest - words[i];
            weights[i] = UINT32_C(65536) >> (below < 20 ? below : 20);
            sum += weights[i];
        }
        for (size_t i = 0; i < 40; i++) {
            put(out_result + 4 * (40 * row + i), (weights[i] << 14) / sum, 4);
        }
    }
    return 5120;
}

static size_t expect_gemm(uint8_t *out_result) {
    enum { M = 35, N = 100, K = 700 };
    static int8_t a[M][K];
    static int8_t b[K][N];
    uint64_t state = 1;
    for (size_t i = 0; i < M * K; i++) {
        a[i / K][i % K] = (int8_t)(uint8_t)(next_random(&state) >> 56);
    }
    for (size_t i = 0; i < K * N; i++) {
        b[i / N][i % N] = (int8_t)(uint8_t)(next_random(&state) >> 56);
    }
    for (size_t i = 0; i < M * N; i++) {
        int32_t sum = 0;
        for (size_t k = 0; k < K; k++) {
            sum += a[i / N][k] * b[k][i % N];
        }
        put(out_result + 4 * i, (uint32_t)sum, 4);
    }
    return 4 * (size_t)M * N;
}

/* The profile takes the bits of elements and scales as whole numbers. */
static size_t expect_mxgemm(uint8_t *out_result) {
    enum { M = 24, N = 40, K = 128, GROUP = 32 };
    static uint8_t a[M][K];
    static uint8_t b[K][N];
    uint8_t a_scales[M][K / GROUP];
    uint8_t b_scales[K / GROUP][N];
    uint64_t state = 1;
    for (size_t i = 0; i < M * K; i++) {
        a[i / K][i % K] = (uint8_t)(next_random(&state) >> 56) & 119;
    }
    for (size_t i = 0; i < K * N; i++) {
        b[i / N][i % N] = (uint8_t)(next_random(&state) >> 56) & 119;
    }
    for (size_t i = 0; i < M * (K / GROUP); i++) {
        a_scales[i / (K / GROUP)][i % (K / GROUP)] = (uint8_t)(120 + (next_random(&state) >> 60));
    }
    for (size_t i = 0; i < (K / GROUP) * N; i++) {
        b_scales[i / N][i % N] = (uint8_t)(120 + (next_random(&state) >> 60));
    }
    for (size_t i = 0; i < M * N; i++) {
        uint64_t sum = 0;
        for (size_t k = 0; k < K; k++) {
            sum += (uint64_t)a[i / N][k] * a_scales[i / N][k / GROUP] * b[k][i % N] *
                   b_scales[k / GROUP][i % N];
        }
        put(out_result + 4 * i, sum, 4);
    }
    return 4 * (size_t)M * N;
}

static size_t expect_shared(uint8_t *out_result) {
    enum { M = 16, N = 32, ROWS = M + 1 }; /* A, and the vector below it */
    static int8_t b[N][N];
    static int8_t a[ROWS][N];
    static int32_t products[ROWS][N];
    uint64_t state = 1;
    size_t len = 0;
    for (size_t i = 0; i < N * N; i++) {
        b[i / N][i % N] = (int8_t)(uint8_t)(next_random(&state) >> 56);
    }
    for (size_t i = 0; i < ROWS * N; i++) {
        a[i / N][i % N] = (int8_t)(uint8_t)(next_random(&state) >> 56);
    }
    for (size_t i = 0; i < ROWS * N; i++, len += 4) {
        products[i / N][i % N] = 0;
        for (size_t k = 0; k < N; k++) {
            products[i / N][i % N] += a[i / N][k] * b[k][i % N];
        }
        put(out_result + len, (uint32_t)products[i / N][i % N], 4);
    }
    for (size_t i = 0; i < N * N; i++) {
        out_result[len++] = (uint8_t)b[i / N][i % N];
    }
    for (size_t i = 0; i < N; i++, len += 4) {
        put(out_result + len, products[0][i] > 0 ? (uint32_t)products[0][i] : 0, 4);
    }
    return len;
}

static size_t expect_histogram(uint8_t *out_result) {
    uint32_t counts[16] = {0};
    uint64_t state = 1;
    for (size_t i = 0; i < 8192; i++) {
        const uint64_t random = next_random(&state);
        counts[random >> 60 & random >> 10 & 15]++;
    }
    for (size_t i = 0; i < 16; i++) {
        put(out_result + 4 * i, counts[i], 4);
    }
    return 64;
}

static int compare_floats(const void *a, const void *b) {
    const float x = *(const float *)a;
    const float y = *(const float *)b;
    return (x > y) - (x < y);
}

static size_t expect_tilesort(uint8_t *out_result) {
    static float numbers[1024];
    uint64_t state = 1;
    for (size_t i = 0; i < 1024; i++) {
        const uint32_t bits = (uint32_t)(next_random(&state) >> 32) & 0xBFFFFFFF;
        memcpy(&numbers[i], &bits, sizeof(bits));
    }
    qsort(numbers, 1024, sizeof(numbers[0]), compare_floats);
    for (size_t i = 0; i < 1024; i++) {
        uint32_t bits = 0;
        memcpy(&bits, &numbers[i], sizeof(bits));
        put(out_result + 4 * i, bits, 4);
    }
    return 4096;
}

static size_t expect_elements(uint8_t *out_result) {
    enum { N = 64 };
    static int8_t matrices[2][N][N];
    uint64_t state = 1;
    for (size_t i = 0; i < 2 * N * N; i++) {
        matrices[i / N / N][i / N % N][i % N] = (int8_t)(uint8_t)(next_random(&state) >> 56);
    }
    for (size_t i = 0; i < N * N; i++) {
        int32_t sum = 0;
        for (size_t k = 0; k < N; k++) {
            sum += matrices[0][i / N][k] * matrices[1][k][i % N];
        }
        put(out_result + 4 * i, (uint32_t)sum, 4);
    }
    return 4 * (size_t)N * N;
}

/* Bytes in hex, each two digits; a word that begins with @ is an address. */
static size_t read_golden(const char *name, uint8_t *out_bytes, size_t capacity) {
    char path[128];
    char word[64];
    size_t len = 0;
    snprintf(path, sizeof(path), "examples/pto/%s.golden", name);
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("cannot open %s", path);
    }
    while (fscanf(file, "%63s", word) == 1) {
        assert_true(len < capacity);
        if (word[0] != '@') {
            out_bytes[len++] = (uint8_t)strtoul(word, NULL, 16);
        }
    }
    fclose(file);
    return len;
}

static const example examples[] = {
    {"memcpy", expect_memcpy},       {"crc", expect_crc},
    {"sort", expect_sort},           {"queue", expect_queue},
    {"trap", expect_trap},           {"vadd", expect_vadd},
    {"softmax", expect_softmax},     {"gemm", expect_gemm},
    {"shared", expect_shared},       {"mxgemm", expect_mxgemm},
    {"histogram", expect_histogram}, {"tilesort", expect_tilesort},
    {"elements", expect_elements},
};

static tly_context *context;
static tly_pto_machine *m;

static int set_up(void **state) {
    (void)state;
    const tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                                   .app_limit = MEMORY_LEN,
                                   .num_queues = 16,
                                   .release = TLY_ISA_0_58_3};
    if (tly_context_new(NULL, &context, NULL) != TLY_OK) {
        return 1;
    }
    return tly_pto_machine_new(context, &config, &m, NULL) == TLY_OK ? 0 : 1;
}

static int tear_down(void **state) {
    (void)state;
    tly_pto_machine_free(m);
    tly_context_free(context);
    return 0;
}

/* Reads a program's text; returns its length. */
static size_t read_text(const char *name, char *out_text, size_t capacity) {
    char path[128];
    snprintf(path, sizeof(path), "examples/pto/%s.s", name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("cannot open %s", path);
    }
    const size_t len = fread(out_text, 1, capacity - 1, file);
    fclose(file);
    assert_true(len > 0 && len < capacity - 1);
    out_text[len] = '\0';
    return len;
}

/* From text to ELF and back. */
static tly_object *build(const char *name, const char *text, size_t len, tly_isa_release release) {
    const tly_asm_options options = {
        .size = sizeof(options), .release = release, .warnings_as_errors = 1};
    const tly_asm_link_options link = {
        .size = sizeof(link), .text_address = TEXT_ADDRESS, .has_text_address = 1};
    tly_asm_object *object = NULL;
    tly_asm_object *program = NULL;
    tly_asm_object *back = NULL;
    tly_error err = {0};
    uint8_t *elf = NULL;
    size_t elf_len = 0;
    CHECK_OK(tly_asm_assemble(context, name, text, len, &options, &object, &err), &err);
    CHECK_OK(tly_asm_link(context, &object, 1, &link, &program, &err), &err);
    CHECK_OK(tly_asm_write_elf(program, &elf, &elf_len, &err), &err);
    CHECK_OK(tly_asm_read_elf(context, elf, elf_len, &back, &err), &err);
    assert_int_equal(tly_asm_object_release(back), release);
    tly_asm_bytes_free(context, elf, elf_len);
    tly_asm_object_free(program);
    tly_asm_object_free(object);
    return back;
}

static void load(tly_pto_machine *machine, const tly_object *program) {
    for (uint32_t i = 0; i < program->num_sections; i++) {
        const tly_obj_section *section = &program->sections[i];
        if ((section->flags & TLY_SECTION_ALLOC) != 0 && section->type != TLY_SECTION_NOBITS) {
            assert_true(section->address + section->size <= MEMORY_LEN);
            memcpy(machine->memory.bytes + section->address, section->bytes, (size_t)section->size);
        }
    }
    machine->core.context.tpc = program->entry;
}

/* The address of a symbol, or the number that it stands for. */
static uint64_t value_of(const tly_object *program, const char *name) {
    const uint32_t number = tly_object_find_symbol(program, name, strlen(name));
    if (number == 0) {
        fail_msg("the program has no symbol %s", name);
    }
    const tly_obj_symbol *symbol = tly_object_symbol(program, number);
    return symbol->section == TLY_IN_ABSOLUTE
               ? symbol->value
               : symbol->value + tly_object_section(program, symbol->section)->address;
}

static void check_result(const example *e, const tly_object *program,
                         const tly_pto_machine *machine, const char *on, uint32_t number) {
    static uint8_t wanted[MAX_RESULT];
    const size_t len = e->expect(wanted);
    const uint8_t *got = machine->memory.bytes + value_of(program, "cross_model_result");
    assert_int_equal(value_of(program, "cross_model_result_size"), len);
    for (size_t i = 0; i < len; i++) {
        if (got[i] != wanted[i]) {
            fail_msg("%s on %s %u: byte %zu of the result is %02x, wanted %02x", e->name, on,
                     number, i, got[i], wanted[i]);
        }
    }
}

static void check_program(const example *e, const tly_object *program, uint32_t pe, bool plain) {
    char reason[256];
    tly_pto_run_result result;
    const tly_pto_run_options options = {
        .stop_pc = value_of(program, "cross_model_stop"), .max_steps = MAX_STEPS, .plain = plain};
    tly_pto_machine_reset(m);
    load(m, program);
    m->core.current_pe = (uint8_t)pe;
    m->release = program->release;
    tly_pto_run(m, &options, &result);
    if (result.end != TLY_PTO_END_STOP) {
        tly_pto_reason_text(&m->reason, reason, sizeof(reason));
        fail_msg("%s on element %u ended with %d at 0x%llx after %llu steps: %s", e->name, pe,
                 (int)result.end, (unsigned long long)m->core.context.tpc,
                 (unsigned long long)result.num_steps, reason);
    }
    check_result(e, program, m, "element", pe);
}

/* The same on elements of a team; all begin alike. */
static void check_team(const example *e, const tly_object *program, tly_pto_team *team,
                       uint32_t threads) {
    const tly_pto_team_run_options options = {.size = sizeof(options),
                                              .threads = threads,
                                              .stop_pc = value_of(program, "cross_model_stop"),
                                              .max_steps = MAX_STEPS};
    tly_pto_team_run_result result = {.size = sizeof(result)};
    tly_error err = {0};
    tly_pto_team_reset(team);
    for (uint32_t i = 0; i < tly_pto_team_size(team); i++) {
        load(tly_pto_team_machine(team, i), program);
    }
    CHECK_OK(tly_pto_team_run(team, &options, &result, &err), &err);
    for (uint32_t i = 0; i < result.num_elements; i++) {
        assert_int_equal(result.elements[i].end, TLY_PTO_END_STOP);
    }
    check_result(e, program, tly_pto_team_machine(team, 0), "threads", threads);
}

static tly_pto_team *make_team(uint32_t num_elements) {
    const tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                                   .app_limit = MEMORY_LEN,
                                   .num_queues = 16,
                                   .release = TLY_ISA_0_58_3};
    tly_pto_team *team = NULL;
    tly_error err = {0};
    CHECK_OK(tly_pto_team_make(context, &config, num_elements, &team, &err), &err);
    return team;
}

static void golden_files_are_what_the_computation_gives(void **state) {
    (void)state;
    static uint8_t wanted[MAX_RESULT];
    static uint8_t golden[MAX_RESULT];
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const size_t len = examples[i].expect(wanted);
        assert_int_equal(read_golden(examples[i].name, golden, sizeof(golden)), len);
        assert_memory_equal(golden, wanted, len);
    }
}

static void examples_leave_what_they_should(void **state) {
    (void)state;
    static char text[MAX_SOURCE];
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        const example *e = &examples[i];
        const size_t len = read_text(e->name, text, sizeof(text));
        tly_object *program = build(e->name, text, len, TLY_ISA_0_58_3);
        check_program(e, program, 0, false);
        check_program(e, program, 3, false);
        check_program(e, program, 3, true);
        tly_asm_object_free(program);
    }
}

/* But the one whose shared tile all four elements have to write. */
static void a_team_of_one_runs_every_example(void **state) {
    (void)state;
    static char text[MAX_SOURCE];
    tly_pto_team *team = make_team(1);
    for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
        if (examples[i].expect == expect_shared) {
            continue;
        }
        const size_t len = read_text(examples[i].name, text, sizeof(text));
        tly_object *program = build(examples[i].name, text, len, TLY_ISA_0_58_3);
        check_team(&examples[i], program, team, 1);
        tly_asm_object_free(program);
    }
    tly_pto_team_free(team);
}

static void elements_share_the_work(void **state) {
    (void)state;
    static char text[MAX_SOURCE];
    static const example shared = {"elements", expect_elements};
    const size_t len = read_text(shared.name, text, sizeof(text));
    tly_object *program = build(shared.name, text, len, TLY_ISA_0_58_3);
    for (uint32_t num_elements = 1; num_elements <= TLY_PTO_TEAM_MAX; num_elements++) {
        tly_pto_team *team = make_team(num_elements);
        for (uint32_t threads = 1; threads <= TLY_PTO_TEAM_MAX; threads++) {
            check_team(&shared, program, team, threads);
        }
        tly_pto_team_free(team);
    }
    tly_asm_object_free(program);
}

/* All four make the same data in the same place, which is a race: so on one thread. */
static void four_elements_share_an_operand(void **state) {
    (void)state;
    static char text[MAX_SOURCE];
    static const example shared = {"shared", expect_shared};
    const size_t len = read_text(shared.name, text, sizeof(text));
    tly_object *program = build(shared.name, text, len, TLY_ISA_0_58_3);
    tly_pto_team *team = make_team(4);
    check_team(&shared, program, team, 1);
    tly_pto_team_free(team);
    tly_asm_object_free(program);
}

static void replace(char *text, const char *from, const char *to) {
    char *at = strstr(text, from);
    assert_non_null(at);
    assert_int_equal(strlen(from), strlen(to));
    memcpy(at, to, strlen(to));
}

/* Up to 0.58.2 binders were encoded otherwise, and the distance of rows counted elements. */
static void earlier_releases_run_with_their_own_binders(void **state) {
    (void)state;
    static char text[MAX_SOURCE];
    static const example vadd = {"vadd", expect_vadd};
    const size_t len = read_text(vadd.name, text, sizeof(text));
    replace(text, "addi zero, 512, ->a4", "addi zero, 128, ->a4");
    for (char *at = strstr(text, "mask=1000"); at != NULL; at = strstr(at, "mask=1000")) {
        memcpy(at, "mask=1010", 9); /* which no mode of 0.58.3 stands for */
    }
    for (uint32_t release = TLY_ISA_0_58_0; release <= TLY_ISA_0_58_2; release++) {
        tly_object *program = build(vadd.name, text, len, (tly_isa_release)release);
        check_program(&vadd, program, 0, false);
        check_program(&vadd, program, 3, true);
        tly_asm_object_free(program);
    }
    m->release = TLY_ISA_0_58_3;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_are_what_the_computation_gives),
        cmocka_unit_test(examples_leave_what_they_should),
        cmocka_unit_test(a_team_of_one_runs_every_example),
        cmocka_unit_test(elements_share_the_work),
        cmocka_unit_test(four_elements_share_an_operand),
        cmocka_unit_test(earlier_releases_run_with_their_own_binders),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
