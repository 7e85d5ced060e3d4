/* SPDX-License-Identifier: Apache-2.0 */
/* Random bundles, most of them nearly right: whatever is refused leaves the whole state as it was,
 * and what is executed leaves a state that keeps its own rules. */
#include "check.h"

#include <stdbool.h>
#include <string.h>

#include <tilery/context.h>
#include <tilery/isa.h>
#include <tilery/pto.h>

#include "isa/table.h"
#include "pto/create.h"
#include "pto/exec.h"
#include "pto/tile/allocate.h"
#include "pto/tile/operation.h"
#include "snapshot.h"

enum { MEMORY_LEN = 32768, APP_LEN = 16384, EPISODE = 40, ROUNDS = 8000 };
enum { MAX_WORDS = 24, NUM_MODES = 8, TEXPANDS_MODE = 1, TEXPANDS_FUNCTION = 27, PLAIN_DTYPE = 1 };

typedef struct bench {
    tly_context *context;
    tly_pto_machine *m;
    tly_pto_machine *before;
    check_rng rng;
    uint16_t starts[TLY_NUM_FORMS]; /* forms that begin a tile operation */
    uint32_t num_starts;
    uint32_t num_executed;
    uint32_t num_refused;
    bool executed[TLY_PTO_NUM_TILE_OPS];
    uint32_t rules[TLY_PTO_NUM_RULES];
    int64_t dtype; /* what the bundles of an episode mostly have in common */
    int64_t columns;
    int64_t rows;
    int64_t size;
    int64_t mode;
    uint32_t num_bundles; /* of this episode so far */
} bench;

/* A bundle as words, in order. */
typedef struct bundle {
    uint64_t words[MAX_WORDS];
    uint8_t bits[MAX_WORDS];
    uint32_t num_words;
    uint32_t start; /* form */
    uint32_t operation;
} bundle;

static bool chance(bench *b, uint32_t percent) {
    return check_below(&b->rng, 100) < percent;
}

static uint64_t pick(bench *b, const uint16_t *values, size_t num_values) {
    return values[check_below(&b->rng, num_values)];
}

static void add_word(bundle *out, uint64_t word, uint32_t bits) {
    if (out->num_words < MAX_WORDS) {
        out->words[out->num_words] = word;
        out->bits[out->num_words++] = (uint8_t)bits;
    }
}

/* Encodes a form with fields by name; others are zero. Combinations that the table refuses are left
 * out. */
static void add(bundle *out, uint32_t form, const char *const *names, const int64_t *values,
                uint32_t num_names) {
    const tly_isa_form_row *row = tly_isa_form_at(form);
    int64_t fields[TLY_ISA_MAX_FIELDS] = {0};
    uint64_t word = 0;
    for (uint32_t i = 0; i < row->num_fields; i++) {
        for (uint32_t k = 0; k < num_names; k++) {
            if (strcmp(tly_isa_field_name(row, i), names[k]) == 0) {
                fields[i] = values[k];
            }
        }
    }
    if (tly_isa_encode(form, fields, &word, NULL) == TLY_OK) {
        add_word(out, word, row->bits);
    }
}

static int64_t any_dtype(bench *b) {
    static const uint16_t common[] = {1, 1, 4, 7, 16, 17, 17, 17, 18, 19, 25, 25, 25, 26, 27};
    return chance(b, 85) ? (int64_t)pick(b, common, sizeof(common) / sizeof(common[0]))
                         : (int64_t)check_below(&b->rng, 29);
}

static int64_t some_dtype(bench *b) {
    return chance(b, 88) ? b->dtype : any_dtype(b);
}

static int64_t any_size(bench *b) {
    static const uint16_t codes[] = {1, 1, 1, 2, 2, 3, 4, 5};
    return chance(b, 95) ? (int64_t)pick(b, codes, 8) : (int64_t)check_below(&b->rng, 13);
}

static int64_t some_size(bench *b) {
    return chance(b, 85) ? b->size : any_size(b);
}

