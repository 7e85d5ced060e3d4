/* SPDX-License-Identifier: Apache-2.0 */
/* Predecoded code against one instruction at a time: random programs of blocks run on two machines,
 * in pieces of random length, and everything that can be seen of the two stays the same. Registers
 * hold addresses of data, of code and of nothing; stores hit code; faults come in the middle, with
 * and without a handler. */
#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <tilery/isa.h>
#include <tilery/pto.h>

#include "isa/fields.h"
#include "isa/table.h"
#include "pto/create.h"
#include "pto/fast/code.h"
#include "pto/fields.h"
#include "pto/machine.h"
#include "pto/run.h"
#include "pto/tile/store.h"

enum {
    MEMORY_LEN = 1 << 16,
    CODE_START = 0x1000,
    CODE_LEN = 0x1000,
    DATA_START = 0x4000,
    DATA_LEN = 0x1000,
    MAX_BLOCKS = 64,
    STEPS_OF_PROGRAM = 20000
};

typedef struct machines {
    tly_context *context;
    tly_pto_machine *fast;
    tly_pto_machine *plain;
} machines;

typedef struct program {
    check_rng rng;
    bool calm; /* hardly a fault: nearly everything runs from predecoded code */
    uint8_t code[CODE_LEN];
    uint32_t len;
    uint32_t blocks[MAX_BLOCKS]; /* addresses of starts */
    uint32_t num_blocks;
} program;

static void pair_init(machines *p, uint64_t app_limit) {
    tly_error error;
    tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                             .app_limit = app_limit,
                             .num_queues = 4,
                             .release = TLY_ISA_0_58_3};
    CHECK_OK(tly_context_new(NULL, &p->context, &error), &error);
    CHECK_OK(tly_pto_machine_new(p->context, &config, &p->fast, &error), &error);
    CHECK_OK(tly_pto_machine_new(p->context, &config, &p->plain, &error), &error);
}

static void pair_cleanup(machines *p) {
    tly_pto_machine_free(p->fast);
    tly_pto_machine_free(p->plain);
    tly_context_free(p->context);
}

/* programs */

static void put(program *p, uint32_t form, const int64_t *fields) {
    uint64_t word;
    uint32_t len = tly_isa_form_at(form)->bits / 8u;
    if (p->len + len > CODE_LEN || tly_isa_encode(form, fields, &word, NULL) != TLY_OK) {
        return;
    }
    for (uint32_t i = 0; i < len; i++) {
        p->code[p->len + i] = (uint8_t)(word >> 8 * i);
    }
    p->len += len;
}

static int64_t random_field(program *p, const tly_isa_field_row *field) {
    uint64_t value = check_random(&p->rng);
    uint64_t kind = check_below(&p->rng, 4);
    switch (field->role) {
    case TLY_ROLE_DESTINATION:
    case TLY_ROLE_SECOND_DESTINATION:
        return (int64_t)(kind == 0 ? 31 : kind == 1 ? 30 : value % 32);
    case TLY_ROLE_LEFT:
    case TLY_ROLE_RIGHT:
    case TLY_ROLE_THIRD:
    case TLY_ROLE_FOURTH:
        return (int64_t)(kind == 0 ? 24 + value % 8 : value % 24);
    case TLY_ROLE_SHIFT:
        return (int64_t)(kind != 0 ? value % 4 : value % 32);
    default:
        break;
    }
    value &= (UINT64_C(1) << field->width) - 1;
    if (kind != 0 && field->width > 5) {
        value &= 31;
    }
    if (field->is_signed) {
        uint64_t sign = UINT64_C(1) << (field->width - 1);
        return (int64_t)((value ^ sign) - sign);
    }
    return (int64_t)value;
}

enum { FIRST_POINTER = 2, NUM_POINTERS = 4, SMALL = 1 }; /* registers that calm programs keep */

