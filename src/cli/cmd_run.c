/* SPDX-License-Identifier: Apache-2.0 */
/* tilery run: a PTO program, from its file to its end. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asm/object.h"
#include "base/error.h"
#include "cli/cli.h"
#include "cli/diagnose.h"
#include "cli/handlers.h"
#include "cli/options_table.h"
#include "cli/run_bind.h"
#include "cli/run_load.h"
#include "cli/run_script.h"
#include "cli/run_state.h"
#include "cli/run_tiles.h"
#include "cli/run_trace.h"
#include "cli/text.h"
#include "host/dump.h"
#include "pto/create.h"
#include "pto/fields.h"
#include "pto/profile/profile.h"
#include "pto/team.h"

enum { STACKS = 16, MAX_STACK = 1 << 20 };
enum { DEFAULT_QUEUES = 16, MAX_ARGUMENTS = 8, FIRST_ARGUMENT = 2, ABI_SP = 1, SHOWN_BYTES = 16 };

/* Symbols of the harness that public test programs are written for. */
static const char STOP_SYMBOL[] = "cross_model_stop";
static const char RESULT_SYMBOL[] = "cross_model_result";
static const char RESULT_SIZE_SYMBOL[] = "cross_model_result_size";

typedef struct run_command {
    tly_cli *cli;
    const tly_context *context;
    tly_pto_team *team;       /* NULL without --pes */
    tly_pto_machine *machine; /* element 0 of the team */
    tly_program program;
    tly_loaded loaded;
    tly_load_options load;
    tly_tracer tracers[TLY_PTO_TEAM_MAX]; /* one for each element */
    tly_run_stats stats;
    tly_bindings bindings;
    uint64_t stop_pc;
    uint64_t free_at; /* where `frees` */
    bool frees;
    bool observed;
} run_command;

static tly_status usage(tly_error *error, const char *rule, const char *text, const char *value) {
    return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, rule, "%s: \"%.100s\"", text,
                         value);
}

/* "64K", "1G", "4096", "0x1000". */
static tly_status parse_size(const char *text, uint64_t *out_size, tly_error *error) {
    static const char units[] = "KMG";
    char *end = NULL;
    uint64_t value = strtoull(text, &end, 0);
    uint32_t shift = 0;
    const char *unit = *end != '\0' ? strchr(units, *end & ~32) : NULL;
    if (unit != NULL) {
        shift = 10 * (uint32_t)(unit - units + 1);
        end++;
    }
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || value == 0 ||
        value > UINT64_MAX >> shift || value << shift > UINT64_C(1) << 46) {
        return usage(error, "usage-value", "--memory takes bytes, or a number with K, M or G",
                     text);
    }
    *out_size = value << shift;
    return TLY_OK;
}

static tly_status make_machine(run_command *r, tly_isa_release release, tly_error *error) {
    tly_pto_config config = {
        .num_queues = DEFAULT_QUEUES,
        .release = release,
        .profile = tly_pto_profile_find(tly_cli_value(r->cli, TLY_CLI_RUN_PROFILE, "pto-v0"))};
    tly_status status =
        parse_size(tly_cli_value(r->cli, TLY_CLI_RUN_MEMORY, "1G"), &config.memory_bytes, error);
    if (status != TLY_OK) {
        return status;
    }
    config.app_limit = config.memory_bytes / 4 * 3;
    if (!tly_cli_given(r->cli, TLY_CLI_RUN_PES)) {
        return tly_pto_machine_new(r->context, &config, &r->machine, error);
    }
    status = tly_pto_team_make(
        r->context, &config, (uint32_t)tly_cli_number(r->cli, TLY_CLI_RUN_PES, 1), &r->team, error);
    r->machine = status == TLY_OK ? tly_pto_team_machine(r->team, 0) : NULL;
    return status;
}

static void free_machine(run_command *r) {
    if (r->team == NULL) {
        tly_pto_machine_free(r->machine);
    }
    tly_pto_team_free(r->team);
}