/* A tile that is there, if one is. */
static int64_t some_tile(bench *b) {
    uint8_t there[TLY_PTO_NUM_TILES];
    uint32_t num_there = 0;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        if (b->m->core.tiles[i].allocated) {
            there[num_there++] = (uint8_t)i;
        }
    }
    return num_there > 0 && chance(b, 98) ? there[check_below(&b->rng, num_there)]
                                          : (int64_t)check_below(&b->rng, TLY_PTO_NUM_TILES);
}

static void add_dimensions(bench *b, bundle *out) {
    static const char *const names[] = {"LoopNest", "imm8"};
    static const uint16_t columns[] = {1, 2, 4, 8, 8, 8, 8, 16, 32, 64, 3, 5, 0};
    static const uint16_t rows[] = {1, 1, 2, 2, 3, 4, 4, 8, 16, 0};
    if (chance(b, 95)) {
        const int64_t values[] = {0, chance(b, 85) ? b->columns : (int64_t)pick(b, columns, 13)};
        add(out, TLY_FORM_C_B_DIMI, names, values, 2);
    }
    if (chance(b, 92)) {
        const int64_t values[] = {1, chance(b, 85) ? b->rows : (int64_t)pick(b, rows, 10)};
        add(out, TLY_FORM_C_B_DIMI, names, values, 2);
    }
    if (chance(b, 10)) {
        const int64_t values[] = {2, (int64_t)pick(b, columns, 13)};
        add(out, TLY_FORM_C_B_DIMI, names, values, 2);
    }
}

static void add_attributes(bench *b, bundle *out, bool cube) {
    static const char *const names[] = {"DataType", "Layout", "PadValueOrByteId", "CMode",
                                        "RMode",    "Sat",    "Canonicalize"};
    static const uint16_t layouts[] = {0, 0, 0, 0, 1, 3, 4, 21, 22, 23, 24, 25, 26};
    static const char *const fixed_names[] = {"PreQuantMode", "RowMaxEn", "GroupMaxEn",
                                              "GroupNCode"};
    if (chance(b, cube ? 5 : 15)) {
        const int64_t layout = (int64_t)pick(b, layouts, 13);
        const int64_t type = layout >= 21 && chance(b, 90) ? 31 : chance(b, 50) ? 0 : some_dtype(b);
        const int64_t values[] = {type,
                                  layout,
                                  chance(b, 30) ? (int64_t)check_below(&b->rng, 4) : 0,
                                  chance(b, 30) ? (int64_t)check_below(&b->rng, 6) : 0,
                                  chance(b, 15) ? (int64_t)check_below(&b->rng, 8) : 0,
                                  chance(b, 15),
                                  chance(b, 5)};
        add(out, TLY_FORM_B_DATR, names, values, 7);
    }
    if (cube && chance(b, 95)) {
        const bool plain = chance(b, 80);
        const int64_t values[] = {plain ? 0 : (int64_t)check_below(&b->rng, 40),
                                  !plain && chance(b, 40), !plain && chance(b, 40),
                                  plain ? 0 : (int64_t)check_below(&b->rng, 4)};
        add(out, TLY_FORM_B_FPATR, fixed_names, values, 4);
    }
}

/* B.IOT for so many sources, and a destination or not: two sources at a time. */
static void add_tiles(bench *b, bundle *out, uint32_t num_sources, uint32_t num_destinations,
                      int64_t mode) {
    static const char *const names[] = {"SrcTile0", "SrcTile1", "L",
                                        "PEMode",   "SizeCode", "DstTile"};
    static const uint16_t forms[2][3] = {
        {0, TLY_FORM_B_IOT_1S, TLY_FORM_B_IOT_2S},
        {TLY_FORM_B_IOT_D, TLY_FORM_B_IOT_1S_D, TLY_FORM_B_IOT_2S_D}};
    do {
        const uint32_t here = num_sources < 2 ? num_sources : 2;
        num_sources -= here;
        const bool with_destination = num_sources == 0 && num_destinations > 0;
        num_destinations -= with_destination;
        const bool last = num_sources == 0 && num_destinations == 0;
        const int64_t values[] = {
            some_tile(b),         some_tile(b),
            last != chance(b, 2), chance(b, 98) ? mode : (int64_t)check_below(&b->rng, NUM_MODES),
            some_size(b),         (int64_t)check_below(&b->rng, 4)};
        if (here > 0 || with_destination) {
            add(out, forms[with_destination][here], names, values, 6);
        }
    } while (num_sources > 0 || num_destinations > 0);
}