/* The same so that nothing faults: pointers stay pointers, indexes and offsets are small. */
static int64_t calm_field(program *p, const tly_isa_form_row *row, const tly_isa_field_row *field) {
    const tly_isa_access *access = &row->access;
    bool store = access->action == TLY_ACCESS_STORE || access->action == TLY_ACCESS_STORE_PAIR;
    uint32_t base = (store && access->address == TLY_ADDRESS_IMMEDIATE) ||
                            row->handler == TLY_HANDLER_STORE_CONDITIONAL
                        ? TLY_ROLE_RIGHT
                        : TLY_ROLE_LEFT;
    int64_t value = random_field(p, field);
    bool memory = access->action != TLY_ACCESS_NONE || row->handler == TLY_HANDLER_LOAD_RESERVED ||
                  row->handler == TLY_HANDLER_STORE_CONDITIONAL ||
                  row->handler == TLY_HANDLER_COMPARE_AND_SWAP ||
                  row->handler == TLY_HANDLER_ATOMIC_READ_MODIFY_WRITE ||
                  row->handler == TLY_HANDLER_EXECUTE_SCALAR_DMACOPY64;
    switch (field->role) {
    case TLY_ROLE_DESTINATION:
    case TLY_ROLE_SECOND_DESTINATION:
        return value > SMALL && value < FIRST_POINTER + NUM_POINTERS ? value + 8
               : value == SMALL                                      ? 31
                                                                     : value;
    case TLY_ROLE_SHIFT:
        return memory ? value % 4 : value;
    case TLY_ROLE_IMMEDIATE:
        return memory ? value % 16 : value;
    default:
        break;
    }
    if (memory && field->role == base) {
        return FIRST_POINTER + value % NUM_POINTERS;
    }
    return memory && field->role == TLY_ROLE_RIGHT && access->address == TLY_ADDRESS_REGISTER
               ? SMALL
               : value;
}

/* Forms that calm programs have: no jumps, no unscaled offsets, no stores to code. */
static bool is_calm(uint32_t form) {
    const tly_isa_form_row *row = tly_isa_form_at(form);
    const tly_isa_access *access = &row->access;
    if (row->handler == TLY_HANDLER_JUMP_RELATIVE || row->handler == TLY_HANDLER_JUMP_REGISTER ||
        row->handler == TLY_HANDLER_EXECUTE_SCALAR_DMACOPY64 ||
        row->handler == TLY_HANDLER_SET_RETURN_ADDRESS ||
        tly_pto_standing_of(form) != TLY_PTO_ANYWHERE) {
        return false;
    }
    return access->action == TLY_ACCESS_NONE || access->action == TLY_ACCESS_PREFETCH ||
           (1u << access->scale >= access->size && access->address != TLY_ADDRESS_PC &&
            access->address != TLY_ADDRESS_COMPRESSED);
}

/* Any scalar form, with values that its fields admit. */
static void put_scalar(program *p, uint32_t form) {
    const tly_isa_form_row *row = tly_isa_form_at(form);
    const bool calm = p->calm && tly_pto_standing_of(form) == TLY_PTO_ANYWHERE;
    if (calm && !is_calm(form)) {
        return;
    }
    int64_t fields[TLY_ISA_MAX_FIELDS] = {0};
    uint64_t word;
    for (uint32_t attempt = 0; attempt < 20; attempt++) {
        for (uint32_t i = 0; i < row->num_fields; i++) {
            const tly_isa_field_row *field = tly_isa_field_at(row, i);
            fields[i] = calm ? calm_field(p, row, field) : random_field(p, field);
        }
        if (tly_isa_encode(form, fields, &word, NULL) == TLY_OK) {
            put(p, form, fields);
            return;
        }
    }
}

static uint32_t random_form(program *p, uint32_t first, uint32_t last) {
    return first + (uint32_t)check_below(&p->rng, last - first + 1);
}

static void put_body_instruction(program *p) {
    static const uint32_t common[] = {
        TLY_FORM_ADD,   TLY_FORM_ADDI,   TLY_FORM_SUB,   TLY_FORM_C_ADD, TLY_FORM_C_ADDI,
        TLY_FORM_LDI,   TLY_FORM_LWI,    TLY_FORM_SDI,   TLY_FORM_SWI,   TLY_FORM_C_LDI,
        TLY_FORM_C_SDI, TLY_FORM_C_MOVR, TLY_FORM_C_MOVI};
    uint64_t kind = check_below(&p->rng, 16);
    if (p->calm && kind >= 6) {
        uint32_t form = random_form(p, TLY_FORM_C_ADD, TLY_FORM_HL_SSRSET);
        if (is_calm(form)) {
            put_scalar(p, form);
        }
    } else if (kind < 6) {
        put_scalar(p, common[check_below(&p->rng, sizeof(common) / sizeof(common[0]))]);
    } else if (kind == 6 && check_below(&p->rng, 8) == 0) {
        static const uint32_t rare[] = {TLY_FORM_MCOPY, TLY_FORM_MSET,   TLY_FORM_FENTRY,
                                        TLY_FORM_FEXIT, TLY_FORM_B_CATR, TLY_FORM_B_HINT};
        put_scalar(p, rare[check_below(&p->rng, sizeof(rare) / sizeof(rare[0]))]);
    } else {
        uint32_t form = random_form(p, TLY_FORM_C_ADD, TLY_FORM_HL_SSRSET);
        uint32_t handler = tly_isa_form_at(form)->handler;
        if (handler != TLY_HANDLER_JUMP_REGISTER || check_below(&p->rng, 8) == 0) {
            put_scalar(p, form);
        }
    }
}