static uint32_t num_elements(const run_command *r) {
    return r->team != NULL ? tly_pto_team_size(r->team) : 1;
}

static tly_pto_machine *machine_of(const run_command *r, uint32_t element) {
    return r->team != NULL ? tly_pto_team_machine(r->team, element) : r->machine;
}

/* Address of a symbol that need not be there. */
static bool optional_symbol(const run_command *r, const char *name, uint64_t *out_address) {
    return tly_loaded_address(&r->loaded, name, out_address, NULL, NULL) == TLY_OK;
}

/* The other elements start as element 0, with stacks below its own. */
static void set_other_elements(run_command *r, uint64_t stack) {
    const tly_pto_core *first = &r->machine->core;
    uint64_t step = stack / STACKS < MAX_STACK ? stack / STACKS : MAX_STACK;
    for (uint32_t i = 1; i < num_elements(r); i++) {
        tly_pto_core *core = &machine_of(r, i)->core;
        uint64_t *gprs = core->gprs[i];
        memcpy(gprs, first->gprs[0], sizeof(first->gprs[0]));
        gprs[ABI_SP] = gprs[TLY_PTO_SP] = stack - i * (step & ~UINT64_C(15));
        core->context.tpc = first->context.tpc;
        core->context.return_address = first->context.return_address;
    }
}

static tly_status set_registers(run_command *r, tly_error *error) {
    uint64_t *gprs = r->machine->core.gprs[r->machine->core.current_pe];
    const char *text = tly_cli_value(r->cli, TLY_CLI_RUN_STACK_TOP, NULL);
    uint64_t stack = r->machine->memory.app_limit;
    uint32_t num_arguments = 0;
    tly_status status = TLY_OK;
    if (text != NULL) {
        status = tly_loaded_address(&r->loaded, text, &stack, NULL, error);
    }
    gprs[ABI_SP] = stack;
    gprs[TLY_PTO_SP] = stack; /* what FENTRY and its like use */
    for (uint32_t i = 0; i < r->cli->num_repeats && status == TLY_OK; i++) {
        if (r->cli->repeats[i].option != TLY_CLI_RUN_ARG) {
            continue;
        }
        if (num_arguments == MAX_ARGUMENTS) {
            return usage(error, "usage-value", "a program takes at most eight arguments (a0 .. a7)",
                         r->cli->repeats[i].value);
        }
        status = tly_loaded_address(&r->loaded, r->cli->repeats[i].value,
                                    &gprs[FIRST_ARGUMENT + num_arguments++], NULL, error);
    }
    r->stop_pc = 0;
    if (status == TLY_OK && tly_cli_given(r->cli, TLY_CLI_RUN_STOP_PC)) {
        status = tly_loaded_address(&r->loaded, tly_cli_value(r->cli, TLY_CLI_RUN_STOP_PC, ""),
                                    &r->stop_pc, NULL, error);
    } else if (status == TLY_OK) {
        optional_symbol(r, STOP_SYMBOL, &r->stop_pc);
    }
    /* a program that returns comes to the stop address */
    gprs[TLY_PTO_RA] = r->stop_pc;
    r->machine->core.context.return_address = r->stop_pc;
    set_other_elements(r, stack);
    return status;
}

static int observe(void *user, tly_pto_machine *m, const tly_pto_step *step) {
    run_command *r = user;
    int goes_on = tly_tracer_observe(&r->tracers[m->element], m, step);
    if (r->frees && m->core.context.tpc == r->free_at) {
        tly_bind_give_back(&r->bindings, m);
    }
    return goes_on;
}

static tly_status choose_frees(run_command *r, tly_error *error) {
    r->frees = tly_cli_given(r->cli, TLY_CLI_RUN_FREE_AT);
    return r->frees ? tly_loaded_address(&r->loaded, tly_cli_value(r->cli, TLY_CLI_RUN_FREE_AT, ""),
                                         &r->free_at, NULL, error)
                    : TLY_OK;
}