static uint32_t count_operands(const char *operands, const char *what) {
    uint32_t count = 0;
    for (const char *at = strstr(operands, what); at != NULL; at = strstr(at + 1, what)) {
        count += at[strlen(what)] >= '0' && at[strlen(what)] <= '9' && at[strlen(what) + 1] == '=';
    }
    return count;
}

static void make_bundle(bench *b, bundle *out) {
    static const char *const start_names[] = {"DataType", "Mode", "Function"};
    static const char *const register_names[] = {"RegSrc0", "RegSrc1", "RegSrc2"};
    static const char *const shared_names[] = {"SharedTID", "SizeCode", "PEMode"};
    const bool early = b->num_bundles++ < 6 && chance(b, 90);
    const bool tepl = chance(b, 65);
    const tly_isa_tileop *op = NULL;
    memset(out, 0, sizeof(*out));
    out->start = tepl    ? TLY_FORM_BSTART_TEPL
                 : early ? TLY_FORM_BSTART_TLOAD
                         : b->starts[check_below(&b->rng, b->num_starts)];
    if (tepl && early) {
        op = tly_isa_tileop_find(TEXPANDS_MODE, TEXPANDS_FUNCTION);
    } else if (tepl) {
        while (op == NULL || op->mode == 0xFF) {
            op = tly_isa_tileop_at((uint32_t)check_below(&b->rng, tly_isa_num_tileops()));
        }
    } else {
        op = tly_isa_tileop_at(tly_isa_form_at(out->start)->tileop - 1u);
    }
    while (tly_isa_tileop_at(out->operation) != op) {
        out->operation++;
    }
    const int64_t start_values[] = {some_dtype(b), op->mode, op->function};
    const bool cube = strcmp(op->engine, "CUBE") == 0;
    const bool memory = strcmp(op->engine, "TLSU") == 0;
    const int64_t mode = chance(b, 95) ? b->mode : 1 + (int64_t)check_below(&b->rng, NUM_MODES - 1);
    add(out, out->start, start_names, start_values, tepl ? 3 : 1);
    if (out->num_words == 0) { /* this start does not take the type */
        const int64_t plain_values[] = {PLAIN_DTYPE, op->mode, op->function};
        add(out, out->start, start_names, plain_values, tepl ? 3 : 1);
    }
    add_attributes(b, out, cube);
    add_dimensions(b, out);
    const uint32_t num_registers =
        memory ? 2 : count_operands(op->operands, "scalar") + count_operands(op->operands, "flag");
    if (chance(b, num_registers > 0 ? 80 : 3)) {
        int64_t values[3] = {0};
        for (uint32_t i = 0; i < 3; i++) {
            values[i] = i < num_registers || chance(b, 2) ? (int64_t)check_below(&b->rng, 12) : 0;
        }
        add(out, TLY_FORM_B_IOR, register_names, values, 3);
    }
    const uint32_t num_shared = memory && chance(b, 25) ? 1 : cube && chance(b, 10) ? 2 : 0;
    for (uint32_t i = 0; i < num_shared; i++) {
        const int64_t values[] = {(int64_t)check_below(&b->rng, 4),
                                  chance(b, 50) ? 0 : some_size(b), mode};
        add(out, TLY_FORM_B_IOS, shared_names, values, 3);
    }
    uint32_t num_sources = count_operands(op->operands, "source");
    uint32_t num_destinations = count_operands(op->operands, "destination");
    if (chance(b, 5)) {
        num_sources = (uint32_t)check_below(&b->rng, 5);
        num_destinations = (uint32_t)check_below(&b->rng, 3);
    }
    if (num_shared == 0 || chance(b, 50)) {
        add_tiles(b, out, num_sources, num_destinations, mode);
    }
    add_word(out, 0, 16); /* C.BSTOP */
}