/* A start of any kind that only transfers, to a block that exists or is to come. */
static void put_start(program *p) {
    static const uint32_t starts[] = {
        TLY_FORM_C_BSTART_COND,   TLY_FORM_C_BSTART_COND,    TLY_FORM_BSTART_COND,
        TLY_FORM_BSTART_STD_COND, TLY_FORM_BSTART_FP_COND,   TLY_FORM_C_BSTART_DIRECT,
        TLY_FORM_BSTART_DIRECT,   TLY_FORM_BSTART_STD_FALL,  TLY_FORM_BSTART_FP_FALL,
        TLY_FORM_C_BSTART_STD,    TLY_FORM_C_BSTART_FP,      TLY_FORM_BSTART_CALL,
        TLY_FORM_BSTART_ICALL,    TLY_FORM_BSTART_STD_RET,   TLY_FORM_BSTART_STD_IND,
        TLY_FORM_C_BSTART_SYS,    TLY_FORM_BSTART_FP_DIRECT, TLY_FORM_BSTART_STD_DIRECT};
    uint32_t form = starts[check_below(&p->rng, sizeof(starts) / sizeof(starts[0]))];
    const tly_isa_form_row *row = tly_isa_form_at(form);
    int64_t fields[TLY_ISA_MAX_FIELDS] = {0};
    uint64_t word;
    if (p->num_blocks < MAX_BLOCKS) {
        p->blocks[p->num_blocks++] = CODE_START + p->len;
    }
    for (uint32_t attempt = 0; attempt < 20; attempt++) {
        for (uint32_t i = 0; i < row->num_fields; i++) {
            const tly_isa_field_row *field = tly_isa_field_at(row, i);
            fields[i] = random_field(p, field);
            if (field->is_signed) {
                uint32_t to = p->blocks[check_below(&p->rng, p->num_blocks)];
                int64_t ahead = (int64_t)check_below(&p->rng, 200) & ~1;
                fields[i] = check_below(&p->rng, 3) == 0
                                ? ahead / 2
                                : ((int64_t)to - (CODE_START + p->len)) / 2;
            }
        }
        if (tly_isa_encode(form, fields, &word, NULL) == TLY_OK) {
            put(p, form, fields);
            return;
        }
    }
}

static void put_tiles(program *p, uint32_t form, uint32_t place_of_size) {
    int64_t fields[TLY_ISA_MAX_FIELDS] = {0};
    for (uint32_t i = 0; i < place_of_size; i++) { /* sources, then whether it is the last */
        fields[i] = (int64_t)check_below(&p->rng, 4) << 4;
    }
    fields[place_of_size - 1] = check_below(&p->rng, 16) != 0;
    fields[place_of_size] = check_below(&p->rng, 8) == 0 ? 2 : 1;
    fields[place_of_size + 1] = check_below(&p->rng, 8) == 0 ? 7 : 1;
    fields[place_of_size + 2] = (int64_t)check_below(&p->rng, 4);
    put(p, form, fields);
}

/* A load, a move or an operation of two tiles; what is wrong with it is up to chance. */
static void put_tile_block(program *p) {
    int64_t start[TLY_ISA_MAX_FIELDS] = {TLY_PTO_U8};
    int64_t scalar[TLY_ISA_MAX_FIELDS] = {0};
    uint64_t kind = check_below(&p->rng, 3);
    if (p->num_blocks < MAX_BLOCKS) {
        p->blocks[p->num_blocks++] = CODE_START + p->len;
    }
    if (kind == 0) {
        int64_t dimension[TLY_ISA_MAX_FIELDS] = {0};
        dimension[TLY_FIELD_B_DIM_LB0_UIMM17] = 128;
        scalar[TLY_FIELD_B_IOR_REG_SRC0] = 1 + (int64_t)check_below(&p->rng, 23);
        put(p, TLY_FORM_BSTART_TLOAD, start);
        put(p, TLY_FORM_B_DIM_LB0, dimension);
        put(p, TLY_FORM_B_IOR, scalar);
        put_tiles(p, TLY_FORM_B_IOT_D, TLY_FIELD_B_IOT_D_SIZE_CODE);
    } else if (kind == 1) {
        put(p, TLY_FORM_BSTART_TMOV, start);
        put_tiles(p, TLY_FORM_B_IOT_1S_D, TLY_FIELD_B_IOT_1S_D_SIZE_CODE);
    } else {
        start[TLY_FIELD_BSTART_TEPL_FUNCTION] = (int64_t)check_below(&p->rng, 32);
        put(p, TLY_FORM_BSTART_TEPL, start);
        put_tiles(p, TLY_FORM_B_IOT_2S_D, TLY_FIELD_B_IOT_2S_D_SIZE_CODE);
    }
    if (check_below(&p->rng, 16) == 0) {
        put_body_instruction(p);
    }
    if (check_below(&p->rng, 4) != 0) {
        put(p, check_below(&p->rng, 4) == 0 ? TLY_FORM_BSTOP : TLY_FORM_C_BSTOP, NULL);
    }
}