static void choose_trace(run_command *r) {
    const char *trace = tly_cli_value(r->cli, TLY_CLI_RUN_TRACE, NULL);
    tly_tracer tracer = {.out = stderr,
                         .loaded = &r->loaded,
                         .release = r->machine->release,
                         .of_team = r->team != NULL,
                         .stats = tly_cli_given(r->cli, TLY_CLI_RUN_STATS) ? &r->stats : NULL};
    if (trace != NULL) {
        tracer.form = strcmp(trace, "text") == 0 ? TLY_TRACE_TEXT : TLY_TRACE_JSONL;
    }
    for (uint32_t i = 0; i < num_elements(r); i++) {
        r->tracers[i] = tracer;
    }
    r->observed = trace != NULL || tracer.stats != NULL || r->frees;
}

/* The instruction at an address, as far as memory has one. */
static const char *insn_at(const run_command *r, uint64_t pc, char *out_text, size_t capacity) {
    const tly_pto_memory *memory = &r->machine->memory;
    tly_isa_insn insn;
    tly_asm_symbols symbols = {.find = tly_symbols_find,
                               .user = (void *)(uintptr_t)&r->loaded.symbols};
    out_text[0] = '\0';
    if (pc < memory->size && tly_isa_decode_bytes(memory->bytes + pc, (size_t)(memory->size - pc),
                                                  r->machine->release, &insn, NULL) == TLY_OK) {
        tly_asm_format(&insn, pc, &symbols, out_text, capacity, NULL);
    }
    return out_text;
}

/* What helps a program that has no more room for tiles. */
static const char *hint_for(const run_command *r, uint32_t rule) {
    bool full = rule == TLY_PTO_RULE_TILE_CAPACITY || rule == TLY_PTO_RULE_TILE_HAND_FULL;
    return full && !r->frees ? "; no instruction gives a tile back, the host does with --free-at"
                             : "";
}

/* A clean end is TLY_OK; everything else says what, where and why. `who` begins the message. */
static tly_status report(const run_command *r, const tly_pto_machine *m, const char *who,
                         const tly_pto_run_result *result, tly_error *error) {
    const tly_pto_core *core = &m->core;
    char reason[256], insn[TLY_ASM_MAX_TEXT];
    uint64_t pc = core->saved[core->current_acr].context.tpc;
    switch (result->end) {
    case TLY_PTO_END_STOP:
        return TLY_OK;
    case TLY_PTO_END_FAULT:
        tly_pto_reason_text(&m->reason, reason, sizeof reason);
        return tly_base_fail(
            error, TLY_GUEST_FAULT, TLY_NO_OFFSET, tly_pto_rule_name(m->reason.rule),
            "%s%s at 0x%" PRIx64 " (%s), address 0x%" PRIx64 ", after %" PRIu64 " steps: %s%s", who,
            tly_pto_fault_name(core->last_fault), pc, insn_at(r, pc, insn, sizeof insn),
            core->fault_address, result->num_steps, reason, hint_for(r, m->reason.rule));
    case TLY_PTO_END_FETCH:
        return tly_base_fail(error, TLY_GUEST_FAULT, TLY_NO_OFFSET, "run-fetch",
                             "%sno instruction can be fetched from 0x%" PRIx64 " after %" PRIu64
                             " steps: %s; the program stops at 0x%" PRIx64 " (--stop-pc)",
                             who, core->context.tpc, result->num_steps,
                             (core->context.tpc & 1) != 0 ? "the address is odd"
                                                          : "it does not lie in memory",
                             r->stop_pc);
    default:
        return tly_base_fail(error, TLY_STEP_LIMIT, TLY_NO_OFFSET, "run-steps",
                             "%s%" PRIu64 " steps were not enough: the program is at 0x%" PRIx64
                             " (%s); allow more with --max-steps",
                             who, result->num_steps, core->context.tpc,
                             insn_at(r, core->context.tpc, insn, sizeof insn));
    }
}