/* Addresses, distances, small numbers. */
static void set_registers(bench *b) {
    static const uint16_t numbers[] = {0,  1,   2,   3,   8,    16,   32,
                                       64, 128, 256, 512, 1024, 4096, 0xFFFF};
    for (uint32_t pe = 0; pe < TLY_PTO_NUM_PES; pe++) {
        for (uint32_t i = 1; i < 12; i++) {
            b->m->core.gprs[pe][i] = chance(b, 95) ? pick(b, numbers, 14) : check_random(&b->rng);
        }
    }
}

static void begin_episode(bench *b) {
    static const uint16_t columns[] = {1, 2, 4, 8, 8, 16, 32};
    static const uint16_t rows[] = {1, 1, 2, 3, 4};
    tly_pto_machine_reset(b->m);
    b->num_bundles = 0;
    b->dtype = any_dtype(b);
    b->columns = (int64_t)pick(b, columns, 7);
    b->rows = (int64_t)pick(b, rows, 5);
    b->size = any_size(b);
    b->mode = 1 + (int64_t)check_below(&b->rng, NUM_MODES - 1);
    set_registers(b);
    for (uint32_t i = 0; i < MEMORY_LEN; i++) {
        b->m->memory.bytes[i] =
            chance(b, 60) ? (uint8_t)check_below(&b->rng, 8) : (uint8_t)check_random(&b->rng);
    }
    b->m->core.current_pe = (uint8_t)check_below(&b->rng, TLY_PTO_NUM_PES);
    b->m->core.current_acr = chance(b, 20) ? 4 : 0;
}

static void check_state(bench *b) {
    uint64_t in_use = 0;
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILES; i++) {
        const tly_pto_tile *tile = &b->m->core.tiles[i];
        if (!tile->allocated) {
            assert_int_equal(b->m->core.tile_allocation_masks[i], 0);
            continue;
        }
        in_use +=
            tly_pto_allocation_bytes(b->m->core.tile_allocation_masks[i], tile->capacity_bytes);
        assert_true(tile->valid_rows <= tile->rows && tile->valid_columns <= tile->columns);
        assert_true(tile->capacity_bytes >= 128 && tile->capacity_bytes % 128 == 0);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_SHARED_TILES; i++) {
        const tly_pto_shared_tile *shared = &b->m->core.shared_tiles[i];
        if (shared->tile.allocated) {
            in_use +=
                tly_pto_allocation_bytes(shared->allocation_mask, shared->tile.capacity_bytes);
            assert_int_equal(shared->initialized_mask & ~shared->allocation_mask, 0);
        }
    }
    assert_true(in_use <= b->m->core.base.tile_capacity);
}

/* Gives up the block that was refused, as a host would. */
static void leave_block(bench *b) {
    b->m->core.context = b->before->core.context;
    b->m->core.context.bundle_active = false;
    b->m->core.context.header =
        (tly_pto_header){.data.data_type = TLY_PTO_DTYPE_NONE, .data.pad_value = 3};
    b->m->core.context.tpc = 0;
    b->m->core.current_acr = b->before->core.current_acr;
}

static void play(bench *b, const bundle *bundle_) {
    char change[200];
    for (uint32_t i = 0; i < bundle_->num_words; i++) {
        snapshot_take(b->before, b->m);
        if (tly_pto_execute(b->m, bundle_->words[i], bundle_->bits[i])) {
            continue;
        }
        b->num_refused++;
        b->rules[b->m->reason.rule]++;
        if (!snapshot_equal(b->before, b->m, change, sizeof(change))) {
            for (uint32_t k = 0; k <= i; k++) {
                print_error(".word 0x%llx %u\n", (unsigned long long)bundle_->words[k],
                            bundle_->bits[k]);
            }
            fail_msg("%s was broken by the last of these words, but %s",
                     tly_pto_rule_name(b->m->reason.rule), change);
        }
        leave_block(b);
        return;
    }
    b->num_executed++;
    b->executed[bundle_->operation] = true;
    check_state(b);
}