static void put_block(program *p) {
    uint64_t num = check_below(&p->rng, 9);
    put_start(p);
    for (uint64_t i = 0; i < num; i++) {
        put_body_instruction(p);
    }
    if (check_below(&p->rng, 3) != 0) {
        put_scalar(p, random_form(p, TLY_FORM_SETC_AND, TLY_FORM_SETC_OR));
    }
    if (check_below(&p->rng, 8) != 0) {
        put(p, check_below(&p->rng, 4) == 0 ? TLY_FORM_BSTOP : TLY_FORM_C_BSTOP, NULL);
    }
}

static uint64_t random_value(program *p) {
    switch (check_below(&p->rng, 8)) {
    case 0:
        return check_random(&p->rng);
    case 1:
        return check_below(&p->rng, 64);
    case 2:
        return CODE_START + check_below(&p->rng, CODE_LEN);
    case 3:
        return MEMORY_LEN - check_below(&p->rng, 32);
    default:
        return DATA_START + (check_below(&p->rng, DATA_LEN) & ~UINT64_C(7));
    }
}

/* Both machines with the same program, registers and data. */
static void load(machines *pair, program *p) {
    tly_pto_machine *m = pair->fast;
    tly_pto_machine_reset(pair->fast);
    tly_pto_machine_reset(pair->plain);
    memcpy(m->memory.bytes + CODE_START, p->code, p->len);
    for (uint32_t i = 0; i < DATA_LEN; i += 8) {
        uint64_t value = random_value(p);
        memcpy(m->memory.bytes + DATA_START + i, &value, 8);
    }
    m->core.current_pe = check_below(&p->rng, 4) == 0 ? 3 : 0;
    for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
        for (uint32_t i = 1; i < TLY_PTO_NUM_GPRS; i++) {
            m->core.gprs[pe][i] = random_value(p);
        }
    }
    for (uint32_t i = 0; i < TLY_PTO_QUEUE_DEPTH; i++) {
        m->core.context.t_queue[i] = random_value(p);
        m->core.context.u_queue[i] = random_value(p);
        m->core.context.t_queue_valid[i] = p->calm || check_below(&p->rng, 4) != 0;
        m->core.context.u_queue_valid[i] = p->calm || check_below(&p->rng, 4) != 0;
    }
    if (p->calm) {
        for (uint32_t i = 0; i < NUM_POINTERS; i++) {
            m->core.gprs[m->core.current_pe][FIRST_POINTER + i] =
                DATA_START + DATA_LEN / 4 + 64 * check_below(&p->rng, 8);
        }
        m->core.gprs[m->core.current_pe][SMALL] = 8 * check_below(&p->rng, 4);
    }
    if (check_below(&p->rng, 4) != 0) { /* handlers */
        m->core.context_registers[0][1] = p->blocks[check_below(&p->rng, p->num_blocks)];
        m->core.context_registers[1][1] = p->blocks[check_below(&p->rng, p->num_blocks)];
    }
    if (check_below(&p->rng, 4) == 0) {
        m->core.current_acr = 2;
        m->core.base.core_state = 2;
    }
    m->core.context.tpc = p->blocks[0];
    memcpy(pair->plain->memory.bytes, m->memory.bytes, MEMORY_LEN);
    pair->plain->core = m->core;
}

static void compare_tiles(const machines *pair, uint64_t seed, uint64_t step) {
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        const tly_pto_tile *tile = &pair->fast->core.tiles[i];
        const tly_pto_elements *fast = &pair->fast->tiles->local[i];
        const tly_pto_elements *plain = &pair->plain->tiles->local[i];
        uint32_t len = tile->allocated ? tly_pto_payload_len(tile) : 0;
        if (fast->extensions == plain->extensions && fast->defined == plain->defined &&
            fast->used == plain->used && fast->stale == plain->stale &&
            memcmp(fast->bytes, plain->bytes, fast->used) == 0) {
            continue;
        }
        for (uint32_t k = 0; k < len; k++) {
            if (tly_pto_payload_read(fast, tile, k) != tly_pto_payload_read(plain, tile, k)) {
                fail_msg("seed %" PRIu64 ": tile %u differs after step %" PRIu64, seed, i, step);
            }
        }
    }
}