/* Of the element that ended the run, else of the first one that did not reach the end. */
static tly_status report_team(const run_command *r, const tly_pto_team_run_result *result,
                              tly_error *error) {
    tly_status status = TLY_OK;
    uint32_t first = result->first >= 0 ? (uint32_t)result->first : 0;
    uint32_t end = result->first >= 0 ? first + 1 : result->num_elements;
    for (uint32_t i = first; i < end && status == TLY_OK; i++) {
        char who[24];
        snprintf(who, sizeof who, "element %u: ", i);
        status = report(r, machine_of(r, i), who, &result->elements[i], error);
    }
    return status;
}

/* "ADDRESS,LEN", "SYMBOL" (with its size) or "SYMBOL,LEN". */
static tly_status result_range(const run_command *r, const char *text, uint64_t *out_address,
                               uint64_t *out_len, tly_error *error) {
    const char *comma = strchr(text, ',');
    char name[200];
    uint64_t size = 0, at = 0;
    size_t name_len = comma != NULL ? (size_t)(comma - text) : strlen(text);
    snprintf(name, sizeof name, "%.*s", (int)name_len, text);
    tly_status status = tly_loaded_address(&r->loaded, name, out_address, &size, error);
    if (status == TLY_OK && comma != NULL) {
        status = tly_loaded_address(&r->loaded, comma + 1, &size, NULL, error);
    } else if (status == TLY_OK && size == 0 && strcmp(name, RESULT_SYMBOL) == 0 &&
               optional_symbol(r, RESULT_SIZE_SYMBOL, &at)) {
        size = at; /* the symbol's value is the size */
    }
    if (status != TLY_OK) {
        return status;
    }
    if (size == 0) {
        return usage(error, "usage-value", "how many bytes? --result takes ADDRESS,LEN", text);
    }
    if (*out_address > r->machine->memory.size || size > r->machine->memory.size - *out_address) {
        return usage(error, "usage-value", "the result does not lie in memory", text);
    }
    *out_len = size;
    return TLY_OK;
}

static tly_status compare(const run_command *r, uint64_t address, uint64_t len, const char *path,
                          tly_error *error) {
    tly_program golden;
    const uint8_t *got = r->machine->memory.bytes + address;
    uint64_t at = 0;
    tly_status status = tly_program_read(r->context, path, "hex", 0, &golden, error);
    if (status != TLY_OK) {
        return status;
    }
    while (at < len && at < golden.len && got[at] == golden.bytes[at]) {
        at++;
    }
    if (golden.len != len) {
        status = tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "run-golden",
                               "%.200s has %zu bytes, the result %" PRIu64, path, golden.len, len);
    } else if (at < len) {
        status = tly_base_fail(error, TLY_MISMATCH, TLY_NO_OFFSET, "run-golden",
                               "byte %" PRIu64 " of the result (0x%" PRIx64
                               ") is 0x%02x, %.200s has 0x%02x",
                               at, address + at, got[at], path, golden.bytes[at]);
    }
    tly_program_cleanup(&golden);
    return status;
}

static tly_status put_hex(void *user, const char *line, size_t line_len) {
    fwrite(line, 1, line_len, user);
    return TLY_OK;
}

static tly_status show_result(const run_command *r, tly_error *error) {
    const char *golden = tly_cli_value(r->cli, TLY_CLI_RUN_GOLDEN, NULL);
    const char *range =
        tly_cli_value(r->cli, TLY_CLI_RUN_RESULT, golden != NULL ? RESULT_SYMBOL : NULL);
    uint64_t address = 0, len = 0;
    if (range == NULL) {
        return TLY_OK;
    }
    tly_status status = result_range(r, range, &address, &len, error);
    if (status != TLY_OK) {
        return status;
    }
    return golden != NULL ? compare(r, address, len, golden, error)
                          : tly_hex_encode(r->machine->memory.bytes + address, (size_t)len, address,
                                           put_hex, r->cli->out);
}

