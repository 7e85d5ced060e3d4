/* SPDX-License-Identifier: Apache-2.0 */
/* Every rule that a guest can break is broken here: tests/pto/rules/AREA.case has a small program
 * for each, whose last instruction is refused with that rule and that fault, and leaves everything
 * but the trap as it was.
 *
 *     rule NAME FAULT [partial]   begins a case; `partial`: the refusal comes after effects
 *     .set FIELD VALUE            state by name (pto/fields.h)
 *     .mem ADDRESS HEX            bytes of memory
 *     .release 0.58.2             instructions of an earlier release from here on
 *     .word WORD BITS             an instruction as a number
 *     .body                       the host enters the body of the active block
 *     .corrupt ADDRESS            the host marks a general queue as corrupt
 *     .allocate TILE BYTES MASK PREDICATE TYPE LAYOUT ROWS COLUMNS VALID_ROWS VALID_COLUMNS
 *     .copy TO FROM               the host makes, or copies, a tile (tilery/pto.h)
 *     .allocate_by_shape_of SIZE  the same with a shape of another version
 *     anything else               an instruction, executed at TPC
 */
#include "check.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include <tilery/asm.h>
#include <tilery/context.h>
#include <tilery/pto.h>

#include "pto/block/queue.h"
#include "pto/create.h"
#include "pto/exec.h"
#include "pto/fields.h"
#include "pto/reason.h"
#include "pto/tile/handlers.h"
#include "snapshot.h"

enum { MEMORY_LEN = 65536, APP_LEN = 3072, MAX_LINE = 400, MAX_FILE = 1 << 20 };

/* Areas whose rules all have a case; the number of their rules and where they begin. */
typedef struct area {
    const char *name;
    uint32_t num_rules;
    const uint16_t *rules;
} area;

#define TLY_PTO_RULE(id, name, sentence) TLY_PTO_RULE_##id,
static const uint16_t scalar_rules[] = {
#include "pto/rules_scalar.def"
};
static const uint16_t block_rules[] = {
#include "pto/rules_block.def"
};
static const uint16_t tile_rules[] = {
#include "pto/rules_tile.def"
};
static const uint16_t tlsu_rules[] = {
#include "pto/rules_tlsu.def"
};
static const uint16_t cube_rules[] = {
#include "pto/rules_cube.def"
};
#undef TLY_PTO_RULE