static void compare(const machines *pair, uint64_t seed, uint64_t step) {
    tly_pto_place place = {0};
    char name[128];
    if (memcmp(pair->fast->memory.bytes, pair->plain->memory.bytes, MEMORY_LEN) != 0) {
        fail_msg("seed %" PRIu64 ": memory differs after step %" PRIu64, seed, step);
    }
    compare_tiles(pair, seed, step);
    if (memcmp(&pair->fast->core, &pair->plain->core, sizeof(tly_pto_core)) == 0) {
        return;
    }
    while (tly_pto_place_next(pair->fast, &place)) { /* bytes between members may differ */
        uint64_t fast = tly_pto_place_read(pair->fast, &place);
        uint64_t plain = tly_pto_place_read(pair->plain, &place);
        if (fast != plain) {
            tly_pto_place_name(&place, name, sizeof(name));
            fail_msg("seed %" PRIu64 ": %s is %" PRIx64 ", not %" PRIx64 ", after step %" PRIu64,
                     seed, name, fast, plain, step);
        }
    }
}

/* One program in pieces. Returns the number of steps. */
static uint64_t run_program(machines *pair, program *p, uint64_t seed) {
    uint64_t steps = 0;
    uint32_t restarts = 0;
    bool fine = check_below(&p->rng, 4) == 0; /* short pieces, many comparisons */
    while (steps < STEPS_OF_PROGRAM && restarts < 200) {
        tly_pto_run_options options = {.size = sizeof(options),
                                       .stop_pc = p->blocks[p->num_blocks - 1],
                                       .max_steps = 1 + check_below(&p->rng, fine ? 60 : 4000)};
        tly_pto_run_result results[2];
        tly_pto_run(pair->fast, &options, &results[0]);
        options.plain = 1;
        tly_pto_run(pair->plain, &options, &results[1]);
        steps += results[0].num_steps;
        if (results[0].end != results[1].end || results[0].num_steps != results[1].num_steps) {
            fail_msg("seed %" PRIu64 ": ends %d behind %" PRIu64 " steps, not %d behind %" PRIu64,
                     seed, (int)results[0].end, results[0].num_steps, (int)results[1].end,
                     results[1].num_steps);
        }
        compare(pair, seed, steps);
        if (results[0].end != TLY_PTO_END_LIMIT) { /* somewhere else */
            uint64_t to = p->blocks[check_below(&p->rng, p->num_blocks)];
            uint32_t reg = 6 + (uint32_t)check_below(&p->rng, TLY_PTO_NUM_GPRS - 6);
            uint64_t value = random_value(p);
            pair->fast->core.context.tpc = pair->plain->core.context.tpc = to;
            pair->fast->core.gprs[pair->fast->core.current_pe][reg] = value;
            pair->plain->core.gprs[pair->plain->core.current_pe][reg] = value;
            restarts++;
        }
    }
    return steps;
}

static void test_random_programs_run_alike(void **state) {
    uint64_t rounds = check_rounds(60);
    uint64_t seed = check_seed(4058);
    uint64_t steps = 0;
    uint64_t num_tiles = 0;
    machines pair;
    pair_init(&pair, 3 * MEMORY_LEN / 4);
    print_message("# seed %" PRIu64 "\n", seed);
    for (uint64_t round = 0; round < rounds; round++) {
        static program p;
        memset(&p, 0, sizeof(p));
        p.rng.state = seed + round;
        p.calm = round % 2 == 1;
        uint64_t blocks = 2 + check_below(&p.rng, 30);
        for (uint64_t i = 0; i < blocks; i++) {
            check_below(&p.rng, 4) == 0 ? put_tile_block(&p) : put_block(&p);
        }
        load(&pair, &p);
        steps += run_program(&pair, &p, seed + round);
        for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
            num_tiles += pair.fast->core.tiles[i].contents_defined;
        }
    }
    print_message("# %" PRIu64 " instructions on each path, %" PRIu64 " tiles made\n", steps,
                  num_tiles);
    assert_true(rounds < 60 || num_tiles > rounds / 4);
    pair_cleanup(&pair);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_programs_run_alike),
    };
    return cmocka_run_group_tests_name("pto/fast", tests, NULL, NULL);
}