/* All of the state, with a machine in its reset state to compare with. */
static tly_status show_state(const run_command *r, tly_error *error) {
    tly_pto_machine *reset = NULL;
    tly_pto_config config = {.memory_bytes = r->machine->memory.size,
                             .app_limit = r->machine->memory.app_limit,
                             .num_queues = r->machine->num_queues,
                             .release = r->machine->release};
    tly_status status = tly_pto_machine_new(r->context, &config, &reset, error);
    if (status == TLY_OK) {
        if (r->team != NULL) {
            tly_run_team_state_json(r->cli->out, r->team, reset);
        } else {
            tly_run_state_json(r->cli->out, r->machine, reset);
        }
    }
    tly_pto_machine_free(reset);
    return status;
}

static tly_status run_script(run_command *r, const char *path, const tly_pto_run_options *options,
                             tly_error *error) {
    tly_script script = {.out = r->cli->out,
                         .context = r->context,
                         .machine = r->machine,
                         .loaded = &r->loaded,
                         .run = *options};
    tly_status status = tly_script_run(&script, path, error);
    if (status == TLY_OK && script.failed) {
        status = tly_base_fail(error, TLY_GUEST_FAULT, TLY_NO_OFFSET, "run-script",
                               "something in the script was refused: see above");
    }
    return status;
}

static tly_status run_team(const run_command *r, const tly_pto_run_options *options,
                           tly_error *error) {
    const tly_pto_team_run_options of_team = {
        .size = sizeof of_team,
        .threads = (uint32_t)tly_cli_number(r->cli, TLY_CLI_RUN_THREADS, 1),
        .round_steps = tly_cli_number(r->cli, TLY_CLI_RUN_ROUND, 0),
        .stop_pc = options->stop_pc,
        .max_steps = options->max_steps,
        .observer = options->observer,
        .user = options->user,
        /* what gives tiles back knows one machine only */
        .observe_apart = r->tracers[0].form == TLY_TRACE_NONE && r->tracers[0].stats == NULL};
    tly_pto_team_run_result result = {.size = sizeof result};
    tly_status status = tly_pto_team_run(r->team, &of_team, &result, error);
    return status == TLY_OK ? report_team(r, &result, error) : status;
}

static tly_status run_program(run_command *r, tly_error *error) {
    tly_pto_run_options options = {.size = sizeof options,
                                   .stop_pc = r->stop_pc,
                                   .max_steps =
                                       tly_cli_number(r->cli, TLY_CLI_RUN_MAX_STEPS, UINT64_MAX)};
    tly_status status;
    if (r->observed) {
        options.observer = observe;
        options.user = r;
        for (uint32_t i = 0; i < num_elements(r); i++) {
            tly_tracer_start(&r->tracers[i], machine_of(r, i));
        }
    }
    const char *script = tly_cli_value(r->cli, TLY_CLI_RUN_SCRIPT, NULL);
    if (script != NULL) {
        return run_script(r, script, &options, error);
    }
    if (r->team != NULL) {
        status = run_team(r, &options, error);
    } else {
        tly_pto_run_result result;
        tly_pto_run(r->machine, &options, &result);
        status = report(r, r->machine, "", &result, error);
    }
    if (r->tracers[0].stats != NULL) {
        tly_run_stats_print(r->cli->out, &r->stats);
    }
    return status;
}

static void show_tiles(const run_command *r) {
    for (uint32_t i = 0; i < num_elements(r); i++) {
        if (r->team != NULL) {
            fprintf(r->cli->out, "element %u\n", i);
        }
        tly_run_tiles_print(r->cli->out, machine_of(r, i));
    }
}

static tly_status dump_tiles(const run_command *r, const char *path, tly_error *error) {
    const tly_pto_machine *machines[TLY_PTO_TEAM_MAX];
    uint64_t num_tiles = 0;
    for (uint32_t i = 0; i < num_elements(r); i++) {
        machines[i] = machine_of(r, i);
    }
    return tly_host_dump_tiles(r->context, machines, num_elements(r), path, &num_tiles, error);
}