static void open_bench(bench *b, uint64_t seed) {
    tly_error err = {0};
    const tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                                   .app_limit = APP_LEN,
                                   .num_queues = 1,
                                   .release = TLY_ISA_0_58_3};
    memset(b, 0, sizeof(*b));
    print_message("seed %llu\n", (unsigned long long)seed);
    b->rng.state = seed;
    CHECK_OK(tly_context_new(NULL, &b->context, &err), &err);
    CHECK_OK(tly_pto_machine_new(b->context, &config, &b->m, &err), &err);
    CHECK_OK(tly_pto_machine_new(b->context, &config, &b->before, &err), &err);
    for (uint32_t form = 0; form < TLY_NUM_FORMS; form++) {
        const tly_isa_form_row *row = tly_isa_form_at(form);
        if (row->tileop != 0 && row->bundle == TLY_BUNDLE_START &&
            (row->releases >> TLY_ISA_0_58_3 & 1) != 0) {
            b->starts[b->num_starts++] = (uint16_t)form;
        }
    }
}

static void close_bench(bench *b) {
    tly_pto_machine_free(b->before);
    tly_pto_machine_free(b->m);
    tly_context_free(b->context);
}

static void refused_bundles_change_nothing(void **state) {
    (void)state;
    static bench b;
    static bundle bundle_;
    uint32_t num_operations = 0;
    uint32_t num_rules = 0;
    open_bench(&b, check_seed(21));
    const uint64_t rounds = check_rounds(ROUNDS);
    for (uint64_t round = 0; round < rounds; round++) {
        if (round % EPISODE == 0) {
            begin_episode(&b);
        } else if (chance(&b, 20)) {
            set_registers(&b);
        }
        make_bundle(&b, &bundle_);
        play(&b, &bundle_);
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_TILE_OPS; i++) {
        num_operations += b.executed[i];
    }
    for (uint32_t i = 0; i < TLY_PTO_NUM_RULES; i++) {
        num_rules += b.rules[i] != 0;
    }
    print_message("%u bundles of %u operations executed, %u refused by %u rules\n", b.num_executed,
                  num_operations, b.num_refused, num_rules);
    assert_true(b.num_executed > rounds / 10 && b.num_refused > rounds / 10);
    assert_true(num_rules > 60 && num_operations > 40);
    close_bench(&b);
}

/* Writes some field, as a host may; values that it cannot have are not taken. */
static void write_some_field(bench *b) {
    static const uint16_t numbers[] = {0, 1, 2, 3, 7, 16, 255, 4096, 65535};
    const uint32_t number = (uint32_t)check_below(&b->rng, tly_pto_num_fields());
    tly_pto_field_description field = {.size = sizeof(field)};
    char name[128];
    tly_pto_place place = {.field = tly_pto_field_at(number), .saved_ring = -1};
    assert_int_equal(tly_pto_field_info(b->m, number, &field), TLY_OK);
    for (uint32_t i = 0; i < field.num_indexes; i++) {
        const uint32_t few = field.counts[i] > 6 && chance(b, 70) ? 6 : field.counts[i];
        place.indexes[i] = few > 0 ? (uint32_t)check_below(&b->rng, few) : 0;
    }
    tly_pto_place_name(&place, name, sizeof(name));
    tly_pto_set(b->m, name, chance(b, 90) ? pick(b, numbers, 9) : check_random(&b->rng), NULL);
}

static void states_that_a_host_made_do_no_harm(void **state) {
    (void)state;
    static bench b;
    static bundle bundle_;
    uint32_t num_executed = 0;
    open_bench(&b, check_seed(22));
    for (uint64_t round = 0; round < check_rounds(ROUNDS / 2); round++) {
        if (round % EPISODE == 0) {
            begin_episode(&b);
        }
        write_some_field(&b);
        make_bundle(&b, &bundle_);
        for (uint32_t i = 0; i < bundle_.num_words; i++) {
            num_executed += tly_pto_execute(b.m, bundle_.words[i], bundle_.bits[i]);
        }
        if (chance(&b, 10)) {
            tly_pto_execute(b.m, (uint32_t)check_random(&b.rng), 32);
        }
        b.before->core = b.m->core;
        leave_block(&b);
    }
    assert_true(num_executed > 1000);
    close_bench(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_bundles_change_nothing),
        cmocka_unit_test(states_that_a_host_made_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