#define AREA(name)                                                                                 \
    { #name, sizeof(name##_rules) / sizeof(name##_rules[0]), name##_rules }
static const area areas[] = {AREA(scalar), AREA(block), AREA(tile),
                             AREA(tlsu),   AREA(cube),  {"host", 0, NULL}};

typedef struct player {
    tly_context *context;
    tly_pto_machine *m;
    tly_pto_machine *before; /* as the machine was before the last instruction */
    char file[256];
    uint32_t line;
    tly_isa_release release;
    bool in_case;
    bool partial;
    char rule[64];
    char fault[64];
    bool refused;
    tly_pto_refusal why; /* while `refused` */
    uint32_t num_cases[TLY_PTO_NUM_RULES];
} player;

#define FAIL(p, ...)                                                                               \
    do {                                                                                           \
        print_error("%s:%u: ", (p)->file, (p)->line);                                              \
        fail_msg(__VA_ARGS__);                                                                     \
    } while (0)

static uint32_t rule_number(const player *p, const char *name) {
    for (uint32_t i = 1; i < TLY_PTO_NUM_RULES; i++) {
        if (strcmp(tly_pto_rule_name(i), name) == 0) {
            return i;
        }
    }
    FAIL(p, "there is no rule %s", name);
    return 0;
}

static void finish_case(player *p) {
    const tly_pto_refusal *why = &p->why;
    if (!p->in_case) {
        return;
    }
    p->in_case = false;
    if (!p->refused) {
        FAIL(p, "the case before this line broke no rule, wanted %s", p->rule);
    }
    if (strcmp(why->rule, p->rule) != 0 || strcmp(why->name, p->fault) != 0) {
        FAIL(p, "the case before this line broke %s (%s: %s), wanted %s (%s)", why->rule, why->name,
             why->text, p->rule, p->fault);
    }
    if (why->text[0] == '\0' || strchr(why->text, '{') != NULL) {
        FAIL(p, "the sentence of %s has a place without a value: %s", why->rule, why->text);
    }
    char change[200];
    if (!p->partial && !snapshot_equal(p->before, p->m, change, sizeof(change))) {
        FAIL(p, "%s was refused, but %s", p->rule, change);
    }
    p->num_cases[rule_number(p, why->rule)]++;
}

static void begin_case(player *p, const char *words) {
    char option[64] = "";
    finish_case(p);
    if (sscanf(words, "rule %63s %63s %63s", p->rule, p->fault, option) < 2) {
        FAIL(p, "a case needs a rule and a fault");
    }
    p->partial = strcmp(option, "partial") == 0;
    p->in_case = true;
    p->refused = false;
    p->release = TLY_ISA_0_58_3;
    p->m->release = p->release;
    tly_pto_machine_reset(p->m);
}

static void execute(player *p, uint64_t word, uint32_t bits) {
    if (p->refused) {
        FAIL(p, "the instruction before this one was refused already (%s)", p->why.rule);
    }
    snapshot_take(p->before, p->m);
    /* a service request is executed, and traps */
    p->refused = !tly_pto_execute(p->m, word, bits) || p->m->core.last_fault != TLY_PTO_FAULT_NONE;
    tly_pto_refusal_get(p->m, &p->why);
}

/* What a host asks of tiles is refused without a trap. */
static bool play_host(player *p, const char *line) {
    tly_pto_tile_shape shape = {.size = sizeof(shape)};
    uint32_t tile = 0;
    uint32_t source = 0;
    if (sscanf(line, ".allocate %u %u %x %u %u %u %u %u %u %u", &tile, &shape.capacity_bytes,
               &shape.pe_mask, &shape.is_predicate, &shape.data_type, &shape.layout, &shape.rows,
               &shape.columns, &shape.valid_rows, &shape.valid_columns) == 10) {
        snapshot_take(p->before, p->m);
        p->refused = tly_pto_tile_allocate(p->m, tile, &shape, &p->why) == 0;
    } else if (sscanf(line, ".copy %u %u", &tile, &source) == 2) {
        snapshot_take(p->before, p->m);
        p->refused = tly_pto_tile_copy(p->m, tile, source, &p->why) == 0;
    } else if (sscanf(line, ".allocate_by_shape_of %zu", &shape.size) == 1) {
        snapshot_take(p->before, p->m);
        p->refused = tly_pto_tile_allocate(p->m, 0, &shape, &p->why) == 0;
    } else {
        return false;
    }
    return true;
}

static void set_field(player *p, const char *line) {
    char name[128];
    char value[128];
    tly_pto_place place;
    uint64_t number = 0;
    if (sscanf(line, ".set %127s %127s", name, value) != 2 ||
        !tly_pto_place_find(p->m, name, strlen(name), &place)) {
        FAIL(p, "there is no such field: %s", line);
    }
    if (!tly_pto_field_value_find(place.field, value, strlen(value), &number)) {
        number = strtoull(value, NULL, 0);
    }
    tly_pto_place_write(p->m, &place, number);
}

static void set_memory(player *p, const char *line) {
    unsigned long long address = 0;
    int used = 0;
    if (sscanf(line, ".mem %lli %n", (long long *)&address, &used) != 1) {
        FAIL(p, "an address is missing: %s", line);
    }
    for (const char *at = line + used; at[0] != '\0' && at[1] != '\0'; at += 2) {
        char byte[3] = {at[0], at[1], '\0'};
        assert_true(address < MEMORY_LEN);
        p->m->memory.bytes[address++] = (uint8_t)strtoul(byte, NULL, 16);
    }
}

static void play_directive(player *p, const char *line) {
    unsigned long long a = 0;
    unsigned b = 0;
    if (play_host(p, line)) {
        return;
    }
    if (strncmp(line, ".set ", 5) == 0) {
        set_field(p, line);
    } else if (strncmp(line, ".mem ", 5) == 0) {
        set_memory(p, line);
    } else if (sscanf(line, ".word %lli %u", (long long *)&a, &b) == 2) {
        execute(p, a, b);
    } else if (strcmp(line, ".body") == 0) {
        snapshot_take(p->before, p->m);
        p->refused = !tly_pto_enter_body(p->m);
        tly_pto_refusal_get(p->m, &p->why);
    } else if (sscanf(line, ".corrupt %lli", (long long *)&a) == 1) {
        tly_pto_set_queue_corrupt(p->m, a, true);
    } else if (sscanf(line, ".release 0.58.%u", &b) == 1) {
        p->release = (tly_isa_release)b;
        p->m->release = p->release;
    } else {
        FAIL(p, "there is no such directive: %s", line);
    }
}

static void play_line(player *p, const char *line) {
    tly_isa_insn insn;
    tly_error err = {0};
    if (strncmp(line, "rule ", 5) == 0) {
        begin_case(p, line);
        return;
    }
    if (!p->in_case) {
        FAIL(p, "no case has begun: %s", line);
    }
    if (line[0] == '.') {
        play_directive(p, line);
        return;
    }
    if (tly_asm_parse_insn(line, strlen(line), p->m->core.context.tpc, p->release, &insn, &err) !=
        TLY_OK) {
        FAIL(p, "%s: %s", line, err.message);
    }
    execute(p, insn.word, (uint32_t)insn.len * 8);
}

static void play_file(player *p, const char *name) {
    char line[MAX_LINE];
    snprintf(p->file, sizeof(p->file), "tests/pto/rules/%s.case", name);
    FILE *file = fopen(p->file, "r");
    if (file == NULL) {
        fail_msg("cannot open %s", p->file);
    }
    p->line = 0;
    while (fgets(line, sizeof(line), file) != NULL) {
        p->line++;
        line[strcspn(line, "\n")] = '\0';
        char *begin = line + strspn(line, " \t");
        size_t len = begin[0] == '#' ? 0 : strlen(begin);
        while (len > 0 && (begin[len - 1] == ' ' || begin[len - 1] == '\t')) {
            begin[--len] = '\0';
        }
        if (len > 0) {
            play_line(p, begin);
        }
    }
    finish_case(p);
    fclose(file);
}

/* Bundles never give a tile the location that TIMG2COL wants of its result, so what it checks
 * behind that is asked here, with the plan of a bundle that could: an image of 2 times 2 pixels of
 * 16 channels, in a tile of 4 rows. */
static void check_image(player *p, tly_pto_rule wanted) {
    tly_pto_plan plan = {.operation = TLY_PTO_OP_TIMG2COL, .num_sources = 1};
    tly_pto_tile *tile = &p->m->core.tiles[0];
    plan.results[0] = *tile;
    plan.results[0].location = TLY_PTO_LOCATION_MATRIX;
    assert_int_equal(tly_pto_check_image(p->m, &plan), wanted == TLY_PTO_RULE_NONE);
    assert_int_equal(plan.reason.rule, wanted);
    p->num_cases[wanted]++;
}

static void break_rules_of_images(player *p) {
    tly_pto_tile *tile = &p->m->core.tiles[0];
    tly_pto_feature_map *map = &p->m->core.feature_maps[0];
    tly_pto_machine_reset(p->m);
    *tile = (tly_pto_tile){.allocated = true,
                           .contents_defined = true,
                           .data_type = 26, /* U16 */
                           .location = TLY_PTO_LOCATION_MATRIX,
                           .capacity_bytes = 128,
                           .rows = 4,
                           .columns = 16,
                           .valid_rows = 4,
                           .valid_columns = 16,
                           .defined_valid_elements = 64};
    const tly_pto_feature_map whole = {.valid = true,
                                       .batches = 1,
                                       .depth = 1,
                                       .channel_groups = 1,
                                       .height = 2,
                                       .width = 2,
                                       .channels_per_group = 16,
                                       .filter_height = 1,
                                       .filter_width = 1,
                                       .stride_height = 1,
                                       .stride_width = 1,
                                       .dilation_height = 1,
                                       .dilation_width = 1,
                                       .logical_channels = 16};
    *map = whole;
    for (uint32_t i = 0; i < 63; i++) {
        tly_pto_element_define(&p->m->tiles->local[0], tile, i, true);
    }
    check_image(p, TLY_PTO_RULE_TILE_IMAGE_UNDEFINED);
    tly_pto_element_define(&p->m->tiles->local[0], tile, 63, true);
    check_image(p, TLY_PTO_RULE_NONE);
    map->filter_height = 3;
    check_image(p, TLY_PTO_RULE_TILE_IMAGE_WINDOW);
    *map = whole;
    map->stride_width = 0;
    check_image(p, TLY_PTO_RULE_TILE_IMAGE_MAP);
    *map = whole;
    p->m->core.context.header.dimensions[0] = 1;
    check_image(p, TLY_PTO_RULE_TILE_IMAGE_RANGE);
}

static void each_rule_is_broken_by_a_case(void **state) {
    (void)state;
    static player p;
    tly_error err = {0};
    p.why.size = sizeof(p.why);
    const tly_pto_config config = {.memory_bytes = MEMORY_LEN,
                                   .app_limit = APP_LEN,
                                   .num_queues = 4,
                                   .release = TLY_ISA_0_58_3};
    uint32_t num_missing = 0;
    CHECK_OK(tly_context_new(NULL, &p.context, &err), &err);
    CHECK_OK(tly_pto_machine_new(p.context, &config, &p.m, &err), &err);
    CHECK_OK(tly_pto_machine_new(p.context, &config, &p.before, &err), &err);
    for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
        play_file(&p, areas[i].name);
    }
    break_rules_of_images(&p);
    for (size_t i = 0; i < sizeof(areas) / sizeof(areas[0]); i++) {
        for (uint32_t k = 0; k < areas[i].num_rules; k++) {
            if (p.num_cases[areas[i].rules[k]] == 0) {
                print_error("no case in tests/pto/rules/%s.case breaks %s\n", areas[i].name,
                            tly_pto_rule_name(areas[i].rules[k]));
                num_missing++;
            }
        }
    }
    assert_int_equal(num_missing, 0);
    tly_pto_machine_free(p.before);
    tly_pto_machine_free(p.m);
    tly_context_free(p.context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_is_broken_by_a_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