/* What is shown when the run is over, clean or not: the first error is the one to report. */
static tly_status show(const run_command *r, tly_status status, tly_error *error) {
    tly_status shown = TLY_OK;
    if (status == TLY_OK) {
        status = show_result(r, error);
    }
    if (status == TLY_OK) {
        status = tly_bind_outputs(&r->bindings, r->machine, error);
    }
    if (tly_cli_given(r->cli, TLY_CLI_RUN_TILES)) {
        show_tiles(r);
    }
    const char *dump = tly_cli_value(r->cli, TLY_CLI_RUN_DUMP_TILES, NULL);
    if (dump != NULL) {
        shown = dump_tiles(r, dump, status == TLY_OK ? error : NULL);
    }
    if (shown == TLY_OK && tly_cli_given(r->cli, TLY_CLI_RUN_STATE)) {
        shown = show_state(r, status == TLY_OK ? error : NULL);
    }
    return status != TLY_OK ? status : shown;
}

/* What one machine has, and a team has not. */
static tly_status check_options(const tly_cli *cli, tly_error *error) {
    if (!tly_cli_given(cli, TLY_CLI_RUN_PES)) {
        return tly_cli_given(cli, TLY_CLI_RUN_THREADS) || tly_cli_given(cli, TLY_CLI_RUN_ROUND)
                   ? tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-value",
                                   "--threads and --round are for several elements: give --pes too")
                   : TLY_OK;
    }
    if (tly_cli_given(cli, TLY_CLI_RUN_SCRIPT)) {
        return tly_base_fail(error, TLY_INVALID_ARGUMENT, TLY_NO_OFFSET, "usage-value",
                             "--script is for one machine: leave --pes out");
    }
    return TLY_OK;
}

static tly_status prepare(run_command *r, tly_error *error) {
    tly_cli *cli = r->cli;
    tly_isa_release release = TLY_ISA_0_58_3;
    uint32_t num_shown = 0;
    tly_status status = check_options(cli, error);
    if (status == TLY_OK) {
        status =
            tly_cli_address(cli, TLY_CLI_RUN_ADDRESS, "address", 0x10000, &r->load.address, error);
    }
    r->load.path = cli->args[0];
    r->load.format = tly_cli_value(cli, TLY_CLI_RUN_FORMAT, "auto");
    r->load.entry = tly_cli_value(cli, TLY_CLI_RUN_ENTRY, NULL);
    r->load.release = tly_cli_release(cli, TLY_CLI_RUN_ISA, -1);
    r->load.ignore_identity = tly_cli_given(cli, TLY_CLI_RUN_IGNORE_IDENTITY);
    r->load.diagnostic = tly_cli_show_diagnostic;
    r->load.diagnostic_user = &num_shown;
    if (status == TLY_OK) {
        status = tly_cli_context(cli, &r->context, error);
    }
    if (status == TLY_OK) {
        status = tly_load_read(r->context, &r->load, &r->program, &release, error);
    }
    if (status == TLY_OK) {
        status = make_machine(r, release, error);
    }
    if (status == TLY_OK) {
        status = tly_load_place(r->machine, &r->load, &r->program, &r->loaded, error);
    }
    if (status == TLY_OK) {
        status = set_registers(r, error);
    }
    if (status == TLY_OK) {
        status = choose_frees(r, error);
    }
    if (status == TLY_OK) {
        status = tly_bind_inputs(&r->bindings, cli, r->context, r->machine, &r->loaded, error);
    }
    return status;
}

tly_status tly_cli_run_run(tly_cli *cli, tly_error *error) {
    run_command r = {.cli = cli};
    tly_status status = prepare(&r, error);
    if (status == TLY_OK) {
        choose_trace(&r);
        status = show(&r, run_program(&r, error), error);
    }
    tly_bindings_cleanup(&r.bindings);
    tly_loaded_cleanup(&r.loaded);
    tly_program_cleanup(&r.program);
    free_machine(&r);
    return status;
}
